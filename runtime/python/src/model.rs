//! Saved models: `Graph.save` and the class `Model`.

use std::path::{Path, PathBuf};

use ag_exec::saved::{SavedError, SavedModel};
use ag_exec::{Plan, StandaloneHost};
use ag_graph::ir::{Graph, Outcome};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3_tch::PyTensor;

use super::value::{from_python, to_python};

/// Writes a graph and its captured tensors to a folder.
pub(super) fn save(graph: &Graph, folder: &Path, captures: Vec<(u32, PyTensor)>) -> PyResult<()> {
    let captures = captures.into_iter().map(|(number, PyTensor(tensor))| (number, tensor)).collect();
    SavedModel::new(graph.clone(), captures).and_then(|saved| saved.save(folder)).map_err(raised)
}

/// A saved model. Several threads may run it at the same time.
#[pyclass(name = "Model", frozen, module = "autograph._runtime")]
pub(super) struct PyModel {
    saved: SavedModel,
    plan: Plan,
}

#[pymethods]
impl PyModel {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        let saved = SavedModel::load(&folder).map_err(raised)?;
        let plan = saved.plan().map_err(raised)?;
        Ok(Self { saved, plan })
    }

    /// Returns the name of each argument and its type as text.
    #[getter]
    fn arguments(&self) -> Vec<(String, String)> {
        self.saved.arguments().into_iter().map(|(path, ty)| (path.to_owned(), ty.to_string())).collect()
    }

    /// Runs the model with these arguments, in order.
    fn run<'py>(&self, py: Python<'py>, arguments: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
        let arguments = arguments.iter().map(from_python).collect::<PyResult<Vec<_>>>()?;
        let inputs = self.saved.inputs(arguments).map_err(raised)?;
        let results = py
            .allow_threads(|| self.plan.run(inputs, &mut StandaloneHost::default()))
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let returned = results.into_iter().zip(&self.saved.graph.outcomes);
        let returned = returned.filter(|(_, outcome)| **outcome == Outcome::Return);
        let returned = returned.map(|(result, _)| to_python(py, result)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, returned)
    }
}

fn raised(error: SavedError) -> PyErr {
    match error {
        SavedError::Io(..) => PyOSError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}
