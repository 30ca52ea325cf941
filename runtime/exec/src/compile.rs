//! Compiles a graph to a plan: assigns registers, and flattens regions into steps and jumps.

mod deferred_products;
mod in_place;
mod moves;
mod native;
mod node;
mod operator;
mod registers;
mod sums;

use std::sync::Arc;

use ag_graph::ir::{self, Graph, Node, Operand, Region, Span, text, verify};
use ag_native::Layouts;
use thiserror::Error;

pub use self::deferred_products::listing as deferred_products;
use self::deferred_products::{Sums, SumsOfFunction};
use self::registers::RegisterAllocator;
use super::memory;
use super::pass::Pass;
use super::plan::{Dead, Function, Origin, Plan, Register, ScalarInput, Slice, Source, Step, Target};
use super::tier::{Tier, tier};
use super::value::Value;
use ag_graph::liveness::{NodeLife, RegionLife, liveness};

/// Why a graph cannot be compiled.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct CompileError {
    pub message: String,
    pub span: Option<Span>,
}

type Compiled<T = ()> = Result<T, String>;

/// The default for the maximum depth of calls.
const RECURSION_LIMIT: usize = 100_000;

impl Plan {
    pub fn compile(graph: &Graph) -> Result<Self, CompileError> {
        Self::compile_for_strides(graph, &[])
    }

    /// Compiles a graph for inputs with these strides, in elements. Native programs expect that a tensor without known
    /// strides is contiguous; libtorch runs their nodes for other tensors.
    pub fn compile_for_strides(graph: &Graph, strides: &[Option<Vec<usize>>]) -> Result<Self, CompileError> {
        // Native segments are compiled even if the setting is `Tier::Torch`, because it may change before a run.
        let tier = if tier() == Tier::Always { Tier::Always } else { Tier::Native };
        Self::compiled(graph, tier, strides)
    }

    /// Compiles a graph with the native segments of this tier. A plan for `Tier::Torch` has none.
    pub fn compile_for(graph: &Graph, tier: Tier) -> Result<Self, CompileError> {
        Self::compiled(graph, tier, &[])
    }

    fn compiled(graph: &Graph, tier: Tier, strides: &[Option<Vec<usize>>]) -> Result<Self, CompileError> {
        memory::keep();
        verify::verify(graph)
            .map_err(|fault| CompileError { message: fault.to_string(), span: fault.span })?;
        let mut functions = Vec::with_capacity(graph.functions.len());
        let is_deferred = tier != Tier::Torch && Pass::DeferredProducts.is_enabled();
        let sums = if is_deferred { Sums::of(graph) } else { Sums::default() };
        for (index, function) in graph.functions.iter().enumerate() {
            let mut compiler = Compiler::new(graph, function, tier, &sums);
            compiler.own = sums.of_function(index);
            if index == 0 {
                let known = function.params().iter().zip(strides);
                compiler.layouts =
                    known.filter_map(|(param, strides)| Some((*param, strides.clone()?))).collect();
            }
            functions.push(compiler.function()?);
        }
        let params = graph.entry().map_or_else(Vec::new, |entry| {
            let named = |value: &ir::Value| {
                let info = &entry.values[value.index()];
                let name = info.name.clone().unwrap_or_else(|| format!("%{}", value.0).into());
                (name, info.ty.clone())
            };
            entry.params().iter().map(named).collect()
        });
        let results = graph.entry().map_or(0, |entry| entry.results.len());
        let files = graph.files.clone();
        Ok(Self { functions, files, params, results, recursion_limit: RECURSION_LIMIT })
    }
}

struct Compiler<'a> {
    graph: &'a Graph,
    function: &'a ir::Function,
    plan: Function,
    registers: RegisterAllocator,
    /// The register of each value, once it is defined.
    assigned: Vec<Option<Register>>,
    /// The index of the origin of new steps.
    origin: u32,
    span: Option<Span>,
    /// The strides of values that native segments compute.
    layouts: Layouts,
    tier: Tier,
    /// Whether the current steps belong to a native segment.
    is_native: bool,
    /// The sums of products that are deferred, in the graph and in this function.
    sums: &'a Sums,
    own: SumsOfFunction,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, function: &'a ir::Function, tier: Tier, sums: &'a Sums) -> Self {
        let plan = Function { name: Arc::from(&*function.name), ..Function::default() };
        let assigned = vec![None; function.values.len()];
        let registers = RegisterAllocator::default();
        Self {
            graph,
            function,
            plan,
            registers,
            assigned,
            origin: 0,
            span: None,
            is_native: false,
            tier,
            layouts: Layouts::default(),
            sums,
            own: SumsOfFunction::default(),
        }
    }

    fn function(mut self) -> Result<Function, CompileError> {
        let life = liveness(self.function);
        self.at("return", None);
        let compiled = (|| {
            for param in self.function.params() {
                let register = self.define(*param);
                self.plan.params.push(register);
            }
            self.region(&self.function.body, &life)?;
            self.at("return", None);
            let results = self.sources(&self.function.body.results, &life.results)?;
            let results = Slice::add(&mut self.plan.tables.sources, results);
            self.step(Step::Return { results });
            Ok(())
        })();
        compiled.map_err(|message| CompileError { message, span: self.span })?;
        self.plan.scalars = self.registers.scalars.count();
        self.plan.tensors = self.registers.tensors.count();
        self.plan.objects = self.registers.objects.count();
        Ok(self.plan)
    }

    /// Compiles the nodes of a region; the caller handles its results.
    fn region(&mut self, region: &Region, life: &RegionLife) -> Compiled {
        self.drop_values(&life.entry);
        let mut index = 0;
        let mut end = 0;
        while index < region.nodes.len() {
            // Native segments contain no sums.
            if index >= end {
                let has_sums = |node: &Node| self.own.has_sums(node);
                let next = region.nodes[index..].iter().position(has_sums);
                end = next.map_or(region.nodes.len(), |next| (index + next).max(index + 1));
            }
            let (nodes, lives) = (&region.nodes[index..end], &life.nodes[index..end]);
            let native = if self.own.has_sums(&nodes[0]) { None } else { self.native(nodes, lives) };
            let length = native.as_ref().map_or(1, |native| native.nodes);
            let is_inside = self.is_native;
            self.is_native |= native.is_some();
            for (node, life) in nodes.iter().zip(lives).take(length) {
                self.at(&text::op_name(self.graph, &node.op), node.span);
                let (origin, span) = (self.origin, self.span);
                self.node(node, life)?;
                (self.origin, self.span) = (origin, span);
                self.drop_values(&life.after);
            }
            if let Some(native) = native {
                self.is_native = is_inside;
                self.end_native(native)?;
            }
            index += length;
        }
        Ok(())
    }

    /// Sets the origin of the following steps.
    fn at(&mut self, operation: &str, span: Option<Span>) {
        self.span = span;
        let known = |origin: &Origin| *origin.operation == *operation && origin.span == span;
        if !self.plan.origins.last().is_some_and(known) {
            self.plan.origins.push(Origin { operation: operation.into(), span });
        }
        self.origin = (self.plan.origins.len() - 1) as u32;
    }

    fn step(&mut self, step: Step) -> Target {
        self.plan.steps.push(step);
        self.plan.dead.push(Slice::add(&mut self.plan.tables.dead, None));
        self.plan.origin.push(self.origin);
        (self.plan.steps.len() - 1) as Target
    }

    fn next(&self) -> Target {
        self.plan.steps.len() as Target
    }

    /// Sets the target of a jump emitted earlier to the next step.
    fn patch_jump(&mut self, jump: Target) {
        let here = self.next();
        match &mut self.plan.steps[jump as usize] {
            Step::Jump { to } | Step::JumpIfFalse { to, .. } | Step::ForTest { to, .. } => *to = here,
            _ => {}
        }
    }

    /// Allocates the register of a value.
    fn define(&mut self, value: ir::Value) -> Register {
        let ty = if self.is_sum(value) { &ir::Type::Any } else { self.function.ty(value) };
        let register = self.registers.take(ty);
        self.assigned[value.index()] = Some(register);
        register
    }

    /// Releases dead values: clears their registers and frees these for reuse. If `taken`, a step has already moved the
    /// values out.
    fn release(&mut self, values: &[ir::Value], taken: bool) {
        for value in values {
            let Some(register) = self.assigned[value.index()] else { continue };
            let dead = match register {
                Register::Scalar(..) => None,
                Register::Tensor(reg) => Some(Dead::Tensor(reg)),
                Register::Object(reg) => Some(Dead::Object(reg)),
            };
            if !taken {
                self.plan.tables.dead.extend(dead);
            }
            self.registers.release(register);
        }
    }

    /// Releases values that die between two nodes.
    fn drop_values(&mut self, values: &[ir::Value]) {
        if values
            .iter()
            .all(|value| matches!(self.assigned[value.index()], None | Some(Register::Scalar(..))))
        {
            self.release(values, true);
            return;
        }
        self.step_releasing(Step::Release, values);
    }

    /// Emits a step, and releases these values, which no later step uses.
    fn step_releasing(&mut self, step: Step, values: &[ir::Value]) -> Target {
        let index = self.step(step);
        let start = self.plan.tables.dead.len();
        self.release(values, false);
        let length = self.plan.tables.dead.len() - start;
        self.plan.dead[index as usize] = Slice::new(start, length);
        index
    }

    fn register_of(&self, value: ir::Value) -> Compiled<Register> {
        self.assigned[value.index()].ok_or_else(|| format!("%{} has no register", value.0))
    }

    /// Returns an operand that must be a scalar.
    fn input(&self, operand: &Operand) -> Compiled<ScalarInput> {
        match operand {
            Operand::Int(value) => Ok(ScalarInput::Const(value.cast_unsigned())),
            Operand::Float(value) => Ok(ScalarInput::Const(value.to_bits())),
            Operand::Bool(value) => Ok(ScalarInput::Const(u64::from(*value))),
            Operand::Value(value) => match self.register_of(*value)? {
                Register::Scalar(reg, _) => Ok(ScalarInput::Register(reg)),
                _ => Err("expected a number, found an operand of another or unknown type".into()),
            },
            _ => Err("expected a number".into()),
        }
    }

    /// Returns the sources for operands. A value that dies here is moved out of its register by the last operand that
    /// uses it, and copied by the others.
    fn sources(&mut self, operands: &[Operand], dies: &[ir::Value]) -> Compiled<Vec<Source>> {
        let mut left: Vec<ir::Value> = dies.to_vec();
        let mut sources: Vec<Source> = Vec::with_capacity(operands.len());
        for operand in operands.iter().rev() {
            sources.push(self.source(operand, &mut left)?);
        }
        sources.reverse();
        // Scalars are copied, but their registers are released too.
        self.release(dies, true);
        Ok(sources)
    }

    /// Returns the source of an operand. `left` contains the values that die here and have not been moved yet; a source
    /// moves such a value out of its register.
    fn source(&self, operand: &Operand, left: &mut Vec<ir::Value>) -> Compiled<Source> {
        Ok(match operand {
            Operand::Value(value) => {
                let last = left.iter().position(|dying| dying == value);
                if let Some(index) = last {
                    left.swap_remove(index);
                }
                match self.register_of(*value)? {
                    Register::Scalar(reg, kind) => {
                        Source::Scalar(super::plan::TypedScalar { input: ScalarInput::Register(reg), kind })
                    }
                    Register::Tensor(reg) => Source::Tensor(reg, last.is_some()),
                    Register::Object(reg) => Source::Object(reg, last.is_some()),
                }
            }
            Operand::None => Source::Const(Value::None),
            Operand::Int(value) => Source::Const(Value::Int(*value)),
            Operand::Float(value) => Source::Const(Value::Float(*value)),
            Operand::Bool(value) => Source::Const(Value::Bool(*value)),
            Operand::Str(text) => Source::Const(Value::str(text)),
            Operand::List(items) => {
                let mut sources: Vec<Source> = Vec::with_capacity(items.len());
                for item in items.iter().rev() {
                    sources.push(self.source(item, left)?);
                }
                sources.reverse();
                Source::List(sources.into())
            }
            Operand::DType(dtype) => Source::Const(Value::str(dtype.torch())),
            Operand::Device(device) => Source::Const(Value::str(&device.to_string())),
            Operand::Layout(layout) => Source::Const(Value::str(layout.name())),
            Operand::MemoryFormat(format) => Source::Const(Value::str(format.name())),
        })
    }

    fn source_slice(&mut self, operands: &[Operand], dies: &[ir::Value]) -> Compiled<Slice> {
        let sources = self.sources(operands, dies)?;
        Ok(Slice::add(&mut self.plan.tables.sources, sources))
    }

    fn output_slice(&mut self, outputs: &[ir::Value]) -> Slice {
        let registers: Vec<Register> = outputs.iter().map(|output| self.define(*output)).collect();
        Slice::add(&mut self.plan.tables.registers, registers)
    }

    fn output_entry(&mut self, output: ir::Value) -> u32 {
        let register = self.define(output);
        self.plan.tables.registers.push(register);
        (self.plan.tables.registers.len() - 1) as u32
    }

    fn source_entry(&mut self, source: Source) -> u32 {
        self.plan.tables.sources.push(source);
        (self.plan.tables.sources.len() - 1) as u32
    }

    fn node(&mut self, node: &Node, life: &NodeLife) -> Compiled {
        if self.sum(node, life)? {
            return Ok(());
        }
        match &node.op {
            ir::Op::Operator(operator) => self.operator(operator.text(), node, life),
            ir::Op::If => self.branch(node, life),
            ir::Op::While => self.while_loop(node, life),
            ir::Op::For => self.for_loop(node, life),
            _ => self.simple(node, life),
        }
    }
}
