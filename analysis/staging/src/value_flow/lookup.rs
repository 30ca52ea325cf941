//! Resolves names: imports, variables of modules, attributes of classes.

use std::sync::Arc;

use ag_index::ids::{ClassIndex, DocumentIndex};
use ag_syntax::imports;
use ruff_python_ast::name::Name;

use super::solve::Solver;
use super::values::{Cell, Use, Value};
use crate::hierarchy::ClassId;

/// The maximum number of modules from which `from module import *` imports one name.
const MAX_STARS: usize = 8;
/// Longer chains of re-exports are not followed.
pub(super) const MAX_REEXPORTS: u8 = 8;

impl Solver<'_> {
    /// Adds the values that a dotted name refers to.
    pub(super) fn import(&mut self, document: DocumentIndex, dotted: &str, to: Cell, steps: u8) {
        let Some(steps) = steps.checked_sub(1) else { return };
        let Some(absolute) = self.modules.absolute(document, dotted) else { return };
        let absolute = imports::canonical(&absolute);
        self.rebound(&absolute, to, steps);
        let mut end = absolute.len();
        loop {
            if let Some(module) = self.modules.positions.get(&absolute[..end]).copied() {
                let mut rest = absolute[end..].split('.').filter(|part| !part.is_empty());
                match rest.next() {
                    None => self.add(to, Value::Module(module)),
                    Some(first) => {
                        let rest: Vec<&str> = rest.collect();
                        let from = self.start_of(&rest, to);
                        // The project contains only a part of the package.
                        if !self.export(module, first, from, steps) {
                            break;
                        }
                    }
                }
                return;
            }
            match absolute[..end].rfind('.') {
                Some(at) => end = at,
                None => break,
            }
        }
        let library = self.library(&absolute);
        self.add(to, library);
    }

    /// Returns a new cell. The attribute `names` of its values flows to `to`. Returns `to` itself if there are no
    /// names.
    fn start_of(&mut self, names: &[&str], to: Cell) -> Cell {
        names.iter().rev().fold(to, |to, name| {
            let from = self.new_cell();
            let name = self.name_id(name);
            self.add_use(from, Use::Load { name, to, site: None });
            from
        })
    }

    /// Follows a dotted name of a module whose package binds the last part of this name to another value:
    ///
    /// ```python
    /// # pkg/backend/__init__.py; the package contains a module `numpy`, too
    /// if backend() == "jax":
    ///     from pkg.backend.jax import *    # a module `numpy` is among its names
    /// ```
    fn rebound(&mut self, absolute: &str, to: Cell, steps: u8) {
        for (at, _) in absolute.match_indices('.') {
            let (package, rest) = (&absolute[..at], &absolute[at + 1..]);
            let mut names = rest.split('.');
            let Some(package_index) = self.modules.positions.get(package).copied() else { continue };
            let Some(name) = names.next() else { continue };
            let module = &absolute[..at + 1 + name.len()];
            let imports = &self.modules.indices[package_index].imports;
            let is_bound = match imports.get(name) {
                Some(own) => *own != *module && own.trim_start_matches('.') != name,
                None => !imports.stars().is_empty(),
            };
            if is_bound && self.modules.positions.contains_key(module) {
                let names: Vec<&str> = names.collect();
                let from = self.start_of(&names, to);
                self.export(package_index, name, from, steps);
            }
        }
    }

    /// Adds the value of a variable of a module. Returns whether the module has the variable.
    pub(super) fn export(&mut self, module: DocumentIndex, name: &str, to: Cell, steps: u8) -> bool {
        if let Some(node) = self.flows[module].code.globals.get(name) {
            let from = self.cell(module, *node);
            self.edge(from, to);
            return true;
        }
        let index = self.modules.indices[module];
        if let Some(dotted) = index.imports.get(name) {
            for dotted in std::iter::once(dotted).chain(index.imports.alternatives(name)) {
                self.import(module, dotted, to, steps);
            }
            return true;
        }
        // `from .layers import *`. Several modules may have the name, if branches import them.
        let Some(steps) = steps.checked_sub(1) else { return true };
        let others = self.modules.starred(module);
        let has_name = |other: &DocumentIndex| {
            self.flows[*other].code.globals.contains_key(name)
                || self.modules.indices[*other].imports.get(name).is_some()
        };
        let found: Vec<_> = others.into_iter().filter(has_name).take(MAX_STARS).collect();
        for other in &found {
            self.export(*other, name, to, steps);
        }
        !found.is_empty()
    }

    pub(super) fn module_attribute(&mut self, module: DocumentIndex, name: u32, to: Cell) {
        let name = self.names[name as usize].clone();
        self.export(module, &name, to, MAX_REEXPORTS);
        let submodule =
            self.modules.names[module].as_ref().map(|module| Name::new(format!("{module}.{name}")));
        if let Some(submodule) = submodule.and_then(|name| self.modules.positions.get(&name).copied()) {
            self.add(to, Value::Module(submodule));
        }
    }

    pub(super) fn lookup_order(&mut self, class: ClassId) -> Arc<[ClassId]> {
        let hierarchy = self.hierarchy;
        let order = self.orders.entry(class).or_insert_with(|| hierarchy.lookup_order(class).into());
        Arc::clone(order)
    }

    /// Returns the cell of a name that is bound in the body of a class or of one of its bases.
    pub(super) fn class_attribute(&mut self, class: ClassId, name: u32) -> Option<Cell> {
        if let Some(known) = self.attributes.get(&(class, name)) {
            return *known;
        }
        let text = self.names[name as usize].clone();
        let order = self.lookup_order(class);
        let found = order.iter().find_map(|class| self.own_attribute(*class, &text));
        self.attributes.insert((class, name), found);
        found
    }

    pub(super) fn own_attribute(&self, class: ClassId, name: &Name) -> Option<Cell> {
        let key: (ClassIndex, Name) = (class.class, name.clone());
        let node = self.flows.get(class.document)?.code.attributes.get(&key)?;
        Some(self.cell(class.document, *node))
    }
}
