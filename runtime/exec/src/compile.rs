//! From the graph to the plan: registers, steps in a row, jumps for the regions.

mod moves;
mod node;
mod operator;
mod registers;
mod sums;

use std::sync::Arc;

use ag_graph::ir::{self, Graph, Node, Operand, Region, Span, text, verify};
use thiserror::Error;

use self::registers::Registers;
use super::liveness::{NodeLife, RegionLife, liveness};
use super::plan::{Dead, Function, Input, Origin, Place, Plan, Slice, Source, Step, Target};
use super::value::Value;

/// Why a graph cannot run.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct CompileError {
    pub message: String,
    pub span: Option<Span>,
}

type Compiled<T = ()> = Result<T, String>;

/// More calls than this may not be open at a time, unless the plan is told so.
const RECURSION_LIMIT: usize = 100_000;

impl Plan {
    pub fn compile(graph: &Graph) -> Result<Self, CompileError> {
        verify::verify(graph)
            .map_err(|fault| CompileError { message: fault.to_string(), span: fault.span })?;
        let mut functions = Vec::with_capacity(graph.functions.len());
        for function in &graph.functions {
            functions.push(Compiler::new(graph, function).function()?);
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
    registers: Registers,
    /// Where each value is, once it is defined.
    places: Vec<Option<Place>>,
    /// Of the steps that are being made.
    origin: u32,
    span: Option<Span>,
}

impl<'a> Compiler<'a> {
    fn new(graph: &'a Graph, function: &'a ir::Function) -> Self {
        let plan = Function { name: Arc::from(&*function.name), ..Function::default() };
        let places = vec![None; function.values.len()];
        let registers = Registers::default();
        Self { graph, function, plan, registers, places, origin: 0, span: None }
    }

    fn function(mut self) -> Result<Function, CompileError> {
        let life = liveness(self.function);
        self.at("return", None);
        let compiled = (|| {
            for param in self.function.params() {
                let place = self.define(*param);
                self.plan.params.push(place);
            }
            self.region(&self.function.body, &life)?;
            self.at("return", None);
            let results = self.sources(&self.function.body.results, &life.results)?;
            let results = Slice::add(&mut self.plan.tables.sources, results);
            self.step(Step::Return { results });
            Ok(())
        })();
        compiled.map_err(|message| CompileError { message, span: self.span })?;
        self.plan.nums = self.registers.nums.count();
        self.plan.tens = self.registers.tens.count();
        self.plan.anys = self.registers.anys.count();
        Ok(self.plan)
    }

    /// The nodes of a region; its results are the business of whoever opened it.
    fn region(&mut self, region: &Region, life: &RegionLife) -> Compiled {
        self.drop_values(&life.entry);
        for (node, life) in region.nodes.iter().zip(&life.nodes) {
            self.at(&text::op_name(self.graph, &node.op), node.span);
            let (origin, span) = (self.origin, self.span);
            self.node(node, life)?;
            (self.origin, self.span) = (origin, span);
            self.drop_values(&life.after);
        }
        Ok(())
    }

    /// Steps from now on come from this operation.
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

    /// A jump forward, once it is known where to.
    fn lands_here(&mut self, jump: Target) {
        let here = self.next();
        match &mut self.plan.steps[jump as usize] {
            Step::Jump { to } | Step::Unless { to, .. } | Step::ForTest { to, .. } => *to = here,
            _ => {}
        }
    }

    /// Gives a value a register of its own.
    fn define(&mut self, value: ir::Value) -> Place {
        let place = self.registers.take(self.function.ty(value));
        self.places[value.index()] = Some(place);
        place
    }

    /// The values are gone: their tensors now, their registers for the next one. `taken`: a step has emptied them.
    fn release(&mut self, values: &[ir::Value], taken: bool) {
        for value in values {
            let Some(place) = self.places[value.index()] else { continue };
            let dead = match place {
                Place::Num(..) => None,
                Place::Ten(ten) => Some(Dead::Ten(ten)),
                Place::Any(any) => Some(Dead::Any(any)),
            };
            if !taken {
                self.plan.tables.dead.extend(dead);
            }
            self.registers.release(place);
        }
    }

    /// Values that die between two nodes.
    fn drop_values(&mut self, values: &[ir::Value]) {
        if values.iter().all(|value| matches!(self.places[value.index()], None | Some(Place::Num(..)))) {
            self.release(values, true);
            return;
        }
        self.step_releasing(Step::Free, values);
    }

    /// A step, then the end of the values that it used for the last time.
    fn step_releasing(&mut self, step: Step, values: &[ir::Value]) -> Target {
        let index = self.step(step);
        let start = self.plan.tables.dead.len();
        self.release(values, false);
        let length = self.plan.tables.dead.len() - start;
        self.plan.dead[index as usize] = Slice::new(start, length);
        index
    }

    fn place(&self, value: ir::Value) -> Compiled<Place> {
        self.places[value.index()].ok_or_else(|| format!("%{} has no register", value.0))
    }

    /// An operand that must be a number.
    fn input(&self, operand: &Operand) -> Compiled<Input> {
        match operand {
            Operand::Int(value) => Ok(Input::Const(value.cast_unsigned())),
            Operand::Float(value) => Ok(Input::Const(value.to_bits())),
            Operand::Bool(value) => Ok(Input::Const(u64::from(*value))),
            Operand::Value(value) => match self.place(*value)? {
                Place::Num(num, _) => Ok(Input::Num(num)),
                _ => Err("a number is wanted, and its type is not known to be one".into()),
            },
            _ => Err("a number is wanted".into()),
        }
    }

    /// What a step is given; values that die here are taken by their last use among these.
    fn sources(&mut self, operands: &[Operand], dies: &[ir::Value]) -> Compiled<Vec<Source>> {
        let mut left: Vec<ir::Value> = dies.to_vec();
        let mut sources: Vec<Source> = Vec::with_capacity(operands.len());
        for operand in operands.iter().rev() {
            sources.push(self.source(operand, &mut left)?);
        }
        sources.reverse();
        // What was taken is released; what was not (numbers) too.
        self.release(dies, true);
        Ok(sources)
    }

    fn source(&self, operand: &Operand, left: &mut Vec<ir::Value>) -> Compiled<Source> {
        Ok(match operand {
            Operand::Value(value) => {
                let last = left.iter().position(|dying| dying == value);
                if let Some(index) = last {
                    left.swap_remove(index);
                }
                match self.place(*value)? {
                    Place::Num(num, kind) => {
                        Source::Number(super::plan::Number { input: Input::Num(num), kind })
                    }
                    Place::Ten(ten) => Source::Ten(ten, last.is_some()),
                    Place::Any(any) => Source::Any(any, last.is_some()),
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
            Operand::Layout(name) | Operand::MemoryFormat(name) => Source::Const(Value::str(name)),
        })
    }

    fn source_slice(&mut self, operands: &[Operand], dies: &[ir::Value]) -> Compiled<Slice> {
        let sources = self.sources(operands, dies)?;
        Ok(Slice::add(&mut self.plan.tables.sources, sources))
    }

    fn output_slice(&mut self, outputs: &[ir::Value]) -> Slice {
        let places: Vec<Place> = outputs.iter().map(|output| self.define(*output)).collect();
        Slice::add(&mut self.plan.tables.places, places)
    }

    fn output_entry(&mut self, output: ir::Value) -> u32 {
        let place = self.define(output);
        self.plan.tables.places.push(place);
        (self.plan.tables.places.len() - 1) as u32
    }

    fn source_entry(&mut self, source: Source) -> u32 {
        self.plan.tables.sources.push(source);
        (self.plan.tables.sources.len() - 1) as u32
    }

    fn node(&mut self, node: &Node, life: &NodeLife) -> Compiled {
        match &node.op {
            ir::Op::Operator(name) => self.operator(name, node, life),
            ir::Op::If => self.branch(node, life),
            ir::Op::While => self.while_loop(node, life),
            ir::Op::For => self.for_loop(node, life),
            _ => self.simple(node, life),
        }
    }
}
