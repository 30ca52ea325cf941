//! Constant folding: scalar arithmetic on literals, sizes of known shapes, branches on literal conditions,
//! loops with zero iterations.

use super::rewrite::{Rewrite, Rewritten, rewrite};
use crate::ir::arithmetic::{self, Kind, widen};
use crate::ir::graph::{Function, Node, ValueInfo};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::{Dim, Type};

pub(super) fn run(function: &mut Function) {
    rewrite(function, &mut ConstantFolding);
}

struct ConstantFolding;

impl Rewrite for ConstantFolding {
    fn node(&mut self, mut node: Node, values: &mut Vec<ValueInfo>) -> Rewritten {
        match &node.op {
            Op::Scalar(scalar) => match folded(*scalar, &node, values) {
                Some(known) => Rewritten::Replace(vec![known], node),
                None => Rewritten::Keep(node),
            },
            Op::Size => match size(&node.operands, values) {
                Some(known) => Rewritten::Replace(vec![known], node),
                None => Rewritten::Keep(node),
            },
            Op::If => match node.operands[..] {
                [Operand::Bool(condition)] if node.regions.len() == 2 => {
                    let region = node.regions.swap_remove(usize::from(!condition));
                    // The results of the other branch are discarded.
                    Rewritten::Inline(region.nodes, region.results)
                }
                _ => Rewritten::Keep(node),
            },
            Op::For => match node.operands[..] {
                [Operand::Int(start), Operand::Int(stop), Operand::Int(step), ..]
                    if step != 0 && (if step > 0 { start >= stop } else { start <= stop }) =>
                {
                    let carried = node.operands[3..].to_vec();
                    Rewritten::Replace(carried, node)
                }
                _ => Rewritten::Keep(node),
            },
            _ => Rewritten::Keep(node),
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

/// Returns the result of an operation on known scalars. `None` if it would raise or overflow, which happens at run time.
fn folded(scalar: Scalar, node: &Node, values: &[ValueInfo]) -> Option<Operand> {
    let is_int = |operand: &Operand| match operand {
        Operand::Value(value) => values.get(value.index()).is_some_and(|info| info.ty == Type::Int),
        _ => false,
    };
    match &node.operands[..] {
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
        [a] => {
            let (a, kind) = scalar_literal(a)?;
            let (function, takes, returns) = arithmetic::unary(scalar, kind)?;
            literal(function(widen(a, kind, takes)?, 0).ok()?, returns)
        }
        [a, b] => {
            let ((a, kind), (b, other)) = (scalar_literal(a)?, scalar_literal(b)?);
            let result = Kind::of(&values.get(node.outputs.first()?.index())?.ty)?;
            let (function, takes, returns) = arithmetic::binary(scalar, kind, other, result)?;
            literal(function(widen(a, kind, takes)?, widen(b, other, takes)?).ok()?, returns)
        }
        _ => None,
    }
}

/// Returns the bits and the kind of a literal.
fn scalar_literal(operand: &Operand) -> Option<(u64, Kind)> {
    match operand {
        Operand::Bool(value) => Some((u64::from(*value), Kind::Bool)),
        Operand::Int(value) => Some((value.cast_unsigned(), Kind::Int)),
        Operand::Float(value) => Some((value.to_bits(), Kind::Float)),
        _ => None,
    }
}

fn literal(bits: u64, kind: Kind) -> Option<Operand> {
    Some(match kind {
        Kind::Bool => (bits != 0).into(),
        Kind::Int => bits.cast_signed().into(),
        Kind::Float => f64::from_bits(bits).into(),
    })
}
