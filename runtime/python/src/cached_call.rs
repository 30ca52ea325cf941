//! `CachedCall`: the graph that the last calls of a staged function ran, and the conditions under which the next call runs
//! it too. With it, most calls need no lookup of their trace in Python, which takes longer than a small graph.

use ag_exec::Value;
use ag_exec::aten::Form;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple, PyType};

use super::direct::{Leaves, PyDirect};
use super::modes::{Settings, runs_graphs};
use super::state_guards::PyStateGuards;
use super::value::from_python;

/// The maximum number of leaves in the arguments of a cached call. Each leaf is compared with all leaves before it.
const MAX_LEAVES: usize = 64;

/// The condition for an argument of the next call, under which the key of the trace stays the same.
enum Argument {
    Tensor {
        class: Py<PyType>,
        form: Form,
        /// Whether it requires a gradient and is not computed.
        is_leaf: bool,
        /// The first leaf that is the same object; a trace distinguishes `f(x, x)` from `f(x, y)`.
        first: usize,
    },
    None,
    Bool(bool),
    Int(i64),
    /// The bits of a float: 0.0 and -0.0 have different traces.
    Float(u64),
    Str(String),
    /// The same object, as the `self` of a method. Guards watch its attributes.
    Same(PyObject),
    List(Vec<Self>),
    Tuple(Vec<Self>),
    /// An object of a class of named tuples.
    Named(Py<PyType>, Vec<Self>),
    /// The keys of a dictionary, which are strings, in order.
    Dict(Vec<(String, Self)>),
}

fn is_leaf(tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
    tensor.getattr(intern!(tensor.py(), "is_leaf"))?.is_truthy()
}

impl Argument {
    /// Returns the condition that this argument satisfies. `None` if arguments of this kind cannot be compared here.
    fn of<'py>(argument: &Bound<'py, PyAny>, leaves: &mut Leaves<'py>) -> Option<Self> {
        if let Ok(items) = argument.downcast_exact::<PyList>() {
            return Some(Self::List(
                items.iter().map(|item| Self::of(&item, leaves)).collect::<Option<_>>()?,
            ));
        }
        if let Ok(items) = argument.downcast_exact::<PyTuple>() {
            return Some(Self::Tuple(
                items.iter().map(|item| Self::of(&item, leaves)).collect::<Option<_>>()?,
            ));
        }
        if let Ok(items) = argument.downcast_exact::<PyDict>() {
            let item = |(key, item): (Bound<'py, PyAny>, _)| {
                let key = key.downcast_exact::<PyString>().ok()?.to_str().ok()?.to_owned();
                Some((key, Self::of(&item, leaves)?))
            };
            return Some(Self::Dict(items.iter().map(item).collect::<Option<_>>()?));
        }
        if let Ok(items) = argument.downcast::<PyTuple>()
            && argument.hasattr(intern!(argument.py(), "_fields")).ok()?
        {
            let items = items.iter().map(|item| Self::of(&item, leaves)).collect::<Option<_>>()?;
            return Some(Self::Named(argument.get_type().unbind(), items));
        }
        // An integer may be too large for a graph.
        let value = from_python(argument).ok()?;
        let known = match &value {
            Value::Tensor(tensor) => Self::Tensor {
                class: argument.get_type().unbind(),
                form: Form::of(tensor)?,
                is_leaf: tensor.requires_grad() && is_leaf(argument).ok()?,
                first: leaves.first(argument),
            },
            Value::None => Self::None,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) => Self::Float(value.to_bits()),
            Value::Str(text) => Self::Str(text.to_string()),
            Value::Object(_) => Self::Same(argument.clone().unbind()),
            Value::List(_) | Value::Tuple(_) => return None,
        };
        leaves.push(argument, value);
        (leaves.objects.len() <= MAX_LEAVES).then_some(known)
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Same(object) => visit.call(object),
            Self::List(items) | Self::Tuple(items) => items.iter().try_for_each(|item| item.traverse(visit)),
            Self::Named(class, items) => {
                visit.call(class)?;
                items.iter().try_for_each(|item| item.traverse(visit))
            }
            Self::Dict(items) => items.iter().try_for_each(|(_, item)| item.traverse(visit)),
            _ => Ok(()),
        }
    }

    /// Returns whether an argument has the same key. Adds its leaves.
    fn matches<'py>(&self, argument: &Bound<'py, PyAny>, leaves: &mut Leaves<'py>) -> PyResult<bool> {
        let all =
            |known: &[Self], items: &mut dyn Iterator<Item = Bound<'py, PyAny>>, leaves: &mut Leaves<'py>| {
                for known in known {
                    let Some(item) = items.next() else { return Ok(false) };
                    if !known.matches(&item, leaves)? {
                        return Ok(false);
                    }
                }
                Ok(items.next().is_none())
            };
        let is_same = match self {
            Self::List(known) => {
                let Ok(items) = argument.downcast_exact::<PyList>() else { return Ok(false) };
                return all(known, &mut items.iter(), leaves);
            }
            Self::Tuple(known) => {
                let Ok(items) = argument.downcast_exact::<PyTuple>() else { return Ok(false) };
                return all(known, &mut items.iter(), leaves);
            }
            Self::Named(class, known) => {
                if !argument.get_type().is(class) {
                    return Ok(false);
                }
                return all(known, &mut argument.downcast::<PyTuple>()?.iter(), leaves);
            }
            Self::Dict(known) => {
                let Ok(items) = argument.downcast_exact::<PyDict>() else { return Ok(false) };
                if items.len() != known.len() {
                    return Ok(false);
                }
                for ((name, known), (key, item)) in known.iter().zip(items) {
                    let is_same_key = key
                        .downcast_exact::<PyString>()
                        .is_ok_and(|key| key.to_str().is_ok_and(|key| key == name));
                    if !is_same_key || !known.matches(&item, leaves)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            Self::Tensor { class, form, is_leaf: flag, first } => {
                if !argument.get_type().is(class) || leaves.first(argument) != *first {
                    return Ok(false);
                }
                let value = from_python(argument)?;
                let is_same = value.tensor().is_some_and(|tensor| form.matches(tensor))
                    && (!form.requires_grad() || is_leaf(argument)? == *flag);
                leaves.push(argument, value);
                return Ok(is_same);
            }
            Self::Same(object) => argument.is(object),
            Self::None => argument.is_none(),
            Self::Bool(value) => argument.downcast_exact::<PyBool>().is_ok_and(|it| it.is_true() == *value),
            Self::Int(value) => {
                argument.is_exact_instance_of::<PyInt>()
                    && argument.extract::<i64>().is_ok_and(|it| it == *value)
            }
            Self::Float(bits) => {
                argument.downcast_exact::<PyFloat>().is_ok_and(|it| it.value().to_bits() == *bits)
            }
            Self::Str(text) => {
                argument.downcast_exact::<PyString>().is_ok_and(|it| it.to_str().is_ok_and(|it| it == text))
            }
        };
        if is_same {
            leaves.push(argument, from_python(argument)?);
        }
        Ok(is_same)
    }
}

#[pyclass(frozen, name = "CachedCall", module = "autograph._runtime")]
pub(super) struct PyCachedCall {
    #[pyo3(get)]
    trace: PyObject,
    settings: Settings,
    arguments: Vec<Argument>,
    keywords: Vec<(String, Argument)>,
    guards: Py<PyStateGuards>,
    run: PyObject,
    direct: Option<Py<PyDirect>>,
}

#[pymethods]
impl PyCachedCall {
    /// - `call`: the arguments, the keyword arguments and the leaves of both, in the call that ran the trace. `None` is
    ///   returned if they cannot be compared here, for example because an object has leaves itself.
    /// - `settings`: the ambient state of torch.
    /// - `guards`: the guards of the trace, and the sources of its inputs.
    /// - `run(trace, leaves, arguments, keywords)` runs the trace.
    /// - `direct` runs the graph. None if only Python can, for example because a run has other effects.
    #[staticmethod]
    #[pyo3(signature = (trace, call, settings, *, guards, run, direct))]
    fn of<'py>(
        trace: PyObject,
        call: (Bound<'py, PyTuple>, Bound<'py, PyDict>, Vec<Bound<'py, PyAny>>),
        settings: Bound<'py, PyAny>,
        guards: Py<PyStateGuards>,
        run: PyObject,
        direct: Option<Py<PyDirect>>,
    ) -> Option<Self> {
        let (arguments, keywords, leaves) = call;
        let mut found = Leaves::default();
        let Argument::Tuple(arguments) = Argument::of(&arguments, &mut found)? else { return None };
        let Argument::Dict(keywords) = Argument::of(&keywords, &mut found)? else { return None };
        let is_complete = found.objects.len() == leaves.len()
            && found.objects.iter().zip(&leaves).all(|(one, other)| one.is(other));
        if !is_complete {
            return None;
        }
        Some(Self { trace, settings: Settings::new(settings), arguments, keywords, guards, run, direct })
    }

    /// For Python's garbage collector: a trace refers to its function, which refers to this object.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for argument in self.arguments.iter().chain(self.keywords.iter().map(|(_, argument)| argument)) {
            argument.traverse(&visit)?;
        }
        for object in [&self.trace, self.settings.object(), &self.run] {
            visit.call(object)?;
        }
        visit.call(&self.guards)?;
        visit.call(&self.direct)
    }
}

impl PyCachedCall {
    /// Returns whether the graph runs without Python. Then the run checks which inputs require a gradient.
    pub(super) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Returns the result of a call, if it runs this graph.
    pub(super) fn call<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_alike = arguments.len() == self.arguments.len()
            && keywords.map_or(0, |keywords| keywords.len()) == self.keywords.len();
        if !is_alike {
            return Ok(None);
        }
        let mut leaves = Leaves::default();
        for (known, argument) in self.arguments.iter().zip(arguments.iter()) {
            if !known.matches(&argument, &mut leaves)? {
                return Ok(None);
            }
        }
        for ((name, known), (key, argument)) in self.keywords.iter().zip(keywords.into_iter().flatten()) {
            if key.downcast::<PyString>()?.to_str()? != name || !known.matches(&argument, &mut leaves)? {
                return Ok(None);
            }
        }
        let is_spent = || self.trace.bind(py).getattr(intern!(py, "is_spent"))?.is_truthy();
        if !runs_graphs() || !self.settings.hold(py)? || is_spent()? {
            return Ok(None);
        }
        let Some(values) = self.guards.get().hold(py, !self.is_direct()) else { return Ok(None) };
        match &self.direct {
            None => {
                let keywords = keywords.map_or_else(|| PyDict::new(py), Clone::clone);
                self.run.bind(py).call1((&self.trace, leaves.objects, arguments, keywords)).map(Some)
            }
            Some(direct) => direct.get().call(py, self.guards.get(), leaves, &values),
        }
    }
}
