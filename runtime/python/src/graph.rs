//! `Graph`: what Python traces, node by node.

use std::path::PathBuf;
use std::sync::Arc;

use ag_graph::autodiff::{Functions, Halves, followed, halves};
use ag_graph::emit;
use ag_graph::ir::build::Circumstances;
use ag_graph::ir::text::{parse_type, print};
use ag_graph::ir::verify::verify;
use ag_graph::ir::{
    Builder, Function, FunctionId, Graph, Op, Operand, Origin, Outcome, Region, Span, Type, Value,
};
use ag_graph::optimize::{Pass, optimize};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_tch::PyTensor;

use super::operand::{PyValue, operand};
use super::plan::PyPlan;

/// A graph under construction, and then a graph.
#[pyclass(name = "Graph", module = "autograph._runtime")]
pub(super) struct PyGraph {
    state: State,
}

enum State {
    Open(Box<Making>),
    /// Made and verified.
    Made(Arc<Graph>),
    /// Between the two; what went wrong then was told.
    Failed,
}

pub(super) struct Making {
    pub(super) builder: Builder,
    origins: Vec<Origin>,
    files: Vec<Arc<str>>,
    /// The functions beside the entry; its place is empty.
    pub(super) functions: Functions,
    /// Those whose bodies are being made, with what was being made before.
    outer: Vec<(FunctionId, Builder)>,
}

/// A region that has been closed and belongs to the next node that is given it.
#[pyclass(name = "Region", module = "autograph._runtime")]
pub(super) struct PyRegion {
    region: Option<Region>,
}

/// The file; line from one and column from zero of the start and of the end.
pub(super) type PySpan = (String, u32, u32, u32, u32);

#[pymethods]
impl PyGraph {
    #[new]
    #[pyo3(signature = (name = "main"))]
    fn new(name: &str) -> Self {
        let functions = Functions::beside(name, Vec::new());
        let making = Making {
            builder: Builder::new(name),
            origins: Vec::new(),
            files: Vec::new(),
            functions,
            outer: Vec::new(),
        };
        Self { state: State::Open(Box::new(making)) }
    }

    /// A parameter. The origin is `("argument", path)` or `("capture", number)`.
    fn parameter(
        &mut self,
        ty: &str,
        name: Option<&str>,
        origin: (String, Bound<'_, PyAny>),
    ) -> PyResult<PyValue> {
        let making = self.making()?;
        let ty = type_of(ty)?;
        let origin = match origin.0.as_str() {
            "argument" => Origin::Argument(origin.1.extract::<String>()?.into()),
            "capture" => Origin::Capture(origin.1.extract()?),
            other => return Err(PyValueError::new_err(format!("{other:?} is no origin: argument, capture"))),
        };
        making.origins.push(origin);
        let value = making.builder.parameter(ty, name);
        Ok(making.value(value))
    }

    /// A function beside the entry, by number: `call 1` calls it, also before it is made.
    fn declare(&mut self) -> PyResult<u32> {
        Ok(self.making()?.functions.declare().0)
    }

    /// Begins the body of a function that was declared: what is emitted belongs to it until its `end`.
    #[pyo3(signature = (function, name, types, names = Vec::new()))]
    fn begin(
        &mut self,
        function: u32,
        name: &str,
        types: Vec<String>,
        names: Vec<Option<String>>,
    ) -> PyResult<Vec<PyValue>> {
        let types = types.iter().map(|ty| type_of(ty)).collect::<PyResult<Vec<_>>>()?;
        let making = self.making()?;
        let mut names = names.into_iter();
        let outer = std::mem::replace(&mut making.builder, Builder::new(name));
        making.outer.push((FunctionId(function), outer));
        let mut param = |ty| making.builder.parameter(ty, names.next().flatten().as_deref());
        let params: Vec<Value> = types.into_iter().map(&mut param).collect();
        Ok(params.into_iter().map(|value| making.value(value)).collect())
    }

    /// Ends the body of the function that was begun last. The types are those that calls of it have.
    fn end(&mut self, results: Vec<Bound<'_, PyAny>>, types: Vec<String>) -> PyResult<()> {
        let results = results.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let types = types.iter().map(|ty| type_of(ty)).collect::<PyResult<Vec<_>>>()?;
        let making = self.making()?;
        let Some((id, outer)) = making.outer.pop() else { return Err(nothing_open()) };
        let made = std::mem::replace(&mut making.builder, outer).finish(results);
        making.functions.define(id, Function { results: types, ..made });
        Ok(())
    }

    /// A node at the end of the innermost open region. Some have a class or a number behind the name: `call 1`,
    /// `raise ValueError`, `python 3`, `tuple.get 0`.
    #[pyo3(signature = (op, args, types, regions = Vec::new(), span = None, grad = true))]
    fn emit(
        &mut self,
        op: &str,
        args: Vec<Bound<'_, PyAny>>,
        types: Vec<String>,
        regions: Vec<Bound<'_, PyRegion>>,
        span: Option<PySpan>,
        grad: bool,
    ) -> PyResult<Vec<PyValue>> {
        let op = op_of(op)?;
        let operands = args.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let types = types.iter().map(|ty| type_of(ty)).collect::<PyResult<Vec<_>>>()?;
        let regions: PyResult<Vec<Region>> = regions
            .iter()
            .map(|region| {
                let region = region.borrow_mut().region.take();
                region.ok_or_else(|| PyRuntimeError::new_err("the region belongs to another node"))
            })
            .collect();
        let making = self.making()?;
        let circumstances = Circumstances { span: span.map(|span| making.span(span)), no_grad: !grad };
        let outputs = making.builder.emit(op, operands, types, regions?, &circumstances);
        Ok(outputs.into_iter().map(|value| making.value(value)).collect())
    }

    /// What the user calls a value.
    fn name(&mut self, value: &PyValue, name: &str) -> PyResult<()> {
        if let Some(info) = self.making()?.builder.values.get_mut(value.value.index()) {
            info.name = Some(Arc::from(name));
        }
        Ok(())
    }

    /// Opens a region with parameters of these types; a name may be None.
    #[pyo3(signature = (types, names = Vec::new()))]
    fn open(&mut self, types: Vec<String>, names: Vec<Option<String>>) -> PyResult<Vec<PyValue>> {
        let types = types.iter().map(|ty| type_of(ty)).collect::<PyResult<Vec<_>>>()?;
        let making = self.making()?;
        let params = making.builder.open(types);
        for (param, name) in params.iter().zip(names) {
            making.builder.values[param.index()].name = name.map(Arc::from);
        }
        Ok(params.into_iter().map(|value| making.value(value)).collect())
    }

    /// Closes the innermost region.
    fn close(&mut self, results: Vec<Bound<'_, PyAny>>) -> PyResult<PyRegion> {
        let results = results.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let region = self.making()?.builder.close(results);
        region.map(|region| PyRegion { region: Some(region) }).ok_or_else(nothing_open)
    }

    /// Drops the innermost region with all that is in it.
    fn abandon(&mut self) -> PyResult<()> {
        if self.making()?.builder.abandon() { Ok(()) } else { Err(nothing_open()) }
    }

    /// How many regions are open, the function's own not counted.
    #[getter]
    fn depth(&mut self) -> PyResult<usize> {
        Ok(self.making()?.builder.open.len() - 1)
    }

    /// The derivatives of outputs by inputs, as nodes at the end of the innermost region; `None` where an output
    /// does not depend on an input. A seed of `None` is one. `formula(op, args, types, result types)` gives the graph of the derivative of
    /// an operator that has no rule here: of its tensors and the gradients of its results.
    /// With `create_graph`, the gradient has a gradient itself.
    #[pyo3(signature = (outputs, seeds, inputs, formula, span = None, create_graph = false))]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of torch.autograd.grad")]
    fn gradient<'py>(
        &mut self,
        py: Python<'py>,
        outputs: Vec<PyRef<'py, PyValue>>,
        seeds: Vec<Option<Bound<'py, PyAny>>>,
        inputs: Vec<PyRef<'py, PyValue>>,
        formula: Bound<'py, PyAny>,
        span: Option<PySpan>,
        create_graph: bool,
    ) -> PyResult<Vec<PyObject>> {
        let making = self.making()?;
        let values =
            |values: Vec<PyRef<'py, PyValue>>| values.iter().map(|value| value.value).collect::<Vec<_>>();
        let seeds: Vec<Option<Operand>> =
            seeds.iter().map(|seed| seed.as_ref().map(operand).transpose()).collect::<PyResult<_>>()?;
        let circumstances =
            Circumstances { span: span.map(|span| making.span(span)), no_grad: !create_graph };
        let (outputs, inputs) = (values(outputs), values(inputs));
        super::gradient::gradient(py, making, &outputs, &seeds, &inputs, &circumstances, &formula)
    }

    /// Ends the construction. The outcomes are `("return", 0)` or `("write", parameter)`.
    fn finish(&mut self, results: Vec<Bound<'_, PyAny>>, outcomes: Vec<(String, u32)>) -> PyResult<()> {
        let results = results.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let outcomes: Vec<Outcome> = outcomes
            .into_iter()
            .map(|(kind, number)| if kind == "write" { Outcome::Write(number) } else { Outcome::Return })
            .collect();
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Open(making) => {
                let Making { builder, origins, files, functions, outer } = *making;
                let others = functions.into_others();
                let (Some(others), []) = (others, &outer[..]) else {
                    return Err(PyRuntimeError::new_err("a function was declared and is not made"));
                };
                let functions = [vec![builder.finish(results)], others].concat();
                let graph = Graph { functions, origins, outcomes, files };
                verify(&graph).map_err(|fault| PyValueError::new_err(fault.to_string()))?;
                self.state = State::Made(Arc::new(graph));
                Ok(())
            }
            other => {
                self.state = other;
                Err(PyRuntimeError::new_err("the graph is made"))
            }
        }
    }

    /// The plan that runs it. Callbacks are the functions that `python` nodes call by number; exceptions are those
    /// of the user that `raise` nodes name; the passes are those of `optimized`.
    #[pyo3(signature = (callbacks = Vec::new(), exceptions = None, passes = None))]
    fn compile(
        &self,
        py: Python<'_>,
        callbacks: Vec<PyObject>,
        exceptions: Option<Bound<'_, PyDict>>,
        passes: Option<Vec<String>>,
    ) -> PyResult<PyPlan> {
        let exceptions = exceptions.unwrap_or_else(|| PyDict::new(py)).unbind();
        PyPlan::new(&self.rewritten(passes)?, callbacks, exceptions)
    }

    /// The graph after these passes: "constants", "identities", "parts", "common", "invariants", "dead"; by default all of
    /// them.
    #[pyo3(signature = (passes = None))]
    fn optimized(&self, passes: Option<Vec<String>>) -> PyResult<Self> {
        Ok(Self { state: State::Made(Arc::new(self.rewritten(passes)?)) })
    }

    /// Which results have a gradient by these parameters.
    fn followed(&self, params: Vec<usize>) -> PyResult<Vec<bool>> {
        let graph = self.made()?;
        let Some(entry) = graph.entry() else { return Ok(Vec::new()) };
        let inputs: Vec<Value> =
            params.iter().filter_map(|index| entry.params().get(*index).copied()).collect();
        Ok(followed(entry, &inputs))
    }

    /// A graph whose last results are gradients of the others, and whose last parameters are their seeds, as the way
    /// forward and the way back; and the parameters by number that the one keeps for the other.
    fn halves(&self, results: usize, seeds: usize) -> PyResult<(Self, Self, Vec<usize>)> {
        let Halves { forward, back, kept } = halves(&*self.made()?, results, seeds).ok_or_else(|| {
            PyRuntimeError::new_err("what the way back needs is in lists that are returned")
        })?;
        for half in [&forward, &back] {
            verify(half).map_err(|fault| PyValueError::new_err(fault.to_string()))?;
        }
        let made = |graph| Self { state: State::Made(Arc::new(graph)) };
        Ok((made(forward), made(back), kept))
    }

    /// As JSON, with the source line of each node.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(emit::json(&*self.made()?, &|file, line| source_line(py, file, line)))
    }

    /// For Graphviz.
    fn dot(&self, py: Python<'_>) -> PyResult<String> {
        Ok(emit::dot(&*self.made()?, &|file, line| source_line(py, file, line)))
    }

    /// As a drawing.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        Ok(emit::svg(&*self.made()?, &|file, line| source_line(py, file, line)))
    }

    /// Writes it into a folder, with the tensors that it captures by their numbers: `Model` and `ag-run` run it.
    fn save(&self, folder: PathBuf, captures: Vec<(u32, PyTensor)>) -> PyResult<()> {
        super::model::save(&*self.made()?, &folder, captures)
    }

    /// The graph as text.
    fn text(&self) -> PyResult<String> {
        Ok(print(&*self.made()?))
    }
}

impl PyGraph {
    /// The graph, once it is made.
    pub(super) fn made(&self) -> PyResult<Arc<Graph>> {
        match &self.state {
            State::Made(graph) => Ok(Arc::clone(graph)),
            _ => Err(PyRuntimeError::new_err("the graph is not finished")),
        }
    }

    fn rewritten(&self, passes: Option<Vec<String>>) -> PyResult<Graph> {
        let named = |name: &String| {
            Pass::from_name(name)
                .ok_or_else(|| PyValueError::new_err(format!("{name:?} is no pass of the optimizer")))
        };
        let passes = match passes {
            Some(names) => names.iter().map(named).collect::<PyResult<Vec<_>>>()?,
            None => Pass::ALL.to_vec(),
        };
        let mut graph = Graph::clone(&*self.made()?);
        optimize(&mut graph, &passes);
        Ok(graph)
    }

    fn making(&mut self) -> PyResult<&mut Making> {
        match &mut self.state {
            State::Open(making) => Ok(making),
            _ => Err(PyRuntimeError::new_err("the graph is made")),
        }
    }
}

impl Making {
    pub(super) fn value(&self, value: Value) -> PyValue {
        PyValue { value, ty: self.builder.ty(value).to_string() }
    }

    /// As it was given: the file, the line from one, the column from zero, and both of the end.
    pub(super) fn place(&self, span: Span) -> PySpan {
        let file = self.files.get(span.file as usize).map_or_else(String::new, ToString::to_string);
        (file, span.start.0, span.start.1, span.end.0, span.end.1)
    }

    fn span(&mut self, (file, line, column, end_line, end_column): PySpan) -> Span {
        let known = self.files.iter().position(|known| **known == *file);
        let file = known.unwrap_or_else(|| {
            self.files.push(Arc::from(file));
            self.files.len() - 1
        });
        Span {
            file: u32::try_from(file).unwrap_or(u32::MAX),
            start: (line, column),
            end: (end_line, end_column),
        }
    }
}

fn type_of(text: &str) -> PyResult<Type> {
    parse_type(text).map_err(|error| PyValueError::new_err(format!("{text}: {}", error.message)))
}

fn op_of(text: &str) -> PyResult<Op> {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let unknown = || PyValueError::new_err(format!("{text:?} is no operation"));
    match name {
        "raise" => Ok(Op::Raise(rest.into())),
        "call" => rest.parse().map(|id| Op::Call(FunctionId(id))).map_err(|_| unknown()),
        "python" => rest.parse().map(Op::Python).map_err(|_| unknown()),
        "tuple.get" => rest.parse().map(Op::TupleGet).map_err(|_| unknown()),
        name => Op::named(name).ok_or_else(unknown),
    }
}

/// Python knows the lines of notebooks, too.
fn source_line(py: Python<'_>, file: &str, line: u32) -> Option<String> {
    py.import("linecache").ok()?.call_method1("getline", (file, line)).ok()?.extract().ok()
}

fn nothing_open() -> PyErr {
    PyRuntimeError::new_err("no region is open")
}
