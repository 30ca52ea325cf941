//! Attributes and elements of values.

use std::sync::Arc;

use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::ParameterKind;
use ag_index::value_flow::{Operation, Owner, SiteIndex};
use ruff_python_ast::name::Name;

use super::Callable;
use super::solve::Solver;
use super::values::{Cell, Field, MAX_DERIVED, Missing, Origin, Use, Value};
use crate::hierarchy::ClassId;

/// Methods of lists, dictionaries and sets that add their arguments to the container.
const MUTATORS: [&str; 7] = ["append", "extend", "insert", "add", "update", "setdefault", "appendleft"];
/// Methods of containers whose results are elements of the container, or contain them.
const READERS: [&str; 8] = ["items", "values", "get", "pop", "popitem", "copy", "popleft", "keys"];

/// Attributes of staged and transformed functions, and of objects that hold a function, that are functions themselves:
/// `jax.jit(f).lower`, `TrainState.create(apply_fn=f).apply_fn`.
const FUNCTION_ATTRIBUTES: [&str; 11] = [
    "apply",
    "apply_fn",
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

/// Methods that define the derivatives of a function. JAX traces the functions passed to them whenever it
/// differentiates that function.
const DERIVATIVE_METHODS: [&str; 9] =
    ["defjvp", "defjvps", "defvjp", "def_fwd", "def_bwd", "def_jvp", "def_vmap", "def_partition", "defvmap"];
/// The library function that represents all [`DERIVATIVE_METHODS`].
pub(super) const DEFINE_DERIVATIVE: &str = "jax.custom_vjp.define";

/// The maximum number of overriding methods that flow as separate values.
const FEW_OVERRIDES: usize = 8;

/// Decorators of methods that are called when the attribute is read.
const PROPERTIES: [&str; 4] = ["property", "cached_property", "abstractproperty", "lazy_property"];

type Site = (DocumentIndex, SiteIndex);

impl Solver<'_> {
    /// Returns the object that represents all instances of a class that does not create one object for each call.
    pub(super) fn instance_of(&mut self, class: ClassId) -> Value {
        Value::Instance(self.object(Origin::Class(class), Some(class)))
    }

    /// Evaluates `value.name`: the attribute flows to `to`.
    pub(super) fn load(&mut self, value: Value, name: u32, to: Cell, site: Option<Site>) {
        match value {
            Value::Instance(object) => {
                let field = self.field(object, Field::Name(name));
                self.edge(field, to);
                let Some(class) = self.objects[object as usize].class else { return };
                if self.names[name as usize] == "__class__" {
                    return self.add(to, Value::Class(class));
                }
                let order = self.lookup_order(class);
                // A method of a base class assigns attributes on `self`, so they are fields of the base class's object.
                for base in order.iter() {
                    if let Value::Instance(base) = self.instance_of(*base)
                        && base != object
                    {
                        let field = self.field(base, Field::Name(name));
                        self.edge(field, to);
                    }
                }
                if let Some(site) = site {
                    self.operate(value, Operation::Attribute, to, site);
                }
                if self.instance_of(class) == value {
                    self.load_overrides(class, false, name, to, site);
                }
                // `model.apply(variables, x)` of a Flax module calls `model(x)`: the variables take the place of `self`.
                if self.names[name as usize] == "apply" && self.hierarchy.is_flax_module(class) {
                    let call = self.name_id("__call__");
                    let method = self.class_attribute(class, call);
                    method.into_iter().for_each(|method| self.edge(method, to));
                }
                let attribute = self.class_attribute(class, name);
                if let Some(attribute) = attribute {
                    // The constructor of a dataclass or NamedTuple stores the default of a field in the object
                    // (`Solver::fill`), so a function is not bound to the object.
                    if !self.is_field(class, name) {
                        self.read(attribute, value, to, site);
                    } else if self.instance_of(class) == value {
                        self.edge(attribute, to);
                    }
                } else if let (Some(site), true) = (site, self.has_method(class, "__getattr__")) {
                    self.missing.push(Missing { object, name, to, site });
                } else if order.iter().any(|class| self.hierarchy.has_library_base(*class)) {
                    let library = self.library_method(name);
                    self.add(to, library);
                }
            }
            Value::Class(class) => {
                if let Some(attribute) = self.class_attribute(class, name) {
                    self.read(attribute, value, to, site);
                }
            }
            // `hk.transform(f).apply`, `jax.jit(f).lower`
            Value::Function { .. } | Value::Lambda { .. } => {
                if let Some(object) = self.function_object(value) {
                    let field = self.field(object, Field::Name(name));
                    self.edge(field, to);
                }
                // `f.defvjp(forward, backward)`
                if DERIVATIVE_METHODS.contains(&self.names[name as usize].as_str()) {
                    let define = self.library(DEFINE_DERIVATIVE);
                    self.add(to, define);
                }
                if FUNCTION_ATTRIBUTES.contains(&self.names[name as usize].as_str()) {
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
                // Longer names belong to results of results (`f().g().h`). They are not followed.
                if dotted.split('.').count() < 8 {
                    let library = self.library(&dotted);
                    self.add(to, library);
                }
            }
            Value::Derived(class) => self.load_overrides(class, true, name, to, site),
            Value::Mutator(_) | Value::Group(_) | Value::Unknown => {}
        }
    }

    /// Loads the attributes of this name that classes derived from `class` define. `self` in the methods of a base
    /// class may be an object of a derived class:
    ///
    /// ```python
    /// class Distribution:
    ///     def mean(self):
    ///         return self._mean()      # `Normal._mean`
    /// ```
    fn load_overrides(&mut self, class: ClassId, of_class: bool, name: u32, to: Cell, site: Option<Site>) {
        let text = self.names[name as usize].clone();
        let derived = self.hierarchy.derived(class, MAX_DERIVED).into_iter();
        let overrides: Vec<_> =
            derived.filter_map(|class| Some((class, self.own_attribute(class, &text)?))).collect();
        let to = match overrides.len() {
            0..=FEW_OVERRIDES => to,
            _ => self.group_of(class, of_class, name, to),
        };
        for (derived, attribute) in overrides {
            let receiver = if of_class { Value::Class(derived) } else { self.instance_of(derived) };
            self.read(attribute, receiver, to, site);
        }
    }

    /// Returns the cell of all methods that override a method of a class. One value represents this cell in `to`.
    fn group_of(&mut self, class: ClassId, of_class: bool, name: u32, to: Cell) -> Cell {
        let group = match self.groups.get(&(class, of_class, name)) {
            Some(group) => *group,
            None => {
                let group = self.new_cell();
                self.values[group as usize].is_group = true;
                self.groups.insert((class, of_class, name), group);
                group
            }
        };
        self.add(to, Value::Group(group));
        group
    }

    fn library_method(&mut self, name: u32) -> Value {
        let dotted = format!("object.{}", self.names[name as usize]);
        self.library(&dotted)
    }

    /// Evaluates `super().name` in a method of `class`; `value` is `self`.
    pub(super) fn load_above(&mut self, value: Value, class: ClassId, name: u32, to: Cell, site: Site) {
        let order = self.lookup_order(class);
        let name = self.names[name as usize].clone();
        let found = order.iter().skip(1).find_map(|base| self.own_attribute(*base, &name));
        if let Some(attribute) = found {
            self.read(attribute, value, to, Some(site));
        }
    }

    /// Executes `value.name = from`.
    pub(super) fn store(&mut self, value: Value, name: u32, from: Cell, site: Option<Site>) {
        // `step.inverse = undo`
        if let Some(object) = self.function_object(value) {
            let field = self.field(object, Field::Name(name));
            return self.edge(from, field);
        }
        // `setattr(Class, "norm", function)`: for instances, `norm` is a method.
        if let Value::Class(class) = value
            && let instance @ Value::Instance(object) = self.instance_of(class)
        {
            self.objects[object as usize].stored.insert(name);
            let to = self.field(object, Field::Name(name));
            self.read(from, instance, to, None);
            return;
        }
        let Value::Instance(object) = value else { return };
        self.objects[object as usize].stored.insert(name);
        let field = self.field(object, Field::Name(name));
        self.edge(from, field);
        let (Some(site), Some(class)) = (site, self.objects[object as usize].class) else { return };
        self.operate(value, Operation::SetAttribute, self.ignored, site);
        // `@name.setter`
        if let Some(attribute) = self.class_attribute(class, name) {
            self.add_use(attribute, Use::Set { receiver: value, from, site });
        }
    }

    /// Returns the object that holds the attributes of a function; `None` if the value is not a function.
    fn function_object(&mut self, value: Value) -> Option<u32> {
        let Value::Function { document, function, .. } = value else { return None };
        Some(self.object(Origin::Function(document, function), None))
    }

    /// Assigns an attribute of `receiver` for which the class has `value`: if `value` is a property or a descriptor,
    /// calls its setter or `__set__`.
    pub(super) fn set(&mut self, value: Value, receiver: Value, from: Cell, site: Site) {
        if let Value::Instance(_) = value {
            return self.operate(value, Operation::SetDescriptor, self.ignored, site);
        }
        let Value::Function { document, function, bound: 0 } = value else { return };
        let index = self.modules.indices[document];
        let is_setter = index
            .signatures
            .get(function)
            .is_some_and(|signature| signature.decorators.iter().any(|name| name == "setter"));
        if is_setter {
            self.give(document, function, 0, receiver);
            self.give_cell(document, function, 1, from);
            self.note_call(site, Callable { document, owner: Owner::Code(Code::Function(function)) });
        }
    }

    /// Calls `__getattr__` for loads of attributes that nothing defines. Returns whether there are any such loads.
    pub(super) fn load_missing(&mut self) -> bool {
        let missing = std::mem::take(&mut self.missing);
        let mut found = false;
        for Missing { object, name, to, site } in missing {
            let Some(class) = self.objects[object as usize].class else { continue };
            let objects = self.lookup_order(class);
            let objects = objects.iter().map(|class| match self.instance_of(*class) {
                Value::Instance(object) => object,
                _ => object,
            });
            let objects: Vec<u32> = objects.chain([object]).collect();
            let is_set =
                objects.into_iter().any(|object| self.objects[object as usize].stored.contains(&name));
            if !is_set && !self.fields_of(class).contains(&name) {
                self.operate(Value::Instance(object), Operation::MissingAttribute, to, site);
                self.forward(class, name, to, site);
                found = true;
            }
        }
        found
    }

    /// Loads an attribute that `__getattr__` of a class looks up in other objects.
    fn forward(&mut self, class: ClassId, name: u32, to: Cell, site: Site) {
        let method = self.name_id("__getattr__");
        let Some(method) = self.class_attribute(class, method) else { return };
        for value in self.values_of(method) {
            let Value::Function { document, function, .. } = value else { continue };
            let flow = Arc::clone(&self.flows[document]);
            for base in flow.code.forwards.get(&function).into_iter().flatten() {
                let base = self.cell(document, *base);
                self.add_use(base, Use::Load { name, to, site: Some(site) });
            }
        }
    }

    /// Evaluates `receiver.attribute`, where `attribute` is the cell to which the body of the class binds the name.
    /// Returns whether the flow of the attribute to `to` is new.
    pub(super) fn read(&mut self, attribute: Cell, receiver: Value, to: Cell, site: Option<Site>) -> bool {
        let bound = self.bound(attribute, receiver);
        let is_new = !self.successors[bound as usize].has(&to);
        self.edge(bound, to);
        self.add_use(attribute, Use::Read { receiver, to, site });
        is_new
    }

    /// Returns the cell of `receiver.attribute`. All expressions that read the attribute of this receiver share it.
    pub(super) fn bound(&mut self, attribute: Cell, receiver: Value) -> Cell {
        if let Some(known) = self.bound.get(&(attribute, receiver)) {
            return *known;
        }
        let to = self.new_cell();
        self.bound.insert((attribute, receiver), to);
        self.add_use(attribute, Use::Bind { receiver, to });
        to
    }

    /// Binds a method to its object, and evaluates a property.
    pub(super) fn bind(&mut self, value: Value, receiver: Value, to: Cell) {
        let Value::Function { document, function, bound: 0 } = value else { return self.add(to, value) };
        let index = self.modules.indices[document];
        let Some(signature) = index.signatures.get(function) else { return };
        let has = |names: &[&str]| signature.decorators.iter().any(|name| names.contains(&name.as_str()));
        let is_method = index.definitions.functions[function].class.is_some();
        let is_of_class = has(&["classmethod"])
            || matches!(index.short_name(function), "__new__" | "__init_subclass__" | "__class_getitem__");
        if signature.is_static || !is_method && matches!(receiver, Value::Class(_)) {
            return self.add(to, value);
        }
        if matches!(receiver, Value::Class(_)) && !is_of_class {
            // `Base.method(self)`, and `__init__` of a metaclass
            return self.add(to, value);
        }
        let is_property = has(&PROPERTIES);
        let receiver = match receiver {
            Value::Instance(object) if is_of_class => {
                self.objects[object as usize].class.map_or(receiver, Value::Class)
            }
            _ => receiver,
        };
        self.give(document, function, 0, receiver);
        if is_property {
            let result = self.flows[document].code.results[function];
            let result = self.cell(document, result);
            self.edge(result, to);
            return;
        }
        self.add(to, Value::Function { document, function, bound: 1 });
    }

    /// Returns whether reading an attribute with this value does more than bind it. This is the case for a property, a
    /// descriptor, and a library function, because a library function flows no further by itself.
    pub(super) fn is_evaluated(&self, value: Value) -> bool {
        match value {
            Value::Function { document, function, bound: 0 } => self.is_getter(document, function),
            Value::Instance(_) | Value::Library(_) => true,
            _ => false,
        }
    }

    fn is_getter(&self, document: DocumentIndex, function: FunctionIndex) -> bool {
        let signature = self.modules.indices[document].signatures.get(function);
        signature.is_some_and(|own| own.decorators.iter().any(|name| PROPERTIES.contains(&name.as_str())))
    }

    /// Evaluates an attribute whose value is evaluated ([`Self::is_evaluated`]): calls a property or a descriptor.
    pub(super) fn evaluate(&mut self, value: Value, receiver: Value, to: Cell, site: Option<Site>) {
        match (value, site) {
            (Value::Library(_), _) => self.add(to, value),
            (Value::Instance(object), Some(site)) => {
                self.operate(value, Operation::Descriptor, to, site);
                self.derived_property(object, receiver, to, site);
            }
            (Value::Function { document, function, .. }, Some(site))
                if !matches!(receiver, Value::Class(_)) =>
            {
                self.note_call(site, Callable { document, owner: Owner::Code(Code::Function(function)) });
            }
            _ => {}
        }
    }

    /// Reads a property whose class is derived from `property` (`class dependent(property)`,
    /// `@dependent(…) def support(self):`). The function that belongs to the receiver's class is called.
    fn derived_property(&mut self, object: u32, receiver: Value, to: Cell, site: Site) {
        let Some(class) = self.objects[object as usize].class else { return };
        if self.is_property(class) {
            let getters = self.getters(class);
            self.add_use(getters, Use::Get { receiver, to, site });
        }
    }

    /// Returns whether the class is derived from `property`.
    pub(super) fn is_property(&mut self, class: ClassId) -> bool {
        let order = self.lookup_order(class);
        order.iter().any(|class| {
            let entry = self.modules.indices[class.document].definitions.classes.get(class.class);
            entry.is_some_and(|entry| {
                let last =
                    |base: &str| base.rsplit('.').next().is_some_and(|name| PROPERTIES.contains(&name));
                entry.bases.iter().any(|base| last(base))
            })
        })
    }

    /// Returns the cell of all getters: the functions of the properties that are instances of `class`, which is derived
    /// from `property`.
    pub(super) fn getters(&mut self, class: ClassId) -> Cell {
        let object = self.object(Origin::Class(class), Some(class));
        let name = self.name_id("fget");
        self.field(object, Field::Name(name))
    }

    /// Calls the function of a property if the receiver's class, or one of its bases, defines it.
    pub(super) fn get(&mut self, value: Value, receiver: Value, to: Cell, site: Site) {
        let Value::Function { document, function, .. } = value else { return };
        let class = match receiver {
            Value::Instance(object) => self.objects[object as usize].class,
            _ => None,
        };
        let Some(class) = class else { return };
        let own = self.modules.indices[document].definitions.functions[function].class;
        let order = self.lookup_order(class);
        if own.is_some_and(|own| order.contains(&ClassId { document, class: own })) {
            self.give(document, function, 0, receiver);
            self.invoke(value, to, site);
        }
    }

    /// Adds a value to a positional parameter.
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

    /// Evaluates `value[field]`, or an iteration over all elements.
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
                if let Some(site) = site {
                    let operation = match field {
                        Field::All => Operation::Iterate,
                        _ => Operation::Item,
                    };
                    self.operate(value, operation, to, site);
                }
                // NamedTuples and dataclasses
                let fields = self.fields_of(class);
                // `for i, layer in enumerate(layers)`: library functions return elements of their arguments in tuples.
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
            // `vmap(f), g = …`, `dict(a=f)["a"]`: library functions return their arguments in other structures.
            // `Stack[int]` is `Stack`.
            Value::Function { .. } | Value::Lambda { .. } | Value::Class(_) => self.add(to, value),
            _ => {}
        }
    }

    /// Returns whether the class, or the first of its bases that binds a name, declares it as a field:
    /// `activation: Callable = relu`.
    fn is_field(&mut self, class: ClassId, name: u32) -> bool {
        let order = self.lookup_order(class);
        let name = &self.names[name as usize];
        let binds = order.iter().find(|class| self.own_attribute(**class, name).is_some());
        let fields = binds.and_then(|class| self.flows[class.document].code.fields.get(&class.class));
        fields.is_some_and(|fields| fields.contains(name))
    }

    /// Returns the names of a record's fields, those of its bases first.
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
        names.iter().map(|name| self.name_id(name)).collect()
    }

    /// Executes `base[field] = from` for all values of `base`.
    pub(super) fn put(&mut self, base: Cell, field: Field, from: Cell) {
        match self.display(base) {
            Some(container) => self.put_into(container, field, from),
            None => self.add_use(base, Use::Put { field, from }),
        }
    }

    /// Executes `value[field] = from`.
    pub(super) fn put_into(&mut self, value: Value, field: Field, from: Cell) {
        if let Value::Container(object) = value {
            for field in [field, Field::All] {
                let cell = self.field(object, field);
                self.edge(from, cell);
            }
        }
    }

    /// Calls the methods of a value that Python calls for an operation.
    pub(super) fn operate(&mut self, value: Value, operation: Operation, to: Cell, site: Site) {
        let class = match value {
            Value::Instance(object) => self.objects[object as usize].class,
            Value::Class(class) if operation == Operation::Subclass => Some(class),
            Value::Class(class) => {
                return self.on_metaclass(class, Use::Meta { class, operation: Some(operation), site });
            }
            _ => None,
        };
        let Some(class) =
            class.filter(|_| operation != Operation::Subclass || matches!(value, Value::Class(_)))
        else {
            return;
        };
        // `__init_subclass__` receives the derived class.
        let receivers = match operation {
            Operation::Subclass => {
                self.hierarchy.derived(class, MAX_DERIVED).into_iter().map(Value::Class).collect()
            }
            _ => vec![value],
        };
        for method in self.special_methods(class, operation).iter().copied() {
            for receiver in receivers.iter().copied() {
                let bound = self.bound(method, receiver);
                self.add_use(bound, Use::Invoke { to, site });
            }
        }
    }

    /// Returns the methods of the class, with those of its bases, that an operation may call.
    pub(super) fn special_methods(&mut self, class: ClassId, operation: Operation) -> Arc<[Cell]> {
        if let Some(known) = self.special.get(&(class, operation)) {
            return Arc::clone(known);
        }
        let mut found = Vec::new();
        for name in operation.methods() {
            let name = self.name_id(name);
            found.extend(self.class_attribute(class, name));
        }
        let found: Arc<[Cell]> = found.into();
        self.special.insert((class, operation), Arc::clone(&found));
        found
    }

    pub(super) fn has_method(&mut self, class: ClassId, name: &str) -> bool {
        let name = self.name_id(name);
        self.class_attribute(class, name).is_some()
    }

    /// Waits for the metaclass of a class, if it has one.
    pub(super) fn on_metaclass(&mut self, class: ClassId, use_: Use) {
        let order = self.lookup_order(class);
        let metaclass = order.iter().find_map(|class| {
            let node = self.flows[class.document].code.metaclasses.get(&class.class)?;
            Some(self.cell(class.document, *node))
        });
        if let Some(metaclass) = metaclass {
            self.add_use(metaclass, use_);
        }
    }
}
