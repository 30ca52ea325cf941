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
        let mut end = absolute.len();
        loop {
            if let Some(module) = self.modules.positions.get(&absolute[..end]).copied() {
                let mut rest = absolute[end..].split('.').filter(|part| !part.is_empty());
                match rest.next() {
                    None => {
                        self.add(to, Value::Module(module));
                        // `from pkg import name`, where `pkg` has a function and a module of this name
                        if let Some((package, name)) = absolute.rsplit_once('.')
                            && let Some(package) = self.modules.positions.get(package).copied()
                            && self.modules.indices[package]
                                .imports
                                .get(name)
                                .is_some_and(|own| *own != absolute)
                        {
                            self.export(package, name, to, steps);
                        }
                    }
                    Some(first) => {
                        let rest: Vec<&str> = rest.collect();
                        let mut from = if rest.is_empty() { to } else { self.new_cell() };
                        self.export(module, first, from, steps);
                        for (position, name) in rest.iter().enumerate() {
                            let next = if position + 1 == rest.len() { to } else { self.new_cell() };
                            let name = self.name_id(name);
                            self.add_use(from, Use::Load { name, to: next, site: None });
                            from = next;
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

    /// Adds the value of a variable of a module.
    pub(super) fn export(&mut self, module: DocumentIndex, name: &str, to: Cell, steps: u8) {
        if let Some(node) = self.flows[module].code.globals.get(name) {
            let from = self.cell(module, *node);
            self.edge(from, to);
            return;
        }
        let index = self.modules.indices[module];
        if let Some(dotted) = index.imports.get(name) {
            return self.import(module, dotted, to, steps);
        }
        // `from .layers import *`. Several modules may have the name, if branches import them.
        let Some(steps) = steps.checked_sub(1) else { return };
        let others = self.modules.starred(module);
        let has_name = |other: &DocumentIndex| {
            self.flows[*other].code.globals.contains_key(name)
                || self.modules.indices[*other].imports.get(name).is_some()
        };
        let found: Vec<_> = others.into_iter().filter(has_name).take(MAX_STARS).collect();
        for other in found {
            self.export(other, name, to, steps);
        }
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
