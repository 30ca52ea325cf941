//! `Callable`: an object whose call adds no frame to tracebacks, because a native method has no frame. So tracebacks do
//! not show this package. A call that is like the last calls does not enter Python at all, and a call for which the lookup
//! of a graph does not pay only enters the user's function.

use std::time::{Duration, Instant};

use ag_exec::Clock;
use pyo3::exceptions::PyAttributeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTraceback, PyTuple};

use super::cached_call::PyCachedCall;
use super::modes::{EagerBlock, compares_with_python, is_suspended, runs_eagerly};
use super::trial::{Trial, Way};
use super::value::has_history;

/// The maximum number of cached calls of a function, for example of a method for several objects, or for several shapes.
const MAX_CACHED: usize = 8;

/// Calls the method `_call` of the subclass, unless a cached call can run the call. The traceback of an exception starts at
/// the user's code.
#[pyclass(name = "Callable", subclass, module = "autograph._runtime")]
pub(super) struct PyCallable {
    /// The function as Python runs it. Some subclasses have none.
    python_function: Option<PyObject>,
    /// Those that run most often are first: one that runs a call changes places with the one before it.
    cached_calls: Vec<Py<PyCachedCall>>,
    /// The one that was added last.
    newest: Option<Py<PyCachedCall>>,
    /// The number of the next calls that Python runs without a lookup of a graph.
    skips: u32,
    counts: Counts,
    /// Measures whether graphs or Python are faster, as long as Python has to run no call.
    trial: Trial,
    /// Whether the call that is running has traced a graph, so that its time is not that of other calls.
    has_traced: bool,
}

/// What calls have done without `_call`, since `take_counts` was called last.
#[derive(Default)]
struct Counts {
    /// The number of calls whose graph ran without Python.
    direct: u32,
    /// The number of calls that Python ran without a lookup, and their time.
    skipped: u32,
    skipped_time: Duration,
    /// The number of calls that Python ran because it is faster.
    faster: u32,
}

#[pymethods]
impl PyCallable {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self {
            python_function: None,
            cached_calls: Vec::new(),
            newest: None,
            skips: 0,
            counts: Counts::default(),
            trial: Trial::default(),
            has_traced: false,
        }
    }

    #[getter]
    fn get_python_function(&self, py: Python<'_>) -> PyResult<PyObject> {
        let missing = || PyAttributeError::new_err("python_function");
        self.python_function.as_ref().map(|function| function.clone_ref(py)).ok_or_else(missing)
    }

    #[setter]
    fn set_python_function(&mut self, function: PyObject) {
        self.python_function = Some(function);
    }

    /// Returns the newest cached call.
    #[getter]
    fn cached_call(&self, py: Python<'_>) -> Option<Py<PyCachedCall>> {
        self.newest.as_ref().map(|cached| cached.clone_ref(py))
    }

    /// Adds a cached call. If there are too many, the last one is removed.
    #[setter]
    fn set_cached_call(&mut self, py: Python<'_>, cached: Py<PyCachedCall>) {
        self.cached_calls.truncate(MAX_CACHED - 1);
        self.newest = Some(cached.clone_ref(py));
        self.cached_calls.insert(0, cached);
    }

    /// Sets whether calls are measured, to find out whether Python is faster. Without this, Python runs no call of which a graph
    /// is valid.
    fn measure_calls(&mut self, is_enabled: bool) {
        self.trial.is_enabled = is_enabled;
    }

    /// Called when Python had to run a call, because no graph is valid for it.
    fn pause_measurement(&mut self) {
        self.trial.pause();
    }

    /// Called when a call has traced a graph, in this time.
    fn note_trace(&mut self, seconds: f64) {
        self.has_traced = true;
        self.trial.note_trace(seconds);
    }

    /// Python runs this number of the next calls, without a lookup of a graph.
    fn skip_lookups(&mut self, count: u32) {
        self.skips = count;
    }

    /// Returns the number of calls whose graph ran without Python, the number of calls that Python ran without a lookup, the
    /// seconds of the latter, and the number of calls that Python ran because it is faster. Begins to count anew.
    fn take_counts(&mut self) -> (u32, u32, f64, u32) {
        let counts = std::mem::take(&mut self.counts);
        (counts.direct, counts.skipped, counts.skipped_time.as_secs_f64(), counts.faster)
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        Self::call(slf, args, kwargs)
            .map_err(|raised| without_package_frames(py, &raised).map_or_else(|_| raised, PyErr::from_value))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.python_function)?;
        self.cached_calls.iter().chain(&self.newest).try_for_each(|cached| visit.call(cached))
    }

    fn __clear__(&mut self) {
        self.python_function = None;
        self.cached_calls.clear();
        self.newest = None;
    }
}

impl PyCallable {
    fn call<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if runs_eagerly() && !is_suspended() {
            let function = slf.borrow().python_function.as_ref().map(|function| function.clone_ref(py));
            if let Some(function) = function {
                return function.bind(py).call(args, kwargs);
            }
        } else if slf.borrow().skips != 0 && !is_suspended() {
            return Self::skip(slf, args, kwargs);
        } else if !is_suspended() && compares_with_python() {
            let (way, is_measured) = slf.borrow_mut().trial.next();
            if is_measured {
                return Self::measured(slf, way, args, kwargs);
            } else if way == Way::Python {
                return Self::faster(slf, args, kwargs);
            }
        }
        Self::staged(slf, args, kwargs)
    }

    /// Runs a call of this way, and measures its time.
    fn measured<'py>(
        slf: &Bound<'py, Self>,
        way: Way,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.borrow_mut().has_traced = false;
        let clock = Clock::new();
        let start = clock.read();
        let result = match way {
            Way::Graph => Self::staged(slf, args, kwargs),
            Way::Python => Self::faster(slf, args, kwargs),
        }?;
        let time = clock.read().saturating_sub(start);
        let mut callable = slf.borrow_mut();
        if callable.has_traced {
            callable.trial.traced(time);
        } else {
            callable.trial.record(way, time, has_history(&result));
        }
        drop(callable);
        Ok(result)
    }

    /// Runs a graph, if a call can be staged.
    fn staged<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        // Another thread, or code of the user that a guard calls, may add a cached call.
        for index in 0..MAX_CACHED {
            let Some(cached) = slf.borrow().cached_calls.get(index).map(|cached| cached.clone_ref(py)) else {
                break;
            };
            if let Some(result) = cached.get().call(py, args, kwargs)? {
                slf.borrow_mut().note_run(index, &cached);
                return Ok(result);
            }
        }
        slf.call_method(intern!(py, "_call"), args, kwargs)
    }

    /// Called after the cached call at this index has run a call.
    fn note_run(&mut self, index: usize, cached: &Py<PyCachedCall>) {
        self.trial.note_run();
        if cached.get().is_direct() {
            self.counts.direct = self.counts.direct.saturating_add(1);
        }
        // The run may have changed the list.
        if index != 0 && self.cached_calls.get(index).is_some_and(|other| other.is(cached)) {
            self.cached_calls.swap(index - 1, index);
        }
    }

    /// Python runs this call because it is faster, or to find out whether it is.
    fn faster<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        {
            let counts = &mut slf.borrow_mut().counts;
            counts.faster = counts.faster.saturating_add(1);
        }
        Self::in_python(slf, args, kwargs)
    }

    fn in_python<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = slf.borrow().get_python_function(slf.py())?;
        let _block = EagerBlock::new();
        function.bind(slf.py()).call(args, kwargs)
    }

    /// Python runs this call, and its time is counted.
    fn skip<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.borrow_mut().skips -= 1;
        let start = Instant::now();
        let result = Self::in_python(slf, args, kwargs);
        let counts = &mut slf.borrow_mut().counts;
        counts.skipped = counts.skipped.saturating_add(1);
        counts.skipped_time += start.elapsed();
        result
    }
}

/// Returns the exception, with the package's own frames removed from its traceback.
fn without_package_frames<'py>(py: Python<'py>, raised: &PyErr) -> PyResult<Bound<'py, PyAny>> {
    raised.value(py).call_method1("with_traceback", (skip_package_frames(py, raised.traceback(py))?,))
}

/// Skips leading frames of this package.
fn skip_package_frames<'py>(
    py: Python<'py>,
    traceback: Option<Bound<'py, PyTraceback>>,
) -> PyResult<Option<Bound<'py, PyTraceback>>> {
    let package: String = py.import("autograph")?.getattr("__path__")?.get_item(0)?.extract()?;
    let mut next = traceback;
    while let Some(entry) = &next {
        let code = entry.getattr("tb_frame")?.getattr("f_code")?;
        if !code.getattr("co_filename")?.extract::<String>()?.starts_with(&package) {
            break;
        }
        let after = entry.getattr("tb_next")?;
        next = if after.is_none() { None } else { Some(after.downcast_into()?) };
    }
    Ok(next)
}
