//! Gradients of graphs that are written as text.

use ag_graph::autodiff::{Error, Formulas, Functions, gradient};
use ag_graph::ir::build::{Builder, NodeAttrs};
use ag_graph::ir::text::{parse, print};
use ag_graph::ir::verify::verify;
use ag_graph::ir::{Function, Graph, Operand, Operator, Outcome, Region, Type, Value};

/// Provides no derivatives from torch.
pub(crate) struct NoFormulas;

impl Formulas for NoFormulas {
    fn formula(&mut self, _: &Operator, _: &[Operand], _: &[Type], _: &[Type]) -> Result<Function, String> {
        Err("torch has none".into())
    }
}

/// Returns a graph that returns the gradient of the first result with respect to these parameters, in place of the
/// results.
pub(crate) fn differentiated(
    text: &str,
    inputs: &[usize],
    formulas: &mut dyn Formulas,
) -> Result<Graph, Error> {
    gradients(parse(text).unwrap(), inputs, formulas)
}

pub(crate) fn gradients(graph: Graph, inputs: &[usize], formulas: &mut dyn Formulas) -> Result<Graph, Error> {
    extended(graph, inputs, true, formulas, |_, gradients| {
        gradients.into_iter().map(|gradient| gradient.unwrap_or(Operand::None)).collect()
    })
}

pub(crate) fn extended(
    mut graph: Graph,
    inputs: &[usize],
    no_grad: bool,
    formulas: &mut dyn Formulas,
    results: impl FnOnce(&mut Builder, Vec<Option<Operand>>) -> Vec<Operand>,
) -> Result<Graph, Error> {
    verify(&graph).unwrap();
    let Function { name, body, values, .. } = graph.functions.remove(0);
    let mut functions = Functions::without_entry(&name, std::mem::take(&mut graph.functions));
    let mut builder = Builder::new(&name);
    let output = body.results[0].value().unwrap();
    let inputs: Vec<Value> = inputs.iter().map(|input| body.params[*input]).collect();
    builder.values = values;
    builder.open[0] = Region { results: Vec::new(), ..body };
    let at = NodeAttrs { no_grad, span: None };
    let gradients = gradient(&mut builder, &[output], &[None], &inputs, &at, &mut functions, formulas)?;
    let results = results(&mut builder, gradients);
    graph.outcomes = vec![Outcome::Return; results.len()];
    graph.functions.push(builder.finish(results));
    graph.functions.extend(functions.into_others().unwrap());
    verify(&graph).unwrap_or_else(|fault| panic!("{fault}\n{}", print(&graph)));
    Ok(graph)
}
