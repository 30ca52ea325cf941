//! Traced arrays that a function stores, and that the program uses after the trace, as far as the evaluation of the
//! program shows it (`evaluation/leaks.rs`). The rules about leaks find other arrays by the types of the places where
//! they are stored.

use ag_db::diagnostic::Anchor;
use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::evaluation;
use crate::tracing::snippet;

/// An array that is stored.
pub(crate) struct Outliving<'a> {
    /// The target of an assignment, or a call: `self.seen.append(y)`, or the call of a function with `@functools.cache`.
    pub at: TextRange,
    pub value: &'a Expr,
    /// What stores the array: `self.seen`, or "the cache of `positions`".
    pub place: String,
    /// The text of the expression that uses the array after the trace.
    pub user: &'a str,
}

/// Returns the arrays that the function stores. Arrays of which the function already has a finding are not returned.
pub(crate) fn arrays<'a>(ctx: &FunctionContext<'a>, code: &str) -> Vec<Outliving<'a>> {
    let faults = ctx.faults();
    let leaks = &faults.leaks;
    if leaks.is_empty() {
        return Vec::new();
    }
    let is_own = |anchor: &Anchor| matches!(anchor, Anchor::Function(path) if *path == ctx.path);
    let known = ctx.diagnostics.borrow();
    let known = known.iter().filter(|known| known.code == code && is_own(&known.span.anchor));
    let known: Vec<TextRange> = known.map(|known| known.span.range).collect();
    let is_new = |range: TextRange| !known.iter().any(|known| known.intersect(range).is_some());
    let leaks = leaks.iter().filter(|(range, ..)| is_new(*range));
    leaks.filter_map(|(range, _, user)| outliving(ctx, *range, user)).collect()
}

fn outliving<'a>(ctx: &FunctionContext<'a>, range: TextRange, user: &'a str) -> Option<Outliving<'a>> {
    let text = |expression: &Expr| format!("`{}`", snippet(ctx.text(expression)));
    let assigned = ctx.statements().into_iter().find_map(|statement| {
        let (targets, value) = match statement {
            Stmt::Assign(assign) => (assign.targets.as_slice(), &*assign.value),
            Stmt::AugAssign(assign) => (std::slice::from_ref(&*assign.target), &*assign.value),
            Stmt::AnnAssign(assign) => (std::slice::from_ref(&*assign.target), assign.value.as_deref()?),
            _ => return None,
        };
        let target = targets.iter().find(|target| target.range().contains_range(range))?;
        let place = target.as_subscript_expr().map_or(target, |item| &item.value);
        Some(Outliving { at: range, value, place: text(place), user })
    });
    assigned.or_else(|| {
        let expressions = ctx.expressions();
        let call =
            expressions.into_iter().filter_map(Expr::as_call_expr).find(|call| call.range() == range)?;
        match &*call.func {
            Expr::Attribute(method) if evaluation::STORING.contains(&method.attr.as_str()) => {
                let arguments = call.arguments.iter_source_order().map(|argument| argument.value());
                let value = arguments.last()?;
                Some(Outliving { at: range, value, place: text(&method.value), user })
            }
            function => {
                let (value, place) = (ctx.expression_at(range)?, format!("the cache of {}", text(function)));
                Some(Outliving { at: range, value, place, user })
            }
        }
    })
}
