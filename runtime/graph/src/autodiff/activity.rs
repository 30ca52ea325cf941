//! Activity analysis: a gradient flows through values that depend on an input and that an output depends on.

use crate::ir::graph::{Function, Node, Region, Value, ValueInfo};
use crate::ir::op::Op;
use crate::ir::operand::Operand;
use crate::ir::operator::Operator;
use crate::ir::types::Type;

#[derive(Debug)]
pub(super) struct Activity {
    active: Vec<bool>,
}

impl Activity {
    /// `regions` contains the nodes of nested regions, outermost first.
    pub(super) fn new(
        values: &[ValueInfo],
        regions: &[Vec<Node>],
        inputs: &[Value],
        outputs: &[Value],
    ) -> Self {
        let mut varied = vec![false; values.len()];
        inputs.iter().for_each(|input| varied[input.index()] = true);
        let mut varying = Varying { values, varied };
        regions.iter().for_each(|nodes| varying.nodes(nodes));
        let varied = varying.varied;

        let mut live = Live { active: vec![false; values.len()], varied };
        outputs.iter().for_each(|output| live.reach(*output));
        regions.iter().rev().for_each(|nodes| live.nodes(nodes));
        Self { active: live.active }
    }

    pub(super) fn is_active(&self, value: Value) -> bool {
        self.active.get(value.index()).copied().unwrap_or(false)
    }

    pub(super) fn any(&self, operand: &Operand) -> bool {
        let mut any = false;
        operand.values(&mut |value| any |= self.is_active(*value));
        any
    }
}

/// Returns for each result of a function whether it has a gradient with respect to these values.
pub fn differentiable_results(function: &Function, inputs: &[Value]) -> Vec<bool> {
    let mut varied = vec![false; function.values.len()];
    inputs.iter().for_each(|input| varied[input.index()] = true);
    let mut varying = Varying { values: &function.values, varied };
    varying.nodes(&function.body.nodes);
    let has_gradient = |result: &Operand| {
        let mut any = false;
        result.values(&mut |value| any |= varying.varied[value.index()]);
        any
    };
    function.body.results.iter().map(has_gradient).collect()
}

/// Returns whether values of a type have gradients. Scalars have none, as `Tensor.item()` has none.
pub(super) fn is_differentiable(ty: &Type) -> bool {
    match ty {
        Type::Tensor(tensor) => tensor.dtype.is_differentiable(),
        Type::List(item) => is_differentiable(item),
        Type::Tuple(items) => items.iter().any(is_differentiable),
        _ => false,
    }
}

/// Returns whether the gradient stops at a node. Under `torch.no_grad()` it stops at operators and calls. It does not
/// stop at lists, branches and loops, which only pass values on, as in Python.
pub(super) fn stops_gradient(node: &Node) -> bool {
    match &node.op {
        Op::Operator(operator) => !node.grad || depends_on_shape_only(operator),
        Op::Call(_) | Op::Python(_) | Op::Start(_) => !node.grad,
        _ => false,
    }
}

/// Returns whether the results of an operator depend only on the shapes of its operands.
fn depends_on_shape_only(operator: &Operator) -> bool {
    let name = operator.name();
    operator.namespace() == "aten"
        && (name.ends_with("_like")
            || name.starts_with("new_")
            || matches!(name, "detach" | "bernoulli" | "nextafter"))
}

struct Varying<'a> {
    values: &'a [ValueInfo],
    varied: Vec<bool>,
}

impl Varying<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        nodes.iter().filter(|node| !stops_gradient(node)).for_each(|node| self.node(node));
    }

    /// Marks the values that depend on an input through this node.
    fn node(&mut self, node: &Node) {
        match node.op {
            Op::If => {
                for region in &node.regions {
                    self.nodes(&region.nodes);
                    self.propagate(&region.results, &node.outputs);
                }
            }
            Op::While | Op::For => {
                let (body, start) = Loop::of(node);
                self.propagate(start, body.carried);
                loop {
                    self.nodes(&body.region.nodes);
                    if !self.propagate(&body.region.results, body.carried) {
                        break;
                    }
                }
                let carried: Vec<Operand> = body.carried.iter().copied().map(Operand::Value).collect();
                self.propagate(&carried, &node.outputs);
            }
            Op::Overwritten => {
                self.propagate(&node.operands[..1], &node.outputs);
            }
            _ => {
                let mut any = false;
                node.used(&mut |value| any |= self.varied[value.index()]);
                if any {
                    for output in &node.outputs {
                        self.mark(*output);
                    }
                }
            }
        }
    }

    fn mark(&mut self, value: Value) -> bool {
        let is_new = !self.varied[value.index()] && is_differentiable(&self.values[value.index()].ty);
        self.varied[value.index()] |= is_new;
        is_new
    }

    fn propagate(&mut self, from: &[Operand], to: &[Value]) -> bool {
        let mut any = false;
        for (from, to) in from.iter().zip(to) {
            if from.value().is_some_and(|value| self.varied[value.index()]) {
                any |= self.mark(*to);
            }
        }
        any
    }
}

struct Live {
    varied: Vec<bool>,
    active: Vec<bool>,
}

impl Live {
    fn reach(&mut self, value: Value) {
        self.active[value.index()] |= self.varied[value.index()];
    }

    fn nodes(&mut self, nodes: &[Node]) {
        nodes.iter().rev().filter(|node| !stops_gradient(node)).for_each(|node| self.node(node));
    }

    /// Marks the values on which an active output of this node depends.
    fn node(&mut self, node: &Node) {
        match node.op {
            Op::If => {
                for region in &node.regions {
                    self.propagate_back(&node.outputs, &region.results);
                    self.nodes(&region.nodes);
                }
            }
            Op::While | Op::For => {
                let (body, start) = Loop::of(node);
                for (output, carried) in node.outputs.iter().zip(body.carried) {
                    if self.active[output.index()] {
                        self.reach(*carried);
                    }
                }
                // A carried value is live if a later iteration or the code after the loop needs it.
                loop {
                    let before = self.count_active(body.carried);
                    self.propagate_back(body.carried, &body.region.results);
                    self.nodes(&body.region.nodes);
                    if self.count_active(body.carried) == before {
                        break;
                    }
                }
                self.propagate_back(body.carried, start);
            }
            Op::Overwritten => self.propagate_back(&node.outputs, &node.operands[..1]),
            _ if node.outputs.iter().any(|output| self.active[output.index()]) => {
                node.used(&mut |value| self.reach(*value));
            }
            _ => {}
        }
    }

    fn count_active(&self, values: &[Value]) -> usize {
        values.iter().filter(|value| self.active[value.index()]).count()
    }

    fn propagate_back(&mut self, from: &[Value], to: &[Operand]) {
        for (from, to) in from.iter().zip(to) {
            if self.active[from.index()]
                && let Operand::Value(value) = to
            {
                self.reach(*value);
            }
        }
    }
}

/// The common part of `while` and `for`.
pub(super) struct Loop<'a> {
    pub(super) region: &'a Region,
    /// The body's parameters that are carried from one iteration to the next.
    pub(super) carried: &'a [Value],
}

impl<'a> Loop<'a> {
    /// Returns the body, and the initial values of the carried variables.
    fn of(node: &'a Node) -> (Self, &'a [Operand]) {
        let (body, first, start) = loop_layout(node);
        let region = &node.regions[body];
        (Self { region, carried: &region.params[first..] }, &node.operands[start..])
    }
}

/// Returns the index of a loop's body region, of its first carried parameter, and of its first carried operand.
pub(super) fn loop_layout(node: &Node) -> (usize, usize, usize) {
    if node.op == Op::For { (0, 1, 3) } else { (1, 0, 0) }
}
