//! Pass 9: `if`, `while` and `for` become calls of operators on functions.
//!
//! ```python
//! if x > 0:                   def get_state():
//!     y = x                       return (ag__.ldu(lambda: y, 'y'),)
//!                             def set_state(vars_):
//!                                 nonlocal y
//!                                 y, = vars_
//!                        =>   def if_body():
//!                                 nonlocal y
//!                                 y = x
//!                             def else_body():
//!                                 pass
//!                             ag__.if_stmt(x > 0, if_body, else_body, get_state, set_state, ('y',), 1)
//! ```
//!
//! Every name that a block binds is `nonlocal` in it, whether it belongs to the state or not. So
//! a block that runs in Python leaves exactly what the original leaves: closures see later values,
//! handlers see what was bound before an exception, an unbound name stays unbound.

mod full;
mod simplified;
mod unbound;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::build;
use super::keep;
use super::notes::Note;
use super::options::{Dialect, View};
use super::scope::Scope;
use super::snek;
use super::state::{self, Facts};
use super::tree::{self, blocks, docstring};
use super::unit::Unit;

pub(super) fn run(unit: &Unit, parameters: &ast::Parameters, body: &mut ast::Suite) {
    keep::deep(unit.notes, body, 0);
    if unit.options.dialect == Dialect::Snek {
        snek::keep_broken_loops(unit, body);
    }
    let unreached = Scope::of_statements(&unit.notes.take_unreached());
    let analysis = state::analyse(unit.source, unit.notes, parameters, body, &unreached);
    {
        let mut undefined = unit.maybe_undefined.borrow_mut();
        let variables = analysis.facts.iter().flat_map(|facts| &facts.state);
        let simple = variables.filter(|variable| variable.maybe_undefined && variable.place.is_none());
        undefined.extend(simple.map(|variable| variable.name.clone()));
    }
    let mut nested = nested_declarations(body);
    nested.extend(declaration(&unreached.globals, build::global));
    nested.extend(declaration(&unreached.nonlocals, build::nonlocal));
    let mut facts = analysis.facts.into_iter();
    let mut unbound = analysis.unbound.into_iter();
    let mut emitter = Emitter { unit, facts: &mut facts, unbound: &mut unbound, globals: &analysis.globals };
    emitter.block(body, false);

    let start = docstring(body);
    let is_plumbed = unit.options.view == View::Full || unit.options.dialect == Dialect::Snek;
    if is_plumbed && !analysis.lifted.is_empty() {
        body.insert(start, never_bound(&analysis.lifted));
    }
    for declaration in nested {
        body.insert(start, declaration);
    }
}

/// `if False: a = b = None` makes names local to a function that only blocks of it bind, and binds
/// nothing.
fn never_bound(names: &[Name]) -> Stmt {
    let origin = TextRange::default();
    let store = |name: &Name| {
        Expr::Name(ast::ExprName {
            id: name.clone(),
            ctx: ast::ExprContext::Store,
            range: origin,
            node_index: tree::made(),
        })
    };
    let assign = Stmt::Assign(ast::StmtAssign {
        targets: names.iter().map(store).collect(),
        value: Box::new(build::none(origin)),
        range: origin,
        node_index: tree::made(),
    });
    build::if_(build::boolean(false, origin), [assign].into_iter().collect(), origin)
}

/// The `global` and `nonlocal` statements in blocks: they concern the whole function.
fn nested_declarations(body: &mut ast::Suite) -> Vec<Stmt> {
    let mut found = Vec::new();
    for inner in body.iter_mut().flat_map(blocks) {
        for statement in ag_syntax::blocks::statements(inner) {
            match statement {
                Stmt::Global(node) => found.push(build::global(&ids(&node.names))),
                Stmt::Nonlocal(node) => found.push(build::nonlocal(&ids(&node.names))),
                _ => {}
            }
        }
    }
    found
}

fn declaration(names: &FxHashSet<Name>, build: fn(&[Name]) -> Stmt) -> Option<Stmt> {
    let mut names: Vec<Name> = names.iter().cloned().collect();
    names.sort_unstable();
    (!names.is_empty()).then(|| build(&names))
}

fn ids(names: &[ast::Identifier]) -> Vec<Name> {
    names.iter().map(|name| name.id.clone()).collect()
}

/// A statement on its way to an operator.
pub(super) struct Parts<'a> {
    pub(super) facts: &'a Facts,
    /// Where the statement starts.
    pub(super) origin: TextRange,
    /// Its head, up to the end of the test or iterable.
    pub(super) head: TextRange,
}

pub(super) struct Emitter<'e, 'u> {
    pub(super) unit: &'e Unit<'u>,
    facts: &'e mut dyn Iterator<Item = Facts>,
    unbound: &'e mut dyn Iterator<Item = Vec<Name>>,
    globals: &'e FxHashSet<Name>,
}

impl Emitter<'_, '_> {
    /// `moved`: the block is the body of a function that is made for it.
    fn block(&mut self, suite: &mut ast::Suite, moved: bool) {
        tree::rewrite(suite, |statement, out| self.statement(statement, moved, out));
    }

    fn statement(&mut self, mut statement: Stmt, moved: bool, out: &mut ast::Suite) {
        let origin = TextRange::empty(statement.start());
        let unbound = self.unbound.next().unwrap_or_default();
        if !unbound.is_empty() && self.unit.options.view == View::Full {
            unbound::guard(&unbound, &mut statement, moved, out);
        }
        let (kept, head) = match &statement {
            Stmt::If(node) => (self.unit.notes.is_kept(node), node.test.end()),
            Stmt::While(node) => (self.unit.notes.is_kept(node), node.test.end()),
            Stmt::For(node) => (self.unit.notes.is_kept(node) || node.is_async, node.iter.end()),
            Stmt::AnnAssign(_) if moved => return out.push(without_annotation(statement)),
            _ => {
                blocks(&mut statement).into_iter().for_each(|inner| self.block(inner, moved));
                return out.push(statement);
            }
        };
        let Some(facts) = self.facts.next() else { return out.push(statement) };
        let moved_within = moved || !kept;
        for inner in blocks(&mut statement) {
            self.block(inner, moved_within);
        }
        if kept {
            stop_kept(self.unit, &mut statement);
            return out.push(statement);
        }
        let head = TextRange::new(origin.start(), head.max(origin.start()));
        let parts = Parts { facts: &facts, origin, head };
        if self.unit.options.dialect == Dialect::Snek {
            return match statement {
                Stmt::If(node) => snek::if_stmt(self, &parts, node, out),
                Stmt::While(node) => snek::while_stmt(self, &parts, node, out),
                Stmt::For(node) => snek::for_stmt(self, &parts, node, out),
                statement => out.push(statement),
            };
        }
        let note = match &statement {
            Stmt::While(node) => self.unit.notes.take(node),
            Stmt::For(node) => self.unit.notes.take(node),
            _ => Note::default(),
        };
        match (statement, self.unit.options.view) {
            (Stmt::If(node), View::Full) => full::if_stmt(self, &parts, node, out),
            (Stmt::If(node), View::Simplified) => simplified::if_stmt(self, &parts, node, out),
            (Stmt::While(node), View::Full) => full::while_stmt(self, &parts, node, note, out),
            (Stmt::While(node), View::Simplified) => simplified::while_stmt(self, &parts, node, note, out),
            (Stmt::For(node), View::Full) => full::for_stmt(self, &parts, node, note, out),
            (Stmt::For(node), View::Simplified) => simplified::for_stmt(self, &parts, node, note, out),
            (statement, _) => out.push(statement),
        }
    }

    /// `def name(parameters):` for a block, which binds `bound` for the function around it; its name.
    pub(super) fn function(
        &self,
        name: Name,
        parameters: &[&str],
        bound: &[Name],
        block: impl IntoIterator<Item = Stmt>,
        parts: &Parts<'_>,
        out: &mut ast::Suite,
    ) -> Expr {
        let mut body = ast::Suite::new();
        self.declare(bound, &mut body);
        body.extend(block);
        out.push(build::function(&name, parameters, or_pass(body), parts.origin));
        build::name(&name, parts.origin)
    }

    /// `def name(item): target = item; body` for the body of a `for`.
    pub(super) fn loop_function(
        &self,
        name: Name,
        item: &str,
        (target, body): (Expr, ast::Suite),
        parts: &Parts<'_>,
        out: &mut ast::Suite,
    ) -> Expr {
        let origin = target.range();
        let item_value = build::name(item, TextRange::empty(origin.end()));
        let block = std::iter::once(build::assign_to(target, item_value, origin)).chain(body);
        self.function(name, &[item], &parts.facts.bound[0], block, parts, out)
    }

    /// `global` and `nonlocal` lines for names that a function binds for the one around it.
    fn declare(&self, names: &[Name], out: &mut ast::Suite) {
        let (globals, locals): (Vec<Name>, Vec<Name>) =
            names.iter().cloned().partition(|name| self.globals.contains(name));
        if !globals.is_empty() {
            out.push(build::global(&globals));
        }
        if !locals.is_empty() {
            out.push(build::nonlocal(&locals));
        }
    }
}

/// A loop that stays Python ends by a `break` when a flag is set.
fn stop_kept(unit: &Unit, statement: &mut Stmt) {
    let Stmt::For(node) = statement else { return };
    let flags = unit.notes.take(node).stop_flags;
    for flag in flags {
        let origin = TextRange::empty(node.range.end());
        let test = build::name(&flag, origin);
        node.body.push(build::if_(test, [build::break_()].into_iter().collect(), origin));
    }
}

/// In a block, a name is `nonlocal`, which an annotated name cannot be. Annotations of local names
/// are never evaluated.
fn without_annotation(statement: Stmt) -> Stmt {
    match statement {
        Stmt::AnnAssign(node) if node.target.is_name_expr() => match node.value {
            Some(value) => build::assign_to(*node.target, *value, node.range),
            None => build::pass(),
        },
        statement => statement,
    }
}

fn or_pass(mut body: ast::Suite) -> ast::Suite {
    if body.is_empty() {
        body.push(build::pass());
    }
    body
}

/// `not break_ and not do_return`
fn go_on(flags: &[Name], at: TextSize) -> Option<Expr> {
    let origin = TextRange::empty(at);
    let mut tests: Vec<Expr> = flags.iter().rev().map(|flag| build::not(build::name(flag, origin))).collect();
    match tests.len() {
        0 => None,
        1 => tests.pop(),
        _ => Some(build::and(tests, origin)),
    }
}

pub(super) fn orelse(node: &mut ast::StmtIf) -> ast::Suite {
    node.elif_else_clauses.pop().map(|clause| clause.body).unwrap_or_default()
}
