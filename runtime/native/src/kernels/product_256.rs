//! Products with AVX2, for matrices with few rows or few columns. Tiles of the result stay in registers, the last
//! columns are computed with a mask, and no operand is packed.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::arch::x86_64::{
    __m256, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
};

use super::lanes::part;
use super::product::Product;

const LANES: usize = 8;
/// The maximum number of rows of a tile whose rows have two vectors.
const HEIGHT: usize = 6;
/// The maximum number of rows of a tile whose rows have one vector.
const HEIGHT_OF_NARROW: usize = 12;
/// The minimum number of rows. With fewer, memory bandwidth limits the speed, and tiles that read longer parts of the
/// rows of `b` are faster.
const MIN_ROWS: usize = 4;

/// Returns whether this kernel is suitable: the rows of `b` are contiguous and long enough, and `a` has enough rows.
pub(crate) fn is_suitable(product: &Product) -> bool {
    product.b[1] == 1 && product.columns > LANES / 2 && product.rows >= MIN_ROWS
}

/// Computes a product.
///
/// # Safety
/// See [`super::product::Kernel`]; the processor must have AVX2 and FMA, and the rows of `b` must be contiguous.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn f32(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    let (c, a, b) = (c.cast::<f32>(), a.cast::<f32>(), b.cast::<f32>());
    let mut column = 0;
    // SAFETY: the tiles cover the result.
    unsafe {
        while column < product.columns {
            let left = product.columns - column;
            let mut row = 0;
            while row < product.rows {
                let at = (row, column);
                row += match left {
                    16.. => rows::<2, false>(product, c, a, b, at),
                    9.. => rows::<2, true>(product, c, a, b, at),
                    8 => rows::<1, false>(product, c, a, b, at),
                    _ => rows::<1, true>(product, c, a, b, at),
                };
            }
            column += if left > LANES { 2 * LANES } else { LANES };
        }
    }
}

/// Computes the next tile of these columns, and returns its height. With `PARTIAL`, some lanes of the last vector are
/// outside of the result.
///
/// # Safety
/// See [`f32`]; the tile must be a part of the result.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn rows<const VECTORS: usize, const PARTIAL: bool>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    b: *const f32,
    at: (usize, usize),
) -> usize {
    let left = product.rows - at.0;
    // SAFETY: the caller guarantees the shapes.
    unsafe {
        if VECTORS == 1 && left >= HEIGHT_OF_NARROW {
            tile::<VECTORS, HEIGHT_OF_NARROW, PARTIAL>(product, c, a, b, at);
            return HEIGHT_OF_NARROW;
        }
        // Splits seven rows into four and three: a tile with one row is slow.
        let height = if left > HEIGHT && left < 2 * MIN_ROWS + 1 { MIN_ROWS } else { left.min(HEIGHT) };
        match height {
            1 => tile::<VECTORS, 1, PARTIAL>(product, c, a, b, at),
            2 => tile::<VECTORS, 2, PARTIAL>(product, c, a, b, at),
            3 => tile::<VECTORS, 3, PARTIAL>(product, c, a, b, at),
            4 => tile::<VECTORS, 4, PARTIAL>(product, c, a, b, at),
            5 => tile::<VECTORS, 5, PARTIAL>(product, c, a, b, at),
            _ => tile::<VECTORS, HEIGHT, PARTIAL>(product, c, a, b, at),
        }
        height
    }
}

/// Computes a tile of the result.
///
/// # Safety
/// See [`rows`].
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn tile<const VECTORS: usize, const ROWS: usize, const PARTIAL: bool>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    b: *const f32,
    (row, column): (usize, usize),
) {
    // SAFETY: the caller guarantees the shapes; lanes that do not exist are neither read nor written.
    unsafe {
        let last = (product.columns - column) - (VECTORS - 1) * LANES;
        let mut sums = [[_mm256_setzero_ps(); VECTORS]; ROWS];
        let mut x: [*const f32; ROWS] = [a; ROWS];
        for (r, x) in x.iter_mut().enumerate() {
            *x = a.add((row + r) * product.a[0]);
        }
        let first = b.add(column);
        for p in 0..product.inner {
            let mut y: [__m256; VECTORS] = [_mm256_setzero_ps(); VECTORS];
            for (v, y) in y.iter_mut().enumerate() {
                let from = first.add(p * product.b[0] + v * LANES);
                let is_partial = PARTIAL && v + 1 == VECTORS;
                *y = if is_partial { part(from, last, 0.0) } else { _mm256_loadu_ps(from) };
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                let x = _mm256_set1_ps(x.add(p * product.a[1]).read());
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = _mm256_fmadd_ps(x, y, *sum);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let to = c.add((row + r) * product.columns + column + v * LANES);
                let count = if PARTIAL && v + 1 == VECTORS { last } else { LANES };
                store(to, sum, count, product.adds);
            }
        }
    }
}

/// Writes the first elements of a vector, or adds them to those in memory.
///
/// # Safety
/// The address must be valid for `count` elements.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn store(to: *mut f32, vector: __m256, count: usize, adds: bool) {
    let mut elements = [0.0_f32; LANES];
    // SAFETY: the caller guarantees the length.
    unsafe {
        _mm256_storeu_ps(elements.as_mut_ptr(), vector);
        if count == LANES && !adds {
            return _mm256_storeu_ps(to, vector);
        }
        for (k, element) in elements.into_iter().enumerate().take(count) {
            let to = to.add(k);
            to.write(if adds { to.read() + element } else { element });
        }
    }
}
