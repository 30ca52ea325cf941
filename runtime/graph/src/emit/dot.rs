//! Graphviz output: a box for each node, a cluster for each region, an edge for each use of a value.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::{Source, call, line, name, typed};
use crate::ir::{Function, Graph, Node, Operand, Region, Value};

pub fn dot(graph: &Graph, source: &Source<'_>) -> String {
    let mut out = "digraph graph_1 {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n".to_owned();
    let mut next = 0;
    for (index, function) in graph.functions.iter().enumerate() {
        let mut writer = Writer { graph, function, source, out: &mut out, next, definitions: HashMap::new() };
        writer.cluster(&format!("@{}", function.name), &format!("f{index}"), &function.body);
        next = writer.next;
    }
    out.push_str("}\n");
    out
}

struct Writer<'a> {
    graph: &'a Graph,
    function: &'a Function,
    source: &'a Source<'a>,
    out: &'a mut String,
    next: usize,
    /// The box that defines each value.
    definitions: HashMap<Value, String>,
}

impl Writer<'_> {
    fn cluster(&mut self, label: &str, id: &str, region: &Region) {
        let _ = writeln!(self.out, "subgraph cluster_{id} {{\n  label={};", quoted(label));
        for param in &region.params {
            let id = self.add_box(&typed(self.function, &[*param]), ", style=rounded");
            self.definitions.insert(*param, id);
        }
        region.nodes.iter().for_each(|node| self.node(node));
        if !region.results.is_empty() {
            let results: Vec<String> =
                region.results.iter().map(|it| super::short(self.function, it)).collect();
            let id = self.add_box(&results.join(", "), ", style=rounded");
            self.edges(&region.results, &id);
        }
        self.out.push_str("}\n");
    }

    fn node(&mut self, node: &Node) {
        let mut label = call(self.graph, self.function, node);
        if !node.outputs.is_empty() {
            label = format!("{}\n{label}", typed(self.function, &node.outputs));
        }
        if let Some((_, number, text)) = line(self.graph, node.span, self.source) {
            let _ = write!(label, "\n{number}: {text}");
        }
        let id = self.add_box(&label, "");
        self.edges(&node.operands, &id);
        for (label, region) in node.op.regions().iter().zip(&node.regions) {
            let cluster = format!("{id}_{label}");
            self.cluster(label, &cluster, region);
        }
        for output in &node.outputs {
            self.definitions.insert(*output, id.clone());
        }
    }

    fn add_box(&mut self, label: &str, style: &str) -> String {
        let id = format!("n{}", self.next);
        self.next += 1;
        let _ = writeln!(self.out, "  {id} [label={}{style}];", quoted(label));
        id
    }

    fn edges(&mut self, operands: &[Operand], to: &str) {
        let mut used: Vec<Value> = Vec::new();
        operands.iter().for_each(|operand| operand.values(&mut |value| used.push(*value)));
        used.sort_unstable();
        used.dedup();
        for value in used {
            if let Some(from) = self.definitions.get(&value) {
                let tip = quoted(&name(self.function, value));
                let _ = writeln!(self.out, "  {from} -> {to} [tooltip={tip}];");
            }
        }
    }
}

/// Converts a text to a DOT string with left-aligned lines.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l");
    if text.contains('\n') { format!("\"{escaped}\\l\"") } else { format!("\"{escaped}\"") }
}
