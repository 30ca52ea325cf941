//! Maximum pooling of images of `f32`, with the positions of the maxima.
#![allow(unsafe_code, reason = "versions for instruction sets are called after the processor was asked")]

mod channels;
mod planes;

use super::{Instructions, instructions};

/// The window of a pooling operator; each array holds the vertical and the horizontal value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    /// At most half of the kernel.
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

impl Window {
    /// Returns the height and width of the result for planes of this height and width, rounded down. `None` if the
    /// result would be empty, the padding is too large, or positions do not fit in 32 bits.
    pub fn result(&self, plane: [usize; 2]) -> Option<[usize; 2]> {
        let along = |axis: usize| {
            let Self { kernel, stride, padding, dilation } = self;
            let is_valid = kernel[axis] > 0 && stride[axis] > 0 && dilation[axis] > 0;
            if !is_valid || 2 * padding[axis] > kernel[axis] {
                return None;
            }
            let covered = dilation[axis].checked_mul(kernel[axis] - 1)?.checked_add(1)?;
            let free = (plane[axis] + 2 * padding[axis]).checked_sub(covered)?;
            Some(free / stride[axis] + 1)
        };
        let size = plane[0].checked_mul(plane[1])?;
        (size > 0 && i32::try_from(size).is_ok()).then_some([along(0)?, along(1)?])
    }
}

/// How images are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Plane after plane, as in a contiguous tensor.
    Planes,
    /// All channels of a pixel, then the next pixel (`torch.channels_last`), with this number of channels.
    Channels(usize),
}

/// Images and their results, which are stored in the same order.
#[derive(Debug)]
pub struct Images<'a> {
    pub input: &'a [f32],
    pub order: Order,
    /// The height and width of a plane.
    pub plane: [usize; 2],
    pub maxima: &'a mut [f32],
    /// The positions of the maxima in their planes.
    pub indices: &'a mut [i64],
}

/// `torch.nn.functional.max_pool2d(input, …, return_indices=True)`. If several elements of a window are equal to the
/// maximum, its position is that of the first one. If elements are NaN, it is that of the last NaN.
///
/// # Panics
/// If there is no result, or the slices do not have the sizes of the images and of their results.
pub fn max_pool2d(images: Images<'_>, window: &Window) {
    let [height, width] = images.plane;
    let result = window.result(images.plane).expect("the window fits in the plane");
    let planes = images.input.len() / (height * width);
    assert_eq!(images.input.len(), planes * height * width, "planes");
    assert_eq!(images.maxima.len(), planes * result[0] * result[1], "maxima");
    assert_eq!(images.indices.len(), images.maxima.len(), "indices");
    match instructions() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has the instruction set.
        Instructions::Avx512 => unsafe { avx512(images, window, result) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the processor has the instruction set.
        Instructions::Avx2 => unsafe { avx2(images, window, result) },
        _ => pool(images, window, result),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(images: Images<'_>, window: &Window, result: [usize; 2]) {
    pool(images, window, result);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
fn avx512(images: Images<'_>, window: &Window, result: [usize; 2]) {
    pool(images, window, result);
}

#[inline(always)]
fn pool(images: Images<'_>, window: &Window, result: [usize; 2]) {
    match images.order {
        Order::Planes => planes::pool(images, window, result),
        Order::Channels(count) => channels::pool(images, count, window, result),
    }
}

/// The part of a window that is inside the plane, along one axis.
#[derive(Clone, Copy)]
struct Inside {
    /// Its first position.
    first: usize,
    /// The number of its positions. They are `dilation` apart.
    count: usize,
}

/// Returns the part of the window of a row or column of the result.
#[inline(always)]
fn inside(result: usize, axis: usize, window: &Window, size: usize) -> Inside {
    let (start, before) = (result * window.stride[axis], window.padding[axis]);
    let dilation = window.dilation[axis];
    let skipped = before.saturating_sub(start).div_ceil(dilation);
    let first = start + skipped * dilation - before;
    let count = size.saturating_sub(first).div_ceil(dilation).min(window.kernel[axis] - skipped);
    Inside { first, count }
}
