//! AG211: an item of a Python container whose key a staged loop cannot carry.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, ExprSubscript, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::mutation::{Change, container_class, mutations};
use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::hashing;
use ag_db::diagnostic::Severity;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a Tensor that a staged loop stores in a list or dict under a computed key, and items of a list
    /// or dict whose key is itself a Tensor.
    ///
    /// ## Why is this bad?
    /// A staged loop carries `d["k"]` like a variable, because the key is known from the source. It does not
    /// carry `d[k]` if `k` changes in the loop: the Tensor stays in the graph of one iteration and cannot be
    /// used outside of it. And Python cannot look up an item by a Tensor at all.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def count(values):
    ///     totals = {"low": 0, "high": 0}
    ///     for v in values:
    ///         for name in ("low", "high"):
    ///             totals[name] += v
    ///     return totals
    ///
    ///
    /// count(tf.constant([1, 2]))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def count(values):
    ///     totals = {"low": 0, "high": 0}
    ///     for v in values:
    ///         totals = {name: total + v for name, total in totals.items()}
    ///     return totals
    ///
    ///
    /// count(tf.constant([1, 2]))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// InaccessibleTensorError: <tf.Tensor 'while/add:0' shape=() dtype=int32> is out of scope and cannot be used here.
    /// TypeError: list indices must be integers or slices, not SymbolicTensor
    /// TypeError: Tensor is unhashable. Instead, use tensor.ref() as the key.
    /// ```
    pub(crate) static DYNAMIC_KEY = {
        code: "AG211", name: "dynamic-key",
        summary: "a staged loop stores a Tensor under a computed key",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let mut reported = tensor_keys(ctx);
    for staged in staged_loops(ctx) {
        for mutation in mutations(&staged) {
            let Change::Item { target, value } = mutation.change else { continue };
            if reported.contains(&target.range())
                || is_carried(&staged, target)
                || !ctx.fact(value).may_be_tensor()
            {
                continue;
            }
            reported.push(target.range());
            let name = &mutation.container;
            let used = ctx.flow.live_after(staged.stmt).contains(name);
            ctx.report(
                &DYNAMIC_KEY,
                target,
                format!(
                    "this staged loop cannot carry `{}`: its key changes in each iteration",
                    ctx.text(target)
                ),
            )
            .label(ctx.span(staged.head()), "the staged loop")
            .why(staged.construct.why.clone())
            .help(format!(
                "rebuild `{name}` in each iteration, or use a Tensor and `tf.tensor_scatter_nd_update`"
            ))
            .severity(if used && staged.certainly_traces(target.range()) {
                Severity::Error
            } else {
                Severity::Warning
            })
            .emit();
        }
    }
}

/// Returns whether the loop carries the item, because its key is known from the source and the item exists before the
/// loop.
fn is_carried(staged: &StagedLoop, target: &ExprSubscript) -> bool {
    QName::from_expr(&Expr::Subscript(target.clone())).is_some_and(|name| staged.carries(&name))
}

/// Reports `table[i]` if `table` is a Python list or dict and `i` a Tensor. Returns the ranges of these items.
fn tensor_keys(ctx: &FunctionContext) -> Vec<TextRange> {
    let mut items = Items { ctx, found: Vec::new() };
    if ctx.converts() {
        items.visit_body(&ctx.def().body);
    }
    for (item, class) in &items.found {
        let message = match *class {
            "dict" => format!("the key of `{}` is a Tensor, which cannot be a dict key", ctx.text(*item)),
            class => {
                format!(
                    "the index of `{}` is a Tensor, but a Python {class} requires an int",
                    ctx.text(*item)
                )
            }
        };
        ctx.report(&DYNAMIC_KEY, *item, message)
            .why(ctx.why(&item.slice))
            .help("use `tf.gather(tf.stack(items), i)`")
            .emit();
    }
    items.found.iter().map(|(item, _)| item.range()).collect()
}

struct Items<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    found: Vec<(&'a ExprSubscript, &'a str)>,
}

impl<'a> SourceOrderVisitor<'a> for Items<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
            source_order::walk_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Subscript(item) = expression
            && self.ctx.fact(&item.slice).is_tensor()
            && let Some(class) = container_class(self.ctx, &item.value)
                // `collections.Counter()`
                .or_else(|| hashing::is_dict(self.ctx.python_fact(&item.value)).then_some("dict"))
        {
            self.found.push((item, class));
        }
        source_order::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
