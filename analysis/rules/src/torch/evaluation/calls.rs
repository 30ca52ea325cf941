//! Calls of functions, methods, classes and modules; attributes of objects.

use std::cell::RefCell;
use std::rc::Rc;

use ag_syntax::functions::is_generator;
use ruff_python_ast::helpers::{map_callable, map_subscript};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::TextRange;
use rustc_hash::FxHashMap;

use super::statements::Flow;
use super::values::{Function, Layer, Object, Size, Value, Variables};
use super::{DEEPEST, Evaluated, Evaluation, Frame, Mismatch, Stop, sizes};

/// The key under which an object stores that `model.compile()` compiles it.
const COMPILED: &str = "<compiled>";

#[derive(Default)]
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

    pub(super) fn forget(&self) {
        self.positional.iter().for_each(Value::forget);
        self.keywords.iter().for_each(|(_, value)| value.forget());
    }
}

/// A class and its bases, in the order in which attributes are looked up.
struct Hierarchy<'a> {
    classes: Vec<&'a ast::StmtClassDef>,
    is_module: bool,
    /// Whether the fields of the class are the parameters of its constructor.
    is_record: bool,
}

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn fail(&mut self, range: TextRange, message: String) -> Stop {
        if self.traced > 0 {
            self.found.push(Mismatch { range, message });
        }
        Stop
    }

    /// Returns the result of a function that is applied to its decorators.
    pub(super) fn decorated(&self, function: Value<'a>, decorators: &'a [ast::Decorator]) -> Value<'a> {
        decorators.iter().rev().fold(function, |value, decorator| {
            let callee = map_callable(&decorator.expression);
            let is_static = callee.as_name_expr().is_some_and(|name| name.id == "staticmethod");
            match self.ctx.resolve(callee).as_deref() {
                Some("torch.compile") => Value::Compiled(Rc::new(value)),
                Some("torch.no_grad" | "torch.inference_mode" | "torch.enable_grad") => value,
                _ if is_static => value,
                _ => Value::Unknown,
            }
        })
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
            Value::Function(function) => self.run(function, arguments.positional, arguments.keywords),
            Value::Compiled(inner) => {
                self.traced += 1;
                let value = self.call(inner, arguments, range);
                self.traced -= 1;
                value
            }
            Value::Class(class) => self.create(class, arguments),
            Value::Layer(layer) => {
                let input = arguments.positional.first().cloned().unwrap_or(Value::Unknown);
                self.apply(layer, input, range)
            }
            Value::Object(object) => {
                let is_module = self.hierarchy(object.class).is_some_and(|it| it.is_module);
                let method = self.attribute(callee, if is_module { "forward" } else { "__call__" })?;
                let compiled =
                    object.attributes.borrow().as_ref().is_some_and(|it| it.contains_key(COMPILED));
                if !matches!(method, Value::Function(_) | Value::Compiled(_)) {
                    arguments.forget();
                    return Ok(Value::Unknown);
                }
                self.traced += usize::from(compiled);
                let value = self.call(&method, arguments, range);
                self.traced -= usize::from(compiled);
                value
            }
            _ => {
                arguments.forget();
                Ok(Value::Unknown)
            }
        }
    }

    /// Evaluates the body of a function.
    pub(super) fn run(
        &mut self,
        function: &Rc<Function<'a>>,
        positional: Vec<Value<'a>>,
        keywords: Vec<(&'a str, Value<'a>)>,
    ) -> Evaluated<Value<'a>> {
        let def = function.def;
        self.called.insert(def.range);
        if self.depth >= DEEPEST {
            return Err(Stop);
        }
        let frame = Frame { scope: Variables::inside(&function.scope), receiver: function.receiver.clone() };
        let defaults = Frame { scope: function.scope.clone(), receiver: None };
        let receiver = function.receiver.iter().map(|(object, _)| Value::Object(object.clone()));
        let mut values = receiver.chain(positional);
        let parameters = &def.parameters;
        for (index, parameter) in parameters.iter_non_variadic_params().enumerate() {
            let name = parameter.parameter.name.as_str();
            let is_positional = index < parameters.posonlyargs.len() + parameters.args.len();
            let passed = if is_positional { values.next() } else { None };
            let keyword =
                || keywords.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            let value = match (passed.or_else(keyword), &parameter.default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.value(default, &defaults)?,
                (None, None) => Value::Unknown,
            };
            frame.scope.set(name, value);
        }
        let rest: Vec<Value> = values.collect();
        match &parameters.vararg {
            Some(parameter) => frame.scope.set(parameter.name.as_str(), Value::tuple(rest)),
            None if !rest.is_empty() => return Err(Stop),
            None => {}
        }
        if let Some(parameter) = &parameters.kwarg {
            frame.scope.set(parameter.name.as_str(), Value::Unknown);
        }
        if is_generator(def) {
            self.skip(&def.body, &frame);
            return Ok(Value::Unknown);
        }
        self.depth += 1;
        let flow = self.block(&def.body, &frame);
        self.depth -= 1;
        Ok(match flow? {
            Flow::Return(value) => value,
            Flow::Next => Value::None,
            Flow::Leave | Flow::Break | Flow::Continue => {
                self.skip(&def.body, &frame);
                Value::Unknown
            }
        })
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
        let Value::Tensor(Some(shape)) = &input else { return Ok(Value::Tensor(None)) };
        if self.forgotten.contains("weight") {
            return Ok(Value::Tensor(None));
        }
        let result = sizes::layer(layer, shape).map_err(|reason| {
            self.fail(range, format!("the input of the shape {} does not fit: {reason}", shown(shape)))
        })?;
        Ok(Value::Tensor(result.map(Into::into)))
    }

    /// Creates an object.
    fn create(&mut self, class: &'a ast::StmtClassDef, arguments: Arguments<'a>) -> Evaluated<Value<'a>> {
        let Some(hierarchy) = self.hierarchy(class) else {
            arguments.forget();
            return Ok(Value::Unknown);
        };
        let object = Rc::new(Object { class, attributes: RefCell::new(Some(FxHashMap::default())) });
        let value = Value::Object(object.clone());
        if hierarchy.is_record {
            let [class] = hierarchy.classes.as_slice() else { return Ok(Value::Unknown) };
            let frame = Frame { scope: self.module.clone(), receiver: None };
            let fields = class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
            for (index, field) in fields.enumerate() {
                let Some(name) = field.target.as_name_expr() else { continue };
                let value = match (arguments.get(index, &name.id), &field.value) {
                    (Some(value), _) => value.clone(),
                    (None, Some(default)) => self.value(default, &frame)?,
                    (None, None) => Value::Unknown,
                };
                if let Some(attributes) = object.attributes.borrow_mut().as_mut() {
                    attributes.insert(name.id.to_string(), value);
                }
            }
            let prepare = self.attribute(&value, "__post_init__")?;
            if let Value::Function(function) = prepare {
                self.run(&function, Vec::new(), Vec::new())?;
            }
            return Ok(value);
        }
        match self.attribute(&value, "__init__")? {
            Value::Function(function) => {
                drop(self.run(&function, arguments.positional, arguments.keywords)?)
            }
            _ if hierarchy.classes.iter().any(|class| method(class, "__init__").is_some()) => {
                arguments.forget();
                value.forget();
            }
            _ => {}
        }
        Ok(value)
    }

    /// Returns the bases of a class, if they are all known.
    fn hierarchy(&self, class: &'a ast::StmtClassDef) -> Option<Hierarchy<'a>> {
        const SPECIAL: [&str; 5] =
            ["__getattr__", "__getattribute__", "__setattr__", "__new__", "__init_subclass__"];
        let mut found = Hierarchy { classes: vec![class], is_module: false, is_record: false };
        let mut next = 0;
        while let Some(class) = found.classes.get(next).copied() {
            next += 1;
            if found.classes.len() > 8 || SPECIAL.iter().any(|name| method(class, name).is_some()) {
                return None;
            }
            for decorator in &class.decorator_list {
                if self.ctx.resolve(map_callable(&decorator.expression))? != "dataclasses.dataclass" {
                    return None;
                }
                found.is_record = true;
            }
            let Some(arguments) = &class.arguments else { continue };
            if !arguments.keywords.is_empty() {
                return None;
            }
            for base in &arguments.args {
                let name = map_subscript(base);
                match (self.ctx.resolve(name).as_deref(), name) {
                    (Some("torch.nn.Module"), _) => found.is_module = true,
                    (Some("typing.NamedTuple"), _) => found.is_record = true,
                    (Some("abc.ABC" | "typing.Generic"), _) => {}
                    (None, Expr::Name(name)) if name.id == "object" => {}
                    (None, Expr::Name(name)) => match self.module.get(&name.id) {
                        Value::Class(base) => {
                            found.classes.retain(|known| known.range != base.range);
                            found.classes.push(base);
                        }
                        _ => return None,
                    },
                    _ => return None,
                }
            }
        }
        Some(found)
    }

    pub(super) fn attribute(&mut self, value: &Value<'a>, name: &str) -> Evaluated<Value<'a>> {
        match value {
            Value::Object(object) => {
                let known = match &*object.attributes.borrow() {
                    Some(attributes) if !self.forgotten.contains(name) => attributes.get(name).cloned(),
                    _ => return Ok(Value::Unknown),
                };
                match known {
                    Some(value) => Ok(value),
                    None => self.inherited(object, None, name),
                }
            }
            Value::Super(object, class) => self.inherited(object, Some(class), name),
            Value::Compiled(inner) => match &**inner {
                Value::Object(_) => self.attribute(inner, name),
                _ => Ok(Value::Unknown),
            },
            Value::Tensor(Some(shape)) => Ok(match name {
                "shape" => Value::tuple(shape.iter().map(|size| Value::size(*size)).collect()),
                "ndim" => i64::try_from(shape.len()).map_or(Value::Unknown, Value::Int),
                "T" | "mT" if shape.len() == 2 => Value::tensor(vec![shape[1], shape[0]]),
                "data" => value.clone(),
                _ => Value::Unknown,
            }),
            Value::Layer(layer) if !self.forgotten.contains(name) => Ok(match (&**layer, name) {
                (Layer::Linear { inputs, outputs, .. }, "weight") => {
                    Value::tensor(vec![Size::Known(*outputs), Size::Known(*inputs)])
                }
                (Layer::Linear { outputs, bias: true, .. }, "bias") => {
                    Value::tensor(vec![Size::Known(*outputs)])
                }
                (Layer::Linear { inputs, .. }, "in_features") => Value::Int(*inputs),
                (Layer::Linear { outputs, .. }, "out_features") => Value::Int(*outputs),
                (Layer::Embedding { width }, "embedding_dim") => Value::Int(*width),
                (Layer::Conv(convolution), "out_channels") => Value::Int(convolution.outputs),
                (Layer::Conv(convolution), "in_channels") => Value::Int(convolution.inputs),
                _ => Value::Unknown,
            }),
            _ => Ok(Value::Unknown),
        }
    }

    /// Returns what the class of an object, or a base after `after`, defines.
    fn inherited(
        &mut self,
        object: &Rc<Object<'a>>,
        after: Option<&'a ast::StmtClassDef>,
        name: &str,
    ) -> Evaluated<Value<'a>> {
        let Some(hierarchy) = self.hierarchy(object.class) else { return Ok(Value::Unknown) };
        let skipped = after
            .and_then(|after| hierarchy.classes.iter().position(|class| class.range == after.range))
            .map_or(0, |index| index + 1);
        for class in hierarchy.classes.into_iter().skip(skipped) {
            if let Some(def) = method(class, name) {
                return self.method(object, class, def);
            }
            let value = class.body.iter().find_map(|statement| match statement {
                Stmt::Assign(node) => {
                    let is_it = |target: &Expr| target.as_name_expr().is_some_and(|it| it.id == name);
                    node.targets.iter().any(is_it).then_some(&*node.value)
                }
                Stmt::AnnAssign(node) => {
                    let is_it = node.target.as_name_expr().is_some_and(|it| it.id == name);
                    node.value.as_deref().filter(|_| is_it)
                }
                _ => None,
            });
            if let Some(value) = value {
                let frame = Frame { scope: self.module.clone(), receiver: None };
                let value = self.value(value, &frame)?;
                // An object is shared by all instances.
                let is_plain = matches!(
                    value,
                    Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_)
                );
                return Ok(if is_plain { value } else { Value::Unknown });
            }
        }
        Ok(Value::Unknown)
    }

    fn method(
        &mut self,
        object: &Rc<Object<'a>>,
        class: &'a ast::StmtClassDef,
        def: &'a ast::StmtFunctionDef,
    ) -> Evaluated<Value<'a>> {
        if def.is_async {
            return Ok(Value::Unknown);
        }
        let is = |wanted: &str| {
            let [decorator] = def.decorator_list.as_slice() else { return false };
            decorator.expression.as_name_expr().is_some_and(|name| name.id == wanted)
        };
        let receiver = Some((object.clone(), class)).filter(|_| !is("staticmethod"));
        let function = Rc::new(Function { def, scope: self.module.clone(), receiver });
        if is("property") || self.is_cached_property(def) {
            return self.run(&function, Vec::new(), Vec::new());
        }
        Ok(self.decorated(Value::Function(function), &def.decorator_list))
    }

    fn is_cached_property(&self, def: &ast::StmtFunctionDef) -> bool {
        let [decorator] = def.decorator_list.as_slice() else { return false };
        self.ctx.resolve(&decorator.expression).is_some_and(|name| name == "functools.cached_property")
    }

    /// Evaluates a call of a method that the class of the object does not define: `model.eval()`, `items.append(x)`.
    pub(super) fn known_method(
        &mut self,
        object: &Value<'a>,
        name: &'a str,
        arguments: Arguments<'a>,
    ) -> Evaluated<Value<'a>> {
        if name.starts_with("register_") && name.contains("hook") {
            // A hook may replace inputs and results.
            return Err(Stop);
        }
        match (object, name) {
            (
                Value::Object(_) | Value::Layer(_) | Value::Compiled(_),
                "eval" | "train" | "to" | "cuda" | "cpu" | "float" | "double" | "half" | "bfloat16"
                | "requires_grad_",
            ) => Ok(object.clone()),
            (Value::Object(instance), "compile") => {
                if let Some(attributes) = instance.attributes.borrow_mut().as_mut() {
                    attributes.insert(COMPILED.to_owned(), Value::None);
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
                } else {
                    object.forget();
                }
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
            (Value::Dict(items), "items" | "values" | "keys") => {
                let entry = |(key, value): &(Rc<str>, Value<'a>)| match name {
                    "items" => Value::tuple(vec![Value::Text(key.clone()), value.clone()]),
                    "keys" => Value::Text(key.clone()),
                    _ => value.clone(),
                };
                let entries = items.borrow().as_ref().map(|items| items.iter().map(entry).collect());
                Ok(entries.map_or(Value::Unknown, Value::list))
            }
            _ => {
                object.forget();
                arguments.forget();
                self.forget_changes_of(vec![name]);
                Ok(Value::Unknown)
            }
        }
    }
}

impl<'a> Evaluation<'_, 'a> {
    /// Returns whether the class of an object defines a method or property with this name.
    pub(super) fn defines(&self, object: &Object<'a>, name: &str) -> bool {
        let hierarchy = self.hierarchy(object.class);
        hierarchy.is_none_or(|it| it.classes.iter().any(|class| method(class, name).is_some()))
    }
}

fn method<'a>(class: &'a ast::StmtClassDef, name: &str) -> Option<&'a ast::StmtFunctionDef> {
    class.body.iter().rev().filter_map(Stmt::as_function_def_stmt).find(|def| def.name.as_str() == name)
}

/// Shows a shape: `(2, ?, 8)`.
pub(super) fn shown(shape: &[Size]) -> String {
    let sizes = shape.iter().map(|size| match size {
        Size::Known(size) => size.to_string(),
        Size::Dynamic(_) => "dynamic".to_owned(),
        Size::Derived | Size::Unknown => "?".to_owned(),
    });
    format!("({})", sizes.collect::<Vec<_>>().join(", "))
}
