//! Elementwise operators. Tensors are broadcast from their last dimension on, so a batched tensor with fewer dimensions
//! than the result gets dimensions of size one behind the first.

use crate::batching::lane::Lane;
use crate::batching::{Batching, size_list};
use crate::ir::graph::Node;
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::{DType, MemoryFormat};

/// Returns whether the operator computes each element of its only result from one element of each tensor.
pub(super) fn is_elementwise(name: &str) -> bool {
    // The value must not have dimensions.
    if name == "masked_fill.Tensor" {
        return false;
    }
    let (base, overload) = name.split_once('.').unwrap_or((name, ""));
    matches!(
        overload,
        "default"
            | "Tensor"
            | "Scalar"
            | "self"
            | "Tensor_Scalar"
            | "Tensor_Tensor"
            | "ScalarSelf"
            | "ScalarOther"
    ) && matches!(
        base,
        "abs"
            | "acos"
            | "acosh"
            | "add"
            | "addcdiv"
            | "addcmul"
            | "alias"
            | "asin"
            | "asinh"
            | "atan"
            | "atan2"
            | "atanh"
            | "bitwise_and"
            | "bitwise_not"
            | "bitwise_or"
            | "bitwise_xor"
            | "ceil"
            | "clamp"
            | "clamp_max"
            | "clamp_min"
            | "clone"
            | "cos"
            | "cosh"
            | "detach"
            | "div"
            | "elu"
            | "eq"
            | "erf"
            | "erfc"
            | "exp"
            | "exp2"
            | "expm1"
            | "floor"
            | "fmod"
            | "full_like"
            | "ge"
            | "gelu"
            | "gt"
            | "hardsigmoid"
            | "hardswish"
            | "hardtanh"
            | "le"
            | "leaky_relu"
            | "lerp"
            | "log"
            | "log10"
            | "log1p"
            | "log2"
            | "logical_and"
            | "logical_not"
            | "logical_or"
            | "logical_xor"
            | "lt"
            | "masked_fill"
            | "maximum"
            | "minimum"
            | "mish"
            | "mul"
            | "ne"
            | "neg"
            | "ones_like"
            | "pow"
            | "reciprocal"
            | "relu"
            | "remainder"
            | "round"
            | "rsqrt"
            | "rsub"
            | "sgn"
            | "sigmoid"
            | "sigmoid_backward"
            | "sign"
            | "silu"
            | "sin"
            | "sinh"
            | "softplus"
            | "softplus_backward"
            | "sqrt"
            | "square"
            | "sub"
            | "tan"
            | "tanh"
            | "tanh_backward"
            | "threshold"
            | "threshold_backward"
            | "_to_copy"
            | "trunc"
            | "where"
            | "zeros_like"
    )
}

impl Batching<'_> {
    pub(super) fn elementwise(&mut self, node: &Node, lanes: &[Lane]) -> Option<()> {
        if let Some(lane) = self.added(node, lanes) {
            self.lanes.insert(*node.outputs.first()?, lane);
            return Some(());
        }
        let rank = self.values[node.outputs.first()?.index()].ty.tensor()?.rank()?;
        let mut operands = Vec::new();
        for lane in lanes {
            operands.push(match lane {
                // The other formats are orders of four or five dimensions.
                Lane::Same(Operand::MemoryFormat(
                    MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d,
                )) => {
                    return None;
                }
                Lane::Same(operand) => operand.clone(),
                Lane::Each(value) => {
                    let ty = self.ty(&(*value).into()).tensor()?.clone();
                    let mut sizes = ty.sizes()?;
                    // A tensor without dimensions has less weight in the promotion of dtypes than a batched one. Booleans
                    // have the least weight in any case.
                    let is_safe = sizes.len() > 1 || ty.dtype == DType::Bool;
                    (is_safe || self.have_one_dtype(lanes, ty.dtype)).then_some(())?;
                    let missing = (rank + 1).checked_sub(sizes.len())?;
                    if missing == 0 {
                        (*value).into()
                    } else {
                        sizes.splice(1..1, std::iter::repeat_n(1, missing));
                        let view = vec![(*value).into(), size_list(&sizes)];
                        self.tensor("view.default", view, &ty, &sizes).into()
                    }
                }
                _ => return None,
            });
        }
        self.batched(node, operands)
    }

    /// Returns whether all tensors but masks have this dtype.
    fn have_one_dtype(&self, lanes: &[Lane], dtype: DType) -> bool {
        let is_other = |operand: &Operand| {
            self.ty(operand).tensor().is_some_and(|ty| ty.dtype != dtype && ty.dtype != DType::Bool)
        };
        !lanes.iter().any(|lane| match lane {
            Lane::Same(operand) => is_other(operand),
            Lane::Each(value) => is_other(&(*value).into()),
            _ => true,
        })
    }

    /// `total + x`, where `total` is carried from iteration to iteration. `None` for other nodes.
    fn added(&mut self, node: &Node, lanes: &[Lane]) -> Option<Lane> {
        let is_addition = matches!(&node.op, Op::Operator(operator) if operator.text() == "aten.add.Tensor");
        let (Lane::Carried { place, sum }, other) = (match lanes {
            [carried @ Lane::Carried { .. }, other, Lane::Same(Operand::Int(1))] => (carried, other),
            [other, carried @ Lane::Carried { .. }, Lane::Same(Operand::Int(1))] => (carried, other),
            _ => return None,
        }) else {
            return None;
        };
        let total = self.values[node.outputs.first()?.index()].ty.clone();
        let term = self.each(other)?;
        let wanted = self.batched_type(&total)?;
        (is_addition && total.tensor()?.dtype.is_floating()).then_some(())?;
        // Adding must not change the shape of the total.
        (self.ty(&term.into()).tensor()? == &wanted).then_some(())?;
        self.has_batched = true;
        let sum = match sum {
            None => term,
            Some(sum) => {
                let ty = self.ty(&term.into());
                self.emit(node.op.clone(), vec![(*sum).into(), term.into(), 1.into()], ty)
            }
        };
        Some(Lane::Carried { place: *place, sum: Some(sum) })
    }
}
