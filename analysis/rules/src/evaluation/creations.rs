//! Variables that a `tf.function` creates. TensorFlow traces the function a second time if the first trace creates
//! variables, and no later trace may create any:
//!
//! ```python
//! if key not in self.kernels:
//!     self.kernels[key] = tf.Variable(x)     # raises in the trace for the second key
//! ```

use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::traced::{Compiled, Mode};
use super::values::Value;
use super::{Evaluated, Evaluation};

impl<'a> Evaluation<'_, 'a> {
    /// Records a call that creates variables, if it runs in each trace of a `tf.function`.
    pub(super) fn creates_variables(&mut self, range: TextRange) {
        if self.traced.first() == Some(&Mode::Graph) && self.conditions == 0 {
            let place = (self.ctx.document, range);
            self.created.push((place, self.reach()));
        }
    }

    /// Records the variables that the call of a `tf.function` has created and that it may not create.
    pub(super) fn check_created(
        &mut self,
        compiled: &Compiled<'a>,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<()> {
        let Value::Function(function) = &compiled.function else { return Ok(()) };
        let key = self.function_key(function);
        if self.have_created.insert(key) {
            self.created.clear();
            self.in_mode(compiled.mode, |it| it.call(&compiled.function, arguments, range))?;
        }
        self.recreated.extend(self.created.drain(..));
        Ok(())
    }
}
