//! The largest or smallest elements along a dimension that is not the last one, with their indices: for `x.max(1)` of
//! `x: f32[8, 20, 20]`. Neighbouring elements of the result are computed at once.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use super::selection::{Selection, precedes};

/// The number of elements of the result that are computed at once.
const LANES: usize = 16;

/// Selects one element of each column. The operand has `inner` columns behind each other.
///
/// # Safety
/// See [`super::selection::Kernel`].
#[inline(always)]
pub(super) unsafe fn run<T: Copy + PartialOrd, const LARGEST: bool>(
    selection: &Selection,
    values: *mut T,
    indices: *mut i64,
    a: *const T,
) -> Result<(), ()> {
    let Selection { rows, columns, inner, .. } = *selection;
    let (whole, fours) = (inner / LANES * LANES, inner / 4 * 4);
    for outer in 0..rows / inner {
        // SAFETY: the caller guarantees the shapes.
        unsafe {
            let (a, place) = (a.add(outer * columns * inner), outer * inner);
            let (values, indices) = (values.add(place), indices.add(place));
            for at in (0..whole).step_by(LANES) {
                block::<T, LARGEST, LANES>(columns, inner, values.add(at), indices.add(at), a.add(at))?;
            }
            for at in (whole..fours).step_by(4) {
                block::<T, LARGEST, 4>(columns, inner, values.add(at), indices.add(at), a.add(at))?;
            }
            for at in fours..inner {
                block::<T, LARGEST, 1>(columns, inner, values.add(at), indices.add(at), a.add(at))?;
            }
        }
    }
    Ok(())
}

/// Selects one element of each of `N` columns. Returns an error if an element is NaN.
///
/// # Safety
/// The results must be valid for `N` elements, and `a` for `columns` rows of `N` elements at a distance of `inner`.
#[inline(always)]
unsafe fn block<T: Copy + PartialOrd, const LARGEST: bool, const N: usize>(
    columns: usize,
    inner: usize,
    values: *mut T,
    indices: *mut i64,
    a: *const T,
) -> Result<(), ()> {
    // SAFETY: the caller guarantees the lengths.
    unsafe {
        let mut best = a.cast::<[T; N]>().read_unaligned();
        let mut index = [0_u32; N];
        let mut is_ordered = best.iter().fold(true, |is_ordered, x| is_ordered & x.partial_cmp(x).is_some());
        for column in 1..columns {
            let row = a.add(column * inner).cast::<[T; N]>().read_unaligned();
            for lane in 0..N {
                let (x, kept) = (row[lane], best[lane]);
                let is_better = precedes::<T, LARGEST>(x, kept);
                is_ordered &= is_better | (x <= kept) | (x >= kept);
                best[lane] = if is_better { x } else { kept };
                index[lane] = if is_better { column as u32 } else { index[lane] };
            }
        }
        values.cast::<[T; N]>().write_unaligned(best);
        indices.cast::<[i64; N]>().write_unaligned(index.map(i64::from));
        if is_ordered { Ok(()) } else { Err(()) }
    }
}
