//! Operations of Python on arrays that are traced: methods, builtin functions, items.

use ruff_python_ast::{self as ast, Expr, Operator};
use ruff_text_size::{Ranged, TextRange};

use super::calls::Arguments;
use super::values::Value;
use super::{Evaluated, Evaluation};
use crate::formatting::percent_positions;

/// The methods of arrays whose results are not arrays.
const OTHER_METHODS: [&str; 23] = [
    "as_integer_ratio",
    "bit_count",
    "bit_length",
    "block_until_ready",
    "consumers",
    "devices",
    "eval",
    "experimental_ref",
    "get_shape",
    "hex",
    "is_deleted",
    "is_integer",
    "item",
    "numpy",
    "ref",
    "set_shape",
    "to_device",
    "to_bytes",
    "tobytes",
    "tolist",
    "unsafe_buffer_pointer",
    "value_index",
    "_asdict",
];

/// Methods that arrays have and other trees do not.
const ARRAY_METHODS: [&str; 26] = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "clip",
    "conj",
    "cumprod",
    "cumsum",
    "dot",
    "flatten",
    "max",
    "mean",
    "min",
    "prod",
    "ravel",
    "repeat",
    "reshape",
    "round",
    "squeeze",
    "std",
    "sum",
    "swapaxes",
    "transpose",
    "var",
];

impl<'a> Evaluation<'_, 'a> {
    /// Records that `text % values` formats an array as a number.
    pub(super) fn formatted_values(&mut self, text: &str, values: &Value<'a>, range: TextRange) {
        let values = match values {
            Value::Tuple(values) => values.to_vec(),
            value => vec![value.clone()],
        };
        let positions = percent_positions(text, values.len());
        let numbers: Vec<_> = positions.into_iter().filter_map(|position| values.get(position)).collect();
        numbers.iter().for_each(|value| self.used_operand(value, range));
        let is_traced = self.explores() && !self.traced.is_empty();
        if is_traced && numbers.iter().any(|value| matches!(value, Value::Tensor(..))) {
            let (place, reach) = ((self.ctx.document, range), self.reach());
            let known = self.formats.entry(place).or_default();
            *known = (*known).max(reach);
        }
    }

    /// Evaluates a method of an array; `None` for other objects.
    pub(super) fn array_method(
        &mut self,
        object: &Value<'a>,
        name: &str,
        range: TextRange,
    ) -> Option<Value<'a>> {
        self.used_by_method(object, name, range);
        match object {
            Value::Tensor(..) if OTHER_METHODS.contains(&name) => Some(Value::Unknown),
            Value::Tensor(..) | Value::At => Some(Value::unshaped()),
            Value::Tree if ARRAY_METHODS.contains(&name) => Some(Value::unshaped()),
            Value::Variable => Some(match name {
                "read_value" | "value" => self.computed_array(),
                _ => Value::Unknown,
            }),
            Value::Array if OTHER_METHODS.contains(&name) => Some(Value::Unknown),
            Value::Array => Some(self.computed_array()),
            _ => None,
        }
    }

    /// Evaluates a builtin function, as far as it differs for arrays and containers of unknown length.
    pub(super) fn array_builtin(
        &mut self,
        name: &str,
        arguments: &Arguments<'a>,
        call: &'a ast::ExprCall,
    ) -> Evaluated<Option<Value<'a>>> {
        if let ("all" | "any" | "max" | "min" | "sorted", [values], [argument]) =
            (name, arguments.positional.as_slice(), &*call.arguments.args)
            && arguments.keywords.is_empty()
            && !matches!(argument, Expr::Starred(_) | Expr::Generator(_) | Expr::ListComp(_))
        {
            self.compared(values, argument)?;
        }
        if matches!(
            name,
            "abs" | "bool" | "complex" | "float" | "int" | "max" | "min" | "pow" | "round" | "sum"
        ) {
            arguments.values().for_each(|value| self.used(value, call.range()));
        }
        if let ("next", Some(iterator)) = (name, arguments.positional.first()) {
            self.advanced(iterator, call.range());
        }
        Ok(match (name, arguments.positional.as_slice()) {
            ("abs" | "round" | "pow", [Value::Tensor(..), ..]) => Some(Value::unshaped()),
            ("int" | "float" | "bool" | "complex" | "len" | "str" | "repr", [Value::Tensor(..)]) => {
                Some(Value::Unknown)
            }
            ("sum", [values @ Value::Many(_), ..]) => match values.element() {
                Some(tensor @ Value::Tensor(..)) => Some(tensor),
                _ => Some(Value::Unknown),
            },
            ("sum", [values, start]) => {
                let Some(elements) = self.elements(values)? else { return Ok(None) };
                let mut total = start.clone();
                for element in elements {
                    total = self.operation(Operator::Add, &total, &element, call.range())?;
                }
                Some(total)
            }
            ("max" | "min", [first, second, ..]) if first.is_traced() || second.is_traced() => {
                Some(first.joined(second))
            }
            ("max" | "min" | "sorted", [values]) if arguments.get(usize::MAX, "key").is_some() => {
                let common = match self.elements(values)? {
                    Some(elements) => Value::common(&elements).unwrap_or(Value::Unknown),
                    None => values.element().unwrap_or(Value::Unknown),
                };
                let first = match self.elements(values)? {
                    Some(elements) => elements.into_iter().next().unwrap_or(Value::Unknown),
                    None => common.clone(),
                };
                if let Some(key) = arguments.get(usize::MAX, "key") {
                    self.call(key, Arguments::of(vec![first]), call.range())?;
                }
                // The order is not known.
                Some(if name == "sorted" { Value::many(common) } else { common })
            }
            ("max" | "min", [values]) => {
                let common = match self.elements(values)? {
                    Some(elements) => Value::common(&elements),
                    None => values.element(),
                };
                common.filter(|common| matches!(common, Value::Tensor(..)))
            }
            ("iter", [iterator @ (Value::Iterator(_) | Value::Object(_))]) => Some(iterator.clone()),
            ("iter", [values @ (Value::List(_) | Value::Tuple(_))]) => Some(self.iterator(values.clone())),
            ("list" | "tuple" | "reversed" | "sorted" | "iter", [values]) => {
                values.element().filter(|_| !matches!(values, Value::Tree)).map(Value::many)
            }
            ("next", [values, ..]) => match values {
                Value::List(_) | Value::Iterator(_) => {
                    let first = values.elements().and_then(|elements| elements.into_iter().next());
                    first.or_else(|| values.element())
                }
                values => values.element(),
            },
            ("dict", [Value::Dict(items)]) => {
                let mut items = items.borrow().clone().unwrap_or_default();
                let keywords = arguments.keywords.iter().map(|(name, value)| ((*name).into(), value.clone()));
                items.extend(keywords);
                Some(Value::dict(items))
            }
            ("dict", [pairs]) => {
                let Some(pairs) = self.elements(pairs)? else { return Ok(None) };
                let mut items = Vec::new();
                for pair in pairs {
                    match pair.elements().as_deref() {
                        Some([Value::Text(key), value]) => items.push((key.clone(), value.clone())),
                        _ => return Ok(None),
                    }
                }
                Some(Value::dict(items))
            }
            ("enumerate", [values, ..]) if self.elements(values)?.is_none() => {
                values.element().map(|it| Value::many(Value::tuple(vec![Value::Unknown, it])))
            }
            ("zip", columns) => {
                let mut row = Vec::new();
                let mut is_known = true;
                for column in columns {
                    let elements = self.elements(column)?;
                    is_known &= elements.is_some();
                    let common = elements.and_then(|elements| Value::common(&elements));
                    row.push(common.or_else(|| column.element()).unwrap_or(Value::Unknown));
                }
                (!is_known).then(|| Value::many(Value::tuple(row)))
            }
            ("map", [function, values]) if self.elements(values)?.is_none() => match values.element() {
                Some(element) => {
                    let result = self.call(function, Arguments::of(vec![element]), call.range())?;
                    Some(Value::many(result))
                }
                None => None,
            },
            ("getattr", [object, Value::Text(name), _]) => match self.attribute(object, name)? {
                Value::Unknown => Some(Value::Unknown),
                value => Some(value),
            },
            ("setattr", [object @ Value::Object(_), Value::Text(name), value]) => {
                self.set_attribute(object, name, value.clone(), call.range());
                Some(Value::None)
            }
            ("vars", [Value::Namespace(items)]) => Some(Value::Dict(items.clone())),
            _ => None,
        })
    }

    /// Records the argument of `all(values)` or `max(values)` as traced if its elements are traced.
    fn compared(&mut self, values: &Value<'a>, argument: &'a Expr) -> Evaluated<()> {
        let common = match self.elements(values)? {
            Some(elements) => Value::common(&elements),
            None => values.element(),
        };
        if let Some(element @ Value::Tensor(..)) = common
            && !self.traced.is_empty()
        {
            self.observed(argument, element);
        }
        Ok(())
    }
}

impl<'a> Value<'a> {
    /// Returns an item of an array or of a container of unknown length; `None` for other values.
    pub(super) fn part(&self) -> Option<Self> {
        match self {
            Self::Tensor(..) | Self::Tree | Self::Array | Self::At => Some(self.clone()),
            Self::Many(common) | Self::Table(common) => {
                Some(common.borrow().clone().unwrap_or(Self::Unknown))
            }
            _ => None,
        }
    }
}
