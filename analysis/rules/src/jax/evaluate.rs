//! Evaluates functions of the file on abstract values, for example to get the result that `lax.scan` receives from its
//! body. [`super::library_results`] evaluates the functions of JAX.

use std::cell::{OnceCell, RefCell};

use ag_index::callbacks::argument;
use ruff_python_ast::visitor::source_order::SourceOrderVisitor;
use ruff_python_ast::{self as ast, Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::FileContext;
use super::abstract_value::{DType, Leaf, Value, binary, without_dtype};
use super::changes::Changes;
use super::may_use_64_bits;
use crate::effects::MUTATORS;
use crate::program::{Bound, Program, ScopeId, Site};
use ag_syntax::blocks;
use ag_syntax::expressions::natural;

/// The maximum number of names and calls that are followed.
const DEEPEST: usize = 6;

pub(super) struct Evaluator<'c, 'a> {
    pub ctx: &'c FileContext<'a>,
    pub program: &'c Program<'a>,
    /// Whether the default dtypes have 64 bits: the file may set `jax_enable_x64`.
    pub wide: bool,
    /// The calls of each function of the file.
    calls: OnceCell<FxHashMap<TextRange, Vec<(&'a ast::ExprCall, ScopeId)>>>,
    /// The variables whose object a method changes: `branches.append(f)`.
    changed: OnceCell<FxHashSet<(ScopeId, &'a str)>>,
    /// The values of parameters; `Unknown` while the value is being computed.
    parameters: RefCell<FxHashMap<TextRange, Value>>,
}

/// A function: a `def` or a lambda.
#[derive(Clone, Copy)]
pub(super) enum Function<'a> {
    Def(&'a ast::StmtFunctionDef),
    Lambda(&'a ast::ExprLambda),
    /// `self.step`, without the receiver.
    Method(&'a ast::StmtFunctionDef),
    /// `partial(step, params)`, with the arguments of `partial` and their scope.
    Partial(&'a ast::StmtFunctionDef, &'a ast::Arguments, ScopeId),
}

impl<'a> Function<'a> {
    pub(super) fn range(self) -> TextRange {
        match self {
            Self::Def(def) | Self::Method(def) | Self::Partial(def, ..) => def.range(),
            Self::Lambda(lambda) => lambda.range(),
        }
    }

    fn parameters(self) -> Option<&'a ast::Parameters> {
        match self {
            Self::Def(def) | Self::Method(def) | Self::Partial(def, ..) => Some(&def.parameters),
            Self::Lambda(lambda) => lambda.parameters.as_deref(),
        }
    }

    /// The positional parameters that a caller passes.
    pub(super) fn positional(self) -> impl Iterator<Item = &'a ast::ParameterWithDefault> {
        let all = self.parameters().into_iter().flat_map(|it| it.posonlyargs.iter().chain(&it.args));
        all.skip(self.given()).filter(move |parameter| self.keyword(&parameter.parameter.name).is_none())
    }

    /// The number of leading parameters that have a value already.
    fn given(self) -> usize {
        match self {
            Self::Method(_) => 1,
            Self::Partial(_, arguments, _) => arguments.args.len().saturating_sub(1),
            Self::Def(_) | Self::Lambda(_) => 0,
        }
    }

    /// The value of a parameter that `partial` passes as a keyword.
    fn keyword(self, name: &str) -> Option<&'a Expr> {
        match self {
            Self::Partial(_, arguments, _) => arguments.find_keyword(name).map(|keyword| &keyword.value),
            _ => None,
        }
    }

    /// Whether it can be called with this number of positional arguments.
    pub(super) fn accepts(self, arguments: usize) -> bool {
        let Some(parameters) = self.parameters() else { return arguments == 0 };
        let required = self.positional().filter(|parameter| parameter.default.is_none()).count();
        let keyword_only = parameters.kwonlyargs.iter().any(|parameter| {
            parameter.default.is_none() && self.keyword(&parameter.parameter.name).is_none()
        });
        let most = if parameters.vararg.is_some() { usize::MAX } else { self.positional().count() };
        !keyword_only && (required..=most).contains(&arguments)
    }

    /// Whether a call may pass this number of positional arguments, and the others as keywords.
    pub(super) fn accepts_count(self, arguments: usize) -> bool {
        let Some(parameters) = self.parameters() else { return arguments == 0 };
        parameters.vararg.is_some() || arguments <= self.positional().count()
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Def(def) | Self::Method(def) | Self::Partial(def, ..) => format!("`{}`", def.name),
            Self::Lambda(_) => "the lambda".to_owned(),
        }
    }
}

pub(super) type Environment<'a> = FxHashMap<&'a str, Value>;

impl<'c, 'a> Evaluator<'c, 'a> {
    pub(super) fn new(ctx: &'c FileContext<'a>, program: &'c Program<'a>) -> Self {
        Self {
            ctx,
            program,
            wide: may_use_64_bits(ctx),
            calls: OnceCell::new(),
            changed: OnceCell::new(),
            parameters: RefCell::default(),
        }
    }

    /// The function that an expression refers to. A function with an unknown decorator is excluded: it may be anything.
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
                let def = self.program.method(owner, attribute)?;
                (self.is_plain(def) && !is_stub(def)).then_some(Function::Method(def))
            }
            _ => None,
        }
    }

    /// The function that `make(0.1)` returns, if the last statement of `make` is its only `return`, and names a
    /// function that `make` defines.
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

    /// Whether a call is `functools.partial(f, x)` without starred arguments.
    fn is_partial(&self, call: &ast::ExprCall) -> bool {
        self.ctx.resolve(&call.func).is_some_and(|name| name == "functools.partial")
            && !call.arguments.args.iter().any(Expr::is_starred_expr)
            && call.arguments.keywords.iter().all(|keyword| keyword.arg.is_some())
    }

    /// Whether calling the function runs its body and returns the body's result.
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

    /// Whether calling the function returns the body's result. The function may have a custom derivative.
    fn returns_as_written(&self, def: &ast::StmtFunctionDef) -> bool {
        let custom = |decorator: &ast::Decorator| {
            self.ctx
                .resolve(&decorator.expression)
                .is_some_and(|name| matches!(name.as_str(), "jax.custom_vjp" | "jax.custom_jvp"))
        };
        self.is_plain(def) || !def.is_async && def.decorator_list.len() == 1 && custom(&def.decorator_list[0])
    }

    /// Whether the result of `maker(f)` returns the same values as `f`: `jax.jit`, `jax.checkpoint`.
    fn keeps_function(&self, maker: &Expr) -> bool {
        self.ctx
            .resolve(maker)
            .is_some_and(|name| matches!(name.as_str(), "jax.jit" | "jax.checkpoint" | "jax.remat"))
    }

    /// The result of a function for these arguments.
    pub(super) fn call(&self, function: Function<'a>, arguments: Vec<Value>, depth: usize) -> Value {
        let parameters = function.positional().map(|parameter| parameter.parameter.name.as_str());
        self.call_with(function, parameters.zip(arguments).collect(), depth)
    }

    /// The result of a function for these values of its parameters.
    fn call_with(&self, function: Function<'a>, values: Vec<(&'a str, Value)>, depth: usize) -> Value {
        let mut environment = Environment::default();
        let Some(scope) = self.program.scope_of(function.range()) else { return Value::Unknown };
        if depth > DEEPEST {
            return Value::Unknown;
        }
        for parameter in function.parameters().into_iter().flatten() {
            let default = parameter.default().filter(|default| default.is_literal_expr());
            let frame = Frame { evaluator: self, scope, depth };
            let value = default.map_or(Value::Unknown, |it| frame.value(it, &Environment::default()));
            environment.insert(parameter.name().as_str(), value);
        }
        environment.extend(self.given(function, depth));
        environment.extend(values);
        let frame = Frame { evaluator: self, scope, depth };
        match function {
            Function::Lambda(lambda) => frame.value(&lambda.body, &environment),
            Function::Def(def) | Function::Method(def) | Function::Partial(def, ..) => {
                frame.body(&def.body, environment)
            }
        }
    }

    /// The parameters that `partial` has given a value.
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

    /// The value that the calls in this file pass for a parameter, if all of them pass the same one.
    fn parameter(&self, owner: ScopeId, parameter: TextRange, depth: usize) -> Value {
        if let Some(known) = self.parameters.borrow().get(&parameter) {
            return known.clone();
        }
        self.parameters.borrow_mut().insert(parameter, Value::Unknown);
        let value = self.passed(owner, parameter, depth).unwrap_or(Value::Unknown);
        self.parameters.borrow_mut().insert(parameter, value.clone());
        value
    }

    fn passed(&self, owner: ScopeId, parameter: TextRange, depth: usize) -> Option<Value> {
        let range = self.program.range(owner);
        let (def, _) = self.program.functions.iter().find(|(def, _)| def.range() == range)?;
        let mut positional = Function::Def(def).positional().enumerate();
        let (position, parameter) = positional.find(|(_, it)| it.parameter.name.range() == parameter)?;
        let name = &parameter.parameter.name;
        let sites = self.calls.get_or_init(|| self.calls_of_functions()).get(&range)?;
        if sites.len() > 4 {
            return None;
        }
        let values = sites.iter().map(|(call, scope)| {
            let arguments = &call.arguments;
            if arguments.keywords.iter().any(|keyword| keyword.arg.is_none()) {
                return Value::Unknown;
            }
            let Some(passed) = argument(call, position, name) else { return Value::Unknown };
            let frame = Frame { evaluator: self, scope: *scope, depth: depth + 1 };
            frame.value(passed, &Environment::default())
        });
        values.reduce(|one, other| if one == other { one } else { Value::Unknown })
    }

    fn is_changed(&self, owner: ScopeId, name: &'a str) -> bool {
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

    fn calls_of_functions(&self) -> FxHashMap<TextRange, Vec<(&'a ast::ExprCall, ScopeId)>> {
        let mut calls: FxHashMap<TextRange, Vec<_>> = FxHashMap::default();
        for site in &self.program.calls {
            // `f(x)`, `jax.jit(f)(x)`
            if matches!(&*site.node.func, Expr::Name(_) | Expr::Call(_))
                && let Some(Function::Def(def)) = self.function(site.scope, &site.node.func)
            {
                calls.entry(def.range()).or_default().push((site.node, site.scope));
            }
        }
        calls
    }

    /// The value of an expression of a scope, outside of any call.
    pub(super) fn value(&self, scope: ScopeId, expression: &'a Expr) -> Value {
        Frame { evaluator: self, scope, depth: 0 }.value(expression, &Environment::default())
    }
}

pub(super) struct Frame<'e, 'c, 'a> {
    pub(super) evaluator: &'e Evaluator<'c, 'a>,
    pub(super) scope: ScopeId,
    depth: usize,
}

impl<'a> Frame<'_, '_, 'a> {
    fn body(&self, body: &'a [Stmt], mut environment: Environment<'a>) -> Value {
        for statement in body {
            match statement {
                Stmt::Return(returned) => {
                    return returned
                        .value
                        .as_deref()
                        .map_or(Value::None, |value| self.value(value, &environment));
                }
                Stmt::Assign(assign) => {
                    let value = self.value(&assign.value, &environment);
                    for target in &assign.targets {
                        bind(target, &value, &mut environment);
                    }
                }
                Stmt::AnnAssign(assign) => {
                    if let Some(value) = &assign.value {
                        let value = self.value(value, &environment);
                        bind(&assign.target, &value, &mut environment);
                    }
                }
                Stmt::AugAssign(assign) => {
                    let left = self.value(&assign.target, &environment);
                    let value = binary(&left, assign.op, &self.value(&assign.value, &environment));
                    bind(&assign.target, &value, &mut environment);
                }
                Stmt::Expr(ast::StmtExpr { value, .. }) => {
                    // A method may change its object: `values.append(x)`.
                    if let Expr::Call(call) = &**value
                        && let Expr::Attribute(method) = &*call.func
                    {
                        bind(&method.value, &Value::Unknown, &mut environment);
                    }
                    if matches!(&**value, Expr::Yield(_) | Expr::YieldFrom(_) | Expr::Await(_))
                        || self.never_returns(value)
                    {
                        return Value::Unknown;
                    }
                }
                Stmt::FunctionDef(def) => {
                    environment.insert(def.name.as_str(), Value::Unknown);
                }
                Stmt::Pass(_) | Stmt::Import(_) | Stmt::ImportFrom(_) | Stmt::Assert(_) => {}
                // What conditional or repeated code binds and changes is unknown.
                other => {
                    let mut changes = Changes::default();
                    changes.visit_stmt(other);
                    if changes.leaves {
                        return Value::Unknown;
                    }
                    environment.extend(changes.names.into_iter().map(|name| (name, Value::Unknown)));
                }
            }
        }
        match blocks::may_complete(body, &|expression| self.never_returns(expression)) {
            true => Value::None,
            // `def body(carry, x): raise NotImplementedError` returns nothing, not even `None`.
            false => Value::Unknown,
        }
    }

    /// Whether an expression ends the program, or calls a function that always raises: `sys.exit(1)`, `fail(x)`.
    fn never_returns(&self, expression: &Expr) -> bool {
        let Some(call) = expression.as_call_expr() else { return false };
        if self.evaluator.ctx.resolve(&call.func).is_some_and(|name| ENDS.contains(&name.as_str())) {
            return true;
        }
        let Expr::Name(callee) = &*call.func else { return false };
        let called = self.evaluator.program.lookup(self.scope, &callee.id, call.start());
        matches!(called, Some((Bound::Function(def), _)) if raises(def))
    }

    pub(super) fn value(&self, expression: &'a Expr, environment: &Environment<'a>) -> Value {
        match expression {
            Expr::NoneLiteral(_) => Value::None,
            Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_) | Expr::Lambda(_) => {
                Value::Other
            }
            Expr::BooleanLiteral(_) => Value::array(Some(DType::Bool), false, Some(Vec::new())),
            Expr::NumberLiteral(literal) => Value::number(match literal.value {
                ast::Number::Int(_) => DType::Int32,
                ast::Number::Float(_) => DType::Float32,
                ast::Number::Complex { .. } => DType::Complex64,
            }),
            Expr::Tuple(tuple) => {
                self.elements(&tuple.elts, environment).map_or(Value::Unknown, Value::Tuple)
            }
            Expr::List(list) => self.elements(&list.elts, environment).map_or(Value::Unknown, Value::List),
            Expr::Dict(dict) => {
                let items = dict.items.iter().map(|item| {
                    let key = item.key.as_ref()?.as_string_literal_expr()?.value.to_str().to_owned();
                    Some((key, self.value(&item.value, environment)))
                });
                items.collect::<Option<Vec<_>>>().map_or(Value::Unknown, Value::Dict)
            }
            Expr::Name(name) => match environment.get(name.id.as_str()) {
                Some(value) => value.clone(),
                None => self.outer(name),
            },
            Expr::BinOp(operation) => binary(
                &self.value(&operation.left, environment),
                operation.op,
                &self.value(&operation.right, environment),
            ),
            Expr::UnaryOp(operation) => {
                let operand = self.value(&operation.operand, environment);
                match (operation.op, operand) {
                    (
                        ast::UnaryOp::USub | ast::UnaryOp::UAdd | ast::UnaryOp::Invert,
                        value @ Value::Leaf(_),
                    ) => value,
                    _ => Value::Unknown,
                }
            }
            Expr::Compare(compare) => {
                let [op] = &*compare.ops else { return Value::Unknown };
                if matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn) {
                    return Value::array(Some(DType::Bool), false, Some(Vec::new()));
                }
                let left = self.value(&compare.left, environment);
                let right =
                    compare.comparators.first().map_or(Value::Unknown, |it| self.value(it, environment));
                match binary(&left, Operator::Add, &right) {
                    Value::Leaf(leaf) => Value::array(Some(DType::Bool), false, leaf.shape),
                    _ => Value::Unknown,
                }
            }
            Expr::If(conditional) => {
                let body = self.value(&conditional.body, environment);
                let orelse = self.value(&conditional.orelse, environment);
                if body == orelse { body } else { Value::Unknown }
            }
            Expr::Subscript(subscript) => self.item(subscript, environment),
            Expr::Attribute(attribute) => {
                match (self.value(&attribute.value, environment), attribute.attr.as_str()) {
                    (Value::Leaf(leaf), "T" | "mT")
                        if leaf.shape.as_ref().is_some_and(|shape| shape.len() < 2) =>
                    {
                        Value::Leaf(leaf)
                    }
                    (Value::Leaf(leaf), "T" | "mT") => {
                        Value::Leaf(Leaf { shape: None, extent: None, ..leaf })
                    }
                    (Value::Leaf(_), "size" | "ndim") => Value::number(DType::Int32),
                    (Value::Record(record), name) => record.field(name).cloned().unwrap_or(Value::Unknown),
                    _ => match self.evaluator.ctx.resolve(expression).as_deref() {
                        Some(
                            "jax.numpy.pi" | "jax.numpy.inf" | "jax.numpy.nan" | "jax.numpy.e" | "math.pi"
                            | "math.inf" | "numpy.inf" | "numpy.pi" | "numpy.nan",
                        ) => Value::number(DType::Float32),
                        _ => Value::Unknown,
                    },
                }
            }
            Expr::Call(call) => self.call(call, environment),
            _ => Value::Unknown,
        }
    }

    fn elements(&self, elements: &'a [Expr], environment: &Environment<'a>) -> Option<Vec<Value>> {
        (!elements.iter().any(Expr::is_starred_expr))
            .then(|| elements.iter().map(|element| self.value(element, environment)).collect())
    }

    /// A name that is bound outside the function.
    fn outer(&self, name: &'a ast::ExprName) -> Value {
        if self.depth > DEEPEST {
            return Value::Unknown;
        }
        let Some((binding, owner)) =
            self.evaluator.program.binding(self.scope, &name.id, name.range().start())
        else {
            return Value::Unknown;
        };
        match binding.bound {
            Bound::Value(value) => {
                let frame = Frame { evaluator: self.evaluator, scope: owner, depth: self.depth + 1 };
                match frame.value(value, &Environment::default()) {
                    Value::List(_) | Value::Dict(_) if self.evaluator.is_changed(owner, &name.id) => {
                        Value::Unknown
                    }
                    value => value,
                }
            }
            Bound::Function(_) | Bound::Class(_) => Value::Other,
            Bound::Count => Value::number(DType::Int32),
            Bound::Other => self.evaluator.parameter(owner, binding.range, self.depth),
        }
    }

    fn item(&self, subscript: &'a ast::ExprSubscript, environment: &Environment<'a>) -> Value {
        let value = self.value(&subscript.value, environment);
        let position = natural(&subscript.slice).and_then(|position| usize::try_from(position).ok());
        if let Some(elements) = value.elements() {
            let element = position.and_then(|position| elements.get(position).copied());
            return element.cloned().unwrap_or(Value::Unknown);
        }
        match value {
            Value::Dict(items) => {
                let key = subscript.slice.as_string_literal_expr().map(|key| key.value.to_str());
                let item = items.into_iter().find(|(name, _)| Some(name.as_str()) == key);
                item.map_or(Value::Unknown, |(_, value)| value)
            }
            Value::Leaf(leaf) if let Expr::Slice(slice) = &*subscript.slice => {
                let shape = leaf.shape.and_then(|shape| sliced(&shape, slice));
                let strong = leaf.dtype.map(|(dtype, _)| (dtype, false));
                Value::Leaf(Leaf { dtype: strong, shape, ..Leaf::default() })
            }
            Value::Leaf(leaf) => {
                let shape = leaf.shape.filter(|shape| position.is_some() && !shape.is_empty());
                let shape = shape.map(|shape| shape[1..].to_vec());
                let strong = leaf.dtype.map(|(dtype, _)| (dtype, false));
                Value::Leaf(Leaf { dtype: strong, shape, ..Leaf::default() })
            }
            _ => Value::Unknown,
        }
    }

    fn call(&self, call: &'a ast::ExprCall, environment: &Environment<'a>) -> Value {
        let ctx = self.evaluator.ctx;
        if let Some(name) = ctx.resolve(&call.func) {
            let value = self.library(&name, call, environment);
            // With `jax_enable_x64`, a default dtype or `float` has 64 bits, which abstract values do not record.
            return if self.evaluator.wide { without_dtype(value) } else { value };
        }
        if let Expr::Attribute(method) = &*call.func {
            return self.method(method, call, environment);
        }
        // `jax.grad(loss)(params)` has the structure of the parameters.
        if let Expr::Call(made) = &*call.func
            && ctx.resolve(&made.func).is_some_and(|name| name == "jax.grad")
            && made.arguments.args.len() == 1
            && made.arguments.keywords.is_empty()
        {
            let first = call.arguments.args.first().filter(|argument| !argument.is_starred_expr());
            return first.map_or(Value::Unknown, |first| self.value(first, environment).structure());
        }
        let Some(name) = call.func.as_name_expr() else { return Value::Unknown };
        let known = environment.contains_key(name.id.as_str());
        if let Some(record) = self.record(call, environment).filter(|_| !known) {
            return record;
        }
        match self.evaluator.program.lookup(self.scope, &name.id, name.range().start()) {
            Some((Bound::Function(def), _)) if !known && self.evaluator.returns_as_written(def) => {
                self.call_function(Function::Def(def), &call.arguments, environment)
            }
            Some(_) => Value::Unknown,
            None if known => Value::Unknown,
            None => match name.id.as_str() {
                "len" | "int" => Value::number(DType::Int32),
                "float" => Value::number(DType::Float32),
                "str" | "repr" => Value::Other,
                "abs" => call.arguments.args.first().map_or(Value::Unknown, |it| self.value(it, environment)),
                _ => Value::Unknown,
            },
        }
    }
}

impl<'a> Frame<'_, '_, 'a> {
    /// The result of a function of the file for the arguments of a call.
    fn call_function(
        &self,
        function: Function<'a>,
        arguments: &'a ast::Arguments,
        environment: &Environment<'a>,
    ) -> Value {
        let Some(positional) = self.elements(&arguments.args, environment) else { return Value::Unknown };
        let parameters = function.positional().map(|parameter| parameter.parameter.name.as_str());
        let mut values: Vec<(&str, Value)> = parameters.zip(positional).collect();
        for keyword in &arguments.keywords {
            let Some(name) = &keyword.arg else { return Value::Unknown };
            values.push((name.as_str(), self.value(&keyword.value, environment)));
        }
        self.evaluator.call_with(function, values, self.depth + 1)
    }
}

/// The shape of `x[start:stop]` with literal bounds that are not negative.
fn sliced(shape: &[u64], slice: &ast::ExprSlice) -> Option<Vec<u64>> {
    let (first, rest) = shape.split_first()?;
    let bound = |bound: Option<&Expr>, default: u64| match bound {
        None => Some(default),
        Some(bound) => natural(bound).map(|bound| bound.min(*first)),
    };
    let (start, stop) = (bound(slice.lower.as_deref(), 0)?, bound(slice.upper.as_deref(), *first)?);
    let length = slice.step.is_none().then(|| stop.saturating_sub(start))?;
    Some(std::iter::once(length).chain(rest.iter().copied()).collect())
}

fn bind<'a>(target: &'a Expr, value: &Value, environment: &mut Environment<'a>) {
    match target {
        Expr::Name(name) => {
            environment.insert(&name.id, value.clone());
        }
        Expr::Tuple(ast::ExprTuple { elts, .. }) | Expr::List(ast::ExprList { elts, .. }) => {
            let starred = elts.iter().any(Expr::is_starred_expr);
            let elements = value.elements().filter(|elements| elements.len() == elts.len() && !starred);
            for (position, target) in elts.iter().enumerate() {
                let value = elements.as_ref().and_then(|elements| elements.get(position).copied());
                bind(target, value.unwrap_or(&Value::Unknown), environment);
            }
        }
        Expr::Starred(starred) => bind(&starred.value, &Value::Unknown, environment),
        // `state["x"] = v` changes the object that the name is bound to.
        Expr::Subscript(subscript) => bind(&subscript.value, &Value::Unknown, environment),
        Expr::Attribute(attribute) => bind(&attribute.value, &Value::Unknown, environment),
        _ => {}
    }
}

/// Functions that never return.
const ENDS: [&str; 5] = ["sys.exit", "os._exit", "os.abort", "pytest.fail", "pytest.skip"];

/// Whether a function always raises.
fn raises(def: &ast::StmtFunctionDef) -> bool {
    let returns = blocks::statements(&def.body).into_iter().any(Stmt::is_return_stmt);
    !returns && !blocks::may_complete(&def.body, &|_| false)
}

/// Whether a method has no body of its own, so that derived classes replace it: `pass`, `...`, `raise
/// NotImplementedError`.
fn is_stub(def: &ast::StmtFunctionDef) -> bool {
    def.body.iter().all(|statement| match statement {
        Stmt::Pass(_) | Stmt::Raise(_) => true,
        Stmt::Expr(expression) => expression.value.is_literal_expr(),
        _ => false,
    })
}
