//! Control flow operators of torch with Tensors whose sizes and dtypes are known.
//!
//! ```python
//! error = torch.full((), float("inf"))
//! while_loop(unfinished, lambda i, x, error: (i + 1, x / 2, x.abs()), (count, x, error))     # (3,) instead of ()
//! torch.cond(x.sum() > 0, lambda x: x, lambda x: x.sum(), (x,))                              # (3,) or ()
//! ```

use ruff_text_size::TextRange;

use super::calls::{Arguments, shown};
use super::dtypes::Dtype;
use super::kinds::Kind;
use super::values::{Size, Value};
use super::{Evaluated, Evaluation};

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates `while_loop(cond_fn, body_fn, carried_inputs)`. The body returns Tensors of the same sizes and dtypes.
    pub(super) fn while_loop(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Evaluated<Value<'a>> {
        let carried = arguments.get(2, "carried_inputs").and_then(Value::elements);
        let (Some(body), Some(carried)) = (arguments.get(1, "body_fn"), carried) else {
            arguments.forget();
            return Ok(Value::Unknown);
        };
        let result = self.call(body, Arguments::of(carried.clone()), range)?;
        let Some(results) = result.elements().filter(|it| it.len() == carried.len()) else {
            return Ok(Value::Unknown);
        };
        for (position, (before, after)) in carried.iter().zip(&results).enumerate() {
            if let Some(difference) = difference(before, after) {
                let message = format!(
                    "the body of the loop returns other Tensors than it gets: {difference}, in element {position}"
                );
                self.report(range, Kind::Operator, message);
                break;
            }
        }
        Ok(Value::tuple(results))
    }

    /// Evaluates `torch.cond(predicate, true_fn, false_fn, operands)`.
    pub(super) fn cond(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Evaluated<Value<'a>> {
        let operands = match arguments.get(3, "operands") {
            None => Some(Vec::new()),
            Some(operands) => operands.elements(),
        };
        let (Some(first), Some(second), Some(operands)) =
            (arguments.get(1, "true_fn").cloned(), arguments.get(2, "false_fn").cloned(), operands)
        else {
            arguments.forget();
            return Ok(Value::Unknown);
        };
        let left = self.call(&first, Arguments::of(operands.clone()), range)?;
        let right = self.call(&second, Arguments::of(operands), range)?;
        if let (Value::Tensor(Some(one), _), Value::Tensor(Some(other), _)) = (&left, &right)
            && one.len() != other.len()
            && !self.is_exploring
        {
            let message = format!(
                "the branches of `torch.cond` return Tensors with different numbers of dimensions: {} and {}",
                shown(one),
                shown(other)
            );
            self.report(range, Kind::Operator, message);
        }
        Ok(match (&left, &right) {
            (Value::Tensor(one, _), Value::Tensor(other, _)) if one == other => left,
            (Value::Tensor(..), Value::Tensor(..)) => Value::unshaped(),
            _ => Value::Unknown,
        })
    }
}

/// Describes how the Tensor that a loop computes differs from the Tensor before.
fn difference(before: &Value, after: &Value) -> Option<String> {
    let (Value::Tensor(before, old), Value::Tensor(after, new)) = (before, after) else { return None };
    if let (Some(before), Some(after)) = (before, after) {
        let differs =
            |pair: (&Size, &Size)| matches!(pair, (Size::Known(old), Size::Known(new)) if old != new);
        if before.len() != after.len() || before.iter().zip(after.iter()).any(differs) {
            return Some(format!("the shape {} becomes {}", shown(before), shown(after)));
        }
    }
    (*old != Dtype::Unknown && *new != Dtype::Unknown && old != new).then(|| "the dtype changes".to_owned())
}
