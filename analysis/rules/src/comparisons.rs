//! Operations of Python that compare elements one by one, and so need the truth value of each comparison.

use ruff_python_ast::{self as ast, Expr};

use crate::FunctionContext;
use crate::hashing::is_dict;
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

/// Returns the body of the lambda by which `max`, `min` and `sorted` compare: `pair[1]` in
/// `max(scores.items(), key=lambda pair: pair[1])`.
pub(crate) fn key(call: &ast::ExprCall) -> Option<&Expr> {
    let key = &call.arguments.find_keyword("key")?.value;
    Some(&key.as_lambda_expr()?.body)
}

/// Returns the dictionary of Tensors whose values `max`, `min` or `sorted` compares, with the name of the function: `scores`
/// in `max(scores, key=scores.get)`.
pub(crate) fn compared_values<'a>(
    ctx: &FunctionContext<'a>,
    call: &'a ast::ExprCall,
) -> Option<(&'a str, &'a Expr)> {
    let function = ctx.builtin(&call.func).filter(|name| matches!(*name, "max" | "min" | "sorted"))?;
    let method = call.arguments.find_keyword("key")?.value.as_attribute_expr()?;
    let looks_up = matches!(method.attr.as_str(), "get" | "__getitem__");
    let holds_tensors = matches!(
        ctx.fact(&method.value).alternatives.as_slice(),
        [Alternative::Container { staged: true, .. }]
    );
    (looks_up && holds_tensors && is_dict(ctx.fact(&method.value))).then_some((function, &*method.value))
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

/// Returns the elements of a sequence that the function creates, as far as the syntax shows that there are several: the
/// elements of a display, the element of a comprehension, or what the function appends to an empty list. The sequence may
/// be the value of a variable.
pub(crate) fn elements<'a>(ctx: &FunctionContext<'a>, sequence: &'a Expr) -> Vec<&'a Expr> {
    match sequence {
        Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }) => {
            if elts.len() > 1 { elts.iter().collect() } else { Vec::new() }
        }
        Expr::ListComp(ast::ExprListComp { elt, .. }) | Expr::Generator(ast::ExprGenerator { elt, .. }) => {
            vec![elt]
        }
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range, &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return Vec::new() };
            match ctx.value_of(definition) {
                Some(Expr::List(list)) if list.elts.is_empty() => appended(ctx, &name.id),
                Some(value) if !value.is_name_expr() => elements(ctx, value),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Returns what the function appends to a list.
fn appended<'a>(ctx: &FunctionContext<'a>, list: &str) -> Vec<&'a Expr> {
    let appended = ctx.expressions().into_iter().filter_map(|expression| {
        let call = expression.as_call_expr()?;
        let method = call.func.as_attribute_expr().filter(|method| method.attr.as_str() == "append")?;
        let is_it = method.value.as_name_expr().is_some_and(|name| name.id.as_str() == list);
        call.arguments.args.first().filter(|_| is_it)
    });
    appended.collect()
}
