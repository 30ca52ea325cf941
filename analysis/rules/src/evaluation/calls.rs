//! Calls of functions, methods and modules.

use std::rc::Rc;

use ag_syntax::functions::is_generator;
use ruff_python_ast::helpers::map_callable;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::dtypes::Dtype;
use super::traced::{Compiled, Mode};
use super::values::{Flow, Function, Layer, Size, Value, Variables};
use super::{DEEPEST, Evaluated, Evaluation, Frame, Framework, Stop, sizes};

/// The key under which an object stores that `model.compile()` compiles it.
const COMPILED: &str = "<compiled>";
/// The key under which an object stores the module of torch from which its class derives: an `nn.Sequential`.
pub(super) const LAYERS: &str = "<layers>";

#[derive(Clone, Default)]
pub(super) struct Arguments<'a> {
    pub positional: Vec<Value<'a>>,
    pub keywords: Vec<(&'a str, Value<'a>)>,
    /// Whether there are other arguments that are not known.
    pub open: bool,
}

impl<'a> Arguments<'a> {
    pub(super) fn get(&self, position: usize, name: &str) -> Option<&Value<'a>> {
        let keyword = self.keywords.iter().find(|(keyword, _)| *keyword == name).map(|(_, value)| value);
        keyword.or_else(|| self.positional.get(position))
    }

    pub(super) fn len(&self) -> usize {
        self.positional.len() + self.keywords.len()
    }

    /// Returns the positional arguments, and then the keyword arguments.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value<'a>> {
        self.positional.iter().chain(self.keywords.iter().map(|(_, value)| value))
    }

    pub(super) fn nth_mut(&mut self, index: usize) -> Option<&mut Value<'a>> {
        self.positional.iter_mut().chain(self.keywords.iter_mut().map(|(_, value)| value)).nth(index)
    }

    pub(super) fn of(positional: Vec<Value<'a>>) -> Self {
        Self { positional, ..Self::default() }
    }

    /// Returns the mode of `torch.compile(f, fullgraph=True, dynamic=False)`.
    pub(super) fn compile_mode(&self) -> Mode {
        let is = |name: &str, wanted: bool| {
            self.keywords.iter().any(|(known, value)| {
                *known == name && matches!(value, Value::Bool(value) if *value == wanted)
            })
        };
        Mode::Compile { full_graph: is("fullgraph", true), is_static: is("dynamic", false) }
    }

    /// Returns the arguments after the Tensor on which a function operates, as those of the method.
    pub(super) fn without_first(&self, name: &str) -> Self {
        let is_keyword = self.keywords.iter().any(|(known, _)| *known == name);
        let skipped = usize::from(!is_keyword);
        Self {
            positional: self.positional.iter().skip(skipped).cloned().collect(),
            keywords: self.keywords.iter().filter(|(known, _)| *known != name).cloned().collect(),
            open: false,
        }
    }

    pub(super) fn forget(&self) {
        self.positional.iter().for_each(Value::forget);
        self.keywords.iter().for_each(|(_, value)| value.forget());
    }
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns the result of applying decorators to a function or class.
    pub(super) fn decorated(
        &mut self,
        decorated: Value<'a>,
        decorators: &'a [ast::Decorator],
        frame: &Frame<'a>,
    ) -> Evaluated<Value<'a>> {
        if self.framework == Framework::Arrays {
            return self.decorated_for_arrays(decorated, decorators, frame);
        }
        let mut value = decorated;
        for decorator in decorators.iter().rev() {
            let callee = map_callable(&decorator.expression);
            if callee.as_name_expr().is_some_and(|name| name.id == "staticmethod") {
                continue;
            }
            let name = self.ctx.resolve(callee);
            value = match name.as_deref().filter(|name| self.imported(name).is_none()) {
                Some("torch.compile") => {
                    let arguments = match &decorator.expression {
                        Expr::Call(call) => self.arguments(&call.arguments, frame)?,
                        _ => Arguments::default(),
                    };
                    Value::Compiled(Rc::new(Compiled::new(value, arguments.compile_mode())))
                }
                Some("torch.fx.wrap") => {
                    if let Value::Function(function) = &value {
                        self.wrapped.insert(function.def.name.to_string());
                    }
                    value
                }
                Some("torch.jit.script") => Value::Compiled(Rc::new(Compiled::new(value, Mode::Script))),
                Some(
                    "torch.no_grad"
                    | "torch.inference_mode"
                    | "torch.enable_grad"
                    | "functools.wraps"
                    | "dataclasses.dataclass"
                    | "abc.abstractmethod"
                    | "typing.final"
                    | "typing.override",
                ) => value,
                Some(_) => Value::Unknown,
                None => match self.value(&decorator.expression, frame)? {
                    function @ (Value::Function(_) | Value::Lambda(_) | Value::Partial(_)) => {
                        self.call(&function, Arguments::of(vec![value]), decorator.range())?
                    }
                    _ => Value::Unknown,
                },
            };
        }
        Ok(value)
    }

    pub(super) fn call(
        &mut self,
        callee: &Value<'a>,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if arguments.open && !matches!(callee, Value::Layer(_)) {
            arguments.forget();
            callee.forget();
            return Ok(Value::Unknown);
        }
        match callee {
            Value::Proxy => Ok(Value::Proxy),
            Value::Program(program) => {
                self.program_call(program, &arguments, range);
                Ok(Value::Unknown)
            }
            _ if self.is_wrapped(callee, &arguments) => Ok(Value::Proxy),
            Value::Function(function) => self.run(function, arguments.positional, arguments.keywords),
            Value::Lambda(lambda) => {
                let frame = &lambda.frame;
                let inner =
                    Frame { scope: Variables::inside(&frame.scope), receiver: frame.receiver.clone() };
                if let Some(parameters) = &lambda.node.parameters
                    && !self.bind(
                        parameters,
                        &inner,
                        frame,
                        arguments.positional.into_iter(),
                        &arguments.keywords,
                    )?
                {
                    return Ok(Value::Unknown);
                }
                if self.depth >= DEEPEST {
                    return Err(Stop);
                }
                self.depth += 1;
                let value =
                    self.within(&frame.scope, |evaluation| evaluation.value(&lambda.node.body, &inner));
                self.depth -= 1;
                value
            }
            Value::Partial(partial) => {
                self.check_derivative(partial, range);
                let mut keywords = partial.keywords.clone();
                keywords.retain(|(name, _)| !arguments.keywords.iter().any(|(known, _)| known == name));
                let positional = partial.positional.iter().cloned().chain(arguments.positional).collect();
                let keywords = keywords.into_iter().chain(arguments.keywords).collect();
                self.call(&partial.function, Arguments { positional, keywords, open: false }, range)
            }
            Value::Compiled(compiled) => self.compiled_call(compiled, arguments, range),
            Value::Transformed(transformed) if self.framework == Framework::Torch => {
                self.functional_call(transformed, arguments, range)
            }
            Value::Transformed(transformed) => self.transformed_call(transformed, arguments, range),
            Value::Weights(exist) => {
                if !exist.replace(true) {
                    self.creates_variables(range);
                }
                Ok(self.computed_array())
            }
            Value::Stateful(state, parts) => self.stateful_call(state, parts, &arguments, range),
            Value::Class(class) => self.create(class, arguments),
            Value::Library(name) => self.library(name, arguments, range),
            Value::Layer(_) if self.hooks.is_empty() => self.call_module(callee, arguments, range),
            Value::Layer(_) => self.call_with_hooks(callee, arguments, range),
            Value::Object(object) => {
                let compiled = object.attributes.borrow().as_ref().and_then(|it| it.get(COMPILED).cloned());
                if let Some(Value::Compiled(compiled)) = &compiled {
                    self.traced.push(compiled.mode);
                }
                let value = self.call_with_hooks(callee, arguments, range);
                if compiled.is_some() {
                    self.traced.pop();
                }
                value
            }
            _ => {
                arguments.forget();
                Ok(Value::Unknown)
            }
        }
    }

    /// Calls a module without its hooks, or another object.
    pub(super) fn call_module(
        &mut self,
        callee: &Value<'a>,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        let object = match callee {
            Value::Object(object) => object,
            Value::Layer(layer) => {
                let input = arguments.positional.into_iter().next().unwrap_or(Value::Unknown);
                return self.apply(layer, input, range);
            }
            _ => return Ok(Value::Unknown),
        };
        let is_module = self.hierarchy(object.class).is_some_and(|it| it.is_module);
        let name = if is_module { "forward" } else { "__call__" };
        let method = self.attribute(callee, name)?;
        if let (Value::Unknown, Some(Value::Layer(base))) = (&method, self.base_of(callee))
            && !self.defines(object, name)
        {
            let input = arguments.positional.into_iter().next().unwrap_or(Value::Unknown);
            return self.apply(&base, input, range);
        }
        if !matches!(method, Value::Function(_) | Value::Compiled(_) | Value::Partial(_)) {
            arguments.forget();
            return Ok(Value::Unknown);
        }
        self.call(&method, arguments, range)
    }

    /// Evaluates the body of a function.
    pub(super) fn run(
        &mut self,
        function: &Rc<Function<'a>>,
        positional: Vec<Value<'a>>,
        keywords: Vec<(&'a str, Value<'a>)>,
    ) -> Evaluated<Value<'a>> {
        self.within(&function.scope, |evaluation| evaluation.run_here(function, positional, keywords))
    }

    fn run_here(
        &mut self,
        function: &Rc<Function<'a>>,
        positional: Vec<Value<'a>>,
        keywords: Vec<(&'a str, Value<'a>)>,
    ) -> Evaluated<Value<'a>> {
        let def = function.def;
        self.called.insert((self.ctx.document, def.range));
        if self.depth >= DEEPEST {
            return Err(Stop);
        }
        let Some(frame) = self.bound(function, positional, &keywords)? else { return Err(Stop) };
        if is_generator(def) {
            return self.generated(def, &frame);
        }
        self.depth += 1;
        self.returns.push(Vec::new());
        let jumped = std::mem::take(&mut self.jumped);
        let flow = self.block(&def.body, &frame);
        self.jumped = jumped;
        self.depth -= 1;
        let earlier = self.returns.pop().unwrap_or_default();
        let flow = flow?;
        if self.explores() {
            let last = match flow {
                Flow::Return(value) => Some(value),
                Flow::Next => Some(Value::None),
                _ => None,
            };
            if last.is_none() {
                self.skip(&def.body, &frame);
            }
            let all: Vec<Value> = earlier.into_iter().chain(last).collect();
            return Ok(Value::common(&all).unwrap_or(Value::Unknown));
        }
        Ok(match flow {
            Flow::Return(value) => value,
            Flow::Next => Value::None,
            Flow::Leave | Flow::Jump | Flow::Break | Flow::Continue => {
                self.skip(&def.body, &frame);
                Value::Unknown
            }
        })
    }

    /// Returns the frame of a call, in which the parameters are bound; `None` if the function does not accept the arguments.
    pub(super) fn bound(
        &mut self,
        function: &Rc<Function<'a>>,
        positional: Vec<Value<'a>>,
        keywords: &[(&'a str, Value<'a>)],
    ) -> Evaluated<Option<Frame<'a>>> {
        let receiver = match (&function.receiver, function.class, positional.first()) {
            // `Base.forward(self, x)`
            (None, Some(class), Some(Value::Object(object))) => Some((object.clone(), class)),
            (receiver, ..) => receiver.clone(),
        };
        let frame = Frame { scope: Variables::inside(&function.scope), receiver };
        let defaults = Frame { scope: function.scope.clone(), receiver: None };
        let receiver = function.receiver.iter().map(|(object, _)| Value::Object(object.clone()));
        let parameters = &function.def.parameters;
        let is_accepted = self.bind(parameters, &frame, &defaults, receiver.chain(positional), keywords)?;
        Ok(is_accepted.then_some(frame))
    }

    /// Binds the parameters of a function. Returns whether it accepts the arguments.
    fn bind(
        &mut self,
        parameters: &'a ast::Parameters,
        frame: &Frame<'a>,
        defaults: &Frame<'a>,
        mut values: impl Iterator<Item = Value<'a>>,
        keywords: &[(&'a str, Value<'a>)],
    ) -> Evaluated<bool> {
        for (index, parameter) in parameters.iter_non_variadic_params().enumerate() {
            let name = parameter.parameter.name.as_str();
            let is_positional = index < parameters.posonlyargs.len() + parameters.args.len();
            let passed = if is_positional { values.next() } else { None };
            let keyword =
                || keywords.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            let value = match (passed.or_else(keyword), &parameter.default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.outside(|it| it.value(default, defaults))?,
                (None, None) => Value::Unknown,
            };
            frame.scope.set(name, value);
        }
        let rest: Vec<Value> = values.collect();
        if let Some(parameter) = &parameters.kwarg {
            let is_other = |name: &str| {
                !parameters.iter_non_variadic_params().any(|parameter| parameter.name().as_str() == name)
            };
            let others = keywords.iter().filter(|(name, _)| is_other(name));
            let items = others.map(|(name, value)| (Rc::from(*name), value.clone())).collect();
            frame.scope.set(parameter.name.as_str(), Value::dict(items));
        }
        match &parameters.vararg {
            Some(parameter) => frame.scope.set(parameter.name.as_str(), Value::tuple(rest)),
            None => return Ok(rest.is_empty()),
        }
        Ok(true)
    }

    /// Applies a module of `torch.nn`.
    pub(super) fn apply(
        &mut self,
        layer: &Rc<Layer<'a>>,
        input: Value<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if let Layer::Sequential(layers) = &**layer {
            let Some(layers) = layers.borrow().clone() else { return Ok(Value::Unknown) };
            let mut value = input;
            for layer in &layers {
                let arguments = Arguments { positional: vec![value], ..Arguments::default() };
                value = self.call(layer, arguments, range)?;
            }
            return Ok(value);
        }
        if matches!(input, Value::Proxy) {
            return Ok(input);
        }
        let dtype = self.check_layer(layer, &input, range)?;
        let Value::Tensor(Some(shape), _) = &input else {
            // `nn.Identity()` returns a tuple unchanged.
            return Ok(if matches!(**layer, Layer::Elementwise(_)) {
                input
            } else {
                Value::unshaped().with_dtype(dtype)
            });
        };
        if self.forgotten.contains("weight") {
            return Ok(Value::unshaped());
        }
        let result = sizes::layer(layer, shape).map_err(|reason| {
            self.fail(range, format!("the input of the shape {} does not fit: {reason}", shown(shape)))
        })?;
        Ok(Value::Tensor(result.map(Into::into), dtype))
    }

    /// Evaluates a call of a method that the class of the object does not define: `model.eval()`, `items.append(x)`.
    pub(super) fn known_method(
        &mut self,
        object: &Value<'a>,
        name: &'a str,
        arguments: Arguments<'a>,
        range: TextRange,
    ) -> Evaluated<Value<'a>> {
        if name.starts_with("register_") && name.contains("hook") {
            return self.register_hook(object, name, &arguments);
        }
        if self.stateful_method(object, name, &arguments, range) {
            return Ok(Value::Unknown);
        }
        self.check_program_method(object, name, range);
        if let Value::Program(program) = object {
            return Ok(self.program_method(program, name, &arguments));
        }
        if let Some(value) = self.checkpoint_method(object, name, &arguments, range)? {
            return Ok(value);
        }
        const UNTRACEABLE: [&str; 9] = [
            "bfloat16",
            "cpu",
            "cuda",
            "double",
            "half",
            "load_state_dict",
            "requires_grad_",
            "state_dict",
            "to",
        ];
        if UNTRACEABLE.contains(&name) && self.has_parameters(object) {
            self.untraceable(name, range);
        }
        if let (Value::Super(..), "forward" | "__call__", Some(Value::Layer(base))) =
            (object, name, self.base_of(object))
        {
            let input = arguments.positional.into_iter().next().unwrap_or(Value::Unknown);
            return self.apply(&base, input, range);
        }
        if let Some(base @ (Value::List(_) | Value::Dict(_))) = self.base_of(object)
            && matches!(name, "append" | "extend" | "items" | "values" | "keys" | "__iter__")
        {
            return match name {
                "__iter__" => Ok(self.elements(&base)?.map_or(Value::Unknown, Value::list)),
                _ => self.known_method(&base, name, arguments, range),
            };
        }
        let dtype = match (name, arguments.positional.as_slice()) {
            ("to" | "type", [Value::Dtype(dtype)]) => Some(*dtype),
            ("half" | "bfloat16" | "double" | "float", []) => Dtype::named(name),
            _ => None,
        };
        if let (Value::Layer(layer), Some(dtype)) = (object, dtype)
            && !matches!(**layer, Layer::Sequential(_) | Layer::Cast(..))
        {
            return Ok(Value::Layer(Rc::new(Layer::Cast(layer.clone(), dtype))));
        }
        // The methods of an optimizer of optax return new states.
        if matches!(object, Value::Foreign) && self.framework == Framework::Arrays {
            return Ok(Value::Unknown);
        }
        if matches!(object, Value::Foreign) {
            // `optimizer.step(closure)`
            arguments.forget();
            let functions = arguments.values().filter_map(|value| match value {
                Value::Function(function) => Some(function.def.name.as_str()),
                _ => None,
            });
            self.forget_changes_of(functions.collect());
            return Ok(Value::Unknown);
        }
        self.converts |= match name {
            "half" | "bfloat16" | "double" | "float" | "type" => true,
            "to" => !matches!(arguments.positional.as_slice(), [Value::Text(_)]) || arguments.len() > 1,
            _ => false,
        };
        match (object, name) {
            (Value::Handle(hook), "remove") => {
                self.remove_hook(*hook);
                Ok(Value::None)
            }
            (Value::Object(_) | Value::Layer(_) | Value::Compiled(_), "eval" | "train") => {
                let mode = match (name, arguments.get(0, "mode")) {
                    ("eval", _) => Some(false),
                    (_, None) => Some(true),
                    (_, Some(mode)) => mode.truth(),
                };
                self.set_training(object, mode);
                Ok(object.clone())
            }
            (
                Value::Object(_) | Value::Layer(_) | Value::Compiled(_),
                "modules" | "children" | "named_modules" | "named_children",
            ) => Ok(self.submodules(object, name)),
            (
                Value::Object(_) | Value::Layer(_) | Value::Compiled(_),
                "to" | "cuda" | "cpu" | "float" | "double" | "half" | "bfloat16" | "requires_grad_",
            ) => Ok(object.clone()),
            (Value::Object(instance), "compile") => {
                if let Some(attributes) = instance.attributes.borrow_mut().as_mut() {
                    let compiled = Compiled::new(Value::None, arguments.compile_mode());
                    attributes.insert(COMPILED.to_owned(), Value::Compiled(Rc::new(compiled)));
                }
                Ok(Value::None)
            }
            (
                Value::Object(instance),
                "register_buffer" | "register_parameter" | "add_module" | "register_module",
            ) => {
                if let (Some(Value::Text(name)), Some(value), Some(attributes)) = (
                    arguments.get(0, "name"),
                    arguments.get(1, "tensor"),
                    instance.attributes.borrow_mut().as_mut(),
                ) {
                    attributes.insert(name.to_string(), value.clone());
                    self.buffers.insert(name.to_string());
                } else {
                    object.forget();
                }
                Ok(Value::None)
            }
            (Value::Super(instance, _), "__init__") => {
                self.initialize_base(instance, &arguments);
                Ok(Value::None)
            }
            (
                Value::Object(_) | Value::Layer(_) | Value::Compiled(_) | Value::Super(..),
                "parameters" | "named_parameters" | "modules" | "children" | "named_modules"
                | "named_children" | "state_dict" | "buffers" | "zero_grad" | "load_state_dict" | "__init__",
            ) => Ok(Value::Unknown),
            (Value::List(elements), "append") => {
                if let (Some(elements), Some(value)) = (elements.borrow_mut().as_mut(), arguments.get(0, ""))
                {
                    elements.push(value.clone());
                }
                Ok(Value::None)
            }
            (Value::List(elements), "extend") => {
                let more = arguments.get(0, "").cloned().unwrap_or(Value::Unknown);
                let more = self.elements(&more)?;
                let mut elements = elements.borrow_mut();
                *elements = elements.take().zip(more).map(|(known, more)| [known, more].concat());
                Ok(Value::None)
            }
            (Value::Dict(items), "setdefault") if items.borrow().is_some() => {
                let (Some(key), Some(value)) =
                    (arguments.get(0, "key").and_then(Value::key), arguments.get(1, "default"))
                else {
                    object.forget();
                    return Ok(Value::Unknown);
                };
                let mut items = items.borrow_mut();
                let Some(items) = items.as_mut() else { return Ok(Value::Unknown) };
                let found = items.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone());
                Ok(found.unwrap_or_else(|| {
                    items.push((key.clone(), value.clone()));
                    value.clone()
                }))
            }
            (Value::Dict(items), "get") if items.borrow().is_some() => {
                let Some(key) = arguments.get(0, "key").and_then(Value::key) else {
                    return Ok(Value::Unknown);
                };
                self.reads_key(object, &Value::Text(key.clone()));
                let items = items.borrow();
                let found = items.as_ref().and_then(|items| items.iter().find(|(known, _)| *known == key));
                let default = || arguments.get(1, "default").cloned().unwrap_or(Value::None);
                Ok(found.map_or_else(default, |(_, value)| value.clone()))
            }
            (Value::Dict(items), "items" | "values" | "keys") => {
                let entry = |(key, value): &(Rc<str>, Value<'a>)| match name {
                    "items" => Value::tuple(vec![Value::Text(key.clone()), value.clone()]),
                    "keys" => Value::Text(key.clone()),
                    _ => value.clone(),
                };
                let entries = items.borrow().as_ref().map(|items| items.iter().map(entry).collect());
                Ok(entries.map_or(Value::Unknown, Value::list))
            }
            _ => match self.container_method(object, name, &arguments)? {
                Some(value) => Ok(value),
                None => {
                    object.forget();
                    arguments.forget();
                    self.forget_changes_of(vec![name]);
                    Ok(Value::Unknown)
                }
            },
        }
    }
}

/// Shows a shape: `(2, ?, 8)`.
pub(super) fn shown(shape: &[Size]) -> String {
    let sizes = shape.iter().map(|size| match size {
        Size::Known(size) => size.to_string(),
        Size::Dynamic(_) => "dynamic".to_owned(),
        Size::Derived | Size::Quotient(..) | Size::Data | Size::Unknown => "?".to_owned(),
    });
    format!("({})", sizes.collect::<Vec<_>>().join(", "))
}
