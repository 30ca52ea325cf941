//! An optimizer is passed as an argument.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::Anchor;
use ag_index::dialect::RootKind;
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Finds parameters of a `tf.function` whose method `apply_gradients` or `minimize` the function calls.
    ///
    /// ## Why is this bad?
    /// An optimizer creates its variables when it is first used. With one optimizer that happens in the first
    /// trace, where it is allowed. A second optimizer triggers retracing and creates its own variables in the
    /// new trace, and TensorFlow raises.
    ///
    /// A single optimizer works. Optimizers that are built beforehand work, too. So this rule is off by default.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def update(optimizer, weights, gradient):
    ///     optimizer.apply_gradients([(gradient, weights)])
    /// ```
    ///
    /// ## Use instead
    /// Create a `tf.function` for each optimizer.
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def make_update(optimizer):
    ///     @tf.function
    ///     def update(weights, gradient):
    ///         optimizer.apply_gradients([(gradient, weights)])
    ///
    ///     return update
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only
    /// > created once or created outside tf.function.
    pub(crate) static OPTIMIZER_ARGUMENT = {
        code: "AG410", name: "optimizer-argument",
        summary: "an optimizer is an argument of a `tf.function`",
        severity: Warning, default: false, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    // A `tf.function` that each call of an enclosing function creates has its own optimizer.
    let is_created_in_call =
        ctx.stage.cause.as_ref().is_some_and(|cause| matches!(cause.anchor, Anchor::Function(_)));
    if ctx.root() != Some(RootKind::Function) || is_created_in_call {
        return;
    }
    for parameter in ctx.def().parameters.iter() {
        let name = parameter.name();
        let applies = |call: &ast::ExprCall| {
            call.func.as_attribute_expr().is_some_and(|method| {
                matches!(method.attr.as_str(), "apply_gradients" | "minimize")
                    && method.value.as_name_expr().is_some_and(|object| object.id == name.id)
            })
        };
        let used = expressions::of_function(ctx.def())
            .into_iter()
            .filter_map(Expr::as_call_expr)
            .find(|call| applies(call));
        if let Some(call) = used {
            ctx.report(
                &OPTIMIZER_ARGUMENT,
                name.range(),
                format!("`{name}` is an argument: a second optimizer would create variables in a later trace, which raises"),
            )
            .label(ctx.span(call.func.range()), "creates the optimizer's variables")
            .help("create a `tf.function` for each optimizer, or build the optimizers before the call")
            .emit();
        }
    }
}
