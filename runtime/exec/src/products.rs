//! Products of matrices with the kernel that is fastest for their shapes on this processor.
//!
//! libtorch calls MKL for every product of `f32`. On AMD processors, MKL uses half of the vector width. oneDNN, which
//! is also part of libtorch, is twice as fast there from about a million multiplications on. So small products run in
//! MKL. The kernel of a larger product is looked up in a table by the class of the product: whether it has few rows or
//! columns, how its operands are stored, and how large it is. A class is measured when it is first needed, and the
//! result is kept in the user's cache folder.

mod cache;
mod class;
mod kernels;
mod measure;
mod table;

use std::sync::atomic::{AtomicU8, Ordering};

use tch::{TchError, Tensor};

use self::class::Class;
use self::kernels::Kernel;
use super::tier::{Tier, tier};

pub use self::table::description;

type TchResult = Result<Tensor, TchError>;

/// The setting that decides which kernels compute products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ProductKernels {
    /// The kernel that was measured to be the fastest for the class of the product.
    Measured,
    /// libtorch's kernel, so results are bitwise identical to libtorch's.
    Torch,
    /// oneDNN's kernel for all products that are large enough.
    OneDnn,
}

static SETTING: AtomicU8 = AtomicU8::new(ProductKernels::Measured as u8);

/// Sets the kernels for the products of all plans.
pub fn set_product_kernels(kernels: ProductKernels) {
    SETTING.store(kernels as u8, Ordering::Relaxed);
}

pub fn product_kernels() -> ProductKernels {
    match SETTING.load(Ordering::Relaxed) {
        0 => ProductKernels::Measured,
        1 => ProductKernels::Torch,
        _ => ProductKernels::OneDnn,
    }
}

/// `aten.mm`.
pub(super) fn mm(a: &Tensor, b: &Tensor) -> TchResult {
    kernel(a, b).run(None, a, b)
}

/// `aten.addmm` with `beta=1` and `alpha=1`: `added + a @ b`.
pub(super) fn addmm(added: &Tensor, a: &Tensor, b: &Tensor) -> TchResult {
    let kernel = if added.kind() == a.kind() { kernel(a, b) } else { Kernel::Torch };
    kernel.run(Some(added), a, b)
}

fn kernel(a: &Tensor, b: &Tensor) -> Kernel {
    let setting = product_kernels();
    if setting == ProductKernels::Torch || tier() == Tier::Torch {
        return Kernel::Torch;
    }
    match Class::of(a, b) {
        // Nothing is measured while oneDNN is disabled, because the user may enable it later.
        Some(class) if kernels::has_onednn() => match setting {
            ProductKernels::OneDnn => Kernel::OneDnn,
            _ => table::fastest(class),
        },
        _ => Kernel::Torch,
    }
}
