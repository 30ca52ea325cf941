//! Side effects on Python objects. They happen while the function is traced, whatever the graph does later.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, ExprContext, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use ag_syntax::blocks;
use ag_syntax::expressions::root;
use ag_syntax::qname::QName;

/// The mutating methods of lists, dicts, sets and deques.
pub(super) const MUTATORS: [&str; 17] = [
    "add",
    "append",
    "appendleft",
    "clear",
    "discard",
    "extend",
    "extendleft",
    "insert",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "reverse",
    "rotate",
    "setdefault",
    "sort",
    "update",
];

/// The methods in [`MUTATORS`] that few classes other than containers have.
const CONTAINER_ONLY_MUTATORS: [&str; 8] =
    ["append", "appendleft", "extend", "extendleft", "pop", "popitem", "popleft", "setdefault"];

/// A mutation of an object.
pub(super) struct Mutation<'a> {
    pub(super) object: &'a Expr,
    /// The name of the method; `None` for an assignment to an item.
    pub(super) method: Option<&'a str>,
    pub(super) range: TextRange,
}

/// Returns the mutations in a block. Nested functions and lambdas are not visited.
///
/// Assignments to attributes, and to items with a constant key, are not included: AutoGraph handles them.
pub(super) fn mutations(block: &[Stmt]) -> Vec<Mutation<'_>> {
    let mut finder = Finder { found: Vec::new() };
    finder.visit_body(block);
    finder.found
}

struct Finder<'a> {
    found: Vec<Mutation<'a>>,
}

impl<'a> Finder<'a> {
    fn target(&mut self, target: &'a Expr) {
        match target {
            Expr::Subscript(subscript) if QName::from_expr(target).is_none() => {
                self.found.push(Mutation { object: &subscript.value, method: None, range: target.range() });
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|target| self.target(target)),
            _ => {}
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Finder<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => return,
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.target(target)),
            Stmt::AugAssign(assign) => self.target(&assign.target),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.target(target)),
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => return,
            Expr::Call(call) => {
                if let Expr::Attribute(attribute) = &*call.func
                    && MUTATORS.contains(&attribute.attr.as_str())
                {
                    self.found.push(Mutation {
                        object: &attribute.value,
                        method: Some(attribute.attr.as_str()),
                        range: call.range(),
                    });
                }
            }
            _ => {}
        }
        source_order::walk_expr(self, expression);
    }
}

/// Returns the first side effect that a function has outside itself: a mutation of an object from outside, a `+=` on an
/// attribute, or an assignment to a `global` or `nonlocal` variable.
pub(super) fn outer_side_effect(def: &ast::StmtFunctionDef) -> Option<TextRange> {
    let statements = blocks::statements(&def.body);
    let mut outer: FxHashSet<&str> = FxHashSet::default();
    for statement in &statements {
        match statement {
            Stmt::Global(node) => outer.extend(node.names.iter().map(|name| name.as_str())),
            Stmt::Nonlocal(node) => outer.extend(node.names.iter().map(|name| name.as_str())),
            _ => {}
        }
    }
    let mut own = Bound { names: FxHashSet::default() };
    own.visit_body(&def.body);
    let is_outward =
        |object: &Expr| root(object).is_some_and(|name| outer.contains(name) || !own.names.contains(name));
    let assigned = statements.into_iter().filter_map(|statement| match statement {
        Stmt::AugAssign(assign) => match &*assign.target {
            Expr::Name(name) => outer.contains(name.id.as_str()).then_some(statement.range()),
            target => is_outward(target).then_some(statement.range()),
        },
        Stmt::Assign(assign) => {
            let binds_outer =
                |target: &Expr| target.as_name_expr().is_some_and(|name| outer.contains(name.id.as_str()));
            assign.targets.iter().any(binds_outer).then_some(statement.range())
        }
        _ => None,
    });
    let mutated = mutations(&def.body).into_iter().filter_map(|mutation| {
        let is_certain = mutation.method.is_none_or(|method| CONTAINER_ONLY_MUTATORS.contains(&method));
        (is_certain && is_outward(mutation.object)).then_some(mutation.range)
    });
    assigned.chain(mutated).min_by_key(|range| range.start())
}

/// The plain names that a function binds.
struct Bound<'a> {
    names: FxHashSet<&'a str>,
}

impl<'a> SourceOrderVisitor<'a> for Bound<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression
            && name.ctx == ExprContext::Store
        {
            self.names.insert(name.id.as_str());
        }
        source_order::walk_expr(self, expression);
    }
}
