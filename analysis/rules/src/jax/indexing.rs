//! The results of indexing: `x[0]`, `x[:, None]`, `x[indices]`, `shape[:-1]`, `params["w"]`.

use ruff_python_ast::{self as ast, Expr};

use super::abstract_value::{DType, Leaf, Value};
use super::frame::{Environment, Frame};

impl<'a> Frame<'_, '_, 'a> {
    pub(super) fn item(&self, subscript: &'a ast::ExprSubscript, environment: &Environment<'a>) -> Value {
        match self.value(&subscript.value, environment) {
            Value::Dict(items) => {
                let key = subscript.slice.as_string_literal_expr().map(|key| key.value.to_str());
                let item = items.into_iter().find(|(name, _)| Some(name.as_str()) == key);
                item.map_or(Value::Unknown, |(_, value)| value)
            }
            Value::Leaf(leaf) => {
                let dtype = leaf.dtype.map(|(dtype, _)| (dtype, false));
                let shape = leaf.shape.and_then(|shape| self.indexed(&shape, &subscript.slice, environment));
                Value::Leaf(Leaf { dtype, shape, ..Leaf::default() })
            }
            value => match value.elements() {
                Some(elements) => self.element(&value, &elements, &subscript.slice, environment),
                None => Value::Unknown,
            },
        }
    }

    /// Returns an element of a sequence, or the elements that a slice selects: `shape[-1]`, `shape[:2]`.
    fn element(
        &self,
        sequence: &Value,
        elements: &[&Value],
        index: &'a Expr,
        environment: &Environment<'a>,
    ) -> Value {
        if let Expr::Slice(slice) = index {
            let length = elements.len() as u64;
            let Some((start, stop)) = self.bounds(slice, length, environment) else { return Value::Unknown };
            let selected = elements.iter().take(stop).skip(start).map(|element| (*element).clone()).collect();
            return match sequence {
                Value::Tuple(_) => Value::Tuple(selected),
                Value::List(_) => Value::List(selected),
                _ => Value::Unknown,
            };
        }
        let position = self.integer(index, environment).and_then(|index| position(index, elements.len()));
        position.map_or(Value::Unknown, |position| elements[position].clone())
    }

    fn integer(&self, expression: &'a Expr, environment: &Environment<'a>) -> Option<i64> {
        self.value(expression, environment).leaf()?.integer
    }

    /// Returns the bounds of a slice without a step, as positions.
    fn bounds(
        &self,
        slice: &'a ast::ExprSlice,
        length: u64,
        environment: &Environment<'a>,
    ) -> Option<(usize, usize)> {
        let length = i64::try_from(length).ok()?;
        let bound = |bound: Option<&'a Expr>, default: i64| match bound {
            None | Some(Expr::NoneLiteral(_)) => Some(default),
            Some(bound) => {
                let bound = self.integer(bound, environment)?;
                Some(if bound < 0 { bound.checked_add(length)?.max(0) } else { bound.min(length) })
            }
        };
        let start = bound(slice.lower.as_deref(), 0)?;
        let stop = bound(slice.upper.as_deref(), length)?.max(start);
        let bounds = usize::try_from(start).ok()?;
        slice.step.is_none().then_some((bounds, usize::try_from(stop).ok()?))
    }

    /// Returns the shape of `x[index]`. At most one index may be an array, and then no other index may be a scalar.
    fn indexed(&self, shape: &[u64], index: &'a Expr, environment: &Environment<'a>) -> Option<Vec<u64>> {
        let indices = match index {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            index => std::slice::from_ref(index),
        };
        let is_new_axis = |index: &Expr| {
            index.is_none_literal_expr()
                || self.evaluator.ctx.resolve(index).is_some_and(|name| name.ends_with("numpy.newaxis"))
        };
        let used = indices.iter().filter(|it| !is_new_axis(it) && !it.is_ellipsis_literal_expr()).count();
        let mut rest = shape.len().checked_sub(used)?;
        let mut sizes = shape.iter().copied();
        let mut found = Vec::new();
        let (mut arrays, mut scalars) = (0, 0);
        for index in indices {
            match index {
                _ if is_new_axis(index) => found.push(1),
                Expr::EllipsisLiteral(_) => found.extend(sizes.by_ref().take(std::mem::take(&mut rest))),
                Expr::Slice(slice) if is_reversed(slice) => found.push(sizes.next()?),
                Expr::Slice(slice) => {
                    let (start, stop) = self.bounds(slice, sizes.next()?, environment)?;
                    found.push((stop - start) as u64);
                }
                index => {
                    sizes.next()?;
                    let value = self.value(index, environment);
                    let leaf = value.leaf()?;
                    if matches!(leaf.dtype, None | Some((DType::Bool | DType::Inexact, _))) {
                        return None;
                    }
                    let selected = leaf.shape.as_ref()?;
                    arrays += usize::from(!selected.is_empty());
                    scalars += usize::from(selected.is_empty());
                    found.extend(selected);
                }
            }
        }
        found.extend(sizes);
        (arrays == 0 || arrays == 1 && scalars == 0).then_some(found)
    }
}

/// `x[::-1]`
fn is_reversed(slice: &ast::ExprSlice) -> bool {
    let is_one = |step: &Expr| {
        step.as_unary_op_expr().is_some_and(|negated| {
            negated.op == ast::UnaryOp::USub && ag_syntax::expressions::natural(&negated.operand) == Some(1)
        })
    };
    slice.lower.is_none() && slice.upper.is_none() && slice.step.as_deref().is_some_and(is_one)
}

/// Returns the position for an index that may be negative.
pub(super) fn position(index: i64, length: usize) -> Option<usize> {
    let from_end = index.checked_add(i64::try_from(length).ok()?)?;
    usize::try_from(if index < 0 { from_end } else { index }).ok().filter(|position| *position < length)
}
