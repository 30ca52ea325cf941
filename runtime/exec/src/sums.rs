//! Sums that grow: what nobody else has is changed in place, and no memory of its size is taken.
//!
//! The result is what it would be apart, to the bit. Where the handle is not the only one, it is apart.

use tch::{TchError, Tensor};

use super::aten::{are_alike, is_sole};

type Made = Result<Tensor, TchError>;

/// `a + b`.
pub(super) fn add(mut a: Tensor, b: &Tensor) -> Made {
    if !(are_alike(&a, b) && is_sole(&a)) {
        return a.f_add(b);
    }
    let _ = a.f_add_(b)?;
    Ok(a)
}

/// `b + a`.
pub(super) fn add_to(mut a: Tensor, b: &Tensor) -> Made {
    if !(are_alike(&a, b) && is_sole(&a)) {
        return b.f_add(&a);
    }
    let _ = a.f_add_(b)?;
    Ok(a)
}

/// `aten.index_add`, where nothing is scaled.
pub(super) fn add_at(mut a: Tensor, dimension: i64, index: &Tensor, b: &Tensor) -> Made {
    if !is_sole(&a) {
        return a.f_index_add(dimension, index, b);
    }
    let _ = a.f_index_add_(dimension, index, b)?;
    Ok(a)
}
