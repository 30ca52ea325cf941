//! Turns the constraints of a file into cells, edges and uses.

use std::sync::Arc;

use ag_index::ids::DocumentIndex;
use ag_index::roots::RootTarget;
use ag_index::value_flow::{Constraint, FileFlow, Node, Part};
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;
use rustc_hash::FxHashMap;

use super::StagingFunction;
use super::lookup::MAX_REEXPORTS;
use super::solve::Solver;
use super::values::{Field, Origin, Use, Value, class_id};

impl Solver<'_> {
    pub(super) fn add_file(&mut self, document: DocumentIndex) {
        let flow = Arc::clone(&self.flows[document]);
        for constraint in &flow.code.constraints {
            self.add_constraint(document, constraint);
        }
        for (position, call) in flow.code.calls.iter().enumerate() {
            let callee = self.cell(document, call.callee);
            self.add_use(callee, Use::Call { document, call: position as u32, is_method: false });
        }
        self.add_roots(document, &flow);
    }

    pub(super) fn add_constraint(&mut self, document: DocumentIndex, constraint: &Constraint) {
        let first_cell = self.first_cells[document];
        let cell = |node: &Node| first_cell + node.as_u32();
        match constraint {
            Constraint::Copy { from, to } => {
                let (from, to) = (cell(from), cell(to));
                self.edge(from, to);
            }
            Constraint::Function { function, to } => {
                let index = self.modules.indices[document];
                let dispatches = |name: &Name| name.contains("dispatch");
                if index.signatures.get(*function).is_some_and(|own| own.decorators.iter().any(dispatches)) {
                    self.dispatchers.insert((document, *function), cell(to));
                }
                self.add(cell(to), Value::Function { document, function: *function, bound: 0 });
            }
            Constraint::Lambda { lambda, to } => {
                self.add(cell(to), Value::Lambda { document, lambda: *lambda, bound: 0 });
            }
            Constraint::Class { class, to } => {
                self.add(cell(to), Value::Class(class_id(document, *class)));
            }
            Constraint::Type { class, to } => {
                let class = class_id(document, *class);
                self.add(cell(to), Value::Class(class));
                self.add(cell(to), Value::Derived(class));
            }
            Constraint::Instance { class, to } => {
                let to = cell(to);
                let instance = self.instance_of(class_id(document, *class));
                self.add(to, instance);
            }
            Constraint::Import { name, to } => {
                let to = cell(to);
                self.import(document, name, to, MAX_REEXPORTS);
            }
            Constraint::Load { base, name, to, site } => {
                let (base, to) = (cell(base), cell(to));
                let name = self.name_id(name);
                self.add_use(base, Use::Load { name, to, site: Some((document, *site)) });
            }
            Constraint::Super { base, class, name, to, site } => {
                let (base, to) = (cell(base), cell(to));
                let name = self.name_id(name);
                let site = (document, *site);
                self.add_use(base, Use::Super { class: class_id(document, *class), name, to, site });
            }
            Constraint::Store { base, name, from, site } => {
                let (base, from) = (cell(base), cell(from));
                let name = self.name_id(name);
                self.add_use(base, Use::Store { name, from, site: Some((document, *site)) });
            }
            Constraint::Display { to, open } => {
                let to = cell(to);
                let container = self.object(Origin::Display(to), None);
                if *open {
                    self.add(to, Value::Container(container));
                } else {
                    let all = self.field(container, Field::All);
                    self.add_use(all, Use::Fill { container, to });
                }
            }
            Constraint::Element { base, part, to, site } => {
                let (base, to) = (cell(base), cell(to));
                let field = match part {
                    Part::Any => Field::All,
                    part => self.field_of(part),
                };
                self.add_use(base, Use::Element { field, to, site: Some((document, *site)) });
            }
            Constraint::Put { base, part, from } => {
                let (base, from) = (cell(base), cell(from));
                let field = self.field_of(part);
                self.put(base, field, from);
            }
            Constraint::Method { base, operation, to, site } => {
                let (base, to) = (cell(base), cell(to));
                self.add_use(base, Use::Method { operation: *operation, to, site: (document, *site) });
            }
            Constraint::Register { base, from } => {
                let (base, from) = (cell(base), cell(from));
                self.add_use(base, Use::Register { from });
            }
            Constraint::TestArgument { function, name, from } => {
                let from = cell(from);
                self.add_test_argument(document, *function, name.as_ref(), from);
            }
        }
    }

    /// Adds uses for the arguments of roots whose functions are not known by name.
    pub(super) fn add_roots(&mut self, document: DocumentIndex, flow: &FileFlow) {
        let index = self.modules.indices[document];
        let sites = index.roots.iter_enumerated();
        let sites = sites.filter(|(_, site)| matches!(site.target, RootTarget::Reference(_)));
        let mut sites = sites.peekable();
        if sites.peek().is_none() {
            return;
        }
        let by_range: FxHashMap<TextRange, usize> =
            flow.code.calls.iter().enumerate().map(|(at, call)| (flow.ranges[call.site], at)).collect();
        for (position, site) in sites {
            let Some(call) = by_range.get(&site.range).and_then(|at| flow.code.calls.get(*at)) else {
                continue;
            };
            let staged_by = StagingFunction::Site(position);
            let keywords = call.keywords.iter().map(|(_, node)| *node);
            for (at, node) in call.positional.iter().copied().flatten().chain(keywords).enumerate() {
                let cell = self.cell(document, node);
                self.add_use(cell, Use::Root { document, site: call.site, staged_by, is_first: at == 0 });
            }
        }
    }
}
