//! `StateGuards`: the guards of a trace, checked without Python, and the values from outside that are inputs of its graph.
//!
//! A check that fails here may still hold: Python then decides (`Guards.broken` in `tracing/guards.py`). So these checks only
//! need to recognize what is usual, such as the same object as before.

use ag_exec::Value;
use ag_exec::aten::Form;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};
use pyo3_tch::PyTensor;

use super::dict_guards::PyDictGuards;
use super::places::{Index, Places};
use super::value::from_python;

/// The number of elements of a list or tuple, or the keys of a dictionary in order.
enum Extent {
    Length(usize),
    Keys(Vec<PyObject>),
}

enum Check {
    /// The place holds this object, or an equal number or string. `None`: it has no value.
    Value(Index, Option<PyObject>),
    /// The place holds a list, tuple or dictionary of this class and extent.
    Form(Index, Py<PyType>, Extent),
    /// The place holds none of these containers, which are given by their ids.
    NoneOf(Index, Vec<usize>),
    /// The place holds this tensor, or one like it. The form is `None` if only the same tensor is recognized.
    Tensor(Index, PyObject, Py<PyType>, Option<Form>),
    /// Both places hold the same object.
    Same(Index, Index),
    /// The place holds an object of this class.
    Class(Index, Py<PyType>),
    /// Whether the tensor requires a gradient.
    RequiresGrad(PyObject, bool),
    /// Whether the value is None.
    IsNone(Index, bool),
    /// Whether the value is true.
    IsTrue(Index, bool),
    /// The function returns true.
    Python(PyObject),
}

/// Dictionaries with their lengths, and keys that must stay in them (`tracing/absent.py`).
#[pyclass(frozen, name = "AbsentGuards", module = "autograph._runtime")]
pub(super) struct PyAbsentGuards {
    lengths: Vec<(PyObject, usize)>,
    held: Vec<(PyObject, PyObject)>,
}

#[pymethods]
impl PyAbsentGuards {
    #[new]
    fn new(dictionaries: Vec<Bound<'_, PyAny>>, held: Vec<(PyObject, PyObject)>) -> PyResult<Self> {
        let lengths = dictionaries.into_iter().map(|it| Ok((it.clone().unbind(), it.len()?)));
        Ok(Self { lengths: lengths.collect::<PyResult<_>>()?, held })
    }

    /// Returns whether each dictionary has as many keys as before, and these keys.
    fn hold(&self, py: Python<'_>) -> PyResult<bool> {
        for (dictionary, length) in &self.lengths {
            if dictionary.bind(py).len()? != *length {
                return Ok(false);
            }
        }
        for (dictionary, key) in &self.held {
            if !dictionary.bind(py).contains(key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.lengths.iter().try_for_each(|(dictionary, _)| visit.call(dictionary))?;
        self.held
            .iter()
            .try_for_each(|(dictionary, key)| visit.call(dictionary).and_then(|()| visit.call(key)))
    }
}

/// An input of the graph.
enum Input {
    /// The leaf of the arguments with this index.
    Leaf(usize),
    /// The attribute `.grad` of this leaf.
    GradientOfLeaf(usize),
    Outside(Index),
}

#[pyclass(frozen, name = "StateGuards", module = "autograph._runtime")]
pub(super) struct PyStateGuards {
    places: Places,
    checks: Vec<Check>,
    inputs: Vec<Input>,
    dicts: Py<PyDictGuards>,
    /// An `Absent`, whose attribute `guards` is the current `AbsentGuards`.
    absent: PyObject,
}

/// The values of a call at all places.
pub(super) type Values<'py> = Vec<Option<Bound<'py, PyAny>>>;

#[pymethods]
impl PyStateGuards {
    /// `checks` and `inputs` are tuples that begin with their kind; see `tracing/state_guards.py`.
    #[new]
    fn new(
        missing: PyObject,
        checks: Vec<Bound<'_, PyTuple>>,
        inputs: Vec<(String, Bound<'_, PyAny>)>,
        dicts: Py<PyDictGuards>,
        absent: PyObject,
    ) -> PyResult<Self> {
        let mut places = Places::new(missing);
        let checks = checks.iter().map(|check| Check::of(&mut places, check)).collect::<PyResult<_>>()?;
        let inputs = inputs.iter().map(|(kind, source)| {
            Ok(match kind.as_str() {
                "leaf" => Input::Leaf(source.extract()?),
                "gradient" => Input::GradientOfLeaf(source.extract()?),
                "held" => Input::Outside(places.held(source)),
                _ => Input::Outside(places.add(source)?),
            })
        });
        let inputs = inputs.collect::<PyResult<_>>()?;
        Ok(Self { places, checks, inputs, dicts, absent })
    }

    /// Returns whether all guards hold. If not, Python must check them.
    #[pyo3(name = "hold")]
    fn py_hold(&self, py: Python<'_>) -> bool {
        self.hold(py, true).is_some()
    }

    /// Returns the inputs of the graph for these leaves of the arguments.
    fn inputs_of<'py>(
        &self,
        py: Python<'py>,
        leaves: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.inputs(&leaves, &self.places.values(py)?)
    }

    /// For Python's garbage collector: the state may refer to the function that has these guards.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.places.traverse(&visit)?;
        self.checks.iter().try_for_each(|check| check.traverse(&visit))?;
        visit.call(&self.dicts)?;
        visit.call(&self.absent)
    }
}

impl PyStateGuards {
    /// Returns the values at all places, if all guards hold. `with_inputs`: including those of whether inputs from outside
    /// require a gradient.
    pub(super) fn hold<'py>(&self, py: Python<'py>, with_inputs: bool) -> Option<Values<'py>> {
        let absent = self.absent.bind(py).getattr(intern!(py, "guards")).ok()?;
        if !self.dicts.get().hold(py) || !absent.downcast::<PyAbsentGuards>().ok()?.get().hold(py).ok()? {
            return None;
        }
        // An exception, for example because a list is shorter than before.
        let values = self.places.values(py).ok()?;
        let is_needed = |check: &&Check| with_inputs || !matches!(check, Check::RequiresGrad(..));
        let mut checks = self.checks.iter().filter(is_needed);
        checks.all(|check| check.holds(py, &values).unwrap_or(false)).then_some(values)
    }

    pub(super) fn inputs<'py>(
        &self,
        leaves: &[Bound<'py, PyAny>],
        values: &Values<'py>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let missing = || PyTypeError::new_err("an input has no value");
        let input = |input: &Input| match input {
            Input::Leaf(index) => leaves.get(*index).cloned().ok_or_else(missing),
            Input::GradientOfLeaf(index) => leaves.get(*index).ok_or_else(missing)?.getattr("grad"),
            Input::Outside(index) => values.get(*index).cloned().flatten().ok_or_else(missing),
        };
        self.inputs.iter().map(input).collect()
    }

    /// Returns whether all inputs are arguments.
    pub(super) fn reads_only_leaves(&self) -> bool {
        self.inputs.iter().all(|input| matches!(input, Input::Leaf(_)))
    }

    /// Returns the inputs for a run without a history. Takes the values of the leaves.
    pub(super) fn run_inputs(&self, leaves: &mut [Value], values: &Values<'_>) -> PyResult<Vec<Value>> {
        let mut found = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            found.push(match input {
                Input::Leaf(index) => leaves.get_mut(*index).map(std::mem::take).unwrap_or_default(),
                Input::GradientOfLeaf(_) => return Err(PyTypeError::new_err("a gradient of an argument")),
                Input::Outside(index) => match values.get(*index) {
                    Some(Some(value)) => from_python(value)?,
                    _ => return Err(PyTypeError::new_err("an input has no value")),
                },
            });
        }
        Ok(found)
    }
}

impl Check {
    fn of(places: &mut Places, check: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let kind: String = check.get_item(0)?.extract()?;
        let item = |index: usize| check.get_item(index);
        Ok(match kind.as_str() {
            "slot" => {
                let scope = item(1)?;
                let place = places.global(scope.downcast()?, &item(2)?);
                Self::Value(place, Some(item(3)?.unbind()))
            }
            "value" => Self::Value(places.add(&item(1)?)?, Some(item(2)?.unbind())),
            "missing" => Self::Value(places.add(&item(1)?)?, None),
            "form" => {
                let extent = item(3)?;
                let extent = match extent.extract() {
                    Ok(length) => Extent::Length(length),
                    Err(_) => Extent::Keys(extent.extract()?),
                };
                Self::Form(places.add(&item(1)?)?, item(2)?.extract()?, extent)
            }
            "none of" => Self::NoneOf(places.add(&item(1)?)?, item(2)?.extract()?),
            "tensor" => {
                let tensor = item(2)?;
                let form = Form::of(&tensor.extract::<PyTensor>()?.0);
                // Another tensor that requires a gradient may have another kind of history.
                let form = form.filter(|form| !form.requires_grad());
                Self::Tensor(
                    places.add(&item(1)?)?,
                    tensor.clone().unbind(),
                    tensor.get_type().unbind(),
                    form,
                )
            }
            "same" => Self::Same(places.add(&item(1)?)?, places.add(&item(2)?)?),
            "class" => Self::Class(places.add(&item(1)?)?, item(2)?.extract()?),
            "requires_grad" => Self::RequiresGrad(item(1)?.unbind(), item(2)?.extract()?),
            "gradient of" => {
                let tensor = places.add(&item(1)?)?;
                Self::IsNone(places.gradient(tensor), item(2)?.extract()?)
            }
            "gradient" => {
                let tensor = places.held(&item(1)?);
                Self::IsNone(places.gradient(tensor), item(2)?.extract()?)
            }
            "hooks of" => {
                let tensor = places.add(&item(1)?)?;
                Self::IsTrue(places.hooks(tensor), item(2)?.extract()?)
            }
            "hooks" => {
                let tensor = places.held(&item(1)?);
                Self::IsTrue(places.hooks(tensor), item(2)?.extract()?)
            }
            _ => Self::Python(item(1)?.unbind()),
        })
    }

    fn holds(&self, py: Python<'_>, values: &Values<'_>) -> PyResult<bool> {
        let at = |index: &Index| values.get(*index).and_then(Option::as_ref);
        Ok(match self {
            Self::Value(place, expected) => match (at(place), expected) {
                (None, None) => true,
                (Some(now), Some(expected)) => is_equal(now, expected.bind(py))?,
                _ => false,
            },
            Self::Form(place, class, extent) => match at(place) {
                Some(now) => now.get_type().is(class) && extent.is_of(now)?,
                None => false,
            },
            Self::NoneOf(place, containers) => {
                at(place).is_none_or(|now| !containers.contains(&now.as_ptr().addr()))
            }
            Self::Tensor(place, tensor, class, form) => match at(place) {
                Some(now) if now.is(tensor) => true,
                Some(now) if now.get_type().is(class) => form.as_ref().is_some_and(|form| {
                    now.extract::<PyTensor>().is_ok_and(|PyTensor(now)| form.matches(&now))
                }),
                _ => false,
            },
            Self::Same(one, other) => match (at(one), at(other)) {
                (Some(one), Some(other)) => one.is(other),
                _ => false,
            },
            Self::Class(place, class) => at(place).is_some_and(|now| now.get_type().is(class)),
            Self::RequiresGrad(tensor, flag) => {
                tensor.bind(py).extract::<PyTensor>()?.requires_grad() == *flag
            }
            Self::IsNone(place, flag) => at(place).is_some_and(|now| now.is_none() == *flag),
            Self::IsTrue(place, flag) => match at(place) {
                Some(now) => now.is_truthy()? == *flag,
                None => false,
            },
            Self::Python(check) => check.bind(py).call0()?.is_truthy()?,
        })
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Value(_, object) => visit.call(object),
            Self::Form(_, class, extent) => {
                visit.call(class)?;
                match extent {
                    Extent::Length(_) => Ok(()),
                    Extent::Keys(keys) => keys.iter().try_for_each(|key| visit.call(key)),
                }
            }
            Self::Tensor(_, tensor, class, _) => visit.call(tensor).and_then(|()| visit.call(class)),
            Self::Class(_, class) => visit.call(class),
            Self::RequiresGrad(object, _) | Self::Python(object) => visit.call(object),
            Self::NoneOf(..) | Self::Same(..) | Self::IsNone(..) | Self::IsTrue(..) => Ok(()),
        }
    }
}

impl Extent {
    fn is_of(&self, container: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(match self {
            Self::Length(length) => container.len()? == *length,
            Self::Keys(keys) => {
                let container = container.downcast::<PyDict>()?;
                container.len() == keys.len() && container.iter().zip(keys).all(|((now, _), key)| now.is(key))
            }
        })
    }
}

/// Returns whether both are the same object, or equal numbers or strings of the same class. `0.0` and `-0.0` differ.
fn is_equal(now: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>) -> PyResult<bool> {
    if now.is(expected) {
        return Ok(true);
    }
    if let Ok(expected) = expected.downcast_exact::<PyFloat>() {
        let bits = expected.value().to_bits();
        return Ok(now.downcast_exact::<PyFloat>().is_ok_and(|now| now.value().to_bits() == bits));
    }
    let is_plain = expected.is_exact_instance_of::<PyInt>()
        || expected.is_exact_instance_of::<PyString>()
        || expected.is_exact_instance_of::<PyBytes>()
        || expected.is_exact_instance_of::<PyBool>();
    Ok(is_plain && now.get_type().is(&expected.get_type()) && now.eq(expected)?)
}
