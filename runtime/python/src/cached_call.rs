//! `CachedCall`: the graph that the last calls of a staged function ran, and the conditions under which the next call runs
//! it too. It saves most calls the lookup of their trace in Python, which takes longer than a small graph.

use ag_exec::Value;
use ag_exec::aten::{self, Form};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyTuple, PyType};
use pyo3_tch::tch::Tensor;

use super::plan::PyPlan;
use super::value::{from_python, to_python};

/// What an argument must be, so that the key of the trace stays the same.
enum Argument {
    Tensor {
        class: Py<PyType>,
        form: Form,
        /// The first argument that is the same object; a trace distinguishes `f(x, x)` from `f(x, y)`.
        first: usize,
    },
    None,
    Bool(bool),
    Int(i64),
    /// Its bits: 0.0 and -0.0 have different traces.
    Float(u64),
    Str(String),
}

impl Argument {
    /// `None` if the next argument cannot be compared with this one here.
    fn of(argument: &Bound<'_, PyAny>, index: usize, all: &Bound<'_, PyTuple>) -> PyResult<Option<Self>> {
        // An integer may be too large for a graph.
        let Ok(value) = from_python(argument) else { return Ok(None) };
        Ok(match value {
            Value::Tensor(tensor) => Form::of(&tensor).map(|form| Self::Tensor {
                class: argument.get_type().unbind(),
                form,
                first: first(argument, index, all),
            }),
            Value::None => Some(Self::None),
            Value::Bool(value) => Some(Self::Bool(value)),
            Value::Int(value) => Some(Self::Int(value)),
            Value::Float(value) => Some(Self::Float(value.to_bits())),
            Value::Str(text) => Some(Self::Str(text.to_string())),
            Value::List(_) | Value::Tuple(_) | Value::Object(_) => None,
        })
    }

    /// The value of an argument, if it has the same key.
    fn matched(
        &self,
        argument: &Bound<'_, PyAny>,
        index: usize,
        all: &Bound<'_, PyTuple>,
    ) -> PyResult<Option<Value>> {
        let is_same = match self {
            Self::Tensor { class, form, first: expected } => {
                if !argument.get_type().is(class) || first(argument, index, all) != *expected {
                    return Ok(None);
                }
                let value = from_python(argument)?;
                let is_same = value.tensor().is_some_and(|tensor| form.matches(tensor));
                return Ok(is_same.then_some(value));
            }
            Self::None => argument.is_none(),
            Self::Bool(value) => argument.downcast_exact::<PyBool>().is_ok_and(|it| it.is_true() == *value),
            Self::Int(value) => {
                argument.is_exact_instance_of::<PyInt>()
                    && argument.extract::<i64>().is_ok_and(|it| it == *value)
            }
            Self::Float(bits) => {
                argument.downcast_exact::<PyFloat>().is_ok_and(|it| it.value().to_bits() == *bits)
            }
            Self::Str(text) => {
                argument.downcast_exact::<PyString>().is_ok_and(|it| it.to_str().is_ok_and(|it| it == text))
            }
        };
        if is_same { from_python(argument).map(Some) } else { Ok(None) }
    }
}

fn first(argument: &Bound<'_, PyAny>, index: usize, all: &Bound<'_, PyTuple>) -> usize {
    all.iter_borrowed().take(index).position(|other| other.is(argument)).unwrap_or(index)
}

/// An input of the graph.
enum Source {
    Argument(usize),
    /// A function that returns the current tensor or number: the trace found it outside of its arguments.
    Outside(PyObject),
}

/// How a result of the function is made of the results of the graph.
enum Built {
    Result(usize),
    Tuple(Vec<Self>),
}

impl FromPyObject<'_> for Built {
    fn extract_bound(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.downcast::<PyTuple>() {
            Ok(items) => Ok(Self::Tuple(items.extract()?)),
            Err(_) => Ok(Self::Result(object.extract()?)),
        }
    }
}

impl Built {
    fn object(&self, py: Python<'_>, results: &[Value]) -> PyResult<PyObject> {
        match self {
            Self::Result(index) => {
                let result = results.get(*index).ok_or_else(|| PyTypeError::new_err("a result is missing"))?;
                to_python(py, result.clone())
            }
            Self::Tuple(items) => {
                let items = items.iter().map(|item| item.object(py, results)).collect::<PyResult<Vec<_>>>()?;
                Ok(PyTuple::new(py, items)?.into_any().unbind())
            }
        }
    }
}

/// Runs the plan without Python.
struct Direct {
    plan: Py<PyPlan>,
    sources: Vec<Source>,
    built: Built,
}

#[pyclass(frozen, name = "CachedCall", module = "autograph._runtime")]
pub(super) struct PyCachedCall {
    #[pyo3(get)]
    trace: PyObject,
    ambient: u64,
    arguments: Vec<Argument>,
    may_run: PyObject,
    broken: Option<PyObject>,
    run: PyObject,
    direct: Option<Direct>,
}

#[pymethods]
impl PyCachedCall {
    /// - `arguments`: those of the call that ran the trace. `None` is returned if they cannot be compared here.
    /// - `may_run()` is false while calls must not run as graphs, for example during tracing.
    /// - `broken()` returns a tuple whose first item tells whether a guard is violated; None if there are no guards.
    /// - `run(trace, arguments)` runs the trace.
    /// - `direct`: the plan, its inputs (an index of an argument, or a function that returns the value) and how the
    ///   result is made of the results of the plan (an index, or a tuple of such). None if a run has effects on Python
    ///   state, or needs Python for its gradients.
    #[staticmethod]
    #[pyo3(signature = (trace, arguments, *, may_run, broken, run, direct))]
    fn of<'py>(
        trace: PyObject,
        arguments: &Bound<'py, PyTuple>,
        may_run: PyObject,
        broken: Option<PyObject>,
        run: PyObject,
        direct: Option<(Py<PyPlan>, Vec<Bound<'py, PyAny>>, Built)>,
    ) -> PyResult<Option<Self>> {
        let ambient = aten::ambient();
        if !ambient.is_multiple_of(2) {
            return Ok(None);
        }
        let known = arguments.iter().enumerate().map(|(index, argument)| Argument::of(&argument, index, arguments));
        let Some(known) = known.collect::<PyResult<Option<Vec<_>>>>()? else { return Ok(None) };
        let direct = direct.map(|(plan, sources, built)| {
            let sources = sources.into_iter().map(|source| match source.extract() {
                Ok(index) => Source::Argument(index),
                Err(_) => Source::Outside(source.unbind()),
            });
            Direct { plan, sources: sources.collect(), built }
        });
        Ok(Some(Self { trace, ambient, arguments: known, may_run, broken, run, direct }))
    }

    /// For Python's garbage collector: a trace refers to its function, which refers to this object.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for object in [&self.trace, &self.may_run, &self.run] {
            visit.call(object)?;
        }
        visit.call(&self.broken)?;
        for source in self.direct.iter().flat_map(|direct| &direct.sources) {
            if let Source::Outside(value) = source {
                visit.call(value)?;
            }
        }
        Ok(())
    }
}

impl PyCachedCall {
    /// The result of a call, if it runs this graph.
    pub(super) fn call<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if arguments.len() != self.arguments.len() || aten::ambient() != self.ambient {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(self.arguments.len());
        for (index, (known, argument)) in self.arguments.iter().zip(arguments.iter_borrowed()).enumerate() {
            match known.matched(&argument, index, arguments)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        if !self.may_run.bind(py).call0()?.is_truthy()? {
            return Ok(None);
        }
        if let Some(broken) = &self.broken
            && broken.bind(py).call0()?.get_item(0)?.is_truthy()?
        {
            return Ok(None);
        }
        match &self.direct {
            None => self.run.bind(py).call1((&self.trace, arguments)).map(Some),
            Some(direct) => direct.call(py, values),
        }
    }
}

impl Direct {
    fn call<'py>(&self, py: Python<'py>, mut arguments: Vec<Value>) -> PyResult<Option<Bound<'py, PyAny>>> {
        // The types of the arguments have been compared. The plan checks other inputs.
        let is_checked = self.sources.iter().all(|source| matches!(source, Source::Argument(_)));
        let mut inputs = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            inputs.push(match source {
                Source::Argument(index) => arguments.get_mut(*index).map(std::mem::take).unwrap_or_default(),
                Source::Outside(value) => {
                    let value = from_python(&value.bind(py).call0()?)?;
                    if value.tensor().is_some_and(Tensor::requires_grad) && aten::grad_is_enabled() {
                        return Ok(None);
                    }
                    value
                }
            });
        }
        let (checked, inputs) = if is_checked { (inputs, Vec::new()) } else { (Vec::new(), inputs) };
        match self.plan.get().values(py, checked, inputs) {
            Ok(results) => Ok(Some(self.built.object(py, &results)?.into_bound(py))),
            // The run has had no effect. The usual way raises the exception with the traceback of the source.
            Err(raised) if raised.is_instance_of::<PyException>(py) => Ok(None),
            Err(raised) => Err(raised),
        }
    }
}
