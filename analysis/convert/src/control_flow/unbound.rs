//! Guards reads of names that may be unbound. In the function generated for a block, such a name is a free variable, so
//! an unguarded read would raise `NameError` instead of `UnboundLocalError`.
//!
//! ```python
//! if ready:                   def if_body():
//!     print(total)       =>       print(ag__.ld(ag__.ldu(lambda: total, 'total')))
//! ```

use std::cell::Cell;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::build;
use super::super::expressions::{self, NodeMut, Rewrite, Walk};
use super::super::tree::is_synthesized;

/// Guards the reads of `names` in a simple statement, or in the head of a compound one. If other statements must
/// precede the statement, appends them to `out`. `moved`: whether the statement is inside a generated function. If not,
/// only reads inside thunks are guarded.
pub(super) fn guard(names: &[Name], statement: &mut Stmt, moved: bool, out: &mut ast::Suite) {
    if moved {
        let read_targets: Vec<&ast::ExprName> = match &*statement {
            Stmt::AugAssign(node) => node.target.as_name_expr().into_iter().collect(),
            Stmt::Delete(node) => node.targets.iter().filter_map(Expr::as_name_expr).collect(),
            _ => Vec::new(),
        };
        for name in read_targets.into_iter().filter(|name| names.contains(&name.id)) {
            let load = load(&name.id, build::string(&name.id, name.range), name.range);
            out.push(build::expression(load, TextRange::empty(name.start())));
        }
    }
    let guard = Guard { names, depth: Cell::new(u32::from(moved)) };
    for part in head(statement, &guard) {
        expressions::rewrite_one(part, &guard);
    }
    if let Stmt::For(node) = statement {
        // The target is assigned in the function that is generated for the body.
        guard.depth.set(1);
        expressions::rewrite_one(NodeMut::Expression(&mut node.target), &guard);
    }
}

fn load(name: &Name, text: Expr, origin: TextRange) -> Expr {
    let thunk = build::thunk(build::name(name, origin));
    let value = build::operator("ldu", vec![thunk, text], origin);
    build::operator("ld", vec![value], origin)
}

/// Returns the expressions of a statement that are outside its blocks.
fn head<'s>(statement: &'s mut Stmt, guard: &Guard<'_>) -> Vec<NodeMut<'s>> {
    match statement {
        Stmt::If(node) => vec![NodeMut::Expression(&mut node.test)],
        Stmt::While(node) => {
            // The test always becomes a function.
            guard.depth.set(1);
            vec![NodeMut::Expression(&mut node.test)]
        }
        Stmt::For(node) => {
            // The target is assigned in the function that is generated for the body.
            let target = Guard { names: guard.names, depth: Cell::new(1) };
            expressions::rewrite_one(NodeMut::Expression(&mut node.target), &target);
            vec![NodeMut::Expression(&mut node.iter)]
        }
        Stmt::With(node) => {
            let items = node.items.iter_mut();
            items
                .flat_map(|item| {
                    std::iter::once(&mut item.context_expr).chain(item.optional_vars.as_deref_mut())
                })
                .map(NodeMut::Expression)
                .collect()
        }
        Stmt::Match(node) => {
            let guards = node.cases.iter_mut().filter_map(|case| case.guard.as_deref_mut());
            std::iter::once(&mut *node.subject).chain(guards).map(NodeMut::Expression).collect()
        }
        Stmt::Try(node) => node
            .handlers
            .iter_mut()
            .filter_map(|ast::ExceptHandler::ExceptHandler(handler)| handler.type_.as_deref_mut())
            .map(NodeMut::Expression)
            .collect(),
        statement => vec![NodeMut::Statement(statement)],
    }
}

struct Guard<'n> {
    names: &'n [Name],
    /// The number of generated functions around the expression.
    depth: Cell<u32>,
}

impl Rewrite for Guard<'_> {
    fn rewrite(&self, expression: &mut Expr, walk: &Walk<'_>) {
        match expression {
            Expr::Name(node) if node.ctx == ExprContext::Load && !is_synthesized(node) => {
                if self.depth.get() > 0
                    && self.names.contains(&node.id)
                    && let Some(text) = walk.string(&node.id, node.range)
                {
                    *expression = load(&node.id.clone(), text, node.range);
                }
            }
            // In the original code, the body of a lambda reads free variables, too. So only the defaults are guarded.
            Expr::Lambda(node) => {
                if let Some(parameters) = node.parameters.as_deref_mut() {
                    walk.parameters(parameters);
                }
            }
            Expr::ListComp(ast::ExprListComp { generators, .. })
            | Expr::SetComp(ast::ExprSetComp { generators, .. })
            | Expr::DictComp(ast::ExprDictComp { generators, .. })
            | Expr::Generator(ast::ExprGenerator { generators, .. }) => {
                if let Some(first) = generators.first_mut() {
                    self.rewrite(&mut first.iter, walk);
                }
            }
            Expr::BoolOp(_) | Expr::If(_) => self.within_thunk(expression, walk),
            Expr::Compare(node) if node.ops.len() > 1 => self.within_thunk(expression, walk),
            _ => walk.children(expression),
        }
    }
}

impl Guard<'_> {
    fn within_thunk(&self, expression: &mut Expr, walk: &Walk<'_>) {
        self.depth.set(self.depth.get() + 1);
        walk.children(expression);
        self.depth.set(self.depth.get() - 1);
    }
}
