//! Declared types: `def merge(context: Context)`. A variable that is declared to be an object of a class of the project
//! holds no other values. So values that only seem to flow to it, because the analysis does not distinguish the calls
//! of a function, go no further. If no value flows to it, it is assumed to be such an object.

use std::sync::Arc;

use ag_index::ids::DocumentIndex;
use ag_index::value_flow::Declaration;

use super::solve::Solver;
use super::values::{Cell, MAX_DERIVED, Value};
use crate::hierarchy::ClassId;

/// Types outside the project whose values are neither functions nor objects of the project.
const PLAIN: [&str; 14] = [
    "None",
    "bool",
    "bytes",
    "complex",
    "float",
    "int",
    "str",
    "jax.Array",
    "jax.numpy.ndarray",
    "numpy.ndarray",
    "tensorflow.Tensor",
    "tensorflow.Variable",
    "tensorflow.dtypes.DType",
    "torch.Tensor",
];

/// The meaning of a name in a declaration.
enum Named {
    Class(ClassId),
    /// The values are neither functions nor objects of the project.
    Plain,
    /// A protocol, a type variable, an alias, a class of a library.
    Unknown,
}

impl Solver<'_> {
    /// Restricts the cells of a file to the values of their declared types.
    pub(super) fn add_declarations(&mut self, document: DocumentIndex) {
        let flow = Arc::clone(&self.flows[document]);
        for declaration in &flow.code.declarations {
            let (classes, is_complete) = self.declared(document, declaration);
            let to = self.cell(document, declaration.to);
            if is_complete {
                self.values[to as usize].restrict(&classes);
            }
            if !classes.is_empty() {
                self.declared.push((to, classes));
            }
        }
    }

    /// Returns the classes of the project that a declaration names, and whether the variable cannot hold other values.
    fn declared(&self, document: DocumentIndex, declaration: &Declaration) -> (Vec<ClassId>, bool) {
        let mut classes = Vec::new();
        let mut is_complete = declaration.is_complete;
        for name in &declaration.classes {
            match self.named(document, name) {
                Named::Class(class) => classes.push(class),
                Named::Plain => {}
                Named::Unknown => is_complete = false,
            }
        }
        (classes, is_complete)
    }

    fn named(&self, document: DocumentIndex, name: &str) -> Named {
        if let Some(class) = self.modules.class_named(document, name, 0) {
            return match self.hierarchy.is_protocol(class) {
                true => Named::Unknown,
                false => Named::Class(class),
            };
        }
        let full = self.modules.imported(document, name);
        let is_plain = match &full {
            Some(full) => PLAIN.contains(&full.as_str()),
            None => PLAIN.contains(&name) && !self.flows[document].code.globals.contains_key(name),
        };
        if is_plain { Named::Plain } else { Named::Unknown }
    }

    /// Returns whether a cell may hold a value, according to its declared type.
    pub(super) fn is_accepted(&mut self, cell: Cell, value: Value) -> bool {
        if self.values[cell as usize].declared.is_none() {
            return true;
        }
        let Value::Instance(object) = value else { return false };
        let Some(class) = self.objects[object as usize].class else { return false };
        let order = self.lookup_order(class);
        let declared = &self.values[cell as usize].declared;
        declared.iter().flatten().any(|class| order.contains(class))
    }

    /// Assumes that a variable about which nothing is known is an object of its declared class, or of a class that
    /// derives from it. Returns whether this adds anything.
    pub(super) fn assume_declared(&mut self) -> bool {
        let mut found = false;
        for (cell, classes) in std::mem::take(&mut self.declared) {
            if !self.values[cell as usize].list.is_empty() {
                continue;
            }
            for class in classes {
                for class in self.hierarchy.derived(class, MAX_DERIVED).into_iter().chain([class]) {
                    let instance = self.instance_of(class);
                    self.add(cell, instance);
                    found = true;
                }
            }
        }
        found
    }
}
