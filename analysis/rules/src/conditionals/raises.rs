//! `raise` statements in the branches of a staged `if`, and the `except` clauses that catch them.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, ExceptHandler, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use ag_index::index::last_name;
use ag_staging::construct::{Construct, ConstructNode};
use ag_syntax::blocks;

/// Returns the `raise` statements that are certainly executed when a branch of a staged `if` is traced.
pub(super) fn in_staged_branches<'a>(ctx: &FunctionContext<'a>) -> Vec<(&'a Construct, &'a ast::StmtRaise)> {
    let mut found = Vec::new();
    for (construct, node) in ctx.staged() {
        let (ConstructNode::If(..), Some((body, orelse))) = (node, node.branches()) else { continue };
        let branches = std::iter::once(body).chain(orelse);
        found.extend(branches.filter_map(reached).map(|raise| (construct, raise)));
    }
    found
}

/// Returns the `raise` that a block executes on every path.
fn reached(block: &[Stmt]) -> Option<&ast::StmtRaise> {
    for statement in block {
        match statement {
            Stmt::Raise(raise) => return Some(raise),
            Stmt::With(with) => {
                if let Some(raise) = reached(&with.body) {
                    return Some(raise);
                }
            }
            _ => {}
        }
        let leaves =
            |statement: &&Stmt| matches!(statement, Stmt::Return(_) | Stmt::Break(_) | Stmt::Continue(_));
        if blocks::statements(std::slice::from_ref(statement)).iter().any(leaves) {
            return None;
        }
    }
    None
}

/// Returns the name of the exception class: `ValueError` of `raise ValueError("…")`.
pub(super) fn raised(raise: &ast::StmtRaise) -> Option<&str> {
    let exception = raise.exc.as_deref()?;
    last_name(exception.as_call_expr().map_or(exception, |call| &call.func)).map(Name::as_str)
}

/// Returns the innermost `except` clause of this function that catches an exception raised at `range`. `names` are the
/// classes that the exception may have.
pub(super) fn handler<'a>(
    ctx: &FunctionContext<'a>,
    range: TextRange,
    names: &[&str],
) -> Option<&'a ast::ExceptHandlerExceptHandler> {
    let tries = blocks::statements(&ctx.def().body).into_iter().filter_map(Stmt::as_try_stmt);
    let around =
        tries.filter(|node| node.body.iter().any(|statement| statement.range().contains_range(range)));
    let mut innermost: Vec<&ast::StmtTry> = around.collect();
    innermost.reverse();
    innermost.into_iter().flat_map(|node| &node.handlers).find_map(|ExceptHandler::ExceptHandler(handler)| {
        handler.type_.as_deref().is_none_or(|caught| catches(caught, names)).then_some(handler)
    })
}

fn catches(caught: &Expr, names: &[&str]) -> bool {
    match caught {
        Expr::Tuple(tuple) => tuple.elts.iter().any(|caught| catches(caught, names)),
        _ => last_name(caught)
            .map(Name::as_str)
            .is_some_and(|caught| matches!(caught, "Exception" | "BaseException") || names.contains(&caught)),
    }
}
