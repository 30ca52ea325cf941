//! Evaluates functions of the file on abstract values, for example to get the result that `lax.scan` receives from its
//! body. [`super::frame`] evaluates expressions, and [`super::library_results`] the functions of JAX.

use std::cell::{Cell, OnceCell, RefCell};

use ag_index::callbacks::argument;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::FileContext;
use super::abstract_value::Value;
use super::frame::{Environment, Frame};
use super::function::Function;
use super::function_transforms::{Axes, Transform};
use super::may_use_64_bits;
use super::modules::Modules;
use crate::effects::MUTATORS;
use crate::program::{Bound, Program, ScopeId, Site};
use ag_syntax::expressions;

/// The maximum depth to which names and calls are followed.
pub(super) const DEEPEST: usize = 6;

/// The maximum number of calls that are evaluated in each module.
const MOST_CALLS: usize = 20_000;

/// Attributes of arrays that records and configurations do not have, unlike `shape` and `dtype`.
const ARRAY_ATTRIBUTES: [&str; 4] = ["astype", "at", "ravel", "reshape"];
/// Functions of `jax.numpy` that raise for tuples, lists and other structures.
const ARRAY_FUNCTIONS: [&str; 24] = [
    "abs", "all", "any", "argmax", "argmin", "clip", "cos", "cumsum", "dot", "exp", "log", "matmul", "max",
    "maximum", "mean", "min", "minimum", "prod", "sin", "sqrt", "square", "std", "sum", "tanh",
];

/// The calls in a file.
#[derive(Default)]
struct Calls<'a> {
    /// The calls of each function and method of the file.
    resolved: FxHashMap<TextRange, Vec<CallSite<'a>>>,
    /// The names of methods that are called on other objects.
    unresolved: FxHashSet<&'a str>,
}

struct CallSite<'a> {
    call: &'a ast::ExprCall,
    scope: ScopeId,
    /// Whether it passes an object for the first parameter: `self.step(x)`.
    bound: bool,
    /// The axes over which `jax.vmap` maps the arguments, starting with the outermost `vmap`.
    axes: Vec<Axes>,
}

pub(super) struct Evaluator<'c, 'a> {
    pub ctx: &'c FileContext<'a>,
    pub program: &'c Program<'a>,
    /// The other modules, if calls of their functions are evaluated.
    pub modules: Option<&'c Modules<'c, 'a>>,
    /// The number of calls that may still be evaluated.
    calls_left: Cell<usize>,
    /// Whether default dtypes may have 64 bits, because the file may set `jax_enable_x64`.
    pub wide: bool,
    calls: OnceCell<Calls<'a>>,
    /// The variables whose object a method changes: `branches.append(f)`.
    changed: OnceCell<FxHashSet<(ScopeId, &'a str)>>,
    /// The values of parameters computed so far. A value is `Unknown` while it is being computed.
    parameters: RefCell<FxHashMap<TextRange, Value>>,
}

impl<'c, 'a> Evaluator<'c, 'a> {
    pub(super) fn new(ctx: &'c FileContext<'a>, program: &'c Program<'a>) -> Self {
        Self {
            ctx,
            program,
            modules: None,
            calls_left: Cell::new(MOST_CALLS),
            wide: may_use_64_bits(ctx),
            calls: OnceCell::new(),
            changed: OnceCell::new(),
            parameters: RefCell::default(),
        }
    }

    /// Returns an evaluator that also evaluates the functions of other modules.
    pub(super) fn in_project(
        ctx: &'c FileContext<'a>,
        program: &'c Program<'a>,
        modules: &'c Modules<'c, 'a>,
    ) -> Self {
        Self { modules: Some(modules), ..Self::new(ctx, program) }
    }

    /// Returns the function to which an expression refers; `None` for a function with an unknown decorator, which may
    /// return anything.
    pub(super) fn function(&self, scope: ScopeId, expression: &'a Expr) -> Option<Function<'a>> {
        match self.program.value(scope, expression) {
            (Bound::Function(def), _) if self.is_plain(def) => Some(Function::Def(def)),
            (Bound::Value(Expr::Lambda(lambda)), _) => Some(Function::Lambda(lambda)),
            (Bound::Value(Expr::Call(call)), owner) if self.keeps_function(&call.func) => {
                let inner = call.arguments.args.first()?;
                (!inner.is_call_expr()).then(|| self.function(owner, inner)).flatten()
            }
            (Bound::Value(Expr::Call(call)), owner) if self.is_partial(call) => {
                match self.function(owner, call.arguments.args.first()?)? {
                    Function::Def(def) => Some(Function::Partial(def, &call.arguments, owner)),
                    _ => None,
                }
            }
            (Bound::Value(Expr::Call(call)), owner) => self.returned_function(owner, call),
            (Bound::Value(Expr::Attribute(attribute)), owner) => {
                if let Some((value, constructor)) = self.program.attribute_value(owner, attribute) {
                    return value.is_call_expr().then(|| self.function(constructor, value)).flatten();
                }
                let def = self
                    .program
                    .method(owner, attribute)
                    .or_else(|| self.program.method_of_object(owner, &attribute.value, &attribute.attr))?;
                (self.is_plain(def) && !is_stub(def)).then_some(Function::Method(def))
            }
            _ => None,
        }
    }

    /// Returns the function that `make(0.1)` returns. The last statement of `make` must be its only `return`, and must
    /// name a function that `make` defines.
    fn returned_function(&self, scope: ScopeId, call: &'a ast::ExprCall) -> Option<Function<'a>> {
        let (Bound::Function(maker), _) = self.program.value(scope, &call.func) else { return None };
        if maker.is_async || !maker.decorator_list.is_empty() {
            return None;
        }
        let (last, before) = maker.body.split_last()?;
        let returned = last.as_return_stmt()?.value.as_deref()?;
        let is_simple = |statement: &Stmt| {
            matches!(statement, Stmt::FunctionDef(_) | Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::Expr(_))
        };
        let inner = self.program.scope_of(maker.range())?;
        (before.iter().all(is_simple) && !returned.is_call_expr())
            .then(|| self.function(inner, returned))
            .flatten()
            .filter(|function| maker.range().contains_range(function.range()))
    }

    /// Returns whether a call is `functools.partial(f, x)` without starred arguments.
    fn is_partial(&self, call: &ast::ExprCall) -> bool {
        self.ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
            && !call.arguments.args.iter().any(Expr::is_starred_expr)
            && call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some())
    }

    /// Returns whether a call of the function runs its body and returns the body's result.
    fn is_plain(&self, def: &ast::StmtFunctionDef) -> bool {
        let keeps = |decorator: &ast::Decorator| match &decorator.expression {
            Expr::Call(call) => {
                self.ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
                    && call.arguments.args.first().is_some_and(|maker| self.keeps_function(maker))
            }
            other => self.keeps_function(other),
        };
        !def.is_async && def.decorator_list.iter().all(keeps)
    }

    /// Returns whether a call of the function returns the body's result. The function may have a custom derivative.
    pub(super) fn returns_as_written(&self, def: &ast::StmtFunctionDef) -> bool {
        let custom = |decorator: &ast::Decorator| {
            self.ctx
                .resolve(&decorator.expression)
                .is_some_and(|name| matches!(name.as_str(), "jax.custom_vjp" | "jax.custom_jvp"))
        };
        self.is_plain(def) || !def.is_async && def.decorator_list.len() == 1 && custom(&def.decorator_list[0])
    }

    /// Returns whether `maker(f)` gives a function that returns the same values as `f`: `jax.jit`, `jax.checkpoint`.
    fn keeps_function(&self, maker: &Expr) -> bool {
        self.ctx
            .resolve(maker)
            .is_some_and(|name| matches!(name.as_str(), "jax.jit" | "jax.checkpoint" | "jax.remat"))
    }

    /// Returns the result of a function for these arguments.
    pub(super) fn call(&self, function: Function<'a>, arguments: Vec<Value>, depth: usize) -> Value {
        let parameters = function.positional().map(|parameter| parameter.parameter.name.as_str());
        self.call_with(function, parameters.zip(arguments).collect(), depth)
    }

    /// Returns the result of a function for these values of its parameters.
    pub(super) fn call_with(
        &self,
        function: Function<'a>,
        values: Vec<(&'a str, Value)>,
        depth: usize,
    ) -> Value {
        let Some((frame, mut environment)) = self.enter(function, values, depth) else {
            return Value::Unknown;
        };
        match function {
            Function::Lambda(lambda) => frame.value(&lambda.body, &environment),
            Function::Def(def) | Function::Method(def) | Function::Partial(def, ..) => {
                frame.body(&def.body, &mut environment)
            }
        }
    }

    /// Returns the variables after a function has run. They include the parameters, such as `self` with the attributes
    /// that a constructor assigns.
    pub(super) fn environment_after(
        &self,
        def: &'a ast::StmtFunctionDef,
        values: Vec<(&'a str, Value)>,
        depth: usize,
    ) -> Option<Environment<'a>> {
        let (frame, mut environment) = self.enter(Function::Def(def), values, depth)?;
        frame.body(&def.body, &mut environment);
        Some(environment)
    }

    /// Returns the frame of a call, with the parameters as its variables.
    fn enter(
        &self,
        function: Function<'a>,
        values: Vec<(&'a str, Value)>,
        depth: usize,
    ) -> Option<(Frame<'_, 'c, 'a>, Environment<'a>)> {
        let mut environment = Environment::default();
        let scope = self.program.scope_of(function.range())?;
        let calls_left = self.calls_left.get().checked_sub(1)?;
        if depth > DEEPEST {
            return None;
        }
        self.calls_left.set(calls_left);
        for parameter in function.parameters().into_iter().flatten() {
            let default = parameter.default().filter(|default| default.is_literal_expr());
            let frame = Frame { evaluator: self, scope, depth };
            let value = default.map_or(Value::Unknown, |it| frame.value(it, &Environment::default()));
            environment.insert(parameter.name().as_str(), value);
        }
        if let Function::Method(def) = function
            && let Some(first) = def.parameters.posonlyargs.iter().chain(&def.parameters.args).next()
            && let Some(receiver) = self.receiver(def, depth + 1)
        {
            environment.insert(first.parameter.name.as_str(), receiver);
        }
        environment.extend(self.given(function, depth));
        environment.extend(values);
        Some((Frame { evaluator: self, scope, depth }, environment))
    }

    /// Returns whether code other than a constructor assigns to an attribute with this name.
    pub(super) fn assigns_later(&self, attribute: &str) -> bool {
        let mut stores = self.program.stores.iter().filter(|store| store.node.attr.as_str() == attribute);
        let is_constructor = |scope| {
            let range = self.program.range(scope);
            let def = self.program.functions.iter().find(|(def, _)| def.range() == range);
            def.is_some_and(|(def, _)| def.name.as_str() == "__init__")
        };
        stores.any(|store| !is_constructor(store.scope))
    }

    /// Returns the parameters to which `partial` binds a value, with these values.
    fn given(&self, function: Function<'a>, depth: usize) -> Vec<(&'a str, Value)> {
        let Function::Partial(def, arguments, scope) = function else { return Vec::new() };
        let frame = Frame { evaluator: self, scope, depth: depth + 1 };
        let parameters = Function::Def(def).positional().map(|parameter| parameter.parameter.name.as_str());
        let positional = parameters.zip(arguments.args.iter().skip(1));
        let keywords =
            arguments.keywords.iter().filter_map(|it| Some((it.arg.as_ref()?.as_str(), &it.value)));
        let given = positional.chain(keywords);
        given.map(|(name, value)| (name, frame.value(value, &Environment::default()))).collect()
    }

    /// Returns the `def` or lambda of the file at a range.
    pub(super) fn function_at(&self, range: TextRange) -> Option<Function<'a>> {
        let def = self.program.functions.iter().find(|(def, _)| def.range() == range);
        let lambda = || self.program.lambdas.iter().find(|lambda| lambda.range() == range);
        match def {
            Some((def, _)) => Some(Function::Def(def)),
            None => lambda().map(|lambda| Function::Lambda(lambda)),
        }
    }

    /// Returns the value that the calls in this file pass for a parameter; unknown if they pass different ones.
    pub(super) fn parameter(&self, owner: ScopeId, parameter: TextRange, depth: usize) -> Value {
        if let Some(known) = self.parameters.borrow().get(&parameter) {
            return known.clone();
        }
        self.parameters.borrow_mut().insert(parameter, Value::Unknown);
        let value = match self.passed(owner, parameter, depth) {
            None | Some(Value::Unknown) if self.is_used_as_array(owner, parameter) => {
                Value::array(None, false, None)
            }
            passed => passed.unwrap_or(Value::Unknown),
        };
        self.parameters.borrow_mut().insert(parameter, value.clone());
        value
    }

    fn passed(&self, owner: ScopeId, parameter: TextRange, depth: usize) -> Option<Value> {
        let range = self.program.range(owner);
        let function = self.function_at(range)?;
        let def = match function {
            Function::Def(def) => Some(def),
            _ => None,
        };
        let mut positional = function.positional().enumerate();
        let (position, parameter) = positional.find(|(_, it)| it.parameter.name.range() == parameter)?;
        if position == 0
            && let Some(receiver) = def.and_then(|def| self.receiver(def, depth))
        {
            return Some(receiver);
        }
        let name = &parameter.parameter.name;
        let calls = self.calls.get_or_init(|| self.calls_of_functions());
        let sites = calls.resolved.get(&range)?;
        let is_method = sites.iter().any(|site| site.bound);
        let is_called_elsewhere = |def: &ast::StmtFunctionDef| calls.unresolved.contains(def.name.as_str());
        if sites.len() > 4 || is_method && def.is_some_and(is_called_elsewhere) {
            return None;
        }
        let values = sites.iter().map(|CallSite { call, scope, bound, axes }| {
            let arguments = &call.arguments;
            let Some(position) = position.checked_sub(usize::from(*bound)) else { return Value::Unknown };
            if arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
                return Value::Unknown;
            }
            let frame = Frame { evaluator: self, scope: *scope, depth: depth + 1 };
            let default = || parameter.default.as_deref().filter(|default| default.is_literal_expr());
            let Some(passed) = argument(call, position, name).or_else(default) else { return Value::Unknown };
            let value = frame.value(passed, &Environment::default());
            axes.iter().fold(value, |value, axes| axes.mapped(position, &value))
        });
        values.reduce(Value::joined)
    }

    /// Returns whether the function uses a parameter in a way that only arrays and numbers support: `jnp.sum(x)`,
    /// `x.astype(d)`.
    fn is_used_as_array(&self, owner: ScopeId, parameter: TextRange) -> bool {
        let range = self.program.range(owner);
        let Some((def, _)) = self.program.functions.iter().find(|(def, _)| def.range() == range) else {
            return false;
        };
        let Some(name) =
            def.parameters.iter().find(|it| it.name().range() == parameter).map(|it| &it.name().id)
        else {
            return false;
        };
        let is_it = |value: &Expr| value.as_name_expr().is_some_and(|it| it.id == *name);
        self.program.bindings(owner, name).len() == 1
            && expressions::of_function(def).into_iter().any(|expression| match expression {
                Expr::Attribute(attribute) => {
                    ARRAY_ATTRIBUTES.contains(&attribute.attr.as_str()) && is_it(&attribute.value)
                }
                Expr::Call(call) => {
                    call.arguments.args.first().is_some_and(is_it)
                        && self.ctx.resolve(&call.func).is_some_and(|function| {
                            function
                                .strip_prefix("jax.numpy.")
                                .is_some_and(|function| ARRAY_FUNCTIONS.contains(&function))
                        })
                }
                _ => false,
            })
    }

    /// Returns an expression, or the value of the variable that it names, with its scope. `None` if the variable may
    /// have another value, or if a method call changes it.
    pub(super) fn unchanged(&self, scope: ScopeId, expression: &'a Expr) -> Option<(&'a Expr, ScopeId)> {
        let Expr::Name(name) = expression else { return Some((expression, scope)) };
        match self.program.lookup(scope, &name.id, name.start())? {
            (Bound::Value(value), owner) if !self.is_changed(owner, &name.id) => Some((value, owner)),
            _ => None,
        }
    }

    /// Returns whether a method call changes the object of a variable: `branches.append(f)`.
    pub(super) fn is_changed(&self, owner: ScopeId, name: &'a str) -> bool {
        let changed = self.changed.get_or_init(|| {
            let variable = |site: &Site<'a, ast::ExprCall>| {
                let method = site.node.func.as_attribute_expr()?;
                let object = &method.value.as_name_expr()?.id;
                let owner = self.program.owner(site.scope, object)?;
                MUTATORS.contains(&method.attr.as_str()).then_some((owner, object.as_str()))
            };
            self.program.calls.iter().filter_map(variable).collect()
        });
        changed.contains(&(owner, name))
    }

    fn calls_of_functions(&self) -> Calls<'a> {
        let mut calls = Calls::default();
        for site in &self.program.calls {
            let (call, scope) = (site.node, site.scope);
            let mut axes = Vec::new();
            let function = match &*call.func {
                Expr::Name(_) | Expr::Call(_) | Expr::Attribute(_) => {
                    self.inside_transforms(scope, &call.func, &mut axes)
                }
                _ => None,
            };
            match (function, &*call.func) {
                // `f(x)`, `jax.jit(f)(x)`
                (
                    Some(function @ (Function::Def(_) | Function::Lambda(_))),
                    Expr::Name(_) | Expr::Call(_),
                ) => {
                    calls.resolved.entry(function.range()).or_default().push(CallSite {
                        call,
                        scope,
                        bound: false,
                        axes,
                    });
                }
                // `self.step(x)`, `trainer.step(x)`, `jax.jit(trainer.step)(x)`
                (Some(Function::Method(def)), Expr::Attribute(_) | Expr::Call(_)) => {
                    calls.resolved.entry(def.range()).or_default().push(CallSite {
                        call,
                        scope,
                        bound: true,
                        axes,
                    });
                }
                (_, Expr::Attribute(attribute)) => {
                    calls.unresolved.insert(attribute.attr.as_str());
                }
                _ => {}
            }
        }
        calls
    }

    /// Returns the function inside transformations that call it with the same arguments, or with mapped ones:
    /// `jax.vmap(jax.grad(f), in_axes=(None, 0))`. Adds the axes of `vmap`, starting with the outermost.
    fn inside_transforms(
        &self,
        scope: ScopeId,
        expression: &'a Expr,
        axes: &mut Vec<Axes>,
    ) -> Option<Function<'a>> {
        if let (Bound::Value(Expr::Call(made)), owner) = self.program.value(scope, expression)
            && let Some(name) = self.ctx.resolve(&made.func)
            && let Some(transform) = Transform::of_call(&name, made)
        {
            if let Transform::Vmap(mapped) = transform {
                axes.push(mapped);
            }
            return self.inside_transforms(owner, made.arguments.args.first()?, axes);
        }
        self.function(scope, expression)
    }

    /// Returns the value of an expression in a scope.
    pub(super) fn value(&self, scope: ScopeId, expression: &'a Expr) -> Value {
        Frame { evaluator: self, scope, depth: 0 }.value(expression, &Environment::default())
    }
}

/// Returns whether a method has no body of its own, so that derived classes replace it: `pass`, `...`,
/// `raise NotImplementedError`.
pub(super) fn is_stub(def: &ast::StmtFunctionDef) -> bool {
    def.body.iter().all(|statement| match statement {
        Stmt::Pass(_) | Stmt::Raise(_) => true,
        Stmt::Expr(expression) => expression.value.is_literal_expr(),
        _ => false,
    })
}
