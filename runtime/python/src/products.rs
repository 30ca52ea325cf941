//! The setting that decides which kernels compute products of matrices.

use ag_exec::ProductKernels;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

const NAMES: [(&str, ProductKernels); 3] = [
    ("measured", ProductKernels::Measured),
    ("torch", ProductKernels::Torch),
    ("onednn", ProductKernels::OneDnn),
];

#[pyfunction]
pub(super) fn set_product_kernels(name: &str) -> PyResult<()> {
    let Some((_, kernels)) = NAMES.iter().find(|(known, _)| *known == name) else {
        return Err(PyValueError::new_err(format!("{name:?} is not \"measured\", \"torch\" or \"onednn\"")));
    };
    ag_exec::set_product_kernels(*kernels);
    Ok(())
}

#[pyfunction]
pub(super) fn product_kernels() -> &'static str {
    let set = ag_exec::product_kernels();
    NAMES.iter().find(|(_, kernels)| *kernels == set).map_or("torch", |(name, _)| name)
}

/// Returns the table of measured products as text.
#[pyfunction]
pub(super) fn products_description() -> String {
    ag_exec::products_description()
}
