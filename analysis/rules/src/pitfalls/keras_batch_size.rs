//! The static batch size of a Tensor. It is `None` while Keras traces.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::callers;
use crate::declare::declare_rule;
use crate::names::Names;
use crate::path_certainty::{self, Passed};
use crate::program::Bound;
use crate::{FileContext, FunctionContext};
use ag_db::{Db, Document, Project, text};
use ag_flow::DefKind;
use ag_index::callbacks::argument;
use ag_index::definitions::ClassEntry;
use ag_index::dialect::RootKind;
use ag_index::index::{FileIndex, file_index, tree};
use ag_index::modules::module_name;
use ag_syntax::expressions::{self, natural};
use ag_syntax::qname::QName;
use ag_syntax::statements;

declare_rule! {
    /// ## What it does
    /// Reports the static batch size of an argument, `x.shape[0]`, where a number is needed: in `int(…)`, `range(…)`, in
    /// arithmetic, and in the shape given to functions such as `tf.reshape` and `tf.zeros`. The checked arguments are
    /// those of losses that are passed to `compile`, and of layers and models in projects that call them on a
    /// `keras.Input` or train them with `fit`. Functions to which a layer passes its input are checked, too.
    ///
    /// Functions that test for `None`, and projects that fix the batch size, are not reported.
    ///
    /// ## Why is this bad?
    /// A model accepts batches of any size, so `fit` and the functional API trace it with an unknown batch size. Then
    /// `x.shape[0]` is `None`.
    ///
    /// ## Example
    /// ```python
    /// import keras
    /// import tensorflow as tf
    ///
    ///
    /// def spread(y_true, y_pred):
    ///     rows = tf.reshape(y_pred, [y_pred.shape[0], -1])
    ///     return tf.reduce_mean(tf.math.reduce_std(rows, axis=1))
    ///
    ///
    /// model = keras.Sequential([keras.layers.Dense(4)])
    /// model.compile("sgd", loss=spread)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    /// import tensorflow as tf
    ///
    ///
    /// def spread(y_true, y_pred):
    ///     rows = tf.reshape(y_pred, [tf.shape(y_pred)[0], -1])
    ///     return tf.reduce_mean(tf.math.reduce_std(rows, axis=1))
    ///
    ///
    /// model = keras.Sequential([keras.layers.Dense(4)])
    /// model.compile("sgd", loss=spread)
    /// ```
    ///
    /// ## What Keras reports
    /// ```text
    /// TypeError: Failed to convert elements of [None, -1] to Tensor.
    /// TypeError: 'NoneType' object cannot be interpreted as an integer
    /// ```
    pub(crate) static KERAS_BATCH_SIZE = {
        code: "AG419", name: "keras-batch-size",
        summary: "the static batch size is `None` while Keras traces",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Keras], fix: None,
        check: FileAndFunction(is_of_interest, check, check_layer),
    }
}

/// Returns whether a file uses TensorFlow, and has classes or functions that Keras traces. In other backends the batch
/// size is known.
fn is_of_interest(index: &FileIndex) -> bool {
    index.imports.uses("tensorflow")
        && (index.derives_from_keras || index.roots.iter().any(|site| site.kind == RootKind::KerasFunction))
}

fn check(ctx: &FileContext) {
    let other_backend = ctx.imports.uses("torch") || ctx.imports.uses("jax");
    let models = models_in(ctx.db, ctx.document);
    if other_backend || models.fixes_batch_size {
        return;
    }
    for def in losses(ctx) {
        function(
            ctx,
            def,
            def.parameters.iter().take(2).map(|parameter| parameter.name().as_str()).collect(),
        );
    }
    if !models.builds_or_fits {
        return;
    }
    for class in &ctx.program().classes {
        let [base] = class.bases() else { continue };
        let Some(base) = ctx.resolve(base) else { continue };
        let Some((is_model, count)) = (match base.trim_start_matches("tf_").trim_start_matches("keras.") {
            "Layer" | "layers.Layer" => Some((false, 1)),
            "Model" | "models.Model" => Some((true, 1)),
            "Loss" | "losses.Loss" => Some((false, 2)),
            _ => None,
        }) else {
            continue;
        };
        for def in class.body.iter().filter_map(Stmt::as_function_def_stmt) {
            let mut given = def.parameters.iter().skip(1).map(|parameter| parameter.name().as_str());
            match def.name.as_str() {
                "call" => function(ctx, def, given.take(count).collect()),
                "train_step" | "test_step" if is_model => {
                    let data = given.next();
                    function(ctx, def, data.map_or_else(FxHashSet::default, |data| unpacked(def, data)));
                }
                _ => {}
            }
        }
    }
}

/// How a file uses models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ModelUse {
    /// Whether the rule does not apply: the batch size is known, nothing is traced, or the backend is not TensorFlow.
    /// Examples: `drop_remainder=True`, `keras.Input(batch_shape=…)`, `run_eagerly=True`,
    /// `os.environ["KERAS_BACKEND"] = "jax"`.
    fixes_batch_size: bool,
    /// Whether the file builds a functional model or trains a model: `keras.Input(…)`, `model.fit(…)`.
    builds_or_fits: bool,
}

#[salsa::tracked(returns(copy))]
fn models_in(db: &dyn Db, document: Document) -> ModelUse {
    const KEYWORDS: [&str; 4] = ["batch_input_shape", "batch_shape", "drop_remainder", "run_eagerly"];
    let mut found = ModelUse::default();
    let imports = &file_index(db, document).imports;
    let Some(parsed) = tree(db, document).filter(|_| imports.uses("keras") || imports.uses("tensorflow"))
    else {
        return found;
    };
    found.fixes_batch_size = text(db, document).as_str().contains("KERAS_BACKEND");
    let calls = Calls::of(parsed.suite());
    for call in calls {
        let name = imports.resolve(&call.func);
        let is_input = name.as_ref().is_some_and(|name| name.ends_with(".Input"));
        found.fixes_batch_size |= call.arguments.keywords.iter().any(|keyword| {
            keyword.arg.as_ref().is_some_and(|name| {
                KEYWORDS.contains(&name.as_str()) || is_input && name.as_str() == "batch_size"
            })
        });
        let fits = call.func.as_attribute_expr().is_some_and(|method| method.attr.as_str() == "fit");
        found.builds_or_fits |= fits && name.is_none()
            || name.is_some_and(|name| matches!(name.as_str(), "keras.Input" | "keras.layers.Input"));
    }
    found
}

/// The calls of a file.
#[derive(Default)]
struct Calls<'a>(Vec<&'a ast::ExprCall>);

impl<'a> Calls<'a> {
    fn of(body: &'a [Stmt]) -> Vec<&'a ast::ExprCall> {
        let mut calls = Self::default();
        calls.visit_body(body);
        calls.0
    }
}

impl<'a> SourceOrderVisitor<'a> for Calls<'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        self.0.extend(expression.as_call_expr());
        source_order::walk_expr(self, expression);
    }
}

/// Returns the functions of the file that are passed to `compile` as losses.
fn losses<'a>(ctx: &FileContext<'a>) -> Vec<&'a ast::StmtFunctionDef> {
    let program = ctx.program();
    let mut found: Vec<&ast::StmtFunctionDef> = Vec::new();
    for site in &program.calls {
        let is_compile = site.node.func.as_attribute_expr().is_some_and(|it| it.attr.as_str() == "compile");
        let Some(loss) = argument(site.node, 1, "loss").filter(|_| is_compile) else { continue };
        if let (Bound::Function(def), _) = program.value(site.scope, loss)
            && !found.iter().any(|known| known.range() == def.range())
        {
            found.push(def);
        }
    }
    found
}

/// Returns the names that `x, y = data` binds; `data` itself if it is not unpacked.
fn unpacked<'a>(def: &'a ast::StmtFunctionDef, data: &'a str) -> FxHashSet<&'a str> {
    let targets = statements::of_function(def).into_iter().filter_map(|statement| match statement {
        Stmt::Assign(assign) if assign.value.as_name_expr().is_some_and(|name| name.id.as_str() == data) => {
            assign.targets.first()
        }
        _ => None,
    });
    let mut names: FxHashSet<&str> = FxHashSet::default();
    for target in targets {
        match target {
            Expr::Tuple(tuple) => {
                names.extend(tuple.elts.iter().filter_map(|it| Some(it.as_name_expr()?.id.as_str())));
            }
            Expr::Name(name) => {
                names.insert(name.id.as_str());
            }
            _ => {}
        }
    }
    if names.is_empty() {
        names.insert(data);
    }
    names
}

/// Reports the first use of the static batch size of one of the `tensors`.
fn function<'a>(ctx: &FileContext<'a>, def: &'a ast::StmtFunctionDef, tensors: FxHashSet<&'a str>) {
    if let Some((size, tensor)) = first_use(def, tensors, &|callee| ctx.resolve(callee)) {
        let (message, help) = message(ctx.text(size), tensor);
        ctx.report(&KERAS_BATCH_SIZE, size, message).help(help).emit();
    }
}

fn message(size: &str, tensor: &str) -> (String, String) {
    let message = format!("`{size}` is `None` here while Keras traces: the batch size is unknown");
    (message, format!("use `tf.shape({tensor})[0]`, which has a value in the graph"))
}

/// Reports the first use of the static batch size in a layer, or in a function to which a layer passes its input:
///
/// ```python
/// def flat(x):
///     return ops.reshape(x, (x.shape[0], -1))
///
/// class Flat(keras.layers.Layer):
///     def call(self, x):
///         return flat(x)
/// ```
fn check_layer(ctx: &FunctionContext) {
    let other_backend = ctx.imports.uses("torch") || ctx.imports.uses("jax");
    if other_backend || !ctx.text(ctx.def()).contains("shape") {
        return;
    }
    let tensors: FxHashSet<&str> = ctx
        .def()
        .parameters
        .iter_non_variadic_params()
        .map(|parameter| parameter.parameter.name.as_str())
        .filter(|name| is_batch(ctx, name, MAX_STEPS))
        .collect();
    if tensors.is_empty() {
        return;
    }
    let Some((size, tensor)) = first_use(ctx.def(), tensors, &|callee| ctx.resolve(callee)) else { return };
    if is_traced_with_unknown_size(ctx) {
        let (message, help) = message(ctx.text(size), tensor);
        ctx.report(&KERAS_BATCH_SIZE, size, message).help(help).emit();
    }
}

/// The class of the layer or model that is the root.
fn layer<'a>(ctx: &FunctionContext<'a>) -> Option<(Document, &'a ClassEntry)> {
    let root = match ctx.root() {
        Some(_) => (ctx.document, ctx.path.clone()),
        None => {
            let root = callers::of(ctx).find(|call| call.is_in_root())?;
            (root.function.document(ctx.db), root.function.path(ctx.db).clone())
        }
    };
    let definitions = &file_index(ctx.db, root.0).definitions;
    let (_, entry) = definitions.find(&root.1)?;
    Some((root.0, definitions.classes.get(entry.class?)?))
}

/// Returns whether a file of the project builds or trains models, and mentions the layer or its module, and no such
/// file fixes the batch size.
fn is_traced_with_unknown_size(ctx: &FunctionContext) -> bool {
    let Some((document, class)) = layer(ctx) else { return false };
    let Some(project) = Project::try_get(ctx.db) else { return false };
    let module = module_name(ctx.db, document).as_deref().map(|name| name.rsplit('.').next().unwrap_or(name));
    let mut traced = false;
    for other in project.documents(ctx.db).values() {
        let models = models_in(ctx.db, *other);
        let mentions = || {
            let source = text(ctx.db, *other);
            let names = std::iter::once(class.qualname.as_str()).chain(module);
            names.into_iter().any(|name| source.as_str().contains(name))
        };
        if (models.builds_or_fits || models.fixes_batch_size) && (*other == document || mentions()) {
            if models.fixes_batch_size {
                return false;
            }
            traced = true;
        }
    }
    traced
}

/// The maximum number of variables and calls through which a value is followed.
const MAX_STEPS: usize = 12;

/// Returns whether a parameter is the input of a layer, or a function gets it from a layer.
fn is_batch(ctx: &FunctionContext, parameter: &str, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let position = ctx.stage.parameters.iter().position(|own| own.name == parameter);
    if ctx.root().is_some() {
        let is_layer = |class: &ClassEntry| {
            class.bases.iter().any(|base| matches!(base.rsplit('.').next(), Some("Layer" | "Model")))
        };
        return ctx.root() == Some(RootKind::KerasMethod)
            && ctx.def().name.as_str() == "call"
            && position == Some(1)
            && layer(ctx).is_some_and(|(_, class)| is_layer(class));
    }
    match path_certainty::passed(ctx, &Name::new(parameter)) {
        Some((caller, Passed::Argument(value))) => has_batch_size(&caller, value, steps),
        _ => false,
    }
}

/// Returns whether the first dimension of a value is that of the layer's input. Layers, and the functions in `KEEPING`,
/// keep it.
fn has_batch_size(ctx: &FunctionContext, value: &Expr, steps: usize) -> bool {
    const KEEPING: [&str; 10] =
        ["abs", "cast", "exp", "gelu", "relu", "sigmoid", "softmax", "split", "square", "tanh"];
    let Some(steps) = steps.checked_sub(1) else { return false };
    let inner = |value: &Expr| has_batch_size(ctx, value, steps);
    match value {
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            if definitions.is_empty() {
                return iterated(ctx, name).is_some_and(inner);
            }
            definitions.iter().all(|definition| match definition.kind {
                DefKind::Parameter(_) => is_batch(ctx, &name.id, steps),
                DefKind::Assign => ctx.value_of(definition).is_some_and(inner),
                _ => false,
            })
        }
        Expr::Call(call) => {
            let Some(first) = call.arguments.args.first() else { return false };
            let keeps = match ctx.resolve(&call.func) {
                Some(name) => {
                    let last = name.rsplit('.').next().unwrap_or_default();
                    let axis = call.arguments.find_keyword("axis").map(|axis| &axis.value);
                    let is_other = axis.and_then(expressions::integer).is_some_and(|axis| axis != 0);
                    KEEPING.contains(&last) && (last != "split" || is_other)
                }
                None => ctx.callee(call).is_none() && call.func.is_attribute_expr(),
            };
            keeps && inner(first)
        }
        _ => false,
    }
}

/// Returns the iterable of a comprehension that binds a name.
fn iterated<'a>(ctx: &FunctionContext<'a>, name: &ast::ExprName) -> Option<&'a Expr> {
    let around = ctx.expressions().into_iter().filter(|outer| outer.range().contains_range(name.range()));
    let generators = around.filter_map(|outer| match outer {
        Expr::ListComp(comprehension) => Some(&comprehension.generators),
        Expr::Generator(generator) => Some(&generator.generators),
        _ => None,
    });
    let mut binding = generators.flatten();
    binding
        .find(|generator| generator.target.as_name_expr().is_some_and(|target| target.id == name.id))
        .map(|generator| &generator.iter)
}

/// Returns the first use of the static batch size of one of the `tensors`, with this Tensor.
fn first_use<'a>(
    def: &'a ast::StmtFunctionDef,
    tensors: FxHashSet<&'a str>,
    resolve: &dyn Fn(&Expr) -> Option<Name>,
) -> Option<(&'a Expr, &'a str)> {
    let sizes = Sizes::of(def, tensors)?;
    let expressions = expressions::of_function(def);
    if expressions.iter().any(|expression| handles_none(&sizes, expression)) {
        return None;
    }
    let expected: Vec<TextRange> = statements::of_function(def)
        .into_iter()
        .filter_map(|statement| statement.as_try_stmt().map(|node| node.range()))
        .collect();
    let uses = expressions.iter().filter_map(|expression| sizes.needed(resolve, expression));
    let first = uses
        .filter(|size| !expected.iter().any(|range| range.contains_range(size.range())))
        .min_by_key(|size| size.start())?;
    Some((first, sizes.tensor_of(first).unwrap_or("x")))
}

/// Returns whether the code tests whether the size is known, or tests for eager execution.
fn handles_none(sizes: &Sizes, expression: &Expr) -> bool {
    match expression {
        Expr::Compare(compare) => {
            compare.ops.iter().any(|op| matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn))
                && std::iter::once(&*compare.left).chain(&compare.comparators).any(|side| {
                    sizes.tensor_of(side).is_some()
                        || side.is_subscript_expr()
                        || side.is_none_literal_expr()
                            && compare.ops.iter().any(|op| matches!(op, CmpOp::In | CmpOp::NotIn))
                })
        }
        Expr::BoolOp(operation) => operation.values.iter().any(|value| sizes.tensor_of(value).is_some()),
        Expr::Attribute(attribute) => {
            matches!(attribute.attr.as_str(), "is_fully_defined" | "executing_eagerly" | "EagerTensor")
        }
        _ => false,
    }
}

/// The expressions of a function that are static batch sizes.
struct Sizes<'a> {
    tensors: FxHashSet<&'a str>,
    /// The end of the statement that binds a Tensor's name again.
    until: FxHashMap<&'a str, TextSize>,
    /// The names that are bound once, to a batch size, each with the Tensor to which the size belongs.
    names: FxHashMap<&'a str, &'a str>,
}

impl<'a> Sizes<'a> {
    fn of(def: &'a ast::StmtFunctionDef, mut tensors: FxHashSet<&'a str>) -> Option<Self> {
        let mut bound: FxHashMap<&str, usize> = FxHashMap::default();
        for expression in expressions::of_function(def) {
            if let Expr::Name(name) = expression
                && name.ctx.is_store()
            {
                *bound.entry(name.id.as_str()).or_default() += 1;
            }
        }
        let parameters: FxHashSet<&str> = def.parameters.iter().map(|it| it.name().as_str()).collect();
        // A name that is bound again may then have another shape. In a loop, it may have had one before.
        let mut until = FxHashMap::default();
        let is_simple = |statement: &Stmt| statement.is_assign_stmt();
        tensors.retain(|name| {
            let once = usize::from(!parameters.contains(name));
            if bound.get(name).copied().unwrap_or_default() <= once {
                return true;
            }
            let binds = |statement: &Stmt| Names::of_statement(statement).bound.contains(*name);
            let first = def.body.iter().filter(|statement| binds(statement)).nth(once);
            until.extend(first.map(|statement| (*name, statement.end())));
            first.is_some_and(is_simple)
        });
        let mut sizes = Self { tensors, until, names: FxHashMap::default() };
        for statement in statements::of_function(def) {
            let Stmt::Assign(assign) = statement else { continue };
            let [target] = assign.targets.as_slice() else { continue };
            let (name, tensor) = match target {
                Expr::Name(name) => (name, sizes.tensor_of(&assign.value)),
                Expr::Tuple(tuple) => match tuple.elts.first() {
                    Some(Expr::Name(name)) => (name, sizes.shape(&assign.value)),
                    _ => continue,
                },
                _ => continue,
            };
            if let Some(tensor) = tensor
                && bound.get(name.id.as_str()) == Some(&1)
                && !parameters.contains(name.id.as_str())
            {
                sizes.names.insert(&name.id, tensor);
            }
        }
        (!sizes.tensors.is_empty()).then_some(sizes)
    }

    /// Returns the Tensor `x` for `x.shape[0]`, or for a name that is bound to it.
    fn tensor_of(&self, expression: &Expr) -> Option<&'a str> {
        match expression {
            Expr::Name(name) => self.names.get(name.id.as_str()).copied(),
            Expr::Subscript(subscript) if natural(&subscript.slice) == Some(0) => {
                self.shape(&subscript.value)
            }
            _ => None,
        }
    }

    /// Returns the Tensor `x` for `x.shape`, `x.get_shape()` or `x.shape.as_list()`.
    fn shape(&self, expression: &Expr) -> Option<&'a str> {
        let attribute = match expression {
            Expr::Attribute(attribute) if attribute.attr.as_str() == "shape" => attribute,
            Expr::Call(call) if call.arguments.is_empty() => {
                let method = call.func.as_attribute_expr()?;
                match method.attr.as_str() {
                    "get_shape" => method,
                    "as_list" => return self.shape(&method.value),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let read = attribute.value.as_name_expr()?;
        let name = self.tensors.get(read.id.as_str()).copied()?;
        self.until.get(name).is_none_or(|until| read.start() < *until).then_some(name)
    }

    /// Returns the batch size in an expression that needs a number.
    fn needed<'e>(&self, resolve: &dyn Fn(&Expr) -> Option<Name>, expression: &'e Expr) -> Option<&'e Expr> {
        let is_size = |expression: &&'e Expr| self.tensor_of(expression).is_some();
        match expression {
            Expr::BinOp(operation) => [&*operation.left, &*operation.right]
                .into_iter()
                .find(is_size)
                .filter(|_| !operation.left.is_string_literal_expr()),
            Expr::Compare(compare) => {
                let orders = |op: &CmpOp| matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE);
                let mut sides = std::iter::once(&*compare.left).chain(&compare.comparators);
                sides.find(is_size).filter(|_| compare.ops.iter().all(orders))
            }
            Expr::Call(call) => {
                let needs = match resolve(&call.func) {
                    Some(name) => takes_sizes(&name),
                    None => {
                        let name = call.func.as_name_expr().map(|name| name.id.as_str());
                        matches!(name, Some("int" | "range"))
                    }
                };
                let keywords = call.arguments.keywords.iter().map(|keyword| &keyword.value);
                let arguments = call.arguments.args.iter().chain(keywords).filter(|_| needs);
                arguments
                    .flat_map(|argument| match expressions::sequence(argument) {
                        Some(elements) => elements,
                        None => std::slice::from_ref(argument),
                    })
                    .find(is_size)
            }
            _ => None,
        }
    }
}

/// Returns whether a function requires numbers as sizes.
fn takes_sizes(name: &str) -> bool {
    const CREATE: [&str; 14] = [
        "arange",
        "broadcast_to",
        "eye",
        "fill",
        "full",
        "linspace",
        "one_hot",
        "ones",
        "range",
        "repeat",
        "reshape",
        "split",
        "tile",
        "zeros",
    ];
    match name.rsplit_once('.') {
        Some(("tensorflow.random" | "keras.random", function)) => {
            matches!(function, "normal" | "uniform" | "truncated_normal" | "randint" | "gamma")
        }
        Some(("tensorflow" | "keras.ops" | "numpy", function)) => CREATE.contains(&function),
        _ => false,
    }
}
