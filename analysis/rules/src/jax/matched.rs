//! The patterns of `match` statements that compare a tracer with a value.

use ruff_python_ast::{self as ast, Expr, Pattern, Stmt};

use crate::FunctionContext;
use crate::tracing::is_tensor;
use ag_syntax::expressions::sequence;

/// Returns the patterns by which a function compares a tracer, each with the tracer. Python calls `==` for a value pattern,
/// and needs the truth value of the result:
///
/// ```python
/// match jnp.argmax(scores), mode:
///     case 0, "fast": …
/// ```
pub(super) fn compared<'a>(ctx: &FunctionContext<'a>) -> Vec<(&'a Pattern, &'a Expr)> {
    let mut found = Vec::new();
    for statement in ctx.statements() {
        let Stmt::Match(node) = statement else { continue };
        for case in &node.cases {
            add(ctx, &node.subject, &case.pattern, &mut found);
        }
    }
    found
}

fn add<'a>(
    ctx: &FunctionContext<'a>,
    subject: &'a Expr,
    pattern: &'a Pattern,
    found: &mut Vec<(&'a Pattern, &'a Expr)>,
) {
    match pattern {
        // An array is unequal to every string.
        Pattern::MatchValue(value) if !value.value.is_string_literal_expr() && is_tensor(ctx, subject) => {
            found.push((pattern, subject));
        }
        Pattern::MatchAs(ast::PatternMatchAs { pattern: Some(inner), .. }) => add(ctx, subject, inner, found),
        Pattern::MatchOr(alternatives) => {
            alternatives.patterns.iter().for_each(|inner| add(ctx, subject, inner, found));
        }
        Pattern::MatchSequence(patterns) => {
            let subjects = sequence(subject).filter(|subjects| subjects.len() == patterns.patterns.len());
            for (subject, inner) in subjects.into_iter().flatten().zip(&patterns.patterns) {
                add(ctx, subject, inner, found);
            }
        }
        _ => {}
    }
}
