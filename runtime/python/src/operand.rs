//! Conversion between Python arguments and operands: values, numbers, strings, lists, dtypes, devices,
//! layouts.

use ag_graph::ir::{Operand, Type, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::torch::{Torch, unsupported};
use super::types;

/// A value of a graph under construction.
#[pyclass(name = "Value", frozen, eq, hash, module = "autograph._runtime")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PyValue {
    pub(super) value: Value,
    pub(super) ty: Type,
}

#[pymethods]
impl PyValue {
    #[getter]
    fn id(&self) -> u32 {
        self.value.0
    }

    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<PyObject> {
        types::object(py, &self.ty)
    }

    fn __repr__(&self) -> String {
        format!("%{}: {}", self.value.0, self.ty)
    }
}

/// The maximum nesting depth of list arguments.
const DEPTH: usize = 64;

pub(super) fn operand(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    nested(object, DEPTH)
}

/// Converts a Python object to an operand. `depth` bounds the nesting of lists.
fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Operand> {
    if object.is_none() {
        return Ok(Operand::None);
    }
    if let Ok(value) = object.downcast::<PyValue>() {
        return Ok(Operand::Value(value.get().value));
    }
    // In Python, bool is a subclass of int.
    if let Ok(value) = object.downcast::<PyBool>() {
        return Ok(Operand::Bool(value.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Operand::Int(object.extract()?));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Operand::Float(object.extract()?));
    }
    if let Ok(text) = object.downcast::<PyString>() {
        return Ok(Operand::Str(text.to_str()?.into()));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        if depth == 0 {
            return Err(PyValueError::new_err("the arguments are nested too deeply"));
        }
        let items = object.try_iter()?.map(|item| nested(&item?, depth - 1)).collect::<PyResult<_>>()?;
        return Ok(Operand::List(items));
    }
    constant(object)
}

/// `torch.float32`, `torch.device("cuda:0")`, `torch.strided`, `torch.contiguous_format`.
fn constant(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    let torch = Torch::get(object.py())?;
    if let Some(operand) = torch.constant(object) {
        return Ok(operand.clone());
    }
    if torch.is_device(object) {
        return torch.device(object).map(Operand::Device);
    }
    let class = object.get_type().qualname()?.to_string();
    Err(match class.as_str() {
        "dtype" | "layout" | "memory_format" => unsupported(&class, object),
        _ => PyTypeError::new_err(format!("a graph cannot hold a value of type {class}")),
    })
}

/// Converts an operand to a Python object; `typed` adds the type of a value.
pub(super) fn object(
    py: Python<'_>,
    operand: &Operand,
    typed: &dyn Fn(Value) -> PyValue,
) -> PyResult<PyObject> {
    Ok(match operand {
        Operand::None => py.None(),
        Operand::Value(value) => Py::new(py, typed(*value))?.into_any(),
        Operand::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Operand::Float(value) => value.into_pyobject(py)?.into_any().unbind(),
        Operand::Bool(value) => PyBool::new(py, *value).to_owned().into_any().unbind(),
        Operand::Str(text) => PyString::new(py, text).into_any().unbind(),
        Operand::DType(dtype) => Torch::get(py)?.dtype_object(py, *dtype),
        Operand::Device(device) => Torch::get(py)?.device_object(py, *device)?,
        Operand::Layout(layout) => Torch::get(py)?.layout_object(py, *layout),
        Operand::MemoryFormat(format) => Torch::get(py)?.memory_format_object(py, *format),
        Operand::List(items) => {
            let items = items.iter().map(|item| object(py, item, typed)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any().unbind()
        }
    })
}
