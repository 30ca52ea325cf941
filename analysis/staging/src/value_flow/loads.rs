//! Attributes and elements of values.

use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::ParameterKind;
use ag_index::value_flow::{Owner, SiteIndex};
use ruff_python_ast::name::Name;

use super::Callable;
use super::solve::Solver;
use super::values::{Cell, Field, Origin, Use, Value};
use crate::hierarchy::ClassId;

/// Methods of lists, dictionaries and sets that put their arguments in.
const MUTATORS: [&str; 7] = ["append", "extend", "insert", "add", "update", "setdefault", "appendleft"];
/// Methods of containers whose results are or have the elements.
const READERS: [&str; 8] = ["items", "values", "get", "pop", "popitem", "copy", "popleft", "keys"];

/// Attributes of staged and transformed functions that are functions too.
const OF_FUNCTIONS: [&str; 10] = [
    "apply",
    "init",
    "lower",
    "trace",
    "func",
    "fun",
    "__wrapped__",
    "__call__",
    "get_concrete_function",
    "python_function",
];

type Site = (DocumentIndex, SiteIndex);

impl Solver<'_> {
    /// The object for all instances of a class that has no object for each call.
    pub(super) fn instance_of(&mut self, class: ClassId) -> Value {
        Value::Instance(self.object(Origin::Class(class), Some(class)))
    }

    /// `value.name`
    pub(super) fn load(&mut self, value: Value, name: u32, to: Cell, site: Option<Site>) {
        match value {
            Value::Instance(object) => {
                let field = self.field(object, Field::Name(name));
                self.edge(field, to);
                let Some(class) = self.objects[object as usize].class else { return };
                let order = self.lookup_order(class);
                // What methods of a base set on `self`, where nothing is known of its class.
                for base in order.iter() {
                    if let Value::Instance(base) = self.instance_of(*base)
                        && base != object
                    {
                        let field = self.field(base, Field::Name(name));
                        self.edge(field, to);
                    }
                }
                let attribute = self.class_attribute(class, name);
                if let Some(attribute) = attribute {
                    self.on(attribute, Use::Bind { receiver: value, to, site });
                } else if order.iter().any(|class| self.hierarchy.has_library_base(*class)) {
                    let library = self.library_method(name);
                    self.add(to, library);
                }
            }
            Value::Class(class) => {
                if let Some(attribute) = self.class_attribute(class, name) {
                    self.on(attribute, Use::Bind { receiver: value, to, site });
                }
            }
            // `hk.transform(f).apply`, `jax.jit(f).lower`
            Value::Function { .. } | Value::Lambda { .. } => {
                if OF_FUNCTIONS.contains(&self.names[name as usize].as_str()) {
                    self.add(to, value);
                }
            }
            Value::Container(object) => {
                let text = self.names[name as usize].as_str();
                if MUTATORS.contains(&text) {
                    self.add(to, Value::Mutator(object));
                } else if READERS.contains(&text) {
                    self.add(to, value);
                } else {
                    self.element(value, Field::Name(name), to, site);
                }
            }
            Value::Module(module) => self.module_attribute(module, name, to),
            Value::Library(library) => {
                let dotted = format!("{}.{}", self.names[library as usize], self.names[name as usize]);
                // Longer names are results of results.
                if dotted.split('.').count() < 8 {
                    let library = self.library(&dotted);
                    self.add(to, library);
                }
            }
            Value::Mutator(_) => {}
        }
    }

    fn library_method(&mut self, name: u32) -> Value {
        let dotted = format!("object.{}", self.names[name as usize]);
        self.library(&dotted)
    }

    /// `super().name` in a method of `class`
    pub(super) fn load_above(&mut self, value: Value, class: ClassId, name: u32, to: Cell) {
        let order = self.lookup_order(class);
        let name = self.names[name as usize].clone();
        let found = order.iter().skip(1).find_map(|base| self.own_attribute(*base, &name));
        if let Some(attribute) = found {
            self.on(attribute, Use::Bind { receiver: value, to, site: None });
        }
    }

    /// `value.name = from`
    pub(super) fn store(&mut self, value: Value, name: u32, from: Cell) {
        if let Value::Instance(object) = value {
            let field = self.field(object, Field::Name(name));
            self.edge(from, field);
        }
    }

    /// An attribute of a class is read from an instance or from the class.
    pub(super) fn bind(&mut self, value: Value, receiver: Value, to: Cell, site: Option<Site>) {
        let Value::Function { document, function, bound: 0 } = value else {
            return self.add(to, value);
        };
        let index = self.modules.indices[document];
        let Some(signature) = index.signatures.get(function) else { return };
        let has = |names: &[&str]| signature.decorators.iter().any(|name| names.contains(&name.as_str()));
        let is_method = index.definitions.functions[function].class.is_some();
        let is_of_class = has(&["classmethod"]);
        if signature.is_static || !is_method && matches!(receiver, Value::Class(_)) {
            return self.add(to, value);
        }
        if matches!(receiver, Value::Class(_)) && !is_of_class {
            // `Base.method(self)`, and `__init__` of a metaclass
            return self.add(to, value);
        }
        let receiver = match receiver {
            Value::Instance(object) if is_of_class => {
                self.objects[object as usize].class.map_or(receiver, Value::Class)
            }
            _ => receiver,
        };
        self.give(document, function, 0, receiver);
        if has(&["property", "cached_property", "abstractproperty", "lazy_property"]) {
            if let Some(site) = site {
                let callee = Callable { document, owner: Owner::Code(Code::Function(function)) };
                self.note_call(site, callee);
            }
            let result = self.flows[document].code.results[function];
            let result = self.cell(document, result);
            self.edge(result, to);
            return;
        }
        self.add(to, Value::Function { document, function, bound: 1 });
    }

    /// Adds a value of a positional parameter.
    pub(super) fn give(
        &mut self,
        document: DocumentIndex,
        function: FunctionIndex,
        position: usize,
        value: Value,
    ) {
        let signature = self.modules.indices[document].signatures.get(function);
        let kind =
            signature.and_then(|signature| signature.parameters.get(position.into())).map(|own| own.kind);
        let node = self.flows[document].code.parameters[function].get(position).copied();
        match (kind, node) {
            (Some(ParameterKind::Positional | ParameterKind::PositionalOnly), Some(node)) => {
                let to = self.cell(document, node);
                self.add(to, value);
            }
            _ => {
                let cell = self.new_cell();
                self.give_cell(document, function, position, cell);
                self.add(cell, value);
            }
        }
    }

    /// `value[field]`; of an iteration, all elements.
    pub(super) fn element(&mut self, value: Value, field: Field, to: Cell, site: Option<Site>) {
        match value {
            Value::Container(object) => {
                let fields = match field {
                    Field::All | Field::Unknown => vec![Field::All],
                    field => vec![field, Field::Unknown],
                };
                for field in fields {
                    let cell = self.field(object, field);
                    self.edge(cell, to);
                }
            }
            Value::Instance(object) => {
                let Some(class) = self.objects[object as usize].class else { return };
                let names: &'static [&'static str] = match field {
                    Field::All => &["__iter__", "__next__", "__getitem__"],
                    _ => &["__getitem__"],
                };
                if let Some(site) = site {
                    let results = self.new_cell();
                    self.method(value, names, results, site);
                    self.edge(results, to);
                }
                // NamedTuples and dataclasses
                let fields = self.fields_of(class);
                // `for i, layer in enumerate(layers)`: library functions return their elements in tuples.
                if matches!(field, Field::Position(_)) && fields.is_empty() {
                    self.add(to, value);
                }
                for (position, name) in (0..).zip(fields) {
                    if field == Field::All || field == Field::Position(position) || field == Field::Name(name)
                    {
                        let cell = self.field(object, Field::Name(name));
                        self.edge(cell, to);
                    }
                }
            }
            // `vmap(f), g = …`, `dict(a=f)["a"]`: library functions return what they are given in other forms.
            Value::Function { .. } | Value::Lambda { .. } => self.add(to, value),
            _ => {}
        }
    }

    /// The names of a record's fields, those of its bases first.
    pub(super) fn fields_of(&mut self, class: ClassId) -> Vec<u32> {
        let order = self.lookup_order(class);
        let mut names: Vec<Name> = Vec::new();
        for class in order.iter().rev() {
            let own = self.flows[class.document].code.fields.get(&class.class);
            for name in own.into_iter().flatten() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names.iter().map(|name| self.number(name)).collect()
    }

    /// `base[field] = from`
    pub(super) fn put(&mut self, base: Cell, field: Field, from: Cell) {
        match self.display(base) {
            Some(container) => self.put_into(container, field, from),
            None => self.on(base, Use::Put { field, from }),
        }
    }

    /// `value[field] = from`
    pub(super) fn put_into(&mut self, value: Value, field: Field, from: Cell) {
        if let Value::Container(object) = value {
            for field in [field, Field::All] {
                let cell = self.field(object, field);
                self.edge(from, cell);
            }
        }
    }

    /// Python calls methods of the value.
    pub(super) fn method(&mut self, value: Value, names: &[&str], to: Cell, site: Site) {
        let Value::Instance(object) = value else { return };
        let Some(class) = self.objects[object as usize].class else { return };
        for name in names {
            let name = self.number(name);
            if let Some(attribute) = self.class_attribute(class, name) {
                let bound = self.new_cell();
                self.on(attribute, Use::Bind { receiver: value, to: bound, site: Some(site) });
                self.on(bound, Use::Invoke { to, site });
            }
        }
    }
}
