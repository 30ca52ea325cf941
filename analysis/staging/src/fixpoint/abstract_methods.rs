//! Methods that a class calls on `self` and derived classes define:
//!
//! ```python
//! class Model:
//!     def loss(self, x): return jnp.mean(self.forward(x))      # not defined in `Model`
//!     def forward(self, x): raise NotImplementedError          # or without a result
//!
//! class Linear(Model):
//!     def forward(self, x): return x @ self.w
//! ```
//!
//! The result of the call is a result of one of these methods.

use ag_db::Db;
use ag_index::assumed::AssumedType;
use ag_index::ids::Code;
use ag_index::oracle::{Assumptions, Scope};
use ruff_python_ast::name::Name;

use crate::fixpoint::Fixpoint;
use crate::fixpoint::roots::MAX_DERIVED;
use crate::hierarchy::ClassId;

impl Fixpoint {
    /// Returns the class around a scope.
    pub(super) fn class_of(&self, db: &dyn Db, scope: Scope) -> Option<ClassId> {
        let class = self.index(db, scope).class_around(scope.code)?;
        Some(ClassId { document: scope.document, class })
    }

    /// Returns the methods that `self.method()` runs for objects of derived classes if the class itself does not define
    /// `method`. A derived class may inherit it from another base. Each is returned with a derived class.
    pub(super) fn implementing(&self, db: &dyn Db, class: ClassId, name: &str) -> Vec<(ClassId, Scope)> {
        let mut found: Vec<(ClassId, Scope)> = Vec::new();
        for derived in self.hierarchy.derived(class, MAX_DERIVED) {
            let order = self.hierarchy.lookup_order(derived);
            if let Some(method) = order.into_iter().find_map(|class| self.method_of(db, class, name))
                && found.iter().all(|(_, known)| *known != method)
            {
                found.push((derived, method));
            }
        }
        found
    }

    /// Returns the result of a method that a class defines without a result, or not at all: the results of the methods
    /// by which derived classes override it. Returns `None` if one is unknown.
    pub(super) fn overriding_result(&self, db: &dyn Db, class: ClassId, name: &Name) -> Option<AssumedType> {
        let mut result = AssumedType::default();
        for (_, method) in self.implementing(db, class, name) {
            result.join(self.returns.get(&method)?);
        }
        (!result.is_empty() && !result.unknown).then_some(result)
    }

    /// Adds the results of methods that staged code calls on `self`, but whose class does not define a result.
    pub(super) fn add_overriding_results(&self, db: &dyn Db, assumptions: &mut Assumptions) {
        for (class, name) in &self.overridden {
            let Some(result) = self.overriding_result(db, *class, name) else { continue };
            let order = self.hierarchy.lookup_order(*class);
            match order.into_iter().find_map(|class| self.method_of(db, class, name)) {
                Some(method) if self.returns.get(&method).is_some_and(|returns| !returns.is_empty()) => {}
                Some(method) => {
                    let functions = assumptions.entry(method.document).or_default();
                    if let Some(assumption) = functions.get_mut(&method.code) {
                        assumption.returns = Some(result);
                    }
                }
                None => {
                    let functions = assumptions.entry(class.document).or_default();
                    let module = functions.entry(Code::Module).or_default();
                    module.missing_methods.push((class.class, name.clone(), result));
                }
            }
        }
    }
}
