//! The largest or smallest elements of contiguous rows and their indices, and rows at indices.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::is_wide;
use crate::dtype::Element;

/// The most elements that are selected in a row.
pub(crate) const MOST_SELECTED: usize = 32;

/// Rows from which the first `selected` elements are taken, in descending order, or in ascending order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection {
    pub(crate) kernel: Kernel,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) selected: usize,
    /// Whether equal elements are an error: `torch.topk` does not define their order. Otherwise the first is taken.
    pub(crate) is_unique: bool,
}

/// Writes the elements and their indices. An error if the result is not defined by the order of the elements: for
/// NaN, and for equal elements in a selection that is unique.
///
/// # Safety
/// The addresses must be aligned and valid: `a` for `rows` times `columns` elements, the results for `rows` times
/// `selected`.
pub(crate) type Kernel =
    unsafe fn(&Selection, values: *mut u8, indices: *mut i64, a: *const u8) -> Result<(), ()>;

pub(crate) fn kernel(element: Element, is_largest: bool) -> Option<Kernel> {
    macro_rules! select {
        ($T:ty, $precedes:expr) => {{
            /// # Safety
            /// See [`Kernel`].
            unsafe fn portable(
                selection: &Selection,
                values: *mut u8,
                indices: *mut i64,
                a: *const u8,
            ) -> Result<(), ()> {
                // SAFETY: see `Kernel`.
                unsafe { selection.run::<$T>(values.cast(), indices, a.cast(), $precedes) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            /// # Safety
            /// See [`Kernel`]; the processor must have AVX2.
            unsafe fn wide(
                selection: &Selection,
                values: *mut u8,
                indices: *mut i64,
                a: *const u8,
            ) -> Result<(), ()> {
                // SAFETY: see `Kernel`.
                unsafe { selection.run::<$T>(values.cast(), indices, a.cast(), $precedes) }
            }
            #[cfg(not(target_arch = "x86_64"))]
            use portable as wide;
            Some(if is_wide() { wide as Kernel } else { portable as Kernel })
        }};
    }
    match (element, is_largest) {
        (Element::F32, true) => select!(f32, |a, b| a > b),
        (Element::F32, false) => select!(f32, |a, b| a < b),
        (Element::F64, true) => select!(f64, |a, b| a > b),
        (Element::F64, false) => select!(f64, |a, b| a < b),
        (Element::I64, true) => select!(i64, |a, b| a > b),
        (Element::I64, false) => select!(i64, |a, b| a < b),
        (Element::Bool, _) => None,
    }
}

/// The elements that are compared with the last selected one at once.
const BLOCK: usize = 32;

impl Selection {
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn run<T: Copy + Default + PartialOrd>(
        &self,
        values: *mut T,
        indices: *mut i64,
        a: *const T,
        precedes: impl Fn(T, T) -> bool,
    ) -> Result<(), ()> {
        // One more, to see whether the last selected element is unique.
        let mut first = [(T::default(), 0); MOST_SELECTED + 1];
        let wanted = (self.selected + usize::from(self.is_unique)).min(self.columns).min(first.len());
        let first = &mut first[..wanted];
        for row in 0..self.rows {
            // SAFETY: the row is a part of `a`.
            unsafe { select(a.add(row * self.columns), self.columns, first, &precedes)? };
            if self.is_unique && first.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return Err(());
            }
            for (rank, (value, index)) in first.iter().take(self.selected).enumerate() {
                let place = row * self.selected + rank;
                // SAFETY: the caller guarantees the shapes.
                unsafe {
                    values.add(place).write(*value);
                    indices.add(place).write(*index as i64);
                }
            }
        }
        Ok(())
    }
}

/// Fills `first` with the first elements in the order of `precedes`, and their indices; at least one.
///
/// # Safety
/// The address must be valid for `count` elements, which are at least as many as `first` has.
#[inline(always)]
unsafe fn select<T: Copy + PartialOrd>(
    a: *const T,
    count: usize,
    first: &mut [(T, usize)],
    precedes: &impl Fn(T, T) -> bool,
) -> Result<(), ()> {
    let last = first.len() - 1;
    let mut start = 0;
    while start < count {
        let end = (start + BLOCK).min(count);
        let is_filled = start > last;
        // Few blocks have an element that comes before the last selected one. The test is also true for NaN.
        let limit = first[last].0;
        let has_candidate = if is_filled && end - start == BLOCK {
            let mut has_candidate = false;
            for at in start..start + BLOCK {
                // SAFETY: the caller guarantees the length.
                let x = unsafe { a.add(at).read() };
                has_candidate |= !(x == limit || precedes(limit, x));
            }
            has_candidate
        } else {
            true
        };
        if has_candidate {
            for at in start..end {
                // SAFETY: the caller guarantees the length.
                let x = unsafe { a.add(at).read() };
                if x.partial_cmp(&x).is_none() {
                    return Err(());
                }
                let filled = at.min(first.len());
                if filled < first.len() || precedes(x, first[last].0) {
                    let mut rank = filled.min(last);
                    while rank > 0 && precedes(x, first[rank - 1].0) {
                        first[rank] = first[rank - 1];
                        rank -= 1;
                    }
                    first[rank] = (x, at);
                }
            }
        }
        start = end;
    }
    Ok(())
}

/// Copies rows at indices, as `a[indices]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gather {
    /// The number of indices.
    pub(crate) count: usize,
    /// The number of rows to choose from.
    pub(crate) rows: usize,
    /// The bytes of a row.
    pub(crate) bytes: usize,
    /// Whether negative indices count from the end.
    pub(crate) wraps: bool,
}

impl Gather {
    /// An error if an index is out of range.
    ///
    /// # Safety
    /// The addresses must be valid for these shapes, and the result must not overlap the operands.
    pub(crate) unsafe fn run(&self, out: *mut u8, a: *const u8, indices: *const i64) -> Result<(), ()> {
        for place in 0..self.count {
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                let index = indices.add(place).read();
                let index = if index < 0 && self.wraps { index + self.rows as i64 } else { index };
                let row = usize::try_from(index).ok().filter(|row| *row < self.rows).ok_or(())?;
                let from = a.add(row * self.bytes);
                from.copy_to_nonoverlapping(out.add(place * self.bytes), self.bytes);
            }
        }
        Ok(())
    }
}
