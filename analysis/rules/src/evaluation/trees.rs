//! Trees of values: what tracing makes of arguments and results, and what two branches have in common.

use std::cell::RefCell;
use std::rc::Rc;

use ruff_python_ast::{self as ast, Stmt};
use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::dtypes::Dtype;
use super::faults::Changing;
use super::traced::{Compiled, Mode};
use super::transformations::Passing;
use super::values::{Object, Value};
use super::{Evaluated, Evaluation};

/// Two values are compared up to this depth.
const MOST_JOINED: usize = 4;

/// The arguments of a jitted function that JAX does not trace.
#[derive(Clone, Default)]
pub(super) struct Constants {
    positions: Vec<i64>,
    names: Vec<Rc<str>>,
    /// Whether all numbers are constants: `equinox.filter_jit` traces only arrays.
    numbers: bool,
    /// Whether there may be others.
    more: bool,
}

impl Constants {
    /// Returns the constants that `static_argnums` and `static_argnames` list.
    pub(super) fn of_jit(function: &str, arguments: &Arguments) -> Self {
        let mut constants = Self { numbers: function.starts_with("equinox."), ..Self::default() };
        for name in ["static_argnums", "static_argnames", "static_broadcasted_argnums"] {
            let Some(listed) = arguments.get(usize::MAX, name) else { continue };
            let listed = listed.elements().unwrap_or_else(|| vec![listed.clone()]);
            for value in listed {
                match value {
                    Value::Int(position) => constants.positions.push(position),
                    Value::Text(name) => constants.names.push(name),
                    _ => constants.more = true,
                }
            }
        }
        constants
    }

    /// Returns the arguments over which `jax.vmap(f, in_axes=(0, None))` does not map.
    pub(super) fn of_map(arguments: &Arguments) -> Self {
        let mut constants = Self::default();
        match arguments.get(1, "in_axes") {
            None | Some(Value::Int(_)) => {}
            Some(Value::Tuple(axes)) => {
                for (position, axis) in (0..).zip(axes.iter()) {
                    match axis {
                        Value::Int(_) => {}
                        _ => constants.positions.push(position),
                    }
                }
            }
            Some(_) => constants.more = true,
        }
        constants
    }

    /// Returns whether JAX traces all arguments.
    pub(super) fn are_none(&self) -> bool {
        self.positions.is_empty() && self.names.is_empty() && !self.numbers && !self.more
    }

    /// Returns whether numbers, texts and functions are constants.
    pub(super) fn traces_only_arrays(&self) -> bool {
        self.numbers
    }

    fn contain(&self, position: Option<usize>, name: Option<&str>) -> bool {
        let position = position.and_then(|position| i64::try_from(position).ok());
        self.more
            || position.is_some_and(|position| self.positions.contains(&position))
            || name.is_some_and(|name| self.names.iter().any(|known| **known == *name))
    }
}

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a call of a function that JAX or TensorFlow traces.
    pub(super) fn staged_call(
        &mut self,
        compiled: &Rc<Compiled<'a>>,
        mut arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if self.traced.is_empty() {
            self.called_again(compiled, &arguments);
        }
        let is_function = compiled.mode == Mode::Graph && self.traced.is_empty();
        if is_function {
            self.record_changing(&arguments, range);
            self.created.clear();
        }
        arguments.values().for_each(|value| self.used(value, range));
        let parameters = match &compiled.function {
            Value::Function(function) => {
                let all =
                    function.def.parameters.iter_non_variadic_params().map(ast::ParameterWithDefault::name);
                all.skip(usize::from(function.receiver.is_some())).map(|name| name.as_str()).collect()
            }
            _ => Vec::new(),
        };
        let constants = &compiled.constants;
        let mut received = Vec::new();
        let mode = if constants.numbers { Mode::Graph } else { compiled.mode };
        for (position, value) in arguments.positional.iter_mut().enumerate() {
            let is_constant = constants.contain(Some(position), parameters.get(position).copied());
            if is_constant {
                continue;
            }
            received.push(value.clone());
            if let Some(parameter) = parameters.get(position) {
                self.record_leaf(compiled, parameter, value, range);
            }
            if !self.is_stateful(value) {
                *value = self.traced_value(value, mode);
            }
        }
        for (name, value) in &mut arguments.keywords {
            let position = parameters.iter().position(|parameter| parameter == name);
            if constants.contain(position, Some(name)) {
                continue;
            }
            received.push(value.clone());
            self.record_leaf(compiled, name, value, range);
            if !self.is_stateful(value) {
                *value = self.traced_value(value, mode);
            }
        }
        let again = arguments.clone();
        if let Value::Function(function) = &compiled.function
            && let Some((object, _)) = &function.receiver
            && self.passing_of(function.def) != Passing::Unknown
        {
            received.push(Value::Object(object.clone()));
        }
        let value = self.at_level(compiled.passing, &received, |it| {
            it.trace(compiled.mode, |it| it.call(&compiled.function, arguments, range))
        })?;
        if is_function && !self.created.is_empty() {
            self.check_created(compiled, again, range)?;
        }
        Ok(if self.traced.is_empty() { self.untraced_value(&value) } else { value })
    }

    /// Records what the program passes to a `tf.function`, which is traced again for each number, text and length.
    fn record_changing(&mut self, arguments: &Arguments<'a>, range: TextRange) {
        for (index, value) in arguments.values().enumerate() {
            let (changing, value) = match value {
                #[expect(clippy::cast_precision_loss, reason = "large integers are unknown")]
                Value::Int(value) => (Changing::Number, (*value as f64).to_bits().to_string()),
                Value::Float(value) => (Changing::Number, value.to_bits().to_string()),
                Value::Text(text) => (Changing::Text, text.to_string()),
                Value::Tuple(_) | Value::List(_) => match value.elements() {
                    Some(elements) => (Changing::Length, elements.len().to_string()),
                    None => continue,
                },
                Value::Dict(items) => match &*items.borrow() {
                    Some(items) => (Changing::Length, items.len().to_string()),
                    None => continue,
                },
                _ => continue,
            };
            let place = (self.ctx.document, range, index, changing);
            self.changing.entry(place).or_default().insert(value);
        }
    }

    /// Returns the result of an operation on arrays that were created before tracing.
    pub(super) fn computed_array(&self) -> Value<'a> {
        match self.traced.last() {
            None | Some(Mode::Map) => Value::Array,
            Some(_) => Value::unshaped(),
        }
    }

    /// Evaluates a function that the graph runs: the body of a loop, a branch.
    pub(super) fn in_mode(
        &mut self,
        mode: Mode,
        run: impl FnOnce(&mut Self) -> Evaluated<Value<'a>>,
    ) -> Evaluated<Value<'a>> {
        self.at_level(Passing::Kept, &[], |it| it.trace(mode, run))
    }

    /// Evaluates code that is traced.
    fn trace<T>(&mut self, mode: Mode, run: impl FnOnce(&mut Self) -> T) -> T {
        self.traced.push(mode);
        let result = run(self);
        self.traced.pop();
        self.end_trace();
        result
    }

    /// Returns an argument as a traced function receives it. JAX traces all numbers, TensorFlow only Tensors.
    pub(super) fn traced_value(&self, value: &Value<'a>, mode: Mode) -> Value<'a> {
        self.mapped(value, &|value| match value {
            Value::Array => Value::unshaped(),
            Value::Int(_) if mode != Mode::Graph => Value::Tensor(None, Dtype::PythonInt),
            Value::Float(_) if mode != Mode::Graph => Value::Tensor(None, Dtype::PythonFloat),
            Value::Bool(_) if mode != Mode::Graph => Value::unshaped(),
            Value::Unknown if mode != Mode::Graph => Value::Tree,
            value if self.is_stateful(value) => Value::Unknown,
            value => value.clone(),
        })
    }

    /// Returns the result of a traced function as the caller receives it.
    fn untraced_value(&self, value: &Value<'a>) -> Value<'a> {
        self.mapped(value, &|value| match value {
            Value::Tensor(..) | Value::Leaked(_) => Value::Array,
            Value::Tree => Value::Unknown,
            value => value.clone(),
        })
    }

    /// Returns a copy of a tree with other leaves.
    fn mapped(&self, value: &Value<'a>, leaf: &dyn Fn(&Value<'a>) -> Value<'a>) -> Value<'a> {
        let all =
            |elements: &[Value<'a>]| elements.iter().map(|it| self.mapped(it, leaf)).collect::<Vec<_>>();
        let common = |common: &RefCell<Option<Value<'a>>>| {
            Rc::new(RefCell::new(common.borrow().as_ref().map(|it| self.mapped(it, leaf))))
        };
        match value {
            Value::Tuple(elements) => Value::tuple(all(elements)),
            Value::List(elements) => match &*elements.borrow() {
                Some(elements) => Value::list(all(elements)),
                None => Value::Unknown,
            },
            Value::Dict(items) => {
                let items = items.borrow();
                let item = |(key, value): &(Rc<str>, Value<'a>)| (key.clone(), self.mapped(value, leaf));
                let items = items.as_ref().map(|items| items.iter().map(item).collect());
                items.map_or(Value::Unknown, Value::dict)
            }
            Value::Many(element) => Value::Many(common(element)),
            Value::Table(element) => Value::Table(common(element)),
            Value::Object(object) => match self.fields(object) {
                Some(fields) => self.with_fields(object, all(&fields)),
                None => leaf(value),
            },
            value => leaf(value),
        }
    }

    /// Returns a named tuple with other fields.
    fn with_fields(&self, object: &Object<'a>, fields: Vec<Value<'a>>) -> Value<'a> {
        let declared = object.class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
        let names = declared.filter_map(|field| Some(field.target.as_name_expr()?.id.to_string()));
        let attributes = names.zip(fields).collect();
        Value::Object(Rc::new(Object {
            class: object.class,
            depth: object.depth,
            attributes: RefCell::new(Some(attributes)),
        }))
    }

    /// Evaluates `jax.tree.map(f, tree, *others)`.
    pub(super) fn map_trees(
        &mut self,
        function: &Value<'a>,
        trees: &[Value<'a>],
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let Some((first, others)) = trees.split_first() else { return Ok(Value::Unknown) };
        let at = |tree: &Value<'a>, index: usize| {
            tree.elements().and_then(|elements| elements.get(index).cloned()).unwrap_or(Value::Unknown)
        };
        match first {
            Value::None => Ok(Value::None),
            Value::Tuple(_) | Value::List(_) => {
                let Some(elements) = first.elements() else { return Ok(Value::Unknown) };
                let mut results = Vec::new();
                for (index, element) in elements.into_iter().enumerate() {
                    let mut children = vec![element];
                    children.extend(others.iter().map(|tree| at(tree, index)));
                    results.push(self.map_trees(function, &children, range)?);
                }
                Ok(if matches!(first, Value::Tuple(_)) {
                    Value::tuple(results)
                } else {
                    Value::list(results)
                })
            }
            Value::Dict(items) => {
                let Some(items) = items.borrow().clone() else { return Ok(Value::Unknown) };
                let mut results = Vec::new();
                for (key, value) in items {
                    let mut children = vec![value];
                    children.extend(others.iter().map(|tree| tree.entry(&key)));
                    let result = self.map_trees(function, &children, range)?;
                    results.push((key, result));
                }
                Ok(Value::dict(results))
            }
            Value::Object(object) => {
                let Some(fields) = self.fields(object) else { return Ok(Value::Unknown) };
                let mut results = Vec::new();
                for (index, field) in fields.into_iter().enumerate() {
                    let mut children = vec![field];
                    for tree in others {
                        let fields = if let Value::Object(other) = tree { self.fields(other) } else { None };
                        children.push(fields.and_then(|it| it.get(index).cloned()).unwrap_or(Value::Unknown));
                    }
                    results.push(self.map_trees(function, &children, range)?);
                }
                Ok(self.with_fields(object, results))
            }
            Value::Many(element) => {
                let element = element.borrow().clone().unwrap_or(Value::Unknown);
                Ok(Value::many(self.map_trees(function, &[element], range)?))
            }
            Value::Table(value) => {
                let value = value.borrow().clone().unwrap_or(Value::Unknown);
                Ok(Value::table(self.map_trees(function, &[value], range)?))
            }
            leaf => {
                let leaves = trees.iter().map(Value::leaf).collect();
                let result = self.call(function, Arguments::of(leaves), range)?;
                Ok(match (leaf, result) {
                    (Value::Tree, Value::Tensor(..)) => Value::Tree,
                    (Value::Tree | Value::Unknown, _) => Value::Unknown,
                    (_, result) => result,
                })
            }
        }
    }

    /// Returns the leaves of a tree: `jax.tree.leaves(tree)`. It has an element if the number of leaves is not known.
    pub(super) fn leaves(&self, tree: &Value<'a>) -> Value<'a> {
        let mut found = Vec::new();
        match self.collect_leaves(tree, &mut found) {
            true => Value::list(found),
            false if matches!(tree, Value::Tree) => Value::many(Value::unshaped()),
            false => Value::Unknown,
        }
    }

    /// Adds the leaves of a tree. Returns whether they are all known.
    fn collect_leaves(&self, tree: &Value<'a>, found: &mut Vec<Value<'a>>) -> bool {
        let children = match tree {
            Value::None => return true,
            Value::Unknown | Value::Tree | Value::Many(_) | Value::Table(_) => return false,
            Value::Tuple(_) | Value::List(_) => tree.elements(),
            Value::Dict(items) => {
                items.borrow().as_ref().map(|items| items.iter().map(|(_, value)| value.clone()).collect())
            }
            Value::Object(object) => self.fields(object),
            leaf => {
                found.push(leaf.clone());
                return true;
            }
        };
        children.is_some_and(|children| children.iter().all(|child| self.collect_leaves(child, found)))
    }
}

impl<'a> Value<'a> {
    /// Returns a leaf of this tree.
    pub(super) fn leaf(&self) -> Self {
        match self {
            Self::Tree => Self::unshaped(),
            value => value.clone(),
        }
    }

    /// Returns whether the value is a traced array, or a list or tuple with one.
    pub(super) fn holds_tensor(&self) -> bool {
        match self {
            Self::Tensor(..) => true,
            Self::Tuple(elements) => elements.iter().any(Self::holds_tensor),
            Self::List(elements) => elements.borrow().iter().flatten().any(Self::holds_tensor),
            Self::Many(common) => common.borrow().as_ref().is_some_and(Self::holds_tensor),
            _ => false,
        }
    }

    /// Returns the value for a key of a dictionary.
    pub(super) fn entry(&self, key: &str) -> Self {
        match self {
            Self::Dict(items) => {
                let items = items.borrow();
                let found = items.iter().flatten().find(|(known, _)| **known == *key);
                found.map_or(Self::Unknown, |(_, value)| value.clone())
            }
            Self::Tree => Self::Tree,
            _ => Self::Unknown,
        }
    }

    /// Returns what iteration yields if the number of elements is not known.
    pub(super) fn element(&self) -> Option<Self> {
        match self {
            Self::Tensor(..) | Self::Tree | Self::Array => Some(self.clone()),
            Self::Many(element) => element.borrow().clone(),
            Self::Iterator(iterator) => iterator.values.element(),
            _ => None,
        }
    }

    /// Returns what the elements of a list or tuple have in common.
    pub(super) fn common(elements: &[Self]) -> Option<Self> {
        let mut elements = elements.iter();
        let first = elements.next()?.clone();
        Some(elements.fold(first, |joined, element| joined.joined(element)))
    }

    /// Returns what is known of a value that is one of two.
    pub(super) fn joined(&self, other: &Self) -> Self {
        self.joined_within(other, MOST_JOINED)
    }

    /// Returns what is known of one of two values, which may contain others up to a depth.
    fn joined_within(&self, other: &Self, depth: usize) -> Self {
        let Some(inner) = depth.checked_sub(1) else { return Self::Unknown };
        let is_same = match (self, other) {
            (Self::Tensor(..), Self::Tensor(..)) => return Self::unshaped(),
            (Self::Tree | Self::Tensor(..), Self::Tree | Self::Tensor(..)) => return Self::Tree,
            (Self::Tuple(own), Self::Tuple(others)) if own.len() == others.len() => {
                let joined =
                    own.iter().zip(others.iter()).map(|(own, other)| own.joined_within(other, inner));
                return Self::tuple(joined.collect());
            }
            (Self::None, Self::None)
            | (Self::Array, Self::Array)
            | (Self::Variable, Self::Variable)
            | (Self::Weights(_), Self::Weights(_))
            | (Self::Leaked(_), Self::Leaked(_)) => true,
            (Self::Iterator(own), Self::Iterator(other)) => Rc::ptr_eq(own, other),
            (Self::Bool(own), Self::Bool(other)) => own == other,
            (Self::Int(own), Self::Int(other)) => own == other,
            (Self::Text(own), Self::Text(other)) => own == other,
            (Self::List(own), Self::List(other)) => Rc::ptr_eq(own, other),
            (Self::Dict(own), Self::Dict(other)) if !Rc::ptr_eq(own, other) => {
                let (own, other) = (own.borrow(), other.borrow());
                let (Some(own), Some(other)) = (&*own, &*other) else { return Self::Unknown };
                if own.len() != other.len() {
                    return Self::Unknown;
                }
                let joined = own.iter().map(|(key, value)| {
                    let (_, other) = other.iter().find(|(known, _)| known == key)?;
                    Some((key.clone(), value.joined_within(other, inner)))
                });
                let joined: Option<Vec<_>> = joined.collect();
                return joined.map_or(Self::Unknown, Self::dict);
            }
            (Self::Dict(_), Self::Dict(_)) => true,
            (Self::Many(own), Self::Many(other)) | (Self::Table(own), Self::Table(other)) => {
                Rc::ptr_eq(own, other)
            }
            (Self::Object(own), Self::Object(other)) if !Rc::ptr_eq(own, other) => {
                let (attributes, others) = (own.attributes.borrow(), other.attributes.borrow());
                let (Some(attributes), Some(others)) = (&*attributes, &*others) else { return Self::Unknown };
                if !std::ptr::eq(own.class, other.class) {
                    return Self::Unknown;
                }
                let joined = attributes.iter().map(|(name, value)| {
                    let other = others.get(name).unwrap_or(&Self::Unknown);
                    (name.to_owned(), value.joined_within(other, inner))
                });
                let attributes = RefCell::new(Some(joined.collect()));
                return Self::Object(Rc::new(Object { class: own.class, depth: own.depth, attributes }));
            }
            (Self::Object(_), Self::Object(_)) => true,
            (Self::Function(own), Self::Function(other)) => Rc::ptr_eq(own, other),
            (Self::Lambda(own), Self::Lambda(other)) => Rc::ptr_eq(own, other),
            (Self::Partial(own), Self::Partial(other)) => Rc::ptr_eq(own, other),
            (Self::Compiled(own), Self::Compiled(other)) => Rc::ptr_eq(own, other),
            (Self::Transformed(own), Self::Transformed(other)) => Rc::ptr_eq(own, other),
            (Self::Stateful(own, _), Self::Stateful(other, _)) => Rc::ptr_eq(own, other),
            (Self::Class(own), Self::Class(other)) => std::ptr::eq(*own, *other),
            (Self::Library(own), Self::Library(other)) => own == other,
            _ => false,
        };
        if is_same { self.clone() } else { Self::Unknown }
    }
}
