//! Reductions, and operators along one dimension, such as softmax.

use crate::batching::Batching;
use crate::batching::lane::Lane;
use crate::ir::graph::Node;
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::dimension;

/// The index of the operand with the dimensions.
fn dims_operand(name: &str) -> Option<usize> {
    Some(match name {
        "sum.dim_IntList"
        | "mean.dim"
        | "amax.default"
        | "amin.default"
        | "all.dim"
        | "any.dim"
        | "all.dims"
        | "any.dims"
        | "logsumexp.default"
        | "var.correction"
        | "std.correction"
        | "argmax.default"
        | "argmin.default"
        | "cumsum.default"
        | "cumprod.default"
        | "_softmax.default"
        | "_log_softmax.default" => 1,
        "linalg_vector_norm.default"
        | "_softmax_backward_data.default"
        | "_log_softmax_backward_data.default" => 2,
        _ => return None,
    })
}

/// Returns whether the operator reduces all dimensions.
fn is_total(name: &str) -> bool {
    matches!(name, "sum.default" | "mean.default")
}

pub(super) fn is_reduction(name: &str) -> bool {
    is_total(name) || dims_operand(name).is_some()
}

impl Batching<'_> {
    pub(super) fn reduction(&mut self, name: &str, node: &Node, lanes: &[Lane]) -> Option<()> {
        let Lane::Each(x) = *lanes.first()? else { return None };
        let rank = self.ty(&x.into()).tensor()?.rank()? - 1;
        if is_total(name) {
            let dtype = lanes.get(1)?.same()?;
            if rank == 0 {
                let result = self.values[node.outputs.first()?.index()].ty.tensor()?.dtype;
                (self.ty(&x.into()).tensor()?.dtype == result).then_some(())?;
                let node = Node { op: Op::aten("alias.default"), ..node.clone() };
                return self.batched(&node, vec![x.into()]);
            }
            let op = Op::aten(if name == "sum.default" { "sum.dim_IntList" } else { "mean.dim" });
            let operands = vec![x.into(), all(rank), false.into(), dtype];
            return self.batched(&Node { op, ..node.clone() }, operands);
        }
        let place = dims_operand(name)?;
        let mut operands = Vec::new();
        for (index, lane) in lanes.iter().enumerate() {
            operands.push(match lane {
                Lane::Each(value) => (*value).into(),
                // A tensor that is the same in all iterations lacks the first dimension, so it is expanded.
                Lane::Same(operand) if self.ty(operand).tensor().is_some() => self.each(lane)?.into(),
                Lane::Same(operand) if index == place => behind(name, operand, rank)?,
                Lane::Same(operand) => operand.clone(),
                _ => return None,
            });
        }
        self.batched(node, operands)
    }
}

/// Returns the dimensions of a reduction, shifted by one, because the first dimension is the iteration.
fn behind(name: &str, dims: &Operand, rank: usize) -> Option<Operand> {
    let one = |dim: &Operand| match dim {
        Operand::Int(dim) => dimension(*dim, rank).map(|dim| Operand::Int(dim as i64 + 1)),
        _ => None,
    };
    match dims {
        Operand::Int(_) => one(dims),
        Operand::List(dims) if !dims.is_empty() => {
            dims.iter().map(one).collect::<Option<_>>().map(Operand::List)
        }
        // These flatten their operand.
        _ if matches!(name, "argmax.default" | "argmin.default") || rank == 0 => None,
        Operand::None | Operand::List(_) => Some(all(rank)),
        _ => None,
    }
}

/// Returns all dimensions of one iteration.
fn all(rank: usize) -> Operand {
    Operand::List((1..=rank as i64).map(Operand::Int).collect())
}
