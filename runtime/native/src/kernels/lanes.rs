//! Blocks of `f32`: two vectors of AVX2, or one of AVX-512.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, _mm256_blendv_ps, _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_maskload_ps, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setr_epi32, _mm256_storeu_ps, _mm512_loadu_ps, _mm512_mask_loadu_ps,
    _mm512_mask_storeu_ps, _mm512_reduce_add_ps, _mm512_reduce_max_ps, _mm512_set1_ps, _mm512_storeu_ps,
};

use super::math;

pub(super) const LANES: usize = 16;

/// The instructions for blocks.
pub(super) trait Vectors {
    /// Reads the first `left` elements of a block; `left` is less than [`LANES`]. The other lanes are `fill`.
    ///
    /// # Safety
    /// The address must be valid for `left` elements, and the processor must have the instructions.
    unsafe fn first(from: *const f32, left: usize, fill: f32) -> [f32; LANES];

    /// Writes the first `left` elements of a block; `left` is less than [`LANES`].
    ///
    /// # Safety
    /// See [`Self::first`].
    unsafe fn store_first(to: *mut f32, left: usize, block: [f32; LANES]);

    fn exp(x: f32) -> f32;

    fn log(x: f32) -> f32;

    /// Returns the sum of a block, added pairwise.
    ///
    /// # Safety
    /// The processor must have the instructions.
    #[inline(always)]
    unsafe fn sum(block: [f32; LANES]) -> f32 {
        combine(block, |x, y| x + y)
    }

    /// Returns the largest element of a block without NaN.
    ///
    /// # Safety
    /// The processor must have the instructions.
    #[inline(always)]
    unsafe fn largest(block: [f32; LANES]) -> f32 {
        combine(block, |x, y| if x > y { x } else { y })
    }
}

pub(super) struct Portable;

impl Vectors for Portable {
    #[inline(always)]
    unsafe fn first(from: *const f32, left: usize, fill: f32) -> [f32; LANES] {
        // SAFETY: the caller guarantees the length.
        std::array::from_fn(|lane| if lane < left { unsafe { from.add(lane).read() } } else { fill })
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut f32, left: usize, block: [f32; LANES]) {
        // SAFETY: see the trait.
        unsafe { store_first(to, left, block) }
    }

    #[inline(always)]
    fn exp(x: f32) -> f32 {
        math::exp::<false>(x)
    }

    #[inline(always)]
    fn log(x: f32) -> f32 {
        math::log::<false>(x)
    }
}

/// AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Vectors for Avx2 {
    #[inline(always)]
    unsafe fn first(from: *const f32, left: usize, fill: f32) -> [f32; LANES] {
        let mut block = [fill; LANES];
        // SAFETY: the caller guarantees the length.
        unsafe {
            _mm256_storeu_ps(block.as_mut_ptr(), part(from, left, fill));
            if left > LANES / 2 {
                let (from, left) = (from.add(LANES / 2), left - LANES / 2);
                _mm256_storeu_ps(block.as_mut_ptr().add(LANES / 2), part(from, left, fill));
            }
        }
        block
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut f32, left: usize, block: [f32; LANES]) {
        // SAFETY: see the trait.
        unsafe { store_first(to, left, block) }
    }

    #[inline(always)]
    fn exp(x: f32) -> f32 {
        math::exp::<true>(x)
    }

    #[inline(always)]
    fn log(x: f32) -> f32 {
        math::log::<true>(x)
    }
}

/// AVX-512.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl Vectors for Avx512 {
    #[inline(always)]
    unsafe fn first(from: *const f32, left: usize, fill: f32) -> [f32; LANES] {
        let mut block = [fill; LANES];
        // SAFETY: lanes outside of the mask are not read.
        unsafe {
            let mask = (1_u16 << left) - 1;
            _mm512_storeu_ps(block.as_mut_ptr(), _mm512_mask_loadu_ps(_mm512_set1_ps(fill), mask, from));
        }
        block
    }

    #[inline(always)]
    unsafe fn store_first(to: *mut f32, left: usize, block: [f32; LANES]) {
        // SAFETY: lanes outside of the mask are not written.
        unsafe { _mm512_mask_storeu_ps(to, (1_u16 << left) - 1, _mm512_loadu_ps(block.as_ptr())) }
    }

    #[inline(always)]
    fn exp(x: f32) -> f32 {
        math::exp::<true>(x)
    }

    #[inline(always)]
    fn log(x: f32) -> f32 {
        math::log::<true>(x)
    }

    #[inline(always)]
    unsafe fn sum(block: [f32; LANES]) -> f32 {
        // SAFETY: the caller guarantees the instructions.
        unsafe { _mm512_reduce_add_ps(_mm512_loadu_ps(block.as_ptr())) }
    }

    #[inline(always)]
    unsafe fn largest(block: [f32; LANES]) -> f32 {
        // SAFETY: the caller guarantees the instructions.
        unsafe { _mm512_reduce_max_ps(_mm512_loadu_ps(block.as_ptr())) }
    }
}

/// Reads the block at an address. Only `left` elements exist; the other lanes are `fill`.
///
/// # Safety
/// The address must be valid for `left` elements, or for a block if `left` is larger; the processor must have the
/// instructions.
#[inline(always)]
pub(super) unsafe fn load<V: Vectors>(from: *const f32, left: usize, fill: f32) -> [f32; LANES] {
    // SAFETY: the caller guarantees the length.
    unsafe {
        if left >= LANES { from.cast::<[f32; LANES]>().read_unaligned() } else { V::first(from, left, fill) }
    }
}

/// Reads the vector at an address. Only `left` elements exist; the other lanes are `fill`.
///
/// # Safety
/// See [`load`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn part(from: *const f32, left: usize, fill: f32) -> __m256 {
    // SAFETY: lanes outside of the mask are not read.
    unsafe {
        let mask =
            _mm256_cmpgt_epi32(_mm256_set1_epi32(left as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        let elements = _mm256_maskload_ps(from, mask);
        _mm256_blendv_ps(_mm256_set1_ps(fill), elements, _mm256_castsi256_ps(mask))
    }
}

/// Writes the first `left` elements of a block, or all if there are more.
///
/// # Safety
/// The address must be valid for these elements; the processor must have the instructions.
#[inline(always)]
pub(super) unsafe fn store<V: Vectors>(to: *mut f32, left: usize, block: [f32; LANES]) {
    // SAFETY: the caller guarantees the length.
    unsafe {
        if left >= LANES {
            to.cast::<[f32; LANES]>().write_unaligned(block);
        } else {
            V::store_first(to, left, block);
        }
    }
}

/// Writes the first `left` elements of a block, without a masked store, which is slow on some processors with AVX2.
///
/// # Safety
/// The address must be valid for `left` elements, and `left` must be less than [`LANES`].
#[inline(always)]
unsafe fn store_first(to: *mut f32, left: usize, block: [f32; LANES]) {
    // SAFETY: the caller guarantees the length.
    unsafe {
        let mut at = 0;
        if left >= 8 {
            to.cast::<[f32; 8]>().write_unaligned(block.as_ptr().cast::<[f32; 8]>().read());
            at = 8;
        }
        while at < left {
            to.add(at).write(block[at]);
            at += 1;
        }
    }
}

/// Combines all lanes, pairwise.
#[inline(always)]
pub(super) fn combine<T: Copy>(mut lanes: [T; LANES], combine: impl Fn(T, T) -> T) -> T {
    for half in [8, 4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = combine(lanes[lane], lanes[lane + half]);
        }
    }
    lanes[0]
}
