//! Roots: decorators, calls and Keras methods that start staging, found from syntax and imports.

use std::sync::LazyLock;

use ruff_python_ast::name::Name;
use ruff_python_ast::statement_visitor::{self, StatementVisitor};
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::assumptions::RootOptions;
use crate::callbacks;
use crate::dialect::{Dialect, RootKind};
use crate::ids::{ClassIndex, Code, FunctionIndex};
use crate::index::FileIndex;
use crate::keras_functions;
use crate::makers;
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
pub(crate) struct RootMaker {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) kind: RootKind,
}

pub(crate) const fn maker(name: &'static str, dialect: Dialect, kind: RootKind) -> RootMaker {
    RootMaker { name, dialect, kind }
}

fn maker_named(name: &str) -> Option<&'static RootMaker> {
    // A file has thousands of names to look up.
    static BY_NAME: LazyLock<FxHashMap<&str, &RootMaker>> =
        LazyLock::new(|| makers::MAKERS.iter().map(|maker| (maker.name, maker)).collect());
    BY_NAME.get(name).copied()
}

/// Whether a file imports a package with functions that stage.
fn imports_makers(imports: &Imports) -> bool {
    static PACKAGES: LazyLock<FxHashSet<&str>> =
        LazyLock::new(|| makers::MAKERS.iter().filter_map(|maker| maker.name.split('.').next()).collect());
    imports
        .dotted_names()
        .any(|name| name.split('.').next().is_some_and(|package| PACKAGES.contains(package)))
}

/// The dialect of a function that wraps another one, and the kind of root it makes; `None` for a transparent
/// wrapper, which does not stage.
pub fn wrapper(name: &str) -> Option<(Dialect, Option<RootKind>)> {
    match maker_named(name) {
        Some(maker) if maker.dialect != Dialect::Torch => Some((maker.dialect, Some(maker.kind))),
        Some(_) => None,
        None => is_transparent(name).then_some((Dialect::Jax, None)),
    }
}

/// The imports of a file, and the names that it gives to functions that stage.
#[derive(Default)]
pub struct Makers<'a> {
    /// `jit = functools.partial(jax.jit, static_argnums=0)`, `wrap = tf.function if GRAPH else identity`.
    aliases: FxHashMap<&'a Name, &'a Expr>,
    /// `def fast(f): return jax.jit(f, donate_argnums=0)`: the call.
    wrappers: FxHashMap<&'a Name, &'a ast::ExprCall>,
    /// `def fast(n): return partial(jax.jit, static_argnums=n)`, or a function that returns such a wrapper.
    factories: FxHashMap<&'a Name, Factory<'a>>,
}

enum Factory<'a> {
    Maker(&'a Expr),
    Wrapper(&'a ast::ExprCall),
}

/// A function that stages, with the arguments that are given before the function.
struct Made<'a> {
    maker: &'static RootMaker,
    arguments: Vec<&'a ast::Arguments>,
}

impl<'a> Makers<'a> {
    /// Collects the names that a file gives to functions that stage.
    pub fn collect(imports: &Imports, body: &'a [ast::Stmt]) -> Self {
        let mut makers = Self::default();
        if !imports_makers(imports) {
            return makers;
        }
        let mut aliases = Aliases { imports, makers: &mut makers };
        aliases.visit_body(body);
        makers
    }

    /// `jax.jit`, `partial(jax.jit, static_argnums=0)`, `tf.function(jit_compile=True)`, `jax.jit if FAST else
    /// identity`, and a name of one of these.
    fn made(&self, imports: &Imports, expression: &'a Expr) -> Option<Made<'a>> {
        self.made_within(imports, expression, 4)
    }

    fn made_within(&self, imports: &Imports, expression: &'a Expr, depth: u8) -> Option<Made<'a>> {
        let depth = depth.checked_sub(1)?;
        match expression {
            Expr::Call(call) if is_partial(imports, &call.func) => {
                let mut made = self.made_within(imports, call.arguments.args.first()?, depth)?;
                made.arguments.push(&call.arguments);
                Some(made)
            }
            Expr::Call(call) if resolves_to(imports, &call.func, &["staticmethod"]) => {
                self.made_within(imports, call.arguments.args.first()?, depth)
            }
            Expr::Call(call)
                if let Expr::Name(name) = &*call.func
                    && let Some(factory) = self.factories.get(&name.id) =>
            {
                match factory {
                    Factory::Maker(maker) => self.made_within(imports, maker, depth),
                    Factory::Wrapper(wrapper) => self.made_by(imports, wrapper, depth),
                }
            }
            // `tf.function(jit_compile=True)`
            Expr::Call(call)
                if call.arguments.args.is_empty() && function_keyword(&call.arguments).is_none() =>
            {
                let mut made = self.made_within(imports, &call.func, depth)?;
                made.arguments.push(&call.arguments);
                Some(made)
            }
            Expr::If(conditional) => self
                .made_within(imports, &conditional.body, depth)
                .or_else(|| self.made_within(imports, &conditional.orelse, depth)),
            Expr::Name(name) => match maker_of(imports, expression) {
                Some(maker) => Some(Made { maker, arguments: Vec::new() }),
                None => match self.wrappers.get(&name.id) {
                    Some(wrapper) => self.made_by(imports, wrapper, depth),
                    None => self.made_within(imports, self.aliases.get(&name.id)?, depth),
                },
            },
            Expr::Attribute(_) => {
                maker_of(imports, expression).map(|maker| Made { maker, arguments: Vec::new() })
            }
            _ => None,
        }
    }
}

impl<'a> Makers<'a> {
    /// `jax.jit(f, donate_argnums=0)` in a wrapper.
    fn made_by(&self, imports: &Imports, call: &'a ast::ExprCall, depth: u8) -> Option<Made<'a>> {
        let mut made = self.made_within(imports, &call.func, depth)?;
        made.arguments.push(&call.arguments);
        Some(made)
    }

    /// Adds a function that applies a maker to its first parameter, or returns one.
    fn add_function(&mut self, imports: &Imports, def: &'a ast::StmtFunctionDef) {
        let mut calls = Calls { imports, makers: self, def, wrapper: None };
        calls.visit_body(&def.body);
        if let Some(call) = calls.wrapper {
            self.wrappers.insert(&def.name.id, call);
            return;
        }
        let returned =
            def.body.last().and_then(ast::Stmt::as_return_stmt).and_then(|node| node.value.as_deref());
        let factory = match returned {
            Some(Expr::Name(name)) => self.wrappers.get(&name.id).map(|call| Factory::Wrapper(call)),
            Some(Expr::Lambda(lambda)) => lambda.body.as_call_expr().and_then(|call| {
                let first = lambda.parameters.as_ref()?.args.first()?.name();
                let given = call.arguments.args.first()?.as_name_expr()?;
                (given.id == first.id && self.made(imports, &call.func).is_some())
                    .then_some(Factory::Wrapper(call))
            }),
            Some(value) => self.made(imports, value).map(|_| Factory::Maker(value)),
            None => None,
        };
        if let Some(factory) = factory {
            self.factories.insert(&def.name.id, factory);
        }
    }
}

/// Finds the call of a maker with the first parameter of a function.
struct Calls<'a, 'b> {
    imports: &'b Imports,
    makers: &'b Makers<'a>,
    def: &'a ast::StmtFunctionDef,
    wrapper: Option<&'a ast::ExprCall>,
}

impl<'a> StatementVisitor<'a> for Calls<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a ast::Stmt) {
        let value = match statement {
            ast::Stmt::Assign(assign) => Some(&*assign.value),
            ast::Stmt::Return(node) => node.value.as_deref(),
            ast::Stmt::FunctionDef(_) | ast::Stmt::ClassDef(_) => None,
            _ => return statement_visitor::walk_stmt(self, statement),
        };
        let parameters = &self.def.parameters;
        if let Some(Expr::Call(call)) = value
            && let Some(Expr::Name(given)) = call.arguments.args.first()
            && let Some(first) = parameters.posonlyargs.first().or_else(|| parameters.args.first())
            && first.name().id == given.id
            && self.makers.made(self.imports, &call.func).is_some()
        {
            self.wrapper = Some(call);
        }
    }
}

struct Aliases<'a, 'b> {
    imports: &'b Imports,
    makers: &'b mut Makers<'a>,
}

impl<'a> StatementVisitor<'a> for Aliases<'a, '_> {
    fn visit_stmt(&mut self, statement: &'a ast::Stmt) {
        let (targets, value) = match statement {
            ast::Stmt::Assign(assign) => (assign.targets.as_slice(), Some(&*assign.value)),
            ast::Stmt::AnnAssign(assign) => (std::slice::from_ref(&*assign.target), assign.value.as_deref()),
            ast::Stmt::FunctionDef(def) => {
                // Nested functions first: the outer one may return them.
                statement_visitor::walk_stmt(self, statement);
                return self.makers.add_function(self.imports, def);
            }
            _ => return statement_visitor::walk_stmt(self, statement),
        };
        let ([Expr::Name(name)], Some(value)) = (targets, value) else { return };
        // `step = tf.function()` names no function yet; `step = tf.function(f)` is a staged function.
        if self.imports.get(&name.id).is_none() && self.makers.made(self.imports, value).is_some() {
            self.makers.aliases.insert(&name.id, value);
        }
    }
}

fn maker_of(imports: &Imports, expression: &Expr) -> Option<&'static RootMaker> {
    maker_named(&imports.resolve(expression)?)
}

fn resolves_to(imports: &Imports, callee: &Expr, names: &[&str]) -> bool {
    match (imports.resolve(callee), callee) {
        (Some(name), _) => names.contains(&name.as_str()),
        (None, Expr::Name(name)) => names.contains(&name.id.as_str()),
        _ => false,
    }
}

/// The keywords by which libraries take the function: `jax.jit(fun=f)`.
fn function_keyword(arguments: &ast::Arguments) -> Option<&Expr> {
    const KEYWORDS: [&str; 8] = ["func", "fun", "f", "fn", "obj", "mod", "model", "nnx_fn"];
    KEYWORDS.iter().find_map(|keyword| Some(&arguments.find_keyword(keyword)?.value))
}

/// `@tf.function`, `@tf.function(jit_compile=True)`, `@partial(jax.jit, static_argnums=0)`.
pub fn of_decorator<'a>(
    (imports, makers): (&Imports, &Makers<'a>),
    decorator: &'a ast::Decorator,
    function: FunctionIndex,
    scope: Code,
) -> Option<RootSite> {
    let made = makers.made(imports, &decorator.expression)?;
    site(made.maker, &made.arguments, RootTarget::Own(function), decorator.range(), scope)
}

/// `tf.function(f)`, `jax.jit(partial(f, …))`, `tf.function(jit_compile=True)(f)`, `lax.scan(f, …)`,
/// `dataset.map(f)`.
///
/// Lambdas are no roots; their decisions belong to the enclosing function.
pub fn of_call<'a>(makers: (&Imports, &Makers<'a>), call: &'a ast::ExprCall, scope: Code) -> Vec<Found> {
    let mut found = all_of_call(makers, call, scope);
    found.retain(|found| !found.is_lambda);
    found
}

fn all_of_call<'a>(
    (imports, makers): (&Imports, &Makers<'a>),
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
    let maker = if is_map { call.arguments.args.first() } else { Some(&*call.func) };
    if let Some(mut made) = maker.and_then(|maker| makers.made(imports, maker)) {
        made.arguments.push(&call.arguments);
        let given = match is_map {
            true => call.arguments.args.get(1),
            false => call.arguments.args.first().or_else(|| function_keyword(&call.arguments)),
        };
        let functions = given.into_iter().flat_map(|given| functions_in(imports, given, 4));
        return functions
            .filter_map(|function| {
                let target = RootTarget::Reference(reference(function));
                let site = site(made.maker, &made.arguments, target, call.range(), scope)?;
                Some(found(site, function, None))
            })
            .collect();
    }
    // `model.compile()`; the type of `model` decides.
    if let Expr::Attribute(attribute) = &*call.func
        && attribute.attr.as_str() == "compile"
        && imports.uses("torch")
        && imports.resolve(&attribute.value).is_none()
        && !attribute.value.is_literal_expr()
        && let Some(maker) = maker_named("torch.compile")
    {
        let target = RootTarget::Reference(Reference::Other);
        let site = site(maker, &[&call.arguments], target, call.range(), scope);
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
    };
    if let Some(caller) = callee.as_deref().and_then(callbacks::caller).filter(|caller| caller.stages) {
        return caller
            .functions_of(call)
            .into_iter()
            .flat_map(|function| functions_in(imports, function, 4))
            .map(|function| {
                let site = plain(function, caller.dialect, caller.kind, caller.converts);
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
pub fn innermost<'a>(imports: &Imports, mut expression: &'a Expr) -> &'a Expr {
    loop {
        expression = match expression {
            Expr::Call(call)
                if wraps(imports, &call.func)
                    && let Some(inner) =
                        call.arguments.args.first().or_else(|| function_keyword(&call.arguments)) =>
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

/// Whether calling it returns a function that calls its first argument.
pub fn wraps(imports: &Imports, callee: &Expr) -> bool {
    is_partial(imports, callee)
        || imports.resolve(callee).is_some_and(|name| maker_named(&name).is_some() || is_transparent(&name))
        // `jax.named_scope("step")(f)`
        || matches!(callee, Expr::Call(call)
            if resolves_to(imports, &call.func, &["jax.named_scope"]) || is_partial(imports, &call.func)
                && call.arguments.args.first().is_some_and(|inner| wraps(imports, inner)))
}

/// The functions that an argument may be: `f if fast else g`, `[f, g]`.
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

fn is_transparent(name: &str) -> bool {
    makers::TRANSPARENT.contains(&name)
}

fn site(
    maker: &RootMaker,
    arguments: &[&ast::Arguments],
    target: RootTarget,
    range: TextRange,
    scope: Code,
) -> Option<RootSite> {
    let mut options = RootOptions::default();
    let mut static_arguments = StaticArguments::default();
    let mut converts = maker.dialect.converts();
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
            "fullgraph" => options.full_graph = boolean(value) == Some(true),
            "static_argnames" | "static_argnums" | "static_broadcasted_argnums" => {
                static_arguments.add(value)
            }
            "in_axes" => static_arguments.add_unmapped(value),
            "disable" if boolean(value) == Some(true) => return None,
            // The exporter of TorchScript, which records what the function does.
            "dynamo" if boolean(value) == Some(false) => return None,
            _ => {}
        }
    }
    if makers::traces_some_arguments(maker.name) {
        static_arguments.more = Some(MoreStatic::Other);
    }
    if maker.kind == RootKind::JaxVmap
        && let Some(in_axes) = arguments.last().and_then(|arguments| arguments.args.get(1))
    {
        static_arguments.add_unmapped(in_axes);
    }
    match maker.kind {
        RootKind::Qjit => {
            // Without `autograph=True` qjit does not convert.
            converts = autograph == Some(true);
        }
        _ if autograph == Some(false) || maker.name == "tensorflow.wrap_function" => converts = false,
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
