//! Functions that are passed to Keras. Keras calls them with Tensors while it traces.
//!
//! ```python
//! model.compile(optimizer, loss=huber, metrics=[accuracy, make_recall(0.5)])
//! keras.layers.Dense(8, activation=swish, kernel_regularizer=penalty)
//! keras.layers.Lambda(scale)
//! ```

use ruff_python_ast::{self as ast, Expr};

use crate::callbacks::argument;
use crate::dialect::RootKind;
use ag_syntax::imports::Imports;

/// A function that a call passes to Keras.
pub(crate) struct PassedFunction<'a> {
    pub(crate) function: &'a Expr,
    pub(crate) kind: RootKind,
}

/// Keras classes that wrap the function in their first argument, with the keyword of that argument.
const WRAPPERS: [(&str, &str, RootKind); 4] = [
    // The input of a `Lambda` layer may be a structure, like the input of `Layer.call`.
    ("layers.Lambda", "function", RootKind::KerasMethod),
    ("layers.Activation", "activation", RootKind::KerasFunction),
    ("metrics.MeanMetricWrapper", "fn", RootKind::KerasFunction),
    ("losses.LossFunctionWrapper", "fn", RootKind::KerasFunction),
];

/// Parameters of layers that take functions, which Keras calls with Tensors.
const LAYER_KEYWORDS: [&str; 6] = [
    "activation",
    "recurrent_activation",
    "kernel_regularizer",
    "bias_regularizer",
    "activity_regularizer",
    "kernel_constraint",
];

/// Returns the functions that a call passes to Keras.
pub(crate) fn passed_functions<'a>(
    imports: &Imports,
    call: &'a ast::ExprCall,
    callee: Option<&str>,
) -> Vec<PassedFunction<'a>> {
    let mut found = Vec::new();
    let class =
        callee.and_then(|callee| callee.strip_prefix("keras.").or_else(|| callee.strip_prefix("tf_keras.")));
    if let Some((_, keyword, kind)) = WRAPPERS.iter().find(|(name, ..)| Some(*name) == class) {
        add(argument(call, 0, keyword), *kind, &mut found);
    } else if class.is_some_and(|class| class.starts_with("layers.")) {
        let functions = LAYER_KEYWORDS.iter().filter_map(|name| call.arguments.find_keyword(name));
        functions.for_each(|keyword| add(Some(&keyword.value), RootKind::KerasFunction, &mut found));
    } else if is_compile(imports, call) {
        add(argument(call, 1, "loss"), RootKind::KerasFunction, &mut found);
        for name in ["metrics", "weighted_metrics"] {
            let metrics = call.arguments.find_keyword(name).map(|keyword| &keyword.value);
            add(metrics, RootKind::KerasFunction, &mut found);
        }
    }
    found
}

/// Returns whether a call is `model.compile(…)` of a Keras model, and `run_eagerly` is not true. Files that import
/// torch are excluded: a backend other than TensorFlow may run losses without tracing.
fn is_compile(imports: &Imports, call: &ast::ExprCall) -> bool {
    compiles_eagerly(imports, call) == Some(false) && !imports.uses("torch")
}

/// Returns whether `model.compile(…)` of a Keras model passes `run_eagerly`, other than `False`. `None` for other calls.
pub(crate) fn compiles_eagerly(imports: &Imports, call: &ast::ExprCall) -> Option<bool> {
    let is_method = call.func.as_attribute_expr().is_some_and(|method| method.attr.as_str() == "compile");
    if !is_method {
        return None;
    }
    let keyword = |name: &str| call.arguments.find_keyword(name).map(|keyword| &keyword.value);
    let says_keras = ["loss", "optimizer", "metrics", "weighted_metrics", "run_eagerly"]
        .iter()
        .any(|name| keyword(name).is_some());
    let uses_keras = || ["tensorflow", "keras", "tf_keras"].iter().any(|package| imports.uses(package));
    let eager = keyword("run_eagerly")
        .is_some_and(|value| value.as_boolean_literal_expr().is_none_or(|literal| literal.value));
    (says_keras && uses_keras()).then_some(eager)
}

/// Adds the functions in an argument: the argument itself, or elements of lists, tuples and dicts. `LOSSES[name]` may
/// be one of several functions.
fn add<'a>(argument: Option<&'a Expr>, kind: RootKind, found: &mut Vec<PassedFunction<'a>>) {
    match argument {
        Some(Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. })) => {
            elts.iter().for_each(|element| add(Some(element), kind, found));
        }
        Some(Expr::Dict(dict)) => dict.items.iter().for_each(|item| add(Some(&item.value), kind, found)),
        Some(Expr::ListComp(list)) => add(Some(&list.elt), kind, found),
        Some(function @ (Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_) | Expr::Subscript(_))) => {
            found.push(PassedFunction { function, kind });
        }
        _ => {}
    }
}
