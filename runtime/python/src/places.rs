//! The places of Python state that a trace reads: attributes, variables and elements. A call evaluates each of them once.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyTuple};

/// The index of a place in `Places`.
pub(super) type Index = usize;

/// How the value of a place is read. The variants are the classes of `capture/places.py`.
enum Read {
    /// Always this object.
    Held(PyObject),
    /// `owner.__dict__[name]`
    Attribute(PyObject, Py<PyString>),
    /// `slot.__get__(owner)`
    Slot(PyObject, PyObject),
    /// `cell.cell_contents`
    Cell(PyObject),
    /// `scope[name]`
    Global(Py<PyDict>, PyObject),
    /// `container[name]`, where another place holds the container. The position is that in a list or tuple.
    Element(Index, PyObject, Option<usize>),
    /// The attribute `.grad` of the tensor in another place.
    Gradient(Index),
    /// Whether the tensor in another place has hooks.
    Hooks(Index),
    /// An object whose method `state()` returns the value.
    Python(PyObject),
}

#[derive(Default)]
pub(super) struct Places {
    /// A place follows those that it refers to.
    reads: Vec<Read>,
    /// The object that `state()` returns if a place has no value.
    missing: Option<PyObject>,
}

impl Places {
    pub(super) fn new(missing: PyObject) -> Self {
        Self { reads: Vec::new(), missing: Some(missing) }
    }

    fn push(&mut self, read: Read) -> Index {
        let known = self.reads.iter().rposition(|other| other.is(&read));
        known.unwrap_or_else(|| {
            self.reads.push(read);
            self.reads.len() - 1
        })
    }

    /// Adds a place whose value is always this object.
    pub(super) fn held(&mut self, object: &Bound<'_, PyAny>) -> Index {
        self.push(Read::Held(object.clone().unbind()))
    }

    pub(super) fn global(&mut self, scope: &Bound<'_, PyDict>, name: &Bound<'_, PyAny>) -> Index {
        self.push(Read::Global(scope.clone().unbind(), name.clone().unbind()))
    }

    pub(super) fn gradient(&mut self, tensor: Index) -> Index {
        self.push(Read::Gradient(tensor))
    }

    pub(super) fn hooks(&mut self, tensor: Index) -> Index {
        self.push(Read::Hooks(tensor))
    }

    /// Adds a place of `capture/places.py`. Its attribute `reads` names the kind.
    pub(super) fn add(&mut self, place: &Bound<'_, PyAny>) -> PyResult<Index> {
        let py = place.py();
        let kind: Option<String> = place.getattr(intern!(py, "reads"))?.extract()?;
        let get = |name: &str| place.getattr(name);
        let read = match kind.as_deref() {
            Some("held") => Read::Held(get("object")?.unbind()),
            Some("attribute") => {
                let owner = get("owner")?;
                match owner.getattr(intern!(py, "__dict__"))?.is_instance_of::<PyDict>() {
                    true => Read::Attribute(owner.unbind(), get("name")?.extract()?),
                    false => Read::Python(place.clone().unbind()),
                }
            }
            Some("slot") => Read::Slot(get("slot")?.unbind(), get("owner")?.unbind()),
            Some("cell") => Read::Cell(get("cell")?.unbind()),
            Some("global") => match get("scope")?.downcast_into::<PyDict>() {
                Ok(scope) => Read::Global(scope.unbind(), get("name")?.unbind()),
                Err(_) => Read::Python(place.clone().unbind()),
            },
            Some("element") => {
                let (holder, name) = (self.add(&get("holder")?)?, get("name")?);
                let position = if name.is_exact_instance_of::<PyInt>() { name.extract().ok() } else { None };
                Read::Element(holder, name.unbind(), position)
            }
            Some("gradient") => {
                let capture = get("capture")?;
                let place = capture.getattr("place")?;
                let tensor = match place.is_none() {
                    true => self.held(&capture.getattr("tensor")?),
                    false => self.add(&place)?,
                };
                Read::Gradient(tensor)
            }
            _ => Read::Python(place.clone().unbind()),
        };
        Ok(self.push(read))
    }

    /// Returns the current values. `None` for a place that has no value.
    pub(super) fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let mut values: Vec<Option<Bound<'py, PyAny>>> = Vec::with_capacity(self.reads.len());
        for read in &self.reads {
            let value = read.value(py, &values, self.missing.as_ref())?;
            values.push(value);
        }
        Ok(values)
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.reads.iter().try_for_each(|read| match read {
            Read::Held(one) | Read::Cell(one) | Read::Python(one) | Read::Element(_, one, _) => {
                visit.call(one)
            }
            Read::Attribute(owner, _) => visit.call(owner),
            Read::Slot(slot, owner) => visit.call(slot).and_then(|()| visit.call(owner)),
            Read::Global(scope, name) => visit.call(scope).and_then(|()| visit.call(name)),
            Read::Gradient(_) | Read::Hooks(_) => Ok(()),
        })
    }
}

impl Read {
    /// Returns whether both read the same place. Names that are equal, but not the same object, count as different.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Held(one), Self::Held(other)) | (Self::Cell(one), Self::Cell(other)) => one.is(other),
            (Self::Attribute(one, name), Self::Attribute(other, same)) => one.is(other) && name.is(same),
            (Self::Global(one, name), Self::Global(other, same)) => one.is(other) && name.is(same),
            (Self::Slot(slot, one), Self::Slot(same, other)) => slot.is(same) && one.is(other),
            (Self::Element(one, name, _), Self::Element(other, same, _)) => one == other && name.is(same),
            (Self::Gradient(one), Self::Gradient(other)) | (Self::Hooks(one), Self::Hooks(other)) => {
                one == other
            }
            _ => false,
        }
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        earlier: &[Option<Bound<'py, PyAny>>],
        missing: Option<&PyObject>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = |index: Index| {
            let found = earlier.get(index).and_then(Option::as_ref);
            found.ok_or_else(|| PyTypeError::new_err("the holder of a place has no value"))
        };
        Ok(match self {
            Self::Held(object) => Some(object.bind(py).clone()),
            Self::Attribute(owner, name) => {
                owner.bind(py).getattr(intern!(py, "__dict__"))?.downcast::<PyDict>()?.get_item(name)?
            }
            Self::Slot(slot, owner) => slot.bind(py).call_method1(intern!(py, "__get__"), (owner,)).ok(),
            Self::Cell(cell) => match cell.bind(py).getattr(intern!(py, "cell_contents")) {
                Err(error) if error.is_instance_of::<PyValueError>(py) => None,
                found => Some(found?),
            },
            Self::Global(scope, name) => scope.bind(py).get_item(name)?,
            Self::Element(holder, name, position) => {
                let container = at(*holder)?;
                if let Ok(container) = container.downcast::<PyDict>() {
                    return container.get_item(name);
                }
                Some(match position {
                    Some(index) if container.is_exact_instance_of::<PyList>() => {
                        container.downcast::<PyList>()?.get_item(*index)?
                    }
                    Some(index) if container.is_exact_instance_of::<PyTuple>() => {
                        container.downcast::<PyTuple>()?.get_item(*index)?
                    }
                    _ => container.get_item(name)?,
                })
            }
            Self::Gradient(tensor) => {
                let tensor = at(*tensor)?;
                // Torch warns if code reads the gradient of a computed tensor that does not keep it.
                let has_gradient = |name| tensor.getattr(name)?.is_truthy();
                if !has_gradient(intern!(py, "is_leaf"))? && !has_gradient(intern!(py, "retains_grad"))? {
                    return Err(PyTypeError::new_err("a computed tensor keeps no gradient"));
                }
                Some(tensor.getattr(intern!(py, "grad"))?)
            }
            Self::Hooks(tensor) => Some(at(*tensor)?.getattr(intern!(py, "_backward_hooks"))?),
            Self::Python(place) => {
                let found = place.bind(py).call_method0(intern!(py, "state"))?;
                Some(found).filter(|found| missing.is_none_or(|missing| !found.is(missing)))
            }
        })
    }
}
