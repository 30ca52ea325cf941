//! The operands that a staged condition tests.

use ruff_python_ast::{self as ast, Expr};

use super::values::Value;
use crate::FunctionContext;
use ag_index::facts::{Binding, DType};
use ag_staging::construct::{Construct, ConstructNode};

/// Returns the tests of staged `if`, `while` and conditional expressions of a converted function.
pub(super) fn staged_tests<'c, 'a>(
    ctx: &'c FunctionContext<'a>,
) -> impl Iterator<Item = (&'a Construct, &'a Expr)> + 'c {
    ctx.staged().filter(|_| ctx.converts()).filter_map(|(construct, node)| match node {
        ConstructNode::If(..) | ConstructNode::While(_) | ConstructNode::IfExp(_) => {
            Some((construct, node.test()?))
        }
        _ => None,
    })
}

/// Returns the expressions whose truth value a test needs: the test itself, or the operands of its `and` and `or`.
/// Comparisons, negations and conditional expressions are not included.
pub(super) fn tested(test: &Expr) -> Vec<&Expr> {
    match test {
        Expr::BoolOp(operation) => operation.values.iter().flat_map(tested).collect(),
        Expr::Compare(_) | Expr::If(_) | Expr::UnaryOp(ast::ExprUnaryOp { op: ast::UnaryOp::Not, .. }) => {
            Vec::new()
        }
        _ => vec![test],
    }
}

/// Returns the dtype of an expression that is certainly a Tensor; `None` if it is `bool` or unknown.
pub(super) fn wrong_dtype(ctx: &FunctionContext, expression: &Expr) -> Option<DType> {
    let fact = ctx.fact(expression);
    if fact.unknown || fact.binding() != Binding::Staged {
        return None;
    }
    let dtype = fact.dtype().or_else(|| match Value::of_fact(ctx, ctx.python_fact(expression)) {
        // A Python number that a transfer function has promoted to a Tensor.
        Value::Leaf(dtype) => dtype,
        _ => None,
    })?;
    (dtype != DType::Bool).then_some(dtype)
}

/// Returns the literal with which a value of this dtype is compared to get its truth value.
pub(super) fn zero(dtype: DType) -> &'static str {
    match dtype {
        DType::String => "\"\"",
        dtype if dtype.is_float() => "0.0",
        _ => "0",
    }
}
