//! Iteration: the elements of containers, of generators and of objects that define `__iter__`.

use ag_staging::construct::ConstructKind;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::calls::Arguments;
use super::sizes::first_dimension;
use super::values::{Flow, Layer, Value, Variables};
use super::{Evaluated, Evaluation, Frame, Framework, MOST_ITERATIONS};

impl<'a> Evaluation<'_, 'a> {
    /// Returns the values over which a loop iterates.
    pub(super) fn iterated(
        &mut self,
        iterable: &'a Expr,
        frame: &Frame<'a>,
    ) -> Evaluated<Option<Vec<Value<'a>>>> {
        let value = self.value(iterable, frame)?;
        if matches!(value, Value::Proxy) {
            return Err(self.needs_symbol("the iteration is over", iterable.range()));
        }
        self.elements(&value)
    }

    /// Returns the first numbers of `range(1000)`, which is too long to be evaluated as a whole.
    pub(super) fn first_numbers(
        &mut self,
        iterable: &'a Expr,
        frame: &Frame<'a>,
    ) -> Evaluated<Option<Vec<Value<'a>>>> {
        let Expr::Call(call) = iterable else { return Ok(None) };
        if !call.func.as_name_expr().is_some_and(|name| name.id == "range" && !frame.scope.knows("range")) {
            return Ok(None);
        }
        let bounds = self.arguments(&call.arguments, frame)?;
        let ints: Option<Vec<i64>> = bounds.positional.iter().map(Value::as_int).collect();
        let (start, end, step) = match ints.as_deref() {
            Some([end]) => (0, *end, 1),
            Some([start, end]) => (*start, *end, 1),
            Some([start, end, step]) => (*start, *end, *step),
            _ => return Ok(None),
        };
        let is_within = |index: &i64| if step > 0 { *index < end } else { *index > end };
        let first = std::iter::successors(Some(start), |index| index.checked_add(step));
        let first = first.take_while(is_within).take(MOST_ITERATIONS);
        Ok((step != 0 && !bounds.open).then(|| first.map(Value::Int).collect()))
    }

    /// Returns the values that iteration over a value yields.
    pub(super) fn elements(&mut self, value: &Value<'a>) -> Evaluated<Option<Vec<Value<'a>>>> {
        Ok(match value {
            Value::Layer(layer) => match &**layer {
                Layer::Sequential(layers) => layers.borrow().clone(),
                _ => None,
            },
            Value::Tensor(..) => first_dimension(value),
            Value::Loader(loader) => return self.batches(loader),
            Value::Dict(items) => {
                let items = items.borrow();
                items.as_ref().map(|items| items.iter().map(|(key, _)| Value::Text(key.clone())).collect())
            }
            Value::Object(object) => {
                if let Some(fields) = self.fields(object) {
                    return Ok(Some(fields));
                }
                match self.attribute(value, "__iter__")? {
                    iterator @ Value::Function(_) => {
                        self.call(&iterator, Arguments::default(), object.class.range())?.elements()
                    }
                    _ => match self.base_of(value) {
                        Some(base) if !self.defines(object, "__iter__") => return self.elements(&base),
                        _ => None,
                    },
                }
            }
            Value::Namespace(items) => {
                let items = items.borrow();
                items.as_ref().map(|items| items.iter().map(|(_, value)| value.clone()).collect())
            }
            value => value.elements(),
        })
    }

    /// Evaluates the body of a generator to the list of the values that it yields.
    ///
    /// ```python
    /// def windows(self, x):
    ///     for start in range(3):
    ///         yield x[start : start + 2]
    /// ```
    pub(super) fn generated(
        &mut self,
        def: &'a ast::StmtFunctionDef,
        frame: &Frame<'a>,
    ) -> Evaluated<Value<'a>> {
        self.yielded.push(Vec::new());
        self.depth += 1;
        // An exception ends only the generator.
        let flow = match self.explores() {
            true => self.attempt(&def.body, frame),
            false => self.block(&def.body, frame),
        };
        self.depth -= 1;
        let yielded = self.yielded.pop().unwrap_or_default();
        let values = match flow? {
            Flow::Next | Flow::Return(_) if yielded.len() <= MOST_ITERATIONS => Value::list(yielded),
            _ => {
                self.skip(&def.body, frame);
                Value::Unknown
            }
        };
        Ok(if self.framework == Framework::Arrays { self.iterator(values) } else { values })
    }

    pub(super) fn comprehension(
        &mut self,
        element: &'a Expr,
        generators: &'a [ast::Comprehension],
        frame: &Frame<'a>,
    ) -> Evaluated<Value<'a>> {
        let inner = Frame { scope: Variables::inside(&frame.scope), receiver: frame.receiver.clone() };
        let mut values = Vec::new();
        let is_known = self.generators(generators, &inner, &mut |evaluation, frame| {
            values.push(evaluation.value(element, frame)?);
            Ok(values.len() <= MOST_ITERATIONS)
        })?;
        Ok(match is_known {
            true => Value::list(values),
            // All iterations have the same value.
            false if self.explores() => Value::common(&values).map_or(Value::Unknown, Value::many),
            false => Value::Unknown,
        })
    }

    pub(super) fn dict_comprehension(
        &mut self,
        node: &'a ast::ExprDictComp,
        frame: &Frame<'a>,
    ) -> Evaluated<Value<'a>> {
        let Some(key) = &node.key else { return Ok(Value::Unknown) };
        let inner = Frame { scope: Variables::inside(&frame.scope), receiver: frame.receiver.clone() };
        let mut items = Vec::new();
        let mut others = Vec::new();
        let is_known = self.generators(&node.generators, &inner, &mut |evaluation, frame| {
            let key = evaluation.value(key, frame)?;
            let value = evaluation.value(&node.value, frame)?;
            let Some(key) = key.key() else {
                others.push(value);
                return Ok(false);
            };
            items.retain(|(known, _)| *known != key);
            items.push((key, value));
            Ok(items.len() <= MOST_ITERATIONS)
        })?;
        others.extend(items.iter().map(|(_, value): &(_, Value<'a>)| value.clone()));
        Ok(match is_known {
            true => Value::dict(items),
            false if self.explores() => Value::common(&others).map_or(Value::Unknown, Value::table),
            false => Value::Unknown,
        })
    }

    /// Evaluates the clauses of a comprehension, and `element` in each iteration. Returns whether all iterations are
    /// known.
    fn generators(
        &mut self,
        generators: &'a [ast::Comprehension],
        frame: &Frame<'a>,
        element_of: &mut dyn FnMut(&mut Self, &Frame<'a>) -> Evaluated<bool>,
    ) -> Evaluated<bool> {
        let Some((generator, rest)) = generators.split_first() else { return element_of(self, frame) };
        let iterable = self.value(&generator.iter, frame)?;
        if matches!(iterable, Value::Proxy) {
            return Err(self.needs_symbol("the iteration is over", generator.iter.range()));
        }
        let elements = self.elements(&iterable)?.filter(|it| it.len() <= MOST_ITERATIONS);
        let Some(elements) = elements.filter(|_| !generator.is_async) else {
            if self.explores() && !generator.is_async {
                let element = iterable.element().unwrap_or(Value::Unknown);
                self.assign(&generator.target, element, frame)?;
                for test in &generator.ifs {
                    self.value(test, frame)?;
                }
                self.generators(rest, frame, element_of)?;
            }
            return Ok(false);
        };
        let mut is_known = true;
        'elements: for value in elements {
            self.assign(&generator.target, value, frame)?;
            for test in &generator.ifs {
                let value = self.value(test, frame)?;
                match self.decide(test, &value, ConstructKind::ComprehensionIf) {
                    Some(true) => {}
                    Some(false) => continue 'elements,
                    None => {
                        if !self.explores() {
                            return Ok(false);
                        }
                        is_known = false;
                    }
                }
            }
            if !self.generators(rest, frame, element_of)? {
                return Ok(false);
            }
        }
        Ok(is_known)
    }
}
