//! AG307: a symbolic Tensor passed to a library that needs its value.

use ruff_python_ast::{Expr, ExprCall};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use ag_index::facts::TensorKind;

declare_rule! {
    /// ## What it does
    /// Reports Tensors passed to functions of NumPy or `math`, and the methods `.numpy()`, `.item()` and
    /// `.tolist()` in staged code.
    ///
    /// ## Why is this bad?
    /// While the graph is built, a Tensor is symbolic and has no value yet. NumPy and `math` compute
    /// immediately and need the value.
    ///
    /// ## Example
    /// ```python
    /// import numpy as np
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def wave(x):
    ///     return np.sin(x)
    ///
    ///
    /// wave(tf.constant(1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def wave(x):
    ///     return tf.sin(x)
    ///
    ///
    /// wave(tf.constant(1.0))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// NotImplementedError: Cannot convert a symbolic tf.Tensor (x:0) to a numpy array.
    /// TypeError: must be real number, not SymbolicTensor
    /// AttributeError: 'SymbolicTensor' object has no attribute 'numpy'
    /// ```
    pub(crate) static HOST_VALUES = {
        code: "AG307", name: "host-value",
        summary: "a library needs the value of a Tensor while the graph is built",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph], fix: None,
        check: Function(check),
    }
}

/// The functions of NumPy that accept a symbolic Tensor: they use only its shape or rank.
const HARMLESS: [&str; 8] = [
    "numpy.array_equal",
    "numpy.array_equiv",
    "numpy.flip",
    "numpy.isscalar",
    "numpy.iterable",
    "numpy.ndim",
    "numpy.shape",
    "numpy.str_",
];

fn check(ctx: &FunctionContext) {
    for expression in ctx.expressions() {
        if let Expr::Call(call) = expression
            && !is_guarded(ctx, call.range())
        {
            library(ctx, call);
            method(ctx, call);
        }
    }
}

/// `np.sin(x)`, `math.sqrt(x)`.
fn library(ctx: &FunctionContext, call: &ExprCall) {
    let Some(function) = ctx.resolve(&call.func) else { return };
    let library = match function.split('.').collect::<Vec<_>>().as_slice() {
        ["numpy", "linalg", _] | ["numpy", _] if !HARMLESS.contains(&function.as_str()) => "NumPy",
        ["math", _] => "`math`",
        _ => return,
    };
    let holds_tensor = |argument: &&Expr| match argument {
        Expr::List(list) => list.elts.iter().any(|element| ctx.fact(element).is_tensor()),
        argument => ctx.fact(argument).is_tensor(),
    };
    let Some(argument) = call.arguments.args.iter().find(holds_tensor) else { return };
    if asks_for_type(ctx, argument) {
        return;
    }
    let name = function.rsplit('.').next().unwrap_or_default();
    ctx.report(
        &HOST_VALUES,
        call,
        format!(
            "{library} needs the value of `{}`, a symbolic Tensor without a value while the graph is built",
            ctx.text(argument)
        ),
    )
    .why(ctx.why(argument))
    .help(format!("use the TensorFlow equivalent of `{name}`"))
    .emit();
}

/// `isinstance(x, tf.Tensor)` anywhere: the function handles several types.
fn asks_for_type(ctx: &FunctionContext, value: &Expr) -> bool {
    let Some(name) = value.as_name_expr() else { return false };
    ctx.expressions().into_iter().filter_map(Expr::as_call_expr).any(|call| {
        ctx.builtin(&call.func) == Some("isinstance")
            && call
                .arguments
                .args
                .first()
                .and_then(Expr::as_name_expr)
                .is_some_and(|tested| tested.id == name.id)
    })
}

/// `x.numpy()`.
fn method(ctx: &FunctionContext, call: &ExprCall) {
    let Some(method) = call.func.as_attribute_expr() else { return };
    let is_host = matches!(method.attr.as_str(), "numpy" | "item" | "tolist");
    let kind = ctx.fact(&method.value).tensor_kind();
    if !is_host || !matches!(kind, Some(TensorKind::Tensor | TensorKind::Variable)) {
        return;
    }
    let base = ctx.text(&*method.value);
    ctx.report(
        &HOST_VALUES,
        call,
        format!(
            "`.{}()` needs the value of `{base}`, a symbolic Tensor without a value while the graph is built",
            method.attr
        ),
    )
    .why(ctx.why(&method.value))
    .help("use TensorFlow operations on the Tensor, or wrap the code in `tf.py_function`")
    .emit();
}
