//! Arithmetic of one element, as torch defines it for each dtype.

/// The truth value of an element, as `bool(x)` in Python.
pub(super) trait Truth: Copy {
    fn truth(self) -> bool;
}

impl Truth for f32 {
    #[inline(always)]
    fn truth(self) -> bool {
        self != 0.0
    }
}

impl Truth for f64 {
    #[inline(always)]
    fn truth(self) -> bool {
        self != 0.0
    }
}

impl Truth for i32 {
    #[inline(always)]
    fn truth(self) -> bool {
        self != 0
    }
}

impl Truth for i64 {
    #[inline(always)]
    fn truth(self) -> bool {
        self != 0
    }
}

impl Truth for u8 {
    #[inline(always)]
    fn truth(self) -> bool {
        self != 0
    }
}

/// Arithmetic that differs between integers and floats: integers wrap on overflow, floats propagate NaN.
pub(super) trait Number: Copy + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn negated(self) -> Self;
    fn size(self) -> Self;
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    /// Returns the quotient, rounded down. The divisor of an integer is not zero.
    fn floor_div(self, other: Self) -> Self;
    /// Returns the remainder, with the sign of the divisor.
    fn modulo(self, other: Self) -> Self;
    fn relu(self) -> Self;
}

macro_rules! float_number {
    ($T:ty) => {
        impl Number for $T {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
            #[inline(always)]
            fn size(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                // If the first operand is NaN, the result is NaN. If the second is NaN, the comparison is false.
                if self > other || self != self { self } else { other }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                if self < other || self != self { self } else { other }
            }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let rest = self % other;
                let mut quotient = (self - rest) / other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as Self).copysign(self / other);
                }
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            #[inline(always)]
            fn modulo(self, other: Self) -> Self {
                let rest = self % other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }
            }
            #[inline(always)]
            fn relu(self) -> Self {
                if self <= 0.0 { 0.0 } else { self }
            }
        }
    };
}

float_number!(f32);
float_number!(f64);

macro_rules! integer_number {
    ($T:ty) => {
        impl Number for $T {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn size(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn floor_div(self, other: Self) -> Self {
                let (quotient, rest) = (self.wrapping_div(other), self.wrapping_rem(other));
                quotient - Self::from(rest != 0 && (rest < 0) != (other < 0))
            }
            #[inline(always)]
            fn modulo(self, other: Self) -> Self {
                let rest = self.wrapping_rem(other);
                if rest != 0 && (rest < 0) != (other < 0) { rest + other } else { rest }
            }
            #[inline(always)]
            fn relu(self) -> Self {
                self.max(0)
            }
        }
    };
}

integer_number!(i32);
integer_number!(i64);
