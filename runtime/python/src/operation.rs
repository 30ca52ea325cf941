//! `Op`: the operations of a graph, for Python.

use ag_graph::ir::text::op_name;
use ag_graph::ir::{Graph, Op, Operator};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An operation of a graph. Python code creates it once and reuses it.
#[pyclass(name = "Op", frozen, eq, hash, str, module = "autograph._runtime")]
pub(super) struct PyOp {
    pub(super) op: Op,
    /// The operator of torch, for an operation that calls one: a `torch._ops.OpOverload`.
    #[pyo3(get)]
    overload: Option<PyObject>,
}

#[pymethods]
impl PyOp {
    /// Returns an operation of the graph itself that has no parameter: `if`, `list.append`, `scalar.add`.
    #[staticmethod]
    fn named(name: &str) -> PyResult<Self> {
        let op = Op::builtin(name);
        op.map(Self::from).ok_or_else(|| PyValueError::new_err(format!("unknown operation {name:?}")))
    }

    /// Returns a call of the operator of torch that has this schema.
    #[staticmethod]
    fn of_torch(overload: Bound<'_, PyAny>) -> PyResult<Self> {
        let schema = overload.getattr("_schema")?;
        let qualified: String = schema.getattr("name")?.extract()?;
        let variant: String = schema.getattr("overload_name")?.extract()?;
        let (namespace, name) = qualified
            .split_once("::")
            .ok_or_else(|| PyValueError::new_err(format!("{qualified} has no namespace")))?;
        let variant = if variant.is_empty() { "default" } else { &variant };
        let operator = Operator::new(namespace, name, variant)
            .ok_or_else(|| PyValueError::new_err(format!("invalid name of an operator: {qualified}")))?;
        Ok(Self { op: Op::Operator(operator), overload: Some(overload.unbind()) })
    }

    /// Returns the operation that takes an item of a tuple.
    #[staticmethod]
    fn tuple_get(index: u32) -> Self {
        Op::TupleGet(index).into()
    }

    /// Returns the operation that raises an exception of the class that has this name in the graph.
    #[staticmethod]
    fn raising(class: &str) -> Self {
        Op::Raise(class.into()).into()
    }

    /// Returns the operation that calls back into Python.
    #[staticmethod]
    fn python(callback: u32) -> Self {
        Op::Python(callback).into()
    }

    /// Returns the operation that calls back into Python to start a collective.
    #[staticmethod]
    fn start(callback: u32) -> Self {
        Op::Start(callback).into()
    }

    fn __repr__(&self) -> String {
        self.to_string()
    }
}

impl From<Op> for PyOp {
    fn from(op: Op) -> Self {
        Self { op, overload: None }
    }
}

impl PartialEq for PyOp {
    fn eq(&self, other: &Self) -> bool {
        self.op == other.op
    }
}

impl std::hash::Hash for PyOp {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.op.hash(state);
    }
}

impl std::fmt::Display for PyOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&op_name(&Graph::default(), &self.op))
    }
}

/// Returns the `torch._ops.OpOverload` of an operator.
pub(super) fn overload<'py>(py: Python<'py>, operator: &Operator) -> PyResult<Bound<'py, PyAny>> {
    let packets = py.import("torch")?.getattr("ops")?.getattr(operator.namespace())?;
    packets.getattr(operator.name())?.getattr(operator.overload())
}
