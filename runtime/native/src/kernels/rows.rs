//! Softmax and its logarithm over contiguous rows, and their derivatives. Computed in `f64`.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::{is_wide, math};
use crate::dtype::Element;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    Softmax,
    LogSoftmax,
    /// The operands are the gradient and the result.
    SoftmaxBackward,
    LogSoftmaxBackward,
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
            match (element, is_wide()) {
                #[cfg(target_arch = "x86_64")]
                (Element::F32, true) => wide(self, out, operands, rows, columns),
                (Element::F32, _) => self.run_f32(out, operands, rows, columns),
                _ => self.run_f64(out, operands, rows, columns),
            }
        }
    }

    /// # Safety
    /// See `run`.
    #[inline(always)]
    unsafe fn run_f32(self, out: *mut u8, [a, b]: [*const u8; 2], rows: usize, columns: usize) {
        for start in (0..rows).map(|row| row * columns) {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let (a, b) = (a.cast::<f32>().add(start), b.cast::<f32>().wrapping_add(start));
                let out = out.cast::<f32>().add(start);
                self.row(
                    columns,
                    &|i| f64::from(a.add(i).read()),
                    &|i| f64::from(b.add(i).read()),
                    &math::exp,
                    &mut |i, value| out.add(i).write(value as f32),
                );
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

/// Four partial sums, which the compiler keeps in one vector register.
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

/// # Safety
/// See [`Rows::run`]; the processor must have AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn wide(kind: Rows, out: *mut u8, operands: [*const u8; 2], rows: usize, columns: usize) {
    // SAFETY: see `Rows::run`.
    unsafe { kind.run_f32(out, operands, rows, columns) }
}
