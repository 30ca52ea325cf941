//! Copies of modules, and modules whose parameters are stacked:
//!
//! ```python
//! params, buffers = torch.func.stack_module_state(models)
//! base = copy.deepcopy(models[0]).to("meta")
//!
//! def one(params, buffers, x):
//!     return functional_call(base, (params, buffers), (x,))       # numbers in attributes are those of `base`
//!
//! vmap(one, in_dims=(0, 0, None))(params, buffers, x)
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use ruff_text_size::TextRange;

use super::kinds::Kind;
use super::submodules::TRAINING;
use super::values::{Layer, Object, Value};
use super::{Evaluation, Framework};

/// The maximum depth of objects in objects that are copied.
const DEEPEST: usize = 8;

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `copy.deepcopy(value)`.
    pub(super) fn deep_copy(&self, value: &Value<'a>) -> Value<'a> {
        if self.framework == Framework::Torch && !self.is_exploring {
            copied(value, DEEPEST)
        } else {
            Value::Unknown
        }
    }

    /// Evaluates `torch.func.stack_module_state(models)`.
    pub(super) fn stack_state(&mut self, models: Option<&Value<'a>>) -> Value<'a> {
        let objects: Option<Vec<Rc<Object<'a>>>> = models.and_then(Value::elements).and_then(|models| {
            let object =
                |model: Value<'a>| if let Value::Object(object) = model { Some(object) } else { None };
            models.into_iter().map(object).collect()
        });
        let Some(objects) = objects else { return Value::Unknown };
        if let Some((first, others)) = objects.split_first()
            && others.iter().all(|other| std::ptr::eq(other.class, first.class))
            && let Some(attributes) = &*first.attributes.borrow()
        {
            for (name, value) in attributes.iter().filter(|(name, _)| *name != TRAINING) {
                let Some(own) = value.constant() else { continue };
                let differs = |other: &Rc<Object<'a>>| {
                    let attributes = other.attributes.borrow();
                    let other = attributes.as_ref().and_then(|it| it.get(name)?.constant());
                    other.is_some_and(|other| other != own)
                };
                if others.iter().any(differs) {
                    self.stacked.push((std::ptr::from_ref(first.class), name.to_owned()));
                }
            }
        }
        Value::tuple(vec![Value::Unknown, Value::Unknown])
    }

    /// Checks that code of a mapped module reads no attribute that differs between the modules.
    pub(super) fn reads_stacked(&mut self, object: &Value<'a>, name: &str, range: TextRange) {
        if let Value::Object(object) = object
            && self.functional.contains(&true)
            && self.stacked.iter().any(|(class, known)| std::ptr::eq(*class, object.class) && known == name)
        {
            let message = format!(
                "`{name}` differs between the modules that `stack_module_state` has stacked, but the mapped call uses that \
                 of one module"
            );
            self.report(range, Kind::Stacked, message);
        }
    }
}

fn copied<'a>(value: &Value<'a>, depth: usize) -> Value<'a> {
    let Some(depth) = depth.checked_sub(1) else { return Value::Unknown };
    let of = |value: &Value<'a>| copied(value, depth);
    match value {
        Value::Tuple(elements) => Value::tuple(elements.iter().map(of).collect()),
        Value::List(elements) => {
            let copy = elements.borrow().as_ref().map(|elements| elements.iter().map(of).collect());
            Value::List(Rc::new(RefCell::new(copy)))
        }
        Value::Dict(items) => {
            let item = |(key, value): &(Rc<str>, Value<'a>)| (key.clone(), of(value));
            let copy = items.borrow().as_ref().map(|items| items.iter().map(item).collect());
            Value::Dict(Rc::new(RefCell::new(copy)))
        }
        Value::Layer(layer) => match &**layer {
            Layer::Sequential(layers) => {
                let copy = layers.borrow().as_ref().map(|layers| layers.iter().map(of).collect());
                Value::Layer(Rc::new(Layer::Sequential(Rc::new(RefCell::new(copy)))))
            }
            _ => value.clone(),
        },
        Value::Object(object) => {
            let attributes = object.attributes.borrow();
            let copy = attributes.as_ref().map(|attributes| {
                attributes.iter().map(|(name, value)| (name.to_owned(), of(value))).collect()
            });
            let attributes = RefCell::new(copy);
            Value::Object(Rc::new(Object { class: object.class, depth: object.depth, attributes }))
        }
        Value::Tensor(..) | Value::Dtype(_) | Value::Library(_) | Value::Class(_) => value.clone(),
        value if value.constant().is_some() => value.clone(),
        _ => Value::Unknown,
    }
}
