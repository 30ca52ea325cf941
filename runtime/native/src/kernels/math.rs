//! Functions of `f32`, computed in `f64` without branches, so that they vectorize. Before it is rounded to
//! `f32`, a result has a relative error below 1e-9, so it is within 0.52 units in the last place. Infinities,
//! NaN and denormal results are those of the exact function.

/// `exp` of a number that was converted from `f32`, with a relative error below 1e-11. Results beyond the range of
/// `f32` become zero or infinity when they are converted back.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    /// Adding this constant to a number puts the nearest integer into the lowest bits of the sum.
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

#[inline(always)]
pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

#[inline(always)]
pub(super) fn tanh(x: f64) -> f64 {
    // For larger numbers, tanh rounds to one.
    let size = x.abs().clamp(0.0, 20.0);
    let squared = exp(2.0 * size);
    let value = (squared - 1.0) / (squared + 1.0);
    // For smaller numbers, tanh(x) = x with a relative error below 1e-8 / 3.
    let value = if size < 1e-4 { size } else { value };
    value.copysign(x)
}
