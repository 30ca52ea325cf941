//! Prints a graph as an S-expression.

use std::fmt::Write as _;

use super::VERSION;
use crate::ir::text::{op_name, plain_name, quoted};
use crate::ir::{Function, Graph, Node, Op, Operand, Origin, Outcome, Region, Type, Value};

/// Returns the graph as an S-expression, which `read` reads.
pub fn sexpr(graph: &Graph) -> String {
    let mut out = format!("(graph {VERSION}");
    for (number, file) in graph.files.iter().enumerate() {
        let _ = write!(out, "\n  (file {number} {})", quoted(file));
    }
    for (number, function) in graph.functions.iter().enumerate() {
        Printer { graph, function, out: &mut out }.function(number == 0);
    }
    out.push_str(")\n");
    out
}

struct Printer<'a> {
    graph: &'a Graph,
    function: &'a Function,
    out: &'a mut String,
}

impl Printer<'_> {
    fn function(&mut self, is_entry: bool) {
        let function = self.function;
        let origins: &[Origin] = if is_entry { &self.graph.origins } else { &[] };
        let outcomes: &[Outcome] = if is_entry { &self.graph.outcomes } else { &[] };
        let params = function.params().iter().enumerate().map(|(index, param)| {
            let origin = origins.get(index).map_or_else(String::new, |origin| match origin {
                Origin::Argument(path) => format!(" (argument {})", quoted(path)),
                Origin::Capture(number) => format!(" (capture {number})"),
            });
            format!("({} {}{origin})", self.value(*param), ty(function.ty(*param)))
        });
        let params = params.collect::<Vec<_>>().join(" ");
        let results = function.results.iter().map(ty).collect::<Vec<_>>().join(" ");
        let _ = write!(self.out, "\n  (def {} ({params}) ({results})", function.name);
        self.body(&function.body, outcomes, 4);
        self.out.push(')');
    }

    /// `(let* (binding…) (values result…))`, on a line of its own.
    fn body(&mut self, region: &Region, outcomes: &[Outcome], indent: usize) {
        let _ = write!(self.out, "\n{:indent$}(let* (", "");
        for (index, node) in region.nodes.iter().enumerate() {
            if index > 0 {
                let _ = write!(self.out, "\n{:indent$}       ", "");
            }
            self.binding(node, indent + 9);
        }
        let results = region.results.iter().enumerate().map(|(index, result)| match outcomes.get(index) {
            Some(Outcome::Write(param)) => format!(" (write {param} {})", self.operand(result)),
            _ => format!(" {}", self.operand(result)),
        });
        let results: String = results.collect();
        let _ = write!(self.out, ")\n{:indent$}  (values{results}))", "");
    }

    fn binding(&mut self, node: &Node, indent: usize) {
        let _ = write!(self.out, "(({}) ({}", self.definitions(&node.outputs), self.operation(&node.op));
        for operand in &node.operands {
            let text = self.operand(operand);
            let _ = write!(self.out, " {text}");
        }
        for region in &node.regions {
            let _ = write!(self.out, "\n{:indent$}(lambda ({})", "", self.definitions(&region.params));
            self.body(region, &[], indent + 2);
            self.out.push(')');
        }
        self.out.push(')');
        if let Some(span) = node.span {
            let ((line, column), (end_line, end_column)) = (span.start, span.end);
            let _ = write!(self.out, " (at {} {line} {column} {end_line} {end_column})", span.file);
        }
        self.out.push_str(if node.grad { ")" } else { " nograd)" });
    }

    fn definitions(&self, values: &[Value]) -> String {
        let define = |value: &Value| format!("({} {})", self.value(*value), ty(self.function.ty(*value)));
        values.iter().map(define).collect::<Vec<_>>().join(" ")
    }

    fn operation(&self, op: &Op) -> String {
        match op {
            Op::Call(id) => {
                format!("call {}", self.graph.function(*id).map_or("?", |function| &*function.name))
            }
            op => op_name(self.graph, op),
        }
    }

    fn value(&self, value: Value) -> String {
        match plain_name(self.function, value) {
            Some(name) => format!("{name}.{}", value.0),
            None => format!("x{}", value.0),
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
                let items: String = items.iter().map(|item| format!(" {}", self.operand(item))).collect();
                format!("(list{items})")
            }
        }
    }
}

/// Returns a type as one symbol: `tuple[int,f32[4]]`.
fn ty(ty: &Type) -> String {
    ty.to_string().replace(' ', "")
}
