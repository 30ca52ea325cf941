//! Matrix products of small matrices in any layout.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::ops::{Add, Mul};

use super::is_wide;
#[cfg(target_arch = "x86_64")]
use super::{Instructions, instructions};
#[cfg(target_arch = "x86_64")]
use super::{narrow_512, product_256, product_512};
use crate::dtype::Element;

/// `c = a @ b`, or `c += a @ b`. `c` is contiguous.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) rows: usize,
    pub(crate) inner: usize,
    pub(crate) columns: usize,
    /// The strides of rows and columns, in elements.
    pub(crate) a: [usize; 2],
    pub(crate) b: [usize; 2],
    /// Whether the product is added to `c`.
    pub(crate) adds: bool,
}

/// # Safety
/// The addresses must be aligned and valid for matrices of these shapes, and `c` must not overlap the others.
pub(crate) type Kernel = unsafe fn(&Product, c: *mut u8, a: *const u8, b: *const u8);

pub(crate) fn kernel(element: Element, product: &Product) -> Option<Kernel> {
    #[cfg(target_arch = "x86_64")]
    match vectors(element, product) {
        Some(Vectors::Narrow) => return Some(narrow_512::f32),
        Some(Vectors::Avx512) => return Some(product_512::f32),
        Some(Vectors::Avx2) => return Some(product_256::f32),
        None => {}
    }
    match (element, is_wide()) {
        #[cfg(target_arch = "x86_64")]
        (Element::F32, true) => Some(wide::f32),
        #[cfg(target_arch = "x86_64")]
        (Element::F64, true) => Some(wide::f64),
        (Element::F32, _) => Some(portable::<f32>),
        (Element::F64, _) => Some(portable::<f64>),
        _ => None,
    }
}

/// The kernels with vectors, by instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vectors {
    /// AVX-512, for few columns.
    Narrow,
    Avx512,
    Avx2,
}

/// Returns the kernel with vectors for this processor. `None` if it is not suitable for this product.
pub(crate) fn vectors(element: Element, product: &Product) -> Option<Vectors> {
    #[cfg(target_arch = "x86_64")]
    {
        let (kernel, is_suitable) = match instructions() {
            Instructions::Avx512 if narrow_512::is_suitable(product) => (Vectors::Narrow, true),
            Instructions::Avx512 => (Vectors::Avx512, product_512::is_suitable(product)),
            Instructions::Avx2 => (Vectors::Avx2, product_256::is_suitable(product)),
            Instructions::Portable => return None,
        };
        (element == Element::F32 && is_suitable).then_some(kernel)
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (element, product);
        None
    }
}

/// # Safety
/// See [`Kernel`].
unsafe fn portable<T: Real>(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    // SAFETY: the caller guarantees the shapes.
    unsafe { product.run::<T, false>(c.cast(), a.cast(), b.cast()) }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        _mm_add_ps, _mm_storeu_ps, _mm256_add_pd, _mm256_add_ps, _mm256_castps256_ps128,
        _mm256_extractf128_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_hadd_ps, _mm256_loadu_pd,
        _mm256_loadu_ps, _mm256_setzero_pd, _mm256_setzero_ps, _mm256_storeu_pd, _mm256_storeu_ps,
    };

    use super::super::lanes;
    use super::Product;

    /// # Safety
    /// See [`super::Kernel`]; the processor must have AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn f32(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
        // SAFETY: the caller guarantees the shapes.
        unsafe { product.run::<f32, true>(c.cast(), a.cast(), b.cast()) }
    }

    /// # Safety
    /// See [`super::Kernel`]; the processor must have AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn f64(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
        // SAFETY: the caller guarantees the shapes.
        unsafe { product.run::<f64, true>(c.cast(), a.cast(), b.cast()) }
    }

    /// Expands to dot products with this vector type. A single dot product has four accumulators, to hide the latency
    /// of additions; several dot products have one accumulator each.
    macro_rules! dots {
        ($name:ident, $T:ty, $lanes:literal, $zero:ident, $load:ident, $fused:ident, $add:ident, $store:ident) => {
            /// # Safety
            /// All addresses must be valid for `count` elements; the processor must have AVX2 and FMA.
            #[target_feature(enable = "avx2,fma")]
            pub(super) unsafe fn $name<const COLUMNS: usize>(
                x: *const $T,
                y: [*const $T; COLUMNS],
                count: usize,
            ) -> [$T; COLUMNS] {
                // SAFETY: the caller guarantees the length.
                unsafe {
                    let mut sums = [$zero(); COLUMNS];
                    let mut at = 0;
                    if COLUMNS == 1 {
                        let mut parts = [$zero(); 4];
                        while at + 4 * $lanes <= count {
                            for (k, part) in parts.iter_mut().enumerate() {
                                let at = at + k * $lanes;
                                *part = $fused($load(x.add(at)), $load(y[0].add(at)), *part);
                            }
                            at += 4 * $lanes;
                        }
                        sums[0] = $add($add(parts[0], parts[1]), $add(parts[2], parts[3]));
                    }
                    while at + $lanes <= count {
                        let x = $load(x.add(at));
                        for (sum, y) in sums.iter_mut().zip(y) {
                            *sum = $fused(x, $load(y.add(at)), *sum);
                        }
                        at += $lanes;
                    }
                    let mut results = [0.0; COLUMNS];
                    for ((result, sum), y) in results.iter_mut().zip(sums).zip(y) {
                        let mut lanes = [0.0; $lanes];
                        $store(lanes.as_mut_ptr(), sum);
                        // A loop, because functions of the standard library are not inlined into functions with this
                        // instruction set.
                        for lane in lanes {
                            *result += lane;
                        }
                        for at in at..count {
                            *result = x.add(at).read().mul_add(y.add(at).read(), *result);
                        }
                    }
                    results
                }
            }
        };
    }

    /// Returns the dot products of `x` with four vectors. The lanes of the four results are summed at the same time.
    ///
    /// # Safety
    /// All addresses must be valid for `count` elements; the processor must have AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn four_dots(x: *const f32, y: [*const f32; 4], count: usize) -> [f32; 4] {
        // SAFETY: the caller guarantees the length.
        unsafe {
            let mut sums = [_mm256_setzero_ps(); 4];
            let mut at = 0;
            while at < count {
                let left = count - at;
                let part =
                    if left >= 8 { _mm256_loadu_ps(x.add(at)) } else { lanes::part(x.add(at), left, 0.0) };
                for (sum, y) in sums.iter_mut().zip(y) {
                    let y = if left >= 8 {
                        _mm256_loadu_ps(y.add(at))
                    } else {
                        lanes::part(y.add(at), left, 0.0)
                    };
                    *sum = _mm256_fmadd_ps(part, y, *sum);
                }
                at += 8;
            }
            let [a, b, c, d] = sums;
            let pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
            let mut results = [0.0; 4];
            let total = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps::<1>(pairs));
            _mm_storeu_ps(results.as_mut_ptr(), total);
            results
        }
    }

    dots!(
        dots_f32,
        f32,
        8,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        _mm256_storeu_ps
    );
    dots!(
        dots_f64,
        f64,
        4,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        _mm256_storeu_pd
    );
}

trait Real: Copy + Default + Add<Output = Self> + Mul<Output = Self> {
    fn fused(self, factor: Self, sum: Self) -> Self;

    /// Returns the dot products of `x` with several vectors, computed with AVX2 and FMA.
    ///
    /// # Safety
    /// All addresses must be valid for `count` elements, and the processor must have AVX2 and FMA.
    unsafe fn wide_dots<const COLUMNS: usize>(
        x: *const Self,
        y: [*const Self; COLUMNS],
        count: usize,
    ) -> [Self; COLUMNS];
}

macro_rules! real {
    ($T:ty, $wide:ident, $four:expr) => {
        impl Real for $T {
            #[inline(always)]
            fn fused(self, factor: Self, sum: Self) -> Self {
                self.mul_add(factor, sum)
            }

            #[inline(always)]
            unsafe fn wide_dots<const COLUMNS: usize>(
                x: *const Self,
                y: [*const Self; COLUMNS],
                count: usize,
            ) -> [Self; COLUMNS] {
                // SAFETY: see the trait.
                unsafe {
                    #[cfg(target_arch = "x86_64")]
                    if COLUMNS == TOGETHER {
                        let results = $four(x, std::array::from_fn(|k| y[k % COLUMNS]), count);
                        return std::array::from_fn(|k| results[k % TOGETHER]);
                    }
                    #[cfg(target_arch = "x86_64")]
                    return wide::$wide(x, y, count);
                    #[cfg(not(target_arch = "x86_64"))]
                    return dots(x, y, count);
                }
            }
        }
    };
}

real!(f32, dots_f32, wide::four_dots);
real!(f64, dots_f64, wide::dots_f64::<TOGETHER>);

/// `x * y + sum`. It is fused only with `FUSED`: without an instruction for it, a fused operation is slow.
#[inline(always)]
fn multiply_add<T: Real, const FUSED: bool>(x: T, y: T, sum: T) -> T {
    if FUSED { x.fused(y, sum) } else { x * y + sum }
}

/// The number of rows of a tile. A tile is a part of the result that stays in registers.
const HEIGHT: usize = 4;
/// The number of dot products that are computed together. They read the same row.
const TOGETHER: usize = 4;
/// The minimum length of dot products. A product with shorter dot products is computed in tiles.
const SHORTEST_DOT: usize = 8;

// These functions are inlined into functions with an instruction set, so they are compiled for it.
impl Product {
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn run<T: Real, const FUSED: bool>(&self, c: *mut T, a: *const T, b: *const T) {
        // SAFETY: the tiles cover the result.
        unsafe {
            let has_columns = self.b[1] != 1 || self.columns == 1;
            if self.b[0] == 1 && self.a[1] == 1 && has_columns && self.inner >= SHORTEST_DOT {
                let start = self.dots::<T, FUSED, TOGETHER>(c, a, b, 0);
                self.dots::<T, FUSED, 1>(c, a, b, start);
                return;
            }
            let mut start = 0;
            // With few rows, memory bandwidth limits the speed, so wide tiles read long parts of the rows of `b`.
            if self.rows < HEIGHT && self.b[1] == 1 {
                start += self.tiles::<T, FUSED, 64>(c, a, b, start);
            }
            start += self.tiles::<T, FUSED, 16>(c, a, b, start);
            start += self.tiles::<T, FUSED, 8>(c, a, b, start);
            start += self.tiles::<T, FUSED, 4>(c, a, b, start);
            start += self.tiles::<T, FUSED, 2>(c, a, b, start);
            self.tiles::<T, FUSED, 1>(c, a, b, start);
        }
    }

    /// Computes the columns from `start` on in tiles of this width, as long as whole tiles remain. Returns the number
    /// of columns.
    ///
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn tiles<T: Real, const FUSED: bool, const WIDTH: usize>(
        &self,
        c: *mut T,
        a: *const T,
        b: *const T,
        start: usize,
    ) -> usize {
        let whole = (self.columns - start) / WIDTH * WIDTH;
        for column in (start..start + whole).step_by(WIDTH) {
            let mut row = 0;
            while row < self.rows {
                // SAFETY: the tile is a part of the result.
                unsafe {
                    if row + HEIGHT <= self.rows {
                        self.tile::<T, FUSED, WIDTH, HEIGHT>(c, a, b, row, column);
                        row += HEIGHT;
                    } else {
                        self.tile::<T, FUSED, WIDTH, 1>(c, a, b, row, column);
                        row += 1;
                    }
                }
            }
        }
        whole
    }

    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn tile<T: Real, const FUSED: bool, const WIDTH: usize, const ROWS: usize>(
        &self,
        c: *mut T,
        a: *const T,
        b: *const T,
        row: usize,
        column: usize,
    ) {
        let mut tile = [[T::default(); WIDTH]; ROWS];
        // SAFETY: the tile is a part of the result.
        unsafe {
            for p in 0..self.inner {
                let mut y = [T::default(); WIDTH];
                if self.b[1] == 1 {
                    let from = b.add(p * self.b[0] + column);
                    for (j, y) in y.iter_mut().enumerate() {
                        *y = from.add(j).read();
                    }
                } else {
                    for (j, y) in y.iter_mut().enumerate() {
                        *y = b.add(p * self.b[0] + (column + j) * self.b[1]).read();
                    }
                }
                for (r, tile) in tile.iter_mut().enumerate() {
                    let x = a.add((row + r) * self.a[0] + p * self.a[1]).read();
                    for (sum, y) in tile.iter_mut().zip(y) {
                        *sum = multiply_add::<T, FUSED>(x, y, *sum);
                    }
                }
            }
            for (r, tile) in tile.iter().enumerate() {
                for (j, sum) in tile.iter().enumerate() {
                    let out = c.add((row + r) * self.columns + column + j);
                    out.write(if self.adds { out.read() + *sum } else { *sum });
                }
            }
        }
    }

    /// Computes dot products of the rows of `a` and the columns of `b`, which are both contiguous, for `COLUMNS`
    /// columns at a time. Returns the number of columns.
    ///
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn dots<T: Real, const FUSED: bool, const COLUMNS: usize>(
        &self,
        c: *mut T,
        a: *const T,
        b: *const T,
        start: usize,
    ) -> usize {
        let whole = (self.columns - start) / COLUMNS * COLUMNS;
        for row in 0..self.rows {
            for column in (start..start + whole).step_by(COLUMNS) {
                // SAFETY: the columns are a part of the result.
                unsafe {
                    let x = a.add(row * self.a[0]);
                    let y: [*const T; COLUMNS] = std::array::from_fn(|k| b.add((column + k) * self.b[1]));
                    let sums = if FUSED { T::wide_dots(x, y, self.inner) } else { dots(x, y, self.inner) };
                    for (k, sum) in sums.into_iter().enumerate() {
                        let out = c.add(row * self.columns + column + k);
                        out.write(if self.adds { out.read() + sum } else { sum });
                    }
                }
            }
        }
        whole
    }
}

/// Returns the dot products of one vector with others.
///
/// # Safety
/// All addresses must be valid for `count` elements.
unsafe fn dots<T: Real, const COLUMNS: usize>(
    x: *const T,
    y: [*const T; COLUMNS],
    count: usize,
) -> [T; COLUMNS] {
    y.map(|y| {
        let mut sums = [T::default(); 4];
        for at in 0..count {
            // SAFETY: the caller guarantees the length.
            let (x, y) = unsafe { (x.add(at).read(), y.add(at).read()) };
            sums[at % 4] = sums[at % 4] + x * y;
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3])
    })
}
