//! Functional Keras models whose tensors do not form a graph from the inputs of the model to its outputs.

use ruff_python_ast as ast;
use rustc_hash::FxHashSet;

use super::functional_model::Graph;
use super::keras_ranks;
use crate::FileContext;
use crate::declare::declare_rule;

declare_rule! {
    /// ## What it does
    /// Finds code that builds a functional model which Keras rejects:
    ///
    /// - the outputs depend on a `keras.Input` that is not among the inputs of the model
    /// - an input or output is a layer or an array instead of a symbolic tensor, or the model has no inputs or outputs
    /// - two layers have the same name
    /// - a layer receives a tensor with a rank that it does not support, several tensors instead of one, or a number as
    ///   a positional argument (a warning: Keras 2 accepts it)
    /// - code reads the output of a layer that was never called
    ///
    /// ## Why is this bad?
    /// Keras raises while the model is built.
    ///
    /// ## Example
    /// ```python
    /// import keras
    ///
    /// left = keras.Input((8,))
    /// right = keras.Input((8,))
    /// both = keras.layers.Concatenate()([left, right])
    /// model = keras.Model(left, keras.layers.Dense(1)(both))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import keras
    ///
    /// left = keras.Input((8,))
    /// right = keras.Input((8,))
    /// both = keras.layers.Concatenate()([left, right])
    /// model = keras.Model([left, right], keras.layers.Dense(1)(both))
    /// ```
    ///
    /// ## What Keras reports
    /// ```text
    /// ValueError: Output with path `[]` is not connected to `inputs`
    /// ValueError: All `outputs` values must be KerasTensors.
    /// ```
    pub(crate) static KERAS_GRAPH = {
        code: "AG416", name: "keras-graph",
        summary: "a functional Keras model whose inputs and outputs are not connected",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Keras], fix: None,
        check: File(|index| index.makes_keras_inputs, check),
    }
}

fn check(ctx: &FileContext) {
    let uses_keras = ctx.imports.uses("keras") || ctx.imports.uses("tensorflow");
    if !uses_keras || keras_ranks::is_keras2(ctx) {
        return;
    }
    let layers = ctx.program().classes.iter().filter(|class| is_layer(ctx, class));
    let layers: FxHashSet<&str> = layers.map(|class| class.name.as_str()).collect();
    for body in ctx.bodies() {
        for fault in Graph::of_scope(ctx, &layers, body) {
            let mut report = ctx.report(&KERAS_GRAPH, fault.range, fault.message).help(fault.help);
            if fault.is_accepted_by_keras2 {
                report = report.severity(keras_ranks::severity_of_keras3(ctx));
            }
            report.emit();
        }
    }
}

/// Returns whether a class is derived from `keras.layers.Layer`, and Keras calls it.
fn is_layer(ctx: &FileContext, class: &ast::StmtClassDef) -> bool {
    let [base] = class.bases() else { return false };
    ctx.resolve(base).is_some_and(|base| matches!(base.as_str(), "keras.Layer" | "keras.layers.Layer"))
        && !["__call__", "_allow_non_tensor"].iter().any(|word| ctx.text(class).contains(word))
}
