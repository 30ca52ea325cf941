//! Differentiates `call`. The derivative of a function is another function of the graph, one for each
//! combination of differentiated operands and results. The derivative of a recursive function is recursive.
//!
//! If no second derivative is needed, the forward function also returns a tuple of saved values, which contains the
//! tuples of nested calls; each level is computed once. Otherwise the backward function of each level recomputes the
//! forward function, including its nested calls.
//!
//! If a recursive function passes an argument on unchanged, such as a weight, the gradient of the argument is a sum over
//! all levels. The backward function takes the sum so far, adds its own terms and returns it, so that no level creates
//! and adds zeros.

use std::collections::{HashMap, HashSet};

use super::adjoint::{self, Adjoints};
use super::emit::Emit;
use super::reverse::{self, Reverse};
use super::{Error, Formulas, saved};
use crate::ir::build::{Builder, NodeAttrs};
use crate::ir::graph::{Function, FunctionId, Node, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::types::Type;

/// The functions of a graph under construction, and their derivatives.
#[derive(Debug, Default)]
pub struct Functions {
    /// The functions by id. `None` for the function that is differentiated, and for functions that are declared but not
    /// yet defined.
    pub(super) known: Vec<Option<Function>>,
    derived: HashMap<DerivativeKey, Derivative>,
    /// The name of the entry, which no other function may have.
    entry: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct DerivativeKey {
    function: FunctionId,
    operands: Vec<bool>,
    results: Vec<bool>,
    no_grad: bool,
}

#[derive(Debug, Clone)]
struct Derivative {
    /// The function that also returns the saved values. `None` if the backward function recomputes them.
    forward: Option<FunctionId>,
    backward: FunctionId,
    /// For each operand: whether the backward function takes the sum of the operand's gradients so far. These
    /// parameters follow the seeds.
    summed: Box<[bool]>,
}

impl Functions {
    /// Returns all functions of a graph except the entry. `entry` is the name of the entry.
    pub fn without_entry(entry: &str, others: Vec<Function>) -> Self {
        let known = std::iter::once(None).chain(others.into_iter().map(Some)).collect();
        Self { known, entry: entry.into(), ..Self::default() }
    }

    /// Returns the functions; `None` if a declared one is not defined.
    pub fn into_others(self) -> Option<Vec<Function>> {
        self.known.into_iter().skip(1).collect()
    }

    pub fn declare(&mut self) -> FunctionId {
        self.known.push(None);
        FunctionId(u32::try_from(self.known.len() - 1).unwrap_or(u32::MAX))
    }

    /// Removes functions added after the first `count`, which are incomplete.
    pub(super) fn truncate(&mut self, count: usize) {
        self.known.truncate(count);
        self.derived.retain(|_, derivative| derivative.backward.index() < count);
    }

    fn get(&self, id: FunctionId) -> Option<&Function> {
        self.known.get(id.index()).and_then(Option::as_ref)
    }

    /// Defines a declared function. If its name is taken, a numeric suffix is added.
    pub fn define(&mut self, id: FunctionId, mut function: Function) {
        let mut taken_names: HashSet<&str> =
            self.known.iter().flatten().map(|function| &*function.name).collect();
        taken_names.insert(&self.entry);
        let mut name = function.name.clone();
        let mut number = 2;
        while taken_names.contains(&*name) {
            name = format!("{}.{number}", function.name).into();
            number += 1;
        }
        function.name = name;
        if let Some(place) = self.known.get_mut(id.index()) {
            *place = Some(function);
        }
    }

    /// Returns whether a function must not run twice, because it draws random numbers or calls Python.
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
    /// Adds the derivative of a call: a call of the derivative of the callee.
    pub(super) fn differentiate_call(
        &mut self,
        node: &mut Node,
        function: FunctionId,
        adjoints: &mut Adjoints,
    ) -> Result<(), Error> {
        let key = DerivativeKey {
            function,
            operands: node.operands.iter().map(|operand| self.active(operand).is_some()).collect(),
            results: node.outputs.iter().map(|output| adjoints.has(*output)).collect(),
            no_grad: self.emit.attrs.no_grad,
        };
        if !key.operands.contains(&true) {
            return Ok(());
        }
        let derivative = self.derivative(&key)?;
        let mut operands = match derivative.forward {
            Some(forward) => {
                node.op = Op::Call(forward);
                let saved_tuple = self.emit.builder.value(Type::Any, None);
                node.outputs.push(saved_tuple);
                vec![saved_tuple.into()]
            }
            None => node.operands.clone(),
        };
        for output in &node.outputs {
            operands.extend(adjoints.get(&mut self.emit, *output));
        }
        let active: Vec<Value> = node.operands.iter().filter_map(|operand| self.active(operand)).collect();
        let is_summed: Vec<bool> =
            key.operands.iter().zip(&derivative.summed).filter(|pair| *pair.0).map(|pair| *pair.1).collect();
        for (value, _) in active.iter().zip(&is_summed).filter(|pair| *pair.1) {
            let sum = adjoints.get(&mut self.emit, *value);
            operands.push(sum.unwrap_or_else(|| adjoint::zero(&mut self.emit, *value)));
        }
        let types = active.iter().map(|value| adjoint::type_of(self.emit.builder.ty(*value))).collect();
        let at = self.emit.attrs.clone();
        let op = Op::Call(derivative.backward);
        let gradients = self.emit.builder.emit(op, operands, types, Vec::new(), &at);
        for ((value, gradient), is_summed) in active.into_iter().zip(gradients).zip(is_summed) {
            if is_summed {
                adjoints.set(value, gradient.into());
            } else {
                adjoints.add(&mut self.emit, value, gradient.into());
            }
        }
        Ok(())
    }

    fn active(&self, operand: &Operand) -> Option<Value> {
        operand.value().filter(|value| self.activity.is_active(*value))
    }

    /// Returns the derivative of a function, which is created at the first use.
    fn derivative(&mut self, key: &DerivativeKey) -> Result<Derivative, Error> {
        if let Some(known) = self.functions.derived.get(key) {
            return Ok(known.clone());
        }
        let Some(function) = self.functions.get(key.function).cloned() else {
            return Err(self.error("no derivative: the gradient of a function is taken inside itself"));
        };
        if !key.no_grad && self.functions.happens_once(key.function, &mut HashSet::new()) {
            return Err(self.error(format!(
                "no second derivative: @{} draws random numbers or calls back into Python",
                function.name
            )));
        }
        let forward = key.no_grad.then(|| self.functions.declare());
        let summed = if key.no_grad { passed_on(&function, key) } else { vec![false; key.operands.len()] };
        let derivative =
            Derivative { forward, backward: self.functions.declare(), summed: summed.into_boxed_slice() };
        self.functions.derived.insert(key.clone(), derivative.clone());
        let attrs = NodeAttrs { no_grad: key.no_grad, ..self.emit.attrs.clone() };
        let summed = &derivative.summed;
        let pair = ForwardBackward::of(function, key, summed, &attrs, self.formulas, self.functions)?;
        match forward {
            Some(forward) => {
                let (forward_function, backward) = pair.split();
                self.functions.define(forward, forward_function);
                self.functions.define(derivative.backward, backward);
            }
            None => self.functions.define(derivative.backward, pair.combined()),
        }
        Ok(derivative)
    }
}

/// Returns for each parameter whether it is a tensor with a gradient that every direct recursive call of the function
/// passes on unchanged. All are `false` if the function does not call itself directly.
fn passed_on(function: &Function, key: &DerivativeKey) -> Vec<bool> {
    fn calls<'a>(nodes: &'a [Node], id: FunctionId, found: &mut Vec<&'a [Operand]>) {
        for node in nodes {
            if node.op == Op::Call(id) {
                found.push(&node.operands);
            }
            node.regions.iter().for_each(|region| calls(&region.nodes, id, found));
        }
    }
    let mut found = Vec::new();
    calls(&function.body.nodes, key.function, &mut found);
    let params = function.body.params.iter().zip(&key.operands).enumerate();
    params
        .map(|(index, (param, has_gradient))| {
            let is_tensor = function.ty(*param).tensor().is_some();
            let is_same =
                |operands: &&[Operand]| operands.get(index).and_then(Operand::value) == Some(*param);
            *has_gradient && is_tensor && !found.is_empty() && found.iter().all(is_same)
        })
        .collect()
}

/// A function and its backward pass, in one builder.
struct ForwardBackward {
    builder: Builder,
    attrs: NodeAttrs,
    name: Box<str>,
    forward: Region,
    results: Vec<Type>,
    seeds: Vec<Value>,
    gradients: Vec<Operand>,
}

impl ForwardBackward {
    fn of(
        function: Function,
        key: &DerivativeKey,
        summed: &[bool],
        attrs: &NodeAttrs,
        formulas: &mut dyn Formulas,
        functions: &mut Functions,
    ) -> Result<Self, Error> {
        let Function { name, body, results, values } = function;
        let mut builder = Builder::new(&name);
        builder.values = values;
        let mut seeds = Vec::new();
        let mut outputs = Vec::new();
        for (result, ty) in
            body.results.iter().zip(&results).zip(&key.results).filter(|pair| *pair.1).map(|p| p.0)
        {
            let seed = builder.value(adjoint::type_of(ty), None);
            seeds.push(seed);
            // A literal has no gradient.
            outputs.extend(result.value().map(|value| (value, seed)));
        }
        let inputs: Vec<Value> =
            body.params.iter().zip(&key.operands).filter(|pair| *pair.1).map(|(param, _)| *param).collect();
        // The gradient of an argument that is passed on starts with the sum so far.
        for (param, _) in body.params.iter().zip(summed).filter(|pair| *pair.1) {
            let sum = builder.value(adjoint::type_of(builder.ty(*param)), None);
            seeds.push(sum);
            outputs.push((*param, sum));
        }
        let Region { params, nodes, results: ends } = body;
        let mut forward = vec![nodes];
        let (outputs, given): (Vec<Value>, Vec<Option<Operand>>) =
            outputs.into_iter().map(|(value, seed)| (value, Some(seed.into()))).unzip();
        let emit = Emit { builder: &mut builder, attrs: attrs.clone() };
        let found = reverse::gradient(emit, &mut forward, &outputs, &given, &inputs, functions, formulas)?;
        let mut emit = Emit { builder: &mut builder, attrs: attrs.clone() };
        let gradients = inputs
            .iter()
            .zip(found)
            .map(|(input, gradient)| gradient.unwrap_or_else(|| adjoint::zero(&mut emit, *input)))
            .collect();
        let nodes = forward.pop().unwrap_or_default();
        let forward = Region { params, nodes, results: ends };
        Ok(Self { builder, attrs: attrs.clone(), name, forward, results, seeds, gradients })
    }

    /// Returns a forward function that also returns the saved values, and the backward function that takes them.
    fn split(mut self) -> (Function, Function) {
        let mut backward = self.builder.open.pop().unwrap_or_default();
        backward.results = self.gradients;
        let mut emit = Emit { builder: &mut self.builder, attrs: self.attrs };
        let needed = saved::needed(&mut emit, &self.forward, None, &mut backward);
        let [tuple, saved_tuple] = [(); 2].map(|()| emit.builder.value(Type::Any, None));
        let synthesized = |op, operands, outputs| {
            let span = emit.attrs.span;
            Node { op, operands, outputs, regions: Vec::new(), span, grad: false }
        };
        let items = needed.iter().copied().map(Operand::Value).collect();
        let mut forward = self.forward;
        forward.nodes.push(synthesized(Op::TupleNew, items, vec![tuple]));
        forward.results.push(tuple.into());
        let unpack = (0u32..)
            .zip(&needed)
            .map(|(index, value)| synthesized(Op::TupleGet(index), vec![saved_tuple.into()], vec![*value]))
            .collect::<Vec<_>>();
        backward.nodes.splice(0..0, unpack);
        backward.params = [vec![saved_tuple], self.seeds].concat();
        let types = backward.results.iter().map(|operand| self.builder.type_of(operand)).collect();
        let results = [self.results, vec![Type::Any]].concat();
        let values = self.builder.values;
        let forward = Function {
            name: format!("{}.forward", self.name).into(),
            body: forward,
            results,
            values: values.clone(),
        };
        let backward = Function {
            name: format!("{}.backward", self.name).into(),
            body: backward,
            results: types,
            values,
        };
        (forward, backward)
    }

    /// Returns a single function that recomputes the forward pass.
    fn combined(mut self) -> Function {
        let backward = self.builder.open.pop().unwrap_or_default();
        let mut body = self.forward;
        remove_prints(&mut body.nodes);
        body.nodes.extend(backward.nodes);
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

/// Removes `print`: recomputation must not print again.
fn remove_prints(nodes: &mut Vec<Node>) {
    nodes.retain(|node| node.op != Op::Print);
    nodes
        .iter_mut()
        .for_each(|node| node.regions.iter_mut().for_each(|region| remove_prints(&mut region.nodes)));
}
