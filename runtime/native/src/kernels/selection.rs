//! The largest or smallest elements of contiguous rows and their indices, and rows at indices.
//!
//! `torch.topk` does not define the order of equal elements. If there are many more elements than selected ones, its
//! order on Linux is that of `std::partial_sort` in libstdc++ (`ATen/native/TopKImpl.h`). [`Ties::Heap`] reproduces it.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::ops::Range;

use super::{extreme, is_wide};
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
    /// The distance of the elements of a row. If it is not 1, one element of each row is selected.
    pub(crate) inner: usize,
    pub(crate) ties: Ties,
}

/// Which of equal elements comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ties {
    /// The one with the lower index.
    LowerIndex,
    /// The one that libtorch's heap selects.
    Heap,
    /// Equal elements are an error.
    Error,
}

impl Ties {
    /// Returns the order of equal elements in `torch.topk`; `Error` if it is not known.
    pub(crate) fn of_topk(columns: usize, selected: usize) -> Self {
        let is_libstdcxx = cfg!(all(target_os = "linux", target_env = "gnu"));
        if is_libstdcxx && selected * 64 <= columns { Self::Heap } else { Self::Error }
    }
}

/// Writes the elements and their indices. Returns an error if the order of the elements does not define the result: for
/// NaN, and for equal elements with [`Ties::Error`].
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
        (Element::I32, true) => Some(version::<i32, true>()),
        (Element::I32, false) => Some(version::<i32, false>()),
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

/// Returns whether `a` is selected before `b`.
#[inline(always)]
pub(super) fn precedes<T: PartialOrd, const LARGEST: bool>(a: T, b: T) -> bool {
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
        if self.inner > 1 {
            // SAFETY: see `Kernel`.
            return unsafe { extreme::run::<T, LARGEST>(self, values, indices, a) };
        }
        // One element more shows whether the last selected element is unique.
        let is_unique = self.ties == Ties::Error;
        let mut first = [(T::default(), 0); MAX_SELECTED + 1];
        let wanted = (self.selected + usize::from(is_unique)).min(self.columns).min(first.len());
        let first = &mut first[..wanted];
        for row in 0..self.rows {
            // SAFETY: the row is a part of `a`.
            unsafe {
                let row = a.add(row * self.columns);
                if self.ties == Ties::Heap {
                    partial_sort::<T, LARGEST>(row, self.columns, first)?;
                } else {
                    select::<T, LARGEST>(row, self.columns, first)?;
                }
            }
            if is_unique && first.windows(2).any(|pair| pair[0].0 == pair[1].0) {
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
        // SAFETY: the caller guarantees the length.
        if start <= last || unsafe { has_candidate::<T, LARGEST>(a, start..end, first[last].0) } {
            for at in start..end {
                // SAFETY: the caller guarantees the length.
                let x = unsafe { ordered(a.add(at))? };
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

/// Selects elements, with equal ones in the order of `std::partial_sort` in libstdc++. The selected elements are in a
/// heap, whose root is the last of them.
///
/// # Safety
/// See [`select`].
#[inline(always)]
unsafe fn partial_sort<T: Copy + PartialOrd, const LARGEST: bool>(
    a: *const T,
    count: usize,
    heap: &mut [(T, usize)],
) -> Result<(), ()> {
    for (at, place) in heap.iter_mut().enumerate() {
        // SAFETY: the caller guarantees the length.
        *place = (unsafe { ordered(a.add(at))? }, at);
    }
    for root in (0..heap.len() / 2).rev() {
        sift::<T, LARGEST>(heap, root, heap[root]);
    }
    let mut start = heap.len();
    while start < count {
        let end = (start + BLOCK).min(count);
        // SAFETY: the caller guarantees the length.
        if unsafe { has_candidate::<T, LARGEST>(a, start..end, heap[0].0) } {
            for at in start..end {
                // SAFETY: the caller guarantees the length.
                let x = unsafe { ordered(a.add(at))? };
                if precedes::<T, LARGEST>(x, heap[0].0) {
                    sift::<T, LARGEST>(heap, 0, (x, at));
                }
            }
        }
        start = end;
    }
    for end in (1..heap.len()).rev() {
        let last = heap[end];
        heap[end] = heap[0];
        sift::<T, LARGEST>(&mut heap[..end], 0, last);
    }
    Ok(())
}

/// Puts an item in the place of a root: moves the hole down to a leaf, and then the item up from there. This is
/// `std::__adjust_heap`, which decides the order of equal elements.
#[inline(always)]
fn sift<T: Copy + PartialOrd, const LARGEST: bool>(heap: &mut [(T, usize)], root: usize, item: (T, usize)) {
    let mut hole = root;
    while 2 * hole + 1 < heap.len() {
        let (left, right) = (2 * hole + 1, 2 * hole + 2);
        let is_left = right == heap.len() || precedes::<T, LARGEST>(heap[right].0, heap[left].0);
        let child = if is_left { left } else { right };
        heap[hole] = heap[child];
        hole = child;
    }
    while hole > root && precedes::<T, LARGEST>(heap[(hole - 1) / 2].0, item.0) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = item;
}

/// Returns an element; an error if it is NaN.
///
/// # Safety
/// The address must be valid.
#[inline(always)]
unsafe fn ordered<T: Copy + PartialOrd>(a: *const T) -> Result<T, ()> {
    // SAFETY: the caller guarantees the address.
    let x = unsafe { a.read() };
    if x.partial_cmp(&x).is_none() { Err(()) } else { Ok(x) }
}

/// Returns whether an element of a block may precede the last selected element, or is NaN. Usually, no element of a
/// block does.
///
/// # Safety
/// The address must be valid for these indices.
#[inline(always)]
unsafe fn has_candidate<T: Copy + PartialOrd, const LARGEST: bool>(
    a: *const T,
    block: Range<usize>,
    last: T,
) -> bool {
    if block.len() != BLOCK {
        return true;
    }
    let mut has_candidate = false;
    for at in block.start..block.start + BLOCK {
        // SAFETY: the caller guarantees the length.
        let x = unsafe { a.add(at).read() };
        has_candidate |= !(x == last || precedes::<T, LARGEST>(last, x));
    }
    has_candidate
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
                let row = position(indices.add(place).read(), self.rows, self.wraps)?;
                let from = a.add(row * self.bytes);
                from.copy_to_nonoverlapping(out.add(place * self.bytes), self.bytes);
            }
        }
        Ok(())
    }
}

/// Selects elements along a dimension, as `torch.gather` does: `out[o, k, i] = a[o, index[o, k, i], i]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pick {
    /// The sizes of the result before, along and behind the dimension.
    pub(crate) sizes: [usize; 3],
    /// The strides of the indices.
    pub(crate) index_strides: [usize; 3],
    /// The size of the dimension in the operand.
    pub(crate) columns: usize,
    /// The bytes of an element: 1, 4 or 8.
    pub(crate) bytes: usize,
    /// Whether negative indices count from the end.
    pub(crate) wraps: bool,
}

impl Pick {
    /// Selects the elements. Returns an error if an index is out of range.
    ///
    /// # Safety
    /// The addresses must be aligned and valid for these shapes, and the result must not overlap the operands.
    pub(crate) unsafe fn run(&self, out: *mut u8, a: *const u8, indices: *const i64) -> Result<(), ()> {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            match self.bytes {
                4 => self.picked::<u32>(out.cast(), a.cast(), indices),
                8 => self.picked::<u64>(out.cast(), a.cast(), indices),
                _ => self.picked::<u8>(out, a, indices),
            }
        }
    }

    /// # Safety
    /// See `run`.
    unsafe fn picked<T: Copy>(&self, mut out: *mut T, a: *const T, indices: *const i64) -> Result<(), ()> {
        let [outers, count, inner] = self.sizes;
        let [outer_stride, row_stride, stride] = self.index_strides;
        for outer in 0..outers {
            for row in 0..count {
                // SAFETY: the caller guarantees the shapes.
                unsafe {
                    let a = a.add(outer * self.columns * inner);
                    let index = indices.add(outer * outer_stride + row * row_stride);
                    if stride == 0 {
                        let row = position(index.read(), self.columns, self.wraps)?;
                        a.add(row * inner).copy_to_nonoverlapping(out, inner);
                    } else {
                        for at in 0..inner {
                            let row = position(index.add(at * stride).read(), self.columns, self.wraps)?;
                            out.add(at).write(a.add(row * inner + at).read());
                        }
                    }
                    out = out.add(inner);
                }
            }
        }
        Ok(())
    }
}

/// Joins the indices of several dimensions: `out[i] = out[i] * size + index[i]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinIndices {
    pub(crate) count: usize,
    /// The size of the dimension.
    pub(crate) size: usize,
    /// Whether this is the first dimension, so that there is no `out[i]` yet.
    pub(crate) is_first: bool,
}

impl JoinIndices {
    /// Returns an error if an index is out of range. Negative indices count from the end.
    ///
    /// # Safety
    /// The addresses must be aligned and valid for this number of indices.
    pub(crate) unsafe fn run(&self, out: *mut i64, indices: *const i64) -> Result<(), ()> {
        for at in 0..self.count {
            // SAFETY: the caller guarantees the number.
            unsafe {
                let index = position(indices.add(at).read(), self.size, true)?;
                let before = if self.is_first { 0 } else { out.add(at).read() };
                // The product of the sizes is the number of elements, so nothing overflows.
                out.add(at).write(before * self.size as i64 + index as i64);
            }
        }
        Ok(())
    }
}

/// Returns the position of an index in a dimension of this size; an error if it is out of range. If `wraps` is true,
/// negative indices count from the end.
#[inline(always)]
pub(super) fn position(index: i64, size: usize, wraps: bool) -> Result<usize, ()> {
    let index = if index < 0 && wraps { index + size as i64 } else { index };
    usize::try_from(index).ok().filter(|index| *index < size).ok_or(())
}
