//! Matrix matmul in the faster memory layout.
//!
//! MKL is slow if the result has few columns: on one core, `[200,784] x [784,10]` takes 156 µs, and 52 µs if
//! the result is computed in column-major order and then transposed. From 16 columns on there is no gain.

use tch::{Device, Kind, TchError, Tensor};

type TchResult = Result<Tensor, TchError>;

/// `aten.mm`.
pub(super) fn mm(a: &Tensor, b: &Tensor) -> TchResult {
    match columnwise(a, b)? {
        Some(out) => {
            let _ = a.f_mm_out(&out, b)?;
            out.f_contiguous()
        }
        None => a.f_mm(b),
    }
}

/// `aten.addmm` with `beta=1` and `alpha=1`: `added + a @ b`.
pub(super) fn addmm(added: &Tensor, a: &Tensor, b: &Tensor) -> TchResult {
    match columnwise(a, b)? {
        Some(out) => {
            let _ = added.f_addmm_out(&out, a, b)?;
            out.f_contiguous()
        }
        None => added.f_addmm(a, b),
    }
}

/// A column-major tensor for the result, if that is faster.
fn columnwise(a: &Tensor, b: &Tensor) -> Result<Option<Tensor>, TchError> {
    if a.device() != Device::Cpu || a.kind() != Kind::Float {
        return Ok(None);
    }
    let (&[rows, inner], &[also_inner, columns]) = (&a.size()[..], &b.size()[..]) else { return Ok(None) };
    let is_slow = (2..16).contains(&columns) && rows >= 16 && rows * inner >= 1 << 13;
    // Mismatched operands are rejected by the operator itself.
    if !is_slow || inner != also_inner || b.kind() != Kind::Float {
        return Ok(None);
    }
    Tensor::f_empty([columns, rows], (Kind::Float, Device::Cpu))?.f_transpose(0, 1).map(Some)
}
