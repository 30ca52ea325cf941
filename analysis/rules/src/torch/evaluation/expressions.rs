//! Expressions.

use std::rc::Rc;

use ag_index::index::last_name;
use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, CmpOp, Expr, Number, Operator, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::calls::{Arguments, shown};
use super::values::{Shape, Size, Value, Variables};
use super::{Evaluated, Evaluation, Frame, MOST_ITERATIONS, MOST_STEPS, Stop, sizes};

/// Methods of Tensors that change the shape of the Tensor itself.
const RESHAPING: [&str; 8] =
    ["resize_", "resize_as_", "set_", "squeeze_", "swapaxes_", "t_", "transpose_", "unsqueeze_"];
/// The maximum number of nested expressions that are being evaluated.
const MOST_NESTED: usize = 400;
/// Larger integers are not evaluated.
const LARGEST: i64 = 1 << 30;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn value(&mut self, expression: &'a Expr, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        self.steps += 1;
        if self.steps > MOST_STEPS || self.nested > MOST_NESTED {
            return Err(Stop);
        }
        self.nested += 1;
        let value = self.unlimited_value(expression, frame);
        self.nested -= 1;
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
                name => frame.scope.get(name),
            },
            Expr::Attribute(attribute) => {
                let object = self.value(&attribute.value, frame)?;
                self.attribute(&object, &attribute.attr)?
            }
            Expr::Tuple(tuple) => self.all(&tuple.elts, frame)?.map_or(Value::Unknown, Value::tuple),
            Expr::List(list) => self.all(&list.elts, frame)?.map_or(Value::Unknown, Value::list),
            Expr::Dict(dict) => self.dict(dict, frame)?,
            Expr::Call(call) => self.called(call, frame)?,
            Expr::BinOp(operation) => {
                let left = self.value(&operation.left, frame)?;
                let right = self.value(&operation.right, frame)?;
                self.operation(operation.op, &left, &right, operation.range())?
            }
            Expr::UnaryOp(operation) => {
                let operand = self.value(&operation.operand, frame)?;
                match (operation.op, operand) {
                    (UnaryOp::USub, Value::Int(value)) => Value::Int(-value),
                    (UnaryOp::USub, Value::Float(value)) => Value::Float(-value),
                    (UnaryOp::Not, value) if !matches!(value, Value::Tensor(_)) => {
                        value.truth().map_or(Value::Unknown, |truth| Value::Bool(!truth))
                    }
                    (_, tensor @ Value::Tensor(_)) => tensor,
                    _ => Value::Unknown,
                }
            }
            Expr::BoolOp(operation) => {
                let is_and = operation.op == ast::BoolOp::And;
                let mut last = Value::Unknown;
                for value in &operation.values {
                    last = self.value(value, frame)?;
                    match last.truth() {
                        Some(truth) if truth == is_and => {}
                        Some(_) => return Ok(last),
                        None => return Ok(Value::Unknown),
                    }
                }
                last
            }
            Expr::Compare(compare) => {
                let left = self.value(&compare.left, frame)?;
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else {
                    return Ok(Value::Unknown);
                };
                let right = self.value(right, frame)?;
                self.comparison(*op, &left, &right, compare.range())?
            }
            Expr::If(node) => match self.value(&node.test, frame)?.truth() {
                Some(true) => self.value(&node.body, frame)?,
                Some(false) => self.value(&node.orelse, frame)?,
                None => Value::Unknown,
            },
            Expr::Subscript(item) => self.item(item, frame)?,
            Expr::ListComp(node) => self.comprehension(&node.elt, &node.generators, frame)?,
            Expr::Generator(node) => self.comprehension(&node.elt, &node.generators, frame)?,
            Expr::Named(node) => {
                let value = self.value(&node.value, frame)?;
                self.assign(&node.target, value.clone(), frame)?;
                value
            }
            _ => Value::Unknown,
        })
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
                Some(Value::Text(key)) => items.push((key, value)),
                // The keys of `{0: batch}`
                Some(Value::Int(key)) => items.push((key.to_string().into(), value)),
                _ => known = false,
            }
        }
        Ok(Value::Dict(Rc::new(Some(items).filter(|_| known).into())))
    }

    fn comprehension(
        &mut self,
        element: &'a Expr,
        generators: &'a [ast::Comprehension],
        frame: &Frame<'a>,
    ) -> Evaluated<Value<'a>> {
        let [generator] = generators else { return Ok(Value::Unknown) };
        let elements = self.iterated(&generator.iter, frame)?.filter(|it| it.len() <= MOST_ITERATIONS);
        let Some(elements) = elements else { return Ok(Value::Unknown) };
        let inner = Frame { scope: Variables::inside(&frame.scope), receiver: frame.receiver.clone() };
        let mut values = Vec::new();
        'elements: for value in elements {
            self.assign(&generator.target, value, &inner)?;
            for test in &generator.ifs {
                match self.value(test, &inner)?.truth() {
                    Some(true) => {}
                    Some(false) => continue 'elements,
                    None => return Ok(Value::Unknown),
                }
            }
            values.push(self.value(element, &inner)?);
        }
        Ok(Value::list(values))
    }

    /// Returns the values over which a loop iterates.
    pub(super) fn iterated(
        &mut self,
        iterable: &'a Expr,
        frame: &Frame<'a>,
    ) -> Evaluated<Option<Vec<Value<'a>>>> {
        let value = self.value(iterable, frame)?;
        Ok(match &value {
            Value::Layer(layer) => match &**layer {
                super::values::Layer::Sequential(layers) => layers.borrow().clone(),
                _ => None,
            },
            value => value.elements(),
        })
    }

    fn called(&mut self, call: &'a ast::ExprCall, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let root = root(&call.func);
        let is_shadowed = root.is_some_and(|name| frame.scope.knows(name));
        let name = self.ctx.resolve(&call.func).filter(|_| !is_shadowed);
        if name.is_none()
            && call.arguments.is_empty()
            && call.func.as_name_expr().is_some_and(|name| name.id == "super")
            && let Some((object, class)) = &frame.receiver
        {
            return Ok(Value::Super(object.clone(), class));
        }
        let arguments = self.arguments(&call.arguments, frame)?;
        if let Some(name) = name {
            return self.library(&name, arguments, call.range());
        }
        match &*call.func {
            Expr::Attribute(attribute) => {
                let object = self.value(&attribute.value, frame)?;
                if matches!(object, Value::Tensor(_)) && RESHAPING.contains(&attribute.attr.as_str()) {
                    return Err(Stop);
                }
                if let Value::Tensor(Some(shape)) = &object {
                    let result = self.tensor_method(shape, &attribute.attr, &arguments);
                    return result.map_err(|reason| {
                        let shape = shown(shape);
                        self.fail(
                            call.range(),
                            format!("`.{}` of the shape {shape}: {reason}", attribute.attr),
                        )
                    });
                }
                let callee = self.attribute(&object, &attribute.attr)?;
                match callee {
                    Value::Unknown => {
                        let is_stored = matches!(&object, Value::Object(object) if object.attributes.borrow()
                            .as_ref().is_some_and(|it| it.contains_key(attribute.attr.as_str())));
                        if is_stored || matches!(object, Value::Tensor(_)) {
                            arguments.forget();
                            return Ok(Value::Unknown);
                        }
                        self.known_method(&object, &attribute.attr, arguments)
                    }
                    callee => self.call(&callee, arguments, call.range()),
                }
            }
            Expr::Name(name) if !frame.scope.knows(&name.id) => Ok(self.builtin(&name.id, &arguments)),
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

    fn arguments(&mut self, arguments: &'a ast::Arguments, frame: &Frame<'a>) -> Evaluated<Arguments<'a>> {
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
                None => found.open = true,
            }
        }
        Ok(found)
    }

    pub(super) fn operation(
        &mut self,
        op: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        Ok(match (left, right) {
            (Value::Int(left), Value::Int(right)) => arithmetic(op, *left, *right),
            (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                let number = |value: &Value| match value {
                    #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
                    Value::Int(value) => *value as f64,
                    Value::Float(value) => *value,
                    _ => f64::NAN,
                };
                let (left, right) = (number(left), number(right));
                match op {
                    Operator::Add => Value::Float(left + right),
                    Operator::Sub => Value::Float(left - right),
                    Operator::Mult => Value::Float(left * right),
                    Operator::Div if right != 0.0 => Value::Float(left / right),
                    _ => Value::Unknown,
                }
            }
            (Value::Tensor(Some(left)), Value::Tensor(Some(right))) => {
                let result = match op {
                    Operator::MatMult => sizes::matmul(left, right),
                    _ => sizes::broadcast(left, right),
                };
                Value::tensor(result.map_err(|reason| {
                    let (left, right) = (shown(left), shown(right));
                    let op = op.as_str();
                    self.fail(range, format!("the shapes {left} and {right} do not fit `{op}`: {reason}"))
                })?)
            }
            (tensor @ Value::Tensor(_), Value::Int(_) | Value::Float(_) | Value::Bool(_))
            | (Value::Int(_) | Value::Float(_) | Value::Bool(_), tensor @ Value::Tensor(_)) => tensor.clone(),
            (Value::Tensor(_), Value::Tensor(_)) => Value::Tensor(None),
            (Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)) if op == Operator::Add => {
                match (left.elements(), right.elements()) {
                    (Some(left_elements), Some(more)) => {
                        let joined = left_elements.into_iter().chain(more).collect();
                        if matches!(left, Value::List(_)) {
                            Value::list(joined)
                        } else {
                            Value::tuple(joined)
                        }
                    }
                    _ => Value::Unknown,
                }
            }
            (Value::List(_) | Value::Tuple(_), Value::Int(count)) if op == Operator::Mult => {
                let count = usize::try_from(*count).unwrap_or(0);
                let is_small = |it: &Vec<_>| it.len().saturating_mul(count) <= MOST_ITERATIONS;
                match left.elements().filter(is_small) {
                    Some(elements) => {
                        let repeated =
                            elements.iter().cycle().take(elements.len() * count).cloned().collect();
                        if matches!(left, Value::List(_)) {
                            Value::list(repeated)
                        } else {
                            Value::tuple(repeated)
                        }
                    }
                    None => Value::Unknown,
                }
            }
            _ => Value::Unknown,
        })
    }

    fn comparison(
        &mut self,
        op: CmpOp,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let truth = match (op, left, right) {
            (CmpOp::Is, value, Value::None) => is_none(value),
            (CmpOp::IsNot, value, Value::None) => is_none(value).map(|it| !it),
            (_, Value::Tensor(_), _) | (_, _, Value::Tensor(_)) => {
                return self.operation(Operator::Add, left, right, range);
            }
            (CmpOp::Eq, Value::Text(left), Value::Text(right)) => Some(left == right),
            (CmpOp::NotEq, Value::Text(left), Value::Text(right)) => Some(left != right),
            (_, Value::Int(left), Value::Int(right)) => match op {
                CmpOp::Eq => Some(left == right),
                CmpOp::NotEq => Some(left != right),
                CmpOp::Lt => Some(left < right),
                CmpOp::LtE => Some(left <= right),
                CmpOp::Gt => Some(left > right),
                CmpOp::GtE => Some(left >= right),
                _ => None,
            },
            _ => None,
        };
        Ok(truth.map_or(Value::Unknown, Value::Bool))
    }

    fn item(&mut self, item: &'a ast::ExprSubscript, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let value = self.value(&item.value, frame)?;
        if let Value::Tensor(Some(shape)) = &value {
            return self.index(shape, &item.slice, frame);
        }
        if let Expr::Slice(slice) = &*item.slice {
            let Some(elements) = value.elements() else { return Ok(Value::Unknown) };
            let bounds = self.bounds(slice, elements.len(), frame)?;
            let Some(part) = bounds.and_then(|(start, end)| elements.get(start..end.max(start))) else {
                return Ok(Value::Unknown);
            };
            let part = part.to_vec();
            return Ok(if matches!(value, Value::List(_)) { Value::list(part) } else { Value::tuple(part) });
        }
        let key = self.value(&item.slice, frame)?;
        Ok(match (&value, key) {
            (Value::Dict(items), Value::Text(key)) => {
                let items = items.borrow();
                let found = items.as_ref().and_then(|items| items.iter().find(|(known, _)| *known == key));
                found.map_or(Value::Unknown, |(_, value)| value.clone())
            }
            (Value::List(_) | Value::Tuple(_), Value::Int(index)) => {
                let elements = value.elements().unwrap_or_default();
                let index = sizes::index_of(elements.len(), index);
                index.and_then(|index| elements.into_iter().nth(index)).unwrap_or(Value::Unknown)
            }
            _ => Value::Unknown,
        })
    }

    /// Returns the first and the last position of a slice without step.
    fn bounds(
        &mut self,
        slice: &'a ast::ExprSlice,
        length: usize,
        frame: &Frame<'a>,
    ) -> Evaluated<Option<(usize, usize)>> {
        let Ok(length) = i64::try_from(length) else { return Ok(None) };
        if slice.step.is_some() {
            return Ok(None);
        }
        let mut bounds = [0, length];
        for (bound, expression) in bounds.iter_mut().zip([&slice.lower, &slice.upper]) {
            let Some(expression) = expression else { continue };
            match self.value(expression, frame)? {
                Value::Int(value) if value < 0 => *bound = (value + length).max(0),
                Value::Int(value) => *bound = value.min(length),
                Value::None => {}
                _ => return Ok(None),
            }
        }
        Ok(usize::try_from(bounds[0]).ok().zip(usize::try_from(bounds[1]).ok()))
    }

    /// Returns `x[0]`, `x[:, None]`, `x[..., 2:]`, where `x` is a Tensor.
    fn index(&mut self, shape: &[Size], index: &'a Expr, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let parts = match index {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            index => std::slice::from_ref(index),
        };
        let is_new = |part: &&Expr| part.is_none_literal_expr() || part.is_ellipsis_literal_expr();
        let used = parts.iter().filter(|part| !is_new(part)).count();
        let ellipses = parts.iter().filter(|part| part.is_ellipsis_literal_expr()).count();
        let Some(rest) = shape.len().checked_sub(used).filter(|_| ellipses < 2) else {
            return Ok(Value::Unknown);
        };
        let mut result: Shape = Vec::new();
        let mut at = 0;
        for part in parts {
            match part {
                Expr::NoneLiteral(_) => result.push(Size::Known(1)),
                Expr::EllipsisLiteral(_) => {
                    result.extend_from_slice(&shape[at..at + rest]);
                    at += rest;
                }
                Expr::Slice(slice) => {
                    let is_all = slice.lower.is_none() && slice.upper.is_none() && slice.step.is_none();
                    result.push(match shape[at] {
                        size if is_all => size,
                        Size::Known(size) => {
                            let length = usize::try_from(size).unwrap_or(0);
                            let bounds = self.bounds(slice, length, frame)?;
                            let length = bounds.map(|(start, end)| end.saturating_sub(start));
                            let length = length.and_then(|length| i64::try_from(length).ok());
                            length.map_or(Size::Unknown, Size::Known)
                        }
                        _ => Size::Unknown,
                    });
                    at += 1;
                }
                part => {
                    if !matches!(self.value(part, frame)?, Value::Int(_)) {
                        return Ok(Value::Tensor(None));
                    }
                    at += 1;
                }
            }
        }
        result.extend_from_slice(shape.get(at..).unwrap_or_default());
        Ok(Value::tensor(result))
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

fn is_none(value: &Value) -> Option<bool> {
    match value {
        Value::Unknown => None,
        Value::None => Some(true),
        _ => Some(false),
    }
}

fn arithmetic<'a>(op: Operator, left: i64, right: i64) -> Value<'a> {
    let result = match op {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mult => left.checked_mul(right),
        // Python rounds down.
        Operator::FloorDiv => left.checked_div_euclid(right).filter(|_| right > 0),
        Operator::Mod => left.checked_rem_euclid(right).filter(|_| right > 0),
        Operator::Pow => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        #[expect(clippy::cast_precision_loss, reason = "sizes are small")]
        Operator::Div if right != 0 => return Value::Float(left as f64 / right as f64),
        _ => None,
    };
    result.filter(|result| result.abs() <= LARGEST).map_or(Value::Unknown, Value::Int)
}
