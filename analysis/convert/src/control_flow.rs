//! Pass 9: `if`, `while` and `for` become calls of operators, with the blocks as functions.
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
//! Every name that a block binds is `nonlocal` in the function of that block, whether or not it is part of the state.
//! Invariant: if the operators execute the blocks in Python, all variables have the same values afterwards as with the
//! original. Closures see later assignments, exception handlers see the values bound before the exception, and unbound
//! names stay unbound.

mod full;
mod simplified;
mod unbound;

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::FxHashSet;

use super::build;
use super::keep;
use super::lowering::LoweringContext;
use super::notes::Note;
use super::options::{OperatorSet, View};
use super::snek;
use super::state::{self, Facts};
use super::tree::{self, blocks, docstring};
use ag_flow::{BlockKind, Flow, NameSet, NodeKind, StmtId, Variables};
use ag_syntax::qname::QName;

pub(super) fn run(ctx: &LoweringContext, parameters: &ast::Parameters, body: &mut ast::Suite) {
    keep::mark_deep(ctx.notes, body, 0);
    let unreached = ctx.notes.take_unreached();
    let declarations = nested_declarations(body, &unreached);
    if needs_functions(body) || !unreached.is_empty() {
        block_functions(ctx, parameters, body, &unreached);
    }
    let start = docstring(body);
    for declaration in declarations {
        body.insert(start, declaration);
    }
}

fn block_functions(
    ctx: &LoweringContext,
    parameters: &ast::Parameters,
    body: &mut ast::Suite,
    unreached: &[Stmt],
) {
    let flow = state::flow(ctx, parameters, body, unreached);
    if flow.is_opaque() {
        return keep_all(ctx, body);
    }
    let lifted = flow.bound_in(flow.cfg.unreached());
    let mut emitter = Emitter { ctx, flow: &flow, own: flow.no_names(), lifted };
    emitter.block(body, flow.cfg.body().start, false);

    let lifted = emitter.lifted.difference(&emitter.own);
    let is_liftable = |name: &Name| flow.scope().is_local(name) && !flow.scope().parameters.contains(name);
    let lifted: Vec<Name> = state::names(&lifted).into_iter().filter(is_liftable).collect();
    let start = docstring(body);
    let uses_nonlocal = ctx.options.view == View::Full || ctx.options.operator_set == OperatorSet::Snek;
    if uses_nonlocal && !lifted.is_empty() {
        body.insert(start, local_declaration(&lifted));
    }
}

/// Returns whether any part of a body becomes a function or thunk. If not, no names need declarations.
fn needs_functions(body: &[Stmt]) -> bool {
    let mut search = FindFunctions { found: false };
    search.visit_body(body);
    search.found
}

struct FindFunctions {
    found: bool,
}

impl<'a> SourceOrderVisitor<'a> for FindFunctions {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.found |= matches!(statement, Stmt::If(_) | Stmt::While(_) | Stmt::For(_));
        match statement {
            _ if self.found => {}
            Stmt::FunctionDef(def) => {
                def.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&def.parameters);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::BoolOp(_) | Expr::If(_) => self.found = true,
            Expr::Compare(node) if node.ops.len() > 1 => self.found = true,
            _ if self.found => {}
            _ => source_order::walk_expr(self, expression),
        }
    }
}

/// Returns `if False: a = b = None`, which makes names local to the function without binding them. This is needed for
/// names that are bound only in the functions of the blocks, where they are `nonlocal`.
fn local_declaration(names: &[Name]) -> Stmt {
    let origin = TextRange::default();
    let store = |name: &Name| {
        Expr::Name(ast::ExprName {
            id: name.clone(),
            ctx: ast::ExprContext::Store,
            range: origin,
            node_index: tree::synthesized(),
        })
    };
    let assign = Stmt::Assign(ast::StmtAssign {
        targets: names.iter().map(store).collect(),
        value: Box::new(build::none(origin)),
        range: origin,
        node_index: tree::synthesized(),
    });
    build::if_(build::boolean(false, origin), [assign].into_iter().collect(), origin)
}

/// Returns declarations for the `global` and `nonlocal` statements in blocks and in unreachable code. They apply to the
/// whole function.
fn nested_declarations(body: &mut ast::Suite, unreached: &[Stmt]) -> Vec<Stmt> {
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
    let Variables { globals, nonlocals, .. } = Variables::of_statements(unreached);
    found.extend(declaration(&globals, build::global));
    found.extend(declaration(&nonlocals, build::nonlocal));
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

/// The facts and ranges of a statement that is replaced by a call of an operator.
pub(super) struct StatementInfo<'a> {
    pub(super) facts: &'a Facts,
    /// An empty range at the start of the statement.
    pub(super) origin: TextRange,
    /// The range from the start of the statement to the end of its test or iterable.
    pub(super) head: TextRange,
}

pub(super) struct Emitter<'e, 'u> {
    pub(super) ctx: &'e LoweringContext<'u>,
    flow: &'e Flow,
    /// The names that are bound by statements which stay in the function itself.
    own: NameSet<'e>,
    /// The names that are bound in blocks which become functions, or in unreachable code.
    lifted: NameSet<'e>,
}

impl Emitter<'_, '_> {
    /// Converts a block. `stmt` is its first statement. `moved`: whether it is inside the body of a generated function.
    fn block(&mut self, suite: &mut ast::Suite, mut stmt: StmtId, moved: bool) {
        tree::rewrite(suite, |statement, out| {
            let next = self.flow.cfg.extent(stmt).end;
            self.statement(statement, stmt, moved, out);
            stmt = next;
        });
    }

    /// Converts the blocks of a statement.
    fn blocks(&mut self, statement: &mut Stmt, stmt: StmtId, moved: bool) {
        for (kind, inner) in kinds(statement).into_iter().zip(blocks(statement)) {
            if let Some(block) = self.flow.cfg.block(stmt, kind) {
                self.block(inner, block.start, moved);
            }
        }
    }

    /// Records the names that a statement binds: in `lifted` if a generated function binds them, otherwise in `own`.
    fn record_bindings(&mut self, statement: &Stmt, stmt: StmtId, moved: bool, kept: bool) {
        let is_loop = matches!(statement, Stmt::While(_) | Stmt::For(_));
        // The iterable of a `for` is evaluated at the loop, but its target is bound in the function of the body.
        let in_body = |kind| is_loop && !kept && matches!(kind, NodeKind::Test | NodeKind::Target);
        let (lifted, own) = (&mut self.lifted, &mut self.own);
        let names = if moved { &mut *lifted } else { own };
        self.flow.add_bound_by(stmt, |kind| !in_body(kind), names);
        if is_loop && !kept {
            self.flow.add_bound_by(stmt, in_body, lifted);
        }
        if let Stmt::AnnAssign(node) = statement
            && let Some(name) = node.target.as_name_expr()
        {
            let names = if moved { &mut self.lifted } else { &mut self.own };
            names.insert(&QName::from(&name.id));
        }
    }

    fn statement(&mut self, mut statement: Stmt, stmt: StmtId, moved: bool, out: &mut ast::Suite) {
        let origin = TextRange::empty(statement.start());
        let facts = match &statement {
            Stmt::If(_) | Stmt::While(_) | Stmt::For(_) => {
                Some(state::facts(self.ctx, self.flow, stmt, &statement))
            }
            _ => None,
        };
        if let Some(facts) = &facts {
            let variables =
                facts.state.iter().filter(|variable| variable.maybe_undefined && variable.path.is_none());
            let names = variables.map(|variable| variable.name.clone());
            self.ctx.maybe_undefined.borrow_mut().extend(names);
        }
        if self.ctx.options.view == View::Full {
            let unbound = self.flow.unbound_reads(stmt);
            if !unbound.is_empty() {
                unbound::guard(&state::names(&unbound), &mut statement, moved, out);
            }
        }
        let (kept, head) = match &statement {
            Stmt::If(node) => (self.ctx.notes.is_kept(node), node.test.end()),
            Stmt::While(node) => (self.ctx.notes.is_kept(node), node.test.end()),
            Stmt::For(node) => (self.ctx.notes.is_kept(node) || node.is_async, node.iter.end()),
            _ => (true, origin.end()),
        };
        self.record_bindings(&statement, stmt, moved, kept);
        let Some(facts) = facts else {
            self.blocks(&mut statement, stmt, moved);
            return out.push(if moved { without_annotation(statement) } else { statement });
        };
        self.blocks(&mut statement, stmt, moved || !kept);
        if kept {
            break_on_flags(self.ctx, &mut statement);
            return out.push(statement);
        }
        let head = TextRange::new(origin.start(), head.max(origin.start()));
        let info = StatementInfo { facts: &facts, origin, head };
        let note = match &statement {
            Stmt::While(node) => self.ctx.notes.take(node),
            Stmt::For(node) => self.ctx.notes.take(node),
            _ => Note::default(),
        };
        if self.ctx.options.operator_set == OperatorSet::Snek {
            return match statement {
                Stmt::If(node) => snek::if_stmt(self, &info, node, out),
                Stmt::While(node) => snek::while_stmt(self, &info, node, out),
                Stmt::For(node) => snek::for_stmt(self, &info, node, &note.stop_flags, out),
                statement => out.push(statement),
            };
        }
        match (statement, self.ctx.options.view) {
            (Stmt::If(node), View::Full) => full::if_stmt(self, &info, node, out),
            (Stmt::If(node), View::Simplified) => simplified::if_stmt(self, &info, node, out),
            (Stmt::While(node), View::Full) => full::while_stmt(self, &info, node, note, out),
            (Stmt::While(node), View::Simplified) => simplified::while_stmt(self, &info, node, note, out),
            (Stmt::For(node), View::Full) => full::for_stmt(self, &info, node, note, out),
            (Stmt::For(node), View::Simplified) => simplified::for_stmt(self, &info, node, note, out),
            (statement, _) => out.push(statement),
        }
    }

    /// Emits `def name(parameters):` for a block that binds the names `bound` of the enclosing function. Returns a
    /// reference to the new function.
    pub(super) fn function(
        &self,
        name: Name,
        parameters: &[&str],
        bound: &[Name],
        block: impl IntoIterator<Item = Stmt>,
        info: &StatementInfo<'_>,
        out: &mut ast::Suite,
    ) -> Expr {
        let mut body = ast::Suite::new();
        self.declare(bound, &mut body);
        body.extend(block);
        out.push(build::function(&name, parameters, non_empty(body), info.origin));
        build::name(&name, info.origin)
    }

    /// Emits `def name(item): target = item; body` for the body of a `for`.
    pub(super) fn loop_function(
        &self,
        name: Name,
        item: &str,
        (target, body): (Expr, ast::Suite),
        info: &StatementInfo<'_>,
        out: &mut ast::Suite,
    ) -> Expr {
        let origin = target.range();
        let item_value = build::name(item, TextRange::empty(origin.end()));
        let block = std::iter::once(build::assign_to(target, item_value, origin)).chain(body);
        self.function(name, &[item], &info.facts.bound[0], block, info, out)
    }

    /// Emits `global` and `nonlocal` declarations for names that belong to the enclosing function.
    fn declare(&self, names: &[Name], out: &mut ast::Suite) {
        let (globals, locals): (Vec<Name>, Vec<Name>) =
            names.iter().cloned().partition(|name| self.flow.scope().globals.contains(name));
        if !globals.is_empty() {
            out.push(build::global(&globals));
        }
        if !locals.is_empty() {
            out.push(build::nonlocal(&locals));
        }
    }
}

/// Returns the kinds of a statement's blocks, in the same order as [`blocks`].
fn kinds(statement: &Stmt) -> Vec<BlockKind> {
    use BlockKind::{Body, Case, Else, Finally, Handler};
    match statement {
        Stmt::Match(node) => (0..node.cases.len() as u32).map(Case).collect(),
        Stmt::Try(node) => {
            let handlers = (0..node.handlers.len() as u32).map(Handler);
            std::iter::once(Body).chain(handlers).chain([Else, Finally]).collect()
        }
        _ => vec![Body, Else],
    }
}

/// Leaves all statements of a function unconverted, because its dataflow is not available.
fn keep_all(ctx: &LoweringContext, body: &mut ast::Suite) {
    for statement in body {
        blocks(statement).into_iter().for_each(|inner| keep_all(ctx, inner));
        break_on_flags(ctx, statement);
    }
}

/// Adds `if flag: break` to the end of a `for` that is not converted.
fn break_on_flags(ctx: &LoweringContext, statement: &mut Stmt) {
    let Stmt::For(node) = statement else { return };
    let flags = ctx.notes.take(node).stop_flags;
    for flag in flags {
        let origin = TextRange::empty(node.range.end());
        let test = build::name(&flag, origin);
        node.body.push(build::if_(test, [build::break_()].into_iter().collect(), origin));
    }
}

/// Removes the annotation of an assignment in a generated function, because a `nonlocal` name cannot be annotated. This
/// does not change the behavior: annotations of local names are never evaluated.
fn without_annotation(statement: Stmt) -> Stmt {
    match statement {
        Stmt::AnnAssign(node) if node.target.is_name_expr() => match node.value {
            Some(value) => build::assign_to(*node.target, *value, node.range),
            None => build::pass(),
        },
        statement => statement,
    }
}

fn non_empty(mut body: ast::Suite) -> ast::Suite {
    if body.is_empty() {
        body.push(build::pass());
    }
    body
}

/// Returns `not break_ and not do_return` for these flags; `None` if there are no flags.
pub(super) fn not_stopped(flags: &[Name], at: TextSize) -> Option<Expr> {
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
