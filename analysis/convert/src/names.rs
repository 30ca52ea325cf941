//! Generated names: readable, unique and deterministic.

use std::cell::RefCell;

use ruff_python_ast::name::Name;
use ruff_python_ast::token::TokenKind;
use ruff_text_size::Ranged;
use rustc_hash::{FxHashMap, FxHashSet};

/// The identifiers of a file. Generated names differ from all of them.
pub(super) struct Identifiers<'a> {
    used: FxHashSet<&'a str>,
}

impl<'a> Identifiers<'a> {
    pub(super) fn new(text: &'a str, tokens: &[ruff_python_ast::token::Token]) -> Self {
        let names = tokens.iter().filter(|token| token.kind() == TokenKind::Name);
        Self { used: names.map(|token| &text[token.range()]).collect() }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.used.contains(name)
    }
}

/// Generates names for a function and the functions nested in it.
pub(super) struct Namer<'a> {
    identifiers: &'a Identifiers<'a>,
    counters: RefCell<FxHashMap<&'static str, u32>>,
}

impl<'a> Namer<'a> {
    pub(super) fn new(identifiers: &'a Identifiers<'a>) -> Self {
        Self { identifiers, counters: RefCell::default() }
    }

    /// `root_1`, `root_2`, …
    pub(super) fn numbered(&self, root: &'static str) -> Name {
        let first = self.fresh(root);
        if first == root { self.fresh(root) } else { first }
    }

    /// `root`, or `root_1`, `root_2`, … if it is used.
    pub(super) fn fresh(&self, root: &'static str) -> Name {
        let mut counters = self.counters.borrow_mut();
        let count = counters.entry(root).or_default();
        loop {
            let name = if *count == 0 { Name::new(root) } else { Name::new(format!("{root}_{count}")) };
            *count += 1;
            if !self.identifiers.contains(&name) {
                return name;
            }
        }
    }
}
