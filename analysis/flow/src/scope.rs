//! The scope of the function: where each of its names lives.

use std::collections::BTreeSet;

use ruff_python_ast as ast;
use ruff_python_ast::name::Name;

use super::accesses::Accesses;

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
    /// The scope as far as the function declares it.
    pub(super) fn declared(def: &ast::StmtFunctionDef, accesses: &[Accesses]) -> Self {
        let parameters: Vec<Name> = parameters(&def.parameters).cloned().collect();
        Self {
            locals: parameters.iter().cloned().collect(),
            parameters,
            globals: accesses.iter().flat_map(|found| &found.globals).cloned().collect(),
            nonlocals: accesses.iter().flat_map(|found| &found.nonlocals).cloned().collect(),
            ..Self::default()
        }
    }

    pub fn is_local(&self, name: &str) -> bool {
        self.locals.contains(name)
    }

    /// Whether the function declares it `global` or `nonlocal`.
    pub fn is_declared_outer(&self, name: &str) -> bool {
        self.globals.contains(name) || self.nonlocals.contains(name)
    }
}

pub(super) fn parameters(parameters: &ast::Parameters) -> impl Iterator<Item = &Name> {
    parameters.iter().map(|parameter| &parameter.name().id).filter(|name| !name.is_empty())
}
