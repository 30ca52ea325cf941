//! The static batch size of a Tensor. It is `None` while Keras traces.

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::FileContext;
use crate::declare::declare_rule;
use crate::program::Bound;
use ag_index::callbacks::argument;
use ag_index::dialect::RootKind;
use ag_index::index::FileIndex;
use ag_syntax::expressions::{self, natural};
use ag_syntax::statements;

declare_rule! {
    /// ## What it does
    /// Reports the static batch size of an argument, `x.shape[0]`, where a number is needed: in `range(…)`, in
    /// arithmetic, and in the shape given to functions such as `tf.reshape` and `tf.zeros`. The checked arguments are
    /// those of losses that are passed to `compile`, and of layers and models that the file calls on a `keras.Input` or
    /// trains with `fit`.
    ///
    /// Functions that test for `None`, and files that fix the batch size, are not reported.
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
        check: File(is_of_interest, check),
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
    if other_backend || fixes_batch_size(ctx) {
        return;
    }
    for def in losses(ctx) {
        function(
            ctx,
            def,
            def.parameters.iter().take(2).map(|parameter| parameter.name().as_str()).collect(),
        );
    }
    if !builds_or_fits(ctx) {
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

/// Returns whether the batch size is known or nothing is traced: `drop_remainder=True`, `keras.Input(batch_shape=…)`,
/// `run_eagerly=True`.
fn fixes_batch_size(ctx: &FileContext) -> bool {
    const KEYWORDS: [&str; 4] = ["batch_input_shape", "batch_shape", "drop_remainder", "run_eagerly"];
    let keywords = |call: &ast::ExprCall| {
        let is_input = ctx.resolve(&call.func).is_some_and(|name| name.ends_with(".Input"));
        call.arguments.keywords.iter().any(|keyword| {
            keyword.arg.as_ref().is_some_and(|name| {
                KEYWORDS.contains(&name.as_str()) || is_input && name.as_str() == "batch_size"
            })
        })
    };
    ctx.program().calls.iter().any(|site| keywords(site.node))
}

/// Returns whether the file builds a functional model or trains a model: `keras.Input(…)`, `model.fit(…)`.
fn builds_or_fits(ctx: &FileContext) -> bool {
    ctx.program().calls.iter().any(|site| {
        let fits = site.node.func.as_attribute_expr().is_some_and(|method| method.attr.as_str() == "fit");
        let name = ctx.resolve(&site.node.func);
        fits && name.is_none()
            || name.is_some_and(|name| matches!(name.as_str(), "keras.Input" | "keras.layers.Input"))
    })
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
    let Some(sizes) = Sizes::of(def, tensors) else { return };
    let expressions = expressions::of_function(def);
    if expressions.iter().any(|expression| handles_none(&sizes, expression)) {
        return;
    }
    let expected: Vec<TextRange> = statements::of_function(def)
        .into_iter()
        .filter_map(|statement| statement.as_try_stmt().map(|node| node.range()))
        .collect();
    let uses = expressions.iter().filter_map(|expression| sizes.needed(ctx, expression));
    let first = uses
        .filter(|size| !expected.iter().any(|range| range.contains_range(size.range())))
        .min_by_key(|size| size.start());
    if let Some(size) = first {
        let shown = ctx.text(size);
        let message = format!("`{shown}` is `None` here while Keras traces: the batch size is unknown");
        let tensor = sizes.tensor_of(size).unwrap_or("x");
        ctx.report(&KERAS_BATCH_SIZE, size, message)
            .help(format!("use `tf.shape({tensor})[0]`, which has a value in the graph"))
            .emit();
    }
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
        // A parameter that is bound again may then have another shape.
        tensors.retain(|name| {
            bound.get(name).copied().unwrap_or_default() <= usize::from(!parameters.contains(name))
        });
        let mut sizes = Self { tensors, names: FxHashMap::default() };
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
        let name = attribute.value.as_name_expr()?.id.as_str();
        self.tensors.get(name).copied()
    }

    /// Returns the batch size in an expression that needs a number.
    fn needed<'e>(&self, ctx: &FileContext, expression: &'e Expr) -> Option<&'e Expr> {
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
                let needs = match ctx.resolve(&call.func) {
                    Some(name) => takes_sizes(&name),
                    None => call.func.as_name_expr().is_some_and(|name| name.id == "range"),
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
