//! Softmax and its logarithm over contiguous rows, and their derivatives.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::is_wide;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{LANES, Portable, Vectors, load, store};
#[cfg(target_arch = "x86_64")]
use super::{Instructions, instructions};
use crate::dtype::Element;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    Softmax,
    LogSoftmax,
    /// The operands are the gradient and the result.
    SoftmaxBackward,
    LogSoftmaxBackward,
}

/// Returns whether the kernel is vectorized.
pub(crate) fn is_fast(element: Element) -> bool {
    element == Element::F32 && is_wide()
}

impl Rows {
    /// # Safety
    /// The addresses must be valid for `rows` times `columns` contiguous elements. The second operand is read
    /// by the derivatives only.
    pub(crate) unsafe fn run(
        self,
        element: Element,
        out: *mut u8,
        operands: [*const u8; 2],
        rows: usize,
        columns: usize,
    ) {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            if element == Element::F64 {
                return self.run_f64(out, operands, rows, columns);
            }
            let (out, [a, b]) = (out.cast::<f32>(), operands.map(<*const u8>::cast::<f32>));
            #[cfg(target_arch = "x86_64")]
            match instructions() {
                Instructions::Avx512 => return avx512(self, out, [a, b], rows, columns),
                Instructions::Avx2 => return avx2(self, out, [a, b], rows, columns),
                Instructions::Portable => {}
            }
            self.run_f32::<Portable>(out, [a, b], rows, columns);
        }
    }

    /// # Safety
    /// See `run`.
    #[inline(always)]
    unsafe fn run_f32<V: Vectors>(self, out: *mut f32, [a, b]: [*const f32; 2], rows: usize, columns: usize) {
        if self == Self::LogSoftmax && columns <= LANES {
            for first in (0..rows).step_by(LANES) {
                let start = first * columns;
                // SAFETY: the caller guarantees the shapes.
                unsafe { short_rows::<V>(out.add(start), a.add(start), (rows - first).min(LANES), columns) }
            }
            return;
        }
        for start in (0..rows).map(|row| row * columns) {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let (out, a, b) = (out.add(start), a.add(start), b.wrapping_add(start));
                match self {
                    Self::Softmax | Self::LogSoftmax => {
                        softmax::<V>(self == Self::LogSoftmax, out, a, columns);
                    }
                    Self::SoftmaxBackward | Self::LogSoftmaxBackward => {
                        backward::<V>(self == Self::LogSoftmaxBackward, out, a, b, columns);
                    }
                }
            }
        }
    }

    /// # Safety
    /// See `run`.
    unsafe fn run_f64(self, out: *mut u8, [a, b]: [*const u8; 2], rows: usize, columns: usize) {
        for start in (0..rows).map(|row| row * columns) {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let (a, b) = (a.cast::<f64>().add(start), b.cast::<f64>().wrapping_add(start));
                let out = out.cast::<f64>().add(start);
                let write = &mut |i, value| out.add(i).write(value);
                self.row(columns, &|i| a.add(i).read(), &|i| b.add(i).read(), &f64::exp, write);
            }
        }
    }

    /// Computes one row of the result.
    #[inline(always)]
    fn row(
        self,
        columns: usize,
        a: &impl Fn(usize) -> f64,
        b: &impl Fn(usize) -> f64,
        exp: &impl Fn(f64) -> f64,
        write: &mut impl FnMut(usize, f64),
    ) {
        // `max` ignores NaN; the sum is NaN if an element is.
        let largest = || (0..columns).map(a).fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::Softmax => {
                let largest = largest();
                let total = sum(columns, &|i| exp(a(i) - largest));
                (0..columns).for_each(|i| write(i, exp(a(i) - largest) / total));
            }
            Self::LogSoftmax => {
                let largest = largest();
                let total = sum(columns, &|i| exp(a(i) - largest)).ln();
                (0..columns).for_each(|i| write(i, a(i) - largest - total));
            }
            Self::SoftmaxBackward => {
                let total = sum(columns, &|i| a(i) * b(i));
                (0..columns).for_each(|i| write(i, (a(i) - total) * b(i)));
            }
            Self::LogSoftmaxBackward => {
                let total = sum(columns, a);
                (0..columns).for_each(|i| write(i, a(i) - exp(b(i)) * total));
            }
        }
    }
}

/// Returns a sum, computed as four partial sums that the compiler keeps in one vector register.
#[inline(always)]
fn sum(count: usize, value: &impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; 4];
    let vectors = count / 4 * 4;
    for at in (0..vectors).step_by(4) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += value(at + lane);
        }
    }
    (vectors..count).map(value).sum::<f64>() + (sums[0] + sums[2]) + (sums[1] + sums[3])
}

/// Computes one row in blocks. Lanes after its end are negative infinity, so that they do not change the maximum and
/// the sum.
///
/// # Safety
/// See [`Rows::run`].
#[inline(always)]
unsafe fn softmax<V: Vectors>(is_log: bool, out: *mut f32, a: *const f32, columns: usize) {
    // SAFETY: the caller guarantees the shapes.
    unsafe {
        let mut largest = [f32::NEG_INFINITY; LANES];
        for at in (0..columns).step_by(LANES) {
            let x = load::<V>(a.add(at), columns - at, f32::NEG_INFINITY);
            for lane in 0..LANES {
                // NaN is ignored here, and appears in the sum.
                largest[lane] = if x[lane] > largest[lane] { x[lane] } else { largest[lane] };
            }
        }
        let largest = V::largest(largest);
        let mut sums = [0.0_f32; LANES];
        for at in (0..columns).step_by(LANES) {
            let mut x = load::<V>(a.add(at), columns - at, f32::NEG_INFINITY);
            for lane in 0..LANES {
                x[lane] = V::exp(x[lane] - largest);
                sums[lane] += x[lane];
            }
            if !is_log {
                store::<V>(out.add(at), columns - at, x);
            }
        }
        let total = V::sum(sums);
        let logarithm = if is_log { f64::from(total).ln() as f32 } else { 0.0 };
        for at in (0..columns).step_by(LANES) {
            let from = if is_log { a } else { out.cast_const() };
            let mut x = load::<V>(from.add(at), columns - at, 0.0);
            for x in &mut x {
                *x = if is_log { *x - largest - logarithm } else { *x / total };
            }
            store::<V>(out.add(at), columns - at, x);
        }
    }
}

/// Computes the logarithms of the softmax of at most sixteen rows, which have one block each. The logarithms of the sums are
/// computed together.
///
/// # Safety
/// See [`Rows::run`].
#[inline(always)]
unsafe fn short_rows<V: Vectors>(out: *mut f32, a: *const f32, rows: usize, columns: usize) {
    let (mut maxima, mut totals) = ([0.0; LANES], [1.0; LANES]);
    for row in 0..rows {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            let mut x = load::<V>(a.add(row * columns), columns, f32::NEG_INFINITY);
            let mut numbers = x;
            for x in &mut numbers {
                // NaN is ignored here, and appears in the sum.
                *x = if *x > f32::NEG_INFINITY { *x } else { f32::NEG_INFINITY };
            }
            let largest = V::largest(numbers);
            for x in &mut x {
                *x = V::exp(*x - largest);
            }
            maxima[row] = largest;
            totals[row] = V::sum(x);
        }
    }
    for total in &mut totals {
        *total = V::log(*total);
    }
    for row in 0..rows {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            let mut x = load::<V>(a.add(row * columns), columns, 0.0);
            for x in &mut x {
                *x = *x - maxima[row] - totals[row];
            }
            store::<V>(out.add(row * columns), columns, x);
        }
    }
}

/// Computes the derivative for one row, given the gradient `a` and the result `b`.
///
/// # Safety
/// See [`Rows::run`].
#[inline(always)]
unsafe fn backward<V: Vectors>(is_log: bool, out: *mut f32, a: *const f32, b: *const f32, columns: usize) {
    // SAFETY: the caller guarantees the shapes.
    unsafe {
        let mut sums = [0.0_f32; LANES];
        for at in (0..columns).step_by(LANES) {
            let x = load::<V>(a.add(at), columns - at, 0.0);
            let y = load::<V>(b.add(at), columns - at, 0.0);
            for lane in 0..LANES {
                sums[lane] += if is_log { x[lane] } else { x[lane] * y[lane] };
            }
        }
        let total = V::sum(sums);
        for at in (0..columns).step_by(LANES) {
            let mut x = load::<V>(a.add(at), columns - at, 0.0);
            let y = load::<V>(b.add(at), columns - at, 0.0);
            for lane in 0..LANES {
                x[lane] =
                    if is_log { x[lane] - V::exp(y[lane]) * total } else { (x[lane] - total) * y[lane] };
            }
            store::<V>(out.add(at), columns - at, x);
        }
    }
}

/// # Safety
/// See [`Rows::run`]; the processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(kind: Rows, out: *mut f32, operands: [*const f32; 2], rows: usize, columns: usize) {
    // SAFETY: see `Rows::run`.
    unsafe { kind.run_f32::<Avx2>(out, operands, rows, columns) }
}

/// # Safety
/// See [`Rows::run`]; the processor must have AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
unsafe fn avx512(kind: Rows, out: *mut f32, operands: [*const f32; 2], rows: usize, columns: usize) {
    // SAFETY: see `Rows::run`.
    unsafe { kind.run_f32::<Avx512>(out, operands, rows, columns) }
}
