//! Python state that a staged function updates and tests.

use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_index::assumptions::Source;
use ag_index::facts::Binding;
use ag_staging::construct::Construct;
use ag_syntax::qname::QName;
use ag_syntax::{expressions, statements};

declare_rule! {
    /// ## What it does
    /// Finds attributes of `self` with a Python value that a staged function updates (`self.n += 1`, `self.on =
    /// not self.on`) and also tests.
    ///
    /// ## Why is this bad?
    /// Both happen while the function is traced. The graph contains the branch that was taken then; later calls
    /// neither update the value nor evaluate the condition again.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class WarmUp:
    ///     def __init__(self):
    ///         self.calls = 0
    ///
    ///     @tf.function
    ///     def rate(self, x: tf.Tensor):
    ///         if self.calls < 100:
    ///             x = x * 0.1
    ///         self.calls += 1
    ///         return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// class WarmUp:
    ///     def __init__(self):
    ///         self.calls = tf.Variable(0)
    ///
    ///     @tf.function
    ///     def rate(self, x: tf.Tensor):
    ///         if self.calls < 100:
    ///             x = x * 0.1
    ///         self.calls.assign_add(1)
    ///         return x
    /// ```
    pub(crate) static PYTHON_COUNTER = {
        code: "AG409", name: "python-counter",
        summary: "a Python counter or flag changes only while its function is traced",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let receiver = ctx.stage.parameters.iter().find(|parameter| parameter.source == Source::Receiver);
    let Some(receiver) = receiver else { return };
    if matches!(ctx.def().name.as_str(), "__init__" | "build") {
        return;
    }
    for (target, value) in statements::of_function(ctx.def()).into_iter().filter_map(update) {
        let Some(name) = QName::from_expr(target) else { continue };
        // State updated in a staged branch or loop is reported by other rules.
        if name.root() != receiver.name.as_str() || ctx.staged_region(target.range()).is_some() {
            continue;
        }
        let is_python = ctx.binding(value) == Binding::Python && ctx.binding(target) == Binding::Python;
        let Some(decision) = tested(ctx, &name).filter(|_| is_python) else { continue };
        ctx.report(
            &PYTHON_COUNTER,
            target.range(),
            format!("`{name}` is a Python value: it is updated only while the function is traced"),
        )
        .label(ctx.span(decision.test_range), "evaluated once, for all later calls")
        .help("make it a `tf.Variable`")
        .emit();
    }
}

/// A Python decision that reads the name.
fn tested<'a>(ctx: &FunctionContext<'a>, name: &QName) -> Option<&'a Construct> {
    let reads = |expression: &&Expr| {
        matches!(expression, Expr::Attribute(attribute) if attribute.ctx == ExprContext::Load)
            && QName::from_expr(expression).as_ref() == Some(name)
    };
    let reads: Vec<_> =
        expressions::of_function(ctx.def()).into_iter().filter(reads).map(Ranged::range).collect();
    ctx.decisions().filter(|(_, node)| node.test().is_some()).map(|(construct, _)| construct).find(
        |construct| {
            construct.binding == Binding::Python
                && reads.iter().any(|read| construct.test_range.contains_range(*read))
        },
    )
}

/// An attribute that a statement updates from its own value, and the new value.
fn update(statement: &Stmt) -> Option<(&Expr, &Expr)> {
    match statement {
        Stmt::AugAssign(ast::StmtAugAssign { target, value, .. }) if target.is_attribute_expr() => {
            Some((target, value))
        }
        Stmt::Assign(ast::StmtAssign { targets, value, .. }) => match targets.as_slice() {
            [target @ Expr::Attribute(_)] if is_update(target, value) => Some((target, value)),
            _ => None,
        },
        _ => None,
    }
}

/// `self.n = self.n + 1`, `self.on = not self.on`.
fn is_update(target: &Expr, value: &Expr) -> bool {
    let name = QName::from_expr(target);
    let is_same = |expression: &Expr| name.is_some() && QName::from_expr(expression) == name;
    match value {
        Expr::UnaryOp(operation) => is_same(&operation.operand),
        Expr::BinOp(operation) => is_same(&operation.left) || is_same(&operation.right),
        _ => false,
    }
}
