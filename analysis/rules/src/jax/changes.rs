//! Finds the names whose values a compound statement may change. When a function body is evaluated, these values are
//! unknown after the statement.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};

/// The names that a compound statement binds, and the names of objects that it changes.
#[derive(Default)]
pub(super) struct Changes<'a> {
    pub(super) names: Vec<&'a str>,
    /// Whether the statement may leave the evaluated loop or function, or contains code that cannot be evaluated.
    pub(super) leaves: bool,
}

impl<'a> Changes<'a> {
    /// Adds the name of a changed object: `x` for `x`, `x.items` and `x[i]`.
    fn change(&mut self, mut object: &'a Expr) {
        loop {
            object = match object {
                Expr::Attribute(attribute) => &attribute.value,
                Expr::Subscript(subscript) => &subscript.value,
                Expr::Starred(starred) => &starred.value,
                Expr::Name(name) => return self.names.push(&name.id),
                Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
                    return elts.iter().for_each(|element| self.change(element));
                }
                _ => return,
            }
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Changes<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(def) => return self.names.push(&def.name),
            Stmt::ClassDef(class) => return self.names.push(&class.name),
            Stmt::Return(_) | Stmt::Try(_) | Stmt::Match(_) | Stmt::Global(_) | Stmt::Nonlocal(_) => {
                self.leaves = true;
            }
            Stmt::Delete(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => self.leaves = true,
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.change(target)),
            Stmt::AnnAssign(assign) => self.change(&assign.target),
            Stmt::AugAssign(assign) => self.change(&assign.target),
            Stmt::For(node) => self.change(&node.target),
            Stmt::With(node) => {
                node.items
                    .iter()
                    .filter_map(|item| item.optional_vars.as_deref())
                    .for_each(|it| self.change(it));
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_) => self.leaves = true,
            Expr::Named(named) => self.change(&named.target),
            // A method may change its object: `values.append(x)`.
            Expr::Call(call) => {
                if let Expr::Attribute(method) = &*call.func {
                    self.change(&method.value);
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}
