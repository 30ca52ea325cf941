//! Models calls of functions outside the project. Such a function may call its arguments and return them.

use std::sync::Arc;

use ag_index::dialect::{Dialect, RootKind};
use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::roots;
use ag_index::value_flow::{Call, Operation, Owner};
use ruff_python_ast::name::Name;

use super::loads::DEFINE_DERIVATIVE;
use super::solve::Solver;
use super::values::{Cell, Field, HeldArguments, Origin, Use, Value};
use super::{Callable, StagingFunction};
use crate::hierarchy::ClassId;

/// Builtins whose results contain neither functions nor objects of the project.
const PLAIN_BUILTINS: [&str; 28] = [
    "isinstance",
    "issubclass",
    "len",
    "print",
    "str",
    "repr",
    "hash",
    "id",
    "callable",
    "hasattr",
    "type",
    "range",
    "int",
    "float",
    "bool",
    "format",
    "vars",
    "dir",
    "abs",
    "round",
    "divmod",
    "input",
    "open",
    "any",
    "all",
    "sum",
    "super",
    "object",
];
/// The name that represents a class made by `namedtuple`.
pub(super) const RECORD: &str = "collections.namedtuple.Record";
/// Builtins that call special methods of their first argument (`isinstance`: of its second argument).
const SPECIAL_METHOD_BUILTINS: [(&str, Operation); 23] = [
    ("len", Operation::Length),
    ("abs", Operation::Absolute),
    ("float", Operation::Float),
    ("int", Operation::Integer),
    ("iter", Operation::Iterate),
    ("next", Operation::Next),
    ("bool", Operation::Truth),
    ("hash", Operation::Hash),
    ("str", Operation::Text),
    ("repr", Operation::Text),
    ("format", Operation::Text),
    ("print", Operation::Text),
    ("list", Operation::Iterate),
    ("tuple", Operation::Iterate),
    ("set", Operation::Iterate),
    ("dict", Operation::Iterate),
    ("sum", Operation::Iterate),
    ("any", Operation::Iterate),
    ("all", Operation::Iterate),
    ("sorted", Operation::Iterate),
    ("enumerate", Operation::Iterate),
    ("zip", Operation::Iterate),
    ("isinstance", Operation::InstanceCheck),
];
/// Library functions that call a function with the elements of their other arguments. Only the last part of the dotted
/// name is compared.
pub(super) const CALL_WITH_ELEMENTS: [&str; 9] = [
    "map",
    "tree_map",
    "map_structure",
    "starmap",
    "filter",
    "reduce",
    "tree_reduce",
    "tree_map_with_path",
    "map_with_path",
];
/// Library functions that call functions passed to them. Only the last part of the dotted name is compared. They are
/// followed as values, too: `loop(body)`, where `loop` is `jax.lax.scan`.
pub(super) const LOOPS: [&str; 6] = ["while_loop", "fori_loop", "scan", "cond", "switch", "associative_scan"];
/// Classes of containers. A container that is created empty may be filled later.
const CONTAINERS: [&str; 8] = [
    "builtins.list",
    "builtins.dict",
    "builtins.set",
    "collections.deque",
    "collections.defaultdict",
    "collections.OrderedDict",
    "weakref.WeakKeyDictionary",
    "weakref.WeakValueDictionary",
];
/// Library functions that store a function, or call it only outside traced code.
const STORING_FUNCTIONS: [&str; 9] = [
    "callback",
    "py_function",
    "numpy_function",
    "register",
    "wraps",
    "defjvp",
    "defvjp",
    "Thread",
    "atexit",
];

/// Modules in which the result of every function holds all arguments. In other modules, there are two cases: an
/// instance of a class holds all arguments (`Transformed(init, apply)`), and the result of a function with a single
/// argument holds the argument if it is a function, because the call may be a decorator.
const HOLD_ARGUMENTS: [&str; 6] =
    ["builtins.", "functools.", "itertools.", "collections.", "copy.", "dataclasses."];
/// Functions that list the elements of a container and call none of them. Others may hand them to the code that calls
/// them: `for transform, state in zip(transforms, states)`.
const LIST_ELEMENTS: [&str; 6] = [
    "builtins.frozenset",
    "builtins.len",
    "builtins.list",
    "builtins.set",
    "builtins.sorted",
    "builtins.tuple",
];
/// Modules whose functions return results that hold none of their arguments.
const HOLD_NOTHING: [&str; 9] = [
    "numpy.",
    "jax.numpy.",
    "jax.random.",
    "jax.lax.",
    "jax.nn.",
    "jax.scipy.",
    "scipy.",
    "tensorflow.math.",
    "math.",
];

/// The methods that `register_pytree_node_class` expects in a class.
const FLATTENING: [&str; 3] = ["tree_flatten", "tree_unflatten", "tree_flatten_with_keys"];

impl Solver<'_> {
    pub(super) fn call_library(&mut self, name: &str, document: DocumentIndex, position: u32, call: &Call) {
        if call.decorates_class {
            return;
        }
        let result = self.cell(document, call.result);
        let site = (document, call.site);
        let last = name.rsplit('.').next().unwrap_or(name);
        let argument = |solver: &Self, position: usize| -> Option<Cell> {
            Some(solver.cell(document, (*call.positional.get(position)?)?))
        };
        if let Some(builtin) = name.strip_prefix("builtins.") {
            let special = SPECIAL_METHOD_BUILTINS.iter().find(|(name, _)| *name == builtin);
            if let Some((_, operation)) = special.copied()
                && let Some(base) = argument(self, usize::from(operation == Operation::InstanceCheck))
            {
                let to = if operation == Operation::Next { result } else { self.ignored };
                self.add_use(base, Use::Method { operation, to, site });
            }
            // `type(self)()`
            if builtin == "type" && call.positional.len() == 1 {
                let name = self.name_id("__class__");
                argument(self, 0)
                    .into_iter()
                    .for_each(|base| self.add_use(base, Use::Load { name, to: result, site: None }));
            }
            // `type("Derived", (Base,), {…})`
            if builtin == "type"
                && let Some(bases) = argument(self, 1)
            {
                let (base, to) = (self.new_cell(), self.new_cell());
                self.add_use(bases, Use::Element { field: Field::All, to: base, site: None });
                self.add_use(base, Use::Method { operation: Operation::Subclass, to, site });
                self.edge(base, result);
            }
            if PLAIN_BUILTINS.contains(&builtin) {
                return;
            }
            match (builtin, argument(self, 0), &call.attribute) {
                ("getattr", Some(base), Some(attribute)) => {
                    let name = self.name_id(attribute);
                    self.add_use(base, Use::Load { name, to: result, site: Some(site) });
                    if let Some(default) = argument(self, 2) {
                        self.edge(default, result);
                    }
                    return;
                }
                ("setattr", Some(base), Some(attribute)) => {
                    let name = self.name_id(attribute);
                    if let Some(from) = argument(self, 2) {
                        self.add_use(base, Use::Store { name, from, site: Some(site) });
                    }
                    return;
                }
                _ => {}
            }
        }
        if name == DEFINE_DERIVATIVE {
            for node in
                call.positional.iter().copied().flatten().chain(call.keywords.iter().map(|(_, node)| *node))
            {
                let function = self.cell(document, node);
                let staged_by = StagingFunction::Value(Dialect::Jax, RootKind::ControlFlowBody);
                self.edge(function, result);
                self.add_use(function, Use::Root { document, site: call.site, staged_by, is_first: true });
            }
            return;
        }
        if CONTAINERS.contains(&name) {
            let container = self.object(Origin::Call(document, position, None), None);
            self.add(result, Value::Container(container));
        }
        // `Row = namedtuple("Row", "make shape")`
        if last == "namedtuple" {
            let record = self.library(RECORD);
            return self.add(result, record);
        }
        if name == RECORD || matches!(last, "SimpleNamespace" | "ConfigDict") || name == "builtins.dict" {
            self.fill_record(document, position, call);
            if name != "builtins.dict" {
                return;
            }
        }
        if last == "wraps" {
            let identity = self.library("functools.update_wrapper");
            return self.add(result, identity);
        }
        // `register_pytree_node(Class, flatten, unflatten)`
        if last.starts_with("register_pytree")
            && let Some(class) = argument(self, 0)
        {
            self.edge(class, result);
            return self.add_use(class, Use::Registered { document, call: position });
        }
        if STORING_FUNCTIONS.iter().any(|part| last.contains(part)) {
            return;
        }
        if matches!(name, "functools.partial" | "jax.tree_util.Partial" | "equinox.Partial") {
            if let Some(function) = argument(self, 0) {
                self.add_use(function, Use::Partial { document, call: position });
            }
            return;
        }
        if last == "functional_call"
            && let Some(module) = argument(self, 0)
        {
            return self.add_use(module, Use::CallObject { to: result, site });
        }
        // `tf.function(jit_compile=True)` is called with the function.
        let keyword = call.keywords.iter().find(|(name, _)| {
            matches!(name.as_str(), "func" | "fun" | "f" | "fn" | "obj" | "mod" | "model" | "nnx_fn")
        });
        if let Some((dialect, kind)) = roots::wrapper_of_any(name) {
            if call.positional.is_empty() && keyword.is_none() {
                let library = self.library(name);
                return self.add(result, library);
            }
            let function = argument(self, 0).or_else(|| Some(self.cell(document, keyword?.1)));
            let Some(function) = function else { return };
            self.edge(function, result);
            match kind {
                Some(_) if call.expects_exception => {}
                Some(kind) => {
                    let staged_by = StagingFunction::Value(dialect, kind);
                    self.add_use(
                        function,
                        Use::Root { document, site: call.site, staged_by, is_first: true },
                    );
                }
                None => self.add_use(
                    function,
                    Use::Passed { document, call: position, holds: HeldArguments::Nothing, within: true },
                ),
            }
            return;
        }
        // Keras calls initializers with shapes, and not with the arguments of the layer.
        let passed = call.keywords.iter().filter(|(name, _)| !name.ends_with("initializer"));
        let keywords = passed.map(|(_, node)| *node);
        let all =
            call.positional.iter().copied().flatten().chain(keywords).chain(call.mappings.iter().copied());
        let starred = call.starred.map(|(_, node)| node);
        // `Transformed(init, apply)`, `TrainState.create(apply_fn=apply)`
        let created = name.strip_suffix(".create");
        let class = created.map_or(last, |class| class.rsplit('.').next().unwrap_or(class));
        let keeps = HOLD_ARGUMENTS.iter().any(|prefix| name.starts_with(prefix));
        let carries = class.starts_with(|first: char| first.is_uppercase());
        let holds = match () {
            () if HOLD_NOTHING.iter().any(|prefix| name.starts_with(prefix))
                || CALL_WITH_ELEMENTS.contains(&last) =>
            {
                HeldArguments::Nothing
            }
            () if LIST_ELEMENTS.contains(&name) => HeldArguments::Uncalled,
            () if keeps || carries => HeldArguments::All,
            () if call.positional.len() == 1 => HeldArguments::Functions,
            () => HeldArguments::Nothing,
        };
        // The attributes of an object that `create` returns are its arguments.
        let is_object = holds != HeldArguments::Nothing && created.is_none() && !keeps;
        for node in all.chain(starred) {
            let from = self.cell(document, node);
            if is_object {
                self.add_use(from, Use::Held);
            }
            self.add_use(from, Use::Passed { document, call: position, holds, within: false });
        }
        if CALL_WITH_ELEMENTS.contains(&last)
            && let Some(function) = argument(self, 0)
        {
            let elements: Vec<Cell> = (1..call.positional.len())
                .map(|position| {
                    let element = self.new_cell();
                    if let Some(from) = argument(self, position) {
                        self.add_use(from, Use::Element { field: Field::All, to: element, site: Some(site) });
                    }
                    element
                })
                .collect();
            for (position, from) in (0..).zip(elements) {
                self.add_use(function, Use::Applied { position, from });
            }
        }
    }

    /// Handles a class in `register_pytree_node(Class, flatten, unflatten)`: JAX calls these functions to flatten and
    /// restore objects of the class.
    pub(super) fn registered(&mut self, value: Value, document: DocumentIndex, position: u32) {
        let Value::Class(class) = value else { return };
        let Some(call) = self.call_at(document, position) else { return };
        let Value::Instance(object) = self.instance_of(class) else { return };
        let functions = match self.pytrees.get(&class) {
            Some(cell) => *cell,
            None => self.new_cell(),
        };
        self.pytrees.insert(class, functions);
        let objects = self.new_cell();
        self.add(objects, Value::Instance(object));
        let given =
            call.positional.iter().skip(1).flatten().chain(call.keywords.iter().map(|(_, node)| node));
        for node in given {
            let from = self.cell(document, *node);
            self.edge(from, functions);
            self.add_use(from, Use::Applied { position: 0, from: objects });
        }
    }

    /// Records calls of the functions with which JAX flattens and restores the objects that a traced function receives
    /// or returns. Which functions are traced is not known here, so the calls are recorded for every function with such
    /// a parameter.
    pub(super) fn note_pytrees(&mut self) {
        let is_pytree = |(_, name): &(_, Name)| name == FLATTENING[0];
        if self.pytrees.is_empty()
            && !self.flows.iter().any(|flow| flow.code.attributes.keys().any(is_pytree))
        {
            return;
        }
        for document in self.flows.indices() {
            let flow = Arc::clone(&self.flows[document]);
            let sites = flow.code.first_sites();
            for (function, parameters) in flow.code.parameters.iter_enumerated() {
                let Some(site) = sites.get(&Owner::Code(Code::Function(function))) else { continue };
                for parameter in parameters {
                    for value in self.values_of(self.cell(document, *parameter)) {
                        let Value::Instance(object) = value else { continue };
                        let Some(class) = self.objects[object as usize].class else { continue };
                        for callee in self.flattening(class) {
                            self.note_call((document, *site), callee);
                        }
                    }
                }
            }
        }
    }

    /// Returns the functions that flatten and restore the objects of `class`.
    fn flattening(&mut self, class: ClassId) -> Vec<Callable> {
        let order = self.lookup_order(class);
        let registered = order.iter().filter_map(|class| self.pytrees.get(class).copied());
        let mut cells: Vec<Cell> = registered.collect();
        for name in FLATTENING {
            let name = self.name_id(name);
            cells.extend(self.class_attribute(class, name));
        }
        let values = cells.into_iter().flat_map(|cell| self.values_of(cell));
        values
            .filter_map(|value| match value {
                Value::Function { document, function, .. } => {
                    Some(Callable { document, owner: Owner::Code(Code::Function(function)) })
                }
                Value::Lambda { document, lambda, .. } => {
                    Some(Callable { document, owner: Owner::Lambda(lambda) })
                }
                _ => None,
            })
            .collect()
    }

    /// Makes the arguments of a call the elements of a container. Keywords become keys: `dict(same=same)`.
    fn fill_record(&mut self, document: DocumentIndex, position: u32, call: &Call) {
        let object = self.object(Origin::Call(document, position, None), None);
        let container = Value::Container(object);
        for argument in call.positional.iter().flatten() {
            let from = self.cell(document, *argument);
            self.put_into(container, Field::Unknown, from);
        }
        for (name, argument) in &call.keywords {
            let (field, from) = (Field::Name(self.name_id(name)), self.cell(document, *argument));
            self.put_into(container, field, from);
        }
        let (all, to) = (self.field(object, Field::All), self.cell(document, call.result));
        self.add_use(all, Use::Fill { container: object, to });
    }

    /// Lets the values of `from` flow to the parameter of `value` at this position.
    pub(super) fn applied(&mut self, value: Value, position: u8, from: Cell) {
        match value {
            Value::Function { document, function, bound } => {
                self.give_cell(document, function, usize::from(bound) + usize::from(position), from);
            }
            Value::Lambda { document, lambda, bound } => {
                let flow = self.flows[document].code.lambdas.get(lambda);
                let position = usize::from(bound) + usize::from(position);
                if let Some((_, node)) = flow.and_then(|flow| flow.parameters.get(position)) {
                    let to = self.cell(document, *node);
                    self.edge(from, to);
                }
            }
            _ => {}
        }
    }

    /// Passes `value`, an argument, to a library function. `within`: whether `value` was found inside another argument.
    /// Such a value does not flow to the result, and a container is not searched.
    pub(super) fn passed(
        &mut self,
        value: Value,
        document: DocumentIndex,
        position: u32,
        holds: HeldArguments,
        within: bool,
    ) {
        let Some(call) = self.call_at(document, position) else { return };
        let (result, site) = (self.cell(document, call.result), (document, call.site));
        let (callee, returned) = match value {
            Value::Function { document: defined, function, .. } => {
                let returned = self.flows[defined].code.results[function];
                let owner = Owner::Code(Code::Function(function));
                (Callable { document: defined, owner }, self.cell(defined, returned))
            }
            Value::Lambda { document: defined, lambda, .. } => {
                let Some(flow) = self.flows[defined].code.lambdas.get(lambda) else { return };
                (
                    Callable { document: defined, owner: Owner::Lambda(lambda) },
                    self.cell(defined, flow.result),
                )
            }
            Value::Container(object) if !within => {
                if holds.are_all() {
                    self.add(result, value);
                }
                let elements = self.field(object, Field::All);
                return self.add_use(elements, Use::Passed { document, call: position, holds, within: true });
            }
            Value::Instance(_) => {
                if !within && holds.are_all() {
                    self.add(result, value);
                }
                return self.operate(value, Operation::Library, self.ignored, site);
            }
            Value::Class(_) if !within && holds.are_all() => {
                return self.add(result, value);
            }
            _ => return,
        };
        if within && holds == HeldArguments::Uncalled {
            return;
        }
        self.note_call(site, callee);
        if !within {
            if holds != HeldArguments::Nothing {
                self.add(result, value);
            }
            self.edge(returned, result);
        }
    }

    pub(super) fn add_test_argument(
        &mut self,
        document: DocumentIndex,
        function: FunctionIndex,
        names: Option<&Name>,
        from: Cell,
    ) {
        let own = self.test_parameters(document, function);
        let Some(names) = names else {
            return self.add_use(from, Use::TestArgument { document, function, depth: 3 });
        };
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        for (position, name) in (0..).zip(&names) {
            let Some((_, to)) = own.iter().find(|(own, _)| own.as_str() == *name) else { continue };
            let elements = match names.len() {
                1 => *to,
                _ => self.new_cell(),
            };
            self.add_use(from, Use::Element { field: Field::All, to: elements, site: None });
            if names.len() > 1 {
                self.add_use(
                    elements,
                    Use::Element { field: Field::Position(position), to: *to, site: None },
                );
            }
        }
    }

    fn test_parameters(&self, document: DocumentIndex, function: FunctionIndex) -> Vec<(Name, Cell)> {
        let index = self.modules.indices[document];
        let Some(signature) = index.signatures.get(function) else { return Vec::new() };
        let is_method = index.definitions.functions[function].class.is_some() && !signature.is_static;
        let nodes = &self.flows[document].code.parameters[function];
        let parameters = signature.parameters.iter().zip(nodes).skip(usize::from(is_method));
        parameters.map(|(own, node)| (own.name.clone(), self.cell(document, *node))).collect()
    }

    /// Passes values in a test decorator to the parameters of the decorated function, by name or position:
    /// `@parameters((sgd, 0.1), (adam, 0.2))`, `@named_parameters(dict(testcase_name="sgd", opt=sgd))`.
    pub(super) fn test_argument(
        &mut self,
        value: Value,
        document: DocumentIndex,
        function: FunctionIndex,
        depth: u8,
    ) {
        let own = self.test_parameters(document, function);
        let Value::Container(object) = value else {
            if let (Some((_, first)), true) =
                (own.first(), !matches!(value, Value::Library(_) | Value::Module(_)))
            {
                self.add(*first, value);
            }
            return;
        };
        let mut is_keyed = false;
        for (name, to) in &own {
            let field = Field::Name(self.name_id(name));
            if self.objects[object as usize].fields.contains_key(&field) {
                let keyed = self.field(object, field);
                self.edge(keyed, *to);
                is_keyed = true;
            }
        }
        if is_keyed {
            return;
        }
        for (position, (_, to)) in (0..).zip(&own) {
            // The first element may be the name of the test.
            for position in [position, position + 1] {
                if self.objects[object as usize].fields.contains_key(&Field::Position(position)) {
                    let element = self.field(object, Field::Position(position));
                    self.add_use(element, Use::Plain { to: *to });
                }
            }
        }
        let fields = &self.objects[object as usize].fields;
        let is_record = fields.keys().any(|field| matches!(field, Field::Name(_)));
        if is_record {
            let elements = self.field(object, Field::All);
            own.iter().for_each(|(_, to)| self.add_use(elements, Use::Plain { to: *to }));
        } else if depth > 0 {
            let elements = self.field(object, Field::All);
            self.add_use(elements, Use::NestedTestArgument { document, function, depth: depth - 1 });
        }
    }
}
