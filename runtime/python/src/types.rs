//! `Type` and its subclasses: the types of values, for Python.

use ag_graph::ir::text::parse_type;
use ag_graph::ir::{DType, Device, Dim, TensorType, Type};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType as PyClass};

use super::torch::Torch;

/// The type of a value. Two types are equal if a graph does not distinguish them.
#[pyclass(name = "Type", subclass, frozen, eq, hash, str, module = "autograph._runtime")]
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PyType(Type);

#[pymethods]
impl PyType {
    #[classattr]
    const INT: Self = Self(Type::Int);
    #[classattr]
    const FLOAT: Self = Self(Type::Float);
    #[classattr]
    const BOOL: Self = Self(Type::Bool);
    #[classattr]
    const STR: Self = Self(Type::Str);
    #[classattr]
    const NONE: Self = Self(Type::None);

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

impl std::fmt::Display for PyType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A tensor. A dimension whose size is unknown is None.
#[pyclass(name = "TensorType", extends = PyType, frozen, module = "autograph._runtime")]
pub(super) struct PyTensorType {
    #[pyo3(get)]
    dtype: PyObject,
    #[pyo3(get)]
    dims: Py<PyTuple>,
    #[pyo3(get)]
    device: PyObject,
}

#[pymethods]
impl PyTensorType {
    #[new]
    fn new(
        dtype: Bound<'_, PyAny>,
        dims: Bound<'_, PyTuple>,
        device: Bound<'_, PyAny>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let torch = Torch::get(dtype.py())?;
        let shape = dims.iter().map(|size| dim(&size)).collect::<PyResult<_>>()?;
        let ty =
            TensorType { dtype: torch.dtype(&dtype)?, shape: Some(shape), device: torch.device(&device)? };
        let this = Self { dtype: dtype.unbind(), dims: dims.unbind(), device: device.unbind() };
        Ok(PyClassInitializer::from(PyType(Type::Tensor(ty))).add_subclass(this))
    }

    /// Parses the text that a user writes: `f32[2,?]@cuda`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<PyObject> {
        let invalid =
            |why: &str| PyValueError::new_err(format!("invalid type {text:?}: {why}; expected e.g. f32[3]"));
        match parse_type(text).map_err(|error| invalid(&error.message))? {
            Type::Tensor(ty) if ty.shape.is_some() => object(py, &Type::Tensor(ty)),
            _ => Err(invalid("not a tensor of known rank")),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyClass>, (PyObject, Py<PyTuple>, PyObject)) {
        let (py, this) = (slf.py(), slf.get());
        (slf.get_type(), (this.dtype.clone_ref(py), this.dims.clone_ref(py), this.device.clone_ref(py)))
    }
}

fn dim(size: &Bound<'_, PyAny>) -> PyResult<Dim> {
    if size.is_none() {
        return Ok(Dim::Unknown);
    }
    size.extract().map(Dim::Known).map_err(|_| PyValueError::new_err(format!("invalid size {size}")))
}

/// A list. Its element type is None until an item is known.
#[pyclass(name = "ListType", extends = PyType, frozen, module = "autograph._runtime")]
pub(super) struct PyListType {
    #[pyo3(get)]
    element: Option<Py<PyType>>,
}

#[pymethods]
impl PyListType {
    #[new]
    #[pyo3(signature = (element = None))]
    fn new(element: Option<Py<PyType>>) -> PyClassInitializer<Self> {
        // In a graph, a list that is always empty also has an element type.
        let empty =
            || Type::Tensor(TensorType { dtype: DType::F32, shape: Some(Vec::new()), device: Device::Cpu });
        let ty = Type::list(element.as_ref().map_or_else(empty, |element| element.get().0.clone()));
        PyClassInitializer::from(PyType(ty)).add_subclass(Self { element })
    }
}

/// A tuple.
#[pyclass(name = "TupleType", extends = PyType, frozen, module = "autograph._runtime")]
pub(super) struct PyTupleType {
    #[pyo3(get)]
    items: Py<PyTuple>,
}

#[pymethods]
impl PyTupleType {
    #[new]
    fn new(items: Bound<'_, PyTuple>) -> PyResult<PyClassInitializer<Self>> {
        let types = items.iter().map(|item| Ok(data(item.downcast()?))).collect::<PyResult<_>>()?;
        let this = Self { items: items.unbind() };
        Ok(PyClassInitializer::from(PyType(Type::Tuple(types))).add_subclass(this))
    }
}

pub(super) fn data(ty: &Bound<'_, PyType>) -> Type {
    ty.get().0.clone()
}

pub(super) fn all_data(types: &[Bound<'_, PyType>]) -> Vec<Type> {
    types.iter().map(data).collect()
}

/// Returns the Python object for a type.
pub(super) fn object(py: Python<'_>, ty: &Type) -> PyResult<PyObject> {
    let base = PyClassInitializer::from(PyType(ty.clone()));
    Ok(match ty {
        Type::Tensor(tensor) => Py::new(py, base.add_subclass(tensor_type(py, tensor)?))?.into_any(),
        Type::List(element) => {
            let element = object(py, element)?.downcast_bound::<PyType>(py)?.clone().unbind();
            Py::new(py, base.add_subclass(PyListType { element: Some(element) }))?.into_any()
        }
        Type::Tuple(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            let items = PyTuple::new(py, items)?.unbind();
            Py::new(py, base.add_subclass(PyTupleType { items }))?.into_any()
        }
        _ => Py::new(py, base)?.into_any(),
    })
}

fn tensor_type(py: Python<'_>, ty: &TensorType) -> PyResult<PyTensorType> {
    let torch = Torch::get(py)?;
    let unknown = || PyValueError::new_err(format!("the rank of {ty} is unknown"));
    let dims = ty.shape.as_ref().ok_or_else(unknown)?.iter();
    let dims = dims.map(|dim| if let Dim::Known(size) = dim { Some(*size) } else { None });
    Ok(PyTensorType {
        dtype: torch.dtype_object(py, ty.dtype),
        dims: PyTuple::new(py, dims.collect::<Vec<_>>())?.unbind(),
        device: torch.device_object(py, ty.device)?,
    })
}
