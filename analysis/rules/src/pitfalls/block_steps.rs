//! The simple statements of a block in an order in which they may run, and the assignments and calls in them.

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

/// The maximum number of statements for which a loop body is repeated.
const MAX_STEPS: usize = 1000;

/// Appends the simple statements of a block in an order in which they may run. The statements of a loop occur twice.
/// Only one of several alternative branches would run, so these are left out.
pub(super) fn flatten<'a>(body: &'a [Stmt], steps: &mut Vec<&'a Stmt>) {
    for statement in body {
        match statement {
            Stmt::For(ast::StmtFor { body, .. }) | Stmt::While(ast::StmtWhile { body, .. }) => {
                let start = steps.len();
                flatten(body, steps);
                let again = steps.get(start..).unwrap_or_default().to_vec();
                // Each level of nested loops would double the number of statements.
                if steps.len() < MAX_STEPS {
                    steps.extend(again);
                }
            }
            Stmt::With(node) => flatten(&node.body, steps),
            Stmt::If(node) if node.elif_else_clauses.is_empty() => flatten(&node.body, steps),
            Stmt::Try(node) => flatten(&node.body, steps),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::If(_) | Stmt::Match(_) => {}
            _ => steps.push(statement),
        }
    }
}

/// Returns the target and the value of `x = value` and `x += value`.
pub(super) fn assignment(statement: &Stmt) -> Option<(&Expr, &Expr)> {
    match statement {
        Stmt::Assign(assign) => {
            let [target] = assign.targets.as_slice() else { return None };
            Some((target, &assign.value))
        }
        Stmt::AugAssign(assign) => Some((&assign.target, &assign.value)),
        _ => None,
    }
}

/// Returns the class in `object = Class(…)`; `None` if the statement does not assign to `object`, empty for any other
/// value.
pub(super) fn created<'a>(statement: &'a Stmt, object: &str) -> Option<&'a str> {
    let (target, value) = assignment(statement)?;
    let is_object = target.as_name_expr().is_some_and(|name| name.id == object);
    let class = || value.as_call_expr()?.func.as_name_expr().map(|class| class.id.as_str());
    is_object.then(|| class().unwrap_or_default())
}

/// Returns whether the second call reuses the graph of the first one, because both have the same arguments in the
/// source.
pub(super) fn same_arguments(first: &ast::ExprCall, second: &ast::ExprCall) -> bool {
    arguments(first) == arguments(second)
}

fn arguments(call: &ast::ExprCall) -> Vec<ComparableExpr<'_>> {
    let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
    call.arguments.args.iter().chain(keywords).map(ComparableExpr::from).collect()
}

/// Returns the call of `object.method(…)`, or of `function(…)` if there is no object, in a simple statement.
pub(super) fn calls<'a>(statement: &'a Stmt, object: Option<&str>, name: &str) -> Option<&'a ast::ExprCall> {
    struct Calls<'n, 'a> {
        object: Option<&'n str>,
        name: &'n str,
        found: Option<&'a ast::ExprCall>,
    }
    impl<'a> SourceOrderVisitor<'a> for Calls<'_, 'a> {
        fn visit_expr(&mut self, expression: &'a Expr) {
            if let Expr::Call(call) = expression {
                let is_wanted = match (call.func.as_ref(), self.object) {
                    (Expr::Attribute(method), Some(object)) => {
                        method.attr.as_str() == self.name
                            && method.value.as_name_expr().is_some_and(|name| name.id == object)
                    }
                    (Expr::Name(function), Some(object)) => self.name == "__call__" && function.id == object,
                    (Expr::Name(function), None) => function.id == self.name,
                    _ => false,
                };
                if is_wanted {
                    self.found = Some(call);
                }
            }
            if !expression.is_lambda_expr() {
                source_order::walk_expr(self, expression);
            }
        }
    }
    let mut calls = Calls { object, name, found: None };
    if matches!(
        statement,
        Stmt::Expr(_) | Stmt::Assign(_) | Stmt::Assert(_) | Stmt::AugAssign(_) | Stmt::Return(_)
    ) {
        calls.visit_stmt(statement);
    }
    calls.found
}
