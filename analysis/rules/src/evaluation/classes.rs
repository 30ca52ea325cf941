//! Classes of the file, their objects, and attributes.

use std::cell::RefCell;
use std::rc::Rc;

use ruff_python_ast::helpers::{map_callable, map_subscript};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::calls::{Arguments, LAYERS};
use super::dtypes::Dtype;
use super::submodules::TRAINING;
use super::traced::Mode;
use super::values::{Attributes, Function, Layer, Object, Partial, Size, Value};
use super::{Evaluated, Evaluation, Frame, Framework};

const GETATTR: &str = "__getattr__";

/// A class and its bases, in the order in which attributes are looked up.
pub(super) struct Hierarchy<'a> {
    pub classes: Vec<&'a ast::StmtClassDef>,
    pub is_module: bool,
    /// Whether the fields of the class are the parameters of its constructor.
    is_record: bool,
    pub is_named_tuple: bool,
    /// Whether the class is a `torch.autograd.Function`.
    pub is_differentiable: bool,
    /// The module of torch from which the class derives: `Linear`, `ModuleList`.
    pub base: Option<String>,
    /// The base that is a class of a library, which may have other attributes.
    pub library: Option<String>,
}

impl<'a> Evaluation<'_, 'a> {
    /// Creates an object.
    pub(super) fn create(
        &mut self,
        class: &'a ast::StmtClassDef,
        arguments: Arguments<'a>,
    ) -> Evaluated<Value<'a>> {
        let Some(hierarchy) = self.hierarchy(class) else {
            arguments.forget();
            return Ok(Value::Unknown);
        };
        if let Some(variable) = hierarchy.library.as_deref().and_then(|base| self.stateful_class(base)) {
            return Ok(variable);
        }
        let object = Rc::new(Object {
            class,
            depth: self.levels.len(),
            attributes: RefCell::new(Some(Attributes::default())),
        });
        let value = Value::Object(object.clone());
        if hierarchy.is_record {
            let [class] = hierarchy.classes.as_slice() else { return Ok(Value::Unknown) };
            let frame = Frame { scope: self.module_of(class).scope, receiver: None };
            let fields = class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
            for (index, field) in fields.enumerate() {
                let Some(name) = field.target.as_name_expr() else { continue };
                let value = match (arguments.get(index, &name.id), &field.value) {
                    (Some(value), _) => value.clone(),
                    (None, Some(default)) => {
                        self.within(&frame.scope, |it| it.outside(|it| it.field(default, &frame)))?
                    }
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
        if hierarchy.library.is_some()
            && !hierarchy.classes.iter().any(|class| method(class, "__init__").is_some())
        {
            // The fields of a module are arguments of its constructor, those of its bases first. With bases, only keywords
            // are followed.
            let is_only = hierarchy.classes.len() == 1;
            let fields = hierarchy.classes.iter().flat_map(|class| &class.body);
            let names = fields.filter_map(|field| field.as_ann_assign_stmt()?.target.as_name_expr());
            if let Some(attributes) = object.attributes.borrow_mut().as_mut() {
                for (index, name) in names.enumerate() {
                    let passed = arguments.get(if is_only { index } else { usize::MAX }, &name.id).cloned();
                    attributes.insert(name.id.to_string(), passed.unwrap_or(Value::Unknown));
                }
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
            _ => self.initialize_base(&object, &arguments),
        }
        Ok(value)
    }

    /// Evaluates the constructor of the module of torch from which the class of an object derives.
    pub(super) fn initialize_base(&self, object: &Rc<Object<'a>>, arguments: &Arguments<'a>) {
        let base = self.hierarchy(object.class).and_then(|it| it.base).filter(|_| !arguments.open);
        let Some(base) = base else { return };
        let module = self.module_of_torch(&base, arguments);
        if let Some(attributes) = object.attributes.borrow_mut().as_mut() {
            attributes.insert(LAYERS.to_owned(), module);
        }
    }

    /// Returns the module of torch that an object of a derived class is.
    pub(super) fn base_of(&self, value: &Value<'a>) -> Option<Value<'a>> {
        let (Value::Object(object) | Value::Super(object, _)) = value else { return None };
        let attributes = object.attributes.borrow();
        attributes.as_ref()?.get(LAYERS).filter(|base| !matches!(base, Value::Unknown)).cloned()
    }

    /// Returns the default value of a field of a dataclass: `field(default_factory=list)`.
    fn field(&mut self, default: &'a Expr, frame: &Frame<'a>) -> Evaluated<Value<'a>> {
        let call = default
            .as_call_expr()
            .filter(|call| self.ctx.resolve(&call.func).is_some_and(|name| name == "dataclasses.field"));
        let Some(call) = call else { return self.value(default, frame) };
        if let Some(default) = call.arguments.find_keyword("default") {
            return self.value(&default.value, frame);
        }
        let Some(factory) = call.arguments.find_keyword("default_factory") else { return Ok(Value::Unknown) };
        match &factory.value {
            Expr::Name(name) if name.id == "list" => Ok(Value::list(Vec::new())),
            Expr::Name(name) if name.id == "dict" => Ok(Value::dict(Vec::new())),
            factory => {
                let callee = self.value(factory, frame)?;
                self.call(&callee, Arguments::default(), factory.range())
            }
        }
    }

    /// Returns the fields of a named tuple.
    pub(super) fn fields(&self, object: &Object<'a>) -> Option<Vec<Value<'a>>> {
        if !self.hierarchy(object.class)?.is_named_tuple {
            return None;
        }
        let attributes = object.attributes.borrow();
        let attributes = attributes.as_ref()?;
        let fields = object.class.body.iter().filter_map(Stmt::as_ann_assign_stmt);
        fields.map(|field| attributes.get(field.target.as_name_expr()?.id.as_str()).cloned()).collect()
    }

    /// Returns the bases of a class, if they are all known.
    pub(super) fn hierarchy(&self, class: &'a ast::StmtClassDef) -> Option<Hierarchy<'a>> {
        const SPECIAL: [&str; 5] =
            ["__getattr__", "__getattribute__", "__setattr__", "__new__", "__init_subclass__"];
        let mut found = Hierarchy {
            classes: vec![class],
            is_module: false,
            is_record: false,
            is_named_tuple: false,
            is_differentiable: false,
            base: None,
            library: None,
        };
        let mut next = 0;
        while let Some(class) = found.classes.get(next).copied() {
            next += 1;
            let is_special =
                |name: &&str| method(class, name).is_some() && !(self.explores() && **name == *GETATTR);
            if found.classes.len() > 8 || SPECIAL.iter().any(is_special) {
                return None;
            }
            let module = self.module_of(class);
            for decorator in &class.decorator_list {
                match module.ctx.resolve(map_callable(&decorator.expression)).as_deref() {
                    Some("dataclasses.dataclass") => found.is_record = true,
                    Some("flax.struct.dataclass" | "chex.dataclass") if self.explores() => {
                        found.is_record = true;
                    }
                    Some("jax.tree_util.register_pytree_node_class" | "jax.tree_util.register_dataclass")
                        if self.explores() => {}
                    _ if self.kept.contains(&std::ptr::from_ref(class)) => {}
                    _ => return None,
                }
            }
            let Some(arguments) = &class.arguments else { continue };
            if !arguments.keywords.is_empty() && !self.explores() {
                return None;
            }
            for base in &arguments.args {
                let name = map_subscript(base);
                let resolved = module.ctx.resolve(name);
                if let Some(Value::Class(base)) =
                    resolved.as_ref().and_then(|name| self.imported_into(module.ctx, name))
                {
                    found.classes.retain(|known| !std::ptr::eq(*known, base));
                    found.classes.push(base);
                    continue;
                }
                match (resolved.as_deref(), name) {
                    (Some("torch.nn.Module"), _) => found.is_module = true,
                    (Some("typing.NamedTuple"), _) => {
                        found.is_record = true;
                        found.is_named_tuple = true;
                    }
                    (Some(name), _)
                        if name
                            .strip_prefix("torch.nn.")
                            .is_some_and(|it| it.starts_with(char::is_uppercase)) =>
                    {
                        found.is_module = true;
                        found.base = name.strip_prefix("torch.nn.").map(str::to_owned);
                    }
                    (Some("torch.autograd.Function"), _) => found.is_differentiable = true,
                    (Some("abc.ABC" | "typing.Generic"), _) => {}
                    (Some("typing.Protocol" | "enum.Enum" | "enum.IntEnum" | "enum.StrEnum"), _) => {
                        return None;
                    }
                    (Some(name), _)
                        if self.explores()
                            && super::packages::PACKAGES.iter().any(|it| name.starts_with(it)) =>
                    {
                        found.library = Some(name.to_owned());
                    }
                    (None, Expr::Name(name)) if name.id == "object" => {}
                    // `from typing import *`
                    (None, Expr::Name(name)) if name.id == "NamedTuple" && self.explores() => {
                        found.is_record = true;
                        found.is_named_tuple = true;
                    }
                    (None, Expr::Name(name)) => match module.scope.get(&name.id) {
                        Value::Class(base) => {
                            found.classes.retain(|known| !std::ptr::eq(*known, base));
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
            Value::Object(_) if name == "__dict__" && self.explores() => Ok(self.as_dictionary(value)),
            Value::Object(object) => {
                let known = match &*object.attributes.borrow() {
                    _ if self.forgotten.contains(name) => return Ok(Value::Unknown),
                    Some(attributes) => attributes.get(name).cloned(),
                    // Code that is not evaluated may change the fields of an object. Its methods are those of the class.
                    None if self.framework == Framework::Arrays && self.defines(object, name) => None,
                    None => return Ok(Value::Unknown),
                };
                match known {
                    Some(value) => {
                        self.read(Some(object), name, &value);
                        Ok(value)
                    }
                    None if name == TRAINING
                        && self.hierarchy(object.class).is_some_and(|it| it.is_module) =>
                    {
                        Ok(Value::Bool(true))
                    }
                    None => match (self.inherited(object, None, name)?, self.base_of(value)) {
                        (Value::Unknown, Some(base)) if !self.defines(object, name) => {
                            self.attribute(&base, name)
                        }
                        (Value::Unknown, None) if self.explores() => self.computed(object, name),
                        (inherited, _) => Ok(inherited),
                    },
                }
            }
            Value::Namespace(items) => {
                let items = items.borrow();
                let found = items.iter().flatten().find(|(known, _)| **known == *name);
                Ok(found.map_or(Value::Unknown, |(_, value)| value.clone()))
            }
            Value::Super(object, class) => self.inherited(object, Some(class), name),
            Value::Tensor(..) if self.framework == Framework::Arrays => Ok(match name {
                "T" | "mT" | "real" | "imag" => Value::unshaped(),
                "at" => Value::At,
                _ => Value::Unknown,
            }),
            Value::Proxy => Ok(Value::Proxy),
            Value::Compiled(compiled)
                if name == "_orig_mod" && matches!(compiled.mode, Mode::Compile { .. }) =>
            {
                Ok(compiled.function.clone())
            }
            Value::Compiled(compiled) => match &compiled.function {
                function @ Value::Object(_) => self.attribute(function, name),
                _ => Ok(Value::Unknown),
            },
            // `x.max(1).values`
            Value::Tuple(elements) if elements.len() == 2 => Ok(match name {
                "values" => elements[0].clone(),
                "indices" => elements[1].clone(),
                _ => Value::Unknown,
            }),
            Value::Class(class) => self.of_class(class, name),
            Value::Tensor(Some(shape), _) => Ok(match name {
                "shape" => Value::tuple(shape.iter().map(|size| Value::size(*size)).collect()),
                "ndim" => i64::try_from(shape.len()).map_or(Value::Unknown, Value::Int),
                "T" | "mT" if shape.len() == 2 => {
                    Value::tensor(vec![shape[1], shape[0]]).with_dtype(value.dtype())
                }
                "dtype" if value.dtype() != Dtype::Unknown => Value::Dtype(value.dtype()),
                "data" => value.clone(),
                _ => Value::Unknown,
            }),
            Value::Layer(layer) if !self.forgotten.contains(name) => Ok(match (&**layer, name) {
                (Layer::Linear { inputs, outputs, .. }, "weight") => {
                    let weight = Value::tensor(vec![Size::Known(*outputs), Size::Known(*inputs)]);
                    weight.with_dtype(if self.converts { Dtype::Unknown } else { Dtype::Float32 })
                }
                (Layer::Linear { outputs, bias: true, .. }, "bias") => {
                    Value::tensor(vec![Size::Known(*outputs)])
                }
                (Layer::Conv(_) | Layer::Embedding { .. }, "weight") => Value::unshaped(),
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

    /// Returns the attribute that the method `__getattr__` of an object computes.
    ///
    /// ```python
    /// def __getattr__(self, name):
    ///     return self._tensors[name]
    /// ```
    fn computed(&mut self, object: &Rc<Object<'a>>, name: &str) -> Evaluated<Value<'a>> {
        // The method itself reads private attributes.
        let is_computed = !name.starts_with('_') && !self.defines(object, name);
        let method = if is_computed { self.inherited(object, None, GETATTR)? } else { Value::Unknown };
        match method {
            Value::Function(function) => self.run(&function, vec![Value::Text(name.into())], Vec::new()),
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
            .and_then(|after| hierarchy.classes.iter().position(|class| std::ptr::eq(*class, after)))
            .map_or(0, |index| index + 1);
        for class in hierarchy.classes.into_iter().skip(skipped) {
            if let Some(value) = self.class_attribute(class, name) {
                return Ok(value);
            }
            if let Some(def) = method(class, name) {
                let scope = self.module_of(class).scope;
                return self.within(&scope, |evaluation| evaluation.method(object, class, def));
            }
            if let Some(value) = assigned(class, name) {
                let scope = self.module_of(class).scope;
                return self.within(&scope, |evaluation| evaluation.outside(|it| it.shared(value)));
            }
        }
        Ok(Value::Unknown)
    }

    /// Returns the value that the body of a class assigns. All instances share it, so it is not known if it is mutable.
    fn shared(&mut self, value: &'a Expr) -> Evaluated<Value<'a>> {
        let frame = Frame { scope: self.module.clone(), receiver: None };
        let value = self.value(value, &frame)?;
        let is_constant = matches!(
            value,
            Value::None
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Text(_)
                | Value::Class(_)
                | Value::Lambda(_)
                | Value::Library(_)
                | Value::Dtype(_)
        );
        Ok(if is_constant { value } else { Value::Unknown })
    }

    /// Returns the value that the program has assigned to an attribute of a class.
    fn class_attribute(&self, class: &ast::StmtClassDef, name: &str) -> Option<Value<'a>> {
        if self.class_attributes.is_empty() {
            return None;
        }
        self.class_attributes.get(&(std::ptr::from_ref(class), name.to_owned())).cloned()
    }

    /// Returns an attribute of a class: a method, a constant, or `apply` of a `torch.autograd.Function`.
    fn of_class(&mut self, class: &'a ast::StmtClassDef, name: &str) -> Evaluated<Value<'a>> {
        let scope = self.module_of(class).scope;
        self.within(&scope, |evaluation| evaluation.of_class_here(class, name))
    }

    fn of_class_here(&mut self, class: &'a ast::StmtClassDef, name: &str) -> Evaluated<Value<'a>> {
        let Some(hierarchy) = self.hierarchy(class) else { return Ok(Value::Unknown) };
        if self.forgotten.contains(name) {
            return Ok(Value::Unknown);
        }
        let is_apply = hierarchy.is_differentiable && name == "apply";
        let classes = hierarchy.classes.clone();
        for owner in hierarchy.classes {
            if let Some(value) = self.class_attribute(owner, name) {
                return Ok(value);
            }
            if let Some(def) = method(owner, if is_apply { "forward" } else { name }) {
                let has = |wanted: &str| {
                    let mut names = def.decorator_list.iter().filter_map(|it| it.expression.as_name_expr());
                    names.any(|name| name.id == wanted)
                };
                if def.is_async || has("property") {
                    return Ok(Value::Unknown);
                }
                let owner = Some(owner).filter(|_| is_apply || !has("staticmethod") && !has("classmethod"));
                let function = Function { def, scope: self.module.clone(), receiver: None, class: owner };
                let function = Value::Function(Rc::new(function));
                let has_context = !classes.iter().any(|class| method(class, "setup_context").is_some());
                let first = match () {
                    // `forward(x)`, beside `setup_context(ctx, inputs, output)`
                    () if is_apply && !has_context => {
                        let (positional, keywords) = (Vec::new(), Vec::new());
                        return Ok(Value::Partial(Rc::new(Partial { function, positional, keywords })));
                    }
                    // `forward(ctx, x)`
                    () if is_apply => Value::Unknown,
                    () if has("classmethod") && def.decorator_list.len() == 1 => Value::Class(class),
                    () if has("classmethod") => return Ok(Value::Unknown),
                    () => {
                        let frame = Frame { scope: self.module.clone(), receiver: None };
                        return self.decorated(function, &def.decorator_list, &frame);
                    }
                };
                return Ok(Value::Partial(Rc::new(Partial {
                    function,
                    positional: vec![first],
                    keywords: Vec::new(),
                })));
            }
            if let Some(value) = assigned(owner, name) {
                return self.outside(|it| it.shared(value));
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
        if is("classmethod") {
            return self.of_class(object.class, def.name.as_str());
        }
        let is_static = is("staticmethod");
        let frame = Frame { scope: self.module.clone(), receiver: None };
        let of_file =
            |decorator: &ast::Decorator| self.ctx.resolve(map_callable(&decorator.expression)).is_none();
        if !is_static && !is("property") && def.decorator_list.iter().any(of_file) {
            // A decorator of the file applies to the function, and its result becomes the method.
            let function = Function { def, scope: self.module.clone(), receiver: None, class: Some(class) };
            let function = Value::Function(Rc::new(function));
            return Ok(match self.decorated(function, &def.decorator_list, &frame)? {
                function @ (Value::Function(_) | Value::Lambda(_)) => Value::Partial(Rc::new(Partial {
                    function,
                    positional: vec![Value::Object(object.clone())],
                    keywords: Vec::new(),
                })),
                _ => Value::Unknown,
            });
        }
        let receiver = Some((object.clone(), class)).filter(|_| !is_static);
        let function = Rc::new(Function { def, scope: self.module.clone(), receiver, class: None });
        if is("property") || self.is_cached_property(def) {
            return self.run(&function, Vec::new(), Vec::new());
        }
        self.decorated(Value::Function(function), &def.decorator_list, &frame)
    }

    fn is_cached_property(&self, def: &ast::StmtFunctionDef) -> bool {
        let [decorator] = def.decorator_list.as_slice() else { return false };
        self.ctx.resolve(&decorator.expression).is_some_and(|name| name == "functools.cached_property")
    }

    /// Returns whether the class of an object defines a method or property with this name.
    pub(super) fn defines(&self, object: &Object<'a>, name: &str) -> bool {
        let hierarchy = self.hierarchy(object.class);
        hierarchy.is_none_or(|it| it.classes.iter().any(|class| method(class, name).is_some()))
    }
}

pub(super) fn method<'a>(class: &'a ast::StmtClassDef, name: &str) -> Option<&'a ast::StmtFunctionDef> {
    class.body.iter().rev().filter_map(Stmt::as_function_def_stmt).find(|def| def.name.as_str() == name)
}

/// Returns the value that the body of a class assigns to a name.
pub(super) fn assigned<'a>(class: &'a ast::StmtClassDef, name: &str) -> Option<&'a Expr> {
    class.body.iter().find_map(|statement| match statement {
        Stmt::Assign(node) => {
            let is_it = |target: &Expr| target.as_name_expr().is_some_and(|it| it.id == name);
            node.targets.iter().any(is_it).then_some(&*node.value)
        }
        Stmt::AnnAssign(node) => {
            let is_it = node.target.as_name_expr().is_some_and(|it| it.id == name);
            node.value.as_deref().filter(|_| is_it)
        }
        _ => None,
    })
}
