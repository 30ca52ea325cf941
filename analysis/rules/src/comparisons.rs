//! Operations of Python that compare elements one by one, and so need the truth value of each comparison.

use ruff_python_ast::{self as ast, Expr};

use crate::FunctionContext;
use ag_index::facts::{Alternative, Fact};

/// Returns the value for which a method searches a list or tuple, with the name of the method: `x` in
/// `labels.index(x)`.
pub(crate) fn searched<'a>(ctx: &FunctionContext, call: &'a ast::ExprCall) -> Option<(&'a str, &'a Expr)> {
    let method = call.func.as_attribute_expr()?;
    let name = method.attr.as_str();
    let searches = matches!(name, "index" | "count" | "remove") && is_sequence(ctx.fact(&method.value));
    Some((name, call.arguments.args.first().filter(|_| searches)?))
}

/// Returns the body of the lambda by which `max`, `min` and `sorted` compare: `pair[1]` in
/// `max(scores.items(), key=lambda pair: pair[1])`.
pub(crate) fn key(call: &ast::ExprCall) -> Option<&Expr> {
    let key = &call.arguments.find_keyword("key")?.value;
    Some(&key.as_lambda_expr()?.body)
}

/// Returns whether a value is certainly a list or tuple of Python values. In a list of Tensors, Python first compares
/// identities, so a search may succeed without any truth value.
pub(crate) fn is_sequence(fact: &Fact) -> bool {
    let is_sequence = |alternative: &Alternative| {
        matches!(alternative, Alternative::Container { class, staged: false }
            if matches!(class.as_str(), "list" | "tuple"))
    };
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_sequence)
}
