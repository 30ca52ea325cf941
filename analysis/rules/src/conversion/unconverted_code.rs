//! A decision on a Tensor in code that AutoGraph does not convert.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::unconverted::{failure, may_be_flag};
use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use crate::hashing;
use crate::tracing;
use crate::tracing::Origin;
use ag_db::diagnostic::Severity;
use ag_index::assumptions::Source;
use ag_index::assumptions::Unconverted;
use ag_index::dialect::Dialect;
use ag_index::facts::{Binding, TensorKind};
use ag_staging::construct::ConstructNode;
use ag_staging::keras;
use ag_syntax::expressions;

declare_rule! {
    /// ## What it does
    /// Finds `if`, `while`, `for`, conditional expressions, `and`, `or`, `not`, `assert` and chained comparisons
    /// on Tensors in code that is traced but not converted:
    ///
    /// - methods called by Keras 3: `Layer.call`, `Model.train_step`, `Loss.call`, …
    /// - functions that a library calls without converting them: the bodies of `tf.cond`, `tf.while_loop`,
    /// `tf.scan` (but not those of `tf.map_fn` and of Datasets)
    /// - methods that Python calls for a `with` or `for`: `__enter__`, `__next__`
    /// - constructors, and functions with `functools.lru_cache` or `do_not_convert`
    /// - functions with `autograph=False`, and all functions called from such code
    ///
    /// It also finds calls that pass Tensors to functions with `functools.lru_cache`.
    ///
    /// ## Why is this bad?
    /// Only converted code can branch on a Tensor. Unconverted code converts the Tensor to a Python bool, which
    /// raises while a graph is traced. A `for` over a Dataset does not even raise: tracing never ends.
    ///
    /// Functions defined *inside* a converted function are converted together with it.
    ///
    /// ## Example
    /// ```python
    /// import keras
    /// import tensorflow as tf
    ///
    ///
    /// class Gate(keras.layers.Layer):
    ///     def call(self, x: tf.Tensor):
    ///         if tf.reduce_sum(x) > 0.0:
    ///             return x * 2.0
    ///         return x
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    /// import tensorflow as tf
    ///
    ///
    /// class Gate(keras.layers.Layer):
    ///     @tf.function
    ///     def call(self, x: tf.Tensor):
    ///         if tf.reduce_sum(x) > 0.0:
    ///             return x * 2.0
    ///         return x
    /// ```
    ///
    /// `tf.where` and `tf.cond` work without conversion.
    ///
    /// ## What TensorFlow reports
    /// > Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.
    ///
    /// > Iterating over a symbolic `tf.Tensor` is not allowed.
    ///
    /// > Tensor is unhashable. Instead, use tensor.ref() as the key.
    pub(crate) static UNCONVERTED_CODE = {
        code: "AG014", name: "unconverted-code",
        summary: "a decision on a Tensor in code that AutoGraph does not convert",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    match ctx.stage.unconverted {
        // A call of a cached function with a Tensor raises an exception before the body runs.
        None | Some(Unconverted::Syntax | Unconverted::Cached) => {}
        // Keras 2 converts the methods of layers and the functions that they call.
        Some(reason) if ctx.stage.dialect == Dialect::Keras && keras::may_be_keras2(ctx.db, ctx.document) => {
            decisions(ctx, reason, Severity::Warning);
        }
        Some(reason) => decisions(ctx, reason, UNCONVERTED_CODE.severity),
    }
    // The function is converted for one caller, but not for another.
    if let Some(reason) = ctx.stage.also_unconverted {
        decisions(ctx, reason, Severity::Warning);
    }
    cached_calls(ctx);
}

fn decisions(ctx: &FunctionContext, reason: Unconverted, max_severity: Severity) {
    let mut last = None;
    for (construct, node) in ctx.staged() {
        // The parts of a test that has been reported are skipped.
        if last.is_some_and(|range| construct.range.intersect(range) == Some(construct.range)) {
            continue;
        }
        if let ConstructNode::For(statement) = node
            && !matches!(
                ctx.fact(&statement.iter).tensor_kind(),
                Some(TensorKind::Tensor | TensorKind::Variable | TensorKind::Dataset | TensorKind::Iterator)
            )
        {
            continue;
        }
        last = Some(construct.test_range);
        let assumed = node.test().is_some_and(|test| tracing::origin(ctx, test) == Origin::Assumed);
        let may_be_flag = |test: &Expr| may_be_flag(ctx, test) && !is_called_with_tensors(ctx, node);
        if node.test().is_some_and(|test| may_be_flag(test) || compares_objects(ctx, test))
            || is_guarded(ctx, construct.test_range)
        {
            continue;
        }
        let name = ctx.def().name.as_str();
        let message = format!("{}: {}", failure(ctx, construct), because(reason, name));
        let severity = if assumed { Severity::Warning } else { max_severity };
        let report = ctx.report(&UNCONVERTED_CODE, construct.test_range, message).severity(severity);
        let report = match &ctx.stage.cause {
            _ if ctx.stage.converts => report,
            Some(cause) if reason == Unconverted::Caller => report.label(cause.clone(), "called here"),
            Some(cause) if reason == Unconverted::Body => {
                report.label(cause.clone(), "passed to TensorFlow here")
            }
            Some(cause) if reason == Unconverted::Constructor => report.label(cause.clone(), "created here"),
            _ => report,
        };
        report.why(construct.why.clone()).help(help(reason)).emit();
    }
    flagged(ctx, reason);
}

/// Returns whether a loop iterates over a parameter that is a Tensor in all known calls.
fn is_called_with_tensors(ctx: &FunctionContext, node: ConstructNode) -> bool {
    let ConstructNode::For(statement) = node else { return false };
    let parameter = statement.iter.as_name_expr().and_then(|name| ctx.parameter(&name.id));
    parameter.is_some_and(|parameter| parameter.source == Source::CallSites)
}

/// Reports a Tensor that is tested only if a flag is true: `if training and tf.reduce_mean(x) > 1.0`.
fn flagged(ctx: &FunctionContext, reason: Unconverted) {
    for (construct, node) in ctx.decisions().filter(|(construct, _)| construct.binding != Binding::Staged) {
        let (ConstructNode::If(..), Some(Expr::BoolOp(test))) = (node, node.test()) else { continue };
        let Some((tensor, flags)) = test.values.split_last().filter(|_| test.op == ast::BoolOp::And) else {
            continue;
        };
        let is_flag = |flag: &Expr| {
            matches!(flag, Expr::Name(_) | Expr::Attribute(_)) && !ctx.fact(flag).may_be_tensor()
        };
        let is_tensor = ctx.fact(tensor).is_tensor()
            && ctx.binding(tensor) == Binding::Staged
            && matches!(tensor, Expr::Compare(_) | Expr::Call(_))
            && tracing::origin(ctx, tensor) != Origin::Assumed;
        if is_tensor && flags.iter().all(is_flag) && !is_guarded(ctx, construct.test_range) {
            let name = ctx.def().name.as_str();
            let message = format!(
                "`{}` is a Tensor: this `if` raises when `{}` is true, since {}",
                ctx.text(tensor),
                ctx.text(&flags[0]),
                because(reason, name)
            );
            ctx.report(&UNCONVERTED_CODE, tensor.range(), message)
                .severity(Severity::Warning)
                .why(ctx.why(tensor))
                .help(help(reason))
                .emit();
        }
    }
}

/// Returns whether a test is `a != b` in code for TensorFlow 1, where it compares the identity of objects.
fn compares_objects(ctx: &FunctionContext, test: &Expr) -> bool {
    const REMOVED: [&str; 8] = [
        "tensorflow.assign",
        "tensorflow.assign_add",
        "tensorflow.get_variable",
        "tensorflow.get_collection",
        "tensorflow.placeholder",
        "tensorflow.variable_scope",
        "tensorflow.log",
        "tensorflow.to_float",
    ];
    let Expr::Compare(compare) = test else { return false };
    compare.ops.iter().all(|op| matches!(op, ast::CmpOp::Eq | ast::CmpOp::NotEq))
        && tracing::uses(ctx, &REMOVED)
}

fn because(reason: Unconverted, name: &str) -> String {
    match reason {
        Unconverted::Option => format!("`{name}` is staged with `autograph=False`"),
        Unconverted::Keras => format!("Keras 3 calls `{name}` without converting it"),
        Unconverted::Body => format!("TensorFlow calls `{name}` without converting it"),
        Unconverted::Constructor => "constructors are not converted".to_owned(),
        Unconverted::Protocol => format!("Python calls `{name}` without converting it"),
        Unconverted::DoNotConvert => format!("`{name}` is marked `do_not_convert`"),
        Unconverted::Cached | Unconverted::Syntax | Unconverted::Caller => {
            format!("`{name}` is called from code that is not converted")
        }
    }
}

fn help(reason: Unconverted) -> &'static str {
    match reason {
        Unconverted::Option => "remove `autograph=False`, or use `tf.cond`, `tf.where` or `tf.while_loop`",
        Unconverted::Keras => {
            "decorate the method with `@tf.function`, or use `keras.ops.cond`, `keras.ops.where` or `keras.ops.while_loop`"
        }
        Unconverted::Body => "define the function inside the converted function, or use `tf.cond` in it",
        Unconverted::Constructor => {
            "evaluate the condition in a function, and pass the result to the constructor"
        }
        Unconverted::Protocol => "move the condition to a function called in the body of the `with` or `for`",
        Unconverted::DoNotConvert => "remove `do_not_convert`, or use `tf.cond` or `tf.where`",
        Unconverted::Cached => "remove the cache; Tensors cannot be cache keys",
        Unconverted::Syntax | Unconverted::Caller => {
            "decorate this function with `@tf.function`, or use `tf.cond` or `tf.where`"
        }
    }
}

/// Reports `cached(x)`: the cache hashes the Tensor, which raises an exception.
fn cached_calls(ctx: &FunctionContext) {
    for expression in expressions::of_function(ctx.def()) {
        let Expr::Call(call) = expression else { continue };
        let is_tensor = |argument: &Expr| ctx.fact(argument).is_tensor();
        let Some(tensor) = hashing::hashed_by_cache(ctx, call, &is_tensor) else { continue };
        ctx.report(
            &UNCONVERTED_CODE,
            call.range(),
            format!(
                "`{}` caches its results, and the Tensor `{}` cannot be a cache key",
                ctx.text(call.func.as_ref()),
                ctx.text(tensor)
            ),
        )
        .why(ctx.why(tensor))
        .help(help(Unconverted::Cached))
        .emit();
    }
}
