//! Python iterators that traced code advances. `next` runs while the function is traced, so each call of the compiled
//! function uses the same item:
//!
//! ```python
//! self.batches = read_batches()          # a generator
//!
//! @tf.function
//! def step(self):
//!     return loss(next(self.batches))
//! ```

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::Evaluation;
use super::classes::method;
use super::traced::Mode;
use super::values::{PythonIterator, Value};

impl<'a> Evaluation<'_, 'a> {
    /// Returns a new iterator over these values.
    pub(super) fn iterator(&self, values: Value<'a>) -> Value<'a> {
        Value::Iterator(Rc::new(PythonIterator { values, depth: self.traced.len() }))
    }

    /// Records that traced code advances an iterator which was created before the trace.
    pub(super) fn advanced(&mut self, iterator: &Value<'a>, range: TextRange) {
        let is_outer = match iterator {
            Value::Iterator(iterator) => iterator.depth == 0,
            Value::Object(object) => {
                let hierarchy = self.hierarchy(object.class);
                let mut classes = hierarchy.iter().flat_map(|it| &it.classes);
                object.depth == 0 && classes.any(|class| method(class, "__next__").is_some())
            }
            _ => false,
        };
        if is_outer && matches!(self.traced.first(), Some(Mode::Jit | Mode::Graph)) {
            let (place, reach) = ((self.ctx.document, range), self.reach());
            let known = self.iterators.entry(place).or_default();
            *known = (*known).max(reach);
        }
    }
}
