//! AG303: a condition that is evaluated once, while the graph is built.

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;
use ag_syntax::qname::QName;
use ruff_python_ast::{CmpOp, Expr};
use ruff_text_size::Ranged;

declare_rule! {
    /// ## What it does
    /// Reports a condition on a number, flag or string that callers pass to a staged function as a Python value.
    ///
    /// ## Why is this bad?
    /// This may be intended: the branch is selected while the graph is built, and the other branch is not in
    /// the graph. But every new value of the argument triggers retracing, and the condition is not part of the
    /// graph although it looks like it. The rule is off by default.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def clip(x, limit):
    ///     if limit > 0:
    ///         x = tf.minimum(x, limit)
    ///     return x
    ///
    ///
    /// clip(tf.constant(3), 1)
    /// clip(tf.constant(3), 2)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def clip(x, limit):
    ///     if limit > 0:
    ///         x = tf.minimum(x, limit)
    ///     return x
    ///
    ///
    /// clip(tf.constant(3), tf.constant(1))
    /// clip(tf.constant(3), tf.constant(2))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// Nothing at first. After several such calls, TensorFlow warns about retracing.
    pub(crate) static STATIC_CONDITION = {
        code: "AG303", name: "static-condition",
        summary: "a condition on a Python argument is evaluated while the graph is built",
        severity: Info, default: false, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() || ctx.root().is_none() {
        return;
    }
    for (construct, node) in ctx.decisions() {
        let decides =
            matches!(construct.kind, ConstructKind::If | ConstructKind::While | ConstructKind::IfExp);
        let Some(test) = node.test().filter(|_| decides && construct.binding == Binding::Python) else {
            continue;
        };
        let mut operands = Vec::new();
        operands_of(test, &mut operands);
        let argument = operands.into_iter().find(|operand| is_python_argument(ctx, operand));
        let Some(argument) = argument else { continue };
        ctx.report(
            &STATIC_CONDITION,
            test,
            format!(
                "`{}` is a Python value: this condition is evaluated while the graph is built, once per value",
                ctx.text(argument)
            ),
        )
        .why(construct.why.clone())
        .help("pass a Tensor to evaluate the condition in the graph")
        .emit();
    }
}

/// Adds the values that a condition compares or tests, except the operands of `is` and `in`.
fn operands_of<'a>(test: &'a Expr, operands: &mut Vec<&'a Expr>) {
    match test {
        Expr::UnaryOp(operation) => operands_of(&operation.operand, operands),
        Expr::BoolOp(operation) => operation.values.iter().for_each(|value| operands_of(value, operands)),
        Expr::BinOp(operation) => {
            operands_of(&operation.left, operands);
            operands_of(&operation.right, operands);
        }
        Expr::Compare(compare) => {
            let by_value = |op: &CmpOp| !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
            if compare.ops.iter().all(by_value) {
                operands_of(&compare.left, operands);
                compare.comparators.iter().for_each(|value| operands_of(value, operands));
            }
        }
        Expr::Name(_) => operands.push(test),
        _ => {}
    }
}

/// Returns whether callers pass a number, flag or string for the operand.
fn is_python_argument(ctx: &FunctionContext, operand: &Expr) -> bool {
    let Some(name) = QName::from_expr(operand) else { return false };
    let definitions = ctx.flow.definitions_of(operand.range(), &name);
    let [definition] = definitions.as_slice() else { return false };
    let DefKind::Parameter(position) = definition.kind else { return false };
    ctx.stage.parameters.get(position.into()).is_some_and(|parameter| {
        parameter.binding == Binding::Python
            && parameter.source == Source::CallSites
            && parameter.shown.as_ref().is_some_and(|shown| {
                shown.split(" | ").all(|class| matches!(class, "bool" | "int" | "float" | "str"))
            })
            && !ctx.stage.static_parameters.contains(position.into())
    })
}
