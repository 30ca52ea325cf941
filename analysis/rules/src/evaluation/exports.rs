//! Exported and traced programs: their dynamic dimensions, example inputs and results.

use std::rc::Rc;

use ruff_python_ast::CmpOp;
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::kinds::Kind;
use super::traced::{Compiled, Mode};
use super::values::{Size, Value};
use super::{Evaluated, Evaluation};

/// `Dim("batch", min=2, max=8)`
pub(super) struct Declared {
    name: Rc<str>,
    id: usize,
    min: Option<i64>,
    max: Option<i64>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `Dim("batch", max=8)`. Dimensions of the same name and range are the same.
    pub(super) fn declare(&mut self, arguments: &Arguments<'a>) -> Value<'a> {
        let Some(Value::Text(name)) = arguments.get(0, "name") else { return Value::Unknown };
        let bound = |name| arguments.get(usize::MAX, name).and_then(Value::as_int);
        let (min, max) = (bound("min"), bound("max"));
        let is_same = |it: &&Declared| it.name == *name && it.min == min && it.max == max;
        if let Some(known) = self.declared.iter().find(is_same) {
            return Value::Dim(known.id);
        }
        self.dimensions += 1;
        self.declared.push(Declared { name: name.clone(), id: self.dimensions, min, max });
        Value::Dim(self.dimensions)
    }

    /// Compares a dynamic dimension with a number. The declared range may determine the result.
    pub(super) fn compared_size(&self, op: CmpOp, id: usize, size: i64) -> Value<'a> {
        let Some(declared) = self.declared.iter().find(|it| it.id == id) else { return Value::Unknown };
        // `torch.export` assumes that a dynamic dimension has at least two elements.
        let (min, max) = (declared.min.unwrap_or(2).max(2), declared.max.unwrap_or(i64::MAX));
        let (all, none) = match op {
            CmpOp::Lt => (max < size, min >= size),
            CmpOp::LtE => (max <= size, min > size),
            CmpOp::Gt => (min > size, max <= size),
            CmpOp::GtE => (min >= size, max < size),
            CmpOp::Eq => (min == size && max == size, size < min || size > max),
            CmpOp::NotEq => (size < min || size > max, min == size && max == size),
            _ => return Value::Unknown,
        };
        match (all, none) {
            (true, _) => Value::Bool(true),
            (_, true) => Value::Bool(false),
            _ => Value::Bound,
        }
    }

    /// Returns the smallest and the largest size that a dynamic dimension is declared to have.
    pub(super) fn range_of(&self, id: usize) -> Option<(Option<i64>, Option<i64>)> {
        self.declared.iter().find(|it| it.id == id).map(|it| (it.min, it.max))
    }

    /// Checks the sizes of an example input in the dimensions that are declared dynamic.
    fn check_example(&mut self, input: &Value<'a>, dynamic: &Value<'a>, range: TextRange) {
        let (Value::Tensor(Some(input), _), Value::Tensor(Some(dynamic), _)) = (input, dynamic) else {
            return;
        };
        for (size, declared) in input.iter().zip(dynamic.iter()) {
            let (Size::Known(size), Size::Dynamic(id)) = (*size, *declared) else { continue };
            let Some(declared) = self.declared.iter().find(|it| it.id == id) else { continue };
            let name = &declared.name;
            let message = if size == 1 {
                format!(
                    "the example has the size 1 in the dynamic dimension `{name}`: torch treats it as a constant"
                )
            } else if declared.min.is_some_and(|min| size < min) || declared.max.is_some_and(|max| size > max)
            {
                format!(
                    "the example has the size {size}, which is not in the range of the dimension `{name}`"
                )
            } else {
                continue;
            };
            self.report(range, Kind::Sizes, message);
        }
    }

    /// Checks the result of a function that `torch.jit.trace` records.
    pub(super) fn check_result(&mut self, result: &Value<'a>, is_strict: bool, range: TextRange) {
        let message = match result {
            Value::Tuple(elements) => {
                elements.iter().for_each(|element| self.check_result(element, is_strict, range));
                return;
            }
            Value::Dict(_) if is_strict => "a traced module returns a dictionary only with `strict=False`",
            Value::Text(_) => "a traced module cannot return a text",
            Value::None => "a traced module cannot return `None`",
            Value::Object(object) if self.fields(object).is_none() => {
                "a traced module cannot return an object of a class of the program"
            }
            _ => return,
        };
        self.report(range, Kind::Result, message.to_owned());
    }

    pub(super) fn export(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Evaluated<Value<'a>> {
        let Some(Value::Tuple(inputs)) = arguments.get(1, "args") else { return Ok(Value::Unknown) };
        if let Some(model @ Value::Layer(_)) = arguments.get(0, "mod")
            && matches!(arguments.get(3, "dynamic_shapes"), None | Some(Value::None))
        {
            let exported = Compiled::new(model.clone(), Mode::Export);
            let (exported, inputs) = (Value::Compiled(Rc::new(exported)), inputs.to_vec());
            let call = Arguments::of(inputs.clone());
            let (program, _) =
                self.program(Mode::Export, model, inputs, |it| it.call(&exported, call, range))?;
            return Ok(program);
        }
        let Some(model @ Value::Object(object)) = arguments.get(0, "mod") else { return Ok(Value::Unknown) };
        let forward = self.attribute(model, "forward")?;
        let Value::Function(forward) = forward else { return Ok(Value::Unknown) };
        if object.attributes.borrow().is_none() {
            return Ok(Value::Unknown);
        }
        let mut keywords = Vec::new();
        match arguments.get(2, "kwargs") {
            None | Some(Value::None) => {}
            Some(Value::Dict(items)) => {
                let items = items.borrow().clone().unwrap_or_default();
                for parameter in forward.def.parameters.iter_non_variadic_params() {
                    let name = parameter.parameter.name.as_str();
                    if let Some((_, value)) = items.iter().find(|(known, _)| &**known == name) {
                        keywords.push((name, value.clone()));
                    }
                }
            }
            Some(_) => return Ok(Value::Unknown),
        }
        let names: Vec<&str> = forward
            .def
            .parameters
            .iter_non_variadic_params()
            .skip(1)
            .map(|parameter| parameter.parameter.name.as_str())
            .collect();
        let shapes = arguments.get(3, "dynamic_shapes").cloned().unwrap_or(Value::None);
        let dynamic = |name: &str, position: Option<usize>, input: &Value<'a>| -> Value<'a> {
            let declared = match &shapes {
                Value::None => return input.clone(),
                Value::Dict(items) => items.borrow().as_ref().and_then(|items| {
                    items.iter().find(|(known, _)| &**known == name).map(|(_, it)| it.clone())
                }),
                Value::Tuple(_) | Value::List(_) => {
                    position.and_then(|position| shapes.elements()?.into_iter().nth(position))
                }
                _ => None,
            };
            with_dimensions(input, declared.as_ref())
        };
        let positional: Vec<_> = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| dynamic(names.get(index).copied().unwrap_or_default(), Some(index), input))
            .collect();
        let keywords =
            keywords.into_iter().map(|(name, value)| (name, dynamic(name, None, &value))).collect();
        for (input, dynamic) in inputs.iter().zip(&positional) {
            self.check_example(input, dynamic, range);
        }
        let call = Arguments { positional, keywords, open: false };
        let exported = Compiled::new(model.clone(), Mode::Export);
        let inputs = call.positional.clone();
        let exported = Value::Compiled(Rc::new(exported));
        let (program, _) = self.program(Mode::Export, model, inputs, |it| it.call(&exported, call, range))?;
        Ok(program)
    }
}

/// Returns an input whose dimensions are dynamic as `dynamic_shapes` declares: `{0: batch}`, `(batch, None)`.
fn with_dimensions<'a>(input: &Value<'a>, declared: Option<&Value<'a>>) -> Value<'a> {
    let Value::Tensor(Some(shape), dtype) = input else { return Value::Unknown };
    let size_at = |index: usize, size: Size| -> Size {
        let dimension = match declared {
            Some(Value::None) => return size,
            Some(Value::Dict(items)) => match &*items.borrow() {
                Some(items) => {
                    let key = index.to_string();
                    match items.iter().find(|(known, _)| **known == *key) {
                        Some((_, dimension)) => dimension.clone(),
                        None => return size,
                    }
                }
                None => Value::Unknown,
            },
            Some(value) => match value.elements() {
                Some(elements) => elements.into_iter().nth(index).unwrap_or(Value::Unknown),
                None => Value::Unknown,
            },
            None => Value::Unknown,
        };
        match dimension {
            Value::Dim(id) => Size::Dynamic(id),
            Value::None => size,
            _ => Size::Unknown,
        }
    };
    let shape = shape.iter().enumerate().map(|(index, size)| size_at(index, *size)).collect();
    Value::tensor(shape).with_dtype(*dtype)
}
