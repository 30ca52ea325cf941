//! The functions of elementwise kernels as instructions for one element. They have the same results as the kernels.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, InstructionData, Opcode, Value, types};

use super::build::Emitter;
use super::state::type_of;
use crate::dtype::Element;
use crate::kernels::{Kernel, Map};

/// Returns the dtypes of the operands.
pub(super) fn operands(kernel: &Kernel) -> Vec<Element> {
    let from = kernel.from;
    match kernel.map {
        Map::Select => vec![Element::Bool, from, from],
        Map::MultiplyAdd
        | Map::MultiplySubtract
        | Map::SubtractProduct
        | Map::AddScaled
        | Map::SubtractScaled
        | Map::ThresholdBackward => vec![from; 3],
        map if is_unary(map) => vec![from],
        _ => vec![from; 2],
    }
}

fn is_unary(map: Map) -> bool {
    matches!(
        map,
        Map::Copy
            | Map::Convert
            | Map::Neg
            | Map::Abs
            | Map::Relu
            | Map::Square
            | Map::Reciprocal
            | Map::Sqrt
            | Map::Rsqrt
            | Map::Floor
            | Map::Ceil
            | Map::Trunc
            | Map::Round
            | Map::BitwiseNot
            | Map::LogicalNot
    )
}

/// Returns whether the function of a kernel has instructions.
pub(super) fn is_supported(kernel: &Kernel) -> bool {
    match kernel.map {
        Map::Other => false,
        // The results of floats have more cases than are worth it here.
        Map::FloorDivide | Map::Remainder => kernel.from == Element::I64,
        _ => true,
    }
}

/// Returns the condition of a comparison for floats and for integers.
fn condition(map: Map) -> Option<(FloatCC, IntCC)> {
    Some(match map {
        Map::Eq => (FloatCC::Equal, IntCC::Equal),
        Map::Ne => (FloatCC::NotEqual, IntCC::NotEqual),
        Map::Lt => (FloatCC::LessThan, IntCC::SignedLessThan),
        Map::Le => (FloatCC::LessThanOrEqual, IntCC::SignedLessThanOrEqual),
        Map::Gt => (FloatCC::GreaterThan, IntCC::SignedGreaterThan),
        Map::Ge => (FloatCC::GreaterThanOrEqual, IntCC::SignedGreaterThanOrEqual),
        _ => return None,
    })
}

impl Emitter<'_> {
    /// Returns the function of a kernel. `None` if `is_supported` is false.
    pub(super) fn mapped(&mut self, kernel: &Kernel, operands: &[Value]) -> Option<Value> {
        let Kernel { map, from, to, .. } = *kernel;
        if let Some((of_floats, of_integers)) = condition(map) {
            let (x, y) = (operands[0], operands[1]);
            return Some(if from.is_floating() {
                self.b.ins().fcmp(of_floats, x, y)
            } else {
                self.b.ins().icmp(of_integers, x, y)
            });
        }
        match (map, operands) {
            (Map::Copy, [x]) => Some(*x),
            (Map::Convert, [x]) => self.converted(from, to, *x),
            (Map::LogicalNot, [x]) => {
                let truth = self.truth(from, *x);
                Some(self.b.ins().bxor_imm_s(truth, 1))
            }
            (Map::LogicalAnd | Map::LogicalOr | Map::LogicalXor, [x, y]) => {
                let (x, y) = (self.truth(from, *x), self.truth(from, *y));
                Some(match map {
                    Map::LogicalAnd => self.b.ins().band(x, y),
                    Map::LogicalOr => self.b.ins().bor(x, y),
                    _ => self.b.ins().bxor(x, y),
                })
            }
            (Map::BitwiseNot, [x]) if from == Element::Bool => Some(self.b.ins().bxor_imm_s(*x, 1)),
            (Map::BitwiseNot, [x]) => Some(self.b.ins().bnot(*x)),
            (Map::BitwiseAnd, [x, y]) => Some(self.b.ins().band(*x, *y)),
            (Map::BitwiseOr, [x, y]) => Some(self.b.ins().bor(*x, *y)),
            (Map::BitwiseXor, [x, y]) => Some(self.b.ins().bxor(*x, *y)),
            (Map::Mul, [x, y]) if from == Element::Bool => Some(self.b.ins().band(*x, *y)),
            (Map::Select, [condition, x, y]) => Some(self.b.ins().select(*condition, *x, *y)),
            (Map::MultiplyAdd, [x, y, z]) => {
                let product = self.arithmetic(Map::Mul, from, &[*x, *y])?;
                self.arithmetic(Map::Add, from, &[*z, product])
            }
            (Map::MultiplySubtract, [x, y, z]) => {
                let product = self.arithmetic(Map::Mul, from, &[*x, *y])?;
                self.arithmetic(Map::Sub, from, &[product, *z])
            }
            (Map::SubtractProduct, [x, y, z]) => {
                let product = self.arithmetic(Map::Mul, from, &[*x, *y])?;
                self.arithmetic(Map::Sub, from, &[*z, product])
            }
            (Map::AddScaled | Map::SubtractScaled, [x, y, z]) => {
                let is_sum = map == Map::AddScaled;
                if from.is_floating() && self.is_fused {
                    let z = if is_sum { *z } else { self.b.ins().fneg(*z) };
                    return Some(self.b.ins().fma(*y, z, *x));
                }
                let product = self.arithmetic(Map::Mul, from, &[*y, *z])?;
                self.arithmetic(if is_sum { Map::Add } else { Map::Sub }, from, &[*x, product])
            }
            _ => self.arithmetic(map, from, operands),
        }
    }

    fn arithmetic(&mut self, map: Map, element: Element, operands: &[Value]) -> Option<Value> {
        if element.is_floating() {
            self.float_function(map, element, operands)
        } else {
            self.integer_function(map, operands)
        }
    }

    fn number(&mut self, element: Element, value: f64) -> Value {
        if element == Element::F32 {
            self.b.ins().f32const(value as f32)
        } else {
            self.b.ins().f64const(value)
        }
    }

    /// Returns 1 if an element is not zero, and 0 otherwise.
    fn truth(&mut self, element: Element, x: Value) -> Value {
        if element.is_floating() {
            let zero = self.number(element, 0.0);
            self.b.ins().fcmp(FloatCC::NotEqual, x, zero)
        } else {
            self.b.ins().icmp_imm_s(IntCC::NotEqual, x, 0)
        }
    }

    fn converted(&mut self, from: Element, to: Element, x: Value) -> Option<Value> {
        use Element::{Bool, F32, F64, I32, I64};
        let ty = type_of(to);
        Some(match (from, to) {
            (_, Bool) => self.truth(from, x),
            (F32, F64) => self.b.ins().fpromote(ty, x),
            (F64, F32) => self.b.ins().fdemote(ty, x),
            (I32 | I64, F32 | F64) => self.b.ins().fcvt_from_sint(ty, x),
            (I32, I64) => self.b.ins().sextend(ty, x),
            (I64, I32) => self.b.ins().ireduce(ty, x),
            (Bool, I32 | I64) => self.b.ins().uextend(ty, x),
            (Bool, F32 | F64) => {
                let x = self.b.ins().uextend(types::I32, x);
                self.b.ins().fcvt_from_sint(ty, x)
            }
            _ => return None,
        })
    }

    fn float_function(&mut self, map: Map, element: Element, operands: &[Value]) -> Option<Value> {
        Some(match (map, operands) {
            (Map::Neg, [x]) => self.b.ins().fneg(*x),
            (Map::Abs, [x]) => self.b.ins().fabs(*x),
            (Map::Square, [x]) => self.b.ins().fmul(*x, *x),
            (Map::Sqrt, [x]) => self.b.ins().sqrt(*x),
            (Map::Floor, [x]) => self.b.ins().floor(*x),
            (Map::Ceil, [x]) => self.b.ins().ceil(*x),
            (Map::Trunc, [x]) => self.b.ins().trunc(*x),
            (Map::Round, [x]) => self.b.ins().nearest(*x),
            (Map::Relu, [x]) => {
                let zero = self.number(element, 0.0);
                let is_small = self.b.ins().fcmp(FloatCC::LessThanOrEqual, *x, zero);
                self.b.ins().select(is_small, zero, *x)
            }
            (Map::Reciprocal, [x]) => {
                let one = self.number(element, 1.0);
                self.b.ins().fdiv(one, *x)
            }
            (Map::Rsqrt, [x]) => {
                let (one, root) = (self.number(element, 1.0), self.b.ins().sqrt(*x));
                self.b.ins().fdiv(one, root)
            }
            (Map::Add, [x, y]) => self.b.ins().fadd(*x, *y),
            (Map::Sub, [x, y]) => self.b.ins().fsub(*x, *y),
            (Map::Rsub, [x, y]) => self.b.ins().fsub(*y, *x),
            (Map::Mul, [x, y]) => self.b.ins().fmul(*x, *y),
            (Map::Div, [x, y]) => self.b.ins().fdiv(*x, *y),
            // If the first operand is NaN, the result is NaN. If the second is NaN, the comparison is false.
            (Map::Maximum | Map::Minimum, [x, y]) => {
                let condition = if map == Map::Maximum { FloatCC::GreaterThan } else { FloatCC::LessThan };
                let is_first = self.b.ins().fcmp(condition, *x, *y);
                let is_nan = self.b.ins().fcmp(FloatCC::Unordered, *x, *x);
                let is_first = self.b.ins().bor(is_first, is_nan);
                self.b.ins().select(is_first, *x, *y)
            }
            (Map::TanhBackward, [x, y]) => {
                let (one, square) = (self.number(element, 1.0), self.b.ins().fmul(*y, *y));
                let factor = self.b.ins().fsub(one, square);
                self.b.ins().fmul(*x, factor)
            }
            (Map::SigmoidBackward, [x, y]) => {
                let one = self.number(element, 1.0);
                let rest = self.b.ins().fsub(one, *y);
                let product = self.b.ins().fmul(*x, rest);
                self.b.ins().fmul(product, *y)
            }
            (Map::ThresholdBackward, [x, y, z]) => {
                let zero = self.number(element, 0.0);
                let is_small = self.b.ins().fcmp(FloatCC::LessThanOrEqual, *y, *z);
                self.b.ins().select(is_small, zero, *x)
            }
            _ => return None,
        })
    }

    fn integer_function(&mut self, map: Map, operands: &[Value]) -> Option<Value> {
        Some(match (map, operands) {
            (Map::Neg, [x]) => self.b.ins().ineg(*x),
            (Map::Abs, [x]) => {
                let negated = self.b.ins().ineg(*x);
                let is_negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, *x, 0);
                self.b.ins().select(is_negative, negated, *x)
            }
            (Map::Square, [x]) => self.b.ins().imul(*x, *x),
            (Map::Relu, [x]) => {
                let ty = self.b.func.dfg.value_type(*x);
                let zero = self.b.ins().iconst(ty, 0);
                let is_positive = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThan, *x, 0);
                self.b.ins().select(is_positive, *x, zero)
            }
            (Map::Add, [x, y]) => self.b.ins().iadd(*x, *y),
            (Map::Sub, [x, y]) => self.b.ins().isub(*x, *y),
            (Map::Rsub, [x, y]) => self.b.ins().isub(*y, *x),
            (Map::Mul, [x, y]) => self.b.ins().imul(*x, *y),
            (Map::Maximum, [x, y]) => {
                let is_first = self.b.ins().icmp(IntCC::SignedGreaterThan, *x, *y);
                self.b.ins().select(is_first, *x, *y)
            }
            (Map::Minimum, [x, y]) => {
                let is_first = self.b.ins().icmp(IntCC::SignedLessThan, *x, *y);
                self.b.ins().select(is_first, *x, *y)
            }
            (Map::FloorDivide, [x, y]) => self.divided(*x, *y).0,
            (Map::Remainder, [x, y]) => self.divided(*x, *y).1,
            _ => return None,
        })
    }

    /// Returns the quotient, rounded down, and the remainder, with the sign of the divisor. The divisor must not be
    /// zero. The quotient wraps on overflow.
    pub(super) fn divided(&mut self, x: Value, y: Value) -> (Value, Value) {
        if let Some(bits) = self.power_of_two(y) {
            let mask = (1_i64 << bits) - 1;
            return (self.b.ins().sshr_imm_s(x, bits), self.b.ins().band_imm_s(x, mask));
        }
        // The instruction raises an exception for the smallest integer divided by -1.
        let is_minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, y, -1);
        let ty = self.b.func.dfg.value_type(x);
        let (one, zero) = (self.b.ins().iconst(ty, 1), self.b.ins().iconst(ty, 0));
        let divisor = self.b.ins().select(is_minus_one, one, y);
        let quotient = self.b.ins().sdiv(x, divisor);
        let product = self.b.ins().imul(quotient, divisor);
        let rest = self.b.ins().isub(x, product);
        let signs = self.b.ins().bxor(rest, divisor);
        let differs = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let is_inexact = self.b.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
        let is_rounded = self.b.ins().band(differs, is_inexact);
        let added = self.b.ins().iadd(rest, divisor);
        let rest = self.b.ins().select(is_rounded, added, rest);
        let lower = self.b.ins().iadd_imm_s(quotient, -1);
        let quotient = self.b.ins().select(is_rounded, lower, quotient);
        let negated = self.b.ins().ineg(x);
        let quotient = self.b.ins().select(is_minus_one, negated, quotient);
        let rest = self.b.ins().select(is_minus_one, zero, rest);
        (quotient, rest)
    }

    /// Returns the logarithm of a constant that is a power of two.
    fn power_of_two(&self, value: Value) -> Option<i64> {
        let inst = self.b.func.dfg.value_def(value).inst()?;
        let InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } = self.b.func.dfg.insts[inst] else {
            return None;
        };
        let bits = imm.bits();
        (bits > 0 && bits & (bits - 1) == 0).then(|| i64::from(bits.trailing_zeros()))
    }
}
