//! Products with few columns with AVX-512, as of a classifier with few classes:
//!
//! ```python
//! scores = x @ weight                    # [200, 784] @ [784, 10]
//! gradient = x.t() @ gradient_of_scores  # [784, 200] @ [200, 10]
//! ```
//!
//! A row of the result does not fill a vector, so the lanes are not columns:
//! - If columns of `a` are contiguous, as in the second product, the lanes are rows of the result. Sixteen rows are transposed
//!   when they are stored.
//! - If rows of `a` are contiguous, the lanes are parts of dot products with columns of `b`. These columns are copied first if
//!   they are not contiguous. A row times a transposed matrix, `gradient @ weight.t()`, is the same with exchanged factors.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::arch::x86_64::{
    __m512, __mmask16, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_shuffle_f32x4,
    _mm512_store_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};
use std::mem::MaybeUninit;

use super::product::Product;
use super::product_512::{mask, transposed};

const LANES: usize = 16;
/// The maximum number of columns.
const COLUMNS: usize = 12;
/// The minimum length of columns of `a`, and the minimum number of rows for which columns of `b` are copied.
const SHORTEST: usize = 16;
const FEWEST_ROWS: usize = 24;
/// The maximum length of the copies of columns, of which 49 KiB are on the stack, and their distance. It is no power of two,
/// because copies with a distance of a page evict each other from the cache.
const DEPTH: usize = 1024;
const STRIDE: usize = DEPTH + LANES;

/// Returns whether the product is faster here than with vectors of columns.
pub(crate) fn is_suitable(product: &Product) -> bool {
    let is_narrow = |product| has_long_columns(product) || has_long_rows(product);
    (1..=COLUMNS).contains(&product.columns) && is_narrow(product)
        || exchanged(product).is_some_and(|product| has_long_rows(&product))
}

/// Returns the product with exchanged factors, if it has one row and columns of `b` are contiguous. Its result is the same.
fn exchanged(product: &Product) -> Option<Product> {
    let Product { rows, columns, a, b, .. } = *product;
    let is_row = rows == 1 && columns > COLUMNS && b[0] == 1 && a[1] == 1;
    is_row.then_some(Product { rows: columns, columns: 1, a: [b[1], 1], b: [1, 1], ..*product })
}

fn has_long_columns(product: &Product) -> bool {
    product.a[0] == 1 && product.rows >= SHORTEST
}

fn has_long_rows(product: &Product) -> bool {
    if product.a[1] != 1 {
        return false;
    }
    // The sum of the lanes takes as long as 50 products of vectors. Other kernels take one product for each vector of a row,
    // also if it is short.
    let shortest = match product.columns {
        1 => 8,
        2..=4 => 32,
        _ if product.b[0] == 1 => 32,
        5..=8 => 64,
        _ => 128,
    };
    let is_copied = product.b[1] == 1 && product.rows >= FEWEST_ROWS;
    product.inner >= shortest && (product.b[0] == 1 || is_copied)
}

/// A contiguous copy of columns of `b`.
#[repr(C, align(64))]
struct Buffer([f32; COLUMNS * STRIDE]);

/// # Safety
/// See [`super::product::Kernel`]; the processor must have AVX-512, and the product must be suitable.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn f32(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    let (c, mut a, mut b) = (c.cast::<f32>(), a.cast::<f32>(), b.cast::<f32>());
    let exchanged = exchanged(product);
    if exchanged.is_some() {
        std::mem::swap(&mut a, &mut b);
    }
    let product = exchanged.as_ref().unwrap_or(product);
    // SAFETY: see `Kernel`.
    unsafe {
        if has_long_columns(product) {
            along_columns(product, c, a, b);
        } else if product.b[0] == 1 {
            let columns = Columns { first: b, stride: product.b[1], depth: 0, count: product.inner };
            along_rows(product, c, a, columns);
        } else {
            copied(product, c, a, b);
        }
    }
}

/// Expands to a call for the number of columns, with the largest of the given numbers that is at most `count`. Returns that number.
macro_rules! largest {
    ($product:expr, $count:expr, $call:ident $arguments:tt, $($($columns:literal)* => $numbers:tt)*) => {
        match $product.columns {
            $($($columns => largest!(@ $columns, $count, $call $arguments, $numbers),)*)*
            _ => unreachable!("a suitable product has at most 12 columns"),
        }
    };
    (@ $columns:literal, $count:expr, $call:ident $arguments:tt, [$least:literal]) => {{
        $call::<$columns, $least> $arguments;
        $least
    }};
    (@ $columns:literal, $count:expr, $call:ident $arguments:tt, [$most:literal $($less:literal)*]) => {
        if $count >= $most {
            $call::<$columns, $most> $arguments;
            $most
        } else {
            largest!(@ $columns, $count, $call $arguments, [$($less)*])
        }
    };
}

/// # Safety
/// See [`f32`]; columns of `a` must be contiguous.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn along_columns(product: &Product, c: *mut f32, a: *const f32, b: *const f32) {
    let mut row = 0;
    while row < product.rows {
        let vectors = (product.rows - row).div_ceil(LANES);
        // SAFETY: the tiles cover the result.
        row += LANES
            * unsafe {
                largest!(product, vectors, columns_tile(product, c, a, b, row),
                    1 2 => [8 4 2 1] 3 4 => [4 2 1] 5 6 7 8 9 10 11 12 => [2 1])
            };
    }
}

/// Computes rows of the result, beginning with `row`: the lanes of `VECTORS` vectors.
///
/// # Safety
/// See [`along_columns`].
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn columns_tile<const N: usize, const VECTORS: usize>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    b: *const f32,
    row: usize,
) {
    let mut masks = [0; VECTORS];
    for (v, mask_of) in masks.iter_mut().enumerate() {
        *mask_of = mask((product.rows - row).saturating_sub(v * LANES));
    }
    // SAFETY: the caller guarantees the shapes; lanes outside of the masks are neither read nor written.
    unsafe {
        let mut sums = [[_mm512_setzero_ps(); VECTORS]; N];
        for p in 0..product.inner {
            let mut x = [_mm512_setzero_ps(); VECTORS];
            for (v, x) in x.iter_mut().enumerate() {
                *x = _mm512_maskz_loadu_ps(masks[v], a.add(p * product.a[1] + row + v * LANES));
            }
            for (n, sums) in sums.iter_mut().enumerate() {
                let y = _mm512_set1_ps(b.add(p * product.b[0] + n * product.b[1]).read());
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum = _mm512_fmadd_ps(x, y, *sum);
                }
            }
        }
        for (v, lanes) in masks.into_iter().enumerate() {
            let first = row + v * LANES;
            if N == 1 {
                write(c.add(first), sums[0][v], lanes, product.adds);
                continue;
            }
            let mut block = [_mm512_setzero_ps(); LANES];
            for (sums, part) in sums.iter().zip(&mut block) {
                *part = sums[v];
            }
            let present = (product.rows - first).min(LANES);
            for (i, part) in transposed(block).into_iter().enumerate().take(present) {
                write(c.add((first + i) * N), part, mask(N), product.adds);
            }
        }
    }
}

/// # Safety
/// The lanes of the mask must be valid at `place`.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn write(place: *mut f32, value: __m512, mask: __mmask16, adds: bool) {
    // SAFETY: the caller guarantees the lanes.
    unsafe {
        let before = if adds { _mm512_maskz_loadu_ps(mask, place) } else { _mm512_setzero_ps() };
        _mm512_mask_storeu_ps(place, mask, _mm512_add_ps(before, value));
    }
}

/// Parts of columns of `b`: the address of the first one, the distance of columns, the first row of `b`, and the number of rows.
#[derive(Clone, Copy)]
struct Columns {
    first: *const f32,
    stride: usize,
    depth: usize,
    count: usize,
}

/// Copies columns of `b`, and computes the product with them.
///
/// # Safety
/// See [`f32`]; rows of `b` must be contiguous.
#[target_feature(enable = "avx512f")]
#[inline(never)]
unsafe fn copied(product: &Product, c: *mut f32, a: *const f32, b: *const f32) {
    let mut buffer = MaybeUninit::<Buffer>::uninit();
    let buffer = buffer.as_mut_ptr().cast::<f32>();
    let lanes = mask(product.columns);
    for depth in (0..product.inner).step_by(DEPTH) {
        let count = (product.inner - depth).min(DEPTH);
        // SAFETY: the caller guarantees the shapes; the buffer holds `DEPTH` elements of each column.
        unsafe {
            for p in (0..count).step_by(LANES) {
                let mut block = [_mm512_setzero_ps(); LANES];
                for (i, part) in block.iter_mut().enumerate().take(count - p) {
                    *part = _mm512_maskz_loadu_ps(lanes, b.add((depth + p + i) * product.b[0]));
                }
                for (n, column) in transposed(block).into_iter().enumerate().take(product.columns) {
                    _mm512_store_ps(buffer.add(n * STRIDE + p), column);
                }
            }
            along_rows(product, c, a, Columns { first: buffer, stride: STRIDE, depth, count });
        }
    }
}

/// # Safety
/// See [`f32`]; rows of `a` must be contiguous.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn along_rows(product: &Product, c: *mut f32, a: *const f32, columns: Columns) {
    let mut row = 0;
    while row < product.rows {
        let rows = product.rows - row;
        // SAFETY: the tiles cover the result.
        row += unsafe {
            largest!(product, rows, rows_tile(product, c, a, columns, row),
                1 => [16 8 4 2 1] 2 => [8 4 2 1] 3 4 5 6 => [4 2 1] 7 8 9 10 11 12 => [2 1])
        };
    }
}

/// Computes `ROWS` rows of the result, beginning with `row`.
///
/// # Safety
/// See [`along_rows`].
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn rows_tile<const N: usize, const ROWS: usize>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    columns: Columns,
    row: usize,
) {
    // SAFETY: the caller guarantees the shapes; lanes outside of the masks are neither read nor written.
    unsafe {
        let a = a.add(row * product.a[0] + columns.depth);
        let mut sums = [[_mm512_setzero_ps(); N]; ROWS];
        let whole = columns.count / LANES * LANES;
        for p in (0..whole).step_by(LANES) {
            let mut x = [_mm512_setzero_ps(); ROWS];
            for (r, x) in x.iter_mut().enumerate() {
                *x = _mm512_loadu_ps(a.add(r * product.a[0] + p));
            }
            for n in 0..N {
                let y = _mm512_loadu_ps(columns.first.add(n * columns.stride + p));
                for (sums, x) in sums.iter_mut().zip(x) {
                    sums[n] = _mm512_fmadd_ps(x, y, sums[n]);
                }
            }
        }
        if whole < columns.count {
            let rest = mask(columns.count - whole);
            for n in 0..N {
                let y = _mm512_maskz_loadu_ps(rest, columns.first.add(n * columns.stride + whole));
                for (r, sums) in sums.iter_mut().enumerate() {
                    let x = _mm512_maskz_loadu_ps(rest, a.add(r * product.a[0] + whole));
                    sums[n] = _mm512_fmadd_ps(x, y, sums[n]);
                }
            }
        }
        // The rows of the result are contiguous, so its elements are in the order of the sums.
        for first in (0..ROWS * N).step_by(LANES) {
            let mut block = [_mm512_setzero_ps(); LANES];
            for (k, part) in block.iter_mut().enumerate().take(ROWS * N - first) {
                *part = sums[(first + k) / N][(first + k) % N];
            }
            let adds = product.adds || columns.depth > 0;
            write(c.add(row * N + first), totals(block), mask(ROWS * N - first), adds);
        }
    }
}

/// Returns the sums of the lanes of sixteen vectors.
#[target_feature(enable = "avx512f")]
#[inline]
fn totals(parts: [__m512; LANES]) -> __m512 {
    // In each quarter, a vector has the sums of four vectors.
    let mut fours = [_mm512_setzero_ps(); 4];
    for (k, four) in fours.iter_mut().enumerate() {
        let pair = |x, y| _mm512_add_ps(_mm512_unpacklo_ps(x, y), _mm512_unpackhi_ps(x, y));
        let x = _mm512_castps_pd(pair(parts[4 * k], parts[4 * k + 1]));
        let y = _mm512_castps_pd(pair(parts[4 * k + 2], parts[4 * k + 3]));
        *four = _mm512_add_ps(
            _mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
            _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)),
        );
    }
    let halves = |x, y| _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(x, y), _mm512_shuffle_f32x4::<0xdd>(x, y));
    halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]))
}
