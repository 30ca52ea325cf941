//! AG217: a staged statement carries a TensorArray from outside the graph.

use ruff_text_size::TextRange;

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::tracing;
use ag_db::diagnostic::Severity;
use ag_flow::{Def, DefKind};
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_index::facts::{Fact, TensorKind};
use ag_staging::construct::ConstructKind;

declare_rule! {
    /// ## What it does
    /// Finds staged loops and `if` statements that assign to a name that holds a TensorArray from outside the graph: an
    /// argument of the `tf.function`, or an object of the module.
    ///
    /// ## Why is this bad?
    /// A TensorArray that is created in eager code is a Python list. A staged statement can carry only a TensorArray
    /// that belongs to the graph.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def filled(array, n):
    ///     for i in tf.range(n):
    ///         array = array.write(i, i)
    ///     return array.stack()
    ///
    ///
    /// filled(tf.TensorArray(tf.int32, size=3), tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def filled(n):
    ///     array = tf.TensorArray(tf.int32, size=n)
    ///     for i in tf.range(n):
    ///         array = array.write(i, i)
    ///     return array.stack()
    ///
    ///
    /// filled(tf.constant(3))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > NotImplementedError: Attempting to build a graph-mode TF2-style TensorArray from either an eager-mode TensorArray or
    /// > a TF1-style TensorArray.
    pub(crate) static EAGER_TENSORARRAY = {
        code: "AG217", name: "eager-tensorarray",
        summary: "a staged loop or `if` carries a TensorArray from outside the graph",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    let mut reported: Vec<TextRange> = Vec::new();
    for (construct, _) in ctx.staged() {
        let is_statement = construct.kind.is_loop() || construct.kind == ConstructKind::If;
        let Some(statement) = ctx.flow.cfg.statement_at(construct.range.start()).filter(|_| is_statement)
        else {
            continue;
        };
        let Some(variables) = ctx.flow.block_variables(statement) else { continue };
        for variable in variables.state().filter(|variable| variable.name.is_simple()) {
            let before = ctx.flow.definitions_before(statement, &variable.name);
            let [definition] = before.as_slice() else { continue };
            let Some(origin) = origin(ctx, definition) else { continue };
            // Tracing fails at the outermost statement and does not reach the statements inside it.
            if reported.iter().any(|range| range.contains_range(construct.range)) {
                continue;
            }
            reported.push(construct.range);
            let severity = if origin == Origin::Module { Severity::Error } else { Severity::Warning };
            let head = construct.head();
            let message = format!(
                "`{}` is a TensorArray from outside the graph; a staged statement cannot carry it",
                variable.name
            );
            ctx.report(&EAGER_TENSORARRAY, head, message)
                .why(construct.why.clone())
                .label(ctx.span(definition.range), "bound here")
                .severity(severity)
                .help("create the TensorArray in the function")
                .emit();
        }
    }
}

#[derive(PartialEq, Eq)]
enum Origin {
    /// An argument. Callers that are not known may pass a TensorArray that belongs to the graph.
    Argument,
    Module,
}

/// Returns where a TensorArray from outside the graph comes from; `None` if it may belong to the graph.
fn origin(ctx: &FunctionContext, definition: &Def) -> Option<Origin> {
    let is_array = |fact: &Fact| fact.tensor_kind() == Some(TensorKind::TensorArray);
    match definition.kind {
        DefKind::Parameter(_) if ctx.root() == Some(RootKind::Function) => {
            let parameter = ctx.parameter(definition.name.root())?;
            (parameter.source == Source::CallSites && is_array(ctx.fact_of(definition)))
                .then_some(Origin::Argument)
        }
        DefKind::Assign => {
            let value = ctx.value_of(definition)?;
            (is_array(ctx.fact(value)) && tracing::is_created_before_tracing(ctx, value))
                .then_some(Origin::Module)
        }
        _ => None,
    }
}
