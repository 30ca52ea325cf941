//! Functions of torch and of Python, and methods of Tensors.

use std::rc::Rc;

use ruff_text_size::TextRange;

use super::calls::{Arguments, shown};
use super::sizes::{self, Checked};
use super::tensor_methods::{BROADCAST, ELEMENTWISE, REDUCTIONS, requested};
use super::values::{Convolution, Layer, Shape, Size, Value};
use super::{Evaluated, Evaluation, MOST_ITERATIONS};

/// Builtin functions that do not change their arguments.
pub(super) const HARMLESS: [&str; 19] = [
    "all",
    "any",
    "callable",
    "enumerate",
    "hasattr",
    "id",
    "int",
    "isinstance",
    "len",
    "list",
    "print",
    "range",
    "repr",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
];

/// Activations and similar modules of `torch.nn`.
const ACTIVATIONS: &[&str] = &[
    "AlphaDropout",
    "CELU",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "ELU",
    "GELU",
    "Hardswish",
    "Hardtanh",
    "Identity",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "ReLU",
    "ReLU6",
    "SELU",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
];

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a call of a function of a library.
    pub(super) fn library(
        &mut self,
        name: &str,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let Some(function) = name.strip_prefix("torch.") else {
            arguments.forget();
            return Ok(Value::Unknown);
        };
        match function {
            "compile" | "jit.script" => {
                let function = arguments.get(0, "model").or(arguments.get(0, "obj"));
                return Ok(function.map_or(Value::Unknown, |it| Value::Compiled(Rc::new(it.clone()))));
            }
            "jit.trace" => {
                let model = arguments.get(0, "func").cloned().unwrap_or(Value::Unknown);
                let inputs = match arguments.get(1, "example_inputs") {
                    Some(Value::Tuple(inputs)) => inputs.to_vec(),
                    Some(input) => vec![input.clone()],
                    None => return Ok(Value::Unknown),
                };
                let compiled = Value::Compiled(Rc::new(model));
                self.call(&compiled, Arguments { positional: inputs, ..Arguments::default() }, range)?;
                return Ok(compiled);
            }
            "export.export" => return self.export(&arguments, range),
            "export.Dim" => {
                self.dimensions += 1;
                return Ok(Value::Dim(self.dimensions));
            }
            _ => {}
        }
        if arguments.open {
            return Ok(Value::Unknown);
        }
        if let Some(module) = function.strip_prefix("nn.").filter(|it| it.starts_with(char::is_uppercase)) {
            return Ok(self.module_of_torch(module, &arguments));
        }
        let function = function.strip_prefix("nn.functional.").unwrap_or(function);
        if let Some(shape) = created(function, &arguments) {
            return Ok(Value::tensor(shape));
        }
        let result = combined(function, &arguments).or_else(|| {
            let Some(Value::Tensor(Some(shape))) = arguments.get(0, "input") else { return None };
            let is_known = ELEMENTWISE.contains(&function)
                || BROADCAST.contains(&function)
                || REDUCTIONS.contains(&function)
                || matches!(
                    function,
                    "flatten" | "matmul" | "mm" | "bmm" | "transpose" | "permute" | "unsqueeze"
                );
            let rest = Arguments {
                positional: arguments.positional.iter().skip(1).cloned().collect(),
                keywords: arguments.keywords.iter().filter(|(name, _)| *name != "input").cloned().collect(),
                open: false,
            };
            is_known.then(|| self.tensor_method(shape, function, &rest))
        });
        match result {
            Some(Ok(value)) => Ok(value),
            Some(Err(reason)) => {
                Err(self.fail(range, format!("`{name}` does not accept its inputs: {reason}")))
            }
            None => Ok(Value::Unknown),
        }
    }

    fn export(&mut self, arguments: &Arguments<'a>, range: TextRange) -> Evaluated<Value<'a>> {
        let Some(model @ Value::Object(object)) = arguments.get(0, "mod") else { return Ok(Value::Unknown) };
        let Some(Value::Tuple(inputs)) = arguments.get(1, "args") else { return Ok(Value::Unknown) };
        let forward = self.attribute(model, "forward")?;
        let Value::Function(forward) = forward else { return Ok(Value::Unknown) };
        if object.attributes.borrow().is_none() {
            return Ok(Value::Unknown);
        }
        let mut keywords = Vec::new();
        match arguments.get(2, "kwargs") {
            None | Some(Value::None) => {}
            Some(Value::Dict(items)) => {
                let items = items.borrow().clone().unwrap_or_default();
                for parameter in forward.def.parameters.iter_non_variadic_params() {
                    let name = parameter.parameter.name.as_str();
                    if let Some((_, value)) = items.iter().find(|(known, _)| &**known == name) {
                        keywords.push((name, value.clone()));
                    }
                }
            }
            Some(_) => return Ok(Value::Unknown),
        }
        let names: Vec<&str> = forward
            .def
            .parameters
            .iter_non_variadic_params()
            .skip(1)
            .map(|parameter| parameter.parameter.name.as_str())
            .collect();
        let shapes = arguments.get(3, "dynamic_shapes").cloned().unwrap_or(Value::None);
        let dynamic = |name: &str, position: Option<usize>, input: &Value<'a>| -> Value<'a> {
            let declared = match &shapes {
                Value::None => return input.clone(),
                Value::Dict(items) => items.borrow().as_ref().and_then(|items| {
                    items.iter().find(|(known, _)| &**known == name).map(|(_, it)| it.clone())
                }),
                Value::Tuple(_) | Value::List(_) => {
                    position.and_then(|position| shapes.elements()?.into_iter().nth(position))
                }
                _ => None,
            };
            with_dimensions(input, declared.as_ref())
        };
        let positional = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| dynamic(names.get(index).copied().unwrap_or_default(), Some(index), input))
            .collect();
        let keywords =
            keywords.into_iter().map(|(name, value)| (name, dynamic(name, None, &value))).collect();
        let call = Arguments { positional, keywords, open: false };
        let compiled = Value::Compiled(Rc::new(model.clone()));
        self.call(&compiled, call, range)?;
        Ok(Value::Unknown)
    }

    fn module_of_torch(&self, name: &str, arguments: &Arguments<'a>) -> Value<'a> {
        let int =
            |position: usize, keyword: &str, default: Option<i64>| match arguments.get(position, keyword) {
                Some(value) => value.as_int(),
                None => default,
            };
        let dimensions = name.chars().rev().nth(1).and_then(|digit| digit.to_digit(10)).unwrap_or(0) as usize;
        let convolution = |dilation: usize, transposed: bool| -> Option<Layer<'a>> {
            Some(Layer::Conv(Convolution {
                dimensions,
                inputs: int(0, "in_channels", None)?,
                outputs: int(1, "out_channels", None)?,
                kernel: int(2, "kernel_size", None)?,
                stride: int(3, "stride", Some(1))?,
                padding: int(4, "padding", Some(0))?,
                dilation: int(dilation, "dilation", Some(1))?,
                transposed,
            }))
        };
        let layer = || -> Option<Layer<'a>> {
            Some(match name {
                "Linear" => Layer::Linear {
                    inputs: int(0, "in_features", None)?,
                    outputs: int(1, "out_features", None)?,
                    bias: int(2, "bias", Some(1))? != 0,
                },
                "Embedding" => Layer::Embedding { width: int(1, "embedding_dim", None)? },
                "LayerNorm" => match arguments.get(0, "normalized_shape")? {
                    Value::Int(size) => Layer::Normalization(vec![*size]),
                    shape => Layer::Normalization(
                        shape.elements()?.iter().map(Value::as_int).collect::<Option<_>>()?,
                    ),
                },
                "BatchNorm1d" | "BatchNorm2d" | "BatchNorm3d" => {
                    Layer::BatchNorm { channels: int(0, "num_features", None)? }
                }
                "Conv1d" | "Conv2d" | "Conv3d" => convolution(5, false)?,
                // `output_padding` changes the size.
                "ConvTranspose1d" | "ConvTranspose2d" | "ConvTranspose3d"
                    if int(5, "output_padding", Some(0))? == 0 =>
                {
                    convolution(8, true)?
                }
                "MaxPool1d" | "MaxPool2d" | "AvgPool1d" | "AvgPool2d" => {
                    if arguments.positional.len() > 3
                        || arguments
                            .keywords
                            .iter()
                            .any(|(name, _)| matches!(*name, "dilation" | "ceil_mode"))
                    {
                        return None;
                    }
                    let kernel = int(0, "kernel_size", None)?;
                    let stride = int(1, "stride", Some(kernel))?;
                    Layer::Pool { dimensions, kernel, stride, padding: int(2, "padding", Some(0))? }
                }
                "AdaptiveAvgPool1d" | "AdaptiveAvgPool2d" | "AdaptiveMaxPool2d" => {
                    Layer::AdaptivePool { dimensions, size: int(0, "output_size", None)? }
                }
                "Flatten" if arguments.positional.is_empty() && arguments.keywords.is_empty() => {
                    Layer::Flatten
                }
                "Sequential" if arguments.positional.iter().all(|it| !matches!(it, Value::Dict(_))) => {
                    Layer::Sequential(Rc::new(Some(arguments.positional.clone()).into()))
                }
                _ if ACTIVATIONS.contains(&name) => Layer::Elementwise,
                _ => return None,
            })
        };
        match name {
            "ModuleList" => match arguments.get(0, "modules") {
                None => Value::list(Vec::new()),
                Some(modules) => modules.elements().map_or(Value::Unknown, Value::list),
            },
            "ModuleDict" => match arguments.get(0, "modules") {
                Some(Value::Dict(items)) => {
                    let items = items.borrow().clone();
                    Value::Dict(Rc::new(items.into()))
                }
                _ => Value::Unknown,
            },
            "Parameter" => arguments.get(0, "data").cloned().unwrap_or(Value::Unknown),
            _ => layer().map_or(Value::Unknown, |layer| Value::Layer(Rc::new(layer))),
        }
    }

    /// Evaluates a call of a builtin function.
    pub(super) fn builtin(&self, name: &str, arguments: &Arguments<'a>) -> Value<'a> {
        let values = &arguments.positional;
        let ints: Option<Vec<i64>> = values.iter().map(Value::as_int).collect();
        match (name, values.as_slice(), ints.as_deref()) {
            _ if arguments.open || !arguments.keywords.is_empty() && !matches!(name, "print" | "sorted") => {
                arguments.forget();
                Value::Unknown
            }
            ("range", _, Some([end])) => numbers(0, *end),
            ("range", _, Some([start, end])) => numbers(*start, *end),
            ("len", [value], _) => match value {
                Value::Tensor(Some(shape)) => shape.first().map_or(Value::Unknown, |size| Value::size(*size)),
                value => {
                    let length = value.elements().and_then(|elements| i64::try_from(elements.len()).ok());
                    length.map_or(Value::Unknown, Value::Int)
                }
            },
            ("enumerate", [value], _) => {
                let numbered = value.elements().map(|elements| {
                    let pair = |(index, value)| Value::tuple(vec![Value::Int(index), value]);
                    (0_i64..).zip(elements).map(pair).collect()
                });
                numbered.map_or(Value::Unknown, Value::list)
            }
            ("zip", values, _) => {
                let columns: Option<Vec<_>> = values.iter().map(Value::elements).collect();
                let Some(columns) = columns.filter(|it| !it.is_empty()) else { return Value::Unknown };
                let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
                let row =
                    |index: usize| Value::tuple(columns.iter().map(|column| column[index].clone()).collect());
                Value::list((0..rows).map(row).collect())
            }
            ("list", [value], _) => value.elements().map_or(Value::Unknown, Value::list),
            ("tuple", [value], _) => value.elements().map_or(Value::Unknown, Value::tuple),
            ("reversed", [value], _) => {
                let reversed = value.elements().map(|it| it.into_iter().rev().collect());
                reversed.map_or(Value::Unknown, Value::list)
            }
            ("min", _, Some([first, second])) => Value::Int(*first.min(second)),
            ("max", _, Some([first, second])) => Value::Int(*first.max(second)),
            ("int", [value], _) => match value {
                Value::Int(_) => value.clone(),
                #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
                Value::Float(value) if value.abs() < 1e9 => Value::Int(value.trunc() as i64),
                _ => Value::Unknown,
            },
            _ if HARMLESS.contains(&name) => Value::Unknown,
            _ => {
                arguments.forget();
                Value::Unknown
            }
        }
    }
}

fn numbers<'a>(start: i64, end: i64) -> Value<'a> {
    let is_short = usize::try_from(end.saturating_sub(start)).is_ok_and(|length| length <= MOST_ITERATIONS);
    if is_short || end <= start {
        Value::list((start..end).map(Value::Int).collect())
    } else {
        Value::Unknown
    }
}

/// Returns the shape of a new Tensor: `torch.randn(2, 3)`.
fn created(function: &str, arguments: &Arguments) -> Option<Shape> {
    let by_name = |position: usize, name: &str| {
        let sizes = arguments.get(position, name)?.elements()?;
        Some(sizes.iter().map(Value::as_size).collect())
    };
    match function {
        "randn" | "rand" | "zeros" | "ones" | "empty" => {
            let positional = Arguments { positional: arguments.positional.clone(), ..Arguments::default() };
            requested(&positional).or_else(|| by_name(usize::MAX, "size"))
        }
        "full" => by_name(0, "size"),
        "randint" => match arguments.positional.as_slice() {
            [_, Value::Tuple(_) | Value::List(_)] => by_name(1, "size"),
            _ => by_name(2, "size"),
        },
        "arange" => match arguments.positional.as_slice() {
            [end @ (Value::Int(_) | Value::Size(_))] => Some(vec![end.as_size()]),
            _ => Some(vec![Size::Unknown]),
        },
        "eye" => match arguments.positional.as_slice() {
            [size] if arguments.keywords.is_empty() => Some(vec![size.as_size(), size.as_size()]),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the result of a function that combines several Tensors.
fn combined<'a>(function: &str, arguments: &Arguments<'a>) -> Option<Checked<Value<'a>>> {
    let tensor = |value: &Value<'a>| match value {
        Value::Tensor(Some(shape)) => Some(shape.to_vec()),
        _ => None,
    };
    match function {
        "cat" | "concat" | "stack" => {
            let shapes: Option<Vec<Shape>> =
                arguments.get(0, "tensors")?.elements()?.iter().map(tensor).collect();
            let (Some(shapes), Some(axis)) = (shapes, arguments.get(1, "dim").map_or(Some(0), Value::as_int))
            else {
                return Some(Ok(Value::Tensor(None)));
            };
            let result =
                if function == "stack" { sizes::stack(&shapes, axis) } else { sizes::cat(&shapes, axis) };
            Some(result.map(|shape| Value::Tensor(shape.map(Into::into))))
        }
        "linear" => {
            let (input, weight) = (tensor(arguments.get(0, "input")?)?, tensor(arguments.get(1, "weight")?)?);
            let ([.., inner], [outputs, inputs]) = (input.as_slice(), weight.as_slice()) else { return None };
            let check = || {
                sizes::equal(*inner, *inputs)
                    .map_err(|reason| format!("{reason}, in {} and {}", shown(&input), shown(&weight)))?;
                let mut result = input.clone();
                *result.last_mut().ok_or_else(String::new)? = *outputs;
                if let Some(bias) = arguments.get(2, "bias").and_then(tensor)
                    && let [size] = bias.as_slice()
                {
                    sizes::equal(*size, *outputs)?;
                }
                Ok(Value::tensor(result))
            };
            Some(check())
        }
        _ => None,
    }
}

/// Returns an input whose dimensions are dynamic as `dynamic_shapes` declares: `{0: batch}`, `(batch, None)`.
fn with_dimensions<'a>(input: &Value<'a>, declared: Option<&Value<'a>>) -> Value<'a> {
    let Value::Tensor(Some(shape)) = input else { return Value::Unknown };
    let size_at = |index: usize, size: Size| -> Size {
        let dimension = match declared {
            Some(Value::None) => return size,
            Some(Value::Dict(items)) => match &*items.borrow() {
                Some(items) => {
                    let key = index.to_string();
                    match items.iter().find(|(known, _)| **known == *key) {
                        Some((_, dimension)) => dimension.clone(),
                        None => return size,
                    }
                }
                None => Value::Unknown,
            },
            Some(value) => match value.elements() {
                Some(elements) => elements.into_iter().nth(index).unwrap_or(Value::Unknown),
                None => Value::Unknown,
            },
            None => Value::Unknown,
        };
        match dimension {
            Value::Dim(id) => Size::Dynamic(id),
            Value::None => size,
            _ => Size::Unknown,
        }
    };
    Value::tensor(shape.iter().enumerate().map(|(index, size)| size_at(index, *size)).collect())
}
