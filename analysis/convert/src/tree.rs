//! The tree that the passes rewrite: ruff's own, with a mark on what did not stand in the source.
//!
//! An unmarked node is the user's: the printer copies its text, and looks into it only for marked
//! nodes. A marked expression that stands where another one stood keeps that one's range: the text
//! between the children of an untouched parent is then still right. A statement's mark may also
//! carry the number of a [`Note`](super::notes::Note).

use ruff_python_ast::{self as ast, AtomicNodeIndex, Expr, HasNodeIndex, NodeIndex, Stmt};
use ruff_text_size::TextRange;

/// The mark of what a pass has made.
const SYNTHESIZED: u32 = 0;

pub(super) fn synthesized() -> AtomicNodeIndex {
    index(SYNTHESIZED)
}

/// The mark of a statement that has notes.
pub(super) fn noted(note: u32) -> AtomicNodeIndex {
    index(note + 1)
}

fn index(number: u32) -> AtomicNodeIndex {
    let index = AtomicNodeIndex::NONE;
    index.set(NodeIndex::from(number));
    index
}

pub(super) fn is_synthesized(node: &impl HasNodeIndex) -> bool {
    node.node_index().load().as_u32() == Some(SYNTHESIZED)
}

pub(super) fn note_of(node: &impl HasNodeIndex) -> Option<u32> {
    node.node_index().load().as_u32().and_then(|index| index.checked_sub(1))
}

/// Marks a statement as none of the source that it is printed with; false for a kind that cannot
/// be spelled out.
pub(super) fn mark_statement(statement: &mut Stmt) -> bool {
    let range = match statement {
        Stmt::FunctionDef(node) => &mut node.range,
        Stmt::Return(node) => &mut node.range,
        Stmt::Delete(node) => &mut node.range,
        Stmt::Assign(node) => &mut node.range,
        Stmt::AugAssign(node) => &mut node.range,
        Stmt::For(node) => &mut node.range,
        Stmt::While(node) => &mut node.range,
        Stmt::If(node) => &mut node.range,
        Stmt::With(node) => &mut node.range,
        Stmt::Raise(node) => &mut node.range,
        Stmt::Try(node) => &mut node.range,
        Stmt::Global(node) => &mut node.range,
        Stmt::Nonlocal(node) => &mut node.range,
        Stmt::Expr(node) => &mut node.range,
        Stmt::Pass(node) => &mut node.range,
        Stmt::Break(node) => &mut node.range,
        Stmt::Continue(node) => &mut node.range,
        _ => return false,
    };
    *range = TextRange::default();
    statement.node_index().set(NodeIndex::from(SYNTHESIZED));
    true
}

/// The same for an expression, its parts aside.
pub(super) fn mark_expression(expression: &mut Expr) -> bool {
    expression.node_index().set(NodeIndex::from(SYNTHESIZED));
    !matches!(
        expression,
        Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_)
            | Expr::Yield(_)
            | Expr::YieldFrom(_)
            | Expr::FString(_)
            | Expr::TString(_)
            | Expr::BytesLiteral(_)
            | Expr::IpyEscapeCommand(_)
    )
}

/// The blocks of a compound statement in the order in which they stand; of `def` and `class` none.
pub(super) fn blocks(statement: &mut Stmt) -> Vec<&mut ast::Suite> {
    match statement {
        Stmt::If(node) => std::iter::once(&mut node.body)
            .chain(node.elif_else_clauses.iter_mut().map(|clause| &mut clause.body))
            .collect(),
        Stmt::While(node) => vec![&mut node.body, &mut node.orelse],
        Stmt::For(node) => vec![&mut node.body, &mut node.orelse],
        Stmt::With(node) => vec![&mut node.body],
        Stmt::Match(node) => node.cases.iter_mut().map(|case| &mut case.body).collect(),
        Stmt::Try(node) => {
            let handlers =
                node.handlers.iter_mut().map(|ast::ExceptHandler::ExceptHandler(handler)| &mut handler.body);
            std::iter::once(&mut node.body)
                .chain(handlers)
                .chain([&mut node.orelse, &mut node.finalbody])
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Replaces every statement of a block by those that `rewrite` adds for it.
pub(super) fn rewrite(block: &mut ast::Suite, mut rewrite: impl FnMut(Stmt, &mut ast::Suite)) {
    let statements = std::mem::take(block);
    block.reserve(statements.len());
    for statement in statements {
        rewrite(statement, block);
    }
}

/// The else block of an `if` whose `elif`s have been nested.
pub(super) fn else_block(node: &mut ast::StmtIf) -> Option<&mut ast::Suite> {
    node.elif_else_clauses.first_mut().map(|clause| &mut clause.body)
}

/// The docstring of a body and the rest.
pub(super) fn docstring(body: &[Stmt]) -> usize {
    match body.first() {
        Some(Stmt::Expr(first)) if matches!(*first.value, Expr::StringLiteral(_)) => 1,
        _ => 0,
    }
}
