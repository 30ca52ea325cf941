//! `Built`: the structure of the values that a run returns or assigns, built from results of the graph.

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple, PyType};

/// The structure of the function's result, built from results of the graph. Each call creates new containers.
pub(super) enum Built {
    Result(usize),
    /// The same object as an input.
    Input(usize),
    /// The same object in each call.
    Constant(PyObject),
    Tuple(Vec<Self>),
    List(Vec<Self>),
    Dict(Vec<(PyObject, Self)>),
    /// An object of a class of named tuples.
    Named(PyObject, Vec<Self>),
    /// An object of a class that is written in Python, with its attributes.
    Object(Py<PyType>, Vec<(PyObject, Self)>),
}

impl FromPyObject<'_> for Built {
    fn extract_bound(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(items) = object.downcast::<PyTuple>() {
            return Ok(Self::Tuple(items.extract()?));
        }
        if let Ok(items) = object.downcast::<PyList>() {
            return Ok(Self::List(items.extract()?));
        }
        if let Ok(items) = object.downcast::<PyDict>() {
            let items = items.iter().map(|(key, item)| Ok((key.unbind(), item.extract()?)));
            return Ok(Self::Dict(items.collect::<PyResult<_>>()?));
        }
        if object.is_exact_instance_of::<PyInt>() {
            return Ok(Self::Result(object.extract()?));
        }
        // An object of the class `Form` in `tracing/result.py`.
        let kind: String = object.getattr("kind")?.extract()?;
        let value = object.getattr("value")?;
        Ok(match kind.as_str() {
            "input" => Self::Input(value.extract()?),
            "named" => {
                let (class, items) = value.extract()?;
                Self::Named(class, items)
            }
            "object" => {
                let (class, attributes): (_, Bound<'_, PyDict>) = value.extract()?;
                let items = attributes.iter().map(|(key, item)| Ok((key.unbind(), item.extract()?)));
                Self::Object(class, items.collect::<PyResult<_>>()?)
            }
            _ => Self::Constant(value.unbind()),
        })
    }
}

impl Built {
    pub(super) fn object<'py>(
        &self,
        py: Python<'py>,
        results: &[PyObject],
        inputs: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let objects = |items: &[Self]| {
            items.iter().map(|item| item.object(py, results, inputs)).collect::<PyResult<Vec<_>>>()
        };
        let missing = || PyTypeError::new_err("a result is missing");
        let set_all = |dict: &Bound<'py, PyDict>, items: &[(PyObject, Self)]| {
            items.iter().try_for_each(|(key, item)| dict.set_item(key, item.object(py, results, inputs)?))
        };
        Ok(match self {
            Self::Result(index) => results.get(*index).ok_or_else(missing)?.bind(py).clone(),
            Self::Input(index) => inputs.get(*index).ok_or_else(missing)?.clone(),
            Self::Constant(object) => object.bind(py).clone(),
            Self::Tuple(items) => PyTuple::new(py, objects(items)?)?.into_any(),
            Self::List(items) => PyList::new(py, objects(items)?)?.into_any(),
            Self::Dict(items) => {
                let dict = PyDict::new(py);
                set_all(&dict, items)?;
                dict.into_any()
            }
            Self::Named(class, items) => class.bind(py).call1(PyTuple::new(py, objects(items)?)?)?,
            Self::Object(class, attributes) => {
                let new = py.get_type::<PyAny>().getattr(intern!(py, "__new__"))?;
                let object = new.call1((class,))?;
                set_all(object.getattr(intern!(py, "__dict__"))?.downcast()?, attributes)?;
                object
            }
        })
    }

    /// Returns whether the value contains inputs.
    pub(super) fn has_inputs(&self) -> bool {
        match self {
            Self::Input(_) => true,
            Self::Result(_) | Self::Constant(_) => false,
            Self::Tuple(items) | Self::List(items) | Self::Named(_, items) => {
                items.iter().any(Self::has_inputs)
            }
            Self::Dict(items) | Self::Object(_, items) => items.iter().any(|(_, item)| item.has_inputs()),
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        let all = |items: &[Self]| items.iter().try_for_each(|item| item.traverse(visit));
        match self {
            Self::Result(_) | Self::Input(_) => Ok(()),
            Self::Constant(object) => visit.call(object),
            Self::Tuple(items) | Self::List(items) => all(items),
            Self::Named(class, items) => visit.call(class).and_then(|()| all(items)),
            Self::Dict(items) => items.iter().try_for_each(|(_, item)| item.traverse(visit)),
            Self::Object(class, items) => {
                visit.call(class)?;
                items.iter().try_for_each(|(_, item)| item.traverse(visit))
            }
        }
    }
}
