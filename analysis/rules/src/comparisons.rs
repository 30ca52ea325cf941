//! Operations of Python that compare elements one by one, and so need the truth value of each comparison, or that look a
//! value up by its hash.

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

/// Returns the key that a method looks up in a dictionary: `x` in `rates.get(x, 0.1)`.
pub(crate) fn key_of_dictionary<'a>(ctx: &FunctionContext, call: &'a ast::ExprCall) -> Option<&'a Expr> {
    let method = call.func.as_attribute_expr()?;
    let looks_up = matches!(method.attr.as_str(), "get" | "pop" | "setdefault");
    call.arguments.args.first().filter(|_| looks_up && is_dict(ctx.fact(&method.value)))
}

/// Returns whether a value is certainly a dictionary.
pub(crate) fn is_dict(fact: &Fact) -> bool {
    !fact.unknown
        && matches!(fact.alternatives.as_slice(), [Alternative::Container { class, .. }] if class == "dict")
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
