//! Dead code elimination: removes unused nodes, branch results and loop-carried values.

use crate::ir::graph::{Function, Node, Region, Value};
use crate::ir::op::{Op, Scalar};
use crate::ir::operand::Operand;

pub(super) fn run(function: &mut Function) {
    let mut live = Live { values: vec![false; function.values.len()] };
    function.body.results.iter().for_each(|result| live.operand(result));
    live.nodes(&function.body.nodes);
    live.sweep(&mut function.body.nodes);
}

/// Returns whether a node may raise. With some literal operands it cannot.
pub(super) fn can_raise(node: &Node) -> bool {
    if let (Op::Scalar(Scalar::FloorDiv | Scalar::TrueDiv | Scalar::Mod), [_, Operand::Int(divisor)]) =
        (&node.op, &node.operands[..])
    {
        return *divisor == 0;
    }
    node.op.can_raise()
}

struct Live {
    values: Vec<bool>,
}

impl Live {
    fn is_live(&self, value: Value) -> bool {
        self.values[value.index()]
    }

    fn operand(&mut self, operand: &Operand) {
        operand.values(&mut |value| self.values[value.index()] = true);
    }

    fn stays(&self, node: &Node) -> bool {
        node.outputs.iter().any(|output| self.is_live(*output)) || has_effect_or_raises(node)
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes.iter().rev() {
            if self.stays(node) {
                self.node(node);
            }
        }
    }

    fn node(&mut self, node: &Node) {
        match node.op {
            Op::If => {
                node.operands.iter().for_each(|operand| self.operand(operand));
                for region in &node.regions {
                    for (output, result) in node.outputs.iter().zip(&region.results) {
                        if self.is_live(*output) {
                            self.operand(result);
                        }
                    }
                    self.nodes(&region.nodes);
                }
            }
            Op::While | Op::For => self.loop_node(node),
            _ => node.operands.iter().for_each(|operand| self.operand(operand)),
        }
    }

    /// A carried value is live if it is used after the loop, in the body or by the condition.
    fn loop_node(&mut self, node: &Node) {
        let layout = LoopLayout::of(node);
        node.operands[..layout.bounds].iter().for_each(|operand| self.operand(operand));
        let mut alive = usize::MAX;
        loop {
            let carried: Vec<usize> =
                (0..node.outputs.len()).filter(|place| self.carries(node, *place)).collect();
            if carried.len() == alive {
                break;
            }
            alive = carried.len();
            for place in carried {
                self.operand(&node.operands[layout.bounds + place]);
                self.operand(&node.regions[layout.body].results[place]);
            }
            for (index, region) in node.regions.iter().enumerate() {
                if index != layout.body {
                    region.results.iter().for_each(|result| self.operand(result));
                }
                self.nodes(&region.nodes);
            }
        }
    }

    fn carries(&self, node: &Node, place: usize) -> bool {
        self.is_live(node.outputs[place])
            || node.regions.iter().enumerate().any(|(index, region)| {
                region
                    .params
                    .get(LoopLayout::of(node).first(index) + place)
                    .is_some_and(|param| self.is_live(*param))
            })
    }

    /// Removes the dead nodes, and the dead results of conditions and loops.
    fn sweep(&self, nodes: &mut Vec<Node>) {
        nodes.retain(|node| self.stays(node));
        for node in nodes {
            match node.op {
                Op::If => {
                    let kept: Vec<bool> = node.outputs.iter().map(|output| self.is_live(*output)).collect();
                    keep(&mut node.outputs, 0, &kept);
                    node.regions.iter_mut().for_each(|region| keep(&mut region.results, 0, &kept));
                }
                Op::While | Op::For => {
                    let layout = LoopLayout::of(node);
                    let kept: Vec<bool> =
                        (0..node.outputs.len()).map(|place| self.carries(node, place)).collect();
                    keep(&mut node.outputs, 0, &kept);
                    keep(&mut node.operands, layout.bounds, &kept);
                    for (index, region) in node.regions.iter_mut().enumerate() {
                        keep(&mut region.params, layout.first(index), &kept);
                        if index == layout.body {
                            keep(&mut region.results, 0, &kept);
                        }
                    }
                }
                _ => {}
            }
            node.regions.iter_mut().for_each(|Region { nodes, .. }| self.sweep(nodes));
        }
    }
}

/// The index of a loop's body region, and the number of operands and parameters before the carried values.
struct LoopLayout {
    body: usize,
    bounds: usize,
}

impl LoopLayout {
    fn of(node: &Node) -> Self {
        if node.op == Op::For { Self { body: 0, bounds: 3 } } else { Self { body: 1, bounds: 0 } }
    }

    fn first(&self, region: usize) -> usize {
        usize::from(self.bounds > 0 && region == self.body)
    }
}

/// Returns whether a node, or any node in its regions, has an effect or may raise.
pub(super) fn has_effect_or_raises(node: &Node) -> bool {
    node.op.has_effect()
        || can_raise(node)
        || node.regions.iter().any(|region| region.nodes.iter().any(has_effect_or_raises))
}

fn keep<T>(items: &mut Vec<T>, first: usize, kept: &[bool]) {
    let mut place: usize = 0;
    items.retain(|_| {
        let stays = place.checked_sub(first).is_none_or(|index| kept.get(index).copied().unwrap_or(true));
        place += 1;
        stays
    });
}
