//! Builtin functions of Python.

use ruff_python_ast::{self as ast};
use ruff_text_size::Ranged;

use super::calls::Arguments;
use super::dtypes::Dtype;
use super::faults::Fault;
use super::kinds::Kind;
use super::traced::Mode;
use super::values::{Size, Value};
use super::{Evaluated, Evaluation, Framework, MOST_ITERATIONS};
use crate::tracing::snippet;

/// Builtin functions that do not change their arguments.
pub(super) const HARMLESS: [&str; 27] = [
    "abs",
    "all",
    "any",
    "bool",
    "callable",
    "enumerate",
    "filter",
    "float",
    "hasattr",
    "id",
    "int",
    "isinstance",
    "iter",
    "len",
    "list",
    "map",
    "print",
    "range",
    "repr",
    "reversed",
    "round",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
];

/// The classes of which a traced array is an instance.
const ARRAY_CLASSES: [&str; 6] = [
    "jax.Array",
    "jax.core.Tracer",
    "jax.numpy.ndarray",
    "tensorflow.Tensor",
    "jax.typing.ArrayLike",
    "torch.Tensor",
];

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a call of a builtin function.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        arguments: &Arguments<'a>,
        call: &'a ast::ExprCall,
    ) -> Evaluated<Value<'a>> {
        if self.explores()
            && !self.needs_value(name, arguments)
            && let Some(value) = self.array_builtin(name, arguments, call)?
        {
            return Ok(value);
        }
        if let Some(value) = self.builtin_of_symbol(name, arguments, call.range())? {
            return Ok(value);
        }
        let values = &arguments.positional;
        if name == "dict" && values.is_empty() && !arguments.open {
            let items = arguments.keywords.iter().map(|(name, value)| ((*name).into(), value.clone()));
            return Ok(Value::dict(items.collect()));
        }
        if arguments.open
            || !arguments.keywords.is_empty()
                && !matches!(name, "enumerate" | "print" | "sorted" | "min" | "max")
        {
            arguments.forget();
            return Ok(Value::Unknown);
        }
        let ints: Option<Vec<i64>> = values.iter().map(Value::as_int).collect();
        Ok(match (name, values.as_slice(), ints.as_deref()) {
            ("min" | "max" | "int" | "abs" | "round", values, _)
                if values.iter().any(|it| matches!(it, Value::Recorded)) =>
            {
                Value::Recorded
            }
            ("range", bounds, None) => {
                for (bound, argument) in bounds.iter().zip(&call.arguments.args) {
                    self.need(bound);
                    if self.is_exploring {
                        let text = format!("`{}`", snippet(self.ctx.text(argument)));
                        self.undecided(argument.range(), &text, bound, "a `range`");
                    }
                    if matches!(bound, Value::Number) && self.traced.first() == Some(&Mode::Export) {
                        // The rules about functions report `range(x.item())` and `range(kept.size(0))`.
                        if !argument.is_call_expr() {
                            let text = self.ctx.text(argument);
                            let message =
                                format!("`range()` needs the value of `{text}`, which has no value yet");
                            self.report(call.range(), Kind::Number, message);
                        }
                    } else if matches!(bound, Value::Number) {
                        let text = format!("`{}`", self.ctx.text(argument));
                        self.undecided(argument.range(), &text, bound, "a `range`");
                    }
                }
                Value::Unknown
            }
            ("range", _, Some([end])) => numbers(0, *end, 1),
            ("range", _, Some([start, end])) => numbers(*start, *end, 1),
            ("range", _, Some([start, end, step])) => numbers(*start, *end, *step),
            ("len", [value], _) => self.length(value)?,
            ("next", [value], _) => match value {
                Value::Object(object) => match self.attribute(value, "__next__")? {
                    method @ Value::Function(_) => {
                        self.call(&method, Arguments::default(), object.class.range())?
                    }
                    _ => Value::Unknown,
                },
                // `next(iter(loader))`
                value => {
                    let inner = call.arguments.args.first().and_then(|it| it.as_call_expr());
                    let is_new =
                        inner.is_some_and(|it| it.func.as_name_expr().is_some_and(|name| name.id == "iter"));
                    let elements = if is_new { value.elements() } else { None };
                    elements.and_then(|it| it.into_iter().next()).unwrap_or(Value::Unknown)
                }
            },
            ("setattr", [object, Value::Text(name), value], _) => {
                self.set_attribute(object, name, value.clone(), call.range());
                Value::None
            }
            ("enumerate", [value, ..], _) => {
                let start = arguments.get(1, "start").map_or(Some(0), Value::as_int);
                let numbered = self.elements(value)?.zip(start).map(|(elements, start)| {
                    let pair = |(index, value)| Value::tuple(vec![Value::Int(index), value]);
                    (start..).zip(elements).map(pair).collect()
                });
                numbered.map_or(Value::Unknown, Value::list)
            }
            ("zip", values, _) => {
                let mut columns = Vec::new();
                for value in values {
                    let Some(column) = self.elements(value)? else { return Ok(Value::Unknown) };
                    columns.push(column);
                }
                let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
                let row =
                    |index: usize| Value::tuple(columns.iter().map(|column| column[index].clone()).collect());
                Value::list((0..rows).map(row).collect())
            }
            ("map", [function, values], _) => {
                let Some(elements) = self.elements(values)?.filter(|it| it.len() <= MOST_ITERATIONS) else {
                    return Ok(Value::Unknown);
                };
                let mut results = Vec::new();
                for element in elements {
                    results.push(self.call(function, Arguments::of(vec![element]), call.range())?);
                }
                Value::list(results)
            }
            ("filter", [function, values], _) => self.filtered(function, values, call)?,
            ("list" | "iter", [value], _) => self.elements(value)?.map_or(Value::Unknown, Value::list),
            ("tuple", [value], _) => self.elements(value)?.map_or(Value::Unknown, Value::tuple),
            ("reversed", [value], _) => {
                let reversed = self.elements(value)?.map(|it| it.into_iter().rev().collect());
                reversed.map_or(Value::Unknown, Value::list)
            }
            ("sum", [value], _) => {
                let Some(elements) = self.elements(value)? else { return Ok(Value::Unknown) };
                let mut total = Value::Int(0);
                for element in elements {
                    total = self.operation(ast::Operator::Add, &total, &element, call.range())?;
                }
                total
            }
            ("any" | "all", [value], _) => {
                let Some(elements) = self.elements(value)? else { return Ok(Value::Unknown) };
                for element in elements {
                    match self.quantified(name, &element, call) {
                        Some(truth) if truth == (name == "any") => return Ok(Value::Bool(truth)),
                        Some(_) => {}
                        None => return Ok(Value::Unknown),
                    }
                }
                Value::Bool(name == "all")
            }
            ("getattr", [object, Value::Text(name)], _) => self.attribute(object, name)?,
            ("sorted" | "min" | "max", [values], _) => self.ordered(name, values, arguments, call)?,
            ("min" | "max", ..) if !arguments.keywords.is_empty() => {
                arguments.forget();
                Value::Unknown
            }
            ("min" | "max", [first, second], None) => match (first.as_float(), second.as_float()) {
                (Some(left), Some(right)) => {
                    let is_first = if name == "min" { left <= right } else { left >= right };
                    if is_first { first.clone() } else { second.clone() }
                }
                _ => Value::Unknown,
            },
            ("isinstance", [value, class], _) => {
                if accepts_number(class, value.dtype()) {
                    self.record_fault((self.ctx.document, call.range()), self.reach(), Fault::NumberType);
                }
                self.is_instance(value, class).map_or(Value::Unknown, Value::Bool)
            }
            ("min", _, Some([first, second])) => Value::Int(*first.min(second)),
            ("max", _, Some([first, second])) => Value::Int(*first.max(second)),
            ("int", [value], _) if !value.is_traced() => match value {
                Value::Int(_) | Value::Symbol(_) => value.clone(),
                #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
                Value::Float(value) if value.abs() < 1e9 => Value::Int(value.trunc() as i64),
                _ => Value::Unknown,
            },
            ("int" | "float" | "bool", [Value::Tensor(..)], _) => {
                let converted = &call.arguments.args[0];
                self.converted(&format!("`{name}()`"), converted.range(), call.range())
            }
            ("int" | "float" | "bool", [number @ Value::Number], _) => number.clone(),
            ("str" | "repr" | "hash", [Value::Tensor(..)], _) => {
                self.python_value(&format!("`{name}()` of a Tensor"), call.range());
                Value::Unknown
            }
            ("str", [Value::Int(value)], _) => Value::Text(value.to_string().into()),
            ("str", [text @ Value::Text(_)], _) => text.clone(),
            _ if HARMLESS.contains(&name) => Value::Unknown,
            _ => {
                arguments.forget();
                Value::Unknown
            }
        })
    }

    /// Returns whether torch needs the values of Tensors for a builtin function that arrays do not need.
    fn needs_value(&self, name: &str, arguments: &Arguments<'a>) -> bool {
        let is_conversion = matches!(name, "int" | "float" | "bool" | "complex" | "len" | "str" | "repr");
        let is_ordering = matches!(name, "max" | "min" | "sorted" | "all" | "any") && arguments.len() == 1
            || arguments.get(usize::MAX, "key").is_some();
        self.framework == Framework::Torch && (is_conversion || is_ordering)
    }

    pub(super) fn length(&mut self, value: &Value<'a>) -> Evaluated<Value<'a>> {
        Ok(match value {
            Value::Tensor(Some(shape), _) => {
                shape.first().map_or(Value::Unknown, |size: &Size| Value::size(*size))
            }
            Value::Object(object) => match (self.attribute(value, "__len__")?, self.base_of(value)) {
                (method @ Value::Function(_), _) => {
                    self.call(&method, Arguments::default(), object.class.range())?
                }
                (_, Some(base)) if !self.defines(object, "__len__") => self.length(&base)?,
                _ => Value::Unknown,
            },
            Value::Rows(columns) => match columns.first() {
                Some(column) => self.length(column)?,
                None => Value::Unknown,
            },
            Value::Loader(loader) => self.number_of_batches(loader)?,
            Value::Dict(items) => {
                let length = items.borrow().as_ref().and_then(|items| i64::try_from(items.len()).ok());
                length.map_or(Value::Unknown, Value::Int)
            }
            value => {
                let length = value.elements().and_then(|elements| i64::try_from(elements.len()).ok());
                length.map_or(Value::Unknown, Value::Int)
            }
        })
    }

    /// Evaluates `filter(function, values)`, which needs the truth values of the results.
    fn filtered(
        &mut self,
        function: &Value<'a>,
        values: &Value<'a>,
        call: &'a ast::ExprCall,
    ) -> Evaluated<Value<'a>> {
        let Some(elements) = self.elements(values)?.filter(|it| it.len() <= MOST_ITERATIONS) else {
            return Ok(Value::Unknown);
        };
        let mut kept = Vec::new();
        for element in elements {
            let test = match function {
                Value::None => element.clone(),
                function => self.call(function, Arguments::of(vec![element.clone()]), call.range())?,
            };
            match self.quantified("filter", &test, call) {
                Some(true) => kept.push(element),
                Some(false) => {}
                None => return Ok(Value::Unknown),
            }
        }
        Ok(Value::list(kept))
    }

    /// Evaluates `sorted(values, key=f)`, and `min` and `max` of an iterable, which compare the elements or their keys.
    fn ordered(
        &mut self,
        name: &str,
        values: &Value<'a>,
        arguments: &Arguments<'a>,
        call: &'a ast::ExprCall,
    ) -> Evaluated<Value<'a>> {
        let key = arguments.get(usize::MAX, "key").filter(|key| !matches!(key, Value::None));
        let Some(elements) = self.elements(values)?.filter(|it| it.len() <= MOST_ITERATIONS) else {
            arguments.forget();
            return Ok(Value::Unknown);
        };
        let mut keys = Vec::new();
        for element in &elements {
            keys.push(match key {
                Some(key) => self.call(key, Arguments::of(vec![element.clone()]), call.range())?,
                None => element.clone(),
            });
        }
        // The compiler computes `min` and `max` of numbers and of Tensors.
        let compares = keys.len() > 1 && (key.is_some() || name == "sorted");
        if compares && let Some(traced) = keys.iter().find(|key| key.is_traced()) {
            match self.traced.first().copied() {
                Some(Mode::Compile { full_graph, .. }) => {
                    let message =
                        format!("`{name}` compares Tensors or their numbers, which causes a graph break");
                    self.report(call.range(), Kind::Order { full_graph }, message);
                }
                _ => {
                    let text = if key.is_some() { "the key" } else { "an element" };
                    self.undecided(call.range(), text, traced, &format!("`{name}`"));
                }
            }
            return Ok(Value::Unknown);
        }
        let numbers: Option<Vec<f64>> = keys.iter().map(Value::as_float).collect();
        let (Some(numbers), false) = (numbers, arguments.get(usize::MAX, "default").is_some()) else {
            return Ok(Value::Unknown);
        };
        let mut order: Vec<usize> = (0..elements.len()).collect();
        let is_reversed = match arguments.get(usize::MAX, "reverse").map_or(Some(false), Value::truth) {
            Some(is_reversed) => is_reversed || name == "max",
            None => return Ok(Value::Unknown),
        };
        order.sort_by(|left, right| {
            let order = numbers[*left].total_cmp(&numbers[*right]);
            if is_reversed { order.reverse() } else { order }
        });
        let mut ordered = order.into_iter().map(|index| elements[index].clone());
        Ok(match name {
            "sorted" => Value::list(ordered.collect()),
            _ => ordered.next().unwrap_or(Value::Unknown),
        })
    }

    /// Returns whether a value is an instance of a class, or of a class of a tuple.
    pub(super) fn is_instance(&self, value: &Value<'a>, class: &Value<'a>) -> Option<bool> {
        if let Value::Library(name) = class
            && self.explores()
            && !matches!(value, Value::Layer(_) | Value::Object(_))
        {
            return value.is_instance_of(name);
        }
        match (value, class) {
            (_, Value::Tuple(classes)) => {
                let mut is_any = Some(false);
                for class in classes.iter() {
                    match self.is_instance(value, class) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => is_any = None,
                    }
                }
                is_any
            }
            (Value::Object(object), Value::Class(class)) => {
                let hierarchy = self.hierarchy(object.class)?;
                Some(hierarchy.classes.iter().any(|known| std::ptr::eq(*known, *class)))
            }
            (Value::Layer(_), Value::Class(_)) => Some(false),
            (Value::Layer(layer), Value::Library(name)) => layer.is_instance(name),
            (Value::Object(object), Value::Library(name)) if &**name == "torch.nn.Module" => {
                Some(self.hierarchy(object.class)?.is_module)
            }
            (Value::Object(object), Value::Library(name)) if name.starts_with("torch.nn.") => {
                match self.hierarchy(object.class)?.base {
                    None => Some(false),
                    Some(base) => name.strip_prefix("torch.nn.").is_some_and(|it| it == base).then_some(true),
                }
            }
            _ => None,
        }
    }

    /// Returns the truth value of an element for `any(…)`, `all(…)` and `filter(…)`.
    fn quantified(&mut self, name: &str, element: &Value<'a>, call: &'a ast::ExprCall) -> Option<bool> {
        if element.is_traced()
            && let Some(mode @ (Mode::Compile { .. } | Mode::Export)) = self.traced.first().copied()
        {
            let what = match mode {
                Mode::Export => "cannot be exported",
                _ => "causes a graph break",
            };
            let message = format!("`{name}` needs the truth values of Tensors, which {what}");
            self.report(call.range(), Kind::Decision(mode), message);
        }
        element.truth()
    }
}

fn numbers<'a>(start: i64, end: i64, step: i64) -> Value<'a> {
    let count = match step {
        0 => return Value::Unknown,
        step if step > 0 => (end - start + step - 1).div_euclid(step).max(0),
        step => (start - end - step - 1).div_euclid(-step).max(0),
    };
    match usize::try_from(count) {
        Ok(count) if count <= MOST_ITERATIONS => {
            Value::list((0..count as i64).map(|index| Value::Int(start + index * step)).collect())
        }
        _ => Value::Unknown,
    }
}

impl Value<'_> {
    /// Returns whether a value is an instance of a class of a library, or of a builtin class.
    fn is_instance_of(&self, class: &str) -> Option<bool> {
        let own = match self {
            Self::Tensor(..) if ARRAY_CLASSES.contains(&class) => return Some(true),
            Self::Tensor(..) if class == "numpy.ndarray" || class.starts_with("numbers.") => {
                return Some(false);
            }
            Self::Tensor(..) | Self::None => "",
            Self::Dict(_) | Self::Table(_) => "dict",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Text(_) => "str",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            _ => return None,
        };
        class.strip_prefix("builtins.").map(|class| class == own)
    }
}

/// Returns whether a traced Python number would be an instance of a class, or of one in a tuple, outside of the trace.
fn accepts_number(class: &Value, number: Dtype) -> bool {
    match class {
        Value::Tuple(classes) => classes.iter().any(|class| accepts_number(class, number)),
        Value::Library(class) => match &**class {
            "builtins.int" | "numbers.Integral" => number == Dtype::PythonInt,
            "builtins.float" => number == Dtype::PythonFloat,
            "numbers.Number" | "numbers.Real" => matches!(number, Dtype::PythonInt | Dtype::PythonFloat),
            _ => false,
        },
        _ => false,
    }
}
