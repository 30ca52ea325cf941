//! Finds tuples and other containers that a loop assigns to a variable, and that contain an earlier value of the same
//! variable.
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
//! The type of `x` contains itself. Each time the type engine infers the loop, it nests the type deeper, and may need
//! exponential time. `ag_nested_` (`types/stubs/annotations/__builtins__.pyi`) returns a value of unknown type, which
//! ends this.

use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::index::last_name;

/// Functions whose result contains their arguments, or the items of their arguments.
const CONTAINERS: [&str; 18] = [
    "tuple",
    "list",
    "set",
    "frozenset",
    "dict",
    "sorted",
    "reversed",
    "zip",
    "enumerate",
    "map",
    "filter",
    "max",
    "min",
    "copy",
    "deepcopy",
    "deque",
    "defaultdict",
    "chain",
];

/// The functions in [`CONTAINERS`] whose result is nested deeper than their arguments: `zip(x, x)` contains tuples of
/// items of `x`. In contrast, `tuple(x)` contains the items themselves.
const NESTING: [&str; 4] = ["zip", "enumerate", "map", "filter"];

/// Returns the expressions in a loop that annotated source wraps. An outer expression comes before the expressions
/// inside it.
pub(super) fn of_loop(statement: &Stmt) -> Vec<TextRange> {
    let mut assignments = Assignments::default();
    assignments.visit_stmt(statement);
    if !assignments.0.iter().any(|(_, value)| contains_nesting(value)) {
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
            found.extend(
                nested(part)
                    .into_iter()
                    .filter(|part| depends_on(part, name, &sources))
                    .map(|part| part.range()),
            );
        });
    }
    found
}

/// The assignments of values to variables in a loop: `x = a`, `x, y = a, b`, `for x in a`.
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
            Stmt::For(node) => {
                self.add(&node.target, &node.iter);
                statement_visitor::walk_stmt(self, statement);
            }
            _ => statement_visitor::walk_stmt(self, statement),
        }
    }
}

/// Visits an expression, and the expressions inside it whose values may become its value or a part of it, in source
/// order.
fn parts<'a>(value: &'a Expr, visit: &mut impl FnMut(&'a Expr)) {
    visit(value);
    match value {
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| parts(element, visit)),
        Expr::List(list) => list.elts.iter().for_each(|element| parts(element, visit)),
        Expr::Set(set) => set.elts.iter().for_each(|element| parts(element, visit)),
        Expr::Dict(dict) => dict.items.iter().for_each(|item| parts(&item.value, visit)),
        Expr::ListComp(node) => parts(&node.elt, visit),
        Expr::SetComp(node) => parts(&node.elt, visit),
        Expr::Generator(node) => parts(&node.elt, visit),
        Expr::DictComp(node) => parts(&node.value, visit),
        Expr::Starred(starred) => parts(&starred.value, visit),
        Expr::Named(named) => parts(&named.value, visit),
        Expr::BinOp(operation) => {
            parts(&operation.left, visit);
            parts(&operation.right, visit);
        }
        Expr::BoolOp(operation) => operation.values.iter().for_each(|operand| parts(operand, visit)),
        Expr::If(conditional) => {
            parts(&conditional.body, visit);
            parts(&conditional.orelse, visit);
        }
        // `x[1:]` has the type of `x`.
        Expr::Subscript(subscript) if subscript.slice.is_slice_expr() => parts(&subscript.value, visit),
        Expr::Call(call) if is_one_of(&call.func, &CONTAINERS) || is_class(&call.func) => {
            call.arguments.iter_source_order().for_each(|argument| parts(argument.value(), visit));
        }
        _ => {}
    }
}

/// Returns the parts of an expression whose types become parts of its type: the elements of a tuple, or the arguments
/// of `zip` or of a class.
fn nested(expression: &Expr) -> Vec<&Expr> {
    match expression {
        Expr::Tuple(tuple) => tuple.elts.iter().filter(|element| !element.is_starred_expr()).collect(),
        Expr::Set(set) => set.elts.iter().filter(|element| !element.is_starred_expr()).collect(),
        Expr::Call(call) if is_one_of(&call.func, &NESTING) || is_class(&call.func) => {
            call.arguments.args.iter().filter(|argument| !argument.is_starred_expr()).collect()
        }
        Expr::Call(call) if is_one_of(&call.func, &CONTAINERS) => {
            let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
            let items = call.arguments.args.iter().filter_map(Expr::as_list_expr).flat_map(|list| &list.elts);
            items.filter(|item| !item.is_starred_expr()).chain(keywords).collect()
        }
        _ => Vec::new(),
    }
}

fn is_one_of(function: &Expr, names: &[&str]) -> bool {
    last_name(function).is_some_and(|name| names.contains(&name.as_str()))
}

/// Returns whether a function looks like a class, which may be generic: `Box(x)`.
fn is_class(function: &Expr) -> bool {
    last_name(function).is_some_and(|name| name.starts_with(char::is_uppercase))
}

fn contains_nesting(value: &Expr) -> bool {
    let mut found = false;
    parts(value, &mut |part| found |= !nested(part).is_empty());
    found
}

/// Returns whether an expression may contain an earlier value of the variable `name`.
fn depends_on(expression: &Expr, name: &str, sources: &FxHashMap<&str, FxHashSet<&str>>) -> bool {
    let mut pending = Vec::new();
    parts(expression, &mut |part| {
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
