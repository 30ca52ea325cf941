//! Items and slices of containers and Tensors.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::calls::Arguments;
use super::dtypes::Dtype;
use super::faults::Fault;
use super::values::{Shape, Size, Value};
use super::{Evaluated, Evaluation, Frame, Framework, sizes};
use crate::tracing::snippet;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn item(&mut self, item: &'a ast::ExprSubscript, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let value = self.value(&item.value, frame)?;
        if matches!(value, Value::Proxy) {
            return Ok(value);
        }
        if let Value::Tensor(Some(shape), dtype) = &value {
            return Ok(self.index(shape, &item.slice, frame)?.with_dtype(*dtype));
        }
        if self.explores()
            && let Some(part) = value.part()
        {
            let key = self.value(&item.slice, frame)?;
            if matches!(value, Value::Many(_)) && matches!(key, Value::Tensor(..)) {
                self.record_fault((self.ctx.document, item.range()), self.reach(), Fault::Index);
            }
            return Ok(match (&value, &*item.slice) {
                (Value::Many(_), Expr::Slice(_)) => value,
                _ => part,
            });
        }
        let value = match &value {
            Value::Namespace(_) => self.elements(&value)?.map_or(Value::Unknown, Value::tuple),
            _ => value,
        };
        if let Expr::Slice(slice) = &*item.slice {
            if matches!(value, Value::List(_) | Value::Tuple(_)) {
                for bound in [&slice.lower, &slice.upper].into_iter().flatten() {
                    let bound = self.value(bound, frame)?;
                    self.need(&bound);
                }
            }
            let Some(elements) = value.elements() else { return Ok(Value::Unknown) };
            let bounds = self.bounds(slice, elements.len(), frame)?;
            let Some(part) = bounds.and_then(|(start, end)| elements.get(start..end.max(start))) else {
                return Ok(Value::Unknown);
            };
            let part = part.to_vec();
            return Ok(if matches!(value, Value::List(_)) { Value::list(part) } else { Value::tuple(part) });
        }
        let key = self.value(&item.slice, frame)?;
        if matches!(value, Value::List(_) | Value::Tuple(_)) {
            self.need(&key);
            if !self.traced.is_empty()
                && self.framework == Framework::Arrays
                && matches!(key, Value::Tensor(..))
            {
                self.record_fault((self.ctx.document, item.range()), self.reach(), Fault::Index);
            }
        }
        if self.is_exploring
            && matches!(value, Value::List(_) | Value::Tuple(_) | Value::Dict(_))
            && matches!(key, Value::Number)
        {
            let text = format!("`{}`", snippet(self.ctx.text(&*item.slice)));
            self.undecided(item.slice.range(), &text, &key, "an index of a container");
        }
        self.reads_key(&value, &key);
        if let Value::Object(object) = &value {
            if let (Some(fields), Value::Int(index)) = (self.fields(object), &key) {
                let index = sizes::index_of(fields.len(), *index);
                return Ok(index.and_then(|index| fields.into_iter().nth(index)).unwrap_or(Value::Unknown));
            }
            return match (self.attribute(&value, "__getitem__")?, self.base_of(&value)) {
                (method @ Value::Function(_), _) => {
                    self.call(&method, Arguments::of(vec![key]), item.range())
                }
                (_, Some(base)) if !self.defines(object, "__getitem__") => Ok(element(&base, &key)),
                _ => Ok(Value::Unknown),
            };
        }
        Ok(match (&value, &key) {
            (Value::List(_) | Value::Tuple(_), Value::Unknown) if self.explores() => {
                value.elements().and_then(|it| Value::common(&it)).unwrap_or(Value::Unknown)
            }
            _ => {
                let found = element(&value, &key);
                if let Some(key) = key.key() {
                    self.captured(&value, &key, &found, item.range());
                }
                if let (Value::Int(_), Some(name)) = (&found, Value::global_item(&item.value, &key, frame)) {
                    self.read(None, &name, &found);
                }
                found
            }
        })
    }

    /// Records that compiled code reads an item of a dictionary.
    pub(super) fn reads_key(&mut self, container: &Value<'a>, key: &Value<'a>) {
        if let (Value::Dict(_), Value::Text(key)) = (container, key)
            && !self.traced.is_empty()
        {
            self.calls.keys.insert(key.clone());
        }
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

    /// Checks a slice up to a dynamic dimension, which must not be larger than the Tensor: `self.positions[: x.shape[1]]`.
    fn check_slice(&mut self, slice: &'a ast::ExprSlice, size: i64, frame: &Frame<'a>) -> Evaluated<()> {
        let (Some(upper), None, None) = (&slice.upper, &slice.lower, &slice.step) else { return Ok(()) };
        if !matches!(**upper, Expr::Name(_) | Expr::Subscript(_) | Expr::Call(_)) {
            return Ok(());
        }
        let Value::Size(id) = self.value(upper, frame)? else { return Ok(()) };
        let Some((_, max)) = self.range_of(id) else { return Ok(()) };
        if max.is_none_or(|max| max > size) {
            let message = format!(
                "the slice has at most {size} elements, but `dynamic_shapes` declares a dimension that may be larger: \
                 declare it with `max={size}`"
            );
            return Err(self.fail(slice.range(), message));
        }
        Ok(())
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
                            self.check_slice(slice, size, frame)?;
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
                    let index = self.value(part, frame)?;
                    if index.dtype().is_float() {
                        let message = format!(
                            "the index has the dtype {}: it must be an integer or bool",
                            index.dtype()
                        );
                        return Err(self.fail(part.range(), message));
                    }
                    if let (Value::Tensor(Some(mask), Dtype::Bool), [_]) = (&index, parts) {
                        // `x[x > 0]` has a dimension for the selected elements.
                        let rest = shape.get(mask.len()..).unwrap_or_default();
                        return Ok(Value::tensor([&[self.data_size()], rest].concat()));
                    }
                    if !matches!(index, Value::Int(_) | Value::Symbol(_)) {
                        return Ok(Value::unshaped());
                    }
                    at += 1;
                }
            }
        }
        result.extend_from_slice(shape.get(at..).unwrap_or_default());
        Ok(Value::tensor(result))
    }
}

/// Returns the element of a container at an index or key.
fn element<'a>(container: &Value<'a>, key: &Value<'a>) -> Value<'a> {
    match (container, key) {
        (Value::Dict(_), key) => key.key().map_or(Value::Unknown, |key| container.entry(&key)),
        (Value::List(_) | Value::Tuple(_), Value::Int(index)) => {
            let elements = container.elements().unwrap_or_default();
            let index = sizes::index_of(elements.len(), *index);
            index.and_then(|index| elements.into_iter().nth(index)).unwrap_or(Value::Unknown)
        }
        (Value::Layer(layer), Value::Int(_)) => match &**layer {
            super::values::Layer::Sequential(layers) => element(&Value::List(layers.clone()), key),
            _ => Value::Unknown,
        },
        _ => Value::Unknown,
    }
}

impl Value<'_> {
    /// Returns the name of an item of a global dictionary: `STATE["step"]`.
    pub(super) fn global_item(container: &Expr, key: &Self, frame: &Frame) -> Option<String> {
        let (Expr::Name(name), Self::Text(key)) = (container, key) else { return None };
        frame.scope.is_global(&name.id).then(|| format!("{}[\"{key}\"]", name.id))
    }
}
