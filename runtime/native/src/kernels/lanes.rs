//! Blocks of `f32`, two vectors of AVX2 each.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, _mm256_blendv_ps, _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_maskload_ps, _mm256_set1_epi32,
    _mm256_set1_ps, _mm256_setr_epi32, _mm256_storeu_ps,
};

pub(super) const LANES: usize = 16;

/// Reads the block at an address. Only `left` elements exist; the other lanes are `fill`.
///
/// # Safety
/// The address must be valid for `left` elements, or for a block if there are more; with `WIDE`, the processor must
/// have AVX2.
#[inline(always)]
pub(super) unsafe fn load<const WIDE: bool>(from: *const f32, left: usize, fill: f32) -> [f32; LANES] {
    // SAFETY: the caller guarantees the length.
    unsafe {
        if left >= LANES {
            return from.cast::<[f32; LANES]>().read_unaligned();
        }
        #[cfg(target_arch = "x86_64")]
        if WIDE {
            let mut block = [fill; LANES];
            _mm256_storeu_ps(block.as_mut_ptr(), part(from, left, fill));
            if left > LANES / 2 {
                let (from, left) = (from.add(LANES / 2), left - LANES / 2);
                _mm256_storeu_ps(block.as_mut_ptr().add(LANES / 2), part(from, left, fill));
            }
            return block;
        }
        std::array::from_fn(|lane| if lane < left { from.add(lane).read() } else { fill })
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

/// Writes the first `left` elements of a block. It uses no store with a mask, which is slow on some processors.
///
/// # Safety
/// The address must be valid for `left` elements, or for a block if there are more.
#[inline(always)]
pub(super) unsafe fn store(to: *mut f32, left: usize, block: [f32; LANES]) {
    // SAFETY: the caller guarantees the length.
    unsafe {
        if left >= LANES {
            return to.cast::<[f32; LANES]>().write_unaligned(block);
        }
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
