//! Python objects that a `tf.function` returns, although a graph cannot return them.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use ag_flow::DefKind;
use ag_index::dialect::RootKind;
use ag_index::facts::{Alternative, CalleeKind};
use ag_index::index::file_index;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds functions, classes, sets, generators and other Python objects in the result of a `tf.function`.
    ///
    /// ## Why is this bad?
    /// The result of a graph consists of Tensors, and of lists, tuples and dictionaries of them. TensorFlow raises for
    /// other objects.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def loss_and_tape(x: tf.Tensor):
    ///     with tf.GradientTape() as tape:
    ///         tape.watch(x)
    ///         loss = tf.reduce_sum(x * x)
    ///     return loss, tape
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def loss_and_gradient(x: tf.Tensor):
    ///     with tf.GradientTape() as tape:
    ///         tape.watch(x)
    ///         loss = tf.reduce_sum(x * x)
    ///     return loss, tape.gradient(loss, x)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None
    /// > values; found return value of type GradientTape, which is not a Tensor or ExtensionType.
    pub(crate) static RETURNED_OBJECT = {
        code: "AG413", name: "returned-object",
        summary: "a `tf.function` returns a Python object that is not a Tensor",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if ctx.root() != Some(RootKind::Function) {
        return;
    }
    for statement in ctx.statements() {
        let Stmt::Return(node) = statement else { continue };
        let Some(value) = node.value.as_deref().filter(|value| !is_guarded(ctx, value.range())) else {
            continue;
        };
        if let Some((part, what)) = object_in(ctx, value).filter(|_| !is_wrapped(ctx)) {
            let message = format!("a `tf.function` cannot return `{}`, {what}", ctx.text(part));
            ctx.report(&RETURNED_OBJECT, node, message).help("return the Tensors that callers need").emit();
        }
    }
}

/// Returns whether another decorator, such as `@tf.custom_gradient`, may change what the function returns.
fn is_wrapped(ctx: &FunctionContext) -> bool {
    let index = file_index(ctx.db, ctx.document);
    let function = index.definitions.find(&ctx.path);
    let signature = function.and_then(|(function, _)| index.signature(function.into()));
    signature.is_some_and(|signature| signature.decorators.len() > 1)
}

/// Returns the part of a result that a graph cannot represent.
fn object_in<'a>(ctx: &FunctionContext<'a>, value: &'a Expr) -> Option<(&'a Expr, String)> {
    match value {
        Expr::Tuple(tuple) => tuple.elts.iter().find_map(|element| object_in(ctx, element)),
        Expr::List(list) => list.elts.iter().find_map(|element| object_in(ctx, element)),
        Expr::Dict(dict) => dict.items.iter().find_map(|item| object_in(ctx, &item.value)),
        Expr::Lambda(_) => Some((value, "a function".to_owned())),
        Expr::Set(_) | Expr::SetComp(_) => Some((value, "a set".to_owned())),
        Expr::Generator(_) => Some((value, "a generator".to_owned())),
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(value.range(), &QName::from(&name.id));
            match definitions.as_slice() {
                [definition] if definition.kind == DefKind::Function => {
                    Some((value, "a function".to_owned()))
                }
                [definition] if definition.kind == DefKind::Class => Some((value, "a class".to_owned())),
                _ => object(ctx, value),
            }
        }
        Expr::Call(_) | Expr::Attribute(_) => object(ctx, value),
        _ => None,
    }
}

fn object<'a>(ctx: &FunctionContext<'a>, value: &'a Expr) -> Option<(&'a Expr, String)> {
    if ctx.resolve_call(value).is_some_and(|name| name == "tensorflow.GradientTape") {
        return Some((value, "a `GradientTape`".to_owned()));
    }
    let fact = ctx.python_fact(value);
    let [alternative] = fact.alternatives.as_slice() else { return None };
    if fact.unknown || fact.never {
        return None;
    }
    let what = match alternative {
        Alternative::Container { class, .. } if matches!(class.as_str(), "set" | "frozenset") => {
            "a set".to_owned()
        }
        Alternative::Callable(callee) if callee.module.as_deref() != Some("tensorflow._ops") => {
            match callee.kind {
                CalleeKind::Class => "a class".to_owned(),
                CalleeKind::Function | CalleeKind::Method => "a function".to_owned(),
            }
        }
        Alternative::Instance { module: Some(module), class }
            if module == "builtins"
                && matches!(
                    class.as_str(),
                    "map" | "zip" | "filter" | "enumerate" | "reversed" | "slice"
                ) =>
        {
            format!("a `{class}`")
        }
        // A call of `object` returns a plain object. If `object` is the inferred type of another expression, its value
        // may be of any class.
        Alternative::Instance { .. }
            if value.as_call_expr().is_some_and(|call| ctx.builtin(&call.func) == Some("object")) =>
        {
            "an `object`".to_owned()
        }
        Alternative::Instance { class, .. } if class == "GradientTape" => "a `GradientTape`".to_owned(),
        Alternative::Instance { module, class } if ctx.is_plain_class(module.as_deref(), class) => {
            format!("a `{class}`")
        }
        _ => return None,
    };
    Some((value, what))
}
