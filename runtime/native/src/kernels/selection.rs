//! The largest or smallest elements of contiguous rows and their indices, and rows at indices.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::is_wide;
use crate::dtype::Element;

/// The maximum number of elements that are selected in each row.
pub(crate) const MAX_SELECTED: usize = 32;

/// Selects the first `selected` elements of each row in descending or ascending order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection {
    pub(crate) kernel: Kernel,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) selected: usize,
    /// Whether equal elements are an error, because `torch.topk` does not define their order. Otherwise, the element
    /// with the lower index comes first.
    pub(crate) is_unique: bool,
}

/// Writes the elements and their indices. Returns an error if the order of the elements does not define the result: for
/// NaN, and for equal elements if `is_unique`.
///
/// # Safety
/// The addresses must be aligned and valid: `a` for `rows` times `columns` elements, the results for `rows` times
/// `selected`.
pub(crate) type Kernel =
    unsafe fn(&Selection, values: *mut u8, indices: *mut i64, a: *const u8) -> Result<(), ()>;

pub(crate) fn kernel(element: Element, is_largest: bool) -> Option<Kernel> {
    match (element, is_largest) {
        (Element::F32, true) => Some(version::<f32, true>()),
        (Element::F32, false) => Some(version::<f32, false>()),
        (Element::F64, true) => Some(version::<f64, true>()),
        (Element::F64, false) => Some(version::<f64, false>()),
        (Element::I64, true) => Some(version::<i64, true>()),
        (Element::I64, false) => Some(version::<i64, false>()),
        (Element::Bool, _) => None,
    }
}

fn version<T: Copy + Default + PartialOrd, const LARGEST: bool>() -> Kernel {
    #[cfg(target_arch = "x86_64")]
    if is_wide() {
        return wide::<T, LARGEST>;
    }
    portable::<T, LARGEST>
}

/// # Safety
/// See [`Kernel`].
#[inline(always)]
unsafe fn portable<T: Copy + Default + PartialOrd, const LARGEST: bool>(
    selection: &Selection,
    values: *mut u8,
    indices: *mut i64,
    a: *const u8,
) -> Result<(), ()> {
    // SAFETY: see `Kernel`.
    unsafe { selection.run::<T, LARGEST>(values.cast(), indices, a.cast()) }
}

/// # Safety
/// See [`Kernel`]; the processor must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn wide<T: Copy + Default + PartialOrd, const LARGEST: bool>(
    selection: &Selection,
    values: *mut u8,
    indices: *mut i64,
    a: *const u8,
) -> Result<(), ()> {
    // SAFETY: see `Kernel`.
    unsafe { portable::<T, LARGEST>(selection, values, indices, a) }
}

/// Whether `a` is selected before `b`.
#[inline(always)]
fn precedes<T: PartialOrd, const LARGEST: bool>(a: T, b: T) -> bool {
    if LARGEST { a > b } else { a < b }
}

/// The number of elements in a block, which are compared with the last selected element at once.
const BLOCK: usize = 32;

impl Selection {
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn run<T: Copy + Default + PartialOrd, const LARGEST: bool>(
        &self,
        values: *mut T,
        indices: *mut i64,
        a: *const T,
    ) -> Result<(), ()> {
        // One element more shows whether the last selected element is unique.
        let mut first = [(T::default(), 0); MAX_SELECTED + 1];
        let wanted = (self.selected + usize::from(self.is_unique)).min(self.columns).min(first.len());
        let first = &mut first[..wanted];
        for row in 0..self.rows {
            // SAFETY: the row is a part of `a`.
            unsafe { select::<T, LARGEST>(a.add(row * self.columns), self.columns, first)? };
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

/// Fills `first`, which must not be empty, with the first elements in the order of `precedes`, and their indices.
///
/// # Safety
/// The address must be valid for `count` elements, which are at least as many as `first` has.
#[inline(always)]
unsafe fn select<T: Copy + PartialOrd, const LARGEST: bool>(
    a: *const T,
    count: usize,
    first: &mut [(T, usize)],
) -> Result<(), ()> {
    let last = first.len() - 1;
    let mut start = 0;
    while start < count {
        let end = (start + BLOCK).min(count);
        let is_filled = start > last;
        // Skips a block if none of its elements precedes the last selected element, which is usual. The test is also
        // true for NaN.
        let limit = first[last].0;
        let has_candidate = if is_filled && end - start == BLOCK {
            let mut has_candidate = false;
            for at in start..start + BLOCK {
                // SAFETY: the caller guarantees the length.
                let x = unsafe { a.add(at).read() };
                has_candidate |= !(x == limit || precedes::<T, LARGEST>(limit, x));
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
                if filled < first.len() || precedes::<T, LARGEST>(x, first[last].0) {
                    let mut rank = filled.min(last);
                    while rank > 0 && precedes::<T, LARGEST>(x, first[rank - 1].0) {
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

/// Copies the rows `a[indices]`.
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
    /// Copies the rows. Returns an error if an index is out of range.
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
