//! The kernels for products.

use std::sync::LazyLock;

use tch::{TchError, Tensor};

use super::TchResult;
use crate::aten::{self, Argument, Call, Output};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// libtorch's kernel: MKL.
    Torch,
    /// libtorch's kernel, with the result stored by columns: faster if there are few columns.
    TorchByColumns,
    OneDnn,
    /// The transposed product `b.t() @ a.t()` in oneDNN.
    OneDnnByColumns,
}

impl Kernel {
    pub(super) const ALL: [Self; 4] =
        [Self::Torch, Self::TorchByColumns, Self::OneDnn, Self::OneDnnByColumns];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::TorchByColumns => "torch-by-columns",
            Self::OneDnn => "onednn",
            Self::OneDnnByColumns => "onednn-by-columns",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// `a @ b`, or `added + a @ b`, of matrices of `f32`.
    pub(super) fn run(self, added: Option<&Tensor>, a: &Tensor, b: &Tensor) -> TchResult {
        match (self, added) {
            (Self::Torch, None) => a.f_mm(b),
            (Self::Torch, Some(added)) => added.f_addmm(a, b),
            (Self::TorchByColumns, _) => {
                let (rows, columns) = (a.size2()?.0, b.size2()?.1);
                let out = Tensor::f_empty([columns, rows], (a.kind(), a.device()))?.f_transpose(0, 1)?;
                let _ = match added {
                    None => a.f_mm_out(&out, b)?,
                    Some(added) => added.f_addmm_out(&out, a, b)?,
                };
                out.f_contiguous()
            }
            (Self::OneDnn, Some(bias)) if is_bias(bias, b)? => linear(a, &b.f_tr()?, Some(bias)),
            (Self::OneDnn, added) => plus(linear(a, &b.f_tr()?, None)?, added),
            (Self::OneDnnByColumns, added) => {
                plus(linear(&b.f_tr()?, a, None)?.f_tr()?.f_contiguous()?, added)
            }
        }
    }
}

/// Returns whether oneDNN can be used: libtorch has it, and the user has not disabled it.
pub(super) fn has_onednn() -> bool {
    aten::uses_onednn() && LINEAR.is_some()
}

/// Returns whether `added` has an element for each column of the product.
fn is_bias(added: &Tensor, b: &Tensor) -> Result<bool, TchError> {
    Ok(added.size() == [b.size2()?.1])
}

fn plus(mut product: Tensor, added: Option<&Tensor>) -> TchResult {
    match added {
        Some(added) => product.f_add_(added),
        None => Ok(product),
    }
}

/// `mkldnn::_linear_pointwise(x, weight, bias, attr="none", scalars=[], algorithm=None)`
static LINEAR: LazyLock<Option<Call>> = LazyLock::new(|| {
    let arguments = [
        Argument::HOLE,
        Argument::HOLE,
        Argument::HOLE,
        Argument::str("none"),
        Argument::list(0),
        Argument::NONE,
    ];
    Call::prepare("mkldnn._linear_pointwise", &arguments).ok()
});

/// `torch.nn.functional.linear(x, weight, bias)` in oneDNN: `weight` is a matrix of columns and inner dimension, in
/// any layout.
fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> TchResult {
    let missing = || TchError::Torch("oneDNN has returned no tensor".into());
    let bias = bias.map_or(Argument::NONE, Argument::tensor);
    let mut outputs = Vec::with_capacity(1);
    let call = LINEAR.as_ref().ok_or_else(missing)?;
    call.run(&[Argument::tensor(x), Argument::tensor(weight), bias], &mut outputs)
        .map_err(|error| TchError::Torch(error.message))?;
    match outputs.pop() {
        Some(Output::Tensor(product)) => Ok(product),
        _ => Err(missing()),
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    /// Returns three equal matrices: stored by rows, by columns, and with gaps.
    fn layouts(matrix: &Tensor) -> [Tensor; 3] {
        let columns = matrix.size2().unwrap().1;
        let wide = Tensor::cat(&[matrix, matrix], 1);
        [matrix.shallow_clone(), matrix.tr().contiguous().tr(), wide.narrow(1, 0, columns)]
    }

    #[test]
    fn all_kernels_agree_in_all_layouts() {
        let random = |sizes: &[i64]| Tensor::randn(sizes, (Kind::Float, Device::Cpu));
        for [rows, inner, columns] in [[1, 30, 8], [3, 1, 4], [64, 100, 200], [30, 200, 10], [1, 1, 1]] {
            let (left, right) = (random(&[rows, inner]), random(&[inner, columns]));
            for added in
                [None, Some(random(&[columns])), Some(random(&[rows, columns])), Some(random(&[rows, 1]))]
            {
                let exact = left.to_kind(Kind::Double).mm(&right.to_kind(Kind::Double));
                let exact = added.as_ref().map_or(exact.shallow_clone(), |added| exact + added);
                for (a, b) in
                    layouts(&left).iter().flat_map(|a| layouts(&right).map(|b| (a.shallow_clone(), b)))
                {
                    for kernel in Kernel::ALL {
                        let found = kernel.run(added.as_ref(), &a, &b).unwrap();
                        assert!(found.is_contiguous(), "{kernel:?}");
                        let error = (found - &exact).abs().max().double_value(&[]);
                        assert!(error < 1e-4, "{kernel:?} [{rows}, {inner}, {columns}]: {error}");
                    }
                }
            }
        }
    }
}
