//! `Plan`: a compiled graph, which runs with the GIL released.

use std::sync::Arc;

use ag_exec::{Error, Fault, Host, Plan, Value, aten};
use ag_graph::ir::Graph;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3_tch::tch::Tensor;

use super::value::{from_python, to_python};

/// A compiled graph. Several threads may run it at the same time.
#[pyclass(name = "Plan", frozen, module = "autograph._runtime")]
pub(super) struct PyPlan {
    plan: Plan,
    callbacks: Vec<PyObject>,
    /// Exception classes that are not builtins, by name.
    exceptions: Py<PyDict>,
}

impl PyPlan {
    pub(super) fn new(
        graph: &Graph,
        strides: &[Option<Vec<usize>>],
        callbacks: Vec<PyObject>,
        exceptions: Py<PyDict>,
    ) -> PyResult<Self> {
        let plan = Plan::compile_for_strides(graph, strides)
            .map_err(|error| PyValueError::new_err(error.message))?;
        Ok(Self { plan, callbacks, exceptions })
    }
}

#[pymethods]
impl PyPlan {
    /// Runs the plan. Input and output tensors are not copied.
    fn run<'py>(&self, py: Python<'py>, inputs: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = inputs.iter().map(from_python).collect::<PyResult<Vec<_>>>()?;
        tuple(py, self.values(py, Vec::new(), inputs)?)
    }

    /// Runs a forward graph. Returns its first `results` outputs; the remaining outputs are the saved values.
    fn run_saving<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Bound<'py, PyAny>>,
        results: usize,
    ) -> PyResult<(Bound<'py, PyTuple>, Saved)> {
        let inputs = inputs.iter().map(from_python).collect::<PyResult<Vec<_>>>()?;
        let mut values = self.values(py, Vec::new(), inputs)?;
        let saved = Saved(values.split_off(results.min(values.len())));
        Ok((tuple(py, values)?, saved))
    }

    /// Runs a backward graph on the saved values of its forward graph.
    fn resume<'py>(
        &self,
        py: Python<'py>,
        saved: &Saved,
        inputs: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let inputs = inputs.iter().map(from_python).collect::<PyResult<Vec<_>>>()?;
        tuple(py, self.values(py, saved.0.clone(), inputs)?)
    }

    /// Returns the steps as text, one per line. `source(file, line)` returns the text of a line, or None.
    fn listing(&self, source: &Bound<'_, PyAny>) -> String {
        self.plan.listing(&|file, line| source.call1((file, line)).ok()?.extract().ok())
    }

    /// Returns the number of steps.
    fn __len__(&self) -> usize {
        self.plan.len()
    }
}

/// Values that a forward graph saves for its backward graph.
#[pyclass(frozen, module = "autograph._runtime")]
pub(super) struct Saved(pub(super) Vec<Value>);

#[pymethods]
impl Saved {
    /// Returns the strides of each tensor that is not contiguous, and None for other values.
    fn strides(&self) -> Vec<Option<Vec<i64>>> {
        self.0.iter().map(strides_of).collect()
    }
}

/// Returns the strides of a tensor that is not contiguous.
pub(super) fn strides_of(value: &Value) -> Option<Vec<i64>> {
    value
        .tensor()
        .filter(|tensor| aten::Form::of(tensor).is_some() && !tensor.is_contiguous())
        .map(Tensor::stride)
}

pub(super) fn tuple(py: Python<'_>, values: Vec<Value>) -> PyResult<Bound<'_, PyTuple>> {
    let values = values.into_iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, values)
}

impl PyPlan {
    /// Runs the plan on `saved` followed by `inputs`, and returns the results. Only the types of `inputs` are checked.
    pub(super) fn values(
        &self,
        py: Python<'_>,
        saved: Vec<Value>,
        inputs: Vec<Value>,
    ) -> PyResult<Vec<Value>> {
        let mut host = Interpreter { callbacks: &self.callbacks };
        let results = py.allow_threads(|| self.plan.resume(saved, inputs, &mut host));
        results.map_err(|error| self.raised(py, error))
    }

    /// Returns the Python exception for an error. Its attribute `locations` lists source locations, innermost first:
    /// (function, file, line, column, end line, end column).
    fn raised(&self, py: Python<'_>, error: Error) -> PyErr {
        let class = error.fault.class().to_owned();
        let message = error.fault.to_string();
        let raised = match error.fault {
            Fault::Host(error) => match error.downcast::<PyErr>() {
                Ok(raised) => *raised,
                Err(error) => pyo3::exceptions::PyRuntimeError::new_err(error.to_string()),
            },
            Fault::Input(message) => {
                let class = py.import("autograph.errors").and_then(|errors| errors.getattr("OtherInput"));
                class.and_then(|class| class.call1((message,))).map_or_else(|error| error, PyErr::from_value)
            }
            Fault::Assertion(parts) | Fault::Raised(_, parts) => self.exception(py, &class, parts),
            _ => self.exception(py, &class, vec![Value::str(&message)]),
        };
        let locations: Vec<_> = error
            .trace
            .iter()
            .filter_map(|location| {
                let (file, span) = (location.file.as_deref()?, location.span?);
                Some((
                    location.function.to_string(),
                    file.to_owned(),
                    span.start.0,
                    span.start.1,
                    span.end.0,
                    span.end.1,
                ))
            })
            .collect();
        // An exception class with slots cannot store the locations; it is raised without them.
        let _ = raised.value(py).setattr("locations", locations);
        raised
    }

    fn exception(&self, py: Python<'_>, class: &str, parts: Vec<Value>) -> PyErr {
        let made = || {
            let own = self.exceptions.bind(py).get_item(class)?;
            let class = match own {
                Some(class) => class,
                None => py.import("builtins")?.getattr(class)?,
            };
            let parts = parts.into_iter().map(|part| to_python(py, part)).collect::<PyResult<Vec<_>>>()?;
            class.call1(PyTuple::new(py, parts)?)
        };
        made().map_or_else(|error| error, PyErr::from_value)
    }
}

/// The Python interpreter as host of a run.
struct Interpreter<'a> {
    callbacks: &'a [PyObject],
}

fn fault(error: PyErr) -> Fault {
    Fault::Host(Box::new(error))
}

impl Host for Interpreter<'_> {
    fn print(&mut self, parts: &[Value]) -> Result<(), Fault> {
        Python::with_gil(|py| {
            let parts = parts
                .iter()
                .map(|part| to_python(py, part.clone()))
                .collect::<PyResult<Vec<_>>>()
                .map_err(fault)?;
            let print =
                py.import("builtins").and_then(|builtins| builtins.getattr("print")).map_err(fault)?;
            PyTuple::new(py, parts).and_then(|parts| print.call1(parts)).map(drop).map_err(fault)
        })
    }

    /// A callback returns a tuple of results.
    fn call(&mut self, callback: u32, arguments: Vec<Value>) -> Result<Vec<Value>, Fault> {
        Python::with_gil(|py| {
            let known = self.callbacks.get(callback as usize);
            let callable = known.ok_or_else(|| Fault::Type(format!("unknown callback {callback}")))?;
            let call = || {
                let arguments =
                    arguments.into_iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
                let results = callable.bind(py).call1(PyTuple::new(py, arguments)?)?;
                results
                    .downcast::<PyTuple>()?
                    .iter()
                    .map(|result| from_python(&result))
                    .collect::<PyResult<Vec<_>>>()
            };
            call().map_err(fault)
        })
    }

    /// Raises KeyboardInterrupt after Ctrl-C.
    fn poll(&mut self) -> Result<(), Fault> {
        Python::with_gil(|py| py.check_signals()).map_err(fault)
    }
}

/// Keeps a Python object alive during a run.
pub(super) type Held = Arc<PyObject>;
