//! Output formats for graphs: JSON, DOT, SVG and S-expressions. S-expressions can be read back, like the format of
//! `ir::text`. The other formats show each node beside the source line that it comes from.

mod dot;
mod json;
pub mod sexpr;
mod svg;

pub use dot::dot;
pub use json::json;
pub use svg::svg;

use std::fmt::Write as _;

use crate::ir::text::op_name;
use crate::ir::{Function, Graph, Node, Operand, Span, Value};

/// Returns a line of a file (counted from one), if it can be read.
pub type Source<'a> = dyn Fn(&str, u32) -> Option<String> + 'a;

/// Returns the file, line number and trimmed source line of a node.
fn line(graph: &Graph, span: Option<Span>, source: &Source<'_>) -> Option<(String, u32, String)> {
    let span = span?;
    let file = graph.files.get(span.file as usize)?;
    let text = source(file, span.start.0).unwrap_or_default();
    Some((file.to_string(), span.start.0, text.trim().to_owned()))
}

/// `x.0`, or `%3` if the user has no name for the value.
fn name(function: &Function, value: Value) -> String {
    match function.values.get(value.index()).and_then(|info| info.name.as_deref()) {
        Some(name) => format!("{name}.{}", value.0),
        None => format!("%{}", value.0),
    }
}

/// Returns the operation with its operands: `aten.add.Tensor(x.0, 1)`.
fn call(graph: &Graph, function: &Function, node: &Node) -> String {
    let mut text = op_name(graph, &node.op);
    text.push('(');
    for (index, operand) in node.operands.iter().enumerate() {
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(&short(function, operand));
    }
    text.push(')');
    text
}

/// Returns the text of an operand.
fn short(function: &Function, operand: &Operand) -> String {
    match operand {
        Operand::Value(value) => name(function, *value),
        Operand::None => "none".to_owned(),
        Operand::Int(value) => value.to_string(),
        Operand::Float(value) => format!("{value:?}"),
        Operand::Bool(value) => value.to_string(),
        Operand::Str(text) => format!("{text:?}"),
        Operand::DType(dtype) => dtype.text().to_owned(),
        Operand::Device(device) => device.to_string(),
        Operand::Layout(layout) => layout.name().to_owned(),
        Operand::MemoryFormat(format) => format.name().to_owned(),
        Operand::List(items) => {
            let mut text = "[".to_owned();
            for (index, item) in items.iter().enumerate() {
                let _ = write!(text, "{}{}", if index > 0 { ", " } else { "" }, short(function, item));
            }
            text + "]"
        }
    }
}

/// Returns the text of values with their types: `%3: f32[4]`.
fn typed(function: &Function, values: &[Value]) -> String {
    let typed = |value: &Value| format!("{}: {}", name(function, *value), function.ty(*value));
    values.iter().map(typed).collect::<Vec<_>>().join(", ")
}
