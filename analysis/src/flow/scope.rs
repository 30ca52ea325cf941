//! Names by scope: what a nested scope takes from the one around it, and the scope of the function.

use std::collections::BTreeSet;

use ruff_python_ast as ast;
use ruff_python_ast::name::Name;

use super::accesses::{Accesses, DefKind, Walker, Write};
use crate::syntax::qname::QName;

/// Into how many nested functions, lambdas, classes and comprehensions the walk goes.
const MAX_DEPTH: u32 = 64;

/// The names of a function by where they live; `x` counts wherever `x.y` does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// In the order of the signature: positional-only, positional, keyword-only, `*args`, `**kwargs`.
    pub parameters: Vec<Name>,
    /// Bound in the function, parameters included.
    pub locals: BTreeSet<Name>,
    pub globals: BTreeSet<Name>,
    pub nonlocals: BTreeSet<Name>,
    /// Read, and not local: globals, builtins, variables of enclosing functions.
    pub free: BTreeSet<Name>,
    /// Local, and bound by a nested function (`nonlocal`).
    pub closure_written: BTreeSet<Name>,
    /// Local, and read by a nested function after its definition.
    pub captured: BTreeSet<Name>,
}

impl Scope {
    pub(super) fn new<'a>(
        def: &ast::StmtFunctionDef,
        accesses: impl Iterator<Item = &'a Accesses> + Clone,
    ) -> Self {
        let parameters: Vec<Name> = parameters(&def.parameters).cloned().collect();
        let mut scope =
            Self { locals: parameters.iter().cloned().collect(), parameters, ..Self::default() };
        for found in accesses.clone() {
            scope.globals.extend(found.globals.iter().cloned());
            scope.nonlocals.extend(found.nonlocals.iter().cloned());
        }
        let outer = |scope: &Self, name: &Name| {
            scope.globals.contains(name) || scope.nonlocals.contains(name)
        };
        let mut closure_written = Vec::new();
        for write in
            accesses.clone().flat_map(|found| &found.writes).filter(|write| write.name.is_simple())
        {
            let name = write.name.root_name();
            if write.kind == DefKind::Closure {
                closure_written.push(name);
            } else if !outer(&scope, name) {
                scope.locals.insert(name.clone());
            }
        }
        for name in closure_written {
            if scope.locals.contains(name) {
                scope.closure_written.insert(name.clone());
            }
        }
        for found in accesses {
            for name in found.captures.iter().map(QName::root_name) {
                if scope.locals.contains(name) {
                    scope.captured.insert(name.clone());
                } else {
                    scope.free.insert(name.clone());
                }
            }
            for name in found.reads.iter().map(QName::root_name) {
                if !scope.locals.contains(name) {
                    scope.free.insert(name.clone());
                }
            }
        }
        scope
    }

    pub fn is_local(&self, name: &str) -> bool {
        self.locals.contains(name)
    }

    /// Whether the function declares it `global` or `nonlocal`.
    pub fn is_declared_outer(&self, name: &str) -> bool {
        self.globals.contains(name) || self.nonlocals.contains(name)
    }
}

fn parameters(parameters: &ast::Parameters) -> impl Iterator<Item = &Name> {
    parameters.iter().map(|parameter| &parameter.name().id).filter(|name| !name.is_empty())
}

/// What a nested scope has to do with the scope around it.
#[derive(Default)]
pub(super) struct Inner {
    /// Read from it: at once by classes and comprehensions, when called by functions.
    pub(super) free: Vec<QName>,
    /// Read by functions within a class or comprehension.
    pub(super) captures: Vec<QName>,
    /// Bound in it: `nonlocal` names, attributes of free names, the walrus of a comprehension.
    pub(super) writes: Vec<Write>,
    pub(super) too_deep: bool,
}

/// Of a `def` or lambda.
pub(super) fn of_function<'a>(
    parameters: &'a ast::Parameters,
    depth: u32,
    walk: impl FnOnce(&mut Walker<'a>),
) -> Inner {
    let mut found = collect(depth, walk);
    let free = std::mem::take(&mut found.captures);
    found.reads.extend(free);
    let own = self::parameters(parameters).cloned().collect();
    enclosed(found, own)
}

/// Of a class, whose methods do not see its own names.
pub(super) fn of_class<'a>(depth: u32, walk: impl FnOnce(&mut Walker<'a>)) -> Inner {
    let mut found = collect(depth, walk);
    let captures = std::mem::take(&mut found.captures);
    Inner { captures, ..enclosed(found, Vec::new()) }
}

/// Of a comprehension: its targets are its own, a walrus binds outside.
pub(super) fn of_comprehension<'a>(depth: u32, walk: impl FnOnce(&mut Walker<'a>)) -> Inner {
    let mut found = collect(depth, walk);
    let outside = |write: &Write| write.kind == DefKind::Walrus;
    let mut walrus: Vec<Write> = found.writes.extract_if(.., |write| outside(write)).collect();
    let mut inner = enclosed(found, Vec::new());
    inner.writes.append(&mut walrus);
    for write in &mut inner.writes {
        write.certain = false;
    }
    inner
}

fn collect<'a>(depth: u32, walk: impl FnOnce(&mut Walker<'a>)) -> Accesses {
    if depth >= MAX_DEPTH {
        return Accesses { too_deep: true, ..Accesses::default() };
    }
    let mut walker = Walker::nested(depth + 1);
    walk(&mut walker);
    walker.finish()
}

/// Takes from the accesses of a scope those that concern names which are not its own.
fn enclosed(found: Accesses, mut own: Vec<Name>) -> Inner {
    let declared = |name: &Name| found.globals.contains(name) || found.nonlocals.contains(name);
    let bound = found
        .writes
        .iter()
        .filter(|write| write.name.is_simple() && write.kind != DefKind::Closure);
    own.extend(bound.map(|write| write.name.root_name()).filter(|name| !declared(name)).cloned());
    own.sort_unstable();
    let outer = |name: &QName| {
        own.binary_search(name.root_name()).is_err() && !found.globals.contains(name.root_name())
    };
    Inner {
        free: found.reads.into_iter().filter(outer).collect(),
        captures: found.captures.into_iter().filter(outer).collect(),
        writes: found.writes.into_iter().filter(|write| outer(&write.name)).collect(),
        too_deep: found.too_deep,
    }
}
