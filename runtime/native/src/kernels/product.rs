//! Matrix products of small matrices in any layout.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::ops::{Add, Mul};

use super::is_wide;
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

pub(crate) fn kernel(element: Element) -> Option<Kernel> {
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

/// # Safety
/// See [`Kernel`].
unsafe fn portable<T: Real>(product: &Product, c: *mut u8, a: *const u8, b: *const u8) {
    // SAFETY: the caller guarantees the shapes.
    unsafe { product.run::<T, false>(c.cast(), a.cast(), b.cast()) }
}

#[cfg(target_arch = "x86_64")]
mod wide {
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
}

trait Real: Copy + Default + Add<Output = Self> + Mul<Output = Self> {
    fn fused(self, factor: Self, sum: Self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn fused(self, factor: Self, sum: Self) -> Self {
        self.mul_add(factor, sum)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn fused(self, factor: Self, sum: Self) -> Self {
        self.mul_add(factor, sum)
    }
}

/// `x * y + sum`. Without the instruction, a fused operation is slow.
#[inline(always)]
fn multiply_add<T: Real, const FUSED: bool>(x: T, y: T, sum: T) -> T {
    if FUSED { x.fused(y, sum) } else { x * y + sum }
}

/// The rows of a tile of the result, which stays in registers.
const HEIGHT: usize = 4;
/// The partial sums of a dot product: of one, and of each of `TOGETHER` that are computed together.
const LANES_OF_ONE: usize = 32;
const LANES: usize = 8;
const TOGETHER: usize = 4;

// These functions are inlined into functions with an instruction set, so they are compiled for it.
impl Product {
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn run<T: Real, const FUSED: bool>(&self, c: *mut T, a: *const T, b: *const T) {
        // SAFETY: the tiles cover the result.
        unsafe {
            let has_columns = self.b[1] != 1 || self.columns == 1;
            if self.b[0] == 1 && self.a[1] == 1 && has_columns && self.inner >= LANES {
                let mut start = 0;
                start += self.dots::<T, FUSED, TOGETHER, LANES>(c, a, b, start);
                self.dots::<T, FUSED, 1, LANES_OF_ONE>(c, a, b, start);
                return;
            }
            let mut start = 0;
            // With few rows, memory is the limit: long parts of the rows of `b`.
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

    /// Computes as many columns from `start` on as fit into tiles of this width, and returns their number.
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
            if self.adds {
                for (r, tile) in tile.iter_mut().enumerate() {
                    for (j, sum) in tile.iter_mut().enumerate() {
                        *sum = c.add((row + r) * self.columns + column + j).read();
                    }
                }
            }
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
                    c.add((row + r) * self.columns + column + j).write(*sum);
                }
            }
        }
    }

    /// Rows of `a` times columns of `b`, both contiguous, `COLUMNS` at a time. Returns the number of columns.
    ///
    /// # Safety
    /// See [`Kernel`].
    #[inline(always)]
    unsafe fn dots<T: Real, const FUSED: bool, const COLUMNS: usize, const LANES: usize>(
        &self,
        c: *mut T,
        a: *const T,
        b: *const T,
        start: usize,
    ) -> usize {
        let whole = (self.columns - start) / COLUMNS * COLUMNS;
        let vectors = self.inner / LANES * LANES;
        for row in 0..self.rows {
            for column in (start..start + whole).step_by(COLUMNS) {
                // SAFETY: the columns are a part of the result.
                unsafe {
                    let x = a.add(row * self.a[0]);
                    let mut sums = [[T::default(); LANES]; COLUMNS];
                    for at in (0..vectors).step_by(LANES) {
                        // Whole arrays are read, so that the loops over lanes become vectors.
                        let x = x.add(at).cast::<[T; LANES]>().read();
                        for (k, lanes) in sums.iter_mut().enumerate() {
                            let y = b.add((column + k) * self.b[1] + at).cast::<[T; LANES]>().read();
                            for lane in 0..LANES {
                                lanes[lane] = multiply_add::<T, FUSED>(x[lane], y[lane], lanes[lane]);
                            }
                        }
                    }
                    for (k, lanes) in sums.iter_mut().enumerate() {
                        let mut width = LANES;
                        while width > 1 {
                            width /= 2;
                            for lane in 0..width {
                                lanes[lane] = lanes[lane] + lanes[lane + width];
                            }
                        }
                        let mut sum = lanes[0];
                        let y = b.add((column + k) * self.b[1]);
                        for at in vectors..self.inner {
                            sum = multiply_add::<T, FUSED>(x.add(at).read(), y.add(at).read(), sum);
                        }
                        let out = c.add(row * self.columns + column + k);
                        out.write(if self.adds { out.read() + sum } else { sum });
                    }
                }
            }
        }
        whole
    }
}
