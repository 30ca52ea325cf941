//! Matrix products of small matrices in any layout.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

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
        (Element::F32, _) => Some(portable::f32),
        (Element::F64, _) => Some(portable::f64),
        _ => None,
    }
}

macro_rules! product {
    ($name:ident, $T:ty, $lanes:literal, $is_fused:literal $(, #[$attribute:meta])*) => {
        /// # Safety
        /// See [`Kernel`].
        $(#[$attribute])*
        pub(super) unsafe fn $name(product: &super::Product, c: *mut u8, a: *const u8, b: *const u8) {
            #[inline(always)]
            fn multiply_add(x: $T, y: $T, sum: $T) -> $T {
                // Without the instruction, a fused operation is slow.
                if $is_fused { x.mul_add(y, sum) } else { x * y + sum }
            }
            let &super::Product { rows, inner, columns, a: [a_row, a_column], b: [b_row, b_column], adds } =
                product;
            let (c, a, b) = (c.cast::<$T>(), a.cast::<$T>(), b.cast::<$T>());
            // SAFETY: the caller guarantees the shapes.
            unsafe {
                // Rows of `a` times contiguous columns of `b`: sums of products in lanes.
                if b_row == 1 && a_column == 1 && inner >= 4 && (columns < 4 || b_column != 1) {
                    for i in 0..rows {
                        for j in 0..columns {
                            let (x, y) = (a.add(i * a_row), b.add(j * b_column));
                            let mut lanes = [0.0; $lanes];
                            let whole = inner / $lanes * $lanes;
                            for start in (0..whole).step_by($lanes) {
                                for lane in 0..$lanes {
                                    let (x, y) = (x.add(start + lane).read(), y.add(start + lane).read());
                                    lanes[lane] = multiply_add(x, y, lanes[lane]);
                                }
                            }
                            let mut sum: $T = lanes.iter().sum();
                            for p in whole..inner {
                                sum = multiply_add(x.add(p).read(), y.add(p).read(), sum);
                            }
                            let out = c.add(i * columns + j);
                            out.write(if adds { out.read() + sum } else { sum });
                        }
                    }
                    return;
                }
                for i in 0..rows {
                    let out = c.add(i * columns);
                    if !adds {
                        for j in 0..columns {
                            out.add(j).write(0.0);
                        }
                    }
                    for p in 0..inner {
                        let x = a.add(i * a_row + p * a_column).read();
                        let y = b.add(p * b_row);
                        if b_column == 1 {
                            for j in 0..columns {
                                out.add(j).write(multiply_add(x, y.add(j).read(), out.add(j).read()));
                            }
                        } else {
                            for j in 0..columns {
                                let y = y.add(j * b_column).read();
                                out.add(j).write(multiply_add(x, y, out.add(j).read()));
                            }
                        }
                    }
                }
            }
        }
    };
}

mod portable {
    product!(f32, f32, 8, false);
    product!(f64, f64, 4, false);
}

#[cfg(target_arch = "x86_64")]
mod wide {
    product!(f32, f32, 16, true, #[target_feature(enable = "avx2,fma")]);
    product!(f64, f64, 8, true, #[target_feature(enable = "avx2,fma")]);
}
