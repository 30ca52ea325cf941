//! Finds the last use of each value, after which its register is reused and its tensor freed.
//!
//! The analysis is one backward walk, so its time is linear in the size of the graph.

use crate::ir::{Function, Node, Op, Region, Value};
use rustc_hash::FxHashSet;

#[derive(Debug, Default)]
pub struct RegionLife {
    /// Values that are dead before the first node: unused parameters, and values used only by the sibling branch.
    pub entry: Vec<Value>,
    pub nodes: Vec<NodeLife>,
    /// Values whose last use is as a result of the region.
    pub results: Vec<Value>,
}

#[derive(Debug, Default)]
pub struct NodeLife {
    /// Values whose last use is as an operand of the node, which may consume them.
    pub operands: Vec<Value>,
    /// Values that are dead after the node: unused results, and values used in every iteration of a loop.
    pub after: Vec<Value>,
    pub regions: Vec<RegionLife>,
}

pub fn liveness(function: &Function) -> RegionLife {
    Liveness { live: vec![false; function.values.len()], log: Vec::new() }.region(&function.body)
}

struct Liveness {
    /// Whether each value is used later.
    live: Vec<bool>,
    /// Values in the order in which they became live.
    log: Vec<Value>,
}

impl Liveness {
    fn region(&mut self, region: &Region) -> RegionLife {
        let mut life = RegionLife::default();
        for operand in &region.results {
            operand.values(&mut |value| self.use_of(*value, &mut life.results));
        }
        life.nodes = region.nodes.iter().rev().map(|node| self.node(node)).collect();
        life.nodes.reverse();
        for param in &region.params {
            self.define(*param, &mut life.entry);
        }
        life
    }

    fn use_of(&mut self, value: Value, dies: &mut Vec<Value>) {
        if !std::mem::replace(&mut self.live[value.index()], true) {
            self.log.push(value);
            dies.push(value);
        }
    }

    fn define(&mut self, value: Value, unused: &mut Vec<Value>) {
        if !std::mem::replace(&mut self.live[value.index()], false) {
            unused.push(value);
        }
    }

    fn node(&mut self, node: &Node) -> NodeLife {
        let mut life = NodeLife::default();
        for output in &node.outputs {
            self.define(*output, &mut life.after);
        }
        match &node.op {
            Op::If => life.regions = self.branches(&node.regions),
            Op::While | Op::For => {
                self.outside(&node.regions, &mut life.after);
                life.regions = self.loop_regions(&node.op, &node.regions);
            }
            _ => {}
        }
        node.used(&mut |value| self.use_of(*value, &mut life.operands));
        life
    }

    /// Returns the lives of the branches of an `if`. A value whose last use is in one branch is dropped at the entry of
    /// the other.
    fn branches(&mut self, regions: &[Region]) -> Vec<RegionLife> {
        let mut lives = Vec::new();
        let mut used: Vec<Vec<Value>> = Vec::new();
        for region in regions {
            let start = self.log.len();
            lives.push(self.region(region));
            let inside = self.log.split_off(start);
            // Values that the branch itself defines are not live at its start.
            let outside: Vec<Value> = inside.into_iter().filter(|value| self.live[value.index()]).collect();
            outside.iter().for_each(|value| self.live[value.index()] = false);
            used.push(outside);
        }
        let sets: Vec<FxHashSet<Value>> = used.iter().map(|used| used.iter().copied().collect()).collect();
        for (index, life) in lives.iter_mut().enumerate() {
            for (other, used) in used.iter().enumerate() {
                if other != index {
                    life.entry.extend(used.iter().filter(|value| !sets[index].contains(value)));
                }
            }
        }
        for value in used.into_iter().flatten() {
            self.use_of(value, &mut Vec::new());
        }
        lives
    }

    /// Adds the values from outside that a loop uses last to `after`: they stay live until the end of the loop.
    fn outside(&mut self, regions: &[Region], after: &mut Vec<Value>) {
        let mut inside = FxHashSet::default();
        regions.iter().for_each(|region| defined(region, &mut inside));
        for region in regions {
            region.used(&mut |value| {
                if !inside.contains(value) {
                    self.use_of(*value, after);
                }
            });
        }
    }

    /// Returns the lives of a loop's regions. The condition runs after the body, on the same registers.
    fn loop_regions(&mut self, op: &Op, regions: &[Region]) -> Vec<RegionLife> {
        let condition = if *op == Op::While { 0 } else { 1 };
        let start = self.log.len();
        let lives = regions
            .iter()
            .enumerate()
            .map(|(index, region)| {
                if index == condition {
                    region.params.iter().for_each(|param| self.live[param.index()] = true);
                }
                self.region(region)
            })
            .collect();
        self.log.truncate(start);
        lives
    }
}

fn defined(region: &Region, into: &mut FxHashSet<Value>) {
    into.extend(&region.params);
    for node in &region.nodes {
        into.extend(&node.outputs);
        node.regions.iter().for_each(|region| defined(region, into));
    }
}
