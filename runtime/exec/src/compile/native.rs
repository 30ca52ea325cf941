//! Compiles native segments. The native step of a segment is followed by the libtorch steps of the same nodes. The
//! libtorch steps run if the native step cannot run: if an input has a different layout, or an operator would raise an
//! exception.

use ag_graph::ir::{Node, Value};
use ag_graph::liveness::{NodeLife, RegionLife};
use ag_native::{Input, Options, Segment};

use super::{Compiled, Compiler};
use crate::backoff::Backoff;
use crate::plan::{Dead, Native, Register, Step, Target};
use crate::tier::Tier;

/// A segment whose steps are being compiled.
pub(super) struct Open {
    /// The number of nodes.
    pub(super) nodes: usize,
    step: Target,
    /// The values of its outputs.
    outputs: Vec<Value>,
}

impl Compiler<'_> {
    /// If a native segment starts at the first of these nodes, emits its native step and returns the segment. Otherwise
    /// returns `None`. Segments are not nested.
    pub(super) fn native(&mut self, nodes: &[Node], lives: &[NodeLife]) -> Option<Open> {
        if self.is_native || self.tier == Tier::Torch {
            return None;
        }
        let fewest = if self.tier == Tier::Always { 0 } else { ag_native::MIN_OPERATORS };
        let options = Options { fewest, passes: crate::tier::native_passes(), limits: crate::limits() };
        let segment = ag_native::lower::segment(self.function, nodes, lives, &self.layouts, options)?;
        let register = |value: &Value| self.assigned[value.index()];
        let inputs = segment.inputs.iter().map(|(value, _)| register(value)).collect::<Option<Box<_>>>()?;
        let mut dying = Vec::new();
        lives[..segment.nodes].iter().for_each(|life| last_uses(life, &mut dying));
        dying.sort_unstable();
        dying.dedup();
        let dead = dying.iter().filter_map(|value| match register(value)? {
            Register::Scalar(..) => None,
            Register::Tensor(reg) => Some(Dead::Tensor(reg)),
            Register::Object(reg) => Some(Dead::Object(reg)),
        });
        let native = Native {
            inputs,
            outputs: Box::default(),
            input_sizes: segment.inputs.iter().map(|(_, input)| input_sizes(input)).collect(),
            tensor_sizes: segment
                .tensors
                .iter()
                .map(|tensor| [signed(&tensor.sizes), signed(&tensor.strides)])
                .collect(),
            dead: dead.collect(),
            backoff: Backoff::default(),
            segment,
        };
        let Segment { nodes: length, outputs, .. } = &native.segment;
        self.layouts.extend(native.segment.strides().map(|(value, strides)| (value, strides.to_vec())));
        let (length, outputs) = (*length, outputs.iter().map(|(value, _)| *value).collect());
        self.at("native", nodes.first().and_then(|node| node.span));
        self.plan.tables.natives.push(native);
        let native = (self.plan.tables.natives.len() - 1) as u32;
        let step = self.step(Step::Native { native, to: 0 });
        Some(Open { nodes: length, step, outputs })
    }

    /// Ends the steps of the segment. Its outputs have registers now.
    pub(super) fn end_native(&mut self, open: Open) -> Compiled {
        let here = self.next();
        let outputs =
            open.outputs.iter().map(|value| self.register_of(*value)).collect::<Compiled<Box<_>>>()?;
        if let Step::Native { native, to } = &mut self.plan.steps[open.step as usize] {
            *to = here;
            self.plan.tables.natives[*native as usize].outputs = outputs;
        }
        Ok(())
    }
}

fn signed(sizes: &[usize]) -> Box<[i64]> {
    sizes.iter().map(|size| *size as i64).collect()
}

fn input_sizes(input: &Input) -> [Box<[i64]>; 2] {
    match input {
        Input::Tensor(_, sizes, strides) => [signed(sizes), signed(strides)],
        Input::Number(_) => Default::default(),
    }
}

/// Collects the values whose last use is in a node, or in a node inside of it.
fn last_uses(life: &NodeLife, into: &mut Vec<Value>) {
    into.extend(life.operands.iter().chain(&life.after));
    life.regions.iter().for_each(|region| region_uses(region, into));
}

fn region_uses(life: &RegionLife, into: &mut Vec<Value>) {
    into.extend(life.entry.iter().chain(&life.results));
    life.nodes.iter().for_each(|life| last_uses(life, into));
}
