//! Tuples that contain an earlier value of the variable that a loop assigns them to.
//!
//! ```python
//! while n > 0:
//!     if n > 1:
//!         x = (x, 1)                   # the user's text
//!         x = (ag_nested_(x), 1)       # annotated source
//!     if n > 2:
//!         x = x + n
//! ```
//!
//! The type of `x` contains itself. The type engine nests it deeper each time it infers the loop, and may then need
//! exponential time. `ag_nested_` (`types/stubs/annotations/__builtins__.pyi`) returns a value of unknown type.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

/// The elements of tuples to wrap in the body of a loop, an outer one before those inside of it.
pub(super) fn of_loop(body: &[Stmt]) -> Vec<TextRange> {
    let mut assignments = Assignments::default();
    assignments.visit_body(body);
    if !assignments.0.iter().any(|(_, value)| contains_tuple(value)) {
        return Vec::new();
    }
    let mut sources: FxHashMap<&str, FxHashSet<&str>> = FxHashMap::default();
    for (name, value) in &assignments.0 {
        parts(value, &mut |part| {
            if let Expr::Name(source) = part {
                sources.entry(name).or_default().insert(source.id.as_str());
            }
        });
    }
    let mut found = Vec::new();
    for (name, value) in &assignments.0 {
        parts(value, &mut |part| {
            if let Expr::Tuple(tuple) = part {
                found.extend(
                    tuple
                        .elts
                        .iter()
                        .filter(|element| depends_on(element, name, &sources))
                        .map(Ranged::range),
                );
            }
        });
    }
    found
}

/// The assignments of values to variables in a loop: `x = a`, `x, y = a, b`.
#[derive(Default)]
struct Assignments<'a>(Vec<(&'a str, &'a Expr)>);

impl<'a> Assignments<'a> {
    fn add(&mut self, target: &'a Expr, value: &'a Expr) {
        match (target, value) {
            (Expr::Name(name), _) => self.0.push((name.id.as_str(), value)),
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.len() == values.len() => {
                targets.iter().zip(values).for_each(|(target, value)| self.add(target, value));
            }
            _ => {}
        }
    }
}

impl<'a> StatementVisitor<'a> for Assignments<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Assign(assign) => assign.targets.iter().for_each(|target| self.add(target, &assign.value)),
            Stmt::AnnAssign(ast::StmtAnnAssign { target, value: Some(value), .. }) => self.add(target, value),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

/// Visits an expression and the expressions whose values may be its value or parts of it, in source order.
fn parts<'a>(value: &'a Expr, visit: &mut impl FnMut(&'a Expr)) {
    visit(value);
    match value {
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| parts(element, visit)),
        Expr::List(list) => list.elts.iter().for_each(|element| parts(element, visit)),
        Expr::Starred(starred) => parts(&starred.value, visit),
        Expr::BinOp(operation) => {
            parts(&operation.left, visit);
            parts(&operation.right, visit);
        }
        Expr::BoolOp(operation) => operation.values.iter().for_each(|operand| parts(operand, visit)),
        Expr::If(conditional) => {
            parts(&conditional.body, visit);
            parts(&conditional.orelse, visit);
        }
        _ => {}
    }
}

fn contains_tuple(value: &Expr) -> bool {
    let mut found = false;
    parts(value, &mut |part| found |= part.is_tuple_expr());
    found
}

/// Whether an element of a tuple may contain an earlier value of the variable `name`.
fn depends_on(element: &Expr, name: &str, sources: &FxHashMap<&str, FxHashSet<&str>>) -> bool {
    let mut pending = Vec::new();
    parts(element, &mut |part| {
        if let Expr::Name(source) = part {
            pending.push(source.id.as_str());
        }
    });
    let mut seen = FxHashSet::default();
    while let Some(source) = pending.pop() {
        if source == name {
            return true;
        }
        if seen.insert(source) {
            pending.extend(sources.get(source).into_iter().flatten());
        }
    }
    false
}
