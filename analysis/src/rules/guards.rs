//! Code that asks first whether it runs eagerly, leaves the graph, or expects to fail.

use ruff_text_size::TextRange;

use crate::flow::{BlockKind, StatementKind};
use crate::rules::FunctionContext;

/// What a test mentions when it tells eager execution from a graph.
const EAGER_TESTS: [&str; 7] = [
    "executing_eagerly",
    "inside_function",
    "EagerTensor",
    "hasattr",
    "is_symbolic",
    "is_keras_tensor",
    "is_tensor",
];

/// Whether `range` is under a test of eager execution, in a `with tf.init_scope()`, or in the body of
/// a `try`.
pub(super) fn guarded(ctx: &FunctionContext, range: TextRange) -> bool {
    let mentions = |text: &str| EAGER_TESTS.iter().any(|word| text.contains(word));
    ctx.enclosing(range).any(|construct| mentions(ctx.text(construct.test_range))) || escapes(ctx, range)
}

fn escapes(ctx: &FunctionContext, range: TextRange) -> bool {
    let cfg = &ctx.flow.cfg;
    let Some(mut inner) = cfg.statement_around(range) else { return false };
    while let Some(outer) = cfg.statement(inner).and_then(|statement| statement.parent) {
        let in_body = cfg.block(outer, BlockKind::Body).is_some_and(|body| body.contains(inner));
        let escapes = match cfg.statement(outer).map(|statement| (statement.kind, statement.range)) {
            Some((StatementKind::Try, _)) => true,
            Some((StatementKind::With, range)) => {
                ctx.text(range).lines().next().is_some_and(|head| head.contains("init_scope"))
            }
            _ => false,
        };
        if escapes && in_body {
            return true;
        }
        inner = outer;
    }
    false
}
