//! A Variable is created in each trace.

use ruff_python_ast::{Expr, ExprCall, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::every_trace::{self, Evaluated};
use super::root_calls;
use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use crate::variables::{creates_variables, has_weights};
use ag_db::diagnostic::Severity;
use ag_index::dialect::{Dialect, RootKind};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds calls that create variables and that every trace evaluates:
    ///
    /// - in a `tf.function`, or in a function that it always calls: `tf.Variable(…)`, optimizers and metrics of Keras,
    ///   and layers that are created and called
    /// - in the method `call` of a Keras layer, which `fit` traces, or in a method that it always calls: `tf.Variable(…)`
    ///
    /// The finding is a warning if a trace evaluates the call only for some arguments, or in a Python loop or a
    /// comprehension that may have no iterations.
    ///
    /// ## Why is this bad?
    /// A `tf.function` may create variables only in its first trace. TensorFlow verifies that by tracing twice
    /// on the first call, and raises if the second trace creates a variable too.
    ///
    /// - what the evaluation of the program finds: a call that also a later trace evaluates, for example because it creates
    ///   a variable for each key
    ///
    /// A variable created under a condition on the state of an object, as in `if self.v is None:`, is not reported.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def counted(x: tf.Tensor):
    ///     count = tf.Variable(0.0)
    ///     count.assign_add(1.0)
    ///     return x + count
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    /// count = tf.Variable(0.0)
    ///
    ///
    /// @tf.function
    /// def counted(x: tf.Tensor):
    ///     count.assign_add(1.0)
    ///     return x + count
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only
    /// > created once or created outside tf.function.
    pub(crate) static VARIABLE_CREATION = {
        code: "AG406", name: "variable-creation",
        summary: "a `tf.function` creates a variable in every trace",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    check_every_trace(ctx);
    let faults = ctx.faults();
    for (call, _) in &faults.variables {
        let known = ctx.diagnostics.borrow().iter().any(|it| it.span.range == *call);
        if let Some(Expr::Call(node)) = ctx.expression_at(*call).filter(|_| !known) {
            let text = ctx.text(&*node.func);
            let message =
                format!("`{text}` creates variables in a later trace of the `tf.function`, which raises");
            let help = "create all variables in the first trace, or outside the function";
            ctx.report(&VARIABLE_CREATION, *call, message).help(help).emit();
        }
    }
}

/// Finds the calls that every trace of a function evaluates.
fn check_every_trace(ctx: &FunctionContext) {
    let name = ctx.def().name.as_str();
    let in_every_trace = match ctx.dialect() {
        Dialect::Keras => {
            let is_call = ctx.root() == Some(RootKind::KerasMethod) && name == "call";
            if is_call { Some(Evaluated::Always) } else { root_calls::in_every_call_of_layer(ctx) }
        }
        _ if ctx.root() == Some(RootKind::Function) => Some(Evaluated::Always),
        // Keras calls `build` once.
        _ => Some(name).filter(|name| *name != "build").and_then(|_| root_calls::in_every_trace(ctx)),
    };
    let Some(in_every_trace) = in_every_trace else { return };
    let kept = kept(ctx);
    every_trace::repeated_calls(ctx, &mut |call, evaluated| {
        let Some(created) = created(ctx, call) else { return };
        if ctx.dialect() == Dialect::Keras && !is_variable(ctx, created) {
            return;
        }
        let evaluated = evaluated.max(in_every_trace);
        if is_guarded(ctx, call.range()) || evaluated == Evaluated::Repeatedly && kept.contains(&call.range())
        {
            return;
        }
        let text = ctx.text(created.func.as_ref());
        let report = match evaluated {
            Evaluated::Always => {
                let message = format!("`{text}` creates variables in every trace of `{name}`, which raises");
                ctx.report(&VARIABLE_CREATION, call.range(), message)
            }
            Evaluated::Repeatedly => {
                let message = format!(
                    "`{text}` creates variables in each trace of `{name}` that reaches this call, which raises"
                );
                ctx.report(&VARIABLE_CREATION, call.range(), message).severity(Severity::Warning)
            }
        };
        report.help("create it once, outside the function").emit();
    });
}

/// Returns the calls whose results the function stores in an attribute or a container: it may create these only once.
fn kept(ctx: &FunctionContext) -> Vec<TextRange> {
    let assigned = |statement: &Stmt| {
        let Stmt::Assign(assign) = statement else { return None };
        let keeps = assign.targets.iter().any(|target| !target.is_name_expr());
        keeps.then(|| assign.value.range())
    };
    ctx.statements().into_iter().filter_map(assigned).collect()
}

/// Returns the expression that creates variables when `call` is evaluated. For a call of a new layer, it is the call of
/// the constructor.
fn created<'a>(ctx: &FunctionContext<'a>, call: &'a ExprCall) -> Option<&'a ExprCall> {
    match call.func.as_ref() {
        // `keras.layers.Dense(2)(x)`
        Expr::Call(layer) => ctx.resolve(&layer.func).filter(|name| has_weights(name)).map(|_| layer),
        // `layer = keras.layers.Dense(2)`, then `layer(x)`
        Expr::Name(name) if ctx.flow.scope().is_local(&name.id) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return None };
            let layer = ctx.value_of(definition)?.as_call_expr()?;
            ctx.resolve(&layer.func).filter(|name| has_weights(name)).map(|_| layer)
        }
        _ => ctx.resolve(&call.func).filter(|name| creates_variables(name)).map(|_| call),
    }
}

/// Returns whether a call is `tf.Variable(…)`. Other rules report layers that a layer creates.
fn is_variable(ctx: &FunctionContext, created: &ExprCall) -> bool {
    ctx.resolve(&created.func)
        .is_some_and(|name| matches!(name.as_str(), "tensorflow.Variable" | "keras.Variable"))
}
