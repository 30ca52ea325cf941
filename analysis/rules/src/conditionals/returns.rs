//! The `return` statements of the branches of an `if`, after AutoGraph has moved statements into the branches.
//!
//! If one branch returns, AutoGraph moves the statements after the `if` into the other branch:
//!
//! ```python
//! if c:              if c:
//!     return a  ->       return a
//! return b           else:
//!                        return b
//! ```
//!
//! AutoGraph moves statements within one block only, and not for an `elif`.

use ruff_python_ast::{Stmt, StmtIf, StmtReturn};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use ag_syntax::blocks;

/// The statements of a branch: its own statements, followed by those moved into it.
pub(super) struct Branch<'a> {
    blocks: Vec<&'a [Stmt]>,
}

impl<'a> Branch<'a> {
    /// Returns the `return` statements of the branch, also in compound statements.
    pub(super) fn returns(&self) -> Vec<&'a StmtReturn> {
        let all = self.blocks.iter().flat_map(|block| blocks::statements(block));
        all.filter_map(Stmt::as_return_stmt).collect()
    }

    /// Returns whether the branch has no statements.
    pub(super) fn is_absent(&self) -> bool {
        self.blocks.iter().all(|block| block.is_empty())
    }

    /// Returns whether AutoGraph considers that the branch returns: its test is purely syntactic.
    pub(super) fn certainly_returns(&self) -> bool {
        self.blocks.iter().any(|block| certainly_returns(block))
    }

    /// Returns whether the branch raises on every path.
    pub(super) fn raises(&self) -> bool {
        self.blocks.iter().any(|block| block.iter().any(always_raises))
    }
}

/// Returns the two branches of a clause of an `if`, including the statements that AutoGraph moves into them.
pub(super) fn branches<'a>(
    ctx: &FunctionContext<'a>,
    statement: &'a StmtIf,
    clause: usize,
) -> Option<(Branch<'a>, Branch<'a>)> {
    let body = match clause {
        0 => statement.body.as_slice(),
        _ => statement.elif_else_clauses.get(clause - 1)?.body.as_slice(),
    };
    let rest = statement.elif_else_clauses.get(clause..).unwrap_or_default();
    let mut main = Branch { blocks: vec![body] };
    let mut orelse = Branch { blocks: rest.iter().map(|clause| clause.body.as_slice()).collect() };
    if clause == 0 {
        let following = blocks::following(&ctx.def().body, statement.range());
        let is_complete = rest.last().is_some_and(|last| last.test.is_none());
        if certainly_returns(body) {
            orelse.blocks.push(following);
        } else if is_complete && orelse.blocks.iter().all(|block| certainly_returns(block)) {
            main.blocks.push(following);
        }
    }
    Some((main, orelse))
}

/// Returns whether AutoGraph considers that a block returns: its test is purely syntactic.
fn certainly_returns(block: &[Stmt]) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Return(_) => true,
        Stmt::With(node) => certainly_returns(&node.body),
        Stmt::If(node) => is_complete(node) && blocks::of(statement).into_iter().all(certainly_returns),
        _ => false,
    })
}

fn always_raises(statement: &Stmt) -> bool {
    match statement {
        Stmt::Raise(_) => true,
        Stmt::With(node) => node.body.iter().any(always_raises),
        Stmt::If(node) => {
            is_complete(node) && blocks::of(statement).iter().all(|block| block.iter().any(always_raises))
        }
        _ => false,
    }
}

/// Returns whether one of the clauses is always taken.
fn is_complete(statement: &StmtIf) -> bool {
    statement.elif_else_clauses.last().is_some_and(|last| last.test.is_none())
}
