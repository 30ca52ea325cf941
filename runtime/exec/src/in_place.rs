//! In-place additions. They overwrite a tensor that has no other owner instead of allocating a new one.
//!
//! The result is bitwise the same. If the tensor has another owner, the operator allocates its result.

use tch::{TchError, Tensor};

use super::aten::{is_uniquely_owned, same_type_and_shape};

type TchResult = Result<Tensor, TchError>;

/// `a + b`.
pub(super) fn add(mut a: Tensor, b: &Tensor) -> TchResult {
    if !(same_type_and_shape(&a, b) && is_uniquely_owned(&a)) {
        return a.f_add(b);
    }
    let _ = a.f_add_(b)?;
    Ok(a)
}

/// `b + a`.
pub(super) fn add_to(mut a: Tensor, b: &Tensor) -> TchResult {
    if !(same_type_and_shape(&a, b) && is_uniquely_owned(&a)) {
        return b.f_add(&a);
    }
    let _ = a.f_add_(b)?;
    Ok(a)
}

/// `aten.index_add` with `alpha=1`.
pub(super) fn add_at(mut a: Tensor, dimension: i64, index: &Tensor, b: &Tensor) -> TchResult {
    if !is_uniquely_owned(&a) {
        return a.f_index_add(dimension, index, b);
    }
    let _ = a.f_index_add_(dimension, index, b)?;
    Ok(a)
}
