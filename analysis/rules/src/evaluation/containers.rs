//! Methods of containers, and the containers and functions of the standard library.

use std::cell::RefCell;
use std::rc::Rc;

use ruff_text_size::TextRange;

use super::calls::Arguments;
use super::sizes::index_of;
use super::values::{Attributes, Common, Object, Partial, Value};
use super::{Evaluated, Evaluation};
use crate::jax::numpy::returns_tracer;

/// The constructor of a class that `collections.namedtuple` makes.
const RECORD: &str = "collections.namedtuple()";

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a method of a container; `None` if it is not known.
    pub(super) fn container_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        arguments: &Arguments<'a>,
    ) -> Evaluated<Option<Value<'a>>> {
        if !self.explores() || arguments.open {
            return Ok(None);
        }
        let first = arguments.positional.first();
        Ok(match (object, name, arguments.positional.as_slice()) {
            (Value::List(elements), "pop" | "popleft", _) => {
                let mut elements = elements.borrow_mut();
                let Some(elements) = elements.as_mut() else { return Ok(Some(Value::Unknown)) };
                let position = match (name, first) {
                    ("popleft", _) => Some(0),
                    (_, None) => Some(-1),
                    (_, Some(value)) => value.as_int(),
                };
                let Some(position) = position else { return Ok(None) };
                index_of(elements.len(), position).map(|index| elements.remove(index))
            }
            (Value::List(elements), "appendleft", [value]) => {
                if let Some(elements) = elements.borrow_mut().as_mut() {
                    elements.insert(0, value.clone());
                }
                Some(Value::None)
            }
            (Value::List(elements), "insert", [Value::Int(index), value]) => {
                if let Some(elements) = elements.borrow_mut().as_mut() {
                    let length = i64::try_from(elements.len()).unwrap_or(0);
                    let index = if *index < 0 { index + length } else { *index }.clamp(0, length);
                    elements.insert(usize::try_from(index).unwrap_or(0), value.clone());
                }
                Some(Value::None)
            }
            (Value::List(elements), "copy", []) => {
                let copy = elements.borrow().clone();
                Some(copy.map_or(Value::Unknown, Value::list))
            }
            (Value::List(elements), "reverse", []) => {
                if let Some(elements) = elements.borrow_mut().as_mut() {
                    elements.reverse();
                }
                Some(Value::None)
            }
            (Value::List(elements), "clear", []) => {
                *elements.borrow_mut() = Some(Vec::new());
                Some(Value::None)
            }
            (Value::Dict(items), "update", more) if more.len() <= 1 => {
                let added = match more {
                    [Value::Dict(added)] if !Rc::ptr_eq(added, items) => added.borrow().clone(),
                    [] => Some(Vec::new()),
                    _ => None,
                };
                let keywords =
                    arguments.keywords.iter().map(|(name, value)| (Rc::from(*name), value.clone()));
                let mut items = items.borrow_mut();
                *items = items.take().zip(added).map(|(mut known, added)| {
                    for (key, value) in added.into_iter().chain(keywords) {
                        known.retain(|(name, _)| *name != key);
                        known.push((key, value));
                    }
                    known
                });
                Some(Value::None)
            }
            (Value::Dict(items), "pop", [key, default @ ..]) => {
                let Some(key) = key.key() else { return Ok(None) };
                let mut items = items.borrow_mut();
                let Some(items) = items.as_mut() else { return Ok(Some(Value::Unknown)) };
                match items.iter().position(|(known, _)| *known == key) {
                    Some(index) => Some(items.remove(index).1),
                    None => default.first().cloned(),
                }
            }
            (Value::Dict(items), "copy", []) => {
                let copy = items.borrow().clone();
                Some(copy.map_or(Value::Unknown, Value::dict))
            }
            (Value::Many(common), "append" | "add" | "appendleft", [value]) => {
                add(common, value);
                Some(Value::None)
            }
            (Value::Many(common), "extend", [values]) => {
                let known = self.elements(values)?.and_then(|elements| Value::common(&elements));
                add(common, &known.or_else(|| values.element()).unwrap_or(Value::Unknown));
                Some(Value::None)
            }
            (Value::Many(common), "pop" | "popleft", _) => common.borrow().clone(),
            (Value::Many(_), "copy", []) => Some(object.clone()),
            (Value::Table(common), "values", []) => {
                Some(Value::many(common.borrow().clone().unwrap_or(Value::Unknown)))
            }
            (Value::Table(common), "items", []) => {
                let value = common.borrow().clone().unwrap_or(Value::Unknown);
                Some(Value::many(Value::tuple(vec![Value::Unknown, value])))
            }
            (Value::Table(common), "get" | "pop", [_]) => common.borrow().clone(),
            (Value::Table(common), "get" | "pop" | "setdefault", [_, default]) => {
                if name == "setdefault" {
                    add(common, default);
                }
                common.borrow().as_ref().map(|value| value.joined(default))
            }
            (Value::Table(_), "keys" | "copy", []) => {
                Some(if name == "keys" { Value::many(Value::Unknown) } else { object.clone() })
            }
            (Value::Tree, "values", []) => Some(Value::many(Value::Tree)),
            (Value::Tree, "items", []) => Some(Value::many(Value::tuple(vec![Value::Unknown, Value::Tree]))),
            (Value::Object(instance), "_replace" | "replace", []) => {
                let Some(mut attributes) = (*instance.attributes.borrow()).clone() else { return Ok(None) };
                for (name, value) in &arguments.keywords {
                    attributes.insert((*name).to_owned(), value.clone());
                }
                Some(instance.with(attributes))
            }
            (Value::Namespace(items), "_replace", []) => {
                let mut items = items.borrow().clone().unwrap_or_default();
                for (name, value) in &mut items {
                    if let Some((_, new)) = arguments.keywords.iter().find(|(keyword, _)| **keyword == **name)
                    {
                        *value = new.clone();
                    }
                }
                Some(Value::Namespace(Rc::new(Some(items).into())))
            }
            (Value::Object(_), "_asdict", []) => Some(self.as_dictionary(object)),
            _ => None,
        })
    }

    /// Evaluates a call of a class or function of the standard library.
    pub(super) fn of_containers(
        &mut self,
        name: &str,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        Ok(match (name, arguments.positional.as_slice()) {
            ("collections.deque", []) => Value::list(Vec::new()),
            ("collections.deque", [values, ..]) => match self.elements(values)? {
                Some(elements) => Value::list(elements),
                None => values.element().map_or(Value::Unknown, Value::many),
            },
            ("collections.OrderedDict" | "collections.defaultdict", []) => {
                let items = arguments.keywords.iter().map(|(name, value)| (Rc::from(*name), value.clone()));
                Value::dict(items.collect())
            }
            ("collections.defaultdict", [Value::Library(factory)]) if **factory == *"builtins.list" => {
                Value::table(Value::Many(Common::default()))
            }
            (
                "collections.defaultdict",
                [factory @ (Value::Lambda(_) | Value::Function(_) | Value::Partial(_))],
            ) => {
                // All keys share the element, which has what they have in common.
                let value = self.call(factory, Arguments::default(), range)?;
                Value::table(value.of_unknown_length().unwrap_or(value))
            }
            ("collections.defaultdict", [_]) => Value::Table(Common::default()),
            ("builtins.list", []) => Value::list(Vec::new()),
            ("builtins.dict", []) => Value::dict(Vec::new()),
            ("builtins.list" | "builtins.tuple", [values]) => {
                values.element().map_or(Value::Unknown, Value::many)
            }
            (_, [Value::Tensor(..), ..]) if name.strip_prefix("numpy.").is_some_and(returns_tracer) => {
                Value::unshaped()
            }
            ("types.SimpleNamespace" | "argparse.Namespace", []) => {
                let items = arguments.keywords.iter().map(|(name, value)| (Rc::from(*name), value.clone()));
                Value::Namespace(Rc::new(Some(items.collect()).into()))
            }
            ("collections.namedtuple", [Value::Text(_), fields]) => {
                let names = match fields {
                    Value::Text(names) => names.replace(',', " ").split_whitespace().map(Rc::from).collect(),
                    fields => {
                        let name = |field| if let Value::Text(name) = field { Some(name) } else { None };
                        let names = fields
                            .elements()
                            .map(|all| all.into_iter().map(name).collect::<Option<Vec<_>>>());
                        names.flatten().unwrap_or_default()
                    }
                };
                let names = Value::tuple(names.into_iter().map(Value::Text).collect());
                let function = Value::Library(RECORD.into());
                Value::Partial(Rc::new(Partial { function, positional: vec![names], keywords: Vec::new() }))
            }
            (RECORD, [names, values @ ..]) => {
                let mut items = Vec::new();
                for (index, name) in names.elements().unwrap_or_default().into_iter().enumerate() {
                    let Value::Text(name) = name else { continue };
                    let keyword = arguments.keywords.iter().find(|(keyword, _)| **keyword == *name);
                    let value = values.get(index).or(keyword.map(|(_, value)| value));
                    items.push((name, value.cloned().unwrap_or(Value::Unknown)));
                }
                Value::Namespace(Rc::new(Some(items).into()))
            }
            ("dataclasses.replace", [Value::Object(instance)]) => {
                let Some(mut attributes) = (*instance.attributes.borrow()).clone() else {
                    return Ok(Value::Unknown);
                };
                for (name, value) in &arguments.keywords {
                    attributes.insert((*name).to_owned(), value.clone());
                }
                instance.with(attributes)
            }
            ("dataclasses.asdict", [object]) => self.as_dictionary(object),
            ("copy.copy" | "typing.cast", [value]) | ("typing.cast", [_, value]) => match value {
                Value::List(elements) => elements.borrow().clone().map_or(Value::Unknown, Value::list),
                value => value.clone(),
            },
            ("itertools.chain", iterables) => {
                let mut all = Vec::new();
                for iterable in iterables {
                    match self.elements(iterable)? {
                        Some(elements) => all.extend(elements),
                        None => return Ok(iterable.element().map_or(Value::Unknown, Value::many)),
                    }
                }
                Value::list(all)
            }
            ("itertools.accumulate", [values, function @ ..]) => {
                let Some(elements) = self.elements(values)? else {
                    return Ok(values.element().map_or(Value::Unknown, |it| Value::many(it.leaf())));
                };
                let mut results: Vec<Value> = Vec::new();
                for element in elements {
                    let next = match (results.last(), function) {
                        (None, _) => element,
                        (Some(total), []) => {
                            self.operation(ruff_python_ast::Operator::Add, total, &element, range)?
                        }
                        (Some(total), [function, ..]) => {
                            let pair = Arguments::of(vec![total.clone(), element]);
                            self.call(function, pair, range)?
                        }
                    };
                    results.push(next);
                }
                Value::list(results)
            }
            ("itertools.starmap", [function, rows]) => {
                let Some(rows) = self.elements(rows)? else { return Ok(Value::Unknown) };
                let mut results = Vec::new();
                for row in rows {
                    let Some(elements) = self.elements(&row)? else { return Ok(Value::Unknown) };
                    results.push(self.call(function, Arguments::of(elements), range)?);
                }
                Value::list(results)
            }
            ("functools.reduce", [function, values]) if self.elements(values)?.is_none() => {
                match values.element() {
                    Some(element) => {
                        self.call(function, Arguments::of(vec![element.clone(), element]), range)?
                    }
                    None => Value::Unknown,
                }
            }
            _ => return self.of_python(name, arguments, range),
        })
    }

    /// Returns the fields of an object of a dataclass or named tuple as a dictionary.
    pub(super) fn as_dictionary(&self, object: &Value<'a>) -> Value<'a> {
        let Value::Object(object) = object else { return Value::Unknown };
        let attributes = object.attributes.borrow();
        let items: Option<Vec<(Rc<str>, Value)>> = attributes.as_ref().map(|attributes| {
            attributes.iter().map(|(name, value)| (Rc::from(name), value.clone())).collect()
        });
        items.map_or(Value::Unknown, Value::dict)
    }
}

impl<'a> Object<'a> {
    /// Returns an object of the same class with other attributes.
    fn with(&self, attributes: Attributes<'a>) -> Value<'a> {
        Value::Object(Rc::new(Object {
            class: self.class,
            depth: self.depth,
            attributes: RefCell::new(Some(attributes)),
        }))
    }
}

/// Adds an element to a container of unknown length.
fn add<'a>(common: &Common<'a>, value: &Value<'a>) {
    let known = common.borrow().clone();
    *common.borrow_mut() = Some(known.map_or_else(|| value.clone(), |known| known.joined(value)));
}
