//! Calls of values: arguments flow to parameters, and results to the call.

use std::sync::Arc;

use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::index::ParameterKind;
use ag_index::value_flow::{Call, Node, Operation, Owner, Part, SiteIndex};
use ruff_python_ast::name::Name;

use super::solve::Solver;
use super::values::{Cell, Field, HeldArguments, Origin, Use, Value};
use super::{Callable, StagingFunction};
use crate::hierarchy::ClassId;

/// The methods that a call of an object runs. Python calls `__call__`; base classes of layers call `call` and
/// `forward`.
const CALL_METHODS: [&str; 3] = ["__call__", "call", "forward"];

impl Solver<'_> {
    pub(super) fn call_at(&self, document: DocumentIndex, call: u32) -> Option<Arc<Call>> {
        self.flows[document].code.calls.get(call as usize).cloned()
    }

    /// Applies a call to `value`, one of the possible values of its callee.
    pub(super) fn call(&mut self, value: Value, document: DocumentIndex, position: u32) {
        let Some(call) = self.call_at(document, position) else { return };
        let result = self.cell(document, call.result);
        match value {
            Value::Function { document: defined, function, bound } => {
                let callee = Callable { document: defined, owner: Owner::Code(Code::Function(function)) };
                self.note_value_call((document, call.site), callee, bound);
                self.pass(document, &call, 0, (defined, function), usize::from(bound));
                self.return_to(result, (document, &call), (defined, function), usize::from(bound));
            }
            Value::Lambda { document: defined, lambda, bound } => {
                let callee = Callable { document: defined, owner: Owner::Lambda(lambda) };
                self.note_value_call((document, call.site), callee, bound);
                let Some(flow) = self.flows[defined].code.lambdas.get(lambda).cloned() else { return };
                let mut given = flow.parameters.iter().skip(usize::from(bound));
                for argument in &call.positional {
                    let to = given.next().map(|(_, node)| *node);
                    let (Some(argument), Some(to)) = (*argument, to.or(flow.variadic)) else { continue };
                    let (from, to) = (self.cell(document, argument), self.cell(defined, to));
                    self.edge(from, to);
                }
                for (name, argument) in &call.keywords {
                    let Some((_, to)) = flow.parameters.iter().find(|(own, _)| own == name) else { continue };
                    let (from, to) = (self.cell(document, *argument), self.cell(defined, *to));
                    self.edge(from, to);
                }
                let returned = self.cell(defined, flow.result);
                self.edge(returned, result);
            }
            Value::Class(class) => self.construct(class, document, position, &call),
            Value::Instance(object) => {
                self.use_call_methods(value, object, Use::Call { document, call: position, is_method: true });
            }
            Value::Container(_) => {
                self.add(result, value);
                self.element(value, Field::All, result, Some((document, call.site)));
            }
            Value::Mutator(object) => {
                for argument in call.positional.iter().flatten() {
                    let from = self.cell(document, *argument);
                    self.put_into(Value::Container(object), Field::Unknown, from);
                    let elements = self.field(object, Field::Unknown);
                    self.add_use(from, Use::Element { field: Field::All, to: elements, site: None });
                    let elements = self.field(object, Field::All);
                    self.add_use(from, Use::Element { field: Field::All, to: elements, site: None });
                }
            }
            Value::Library(name) => {
                let name = self.names[name as usize].clone();
                self.call_library(&name, document, position, &call);
            }
            Value::Unknown => self.note_unknown_call((document, call.site)),
            Value::Module(_) | Value::Derived(_) | Value::Group(_) => {}
        }
    }

    /// Lets the results of a function flow to the result of a call. If the function returns a parameter, only the
    /// argument of this call flows to its result, not the arguments of other calls.
    fn return_to(
        &mut self,
        result: Cell,
        (document, call): (DocumentIndex, &Call),
        (defined, function): (DocumentIndex, FunctionIndex),
        bound: usize,
    ) {
        let flow = Arc::clone(&self.flows[defined]);
        let all = self.cell(defined, flow.code.results[function]);
        let Some(returned) = flow.code.returned.get(&function) else { return self.edge(all, result) };
        let mut arguments = Vec::new();
        for position in returned.parameters.iter().map(|position| *position as usize) {
            let given = position.checked_sub(bound).and_then(|at| call.positional.get(at));
            let named = || {
                let name = &self.modules.indices[defined]
                    .signatures
                    .get(function)?
                    .parameters
                    .get(position.into())?
                    .name;
                call.keywords.iter().find(|(own, _)| own == name).map(|(_, node)| Some(*node))
            };
            match given.copied().or_else(named) {
                Some(argument) if call.starred.is_none() => arguments.extend(argument),
                // The parameter has its default, is bound, or receives an item of `*arguments` or `**arguments`.
                _ => return self.edge(all, result),
            }
        }
        let others = self.cell(defined, returned.others);
        self.edge(others, result);
        for argument in arguments {
            let from = self.cell(document, argument);
            self.edge(from, result);
        }
    }

    /// Passes the arguments of a call to the parameters of a function. The first `skipped` arguments are not passed,
    /// and the first `bound` parameters receive none.
    pub(super) fn pass(
        &mut self,
        document: DocumentIndex,
        call: &Call,
        skipped: usize,
        (defined, function): (DocumentIndex, FunctionIndex),
        bound: usize,
    ) {
        for (position, argument) in call.positional.iter().skip(skipped).enumerate() {
            if let Some(argument) = argument {
                let from = self.cell(document, *argument);
                self.give_cell(defined, function, bound + position, from);
            }
        }
        let names: Vec<(Name, ParameterKind, Node)> = self.parameters(defined, function);
        let of_kind =
            |kind: ParameterKind| names.iter().find(|(_, own, _)| *own == kind).map(|(.., node)| *node);
        if let Some((start, elements)) = call.starred {
            let from = self.cell(document, elements);
            let start = bound + (start as usize).saturating_sub(skipped);
            for (_, kind, node) in names.iter().skip(start) {
                if matches!(kind, ParameterKind::Positional | ParameterKind::PositionalOnly) {
                    let to = self.cell(defined, *node);
                    self.edge(from, to);
                }
            }
            if let Some(rest) = of_kind(ParameterKind::VarArgs) {
                let rest = self.cell(defined, rest);
                self.put(rest, Field::Unknown, from);
            }
        }
        let keywords = of_kind(ParameterKind::VarKeywords).map(|node| self.cell(defined, node));
        let find = |name: &Name| {
            let is_named = |(own, kind, _): &&(Name, ParameterKind, Node)| {
                own == name && !matches!(kind, ParameterKind::VarArgs | ParameterKind::VarKeywords)
            };
            names.iter().find(is_named).map(|(.., node)| *node)
        };
        for (name, argument) in &call.keywords {
            let from = self.cell(document, *argument);
            match (find(name), keywords) {
                (Some(node), _) => {
                    let to = self.cell(defined, node);
                    self.edge(from, to);
                }
                (None, Some(keywords)) => {
                    let field = self.field_of(&Part::Key(name.clone()));
                    self.put(keywords, field, from);
                }
                _ => {}
            }
        }
        for mapping in &call.mappings {
            let mapping = self.cell(document, *mapping);
            for (name, kind, node) in names.iter().skip(bound) {
                if !matches!(kind, ParameterKind::VarArgs | ParameterKind::VarKeywords) {
                    let (field, to) = (Field::Name(self.name_id(name)), self.cell(defined, *node));
                    self.add_use(mapping, Use::Element { field, to, site: None });
                }
            }
            if let Some(keywords) = keywords {
                self.edge(mapping, keywords);
            }
        }
    }

    fn parameters(
        &self,
        document: DocumentIndex,
        function: FunctionIndex,
    ) -> Vec<(Name, ParameterKind, Node)> {
        let Some(signature) = self.modules.indices[document].signatures.get(function) else {
            return Vec::new();
        };
        let nodes = &self.flows[document].code.parameters[function];
        let parameters = signature.parameters.iter().zip(nodes);
        parameters.map(|(parameter, node)| (parameter.name.clone(), parameter.kind, *node)).collect()
    }

    /// Lets the values of a cell flow to the positional parameter at `position`, or into `*args`.
    pub(super) fn give_cell(
        &mut self,
        document: DocumentIndex,
        function: FunctionIndex,
        position: usize,
        from: Cell,
    ) {
        let Some(signature) = self.modules.indices[document].signatures.get(function) else { return };
        let nodes = &self.flows[document].code.parameters[function];
        let kind = signature.parameters.get(position.into()).map(|parameter| parameter.kind);
        if let Some(ParameterKind::Positional | ParameterKind::PositionalOnly) = kind {
            if let Some(node) = nodes.get(position).copied() {
                let to = self.cell(document, node);
                self.edge(from, to);
            }
            return;
        }
        let rest = signature.parameters.iter().position(|parameter| parameter.kind == ParameterKind::VarArgs);
        if let Some(rest) = rest
            && let Some(node) = nodes.get(rest).copied()
        {
            let field = Field::Position(position.saturating_sub(rest) as u32);
            let container = self.cell(document, node);
            self.put(container, field, from);
        }
    }

    /// Creates an object: `Class(…)`.
    fn construct(&mut self, class: ClassId, document: DocumentIndex, position: u32, call: &Call) {
        let init = self.name_id("__init__");
        let init = self.class_attribute(class, init);
        let origin = match init {
            Some(_) => Origin::Class(class),
            None => Origin::Call(document, position, Some(class)),
        };
        let object = self.object(origin, Some(class));
        let instance = Value::Instance(object);
        let result = self.cell(document, call.result);
        if init.is_some() || self.has_methods(class) {
            self.add(result, instance);
        } else {
            let all = self.field(object, Field::All);
            self.add_use(all, Use::Hold { object, to: result });
        }
        if let Some(init) = init {
            let bound = self.bound(init, instance);
            // The result of `__init__` is None.
            self.add_use(bound, Use::Call { document, call: position, is_method: true });
        } else {
            self.fill(object, class, document, call);
        }
        // `dependent(fget)`, where `class dependent(property)`
        if let Some(first) = call.positional.first().copied().flatten()
            && self.is_property(class)
        {
            let (from, getters) = (self.cell(document, first), self.getters(class));
            self.edge(from, getters);
        }
        let site = (document, call.site);
        self.on_metaclass(class, Use::Meta { class, operation: None, site });
        for name in ["__new__", "__post_init__"] {
            let name = self.name_id(name);
            if let Some(attribute) = self.class_attribute(class, name) {
                self.construct_with(attribute, instance, site);
            }
        }
        // Equinox calls `__check_init__` of the class and of all its bases.
        let check = Name::new_static("__check_init__");
        for class in self.lookup_order(class).iter() {
            if let Some(attribute) = self.own_attribute(*class, &check) {
                self.construct_with(attribute, instance, site);
            }
        }
    }

    fn construct_with(&mut self, attribute: Cell, instance: Value, site: (DocumentIndex, SiteIndex)) {
        let (bound, to) = (self.bound(attribute, instance), self.ignored);
        self.add_use(bound, Use::Invoke { to, site });
    }

    /// Calls a method of the metaclass of `class`: `__call__` for `Class(…)`, other methods for other operations.
    pub(super) fn call_metaclass(
        &mut self,
        metaclass: Value,
        class: ClassId,
        operation: Option<Operation>,
        site: (DocumentIndex, SiteIndex),
    ) {
        let Value::Class(metaclass) = metaclass else { return };
        let (receiver, to) = (self.new_cell(), self.new_cell());
        self.add(receiver, Value::Class(class));
        for name in operation.map_or(&["__call__"][..], Operation::methods) {
            let name = self.name_id(name);
            if let Some(attribute) = self.class_attribute(metaclass, name) {
                self.add_use(attribute, Use::Invoke { to, site });
                self.add_use(attribute, Use::Applied { position: 0, from: receiver });
            }
        }
    }

    /// Passes the arguments of a call to the fields of a NamedTuple or dataclass.
    fn fill(&mut self, object: u32, class: ClassId, document: DocumentIndex, call: &Call) {
        let fields = self.fields_of(class);
        for (argument, name) in call.positional.iter().zip(&fields) {
            if let Some(argument) = argument {
                let from = self.cell(document, *argument);
                self.set_field(object, *name, from);
            }
        }
        for (name, argument) in &call.keywords {
            let name = self.name_id(name);
            let from = self.cell(document, *argument);
            self.set_field(object, name, from);
        }
        for (position, name) in fields.into_iter().enumerate() {
            let given = |(keyword, _): &(Name, _)| *keyword == self.names[name as usize];
            let is_given = position < call.positional.len() || call.keywords.iter().any(given);
            if let Some(default) = self.class_attribute(class, name).filter(|_| !is_given) {
                self.set_field(object, name, default);
            }
            let to = self.field(object, Field::Name(name));
            if let Some((_, elements)) = call.starred {
                let from = self.cell(document, elements);
                self.set_field(object, name, from);
            }
            for mapping in &call.mappings {
                let mapping = self.cell(document, *mapping);
                self.add_use(mapping, Use::Element { field: Field::Name(name), to, site: None });
                let all = self.field(object, Field::All);
                self.edge(to, all);
            }
        }
    }

    fn set_field(&mut self, object: u32, name: u32, from: Cell) {
        for field in [Field::Name(name), Field::All] {
            let to = self.field(object, field);
            self.edge(from, to);
        }
    }

    /// Returns whether the class or one of its bases in the project defines a method.
    fn has_methods(&mut self, class: ClassId) -> bool {
        let order = self.lookup_order(class);
        order.iter().any(|class| {
            let classes = &self.modules.indices[class.document].definitions.classes;
            classes.get(class.class).is_some_and(|entry| !entry.methods.is_empty())
        })
    }

    /// Records that Python or a library calls a value. No arguments flow to its parameters.
    pub(super) fn invoke(&mut self, value: Value, to: Cell, site: (DocumentIndex, SiteIndex)) {
        let (callee, result) = match value {
            Value::Function { document, function, .. } => {
                let result = self.flows[document].code.results[function];
                let owner = Owner::Code(Code::Function(function));
                (Callable { document, owner }, self.cell(document, result))
            }
            Value::Lambda { document, lambda, .. } => {
                let Some(flow) = self.flows[document].code.lambdas.get(lambda) else { return };
                let result = self.cell(document, flow.result);
                (Callable { document, owner: Owner::Lambda(lambda) }, result)
            }
            _ => return,
        };
        self.note_call(site, callee);
        self.edge(result, to);
    }

    /// Adds a use of the methods that a call of an object runs ([`CALL_METHODS`]).
    fn use_call_methods(&mut self, value: Value, object: u32, used: Use) {
        let Some(class) = self.objects[object as usize].class else { return };
        for name in CALL_METHODS {
            let name = self.name_id(name);
            if let Some(attribute) = self.class_attribute(class, name) {
                let bound = self.bound(attribute, value);
                self.add_use(bound, used);
            }
        }
    }

    /// Records that `functional_call(value, …)` calls a function or a module.
    pub(super) fn call_object(&mut self, value: Value, to: Cell, site: (DocumentIndex, SiteIndex)) {
        match value {
            Value::Function { document, function, bound } => {
                let owner = Owner::Code(Code::Function(function));
                self.note_value_call(site, Callable { document, owner }, bound);
                let result = self.cell(document, self.flows[document].code.results[function]);
                self.edge(result, to);
            }
            Value::Instance(object) => {
                self.use_call_methods(value, object, Use::CallObject { to, site });
            }
            _ => {}
        }
    }

    /// Evaluates `partial(f, …)`.
    pub(super) fn partial(&mut self, value: Value, document: DocumentIndex, position: u32) {
        let Some(call) = self.call_at(document, position) else { return };
        let result = self.cell(document, call.result);
        let more = u8::try_from(call.positional.len().saturating_sub(1)).unwrap_or(u8::MAX);
        match value {
            Value::Function { document: defined, function, bound } => {
                self.pass(document, &call, 1, (defined, function), usize::from(bound));
                let bound = bound.saturating_add(more);
                self.add(result, Value::Function { document: defined, function, bound });
            }
            Value::Lambda { document: defined, lambda, bound } => {
                let bound = bound.saturating_add(more);
                self.add(result, Value::Lambda { document: defined, lambda, bound });
            }
            // `partial(jax.tree.map, f)`
            Value::Library(_) => {
                self.add(result, value);
                for argument in call.positional.iter().skip(1).flatten() {
                    let from = self.cell(document, *argument);
                    self.add_use(
                        from,
                        Use::Passed { document, call: position, holds: HeldArguments::Nothing, within: true },
                    );
                }
            }
            // `partial(Head, activation=relu)`
            Value::Class(class) => {
                self.add(result, value);
                let init = self.name_id("__init__");
                let constructors =
                    self.class_attribute(class, init).map(|init| self.values_of(init)).unwrap_or_default();
                for constructor in constructors {
                    if let Value::Function { document: defined, function, .. } = constructor {
                        self.pass(document, &call, 1, (defined, function), 1);
                    }
                }
            }
            other => self.add(result, other),
        }
    }

    /// Records that `value` is passed to a call that stages it. Elements of a container, and the methods that a call of
    /// an object runs, are recorded too.
    pub(super) fn root(
        &mut self,
        value: Value,
        document: DocumentIndex,
        site: SiteIndex,
        staged_by: StagingFunction,
        is_first: bool,
    ) {
        match value {
            Value::Function { document: defined, function, .. } => {
                let function = Callable { document: defined, owner: Owner::Code(Code::Function(function)) };
                self.note_root((document, site), staged_by, function);
            }
            Value::Lambda { document: defined, lambda, .. } => {
                let function = Callable { document: defined, owner: Owner::Lambda(lambda) };
                self.note_root((document, site), staged_by, function);
            }
            Value::Unknown => self.note_unknown_root((document, site), staged_by),
            Value::Container(object) => {
                let elements = self.field(object, Field::All);
                self.add_use(elements, Use::Root { document, site, staged_by, is_first: false });
            }
            Value::Instance(object) if is_first => {
                self.use_call_methods(
                    value,
                    object,
                    Use::Root { document, site, staged_by, is_first: false },
                );
            }
            _ => {}
        }
    }
}
