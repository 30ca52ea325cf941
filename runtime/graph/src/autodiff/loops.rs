//! Differentiates `while` and `for`: the backward loop runs as many iterations as the forward loop. The
//! forward loop carries stacks and pushes the values that the backward loop needs; the backward loop pops them.

use std::collections::HashMap;

use super::Error;
use super::activity::loop_layout;
use super::adjoint::{self, Adjoints};
use super::reverse::Reverse;
use super::saved;
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::Type;

impl Reverse<'_> {
    /// Returns the nodes that must be inserted before the loop.
    pub(super) fn differentiate_loop(
        &mut self,
        node: &mut Node,
        adjoints: &mut Adjoints,
    ) -> Result<Vec<Node>, Error> {
        let attrs = self.emit.attrs.clone();
        let (body, first, start) = loop_layout(node);
        let mut outside = self.used_from_outside(&node.regions[body..=body]);
        // Indices of the carried values that have a gradient.
        let places: Vec<usize> = (0..node.outputs.len())
            .filter(|place| {
                node.regions[body]
                    .params
                    .get(first + place)
                    .is_some_and(|param| self.activity.is_active(*param))
            })
            .collect();
        let carried: Vec<Value> =
            places.iter().map(|place| node.regions[body].params[first + place]).collect();

        let gradient_type = |reverse: &Self, value: &Value| adjoint::type_of(reverse.emit.builder.ty(*value));
        let mut types = vec![Type::Int];
        types.extend(carried.iter().chain(&outside).map(|value| gradient_type(self, value)));
        let mut params = self.emit.builder.open(types).into_iter().map(Operand::Value);
        let _index = params.next();
        let incoming: Vec<Operand> = params.by_ref().take(carried.len()).collect();
        let summed: Vec<Operand> = params.collect();

        let region = &mut node.regions[body];
        let mut inside = Adjoints::default();
        for (value, param) in outside.iter().zip(&summed) {
            inside.set(*value, param.clone());
        }
        for (place, gradient) in places.iter().zip(incoming) {
            self.add_to_result(&mut inside, &region.results[*place], gradient);
        }
        self.nodes(&mut region.nodes, &mut inside)?;
        self.emit.attrs = attrs.clone();
        let mut results: Vec<Operand> = carried
            .iter()
            .map(|value| match inside.get(&mut self.emit, *value) {
                Some(gradient) => gradient,
                None => adjoint::zero(&mut self.emit, *value),
            })
            .collect();
        results
            .extend(outside.iter().map(|value| inside.get(&mut self.emit, *value).unwrap_or(Operand::None)));
        let mut backward = self.emit.builder.close(results).unwrap_or_default();

        // Gradients that no iteration adds to are not carried.
        for place in (0..outside.len()).rev() {
            if backward.results[carried.len() + place] == summed[place] {
                backward.results.remove(carried.len() + place);
                backward.params.remove(1 + carried.len() + place);
                outside.remove(place);
            }
        }

        let mut before = Vec::new();
        let count = self.iteration_count(node);
        let stacks = self.stacks(node, &mut backward, &mut before);
        self.recompute_index(node, &mut backward);
        let last = self.emit.scalar(Scalar::Sub, vec![count, 1.into()]);
        let mut operands = vec![last, (-1).into(), (-1).into()];
        let ends: Vec<Value> = places.iter().map(|place| node.outputs[*place]).collect();
        for end in ends.iter().chain(&outside) {
            let gradient = adjoints.get(&mut self.emit, *end);
            operands.push(gradient.unwrap_or_else(|| adjoint::zero(&mut self.emit, *end)));
        }
        operands.extend(stacks.into_iter().map(Operand::Value));

        let types = backward.params[1..].iter().map(|param| self.emit.builder.ty(*param).clone()).collect();
        let gradients = self.emit.builder.emit(Op::For, operands, types, vec![backward], &attrs);
        let (ends, sums) = gradients.split_at(places.len());
        for (value, gradient) in outside.iter().zip(sums) {
            adjoints.set(*value, (*gradient).into());
        }
        for (place, gradient) in places.iter().zip(ends) {
            self.add_to_result(adjoints, &node.operands[start + place], (*gradient).into());
        }
        Ok(before)
    }

    /// Returns the number of iterations of the forward loop.
    fn iteration_count(&mut self, node: &mut Node) -> Operand {
        if node.op == Op::For && node.regions.len() == 1 {
            let [start, stop, step] = [0, 1, 2].map(|index| node.operands[index].clone());
            // ceil((stop - start) / step)
            let distance = self.emit.scalar(Scalar::Sub, vec![start, stop]);
            let count = self.emit.scalar(Scalar::FloorDiv, vec![distance, step]);
            let count = self.emit.scalar(Scalar::Neg, vec![count]);
            return self.emit.scalar(Scalar::Max, vec![count, 0.into()]);
        }
        let (count, total) = self.carry(node, &Type::Int, 0.into());
        let next = self.emit.builder.value(Type::Int, None);
        let add = saved::node(Op::Scalar(Scalar::Add), vec![count.into(), 1.into()], vec![next], node);
        push(node, add, next);
        total.into()
    }

    /// Adds stacks to the loop for the values of each iteration that the backward loop needs. The backward body pops
    /// them at its start.
    fn stacks(&mut self, node: &mut Node, backward: &mut Region, before: &mut Vec<Node>) -> Vec<Value> {
        let (body, first, _) = loop_layout(node);
        let index = node.regions[body].params.first().copied().filter(|_| first == 1);
        let needed = saved::needed(&mut self.emit, &node.regions[body], index, backward);
        let mut pops = Vec::new();
        let mut popped = HashMap::new();
        let mut stacks = Vec::new();
        for value in needed {
            let item = self.emit.builder.ty(value).clone();
            let ty = Type::list(item.clone());
            let [empty, longer, stack, shorter] = [(); 4].map(|()| self.emit.builder.value(ty.clone(), None));
            before.push(saved::node(Op::ListNew, Vec::new(), vec![empty], node));
            let (so_far, whole) = self.carry(node, &ty, empty.into());
            let append = saved::node(Op::ListAppend, vec![so_far.into(), value.into()], vec![longer], node);
            push(node, append, longer);
            stacks.push(whole);

            let found = self.emit.builder.value(item, None);
            let mut pop =
                saved::node(Op::ListPop, vec![stack.into(), (-1).into()], vec![shorter, found], node);
            pop.grad = !self.emit.attrs.no_grad;
            pops.push(pop);
            backward.params.push(stack);
            backward.results.push(shorter.into());
            popped.insert(value, found);
        }
        saved::replace(backward, &popped);
        backward.nodes.splice(0..0, pops);
        stacks
    }

    /// If the backward body uses the index of a `for`, recomputes it from the iteration number.
    fn recompute_index(&mut self, node: &Node, backward: &mut Region) {
        let Some(index) = node.regions[0].params.first().copied().filter(|_| node.op == Op::For) else {
            return;
        };
        let mut is_used = false;
        backward.used(&mut |used| is_used |= *used == index);
        if !is_used {
            return;
        }
        self.emit.builder.open(Vec::new());
        let iteration = Operand::Value(backward.params[0]);
        let [start, step] = [0, 2].map(|place| node.operands[place].clone());
        let offset = self.emit.scalar(Scalar::Mul, vec![iteration, step]);
        let again = self.emit.scalar(Scalar::Add, vec![start, offset]);
        let region = self.emit.builder.open.pop().unwrap_or_default();
        backward.nodes.splice(0..0, region.nodes);
        if let Operand::Value(again) = again {
            saved::replace(backward, &HashMap::from([(index, again)]));
        }
    }

    /// Adds a carried value to a loop. Returns the parameter of the body and the result of the loop.
    fn carry(&mut self, node: &mut Node, ty: &Type, start: Operand) -> (Value, Value) {
        let (body, ..) = loop_layout(node);
        let params: Vec<Value> = node
            .regions
            .iter_mut()
            .map(|region| {
                let param = self.emit.builder.value(ty.clone(), None);
                region.params.push(param);
                param
            })
            .collect();
        let output = self.emit.builder.value(ty.clone(), None);
        node.operands.push(start);
        node.outputs.push(output);
        (params[body], output)
    }
}

/// Appends a node to a loop's body that computes the next value of `carried`.
fn push(node: &mut Node, last: Node, carried: Value) {
    let (body, ..) = loop_layout(node);
    node.regions[body].nodes.push(last);
    node.regions[body].results.push(carried.into());
}
