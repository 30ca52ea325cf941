//! Conversion between Python objects and runtime values.

use std::sync::Arc;

use ag_exec::{Object, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3_tch::PyTensor;

use super::plan::Held;

/// Returns the value for a Python object. Objects other than tensors, numbers, strings, lists and tuples become opaque
/// objects.
pub(super) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::None);
    }
    if let Ok(PyTensor(tensor)) = object.extract::<PyTensor>() {
        return Ok(tensor.into());
    }
    // In Python, bool is a subclass of int.
    if let Ok(value) = object.downcast::<PyBool>() {
        return Ok(Value::Bool(value.is_true()));
    }
    if object.is_exact_instance_of::<PyInt>() {
        return Ok(Value::Int(object.extract()?));
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return Ok(Value::Float(object.extract()?));
    }
    if let Ok(text) = object.downcast_exact::<PyString>() {
        return Ok(Value::str(text.to_str()?));
    }
    let items = || object.try_iter()?.map(|item| from_python(&item?)).collect::<PyResult<Vec<_>>>();
    if object.is_exact_instance_of::<PyList>() {
        return Ok(Value::list(items()?));
    }
    if object.is_exact_instance_of::<PyTuple>() {
        return Ok(Value::tuple(items()?));
    }
    let held: Held = Arc::new(object.clone().unbind());
    Ok(Value::Object(Object(held)))
}

/// Returns whether a result of a function, or an item of it, requires a gradient.
pub(super) fn has_history(result: &Bound<'_, PyAny>) -> bool {
    if let Ok(items) = result.downcast::<PyTuple>() {
        return items.iter().any(|item| has_history(&item));
    }
    if let Ok(items) = result.downcast::<PyList>() {
        return items.iter().any(|item| has_history(&item));
    }
    if let Ok(items) = result.downcast::<PyDict>() {
        return items.iter().any(|(_, item)| has_history(&item));
    }
    let flag = result.getattr_opt(intern!(result.py(), "requires_grad")).ok().flatten();
    flag.is_some_and(|flag| flag.is_truthy().unwrap_or(false))
}

pub(super) fn to_python(py: Python<'_>, value: Value) -> PyResult<PyObject> {
    let items =
        |items: &[Value]| items.iter().map(|item| to_python(py, item.clone())).collect::<PyResult<Vec<_>>>();
    Ok(match value {
        Value::None => py.None(),
        Value::Tensor(tensor) => PyTensor(tensor.shallow_clone()).into_pyobject(py)?.unbind(),
        Value::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Value::Float(value) => value.into_pyobject(py)?.into_any().unbind(),
        Value::Bool(value) => PyBool::new(py, value).to_owned().into_any().unbind(),
        Value::Str(text) => PyString::new(py, &text).into_any().unbind(),
        Value::List(list) => PyList::new(py, items(&list)?)?.into_any().unbind(),
        Value::Tuple(tuple) => PyTuple::new(py, items(&tuple)?)?.into_any().unbind(),
        Value::Object(object) => match object.0.downcast::<PyObject>() {
            Ok(held) => held.clone_ref(py),
            Err(_) => py.None(),
        },
    })
}
