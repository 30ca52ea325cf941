//! Operations on numbers as instructions. If an operation raises an exception, the run stops.

use ag_graph::ir::Scalar;
use ag_graph::ir::arithmetic::Kind;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::Emitter;
use crate::program::{Number, Register};

/// Returns whether an operation on numbers of a kind has instructions.
pub(super) fn is_supported((scalar, kind): (Scalar, Kind)) -> bool {
    let is_float = kind == Kind::Float;
    match scalar {
        Scalar::Add
        | Scalar::Sub
        | Scalar::Mul
        | Scalar::TrueDiv
        | Scalar::Min
        | Scalar::Max
        | Scalar::Eq
        | Scalar::Ne
        | Scalar::Lt
        | Scalar::Le
        | Scalar::Gt
        | Scalar::Ge
        | Scalar::Neg
        | Scalar::Not
        | Scalar::ToBool
        | Scalar::ToFloat
        | Scalar::Abs => true,
        Scalar::FloorDiv | Scalar::Mod | Scalar::And | Scalar::Or => !is_float,
        Scalar::Sqrt => is_float,
        _ => false,
    }
}

impl Emitter<'_> {
    /// Emits an operation for which `is_supported` is true.
    pub(super) fn scalar(
        &mut self,
        (scalar, kind): (Scalar, Kind),
        out: Register,
        a: Number,
        b: Number,
    ) -> Option<()> {
        if let Some((of_floats, of_integers)) = condition(scalar) {
            let value = if kind == Kind::Float {
                let (a, b) = (self.float(a), self.float(b));
                self.b.ins().fcmp(of_floats, a, b)
            } else {
                let (a, b) = (self.integer(a), self.integer(b));
                self.b.ins().icmp(of_integers, a, b)
            };
            self.set_truth(out, value);
            return Some(());
        }
        let value = match (scalar, kind) {
            (Scalar::Not | Scalar::ToBool, _) => {
                let (of_floats, of_integers) = match scalar {
                    Scalar::Not => (FloatCC::Equal, IntCC::Equal),
                    _ => (FloatCC::NotEqual, IntCC::NotEqual),
                };
                let value = if kind == Kind::Float {
                    let (a, zero) = (self.float(a), self.b.ins().f64const(0.0));
                    self.b.ins().fcmp(of_floats, a, zero)
                } else {
                    let a = self.integer(a);
                    self.b.ins().icmp_imm_s(of_integers, a, 0)
                };
                self.set_truth(out, value);
                return Some(());
            }
            (Scalar::ToFloat, Kind::Float) => self.float(a),
            (Scalar::ToFloat, _) => {
                let a = self.integer(a);
                self.b.ins().fcvt_from_sint(types::F64, a)
            }
            (_, Kind::Float) => {
                let (a, b) = (self.float(a), self.float(b));
                self.float_operation(scalar, a, b)?
            }
            _ => {
                let (a, b) = (self.integer(a), self.integer(b));
                self.integer_operation(scalar, a, b)?
            }
        };
        self.set_register(out, value);
        Some(())
    }

    fn float_operation(&mut self, scalar: Scalar, a: Value, b: Value) -> Option<Value> {
        Some(match scalar {
            Scalar::Add => self.b.ins().fadd(a, b),
            Scalar::Sub => self.b.ins().fsub(a, b),
            Scalar::Mul => self.b.ins().fmul(a, b),
            Scalar::TrueDiv => {
                let zero = self.b.ins().f64const(0.0);
                let is_zero = self.b.ins().fcmp(FloatCC::Equal, b, zero);
                self.stop_if(is_zero, true);
                self.b.ins().fdiv(a, b)
            }
            // As in Python: the first operand, unless the second is strictly smaller or larger.
            Scalar::Min | Scalar::Max => {
                let condition = if scalar == Scalar::Min { FloatCC::LessThan } else { FloatCC::GreaterThan };
                let is_second = self.b.ins().fcmp(condition, b, a);
                self.b.ins().select(is_second, b, a)
            }
            Scalar::Neg => self.b.ins().fneg(a),
            Scalar::Abs => self.b.ins().fabs(a),
            Scalar::Sqrt => {
                let zero = self.b.ins().f64const(0.0);
                let is_negative = self.b.ins().fcmp(FloatCC::LessThan, a, zero);
                self.stop_if(is_negative, true);
                self.b.ins().sqrt(a)
            }
            _ => return None,
        })
    }

    fn integer_operation(&mut self, scalar: Scalar, a: Value, b: Value) -> Option<Value> {
        Some(match scalar {
            Scalar::Add => {
                let (value, overflows) = self.b.ins().sadd_overflow(a, b);
                self.stop_if(overflows, true);
                value
            }
            Scalar::Sub => {
                let (value, overflows) = self.b.ins().ssub_overflow(a, b);
                self.stop_if(overflows, true);
                value
            }
            Scalar::Mul => {
                let (value, overflows) = self.b.ins().smul_overflow(a, b);
                self.stop_if(overflows, true);
                value
            }
            Scalar::FloorDiv | Scalar::Mod => {
                self.stop_if_zero(b);
                if scalar == Scalar::FloorDiv {
                    let is_minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
                    let is_smallest = self.b.ins().icmp_imm_s(IntCC::Equal, a, i64::MIN);
                    let overflows = self.b.ins().band(is_minus_one, is_smallest);
                    self.stop_if(overflows, true);
                }
                let (quotient, rest) = self.divided(a, b);
                if scalar == Scalar::FloorDiv { quotient } else { rest }
            }
            Scalar::Min | Scalar::Max => {
                let condition =
                    if scalar == Scalar::Min { IntCC::SignedLessThan } else { IntCC::SignedGreaterThan };
                let is_second = self.b.ins().icmp(condition, b, a);
                self.b.ins().select(is_second, b, a)
            }
            Scalar::Neg | Scalar::Abs => {
                // Only the smallest integer has no opposite.
                let is_smallest = self.b.ins().icmp_imm_s(IntCC::Equal, a, i64::MIN);
                self.stop_if(is_smallest, true);
                let negated = self.b.ins().ineg(a);
                if scalar == Scalar::Neg {
                    negated
                } else {
                    let is_negative = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, a, 0);
                    self.b.ins().select(is_negative, negated, a)
                }
            }
            Scalar::And => self.b.ins().select(a, b, a),
            Scalar::Or => self.b.ins().select(a, a, b),
            _ => return None,
        })
    }
}

/// Returns the condition of a comparison for floats and for integers.
fn condition(scalar: Scalar) -> Option<(FloatCC, IntCC)> {
    Some(match scalar {
        Scalar::Eq => (FloatCC::Equal, IntCC::Equal),
        Scalar::Ne => (FloatCC::NotEqual, IntCC::NotEqual),
        Scalar::Lt => (FloatCC::LessThan, IntCC::SignedLessThan),
        Scalar::Le => (FloatCC::LessThanOrEqual, IntCC::SignedLessThanOrEqual),
        Scalar::Gt => (FloatCC::GreaterThan, IntCC::SignedGreaterThan),
        Scalar::Ge => (FloatCC::GreaterThanOrEqual, IntCC::SignedGreaterThanOrEqual),
        _ => return None,
    })
}
