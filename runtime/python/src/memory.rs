//! Inputs of a graph that share memory, and writes to inputs.

use ag_exec::aten;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3_tch::PyTensor;
use pyo3_tch::tch::Tensor;

/// Returns whether two of the tensors in a list share a storage. Other items are ignored.
#[pyfunction]
pub(super) fn share_storage(inputs: Vec<Bound<'_, PyAny>>) -> bool {
    let tensors: Vec<Tensor> =
        inputs.iter().filter_map(|input| input.extract::<PyTensor>().ok()).map(|PyTensor(it)| it).collect();
    aten::share_storage(tensors.iter())
}

/// Writes values to tensors in place, without a history. All values are read before the first write, because a value may
/// share memory with a tensor that is written.
#[pyfunction]
pub(super) fn write(targets: Vec<PyTensor>, values: Vec<PyTensor>) -> PyResult<()> {
    let pairs: Vec<_> =
        targets.iter().zip(&values).map(|(PyTensor(target), PyTensor(value))| (target, value)).collect();
    aten::write(&pairs).map_err(|error| PyRuntimeError::new_err(error.message))
}
