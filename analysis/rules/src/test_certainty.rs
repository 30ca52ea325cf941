//! Whether the test of a staged decision is certainly a Tensor.

use ruff_python_ast::Expr;

use super::FunctionContext;
use ag_db::diagnostic::Diagnostic;
use ag_index::dialect::Dialect;
use ag_staging::construct::ConstructKind;

/// Whether a diagnostic depends on a decision of converted code whose test is a Tensor on some paths and has an unknown
/// type on others, where it may be a Python value:
///
/// ```python
/// scale = helper(x)                     # of unknown type
/// if normalize:
///     scale = tf.reduce_sum(x)
/// if scale > 0:                         # `Tensor | Unknown`
/// ```
///
/// The rules for JAX and PyTorch determine their severities themselves.
pub(super) fn depends_on_partly_unknown_test(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    if matches!(ctx.dialect(), Dialect::Jax | Dialect::Torch) {
        return false;
    }
    ctx.staged().any(|(construct, node)| {
        construct.kind != ConstructKind::For
            && !construct.why.is_empty()
            && construct.why == diagnostic.why
            && node.test().is_some_and(|test| !is_certain(ctx, test))
    })
}

/// Whether an operand of the test has a completely known type, is the result of a library function, or is an argument
/// that is assumed to be a Tensor.
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

/// Whether the expression is a call such as `keras.ops.any(x)`. Its type is partly unknown if an `except ImportError`
/// binds the name of the library to another one.
fn is_library_result(ctx: &FunctionContext, expression: &Expr) -> bool {
    let package = ctx.resolve_call(expression);
    package.is_some_and(|name| matches!(name.split('.').next(), Some("keras" | "tf_keras" | "tensorflow")))
}
