//! Programs as text: the steps of each segment of a graph, beside the source lines that they come from.

use std::fmt::Write as _;

use ag_graph::ir::{Function, Graph, Node, Span};
use ag_graph::liveness::{NodeLife, liveness};

use crate::lower::{MIN_OPERATORS, segment};
use crate::options::{Limits, Options};
use crate::pass::Passes;
use crate::program::{ARENA, CONSTANTS, Elementwise, Step};
use crate::segment::{Layouts, Output, Segment};
use crate::view::Place;

/// Returns the native programs of a graph after these passes, within these limits. `source` returns a line of a file,
/// counted from one.
pub fn listing(
    graph: &Graph,
    passes: Passes,
    limits: Limits,
    source: &dyn Fn(&str, u32) -> Option<String>,
) -> String {
    let options = Options { fewest: MIN_OPERATORS, passes, limits };
    let mut text = String::new();
    for function in &graph.functions {
        let mut found = Vec::new();
        let life = liveness(function);
        segments(function, &function.body.nodes, &life.nodes, options, &mut Layouts::default(), &mut found);
        for segment in found {
            let fired = segment.fired.to_string();
            let fired = if fired.is_empty() { fired } else { format!(": {fired}") };
            let _ = writeln!(text, "native @{}, {} steps{fired}", function.name, segment.len());
            segment.write(&mut text, graph, source);
        }
    }
    text
}

/// Finds the segments of a region and of the regions in it.
fn segments(
    function: &Function,
    mut nodes: &[Node],
    mut lives: &[NodeLife],
    options: Options,
    layouts: &mut Layouts,
    found: &mut Vec<Segment>,
) {
    while let (Some(node), Some(life)) = (nodes.first(), lives.first()) {
        let length = match segment(function, nodes, lives, layouts, options) {
            Some(segment) => {
                layouts.extend(segment.strides().map(|(value, strides)| (value, strides.to_vec())));
                found.push(segment);
                found.last().map_or(1, |segment| segment.nodes)
            }
            None => {
                for (region, life) in node.regions.iter().zip(&life.regions) {
                    segments(function, &region.nodes, &life.nodes, options, layouts, found);
                }
                1
            }
        };
        (nodes, lives) = (&nodes[length..], &lives[length..]);
    }
}

impl Segment {
    /// Returns the tensors that leave the segment, with their strides.
    pub fn strides(&self) -> impl Iterator<Item = (ag_graph::ir::Value, &[usize])> {
        self.outputs.iter().filter_map(|(value, output)| match output {
            Output::Tensor(index) => Some((*value, &self.tensors[*index].strides[..])),
            Output::View(view) => Some((*value, &view.strides[..])),
            Output::Number(_) | Output::List(_) => None,
        })
    }

    fn write(&self, text: &mut String, graph: &Graph, source: &dyn Fn(&str, u32) -> Option<String>) {
        let mut shown: Option<Span> = None;
        for (index, (step, origin)) in self.program.steps.iter().zip(&self.program.origins).enumerate() {
            let operation = &self.program.operations[*origin as usize];
            let mut line = format!("{index:>5}  {:<24} {}", operation.name, written(step));
            if let Some(span) = operation.span
                && shown.map(|shown| (shown.file, shown.start.0)) != Some((span.file, span.start.0))
                && let Some(file) = graph.files.get(span.file as usize)
            {
                shown = Some(span);
                let code = source(file, span.start.0).unwrap_or_default();
                line = format!("{line:<80} # {file}:{}  {}", span.start.0, code.trim());
            }
            let _ = writeln!(text, "{line}");
        }
    }
}

/// Returns the text of a step.
fn written(step: &Step) -> String {
    match step {
        Step::Elementwise(Elementwise { out, operands, shape, outer, .. }) => {
            let count = shape.count;
            let nowhere = Place { base: CONSTANTS, offset: 0 };
            let last = operands.iter().rposition(|place| *place != nowhere).unwrap_or(0);
            let operands: Vec<String> = operands[..=last].iter().map(|operand| place(*operand)).collect();
            let around = if outer.1 > 0 { " in a loop" } else { "" };
            format!("{} = {} ({count} elements{around})", place(*out), operands.join(", "))
        }
        Step::Product { out, a, b, .. } => format!("{} = {} @ {}", place(*out), place(*a), place(*b)),
        Step::Products { out, a, b, count, .. } => {
            format!("{} = {} @ {} ({count} times)", place(*out), place(*a), place(*b))
        }
        Step::Reduce { out, a, .. } => format!("{} = reduction of {}", place(*out), place(*a)),
        Step::Rows { out, operands: [a, _], rows, columns, .. } => {
            format!("{} = {} ({rows} rows of {columns})", place(*out), place(*a))
        }
        Step::Borrow { base, list, .. } | Step::BorrowLast { base, list, .. } => {
            format!("b{base} = item of list {}", list.0)
        }
        Step::Jump { to } => format!("jump {to}"),
        Step::JumpBack { to, .. } | Step::ForNext { to, .. } => format!("back {to}"),
        Step::JumpIfFalse { to, .. } | Step::ForTest { to, .. } => format!("unless, jump {to}"),
        step => {
            let text = format!("{step:?}");
            text.split([' ', '(']).next().unwrap_or_default().to_lowercase()
        }
    }
}

/// Returns the text of a place: `m64` is byte 64 of the arena, `c8` is byte 8 of the constants, and `b3+8` is byte 8
/// from base 3, an input or another address.
fn place(place: Place) -> String {
    match place {
        Place { base: ARENA, offset } => format!("m{offset}"),
        Place { base: CONSTANTS, offset } => format!("c{offset}"),
        Place { base, offset: 0 } => format!("b{base}"),
        Place { base, offset } => format!("b{base}+{offset}"),
    }
}
