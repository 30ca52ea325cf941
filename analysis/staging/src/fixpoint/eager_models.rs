//! Keras models that the project only calls, in eager code:
//!
//! ```python
//! model = Net()
//! loss = criterion(model(x), y)
//! ```
//!
//! Such a call traces nothing. A model is traced by `model.fit(…)`, unless `model.compile(run_eagerly=True)` precedes
//! it, and by calls with a symbolic input or inside a `tf.function`.

use std::cell::LazyCell;

use crate::fixpoint::Fixpoint;
use ag_db::Db;
use ag_index::ids::{Code, FunctionIndex};
use ag_index::index::{FileIndex, ModelCall, file_index};
use ag_index::keras_classes;
use ag_index::modules::module_names;
use ruff_python_ast::name::Name;
use rustc_hash::FxHashSet;

impl Fixpoint {
    /// Finds out whether the project may trace models.
    pub(super) fn find_tracing_of_models(&mut self, db: &dyn Db) {
        let packages = LazyCell::new(|| {
            let names = self.documents.iter().flat_map(|document| module_names(db, *document));
            names.filter_map(|name| name.split('.').next().map(Name::new)).collect::<FxHashSet<_>>()
        });
        let is_of_project =
            |call: &&ModelCall| call.package.as_ref().is_none_or(|package| packages.contains(package));
        let calls = self.documents.iter().flat_map(|document| &file_index(db, *document).model_calls);
        let traced: FxHashSet<&str> = calls.filter(is_of_project).map(|call| call.name).collect();
        self.traces_models = traced.into_iter().any(|name| !self.is_own_evaluation(db, name));
    }

    /// Returns whether a function is the `call` of a Keras model, and the project creates the model but does not trace
    /// it.
    pub(super) fn is_only_called_eagerly(
        &mut self,
        db: &dyn Db,
        index: &FileIndex,
        function: FunctionIndex,
    ) -> bool {
        let around = index.definitions.functions.get(function).and_then(|entry| entry.parent);
        if index.compile_eagerly.contains(&around.map_or(Code::Module, Code::Function)) {
            return true;
        }
        if self.traces_models || index.short_name(function) != "call" {
            return false;
        }
        let class =
            index.class_around(function.into()).filter(|class| keras_classes::is_model(index, *class));
        let Some(class) = class.and_then(|class| index.definitions.classes.get(class)) else { return false };
        let name = class.qualname.rsplit('.').next().unwrap_or_default();
        self.names.insert(Name::new(name));
        self.calls(db, name)
    }

    /// Returns whether a name refers to a function of the project: `evaluate(model, data)`. Its body determines what is
    /// traced.
    fn is_own_evaluation(&self, db: &dyn Db, name: &str) -> bool {
        name == "evaluate"
            && self.documents.iter().any(|document| {
                let index = file_index(db, *document);
                let functions = index.definitions.functions.iter_enumerated();
                functions.into_iter().any(|(function, entry)| {
                    entry.class.is_none() && entry.parent.is_none() && index.short_name(function) == name
                })
            })
    }

    /// Returns whether the project calls a function or class of this name.
    fn calls(&self, db: &dyn Db, name: &str) -> bool {
        self.documents.iter().any(|document| file_index(db, *document).calls.contains_key(name))
    }
}
