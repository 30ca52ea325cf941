//! Blocks: the statement lists of a compound statement.

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::{Ranged, TextRange};

/// Returns the blocks of a compound statement, in source order. Empty for a nested `def` or `class`.
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

/// Returns the statements after the one at `range` in the same block.
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
