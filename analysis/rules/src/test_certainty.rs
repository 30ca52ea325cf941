//! Determines whether the test of a staged decision is certainly a Tensor.

use ruff_python_ast::Expr;

use super::FunctionContext;
use ag_db::diagnostic::{Diagnostic, Severity};
use ag_index::dialect::Dialect;
use ag_staging::construct::{Construct, ConstructKind};

/// Returns the highest severity that a diagnostic may have if it depends on a decision of converted code. It is a
/// warning if the test is a Tensor on some paths and has an unknown type on others, where it may be a Python value:
///
/// ```python
/// scale = helper(x)                     # of unknown type
/// if normalize:
///     scale = tf.reduce_sum(x)
/// if scale > 0:                         # `Tensor | Unknown`
/// ```
///
/// It is info if such a test is only the name of a parameter whose default is `None` or a bool. Such a parameter may be
/// a flag with a wrong annotation.
///
/// ```python
/// def call(self, x, output_states: Optional[tf.Tensor] = None):
///     output_states = output_states if output_states is not None else self.config.output_states
///     if output_states:
/// ```
///
/// The rules for JAX and PyTorch determine the severities of their findings themselves.
pub(super) fn highest_severity(ctx: &FunctionContext, diagnostic: &Diagnostic) -> Severity {
    if matches!(ctx.dialect(), Dialect::Jax | Dialect::Torch) {
        return Severity::Error;
    }
    let depends_on = |construct: &Construct| {
        construct.kind != ConstructKind::For && !construct.why.is_empty() && construct.why == diagnostic.why
    };
    let tests =
        ctx.staged().filter(|(construct, _)| depends_on(construct)).filter_map(|(_, node)| node.test());
    let severities = tests.map(|test| match is_certain(ctx, test) {
        true => Severity::Error,
        false if is_flag(ctx, test) => Severity::Info,
        false => Severity::Warning,
    });
    severities.min().unwrap_or(Severity::Error)
}

/// Returns whether a test is a parameter whose default is `None` or a bool.
fn is_flag(ctx: &FunctionContext, test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(operation) => is_flag(ctx, &operation.operand),
        Expr::Name(name) => ctx.def().parameters.iter().any(|parameter| {
            parameter.name().id == name.id
                && parameter
                    .default()
                    .is_some_and(|it| it.is_none_literal_expr() || it.is_boolean_literal_expr())
        }),
        _ => false,
    }
}

/// Returns whether an operand of the test may be a Tensor and satisfies one of the following: its type is known
/// completely, it is the result of a library function, or it is an argument that is assumed to be a Tensor.
fn is_certain(ctx: &FunctionContext, test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(operation) => is_certain(ctx, &operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().any(|value| is_certain(ctx, value)),
        Expr::Compare(compare) => {
            is_certain(ctx, &compare.left) || compare.comparators.iter().any(|side| is_certain(ctx, side))
        }
        Expr::Named(named) => is_certain(ctx, &named.value),
        Expr::If(conditional) => {
            is_certain(ctx, &conditional.test)
                || is_certain(ctx, &conditional.body) && is_certain(ctx, &conditional.orelse)
        }
        _ => {
            let fact = ctx.fact(test);
            fact.may_be_tensor() && (!fact.unknown || fact.argument || is_library_result(ctx, test))
        }
    }
}

/// Returns whether the expression is a call such as `keras.ops.any(x)`. The type of such a call is partly unknown if an
/// `except ImportError` binds the name of the library to something else.
fn is_library_result(ctx: &FunctionContext, expression: &Expr) -> bool {
    let package = ctx.resolve_call(expression);
    package.is_some_and(|name| matches!(name.split('.').next(), Some("keras" | "tf_keras" | "tensorflow")))
}
