//! Roots: decorators, calls and Keras methods that start staging, found from syntax and imports.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::assumptions::RootOptions;
use crate::callbacks;
use crate::dialect::{Dialect, RootKind};
use crate::ids::{ClassIndex, Code, FunctionIndex};
use crate::index::FileIndex;
use crate::keras_functions;
use crate::static_arguments::{MoreStatic, StaticArguments};
use ag_syntax::expressions::{self, ExprId};
use ag_syntax::imports::Imports;

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
    /// AutoGraph converts the function.
    pub converts: bool,
    pub static_arguments: StaticArguments,
    pub options: RootOptions,
    /// The id of the expression in `scope` that refers to the function.
    pub expression: Option<ExprId>,
    /// The id of the receiver, which must be a Dataset for this to be a root.
    pub receiver: Option<ExprId>,
}

/// The function that becomes a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootTarget {
    /// A function of the same file.
    Own(FunctionIndex),
    /// The function that an expression refers to: resolved by name if possible, else by type.
    Reference(Reference),
}

/// The syntax of an expression that refers to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    Name(Name),
    /// `self.method`.
    SelfAttribute(Name),
    /// `make_loss(0.5)`: the function that a function returns.
    Result(Name),
    Other,
}

/// A root site whose expressions have no ids yet.
pub struct Found {
    pub site: RootSite,
    pub function: Option<*const Expr>,
    pub receiver: Option<*const Expr>,
    is_lambda: bool,
}

/// A public function or decorator that makes its argument a root.
struct RootMaker {
    name: &'static str,
    dialect: Dialect,
    kind: RootKind,
}

const fn maker(name: &'static str, dialect: Dialect, kind: RootKind) -> RootMaker {
    RootMaker { name, dialect, kind }
}

/// What `tff.tensorflow.computation` is called inside of its package.
const TFF_COMPUTATION: &str =
    "tensorflow_federated.python.core.environments.tensorflow_frontend.tensorflow_computation.tf_computation";

/// They are decorators, or calls whose first argument is the function.
static MAKERS: &[RootMaker] = &[
    maker("tensorflow.function", Dialect::Tensorflow, RootKind::Function),
    maker("tensorflow.autograph.to_graph", Dialect::Tensorflow, RootKind::Convert),
    // Wrappers of `tf.function` that libraries publish.
    maker("tf_agents.utils.common.function", Dialect::Tensorflow, RootKind::Function),
    maker("tf_agents.utils.common.function_in_tf1", Dialect::Tensorflow, RootKind::Function),
    maker("tensorflow_federated.tensorflow.computation", Dialect::Tensorflow, RootKind::Function),
    maker(TFF_COMPUTATION, Dialect::Tensorflow, RootKind::Function),
    maker("autograph.convert", Dialect::Autograph, RootKind::Convert),
    maker("autograph.function", Dialect::Autograph, RootKind::Function),
    maker("autograph.to_graph", Dialect::Autograph, RootKind::Convert),
    maker("torch.compile", Dialect::Torch, RootKind::TorchCompile),
    maker("torch.jit.script", Dialect::Torch, RootKind::TorchScript),
    maker("torch.jit.script_method", Dialect::Torch, RootKind::TorchScript),
    maker("torch.jit.script_if_tracing", Dialect::Torch, RootKind::TorchScript),
    maker("torch.jit._script_if_tracing", Dialect::Torch, RootKind::TorchScript),
    maker("torch.jit.export", Dialect::Torch, RootKind::TorchScript),
    maker("torch.jit.trace", Dialect::Torch, RootKind::TorchTrace),
    maker("torch.jit.trace_module", Dialect::Torch, RootKind::TorchTrace),
    maker("torch.export.export", Dialect::Torch, RootKind::TorchExport),
    maker("torch.export", Dialect::Torch, RootKind::TorchExport),
    maker("jax.jit", Dialect::Jax, RootKind::JaxJit),
    maker("jax.pmap", Dialect::Jax, RootKind::JaxJit),
    maker("jax.vmap", Dialect::Jax, RootKind::JaxVmap),
    maker("jax.experimental.pjit.pjit", Dialect::Jax, RootKind::JaxJit),
    maker("equinox.filter_jit", Dialect::Jax, RootKind::JaxJit),
    maker("flax.nnx.jit", Dialect::Jax, RootKind::JaxJit),
    maker("pennylane.qjit", Dialect::Pennylane, RootKind::Qjit),
    maker("catalyst.qjit", Dialect::Pennylane, RootKind::Qjit),
    maker("malt.to_graph", Dialect::Pennylane, RootKind::Convert),
    maker("malt.convert", Dialect::Pennylane, RootKind::Convert),
];

fn maker_of(imports: &Imports, expression: &Expr) -> Option<&'static RootMaker> {
    maker_named(&imports.resolve(expression)?)
}

/// The dialect of a function that wraps another one, and the kind of root it makes; `None` for a transparent
/// wrapper, which does not stage.
pub fn wrapper(name: &str) -> Option<(Dialect, Option<RootKind>)> {
    match maker_named(name) {
        Some(maker) if maker.dialect != Dialect::Torch => Some((maker.dialect, Some(maker.kind))),
        Some(_) => None,
        None => TRANSPARENT.contains(&name).then_some((Dialect::Jax, None)),
    }
}

fn maker_named(name: &str) -> Option<&'static RootMaker> {
    MAKERS.iter().find(|maker| maker.name == name)
}

/// `@tf.function`, `@tf.function(jit_compile=True)`, `@partial(jax.jit, static_argnums=0)`.
pub fn of_decorator(
    imports: &Imports,
    decorator: &ast::Decorator,
    function: FunctionIndex,
    scope: Code,
) -> Option<RootSite> {
    let (maker, arguments) = match &decorator.expression {
        Expr::Call(call) if is_partial(imports, &call.func) => {
            (maker_of(imports, call.arguments.args.first()?)?, Some(&call.arguments))
        }
        Expr::Call(call) => (maker_of(imports, &call.func)?, Some(&call.arguments)),
        other => (maker_of(imports, other)?, None),
    };
    site(maker, arguments, RootTarget::Own(function), decorator.range(), scope)
}

/// `tf.function(f)`, `jax.jit(partial(f, …))`, `tf.function(jit_compile=True)(f)`, `lax.scan(f, …)`,
/// `dataset.map(f)`.
///
/// Lambdas are no roots; their decisions belong to the enclosing function.
pub fn of_call(imports: &Imports, call: &ast::ExprCall, scope: Code) -> Vec<Found> {
    let mut found = all_of_call(imports, call, scope);
    found.retain(|found| !found.is_lambda);
    found
}

fn all_of_call(imports: &Imports, call: &ast::ExprCall, scope: Code) -> Vec<Found> {
    let found = |site: RootSite, function: &Expr, receiver: Option<&Expr>| Found {
        site,
        function: Some(std::ptr::from_ref(function)),
        receiver: receiver.map(std::ptr::from_ref),
        is_lambda: function.is_lambda_expr(),
    };
    let callee = imports.resolve(&call.func);
    if let Some(maker) = callee.as_deref().and_then(maker_named) {
        const KEYWORDS: [&str; 7] = ["func", "fun", "f", "fn", "obj", "mod", "model"];
        let function = call.arguments.args.first().or_else(|| {
            KEYWORDS.iter().find_map(|keyword| Some(&call.arguments.find_keyword(keyword)?.value))
        });
        let Some(function) = function.map(|function| innermost(imports, function)) else {
            return Vec::new();
        };
        let target = RootTarget::Reference(reference(function));
        let site = site(maker, Some(&call.arguments), target, call.range(), scope);
        return site.map(|site| found(site, function, None)).into_iter().collect();
    }
    // `tf.function(jit_compile=True)(f)`
    if let Expr::Call(inner) = call.func.as_ref()
        && let Some(maker) = maker_of(imports, &inner.func)
        && inner.arguments.args.is_empty()
        && let Some(function) = call.arguments.args.first()
    {
        let function = innermost(imports, function);
        let target = RootTarget::Reference(reference(function));
        let site = site(maker, Some(&inner.arguments), target, call.range(), scope);
        return site.map(|site| found(site, function, None)).into_iter().collect();
    }
    let plain = |function: &Expr, dialect, kind, converts| RootSite {
        target: RootTarget::Reference(reference(function)),
        scope,
        dialect,
        kind,
        range: call.range(),
        converts,
        static_arguments: StaticArguments::default(),
        options: RootOptions::default(),
        expression: None,
        receiver: None,
    };
    if let Some(caller) = callee.as_deref().and_then(callbacks::caller) {
        return caller
            .functions_of(call)
            .into_iter()
            .map(|function| {
                let function = innermost(imports, function);
                let site = plain(function, caller.dialect, RootKind::ControlFlowBody, caller.converts);
                found(site, function, None)
            })
            .collect();
    }
    let given = keras_functions::given(imports, call, callee.as_deref());
    if !given.is_empty() {
        let dialect = if imports.uses("tf_keras") { Dialect::Tensorflow } else { Dialect::Keras };
        let site = |given: keras_functions::Given| {
            let function = innermost(imports, given.function);
            let site = plain(function, dialect, given.kind, dialect.converts());
            found(site, function, None)
        };
        return given.into_iter().map(site).collect();
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

/// The function that wrappers wrap: `functools.partial(f, …)`, `jax.grad(f)` -> `f`.
fn innermost<'a>(imports: &Imports, mut expression: &'a Expr) -> &'a Expr {
    while let Expr::Call(call) = expression
        && (is_partial(imports, &call.func)
            || maker_of(imports, &call.func).is_some()
            || is_transparent(imports, &call.func))
        && let Some(inner) = call.arguments.args.first()
    {
        expression = inner;
    }
    expression
}

/// `f` -> Name, `self.f` -> `SelfAttribute`, `make()` -> `Result`.
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

fn is_partial(imports: &Imports, callee: &Expr) -> bool {
    imports.resolve(callee).is_some_and(|name| name == "functools.partial" || name == "jax.tree_util.Partial")
}

/// Transformations that do not stage by themselves, only as arguments of a root: `jax.jit(jax.grad(f))`.
const TRANSPARENT: [&str; 8] = [
    "jax.grad",
    "jax.value_and_grad",
    "jax.vmap",
    "jax.jacfwd",
    "jax.jacrev",
    "jax.hessian",
    "jax.checkpoint",
    "jax.remat",
];

fn is_transparent(imports: &Imports, callee: &Expr) -> bool {
    imports.resolve(callee).is_some_and(|name| TRANSPARENT.contains(&name.as_str()))
}

fn site(
    maker: &RootMaker,
    arguments: Option<&ast::Arguments>,
    target: RootTarget,
    range: TextRange,
    scope: Code,
) -> Option<RootSite> {
    let mut options = RootOptions::default();
    let mut static_arguments = StaticArguments::default();
    let mut converts = maker.dialect.converts();
    let mut autograph = None;
    for keyword in arguments.iter().flat_map(|arguments| arguments.keywords.iter()) {
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
            "fullgraph" => options.full_graph = boolean(value) == Some(true),
            "static_argnames" | "static_argnums" | "static_broadcasted_argnums" => {
                static_arguments.add(value)
            }
            "in_axes" => static_arguments.add_unmapped(value),
            "disable" if boolean(value) == Some(true) => return None,
            _ => {}
        }
    }
    if maker.name == "equinox.filter_jit" {
        // Only arrays are traced; other arguments stay Python values.
        static_arguments.more = Some(MoreStatic::Other);
    }
    if maker.kind == RootKind::JaxVmap
        && let Some(in_axes) = arguments.and_then(|arguments| arguments.args.get(1))
    {
        static_arguments.add_unmapped(in_axes);
    }
    match maker.kind {
        RootKind::Qjit => {
            // Without `autograph=True` qjit does not convert.
            converts = autograph == Some(true);
        }
        _ if autograph == Some(false) => converts = false,
        _ => {}
    }
    Some(RootSite {
        target,
        scope,
        dialect: maker.dialect,
        kind: maker.kind,
        range,
        converts,
        static_arguments,
        options,
        expression: None,
        receiver: None,
    })
}

fn boolean(value: &Expr) -> Option<bool> {
    value.as_boolean_literal_expr().map(|literal| literal.value)
}

/// `Feature.ALL`, `[Feature.LISTS, Feature.ASSERT_STATEMENTS]` -> the last names. [`name_features`] resolves
/// variables.
fn attribute_names(value: &Expr) -> Vec<Name> {
    let name = |element: &Expr| match element {
        Expr::Attribute(attribute) => attribute.attr.id.clone(),
        Expr::Name(name) => name.id.clone(),
        _ => Name::new_static("ALL"),
    };
    expressions::elements(value).iter().map(name).collect()
}

/// Resolves features that the module assigns to a variable, `OPTIONAL = tf.autograph.experimental.Feature.LISTS`.
/// Any other variable may contain all features.
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

/// Resolves static arguments that the module assigns to a variable, `STATIC = ("mode",)`.
pub fn resolve_static_arguments(index: &mut FileIndex, body: &[ast::Stmt]) {
    for site in &mut index.roots {
        site.static_arguments.resolve(|name| assigned(body, name));
    }
}

/// The last value that the module assigns to a name.
fn assigned<'a>(body: &'a [ast::Stmt], name: &Name) -> Option<&'a Expr> {
    let mut assignments = body.iter().rev().filter_map(ast::Stmt::as_assign_stmt);
    assignments.find_map(|assign| match assign.targets.as_slice() {
        [Expr::Name(target)] if target.id == *name => Some(&*assign.value),
        _ => None,
    })
}

/// Keras classes and the methods that Keras calls while tracing.
const KERAS_METHODS: &[(&str, &[&str])] = &[
    ("Layer", &["call"]),
    ("Model", &["call", "train_step", "test_step", "predict_step", "compute_loss"]),
    ("Sequential", &["train_step", "test_step", "predict_step"]),
    ("Loss", &["call"]),
    ("Metric", &["update_state", "result"]),
    ("Cell", &["call"]),
];

/// Adds the methods of the file's Keras classes. Bases in the same file are resolved here, bases in other files by
/// `ag-staging`'s `hierarchy`.
pub fn add_methods(index: &mut FileIndex) {
    if index.definitions.classes.is_empty()
        || !(index.imports.uses("keras")
            || index.imports.uses("tf_keras")
            || index.imports.uses("tensorflow"))
    {
        return;
    }
    let mut sites = Vec::new();
    for class in index.definitions.classes.indices() {
        let Some(keras) = keras_base(index, class, 0) else { continue };
        sites.extend(keras_methods(index, class, keras));
    }
    // A `@tf.function` on the method itself comes earlier in the list and takes precedence.
    index.roots.extend(sites);
}

/// The Keras library and the methods of a class that Keras calls while tracing.
pub type KerasClass = (&'static str, &'static [&'static str]);

/// The root sites of a Keras class's methods.
pub fn keras_methods(
    index: &FileIndex,
    class: ClassIndex,
    (library, methods): KerasClass,
) -> impl Iterator<Item = RootSite> + '_ {
    let own = index.definitions.classes.get(class).into_iter().flat_map(|class| &class.methods);
    let traced = own.filter(move |method| methods.contains(&index.short_name(**method)));
    traced.filter_map(move |method| {
        let entry = index.definitions.functions.get(*method)?;
        Some(RootSite {
            target: RootTarget::Own(*method),
            scope: Code::Module,
            dialect: if library == "tf_keras" { Dialect::Tensorflow } else { Dialect::Keras },
            kind: RootKind::KerasMethod,
            range: entry.name_range,
            converts: library == "tf_keras",
            static_arguments: StaticArguments::default(),
            options: RootOptions::default(),
            expression: None,
            receiver: None,
        })
    })
}

/// The Keras class that a file's class derives from.
fn keras_base(index: &FileIndex, class: ClassIndex, depth: usize) -> Option<KerasClass> {
    if depth > 8 {
        return None;
    }
    let entry = index.definitions.classes.get(class)?;
    entry.bases.iter().find_map(|base| {
        let (head, tail) = base.split_once('.').map_or((&**base, None), |(head, tail)| (head, Some(tail)));
        if let Some(imported) = index.imports.get(head) {
            return match tail {
                Some(tail) => keras_class(&format!("{imported}.{tail}")),
                None => keras_class(imported),
            };
        }
        if tail.is_some() {
            return None;
        }
        let mut before = index.definitions.classes.iter_enumerated().take(class.as_usize()).rev();
        let (base_class, _) = before.find(|(_, candidate)| candidate.qualname == head)?;
        keras_base(index, base_class, depth + 1)
    })
}

/// The Keras class of a dotted name: `keras.Layer`, `tf_keras.layers.Dense`.
pub fn keras_class(dotted: &str) -> Option<KerasClass> {
    let dotted = dotted.replace("tensorflow.keras", "keras");
    let library = match dotted.split('.').next()? {
        "keras" => "keras",
        "tf_keras" => "tf_keras",
        _ => return None,
    };
    let name = dotted.rsplit('.').next()?;
    let (_, methods) = KERAS_METHODS.iter().find(|(class, _)| *class == name).or_else(|| {
        // Concrete layers, metrics and losses: `keras.layers.Dense`.
        let class = match dotted.rsplit('.').nth(1)? {
            "layers" => "Layer",
            "metrics" => "Metric",
            "losses" => "Loss",
            _ => return None,
        };
        KERAS_METHODS.iter().find(|(known, _)| *known == class)
    })?;
    Some((library, *methods))
}
