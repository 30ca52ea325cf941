//! Operations of Python that compare elements one by one, and so need the truth value of each comparison, or that look a
//! value up by its hash.

use ruff_python_ast::{self as ast, Expr};

use crate::FunctionContext;
use ag_flow::DefKind;
use ag_index::facts::{Alternative, Fact};
use ag_syntax::qname::QName;

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

/// Returns the Tensor that a function of `heapq` compares with the other elements: `x` in
/// `heapq.heappush(heap, (x, item))`.
pub(crate) fn pushed<'a>(
    ctx: &FunctionContext,
    call: &'a ast::ExprCall,
    is_tensor: &dyn Fn(&Expr) -> bool,
) -> Option<(String, &'a Expr)> {
    let name = ctx.resolve(&call.func)?;
    let function = name.strip_prefix("heapq.")?;
    if !matches!(function, "heappush" | "heappushpop" | "heapreplace") {
        return None;
    }
    let item = match call.arguments.args.get(1)? {
        Expr::Tuple(tuple) => tuple.elts.first()?,
        item => item,
    };
    is_tensor(item).then(|| (function.to_owned(), item))
}

/// Returns a Tensor among the elements of a sequence with several elements: `x[i]` for `[x[i] for i in range(n)]`, or
/// for a variable with this value.
pub(crate) fn element<'a>(
    ctx: &FunctionContext<'a>,
    sequence: &'a Expr,
    is_tensor: &dyn Fn(&Expr) -> bool,
) -> Option<&'a Expr> {
    match sequence {
        Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
            elts.iter().find(|element| elts.len() > 1 && is_tensor(element))
        }
        Expr::ListComp(ast::ExprListComp { elt, .. }) | Expr::Generator(ast::ExprGenerator { elt, .. }) => {
            is_tensor(elt).then_some(&**elt)
        }
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range, &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return None };
            let value = ctx.bound_value(definition).filter(|_| definition.kind == DefKind::Assign)?;
            (!value.is_name_expr()).then(|| element(ctx, value, is_tensor)).flatten()
        }
        _ => None,
    }
}
