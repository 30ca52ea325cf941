//! Propagates values along the constraints of all files until nothing changes.

use std::collections::VecDeque;
use std::sync::Arc;

use ag_db::{Db, Document};
use ag_index::callbacks;
use ag_index::ids::{ClassIndex, DocumentIndex, FunctionIndex};
use ag_index::roots::{self, RootTarget};
use ag_index::value_flow::{Constraint, FileFlow, Node, Operation, Owner, Part, SiteIndex, file_flow};
use ag_syntax::imports;
use ruff_index::{IndexSlice, IndexVec};
use ruff_python_ast::name::Name;
use ruff_text_size::TextRange;
use rustc_hash::{FxHashMap, FxHashSet};

use super::libraries::{GIVERS, LOOPS, OF_ELEMENTS, RECORD};
use super::values::{Cell, Field, Missing, Object, Origin, Use, Value, Values, class_id};
use super::{Callable, PossibleCall, PossibleCalls, PossibleRoot, Stager};
use crate::hierarchy::{ClassId, Hierarchy, Modules};

/// A bound on the work, in values that are used. Calls that are not found by then are missing.
const MAX_STEPS: usize = 3_000_000;
/// More classes that define a method say nothing of a call.
const MAX_OVERRIDES: usize = 64;
/// Methods and attributes of arrays and containers, too.
const OF_ARRAYS: [&str; 36] = [
    "all",
    "any",
    "append",
    "at",
    "clear",
    "conj",
    "copy",
    "device",
    "diagonal",
    "dtype",
    "flatten",
    "get",
    "index",
    "items",
    "keys",
    "max",
    "mean",
    "min",
    "ndim",
    "pop",
    "prod",
    "ravel",
    "repeat",
    "replace",
    "reshape",
    "round",
    "set",
    "shape",
    "size",
    "sort",
    "sum",
    "transpose",
    "T",
    "update",
    "values",
    "var",
];
/// Longer chains of re-exports are not followed.
const MAX_REEXPORTS: u8 = 8;

pub(super) struct Solver<'a> {
    pub(super) flows: IndexVec<DocumentIndex, Arc<FileFlow>>,
    pub(super) modules: Modules<'a>,
    pub(super) hierarchy: &'a Hierarchy,
    first: IndexVec<DocumentIndex, Cell>,
    values: Vec<Values>,
    successors: Vec<Vec<Cell>>,
    uses: Vec<Vec<Use>>,
    edges: FxHashSet<(Cell, Cell)>,
    known_uses: FxHashSet<(Cell, Use)>,
    /// Uses of values that are propagated already.
    meetings: VecDeque<(Use, Value)>,
    /// A cell for each of its values that is not propagated yet.
    queue: VecDeque<Cell>,
    pub(super) objects: Vec<Object>,
    origins: FxHashMap<Origin, u32>,
    pub(super) names: Vec<Name>,
    numbers: FxHashMap<Name, u32>,
    orders: FxHashMap<ClassId, Arc<[ClassId]>>,
    attributes: FxHashMap<(ClassId, u32), Option<Cell>>,
    pub(super) special: FxHashMap<(ClassId, Operation), Arc<[Cell]>>,
    /// Where a function that dispatches is defined, by its document and index.
    dispatchers: FxHashMap<(DocumentIndex, FunctionIndex), Cell>,
    passed_on: FxHashMap<u32, bool>,
    pub(super) missing: Vec<Missing>,
    /// The functions that flatten and restore the objects of a class, by the class that is registered.
    pub(super) pytrees: FxHashMap<ClassId, Cell>,
    calls: FxHashMap<(Callable, Callable), SiteIndex>,
    roots: FxHashMap<(DocumentIndex, Stager, Callable), SiteIndex>,
    steps: usize,
}

pub(super) fn solve(
    db: &dyn Db,
    documents: &IndexSlice<DocumentIndex, Document>,
    hierarchy: &Hierarchy,
) -> PossibleCalls {
    let flows: IndexVec<DocumentIndex, Arc<FileFlow>> =
        documents.iter().map(|document| Arc::clone(file_flow(db, *document))).collect();
    let mut first = IndexVec::new();
    let mut cells = 0;
    for flow in &flows {
        first.push(cells);
        cells += flow.code.nodes;
    }
    let mut solver = Solver {
        flows,
        modules: Modules::of(db, documents),
        hierarchy,
        first,
        values: Vec::new(),
        successors: Vec::new(),
        uses: Vec::new(),
        edges: FxHashSet::default(),
        known_uses: FxHashSet::default(),
        meetings: VecDeque::new(),
        queue: VecDeque::new(),
        objects: Vec::new(),
        origins: FxHashMap::default(),
        names: Vec::new(),
        numbers: FxHashMap::default(),
        orders: FxHashMap::default(),
        attributes: FxHashMap::default(),
        special: FxHashMap::default(),
        dispatchers: FxHashMap::default(),
        passed_on: FxHashMap::default(),
        missing: Vec::new(),
        pytrees: FxHashMap::default(),
        calls: FxHashMap::default(),
        roots: FxHashMap::default(),
        steps: 0,
    };
    solver.grow(cells as usize);
    for document in solver.flows.indices() {
        solver.add_file(document);
    }
    solver.run();
    while solver.load_missing() | solver.skip_decorators() | solver.load_abstract() {
        solver.run();
    }
    solver.note_pytrees();
    solver.finish()
}

impl<'a> Solver<'a> {
    fn grow(&mut self, cells: usize) {
        self.values.resize_with(cells, Values::default);
        self.successors.resize_with(cells, Vec::new);
        self.uses.resize_with(cells, Vec::new);
    }

    pub(super) fn new_cell(&mut self) -> Cell {
        self.grow(self.values.len() + 1);
        (self.values.len() - 1) as Cell
    }

    pub(super) fn cell(&self, document: DocumentIndex, node: Node) -> Cell {
        self.first[document] + node.as_u32()
    }

    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(Name::new(name));
        self.numbers.insert(Name::new(name), number);
        number
    }

    pub(super) fn library(&mut self, name: &str) -> Value {
        Value::Library(self.number(name))
    }

    pub(super) fn field_of(&mut self, part: &Part) -> Field {
        match part {
            Part::Position(position) => Field::Position(*position),
            Part::Key(key) => Field::Name(self.number(key)),
            Part::Any => Field::Unknown,
        }
    }

    pub(super) fn object(&mut self, origin: Origin, class: Option<ClassId>) -> u32 {
        let next = self.objects.len() as u32;
        let object = *self.origins.entry(origin).or_insert(next);
        if object == next {
            self.objects.push(Object { class, ..Object::default() });
        }
        object
    }

    /// The container of a display, unless the cell may have other values.
    pub(super) fn display(&self, cell: Cell) -> Option<Value> {
        self.origins.get(&Origin::Display(cell)).map(|object| Value::Container(*object))
    }

    pub(super) fn field(&mut self, object: u32, field: Field) -> Cell {
        if let Some(cell) = self.objects[object as usize].fields.get(&field) {
            return *cell;
        }
        let cell = self.new_cell();
        self.objects[object as usize].fields.insert(field, cell);
        cell
    }

    pub(super) fn add(&mut self, cell: Cell, value: Value) {
        if self.values[cell as usize].insert(value) {
            self.queue.push_back(cell);
        }
    }

    pub(super) fn values_of(&self, cell: Cell) -> Vec<Value> {
        self.values[cell as usize].list.clone()
    }

    pub(super) fn edge(&mut self, from: Cell, to: Cell) {
        if from != to && self.edges.insert((from, to)) {
            self.successors[from as usize].push(to);
            // The other values follow when they are taken out of the queue.
            for position in 0..self.values[from as usize].done {
                let value = self.values[from as usize].list[position];
                let is_kept = matches!(value, Value::Library(name) if !self.is_passed_on(name));
                if !is_kept {
                    self.add(to, value);
                }
            }
        }
    }

    pub(super) fn on(&mut self, cell: Cell, use_: Use) {
        if !self.known_uses.insert((cell, use_)) {
            return;
        }
        self.uses[cell as usize].push(use_);
        // The other values meet the use when they are taken out of the queue.
        for position in 0..self.values[cell as usize].done {
            let value = self.values[cell as usize].list[position];
            if use_.matters_to(value) {
                self.meetings.push_back((use_, value));
            }
        }
    }

    fn run(&mut self) {
        while self.steps < MAX_STEPS {
            if let Some((use_, value)) = self.meetings.pop_front() {
                self.meet(use_, value);
                continue;
            }
            let Some(cell) = self.queue.pop_front() else { return };
            let values = &mut self.values[cell as usize];
            let value = values.list[values.done];
            values.done += 1;
            // Most library functions are called where they are named.
            if let Value::Library(name) = value
                && !self.is_passed_on(name)
            {
                self.meet_all(cell, value);
                continue;
            }
            for position in 0..self.successors[cell as usize].len() {
                let to = self.successors[cell as usize][position];
                self.add(to, value);
            }
            self.meet_all(cell, value);
        }
    }

    fn meet_all(&mut self, cell: Cell, value: Value) {
        for position in 0..self.uses[cell as usize].len() {
            let use_ = self.uses[cell as usize][position];
            if use_.matters_to(value) {
                self.meetings.push_back((use_, value));
            }
        }
    }

    /// Whether a name outside the project flows on: what becomes of its arguments is known.
    fn is_passed_on(&mut self, number: u32) -> bool {
        if let Some(known) = self.passed_on.get(&number) {
            return *known;
        }
        let name = &self.names[number as usize];
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_passed_on = name.starts_with("functools.")
            || name == RECORD
            || OF_ELEMENTS.contains(&last)
            || LOOPS.contains(&last)
            || roots::wrapper_of_any(name).is_some()
            || callbacks::caller(name).is_some()
            || GIVERS.iter().any(|(giver, ..)| giver == name);
        self.passed_on.insert(number, is_passed_on);
        is_passed_on
    }

    fn meet(&mut self, use_: Use, value: Value) {
        self.steps += 1;
        match use_ {
            Use::Load { name, to, site } => self.load(value, name, to, site),
            Use::Super { class, name, to, site } => self.load_above(value, class, name, to, site),
            Use::Store { name, from, site } => self.store(value, name, from, site),
            Use::Set { receiver, from, site } => self.set(value, receiver, from, site),
            Use::Element { field, to, site } => self.element(value, field, to, site),
            Use::Hold { object, to } => self.add(to, Value::Instance(object)),
            Use::Fill { container, to } => self.add(to, Value::Container(container)),
            Use::Put { field, from } => self.put_into(value, field, from),
            Use::Method { operation, to, site } => self.operate(value, operation, to, site),
            Use::Call { document, call } => self.call(value, document, call),
            Use::Invoke { to, site } => self.invoke(value, to, site),
            Use::Bind { receiver, to, site } => self.bind(value, receiver, to, site),
            Use::Meta { class, operation, site } => self.call_metaclass(value, class, operation, site),
            Use::Register { from } => self.register(value, from),
            Use::Get { receiver, to, site } => self.get(value, receiver, to, site),
            Use::Gives { attribute, library } => self.gives(value, attribute, library),
            Use::Registered { document, call } => self.registered(value, document, call),
            Use::Partial { document, call } => self.partial(value, document, call),
            Use::Passed { document, call, keeps, within } => {
                self.passed(value, document, call, keeps, within);
            }
            Use::Applied { position, from } => self.applied(value, position, from),
            Use::Root { document, site, stager, is_first } => {
                self.root(value, document, site, stager, is_first);
            }
            Use::GivenWithin { document, function, depth } => {
                if let Value::Container(_) = value {
                    self.given(value, document, function, depth);
                }
            }
            Use::Plain { to } => {
                if !matches!(value, Value::Container(_)) {
                    self.add(to, value);
                }
            }
            Use::Given { document, function, depth } => self.given(value, document, function, depth),
        }
    }

    fn add_file(&mut self, document: DocumentIndex) {
        let flow = Arc::clone(&self.flows[document]);
        for constraint in &flow.code.constraints {
            self.add_constraint(document, constraint);
        }
        for (position, call) in flow.code.calls.iter().enumerate() {
            let callee = self.cell(document, call.callee);
            self.on(callee, Use::Call { document, call: position as u32 });
        }
        self.add_roots(document, &flow);
    }

    /// What dispatches flows together with the functions that are registered.
    fn register(&mut self, value: Value, from: Cell) {
        if let Value::Function { document, function, .. } = value
            && let Some(dispatcher) = self.dispatchers.get(&(document, function)).copied()
        {
            self.edge(from, dispatcher);
        }
    }

    /// Methods of objects of which nothing is known, if their names are those of abstract methods of one hierarchy: an
    /// interface of the project. Returns whether there are any.
    fn load_abstract(&mut self) -> bool {
        let interfaces = self.interfaces();
        let mut found = false;
        for document in self.flows.indices().filter(|_| !interfaces.is_empty()) {
            let flow = Arc::clone(&self.flows[document]);
            for constraint in &flow.code.constraints {
                let Constraint::Load { base, name, to, site } = constraint else { continue };
                let Some(classes) = interfaces.get(name) else { continue };
                if !self.values[self.cell(document, *base) as usize].list.is_empty() {
                    continue;
                }
                let to = self.cell(document, *to);
                for class in classes {
                    let receiver = self.instance_of(*class);
                    let use_ = Use::Bind { receiver, to, site: Some((document, *site)) };
                    if let Some(attribute) = self.own_attribute(*class, name)
                        && !self.known_uses.contains(&(attribute, use_))
                    {
                        self.on(attribute, use_);
                        found = true;
                    }
                }
            }
        }
        found
    }

    /// The classes that define an abstract method, by its name, where all are derived from one that declares it.
    fn interfaces(&mut self) -> FxHashMap<Name, Vec<ClassId>> {
        let mut definitions: FxHashMap<Name, (Vec<ClassId>, bool)> = FxHashMap::default();
        for (document, index) in self.modules.indices.iter_enumerated() {
            for (function, entry) in index.definitions.functions.iter_enumerated() {
                let Some(class) = entry.class else { continue };
                let is_abstract =
                    |name: &Name| matches!(name.as_str(), "abstractmethod" | "abstractproperty");
                let signature = index.signatures.get(function);
                let is_abstract = signature.is_some_and(|own| own.decorators.iter().any(is_abstract));
                let known = definitions.entry(Name::new(index.short_name(function))).or_default();
                known.0.push(class_id(document, class));
                known.1 |= is_abstract;
            }
        }
        definitions.retain(|name, (_, is_abstract)| *is_abstract && !OF_ARRAYS.contains(&name.as_str()));
        let mut interfaces = FxHashMap::default();
        for (name, (classes, _)) in definitions {
            let shared = |candidate: &ClassId| {
                classes.iter().all(|class| self.hierarchy.lookup_order(*class).contains(candidate))
            };
            if classes.len() <= MAX_OVERRIDES && classes.iter().any(shared) {
                interfaces.insert(name, classes);
            }
        }
        interfaces
    }

    /// A decorator of which nothing is known returns the function. Returns whether there are any.
    fn skip_decorators(&mut self) -> bool {
        let mut found = false;
        for document in self.flows.indices() {
            let flow = Arc::clone(&self.flows[document]);
            for call in flow.code.decorators.iter().filter_map(|call| flow.code.calls.get(*call as usize)) {
                let Some(Some(function)) = call.positional.first() else { continue };
                if self.values[self.cell(document, call.callee) as usize].list.is_empty() {
                    let (from, to) = (self.cell(document, *function), self.cell(document, call.result));
                    found |= !self.edges.contains(&(from, to));
                    self.edge(from, to);
                }
            }
        }
        found
    }

    fn add_constraint(&mut self, document: DocumentIndex, constraint: &Constraint) {
        let cell = |node: &Node| self.first[document] + node.as_u32();
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
                let name = self.number(name);
                self.on(base, Use::Load { name, to, site: Some((document, *site)) });
            }
            Constraint::Super { base, class, name, to, site } => {
                let (base, to) = (cell(base), cell(to));
                let name = self.number(name);
                let site = (document, *site);
                self.on(base, Use::Super { class: class_id(document, *class), name, to, site });
            }
            Constraint::Store { base, name, from, site } => {
                let (base, from) = (cell(base), cell(from));
                let name = self.number(name);
                self.on(base, Use::Store { name, from, site: Some((document, *site)) });
            }
            Constraint::Display { to, open } => {
                let to = cell(to);
                let container = self.object(Origin::Display(to), None);
                if *open {
                    self.add(to, Value::Container(container));
                } else {
                    let all = self.field(container, Field::All);
                    self.on(all, Use::Fill { container, to });
                }
            }
            Constraint::Element { base, part, to, site } => {
                let (base, to) = (cell(base), cell(to));
                let field = match part {
                    Part::Any => Field::All,
                    part => self.field_of(part),
                };
                self.on(base, Use::Element { field, to, site: Some((document, *site)) });
            }
            Constraint::Put { base, part, from } => {
                let (base, from) = (cell(base), cell(from));
                let field = self.field_of(part);
                self.put(base, field, from);
            }
            Constraint::Method { base, operation, to, site } => {
                let (base, to) = (cell(base), cell(to));
                self.on(base, Use::Method { operation: *operation, to, site: (document, *site) });
            }
            Constraint::Register { base, from } => {
                let (base, from) = (cell(base), cell(from));
                self.on(base, Use::Register { from });
            }
            Constraint::Given { function, name, from } => {
                let from = cell(from);
                self.add_given(document, *function, name.as_ref(), from);
            }
        }
    }

    /// The arguments of the roots whose functions are not known by name.
    fn add_roots(&mut self, document: DocumentIndex, flow: &FileFlow) {
        let index = self.modules.indices[document];
        let sites = index
            .roots
            .iter_enumerated()
            .filter(|(_, site)| site.receiver.is_none() && matches!(site.target, RootTarget::Reference(_)));
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
            let stager = Stager::Site(position);
            let keywords = call.keywords.iter().map(|(_, node)| *node);
            for (at, node) in call.positional.iter().copied().flatten().chain(keywords).enumerate() {
                let cell = self.cell(document, node);
                self.on(cell, Use::Root { document, site: call.site, stager, is_first: at == 0 });
            }
        }
    }

    /// Adds what a dotted name refers to.
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
                            let name = self.number(name);
                            self.on(from, Use::Load { name, to: next, site: None });
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
        // `from .layers import *`
        let Some(steps) = steps.checked_sub(1) else { return };
        let mut others: Vec<DocumentIndex> = Vec::new();
        for other in index.imports.dotted_names() {
            let absolute = self.modules.absolute(module, other).map(|name| imports::canonical(&name));
            let found = absolute.and_then(|name| self.modules.positions.get(&name).copied());
            others.extend(found.filter(|found| *found != module));
        }
        others.sort_unstable();
        others.dedup();
        let defines = |other: &DocumentIndex| self.flows[*other].code.globals.contains_key(name);
        if let Some(other) = others.into_iter().find(defines) {
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

    /// The name in the body of a class or of one of its bases.
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

    pub(super) fn owner(&self, (document, site): (DocumentIndex, SiteIndex)) -> Callable {
        Callable { document, owner: self.flows[document].code.owners[site] }
    }

    /// Code calls a function.
    pub(super) fn note_call(&mut self, site: (DocumentIndex, SiteIndex), callee: Callable) {
        let caller = self.owner(site);
        let known = self.calls.entry((caller, callee)).or_insert(site.1);
        *known = site.1.min(*known);
    }

    pub(super) fn note_root(
        &mut self,
        (document, site): (DocumentIndex, SiteIndex),
        stager: Stager,
        function: Callable,
    ) {
        let known = self.roots.entry((document, stager, function)).or_insert(site);
        *known = site.min(*known);
    }

    fn finish(self) -> PossibleCalls {
        let mut possible = PossibleCalls { flows: self.flows, ..PossibleCalls::default() };
        for ((caller, callee), site) in self.calls {
            if caller.owner != Owner::Code(ag_index::ids::Code::Module) {
                possible.calls.entry(caller).or_default().push(PossibleCall { callee, site });
            }
        }
        for calls in possible.calls.values_mut() {
            calls.sort_unstable_by_key(|call| (call.site, call.callee));
        }
        let roots = self.roots.into_iter();
        possible.roots = roots
            .map(|((document, stager, function), site)| PossibleRoot { document, site, stager, function })
            .collect();
        possible.roots.sort_unstable_by_key(|root| (root.document, root.site, root.stager, root.function));
        possible
    }
}
