//! `Direct`: runs the graph of a trace and applies its effects, almost without Python.

use ag_exec::{Value, aten};
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3_tch::tch::Tensor;
use pyo3_tch::wrap_tch_err;

use super::built::Built;
use super::plan::PyPlan;
use super::recorded::PyRecorded;
use super::state_guards::{PyStateGuards, Values};
use super::value::{from_python, to_python};

/// The tensors and plain values among the arguments of a call, in the order of `torch.utils._pytree`.
#[derive(Default)]
pub(super) struct Leaves<'py> {
    pub(super) objects: Vec<Bound<'py, PyAny>>,
    pub(super) values: Vec<Value>,
}

impl<'py> Leaves<'py> {
    pub(super) fn push(&mut self, object: &Bound<'py, PyAny>, value: Value) {
        self.objects.push(object.clone());
        self.values.push(value);
    }

    /// Returns the first leaf that is the same object as the next one.
    pub(super) fn first(&self, next: &Bound<'py, PyAny>) -> usize {
        self.objects.iter().position(|other| other.is(next)).unwrap_or(self.objects.len())
    }
}

/// What a run does besides returning a value.
#[derive(Default)]
struct Effects {
    /// For each output after the first `results`: the index of the input that is written.
    writes: Vec<usize>,
    /// The inputs whose `.grad` is assigned, and the gradients.
    gradients: Vec<(usize, Built)>,
    /// The changes of Python state (`tracing/state.py`), and the new values.
    state: Vec<(PyObject, Built)>,
}

/// The history of results that the run has released (`tracing/released.py`).
struct Released {
    /// `with_history(tensors, inputs)`
    with_history: PyObject,
    results: Vec<usize>,
    inputs: Vec<usize>,
}

#[pyclass(frozen, name = "Direct", module = "autograph._runtime")]
pub(super) struct PyDirect {
    plan: Py<PyPlan>,
    /// The number of results of the graph before those that are written.
    results: usize,
    built: Built,
    effects: Effects,
    /// For each input, whether it requires a gradient. So `StateGuards` need not check this for inputs from outside.
    needed: Vec<bool>,
    /// Runs the plan as a node of autograd, if the results have a history.
    recorded: Option<Py<PyRecorded>>,
    released: Option<Released>,
    /// Functions that return and set the state of torch's generator, if a run draws random numbers.
    random: Option<(PyObject, PyObject)>,
}

#[pymethods]
impl PyDirect {
    /// - `built`, `gradients`, `state`: the forms of values (`Result.form` in `tracing/result.py`)
    /// - `needed`: whether each input requires a gradient
    /// - `random`: functions that return and set the state of torch's generator
    /// - `released`: the function `with_history`, the results that have a history, and the inputs to which it leads
    #[new]
    #[pyo3(signature = (plan, results, built, *, writes, gradients, state, needed, recorded, released, random))]
    #[expect(clippy::too_many_arguments, reason = "the keywords are the fields")]
    fn new(
        plan: Py<PyPlan>,
        results: usize,
        built: Built,
        writes: Vec<usize>,
        gradients: Vec<(usize, Built)>,
        state: Vec<(PyObject, Built)>,
        needed: Vec<bool>,
        recorded: Option<Py<PyRecorded>>,
        released: Option<(PyObject, Vec<usize>, Vec<usize>)>,
        random: Option<(PyObject, PyObject)>,
    ) -> Self {
        let released =
            released.map(|(with_history, results, inputs)| Released { with_history, results, inputs });
        let effects = Effects { writes, gradients, state };
        Self { plan, results, built, effects, needed, recorded, released, random }
    }

    /// For Python's garbage collector.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.recorded)?;
        self.built.traverse(&visit)?;
        self.effects.gradients.iter().try_for_each(|(_, built)| built.traverse(&visit))?;
        self.effects
            .state
            .iter()
            .try_for_each(|(change, built)| visit.call(change).and_then(|()| built.traverse(&visit)))
    }
}

impl PyDirect {
    /// Runs the graph. Returns `None` if Python must run it; then the run has had no effect.
    pub(super) fn call<'py>(
        &self,
        py: Python<'py>,
        guards: &PyStateGuards,
        leaves: Leaves<'py>,
        values: &Values<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let inputs = match self.needs_objects() {
            true => guards.inputs(&leaves.objects, values)?,
            false => Vec::new(),
        };
        let random = self.random.as_ref().map(|(get, set)| Ok::<_, PyErr>((get.bind(py).call0()?, set)));
        let random = random.transpose()?;
        let found = match &self.recorded {
            None => self.results(py, guards, leaves.values, values, &inputs),
            Some(recorded) => self.recorded_results(recorded.bind(py), &inputs),
        };
        match found {
            Ok(Some(results)) => self.applied(py, &results, &inputs).map(Some),
            Ok(None) => Ok(None),
            // The run has had no effect. Python repeats the call and raises the exception with the user's traceback.
            Err(raised) if is_of_plan(py, &raised) => {
                if let Some((state, set)) = random {
                    set.bind(py).call1((state,))?;
                }
                Ok(None)
            }
            Err(raised) => Err(raised),
        }
    }

    /// Returns whether the inputs are needed as Python objects.
    fn needs_objects(&self) -> bool {
        let is_pure = self.recorded.is_none() && self.released.is_none() && self.effects.gradients.is_empty();
        !is_pure || self.built.has_inputs() || self.effects.state.iter().any(|(_, built)| built.has_inputs())
    }

    /// Runs the plan, and writes to tensors. Returns the other results. `None` if other inputs require a gradient than in the
    /// first call.
    fn results<'py>(
        &self,
        py: Python<'py>,
        guards: &PyStateGuards,
        mut leaves: Vec<Value>,
        values: &Values<'py>,
        inputs: &[Bound<'py, PyAny>],
    ) -> PyResult<Option<Vec<PyObject>>> {
        let run_inputs = guards.run_inputs(&mut leaves, values)?;
        if !self.needs_gradients_of(&run_inputs) {
            return Ok(None);
        }
        let Some(targets) = self.targets(&run_inputs)? else { return Ok(None) };
        // The types of the arguments have been compared. The plan checks other inputs.
        let is_checked = guards.reads_only_leaves();
        let (checked, unchecked) =
            if is_checked { (run_inputs, Vec::new()) } else { (Vec::new(), run_inputs) };
        let mut results = self.plan.get().values(py, checked, unchecked)?;
        let written = results.split_off(self.results.min(results.len()));
        let grad = aten::grad_is_enabled();
        let mut objects = Vec::with_capacity(results.len());
        for result in results {
            let result = if grad { detached(result)? } else { result };
            objects.push(to_python(py, result)?);
        }
        write(&targets, &written)?;
        if let Some(released) = &self.released {
            released.apply(py, &mut objects, inputs)?;
        }
        Ok(Some(objects))
    }

    /// The same for results with a history: runs the plan as a node of autograd.
    fn recorded_results<'py>(
        &self,
        recorded: &Bound<'py, PyRecorded>,
        inputs: &[Bound<'py, PyAny>],
    ) -> PyResult<Option<Vec<PyObject>>> {
        let values = inputs.iter().map(from_python).collect::<PyResult<Vec<_>>>()?;
        if !self.needs_gradients_of(&values) {
            return Ok(None);
        }
        let Some(targets) = self.targets(&values)? else { return Ok(None) };
        drop(values);
        let outputs = PyRecorded::call(recorded, inputs)?;
        let mut objects: Vec<_> = outputs.iter().map(Bound::unbind).collect();
        if !targets.is_empty() {
            let written = objects.split_off(self.results.min(objects.len()));
            let written = written.iter().map(|it| from_python(it.bind(recorded.py())));
            write(&targets, &written.collect::<PyResult<Vec<_>>>()?)?;
        }
        Ok(Some(objects))
    }

    /// Returns whether the same inputs require a gradient as in the first call.
    fn needs_gradients_of(&self, inputs: &[Value]) -> bool {
        let needs = |input: &Value| input.tensor().is_some_and(Tensor::requires_grad);
        inputs.iter().zip(&self.needed).all(|(input, needed)| needs(input) == *needed)
    }

    /// Returns the tensors that the run writes to. `None` if they may share memory with other inputs.
    fn targets(&self, inputs: &[Value]) -> PyResult<Option<Vec<Tensor>>> {
        if self.effects.writes.is_empty() {
            return Ok(Some(Vec::new()));
        }
        if aten::share_storage(inputs.iter().filter_map(Value::tensor)) {
            return Ok(None);
        }
        let target = |index: &usize| {
            let tensor = inputs.get(*index).and_then(Value::tensor).map(Tensor::shallow_clone);
            tensor.ok_or_else(|| PyTypeError::new_err("an input that is written is not a tensor"))
        };
        self.effects.writes.iter().map(target).collect::<PyResult<_>>().map(Some)
    }

    /// Assigns gradients and Python state. Returns the result of the call.
    fn applied<'py>(
        &self,
        py: Python<'py>,
        results: &[PyObject],
        inputs: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let Effects { gradients, state, .. } = &self.effects;
        let result = self.built.object(py, results, inputs)?;
        let state = state
            .iter()
            .map(|(change, built)| Ok((change, built.object(py, results, inputs)?)))
            .collect::<PyResult<Vec<_>>>()?;
        for (index, built) in gradients {
            let input = inputs.get(*index).ok_or_else(|| PyTypeError::new_err("an input is missing"))?;
            let gradient = built.object(py, results, inputs)?;
            // Two gradients may be the same tensor.
            let gradient = match from_python(&gradient)? {
                Value::Tensor(tensor) => {
                    to_python(py, tensor.f_detach().map_err(wrap_tch_err)?.into())?.into_bound(py)
                }
                _ => py.None().into_bound(py),
            };
            input.setattr(intern!(py, "grad"), gradient)?;
        }
        for (change, value) in state {
            change.bind(py).call_method1(intern!(py, "apply"), (value,))?;
        }
        Ok(result)
    }
}

impl Released {
    fn apply(&self, py: Python<'_>, objects: &mut [PyObject], inputs: &[Bound<'_, PyAny>]) -> PyResult<()> {
        let missing = || PyTypeError::new_err("a result is missing");
        let made = self.results.iter().map(|index| objects.get(*index).ok_or_else(missing));
        let leaves = self.inputs.iter().map(|index| inputs.get(*index).ok_or_else(missing));
        let arguments = (made.collect::<PyResult<Vec<_>>>()?, leaves.collect::<PyResult<Vec<_>>>()?);
        let found: Vec<PyObject> = self.with_history.bind(py).call1(arguments)?.extract()?;
        for (index, result) in self.results.iter().zip(found) {
            if let Some(object) = objects.get_mut(*index) {
                *object = result;
            }
        }
        Ok(())
    }
}

/// Writes values to tensors, without a history.
fn write(targets: &[Tensor], values: &[Value]) -> PyResult<()> {
    if targets.is_empty() {
        return Ok(());
    }
    let not_tensor = || PyTypeError::new_err("a value that is written is not a tensor");
    let pairs = targets.iter().zip(values);
    let pairs = pairs.map(|(target, value)| Ok((target, value.tensor().ok_or_else(not_tensor)?)));
    let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
    aten::write(&pairs).map_err(|error| PyRuntimeError::new_err(error.message))
}

/// Returns a result of a run without a history. It may be an input that requires a gradient.
fn detached(result: Value) -> PyResult<Value> {
    Ok(match result {
        Value::Tensor(tensor) if tensor.requires_grad() => tensor.f_detach().map_err(wrap_tch_err)?.into(),
        Value::List(items) => Value::list(items.iter().cloned().map(detached).collect::<PyResult<_>>()?),
        Value::Tuple(items) => Value::tuple(items.iter().cloned().map(detached).collect::<PyResult<_>>()?),
        other => other,
    })
}

/// Returns whether a run of a plan has raised the exception. Hooks for saved tensors raise other exceptions, after the run,
/// and must not be called again.
fn is_of_plan(py: Python<'_>, raised: &PyErr) -> bool {
    raised.is_instance_of::<PyException>(py)
        && raised.value(py).hasattr(intern!(py, "locations")).unwrap_or_default()
}
