//! Softmax and its logarithm over contiguous rows, and their derivatives. Computed in `f64`.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::math;
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
        [a, b]: [*const u8; 2],
        rows: usize,
        columns: usize,
    ) {
        for row in 0..rows {
            let start = row * columns;
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                if element == Element::F32 {
                    let (a, b) = (a.cast::<f32>().add(start), b.cast::<f32>().wrapping_add(start));
                    let out = out.cast::<f32>().add(start);
                    self.row(
                        columns,
                        &|i| f64::from(a.add(i).read()),
                        &|i| f64::from(b.add(i).read()),
                        math::exp,
                        &mut |i, value| out.add(i).write(value as f32),
                    );
                } else {
                    let (a, b) = (a.cast::<f64>().add(start), b.cast::<f64>().wrapping_add(start));
                    let out = out.cast::<f64>().add(start);
                    self.row(
                        columns,
                        &|i| a.add(i).read(),
                        &|i| b.add(i).read(),
                        f64::exp,
                        &mut |i, value| {
                            out.add(i).write(value);
                        },
                    );
                }
            }
        }
    }

    #[inline(always)]
    fn row(
        self,
        columns: usize,
        a: &impl Fn(usize) -> f64,
        b: &impl Fn(usize) -> f64,
        exp: fn(f64) -> f64,
        write: &mut impl FnMut(usize, f64),
    ) {
        let sum = |value: &dyn Fn(usize) -> f64| (0..columns).map(value).sum::<f64>();
        // NaN is ignored here, and appears in the sum.
        let largest = || (0..columns).map(a).fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::Softmax => {
                let largest = largest();
                let total = sum(&|i| exp(a(i) - largest));
                (0..columns).for_each(|i| write(i, exp(a(i) - largest) / total));
            }
            Self::LogSoftmax => {
                let largest = largest();
                let total = sum(&|i| exp(a(i) - largest)).ln();
                (0..columns).for_each(|i| write(i, a(i) - largest - total));
            }
            Self::SoftmaxBackward => {
                let total = sum(&|i| a(i) * b(i));
                (0..columns).for_each(|i| write(i, (a(i) - total) * b(i)));
            }
            Self::LogSoftmaxBackward => {
                let total = sum(a);
                (0..columns).for_each(|i| write(i, a(i) - exp(b(i)) * total));
            }
        }
    }
}
