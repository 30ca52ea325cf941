//! `Recorded`: the forward and the backward graph of calls whose gradient is wanted. Each call is one node of torch's
//! autograd, an object of a class derived from `torch.autograd.Function`:
//!
//! ```python
//! class StagedCall(torch.autograd.Function):
//!     forward, backward = staticmethod(run_recorded), staticmethod(run_backward)
//!
//! outputs = StagedCall.apply(recorded, *inputs)
//! ```
//!
//! Neither of these functions enters Python, except for derivatives of higher order and for outputs that have no gradient.

use ag_exec::Value;
use ag_exec::aten;
use ag_graph::ir::{DType, Device};
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::GILOnceCell;
use pyo3::types::PyTuple;
use pyo3_tch::tch::{self, Tensor};
use pyo3_tch::{PyTensor, wrap_tch_err};

use super::plan::{PyPlan, Saved, strides_of};
use super::torch::Torch;
use super::value::{from_python, to_python};

/// The graphs, and which of their inputs and outputs have gradients. Each of these is given by its index.
#[pyclass(frozen, name = "Recorded", module = "autograph._runtime")]
pub(super) struct PyRecorded {
    /// The Python object that computes the other gradients.
    #[pyo3(get)]
    recording: PyObject,
    /// Calls the class of the nodes.
    apply: PyObject,
    forward: Py<PyPlan>,
    /// Made in the first backward pass.
    backward: GILOnceCell<Py<PyPlan>>,
    /// The number of outputs. Further results of the forward graph are values that the backward graph reads.
    outputs: usize,
    /// For each input, whether it needs a gradient.
    needed: Vec<bool>,
    /// The inputs that need a gradient and on which no output depends. A backward pass does not enter their history.
    unreachable: Vec<usize>,
    /// The inputs that the backward graph reads.
    kept: Vec<usize>,
    /// Those of them to which the call writes, after the run. The backward graph reads copies.
    copied: Vec<usize>,
    /// The outputs that have no gradient.
    constant: Vec<usize>,
    /// The outputs whose gradients the backward graph reads.
    seeds: Vec<usize>,
    /// The inputs whose gradients the backward graph computes.
    gradients: Vec<usize>,
}

#[pymethods]
impl PyRecorded {
    #[new]
    #[pyo3(signature = (recording, apply, forward, *, outputs, needed, unreachable, kept, copied, constant, seeds, gradients))]
    #[expect(clippy::too_many_arguments, reason = "the keywords are the fields")]
    fn new(
        recording: PyObject,
        apply: PyObject,
        forward: Py<PyPlan>,
        outputs: usize,
        needed: Vec<bool>,
        unreachable: Vec<usize>,
        kept: Vec<usize>,
        copied: Vec<usize>,
        constant: Vec<usize>,
        seeds: Vec<usize>,
        gradients: Vec<usize>,
    ) -> Self {
        let backward = GILOnceCell::new();
        Self {
            recording,
            apply,
            forward,
            backward,
            outputs,
            needed,
            unreachable,
            kept,
            copied,
            constant,
            seeds,
            gradients,
        }
    }

    /// For Python's garbage collector: the recording refers to the trace, and so to the function.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.recording)?;
        visit.call(&self.apply)
    }
}

impl PyRecorded {
    /// Runs the forward graph as a node of autograd. Returns the tuple of its outputs.
    pub(super) fn call<'py>(
        slf: &Bound<'py, Self>,
        inputs: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut inputs = inputs.to_vec();
        for index in &slf.get().unreachable {
            if let Some(input) = inputs.get_mut(*index)
                && !input.getattr(intern!(slf.py(), "grad_fn"))?.is_none()
            {
                *input = input.call_method0(intern!(slf.py(), "detach"))?;
            }
        }
        let arguments = std::iter::once(slf.as_any()).chain(&inputs).collect::<Vec<_>>();
        let outputs = slf.get().apply.bind(slf.py()).call1(PyTuple::new(slf.py(), arguments)?)?;
        Ok(outputs.downcast_into()?)
    }
}

/// One run of a forward graph: the attribute `run` of its node.
#[pyclass(frozen, name = "RecordedRun", module = "autograph._runtime")]
pub(super) struct PyRun {
    recorded: Py<PyRecorded>,
    saved: Vec<Value>,
    /// The inputs, and how often each tensor had been changed in place.
    #[pyo3(get)]
    inputs: Py<PyTuple>,
    #[pyo3(get)]
    versions: Vec<Option<i64>>,
    /// The sizes, the dtype and the device of each output. Empty if there is only one output.
    kinds: Vec<(Vec<i64>, DType, Device)>,
}

#[pymethods]
impl PyRun {
    #[getter]
    fn recording(&self, py: Python<'_>) -> PyObject {
        self.recorded.get().recording.clone_ref(py)
    }

    /// Tuples of the shape, the dtype and the device of each output.
    #[getter]
    fn kinds<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let torch = Torch::get(py)?;
        let kind = |(sizes, dtype, device): &(Vec<i64>, DType, Device)| {
            (sizes.clone(), torch.dtype_object(py, *dtype), torch.device_object(py, *device)?)
                .into_pyobject(py)
        };
        self.kinds.iter().map(kind).collect()
    }

    #[getter]
    fn saved(&self) -> Saved {
        Saved(self.saved.clone())
    }

    /// For Python's garbage collector: an input may refer to the node, if it is changed in place later.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.recorded)?;
        visit.call(&self.inputs)
    }
}

/// The method `forward` of nodes.
#[pyfunction]
#[pyo3(signature = (node, recorded, *inputs))]
pub(super) fn run_recorded<'py>(
    node: &Bound<'py, PyAny>,
    recorded: &Bound<'py, PyRecorded>,
    inputs: Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (py, this) = (node.py(), recorded.get());
    let mut versions = Vec::with_capacity(inputs.len());
    let mut values = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter_borrowed().enumerate() {
        let value = from_python(&input)?;
        versions.push(value.tensor().map(aten::changes));
        values.push(match value.tensor() {
            Some(tensor) if this.copied.contains(&index) => {
                tensor.f_detach_copy().map_err(wrap_tch_err)?.into()
            }
            Some(tensor) if tensor.requires_grad() => detached(tensor)?,
            _ => value,
        });
    }
    // `backward` must see which outputs have no gradient.
    node.setattr(intern!(py, "materialize_grads"), false)?;
    if !this.kept.is_empty() {
        // Torch checks that these tensors are not changed in place before the backward pass.
        let kept = this.kept.iter().filter(|index| !this.copied.contains(index));
        let kept = kept.filter_map(|index| inputs.get_item(*index).ok());
        let kept = kept.filter(|input| input.extract::<PyTensor>().is_ok());
        node.setattr(intern!(py, "to_save"), PyTuple::new(py, kept.collect::<Vec<_>>())?)?;
    }
    let mut results = this.forward.get().values(py, Vec::new(), values)?;
    let saved = results.split_off(this.outputs.min(results.len()));
    let kinds =
        if results.len() > 1 { results.iter().map(kind_of).collect::<PyResult<_>>()? } else { Vec::new() };
    let mut outputs: Vec<Bound<'py, PyAny>> = Vec::with_capacity(results.len());
    for result in results {
        let output = to_python(py, result)?.into_bound(py);
        // An output must be a tensor of its own, to have its own history.
        let is_known = inputs.iter_borrowed().any(|input| input.is(&output))
            || outputs.iter().any(|other| other.is(&output));
        outputs.push(if is_known { output.call_method0(intern!(py, "detach"))? } else { output });
    }
    if !this.constant.is_empty() {
        let constant = this.constant.iter().filter_map(|index| outputs.get(*index));
        node.setattr(intern!(py, "non_differentiable"), PyTuple::new(py, constant.collect::<Vec<_>>())?)?;
    }
    let run = PyRun { recorded: recorded.clone().unbind(), saved, inputs: inputs.unbind(), versions, kinds };
    node.setattr(intern!(py, "run"), Bound::new(py, run)?)?;
    PyTuple::new(py, outputs)
}

fn detached(tensor: &Tensor) -> PyResult<Value> {
    Ok(tensor.f_detach().map_err(wrap_tch_err)?.into())
}

fn kind_of(output: &Value) -> PyResult<(Vec<i64>, DType, Device)> {
    let tensor = output.tensor().ok_or_else(|| PyTypeError::new_err("an output is not a tensor"))?;
    let device = match tensor.device() {
        tch::Device::Cuda(index) => Device::Cuda(u8::try_from(index)?),
        _ if tensor.device() == tch::Device::Cpu => Device::Cpu,
        _ => Device::Meta,
    };
    let dtype = aten::dtype(tensor).ok_or_else(|| PyTypeError::new_err("an output has an unknown dtype"))?;
    Ok((tensor.size(), dtype, device))
}

/// The method `backward` of nodes.
#[pyfunction]
#[pyo3(signature = (node, *seeds))]
pub(super) fn run_backward<'py>(
    node: &Bound<'py, PyAny>,
    seeds: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = node.py();
    let run = node.getattr(intern!(py, "run"))?.downcast_into::<PyRun>().map_err(PyErr::from)?;
    let run = run.get();
    let recorded = run.recorded.get();
    // The first argument of a node is the `Recorded`.
    let mut gradients: Vec<_> = (0..=recorded.needed.len()).map(|_| py.None()).collect();
    // Torch also calls nodes none of whose outputs has a gradient.
    if seeds.iter_borrowed().all(|seed| seed.is_none()) {
        return PyTuple::new(py, gradients);
    }
    let is_missing = |index: &usize| seeds.get_borrowed_item(*index).map_or(true, |seed| seed.is_none());
    if aten::grad_is_enabled() || recorded.seeds.iter().any(is_missing) {
        let found = recorded.recording.bind(py).call_method1(intern!(py, "gradients"), (node, seeds))?;
        return Ok(found.downcast_into()?);
    }
    if !run.saved.is_empty() || !recorded.kept.is_empty() {
        // Raises an error if an input has been changed in place, or if a backward pass has released the node.
        node.getattr(intern!(py, "saved_tensors"))?;
    }
    let seeds = recorded
        .seeds
        .iter()
        .map(|index| from_python(&seeds.get_item(*index)?))
        .collect::<PyResult<Vec<_>>>()?;
    let backward = recorded.backward.get_or_try_init(py, || {
        let strides: Vec<_> = run.saved.iter().chain(&seeds).map(strides_of).collect();
        let plan = recorded.recording.bind(py).call_method1(intern!(py, "backward"), (strides,))?;
        plan.extract()
    });
    let found = backward?.get().values(py, run.saved.clone(), seeds)?;
    for (index, value) in recorded.gradients.iter().zip(found) {
        if let Some(gradient) = gradients.get_mut(index + 1) {
            *gradient = to_python(py, value)?;
        }
    }
    PyTuple::new(py, gradients)
}
