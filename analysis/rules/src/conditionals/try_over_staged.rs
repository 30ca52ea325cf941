//! An `except` clause around a staged `if` that raises while it is traced.

use ruff_text_size::{Ranged, TextRange};

use super::raises;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::Severity;

declare_rule! {
    /// ## What it does
    /// Finds `except` clauses that catch an exception raised while a staged `if` is traced: by a `raise` in one
    /// of its branches, or by the framework when it rejects the `if`.
    ///
    /// ## Why is this bad?
    /// The exception is raised while the graph is built, whatever the values will be, so the `except` clause
    /// always runs. The function silently computes the wrong result.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def safe_log(x: tf.Tensor):
    ///     try:
    ///         if x <= 0.0:
    ///             raise ValueError("no logarithm")
    ///         y = tf.math.log(x)
    ///     except ValueError:
    ///         y = tf.zeros_like(x)
    ///     return y
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def safe_log(x: tf.Tensor):
    ///     if x <= 0.0:
    ///         y = tf.zeros_like(x)
    ///     else:
    ///         y = tf.math.log(x)
    ///     return y
    /// ```
    ///
    /// ## What TensorFlow reports
    /// Nothing.
    pub(crate) static TRY_OVER_STAGED = {
        code: "AG111", name: "try-over-staged",
        summary: "an `except` clause always catches an exception raised while tracing a staged `if`",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, raise) in raises::in_staged_branches(ctx) {
        let names: Vec<&str> = raises::raised(raise).into_iter().collect();
        report(
            ctx,
            raise.range(),
            &names,
            "this `raise` executes while tracing, whatever the condition is",
            construct.why.clone(),
        );
    }
    // These findings are from rules that ran before this one.
    let faults: Vec<(TextRange, &'static str, _)> = ctx
        .diagnostics
        .borrow()
        .iter()
        .filter(|found| found.severity == Severity::Error)
        .filter_map(|found| Some((found.span.range, raised_for(found.code)?, found.why.clone())))
        .collect();
    for (range, exception, why) in faults {
        report(ctx, range, &[exception], "tracing this always raises", why);
    }
}

/// Returns the exception class that TensorFlow raises where the rule with this code reports a finding.
fn raised_for(code: &str) -> Option<&'static str> {
    match code {
        "AG101" | "AG102" | "AG103" | "AG107" | "AG108" => Some("ValueError"),
        "AG104" | "AG105" | "AG106" | "AG109" => Some("TypeError"),
        _ => None,
    }
}

fn report(ctx: &FunctionContext, range: TextRange, names: &[&str], cause: &str, why: ag_db::diagnostic::Why) {
    let Some(handler) = raises::handler(ctx, range, names) else { return };
    let head = match &handler.type_ {
        Some(caught) => TextRange::new(handler.start(), caught.end()),
        None => TextRange::at(handler.start(), ruff_text_size::TextSize::of("except")),
    };
    ctx.report(
        &TRY_OVER_STAGED,
        head,
        "this `except` clause always runs: the exception that it catches is raised while tracing",
    )
    .label(ctx.span(range), cause)
    .why(why)
    .help("use `if` and `else`; exceptions cannot depend on the value of a Tensor")
    .emit();
}
