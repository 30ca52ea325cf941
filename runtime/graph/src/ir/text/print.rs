//! Prints a graph as text.

use std::fmt::Write as _;

use super::VERSION;
use crate::ir::graph::{Function, Graph, Node, Origin, Outcome, Region, Value};
use crate::ir::op::Op;
use crate::ir::operand::Operand;

pub fn print(graph: &Graph) -> String {
    let mut out = format!("graph {VERSION}\n");
    for (number, file) in graph.files.iter().enumerate() {
        let _ = writeln!(out, "file {number} {}", quoted(file));
    }
    for (number, function) in graph.functions.iter().enumerate() {
        Printer { graph, function, out: &mut out, indent: 1 }.function(number == 0);
    }
    out
}

/// Returns the text form of an operation: `aten.add.Tensor`, `scalar.add`, `call @f`.
pub fn op_name(graph: &Graph, op: &Op) -> String {
    match op {
        Op::Scalar(scalar) => format!("scalar.{}", scalar.text()),
        Op::Call(id) => format!("call @{}", graph.function(*id).map_or("?", |function| &*function.name)),
        Op::TupleGet(index) => format!("tuple.get {index}"),
        Op::Raise(class) => format!("raise {}", quoted(class)),
        Op::Python(number) => format!("python {number}"),
        Op::Start(number) => format!("start {number}"),
        op => op.name().unwrap_or("?").to_owned(),
    }
}

struct Printer<'a> {
    graph: &'a Graph,
    function: &'a Function,
    out: &'a mut String,
    indent: usize,
}

impl Printer<'_> {
    fn function(&mut self, is_entry: bool) {
        let params: Vec<String> = self
            .function
            .params()
            .iter()
            .enumerate()
            .map(|(index, param)| {
                let origin = match self.graph.origins.get(index).filter(|_| is_entry) {
                    Some(Origin::Argument(path)) => format!(" = argument {}", quoted(path)),
                    Some(Origin::Capture(number)) => format!(" = capture {number}"),
                    None => String::new(),
                };
                self.typed(*param) + &origin
            })
            .collect();
        let results: Vec<String> = self.function.results.iter().map(ToString::to_string).collect();
        let name = &self.function.name;
        let _ = writeln!(self.out, "func @{name}({}) -> ({}) {{", params.join(", "), results.join(", "));
        let body = &self.function.body;
        body.nodes.iter().for_each(|node| self.node(node));
        let returned: Vec<String> = body
            .results
            .iter()
            .enumerate()
            .map(|(index, operand)| match self.graph.outcomes.get(index).filter(|_| is_entry) {
                Some(Outcome::Write(param)) => format!("write {param} {}", self.operand(operand)),
                _ => self.operand(operand),
            })
            .collect();
        self.line(format!("return {}", returned.join(", ")).trim_end());
        self.out.push_str("}\n");
    }

    fn node(&mut self, node: &Node) {
        let outputs: Vec<String> = node.outputs.iter().map(|output| self.typed(*output)).collect();
        let operands: Vec<String> = node.operands.iter().map(|operand| self.operand(operand)).collect();
        let mut line = outputs.join(", ");
        if !line.is_empty() {
            line.push_str(" = ");
        }
        let _ = write!(line, "{}({})", op_name(self.graph, &node.op), operands.join(", "));
        if !node.grad {
            line.push_str(" nograd");
        }
        if let Some(span) = node.span {
            let ((line_from, from), (line_to, to)) = (span.start, span.end);
            let _ = write!(line, " at {}:{line_from}:{from}-{line_to}:{to}", span.file);
        }
        self.line(&line);
        self.indent += 1;
        for (label, region) in node.op.regions().iter().zip(&node.regions) {
            self.region(label, region);
        }
        self.indent -= 1;
    }

    fn region(&mut self, label: &str, region: &Region) {
        let params: Vec<String> = region.params.iter().map(|param| self.typed(*param)).collect();
        self.line(&format!("{label}({}) {{", params.join(", ")));
        self.indent += 1;
        region.nodes.iter().for_each(|node| self.node(node));
        let results: Vec<String> = region.results.iter().map(|operand| self.operand(operand)).collect();
        self.line(format!("yield {}", results.join(", ")).trim_end());
        self.indent -= 1;
        self.line("}");
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 2 * self.indent);
    }

    fn typed(&self, value: Value) -> String {
        format!("{}: {}", self.value(value), self.function.ty(value))
    }

    fn value(&self, value: Value) -> String {
        match plain_name(self.function, value) {
            Some(name) => format!("%{name}.{}", value.0),
            None => format!("%{}", value.0),
        }
    }

    fn operand(&self, operand: &Operand) -> String {
        match operand {
            Operand::Value(value) => self.value(*value),
            Operand::None => "none".to_owned(),
            Operand::Int(value) => value.to_string(),
            Operand::Float(value) if value.is_nan() => "nan".to_owned(),
            Operand::Float(value) => format!("{value:?}"),
            Operand::Bool(value) => value.to_string(),
            Operand::Str(text) => quoted(text),
            Operand::DType(dtype) => format!("dtype:{}", dtype.text()),
            Operand::Device(device) => format!("device:{device}"),
            Operand::Layout(layout) => format!("layout:{}", layout.name()),
            Operand::MemoryFormat(format) => format!("memory:{}", format.name()),
            Operand::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.operand(item)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

/// Returns the user's name for a value, if it consists of ASCII letters, digits and underscores.
pub(crate) fn plain_name(function: &Function, value: Value) -> Option<&str> {
    let is_plain = |name: &&str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    function.values[value.index()].name.as_deref().filter(is_plain)
}

/// Converts a text to a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
