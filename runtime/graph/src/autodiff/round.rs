//! Through `while` and `for`: as many rounds back as were made. What a round computed and its way back needs is put on
//! stacks that the loop carries; the way back takes it off.

use std::collections::HashMap;

use super::Error;
use super::activity::parts;
use super::adjoint::{self, Adjoints};
use super::reverse::Reverse;
use super::saved;
use crate::ir::graph::{Node, Region, Value};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;
use crate::ir::types::Type;

impl Reverse<'_> {
    /// Nodes that have to stand before the loop are given back.
    pub(super) fn round(&mut self, node: &mut Node, adjoints: &mut Adjoints) -> Result<Vec<Node>, Error> {
        let circumstances = self.emit.circumstances.clone();
        let (body, first, start) = parts(node);
        let mut outside = self.used_from_outside(&node.regions[body..=body]);
        // Places of what is carried and has a gradient.
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
        let arriving: Vec<Operand> = params.by_ref().take(carried.len()).collect();
        let summed: Vec<Operand> = params.collect();

        let region = &mut node.regions[body];
        let mut inside = Adjoints::default();
        for (value, param) in outside.iter().zip(&summed) {
            inside.set(*value, param.clone());
        }
        for (place, gradient) in places.iter().zip(arriving) {
            self.yielded(&mut inside, &region.results[*place], gradient);
        }
        self.nodes(&mut region.nodes, &mut inside)?;
        self.emit.circumstances = circumstances.clone();
        let mut results: Vec<Operand> = carried
            .iter()
            .map(|value| match inside.get(&mut self.emit, *value) {
                Some(gradient) => gradient,
                None => adjoint::zero(&mut self.emit, *value),
            })
            .collect();
        results
            .extend(outside.iter().map(|value| inside.get(&mut self.emit, *value).unwrap_or(Operand::None)));
        let mut back = self.emit.builder.close(results).unwrap_or_default();

        // What no round has added to is not carried.
        for place in (0..outside.len()).rev() {
            if back.results[carried.len() + place] == summed[place] {
                back.results.remove(carried.len() + place);
                back.params.remove(1 + carried.len() + place);
                outside.remove(place);
            }
        }

        let mut before = Vec::new();
        let count = self.counted(node);
        let stacks = self.stacks(node, &mut back, &mut before);
        self.indexed(node, &mut back);
        let last = self.emit.scalar(Scalar::Sub, vec![count, 1.into()]);
        let mut operands = vec![last, (-1).into(), (-1).into()];
        let ends: Vec<Value> = places.iter().map(|place| node.outputs[*place]).collect();
        for end in ends.iter().chain(&outside) {
            let gradient = adjoints.get(&mut self.emit, *end);
            operands.push(gradient.unwrap_or_else(|| adjoint::zero(&mut self.emit, *end)));
        }
        operands.extend(stacks.into_iter().map(Operand::Value));

        let types = back.params[1..].iter().map(|param| self.emit.builder.ty(*param).clone()).collect();
        let gradients = self.emit.builder.emit(Op::For, operands, types, vec![back], &circumstances);
        let (ends, sums) = gradients.split_at(places.len());
        for (value, gradient) in outside.iter().zip(sums) {
            adjoints.set(*value, (*gradient).into());
        }
        for (place, gradient) in places.iter().zip(ends) {
            self.yielded(adjoints, &node.operands[start + place], (*gradient).into());
        }
        Ok(before)
    }

    /// How many rounds were made.
    fn counted(&mut self, node: &mut Node) -> Operand {
        if node.op == Op::For && node.regions.len() == 1 {
            let [start, stop, step] = [0, 1, 2].map(|index| node.operands[index].clone());
            // ceil((stop - start) / step)
            let distance = self.emit.scalar(Scalar::Sub, vec![start, stop]);
            let rounds = self.emit.scalar(Scalar::FloorDiv, vec![distance, step]);
            let rounds = self.emit.scalar(Scalar::Neg, vec![rounds]);
            return self.emit.scalar(Scalar::Max, vec![rounds, 0.into()]);
        }
        let (count, total) = self.carry(node, &Type::Int, 0.into());
        let next = self.emit.builder.value(Type::Int, None);
        let add = saved::node(Op::Scalar(Scalar::Add), vec![count.into(), 1.into()], vec![next], node);
        push(node, add, next);
        total.into()
    }

    /// Stacks of what the way back needs of each round; it takes its items off at its beginning.
    fn stacks(&mut self, node: &mut Node, back: &mut Region, before: &mut Vec<Node>) -> Vec<Value> {
        let (body, first, _) = parts(node);
        let index = node.regions[body].params.first().copied().filter(|_| first == 1);
        let needed = saved::needed(&mut self.emit, &node.regions[body], index, back);
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
            pop.grad = !self.emit.circumstances.no_grad;
            pops.push(pop);
            back.params.push(stack);
            back.results.push(shorter.into());
            popped.insert(value, found);
        }
        saved::replace(back, &popped);
        back.nodes.splice(0..0, pops);
        stacks
    }

    /// The index of a `for`, where the way back uses it, from the number of the round.
    fn indexed(&mut self, node: &Node, back: &mut Region) {
        let Some(index) = node.regions[0].params.first().copied().filter(|_| node.op == Op::For) else {
            return;
        };
        let mut is_used = false;
        back.used(&mut |used| is_used |= *used == index);
        if !is_used {
            return;
        }
        self.emit.builder.open(Vec::new());
        let round = Operand::Value(back.params[0]);
        let [start, step] = [0, 2].map(|place| node.operands[place].clone());
        let offset = self.emit.scalar(Scalar::Mul, vec![round, step]);
        let again = self.emit.scalar(Scalar::Add, vec![start, offset]);
        let region = self.emit.builder.open.pop().unwrap_or_default();
        back.nodes.splice(0..0, region.nodes);
        if let Operand::Value(again) = again {
            saved::replace(back, &HashMap::from([(index, again)]));
        }
    }

    /// One more value that a loop carries: the parameter of its body, and what comes out at its end.
    fn carry(&mut self, node: &mut Node, ty: &Type, start: Operand) -> (Value, Value) {
        let (body, ..) = parts(node);
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

/// At the end of a loop's body, what is carried on.
fn push(node: &mut Node, last: Node, carried: Value) {
    let (body, ..) = parts(node);
    node.regions[body].nodes.push(last);
    node.regions[body].results.push(carried.into());
}
