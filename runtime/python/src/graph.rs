//! `Graph`: a graph, which Python code builds node by node.

use std::path::PathBuf;
use std::sync::Arc;

use ag_graph::autodiff::{Functions, Partition, differentiable_results, partition};
use ag_graph::batching::LoopBatching;
use ag_graph::emit;
use ag_graph::ir::build::NodeAttrs;
use ag_graph::ir::text::print;
use ag_graph::ir::verify::verify;
use ag_graph::ir::{Builder, Function, FunctionId, Graph, Op, Operand, Origin, Outcome, Region, Span, Value};
use ag_graph::optimize::{Pass, optimize};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use pyo3_tch::PyTensor;

use super::operand::{PyValue, operand};
use super::operation::PyOp;
use super::passes::{LoweringPass, enabled_passes, loop_batching, lowering_pass, named};
use super::plan::PyPlan;
use super::shared_library::{Returned, compile};
use super::types::{PyType, all_data, data};

/// A graph, under construction or finished.
#[pyclass(name = "Graph", module = "autograph._runtime")]
pub(super) struct PyGraph {
    state: State,
    /// Whether the graph has loops that `batches_loops` batches.
    #[pyo3(get)]
    has_independent_loops: bool,
}

enum State {
    Building(Box<GraphBuilder>),
    /// Finished and verified.
    Finished(Arc<Graph>),
    /// Poisoned; the error was already reported.
    Poisoned,
}

pub(super) struct GraphBuilder {
    pub(super) builder: Builder,
    origins: Vec<Origin>,
    files: Vec<Arc<str>>,
    /// All functions except the entry, whose slot is empty.
    pub(super) functions: Functions,
    /// Functions under construction, each with the builder that was active before it.
    outer: Vec<(FunctionId, Builder)>,
    batching: LoopBatching,
}

/// A closed region that no node owns yet.
#[pyclass(name = "Region", module = "autograph._runtime")]
pub(super) struct PyRegion {
    region: Option<Region>,
}

/// The file, and the line (from one) and the column (from zero) of the start and the end.
pub(super) type PySpan = (String, u32, u32, u32, u32);

#[pymethods]
impl PyGraph {
    #[new]
    #[pyo3(signature = (name = "main", *, batches_loops = false))]
    fn new(name: &str, batches_loops: bool) -> Self {
        let functions = Functions::without_entry(name, Vec::new());
        let building = GraphBuilder {
            builder: Builder::new(name),
            origins: Vec::new(),
            files: Vec::new(),
            functions,
            outer: Vec::new(),
            batching: LoopBatching::new(loop_batching(batches_loops)),
        };
        Self { state: State::Building(Box::new(building)), has_independent_loops: false }
    }

    /// Adds a parameter: the argument at a path, or the capture with an index.
    #[pyo3(signature = (ty, name, *, argument = None, capture = None))]
    fn parameter(
        &mut self,
        ty: &Bound<'_, PyType>,
        name: Option<&str>,
        argument: Option<&str>,
        capture: Option<u32>,
    ) -> PyResult<PyValue> {
        let origin = match (argument, capture) {
            (Some(path), None) => Origin::Argument(path.into()),
            (None, Some(number)) => Origin::Capture(number),
            _ => return Err(PyTypeError::new_err("expected either `argument` or `capture`")),
        };
        let building = self.building()?;
        building.origins.push(origin);
        let value = building.builder.parameter(data(ty), name);
        Ok(building.value(value))
    }

    /// Declares a function and returns the operation that calls it, even before it is defined.
    fn declare(&mut self) -> PyResult<PyOp> {
        Ok(Op::Call(self.building()?.functions.declare()).into())
    }

    /// Begins the body of a function, given the operation that calls it. Nodes are added to it until `end`.
    #[pyo3(signature = (call, name, types, names = Vec::new()))]
    fn begin(
        &mut self,
        call: &Bound<'_, PyOp>,
        name: &str,
        types: Vec<Bound<'_, PyType>>,
        names: Vec<Option<String>>,
    ) -> PyResult<Vec<PyValue>> {
        let Op::Call(function) = call.get().op else {
            return Err(PyTypeError::new_err("expected the operation that `declare` returned"));
        };
        let building = self.building()?;
        let mut names = names.into_iter();
        let outer = std::mem::replace(&mut building.builder, Builder::new(name));
        building.outer.push((function, outer));
        let mut param = |ty| building.builder.parameter(ty, names.next().flatten().as_deref());
        let params: Vec<Value> = all_data(&types).into_iter().map(&mut param).collect();
        Ok(params.into_iter().map(|value| building.value(value)).collect())
    }

    /// Ends the body that was begun last. `types` are the result types of calls.
    fn end(&mut self, results: Vec<Bound<'_, PyAny>>, types: Vec<Bound<'_, PyType>>) -> PyResult<()> {
        let results = results.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let building = self.building()?;
        let Some((id, outer)) = building.outer.pop() else { return Err(nothing_open()) };
        let made = std::mem::replace(&mut building.builder, outer).finish(results);
        building.functions.define(id, Function { results: all_data(&types), ..made });
        Ok(())
    }

    /// Appends a node to the innermost open region.
    #[pyo3(signature = (op, args, types, regions = Vec::new(), span = None, grad = true))]
    fn emit(
        &mut self,
        op: &Bound<'_, PyOp>,
        args: Vec<Bound<'_, PyAny>>,
        types: Vec<Bound<'_, PyType>>,
        regions: Vec<Bound<'_, PyRegion>>,
        span: Option<PySpan>,
        grad: bool,
    ) -> PyResult<Vec<PyValue>> {
        let (op, types) = (op.get().op.clone(), all_data(&types));
        let operands = args.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let regions: PyResult<Vec<Region>> = regions
            .iter()
            .map(|region| {
                let region = region.borrow_mut().region.take();
                region.ok_or_else(|| PyRuntimeError::new_err("the region already belongs to another node"))
            })
            .collect();
        let building = self.building()?;
        let attrs = NodeAttrs { span: span.map(|span| building.span(span)), no_grad: !grad };
        let outputs = building.builder.emit(op, operands, types, regions?, &attrs);
        let outputs = building.batching.after_node(&mut building.builder).unwrap_or(outputs);
        Ok(outputs.into_iter().map(|value| building.value(value)).collect())
    }

    /// Sets the user's name for a value.
    fn name(&mut self, value: &PyValue, name: &str) -> PyResult<()> {
        if let Some(info) = self.building()?.builder.values.get_mut(value.value.index()) {
            info.name = Some(Arc::from(name));
        }
        Ok(())
    }

    /// Opens a region with parameters of these types; a name may be None.
    #[pyo3(signature = (types, names = Vec::new()))]
    fn open(&mut self, types: Vec<Bound<'_, PyType>>, names: Vec<Option<String>>) -> PyResult<Vec<PyValue>> {
        let building = self.building()?;
        let params = building.builder.open(all_data(&types));
        for (param, name) in params.iter().zip(names) {
            building.builder.values[param.index()].name = name.map(Arc::from);
        }
        Ok(params.into_iter().map(|value| building.value(value)).collect())
    }

    /// Closes the innermost region.
    fn close(&mut self, results: Vec<Bound<'_, PyAny>>) -> PyResult<PyRegion> {
        let results = results.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let region = self.building()?.builder.close(results);
        region.map(|region| PyRegion { region: Some(region) }).ok_or_else(nothing_open)
    }

    /// Drops the innermost region and its contents.
    fn abandon(&mut self) -> PyResult<()> {
        if self.building()?.builder.abandon() { Ok(()) } else { Err(nothing_open()) }
    }

    /// Returns the number of open regions, not counting the function body.
    #[getter]
    fn depth(&mut self) -> PyResult<usize> {
        Ok(self.building()?.builder.open.len() - 1)
    }

    /// Appends the gradient of outputs with respect to inputs to the innermost region; `None` for an input
    /// that no output depends on. A seed of `None` means one. For an operator without a rule, `formula(operator, args,
    /// types, result types)` returns a graph that computes its derivative from its tensors and the gradients of its
    /// results. With `create_graph`, the gradient can be differentiated again.
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
        let building = self.building()?;
        let values =
            |values: Vec<PyRef<'py, PyValue>>| values.iter().map(|value| value.value).collect::<Vec<_>>();
        let seeds: Vec<Option<Operand>> =
            seeds.iter().map(|seed| seed.as_ref().map(operand).transpose()).collect::<PyResult<_>>()?;
        let attrs = NodeAttrs { span: span.map(|span| building.span(span)), no_grad: !create_graph };
        let (outputs, inputs) = (values(outputs), values(inputs));
        super::gradient::gradient(py, building, &outputs, &seeds, &inputs, &attrs, &formula)
    }

    /// Finishes the graph. `written` contains for each result: None if it is returned, otherwise the index of the
    /// parameter whose new value it is.
    fn finish(&mut self, results: Vec<Bound<'_, PyAny>>, written: Vec<Option<u32>>) -> PyResult<()> {
        let results = results.iter().map(operand).collect::<PyResult<Vec<_>>>()?;
        let outcome = |parameter: Option<u32>| parameter.map_or(Outcome::Return, Outcome::Write);
        let outcomes: Vec<Outcome> = written.into_iter().map(outcome).collect();
        match std::mem::replace(&mut self.state, State::Poisoned) {
            State::Building(building) => {
                let GraphBuilder { builder, origins, files, functions, outer, batching } = *building;
                self.has_independent_loops = batching.found;
                let others = functions.into_others();
                let (Some(others), []) = (others, &outer[..]) else {
                    return Err(PyRuntimeError::new_err("a declared function is not defined"));
                };
                let functions = [vec![builder.finish(results)], others].concat();
                let graph = Graph { functions, origins, outcomes, files };
                verify(&graph).map_err(|error| PyValueError::new_err(error.to_string()))?;
                self.state = State::Finished(Arc::new(graph));
                Ok(())
            }
            other => {
                self.state = other;
                Err(PyRuntimeError::new_err("the graph is already finished"))
            }
        }
    }

    /// Compiles the graph. `callbacks` are the functions that `python` nodes call by index. `exceptions` are the user's
    /// exception classes by the names in `raise` nodes, and `passes` are the passes for `optimized`. `strides` contains
    /// the strides of the inputs, or `None` for contiguous tensors and other inputs.
    #[pyo3(signature = (callbacks = Vec::new(), exceptions = None, passes = None, strides = Vec::new()))]
    fn compile(
        &self,
        py: Python<'_>,
        callbacks: Vec<PyObject>,
        exceptions: Option<Bound<'_, PyDict>>,
        passes: Option<Vec<String>>,
        strides: Vec<Option<Vec<usize>>>,
    ) -> PyResult<PyPlan> {
        let exceptions = exceptions.unwrap_or_else(|| PyDict::new(py)).unbind();
        PyPlan::new(&self.rewritten(passes)?, &strides, callbacks, exceptions)
    }

    /// Returns the graph after these optimizer passes, by default those that are enabled.
    #[pyo3(signature = (passes = None))]
    fn optimized(&self, passes: Option<Vec<String>>) -> PyResult<Self> {
        Ok(Self::from_graph(self.rewritten(passes)?))
    }

    /// Returns the native programs of the graph after these passes, one step a line. If the passes include
    /// `deferred-products`, the deferred products come first.
    fn native_programs(&self, py: Python<'_>, passes: Vec<String>) -> PyResult<String> {
        let passes = named(&passes, lowering_pass)?;
        let graph = self.finished()?;
        let is_deferred = passes.contains(&LoweringPass::Plan(ag_exec::Pass::DeferredProducts));
        let deferred = is_deferred
            .then(|| ag_exec::deferred_products(&graph, &|file, line| source_line(py, file, line)));
        let native = passes.into_iter().filter_map(|pass| match pass {
            LoweringPass::Native(pass) => Some(pass),
            LoweringPass::Plan(_) | LoweringPass::Batching => None,
        });
        let native = ag_native::Passes::new(native);
        let programs =
            ag_native::listing(&graph, native, ag_exec::limits(), &|file, line| source_line(py, file, line));
        Ok(deferred.unwrap_or_default() + &programs)
    }

    /// Returns for each result whether it has a gradient with respect to these parameters.
    fn differentiable_in(&self, params: Vec<usize>) -> PyResult<Vec<bool>> {
        let graph = self.finished()?;
        let Some(entry) = graph.entry() else { return Ok(Vec::new()) };
        let inputs: Vec<Value> =
            params.iter().filter_map(|index| entry.params().get(*index).copied()).collect();
        Ok(differentiable_results(entry, &inputs))
    }

    /// Returns for each result whether it has a gradient with respect to these values of the entry function.
    fn computed_from(&self, values: Vec<PyRef<'_, PyValue>>) -> PyResult<Vec<bool>> {
        let graph = self.finished()?;
        let Some(entry) = graph.entry() else { return Ok(Vec::new()) };
        let inputs: Vec<Value> = values.iter().map(|value| value.value).collect();
        Ok(differentiable_results(entry, &inputs))
    }

    /// Partitions a graph into a forward and a backward graph. The last results of the graph are gradients, and its
    /// last parameters are the seeds of the gradients. Also returns the indices of the parameters that the backward
    /// graph may share memory with.
    fn partitioned(&self, results: usize, seeds: usize) -> PyResult<(Self, Self, Vec<usize>)> {
        let Partition { forward, backward, shared_params } = partition(&*self.finished()?, results, seeds)
            .ok_or_else(|| {
                PyRuntimeError::new_err("the backward graph needs items of lists that are returned")
            })?;
        for graph in [&forward, &backward] {
            verify(graph).map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        Ok((Self::from_graph(forward), Self::from_graph(backward), shared_params))
    }

    /// Returns the graph as JSON, with the source line of each node.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        Ok(emit::json(&*self.finished()?, &|file, line| source_line(py, file, line)))
    }

    /// Returns the graph as DOT, for Graphviz.
    fn dot(&self, py: Python<'_>) -> PyResult<String> {
        Ok(emit::dot(&*self.finished()?, &|file, line| source_line(py, file, line)))
    }

    /// Returns the graph as an S-expression.
    fn sexpr(&self) -> PyResult<String> {
        Ok(emit::sexpr::sexpr(&*self.finished()?))
    }

    /// Reads an S-expression.
    #[staticmethod]
    fn from_sexpr(text: &str) -> PyResult<Self> {
        let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        let graph = emit::sexpr::read(text).map_err(|error| invalid(&error))?;
        verify(&graph).map_err(|error| invalid(&error))?;
        Ok(Self::from_graph(graph))
    }

    /// Returns the graph as SVG.
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        Ok(emit::svg(&*self.finished()?, &|file, line| source_line(py, file, line)))
    }

    /// Writes the graph and its captured tensors to a folder, for `Model` and `ag-run`.
    fn save(&self, folder: PathBuf, captures: Vec<(u32, PyTensor)>) -> PyResult<()> {
        super::model::save(&*self.finished()?, &folder, captures)
    }

    /// Compiles the graph to a shared library whose functions are named after `name`. See
    /// [`super::shared_library::compile`].
    fn shared_library<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        captures: Vec<PyBackedBytes>,
        returned: Vec<Returned>,
        paths: Vec<String>,
        source: (String, String, u32),
    ) -> PyResult<Bound<'py, PyAny>> {
        let graph = self.rewritten(None)?;
        compile(py, graph, name, &captures, &returned, &paths, &source)
    }

    /// Returns the graph as text.
    fn text(&self) -> PyResult<String> {
        Ok(print(&*self.finished()?))
    }
}

impl PyGraph {
    fn from_graph(graph: Graph) -> Self {
        Self { state: State::Finished(Arc::new(graph)), has_independent_loops: false }
    }

    /// Returns the finished graph.
    pub(super) fn finished(&self) -> PyResult<Arc<Graph>> {
        match &self.state {
            State::Finished(graph) => Ok(Arc::clone(graph)),
            _ => Err(PyRuntimeError::new_err("the graph is not finished")),
        }
    }

    fn rewritten(&self, passes: Option<Vec<String>>) -> PyResult<Graph> {
        let passes = match passes {
            Some(names) => named(&names, Pass::from_name)?,
            None => enabled_passes(),
        };
        let mut graph = Graph::clone(&*self.finished()?);
        optimize(&mut graph, &passes);
        Ok(graph)
    }

    fn building(&mut self) -> PyResult<&mut GraphBuilder> {
        match &mut self.state {
            State::Building(building) => Ok(building),
            _ => Err(PyRuntimeError::new_err("the graph is already finished")),
        }
    }
}

impl GraphBuilder {
    pub(super) fn value(&self, value: Value) -> PyValue {
        PyValue { value, ty: self.builder.ty(value).clone() }
    }

    /// Returns the inverse of `span`.
    pub(super) fn location(&self, span: Span) -> PySpan {
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

/// Returns a line of a file from Python's `linecache`, which also has the lines of notebook cells.
fn source_line(py: Python<'_>, file: &str, line: u32) -> Option<String> {
    py.import("linecache").ok()?.call_method1("getline", (file, line)).ok()?.extract().ok()
}

fn nothing_open() -> PyErr {
    PyRuntimeError::new_err("no region is open")
}
