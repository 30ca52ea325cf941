//! Products with AVX-512, for matrices with few rows or few columns. Tiles of the result stay in registers, the last
//! columns are computed with a mask, and no operand is packed.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::arch::x86_64::{
    __m512, __mmask16, _MM_HINT_T0, _mm_prefetch, _mm512_add_ps, _mm512_fmadd_ps, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
};

use super::product::Product;

const LANES: usize = 16;
/// The maximum number of rows of a tile whose rows have two vectors.
const HEIGHT: usize = 12;
/// The maximum number of rows of a tile whose rows have one vector.
const HEIGHT_OF_NARROW: usize = 16;

/// How many rows of `b` are prefetched. Processors do not prefetch them themselves if each row is in another page.
const AHEAD: usize = 12;

/// Whether the rows of `b` are contiguous, and wide enough.
pub(crate) fn is_suitable(product: &Product) -> bool {
    product.b[1] == 1 && product.columns > LANES / 2
}

/// # Safety
/// See [`super::product::Kernel`]; the processor must have AVX-512, and the rows of `b` must be contiguous.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn f32(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    let (c, a, b) = (c.cast::<f32>(), a.cast::<f32>(), b.cast::<f32>());
    let mut column = 0;
    // SAFETY: the tiles cover the result.
    unsafe {
        // Tiles of nearly equal height.
        let height = product.rows.div_ceil(product.rows.div_ceil(HEIGHT).max(1));
        while column < product.columns {
            let left = product.columns - column;
            let mut row = 0;
            if left > LANES {
                let masks = [!0, mask(left - LANES)];
                while row < product.rows {
                    row += rows::<2>(product, c, a, b, (row, column), height, masks);
                }
                column += 2 * LANES;
            } else {
                while row < product.rows {
                    let height =
                        if product.rows - row >= HEIGHT_OF_NARROW { HEIGHT_OF_NARROW } else { HEIGHT };
                    row += rows::<1>(product, c, a, b, (row, column), height, [mask(left)]);
                }
                column += LANES;
            }
        }
    }
}

/// The mask of the first `lanes` lanes.
fn mask(lanes: usize) -> __mmask16 {
    if lanes >= LANES { !0 } else { (1 << lanes) - 1 }
}

/// Computes a tile with at most this height, and returns its height.
///
/// # Safety
/// See [`f32`]; the tile must be a part of the result.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn rows<const VECTORS: usize>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    b: *const f32,
    at: (usize, usize),
    most: usize,
    masks: [__mmask16; VECTORS],
) -> usize {
    let height = (product.rows - at.0).min(most);
    // SAFETY: the caller guarantees the shapes.
    unsafe {
        match height {
            1 => tile::<VECTORS, 1>(product, c, a, b, at, masks),
            2 => tile::<VECTORS, 2>(product, c, a, b, at, masks),
            3 => tile::<VECTORS, 3>(product, c, a, b, at, masks),
            4 => tile::<VECTORS, 4>(product, c, a, b, at, masks),
            5 => tile::<VECTORS, 5>(product, c, a, b, at, masks),
            6 => tile::<VECTORS, 6>(product, c, a, b, at, masks),
            7 => tile::<VECTORS, 7>(product, c, a, b, at, masks),
            8 => tile::<VECTORS, 8>(product, c, a, b, at, masks),
            9 => tile::<VECTORS, 9>(product, c, a, b, at, masks),
            10 => tile::<VECTORS, 10>(product, c, a, b, at, masks),
            11 => tile::<VECTORS, 11>(product, c, a, b, at, masks),
            12 => tile::<VECTORS, 12>(product, c, a, b, at, masks),
            _ => tile::<VECTORS, HEIGHT_OF_NARROW>(product, c, a, b, at, masks),
        }
    }
    height
}

/// # Safety
/// See [`rows`].
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn tile<const VECTORS: usize, const ROWS: usize>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    b: *const f32,
    (row, column): (usize, usize),
    masks: [__mmask16; VECTORS],
) {
    // SAFETY: the caller guarantees the shapes; lanes outside of the masks are neither read nor written.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
        let mut x: [*const f32; ROWS] = [a; ROWS];
        for (r, x) in x.iter_mut().enumerate() {
            *x = a.add((row + r) * product.a[0]);
        }
        let first = b.add(column);
        for p in 0..product.inner {
            let mut y: [__m512; VECTORS] = [_mm512_setzero_ps(); VECTORS];
            if p + AHEAD < product.inner {
                for v in 0..VECTORS {
                    // A prefetch of an address outside of the matrix has no effect.
                    let ahead = first.wrapping_add((p + AHEAD) * product.b[0] + v * LANES);
                    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                }
            }
            for (v, y) in y.iter_mut().enumerate() {
                *y = _mm512_maskz_loadu_ps(masks[v], first.add(p * product.b[0] + v * LANES));
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                let x = _mm512_set1_ps(x.add(p * product.a[1]).read());
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = _mm512_fmadd_ps(x, y, *sum);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let place = c.add((row + r) * product.columns + column + v * LANES);
                let before =
                    if product.adds { _mm512_maskz_loadu_ps(masks[v], place) } else { _mm512_setzero_ps() };
                _mm512_mask_storeu_ps(place, masks[v], _mm512_add_ps(before, sum));
            }
        }
    }
}
