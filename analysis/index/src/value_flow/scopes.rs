//! The names that the statements of a scope bind, by Python's scoping.

use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{StatementVisitor, walk_stmt};
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Pattern, Stmt};

/// The names that a body binds, and those that it declares `global` or `nonlocal`.
#[derive(Default)]
pub(super) struct Bound<'a> {
    pub(super) names: Vec<&'a Name>,
    pub(super) globals: Vec<&'a Name>,
    nonlocals: Vec<&'a Name>,
}

impl<'a> Bound<'a> {
    /// Collects the names that a body binds. Imports are not among them: the index resolves them for the whole file.
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut bound = Self::default();
        bound.visit_body(body);
        let outer = [bound.globals.as_slice(), bound.nonlocals.as_slice()].concat();
        bound.names.retain(|name| !outer.contains(name));
        bound
    }

    fn target(&mut self, target: &'a Expr) {
        match target {
            Expr::Name(name) => self.names.push(&name.id),
            Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                elts.iter().for_each(|element| self.target(element));
            }
            Expr::Starred(starred) => self.target(&starred.value),
            _ => {}
        }
    }
}

impl<'a> StatementVisitor<'a> for Bound<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => return self.names.push(&def.name.id),
            Stmt::ClassDef(class) => return self.names.push(&class.name.id),
            Stmt::Global(node) => self.globals.extend(node.names.iter().map(|name| &name.id)),
            Stmt::Nonlocal(node) => self.nonlocals.extend(node.names.iter().map(|name| &name.id)),
            Stmt::Assign(node) => node.targets.iter().for_each(|target| self.target(target)),
            Stmt::AnnAssign(node) => self.target(&node.target),
            Stmt::AugAssign(node) => self.target(&node.target),
            Stmt::For(node) => self.target(&node.target),
            Stmt::With(node) => {
                node.items
                    .iter()
                    .filter_map(|item| item.optional_vars.as_deref())
                    .for_each(|it| self.target(it));
            }
            Stmt::Match(node) => {
                let mut patterns = Captures(&mut self.names);
                node.cases.iter().for_each(|case| patterns.visit_pattern(&case.pattern));
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }
}

struct Captures<'a, 'n>(&'n mut Vec<&'a Name>);

impl<'a> SourceOrderVisitor<'a> for Captures<'a, '_> {
    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(node) => node.name.as_ref(),
            Pattern::MatchStar(node) => node.name.as_ref(),
            Pattern::MatchMapping(node) => node.rest.as_ref(),
            _ => None,
        };
        self.0.extend(name.map(|name| &name.id));
        source_order::walk_pattern(self, pattern);
    }
}
