//! Propagates values along the constraints of all files until nothing changes.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use ag_db::{Db, Document};
use ag_index::callbacks;
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::roots;
use ag_index::value_flow::{FileFlow, Node, Operation, Owner, Part, SiteIndex, file_flow};
use ruff_index::{IndexSlice, IndexVec};
use ruff_python_ast::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};

use super::libraries::{CALL_WITH_ELEMENTS, LOOPS, RECORD};
use super::values::{Cell, Field, Missing, Object, OrderedSet, Origin, Use, Value, Values};
use super::{Callable, PossibleCall, PossibleCalls, PossibleRoot, StagingFunction};
use crate::hierarchy::{ClassId, Hierarchy, Modules};

/// The maximum number of uses that are applied to values. When it is reached, the calls found so far are the result.
const MAX_STEPS: usize = 6_000_000;

/// The number of these steps that remain for assumptions when the deferred uses are applied.
const ASSUMED_STEPS: usize = 1_000_000;

pub(super) struct Solver<'a> {
    db: &'a dyn Db,
    pub(super) flows: IndexVec<DocumentIndex, Arc<FileFlow>>,
    pub(super) modules: Modules<'a>,
    pub(super) hierarchy: &'a Hierarchy,
    pub(super) first_cells: IndexVec<DocumentIndex, Cell>,
    pub(super) values: Vec<Values>,
    pub(super) successors: Vec<OrderedSet<Cell>>,
    pub(super) uses: Vec<OrderedSet<Use>>,
    /// Uses that have not been applied to a value yet.
    pending: VecDeque<(Use, Value)>,
    /// Uses that call functions, but seldom make values flow any further. They are applied when all other uses have
    /// been, so that a project that exceeds [`MAX_STEPS`] lacks only some of them.
    deferred: VecDeque<(Use, Value)>,
    /// Uses that several cells may have ([`Use::is_of_many_cells`]), each with a value to which it has been applied or
    /// is about to be. The set prevents that a use is applied to a value twice.
    applied: FxHashSet<(Use, Value)>,
    /// The cells with values that are not propagated yet. A cell occurs once for each such value.
    queue: VecDeque<Cell>,
    pub(super) objects: Vec<Object>,
    origins: FxHashMap<Origin, u32>,
    pub(super) names: Vec<Name>,
    name_ids: FxHashMap<Name, u32>,
    pub(super) orders: FxHashMap<ClassId, Arc<[ClassId]>>,
    pub(super) attributes: FxHashMap<(ClassId, u32), Option<Cell>>,
    /// The methods that override a method of a class, by this method and the class from which it is read.
    pub(super) groups: FxHashMap<(ClassId, bool, u32), Cell>,
    /// The cell of each attribute of a receiver: see [`Self::bound`].
    pub(super) bound: FxHashMap<(Cell, Value), Cell>,
    /// The cell of results that no code uses.
    pub(super) ignored: Cell,
    pub(super) special: FxHashMap<(ClassId, Operation), Arc<[Cell]>>,
    /// The dispatching functions, such as those decorated with `singledispatch`, each with the cell of its definition.
    pub(super) dispatchers: FxHashMap<(DocumentIndex, FunctionIndex), Cell>,
    passed_on: FxHashMap<u32, bool>,
    pub(super) missing: Vec<Missing>,
    /// The cells for which the code declares classes of the project.
    pub(super) declared: Vec<(Cell, Vec<ClassId>)>,
    /// For each class that is registered as a pytree, the functions that flatten and restore its objects.
    pub(super) pytrees: FxHashMap<ClassId, Cell>,
    calls: FxHashMap<(Callable, Callable), SiteIndex>,
    roots: FxHashMap<(DocumentIndex, StagingFunction, Callable), SiteIndex>,
    /// The function that each site calls as a value, with the number of its bound parameters. `None` if the site may
    /// call several functions, or if Python or a library makes the call.
    callees: FxHashMap<(DocumentIndex, SiteIndex), Option<(Callable, u8)>>,
    /// Functions that objects of libraries hold. [`PossibleCall::is_sole_callee`] is false for calls of these
    /// functions.
    held: FxHashSet<Callable>,
    /// The function that flows to each root; `None` if several do.
    rooted: FxHashMap<(DocumentIndex, SiteIndex, StagingFunction), Option<Callable>>,
    steps: usize,
}

/// Unwinds with salsa's cancellation if the run is cancelled.
pub(super) fn solve(
    db: &dyn Db,
    documents: &IndexSlice<DocumentIndex, Document>,
    hierarchy: &Hierarchy,
) -> PossibleCalls {
    let flows: IndexVec<DocumentIndex, Arc<FileFlow>> =
        documents.iter().map(|document| Arc::clone(file_flow(db, *document))).collect();
    let mut first_cells = IndexVec::new();
    let mut cells = 0;
    for flow in &flows {
        first_cells.push(cells);
        cells += flow.code.nodes;
    }
    let mut solver = Solver {
        db,
        flows,
        modules: Modules::of(db, documents),
        hierarchy,
        first_cells,
        values: Vec::new(),
        successors: Vec::new(),
        uses: Vec::new(),
        pending: VecDeque::new(),
        deferred: VecDeque::new(),
        applied: FxHashSet::default(),
        queue: VecDeque::new(),
        objects: Vec::new(),
        origins: FxHashMap::default(),
        names: Vec::new(),
        name_ids: FxHashMap::default(),
        orders: FxHashMap::default(),
        attributes: FxHashMap::default(),
        groups: FxHashMap::default(),
        bound: FxHashMap::default(),
        ignored: cells,
        special: FxHashMap::default(),
        dispatchers: FxHashMap::default(),
        passed_on: FxHashMap::default(),
        missing: Vec::new(),
        declared: Vec::new(),
        pytrees: FxHashMap::default(),
        calls: FxHashMap::default(),
        roots: FxHashMap::default(),
        callees: FxHashMap::default(),
        held: FxHashSet::default(),
        rooted: FxHashMap::default(),
        steps: 0,
    };
    solver.grow(cells as usize + 1);
    for document in solver.flows.indices() {
        solver.add_declarations(document);
    }
    for document in solver.flows.indices() {
        solver.add_file(document);
    }
    solver.run();
    while solver.load_missing() | solver.skip_decorators()
        || solver.assume_declared()
        || solver.load_abstract()
    {
        solver.run();
    }
    solver.note_pytrees();
    solver.finish()
}

impl<'a> Solver<'a> {
    fn grow(&mut self, cells: usize) {
        self.values.resize_with(cells, Values::default);
        self.successors.resize_with(cells, OrderedSet::default);
        self.uses.resize_with(cells, OrderedSet::default);
    }

    pub(super) fn new_cell(&mut self) -> Cell {
        self.grow(self.values.len() + 1);
        (self.values.len() - 1) as Cell
    }

    pub(super) fn cell(&self, document: DocumentIndex, node: Node) -> Cell {
        self.first_cells[document] + node.as_u32()
    }

    pub(super) fn name_id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.name_ids.get(name) {
            return *id;
        }
        let id = self.names.len() as u32;
        self.names.push(Name::new(name));
        self.name_ids.insert(Name::new(name), id);
        id
    }

    pub(super) fn library(&mut self, name: &str) -> Value {
        Value::Library(self.name_id(name))
    }

    pub(super) fn field_of(&mut self, part: &Part) -> Field {
        match part {
            Part::Position(position) => Field::Position(*position),
            Part::Key(key) => Field::Name(self.name_id(key)),
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

    /// Returns the container that the display at this cell (`[f, g]`, `{"a": f}`) creates; `None` if there is no
    /// display.
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
        if self.is_accepted(cell, value) && self.values[cell as usize].insert(value) {
            self.queue.push_back(cell);
        }
    }

    pub(super) fn values_of(&self, cell: Cell) -> Vec<Value> {
        self.values[cell as usize].list.to_vec()
    }

    pub(super) fn edge(&mut self, from: Cell, to: Cell) {
        if from != to && self.successors[from as usize].insert(to) {
            // Values that are still in the queue flow to `to` when they are taken out.
            for position in 0..self.values[from as usize].done {
                let value = self.values[from as usize].list[position];
                let is_kept = matches!(value, Value::Library(name) if !self.is_passed_on(name));
                if !is_kept {
                    self.add(to, value);
                }
            }
        }
    }

    /// Records that a use applies to every value that the cell contains, now or later.
    pub(super) fn add_use(&mut self, cell: Cell, use_: Use) {
        if !self.uses[cell as usize].insert(use_) {
            return;
        }
        // Values that are still in the queue get the use when they are taken out.
        for position in 0..self.values[cell as usize].done {
            let value = self.values[cell as usize].list[position];
            self.apply_later(use_, value);
        }
    }

    /// Queues a use of a value. A use that several cells may have has the same effect for all of them, so it is queued
    /// only once for each value.
    fn apply_later(&mut self, use_: Use, value: Value) {
        if matches!(use_, Use::Read { .. }) && !self.is_evaluated(value) || self.lacks_methods(use_, value) {
            return;
        }
        if use_.has_effect_on(value) && (!use_.is_of_many_cells() || self.applied.insert((use_, value))) {
            match use_ {
                Use::Passed { .. } | Use::Held => self.deferred.push_back((use_, value)),
                _ => self.pending.push_back((use_, value)),
            }
        }
    }

    /// Returns whether a use only calls special methods that the class of the value does not have.
    fn lacks_methods(&mut self, use_: Use, value: Value) -> bool {
        let Value::Instance(object) = value else { return false };
        let operation = match use_ {
            Use::Method { operation, .. } => operation,
            Use::Passed { holds, within, .. } if within || !holds.are_all() => Operation::Library,
            _ => return false,
        };
        self.objects[object as usize]
            .class
            .is_none_or(|class| self.special_methods(class, operation).is_empty())
    }

    fn run(&mut self) {
        while self.steps < MAX_STEPS {
            if let Some((use_, value)) = self.pending.pop_front() {
                self.apply(use_, value);
                continue;
            }
            let Some(cell) = self.queue.pop_front() else {
                if self.steps >= MAX_STEPS - ASSUMED_STEPS {
                    return;
                }
                let Some((use_, value)) = self.deferred.pop_front() else { return };
                self.apply(use_, value);
                continue;
            };
            let values = &mut self.values[cell as usize];
            let value = values.list[values.done];
            values.done += 1;
            // Most library functions are called under their own names, so their values stay in the cell.
            if let Value::Library(name) = value
                && !self.is_passed_on(name)
            {
                self.apply_all(cell, value);
                continue;
            }
            for position in 0..self.successors[cell as usize].len() {
                let to = self.successors[cell as usize][position];
                self.add(to, value);
            }
            self.apply_all(cell, value);
        }
    }

    fn apply_all(&mut self, cell: Cell, value: Value) {
        for position in 0..self.uses[cell as usize].len() {
            let use_ = self.uses[cell as usize][position];
            self.apply_later(use_, value);
        }
    }

    /// Returns whether a library function flows to other cells. This is the case if the analysis models the effect of
    /// its calls on their arguments.
    fn is_passed_on(&mut self, name_id: u32) -> bool {
        if let Some(known) = self.passed_on.get(&name_id) {
            return *known;
        }
        let name = &self.names[name_id as usize];
        let last = name.rsplit('.').next().unwrap_or(name);
        let is_passed_on = name.starts_with("functools.")
            || name == RECORD
            || CALL_WITH_ELEMENTS.contains(&last)
            || LOOPS.contains(&last)
            || roots::wrapper_of_any(name).is_some()
            || callbacks::higher_order_function(name).is_some();
        self.passed_on.insert(name_id, is_passed_on);
        is_passed_on
    }

    fn apply(&mut self, use_: Use, value: Value) {
        self.steps += 1;
        if self.steps.is_multiple_of(1 << 12) {
            self.db.unwind_if_revision_cancelled();
        }
        if let Value::Group(group) = value {
            return self.add_use(group, use_);
        }
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
            Use::Call { document, call, .. } => self.call(value, document, call),
            Use::Invoke { to, site } => self.invoke(value, to, site),
            Use::CallObject { to, site } => self.call_object(value, to, site),
            Use::Bind { receiver, to } => self.bind(value, receiver, to),
            Use::Read { receiver, to, site } => self.evaluate(value, receiver, to, site),
            Use::Meta { class, operation, site } => self.call_metaclass(value, class, operation, site),
            Use::Register { from } => self.register(value, from),
            Use::Get { receiver, to, site } => self.get(value, receiver, to, site),
            Use::Registered { document, call } => self.registered(value, document, call),
            Use::Partial { document, call } => self.partial(value, document, call),
            Use::Passed { document, call, holds, within } => {
                self.passed(value, document, call, holds, within);
            }
            Use::Applied { position, from } => self.applied(value, position, from),
            Use::Root { document, site, staged_by, is_first } => {
                self.root(value, document, site, staged_by, is_first);
            }
            Use::NestedTestArgument { document, function, depth } => {
                if let Value::Container(_) = value {
                    self.test_argument(value, document, function, depth);
                }
            }
            Use::Held => self.hold(value),
            Use::Plain { to } => {
                if !matches!(value, Value::Container(_)) {
                    self.add(to, value);
                }
            }
            Use::TestArgument { document, function, depth } => {
                self.test_argument(value, document, function, depth)
            }
        }
    }

    /// Lets the functions that are registered with a dispatching function flow to its cell, because a call of it may
    /// call them.
    fn register(&mut self, value: Value, from: Cell) {
        if let Value::Function { document, function, .. } = value
            && let Some(dispatcher) = self.dispatchers.get(&(document, function)).copied()
        {
            self.edge(from, dispatcher);
        }
    }

    pub(super) fn owner(&self, (document, site): (DocumentIndex, SiteIndex)) -> Callable {
        Callable { document, owner: self.flows[document].code.owners[site] }
    }

    fn hold(&mut self, value: Value) {
        let (document, owner) = match value {
            Value::Function { document, function, .. } => (document, Owner::Code(Code::Function(function))),
            Value::Lambda { document, lambda, .. } => (document, Owner::Lambda(lambda)),
            _ => return,
        };
        self.held.insert(Callable { document, owner });
    }

    /// Records that a site calls a function as a value: `f(x)`. The first `bound` parameters are bound before the call.
    pub(super) fn note_value_call(&mut self, site: (DocumentIndex, SiteIndex), callee: Callable, bound: u8) {
        note_only(&mut self.callees, site, (callee, bound));
        self.note_call_at(site, callee);
    }

    /// Records that a site may call a function in another way: by an operator, a property or a library function.
    pub(super) fn note_call(&mut self, site: (DocumentIndex, SiteIndex), callee: Callable) {
        self.callees.insert(site, None);
        self.note_call_at(site, callee);
    }

    /// Records that a site may call functions that are not known.
    pub(super) fn note_unknown_call(&mut self, site: (DocumentIndex, SiteIndex)) {
        self.callees.insert(site, None);
    }

    /// Records that functions that are not known may flow to a root.
    pub(super) fn note_unknown_root(
        &mut self,
        (document, site): (DocumentIndex, SiteIndex),
        staged_by: StagingFunction,
    ) {
        self.rooted.insert((document, site, staged_by), None);
    }

    fn note_call_at(&mut self, site: (DocumentIndex, SiteIndex), callee: Callable) {
        let caller = self.owner(site);
        let known = self.calls.entry((caller, callee)).or_insert(site.1);
        *known = site.1.min(*known);
    }

    pub(super) fn note_root(
        &mut self,
        (document, site): (DocumentIndex, SiteIndex),
        staged_by: StagingFunction,
        function: Callable,
    ) {
        note_only(&mut self.rooted, (document, site, staged_by), function);
        let known = self.roots.entry((document, staged_by, function)).or_insert(site);
        *known = site.min(*known);
    }

    fn finish(self) -> PossibleCalls {
        let Self { callees, rooted, held, .. } = &self;
        let only_call = |site, callee: Callable| {
            let only = callees.get(&site).copied().flatten().filter(|(only, _)| *only == callee);
            only.filter(|_| !held.contains(&callee)).map(|(_, bound)| bound)
        };
        let is_only_root = |root, function| rooted.get(&root).copied().flatten() == Some(function);
        let mut possible =
            PossibleCalls { flows: self.flows.clone(), steps: self.steps, ..PossibleCalls::default() };
        possible.called_outside = held.iter().copied().collect();
        for ((caller, callee), site) in self.calls.iter().map(|(pair, site)| (*pair, *site)) {
            if caller.owner == Owner::Code(Code::Module) {
                possible.called_outside.insert(callee);
            } else {
                let bound = only_call((caller.document, site), callee);
                possible.calls.entry(caller).or_default().push(PossibleCall {
                    callee,
                    site,
                    is_sole_callee: bound.is_some(),
                    bound: bound.unwrap_or_default(),
                });
            }
        }
        for calls in possible.calls.values_mut() {
            calls.sort_unstable_by_key(|call| (call.site, call.callee));
        }
        let roots = self.roots.iter().map(|(root, site)| (*root, *site));
        possible.roots = roots
            .map(|((document, staged_by, function), site)| PossibleRoot {
                document,
                site,
                staged_by,
                function,
                is_sole_function: is_only_root((document, site, staged_by), function),
            })
            .collect();
        possible.roots.sort_unstable_by_key(|root| (root.document, root.site, root.staged_by, root.function));
        possible
    }
}

/// Sets the entry of `place` to `function`, or to `None` if it already is another function.
fn note_only<K: Hash + Eq, F: Copy + PartialEq>(only: &mut FxHashMap<K, Option<F>>, place: K, function: F) {
    let known = only.entry(place).or_insert(Some(function));
    if *known != Some(function) {
        *known = None;
    }
}
