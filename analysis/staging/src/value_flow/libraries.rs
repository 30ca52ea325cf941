//! Calls of functions outside the project. They may call and return the functions that they are given.

use ag_index::ids::{Code, DocumentIndex, FunctionIndex};
use ag_index::roots;
use ag_index::value_flow::{Call, Owner};
use ruff_python_ast::name::Name;

use super::Callable;
use super::Stager;
use super::solve::Solver;
use super::values::{Cell, Field, Use, Value};

/// Builtins whose results are neither functions nor objects of the project.
const PLAIN: [&str; 28] = [
    "isinstance", "issubclass", "len", "print", "str", "repr", "hash", "id", "callable", "hasattr", "type", "range",
    "int", "float", "bool", "format", "vars", "dir", "abs", "round", "divmod", "input", "open", "any", "all", "sum",
    "super", "object",
];
/// Library functions that call a function with the elements of their other arguments, by their last names.
const OF_ELEMENTS: [&str; 9] = [
    "map", "tree_map", "map_structure", "starmap", "filter", "reduce", "tree_reduce", "tree_map_with_path",
    "map_with_path",
];
/// Library functions that keep a function and do not call it while code is traced.
const KEEPERS: [&str; 9] = [
    "callback", "py_function", "numpy_function", "register", "wraps", "defjvp", "defvjp", "Thread", "atexit",
];

impl Solver<'_> {
    pub(super) fn call_library(&mut self, name: &str, document: DocumentIndex, position: u32, call: &Call) {
        let result = self.cell(document, call.result);
        let site = (document, call.site);
        let last = name.rsplit('.').next().unwrap_or(name);
        let argument = |solver: &Self, position: usize| -> Option<Cell> {
            Some(solver.cell(document, (*call.positional.get(position)?)?))
        };
        if let Some(builtin) = name.strip_prefix("builtins.") {
            if PLAIN.contains(&builtin) {
                return;
            }
            match (builtin, argument(self, 0), &call.attribute) {
                ("getattr", Some(base), Some(attribute)) => {
                    let name = self.number(attribute);
                    self.on(base, Use::Load { name, to: result, site: Some(site) });
                    if let Some(default) = argument(self, 2) {
                        self.edge(default, result);
                    }
                    return;
                }
                ("setattr", Some(base), Some(attribute)) => {
                    let name = self.number(attribute);
                    if let Some(from) = argument(self, 2) {
                        self.on(base, Use::Store { name, from });
                    }
                    return;
                }
                ("next", Some(base), _) => {
                    self.on(base, Use::Method { names: &["__next__"], to: result, site });
                }
                _ => {}
            }
        }
        if last == "wraps" {
            let identity = self.library("functools.update_wrapper");
            return self.add(result, identity);
        }
        if KEEPERS.iter().any(|keeper| last.contains(keeper)) {
            return;
        }
        if matches!(name, "functools.partial" | "jax.tree_util.Partial" | "equinox.Partial") {
            if let Some(function) = argument(self, 0) {
                self.on(function, Use::Partial { document, call: position });
            }
            return;
        }
        // `tf.function(jit_compile=True)` is called with the function.
        let keyword = call.keywords.iter().find(|(name, _)| {
            matches!(name.as_str(), "func" | "fun" | "f" | "fn" | "obj" | "mod" | "model" | "nnx_fn")
        });
        if call.positional.is_empty() && keyword.is_none() {
            let library = self.library(name);
            self.add(result, library);
        }
        if let Some((dialect, kind)) = roots::wrapper_of_any(name) {
            let function = argument(self, 0).or_else(|| Some(self.cell(document, keyword?.1)));
            let Some(function) = function else { return };
            self.edge(function, result);
            match kind {
                Some(kind) => {
                    let stager = Stager::Value(dialect, kind);
                    self.on(function, Use::Root { document, site: call.site, stager, is_first: true });
                }
                None => self.on(function, Use::Passed { document, call: position, within: true }),
            }
            return;
        }
        let keywords = call.keywords.iter().map(|(_, node)| *node);
        let all = call.positional.iter().copied().flatten().chain(keywords).chain(call.mappings.iter().copied());
        let starred = call.starred.map(|(_, node)| node);
        for node in all.chain(starred) {
            let from = self.cell(document, node);
            self.on(from, Use::Passed { document, call: position, within: false });
        }
        if OF_ELEMENTS.contains(&last)
            && let Some(function) = argument(self, 0)
        {
            let elements: Vec<Cell> = (1..call.positional.len())
                .map(|position| {
                    let element = self.new_cell();
                    if let Some(from) = argument(self, position) {
                        self.on(from, Use::Element { field: Field::All, to: element, site: Some(site) });
                    }
                    element
                })
                .collect();
            for (position, from) in (0..).zip(elements) {
                self.on(function, Use::Applied { position, from });
            }
        }
    }

    /// A function of the cell gets the values of `from` for a parameter.
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

    /// An argument of a library function. `within`: only functions are called, and the result is known.
    pub(super) fn passed(&mut self, value: Value, document: DocumentIndex, position: u32, within: bool) {
        let Some(call) = self.flows[document].code.calls.get(position as usize) else { return };
        let (result, site) = (self.cell(document, call.result), (document, call.site));
        let (callee, returned) = match value {
            Value::Function { document: defined, function, .. } => {
                let returned = self.flows[defined].code.results[function];
                let owner = Owner::Code(Code::Function(function));
                (Callable { document: defined, owner }, self.cell(defined, returned))
            }
            Value::Lambda { document: defined, lambda, .. } => {
                let Some(flow) = self.flows[defined].code.lambdas.get(lambda) else { return };
                (Callable { document: defined, owner: Owner::Lambda(lambda) }, self.cell(defined, flow.result))
            }
            Value::Container(object) if !within => {
                self.add(result, value);
                let elements = self.field(object, Field::All);
                return self.on(elements, Use::Passed { document, call: position, within: true });
            }
            _ if within => return,
            _ => return self.add(result, value),
        };
        self.note_call(site, callee);
        if !within {
            self.add(result, value);
            self.edge(returned, result);
        }
    }

    pub(super) fn add_given(
        &mut self,
        document: DocumentIndex,
        function: FunctionIndex,
        name: Option<&Name>,
        from: Cell,
    ) {
        let index = self.modules.indices[document];
        let parameters = index.signatures.get(function).map(|signature| &signature.parameters);
        let parameter = parameters.into_iter().flatten().position(|own| Some(&own.name) == name);
        let nodes = &self.flows[document].code.parameters[function];
        if let Some(node) = parameter.and_then(|position| nodes.get(position)) {
            let to = self.cell(document, *node);
            self.edge(from, to);
            self.on(from, Use::Element { field: Field::All, to, site: None });
        } else {
            self.on(from, Use::Given { document, function, depth: 3 });
        }
    }

    /// A value in the arguments of a decorator may be that of any parameter, or that of the one with its key.
    pub(super) fn given(&mut self, value: Value, document: DocumentIndex, function: FunctionIndex, depth: u8) {
        let index = self.modules.indices[document];
        let Some(signature) = index.signatures.get(function) else { return };
        let is_method = index.definitions.functions[function].class.is_some() && !signature.is_static;
        let names: Vec<Name> =
            signature.parameters.iter().skip(usize::from(is_method)).map(|own| own.name.clone()).collect();
        let nodes = &self.flows[document].code.parameters[function];
        let cells: Vec<Cell> =
            nodes.iter().skip(usize::from(is_method)).map(|node| self.cell(document, *node)).collect();
        match value {
            Value::Container(object) if depth > 0 => {
                for (name, to) in names.iter().zip(&cells) {
                    let name = self.number(name);
                    let keyed = self.field(object, Field::Name(name));
                    self.edge(keyed, *to);
                }
                let elements = self.field(object, Field::All);
                self.on(elements, Use::Given { document, function, depth: depth - 1 });
            }
            Value::Container(_) | Value::Module(_) | Value::Mutator(_) | Value::Library(_) => {}
            _ => cells.into_iter().for_each(|to| self.add(to, value)),
        }
    }
}
