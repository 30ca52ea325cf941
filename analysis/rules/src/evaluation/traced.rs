//! What torch rejects in traced code: operations, decisions on Tensors, and values for which it compiles again.

use std::rc::Rc;

use ag_db::Document;
use ag_staging::construct::ConstructKind;
use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::{Arguments, shown};
pub(super) use super::kinds::Mode;
use super::kinds::{Found, Kind};
use super::transformations::Passing;
use super::trees::Constants;
use super::values::{Object, Size, Value};
use super::{Evaluated, Evaluation, Frame, Framework, Stop};
use crate::tracing::{noun_phrase, snippet};

/// So many different values of an argument or attribute are reported. Fewer are no fault: many programs compile a
/// function for training and for validation.
const MOST_VALUES: usize = 3;
/// So many different shapes and texts of an argument are reported, although the program passes some of them again. A
/// program may compile a function for each of a few sizes of batches, or for each of a few tasks.
const MOST_REPEATED: usize = 4;

/// A function or module that torch compiles, exports, scripts or traces.
pub(super) struct Compiled<'a> {
    pub function: Value<'a>,
    pub mode: Mode,
    /// The arguments that are Python values: `static_argnums`, `static_argnames`.
    pub constants: Constants,
    /// The number of the program, if it is scripted: see `recorded.rs`.
    pub made: Option<usize>,
    pub passing: Passing,
}

impl<'a> Compiled<'a> {
    pub(super) fn new(function: Value<'a>, mode: Mode) -> Self {
        Self { function, mode, constants: Constants::default(), made: None, passing: Passing::Unknown }
    }
}

/// An expression, in its file.
type Place = (Document, TextRange);

/// An argument for whose values torch compiles a function again.
#[derive(Clone, PartialEq, Eq)]
enum Constant {
    Int(i64),
    /// The bits of a float.
    Float(u64),
    Text(Rc<str>),
    Shape(Vec<i64>),
    /// The number of elements of a list or dictionary.
    Length(usize),
}

/// The calls of a compiled function at one place.
struct Known<'a> {
    compiled: Rc<Compiled<'a>>,
    /// The different values of each argument.
    seen: Vec<Vec<Constant>>,
    /// The different texts in dictionaries that are arguments, by the position of the argument and the key.
    texts: FxHashMap<(usize, Rc<str>), Vec<Rc<str>>>,
    calls: usize,
}

/// The calls of compiled functions: for each call expression, the function and the values of its arguments.
#[derive(Default)]
pub(super) struct Calls<'a> {
    known: FxHashMap<Place, Known<'a>>,
    /// The calls that have passed another shape or text each time, with the messages.
    each_other: FxHashMap<Place, String>,
    /// The symbols of which the function needs the values.
    pub needed: Vec<usize>,
    /// The keys of dictionaries that compiled code reads.
    pub keys: FxHashSet<Rc<str>>,
    /// Whether the program declares dynamic dimensions: `torch._dynamo.mark_dynamic(x, 0)`.
    pub marks_dynamic: bool,
}

/// The numbers that compiled code reads from attributes of modules, and the assignments to attributes outside.
#[derive(Default)]
pub(super) struct Reads<'a> {
    assigned: Vec<Assigned<'a>>,
}

struct Assigned<'a> {
    /// The object with the attribute; `None` for a global variable.
    object: Option<Rc<Object<'a>>>,
    name: String,
    place: Place,
    /// The values that compiled code has read.
    read: Vec<Constant>,
}

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn fail(&mut self, range: TextRange, message: String) -> Stop {
        if !self.traced.is_empty() && self.framework == Framework::Torch {
            self.report(range, Kind::Sizes, message);
        }
        Stop
    }

    pub(super) fn report(&mut self, range: TextRange, kind: Kind, message: String) {
        self.report_in(self.ctx.document, range, kind, message);
    }

    pub(super) fn report_in(&mut self, document: Document, range: TextRange, kind: Kind, message: String) {
        let is_same = |it: &Found| it.document == document && it.range == range && it.kind == kind;
        if !self.found.iter().any(is_same) {
            // A call under a condition may be the exception: `if not weights: warnings.warn("…")`.
            if self.conditions > 0 && matches!(kind, Kind::Call { .. }) {
                return;
            }
            let is_explored = self.is_exploring;
            self.found.push(Found { document, range, kind, message, is_explored });
        }
    }

    /// Returns the truth value of a test. If it is a Tensor in traced code, the decision is recorded.
    pub(super) fn decide(&mut self, test: &'a Expr, value: &Value<'a>, kind: ConstructKind) -> Option<bool> {
        let text = format!("`{}`", snippet(self.ctx.text(test)));
        if matches!(value, Value::None) && test.is_attribute_expr() {
            self.none_operand(test);
        }
        self.used_operand(value, test.range());
        self.undecided(test.range(), &text, value, noun_phrase(kind));
        value.truth()
    }

    /// Records that Python needs a value which is not known in traced code. `text` describes the value, and `what` says
    /// what needs it: "an `if`".
    pub(super) fn undecided(&mut self, range: TextRange, text: &str, value: &Value<'a>, what: &str) {
        // TorchScript compiles both branches, also where traced code calls a scripted function.
        let is_scripted = self.traced.contains(&Mode::Script);
        if let (Value::Bound, Some(Mode::Export)) = (value, self.traced.first().copied()) {
            let message = format!(
                "{text} holds for some sizes of a dynamic dimension only: {what} on it cannot be exported"
            );
            self.report(range, Kind::Bound, message);
        }
        if let (Value::Recorded, Some(mode @ Mode::Trace), false) =
            (value, self.traced.first().copied(), is_scripted)
        {
            let message =
                format!("{text} depends on a size: {what} on it is decided once, for the example inputs");
            self.report(range, Kind::Decision(mode), message);
        }
        if value.is_traced() && !is_scripted {
            let is = match value {
                Value::Number => "has no value yet",
                _ => "is a Tensor without a value yet",
            };
            match self.traced.first().copied() {
                Some(mode @ Mode::Compile { .. }) => self.report(
                    range,
                    Kind::Decision(mode),
                    format!("{text} {is}: {what} on it causes a graph break"),
                ),
                Some(mode @ (Mode::Export | Mode::Symbolic)) => self.report(
                    range,
                    Kind::Decision(mode),
                    format!("{text} {is}: {what} on it cannot be exported"),
                ),
                Some(mode @ Mode::Trace) if matches!(value, Value::Tensor(..)) => self.report(
                    range,
                    Kind::Decision(mode),
                    format!("{text} is a Tensor: {what} on it is decided once, for the example inputs"),
                ),
                _ => {}
            }
        }
    }

    /// Returns a size that depends on values. A graph break computes it.
    pub(super) fn data_size(&self) -> Size {
        match self.traced.first() {
            Some(Mode::Compile { full_graph: true, .. } | Mode::Export) => Size::Data,
            _ => Size::Unknown,
        }
    }

    /// Records that `torch.jit.trace` runs an assignment once, which changes a number of an object: `self.step += 1`.
    pub(super) fn frozen(&mut self, target: &Expr, range: TextRange) {
        if self.is_recorded() {
            let target = snippet(self.ctx.text(target));
            let message = format!("the recorded program does not change `{target}`: it is a constant in it");
            self.report(range, Kind::Frozen, message);
        }
    }

    /// Returns whether an attribute had a number before code ran that is not evaluated, and may have changed it.
    pub(super) fn was_number(&self, target: &'a Expr, frame: &Frame<'a>) -> bool {
        let Some(attribute) = target.as_attribute_expr() else { return false };
        let Some(name) = attribute.value.as_name_expr() else { return false };
        match frame.scope.get(&name.id) {
            Value::Object(object) => {
                let attributes = object.attributes.borrow();
                attributes.as_ref().and_then(|it| it.get(&attribute.attr)).is_some_and(Value::is_number)
            }
            _ => false,
        }
    }

    /// Returns whether `torch.jit.trace` records the sizes of a Tensor. Those of parameters are constants:
    /// `self.weight.shape[0]`.
    pub(super) fn records_sizes(&self, tensor: &Value<'a>, written: &Expr) -> bool {
        self.is_exploring
            && self.is_recorded()
            && matches!(tensor, Value::Tensor(..))
            && !written.is_attribute_expr()
    }

    /// Returns whether `torch.jit.trace` records the code.
    pub(super) fn is_recorded(&self) -> bool {
        self.traced.first() == Some(&Mode::Trace)
    }

    /// Evaluates code that runs before any traced code: the body of a class, and defaults of parameters.
    pub(super) fn outside<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let traced = std::mem::take(&mut self.traced);
        let result = run(self);
        self.traced = traced;
        result
    }

    /// Records a call that the compiler cannot trace. The same graph break covers the calls in its arguments.
    pub(super) fn untraceable(&mut self, name: &str, range: TextRange) {
        if let Some(Mode::Compile { full_graph, .. }) = self.traced.first().copied()
            && !self.found.iter().any(|it| {
                matches!(it.kind, Kind::Call { .. })
                    && it.document == self.ctx.document
                    && it.range != range
                    && it.range.contains_range(range)
            })
        {
            let message = format!("`{name}` cannot be traced: the call causes a graph break");
            self.report(range, Kind::Call { full_graph }, message);
        }
    }

    /// Records an operation on a Tensor that the compiler leaves to Python.
    pub(super) fn python_value(&mut self, what: &str, range: TextRange) {
        if let Some(Mode::Compile { full_graph, .. }) = self.traced.first().copied() {
            self.report(range, Kind::Order { full_graph }, format!("{what} causes a graph break"));
        }
    }

    /// Records that compiled code creates a module with parameters.
    pub(super) fn created(&mut self, class: &str, range: TextRange) {
        if let Some(Mode::Compile { full_graph, .. }) = self.traced.first().copied() {
            let class = class.rsplit('.').next().unwrap_or(class);
            let message = format!("the creation of a `{class}` cannot be traced: it causes a graph break");
            self.report(range, Kind::Creation { full_graph }, message);
        }
    }

    /// Returns the number to which Python converts a Tensor: `x.item()`, `float(x)`.
    pub(super) fn converted(&mut self, what: &str, value: TextRange, range: TextRange) -> Value<'a> {
        match self.traced.first() {
            Some(Mode::Compile { .. }) if self.forgotten.contains("capture_scalar_outputs") => Value::Unknown,
            Some(Mode::Compile { full_graph: false, .. }) => {
                let value = snippet(&self.ctx.text[value]);
                let message = format!("{what} needs the value of `{value}`, which causes a graph break");
                self.report(range, Kind::Conversion, message);
                Value::Unknown
            }
            Some(Mode::Compile { .. } | Mode::Export) => Value::Number,
            _ => Value::Unknown,
        }
    }

    /// Records that an assignment to several targets gets another number of Tensors.
    ///
    /// ```python
    /// q, k, v = self.project(x).chunk(4, dim=-1)
    /// ```
    pub(super) fn check_count(&mut self, target: &Expr, targets: &[Expr], value: &Value<'a>) {
        if let Value::Tuple(elements) = value
            && self.is_exploring
            && !self.traced.is_empty()
            && elements.iter().all(|element| matches!(element, Value::Tensor(..)))
            && elements.len() != targets.len()
            && !targets.iter().any(Expr::is_starred_expr)
        {
            let message = format!("{} Tensors are assigned to {} targets", elements.len(), targets.len());
            self.report(target.range(), Kind::Count, message);
        }
    }

    /// Records `.tolist()` of floats or bools in a graph without breaks. The compiler traces `tolist` of integers only.
    pub(super) fn list_of_floats(&mut self, value: TextRange, range: TextRange) {
        if let Some(Mode::Compile { full_graph: true, .. }) = self.traced.first() {
            let value = snippet(&self.ctx.text[value]);
            let message = format!(
                "`.tolist()` of floats or bools needs the value of `{value}`, which causes a graph break"
            );
            self.report(range, Kind::Conversion, message);
        }
    }

    /// Evaluates a call of a compiled function.
    pub(super) fn compiled_call(
        &mut self,
        compiled: &Rc<Compiled<'a>>,
        mut arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if self.framework == Framework::Arrays {
            return self.staged_call(compiled, arguments, range);
        }
        self.check_scripted_call(compiled, &arguments, range);
        let is_compared = self.traced.is_empty() && !self.is_exploring;
        let symbols = if is_compared { self.compare(compiled, &arguments, range) } else { Vec::new() };
        let texts = if is_compared { self.compare_texts(&arguments, range) } else { Vec::new() };
        for index in &symbols {
            self.dimensions += 1;
            if let Some(value) = arguments.nth_mut(*index) {
                *value = Value::Symbol(self.dimensions);
            }
        }
        let first = self.dimensions + 1 - symbols.len();
        self.traced.push(compiled.mode);
        let outer = self.running;
        self.running = if self.traced.len() == 1 { compiled.made } else { outer };
        let value = self.call(&compiled.function, arguments, range);
        self.running = outer;
        self.traced.pop();
        let value = if self.traced.is_empty() { value.map(|value| value.computed()) } else { value };
        if let Some((key, text)) = texts.into_iter().find(|(key, _)| self.calls.keys.contains(key)) {
            let message = format!(
                "each iteration passes another text as the item `{key}`, such as `\"{text}\"`, for which it compiles the \
                 function again"
            );
            self.report(range, Kind::Argument { is_float: false }, message);
        }
        if let Some(needed) = (first..).take(symbols.len()).find(|symbol| self.calls.needed.contains(symbol))
        {
            let name = symbols.get(needed - first).map_or(0, |index| index + 1);
            let message = format!(
                "each iteration passes another number as argument {name}, of which the function needs the value: it is \
                 compiled again"
            );
            self.report(range, Kind::Argument { is_float: false }, message);
        }
        value
    }

    /// Compares the arguments of a compiled function with those of the earlier calls at the same place. Returns the
    /// positions of integers with so many values that the compiler treats them as symbols.
    fn compare(
        &mut self,
        compiled: &Rc<Compiled<'a>>,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Vec<usize> {
        let Mode::Compile { is_static, .. } = compiled.mode else { return Vec::new() };
        let new = || Known {
            compiled: compiled.clone(),
            seen: vec![Vec::new(); arguments.len()],
            texts: FxHashMap::default(),
            calls: 0,
        };
        let place = (self.ctx.document, range);
        self.calls.each_other.remove(&place);
        let known = self.calls.known.entry(place).or_insert_with(new);
        if !Rc::ptr_eq(&known.compiled, compiled) || known.seen.len() != arguments.len() {
            *known = new();
        }
        let mut symbols = Vec::new();
        known.calls += 1;
        let calls = known.calls;
        let (mut reported, mut is_float) = (None, false);
        let mut is_repeated = true;
        for (index, (value, seen)) in arguments.values().zip(&mut known.seen).enumerate() {
            let Some(constant) = Constant::of(value) else { continue };
            if !seen.contains(&constant) {
                seen.push(constant.clone());
            }
            // A call passes either another number or always the same value.
            if seen.len() < MOST_VALUES {
                continue;
            }
            is_repeated &=
                !matches!(constant, Constant::Int(_) | Constant::Float(_)) && seen.len() < MOST_REPEATED;
            if is_repeated && seen.len() < calls {
                continue;
            }
            match constant {
                Constant::Int(_) if !is_static => symbols.push(index),
                Constant::Int(value) => {
                    reported = Some(format!(
                        "each iteration passes another number, such as `{value}`, for which `dynamic=False` compiles \
                         the function again"
                    ));
                }
                Constant::Text(value) => {
                    reported = Some(format!(
                        "each iteration passes another text, such as `\"{value}\"`, for which it compiles the function \
                         again"
                    ));
                }
                Constant::Shape(sizes) if is_static && !self.calls.marks_dynamic => {
                    let shape: Vec<_> = sizes.into_iter().map(Size::Known).collect();
                    reported = Some(format!(
                        "each iteration passes a Tensor of another shape, such as {}, for which `dynamic=False` \
                         compiles the function again",
                        shown(&shape)
                    ));
                }
                Constant::Shape(_) => {}
                Constant::Float(bits) => {
                    is_float = true;
                    reported = Some(format!(
                        "each iteration passes another float, such as `{}`: the first is a constant, so the function is \
                         compiled again for the next",
                        f64::from_bits(bits)
                    ));
                }
                Constant::Length(length) => {
                    reported = Some(format!(
                        "each iteration passes a container of another length, such as {length}, for which it compiles \
                         the function again"
                    ));
                }
            }
        }
        match reported {
            // A later call may pass one of these values again.
            Some(message) if is_repeated => drop(self.calls.each_other.insert(place, message)),
            Some(message) => self.report(range, Kind::Argument { is_float }, message),
            None => {}
        }
        symbols
    }

    /// Compares the texts in dictionaries with those of the earlier calls at the same place, which `compare` has counted.
    /// Returns the keys under which each call has passed another text, with the last one.
    fn compare_texts(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Vec<(Rc<str>, Rc<str>)> {
        self.calls.keys.clear();
        let Some(known) = self.calls.known.get_mut(&(self.ctx.document, range)) else { return Vec::new() };
        let mut changing = Vec::new();
        for (index, value) in arguments.values().enumerate() {
            let Value::Dict(items) = value else { continue };
            for (key, value) in items.borrow().iter().flatten() {
                let Value::Text(text) = value else { continue };
                let seen = known.texts.entry((index, key.clone())).or_default();
                if !seen.contains(text) {
                    seen.push(text.clone());
                }
                if seen.len() >= MOST_REPEATED && seen.len() == known.calls {
                    changing.push((key.clone(), text.clone()));
                }
            }
        }
        changing
    }

    /// Reports the calls that have passed another value each time in the whole program.
    pub(super) fn finish(&mut self) {
        for ((document, range), message) in std::mem::take(&mut self.calls.each_other) {
            self.report_in(document, range, Kind::Argument { is_float: false }, message);
        }
        self.found.sort_by_key(|found| found.range.start());
    }

    /// Records that exported code assigns a Tensor to an attribute that is no buffer. The exported program does not.
    pub(super) fn lost(&mut self, object: &Rc<Object<'a>>, name: &str, value: &Value<'a>, range: TextRange) {
        if self.traced.first() == Some(&Mode::Export)
            && matches!(value, Value::Tensor(..))
            && !self.buffers.contains(name)
            && self.hierarchy(object.class).is_some_and(|it| it.is_module)
        {
            let message =
                format!("the exported program does not assign the Tensor to `{name}`, which is not a buffer");
            // The rule about functions reports the whole assignment.
            let range = self.assignment.filter(|it| it.contains_range(range)).unwrap_or(range);
            self.report(range, Kind::State, message);
        }
    }

    /// Records that the value of a symbol is needed: it is the bound of a `range`, or the index of a list.
    pub(super) fn need(&mut self, value: &Value<'a>) {
        if let Value::Symbol(symbol) = value {
            self.calls.needed.push(*symbol);
        }
    }

    /// Records an assignment to an attribute, or to a global variable.
    pub(super) fn assigned(&mut self, object: Option<&Rc<Object<'a>>>, name: &str, range: TextRange) {
        let place = (self.ctx.document, range);
        let known = &mut self.reads.assigned;
        let position = known.iter().position(|it| it.is(object, name));
        match (self.traced.is_empty(), position) {
            (true, Some(position)) => known[position].place = place,
            (true, None) => {
                let (object, name) = (object.cloned(), name.to_owned());
                known.push(Assigned { object, name, place, read: Vec::new() });
            }
            (false, Some(position)) => drop(known.swap_remove(position)),
            (false, None) => {}
        }
    }

    /// Records that compiled code reads an attribute of a module, or a global variable.
    pub(super) fn read(&mut self, object: Option<&Rc<Object<'a>>>, name: &str, value: &Value<'a>) {
        if let Some(object) = object {
            self.read_by_program(object, name);
        }
        let Some(Mode::Compile { .. }) = self.traced.first() else { return };
        let Some(constant @ (Constant::Int(_) | Constant::Float(_))) = Constant::of(value) else { return };
        let is_module = |object: &Rc<Object<'a>>| self.hierarchy(object.class).is_some_and(|it| it.is_module);
        if !object.is_none_or(is_module) {
            return;
        }
        let Some(assigned) = self.reads.assigned.iter_mut().find(|it| it.is(object, name)) else { return };
        if assigned.read.contains(&constant) {
            return;
        }
        assigned.read.push(constant.clone());
        if assigned.read.len() == MOST_VALUES {
            let (document, range) = assigned.place;
            let is_float = matches!(constant, Constant::Float(_));
            let message = match (is_float, object.is_some()) {
                (true, true) => format!(
                    "`{name}`, a float of a module, changes repeatedly: its first value is a constant, so the functions \
                     that read it are compiled again"
                ),
                (_, true) => format!(
                    "`{name}`, an integer of a module, changes repeatedly, and each change recompiles the functions \
                     that read it"
                ),
                (_, false) => format!(
                    "`{name}`, a global variable, changes repeatedly, and each change recompiles the functions that \
                     read it"
                ),
            };
            self.report_in(document, range, Kind::Attribute { is_float }, message);
        }
    }
}

impl<'a> Assigned<'a> {
    fn is(&self, object: Option<&Rc<Object<'a>>>, name: &str) -> bool {
        let same = match (&self.object, object) {
            (Some(own), Some(other)) => Rc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        };
        same && self.name == name
    }
}

impl Constant {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(value) => Some(Self::Int(*value)),
            Value::Float(value) => Some(Self::Float(value.to_bits())),
            Value::Text(text) => Some(Self::Text(text.clone())),
            Value::List(elements) => elements.borrow().as_ref().map(|it| Self::Length(it.len())),
            Value::Dict(items) => items.borrow().as_ref().map(|it| Self::Length(it.len())),
            Value::Tensor(Some(shape), _) => {
                let known = |size: &Size| match size {
                    Size::Known(size) => Some(*size),
                    _ => None,
                };
                shape.iter().map(known).collect::<Option<_>>().map(Self::Shape)
            }
            _ => None,
        }
    }
}
