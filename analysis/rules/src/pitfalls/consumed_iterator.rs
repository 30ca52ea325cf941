//! A Python iterator advances while tracing, not when the graph runs.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::tracing::snippet;
use ag_index::facts::Alternative;
use ag_syntax::expressions;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Finds `next(…)` in staged functions on a Python iterator from outside the function: an attribute, a
    /// global, a parameter. Generators and iterators of the program's own classes are found by evaluating the program.
    ///
    /// ## Why is this bad?
    /// `next` runs while the function is traced. The item becomes a constant of the graph: every call uses the
    /// same item.
    ///
    /// ## Example
    /// ```python
    /// import itertools
    ///
    /// import tensorflow as tf
    ///
    /// serial = itertools.count()
    ///
    ///
    /// @tf.function
    /// def numbered(x: tf.Tensor):
    ///     return x * next(serial)
    /// ```
    ///
    /// ## Use instead
    /// Pass the item as an argument, or iterate over a `tf.data.Dataset`, whose iterators belong to the graph.
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def numbered(x: tf.Tensor, number: tf.Tensor):
    ///     return x * number
    /// ```
    pub(crate) static CONSUMED_ITERATOR = {
        code: "AG407", name: "consumed-iterator",
        summary: "a Python iterator advances only while a function is traced",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Keras, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for expression in expressions::of_function(ctx.def()) {
        let Expr::Call(call) = expression else { continue };
        let Some(iterator) = argument_of_next(ctx, call) else { continue };
        let Some(name) = QName::from_expr(iterator) else { continue };
        let is_own = name.is_simple()
            && ctx.flow.scope().is_local(name.root())
            && ctx.parameter(name.root()).is_none();
        if !is_own && is_python_iterator(ctx, iterator) {
            report(ctx, call);
        }
    }
    let advanced = ctx.unreported(&ctx.faults().iterators);
    advanced.into_iter().filter_map(Expr::as_call_expr).for_each(|call| report(ctx, call));
}

fn report(ctx: &FunctionContext, call: &ast::ExprCall) {
    let text = snippet(ctx.text(call));
    let message = format!("`{text}` runs once, while the graph is traced: every call gets the same item");
    ctx.report(&CONSUMED_ITERATOR, call.range(), message)
        .help("pass the item to the function as an argument, or iterate over a `tf.data.Dataset`")
        .emit();
}

fn argument_of_next<'a>(ctx: &FunctionContext, call: &'a ast::ExprCall) -> Option<&'a Expr> {
    let name = call.func.as_name_expr().filter(|name| name.id == "next")?;
    let is_builtin = ctx.resolve(&call.func).is_none() && !ctx.flow.scope().is_local(&name.id);
    call.arguments.args.first().filter(|_| is_builtin)
}

/// Returns whether it is certainly a Python iterator.
fn is_python_iterator(ctx: &FunctionContext, iterator: &Expr) -> bool {
    let fact = ctx.fact(iterator);
    let is_python = |alternative: &Alternative| match alternative {
        // The protocols of `typing` may represent the iterator of a Dataset, unless the item type excludes it.
        Alternative::Instance { module: None, class } => {
            class.starts_with("Generator[") && !class.contains("Tensor") || yields_plain_values(class)
        }
        Alternative::Instance { module: Some(module), .. } => {
            let package = module.split('.').next().unwrap_or_default();
            matches!(package, "builtins" | "typing" | "itertools" | "_collections_abc" | "collections")
        }
        _ => false,
    };
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_python)
}

/// Returns whether the items of an iterator are Python values: `Iterator[int]`, `Iterator[tuple[str, float]]`.
fn yields_plain_values(class: &str) -> bool {
    const PLAIN_TYPES: [&str; 11] =
        ["Iterator", "bool", "bytes", "complex", "dict", "float", "int", "list", "set", "str", "tuple"];
    let words = class.split(|c: char| !c.is_alphanumeric() && c != '_');
    class.starts_with("Iterator[")
        && words.filter(|word| !word.is_empty()).all(|word| PLAIN_TYPES.contains(&word))
}
