//! JSON output, for programs that do not parse the text format.

use serde_json::{Value as Json, json};

use super::{Source, line};
use crate::ir::text::op_name;
use crate::ir::{Function, Graph, Node, Operand, Origin, Outcome, Region, Value};

/// Returns a graph as `{"version", "files", "functions": [{"name", "parameters", "results", "body"}]}`. A value is
/// represented by its number.
pub fn json(graph: &Graph, source: &Source<'_>) -> String {
    let functions = graph.functions.iter().enumerate().map(|(index, function)| {
        let writer = Writer { graph, function, source };
        let parameters = function.params().iter().enumerate().map(|(at, param)| {
            let mut parameter = writer.definition(*param);
            if let (0, Some(origin)) = (index, graph.origins.get(at)) {
                match origin {
                    Origin::Argument(path) => parameter["argument"] = json!(path),
                    Origin::Capture(number) => parameter["capture"] = json!(number),
                }
            }
            parameter
        });
        let results = function.results.iter().enumerate().map(|(at, ty)| {
            let mut result = json!({ "type": ty.to_string() });
            if let (0, Some(Outcome::Write(parameter))) = (index, graph.outcomes.get(at)) {
                result["write"] = json!(parameter);
            }
            result
        });
        json!({
            "name": function.name,
            "parameters": parameters.collect::<Vec<_>>(),
            "results": results.collect::<Vec<_>>(),
            "body": writer.region(&function.body),
        })
    });
    let functions: Vec<Json> = functions.collect();
    json!({ "version": 1, "files": graph.files.iter().map(|file| &**file).collect::<Vec<_>>(), "functions": functions })
        .to_string()
}

struct Writer<'a> {
    graph: &'a Graph,
    function: &'a Function,
    source: &'a Source<'a>,
}

impl Writer<'_> {
    fn definition(&self, value: Value) -> Json {
        let info = &self.function.values[value.index()];
        json!({ "value": value.0, "name": info.name.as_deref(), "type": info.ty.to_string() })
    }

    fn region(&self, region: &Region) -> Json {
        json!({
            "parameters": region.params.iter().map(|param| self.definition(*param)).collect::<Vec<_>>(),
            "nodes": region.nodes.iter().map(|node| self.node(node)).collect::<Vec<_>>(),
            "results": region.results.iter().map(operand).collect::<Vec<_>>(),
        })
    }

    fn node(&self, node: &Node) -> Json {
        let mut written = json!({
            "op": op_name(self.graph, &node.op),
            "operands": node.operands.iter().map(operand).collect::<Vec<_>>(),
            "outputs": node.outputs.iter().map(|output| self.definition(*output)).collect::<Vec<_>>(),
        });
        if !node.regions.is_empty() {
            let labelled = node.op.regions().iter().zip(&node.regions);
            written["regions"] =
                labelled.map(|(label, region)| ((*label).to_owned(), self.region(region))).collect();
        }
        if let (Some(span), Some((file, _, text))) = (node.span, line(self.graph, node.span, self.source)) {
            written["span"] = json!({
                "file": file, "line": span.start.0, "column": span.start.1,
                "end_line": span.end.0, "end_column": span.end.1, "source": text,
            });
        }
        written
    }
}

/// Converts an operand. A value is `{"value": 3}`. Numbers, strings, booleans, null and lists map to JSON; everything
/// else is tagged: `{"dtype": "f32"}`.
fn operand(operand: &Operand) -> Json {
    match operand {
        Operand::Value(value) => json!({ "value": value.0 }),
        Operand::None => Json::Null,
        Operand::Int(value) => json!(value),
        Operand::Float(value) if value.is_finite() => json!(value),
        Operand::Float(value) => json!({ "float": value.to_string() }),
        Operand::Bool(value) => json!(value),
        Operand::Str(text) => json!(text),
        Operand::DType(dtype) => json!({ "dtype": dtype.text() }),
        Operand::Device(device) => json!({ "device": device.to_string() }),
        Operand::Layout(layout) => json!({ "layout": layout.name() }),
        Operand::MemoryFormat(format) => json!({ "memory_format": format.name() }),
        Operand::List(items) => items.iter().map(self::operand).collect(),
    }
}
