//! The names that code reads and binds, including those in nested functions.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashSet;

#[derive(Default)]
pub(crate) struct Names<'a> {
    pub(crate) read: Vec<&'a ast::ExprName>,
    pub(crate) bound: FxHashSet<&'a str>,
    /// The parameters of nested functions and lambdas.
    pub(crate) parameters: FxHashSet<&'a str>,
}

impl<'a> Names<'a> {
    pub(crate) fn of_body(body: &'a [Stmt]) -> Self {
        let mut names = Self::default();
        names.visit_body(body);
        names
    }

    pub(crate) fn of_statement(statement: &'a Stmt) -> Self {
        Self::of_body(std::slice::from_ref(statement))
    }

    pub(crate) fn of_expression(expression: &'a Expr) -> Self {
        let mut names = Self::default();
        names.visit_expr(expression);
        names
    }
}

impl<'a> SourceOrderVisitor<'a> for Names<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::FunctionDef(def) = statement {
            self.bound.insert(def.name.as_str());
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression {
            if name.ctx.is_load() {
                self.read.push(name);
            } else {
                self.bound.insert(&name.id);
            }
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_parameter(&mut self, parameter: &'a ast::Parameter) {
        self.parameters.insert(parameter.name.as_str());
    }
}

/// Returns the names that a target binds: `a` and `b` for `(a, *b)`.
pub(crate) fn bound_names(target: &Expr) -> Vec<&str> {
    match target {
        Expr::Name(name) => vec![name.id.as_str()],
        Expr::Tuple(tuple) => tuple.elts.iter().flat_map(bound_names).collect(),
        Expr::List(list) => list.elts.iter().flat_map(bound_names).collect(),
        Expr::Starred(starred) => bound_names(&starred.value),
        _ => Vec::new(),
    }
}
