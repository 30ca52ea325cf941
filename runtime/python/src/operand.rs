//! Conversion between Python arguments and operands: values, numbers, strings, lists, dtypes, devices,
//! layouts.

use ag_graph::ir::{DType, Device, Operand, Value};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

/// A value of a graph under construction.
#[pyclass(name = "Value", frozen, eq, hash, module = "autograph._runtime")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PyValue {
    pub(super) value: Value,
    /// In text form: `f32[4]`.
    #[pyo3(get, name = "type")]
    pub(super) ty: String,
}

#[pymethods]
impl PyValue {
    #[getter]
    fn id(&self) -> u32 {
        self.value.0
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
    named(object)
}

/// `torch.float32`, `torch.device("cuda:0")`, `torch.strided`, `torch.contiguous_format`.
fn named(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    let class = object.get_type().qualname()?.to_string();
    let text = object.str()?.to_string();
    let name = text.strip_prefix("torch.").unwrap_or(&text);
    let found = match class.as_str() {
        "dtype" => DType::from_torch(name).map(Operand::DType),
        "device" => Device::from_text(name).map(Operand::Device),
        "layout" => Some(Operand::Layout(name.into())),
        "memory_format" => Some(Operand::MemoryFormat(name.into())),
        _ => return Err(PyTypeError::new_err(format!("a graph cannot hold a value of type {class}"))),
    };
    found.ok_or_else(|| PyValueError::new_err(format!("unsupported {class}: {text}")))
}

/// Converts an operand to a Python object; `typed` adds the type of a value.
pub(super) fn object(
    py: Python<'_>,
    operand: &Operand,
    typed: &dyn Fn(Value) -> PyValue,
) -> PyResult<PyObject> {
    let torch = |name: &str| PyResult::Ok(py.import("torch")?.getattr(name)?.unbind());
    Ok(match operand {
        Operand::None => py.None(),
        Operand::Value(value) => Py::new(py, typed(*value))?.into_any(),
        Operand::Int(value) => value.into_pyobject(py)?.into_any().unbind(),
        Operand::Float(value) => value.into_pyobject(py)?.into_any().unbind(),
        Operand::Bool(value) => PyBool::new(py, *value).to_owned().into_any().unbind(),
        Operand::Str(text) => PyString::new(py, text).into_any().unbind(),
        Operand::DType(dtype) => torch(dtype.torch())?,
        Operand::Device(device) => {
            py.import("torch")?.call_method1("device", (device.to_string(),))?.unbind()
        }
        Operand::Layout(name) | Operand::MemoryFormat(name) => torch(name)?,
        Operand::List(items) => {
            let items = items.iter().map(|item| object(py, item, typed)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any().unbind()
        }
    })
}
