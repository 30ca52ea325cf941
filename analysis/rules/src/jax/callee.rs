//! The functions and objects of the project that code calls, in this file or in a module that it imports.

use std::sync::Arc;

use ag_db::Document;
use ag_index::callbacks::argument;
use ag_index::reexports;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::abstract_value::{FunctionValue, Object, Value};
use super::evaluate::{DEEPEST, Evaluator, is_stub};
use super::frame::{Environment, Frame};
use super::function::Function;
use super::function_transforms::Transform;
use crate::program::{Bound, ScopeId};

/// A function with the evaluator of its module, and the arguments that are already bound.
pub(super) struct Callee<'e, 'c, 'a> {
    pub evaluator: &'e Evaluator<'c, 'a>,
    pub function: Function<'a>,
    bound: Vec<Value>,
    keywords: Keywords,
    transforms: Vec<Transform>,
}

/// Values by the names of the parameters to which a call passes them.
type Keywords = Vec<(String, Value)>;

/// The binding of a name in the module or class that defines it.
type Definition<'e, 'c, 'a> = (&'e Evaluator<'c, 'a>, Bound<'a>, ScopeId);

impl<'e, 'c, 'a> Callee<'e, 'c, 'a> {
    fn of(evaluator: &'e Evaluator<'c, 'a>, function: Function<'a>) -> Self {
        Self { evaluator, function, bound: Vec::new(), keywords: Vec::new(), transforms: Vec::new() }
    }

    pub(super) fn name(&self) -> String {
        self.function.name()
    }

    /// Returns whether the function can be called with this number of positional arguments.
    pub(super) fn accepts(&self, arguments: usize) -> bool {
        !self.keywords.is_empty() || self.function.accepts(self.bound.len() + arguments)
    }

    pub(super) fn call(&self, arguments: Vec<Value>, depth: usize) -> Value {
        self.call_with(arguments, Vec::new(), depth)
    }

    fn call_with(&self, arguments: Vec<Value>, keywords: Keywords, depth: usize) -> Value {
        // A transformation may change the keywords too.
        let keywords: Keywords = match self.transforms.as_slice() {
            [] => keywords,
            _ => keywords.into_iter().map(|(name, _)| (name, Value::Unknown)).collect(),
        };
        self.call_transformed(&self.transforms, arguments, &keywords, depth)
    }

    fn call_transformed(
        &self,
        transforms: &[Transform],
        arguments: Vec<Value>,
        keywords: &Keywords,
        depth: usize,
    ) -> Value {
        match transforms.split_last() {
            None => {
                let values = self.values(arguments, keywords.clone());
                self.evaluator.call_with(self.function, values, depth)
            }
            Some((outermost, others)) => outermost
                .call(arguments, &|arguments| self.call_transformed(others, arguments, keywords, depth)),
        }
    }

    /// Returns the parameters that receive an argument, with these arguments.
    fn values(&self, arguments: Vec<Value>, keywords: Keywords) -> Vec<(&'a str, Value)> {
        let names = self.function.positional().map(|parameter| parameter.parameter.name.as_str());
        let mut values: Vec<_> = names.zip(self.bound.iter().cloned().chain(arguments)).collect();
        let parameters = || self.function.parameters().into_iter().flatten().map(|it| it.name().as_str());
        for (keyword, value) in self.keywords.iter().cloned().chain(keywords) {
            values.extend(parameters().find(|name| *name == keyword).map(|name| (name, value)));
        }
        values
    }
}

impl<'c, 'a> Evaluator<'c, 'a> {
    /// Returns the function to which an expression refers, also if another module defines it or if it is a value.
    pub(super) fn callee<'e>(&'e self, scope: ScopeId, expression: &'a Expr) -> Option<Callee<'e, 'c, 'a>> {
        match self.function(scope, expression) {
            Some(function) => Some(Callee::of(self, function)),
            None => self.callee_of(&self.value(scope, expression)),
        }
    }

    /// Returns the function that a call of a value calls: the value itself, or its method `__call__`.
    pub(super) fn callee_of<'e>(&'e self, value: &Value) -> Option<Callee<'e, 'c, 'a>> {
        match value {
            Value::Function(function) => {
                let evaluator = self.of_document(function.document)?;
                let found = evaluator.function_at(function.range)?;
                let (bound, keywords) = (function.bound.clone(), function.keywords.clone());
                let transforms = function.transforms.clone();
                Some(Callee { evaluator, function: found, bound, keywords, transforms })
            }
            Value::Object(object) => {
                let (evaluator, class) = self.class_of(object)?;
                match evaluator.member(class, "__call__", 0)? {
                    (owner, Bound::Function(def), _) if owner.returns_as_written(def) => {
                        let bound = vec![value.clone()];
                        Some(Callee { bound, ..Callee::of(owner, Function::Def(def)) })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the evaluator of this file or of a module that it imports.
    fn of_document(&self, document: Document) -> Option<&Self> {
        match document == self.ctx.document {
            true => Some(self),
            false => self.modules?.evaluator(document),
        }
    }

    fn class_of<'e>(&'e self, object: &Object) -> Option<(&'e Self, &'a ast::StmtClassDef)> {
        let evaluator = self.of_document(object.document)?;
        let class = evaluator.program.classes.iter().find(|class| class.range() == object.class)?;
        Some((evaluator, class))
    }

    /// Returns the receiver of a method: an object whose constructor has received the arguments that all calls of the
    /// file pass. `None` if another class of the file is derived from the class, and may override its methods.
    pub(super) fn receiver(&self, method: &ast::StmtFunctionDef, depth: usize) -> Option<Value> {
        let is_method = |body: &[ast::Stmt]| {
            body.iter().any(|statement| {
                statement.as_function_def_stmt().is_some_and(|def| def.range() == method.range())
            })
        };
        let classes = &self.program.classes;
        let class = classes.iter().find(|class| is_method(&class.body))?;
        let is_base = |base: &Expr| base.as_name_expr().is_some_and(|name| name.id == class.name.id);
        let is_plain = method.decorator_list.is_empty() && class.decorator_list.is_empty();
        if depth > DEEPEST || !is_plain || classes.iter().any(|other| other.bases().iter().any(is_base)) {
            return None;
        }
        let object = Object { document: self.ctx.document, class: class.range(), fields: Vec::new() };
        let object = Value::Object(Arc::new(object));
        let Some((owner, bound, _)) = self.member(class, "__init__", 0) else {
            return class.bases().is_empty().then_some(object);
        };
        let Bound::Function(init) = bound else { return None };
        let mut parameters =
            Function::Def(init).positional().map(|it| it.parameter.name.as_str()).enumerate();
        let (_, receiver) = parameters.next()?;
        let passed = parameters.filter_map(|(position, name)| {
            Some((name, self.passed_to_constructor(class, position - 1, name, depth)?))
        });
        let values = std::iter::once((receiver, object)).chain(passed).collect();
        owner.environment_after(init, values, depth + 1)?.get(receiver).cloned()
    }

    /// Returns what all calls of a class in this file pass for a parameter of its constructor: unknown if they pass
    /// different values, or if there are none; `None` if they omit it.
    fn passed_to_constructor(
        &self,
        class: &ast::StmtClassDef,
        position: usize,
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        let values: Vec<Option<Value>> = self
            .program
            .calls_of(class.range())
            .map(|site| {
                let arguments = &site.node.arguments;
                if arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
                    return Some(Value::Unknown);
                }
                let passed = argument(site.node, position, name)?;
                let frame = Frame { evaluator: self, scope: site.scope, depth: depth + 1 };
                Some(frame.value(passed, &Environment::default()))
            })
            .collect();
        if !values.is_empty() && values.iter().all(Option::is_none) {
            return None;
        }
        let values = values.into_iter().map(|value| value.unwrap_or(Value::Unknown));
        Some(values.reduce(Value::joined).unwrap_or(Value::Unknown))
    }

    /// Returns the definition of an imported name, if exactly one statement of its module binds it.
    pub(super) fn imported<'e>(&'e self, expression: &Expr) -> Option<Definition<'e, 'c, 'a>> {
        let modules = self.modules?;
        // In the sources of JAX, its functions have models too.
        let dotted = self.ctx.resolve(expression).filter(|name| !name.starts_with("jax."))?;
        let (document, name) = reexports::definition(self.ctx.db, self.ctx.document, &dotted)?;
        let evaluator = modules.evaluator(document)?;
        let module = evaluator.program.module();
        Some((evaluator, with_body(evaluator.program.only_binding(module, &name)?)?, module))
    }

    /// Returns the class to which an expression refers.
    pub(super) fn class<'e>(
        &'e self,
        scope: ScopeId,
        expression: &'a Expr,
    ) -> Option<(&'e Self, &'a ast::StmtClassDef)> {
        let local = expression
            .as_name_expr()
            .and_then(|name| self.program.lookup(scope, &name.id, name.range().start()));
        match local {
            Some((Bound::Class(class), _)) => Some((self, class)),
            Some((Bound::Import, _)) | None => match self.imported(expression)? {
                (evaluator, Bound::Class(class), _) => Some((evaluator, class)),
                _ => None,
            },
            Some(_) => None,
        }
    }

    /// Returns the definition of a name in a class or its bases. All bases up to the one that binds it must be classes of
    /// the project.
    pub(super) fn member<'e>(
        &'e self,
        class: &'a ast::StmtClassDef,
        name: &str,
        depth: usize,
    ) -> Option<Definition<'e, 'c, 'a>> {
        let scope = self.program.scope_of(class.range())?;
        if !self.program.bindings(scope, name).is_empty() {
            return Some((self, with_body(self.program.only_binding(scope, name)?)?, scope));
        }
        for base in class.bases().iter().take(DEEPEST.saturating_sub(depth)) {
            let (evaluator, base) = self.class(self.program.module(), base)?;
            if let Some(found) = evaluator.member(base, name, depth + 1) {
                return Some(found);
            }
        }
        None
    }

    /// Returns a function as a value.
    pub(super) fn function_value(&self, range: TextRange) -> Value {
        Value::Function(Arc::new(FunctionValue {
            document: self.ctx.document,
            range,
            bound: Vec::new(),
            keywords: Vec::new(),
            transforms: Vec::new(),
        }))
    }
}

impl<'a> Frame<'_, '_, 'a> {
    /// Returns the value of an imported name.
    pub(super) fn imported(&self, expression: &Expr) -> Value {
        if self.depth > DEEPEST {
            return Value::Unknown;
        }
        match self.evaluator.imported(expression) {
            Some((evaluator, Bound::Function(def), _)) if evaluator.returns_as_written(def) => {
                evaluator.function_value(def.range())
            }
            Some((evaluator, Bound::Value(value), scope)) => {
                let frame = Frame { evaluator, scope, depth: self.depth + 1 };
                match frame.value(value, &Environment::default()) {
                    // Other modules may change it.
                    Value::List(_) | Value::Dict(_) => Value::Unknown,
                    value => value,
                }
            }
            _ => Value::Unknown,
        }
    }

    /// Returns the result of a call of a value.
    pub(super) fn apply(
        &self,
        value: &Value,
        arguments: &'a ast::Arguments,
        environment: &Environment<'a>,
    ) -> Value {
        let Some(callee) = self.evaluator.callee_of(value) else { return Value::Unknown };
        match self.arguments(arguments, environment) {
            Some((positional, keywords)) => callee.call_with(positional, keywords, self.depth + 1),
            None => Value::Unknown,
        }
    }

    /// Returns the arguments of a call; `None` if `*` or `**` passes some of them.
    fn arguments(
        &self,
        arguments: &'a ast::Arguments,
        environment: &Environment<'a>,
    ) -> Option<(Vec<Value>, Keywords)> {
        let positional = self.elements(&arguments.args, environment)?;
        let keywords = arguments.keywords.iter().map(|keyword| {
            let name = keyword.arg.as_ref()?.as_str().to_owned();
            Some((name, self.value(&keyword.value, environment)))
        });
        Some((positional, keywords.collect::<Option<_>>()?))
    }

    /// Returns the function that `partial(step, params)` makes.
    pub(super) fn partial(&self, call: &'a ast::ExprCall, environment: &Environment<'a>) -> Value {
        let Some((mut bound, keywords)) = self.arguments(&call.arguments, environment) else {
            return Value::Unknown;
        };
        if bound.is_empty() {
            return Value::Unknown;
        }
        let Some(callee) = self.evaluator.callee_of(&bound.remove(0)) else { return Value::Unknown };
        if !callee.transforms.is_empty() {
            return Value::Unknown;
        }
        Value::Function(Arc::new(FunctionValue {
            document: callee.evaluator.ctx.document,
            range: callee.function.range(),
            bound: callee.bound.into_iter().chain(bound).collect(),
            keywords: callee.keywords.into_iter().chain(keywords).collect(),
            transforms: Vec::new(),
        }))
    }

    /// Returns the object that a call creates: `LSTMCell(8)`.
    pub(super) fn object(&self, call: &'a ast::ExprCall, environment: &Environment<'a>) -> Option<Value> {
        let (evaluator, class) = self.evaluator.class(self.scope, &call.func)?;
        if self.depth > DEEPEST || !class.decorator_list.is_empty() {
            return None;
        }
        let object = Object { document: evaluator.ctx.document, class: class.range(), fields: Vec::new() };
        let object = Value::Object(Arc::new(object));
        let (owner, Bound::Function(init), _) = evaluator.member(class, "__init__", 0)? else { return None };
        let receiver = init.parameters.posonlyargs.iter().chain(&init.parameters.args).next()?;
        let (positional, keywords) = self.arguments(&call.arguments, environment)?;
        let callee = Callee { bound: vec![object], ..Callee::of(owner, Function::Def(init)) };
        let values = callee.values(positional, keywords);
        let after = owner.environment_after(init, values, self.depth + 1)?;
        after.get(receiver.parameter.name.as_str()).cloned()
    }

    /// Returns an attribute of an object: a field that only the constructor assigns, a property, a method or a variable
    /// of the class.
    pub(super) fn attribute_of(&self, object: &Arc<Object>, name: &str) -> Value {
        let Some((evaluator, class)) = self.evaluator.class_of(object) else { return Value::Unknown };
        if evaluator.assigns_later(name) || self.evaluator.assigns_later(name) || self.depth > DEEPEST {
            return Value::Unknown;
        }
        if let Some((_, value)) = object.fields.iter().find(|(field, _)| field == name) {
            return value.clone();
        }
        match evaluator.member(class, name, 0) {
            Some((owner, Bound::Function(def), _)) => {
                let receiver = Value::Object(Arc::clone(object));
                let is_property = def.decorator_list.iter().any(|it| is_named(&it.expression, "property"));
                if is_property && def.decorator_list.len() == 1 {
                    let callee = Callee::of(owner, Function::Def(def));
                    return callee.call(vec![receiver], self.depth + 1);
                }
                if !owner.returns_as_written(def) {
                    return Value::Unknown;
                }
                Value::Function(Arc::new(FunctionValue {
                    document: owner.ctx.document,
                    range: def.range(),
                    bound: vec![receiver],
                    keywords: Vec::new(),
                    transforms: Vec::new(),
                }))
            }
            Some((owner, Bound::Value(value), scope)) => {
                Frame { evaluator: owner, scope, depth: self.depth + 1 }.value(value, &Environment::default())
            }
            _ => Value::Unknown,
        }
    }
}

/// Returns the binding unless it is a function without a body of its own: that of a stub file or an abstract method.
fn with_body(bound: Bound) -> Option<Bound> {
    (!matches!(bound, Bound::Function(def) if is_stub(def))).then_some(bound)
}

fn is_named(expression: &Expr, name: &str) -> bool {
    expression.as_name_expr().is_some_and(|it| it.id.as_str() == name)
}
