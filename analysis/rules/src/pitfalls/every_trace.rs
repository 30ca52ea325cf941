//! The calls that every trace of a function evaluates.
//!
//! All branches of a staged `if`, conditional expression or loop are traced. Code under a Python condition, or after a
//! statement that may leave the function, may not be traced. If the condition depends only on local values, each trace
//! with the same arguments evaluates the code again.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;
use ag_syntax::expressions::{natural, sequence};

/// Whether a trace evaluates a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evaluated {
    Always,
    /// Under a condition on local values, or in a Python loop. If one trace evaluates the call, every other trace with
    /// the same arguments evaluates it, too.
    Repeatedly,
}

/// Visits the calls that every trace evaluates.
pub(super) fn calls<'a>(ctx: &FunctionContext<'a>, visit: &mut dyn FnMut(&'a ast::ExprCall)) {
    repeated_calls(ctx, &mut |call, evaluated| {
        if evaluated == Evaluated::Always {
            visit(call);
        }
    });
}

/// Visits the calls that a later trace evaluates again. Code under a condition on the state of an object
/// (`if self.weight is None:`) is not visited.
pub(super) fn repeated_calls<'a>(
    ctx: &FunctionContext<'a>,
    visit: &mut dyn FnMut(&'a ast::ExprCall, Evaluated),
) {
    Trace { ctx, visit, evaluated: Evaluated::Always }.block(&ctx.def().body);
}

struct Trace<'t, 'a> {
    ctx: &'t FunctionContext<'a>,
    visit: &'t mut dyn FnMut(&'a ast::ExprCall, Evaluated),
    evaluated: Evaluated,
}

impl<'a> Trace<'_, 'a> {
    /// Returns whether control may reach the end of the block.
    fn block(&mut self, body: &'a [Stmt]) -> bool {
        body.iter().all(|statement| self.statement(statement))
    }

    /// Visits a block that may not be evaluated.
    fn repeated(&mut self, body: &'a [Stmt]) {
        let outer = std::mem::replace(&mut self.evaluated, Evaluated::Repeatedly);
        self.block(body);
        self.evaluated = outer;
    }

    fn statement(&mut self, statement: &'a Stmt) -> bool {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => true,
            Stmt::If(node) => self.conditional(statement, node),
            Stmt::While(node) => {
                self.visit_expr(&node.test);
                if !self.is_staged(&[ConstructKind::While], node.range(), &node.test) {
                    self.repeated(&node.body);
                    return self.after(statement, true);
                }
                self.block(&node.body);
                true
            }
            Stmt::For(node) => {
                self.visit_expr(&node.iter);
                if self.is_staged(&[ConstructKind::For], node.range(), &node.iter) {
                    self.block(&node.body);
                    return true;
                }
                match iterates(&node.iter) {
                    true => drop(self.block(&node.body)),
                    false => self.repeated(&node.body),
                }
                self.after(statement, true)
            }
            Stmt::With(node) => {
                node.items.iter().for_each(|item| self.visit_expr(&item.context_expr));
                self.block(&node.body)
            }
            Stmt::Try(_) | Stmt::Match(_) => self.after(statement, false),
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

    fn conditional(&mut self, statement: &'a Stmt, node: &'a ast::StmtIf) -> bool {
        self.visit_expr(&node.test);
        let mut local = is_local(self.ctx, &node.test);
        let mut staged = self.is_staged(&[ConstructKind::If], node.range(), &node.test);
        match staged {
            true => drop(self.block(&node.body)),
            false if local => self.repeated(&node.body),
            false => {}
        }
        for clause in &node.elif_else_clauses {
            if let Some(test) = &clause.test {
                local &= is_local(self.ctx, test);
                let rest = TextRange::new(clause.start(), node.end());
                staged &= self.is_staged(&[ConstructKind::If], rest, test);
            }
            match staged {
                true => drop(self.block(&clause.body)),
                false if local => self.repeated(&clause.body),
                false => {}
            }
        }
        staged || self.after(statement, local)
    }

    /// Visits the elements of a comprehension, like the body of a Python loop. With a condition, a trace may evaluate
    /// none of them.
    fn comprehension(
        &mut self,
        generators: &'a [ast::Comprehension],
        elements: impl IntoIterator<Item = &'a Expr>,
    ) {
        let Some(first) = generators.first() else { return };
        self.visit_expr(&first.iter);
        if generators.iter().any(|generator| !generator.ifs.is_empty()) {
            return;
        }
        let iterates = generators.iter().all(|generator| iterates(&generator.iter));
        let outer = self.evaluated;
        if !iterates {
            self.evaluated = Evaluated::Repeatedly;
        }
        elements.into_iter().for_each(|element| self.visit_expr(element));
        self.evaluated = outer;
    }

    /// Returns whether to visit the statements after one that may leave the function. It is no longer certain that
    /// these are evaluated.
    fn after(&mut self, statement: &Stmt, local: bool) -> bool {
        if !may_leave(statement) {
            return true;
        }
        self.evaluated = Evaluated::Repeatedly;
        local
    }

    /// Returns whether AutoGraph stages the decision, so that all its branches are traced.
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
            // The body of a lambda and the elements of a generator are evaluated later.
            Expr::Lambda(_) | Expr::Generator(_) => {}
            Expr::ListComp(node) => self.comprehension(&node.generators, [&*node.elt]),
            Expr::SetComp(node) => self.comprehension(&node.generators, [&*node.elt]),
            Expr::DictComp(node) => {
                self.comprehension(&node.generators, node.key.as_deref().into_iter().chain([&*node.value]));
            }
            Expr::If(node) if !self.is_staged(&[ConstructKind::IfExp], node.range(), &node.test) => {
                self.visit_expr(&node.test);
            }
            Expr::BoolOp(node)
                if !self.is_staged(&[ConstructKind::And, ConstructKind::Or], node.range(), expression) =>
            {
                node.values.first().into_iter().for_each(|first| self.visit_expr(first));
            }
            Expr::Call(call) => {
                (self.visit)(call, self.evaluated);
                source_order::walk_expr(self, expression);
            }
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}

/// Returns whether a Python loop over `iterable` has at least one iteration: `range(3)`, `[a, b]`.
fn iterates(iterable: &Expr) -> bool {
    match iterable {
        Expr::Call(call) => {
            let is_range = call.func.as_name_expr().is_some_and(|name| name.id == "range");
            is_range && matches!(&*call.arguments.args, [stop] if natural(stop).is_some_and(|stop| stop > 0))
        }
        other => sequence(other).is_some_and(|elements| !elements.is_empty()),
    }
}

/// Returns whether a test depends only on local values: `training`, `mode == "fit"`, `size > 2`. Such a test has the
/// same result in every trace with the same arguments.
fn is_local(ctx: &FunctionContext, test: &Expr) -> bool {
    match test {
        Expr::Name(name) => ctx.flow.scope().is_local(&name.id),
        Expr::UnaryOp(operation) => is_local(ctx, &operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().all(|value| is_local(ctx, value)),
        Expr::Compare(compare) => {
            is_local(ctx, &compare.left) && compare.comparators.iter().all(|side| is_local(ctx, side))
        }
        other => other.is_literal_expr(),
    }
}

/// Returns whether a statement may leave the function or a loop.
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
