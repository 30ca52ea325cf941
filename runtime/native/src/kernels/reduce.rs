//! Reductions over any dimensions of a small tensor. Sums of `f32` are accumulated in `f64`.
#![allow(unsafe_code, reason = "kernels read memory by address")]

#[cfg(target_arch = "x86_64")]
use super::column_sums::{self, Matrix};
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::lanes::{LANES, Portable, Vectors, combine, load, store};
#[cfg(target_arch = "x86_64")]
use super::{Instructions, instructions};
use crate::dtype::Element;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Sum,
    Mean,
    Max,
    Min,
    All,
    Any,
    /// The standard deviation. The correction is in [`Reduce`].
    Std,
    /// The variance. The correction is in [`Reduce`].
    Var,
    /// The Euclidean norm.
    Norm,
}

/// A reduction over some dimensions of a tensor.
#[derive(Debug, Clone)]
pub(crate) struct Reduce {
    pub(crate) reduction: Reduction,
    pub(crate) from: Element,
    pub(crate) to: Element,
    pub(crate) correction: f64,
    /// Sizes and strides (in elements) of the dimensions that remain.
    pub(crate) kept: Vec<(usize, usize)>,
    /// Sizes and strides of the dimensions that are reduced.
    pub(crate) reduced: Vec<(usize, usize)>,
}

/// Calls `visit` with the offset of each element, in the order of the dimensions.
#[inline(always)]
fn offsets(dims: &[(usize, usize)], visit: &mut impl FnMut(usize)) {
    match dims {
        [] => visit(0),
        [(size, stride)] => (0..*size).for_each(|index| visit(index * stride)),
        dims => nested(dims, 0, &mut |offset| visit(offset)),
    }
}

fn nested(dims: &[(usize, usize)], at: usize, visit: &mut dyn FnMut(usize)) {
    match dims {
        [] => visit(at),
        [(size, stride), rest @ ..] => {
            (0..*size).for_each(|index| nested(rest, at + index * stride, visit));
        }
    }
}

impl Reduce {
    /// # Safety
    /// `a` must be valid for elements of the dtype `from` with all dimensions, and `out` for elements of the dtype `to`
    /// with the dimensions that remain.
    pub(crate) unsafe fn run(&self, out: *mut u8, a: *const u8) {
        // SAFETY: the caller guarantees the shapes.
        if unsafe { self.run_vectors(out, a) } {
            return;
        }
        let mut place = 0;
        offsets(&self.kept, &mut |start| {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                match self.from {
                    Element::I32 => unreachable!("see `is_supported`"),
                    Element::I64 => self.ints(out, place, a.cast::<i64>().add(start)),
                    Element::Bool => self.bools(out, place, a.add(start)),
                    Element::F32 => {
                        let a = a.cast::<f32>().add(start);
                        let value = self.floats(|at| f64::from(a.add(at).read()));
                        out.cast::<f32>().add(place).write(value as f32);
                    }
                    Element::F64 => {
                        let a = a.cast::<f64>().add(start);
                        out.cast::<f64>().add(place).write(self.floats(|at| a.add(at).read()));
                    }
                }
            }
            place += 1;
        });
    }

    /// Reduces `f32` along rows or columns of contiguous memory, with vectors. Returns `false` for other reductions.
    ///
    /// # Safety
    /// See `run`.
    unsafe fn run_vectors(&self, out: *mut u8, a: *const u8) -> bool {
        let (out, a) = (out.cast::<f32>(), a.cast::<f32>());
        if self.from != Element::F32 || self.to != Element::F32 {
            return false;
        }
        // SAFETY: see `run`; the processor has the instructions.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            match instructions() {
                Instructions::Avx512 => return avx512(self, out, a),
                Instructions::Avx2 => return avx2(self, out, a),
                Instructions::Portable => {}
            }
            self.vectors::<Portable>(out, a)
        }
    }

    /// # Safety
    /// See `run`; the processor must have the instructions.
    #[inline(always)]
    unsafe fn vectors<V: Vectors>(&self, out: *mut f32, a: *const f32) -> bool {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            match self.reduction {
                Reduction::Sum | Reduction::Mean | Reduction::Norm => {
                    let is_norm = self.reduction == Reduction::Norm;
                    self.blocks::<V, f64>(out, a, 0.0, |x| if is_norm { x * x } else { x }, |x, y| x + y)
                }
                Reduction::Max => self.blocks::<V, f32>(out, a, f32::NEG_INFINITY, |x| x, larger),
                Reduction::Min => self.blocks::<V, f32>(out, a, f32::INFINITY, |x| x, smaller),
                _ => false,
            }
        }
    }

    /// Applies `value` to each element and combines the results with `join`, block by block. `start` is the neutral
    /// element of `join`, and also the value of lanes after the last element.
    ///
    /// # Safety
    /// See `run`; the processor must have the instructions.
    #[inline(always)]
    unsafe fn blocks<V: Vectors, T: Copy + From<f32> + Into<f64>>(
        &self,
        out: *mut f32,
        a: *const f32,
        start: f32,
        value: impl Fn(T) -> T,
        join: impl Fn(T, T) -> T,
    ) -> bool {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            match (&self.kept[..], &self.reduced[..]) {
                (kept, &[(columns, 1)]) if kept.len() < 2 => {
                    let (rows, stride) = kept.first().copied().unwrap_or((1, 0));
                    for row in 0..rows {
                        let a = a.add(row * stride);
                        let mut lanes = [T::from(start); LANES];
                        for at in (0..columns).step_by(LANES) {
                            let block = load::<V>(a.add(at), columns - at, start);
                            for (lane, x) in lanes.iter_mut().zip(block) {
                                *lane = join(*lane, value(x.into()));
                            }
                        }
                        out.add(row).write(self.total(combine(lanes, &join).into(), columns) as f32);
                    }
                }
                (&[.., (columns, 1)], &[(rows, stride)]) if self.kept.len() <= 2 => {
                    let [outer, outer_stride] =
                        if let &[(outer, stride), _] = &self.kept[..] { [outer, stride] } else { [1, 0] };
                    for (index, at) in
                        (0..outer).flat_map(|index| (0..columns).step_by(LANES).map(move |at| (index, at)))
                    {
                        let mut lanes = [T::from(start); LANES];
                        for row in 0..rows {
                            let block = load::<V>(
                                a.add(index * outer_stride + row * stride + at),
                                columns - at,
                                start,
                            );
                            for (lane, x) in lanes.iter_mut().zip(block) {
                                *lane = join(*lane, value(x.into()));
                            }
                        }
                        let totals = lanes.map(|lane| self.total(lane.into(), rows) as f32);
                        store::<V>(out.add(index * columns + at), columns - at, totals);
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// Returns the result of the reduction, given the sum of its `count` elements.
    #[inline(always)]
    fn total(&self, sum: f64, count: usize) -> f64 {
        match self.reduction {
            Reduction::Mean => sum / count as f64,
            Reduction::Norm => sum.sqrt(),
            _ => sum,
        }
    }

    /// Reduces floating-point elements to one.
    fn floats(&self, at: impl Fn(usize) -> f64) -> f64 {
        let count = self.reduced.iter().map(|(size, _)| size).product::<usize>() as f64;
        let extreme = |start: f64, is_better: fn(f64, f64) -> bool| {
            let mut best = start;
            offsets(&self.reduced, &mut |offset| {
                let value = at(offset);
                if is_better(value, best) || value.is_nan() {
                    best = value;
                }
            });
            best
        };
        let variance = || {
            let mean = self.sum(&at, |x| x) / count;
            self.sum(&at, |x| (x - mean) * (x - mean)) / (count - self.correction).max(0.0)
        };
        match self.reduction {
            Reduction::Sum => self.sum(&at, |x| x),
            Reduction::Mean => self.sum(&at, |x| x) / count,
            // A comparison with NaN is false, so a NaN is never replaced.
            Reduction::Max => extreme(f64::NEG_INFINITY, |value, best| value > best),
            Reduction::Min => extreme(f64::INFINITY, |value, best| value < best),
            Reduction::Var => variance(),
            Reduction::Std => variance().sqrt(),
            Reduction::Norm => self.sum(&at, |x| x * x).sqrt(),
            Reduction::All | Reduction::Any => 0.0,
        }
    }

    /// Returns the sum of a function of the elements. It is computed as four partial sums where that is faster.
    #[inline(always)]
    fn sum(&self, at: &impl Fn(usize) -> f64, value: impl Fn(f64) -> f64) -> f64 {
        if let [(size, stride)] = self.reduced[..] {
            let mut sums = [0.0; 4];
            let whole = size / 4 * 4;
            for start in (0..whole).step_by(4) {
                for (lane, sum) in sums.iter_mut().enumerate() {
                    *sum += value(at((start + lane) * stride));
                }
            }
            let rest: f64 = (whole..size).map(|index| value(at(index * stride))).sum();
            return (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest;
        }
        let mut sum = 0.0;
        offsets(&self.reduced, &mut |offset| sum += value(at(offset)));
        sum
    }

    /// # Safety
    /// See `run`.
    unsafe fn ints(&self, out: *mut u8, place: usize, a: *const i64) {
        let mut result = match self.reduction {
            Reduction::Max => i64::MIN,
            Reduction::Min => i64::MAX,
            _ => 0,
        };
        offsets(&self.reduced, &mut |offset| {
            // SAFETY: see `run`.
            let value = unsafe { a.add(offset).read() };
            result = match self.reduction {
                Reduction::Max => result.max(value),
                Reduction::Min => result.min(value),
                _ => result.wrapping_add(value),
            };
        });
        // SAFETY: see `run`.
        unsafe { out.cast::<i64>().add(place).write(result) };
    }

    /// # Safety
    /// See `run`.
    unsafe fn bools(&self, out: *mut u8, place: usize, a: *const u8) {
        let (mut trues, mut count) = (0, 0);
        offsets(&self.reduced, &mut |offset| {
            // SAFETY: see `run`.
            trues += i64::from(unsafe { a.add(offset).read() } != 0);
            count += 1;
        });
        // SAFETY: see `run`.
        unsafe {
            match self.reduction {
                Reduction::All => out.add(place).write(u8::from(trues == count)),
                Reduction::Any => out.add(place).write(u8::from(trues > 0)),
                _ => out.cast::<i64>().add(place).write(trues),
            }
        }
    }

    /// Returns whether there is a kernel for this reduction and these dtypes.
    pub(crate) fn is_supported(&self) -> bool {
        let count: usize = self.reduced.iter().map(|(size, _)| size).product();
        match self.from {
            Element::Bool => match self.reduction {
                Reduction::All | Reduction::Any => self.to == Element::Bool,
                Reduction::Sum => self.to == Element::I64,
                _ => false,
            },
            Element::I32 => false,
            Element::I64 => {
                self.to == Element::I64
                    && (self.reduction == Reduction::Sum
                        || count > 0 && matches!(self.reduction, Reduction::Max | Reduction::Min))
            }
            float => {
                self.to == float
                    && (count > 0 || matches!(self.reduction, Reduction::Sum | Reduction::Norm))
                    && !matches!(self.reduction, Reduction::All | Reduction::Any)
            }
        }
    }
}

/// Returns the larger number, or NaN if one is NaN.
#[inline(always)]
fn larger(x: f32, y: f32) -> f32 {
    if y > x || y.is_nan() { y } else { x }
}

/// Returns the smaller number, or NaN if one is NaN.
#[inline(always)]
fn smaller(x: f32, y: f32) -> f32 {
    if y < x || y.is_nan() { y } else { x }
}

/// # Safety
/// See [`Reduce::run`]; the processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(reduce: &Reduce, out: *mut f32, a: *const f32) -> bool {
    // SAFETY: see `Reduce::run`.
    unsafe { reduce.vectors::<Avx2>(out, a) }
}

/// # Safety
/// See [`Reduce::run`]; the processor must have AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
unsafe fn avx512(reduce: &Reduce, out: *mut f32, a: *const f32) -> bool {
    let is_mean = reduce.reduction == Reduction::Mean;
    // SAFETY: see `Reduce::run`.
    unsafe {
        match (&reduce.kept[..], &reduce.reduced[..]) {
            (&[(columns, 1)], &[(rows, stride)]) if is_mean || reduce.reduction == Reduction::Sum => {
                column_sums::run(Matrix { rows, columns, stride }, is_mean, out, a);
                true
            }
            _ => reduce.vectors::<Avx512>(out, a),
        }
    }
}
