//! Through `call`: a function has derivatives that are functions of the graph themselves, one for each choice of
//! operands that have a gradient and of results that one arrives at. A function that calls itself has derivatives that
//! do.
//!
//! Where the gradient has none itself, the call becomes one of a function that also returns what the way back needs, a
//! tuple in which those of the calls within lie: each level is computed once. Else the way back computes the function
//! again, at each level all that is below it.

use std::collections::{HashMap, HashSet};

use super::adjoint::{self, Adjoints};
use super::emit::Emit;
use super::reverse::{self, Reverse};
use super::{Error, Formulas, saved};
use crate::ir::build::{Builder, Circumstances};
use crate::ir::graph::{Function, FunctionId, Node, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::Type;

/// The functions that calls mean, and the derivatives of these.
#[derive(Debug, Default)]
pub struct Functions {
    /// By number. One that is not made yet is missing, as the one that the gradient is taken in.
    pub(super) known: Vec<Option<Function>>,
    derived: HashMap<Choice, Derivative>,
    /// Of the function that the gradient is taken in: no other has it.
    entry: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Choice {
    function: FunctionId,
    operands: Vec<bool>,
    results: Vec<bool>,
    no_grad: bool,
}

#[derive(Debug, Clone, Copy)]
struct Derivative {
    /// Returns what is kept in addition; `None` where the way back computes it again.
    forward: Option<FunctionId>,
    backward: FunctionId,
}

impl Functions {
    /// Those of a graph but for its entry, which has this name.
    pub fn beside(entry: &str, others: Vec<Function>) -> Self {
        let known = std::iter::once(None).chain(others.into_iter().map(Some)).collect();
        Self { known, entry: entry.into(), ..Self::default() }
    }

    /// The functions; `None` if one that was declared is not made.
    pub fn into_others(self) -> Option<Vec<Function>> {
        self.known.into_iter().skip(1).collect()
    }

    pub fn declare(&mut self) -> FunctionId {
        self.known.push(None);
        FunctionId(u32::try_from(self.known.len() - 1).unwrap_or(u32::MAX))
    }

    /// What has been made since there were `count` functions is none, for it is not whole.
    pub(super) fn truncate(&mut self, count: usize) {
        self.known.truncate(count);
        self.derived.retain(|_, derivative| derivative.backward.index() < count);
    }

    fn get(&self, id: FunctionId) -> Option<&Function> {
        self.known.get(id.index()).and_then(Option::as_ref)
    }

    /// Makes a function what its number means, under a name of its own: up to a dot the one it is given.
    pub fn define(&mut self, id: FunctionId, mut function: Function) {
        let mut taken: HashSet<&str> = self.known.iter().flatten().map(|function| &*function.name).collect();
        taken.insert(&self.entry);
        let mut name = function.name.clone();
        let mut number = 2;
        while taken.contains(&*name) {
            name = format!("{}.{number}", function.name).into();
            number += 1;
        }
        function.name = name;
        if let Some(place) = self.known.get_mut(id.index()) {
            *place = Some(function);
        }
    }

    /// Whether what a function does may not be done twice: it draws random numbers, or calls back.
    fn happens_once(&self, id: FunctionId, seen: &mut HashSet<FunctionId>) -> bool {
        fn any(functions: &Functions, nodes: &[Node], seen: &mut HashSet<FunctionId>) -> bool {
            nodes.iter().any(|node| match &node.op {
                Op::Call(id) => functions.happens_once(*id, seen),
                Op::Print | Op::Assert | Op::Raise(_) => false,
                op => {
                    op.has_effect() || node.regions.iter().any(|region| any(functions, &region.nodes, seen))
                }
            })
        }
        seen.insert(id) && self.get(id).is_some_and(|function| any(self, &function.body.nodes, seen))
    }
}

impl Reverse<'_> {
    pub(super) fn call(
        &mut self,
        node: &mut Node,
        function: FunctionId,
        adjoints: &mut Adjoints,
    ) -> Result<(), Error> {
        let choice = Choice {
            function,
            operands: node.operands.iter().map(|operand| self.active(operand).is_some()).collect(),
            results: node.outputs.iter().map(|output| adjoints.has(*output)).collect(),
            no_grad: self.emit.circumstances.no_grad,
        };
        if !choice.operands.contains(&true) {
            return Ok(());
        }
        let derivative = self.derivative(&choice)?;
        let mut operands = match derivative.forward {
            Some(forward) => {
                node.op = Op::Call(forward);
                let kept = self.emit.builder.value(Type::Any, None);
                node.outputs.push(kept);
                vec![kept.into()]
            }
            None => node.operands.clone(),
        };
        for output in &node.outputs {
            operands.extend(adjoints.get(&mut self.emit, *output));
        }
        let active: Vec<Value> = node.operands.iter().filter_map(|operand| self.active(operand)).collect();
        let types = active.iter().map(|value| adjoint::type_of(self.emit.builder.ty(*value))).collect();
        let at = self.emit.circumstances.clone();
        let op = Op::Call(derivative.backward);
        let gradients = self.emit.builder.emit(op, operands, types, Vec::new(), &at);
        for (value, gradient) in active.into_iter().zip(gradients) {
            adjoints.add(&mut self.emit, value, gradient.into());
        }
        Ok(())
    }

    fn active(&self, operand: &Operand) -> Option<Value> {
        operand.value().filter(|value| self.activity.is_active(*value))
    }

    fn derivative(&mut self, choice: &Choice) -> Result<Derivative, Error> {
        if let Some(known) = self.functions.derived.get(choice) {
            return Ok(*known);
        }
        let Some(function) = self.functions.get(choice.function).cloned() else {
            return Err(self.error("no derivative: a function within itself"));
        };
        if !choice.no_grad && self.functions.happens_once(choice.function, &mut HashSet::new()) {
            return Err(self.error(format!(
                "no second derivative: @{} draws random numbers or calls back into Python",
                function.name
            )));
        }
        let forward = choice.no_grad.then(|| self.functions.declare());
        let derivative = Derivative { forward, backward: self.functions.declare() };
        self.functions.derived.insert(choice.clone(), derivative);
        let circumstances = Circumstances { no_grad: choice.no_grad, ..self.emit.circumstances.clone() };
        let way = Way::of(function, choice, &circumstances, self.formulas, self.functions)?;
        match forward {
            Some(forward) => {
                let (there, back) = way.apart();
                self.functions.define(forward, there);
                self.functions.define(derivative.backward, back);
            }
            None => self.functions.define(derivative.backward, way.whole()),
        }
        Ok(derivative)
    }
}

/// A function and its way back, in one builder.
struct Way {
    builder: Builder,
    circumstances: Circumstances,
    name: Box<str>,
    forward: Region,
    results: Vec<Type>,
    seeds: Vec<Value>,
    gradients: Vec<Operand>,
}

impl Way {
    fn of(
        function: Function,
        choice: &Choice,
        circumstances: &Circumstances,
        formulas: &mut dyn Formulas,
        functions: &mut Functions,
    ) -> Result<Self, Error> {
        let Function { name, body, results, values } = function;
        let mut builder = Builder::new(&name);
        builder.values = values;
        let mut seeds = Vec::new();
        let mut outputs = Vec::new();
        for (result, ty) in
            body.results.iter().zip(&results).zip(&choice.results).filter(|pair| *pair.1).map(|p| p.0)
        {
            let seed = builder.value(adjoint::type_of(ty), None);
            seeds.push(seed);
            // A literal has no gradient.
            outputs.extend(result.value().map(|value| (value, seed)));
        }
        let inputs: Vec<Value> = body
            .params
            .iter()
            .zip(&choice.operands)
            .filter(|pair| *pair.1)
            .map(|(param, _)| *param)
            .collect();
        let Region { params, nodes, results: ends } = body;
        let mut forward = vec![nodes];
        let (outputs, given): (Vec<Value>, Vec<Option<Operand>>) =
            outputs.into_iter().map(|(value, seed)| (value, Some(seed.into()))).unzip();
        let emit = Emit { builder: &mut builder, circumstances: circumstances.clone() };
        let found = reverse::gradient(emit, &mut forward, &outputs, &given, &inputs, functions, formulas)?;
        let mut emit = Emit { builder: &mut builder, circumstances: circumstances.clone() };
        let gradients = inputs
            .iter()
            .zip(found)
            .map(|(input, gradient)| gradient.unwrap_or_else(|| adjoint::zero(&mut emit, *input)))
            .collect();
        let nodes = forward.pop().unwrap_or_default();
        let forward = Region { params, nodes, results: ends };
        Ok(Self { builder, circumstances: circumstances.clone(), name, forward, results, seeds, gradients })
    }

    /// The function that also returns what is kept, and the one that goes back with it.
    fn apart(mut self) -> (Function, Function) {
        let mut back = self.builder.open.pop().unwrap_or_default();
        back.results = self.gradients;
        let mut emit = Emit { builder: &mut self.builder, circumstances: self.circumstances };
        let needed = saved::needed(&mut emit, &self.forward, None, &mut back);
        let [made, kept] = [(); 2].map(|()| emit.builder.value(Type::Any, None));
        let beside = |op, operands, outputs| {
            let span = emit.circumstances.span;
            Node { op, operands, outputs, regions: Vec::new(), span, grad: false }
        };
        let items = needed.iter().copied().map(Operand::Value).collect();
        let mut there = self.forward;
        there.nodes.push(beside(Op::TupleNew, items, vec![made]));
        there.results.push(made.into());
        let taken = (0u32..)
            .zip(&needed)
            .map(|(index, value)| beside(Op::TupleGet(index), vec![kept.into()], vec![*value]))
            .collect::<Vec<_>>();
        back.nodes.splice(0..0, taken);
        back.params = [vec![kept], self.seeds].concat();
        let types = back.results.iter().map(|operand| self.builder.type_of(operand)).collect();
        let results = [self.results, vec![Type::Any]].concat();
        let values = self.builder.values;
        let forward = Function {
            name: format!("{}.forward", self.name).into(),
            body: there,
            results,
            values: values.clone(),
        };
        let backward =
            Function { name: format!("{}.backward", self.name).into(), body: back, results: types, values };
        (forward, backward)
    }

    /// One function that computes all of it.
    fn whole(mut self) -> Function {
        let back = self.builder.open.pop().unwrap_or_default();
        let mut body = self.forward;
        silence(&mut body.nodes);
        body.nodes.extend(back.nodes);
        body.params.extend(self.seeds);
        body.results = self.gradients;
        let results = body.results.iter().map(|operand| self.builder.type_of(operand)).collect();
        Function {
            name: format!("{}.gradient", self.name).into(),
            body,
            results,
            values: self.builder.values,
        }
    }
}

/// What was printed is not printed again.
fn silence(nodes: &mut Vec<Node>) {
    nodes.retain(|node| node.op != Op::Print);
    nodes.iter_mut().for_each(|node| node.regions.iter_mut().for_each(|region| silence(&mut region.nodes)));
}
