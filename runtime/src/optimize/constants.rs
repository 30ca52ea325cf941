//! Registers whose value is known while the graph is made: arithmetic on literals, sizes of known shapes, branches on
//! literal conditions, loops without rounds.

use super::rewrite::{Outcome, Rewrite, rewrite};
use crate::ir::graph::{Function, Node, ValueInfo};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, Type};

pub(super) fn run(function: &mut Function) {
    rewrite(function, &mut Constants);
}

struct Constants;

impl Rewrite for Constants {
    fn node(&mut self, mut node: Node, values: &[ValueInfo]) -> Outcome {
        match &node.op {
            Op::Scalar(scalar) => match folded(*scalar, &node.operands, values) {
                Some(known) => Outcome::Becomes(vec![known], node),
                None => Outcome::Stays(node),
            },
            Op::Size => match size(&node.operands, values) {
                Some(known) => Outcome::Becomes(vec![known], node),
                None => Outcome::Stays(node),
            },
            Op::If => match node.operands[..] {
                [Operand::Bool(condition)] if node.regions.len() == 2 => {
                    let region = node.regions.swap_remove(usize::from(!condition));
                    // What only the other branch has is used nowhere.
                    Outcome::Opens(region.nodes, region.results)
                }
                _ => Outcome::Stays(node),
            },
            Op::For => match node.operands[..] {
                [Operand::Int(start), Operand::Int(stop), Operand::Int(step), ..]
                    if step != 0 && (if step > 0 { start >= stop } else { start <= stop }) =>
                {
                    let carried = node.operands[3..].to_vec();
                    Outcome::Becomes(carried, node)
                }
                _ => Outcome::Stays(node),
            },
            _ => Outcome::Stays(node),
        }
    }
}

fn size(operands: &[Operand], values: &[ValueInfo]) -> Option<Operand> {
    let [Operand::Value(tensor), Operand::Int(dim)] = operands else { return None };
    let Type::Tensor(ty) = &values.get(tensor.index())?.ty else { return None };
    let shape = ty.shape.as_ref()?;
    let dim = if *dim < 0 { dim + shape.len() as i64 } else { *dim };
    match shape.get(usize::try_from(dim).ok()?)? {
        Dim::Known(size) => i64::try_from(*size).ok().map(Operand::Int),
        _ => None,
    }
}

/// As Python computes it. What would raise, and what does not fit a register, is left to the run.
fn folded(scalar: Scalar, operands: &[Operand], values: &[ValueInfo]) -> Option<Operand> {
    let is_int = |operand: &Operand| match operand {
        Operand::Value(value) => values.get(value.index()).is_some_and(|info| info.ty == Type::Int),
        _ => false,
    };
    match operands {
        [Operand::Int(a), Operand::Int(b)] => ints(scalar, *a, *b),
        [Operand::Float(a), Operand::Float(b)] => floats(scalar, *a, *b),
        [Operand::Bool(a), Operand::Bool(b)] => match scalar {
            Scalar::And => Some((*a && *b).into()),
            Scalar::Or => Some((*a || *b).into()),
            Scalar::Eq => Some((a == b).into()),
            Scalar::Ne => Some((a != b).into()),
            _ => None,
        },
        [Operand::Bool(condition), a, b] if scalar == Scalar::Select => {
            Some(if *condition { a } else { b }.clone())
        }
        [value, Operand::Int(neutral)] if is_int(value) => match (scalar, neutral) {
            (Scalar::Add | Scalar::Sub, 0) | (Scalar::Mul | Scalar::FloorDiv, 1) => Some(value.clone()),
            _ => None,
        },
        [Operand::Int(neutral), value] if is_int(value) => match (scalar, neutral) {
            (Scalar::Add, 0) | (Scalar::Mul, 1) => Some(value.clone()),
            _ => None,
        },
        [Operand::Int(a)] => match scalar {
            Scalar::Neg => a.checked_neg().map(Operand::Int),
            Scalar::Abs => a.checked_abs().map(Operand::Int),
            Scalar::ToInt => Some(Operand::Int(*a)),
            Scalar::ToFloat if is_exact(*a) => Some(Operand::Float(*a as f64)),
            Scalar::ToBool => Some(Operand::Bool(*a != 0)),
            _ => None,
        },
        [Operand::Float(a)] => match scalar {
            Scalar::Neg => Some(Operand::Float(-a)),
            Scalar::Abs => Some(Operand::Float(a.abs())),
            Scalar::ToFloat => Some(Operand::Float(*a)),
            Scalar::ToBool => Some(Operand::Bool(*a != 0.0)),
            _ => None,
        },
        [Operand::Bool(a)] => match scalar {
            Scalar::Not => Some(Operand::Bool(!a)),
            Scalar::ToBool => Some(Operand::Bool(*a)),
            Scalar::ToInt => Some(Operand::Int(i64::from(*a))),
            Scalar::ToFloat => Some(Operand::Float(f64::from(u8::from(*a)))),
            _ => None,
        },
        _ => None,
    }
}

fn ints(scalar: Scalar, a: i64, b: i64) -> Option<Operand> {
    Some(match scalar {
        Scalar::Add => a.checked_add(b)?.into(),
        Scalar::Sub => a.checked_sub(b)?.into(),
        Scalar::Mul => a.checked_mul(b)?.into(),
        Scalar::FloorDiv => {
            let quotient = a.checked_div(b)?;
            let is_below = a % b != 0 && (a < 0) != (b < 0);
            (quotient - i64::from(is_below)).into()
        }
        Scalar::Mod => {
            let rest = a.checked_rem(b)?;
            (if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }).into()
        }
        Scalar::TrueDiv if b != 0 && is_exact(a) && is_exact(b) => (a as f64 / b as f64).into(),
        Scalar::Pow => a.checked_pow(u32::try_from(b).ok()?)?.into(),
        Scalar::Min => a.min(b).into(),
        Scalar::Max => a.max(b).into(),
        Scalar::Eq => (a == b).into(),
        Scalar::Ne => (a != b).into(),
        Scalar::Lt => (a < b).into(),
        Scalar::Le => (a <= b).into(),
        Scalar::Gt => (a > b).into(),
        Scalar::Ge => (a >= b).into(),
        _ => return None,
    })
}

fn floats(scalar: Scalar, a: f64, b: f64) -> Option<Operand> {
    Some(match scalar {
        Scalar::Add => (a + b).into(),
        Scalar::Sub => (a - b).into(),
        Scalar::Mul => (a * b).into(),
        Scalar::TrueDiv if b != 0.0 => (a / b).into(),
        Scalar::Eq => (a == b).into(),
        Scalar::Ne => (a != b).into(),
        Scalar::Lt => (a < b).into(),
        Scalar::Le => (a <= b).into(),
        Scalar::Gt => (a > b).into(),
        Scalar::Ge => (a >= b).into(),
        _ => return None,
    })
}

/// Whether a float holds it.
fn is_exact(number: i64) -> bool {
    number.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS
}
