//! Scalar arithmetic with Python semantics on 64-bit values. The kind of each number is known at compile
//! time.

use super::op::Scalar;
use super::types::Type;

/// The Python exception that an operation raises, with its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticError {
    ZeroDivision(&'static str),
    Value(&'static str),
    Overflow(&'static str),
}

/// The type of a 64-bit scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Int,
    Float,
}

impl Kind {
    pub fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Bool => Some(Self::Bool),
            Type::Int => Some(Self::Int),
            Type::Float => Some(Self::Float),
            _ => None,
        }
    }
}

/// An operation on the bits of two numbers.
pub type Function = fn(u64, u64) -> Result<u64, ArithmeticError>;

pub fn float(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Returns the length of `range(start, stop, step)`. `None` if the step is zero.
pub fn range_length(start: i64, stop: i64, step: i64) -> Option<u64> {
    let distance = match step {
        0 => return None,
        1.. => i128::from(stop) - i128::from(start),
        _ => i128::from(start) - i128::from(stop),
    };
    let step = i128::from(step.unsigned_abs());
    u64::try_from((distance.max(0) + step - 1) / step).ok()
}

fn int(bits: u64) -> i64 {
    bits.cast_signed()
}

fn of_int(value: i64) -> Result<u64, ArithmeticError> {
    Ok(value.cast_unsigned())
}

fn of_float(value: f64) -> Result<u64, ArithmeticError> {
    Ok(value.to_bits())
}

fn of_bool(value: bool) -> Result<u64, ArithmeticError> {
    Ok(u64::from(value))
}

/// Returns a result that fits 64 bits; otherwise an overflow error. Python's integers are unbounded.
fn bounded(value: Option<i64>) -> Result<u64, ArithmeticError> {
    value.map(i64::cast_unsigned).ok_or(ArithmeticError::Overflow("the result does not fit in 64 bits"))
}

pub fn int_to_float(a: u64, _: u64) -> Result<u64, ArithmeticError> {
    of_float(int(a) as f64)
}

/// Converts the bits of a number to another kind. `None` if the conversion would lose information.
pub fn widen(bits: u64, from: Kind, to: Kind) -> Option<u64> {
    match (from, to) {
        (from, to) if from == to => Some(bits),
        (Kind::Bool, Kind::Int) => Some(bits),
        (Kind::Bool | Kind::Int, Kind::Float) => Some((int(bits) as f64).to_bits()),
        _ => None,
    }
}

/// Returns the function for a binary operation, the kind to which both operands are converted, and the kind of its
/// result.
pub fn binary(scalar: Scalar, a: Kind, b: Kind, result: Kind) -> Option<(Function, Kind, Kind)> {
    let both = a.max(b);
    let number = both.max(Kind::Int);
    let same = |f: Function| Some((f, number, number));
    let is_float = both == Kind::Float;
    match scalar {
        Scalar::Add if is_float => same(|a, b| of_float(float(a) + float(b))),
        Scalar::Add => same(|a, b| bounded(int(a).checked_add(int(b)))),
        Scalar::Sub if is_float => same(|a, b| of_float(float(a) - float(b))),
        Scalar::Sub => same(|a, b| bounded(int(a).checked_sub(int(b)))),
        Scalar::Mul if is_float => same(|a, b| of_float(float(a) * float(b))),
        Scalar::Mul => same(|a, b| bounded(int(a).checked_mul(int(b)))),
        Scalar::TrueDiv => Some((true_div, Kind::Float, Kind::Float)),
        Scalar::FloorDiv if is_float => same(|a, b| of_float(div_mod(float(a), float(b))?.0)),
        Scalar::FloorDiv => same(floor_div),
        Scalar::Mod if is_float => same(|a, b| of_float(div_mod(float(a), float(b))?.1)),
        Scalar::Mod => same(modulo),
        Scalar::Pow if is_float || result == Kind::Float => Some((float_pow, Kind::Float, Kind::Float)),
        Scalar::Pow => same(int_pow),
        // Python semantics: the first operand, unless the second is strictly smaller or larger.
        Scalar::Min if is_float => same(|a, b| Ok(if float(b) < float(a) { b } else { a })),
        Scalar::Max if is_float => same(|a, b| Ok(if float(b) > float(a) { b } else { a })),
        Scalar::Min => Some((|a, b| of_int(int(a).min(int(b))), both, both)),
        Scalar::Max => Some((|a, b| of_int(int(a).max(int(b))), both, both)),
        Scalar::Eq if is_float => Some((|a, b| of_bool(float(a) == float(b)), both, Kind::Bool)),
        Scalar::Eq => Some((|a, b| of_bool(a == b), both, Kind::Bool)),
        Scalar::Ne if is_float => Some((|a, b| of_bool(float(a) != float(b)), both, Kind::Bool)),
        Scalar::Ne => Some((|a, b| of_bool(a != b), both, Kind::Bool)),
        Scalar::Lt if is_float => Some((|a, b| of_bool(float(a) < float(b)), both, Kind::Bool)),
        Scalar::Lt => Some((|a, b| of_bool(int(a) < int(b)), both, Kind::Bool)),
        Scalar::Le if is_float => Some((|a, b| of_bool(float(a) <= float(b)), both, Kind::Bool)),
        Scalar::Le => Some((|a, b| of_bool(int(a) <= int(b)), both, Kind::Bool)),
        Scalar::Gt if is_float => Some((|a, b| of_bool(float(a) > float(b)), both, Kind::Bool)),
        Scalar::Gt => Some((|a, b| of_bool(int(a) > int(b)), both, Kind::Bool)),
        Scalar::Ge if is_float => Some((|a, b| of_bool(float(a) >= float(b)), both, Kind::Bool)),
        Scalar::Ge => Some((|a, b| of_bool(int(a) >= int(b)), both, Kind::Bool)),
        // `a and b` on numbers returns one of the operands.
        Scalar::And if is_float => same(|a, b| Ok(if float(a) == 0.0 { a } else { b })),
        Scalar::Or if is_float => same(|a, b| Ok(if float(a) == 0.0 { b } else { a })),
        Scalar::And => Some((|a, b| Ok(if a == 0 { a } else { b }), both, both)),
        Scalar::Or => Some((|a, b| Ok(if a == 0 { b } else { a }), both, both)),
        _ => None,
    }
}

/// Returns the function for a unary operation, which ignores its second argument.
pub fn unary(scalar: Scalar, kind: Kind) -> Option<(Function, Kind, Kind)> {
    let number = kind.max(Kind::Int);
    let real = |f: Function| Some((f, Kind::Float, Kind::Float));
    let is_float = kind == Kind::Float;
    match scalar {
        Scalar::Neg if is_float => real(|a, _| of_float(-float(a))),
        Scalar::Neg => Some((|a, _| bounded(int(a).checked_neg()), number, number)),
        Scalar::Abs if is_float => real(|a, _| of_float(float(a).abs())),
        Scalar::Abs => Some((|a, _| bounded(int(a).checked_abs()), number, number)),
        Scalar::Not if is_float => Some((|a, _| of_bool(float(a) == 0.0), kind, Kind::Bool)),
        Scalar::Not => Some((|a, _| of_bool(a == 0), kind, Kind::Bool)),
        Scalar::ToBool if is_float => Some((|a, _| of_bool(float(a) != 0.0), kind, Kind::Bool)),
        Scalar::ToBool => Some((|a, _| of_bool(a != 0), kind, Kind::Bool)),
        Scalar::ToInt if is_float => Some((|a, _| whole(float(a).trunc()), kind, Kind::Int)),
        Scalar::Floor if is_float => Some((|a, _| whole(float(a).floor()), kind, Kind::Int)),
        Scalar::Ceil if is_float => Some((|a, _| whole(float(a).ceil()), kind, Kind::Int)),
        Scalar::Round if is_float => Some((|a, _| whole(float(a).round_ties_even()), kind, Kind::Int)),
        Scalar::ToInt | Scalar::Floor | Scalar::Ceil | Scalar::Round => {
            Some((|a, _| Ok(a), number, Kind::Int))
        }
        Scalar::ToFloat => real(|a, _| Ok(a)),
        Scalar::Sqrt => real(|a, _| domain(float(a), |x| x >= 0.0 || x.is_nan(), f64::sqrt)),
        Scalar::Exp => real(|a, _| match float(a).exp() {
            value if value.is_infinite() && float(a).is_finite() => {
                Err(ArithmeticError::Overflow("math range error"))
            }
            value => of_float(value),
        }),
        Scalar::Log => real(|a, _| domain(float(a), |x| x > 0.0 || x.is_nan(), f64::ln)),
        Scalar::Sin => real(|a, _| domain(float(a), |x| !x.is_infinite(), f64::sin)),
        Scalar::Cos => real(|a, _| domain(float(a), |x| !x.is_infinite(), f64::cos)),
        Scalar::Tan => real(|a, _| domain(float(a), |x| !x.is_infinite(), f64::tan)),
        Scalar::Tanh => real(|a, _| of_float(float(a).tanh())),
        _ => None,
    }
}

/// Returns `f(x)` if `holds(x)`; otherwise `x` is outside of the domain of `f`, which is an error.
fn domain(x: f64, holds: fn(f64) -> bool, f: fn(f64) -> f64) -> Result<u64, ArithmeticError> {
    if holds(x) { of_float(f(x)) } else { Err(ArithmeticError::Value("math domain error")) }
}

/// Converts a float without a fractional part to an integer.
fn whole(value: f64) -> Result<u64, ArithmeticError> {
    const BOUND: f64 = (1u64 << 63) as f64;
    if value.is_nan() {
        Err(ArithmeticError::Value("cannot convert float NaN to integer"))
    } else if value.is_infinite() {
        Err(ArithmeticError::Overflow("cannot convert float infinity to integer"))
    } else if (-BOUND..BOUND).contains(&value) {
        of_int(value as i64)
    } else {
        Err(ArithmeticError::Overflow("the result does not fit in 64 bits"))
    }
}

fn true_div(a: u64, b: u64) -> Result<u64, ArithmeticError> {
    if float(b) == 0.0 {
        Err(ArithmeticError::ZeroDivision("division by zero"))
    } else {
        of_float(float(a) / float(b))
    }
}

fn floor_div(a: u64, b: u64) -> Result<u64, ArithmeticError> {
    let (a, b) = (int(a), int(b));
    if b == 0 {
        return Err(ArithmeticError::ZeroDivision("integer division or modulo by zero"));
    }
    let rest = a.wrapping_rem(b);
    let rounded_up = rest != 0 && (rest < 0) != (b < 0);
    bounded(a.checked_div(b).map(|quotient| quotient - i64::from(rounded_up)))
}

/// The remainder has the sign of the divisor, as in Python.
fn modulo(a: u64, b: u64) -> Result<u64, ArithmeticError> {
    let (a, b) = (int(a), int(b));
    if b == 0 {
        return Err(ArithmeticError::ZeroDivision("integer modulo by zero"));
    }
    let rest = a.wrapping_rem(b);
    of_int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}

/// `divmod(a, b)` for floats.
fn div_mod(a: f64, b: f64) -> Result<(f64, f64), ArithmeticError> {
    if b == 0.0 {
        return Err(ArithmeticError::ZeroDivision("float floor division by zero"));
    }
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let quotient = if quotient == 0.0 {
        0.0_f64.copysign(a / b)
    } else {
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    };
    Ok((quotient, rest))
}

fn int_pow(a: u64, b: u64) -> Result<u64, ArithmeticError> {
    let (a, b) = (int(a), int(b));
    match (u32::try_from(b), a) {
        (_, _) if b < 0 => Err(ArithmeticError::Value(
            "a negative power of an integer is not an integer; pass one of them as a float",
        )),
        (Ok(exponent), _) => bounded(a.checked_pow(exponent)),
        (Err(_), 0 | 1) => of_int(a),
        (Err(_), -1) => of_int(if b % 2 == 0 { 1 } else { -1 }),
        (Err(_), _) => bounded(None),
    }
}

fn float_pow(a: u64, b: u64) -> Result<u64, ArithmeticError> {
    let (a, b) = (float(a), float(b));
    if a == 0.0 && b < 0.0 {
        return Err(ArithmeticError::ZeroDivision("zero to a negative power"));
    }
    if a < 0.0 && a.is_finite() && b.is_finite() && b.fract() != 0.0 {
        return Err(ArithmeticError::Value("a negative number to a fractional power is complex"));
    }
    match a.powf(b) {
        value if value.is_infinite() && a.is_finite() && b.is_finite() => {
            Err(ArithmeticError::Overflow("the result is too large for a float"))
        }
        value => of_float(value),
    }
}
