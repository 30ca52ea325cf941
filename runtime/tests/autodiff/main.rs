//! Gradients as graphs: their text, and what they compute against differences, on the executor.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calls;
mod differences;
mod flow;
mod rules;
mod text;

use ag_runtime::autodiff::{Error, Formulas, Functions, gradient};
use ag_runtime::ir::build::{Builder, Circumstances};
use ag_runtime::ir::text::{parse, print};
use ag_runtime::ir::types::{DType, TensorType};
use ag_runtime::ir::verify::verify;
use ag_runtime::ir::{Function, Graph, Op, Operand, Outcome, Region, Type, Value};

/// Torch is not asked.
struct NoFormulas;

impl Formulas for NoFormulas {
    fn formula(&mut self, _: &str, _: &[Operand], _: &[Type], _: &[Type]) -> Result<Function, String> {
        Err("torch has none".into())
    }
}

/// The graph that returns the gradient of its first result with respect to these parameters instead.
fn differentiated(text: &str, inputs: &[usize], formulas: &mut dyn Formulas) -> Result<Graph, Error> {
    gradients(parse(text).unwrap(), inputs, formulas)
}

fn gradients(graph: Graph, inputs: &[usize], formulas: &mut dyn Formulas) -> Result<Graph, Error> {
    extended(graph, inputs, true, formulas, |_, gradients| {
        gradients.into_iter().map(|gradient| gradient.unwrap_or(Operand::None)).collect()
    })
}

/// The graph that returns the sum of the squares of the gradient, which can be differentiated again.
fn slopes(text: &str, inputs: &[usize], formulas: &mut dyn Formulas) -> Result<Graph, Error> {
    extended(parse(text).unwrap(), inputs, false, formulas, |builder, gradients| {
        let typed = |gradient: Operand| (gradient.clone(), builder.type_of(&gradient));
        let gradients: Vec<(Operand, Type)> = gradients.into_iter().flatten().map(typed).collect();
        let scalar = Type::Tensor(TensorType::new(DType::F64, &[]));
        let mut emit = |name: &str, operands: Vec<Operand>, ty: &Type| -> Operand {
            let op = Op::Operator(name.into());
            builder.one(op, operands, ty.clone(), &Circumstances::default()).into()
        };
        let [empty, dtype, none] = [Operand::List(Vec::new()), Operand::DType(DType::F64), Operand::None];
        let mut sum =
            emit("aten.zeros.default", vec![empty, dtype, none.clone(), none.clone(), none.clone()], &scalar);
        for (gradient, ty) in gradients {
            let squares = emit("aten.mul.Tensor", vec![gradient.clone(), gradient], &ty);
            let part = emit("aten.sum.default", vec![squares, none.clone()], &scalar);
            sum = emit("aten.add.Tensor", vec![sum, part, 1.into()], &scalar);
        }
        vec![sum]
    })
}

fn extended(
    mut graph: Graph,
    inputs: &[usize],
    no_grad: bool,
    formulas: &mut dyn Formulas,
    results: impl FnOnce(&mut Builder, Vec<Option<Operand>>) -> Vec<Operand>,
) -> Result<Graph, Error> {
    verify(&graph).unwrap();
    let Function { name, body, values, .. } = graph.functions.remove(0);
    let mut functions = Functions::beside(&name, std::mem::take(&mut graph.functions));
    let mut builder = Builder::new(&name);
    let output = body.results[0].value().unwrap();
    let inputs: Vec<Value> = inputs.iter().map(|input| body.params[*input]).collect();
    builder.values = values;
    builder.open[0] = Region { results: Vec::new(), ..body };
    let at = Circumstances { no_grad, span: None };
    let gradients = gradient(&mut builder, &[output], &[None], &inputs, &at, &mut functions, formulas)?;
    let results = results(&mut builder, gradients);
    graph.outcomes = vec![Outcome::Return; results.len()];
    graph.functions.push(builder.finish(results));
    graph.functions.extend(functions.into_others().unwrap());
    verify(&graph).unwrap_or_else(|fault| panic!("{fault}\n{}", print(&graph)));
    Ok(graph)
}
