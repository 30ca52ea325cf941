//! Scopes: to which scope each name in a function belongs.

use std::collections::BTreeSet;

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Stmt};

use rustc_hash::FxHashSet;

use super::accesses::{self, Accesses, DefKind, Write};

/// The names in a function, by scope. `x.y` is listed under its root `x`.
///
/// ```python
/// def f(p):           # parameters: p
///     global g        # globals: g
///     y = other(p)    # locals: p, y, h; free: other
///     def h():
///         return y    # captured: y
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The parameters, in the order of the signature: positional-only, positional, keyword-only, `*args`, `**kwargs`.
    pub parameters: Vec<Name>,
    /// The names that the function binds, including its parameters.
    pub locals: BTreeSet<Name>,
    pub globals: BTreeSet<Name>,
    pub nonlocals: BTreeSet<Name>,
    /// The names that the function reads and that are not local: globals, builtins, variables of enclosing functions.
    pub free: BTreeSet<Name>,
    /// Local names that a nested function binds (`nonlocal`).
    pub closure_written: BTreeSet<Name>,
    /// Local names that a nested function reads.
    pub captured: BTreeSet<Name>,
}

impl Scope {
    /// Returns those parts of the scope that parameters and declarations determine.
    pub(super) fn declared(parameters: &ast::Parameters, accesses: &[Accesses]) -> Self {
        let parameters: Vec<Name> = self::parameters(parameters).cloned().collect();
        let globals: BTreeSet<Name> = accesses.iter().flat_map(|found| &found.globals).cloned().collect();
        let nonlocals: BTreeSet<Name> = accesses.iter().flat_map(|found| &found.nonlocals).cloned().collect();
        let annotated = accesses.iter().flat_map(|found| &found.declared);
        let annotated = annotated.filter(|name| !globals.contains(*name) && !nonlocals.contains(*name));
        let locals = parameters.iter().chain(annotated).cloned().collect();
        Self { locals, parameters, globals, nonlocals, ..Self::default() }
    }

    pub fn is_local(&self, name: &str) -> bool {
        self.locals.contains(name)
    }

    /// Returns whether the function declares `name` as `global` or `nonlocal`.
    pub fn is_declared_outer(&self, name: &str) -> bool {
        self.globals.contains(name) || self.nonlocals.contains(name)
    }
}

/// The variables of one scope, found without dataflow. The scope is a function, a lambda or a statement list.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    /// The parameters, and all names that are bound or deleted, except those declared `global` or `nonlocal`.
    pub bound: FxHashSet<Name>,
    pub globals: FxHashSet<Name>,
    pub nonlocals: FxHashSet<Name>,
    /// The names of enclosing scopes (including the module and builtins) that this scope or a nested one uses.
    pub free: FxHashSet<Name>,
}

impl Variables {
    pub fn of_function(def: &ast::StmtFunctionDef) -> Self {
        Self::new(Some(&def.parameters), accesses::of_scope(&def.body, None))
    }

    pub fn of_lambda(lambda: &ast::ExprLambda) -> Self {
        Self::new(lambda.parameters.as_deref(), accesses::of_scope(&[], Some(&lambda.body)))
    }

    pub fn of_statements(body: &[Stmt]) -> Self {
        Self::new(None, accesses::of_scope(body, None))
    }

    fn new(parameters: Option<&ast::Parameters>, found: Accesses) -> Self {
        let mut own = Self::default();
        own.globals.extend(found.globals);
        own.nonlocals.extend(found.nonlocals);
        let (closures, written): (Vec<Write>, Vec<Write>) =
            found.writes.into_iter().partition(|write| write.kind == DefKind::Closure);
        let written = written.into_iter().map(|write| write.name.root_name().clone());
        let parameters = parameters.into_iter().flat_map(self::parameters).cloned();
        for name in written.chain(found.declared).chain(parameters) {
            if !own.globals.contains(&name) && !own.nonlocals.contains(&name) {
                own.bound.insert(name);
            }
        }
        let closures = closures.iter().map(|write| &write.name);
        let read = found.reads.iter().chain(&found.captures).chain(closures).map(|name| name.root_name());
        for name in read.chain(&own.nonlocals) {
            if !own.bound.contains(name) && !own.globals.contains(name) && !own.free.contains(name) {
                own.free.insert(name.clone());
            }
        }
        own
    }

    /// Returns all names that are assigned here, including those declared `global` or `nonlocal`.
    pub fn assigned(self) -> FxHashSet<Name> {
        let Self { mut bound, globals, nonlocals, .. } = self;
        bound.extend(globals);
        bound.extend(nonlocals);
        bound
    }
}

pub(super) fn parameters(parameters: &ast::Parameters) -> impl Iterator<Item = &Name> {
    parameters.iter().map(|parameter| &parameter.name().id).filter(|name| !name.is_empty())
}
