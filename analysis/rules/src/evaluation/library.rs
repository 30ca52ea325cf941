//! Functions and modules of torch, and functions of the standard library.

use std::rc::Rc;

use ruff_python_ast::{CmpOp, Operator};
use ruff_text_size::TextRange;

use super::calls::{Arguments, shown};
use super::dtypes::Dtype;
use super::kinds::Kind;
use super::names::{ACTIVATIONS, LOGGER, TENSOR_MODULES, is_tensor_function};
use super::sizes::{self, Checked};
use super::tensor_methods::{BROADCAST, ELEMENTWISE, REDUCTIONS, SCALARS, requested};
use super::traced::{Compiled, Mode};
use super::values::{Convolution, Layer, Partial, Shape, Size, Value};
use super::{Evaluated, Evaluation, Framework, Stop, dtypes};

/// Functions of NumPy that return an array of the same dtype.
const ARRAYS: [&str; 7] = ["abs", "array", "asarray", "clip", "maximum", "minimum", "sign"];

impl<'a> Evaluation<'_, 'a> {
    /// Evaluates a call of a function of a library.
    pub(super) fn library(
        &mut self,
        name: &str,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if self.framework == Framework::Arrays {
            return self.array_library(name, arguments, range);
        }
        // `consume_prefix_in_state_dict_if_present(state, "_orig_mod.")` renames the keys.
        if name != "torch.save" {
            arguments.values().filter(|value| matches!(value, Value::State(_))).for_each(Value::forget);
        }
        if let Some(what) = self.sized_by_symbol(name, &arguments) {
            return Err(self.needs_symbol(&what, range));
        }
        if let Some(value) = self.library_of_symbol(name, &arguments) {
            return Ok(value);
        }
        let Some(function) = name.strip_prefix("torch.") else {
            return if self.explores() && !arguments.open {
                self.of_containers(name, arguments, range)
            } else {
                self.of_python(name, arguments, range)
            };
        };
        let compiled = |function: &Value<'a>, mode: Mode| {
            Value::Compiled(Rc::new(Compiled::new(function.clone(), mode)))
        };
        match function {
            _ if function.starts_with("optim.") => return Ok(Value::Foreign),
            "compile" => {
                let disable = arguments.get(usize::MAX, "disable").map_or(Some(false), Value::truth);
                return Ok(match arguments.get(0, "model").filter(|_| disable.is_some()) {
                    Some(function) if disable == Some(true) => function.clone(),
                    Some(function) => compiled(function, arguments.compile_mode()),
                    // `torch.compile(dynamic=False)` is a decorator.
                    None => Value::Unknown,
                });
            }
            "jit.script" => {
                let function = arguments.get(0, "obj");
                return match function {
                    Some(function) => self.scripted(&function.clone(), range),
                    None => Ok(Value::Unknown),
                };
            }
            "utils.data.DataLoader" if !arguments.open => return Ok(self.loader(&arguments)),
            "utils.data.TensorDataset" if !arguments.open => {
                return Ok(Value::Rows(arguments.positional.into()));
            }
            "_dynamo.mark_dynamic" | "_dynamo.maybe_mark_dynamic" => {
                self.calls.marks_dynamic = true;
                return Ok(Value::None);
            }
            "jit.trace" => {
                let model = arguments.get(0, "func").cloned().unwrap_or(Value::Unknown);
                let inputs = match arguments.get(1, "example_inputs") {
                    Some(Value::Tuple(inputs)) => inputs.to_vec(),
                    Some(input) => vec![input.clone()],
                    None => return Ok(Value::Unknown),
                };
                // Example inputs are Tensors.
                let is_unknown = |input: &Value| self.is_exploring && matches!(input, Value::Unknown);
                let inputs = inputs.into_iter();
                let inputs: Vec<_> =
                    inputs.map(|it| if is_unknown(&it) { Value::unshaped() } else { it }).collect();
                if let Some(input) = inputs.iter().find_map(Value::constant)
                    && !self.is_exploring
                {
                    let message =
                        format!("`torch.jit.trace` accepts only Tensors as example inputs, not `{input}`");
                    self.report(range, Kind::Example, message);
                    return Err(Stop);
                }
                let traced = compiled(&model, Mode::Trace);
                let call = Arguments::of(inputs.clone());
                let (program, result) =
                    self.program(Mode::Trace, &model, inputs, |it| it.call(&traced, call, range))?;
                let is_strict = arguments.get(usize::MAX, "strict").is_none();
                self.check_result(&result, is_strict, range);
                // The recorded graph runs, not the function.
                return Ok(program);
            }
            "export.export" => return self.export(&arguments, range),
            "fx.symbolic_trace" => return self.symbolic_trace(&arguments, range),
            "fx.wrap" => {
                let function = arguments.get(0, "fn_or_name");
                match function {
                    Some(Value::Text(name)) => drop(self.wrapped.insert(name.to_string())),
                    Some(Value::Function(function)) => {
                        self.wrapped.insert(function.def.name.to_string());
                    }
                    _ => {}
                }
                return Ok(function.cloned().unwrap_or(Value::Unknown));
            }
            "save" | "export.save" => {
                let value = arguments.get(0, if function == "save" { "obj" } else { "ep" });
                self.saved(value, arguments.get(1, "f"));
                return Ok(Value::None);
            }
            "load" | "export.load" => return Ok(self.loaded(arguments.get(0, "f"))),
            _ if function.ends_with("while_loop") && !arguments.open => {
                return self.while_loop(&arguments, range);
            }
            "cond" if !arguments.open => return self.cond(&arguments, range),
            "export.Dim" => return Ok(self.declare(&arguments)),
            _ => {}
        }
        if let Some(value) = self.functional(function, &arguments, range)? {
            return Ok(value);
        }
        self.converts |= function.contains("autocast") || function.starts_with("set_default_");
        if arguments.open {
            return Ok(Value::Unknown);
        }
        if let Some(module) = function.strip_prefix("nn.").filter(|it| it.starts_with(char::is_uppercase)) {
            self.converts |= arguments.keywords.iter().any(|(name, _)| *name == "dtype");
            let module = self.module_of_torch(module, &arguments);
            if matches!(&module, Value::Layer(layer) if layer.has_parameters()) {
                self.created(name, range);
            }
            return Ok(module);
        }
        let function = function.strip_prefix("nn.functional.").unwrap_or(function);
        if let Some(shape) = created(function, &arguments) {
            let dtype = self.dtype_of_new(function, &arguments);
            return Ok(Value::tensor(shape).with_dtype(dtype));
        }
        // In traced code, torch may know the values of such a Tensor.
        if function == "tensor" && self.traced.is_empty() {
            let shape = arguments.get(0, "data").and_then(|data| data_shape(data, 0));
            let dtype = self.dtype_of_new(function, &arguments);
            return Ok(shape.map_or(Value::unshaped(), Value::tensor).with_dtype(dtype));
        }
        let first = arguments.get(0, "input").cloned().unwrap_or(Value::Unknown);
        let dtype = match first {
            Value::Tensor(_, dtype) if arguments.len() > 0 => {
                let rest = arguments.without_first("input");
                if function == "linear" {
                    let weight = arguments.get(1, "weight").cloned().unwrap_or(Value::Unknown);
                    self.check_product(&first, &weight, range)?;
                }
                self.check_operands(function, &first, &rest, range)?;
                dtypes::of_method(dtype, function, &rest)
            }
            _ => Dtype::Unknown,
        };
        if let Some(result) = self.pooled(function, &arguments, range)? {
            return Ok(result.with_dtype(dtype));
        }
        let result = combined(function, &arguments).or_else(|| {
            let Some(Value::Tensor(Some(shape), _)) = arguments.get(0, "input") else { return None };
            let is_known = ELEMENTWISE.contains(&function)
                || BROADCAST.contains(&function)
                || REDUCTIONS.contains(&function)
                || matches!(
                    function,
                    "flatten"
                        | "masked_select"
                        | "nonzero"
                        | "unique"
                        | "numel"
                        | "matmul"
                        | "mm"
                        | "bmm"
                        | "transpose"
                        | "permute"
                        | "unsqueeze"
                        | "split"
                        | "chunk"
                        | "unbind"
                        | "sort"
                        | "topk"
                        | "gather"
                        | "max"
                        | "min"
                        | "median"
                )
                || SCALARS.contains(&function);
            let rest = arguments.without_first("input");
            is_known.then(|| self.tensor_method(shape, function, &rest))
        });
        match result {
            Some(Ok(value)) => Ok(value.with_dtype(dtype)),
            Some(Err(reason)) => {
                Err(self.fail(range, format!("`{name}` does not accept its inputs: {reason}")))
            }
            None if is_tensor_function(function) => Ok(Value::unshaped().with_dtype(dtype)),
            None => Ok(Value::Unknown),
        }
    }

    /// Evaluates the function of a pooling module: `F.max_pool2d(x, 2)`.
    fn pooled(
        &mut self,
        function: &str,
        arguments: &Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Option<Value<'a>>> {
        let name = match function {
            "max_pool1d" => "MaxPool1d",
            "max_pool2d" => "MaxPool2d",
            "avg_pool1d" => "AvgPool1d",
            "avg_pool2d" => "AvgPool2d",
            "adaptive_avg_pool1d" => "AdaptiveAvgPool1d",
            "adaptive_avg_pool2d" => "AdaptiveAvgPool2d",
            "adaptive_max_pool2d" => "AdaptiveMaxPool2d",
            _ => return Ok(None),
        };
        let Value::Layer(layer) = self.module_of_torch(name, &arguments.without_first("input")) else {
            return Ok(Some(Value::unshaped()));
        };
        let input = arguments.get(0, "input").cloned().unwrap_or(Value::Unknown);
        self.apply(&layer, input, range).map(Some)
    }

    /// Returns the dtype of a new Tensor: `torch.zeros(3)`, `torch.ones(3, dtype=torch.long)`.
    fn dtype_of_new(&self, function: &str, arguments: &Arguments<'a>) -> Dtype {
        match arguments.get(usize::MAX, "dtype") {
            Some(Value::Dtype(dtype)) => return *dtype,
            Some(_) => return Dtype::Unknown,
            None => {}
        }
        match function {
            "randn" | "rand" | "zeros" | "ones" | "empty" | "linspace" | "eye" if !self.converts => {
                Dtype::Float32
            }
            "randint" => Dtype::Int64,
            "arange"
                if arguments.positional.iter().all(|it| matches!(it, Value::Int(_) | Value::Size(_))) =>
            {
                Dtype::Int64
            }
            "tensor" => arguments.get(0, "data").map_or(Dtype::Unknown, Dtype::of_data),
            "interpolate" => arguments.get(0, "input").map_or(Dtype::Unknown, Value::dtype),
            _ => Dtype::Unknown,
        }
    }

    /// Evaluates a call of a function of another library.
    pub(super) fn of_python(
        &mut self,
        name: &str,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if let ([left, right], Some(operator)) = (arguments.positional.as_slice(), comparison(name)) {
            return self.comparison(operator, left, right, range);
        }
        if let ([left, right], Some(operator)) = (arguments.positional.as_slice(), operator(name)) {
            return self.operation(operator, left, right, range);
        }
        if let (Some(_), Some(Mode::Export), [Value::Tensor(..)]) =
            (name.strip_prefix("math."), self.traced.first(), arguments.positional.as_slice())
        {
            let message = format!("`{name}` needs the value of a Tensor, which has no value yet");
            self.report(range, Kind::Number, message);
        }
        if let (Some(function), [value]) = (name.strip_prefix("math."), arguments.positional.as_slice())
            && let Some(value) = value.as_float()
        {
            return Ok(mathematical(function, value));
        }
        if let (Some(function), [array @ Value::Tensor(..), ..]) =
            (name.strip_prefix("numpy."), arguments.positional.as_slice())
            && ARRAYS.contains(&function)
        {
            // The compiler traces arrays as Tensors.
            return Ok(Value::unshaped().with_dtype(dtypes::of_method(
                array.dtype(),
                "abs",
                &Arguments::default(),
            )));
        }
        match (name, arguments.positional.as_slice()) {
            ("copy.deepcopy", [value]) => return Ok(self.deep_copy(value)),
            ("logging.getLogger", _) => return Ok(Value::Library(LOGGER.into())),
            ("functools.partial", [function, rest @ ..]) if !arguments.open => {
                let (function, positional) = (function.clone(), rest.to_vec());
                return Ok(Value::Partial(Rc::new(Partial {
                    function,
                    positional,
                    keywords: arguments.keywords,
                })));
            }
            ("functools.reduce", [function, elements, start @ ..]) if !arguments.open => {
                let Some(elements) = self.elements(elements)? else { return Ok(Value::Unknown) };
                let mut elements = start.iter().cloned().chain(elements);
                let Some(mut value) = elements.next() else { return Ok(Value::Unknown) };
                for element in elements {
                    value = self.call(function, Arguments::of(vec![value, element]), range)?;
                }
                return Ok(value);
            }
            // These functions do not change their arguments.
            _ if ["copy.", "json.", "logging.", "math.", "numpy.", "time.", "warnings."]
                .iter()
                .any(|module| name.starts_with(module)) => {}
            _ => arguments.forget(),
        }
        Ok(Value::Unknown)
    }

    pub(super) fn module_of_torch(&self, name: &str, arguments: &Arguments<'a>) -> Value<'a> {
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
                "Upsample" => Layer::Upsample { factor: int(usize::MAX, "scale_factor", None)? },
                "Flatten" if arguments.positional.is_empty() && arguments.keywords.is_empty() => {
                    Layer::Flatten
                }
                "Sequential" if arguments.positional.iter().all(|it| !matches!(it, Value::Dict(_))) => {
                    Layer::Sequential(Rc::new(Some(arguments.positional.clone()).into()))
                }
                _ => Layer::Elementwise(ACTIVATIONS.iter().find(|known| **known == name)?),
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
            _ => match layer() {
                Some(layer) => Value::Layer(Rc::new(layer)),
                None if TENSOR_MODULES.contains(&name) => Value::Layer(Rc::new(Layer::Other)),
                None => Value::Unknown,
            },
        }
    }
}

/// Returns the result of a function of the module `math`.
fn mathematical<'a>(function: &str, value: f64) -> Value<'a> {
    let result = match function {
        "cos" => value.cos(),
        "exp" => value.exp(),
        "log" => value.ln(),
        "log2" => value.log2(),
        "sin" => value.sin(),
        "sqrt" => value.sqrt(),
        "tanh" => value.tanh(),
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        "ceil" if value.abs() < 1e9 => return Value::Int(value.ceil() as i64),
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        "floor" if value.abs() < 1e9 => return Value::Int(value.floor() as i64),
        _ => return Value::Unknown,
    };
    if result.is_finite() { Value::Float(result) } else { Value::Unknown }
}

/// Returns the operator of `operator.lt`.
fn comparison(name: &str) -> Option<CmpOp> {
    Some(match name.strip_prefix("operator.")? {
        "eq" => CmpOp::Eq,
        "ge" => CmpOp::GtE,
        "gt" => CmpOp::Gt,
        "le" => CmpOp::LtE,
        "lt" => CmpOp::Lt,
        "ne" => CmpOp::NotEq,
        _ => return None,
    })
}

/// Returns the operator of `operator.add`.
fn operator(name: &str) -> Option<Operator> {
    Some(match name.strip_prefix("operator.")? {
        "add" => Operator::Add,
        "matmul" => Operator::MatMult,
        "mul" => Operator::Mult,
        "sub" => Operator::Sub,
        "truediv" => Operator::Div,
        _ => return None,
    })
}

/// Returns the shape of `torch.tensor([[1, 2], [3, 4]])`.
fn data_shape(data: &Value, depth: usize) -> Option<Shape> {
    match data {
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => Some(Vec::new()),
        Value::List(_) | Value::Tuple(_) if depth < 8 => {
            let elements = data.elements()?;
            let inner = elements.first().map_or(Some(Vec::new()), |first| data_shape(first, depth + 1))?;
            Some([vec![Size::Known(i64::try_from(elements.len()).ok()?)], inner].concat())
        }
        _ => None,
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
        "linspace" => match arguments.get(2, "steps") {
            Some(steps @ Value::Int(_)) => Some(vec![steps.as_size()]),
            _ => None,
        },
        "interpolate" => {
            let Some(Value::Tensor(Some(shape), _)) = arguments.get(0, "input") else { return None };
            let sizes: Shape = match arguments.get(1, "size")? {
                Value::Int(size) => vec![Size::Known(*size); shape.len().checked_sub(2)?],
                sizes => sizes.elements()?.iter().map(Value::as_size).collect(),
            };
            (shape.len() == sizes.len() + 2).then(|| [&shape[..2], &sizes].concat())
        }
        "nn.utils.rnn.pad_sequence" => {
            let rows = arguments.get(0, "sequences")?.elements()?;
            let mut longest = 0;
            for row in &rows {
                let Value::Tensor(Some(shape), _) = row else { return None };
                let [Size::Known(length)] = **shape else { return None };
                longest = length.max(longest);
            }
            let (count, longest) = (Size::Known(i64::try_from(rows.len()).ok()?), Size::Known(longest));
            let is_first = matches!(arguments.get(1, "batch_first"), Some(Value::Bool(true)));
            Some(if is_first { vec![count, longest] } else { vec![longest, count] })
        }
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
        Value::Tensor(Some(shape), _) => Some(shape.to_vec()),
        _ => None,
    };
    match function {
        "cat" | "concat" | "stack" => {
            let shapes: Option<Vec<Shape>> =
                arguments.get(0, "tensors")?.elements()?.iter().map(tensor).collect();
            let (Some(shapes), Some(axis)) = (shapes, arguments.get(1, "dim").map_or(Some(0), Value::as_int))
            else {
                return Some(Ok(Value::unshaped()));
            };
            let result =
                if function == "stack" { sizes::stack(&shapes, axis) } else { sizes::cat(&shapes, axis) };
            Some(result.map(|shape| Value::Tensor(shape.map(Into::into), Dtype::Unknown)))
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
