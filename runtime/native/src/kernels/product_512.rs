//! Products with AVX-512. Tiles of the result stay in registers, and the last columns are computed with a mask.
//!
//! A tile reads a panel of `b`: 32 columns of at most [`DEPTH`] rows. The first tile copies the panel into a contiguous
//! buffer for the tiles below it if the rows of `b` are far apart: with a distance of a page, the lines of a panel would
//! evict each other from the caches. A panel of a transposed `b` is transposed into the buffer.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::arch::x86_64::{
    __m512, __mmask16, _MM_HINT_T0, _mm_prefetch, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd,
    _mm512_fmadd_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_shuffle_f32x4, _mm512_store_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd,
    _mm512_unpacklo_ps,
};
use std::mem::MaybeUninit;

use super::product::Product;
use super::tiles::{Panel, Part, tile_height};

const LANES: usize = 16;
/// The maximum number of rows of a tile whose rows have two vectors.
const HEIGHT: usize = 12;
/// The maximum number of rows of a tile whose rows have one vector.
const HEIGHT_OF_NARROW: usize = 16;
/// The maximum number of rows of `b` in a panel. A buffer takes 64 KiB.
const DEPTH: usize = 512;
/// The maximum number of rows of `a` that are multiplied with a panel. They stay in the second-level cache.
const ROWS_OF_A: usize = 16 * HEIGHT;
/// Panels are copied if the rows of `b` are at least this number of elements apart: a page.
const FAR: usize = 1024;
/// The minimum number of rows of `a` for which panels of a transposed `b` are transposed.
const MIN_ROWS_TO_TRANSPOSE: usize = 6;

/// How many rows of `b` are prefetched. Processors do not prefetch them themselves if each row is in another page.
const AHEAD: usize = 12;

/// Returns whether the product has enough columns, and the rows of `b` are contiguous. Contiguous columns of `b` are
/// also suitable if `a` has enough rows.
pub(crate) fn is_suitable(product: &Product) -> bool {
    let is_transposed = product.b[0] == 1 && product.rows >= MIN_ROWS_TO_TRANSPOSE;
    product.columns > LANES / 2 && (product.b[1] == 1 || is_transposed)
}

/// A contiguous copy of a panel.
#[repr(C, align(64))]
struct Buffer([f32; DEPTH * 2 * LANES]);

/// # Safety
/// See [`super::product::Kernel`]; the processor must have AVX-512, and the product must be suitable.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn f32(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    let (c, a, b) = (c.cast::<f32>(), a.cast::<f32>(), b.cast::<f32>());
    // SAFETY: see `Kernel`.
    unsafe {
        if product.b[1] != 1 || product.rows > HEIGHT && product.b[0] >= FAR {
            packed(product, c, a, b);
        } else {
            direct(product, c, a, b);
        }
    }
}

/// Computes a product whose tiles read `b` in place.
///
/// # Safety
/// See [`f32`]; the rows of `b` must be contiguous.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn direct(product: &Product, c: *mut f32, a: *const f32, b: *const f32) {
    let nowhere = std::ptr::null_mut();
    let height = tile_height(product.rows, HEIGHT);
    for column in (0..product.columns).step_by(2 * LANES) {
        let panel = Panel { first: b.wrapping_add(column), stride: product.b[0], count: product.inner };
        let left = product.columns - column;
        let most = if left <= LANES { tile_height(product.rows, HEIGHT_OF_NARROW) } else { height };
        let mut row = 0;
        while row < product.rows {
            let part = Part { row, column, depth: 0 };
            let rows = most.min(product.rows - row);
            // SAFETY: the tiles cover the result.
            unsafe {
                if left <= LANES {
                    rows_of::<1, false>(product, c, a, panel, nowhere, part, rows, [mask(left)]);
                } else {
                    let masks = [!0, mask(left - LANES)];
                    rows_of::<2, false>(product, c, a, panel, nowhere, part, rows, masks);
                }
            }
            row += rows;
        }
    }
}

/// Computes a product whose tiles read contiguous copies of panels.
///
/// # Safety
/// See [`f32`].
#[target_feature(enable = "avx512f")]
#[inline(never)]
unsafe fn packed(product: &Product, c: *mut f32, a: *const f32, b: *const f32) {
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    let buffer = buffer.as_mut_ptr().cast::<f32>();
    // SAFETY: the panels cover the result.
    unsafe {
        for row in (0..product.rows).step_by(ROWS_OF_A) {
            let end = product.rows.min(row + ROWS_OF_A);
            for column in (0..product.columns).step_by(2 * LANES) {
                for depth in (0..product.inner).step_by(DEPTH) {
                    let part = Part { row, column, depth };
                    match product.columns - column {
                        left @ 0..=LANES => panel::<1>(product, c, a, b, buffer, part, end, [mask(left)]),
                        left => panel::<2>(product, c, a, b, buffer, part, end, [!0, mask(left - LANES)]),
                    }
                }
            }
        }
    }
}

/// Returns the mask of the first `lanes` lanes.
pub(super) fn mask(lanes: usize) -> __mmask16 {
    if lanes >= LANES { !0 } else { (1 << lanes) - 1 }
}

/// Multiplies the rows of `a` up to `end` with a panel.
///
/// # Safety
/// See [`f32`]; the part must be inside the product.
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(clippy::too_many_arguments, reason = "a call in the innermost loops")]
unsafe fn panel<const VECTORS: usize>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    b: *const f32,
    buffer: *mut f32,
    mut part: Part,
    end: usize,
    masks: [__mmask16; VECTORS],
) {
    let rows = end - part.row;
    let height = tile_height(rows, if VECTORS == 1 { HEIGHT_OF_NARROW } else { HEIGHT });
    let count = (product.inner - part.depth).min(DEPTH);
    let packed = Panel { first: buffer, stride: VECTORS * LANES, count };
    // SAFETY: the caller guarantees the shapes.
    unsafe {
        let first = b.add(part.depth * product.b[0] + part.column * product.b[1]);
        let mut panel = Panel { first, stride: product.b[0], count };
        if product.b[1] != 1 {
            let columns = (product.columns - part.column).min(VECTORS * LANES);
            transpose::<VECTORS>(first, product.b[1], columns, count, buffer);
            panel = packed;
        } else if rows > height {
            rows_of::<VECTORS, true>(product, c, a, panel, buffer, part, height, masks);
            part.row += height;
            panel = packed;
        }
        while part.row < end {
            let height = height.min(end - part.row);
            rows_of::<VECTORS, false>(product, c, a, panel, buffer, part, height, masks);
            part.row += height;
        }
    }
}

/// Writes the transpose of `columns` columns of `b` to the buffer; at most `VECTORS * 16`. The columns have `count`
/// elements each, and are `stride` elements apart.
///
/// # Safety
/// The columns must be valid, and the buffer must hold `count` rows of `VECTORS * 16` elements.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn transpose<const VECTORS: usize>(
    first: *const f32,
    stride: usize,
    columns: usize,
    count: usize,
    buffer: *mut f32,
) {
    for p in (0..count).step_by(LANES) {
        let mask = mask(count - p);
        for v in 0..VECTORS {
            let mut block = [_mm512_setzero_ps(); LANES];
            let present = columns.saturating_sub(v * LANES);
            // SAFETY: the caller guarantees the shapes; lanes outside of the masks are not read. The buffer has a multiple of 16
            // rows, so rows after the last one may be written.
            unsafe {
                for (j, column) in block.iter_mut().enumerate() {
                    let start = first.wrapping_add((v * LANES + j) * stride + p);
                    *column = _mm512_maskz_loadu_ps(if j < present { mask } else { 0 }, start);
                    // Prefetches the same elements of a column of the next block. An address outside of the matrix has
                    // no effect.
                    _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(LANES * stride).cast());
                }
                for (i, row) in transposed(block).into_iter().enumerate() {
                    _mm512_store_ps(buffer.add((p + i) * VECTORS * LANES + v * LANES), row);
                }
            }
        }
    }
}

/// Returns the transpose of a matrix of 16 rows.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn transposed(rows: [__m512; LANES]) -> [__m512; LANES] {
    let mut pairs = rows;
    for k in (0..LANES).step_by(2) {
        pairs[k] = _mm512_unpacklo_ps(rows[k], rows[k + 1]);
        pairs[k + 1] = _mm512_unpackhi_ps(rows[k], rows[k + 1]);
    }
    // Each vector has the elements of four rows in one column out of four.
    let mut fours = pairs;
    for k in (0..LANES).step_by(4) {
        for high in 0..2 {
            let (x, y) = (_mm512_castps_pd(pairs[k + high]), _mm512_castps_pd(pairs[k + 2 + high]));
            fours[k + 2 * high] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
            fours[k + 2 * high + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
        }
    }
    let mut result = fours;
    for k in 0..4 {
        let [a, b, c, d] = [fours[k], fours[k + 4], fours[k + 8], fours[k + 12]];
        let (even_low, odd_low) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
        let (even_high, odd_high) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
        result[k] = _mm512_shuffle_f32x4::<0x88>(even_low, even_high);
        result[k + 4] = _mm512_shuffle_f32x4::<0x88>(odd_low, odd_high);
        result[k + 8] = _mm512_shuffle_f32x4::<0xdd>(even_low, even_high);
        result[k + 12] = _mm512_shuffle_f32x4::<0xdd>(odd_low, odd_high);
    }
    result
}

/// Computes a tile of this height. With `COPIES`, the panel is copied into the buffer.
///
/// # Safety
/// See [`panel`].
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(clippy::too_many_arguments, reason = "a call in the innermost loops")]
unsafe fn rows_of<const VECTORS: usize, const COPIES: bool>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    panel: Panel,
    buffer: *mut f32,
    part: Part,
    height: usize,
    masks: [__mmask16; VECTORS],
) {
    macro_rules! tiles {
        ($($rows:literal)*) => {
            match height {
                $($rows => tile::<VECTORS, $rows, COPIES>(product, c, a, panel, buffer, part, masks),)*
                _ => unreachable!("a tile has at most 16 rows"),
            }
        };
    }
    // SAFETY: the caller guarantees the shapes.
    unsafe { tiles!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16) }
}

/// # Safety
/// See [`panel`].
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn tile<const VECTORS: usize, const ROWS: usize, const COPIES: bool>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    panel: Panel,
    buffer: *mut f32,
    part: Part,
    masks: [__mmask16; VECTORS],
) {
    // SAFETY: the caller guarantees the shapes; lanes outside of the masks are neither read nor written.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
        let mut x: [*const f32; ROWS] = [a; ROWS];
        for (r, x) in x.iter_mut().enumerate() {
            *x = a.add((part.row + r) * product.a[0] + part.depth * product.a[1]);
        }
        for p in 0..panel.count {
            let mut y: [__m512; VECTORS] = [_mm512_setzero_ps(); VECTORS];
            for (v, y) in y.iter_mut().enumerate() {
                // A prefetch of an address outside of the matrix has no effect.
                let ahead = panel.first.wrapping_add((p + AHEAD) * panel.stride + v * LANES);
                _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                *y = _mm512_maskz_loadu_ps(masks[v], panel.first.add(p * panel.stride + v * LANES));
                if COPIES {
                    _mm512_store_ps(buffer.add((p * VECTORS + v) * LANES), *y);
                }
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                let x = _mm512_set1_ps(x.add(p * product.a[1]).read());
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = _mm512_fmadd_ps(x, y, *sum);
                }
            }
        }
        let adds = product.adds || part.depth > 0;
        for (r, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let place = c.add((part.row + r) * product.columns + part.column + v * LANES);
                let before = if adds { _mm512_maskz_loadu_ps(masks[v], place) } else { _mm512_setzero_ps() };
                _mm512_mask_storeu_ps(place, masks[v], _mm512_add_ps(before, sum));
            }
        }
    }
}
