//! Derivative formulas in mathematical notation: `g * x.cos()`. `Emit::put` turns an expression into nodes.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::ir::operand::Operand;
use crate::ir::types::TensorType;

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Operand(Operand),
    Call(Box<Call>),
}

/// An ATen operator with one result.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// Without the namespace.
    pub(super) name: &'static str,
    pub(super) operands: Vec<Expr>,
    pub(super) typing: Typing,
}

/// The way in which the result type is inferred.
#[derive(Debug, Clone)]
pub(super) enum Typing {
    /// The operands are broadcast and promoted.
    Pointwise,
    /// The operands are broadcast, and the result is boolean.
    Comparison,
    /// The result has the type of the operand with this index.
    Like(usize),
    Given(TensorType),
}

impl Expr {
    pub(super) fn call(name: &'static str, operands: Vec<Self>, typing: Typing) -> Self {
        Self::Call(Box::new(Call { name, operands, typing }))
    }

    /// Returns an operator with the given result type.
    pub(super) fn typed(name: &'static str, operands: Vec<Self>, ty: TensorType) -> Self {
        Self::call(name, operands, Typing::Given(ty))
    }

    fn is_one(&self) -> bool {
        match self {
            Self::Operand(Operand::Int(number)) => *number == 1,
            Self::Operand(Operand::Float(number)) => *number == 1.0,
            _ => false,
        }
    }
}

macro_rules! methods {
    ($typing:expr => $($method:ident $name:literal ($($operand:ident),*));* $(;)?) => {
        impl Expr {
            $(pub(super) fn $method(self $(, $operand: impl Into<Expr>)*) -> Self {
                Self::call($name, vec![self $(, $operand.into())*], $typing)
            })*
        }
    };
}

methods! { Typing::Pointwise =>
    sgn "sgn.default" ();
    exp "exp.default" ();
    log "log.default" ();
    rsqrt "rsqrt.default" ();
    sin "sin.default" ();
    cos "cos.default" ();
    sinh "sinh.default" ();
    cosh "cosh.default" ();
    sigmoid "sigmoid.default" ();
    digamma "digamma.default" ();
    pow_number "pow.Tensor_Scalar" (exponent);
    pow_tensor "pow.Tensor_Tensor" (exponent);
    tanh_backward "tanh_backward.default" (output);
    sigmoid_backward "sigmoid_backward.default" (output);
}

// The result has the type of the first operand.
methods! { Typing::Like(0) =>
    threshold_backward "threshold_backward.default" (input, threshold);
}

methods! { Typing::Comparison =>
    eq_number "eq.Scalar" (other);
    ge_number "ge.Scalar" (other);
    le_number "le.Scalar" (other);
    gt_number "gt.Scalar" (other);
    lt_number "lt.Scalar" (other);
    eq_tensor "eq.Tensor" (other);
    lt_tensor "lt.Tensor" (other);
    gt_tensor "gt.Tensor" (other);
    and "logical_and.default" (other);
}

impl Expr {
    /// `1 - self`
    pub(super) fn one_minus(self) -> Self {
        Self::call("rsub.Scalar", vec![self, 1.into(), 1.into()], Typing::Pointwise)
    }

    pub(super) fn squared(self) -> Self {
        self.clone() * self
    }

    /// `self` where the mask is true, zero elsewhere.
    pub(super) fn where_true(self, mask: impl Into<Self>) -> Self {
        Self::call("where.ScalarOther", vec![mask.into(), self, 0.into()], Typing::Pointwise)
    }

    /// `self` where the mask is false, zero elsewhere.
    pub(super) fn where_false(self, mask: impl Into<Self>) -> Self {
        Self::call("where.ScalarSelf", vec![mask.into(), 0.into(), self], Typing::Pointwise)
    }
}

impl<T: Into<Expr>> Add<T> for Expr {
    type Output = Self;

    fn add(self, other: T) -> Self {
        Self::call("add.Tensor", vec![self, other.into(), 1.into()], Typing::Pointwise)
    }
}

impl<T: Into<Expr>> Sub<T> for Expr {
    type Output = Self;

    fn sub(self, other: T) -> Self {
        Self::call("sub.Tensor", vec![self, other.into(), 1.into()], Typing::Pointwise)
    }
}

impl<T: Into<Expr>> Mul<T> for Expr {
    type Output = Self;

    fn mul(self, other: T) -> Self {
        let other = other.into();
        if other.is_one() {
            return self;
        }
        Self::call("mul.Tensor", vec![self, other], Typing::Pointwise)
    }
}

impl<T: Into<Expr>> Div<T> for Expr {
    type Output = Self;

    fn div(self, other: T) -> Self {
        let other = other.into();
        if other.is_one() {
            return self;
        }
        Self::call("div.Tensor", vec![self, other], Typing::Pointwise)
    }
}

impl Neg for Expr {
    type Output = Self;

    fn neg(self) -> Self {
        Self::call("neg.default", vec![self], Typing::Pointwise)
    }
}

impl<T: Into<Operand>> From<T> for Expr {
    fn from(operand: T) -> Self {
        Self::Operand(operand.into())
    }
}

impl From<&Operand> for Expr {
    fn from(operand: &Operand) -> Self {
        Self::Operand(operand.clone())
    }
}
