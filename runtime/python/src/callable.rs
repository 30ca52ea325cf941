//! `Callable`: an object whose call adds no frame to tracebacks, because a native method has no frame. So tracebacks do
//! not show this package. A call that is like the last calls does not enter Python at all.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTraceback, PyTuple};

use super::cached_call::PyCachedCall;

/// The maximum number of cached calls of a function, for example of a method for several objects, or for several shapes.
const MAX_CACHED: usize = 8;

/// Calls the method `_call` of the subclass, unless a cached call can run the call. The traceback of an exception starts at
/// the user's code.
#[pyclass(name = "Callable", subclass, module = "autograph._runtime")]
pub(super) struct PyCallable {
    /// The oldest is first. If there are too many, the oldest is removed.
    cached_calls: Vec<Py<PyCachedCall>>,
}

#[pymethods]
impl PyCallable {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self { cached_calls: Vec::new() }
    }

    /// Returns the newest cached call.
    #[getter]
    fn cached_call(&self, py: Python<'_>) -> Option<Py<PyCachedCall>> {
        self.cached_calls.last().map(|cached| cached.clone_ref(py))
    }

    /// Adds a cached call.
    #[setter]
    fn set_cached_call(&mut self, cached: Py<PyCachedCall>) {
        if self.cached_calls.len() == MAX_CACHED {
            self.cached_calls.remove(0);
        }
        self.cached_calls.push(cached);
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
        self.cached_calls.iter().try_for_each(|cached| visit.call(cached))
    }

    fn __clear__(&mut self) {
        self.cached_calls.clear();
    }
}

impl PyCallable {
    fn call<'py>(
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
                return Ok(result);
            }
        }
        slf.call_method(intern!(py, "_call"), args, kwargs)
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
