//! The blocks of compound statements: their statement lists.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

/// Returns the blocks of a compound statement, in source order; empty for a nested `def` or `class`.
pub fn of(statement: &Stmt) -> Vec<&[Stmt]> {
    match statement {
        Stmt::If(node) => {
            let clauses = node.elif_else_clauses.iter().map(|clause| clause.body.as_slice());
            std::iter::once(node.body.as_slice()).chain(clauses).collect()
        }
        Stmt::While(node) => vec![&node.body, &node.orelse],
        Stmt::For(node) => vec![&node.body, &node.orelse],
        Stmt::With(node) => vec![&node.body],
        Stmt::Match(node) => node.cases.iter().map(|case| case.body.as_slice()).collect(),
        Stmt::Try(node) => {
            let handlers = node
                .handlers
                .iter()
                .map(|ast::ExceptHandler::ExceptHandler(handler)| handler.body.as_slice());
            let body = std::iter::once(node.body.as_slice());
            body.chain(handlers).chain([node.orelse.as_slice(), node.finalbody.as_slice()]).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the statements after the one at `range`, in the same block.
pub fn following(mut block: &[Stmt], range: TextRange) -> &[Stmt] {
    while let Some(position) = block.iter().position(|statement| statement.range().contains_range(range)) {
        let Some(statement) = block.get(position) else { break };
        if statement.range() == range {
            return block.get(position + 1..).unwrap_or_default();
        }
        let containing = of(statement)
            .into_iter()
            .find(|block| block.iter().any(|statement| statement.range().contains_range(range)));
        let Some(inner) = containing else { break };
        block = inner;
    }
    &[]
}

/// Returns whether control may reach the end of a block. It cannot if the block contains a jump (`return`, `raise`,
/// `break`, `continue`), `assert False`, `while True:` without a `break`, an expression statement that `ends` the
/// function, or a compound statement whose branches all leave the block.
pub fn may_complete(block: &[Stmt], ends: &dyn Fn(&Expr) -> bool) -> bool {
    !block.iter().any(|statement| leaves(statement, ends))
}

fn leaves(statement: &Stmt, ends: &dyn Fn(&Expr) -> bool) -> bool {
    let leaves_block = |block: &[Stmt]| !may_complete(block, ends);
    match statement {
        Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_) => true,
        Stmt::Expr(node) => ends(&node.value),
        Stmt::Assert(node) => is_false(&node.test),
        Stmt::With(node) => leaves_block(&node.body),
        Stmt::If(node) => {
            let is_complete = node.elif_else_clauses.last().is_some_and(|last| last.test.is_none());
            is_complete && of(statement).into_iter().all(leaves_block)
        }
        Stmt::While(node) => is_true(&node.test) && !breaks(&node.body),
        Stmt::Try(node) => {
            let mut handlers =
                node.handlers.iter().map(|ast::ExceptHandler::ExceptHandler(handler)| &handler.body);
            let tried = leaves_block(&node.body) || leaves_block(&node.orelse);
            leaves_block(&node.finalbody) || tried && handlers.all(|body| leaves_block(body))
        }
        _ => false,
    }
}

fn is_true(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => literal.value,
        Expr::NumberLiteral(literal) => literal.value.as_int().and_then(ast::Int::as_u8) == Some(1),
        _ => false,
    }
}

fn is_false(test: &Expr) -> bool {
    match test {
        Expr::BooleanLiteral(literal) => !literal.value,
        Expr::NumberLiteral(literal) => literal.value.as_int().and_then(ast::Int::as_u8) == Some(0),
        _ => false,
    }
}

/// Returns whether the body of a loop may leave the loop with `break`.
fn breaks(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Break(_) => true,
        Stmt::While(ast::StmtWhile { orelse, .. }) | Stmt::For(ast::StmtFor { orelse, .. }) => breaks(orelse),
        _ => of(statement).into_iter().any(breaks),
    })
}

/// Returns all statements of a block in pre-order. Bodies of nested functions and classes are excluded.
pub fn statements(block: &[Stmt]) -> Vec<&Stmt> {
    let mut found = Vec::new();
    let mut stack: Vec<&Stmt> = block.iter().rev().collect();
    while let Some(statement) = stack.pop() {
        found.push(statement);
        stack.extend(of(statement).into_iter().rev().flat_map(|block| block.iter().rev()));
    }
    found
}
