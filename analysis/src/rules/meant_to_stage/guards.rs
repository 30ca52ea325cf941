//! Code that asks first whether it runs eagerly, or that expects to fail.

use ruff_text_size::TextRange;

use crate::flow::{BlockKind, StatementKind};
use crate::rules::FunctionContext;

/// What a test mentions when it tells eager execution from a graph.
const EAGER_TESTS: [&str; 6] =
    ["executing_eagerly", "inside_function", "EagerTensor", "hasattr", "is_symbolic", "is_keras_tensor"];

/// Whether `range` is under a test of eager execution, or in the body of a `try`.
pub(super) fn guarded(ctx: &FunctionContext, range: TextRange) -> bool {
    let mentions = |text: &str| EAGER_TESTS.iter().any(|word| text.contains(word));
    ctx.enclosing(range).any(|construct| mentions(ctx.text(construct.test_range))) || in_try(ctx, range)
}

fn in_try(ctx: &FunctionContext, range: TextRange) -> bool {
    let cfg = &ctx.flow.cfg;
    let Some(mut inner) = cfg.statement_around(range) else { return false };
    while let Some(outer) = cfg.statement(inner).and_then(|statement| statement.parent) {
        let is_try = cfg.statement(outer).is_some_and(|statement| statement.kind == StatementKind::Try);
        if is_try && cfg.block(outer, BlockKind::Body).is_some_and(|body| body.contains(inner)) {
            return true;
        }
        inner = outer;
    }
    false
}
