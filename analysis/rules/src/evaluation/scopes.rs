//! The variables of functions and modules, and the scopes around them.

use std::rc::Rc;

use super::values::{Scope, Value, Variables};

impl<'a> Variables<'a> {
    pub(super) fn inside(parent: &Scope<'a>) -> Scope<'a> {
        Rc::new(Self { parent: Some(parent.clone()), ..Self::default() })
    }

    /// Returns whether a `global` or `nonlocal` statement declares a name.
    pub(super) fn is_declared_outer(&self, name: &str) -> bool {
        self.globals.borrow().contains(name) || self.nonlocals.borrow().contains(name)
    }

    /// Returns whether a name is a variable of the module here.
    pub(super) fn is_global(&self, name: &str) -> bool {
        match &self.parent {
            Some(parent) => {
                self.globals.borrow().contains(name)
                    || !self.bound.borrow().contains_key(name) && parent.is_global(name)
            }
            None => self.bound.borrow().contains_key(name),
        }
    }

    pub(super) fn get(&self, name: &str) -> Value<'a> {
        if self.is_declared_outer(name)
            && let Some(parent) = &self.parent
        {
            return parent.get(name);
        }
        if let Some(value) = self.bound.borrow().get(name) {
            return value.clone();
        }
        self.parent.as_ref().map_or(Value::Unknown, |parent| parent.get(name))
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.bound.borrow().contains_key(name)
            || self.parent.as_ref().is_some_and(|parent| parent.knows(name))
    }

    pub(super) fn set(&self, name: &'a str, value: Value<'a>) {
        if self.globals.borrow().contains(name)
            && let Some(parent) = &self.parent
        {
            // The scopes between a function and the module have no variable with this name.
            return parent.set(name, value);
        }
        if self.nonlocals.borrow().contains(name)
            && let Some(parent) = &self.parent
        {
            return parent.set_nearest(name, value);
        }
        self.bound.borrow_mut().insert(name, value);
    }

    /// Sets a variable of the nearest enclosing function that has it.
    fn set_nearest(&self, name: &'a str, value: Value<'a>) {
        match &self.parent {
            Some(parent) if !self.bound.borrow().contains_key(name) => parent.set_nearest(name, value),
            _ => self.set(name, value),
        }
    }

    /// Forgets a variable here and in the scopes around it.
    pub(super) fn forget(&self, name: &'a str) {
        self.set(name, Value::Unknown);
        if let Some(parent) = &self.parent {
            parent.forget(name);
        }
    }
}
