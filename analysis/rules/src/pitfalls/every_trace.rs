//! The calls that every trace of a function evaluates.
//!
//! All branches of a staged `if`, conditional expression or loop are traced. Code under a Python condition is
//! not certain to be traced, nor is code after a statement that may leave the function.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;

/// Visits the calls that every trace evaluates.
pub(super) fn calls<'a>(ctx: &FunctionContext<'a>, visit: &mut dyn FnMut(&'a ast::ExprCall)) {
    Trace { ctx, visit }.block(&ctx.def().body);
}

struct Trace<'t, 'a> {
    ctx: &'t FunctionContext<'a>,
    visit: &'t mut dyn FnMut(&'a ast::ExprCall),
}

impl<'a> Trace<'_, 'a> {
    /// Returns whether control certainly reaches the end of the block.
    fn block(&mut self, body: &'a [Stmt]) -> bool {
        body.iter().all(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'a Stmt) -> bool {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => true,
            Stmt::If(node) => {
                self.visit_expr(&node.test);
                if !self.is_staged(&[ConstructKind::If], node.range(), &node.test) {
                    return !may_leave(statement);
                }
                self.block(&node.body);
                for clause in &node.elif_else_clauses {
                    let staged = clause.test.as_ref().is_none_or(|test| {
                        self.visit_expr(test);
                        let rest = TextRange::new(clause.start(), node.end());
                        self.is_staged(&[ConstructKind::If], rest, test)
                    });
                    if !staged {
                        return !may_leave(statement);
                    }
                    self.block(&clause.body);
                }
                true
            }
            Stmt::While(node) => {
                self.visit_expr(&node.test);
                if !self.is_staged(&[ConstructKind::While], node.range(), &node.test) {
                    return !may_leave(statement);
                }
                self.block(&node.body);
                true
            }
            Stmt::For(node) => {
                self.visit_expr(&node.iter);
                if !self.is_staged(&[ConstructKind::For], node.range(), &node.iter) {
                    return !may_leave(statement);
                }
                self.block(&node.body);
                true
            }
            Stmt::With(node) => {
                node.items.iter().for_each(|item| self.visit_expr(&item.context_expr));
                self.block(&node.body)
            }
            Stmt::Try(_) | Stmt::Match(_) => !may_leave(statement),
            Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_) => {
                source_order::walk_stmt(self, statement);
                false
            }
            _ => {
                source_order::walk_stmt(self, statement);
                true
            }
        }
    }

    /// Whether AutoGraph stages the decision, so that all its branches are traced.
    fn is_staged(&self, kinds: &[ConstructKind], range: TextRange, test: &Expr) -> bool {
        self.ctx.converts()
            && self.ctx.constructs.iter().any(|construct| {
                construct.binding == Binding::Staged
                    && kinds.contains(&construct.kind)
                    && construct.range == range
                    && construct.test_range.contains_range(test.range())
            })
    }
}

impl<'a> SourceOrderVisitor<'a> for Trace<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            // Not evaluated here, or once per item.
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => {}
            Expr::If(node) if !self.is_staged(&[ConstructKind::IfExp], node.range(), &node.test) => {
                self.visit_expr(&node.test);
            }
            Expr::BoolOp(node)
                if !self.is_staged(&[ConstructKind::And, ConstructKind::Or], node.range(), expression) =>
            {
                node.values.first().into_iter().for_each(|first| self.visit_expr(first));
            }
            Expr::Call(call) => {
                (self.visit)(call);
                source_order::walk_expr(self, expression);
            }
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}

/// Whether a statement may leave the function or a loop.
fn may_leave(statement: &Stmt) -> bool {
    struct Exits(bool);
    impl StatementVisitor<'_> for Exits {
        fn visit_stmt(&mut self, statement: &Stmt) {
            match statement {
                Stmt::Return(_) | Stmt::Raise(_) | Stmt::Break(_) | Stmt::Continue(_) => self.0 = true,
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
                _ => statement_visitor::walk_stmt(self, statement),
            }
        }
    }
    let mut exits = Exits(false);
    exits.visit_stmt(statement);
    exits.0
}
