//! Roots: decorators and calls that start tracing, found from syntax and imports. Methods that are roots are in
//! [`crate::keras_classes`].

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::aliases::DecoratorAliases;
use crate::assumptions::RootOptions;
use crate::callbacks::{self, Tracing};
use crate::dialect::{Dialect, RootKind};
use crate::ids::{Code, FunctionIndex};
use crate::index::FileIndex;
use crate::keras_functions;
use crate::root_decorators;
use crate::static_arguments::{MoreStatic, StaticArgument, StaticArguments};
use ag_syntax::expressions::{self, ExprId};
use ag_syntax::imports::Imports;

/// More arguments than a function in a `Lambda` layer has.
const MAX_LAMBDA_ARGUMENTS: u32 = 16;

/// A decorator, call or method that makes a function a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootSite {
    pub target: RootTarget,
    /// The enclosing function, or the module's own code.
    pub scope: Code,
    pub dialect: Dialect,
    pub kind: RootKind,
    /// The decorator or call, or the method's name.
    pub range: TextRange,
    /// Whether AutoGraph converts the function.
    pub converts: bool,
    pub static_arguments: StaticArguments,
    pub options: RootOptions,
    /// The id of the expression that refers to the function, in `scope`.
    pub expression: Option<ExprId>,
    /// The id of the receiver in a call such as `data.map(f)`. The call is a root only if the receiver is a Dataset.
    pub receiver: Option<ExprId>,
    /// Whether the function is a root only if `scope` is staged: [`callbacks::Tracing::InStagedCode`].
    pub in_staged_code: bool,
}

/// The function that becomes a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootTarget {
    /// A function of the same file.
    Own(FunctionIndex),
    /// The function to which an expression refers. It is resolved by name if possible, otherwise by type.
    Reference(Reference),
}

/// The syntax of an expression that refers to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Name(Name),
    /// `self.method`.
    SelfAttribute(Name),
    /// `make_loss(0.5)`: the function that `make_loss` returns.
    Result(Name),
    Other,
}

/// A root site whose expressions do not have ids yet.
pub struct Found {
    pub site: RootSite,
    pub function: Option<*const Expr>,
    pub receiver: Option<*const Expr>,
    is_lambda: bool,
}

/// Returns whether a call of `torch.vmap(f, in_dims, out_dims, randomness)` allows random numbers.
pub(crate) fn allows_randomness(arguments: &ast::Arguments) -> bool {
    let mode = arguments.find_argument_value("randomness", 3);
    mode.is_some_and(|mode| mode.as_string_literal_expr().is_none_or(|mode| mode.value.to_str() != "error"))
}

/// Returns the dialect of a function that wraps another one, and the kind of root that the wrapped function becomes.
/// The kind is `None` for a transparent wrapper, which does not start tracing.
pub fn wrapper(name: &str) -> Option<(Dialect, Option<RootKind>)> {
    match root_decorators::named(name) {
        Some(decorator) if decorator.dialect != Dialect::Torch || decorator.kind == RootKind::TorchVmap => {
            Some((decorator.dialect, Some(decorator.kind)))
        }
        Some(_) => None,
        None => root_decorators::is_transparent(name).then_some((Dialect::Jax, None)),
    }
}

/// Returns the dialect and the kind of root for any function that [`wrapper`] knows, and also for the wrappers of torch
/// and for root decorators.
pub fn wrapper_of_any(name: &str) -> Option<(Dialect, Option<RootKind>)> {
    match root_decorators::named(name) {
        Some(decorator) if root_decorators::takes_options(decorator.name) => None,
        Some(decorator) => Some((decorator.dialect, Some(decorator.kind))),
        None => wrapper(name),
    }
}

/// Returns the root that a decorator declares: `@tf.function`, `@tf.function(jit_compile=True)`,
/// `@partial(jax.jit, static_argnums=0)`.
pub fn of_decorator<'a>(
    (imports, decorators): (&Imports, &DecoratorAliases<'a>),
    decorator: &'a ast::Decorator,
    function: FunctionIndex,
    scope: Code,
) -> Option<RootSite> {
    let resolved = decorators.resolve(imports, &decorator.expression)?;
    site(resolved.decorator, &resolved.arguments, RootTarget::Own(function), decorator.range(), scope)
}

/// Returns the roots that a call declares: `tf.function(f)`, `jax.jit(partial(f, …))`,
/// `tf.function(jit_compile=True)(f)`, `lax.scan(f, …)`, `dataset.map(f)`.
///
/// Lambdas are not roots; their decisions belong to the enclosing function.
pub fn of_call<'a>(
    decorators: (&Imports, &DecoratorAliases<'a>),
    call: &'a ast::ExprCall,
    scope: Code,
) -> Vec<Found> {
    let mut found = all_of_call(decorators, call, scope);
    found.retain(|found| !found.is_lambda);
    found
}

fn all_of_call<'a>(
    (imports, decorators): (&Imports, &DecoratorAliases<'a>),
    call: &'a ast::ExprCall,
    scope: Code,
) -> Vec<Found> {
    let found = |site: RootSite, function: &Expr, receiver: Option<&Expr>| Found {
        site,
        function: Some(std::ptr::from_ref(function)),
        receiver: receiver.map(std::ptr::from_ref),
        is_lambda: function.is_lambda_expr(),
    };
    let callee = imports.resolve(&call.func);
    // `jax.jit(f)`, `tf.function(jit_compile=True)(f)`, `map(jax.jit, (f, g))`
    let is_map = callee.is_none() && call.func.as_name_expr().is_some_and(|name| name.id == "map");
    let decorator = if is_map { call.arguments.args.first() } else { Some(&*call.func) };
    if let Some(mut resolved) = decorator.and_then(|decorator| decorators.resolve(imports, decorator)) {
        resolved.arguments.push(&call.arguments);
        let given = match is_map {
            true => call.arguments.args.get(1),
            false => {
                call.arguments.args.first().or_else(|| root_decorators::function_keyword(&call.arguments))
            }
        };
        let functions = given.into_iter().flat_map(|given| functions_in(imports, given, 4));
        return functions
            .filter_map(|function| {
                let target = RootTarget::Reference(reference(function));
                let mut site = site(resolved.decorator, &resolved.arguments, target, call.range(), scope)?;
                site.static_arguments.skip_given_arguments(
                    given.map_or(0, |given| root_decorators::given_by_partial(imports, given)),
                );
                Some(found(site, function, None))
            })
            .collect();
    }
    // `model.compile()`, if the type of `model` is `nn.Module`
    if let Expr::Attribute(attribute) = &*call.func
        && attribute.attr.as_str() == "compile"
        && imports.uses("torch")
        && imports.resolve(&attribute.value).is_none()
        && !attribute.value.is_literal_expr()
        && let Some(decorator) = root_decorators::named("torch.compile")
    {
        let target = RootTarget::Reference(Reference::Other);
        let site = site(decorator, &[&call.arguments], target, call.range(), scope);
        return site.map(|site| found(site, &attribute.value, None)).into_iter().collect();
    }
    let plain = |function: &Expr, dialect: Dialect, kind, converts| RootSite {
        target: RootTarget::Reference(reference(function)),
        scope,
        dialect,
        kind,
        range: call.range(),
        converts,
        static_arguments: StaticArguments::default(),
        // Operators such as `torch.cond` compile their functions without graph breaks.
        options: RootOptions { full_graph: dialect == Dialect::Torch, ..RootOptions::default() },
        expression: None,
        receiver: None,
        in_staged_code: false,
    };
    if let Some(caller) = callee
        .as_deref()
        .and_then(callbacks::higher_order_function)
        .filter(|caller| caller.tracing != Tracing::Never)
    {
        // In a file for TensorFlow 1, all code builds a graph.
        let in_staged_code = caller.tracing == Tracing::InStagedCode && !imports.uses("tensorflow.compat.v1");
        return caller
            .functions_of(call)
            .into_iter()
            .flat_map(|function| functions_in(imports, function, 4))
            .map(|function| {
                let mut site = plain(function, caller.dialect, caller.kind, caller.converts);
                site.options.when_jitted = caller.tracing == Tracing::WhenJitted;
                let site = RootSite { in_staged_code, ..site };
                found(site, function, None)
            })
            .collect();
    }
    if callee.as_deref().is_some_and(|name| root_decorators::DIFFERENTIATING.contains(&name)) {
        let given = call.arguments.args.first();
        let mut static_arguments = StaticArguments::default();
        static_arguments.differentiate(callbacks::argument(call, 1, "argnums"));
        let functions = given.into_iter().flat_map(|given| functions_in(imports, given, 1));
        return functions
            .map(|function| {
                let site = plain(function, Dialect::Jax, RootKind::JaxGrad, false);
                found(RootSite { static_arguments: static_arguments.clone(), ..site }, function, None)
            })
            .collect();
    }
    if let Some(hook) = callbacks::registered_hook(call)
        && imports.uses("torch")
    {
        // The first argument of the hook is the module.
        let static_arguments =
            StaticArguments { listed: vec![StaticArgument::at(0)], ..StaticArguments::default() };
        let site = plain(hook, Dialect::Torch, RootKind::TorchCompile, false);
        return vec![found(RootSite { static_arguments, ..site }, hook, None)];
    }
    let passed = keras_functions::passed_functions(imports, call, callee.as_deref());
    if !passed.is_empty() {
        let dialect = if imports.uses("tf_keras") { Dialect::Tensorflow } else { Dialect::Keras };
        let site = |passed: keras_functions::PassedFunction| {
            let function = innermost(imports, passed.function);
            let mut site = plain(function, dialect, passed.kind, dialect.converts());
            // `Lambda(f, arguments={"axis": 1})` calls `f(x, axis=1)`.
            if call.arguments.find_keyword("arguments").is_some() {
                site.static_arguments.listed = (1..=MAX_LAMBDA_ARGUMENTS).map(StaticArgument::at).collect();
            }
            found(site, function, None)
        };
        return passed.into_iter().map(site).collect();
    }
    if let Some(method) = callbacks::dataset_method(call)
        && imports.uses("tensorflow")
    {
        let function = innermost(imports, method.function);
        let site = plain(function, Dialect::Tensorflow, RootKind::DatasetCallback, true);
        return vec![found(site, function, Some(method.receiver))];
    }
    Vec::new()
}

/// Returns the function inside wrappers: `f` for `functools.partial(f, …)` and `jax.grad(f)`.
pub fn innermost<'a>(imports: &Imports, mut expression: &'a Expr) -> &'a Expr {
    loop {
        expression = match expression {
            Expr::Call(call)
                if wraps(imports, &call.func)
                    && let Some(inner) = call
                        .arguments
                        .args
                        .first()
                        .or_else(|| root_decorators::function_keyword(&call.arguments)) =>
            {
                inner
            }
            // `hk.transform(f).apply`
            Expr::Attribute(attribute)
                if matches!(attribute.attr.as_str(), "apply" | "init")
                    && let Expr::Call(call) = &*attribute.value
                    && wraps(imports, &call.func)
                    && !call.arguments.args.is_empty() =>
            {
                &attribute.value
            }
            _ => return expression,
        };
    }
}

/// Returns whether a call of `callee` returns a function that calls the first argument of this call.
pub fn wraps(imports: &Imports, callee: &Expr) -> bool {
    root_decorators::is_partial(imports, callee)
        || imports.resolve(callee).is_some_and(|name| {
            let decorator = root_decorators::named(&name);
            decorator.is_some_and(|decorator| !root_decorators::takes_options(decorator.name))
                || root_decorators::is_transparent(&name)
        })
        // `torch._dynamo.optimize("eager")(f)`
        || matches!(callee, Expr::Call(call)
            if imports.resolve(&call.func).is_some_and(|name| root_decorators::takes_options(&name)))
        // `jax.named_scope("step")(f)`
        || matches!(callee, Expr::Call(call)
            if root_decorators::resolves_to(imports, &call.func, &["jax.named_scope"])
                || root_decorators::is_partial(imports, &call.func)
                    && call.arguments.args.first().is_some_and(|inner| wraps(imports, inner)))
}

/// Returns the functions to which an argument may evaluate: `f if fast else g`, `[f, g]`.
fn functions_in<'a>(imports: &Imports, expression: &'a Expr, depth: u8) -> Vec<&'a Expr> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let within = |expressions: &[&'a Expr]| {
        expressions.iter().flat_map(|inner| functions_in(imports, inner, depth)).collect()
    };
    match expression {
        Expr::If(conditional) => within(&[&conditional.body, &conditional.orelse]),
        Expr::BoolOp(operation) => within(&operation.values.iter().collect::<Vec<_>>()),
        Expr::List(list) => within(&list.elts.iter().collect::<Vec<_>>()),
        Expr::Tuple(tuple) => within(&tuple.elts.iter().collect::<Vec<_>>()),
        Expr::Starred(starred) => within(&[&starred.value]),
        Expr::Named(named) => within(&[&named.value]),
        _ => match innermost(imports, expression) {
            inner if std::ptr::eq(inner, expression) => vec![expression],
            inner => functions_in(imports, inner, depth),
        },
    }
}

/// Returns how an expression refers to a function: `f` -> `Name`, `self.f` -> `SelfAttribute`, `make()` -> `Result`.
pub fn reference(expression: &Expr) -> Reference {
    match expression {
        Expr::Name(name) => Reference::Name(name.id.clone()),
        Expr::Attribute(attribute) => match attribute.value.as_ref() {
            Expr::Name(name) if name.id == "self" => Reference::SelfAttribute(attribute.attr.id.clone()),
            _ => Reference::Other,
        },
        Expr::Call(call) => match call.func.as_ref() {
            Expr::Name(name) => Reference::Result(name.id.clone()),
            _ => Reference::Other,
        },
        _ => Reference::Other,
    }
}

fn site(
    decorator: &root_decorators::RootDecorator,
    arguments: &[&ast::Arguments],
    target: RootTarget,
    range: TextRange,
    scope: Code,
) -> Option<RootSite> {
    let mut options = RootOptions {
        all_arguments: root_decorators::traces_all_arguments(decorator.name),
        lifts_classes: root_decorators::lifts_classes(decorator.name),
        full_graph: decorator.name == "torch._dynamo.optimize_assert",
        ..RootOptions::default()
    };
    let mut static_arguments = StaticArguments::default();
    let mut converts = decorator.dialect.converts();
    let mut autograph = None;
    for keyword in arguments.iter().flat_map(|arguments| &arguments.keywords) {
        let value = &keyword.value;
        let Some(name) = &keyword.arg else {
            // `jax.jit(f, **options)`
            static_arguments.more = Some(MoreStatic::Other);
            continue;
        };
        match name.as_str() {
            "autograph" => autograph = boolean(value),
            "input_signature" => options.input_signature = !value.is_none_literal_expr(),
            "experimental_autograph_options" => options.features = attribute_names(value),
            "fullgraph" | "nopython" => options.full_graph = boolean(value) == Some(true),
            "static_argnames" | "static_argnums" | "static_broadcasted_argnums" => {
                static_arguments.add(value)
            }
            "in_axes" | "in_dims" => static_arguments.add_unmapped(value),
            "disable" if boolean(value) == Some(true) => return None,
            // `dynamo=False` selects TorchScript's exporter, which records one run of the function.
            "dynamo" if boolean(value) == Some(false) => return None,
            _ => {}
        }
    }
    if root_decorators::traces_some_arguments(decorator.name) {
        static_arguments.more = Some(MoreStatic::Other);
    }
    options.randomness = decorator.kind == RootKind::TorchVmap
        && arguments.last().is_some_and(|arguments| allows_randomness(arguments));
    if matches!(decorator.kind, RootKind::JaxVmap | RootKind::TorchVmap)
        && let Some(in_axes) = arguments.last().and_then(|arguments| arguments.args.get(1))
    {
        static_arguments.add_unmapped(in_axes);
    }
    match decorator.kind {
        RootKind::Qjit => {
            // Without `autograph=True` qjit does not convert.
            converts = autograph == Some(true);
        }
        _ if autograph == Some(false) || decorator.name == "tensorflow.wrap_function" => converts = false,
        _ => {}
    }
    Some(RootSite {
        target,
        scope,
        dialect: decorator.dialect,
        kind: decorator.kind,
        range,
        converts,
        static_arguments,
        options,
        expression: None,
        receiver: None,
        in_staged_code: false,
    })
}

fn boolean(value: &Expr) -> Option<bool> {
    value.as_boolean_literal_expr().map(|literal| literal.value)
}

/// Returns the last parts of the names in `Feature.ALL` or `[Feature.LISTS, Feature.ASSERT_STATEMENTS]`.
/// [`name_features`] resolves variables.
fn attribute_names(value: &Expr) -> Vec<Name> {
    let name = |element: &Expr| match element {
        Expr::Attribute(attribute) => attribute.attr.id.clone(),
        Expr::Name(name) => name.id.clone(),
        _ => Name::new_static("ALL"),
    };
    expressions::elements(value).iter().map(name).collect()
}

/// Resolves features that are given as a variable of the module: `OPTIONAL = tf.autograph.experimental.Feature.LISTS`.
/// A variable that is not resolved may contain all features.
pub fn name_features(index: &mut FileIndex, body: &[ast::Stmt]) {
    const FEATURES: [&str; 7] = [
        "ALL",
        "AUTO_CONTROL_DEPS",
        "ASSERT_STATEMENTS",
        "BUILTIN_FUNCTIONS",
        "EQUALITY_OPERATORS",
        "LISTS",
        "NAME_SCOPES",
    ];
    let constant = |name: &Name| assigned(body, name).map(attribute_names);
    for features in index.roots.iter_mut().map(|site| &mut site.options.features) {
        *features = features
            .iter()
            .flat_map(|name| constant(name).unwrap_or_else(|| vec![name.clone()]))
            .map(|name| if FEATURES.contains(&name.as_str()) { name } else { Name::new_static("ALL") })
            .collect();
    }
}

/// Resolves static arguments that are given as a variable of the module: `STATIC = ("mode",)`.
pub fn resolve_static_arguments(index: &mut FileIndex, body: &[ast::Stmt]) {
    for site in &mut index.roots {
        site.static_arguments.resolve(|name| assigned(body, name));
    }
}

/// Returns the last value that the module assigns to a name.
fn assigned<'a>(body: &'a [ast::Stmt], name: &Name) -> Option<&'a Expr> {
    let mut assignments = body.iter().rev().filter_map(ast::Stmt::as_assign_stmt);
    assignments.find_map(|assign| match assign.targets.as_slice() {
        [Expr::Name(target)] if target.id == *name => Some(&*assign.value),
        _ => None,
    })
}
