//! Assumptions about values that no constraint determines. They are made when all other values are known. An unknown
//! decorator is assumed to return the function that it decorates. A method of an object of unknown class is assumed to
//! be that of an interface of the project, if the method's name identifies one.

use std::sync::Arc;

use ag_index::value_flow::Constraint;
use ruff_python_ast::name::Name;
use rustc_hash::FxHashMap;

use super::solve::Solver;
use super::values::{Cell, Value, class_id};
use crate::hierarchy::ClassId;

/// The maximum number of definitions of a method. The name of a method with more definitions does not identify an
/// interface.
const MAX_OVERRIDES: usize = 64;
/// The maximum number of classes that define a method without a common base. If there are more, the method's name does
/// not identify them.
const MAX_UNRELATED: usize = 4;
/// Methods that arrays and containers also have. Their names do not identify an interface.
const ARRAY_METHODS: [&str; 36] = [
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
/// The classes that define a method of one name.
struct Interface {
    classes: Vec<ClassId>,
    /// Whether the method is abstract in a base of all these classes, so that objects of other classes do not have it.
    is_certain: bool,
}

impl Solver<'_> {
    /// Resolves methods of objects about which nothing is known. If the method's name belongs to an interface, or to few
    /// classes ([`Self::interfaces`]), all methods of this name may be called. Returns whether this adds anything.
    pub(super) fn load_abstract(&mut self) -> bool {
        let interfaces = self.interfaces();
        let mut found = false;
        for document in self.flows.indices().filter(|_| !interfaces.is_empty()) {
            let flow = Arc::clone(&self.flows[document]);
            for constraint in &flow.code.constraints {
                let Constraint::Load { base, name, to, site } = constraint else { continue };
                let Some(Interface { classes, is_certain }) = interfaces.get(name) else { continue };
                if !self.values[self.cell(document, *base) as usize].list.is_empty() {
                    continue;
                }
                let to = self.cell(document, *to);
                if !is_certain {
                    self.add(to, Value::Unknown);
                }
                for class in classes {
                    let receiver = self.instance_of(*class);
                    if let Some(attribute) = self.own_attribute(*class, name) {
                        found |= self.read(attribute, receiver, to, Some((document, *site)));
                    }
                }
            }
        }
        found
    }

    /// Returns the interfaces of the project by the names of their methods. A name is included if few classes define a
    /// method of this name. It is also included if the method is abstract and one of the classes that define it is a
    /// base of all others.
    fn interfaces(&mut self) -> FxHashMap<Name, Interface> {
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
        definitions.retain(|name, _| !ARRAY_METHODS.contains(&name.as_str()) && !name.starts_with("__"));
        let mut interfaces = FxHashMap::default();
        for (name, (mut classes, is_abstract)) in definitions {
            classes.dedup();
            let shared = |candidate: &ClassId| {
                classes.iter().all(|class| self.hierarchy.lookup_order(*class).contains(candidate))
            };
            let is_certain = is_abstract && classes.len() <= MAX_OVERRIDES && classes.iter().any(shared);
            if is_certain || classes.len() <= MAX_UNRELATED {
                interfaces.insert(name, Interface { classes, is_certain });
            }
        }
        interfaces
    }

    /// Returns whether one of the functions in `argument` is not among the values of the parameter to which a call of
    /// `callee` passes it, because this parameter has more values than a cell holds.
    fn is_left_out(&self, callee: Cell, argument: Cell) -> bool {
        self.values[callee as usize].list.iter().any(|value| {
            let Value::Function { document, function, bound } = *value else { return false };
            let node = self.flows[document].code.parameters[function].get(usize::from(bound));
            node.is_some_and(|node| {
                let parameter = &self.values[self.cell(document, *node) as usize];
                parameter.is_full()
                    && self.values[argument as usize].list.iter().any(|value| !parameter.list.has(value))
            })
        })
    }

    /// Assumes that unknown decorators return the functions that they decorate. The same is assumed of a decorator that
    /// decorates more functions than a cell holds. Returns whether this adds anything.
    pub(super) fn skip_decorators(&mut self) -> bool {
        let mut found = false;
        for document in self.flows.indices() {
            let flow = Arc::clone(&self.flows[document]);
            for call in flow.code.decorators.iter().filter_map(|call| flow.code.calls.get(*call as usize)) {
                let Some(Some(function)) = call.positional.first() else { continue };
                let callee = self.cell(document, call.callee);
                if self.values[callee as usize].list.is_empty()
                    || self.is_left_out(callee, self.cell(document, *function))
                {
                    let (from, to) = (self.cell(document, *function), self.cell(document, call.result));
                    found |= !self.successors[from as usize].has(&to);
                    self.edge(from, to);
                }
            }
        }
        found
    }
}
