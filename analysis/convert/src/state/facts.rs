//! Liveness and definite assignment, and the state that follows from them.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use rustc_hash::FxHashSet;

use super::super::notes::Notes;
use super::super::scope::Scope;
use super::super::set::Set;
use super::access::Names;
use super::info::{self, Info};

/// One element of a statement's state.
#[derive(Clone, Debug, PartialEq)]
pub(in super::super) struct Variable {
    /// As it is written: `x`, `self.n`.
    pub(in super::super) name: Name,
    /// The attribute or item, if it is one.
    pub(in super::super) place: Option<Expr>,
    /// Whether it may have no value when the statement is reached.
    pub(in super::super) maybe_undefined: bool,
}

/// What control flow has to know of one `if`, `while` or `for`.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Facts {
    /// What is used after the statement, then what is only used within it; by name.
    pub(in super::super) state: Vec<Variable>,
    pub(in super::super) outputs: usize,
    /// The names that each block binds: body, else; the target of a `for` belongs to its body.
    pub(in super::super) bound: [Vec<Name>; 2],
}

pub(in super::super) struct Analysis {
    /// Of the statements in the order in which they stand, outer ones first.
    pub(in super::super) facts: Vec<Facts>,
    /// What the head of each statement reads although it may be unbound, in the same order: local
    /// names alone.
    pub(in super::super) unbound: Vec<Vec<Name>>,
    /// Local names that nothing will bind in the function itself once blocks are functions.
    pub(in super::super) lifted: Vec<Name>,
    pub(in super::super) globals: FxHashSet<Name>,
}

pub(in super::super) fn analyse(
    source: &str,
    notes: &Notes,
    parameters: &ast::Parameters,
    body: &[Stmt],
    unreached: &Scope,
) -> Analysis {
    let mut names = Names::new(source, notes);
    let mut defined = Set::default();
    let mut declared = declarations(body);
    declared.globals.extend(unreached.globals.iter().cloned());
    declared.nonlocals.extend(unreached.nonlocals.iter().cloned());
    for parameter in parameters {
        let number = names.number(&parameter.name().id);
        defined.insert(number);
    }
    let infos = info::block(&mut names, body);
    let mut outer = Set::default();
    for name in declared.globals.iter().chain(&declared.nonlocals) {
        let number = names.number(name);
        outer.insert(number);
    }
    let mut live_at_end = names.captured.clone();
    live_at_end.union(&outer);
    let parameters = defined.clone();
    // What code that is never reached binds is local all the same.
    let mut lifted = Set::default();
    for name in &unreached.bound {
        lifted.insert(names.number(name));
    }
    let mut locals = defined.clone();
    locals.union(&lifted);
    for info in &infos {
        locals.union(&info.binds);
        locals.union(&info.declared);
    }
    locals.subtract(&outer);
    let mut flow = Flow {
        names: &names,
        notes,
        outer: &outer,
        locals: &locals,
        facts: Vec::new(),
        unbound: Vec::new(),
        own: parameters,
        lifted,
    };
    flow.block(body, &infos, &live_at_end, defined, false);
    let Flow { facts, unbound, own, mut lifted, .. } = flow;
    lifted.subtract(&own);
    lifted.subtract(&outer);
    Analysis { facts, unbound, lifted: sorted(&names, &lifted), globals: declared.globals }
}

/// What the function declares `global` or `nonlocal`.
fn declarations(body: &[Stmt]) -> Scope {
    let mut scope = Scope::default();
    for statement in ag_syntax::blocks::statements(body) {
        match statement {
            Stmt::Global(node) => scope.globals.extend(node.names.iter().map(|name| name.id.clone())),
            Stmt::Nonlocal(node) => scope.nonlocals.extend(node.names.iter().map(|name| name.id.clone())),
            _ => {}
        }
    }
    scope
}

fn sorted(names: &Names<'_>, set: &Set) -> Vec<Name> {
    let mut sorted: Vec<Name> = set.iter().map(|number| names.name(number).clone()).collect();
    sorted.sort_unstable();
    sorted
}

struct Flow<'f, 'a> {
    names: &'f Names<'a>,
    notes: &'f Notes,
    /// Declared `global` or `nonlocal`.
    outer: &'f Set,
    locals: &'f Set,
    facts: Vec<Facts>,
    unbound: Vec<Vec<Name>>,
    /// Bound by statements that stay in the function itself.
    own: Set,
    /// Bound in blocks that become functions.
    lifted: Set,
}

impl Flow<'_, '_> {
    /// Goes through a block; what is defined after it. `moved`: the block is to be a function.
    fn block(
        &mut self,
        block: &[Stmt],
        infos: &[Info],
        live_out: &Set,
        mut defined: Set,
        moved: bool,
    ) -> Set {
        // From the end to the start: what is live after each statement.
        let mut live = live_out.clone();
        let mut after = Vec::with_capacity(infos.len());
        for info in infos.iter().rev() {
            after.push(live.clone());
            if info.raises {
                live.clone_from(&info.reads);
            } else {
                live.subtract(&info.kills);
                live.union(&info.reads);
            }
        }
        for ((statement, info), live_out) in block.iter().zip(infos).zip(after.iter().rev()) {
            defined = self.statement(statement, info, live_out, defined, moved);
        }
        defined
    }

    fn statement(
        &mut self,
        statement: &Stmt,
        info: &Info,
        live_out: &Set,
        mut defined: Set,
        moved: bool,
    ) -> Set {
        let mut unbound = info.head_reads.clone();
        if let Stmt::Delete(_) = statement {
            unbound.union(&info.binds);
        }
        unbound.intersect(self.locals);
        // In a loop, what is deleted may be missed before it is deleted.
        let mut bound = defined.clone();
        bound.subtract(&self.names.deleted);
        unbound.subtract(&bound);
        self.unbound.push(sorted(self.names, &unbound));
        let target = if moved { &mut self.lifted } else { &mut self.own };
        match statement {
            Stmt::If(node) => {
                target.union(&info.head);
                defined.union(&info.certain);
                let kept = self.notes.is_kept(node);
                let mut live_in = live_out.clone();
                live_in.subtract(&info.kills);
                live_in.union(&info.reads);
                self.facts(info, false, &live_in, live_out, &defined);
                let moved = moved || !kept;
                let clause = node.elif_else_clauses.first().map(|clause| clause.body.as_slice());
                let (body, orelse) = (&info.blocks[0], info.blocks.get(1));
                let mut one = self.block(&node.body, body, live_out, defined.clone(), moved);
                let (other, other_raises) = match (clause, orelse) {
                    (Some(clause), Some(infos)) => {
                        (self.block(clause, infos, live_out, defined, moved), info::sum(infos).raises)
                    }
                    _ => (defined, false),
                };
                match (info::sum(body).raises, other_raises) {
                    (true, false) => return other,
                    (false, true) => return one,
                    _ => one.intersect(&other),
                }
                one
            }
            Stmt::While(node) => self.looped(info, &node.body, &node.orelse, live_out, defined, moved, {
                self.notes.is_kept(node)
            }),
            Stmt::For(node) => self.looped(info, &node.body, &node.orelse, live_out, defined, moved, {
                self.notes.is_kept(node) || node.is_async
            }),
            Stmt::With(node) => {
                target.union(&info.head);
                defined.union(&info.certain);
                self.block(&node.body, &info.blocks[0], live_out, defined, moved)
            }
            Stmt::Match(node) => {
                target.union(&info.head);
                let mut result: Option<Set> = Some(defined.clone());
                for (case, infos) in node.cases.iter().zip(&info.blocks) {
                    let after = self.block(&case.body, infos, live_out, defined.clone(), moved);
                    if let Some(result) = &mut result {
                        result.intersect(&after);
                    }
                }
                result.unwrap_or(defined)
            }
            Stmt::Try(node) => self.tried(node, info, live_out, defined, moved),
            _ => {
                target.union(&info.binds);
                target.union(&info.declared);
                defined.union(&info.kills);
                if let Stmt::Delete(_) = statement {
                    defined.subtract(&info.binds);
                }
                defined
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the same for `while` and `for`")]
    fn looped(
        &mut self,
        info: &Info,
        body: &[Stmt],
        orelse: &[Stmt],
        live_out: &Set,
        defined: Set,
        moved: bool,
        kept: bool,
    ) -> Set {
        let moved_here = moved || !kept;
        let target = if moved_here { &mut self.lifted } else { &mut self.own };
        target.union(&info.head);
        // The iterable is evaluated where the loop stands.
        let around = if moved { &mut self.lifted } else { &mut self.own };
        around.union(&info.iterable);
        // Live where each round starts: the next round, or what follows the loop.
        let mut live_in = live_out.clone();
        live_in.union(&info.reads);
        self.facts(info, true, &live_in, live_out, &defined);
        let mut within = defined.clone();
        within.union(&info.certain);
        self.block(body, &info.blocks[0], &live_in, within, moved_here);
        self.block(orelse, &info.blocks[1], live_out, defined.clone(), moved);
        defined
    }

    fn tried(&mut self, node: &ast::StmtTry, info: &Info, live_out: &Set, defined: Set, moved: bool) -> Set {
        let handlers = node.handlers.len();
        let (Some(orelse), Some(finalbody)) = (info.blocks.get(handlers + 1), info.blocks.get(handlers + 2))
        else {
            return defined;
        };
        let before = |live: &Set, infos: &[Info]| {
            let sum = info::sum(infos);
            let mut before = live.clone();
            before.subtract(&sum.kills);
            before.union(&sum.reads);
            before
        };
        let live_final = before(live_out, finalbody);
        let mut live_body = before(&live_final, orelse);
        for infos in &info.blocks[1..=handlers] {
            live_body.union(&before(&live_final, infos));
        }
        let mut after = self.block(&node.body, &info.blocks[0], &live_body, defined.clone(), moved);
        for (handler, infos) in node.handlers.iter().zip(&info.blocks[1..]) {
            let ast::ExceptHandler::ExceptHandler(handler) = handler;
            let mut within = defined.clone();
            if let Some(name) = &handler.name {
                for number in info.binds.iter().filter(|&number| *self.names.name(number) == name.id) {
                    within.insert(number);
                    if moved { self.lifted.insert(number) } else { self.own.insert(number) }
                }
            }
            let way = self.block(&handler.body, infos, &live_final, within, moved);
            if !info::sum(infos).raises {
                after.intersect(&way);
            }
            if let Some(name) = &handler.name {
                for number in info.binds.iter().filter(|&number| *self.names.name(number) == name.id) {
                    after.remove(number);
                }
            }
        }
        let mut after = self.block(&node.orelse, orelse, &live_final, after, moved);
        // `finally` may start anywhere in the body.
        let last = self.block(&node.finalbody, finalbody, live_out, defined, moved);
        after.union(&last);
        after
    }

    fn facts(&mut self, info: &Info, is_loop: bool, live_in: &Set, live_out: &Set, defined: &Set) {
        let mut outputs = live_out.clone();
        outputs.union(self.outer);
        outputs.intersect(&info.binds);
        let mut inputs = live_in.clone();
        inputs.intersect(&info.binds);
        inputs.subtract(&outputs);
        let variable = |name: &Name, number: u32| Variable {
            name: name.clone(),
            place: None,
            maybe_undefined: !defined.contains(number)
                || self.names.deleted.contains(number)
                || self.names.bound_within.contains(number),
        };
        let of = |set: &Set| {
            set.iter().map(|number| variable(self.names.name(number), number)).collect::<Vec<_>>()
        };
        let mut state = of(&outputs);
        let mut seen = FxHashSet::default();
        for place in &info.places {
            if (live_in.contains(place.root) || defined.contains(place.root)) && seen.insert(&place.text) {
                state.push(Variable {
                    name: place.text.clone(),
                    place: Some(place.target.clone()),
                    maybe_undefined: true,
                });
            }
        }
        state.sort_by(|a, b| a.name.cmp(&b.name));
        let outputs = state.len();
        let mut rest = of(&inputs);
        rest.sort_by(|a, b| a.name.cmp(&b.name));
        state.extend(rest);
        let bound = |position: usize| {
            let mut bound = Set::default();
            info.blocks.get(position).into_iter().flatten().for_each(|inner| bound.union(&inner.binds));
            bound
        };
        let mut body = bound(0);
        if is_loop {
            body.union(&info.head);
        }
        self.facts.push(Facts {
            state,
            outputs,
            bound: [body, bound(1)].map(|set| sorted(self.names, &set)),
        });
    }
}
