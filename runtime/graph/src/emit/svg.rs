//! SVG output. There is a row for each node in program order, with the source line to the right, and a frame around
//! each region. Curves on the left connect the definition of a value with its uses. With the attributes `data-file` and
//! `data-line`, editors can jump to the source.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::{Source, call, line, typed};
use crate::ir::{Function, Graph, Node, Operand, Region, Value};

const ROW: usize = 22;
const INDENT: usize = 18;
/// The width reserved for curves.
const GUTTER: usize = 90;
/// The width of one character.
const LETTER: usize = 7;
/// The maximum number of characters of a text. Longer texts are truncated.
const MAX_LETTERS: usize = 110;

pub fn svg(graph: &Graph, source: &Source<'_>) -> String {
    let mut drawing = Drawing { graph, source, rows: Vec::new(), frames: Vec::new(), curves: Vec::new() };
    for function in &graph.functions {
        drawing.function(function);
    }
    drawing.finish()
}

struct Row {
    depth: usize,
    text: String,
    source: Option<String>,
    /// File and source line, counted from one.
    place: Option<(String, u32)>,
    kind: &'static str,
}

struct Drawing<'a> {
    graph: &'a Graph,
    source: &'a Source<'a>,
    rows: Vec<Row>,
    /// The first row, the last row and the depth of each region.
    frames: Vec<(usize, usize, usize)>,
    /// For each use of a value, the row of its definition and the row of the use.
    curves: Vec<(usize, usize)>,
}

impl Drawing<'_> {
    fn function(&mut self, function: &Function) {
        self.row(0, format!("func @{}", function.name), None, "head");
        let mut definitions = HashMap::new();
        self.region(function, &function.body, 1, "return", &mut definitions);
    }

    fn region(
        &mut self,
        function: &Function,
        region: &Region,
        depth: usize,
        end: &str,
        definitions: &mut HashMap<Value, usize>,
    ) {
        let first = self.rows.len();
        for param in &region.params {
            definitions.insert(*param, self.rows.len());
            self.row(depth, typed(function, &[*param]), None, "param");
        }
        for node in &region.nodes {
            self.node(function, node, depth, definitions);
        }
        let results: Vec<String> =
            region.results.iter().map(|result| super::short(function, result)).collect();
        self.uses(&region.results, definitions);
        self.row(depth, format!("{end} {}", results.join(", ")), None, "end");
        self.frames.push((first, self.rows.len(), depth));
    }

    fn node(
        &mut self,
        function: &Function,
        node: &Node,
        depth: usize,
        definitions: &mut HashMap<Value, usize>,
    ) {
        let mut text = typed(function, &node.outputs);
        if !text.is_empty() {
            text.push_str(" = ");
        }
        text.push_str(&call(self.graph, function, node));
        let found = line(self.graph, node.span, self.source);
        let source = found.as_ref().map(|(_, number, text)| format!("{number}  {text}"));
        self.uses(&node.operands, definitions);
        let row = self.rows.len();
        self.row(depth, text, source, if node.regions.is_empty() { "node" } else { "head" });
        if let Some(row) = self.rows.last_mut() {
            row.place = found.map(|(file, number, _)| (file, number));
        }
        for (label, region) in node.op.regions().iter().zip(&node.regions) {
            self.row(depth + 1, format!("{label}:"), None, "label");
            self.region(function, region, depth + 2, "yield", definitions);
        }
        for output in &node.outputs {
            definitions.insert(*output, row);
        }
    }

    /// Draws curves from the operands to the next row.
    fn uses(&mut self, operands: &[Operand], definitions: &HashMap<Value, usize>) {
        let row = self.rows.len();
        let curves = &mut self.curves;
        for operand in operands {
            operand.values(&mut |value| {
                curves.extend(definitions.get(value).map(|definition| (*definition, row)))
            });
        }
    }

    fn row(&mut self, depth: usize, text: String, source: Option<String>, kind: &'static str) {
        self.rows.push(Row { depth, text: cut(text), source: source.map(cut), place: None, kind });
    }

    /// Returns the whole drawing: one row per node, with the source line beside it.
    fn finish(&self) -> String {
        let left = |depth: usize| GUTTER + depth * INDENT;
        let letters = |text: &str| text.chars().count() * LETTER;
        let column = self.rows.iter().map(|row| left(row.depth) + letters(&row.text)).max().unwrap_or(0) + 40;
        let source = self.rows.iter().filter_map(|row| row.source.as_deref()).map(letters).max().unwrap_or(0);
        let (width, height) = (column + source + 20, self.rows.len() * ROW + 20);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n{STYLE}"
        );
        for (first, end, depth) in &self.frames {
            let (x, y) = (left(*depth) - 8, 10 + first * ROW);
            let (w, h) = (column.saturating_sub(x + 20), (end - first) * ROW);
            let _ = writeln!(
                out,
                "<rect class=\"region\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\"/>"
            );
        }
        for (from, to) in &self.curves {
            let middle = |row: usize| 10 + row * ROW + ROW / 2;
            let edge = |row: usize| left(self.rows.get(row).map_or(0, |row| row.depth)) - 4;
            let bend = (12 + (to - from) * 5).min(GUTTER - 10);
            let (from_x, to_x) = (edge(*from), edge(*to));
            let x = from_x.min(to_x).saturating_sub(bend);
            let (from_y, to_y) = (middle(*from), middle(*to));
            let _ = writeln!(
                out,
                "<path class=\"use\" d=\"M{from_x} {from_y} C{x} {from_y} {x} {to_y} {to_x} {to_y}\"/>"
            );
        }
        for (index, row) in self.rows.iter().enumerate() {
            let (x, y) = (left(row.depth), 10 + index * ROW + 15);
            let place = row.place.as_ref().map_or_else(String::new, |(file, line)| {
                format!(" data-file=\"{}\" data-line=\"{line}\"", escaped(file))
            });
            let mut text = |class: &str, x: usize, text: &str| {
                let text = escaped(text);
                let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{place}>{text}</text>");
            };
            text(row.kind, x, &row.text);
            if let Some(source) = &row.source {
                text("source", column, source);
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

/// The style, which is legible on light and dark backgrounds.
const STYLE: &str = "<style>
text { font: 12px monospace; fill: #24292f; white-space: pre }
.head { font-weight: bold } .label, .param { fill: #8250df } .end { fill: #6e7781 } .source { fill: #0a7f42 }
.region { fill: #8c959f; fill-opacity: .06; stroke: #8c959f; stroke-opacity: .4 }
.use { fill: none; stroke: #0969da; stroke-opacity: .35 }
@media (prefers-color-scheme: dark) {
  svg { background: #1f2328 } text { fill: #d1d7e0 } .label, .param { fill: #d2a8ff } .source { fill: #7ee787 }
}
</style>
";

fn cut(text: String) -> String {
    match text.char_indices().nth(MAX_LETTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
