//! Gradients that are executed and compared with finite differences.

#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

mod calls;
mod differences;
mod flow;
#[path = "../../../graph/tests/autodiff/helpers.rs"]
mod helpers;
mod rules;

use ag_graph::autodiff::{Error, Formulas};
use ag_graph::ir::build::NodeAttrs;
use ag_graph::ir::text::parse;
use ag_graph::ir::types::{DType, TensorType};
use ag_graph::ir::{Graph, Op, Operand, Type};

use self::helpers::extended;

/// Returns a graph that computes the sum of the squares of the gradient. The graph can be differentiated again.
fn squared_gradient(text: &str, inputs: &[usize], formulas: &mut dyn Formulas) -> Result<Graph, Error> {
    extended(parse(text).unwrap(), inputs, false, formulas, |builder, gradients| {
        let typed = |gradient: Operand| (gradient.clone(), builder.type_of(&gradient));
        let gradients: Vec<(Operand, Type)> = gradients.into_iter().flatten().map(typed).collect();
        let scalar = Type::Tensor(TensorType::new(DType::F64, &[]));
        let mut emit = |name: &str, operands: Vec<Operand>, ty: &Type| -> Operand {
            builder.one(Op::aten(name), operands, ty.clone(), &NodeAttrs::default()).into()
        };
        let [empty, dtype, none] = [Operand::List(Vec::new()), Operand::DType(DType::F64), Operand::None];
        let mut sum =
            emit("zeros.default", vec![empty, dtype, none.clone(), none.clone(), none.clone()], &scalar);
        for (gradient, ty) in gradients {
            let squares = emit("mul.Tensor", vec![gradient.clone(), gradient], &ty);
            let part = emit("sum.default", vec![squares, none.clone()], &scalar);
            sum = emit("add.Tensor", vec![sum, part, 1.into()], &scalar);
        }
        vec![sum]
    })
}
