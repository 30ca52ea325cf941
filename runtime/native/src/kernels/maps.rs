//! Elementwise kernels: a loop over elements, and the function that it computes of each.

use super::elementwise as functions;
use super::loops::Function;
use crate::dtype::Element;

#[cfg_attr(
    not(all(feature = "jit", target_arch = "x86_64")),
    allow(dead_code, reason = "only the module `jit` reads it")
)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) run: Function,
    pub(crate) map: Map,
    /// The dtype of the operands, except for the conditions of `Select`.
    pub(crate) from: Element,
    pub(crate) to: Element,
}

/// A function of the elements of up to three operands. `Other` stands for functions that only their kernels compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Map {
    Copy,
    Convert,
    Neg,
    Abs,
    Relu,
    Square,
    Reciprocal,
    Sqrt,
    Rsqrt,
    Floor,
    Ceil,
    Trunc,
    Round,
    BitwiseNot,
    LogicalNot,
    Add,
    Sub,
    Rsub,
    Mul,
    Div,
    FloorDivide,
    Remainder,
    Maximum,
    Minimum,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    TanhBackward,
    SigmoidBackward,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    Select,
    /// `z + x * y`, `x * y - z` and `z - x * y`. The product is rounded.
    MultiplyAdd,
    MultiplySubtract,
    SubtractProduct,
    /// `x + y * z` and `x - y * z`. If the processor has the instruction, the product is not rounded.
    AddScaled,
    SubtractScaled,
    ThresholdBackward,
    Other,
}

impl Map {
    fn named(name: &str) -> Self {
        match name {
            "neg.default" => Self::Neg,
            "abs.default" => Self::Abs,
            "relu.default" => Self::Relu,
            "square.default" => Self::Square,
            "reciprocal.default" => Self::Reciprocal,
            "sqrt.default" => Self::Sqrt,
            "rsqrt.default" => Self::Rsqrt,
            "floor.default" => Self::Floor,
            "ceil.default" => Self::Ceil,
            "trunc.default" => Self::Trunc,
            "round.default" => Self::Round,
            "bitwise_not.default" => Self::BitwiseNot,
            "add" => Self::Add,
            "sub" => Self::Sub,
            "rsub" => Self::Rsub,
            "mul" => Self::Mul,
            "div" => Self::Div,
            "floor_divide" => Self::FloorDivide,
            "remainder" => Self::Remainder,
            "maximum" => Self::Maximum,
            "minimum" => Self::Minimum,
            "bitwise_and" => Self::BitwiseAnd,
            "bitwise_or" => Self::BitwiseOr,
            "bitwise_xor" => Self::BitwiseXor,
            "tanh_backward" => Self::TanhBackward,
            "sigmoid_backward" => Self::SigmoidBackward,
            "eq" => Self::Eq,
            "ne" => Self::Ne,
            "lt" => Self::Lt,
            "le" => Self::Le,
            "gt" => Self::Gt,
            "ge" => Self::Ge,
            "logical_and" => Self::LogicalAnd,
            "logical_or" => Self::LogicalOr,
            "logical_xor" => Self::LogicalXor,
            _ => Self::Other,
        }
    }
}

pub(crate) use functions::is_slow;

/// Copies elements. The result may have a stride.
pub(crate) fn copy(element: Element) -> Kernel {
    Kernel { run: functions::copy(element), map: Map::Copy, from: element, to: element }
}

/// Converts between dtypes, as `Tensor.to` does, except from floats to integers.
pub(crate) fn convert(from: Element, to: Element) -> Option<Kernel> {
    Some(Kernel { run: functions::convert(from, to)?, map: Map::Convert, from, to })
}

/// Returns the kernel of an operator of one tensor. The result has the dtype of the tensor.
pub(crate) fn unary(name: &str, element: Element) -> Option<Kernel> {
    let run = functions::unary(name, element)?;
    Some(Kernel { run, map: Map::named(name), from: element, to: element })
}

pub(crate) fn logical_not(element: Element) -> Kernel {
    let run = functions::logical_not(element);
    Kernel { run, map: Map::LogicalNot, from: element, to: Element::Bool }
}

/// Returns the kernel of an operator of two tensors with the same dtype, which is also that of the result. The name is
/// without the overload.
pub(crate) fn binary(name: &str, element: Element) -> Option<Kernel> {
    let run = functions::binary(name, element)?;
    Some(Kernel { run, map: Map::named(name), from: element, to: element })
}

/// Returns the kernel of a comparison or logical operator of two tensors with the same dtype. The result is `bool`.
pub(crate) fn test(name: &str, element: Element) -> Option<Kernel> {
    let run = functions::test(name, element)?;
    Some(Kernel { run, map: Map::named(name), from: element, to: Element::Bool })
}

/// `torch.where`: a condition and two tensors with the same dtype.
pub(crate) fn select(element: Element) -> Kernel {
    Kernel { run: functions::select(element), map: Map::Select, from: element, to: element }
}

/// `x * y + z`. With `is_difference`, it is `x * y - z` if the product is the first operand (`is_first`), otherwise
/// `z - x * y`. The product is rounded before the addition, as if two operators computed the result.
pub(crate) fn multiply_add(element: Element, is_difference: bool, is_first: bool) -> Option<Kernel> {
    let run = functions::multiply_add(element, is_difference, is_first)?;
    let map = match (is_difference, is_first) {
        (false, _) => Map::MultiplyAdd,
        (true, true) => Map::MultiplySubtract,
        (true, false) => Map::SubtractProduct,
    };
    Some(Kernel { run, map, from: element, to: element })
}

/// `torch.add` and, with `is_difference`, `torch.sub`. The operands are both tensors and `alpha`.
pub(crate) fn scaled(element: Element, is_difference: bool) -> Option<Kernel> {
    let run = functions::scaled(element, is_difference)?;
    let map = if is_difference { Map::SubtractScaled } else { Map::AddScaled };
    Some(Kernel { run, map, from: element, to: element })
}

/// `threshold_backward`. The operands are the gradient, the input and the threshold.
pub(crate) fn threshold_backward(element: Element) -> Option<Kernel> {
    let run = functions::threshold_backward(element)?;
    Some(Kernel { run, map: Map::ThresholdBackward, from: element, to: element })
}

/// `torch.nn.functional.gelu` of `f32`.
pub(crate) fn gelu(is_tanh: bool) -> Kernel {
    other(functions::gelu(is_tanh), Element::F32)
}

/// `gelu_backward` of `f32`. The operands are the gradient and the input.
pub(crate) fn gelu_backward() -> Kernel {
    other(functions::gelu_backward(), Element::F32)
}

/// `softplus` with `beta = 1`. The operands are the input and the threshold.
pub(crate) fn softplus(element: Element) -> Option<Kernel> {
    functions::softplus(element).map(|run| other(run, element))
}

/// `softplus_backward` with `beta = 1`. The operands are the gradient, the input and the threshold.
pub(crate) fn softplus_backward(element: Element) -> Option<Kernel> {
    functions::softplus_backward(element).map(|run| other(run, element))
}

fn other(run: Function, element: Element) -> Kernel {
    Kernel { run, map: Map::Other, from: element, to: element }
}
