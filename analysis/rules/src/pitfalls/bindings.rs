//! The bindings of the names in a function body or module, without those in nested functions.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::names::Names;

#[derive(Default)]
pub(super) struct Bindings<'a> {
    /// `name = value`, also with several targets: `a = b = value`.
    pub(super) values: FxHashMap<&'a str, Vec<&'a Expr>>,
    /// `name += value`
    pub(super) updates: Vec<(&'a str, &'a Expr)>,
    /// The loops. None of the other fields contains their targets.
    pub(super) loops: Vec<&'a ast::StmtFor>,
    /// The names that have a binding with an unknown value.
    pub(super) others: FxHashSet<&'a str>,
}

impl<'a> Bindings<'a> {
    pub(super) fn of_scope(body: &'a [Stmt], parameters: &[&'a str]) -> Self {
        let mut bindings = Self::default();
        bindings.visit_body(body);
        bindings.others.extend(parameters);
        bindings
    }

    /// Marks the value of each name in `target` as unknown.
    pub(super) fn forget(&mut self, target: &'a Expr) {
        self.others.extend(Names::of_expression(target).bound);
    }
}

impl<'a> StatementVisitor<'a> for Bindings<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => {
                self.others.insert(def.name.as_str());
                return;
            }
            Stmt::ClassDef(class) => {
                self.others.insert(class.name.as_str());
                return;
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    match target {
                        Expr::Name(name) => {
                            self.values.entry(name.id.as_str()).or_default().push(&assign.value);
                        }
                        _ => self.forget(target),
                    }
                }
            }
            Stmt::AugAssign(assign) => {
                let name = assign.target.as_name_expr();
                self.updates.extend(name.map(|name| (name.id.as_str(), &*assign.value)));
            }
            Stmt::AnnAssign(assign) => self.forget(&assign.target),
            Stmt::For(node) => self.loops.push(node),
            Stmt::With(node) => {
                let targets = node.items.iter().filter_map(|item| item.optional_vars.as_deref());
                targets.for_each(|target| self.forget(target));
            }
            Stmt::Global(node) => self.others.extend(node.names.iter().map(|name| name.as_str())),
            Stmt::Nonlocal(node) => self.others.extend(node.names.iter().map(|name| name.as_str())),
            _ => {}
        }
        statement_visitor::walk_stmt(self, statement);
    }
}
