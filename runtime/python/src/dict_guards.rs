//! `DictGuards`: dictionaries whose values must stay the same objects, such as those with the parameters of modules, and
//! objects whose class must stay the same. Each call of a staged function checks them.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

#[pyclass(frozen, name = "DictGuards", module = "autograph._runtime")]
pub(super) struct PyDictGuards {
    /// The dictionaries, and their values in order.
    dicts: Vec<(Py<PyDict>, Vec<PyObject>)>,
    /// The objects, and their classes: `module.__class__ = Quantized` assigns another one.
    objects: Vec<(PyObject, Py<PyType>)>,
}

#[pymethods]
impl PyDictGuards {
    /// Returns guards for the current values of the dictionaries and the current classes of the objects.
    #[new]
    fn new(dicts: Vec<Bound<'_, PyDict>>, objects: Vec<Bound<'_, PyAny>>) -> Self {
        let values = |dict: &Bound<'_, PyDict>| dict.iter().map(|(_, value)| value.unbind()).collect();
        Self {
            dicts: dicts.into_iter().map(|dict| (dict.clone().unbind(), values(&dict))).collect(),
            objects: objects.into_iter().map(|it| (it.clone().unbind(), it.get_type().unbind())).collect(),
        }
    }

    /// Returns whether all dictionaries have the same values as before, in the same order, and all objects the same
    /// class.
    pub(super) fn hold(&self, py: Python<'_>) -> bool {
        self.dicts.iter().all(|(dict, values)| {
            let dict = dict.bind(py);
            dict.len() == values.len() && dict.iter().zip(values).all(|((_, now), value)| now.is(value))
        }) && self.objects.iter().all(|(object, class)| object.bind(py).get_type().is(class))
    }

    /// For Python's garbage collector: the dictionaries and objects may refer to the function that has these guards.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for (dict, values) in &self.dicts {
            visit.call(dict)?;
            values.iter().try_for_each(|value| visit.call(value))?;
        }
        for (object, class) in &self.objects {
            visit.call(object)?;
            visit.call(class)?;
        }
        Ok(())
    }
}
