//! Finds the statements that are kept, and not converted: a block with `await` cannot become a plain function.
//!
//! ```python
//! async def total(stream):
//!     async for batch in stream:      # kept
//!         if batch is None:
//!             break                   # exits a kept loop, so the `if` is kept as well
//!         if batch.sum() > 0:         # converted
//!             count += 1
//! ```

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

use super::jumps::{self, Jump};
use super::notes::Notes;
use super::tree::blocks;

/// The maximum nesting depth of converted blocks. CPython rejects a hundred levels of indentation.
const MAX_DEPTH: usize = 40;

/// Marks the statements of an `async def` that must be kept.
pub(super) fn mark_awaiting(notes: &Notes, body: &mut ast::Suite, in_kept_loop: bool) {
    for statement in body {
        let slice = std::slice::from_ref(statement);
        let kept = awaits(statement)
            || jumps::contains(slice, Jump::Return)
            || (in_kept_loop
                && (jumps::contains(slice, Jump::Break) || jumps::contains(slice, Jump::Continue)));
        mark(notes, statement, kept);
        let in_kept_loop = match statement {
            Stmt::For(_) | Stmt::While(_) => kept,
            _ => in_kept_loop,
        };
        for inner in blocks(statement) {
            mark_awaiting(notes, inner, in_kept_loop);
        }
    }
}

/// Marks the statements that are nested too deeply to be converted.
pub(super) fn mark_deep(notes: &Notes, body: &mut ast::Suite, depth: usize) {
    for statement in body {
        if depth >= MAX_DEPTH {
            mark(notes, statement, true);
        }
        for inner in blocks(statement) {
            mark_deep(notes, inner, depth + 1);
        }
    }
}

fn mark(notes: &Notes, statement: &mut Stmt, kept: bool) {
    let index = match statement {
        Stmt::If(node) => &mut node.node_index,
        Stmt::While(node) => &mut node.node_index,
        Stmt::For(node) => &mut node.node_index,
        _ => return,
    };
    if kept {
        notes.add(index, |note| note.kept = true);
    }
}

fn awaits(statement: &Stmt) -> bool {
    let mut search = FindAwait { found: false };
    search.visit_stmt(statement);
    search.found
}

struct FindAwait {
    found: bool,
}

impl<'a> SourceOrderVisitor<'a> for FindAwait {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            // Decorators, defaults and bases are evaluated at the definition.
            Stmt::FunctionDef(def) => {
                def.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                self.visit_parameters(&def.parameters);
                return;
            }
            Stmt::ClassDef(class) => {
                class.decorator_list.iter().for_each(|decorator| self.visit_expr(&decorator.expression));
                class.arguments.iter().for_each(|arguments| self.visit_arguments(arguments));
                return;
            }
            Stmt::For(node) if node.is_async => self.found = true,
            Stmt::With(node) if node.is_async => self.found = true,
            _ => {}
        }
        if !self.found {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => {}
            Expr::Await(_) => self.found = true,
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_comprehension(&mut self, comprehension: &'a ast::Comprehension) {
        self.found |= comprehension.is_async;
        source_order::walk_comprehension(self, comprehension);
    }
}
