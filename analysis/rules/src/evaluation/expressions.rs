//! Expressions.

use std::rc::Rc;

use ag_index::index::last_name;
use ag_staging::construct::ConstructKind;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Number, UnaryOp};
use ruff_text_size::Ranged;

use super::calls::{Arguments, shown};
use super::dtypes::Dtype;
use super::kinds::Kind;
use super::names::LOGGER;
use super::operators::LARGEST;
use super::values::{Lambda, Size, Value};
use super::{Evaluated, Evaluation, Frame, Framework, MOST_STEPS, Stop, dtypes, tensor_methods};
use crate::torch::break_builtin::{is_level, is_skipped, is_skipped_builtin};
use crate::tracing::snippet;

/// Methods of Tensors that change the shape of the Tensor itself.
const RESHAPING: [&str; 8] =
    ["resize_", "resize_as_", "set_", "squeeze_", "swapaxes_", "t_", "transpose_", "unsqueeze_"];
/// The maximum number of nested expressions that are being evaluated.
const MOST_NESTED: usize = 400;
/// The maximum length of a list to which `tolist` converts a Tensor.
const MOST_LISTED: i64 = 16;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn value(&mut self, expression: &'a Expr, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.nested > MOST_NESTED {
            return Err(Stop);
        }
        self.nested += 1;
        let value = self.unlimited_value(expression, frame);
        self.nested -= 1;
        if self.explores() && !self.traced.is_empty() {
            return value.map(|value| self.observed(expression, value));
        }
        value
    }

    fn unlimited_value(&mut self, expression: &'a Expr, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        Ok(match expression {
            Expr::NoneLiteral(_) => Value::None,
            Expr::BooleanLiteral(literal) => Value::Bool(literal.value),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(value) => {
                    let value = value.as_i64().filter(|value| *value <= LARGEST);
                    value.map_or(Value::Unknown, Value::Int)
                }
                Number::Float(value) => Value::Float(*value),
                Number::Complex { .. } => Value::Unknown,
            },
            Expr::StringLiteral(literal) => Value::Text(literal.value.to_str().into()),
            Expr::Name(name) => match name.id.as_str() {
                "__name__" if !frame.scope.knows("__name__") => Value::Text("__main__".into()),
                name => {
                    let value = frame.scope.get(name);
                    if matches!(value, Value::Unknown) {
                        return Ok(self.of_library(expression, frame));
                    }
                    if frame.scope.is_global(name) {
                        if matches!(value, Value::Int(_)) {
                            self.read(None, name, &value);
                        }
                        self.script_reads(name, &value, expression.range());
                    }
                    value
                }
            },
            Expr::Attribute(attribute) => {
                let object = self.value(&attribute.value, frame)?;
                if attribute.attr.as_str() == "shape" && self.records_sizes(&object, &attribute.value) {
                    return Ok(Value::many(Value::Recorded));
                }
                match self.attribute(&object, &attribute.attr)? {
                    Value::Unknown if matches!(object, Value::Unknown | Value::Library(_)) => {
                        self.of_library(expression, frame)
                    }
                    value => {
                        if matches!(object, Value::Object(_)) {
                            self.reads_escaped(&object, &attribute.attr);
                            self.reads_stacked(&object, &attribute.attr, attribute.range());
                            self.mixed_attribute(&attribute.attr, &value, attribute.range());
                        }
                        self.read_mode(&attribute.attr, &value, attribute.range());
                        self.captured(&object, &attribute.attr, &value, attribute.range());
                        value
                    }
                }
            }
            Expr::Tuple(tuple) => self.all(&tuple.elts, frame)?.map_or(Value::Unknown, Value::tuple),
            Expr::List(list) => self.all(&list.elts, frame)?.map_or(Value::Unknown, Value::list),
            Expr::Dict(dict) => self.dict(dict, frame)?,
            Expr::Call(call) => self.called(call, frame)?,
            Expr::BinOp(operation) => {
                let left = self.value(&operation.left, frame)?;
                let right = self.value(&operation.right, frame)?;
                for (side, value) in [(&operation.left, &left), (&operation.right, &right)] {
                    if matches!(value, Value::None) && side.is_attribute_expr() {
                        self.none_operand(side);
                    }
                }
                self.operation(operation.op, &left, &right, operation.range())?
            }
            Expr::UnaryOp(operation) => {
                let operand = self.value(&operation.operand, frame)?;
                match (operation.op, operand) {
                    (UnaryOp::Not, value) if value.is_traced() => {
                        self.decide(expression, &value, ConstructKind::Not);
                        Value::Unknown
                    }
                    (UnaryOp::USub, value @ (Value::Number | Value::Symbol(_))) => value,
                    (_, value @ Value::Proxy) => value,
                    (_, value @ Value::Recorded) => value,
                    (UnaryOp::USub, Value::Tensor(_, Dtype::Bool)) => {
                        let message = "the negation of bool is not defined: use `~`".to_owned();
                        return Err(self.fail(operation.range(), message));
                    }
                    (UnaryOp::USub, Value::Int(value)) => Value::Int(-value),
                    (UnaryOp::USub, Value::Float(value)) => Value::Float(-value),
                    (UnaryOp::Not, value) if !matches!(value, Value::Tensor(..)) => {
                        value.truth().map_or(Value::Unknown, |truth| Value::Bool(!truth))
                    }
                    (_, tensor @ Value::Tensor(..)) => tensor,
                    (UnaryOp::USub | UnaryOp::Invert, Value::Array | Value::Variable) if self.explores() => {
                        self.computed_array()
                    }
                    (UnaryOp::USub, object @ Value::Object(_)) if self.explores() => {
                        let method = self.attribute(&object, "__neg__")?;
                        self.call(&method, Arguments::default(), operation.range())?
                    }
                    _ => Value::Unknown,
                }
            }
            Expr::BoolOp(operation) => {
                let is_and = operation.op == ast::BoolOp::And;
                let mut last = Value::Unknown;
                for (index, value) in operation.values.iter().enumerate() {
                    last = self.value(value, frame)?;
                    if index + 1 == operation.values.len() {
                        break;
                    }
                    let kind = if is_and { ConstructKind::And } else { ConstructKind::Or };
                    if last.is_traced() {
                        self.decide(expression, &last, kind);
                        return Ok(Value::Unknown);
                    }
                    match last.truth() {
                        Some(truth) if truth == is_and => {}
                        Some(_) => return Ok(last),
                        None if self.explores() => {
                            let mut joined = last;
                            for value in &operation.values[index + 1..] {
                                joined = joined.joined(&self.value(value, frame)?);
                            }
                            return Ok(joined);
                        }
                        None => return Ok(Value::Unknown),
                    }
                }
                last
            }
            Expr::Compare(compare) => {
                let left = self.value(&compare.left, frame)?;
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else {
                    if self.explores() {
                        for comparator in &compare.comparators {
                            self.value(comparator, frame)?;
                        }
                    }
                    return Ok(Value::Unknown);
                };
                let right = self.value(right, frame)?;
                self.comparison(*op, &left, &right, compare.range())?
            }
            Expr::If(node) => {
                let value = self.value(&node.test, frame)?;
                match self.decide(&node.test, &value, ConstructKind::IfExp) {
                    Some(true) => self.value(&node.body, frame)?,
                    Some(false) => self.value(&node.orelse, frame)?,
                    None if self.explores() => {
                        let body = self.value(&node.body, frame)?;
                        body.joined(&self.value(&node.orelse, frame)?)
                    }
                    None => Value::Unknown,
                }
            }
            Expr::Subscript(item) => self.item(item, frame)?,
            Expr::ListComp(node) => self.comprehension(&node.elt, &node.generators, frame)?,
            Expr::SetComp(node) => {
                self.comprehension(&node.elt, &node.generators, frame)?;
                Value::Unknown
            }
            Expr::Set(set) => {
                self.all(&set.elts, frame)?;
                Value::Unknown
            }
            Expr::Generator(node) => self.comprehension(&node.elt, &node.generators, frame)?,
            Expr::DictComp(node) => self.dict_comprehension(node, frame)?,
            Expr::Lambda(node) => Value::Lambda(Rc::new(Lambda { node, frame: frame.clone() })),
            Expr::FString(text) => self.formatted(text, frame)?,
            Expr::Yield(node) => {
                let value =
                    node.value.as_deref().map_or(Ok(Value::None), |value| self.value(value, frame))?;
                if let Some(yielded) = self.yielded.last_mut() {
                    yielded.push(value);
                }
                Value::Unknown
            }
            Expr::YieldFrom(node) => {
                let Some(values) = self.iterated(&node.value, frame)? else { return Err(Stop) };
                if let Some(yielded) = self.yielded.last_mut() {
                    yielded.extend(values);
                }
                Value::Unknown
            }
            Expr::Named(node) => {
                let value = self.value(&node.value, frame)?;
                self.assign(&node.target, value.clone(), frame)?;
                value
            }
            _ => Value::Unknown,
        })
    }

    /// Returns a name that the file imports from a library: `torch.float32`, `torch.relu`.
    fn of_library(&self, expression: &'a Expr, frame: &Frame<'a>) -> Value<'a> {
        if root(expression).is_none_or(|name| frame.scope.knows(name)) {
            return Value::Unknown;
        }
        if let Expr::Name(name) = expression
            && self.explores()
            && matches!(
                name.id.as_str(),
                "bool"
                    | "complex"
                    | "dict"
                    | "float"
                    | "frozenset"
                    | "int"
                    | "list"
                    | "set"
                    | "str"
                    | "tuple"
            )
        {
            return Value::Library(format!("builtins.{}", name.id).into());
        }
        let Some(name) = self.ctx.resolve(expression) else { return Value::Unknown };
        if let Some(value) = self.imported(&name) {
            return value;
        }
        match name.split_once('.') {
            Some(("torch", own)) => match Dtype::named(own) {
                Some(dtype) => Value::Dtype(dtype),
                None => Value::Library(name.as_str().into()),
            },
            Some(("math", "pi")) => Value::Float(std::f64::consts::PI),
            Some(("operator" | "functools" | "math", _)) => Value::Library(name.as_str().into()),
            Some(_) if self.explores() => Value::Library(name.as_str().into()),
            _ => Value::Unknown,
        }
    }

    /// Returns the elements of a list or tuple display.
    fn all(&mut self, elements: &'a [Expr], frame: &Frame<'a>) -> Evaluated<Option<Vec<Value<'a>>>> {
        let mut values = Vec::new();
        let mut known = true;
        for element in elements {
            if let Expr::Starred(starred) = element {
                match self.iterated(&starred.value, frame)? {
                    Some(more) => values.extend(more),
                    None => known = false,
                }
            } else {
                values.push(self.value(element, frame)?);
            }
        }
        Ok(Some(values).filter(|_| known))
    }

    fn dict(&mut self, dict: &'a ast::ExprDict, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let mut items: Vec<(Rc<str>, Value)> = Vec::new();
        let mut known = true;
        for item in &dict.items {
            let key = item.key.as_ref().map(|key| self.value(key, frame)).transpose()?;
            let value = self.value(&item.value, frame)?;
            match key {
                Some(key) if let Some(key) = key.key() => items.push((key, value)),
                // `{**first, "loss": loss}`
                None if self.explores() => match &value {
                    Value::Dict(more) if more.borrow().is_some() => {
                        items.extend(more.borrow().iter().flatten().cloned());
                    }
                    // Another dictionary is assumed to have other keys.
                    _ => known &= self.is_exploring,
                },
                _ => known = false,
            }
        }
        Ok(Value::Dict(Rc::new(Some(items).filter(|_| known).into())))
    }

    fn called(&mut self, call: &'a ast::ExprCall, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        self.callers.push((self.ctx.document, call.range()));
        let value = self.called_here(call, frame);
        self.callers.pop();
        value
    }

    fn called_here(&mut self, call: &'a ast::ExprCall, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let root = root(&call.func);
        let is_shadowed = root.is_some_and(|name| frame.scope.knows(name));
        let name = self.ctx.resolve(&call.func).filter(|_| !is_shadowed);
        if let Some(callee) = name.as_ref().and_then(|name| self.imported(name)) {
            let arguments = self.arguments(&call.arguments, frame)?;
            return self.call(&callee, arguments, call.range());
        }
        if name.is_none()
            && call.arguments.is_empty()
            && call.func.as_name_expr().is_some_and(|name| name.id == "super")
            && let Some((object, class)) = &frame.receiver
        {
            return Ok(Value::Super(object.clone(), class));
        }
        if let Some(name) = &name
            && is_skipped(name)
        {
            self.untraceable(name, call.range());
        }
        if let Expr::Name(name) = &*call.func
            && !frame.scope.knows(&name.id)
            && is_skipped_builtin(&name.id)
        {
            self.untraceable(&name.id, call.range());
        }
        let arguments = self.arguments(&call.arguments, frame)?;
        if let Some(value) = self.asks_for_mode(&call.func) {
            return Ok(value);
        }
        if let Some(name) = name {
            if name == "os.path.join" && !self.explores() {
                return Ok(self.joined_path(&arguments, &call.arguments));
            }
            // The rule about calls of `torch.export.export` reports literals.
            if name == "torch.export.export"
                && matches!(arguments.get(1, "args"), Some(Value::Tensor(..) | Value::List(_)))
                && let Some(inputs) = call.arguments.find_argument_value("args", 1)
            {
                self.report(inputs.range(), Kind::Inputs, "the example inputs are not a tuple".to_owned());
            }
            return self.library(&name, arguments, call.range());
        }
        match &*call.func {
            Expr::Attribute(attribute) => {
                let object = self.value(&attribute.value, frame)?;
                if matches!(object, Value::Proxy) {
                    return Ok(Value::Proxy);
                }
                if self.framework == Framework::Arrays
                    && let Some(value) = self.array_method(&object, &attribute.attr, call.range())
                {
                    return Ok(value);
                }
                self.stored_by_method(&object, &attribute.attr, &arguments, call.range());
                let object = match object {
                    Value::Tree if tensor_methods::is_of_tensors(&attribute.attr) => Value::unshaped(),
                    object => object,
                };
                if attribute.attr.as_str() == "size" && self.records_sizes(&object, &attribute.value) {
                    let is_one = arguments.len() > 0;
                    return Ok(if is_one { Value::Recorded } else { Value::many(Value::Recorded) });
                }
                if matches!(object, Value::Tensor(..)) && RESHAPING.contains(&attribute.attr.as_str()) {
                    return Err(Stop);
                }
                if let Value::Library(class) = &object
                    && **class == *LOGGER
                    && is_level(&attribute.attr)
                {
                    let name = snippet(self.ctx.text(&*call.func));
                    self.untraceable(&name, call.range());
                    return Ok(Value::None);
                }
                self.check_transformed_method(&object, &attribute.attr, &arguments, call.range());
                if matches!(object, Value::Tensor(..))
                    && attribute.attr.as_str() == "requires_grad_"
                    && arguments.values().all(|value| value.truth() == Some(true))
                {
                    self.python_value("`requires_grad_()`", call.range());
                }
                if attribute.attr.as_str() == "tolist"
                    && (object.dtype().is_float() || object.dtype() == Dtype::Bool)
                {
                    self.list_of_floats(attribute.value.range(), call.range());
                }
                if matches!(object, Value::Tensor(..)) && matches!(attribute.attr.as_str(), "item" | "tolist")
                {
                    let what = format!("`.{}()`", attribute.attr);
                    let number = self.converted(&what, attribute.value.range(), call.range());
                    return Ok(match (attribute.attr.as_str(), &object, number) {
                        ("item", _, number) => number,
                        (_, Value::Tensor(Some(shape), dtype), Value::Number) if !dtype.is_float() => {
                            match **shape {
                                [Size::Known(length)] if length <= MOST_LISTED => {
                                    Value::list((0..length).map(|_| Value::Number).collect())
                                }
                                _ => Value::Unknown,
                            }
                        }
                        _ => Value::Unknown,
                    });
                }
                if let Value::Tensor(shape, dtype) = &object {
                    self.check_operands(&attribute.attr, &object, &arguments, call.range())?;
                    let result = match shape {
                        None => Ok(tensor_methods::of_unknown_shape(&attribute.attr, &arguments)),
                        Some(shape) => self.tensor_method(shape, &attribute.attr, &arguments),
                    };
                    let result = result.map_err(|reason| {
                        let shape = shape.as_ref().map_or_else(String::new, |shape| shown(shape));
                        self.fail(
                            call.range(),
                            format!("`.{}` of the shape {shape}: {reason}", attribute.attr),
                        )
                    })?;
                    return Ok(result.with_dtype(dtypes::of_method(*dtype, &attribute.attr, &arguments)));
                }
                if matches!(object, Value::Compiled(_)) {
                    self.check_program_method(&object, &attribute.attr, call.range());
                }
                let callee = self.attribute(&object, &attribute.attr)?;
                if matches!((&object, &callee), (Value::Object(_), Value::Lambda(_))) {
                    self.lambda_attribute(&attribute.attr, attribute.range());
                }
                match callee {
                    Value::Unknown => {
                        let is_stored = matches!(&object, Value::Object(object) if object.attributes.borrow()
                            .as_ref().is_some_and(|it| it.get(attribute.attr.as_str()).is_some()));
                        if is_stored || matches!(object, Value::Tensor(..)) {
                            arguments.forget();
                            return Ok(Value::Unknown);
                        }
                        self.known_method(&object, &attribute.attr, arguments, call.range())
                    }
                    callee => self.call(&callee, arguments, call.range()),
                }
            }
            Expr::Name(name) if !frame.scope.knows(&name.id) => self.builtin(&name.id, &arguments, call),
            callee => {
                let name = last_name(callee);
                let callee = self.value(callee, frame)?;
                if matches!(callee, Value::Unknown) {
                    self.forget_changes_of(name.into_iter().map(Name::as_str).collect());
                }
                self.call(&callee, arguments, call.range())
            }
        }
    }

    pub(super) fn arguments(
        &mut self,
        arguments: &'a ast::Arguments,
        frame: &Frame<'a>,
    ) -> Evaluated<Arguments<'a>> {
        let mut found = Arguments::default();
        for argument in &arguments.args {
            if let Expr::Starred(starred) = argument {
                match self.iterated(&starred.value, frame)? {
                    Some(values) => found.positional.extend(values),
                    None => found.open = true,
                }
            } else {
                let value = self.value(argument, frame)?;
                found.positional.push(value);
            }
        }
        for keyword in &arguments.keywords {
            let value = self.value(&keyword.value, frame)?;
            match &keyword.arg {
                Some(name) => found.keywords.push((name.as_str(), value)),
                None => match &value {
                    Value::Dict(items) if items.borrow().is_some() => {
                        for (name, value) in items.borrow().iter().flatten() {
                            match self.text_of(name) {
                                Some(name) => found.keywords.push((name, value.clone())),
                                None => found.open = true,
                            }
                        }
                    }
                    _ => found.open = true,
                },
            }
        }
        Ok(found)
    }

    /// Returns a text as the name of a keyword argument or attribute. Names are in the texts of the modules, except those
    /// that the program composes.
    pub(super) fn text_of(&self, name: &str) -> Option<&'a str> {
        let mut texts = self.modules.iter().map(|module| module.ctx.text);
        texts.find_map(|text| text.get(text.find(name)?..)?.get(..name.len()))
    }

    /// Returns the text of an f-string whose values are known. If a part at its start is not known, it may be a path:
    /// `f"{folder}/best.pt"`.
    fn formatted(&mut self, text: &'a ast::ExprFString, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let mut formatted = String::new();
        let mut unknown_parts = 0;
        for element in text.value.elements() {
            match element {
                ast::InterpolatedStringElement::Literal(literal) => formatted.push_str(&literal.value),
                ast::InterpolatedStringElement::Interpolation(part) => {
                    let value = self.value(&part.expression, frame)?;
                    if part.format_spec.is_some() {
                        self.used_operand(&value, part.range());
                    }
                    let spec = part.format_spec.as_deref().map_or(Some(""), literal_spec);
                    let known =
                        spec.filter(|_| part.conversion.is_none()).and_then(|spec| in_format(&value, spec));
                    match known {
                        Some(known) => formatted.push_str(&known),
                        None => {
                            unknown_parts += 1;
                            formatted.push_str(self.ctx.text(part));
                        }
                    }
                }
            }
        }
        Ok(match unknown_parts {
            0 => Value::Text(formatted.into()),
            _ => self.unknown_path(&formatted),
        })
    }
}

/// Returns the format of a value in an f-string: `03d` in `f"{step:03d}"`.
fn literal_spec(spec: &ast::InterpolatedStringFormatSpec) -> Option<&str> {
    match &*spec.elements {
        [ast::InterpolatedStringElement::Literal(literal)] => Some(&literal.value),
        _ => None,
    }
}

/// Returns the text of a value in a format: `{}`, `{:03d}`, `{:.2f}`.
fn in_format(value: &Value, spec: &str) -> Option<String> {
    let kind = spec.chars().last().filter(char::is_ascii_alphabetic);
    let digits = kind.map_or(spec, |kind| spec.trim_end_matches(kind));
    let (width, precision) =
        digits.split_once('.').map_or((digits, None), |(width, rest)| (width, Some(rest)));
    let is_padded = width.starts_with('0');
    let width: usize = if width.is_empty() { 0 } else { width.parse().ok().filter(|width| *width < 64)? };
    match (value, kind, precision) {
        (Value::Text(text), None | Some('s'), None) if width == 0 => Some(text.to_string()),
        (Value::Int(value), None | Some('d'), None) if is_padded => Some(format!("{value:0width$}")),
        (Value::Int(value), None | Some('d'), None) => Some(format!("{value:width$}")),
        (Value::Float(value), Some('f'), precision) if width == 0 => {
            let precision: usize = precision.map_or(Some(6), |it| it.parse().ok()).filter(|it| *it < 20)?;
            Some(format!("{value:.precision$}"))
        }
        _ => None,
    }
}

/// Returns the name at the start of `torch.nn.functional.relu`.
fn root(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Name(name) => Some(name.id.as_str()),
        Expr::Attribute(attribute) => root(&attribute.value),
        _ => None,
    }
}
