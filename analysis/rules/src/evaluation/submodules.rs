//! The modules in a module: `model.children()`, `model.modules()`, and the mode that `model.eval()` sets in all of them.

use super::values::{Layer, Value};
use super::{Evaluation, MOST_ITERATIONS};

/// The attribute that tells whether a module is in training mode.
pub(super) const TRAINING: &str = "training";

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `model.modules()` and similar methods.
    pub(super) fn submodules(&self, module: &Value<'a>, method: &str) -> Value<'a> {
        let mut found = Vec::new();
        let is_complete = match method {
            "modules" | "named_modules" => {
                found.push((String::new(), module.clone()));
                self.descendants(module, "", &mut found)
            }
            _ => self.children(module).map(|children| found.extend(children)).is_some(),
        };
        if !is_complete || found.len() > MOST_ITERATIONS {
            return Value::Unknown;
        }
        let is_named = method.starts_with("named_");
        let entry = |(name, module): (String, Value<'a>)| match is_named {
            true => Value::tuple(vec![Value::Text(name.into()), module]),
            false => module,
        };
        Value::list(found.into_iter().map(entry).collect())
    }

    /// Returns whether a module certainly has parameters.
    pub(super) fn has_parameters(&self, module: &Value<'a>) -> bool {
        let mut found = vec![(String::new(), module.clone())];
        matches!(module, Value::Object(_) | Value::Layer(_))
            && self.descendants(module, "", &mut found)
            && found.iter().any(|(_, it)| matches!(it, Value::Layer(layer) if layer.has_parameters()))
    }

    fn descendants(&self, module: &Value<'a>, prefix: &str, found: &mut Vec<(String, Value<'a>)>) -> bool {
        let Some(children) = self.children(module) else { return matches!(module, Value::Unknown) };
        for (name, child) in children {
            if found.len() > MOST_ITERATIONS {
                return false;
            }
            let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
            found.push((name.clone(), child.clone()));
            if !self.descendants(&child, &name, found) {
                return false;
            }
        }
        true
    }

    /// Returns the modules that are attributes of a module, in the order of their registration. An attribute that is not
    /// known may be a module.
    fn children(&self, module: &Value<'a>) -> Option<Vec<(String, Value<'a>)>> {
        let numbered = |modules: Vec<Value<'a>>| {
            modules.into_iter().enumerate().map(|(index, module)| (index.to_string(), module)).collect()
        };
        match module {
            Value::Object(object) => {
                let attributes = object.attributes.borrow();
                let attributes = attributes.as_ref()?;
                if attributes.iter().any(|(name, _)| self.forgotten.contains(name)) {
                    return None;
                }
                let mut found = Vec::new();
                for (name, value) in attributes.iter() {
                    if name == super::calls::LAYERS {
                        found.extend(self.children(value)?);
                    } else if !name.starts_with('<') && self.may_be_module(value) {
                        found.push((name.to_owned(), value.clone()));
                    }
                }
                Some(found)
            }
            Value::Layer(layer) => match &**layer {
                Layer::Sequential(layers) => layers.borrow().clone().map(numbered),
                _ => Some(Vec::new()),
            },
            Value::List(elements) => elements.borrow().clone().map(numbered),
            Value::Dict(items) => {
                let items = items.borrow();
                let entry = |(name, value): &(std::rc::Rc<str>, Value<'a>)| (name.to_string(), value.clone());
                items.as_ref().map(|items| items.iter().map(entry).collect())
            }
            Value::Compiled(compiled) => self.children(&compiled.function),
            _ => None,
        }
    }

    fn may_be_module(&self, value: &Value<'a>) -> bool {
        match value {
            Value::Unknown | Value::Layer(_) => true,
            Value::Object(object) => self.hierarchy(object.class).is_none_or(|it| it.is_module),
            Value::List(elements) => match &*elements.borrow() {
                Some(elements) => elements.first().is_some_and(|first| self.may_be_module(first)),
                None => true,
            },
            Value::Dict(items) => match &*items.borrow() {
                Some(items) => items.first().is_some_and(|(_, first)| self.may_be_module(first)),
                None => true,
            },
            _ => false,
        }
    }

    /// Evaluates `model.eval()` and `model.train(mode)`. `mode` is `None` if it is not known.
    pub(super) fn set_training(&mut self, module: &Value<'a>, mode: Option<bool>) {
        let mut found = vec![(String::new(), module.clone())];
        if !self.descendants(module, "", &mut found) {
            self.forgotten.insert(TRAINING);
            return;
        }
        let value = mode.map_or(Value::Unknown, Value::Bool);
        for (_, module) in found {
            if let Value::Object(object) = &module
                && let Some(attributes) = object.attributes.borrow_mut().as_mut()
            {
                attributes.insert(TRAINING.to_owned(), value.clone());
            }
        }
    }
}
