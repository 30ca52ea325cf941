//! Hooks of modules: functions that run before and after `forward`.
//!
//! ```python
//! layer.register_forward_pre_hook(limit)        # limit(layer, (x,)) returns None or other inputs
//! layer.register_forward_hook(count)            # count(layer, (x,), y) returns None or another result
//! ```

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::values::Value;
use super::{Evaluated, Evaluation, Stop};

pub(super) struct Hook<'a> {
    module: Value<'a>,
    is_before: bool,
    /// Whether the hook runs before those that are known already.
    is_first: bool,
    /// `None` if it is not known what the hook returns.
    function: Option<Value<'a>>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a call of `register_…_hook`. A hook may replace inputs and results.
    pub(super) fn register_hook(
        &mut self,
        module: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
    ) -> Evaluated<Value<'a>> {
        let is_before = match name {
            "register_forward_pre_hook" => true,
            "register_forward_hook" => false,
            // These run after the forward pass, or when the state is saved.
            _ if name.contains("backward") || name.contains("state_dict") || name == "register_hook" => {
                return Ok(Value::Unknown);
            }
            _ => return Err(Stop),
        };
        if !matches!(module, Value::Object(_) | Value::Layer(_)) {
            return Err(Stop);
        }
        let is_simple = arguments.len() == 1;
        let function = arguments.get(0, "hook").filter(|_| is_simple).cloned();
        let is_first = arguments.get(usize::MAX, "prepend").is_some();
        self.hooks.push(Hook { module: module.clone(), is_before, is_first, function });
        Ok(Value::Handle(self.hooks.len() - 1))
    }

    pub(super) fn remove_hook(&mut self, index: usize) {
        if let Some(hook) = self.hooks.get_mut(index) {
            hook.module = Value::None;
        }
    }

    /// Forgets what the hooks do: code that is not evaluated may remove them.
    pub(super) fn forget_hooks(&mut self) {
        self.hooks.iter_mut().for_each(|hook| hook.function = None);
    }

    /// Calls a module with its hooks.
    pub(super) fn call_with_hooks(
        &mut self,
        module: &Value<'a>,
        mut arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        for hook in self.hooks_of(module, true) {
            let inputs = Value::tuple(arguments.positional.clone());
            match self.hook_result(hook, vec![module.clone(), inputs], range)? {
                Value::None => {}
                Value::Tuple(inputs) => arguments.positional = inputs.to_vec(),
                Value::Unknown => arguments.positional.fill(Value::Unknown),
                input => arguments.positional = vec![input],
            }
        }
        let inputs = Value::tuple(arguments.positional.clone());
        let mut result = self.call_module(module, arguments, range)?;
        for hook in self.hooks_of(module, false) {
            match self.hook_result(hook, vec![module.clone(), inputs.clone(), result.clone()], range)? {
                Value::None => {}
                other => result = other,
            }
        }
        Ok(result)
    }

    fn hooks_of(&self, module: &Value<'a>, is_before: bool) -> Vec<Option<Value<'a>>> {
        let is_same = |other: &Value<'a>| match (module, other) {
            (Value::Object(left), Value::Object(right)) => Rc::ptr_eq(left, right),
            (Value::Layer(left), Value::Layer(right)) => Rc::ptr_eq(left, right),
            _ => false,
        };
        let own = self.hooks.iter().filter(|hook| hook.is_before == is_before && is_same(&hook.module));
        let (first, others): (Vec<_>, Vec<_>) = own.partition(|hook| hook.is_first);
        first.into_iter().rev().chain(others).map(|hook| hook.function.clone()).collect()
    }

    fn hook_result(
        &mut self,
        hook: Option<Value<'a>>,
        arguments: Vec<Value<'a>>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        match hook {
            Some(hook) => self.call(&hook, Arguments::of(arguments), range),
            None => Ok(Value::Unknown),
        }
    }
}
