//! Functions of `f32` without branches, so that they vectorize. They are within two units in the last place of the
//! exact result. Infinities, NaN and denormal results are those of the exact function.

/// `x * y + z`, with one rounding if the processor has the instruction.
#[inline(always)]
fn fused<const WIDE: bool>(x: f32, y: f32, z: f32) -> f32 {
    if WIDE { x.mul_add(y, z) } else { x * y + z }
}

/// `exp`: a power of two times a polynomial of the rest, whose absolute value is at most `ln(2) / 2`.
#[inline(always)]
pub(super) fn exp<const WIDE: bool>(x: f32) -> f32 {
    /// The lowest bits of `x + SHIFT` are the integer nearest to `x`.
    const SHIFT: f32 = 12_582_912.0;
    /// `ln(2)` as a sum. The first number has few bits, so that its product with an integer is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    // Beyond these bounds, the result rounds to zero or infinity. `clamp` of NaN is NaN.
    let bounded = x.clamp(-104.0, 89.0);
    let shifted = fused::<WIDE>(bounded, std::f32::consts::LOG2_E, SHIFT);
    let power = shifted - SHIFT;
    let rest = fused::<WIDE>(power, -LN_2[1], fused::<WIDE>(power, -LN_2[0], bounded));
    let squared = rest * rest;
    let low = fused::<WIDE>(rest, 1.666_666_5e-1, 0.5);
    let middle = fused::<WIDE>(rest, 8.333_452e-3, 4.166_579_6e-2);
    let high = fused::<WIDE>(rest, 1.987_569_1e-4, 1.398_2e-3);
    let tail = fused::<WIDE>(fused::<WIDE>(high, squared, middle), squared, low);
    let value = fused::<WIDE>(tail, squared, rest) + 1.0;
    // Multiplied in two steps, because the power of two alone may be out of range.
    let power = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32);
    let half = power >> 1;
    value * power_of_two(half) * power_of_two(power.wrapping_sub(half))
}

#[inline(always)]
fn power_of_two(power: i32) -> f32 {
    f32::from_bits((power.wrapping_add(127) as u32) << 23)
}

/// The natural logarithm: that of a power of two, plus a polynomial of the rest, which is between `sqrt(0.5) - 1` and
/// `sqrt(2) - 1` (Cephes).
#[inline(always)]
pub(super) fn log<const WIDE: bool>(x: f32) -> f32 {
    /// See [`exp`].
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const SCALE: f32 = 8_388_608.0;
    // Denormal numbers are scaled by 2^23.
    let is_denormal = x < f32::MIN_POSITIVE;
    let scaled = if is_denormal { x * SCALE } else { x };
    let bits = scaled.to_bits() as i32;
    let fraction = f32::from_bits((bits & 0x007f_ffff | 0x3f00_0000) as u32);
    let is_small = fraction < std::f32::consts::FRAC_1_SQRT_2;
    let power = (bits >> 23) - 126 - i32::from(is_small) - if is_denormal { 23 } else { 0 };
    let rest = (if is_small { fraction + fraction } else { fraction }) - 1.0;
    let power = power as f32;
    let squared = rest * rest;
    let mut sum = 7.037_683_6e-2;
    for factor in [
        -1.151_461e-1,
        1.167_699_9e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_7e-1,
        2.000_071_5e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        sum = fused::<WIDE>(sum, rest, factor);
    }
    let tail = fused::<WIDE>(power, LN_2[1], sum * rest * squared);
    let value = fused::<WIDE>(power, LN_2[0], rest + fused::<WIDE>(squared, -0.5, tail));
    let value = if x == f32::INFINITY { x } else { value };
    let value = if x == 0.0 { f32::NEG_INFINITY } else { value };
    // False for NaN too.
    if x >= 0.0 { value } else { f32::NAN }
}

#[inline(always)]
pub(super) fn sigmoid<const WIDE: bool>(x: f32) -> f32 {
    let power = exp::<WIDE>(-x.abs());
    let value = 1.0 / (1.0 + power);
    if x < 0.0 { power * value } else { value }
}

#[inline(always)]
pub(super) fn tanh<const WIDE: bool>(x: f32) -> f32 {
    let size = x.abs();
    let large = 1.0 - 2.0 / (exp::<WIDE>(2.0 * size) + 1.0);
    // If the result is small, the difference above loses digits, so this odd polynomial replaces the difference.
    let squared = size * size;
    let mut sum = -5.704_988_7e-3;
    for factor in [2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1] {
        sum = fused::<WIDE>(sum, squared, factor);
    }
    let small = fused::<WIDE>(sum * squared, size, size);
    (if size < 0.625 { small } else { large }).copysign(x)
}

/// `exp` of an `f32`, computed in `f64` with a relative error below 1e-11. Results beyond the range of `f32` become
/// zero or infinity when they are converted to `f32`.
#[inline(always)]
pub(super) fn exp_f64(x: f64) -> f64 {
    /// See [`exp`].
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    // `clamp` of NaN is NaN.
    let bounded = x.clamp(-700.0, 700.0);
    let shifted = bounded * std::f64::consts::LOG2_E + SHIFT;
    let power = shifted - SHIFT;
    let rest = bounded - power * std::f64::consts::LN_2;
    // Taylor series: |rest| is at most ln(2) / 2, so the first omitted term is below 1e-11.
    let mut sum = 1.0 / 362_880.0;
    for factor in
        [1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0]
    {
        sum = sum * rest + factor;
    }
    sum * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// The distribution function of the normal distribution, with a relative error below 1.2e-7: Chebyshev's approximation of
/// `erfc` in *Numerical Recipes*.
#[inline(always)]
fn normal(x: f64) -> f64 {
    let size = x.abs() * std::f64::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * size);
    let mut sum = 0.170_872_77;
    for factor in [
        -0.822_152_23,
        1.488_515_87,
        -1.135_203_98,
        0.278_868_07,
        -0.186_288_06,
        0.096_784_18,
        0.374_091_96,
        1.000_023_68,
        -1.265_512_23,
    ] {
        sum = sum * t + factor;
    }
    let tail = 0.5 * t * exp_f64(sum - size * size);
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// `torch.nn.functional.gelu`.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    (x * normal(x)) as f32
}

/// The derivative of `gelu` at `x`.
#[inline(always)]
pub(super) fn gelu_derivative(x: f32) -> f32 {
    /// The density of the normal distribution at zero.
    const DENSITY: f64 = 0.398_942_280_401_432_7;
    let x = f64::from(x);
    (normal(x) + x * DENSITY * exp_f64(-0.5 * x * x)) as f32
}

/// `torch.nn.functional.gelu` with `approximate="tanh"`.
#[inline(always)]
pub(super) fn gelu_of_tanh<const WIDE: bool>(x: f32) -> f32 {
    const FACTOR: f32 = 0.797_884_6;
    let inner = FACTOR * (x + 0.044_715 * x * x * x);
    0.5 * x * (1.0 + tanh::<WIDE>(inner))
}
