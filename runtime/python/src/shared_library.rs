//! Graphs as shared libraries: `Graph.shared_library`.

use ag_graph::ir::graph::ValueInfo;
use ag_graph::ir::{Function, Graph, Node, Op, Operand, Outcome, Region, Scalar, Span, Type, Value};
use ag_library::{Library, LibraryError, Source};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyBytes, PyInt, PyTuple};

/// The value that the function returns. Python passes it as nested tuples: `("result", 2)` and `("parameter", 0)` are
/// values of the graph, `("number", 1.5)` is a constant, `("choice", condition, yes, no)` selects one of two values,
/// and `("none",)` is an exception, in a choice only.
pub(super) enum Returned {
    Result(usize),
    Parameter(usize),
    Number(Operand),
    Choice(Box<[Returned; 3]>),
    None,
}

impl<'py> FromPyObject<'py> for Returned {
    fn extract_bound(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let parts = object.downcast::<PyTuple>()?;
        let part = |index: usize| parts.get_item(index);
        Ok(match part(0)?.extract::<String>()?.as_str() {
            "result" => Self::Result(part(1)?.extract()?),
            "parameter" => Self::Parameter(part(1)?.extract()?),
            "number" => Self::Number(number(&part(1)?)?),
            "choice" => {
                Self::Choice(Box::new([part(1)?.extract()?, part(2)?.extract()?, part(3)?.extract()?]))
            }
            "none" => Self::None,
            kind => return Err(PyValueError::new_err(format!("unknown kind of result: {kind}"))),
        })
    }
}

fn number(object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    Ok(if object.is_instance_of::<PyBool>() {
        Operand::Bool(object.extract()?)
    } else if object.is_instance_of::<PyInt>() {
        Operand::Int(object.extract()?)
    } else {
        Operand::Float(object.extract()?)
    })
}

/// Compiles a graph. `captures` contains the elements of each captured tensor, `paths` the path of each result, and
/// `source` the user's function, its file and its line. Returns the library and its header; if the graph needs libtorch,
/// the reason and its span.
pub(super) fn compile<'py>(
    py: Python<'py>,
    mut graph: Graph,
    name: &str,
    captures: &[PyBackedBytes],
    returned: &[Returned],
    paths: &[String],
    source: &(String, String, u32),
) -> PyResult<Bound<'py, PyAny>> {
    let empty = || PyValueError::new_err("the graph is empty");
    let entry = graph.functions.first_mut().ok_or_else(empty)?;
    let values = returned.iter().map(|returned| value(entry, returned)).collect::<Option<Vec<_>>>();
    let Some(values) = values else {
        let reason = "the type of a returned value depends on a condition";
        return (reason, py.None()).into_bound_py_any(py);
    };
    entry.results = values.iter().map(|value| entry.ty(*value).clone()).collect();
    entry.body.results = values.into_iter().map(Operand::from).collect();
    graph.outcomes = vec![Outcome::Return; entry.results.len()];

    let captures: Vec<&[u8]> = captures.iter().map(|bytes| &**bytes).collect();
    let (function, file, line) = source;
    match Library::new(name, &graph, &captures, paths, &Source { function, file, line: *line }) {
        Ok(library) => (PyBytes::new(py, &library.object), library.header).into_bound_py_any(py),
        Err(LibraryError::Unsupported(found)) => {
            let span = found.span.and_then(|span| position(&graph, span));
            (found.message, span).into_bound_py_any(py)
        }
        Err(error) => Err(PyValueError::new_err(error.to_string())),
    }
}

/// Returns the value of a result, and adds the nodes that compute it to the function. `None` if the
/// two values of a choice have different types.
fn value(function: &mut Function, returned: &Returned) -> Option<Value> {
    let (op, operands, regions, ty) = match returned {
        Returned::Parameter(index) => return function.params().get(*index).copied(),
        Returned::Result(index) => match function.body.results.get(*index)? {
            Operand::Value(value) => return Some(*value),
            constant => constant_node(constant.clone())?,
        },
        Returned::Number(constant) => constant_node(constant.clone())?,
        Returned::Choice(parts) => {
            let [condition, yes, no] = &**parts;
            let condition = value(function, condition)?;
            let types =
                [yes, no].map(|part| value(function, part).map(|value| (value, function.ty(value).clone())));
            let ty = match &types {
                [Some((_, yes)), Some((_, no))] if yes != no => return None,
                [Some((_, ty)), _] | [None, Some((_, ty))] => ty.clone(),
                [None, None] => return None,
            };
            let regions = types.map(|found| found.map_or_else(returns_none, |(value, _)| yields(value)));
            (Op::If, vec![condition.into()], regions.into(), ty)
        }
        Returned::None => return None,
    };
    let output = Value(function.values.len() as u32);
    function.values.push(ValueInfo { ty, name: None });
    function.body.nodes.push(Node { op, operands, outputs: vec![output], regions, span: None, grad: false });
    Some(output)
}

fn yields(value: Value) -> Region {
    Region { results: vec![value.into()], ..Region::default() }
}

/// Returns the branch for a path on which the function returns None.
fn returns_none() -> Region {
    let message = Operand::from("the function returns None here, and tensors on other paths");
    let raise = Node {
        op: Op::Raise("TypeError".into()),
        operands: vec![message],
        outputs: Vec::new(),
        regions: Vec::new(),
        span: None,
        grad: false,
    };
    Region { params: Vec::new(), nodes: vec![raise], results: vec![Operand::None] }
}

/// Returns the parts of a node whose result is a number.
fn constant_node(constant: Operand) -> Option<(Op, Vec<Operand>, Vec<Region>, Type)> {
    let (scalar, ty) = match &constant {
        Operand::Bool(_) => (Scalar::ToBool, Type::Bool),
        Operand::Int(_) => (Scalar::ToInt, Type::Int),
        Operand::Float(_) => (Scalar::ToFloat, Type::Float),
        _ => return None,
    };
    Some((Op::Scalar(scalar), vec![constant], Vec::new(), ty))
}

/// Returns a span as in Python: file, line, column, end line, end column.
fn position(graph: &Graph, span: Span) -> Option<(String, u32, u32, u32, u32)> {
    let file = graph.files.get(span.file as usize)?;
    Some((file.to_string(), span.start.0, span.start.1, span.end.0, span.end.1))
}
