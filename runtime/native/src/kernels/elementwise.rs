//! The loops of elementwise kernels, by the name of the operator and the dtype of its operands.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::loops::{Function, Shape, Versions, opaque};
use super::number::{Number, Truth};
use super::{is_wide, math};
use crate::dtype::Element;

/// Copies elements. The result may have a stride.
pub(super) fn copy(element: Element) -> Function {
    macro_rules! copy {
        ($T:ty) => {
            versions!(|out, inputs, count, strides| {
                let (out, a) = (out.cast::<$T>(), inputs[0].cast::<$T>());
                if count == 1 {
                    out.write(a.read());
                } else if strides[0] == 1 && strides[3] == 1 {
                    // For few elements, a call costs more than the copy.
                    if count <= 64 {
                        each!(vectors, out: $T, count, [x: a], x);
                    } else {
                        a.copy_to(out, count);
                    }
                } else {
                    for i in 0..count {
                        out.add(i * strides[3]).write(a.add(i * strides[0]).read());
                    }
                }
            })
        };
    }
    match element.size() {
        4 => copy!(u32),
        8 => copy!(u64),
        _ => copy!(u8),
    }
}

/// Converts between dtypes, as `Tensor.to` does. `None` for a conversion from floats to integers: torch's result for
/// numbers out of range depends on the processor.
pub(super) fn convert(from: Element, to: Element) -> Option<Function> {
    use Element::{Bool, F32, F64, I32, I64};
    Some(match (from, to) {
        (F32, F64) => unary!(f32 => f64, |x| f64::from(x)),
        (F32, Bool) => unary!(f32 => u8, |x| u8::from(x != 0.0)),
        (F64, F32) => unary!(f64 => f32, |x| x as f32),
        (F64, Bool) => unary!(f64 => u8, |x| u8::from(x != 0.0)),
        (I32, F32) => unary!(i32 => f32, |x| x as f32),
        (I32, F64) => unary!(i32 => f64, |x| f64::from(x)),
        (I32, I64) => unary!(i32 => i64, |x| i64::from(x)),
        (I32, Bool) => unary!(i32 => u8, |x| u8::from(x != 0)),
        (I64, I32) => unary!(i64 => i32, |x| x as i32),
        (I64, F32) => unary!(i64 => f32, |x| x as f32),
        (I64, F64) => unary!(i64 => f64, |x| x as f64),
        (I64, Bool) => unary!(i64 => u8, |x| u8::from(x != 0)),
        (Bool, F32) => unary!(u8 => f32, |x| f32::from(x)),
        (Bool, F64) => unary!(u8 => f64, |x| f64::from(x)),
        (Bool, I32) => unary!(u8 => i32, |x| i32::from(x)),
        (Bool, I64) => unary!(u8 => i64, |x| i64::from(x)),
        _ => return None,
    })
}

/// Returns the kernel of an operator of one tensor. The result has the dtype of the tensor.
pub(super) fn unary(name: &str, element: Element) -> Option<Function> {
    match name {
        "neg.default" => numbers!(element, T => unary!(T => T, |x| x.negated())),
        "abs.default" => numbers!(element, T => unary!(T => T, |x| x.size())),
        "relu.default" => numbers!(element, T => unary!(T => T, |x| x.relu())),
        "square.default" => numbers!(element, T => unary!(T => T, |x| x.times(x))),
        "reciprocal.default" => floats!(element, T => unary!(T => T, |x| 1.0 / x)),
        "sqrt.default" => floats!(element, T => unary!(T => T, |x| x.sqrt())),
        "rsqrt.default" => floats!(element, T => unary!(T => T, |x| 1.0 / x.sqrt())),
        "floor.default" => floats!(element, T => unary!(T => T, |x| x.floor())),
        "ceil.default" => floats!(element, T => unary!(T => T, |x| x.ceil())),
        "trunc.default" => floats!(element, T => unary!(T => T, |x| x.trunc())),
        "round.default" => floats!(element, T => unary!(T => T, |x| x.round_ties_even())),
        "exp.default" => real!(element, exp, f64::exp),
        "tanh.default" => real!(element, tanh, f64::tanh),
        "sigmoid.default" => real!(element, sigmoid, |x: f64| 1.0 / (1.0 + (-x).exp())),
        "log.default" => real!(element, log, f64::ln),
        "log1p.default" => real!(element, f64::ln_1p),
        "expm1.default" => real!(element, f64::exp_m1),
        "log2.default" => real!(element, f64::log2),
        "sin.default" => real!(element, f64::sin),
        "cos.default" => real!(element, f64::cos),
        "tan.default" => real!(element, f64::tan),
        "atan.default" => real!(element, f64::atan),
        "bitwise_not.default" => match element {
            Element::I32 => Some(unary!(i32 => i32, |x| !x)),
            Element::I64 => Some(unary!(i64 => i64, |x| !x)),
            Element::Bool => Some(unary!(u8 => u8, |x| x ^ 1)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether the kernel of an operator of one tensor calls a function for each element.
pub(crate) fn is_slow(name: &str, element: Element) -> bool {
    match name.split('.').next() {
        Some("exp" | "tanh" | "sigmoid" | "log") => element != Element::F32 || !is_wide(),
        Some("log1p" | "expm1" | "log2" | "sin" | "cos" | "tan" | "atan") => true,
        _ => false,
    }
}

/// `Tensor.logical_not`.
pub(super) fn logical_not(element: Element) -> Function {
    match element {
        Element::F32 => unary!(f32 => u8, |x| u8::from(!x.truth())),
        Element::F64 => unary!(f64 => u8, |x| u8::from(!x.truth())),
        Element::I32 => unary!(i32 => u8, |x| u8::from(!x.truth())),
        Element::I64 => unary!(i64 => u8, |x| u8::from(!x.truth())),
        Element::Bool => unary!(u8 => u8, |x| u8::from(!x.truth())),
    }
}

/// Returns the kernel of an operator of two tensors with the same dtype, which is also that of the result. The name is
/// without the overload.
pub(super) fn binary(name: &str, element: Element) -> Option<Function> {
    match name {
        "add" => numbers!(element, T => binary!(T => T, |x, y| x.plus(y))),
        "sub" => numbers!(element, T => binary!(T => T, |x, y| x.minus(y))),
        "rsub" => numbers!(element, T => binary!(T => T, |x, y| y.minus(x))),
        "mul" if element == Element::Bool => Some(binary!(u8 => u8, |x, y| x & y)),
        "mul" => numbers!(element, T => binary!(T => T, |x, y| x.times(y))),
        "div" => floats!(element, T => binary!(T => T, |x, y| x / y)),
        "floor_divide" => numbers!(element, T => binary!(one_by_one, T => T, |x, y| x.floor_div(y))),
        "remainder" => numbers!(element, T => binary!(one_by_one, T => T, |x, y| x.modulo(y))),
        "maximum" => numbers!(element, T => binary!(T => T, |x, y| x.larger(y))),
        "minimum" => numbers!(element, T => binary!(T => T, |x, y| x.smaller(y))),
        "pow" => floats!(element, T => binary!(one_by_one, T => T, |x, y| x.powf(y))),
        "atan2" => floats!(element, T => binary!(one_by_one, T => T, |x, y| x.atan2(y))),
        "bitwise_and" => bits(element, binary!(i64 => i64, |x, y| x & y), binary!(u8 => u8, |x, y| x & y)),
        "bitwise_or" => bits(element, binary!(i64 => i64, |x, y| x | y), binary!(u8 => u8, |x, y| x | y)),
        "bitwise_xor" => bits(element, binary!(i64 => i64, |x, y| x ^ y), binary!(u8 => u8, |x, y| x ^ y)),
        // The operands are the gradient and the result.
        "tanh_backward" => floats!(element, T => binary!(T => T, |x, y| x * (1.0 - y * y))),
        "sigmoid_backward" => floats!(element, T => binary!(T => T, |x, y| x * (1.0 - y) * y)),
        _ => None,
    }
}

fn bits(element: Element, ints: Function, bools: Function) -> Option<Function> {
    match element {
        Element::I64 => Some(ints),
        Element::Bool => Some(bools),
        _ => None,
    }
}

/// Returns the kernel of a comparison or logical operator of two tensors with the same dtype. The result is `bool`.
pub(super) fn test(name: &str, element: Element) -> Option<Function> {
    macro_rules! all {
        (|$x:ident, $y:ident| $value:expr) => {
            Some(match element {
                Element::F32 => binary!(f32 => u8, |$x, $y| u8::from($value)),
                Element::F64 => binary!(f64 => u8, |$x, $y| u8::from($value)),
                Element::I32 => binary!(i32 => u8, |$x, $y| u8::from($value)),
                Element::I64 => binary!(i64 => u8, |$x, $y| u8::from($value)),
                Element::Bool => binary!(u8 => u8, |$x, $y| u8::from($value)),
            })
        };
    }
    match name {
        "eq" => all!(|x, y| x == y),
        "ne" => all!(|x, y| x != y),
        "lt" => all!(|x, y| x < y),
        "le" => all!(|x, y| x <= y),
        "gt" => all!(|x, y| x > y),
        "ge" => all!(|x, y| x >= y),
        "logical_and" => all!(|x, y| x.truth() && y.truth()),
        "logical_or" => all!(|x, y| x.truth() || y.truth()),
        "logical_xor" => all!(|x, y| x.truth() != y.truth()),
        _ => None,
    }
}

/// `torch.where`: a condition and two tensors with the same dtype.
pub(super) fn select(element: Element) -> Function {
    match element.size() {
        4 => ternary!(u8, u32, u32 => u32, |x, y, z| if x != 0 { y } else { z }),
        8 => ternary!(u8, u64, u64 => u64, |x, y, z| if x != 0 { y } else { z }),
        _ => ternary!(u8, u8, u8 => u8, |x, y, z| if x != 0 { y } else { z }),
    }
}

/// `x * y + z`. With `is_difference`, it is `x * y - z` if the product is the first operand (`is_first`), otherwise
/// `z - x * y`. The product is rounded before the addition, as if two operators computed the result.
pub(super) fn multiply_add(element: Element, is_difference: bool, is_first: bool) -> Option<Function> {
    match (is_difference, is_first) {
        (false, _) => numbers!(element, T => ternary!(T, T, T => T, |x, y, z| z.plus(x.times(y)))),
        (true, true) => numbers!(element, T => ternary!(T, T, T => T, |x, y, z| x.times(y).minus(z))),
        (true, false) => numbers!(element, T => ternary!(T, T, T => T, |x, y, z| z.minus(x.times(y)))),
    }
}

/// `torch.add` and, with `is_difference`, `torch.sub`. The operands are both tensors and `alpha`. Torch rounds once if
/// the processor has instructions for it.
pub(super) fn scaled(element: Element, is_difference: bool) -> Option<Function> {
    macro_rules! float {
        ($T:ty) => {
            if is_difference {
                ternary!($T, $T, $T => $T, |x, y, z| if WIDE { y.mul_add(-z, x) } else { x - y * z })
            } else {
                ternary!($T, $T, $T => $T, |x, y, z| if WIDE { y.mul_add(z, x) } else { x + y * z })
            }
        };
    }
    match element {
        Element::F32 => Some(float!(f32)),
        Element::F64 => Some(float!(f64)),
        integer if is_difference => {
            numbers!(integer, T => ternary!(T, T, T => T, |x, y, z| x.minus(y.times(z))))
        }
        integer => numbers!(integer, T => ternary!(T, T, T => T, |x, y, z| x.plus(y.times(z)))),
    }
}

/// `threshold_backward`. The operands are the gradient, the input and the threshold.
pub(super) fn threshold_backward(element: Element) -> Option<Function> {
    floats!(element, T => ternary!(T, T, T => T, |x, y, z| if y <= z { 0.0 } else { x }))
}

/// `torch.nn.functional.gelu` of `f32`.
pub(super) fn gelu(is_tanh: bool) -> Function {
    if is_tanh {
        unary!(f32 => f32, |x| math::gelu_of_tanh::<WIDE>(x))
    } else {
        unary!(f32 => f32, |x| math::gelu(x))
    }
}

/// `gelu_backward` of `f32`. The operands are the gradient and the input.
pub(super) fn gelu_backward() -> Function {
    binary!(f32 => f32, |x, y| x * math::gelu_derivative(y))
}

/// `softplus` with `beta = 1`. The operands are the input and the threshold.
pub(super) fn softplus(element: Element) -> Option<Function> {
    match element {
        Element::F32 => Some(
            binary!(one_by_one, f32 => f32, |x, y| if x > y { x } else { math::exp_f64(f64::from(x)).ln_1p() as f32 }),
        ),
        Element::F64 => Some(binary!(one_by_one, f64 => f64, |x, y| if x > y { x } else { x.exp().ln_1p() })),
        _ => None,
    }
}

/// `softplus_backward` with `beta = 1`. The operands are the gradient, the input and the threshold.
pub(super) fn softplus_backward(element: Element) -> Option<Function> {
    match element {
        Element::F32 => Some(ternary!(f32, f32, f32 => f32, |x, y, z| {
            let power = math::exp_f64(f64::from(y));
            if y > z { x } else { (f64::from(x) * power / (power + 1.0)) as f32 }
        })),
        Element::F64 => Some(ternary!(one_by_one, f64, f64, f64 => f64, |x, y, z| {
            let power = y.exp();
            if y > z { x } else { x * power / (power + 1.0) }
        })),
        _ => None,
    }
}
