//! Operators: arithmetic and comparisons.

use std::rc::Rc;

use ruff_python_ast::{CmpOp, Operator};
use ruff_text_size::TextRange;

use super::calls::{Arguments, shown};
use super::dtypes::Dtype;
use super::values::Value;
use super::{Evaluated, Evaluation, Framework, MOST_ITERATIONS, sizes};

/// Larger integers are not evaluated.
pub(super) const LARGEST: i64 = 1 << 30;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn operation(
        &mut self,
        op: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if self.explores()
            && let Some(result) = self.operator_method(op, left, right, range)?
        {
            return Ok(result);
        }
        if op == Operator::MatMult {
            self.check_product(left, right, range)?;
        }
        if self.framework == Framework::Arrays {
            self.used_operand(left, range);
            self.used_operand(right, range);
            match (left, right) {
                (Value::Tensor(..), _) | (_, Value::Tensor(..)) => return Ok(Value::unshaped()),
                // `tree * 2` may repeat a tuple, and `tree + tree` may join two.
                (Value::Tree, Value::Int(_)) | (Value::Int(_), Value::Tree) if op == Operator::Mult => {
                    return Ok(Value::Tree);
                }
                (Value::Tree, Value::Tree) if op == Operator::Add => return Ok(Value::Tree),
                (Value::Tree, Value::Int(_) | Value::Float(_) | Value::Array | Value::Tree)
                | (Value::Int(_) | Value::Float(_) | Value::Array, Value::Tree) => {
                    return Ok(Value::unshaped());
                }
                (
                    Value::Array | Value::Variable,
                    Value::Int(_) | Value::Float(_) | Value::Array | Value::Variable,
                )
                | (Value::Int(_) | Value::Float(_), Value::Array | Value::Variable) => {
                    return Ok(self.computed_array());
                }
                _ => {}
            }
        }
        if matches!(left, Value::Proxy) || matches!(right, Value::Proxy) && !matches!(left, Value::Text(_)) {
            return Ok(Value::Proxy);
        }
        if let (Value::Text(text), Operator::Mod) = (left, op) {
            self.formatted_values(text, right, range);
        }
        if let (Operator::Div, Value::Unknown | Value::Path(_), Value::Text(_)) = (op, left, right) {
            // `folder / "best.pt"`
            let written = self.ctx.text(range).replace(['"', '\''], "");
            return Ok(self.unknown_path(&written));
        }
        if self.is_exploring {
            match (left, right) {
                (Value::Recorded, Value::Recorded | Value::Int(_) | Value::Float(_) | Value::Unknown)
                | (Value::Int(_) | Value::Float(_) | Value::Unknown, Value::Recorded) => {
                    return Ok(Value::Recorded);
                }
                (Value::Tree | Value::Unknown, Value::Tensor(..)) | (Value::Tensor(..), Value::Tree) => {
                    return Ok(Value::unshaped());
                }
                // The argument may be a number.
                (Value::Tree, Value::Int(_) | Value::Float(_) | Value::Tree)
                | (Value::Int(_) | Value::Float(_), Value::Tree) => return Ok(Value::Tree),
                _ => {}
            }
        }
        if self.explores()
            && op == Operator::BitOr
            && let (Value::Dict(left), Value::Dict(right)) = (left, right)
        {
            let joined = left.borrow().clone().zip(right.borrow().clone()).map(|(mut known, more)| {
                known.retain(|(key, _)| !more.iter().any(|(other, _)| other == key));
                known.extend(more);
                known
            });
            return Ok(Value::Dict(Rc::new(joined.into())));
        }
        self.check_bools(op, left, right, range)?;
        let dtype = self.promoted(op, left, right);
        let result = match (left, right) {
            (Value::Number, Value::Number | Value::Int(_) | Value::Float(_))
            | (Value::Int(_) | Value::Float(_), Value::Number) => Value::Number,
            (symbol @ Value::Symbol(_), Value::Int(_)) | (Value::Int(_), symbol @ Value::Symbol(_)) => {
                symbol.clone()
            }
            (Value::Text(left), Value::Text(right)) if op == Operator::Add => {
                Value::Text(format!("{left}{right}").into())
            }
            (Value::Size(id), Value::Int(divisor)) if op == Operator::FloorDiv && *divisor > 1 => {
                Value::Quotient(*id, *divisor)
            }
            (Value::Int(left), Value::Int(right)) => arithmetic(op, *left, *right),
            (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                floating(op, left.as_float().unwrap_or(f64::NAN), right.as_float().unwrap_or(f64::NAN))
            }
            (Value::Tensor(Some(left), _), Value::Tensor(Some(right), _)) => {
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
            (
                tensor @ Value::Tensor(..),
                Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Number,
            )
            | (
                Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Number,
                tensor @ Value::Tensor(..),
            ) => tensor.clone(),
            // Operators of Tensors return Tensors.
            (Value::Tensor(..), Value::Tensor(..) | Value::Unknown) => Value::unshaped(),
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
        };
        Ok(result.with_dtype(dtype))
    }

    /// Evaluates the method by which a class defines an operator: `__add__`, or `__radd__` of the right operand.
    fn operator_method(
        &mut self,
        op: Operator,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Option<Value<'a>>> {
        for (object, method, other) in [(left, op.dunder(), right), (right, op.reflected_dunder(), left)] {
            if matches!(object, Value::Object(_))
                && let function @ Value::Function(_) = self.attribute(object, method)?
            {
                return self.call(&function, Arguments::of(vec![other.clone()]), range).map(Some);
            }
        }
        Ok(None)
    }

    pub(super) fn comparison(
        &mut self,
        op: CmpOp,
        left: &Value<'a>,
        right: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if let (Value::Object(_), Some(method)) = (left, method_of(op))
            && self.explores()
            && let function @ Value::Function(_) = self.attribute(left, method)?
        {
            return self.call(&function, Arguments::of(vec![right.clone()]), range);
        }
        match (op, left, right) {
            (CmpOp::Is | CmpOp::IsNot, Value::Proxy, _) | (CmpOp::Is | CmpOp::IsNot, _, Value::Proxy) => {
                return Ok(Value::Bool(op == CmpOp::IsNot));
            }
            (CmpOp::In | CmpOp::NotIn, _, Value::Proxy) => {
                return Err(self.needs_symbol("the test looks for an element of", range));
            }
            (CmpOp::In | CmpOp::NotIn, Value::Proxy, _) => return Ok(Value::Unknown),
            (_, Value::Proxy, _) | (_, _, Value::Proxy) => return Ok(Value::Proxy),
            _ => {}
        }
        let needs_values = !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
        if needs_values && ![left, right].iter().any(|value| matches!(value, Value::None)) {
            self.used_operand(left, range);
            self.used_operand(right, range);
        }
        let truth = match (op, left, right) {
            (CmpOp::Is, value, Value::None) => is_none(value),
            (CmpOp::IsNot, value, Value::None) => is_none(value).map(|it| !it),
            (CmpOp::In | CmpOp::NotIn, key, Value::Dict(items))
                if self.explores()
                    && let Some(key) = key.key() =>
            {
                let items = items.borrow();
                let found = items.as_ref().map(|items| items.iter().any(|(known, _)| *known == key));
                found.map(|found| found == (op == CmpOp::In))
            }
            (CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn, ..) => None,
            (_, Value::Recorded, Value::Recorded | Value::Int(_) | Value::Float(_) | Value::Unknown)
            | (_, Value::Int(_) | Value::Float(_) | Value::Unknown, Value::Recorded) => {
                return Ok(Value::Recorded);
            }
            (_, Value::Size(id), Value::Int(size)) => return Ok(self.compared_size(op, *id, *size)),
            (_, Value::Int(size), Value::Size(id)) => {
                return Ok(reversed(op).map_or(Value::Unknown, |op| self.compared_size(op, *id, *size)));
            }
            (CmpOp::Eq | CmpOp::NotEq, Value::Tensor(..), Value::None)
            | (CmpOp::Eq | CmpOp::NotEq, Value::None, Value::Tensor(..))
                if self.explores() =>
            {
                Some(op == CmpOp::NotEq)
            }
            (_, Value::Tree, Value::Int(_) | Value::Float(_) | Value::Array | Value::Tree)
            | (_, Value::Int(_) | Value::Float(_) | Value::Array, Value::Tree)
                if !matches!(op, CmpOp::Eq | CmpOp::NotEq) && !self.is_exploring =>
            {
                return Ok(Value::unshaped());
            }
            (_, Value::Array | Value::Variable, Value::Int(_) | Value::Float(_) | Value::Array) => {
                return Ok(self.computed_array());
            }
            (CmpOp::Eq | CmpOp::NotEq, Value::Unknown | Value::None, _)
            | (CmpOp::Eq | CmpOp::NotEq, _, Value::Unknown | Value::None)
                if !self.explores() =>
            {
                None
            }
            (_, Value::Tensor(..), _) | (_, _, Value::Tensor(..)) => {
                return Ok(self.operation(Operator::Add, left, right, range)?.with_dtype(Dtype::Bool));
            }
            (_, Value::Number, Value::Number | Value::Int(_) | Value::Float(_))
            | (_, Value::Int(_) | Value::Float(_), Value::Number) => return Ok(Value::Number),
            (CmpOp::Eq, Value::Text(left), Value::Text(right)) => Some(left == right),
            (CmpOp::NotEq, Value::Text(left), Value::Text(right)) => Some(left != right),
            (_, Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
                let order =
                    left.as_float().zip(right.as_float()).and_then(|(left, right)| left.partial_cmp(&right));
                order.and_then(|order| match op {
                    CmpOp::Eq => Some(order.is_eq()),
                    CmpOp::NotEq => Some(order.is_ne()),
                    CmpOp::Lt => Some(order.is_lt()),
                    CmpOp::LtE => Some(order.is_le()),
                    CmpOp::Gt => Some(order.is_gt()),
                    CmpOp::GtE => Some(order.is_ge()),
                    _ => None,
                })
            }
            _ => None,
        };
        Ok(truth.map_or(Value::Unknown, Value::Bool))
    }
}

/// Returns the method by which a class defines a comparison.
fn method_of(op: CmpOp) -> Option<&'static str> {
    Some(match op {
        CmpOp::Lt => "__lt__",
        CmpOp::LtE => "__le__",
        CmpOp::Gt => "__gt__",
        CmpOp::GtE => "__ge__",
        CmpOp::Eq => "__eq__",
        CmpOp::NotEq => "__ne__",
        _ => return None,
    })
}

fn is_none(value: &Value) -> Option<bool> {
    match value {
        Value::Unknown | Value::Tree => None,
        Value::None => Some(true),
        _ => Some(false),
    }
}

fn floating<'a>(op: Operator, left: f64, right: f64) -> Value<'a> {
    let result = match op {
        Operator::Add => left + right,
        Operator::Sub => left - right,
        Operator::Mult => left * right,
        Operator::Div if right != 0.0 => left / right,
        Operator::Pow => left.powf(right),
        _ => f64::NAN,
    };
    if result.is_finite() { Value::Float(result) } else { Value::Unknown }
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

/// Returns the comparison with exchanged operands.
fn reversed(op: CmpOp) -> Option<CmpOp> {
    Some(match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::LtE => CmpOp::GtE,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::GtE => CmpOp::LtE,
        CmpOp::Eq | CmpOp::NotEq => op,
        _ => return None,
    })
}
