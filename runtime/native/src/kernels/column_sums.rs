//! Sums of columns with AVX-512, as in `gradient.sum(0)`, the gradient of a bias. They are accumulated in `f64`, in the order of the
//! rows, as in the other kernels of `reduce.rs`.
#![allow(unsafe_code, reason = "kernels read and write memory by address")]

use std::arch::x86_64::{
    _mm256_castpd_ps, _mm256_castps_pd, _mm512_add_pd, _mm512_castpd_ps, _mm512_castps_pd,
    _mm512_castps256_ps512, _mm512_castps512_ps256, _mm512_cvtpd_ps, _mm512_cvtps_pd, _mm512_div_pd,
    _mm512_extractf64x4_pd, _mm512_insertf64x4, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_set1_pd,
    _mm512_setzero_pd,
};

use super::product_512::mask;

const LANES: usize = 16;

/// The columns of a matrix whose rows are `stride` elements apart.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) stride: usize,
}

/// Writes the sums of the columns, or their means.
///
/// # Safety
/// `a` must be valid for the matrix, and `out` for its columns; the processor must have AVX-512.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn run(matrix: Matrix, is_mean: bool, out: *mut f32, a: *const f32) {
    for column in (0..matrix.columns).step_by(LANES) {
        let lanes = mask(matrix.columns - column);
        let mut sums = [_mm512_setzero_pd(); 2];
        // SAFETY: the caller guarantees the shape; lanes outside of the mask are neither read nor written.
        unsafe {
            for row in 0..matrix.rows {
                let x = _mm512_maskz_loadu_ps(lanes, a.add(row * matrix.stride + column));
                let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(x));
                sums[0] = _mm512_add_pd(sums[0], _mm512_cvtps_pd(_mm512_castps512_ps256(x)));
                sums[1] = _mm512_add_pd(sums[1], _mm512_cvtps_pd(_mm256_castpd_ps(high)));
            }
            let [mut low, mut high] = sums;
            if is_mean {
                let count = _mm512_set1_pd(matrix.rows as f64);
                (low, high) = (_mm512_div_pd(low, count), _mm512_div_pd(high, count));
            }
            let low = _mm512_castps_pd(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)));
            let both = _mm512_insertf64x4::<1>(low, _mm256_castps_pd(_mm512_cvtpd_ps(high)));
            _mm512_mask_storeu_ps(out.add(column), lanes, _mm512_castpd_ps(both));
        }
    }
}
