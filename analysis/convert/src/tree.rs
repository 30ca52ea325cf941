//! The tree that the passes rewrite: ruff's tree, in which synthesized nodes are marked.
//!
//! The printer copies the text of an unmarked node, and searches it for marked descendants. Invariant: a synthesized
//! expression that replaces an original one has the range of the original. So the text between the children of an
//! unmarked parent can be copied. The node index of an unmarked statement may be the index of a
//! [`Note`](super::notes::Note).

use ruff_python_ast::{self as ast, AtomicNodeIndex, Expr, HasNodeIndex, NodeIndex, Stmt};
use ruff_text_size::TextRange;

/// The node index of synthesized nodes.
const SYNTHESIZED: u32 = 0;

pub(super) fn synthesized() -> AtomicNodeIndex {
    index(SYNTHESIZED)
}

/// Returns the node index of a statement with a note.
pub(super) fn with_note(note: u32) -> AtomicNodeIndex {
    index(note + 1)
}

fn index(value: u32) -> AtomicNodeIndex {
    let index = AtomicNodeIndex::NONE;
    index.set(NodeIndex::from(value));
    index
}

pub(super) fn is_synthesized(node: &impl HasNodeIndex) -> bool {
    node.node_index().load().as_u32() == Some(SYNTHESIZED)
}

pub(super) fn note_of(node: &impl HasNodeIndex) -> Option<u32> {
    node.node_index().load().as_u32().and_then(|index| index.checked_sub(1))
}

/// Marks a statement as synthesized. Returns false if the printer cannot generate text for its kind.
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

/// Marks an expression, but not its children, as synthesized. Returns false if the printer cannot generate text for
/// this kind of expression.
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

/// Returns the blocks of a compound statement in source order; empty for `def` and `class`.
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

/// Replaces every statement of a block by the statements that `rewrite` emits for it.
pub(super) fn rewrite(block: &mut ast::Suite, mut rewrite: impl FnMut(Stmt, &mut ast::Suite)) {
    let statements = std::mem::take(block);
    block.reserve(statements.len());
    for statement in statements {
        rewrite(statement, block);
    }
}

/// Returns the `else` block of an `if` after [`nest_elifs`](super::jumps::nest_elifs).
pub(super) fn else_block(node: &mut ast::StmtIf) -> Option<&mut ast::Suite> {
    node.elif_else_clauses.first_mut().map(|clause| &mut clause.body)
}

/// Returns the number of statements that are the docstring: 0 or 1.
pub(super) fn docstring(body: &[Stmt]) -> usize {
    match body.first() {
        Some(Stmt::Expr(first)) if matches!(*first.value, Expr::StringLiteral(_)) => 1,
        _ => 0,
    }
}
