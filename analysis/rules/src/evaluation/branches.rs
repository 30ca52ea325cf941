//! The branches of a condition that is not known, and loops whose iterations are not known.
//!
//! ```python
//! if training:                        # each branch runs from the same state
//!     loss = jnp.mean(errors)
//! else:
//!     loss = jnp.sum(errors)
//! loss                                # a tracer in both
//! ```

use ruff_python_ast::{Expr, Stmt};
use rustc_hash::FxHashMap;

use super::values::{Flow, Value};
use super::{Evaluated, Evaluation, Frame, Framework, MOST_STEPS, Stop};

/// The number of iterations that are evaluated of a loop. In the second, variables have the values of the first.
const ITERATIONS: usize = 2;

type State<'a> = FxHashMap<&'a str, Value<'a>>;

impl<'a> Evaluation<'_, 'a> {
    /// Returns whether branches of unknown conditions are evaluated. The programs of PyTorch are evaluated first as far
    /// as their inputs determine the conditions.
    pub(super) fn explores(&self) -> bool {
        self.is_exploring || self.framework == Framework::Arrays
    }

    /// Evaluates the branches of a statement, each from the same state.
    pub(super) fn explore(
        &mut self,
        statement: &'a Stmt,
        branches: &[&'a [Stmt]],
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let before = frame.scope.bound.borrow().clone();
        let yielded = self.yielded.last().map(Vec::len);
        let mut states: Vec<State> = Vec::new();
        let mut jumps = false;
        for body in branches {
            self.conditions += 1;
            let flow = self.attempt(body, frame);
            self.conditions -= 1;
            let flow = flow?;
            let after = frame.scope.bound.borrow().clone();
            // Another branch does not see the changes of this one.
            self.skip(std::slice::from_ref(statement), frame);
            *frame.scope.bound.borrow_mut() = before.clone();
            match flow {
                Flow::Next => states.push(after),
                Flow::Return(value) => self.returned(value),
                Flow::Break | Flow::Continue | Flow::Jump => jumps = true,
                Flow::Leave => {}
            }
        }
        self.jumped |= jumps;
        if self.yielded.last().map(Vec::len) != yielded {
            return Ok(Flow::Leave);
        }
        let Some((first, others)) = states.split_first() else {
            return Ok(if jumps { Flow::Continue } else { Flow::Leave });
        };
        let mut joined = before;
        for state in &states {
            joined.extend(state.keys().map(|name| (*name, Value::Unknown)));
        }
        for (name, value) in &mut joined {
            let mut all = others.iter().map(|state| state.get(name));
            *value = all
                .try_fold(first.get(name).cloned().unwrap_or(Value::Unknown), |known, other| {
                    other.map(|other| known.joined(other))
                })
                .unwrap_or(Value::Unknown);
        }
        *frame.scope.bound.borrow_mut() = joined;
        Ok(Flow::Next)
    }

    /// Evaluates statements. An exception in them ends only these.
    pub(super) fn attempt(&mut self, body: &'a [Stmt], frame: &Frame<'a>) -> Evaluated<Flow<'a>> {
        self.attempted(|it| it.block(body, frame)).map(|flow| flow.unwrap_or(Flow::Leave))
    }

    /// Evaluates code in which an exception ends only this code. Returns `None` if there is one.
    pub(super) fn attempted<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Evaluated<T>,
    ) -> Evaluated<Option<T>> {
        let (depth, nested, conditions) = (self.depth, self.nested, self.conditions);
        let (traced, yielded, returns) = (self.traced.len(), self.yielded.len(), self.returns.len());
        let functional = self.functional.len();
        match run(self) {
            Err(Stop) if self.steps > MOST_STEPS => Err(Stop),
            Err(Stop) => {
                (self.depth, self.nested, self.conditions) = (depth, nested, conditions);
                self.traced.truncate(traced);
                self.functional.truncate(functional);
                self.yielded.truncate(yielded);
                self.returns.truncate(returns);
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// Records a value that the function may return.
    pub(super) fn returned(&mut self, value: Value<'a>) {
        if let Some(returns) = self.returns.last_mut() {
            returns.push(value);
        }
    }

    /// Evaluates the first iterations of a loop. Later ones may leave other values.
    pub(super) fn unknown_loop(
        &mut self,
        statement: &'a Stmt,
        target: Option<(&'a Expr, Value<'a>)>,
        body: &'a [Stmt],
        frame: &Frame<'a>,
    ) -> Evaluated<Flow<'a>> {
        let before = frame.scope.bound.borrow().clone();
        // Lists and dictionaries of known elements become ones of unknown length.
        let grown = self.changed_containers(statement, &before);
        for (name, value) in &grown {
            frame.scope.set(name, value.clone());
        }
        let jumped = std::mem::take(&mut self.jumped);
        for _ in 0..ITERATIONS {
            if let Some((target, value)) = &target {
                self.assign(target, value.clone(), frame)?;
            }
            match self.attempt(body, frame)? {
                Flow::Next | Flow::Continue | Flow::Jump => {}
                Flow::Return(value) => {
                    self.returned(value);
                    break;
                }
                Flow::Break | Flow::Leave => break,
            }
        }
        self.jumped = jumped;
        let after = frame.scope.bound.borrow().clone();
        let contents: Vec<Option<Value>> = grown.iter().map(|(_, value)| value.content()).collect();
        let flow = self.skip_further(statement, frame);
        for ((name, value), content) in grown.into_iter().zip(contents) {
            if let (Value::Many(common) | Value::Table(common), Some(content)) = (&value, content) {
                *common.borrow_mut() = Some(content);
                frame.scope.set(name, value);
            }
        }
        // The loop is assumed to run: `total = 0.0`, `best = None`.
        for (name, value) in after {
            let is_number = |before: &Value| {
                matches!(
                    before,
                    Value::Int(_)
                        | Value::Float(_)
                        | Value::None
                        | Value::Tensor(..)
                        | Value::Array
                        | Value::Bool(_)
                )
            };
            if matches!(value, Value::Tensor(..)) && before.get(name).is_none_or(is_number) {
                frame.scope.set(name, value);
            }
        }
        Ok(flow)
    }

    /// Forgets what a statement may change, as [`Self::skip`]. Where it may return, the result of the function is not
    /// known, and the evaluation goes on.
    pub(super) fn skip_further(&mut self, statement: &'a Stmt, frame: &Frame<'a>) -> Flow<'a> {
        match self.skip(std::slice::from_ref(statement), frame) {
            Flow::Leave if self.explores() && self.yielded.is_empty() => {
                self.returned(Value::Unknown);
                Flow::Next
            }
            Flow::Jump if self.explores() => {
                self.jumped = true;
                Flow::Next
            }
            flow => flow,
        }
    }
}

impl<'a> Value<'a> {
    /// Returns what the elements of a container of unknown length have in common.
    fn content(&self) -> Option<Value<'a>> {
        match self {
            Self::Many(common) | Self::Table(common) => common.borrow().clone(),
            _ => None,
        }
    }

    /// Returns a list or dictionary as one of unknown length; `None` for other values.
    pub(super) fn of_unknown_length(&self) -> Option<Value<'a>> {
        let common = |elements: Vec<Value<'a>>| std::rc::Rc::new(Value::common(&elements).into());
        match self {
            Self::List(elements) => Some(Self::Many(common(elements.borrow().clone()?))),
            Self::Dict(items) => {
                let items = items.borrow().clone()?;
                Some(Self::Table(common(items.into_iter().map(|(_, value)| value).collect())))
            }
            Self::Many(known) => Some(Self::Many(std::rc::Rc::new(known.borrow().clone().into()))),
            Self::Table(known) => Some(Self::Table(std::rc::Rc::new(known.borrow().clone().into()))),
            _ => None,
        }
    }
}
