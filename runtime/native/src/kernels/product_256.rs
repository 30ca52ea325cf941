//! Products with AVX2. Tiles of the result stay in registers.
//!
//! A tile reads a panel of `b`: 16 columns of at most [`DEPTH`] rows. A panel of a transposed `b` is transposed into a
//! contiguous buffer. If the rows of `b` are far apart, so that the lines of a panel would evict each other from the
//! caches, the panel is copied into the buffer. Otherwise tiles read `b` in place.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::arch::x86_64::{
    __m256, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_set1_ps,
    _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_store_ps, _mm256_storeu_ps, _mm256_unpackhi_ps,
    _mm256_unpacklo_ps,
};
use std::mem::MaybeUninit;

use super::lanes::part as part_of;
use super::product::Product;
use super::tiles::{Panel, Part, tile_height};

const LANES: usize = 8;
/// The maximum number of rows of a tile whose rows have two vectors.
const HEIGHT: usize = 6;
/// The maximum number of rows of a tile whose rows have one vector.
const HEIGHT_OF_NARROW: usize = 12;
/// The maximum number of rows of `b` in a panel. A buffer takes 16 KiB, half of the first-level cache.
const DEPTH: usize = 256;
/// The maximum number of rows of `a` that are multiplied with a panel. They stay in the second-level cache.
const ROWS_OF_A: usize = 16 * HEIGHT;
/// Panels are copied if the rows of `b` are at least this number of elements apart: half a page.
const FAR: usize = 512;
/// The minimum number of rows of `a` for which panels are copied. With fewer, a panel is read too few times.
const MIN_ROWS_TO_COPY: usize = 4 * HEIGHT;
/// The minimum number of rows. With fewer, memory bandwidth limits the speed, and tiles that read longer parts of the
/// rows of `b` are faster.
const MIN_ROWS: usize = 4;

/// Returns whether this kernel is suitable: there are enough rows and columns, and the rows or the columns of `b` are
/// contiguous.
pub(crate) fn is_suitable(product: &Product) -> bool {
    product.rows >= MIN_ROWS && product.columns > LANES / 2 && (product.b[1] == 1 || product.b[0] == 1)
}

/// A contiguous copy of a panel.
#[repr(C, align(64))]
struct Buffer([f32; DEPTH * 2 * LANES]);

/// Computes a product.
///
/// # Safety
/// See [`super::product::Kernel`]; the processor must have AVX2 and FMA, and the product must be suitable.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn f32(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    let (c, a, b) = (c.cast::<f32>(), a.cast::<f32>(), b.cast::<f32>());
    // SAFETY: see `Kernel`.
    unsafe {
        if product.b[1] != 1 || product.rows >= MIN_ROWS_TO_COPY && product.b[0] >= FAR {
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
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn direct(product: &Product, c: *mut f32, a: *const f32, b: *const f32) {
    let mut column = 0;
    // SAFETY: the panels cover the result.
    unsafe {
        while column < product.columns {
            let panel = Panel { first: b.add(column), stride: product.b[0], count: product.inner };
            let part = Part { row: 0, column, depth: 0 };
            match product.columns - column {
                16.. => rows::<2, false, false>(product, c, a, panel, part, product.rows),
                9.. => rows::<2, true, true>(product, c, a, panel, part, product.rows),
                8 => rows::<1, false, false>(product, c, a, panel, part, product.rows),
                _ => rows::<1, true, true>(product, c, a, panel, part, product.rows),
            }
            column += 2 * LANES;
        }
    }
}

/// Computes a product whose tiles read contiguous copies of panels.
///
/// # Safety
/// See [`f32`].
#[target_feature(enable = "avx2,fma")]
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
                    let columns = (product.columns - column).min(2 * LANES);
                    let count = (product.inner - depth).min(DEPTH);
                    let first = b.add(depth * product.b[0] + column * product.b[1]);
                    let vectors = columns.div_ceil(LANES);
                    if product.b[1] == 1 {
                        copy(first, product.b[0], columns, count, buffer);
                    } else {
                        transpose(first, product.b[1], columns, count, buffer);
                    }
                    let panel = Panel { first: buffer, stride: vectors * LANES, count };
                    let part = Part { row, column, depth };
                    // The rows of the buffer are whole vectors.
                    match columns {
                        16 => rows::<2, false, false>(product, c, a, panel, part, end),
                        9.. => rows::<2, false, true>(product, c, a, panel, part, end),
                        8 => rows::<1, false, false>(product, c, a, panel, part, end),
                        _ => rows::<1, false, true>(product, c, a, panel, part, end),
                    }
                }
            }
        }
    }
}

/// Copies rows of `b`, at most 16 columns of them, to the buffer.
///
/// # Safety
/// The rows must be valid and `stride` elements apart, and the buffer must hold them with padding to whole vectors.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn copy(first: *const f32, stride: usize, columns: usize, count: usize, buffer: *mut f32) {
    let vectors = columns.div_ceil(LANES);
    // SAFETY: the caller guarantees the shapes.
    unsafe {
        for p in 0..count {
            for v in 0..vectors {
                let vector = load(first.add(p * stride + v * LANES), columns - v * LANES);
                _mm256_store_ps(buffer.add((p * vectors + v) * LANES), vector);
            }
        }
    }
}

/// Writes the transpose of at most 16 columns of `b` to the buffer. The columns have `count` elements each.
///
/// # Safety
/// As for [`copy`]; the columns are `stride` elements apart.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn transpose(first: *const f32, stride: usize, columns: usize, count: usize, buffer: *mut f32) {
    let vectors = columns.div_ceil(LANES);
    for p in (0..count).step_by(LANES) {
        for v in 0..vectors {
            let mut block = [_mm256_setzero_ps(); LANES];
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                for (j, column) in block.iter_mut().enumerate().take(columns - v * LANES) {
                    *column = load(first.add((v * LANES + j) * stride + p), count - p);
                }
                for (i, row) in transposed(block).into_iter().enumerate().take(count - p) {
                    _mm256_store_ps(buffer.add(((p + i) * vectors + v) * LANES), row);
                }
            }
        }
    }
}

/// Reads the first `left` elements of a vector; the other lanes are zero.
///
/// # Safety
/// The address must be valid for these elements, at most 8.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn load(from: *const f32, left: usize) -> __m256 {
    // SAFETY: the caller guarantees the length.
    unsafe { if left >= LANES { _mm256_loadu_ps(from) } else { part_of(from, left, 0.0) } }
}

/// Returns the transpose of a matrix of 8 rows.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn transposed(rows: [__m256; LANES]) -> [__m256; LANES] {
    let mut pairs = rows;
    for k in (0..LANES).step_by(2) {
        pairs[k] = _mm256_unpacklo_ps(rows[k], rows[k + 1]);
        pairs[k + 1] = _mm256_unpackhi_ps(rows[k], rows[k + 1]);
    }
    // Each half of a vector has the elements of four rows in one column.
    let mut fours = pairs;
    for k in (0..LANES).step_by(4) {
        for high in 0..2 {
            let (x, y) = (pairs[k + high], pairs[k + 2 + high]);
            fours[k + 2 * high] = _mm256_shuffle_ps::<0x44>(x, y);
            fours[k + 2 * high + 1] = _mm256_shuffle_ps::<0xee>(x, y);
        }
    }
    let mut result = fours;
    for k in 0..4 {
        result[k] = _mm256_permute2f128_ps::<0x20>(fours[k], fours[k + 4]);
        result[k + 4] = _mm256_permute2f128_ps::<0x31>(fours[k], fours[k + 4]);
    }
    result
}

/// Multiplies the rows of `a` up to `end` with a panel, in tiles. Some lanes of the last vector are outside of the panel
/// with `READS_PART`, and outside of the result with `WRITES_PART`.
///
/// # Safety
/// See [`f32`]; the part must be inside the product.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn rows<const VECTORS: usize, const READS_PART: bool, const WRITES_PART: bool>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    panel: Panel,
    mut part: Part,
    end: usize,
) {
    macro_rules! tiles {
        ($height:ident: $($rows:literal)*) => {
            match $height {
                $($rows => tile::<VECTORS, $rows, READS_PART, WRITES_PART>(product, c, a, panel, part),)*
                _ => unreachable!("a tile has at most 12 rows"),
            }
        };
    }
    let rows = end - part.row;
    let most = if VECTORS == 1 { HEIGHT_OF_NARROW } else { HEIGHT };
    let height = tile_height(rows, most);
    while part.row < end {
        let height = height.min(end - part.row);
        // SAFETY: the tiles cover the rows.
        unsafe {
            if VECTORS == 1 {
                tiles!(height: 1 2 3 4 5 6 7 8 9 10 11 12);
            } else {
                tiles!(height: 1 2 3 4 5 6);
            }
        }
        part.row += height;
    }
}

/// Computes a tile of the result.
///
/// # Safety
/// See [`rows`].
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn tile<const VECTORS: usize, const ROWS: usize, const READS_PART: bool, const WRITES_PART: bool>(
    product: &Product,
    c: *mut f32,
    a: *const f32,
    panel: Panel,
    part: Part,
) {
    let last = (product.columns - part.column) - (VECTORS - 1) * LANES;
    // SAFETY: the caller guarantees the shapes; lanes that do not exist are neither read nor written.
    unsafe {
        let mut sums = [[_mm256_setzero_ps(); VECTORS]; ROWS];
        let mut x: [*const f32; ROWS] = [a; ROWS];
        for (r, x) in x.iter_mut().enumerate() {
            *x = a.add((part.row + r) * product.a[0] + part.depth * product.a[1]);
        }
        for p in 0..panel.count {
            let mut y: [__m256; VECTORS] = [_mm256_setzero_ps(); VECTORS];
            for (v, y) in y.iter_mut().enumerate() {
                let from = panel.first.add(p * panel.stride + v * LANES);
                let is_part = READS_PART && v + 1 == VECTORS;
                *y = if is_part { part_of(from, last, 0.0) } else { _mm256_loadu_ps(from) };
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                let x = _mm256_set1_ps(x.add(p * product.a[1]).read());
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = _mm256_fmadd_ps(x, y, *sum);
                }
            }
        }
        let adds = product.adds || part.depth > 0;
        for (r, sums) in sums.into_iter().enumerate() {
            for (v, sum) in sums.into_iter().enumerate() {
                let to = c.add((part.row + r) * product.columns + part.column + v * LANES);
                let count = if WRITES_PART && v + 1 == VECTORS { last } else { LANES };
                store(to, sum, count, adds);
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
    // SAFETY: the caller guarantees the length.
    unsafe {
        if count == LANES {
            let sum = if adds { _mm256_add_ps(_mm256_loadu_ps(to), vector) } else { vector };
            return _mm256_storeu_ps(to, sum);
        }
        let mut elements = [0.0_f32; LANES];
        _mm256_storeu_ps(elements.as_mut_ptr(), vector);
        for (k, element) in elements.into_iter().enumerate().take(count) {
            let to = to.add(k);
            to.write(if adds { to.read() + element } else { element });
        }
    }
}
