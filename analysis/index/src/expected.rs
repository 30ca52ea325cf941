//! Code whose exceptions are expected: `with pytest.raises(TypeError):`.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::index::last_name;

/// Returns whether the body of a `with` statement is expected to raise an exception: `with pytest.raises(TypeError):`,
/// `with self.assertRaisesRegex(…):`.
pub fn expects_exception(with: &ast::StmtWith) -> bool {
    let expects = |manager: &Expr| {
        manager
            .as_call_expr()
            .and_then(|call| last_name(&call.func))
            .is_some_and(|name| name == "raises" || name.starts_with("assertRaises"))
    };
    with.items.iter().any(|item| expects(&item.context_expr))
}

/// Returns the ranges of the `with` statements in a file that expect an exception. A `with` statement inside another
/// such statement is left out.
pub fn expecting(body: &[Stmt]) -> Vec<TextRange> {
    let mut finder = Finder { found: Vec::new() };
    finder.visit_body(body);
    finder.found
}

struct Finder {
    found: Vec<TextRange>,
}

impl StatementVisitor<'_> for Finder {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::With(with) if expects_exception(with) => self.found.push(with.range()),
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}
