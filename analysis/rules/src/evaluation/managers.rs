//! Context managers of the project: objects with `__enter__` and `__exit__`, and generators with
//! `@contextlib.contextmanager`:
//!
//! ```python
//! @contextlib.contextmanager
//! def recording(log):
//!     log.active = True          # runs before the body of `with recording(log) as values:`
//!     try:
//!         yield log.values       # the value of `values`
//!     finally:
//!         log.active = False     # runs after the body
//! ```

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::transformations::Transformation;
use super::values::{Flow, Transformed, Value};
use super::{Evaluated, Evaluation, Frame};

/// A context manager that has been entered.
pub(super) enum Entered<'a> {
    Object(Value<'a>, TextRange),
    /// The statements of a generator after its `yield`.
    Generator(Frame<'a>, Vec<&'a Stmt>),
}

/// The statements of a generator before and after its only `yield`.
struct Halves<'a> {
    before: Vec<&'a Stmt>,
    yielded: Option<&'a Expr>,
    after: Vec<&'a Stmt>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Enters a context manager. Returns what remains to be done, and the value for the name after `as`; `None` if it is
    /// not known.
    pub(super) fn enter(
        &mut self,
        context: &Value<'a>,
        range: TextRange,
    ) -> Evaluated<Option<(Entered<'a>, Value<'a>)>> {
        Ok(match context {
            Value::Object(object) if self.defines(object, "__enter__") => {
                let enter = self.attribute(context, "__enter__")?;
                let value = self.call(&enter, Arguments::default(), range)?;
                Some((Entered::Object(context.clone(), range), value))
            }
            Value::Transformed(manager) if manager.transformation == Transformation::Entered => {
                self.enter_generator(manager)?
            }
            _ => None,
        })
    }

    fn enter_generator(&mut self, manager: &Transformed<'a>) -> Evaluated<Option<(Entered<'a>, Value<'a>)>> {
        let Value::Partial(call) = &manager.function else { return Ok(None) };
        let Value::Function(function) = &call.function else { return Ok(None) };
        let Some(halves) = halves(&function.def.body) else { return Ok(None) };
        self.within(&function.scope, |it| {
            let Some(frame) = it.bound(function, call.positional.clone(), &call.keywords)? else {
                return Ok(None);
            };
            for statement in halves.before {
                if !matches!(it.block(std::slice::from_ref(statement), &frame)?, Flow::Next) {
                    return Ok(None);
                }
            }
            let value = halves.yielded.map_or(Ok(Value::None), |value| it.value(value, &frame))?;
            Ok(Some((Entered::Generator(frame, halves.after), value)))
        })
    }

    /// Leaves a context manager after the body of its `with` statement.
    pub(super) fn leave(&mut self, entered: Entered<'a>) -> Evaluated<()> {
        match entered {
            Entered::Object(context, range) => {
                let exit = self.attribute(&context, "__exit__")?;
                self.call(&exit, Arguments::of(vec![Value::None; 3]), range)?;
            }
            Entered::Generator(frame, after) => {
                let Some(scope) = frame.scope.parent.clone() else { return Ok(()) };
                self.within(&scope, |it| -> Evaluated<()> {
                    for statement in after {
                        it.block(std::slice::from_ref(statement), &frame)?;
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

/// Splits the body of a generator; `None` unless it yields once, at its top or in a `try` statement there.
fn halves(body: &[Stmt]) -> Option<Halves<'_>> {
    for (index, statement) in body.iter().enumerate() {
        let (before, after) = (&body[..index], &body[index + 1..]);
        let yielded = match statement {
            Stmt::Expr(node) => node.value.as_yield_expr(),
            Stmt::Assign(node) => node.value.as_yield_expr(),
            Stmt::Try(node) if node.handlers.is_empty() => {
                if let Some(inner) = halves(&node.body) {
                    return Some(Halves {
                        before: before.iter().chain(inner.before).collect(),
                        yielded: inner.yielded,
                        after: inner.after.into_iter().chain(&node.finalbody).chain(after).collect(),
                    });
                }
                None
            }
            _ => None,
        };
        if let Some(node) = yielded {
            return Some(Halves {
                before: before.iter().collect(),
                yielded: node.value.as_deref(),
                after: after.iter().collect(),
            });
        }
    }
    None
}
