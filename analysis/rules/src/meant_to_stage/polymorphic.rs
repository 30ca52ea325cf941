//! AG305: a decision that is staged for some callers and evaluated in Python for others.

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_index::assumptions::Source;
use ag_index::facts::{Alternative, Binding};
use ag_staging::construct::ConstructKind;
use ruff_python_ast::Expr;
use ruff_python_ast::visitor::{self, Visitor};

declare_rule! {
    /// ## What it does
    /// Reports a condition or loop on an argument that some callers pass as a Tensor and others as a
    /// Python value.
    ///
    /// ## Why is this bad?
    /// Such a function behaves in two ways. For a Tensor both branches are traced and must match; for a Python
    /// value one branch is selected while the graph is built. Code that works for one caller may fail for
    /// another. The rule is off by default.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def scaled(x, factor):
    ///     if factor > 1:
    ///         x = x * factor
    ///     return x
    ///
    ///
    /// scaled(tf.constant(3), tf.constant(2))
    /// scaled(tf.constant(3), 2)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def scaled(x, factor):
    ///     if factor > 1:
    ///         x = x * factor
    ///     return x
    ///
    ///
    /// scaled(tf.constant(3), tf.constant(2))
    /// scaled(tf.constant(3), tf.constant(4))
    /// ```
    ///
    /// ## What TensorFlow reports
    /// Nothing.
    pub(crate) static POLYMORPHIC = {
        code: "AG305", name: "polymorphic",
        summary: "a decision is staged for some callers and evaluated in Python for others",
        severity: Info, default: false, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, node) in ctx.decisions() {
        let decides = matches!(
            construct.kind,
            ConstructKind::If | ConstructKind::While | ConstructKind::For | ConstructKind::IfExp
        );
        let Some(test) = node.test().filter(|_| decides && construct.binding == Binding::Mixed) else {
            continue;
        };
        let mut names = Names { ctx, found: None };
        names.visit_expr(test);
        if let Some(name) = names.found {
            ctx.report(
                &POLYMORPHIC,
                test,
                format!(
                    "this decision is staged for some callers only: `{name}` may be a Tensor or a Python value"
                ),
            )
            .why(construct.why.clone())
            .help("pass a Tensor at every call, or write two functions")
            .emit();
        }
    }
}

/// Returns whether an alternative is a single value. An annotation with a container, such as `Tensor | list[Tensor]`,
/// describes one kind of argument: a structure of Tensors.
fn is_one_value(alternative: &Alternative) -> bool {
    use Alternative::{Bool, Float, Int, None, Str, Tensor};
    matches!(alternative, Tensor { .. } | Bool(_) | Int(_) | Float | Str(_) | None)
}

/// Finds the first parameter in an expression that some callers pass as a Tensor and others as a Python value.
struct Names<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    found: Option<&'a str>,
}

impl<'e> Visitor<'e> for Names<'_, '_> {
    fn visit_expr(&mut self, expression: &'e Expr) {
        if let Expr::Name(name) = expression
            && let Some(parameter) = self.ctx.parameter(&name.id)
            && parameter.binding == Binding::Mixed
            && parameter.source == Source::CallSites
            && self.ctx.fact(expression).alternatives.iter().all(is_one_value)
        {
            self.found.get_or_insert(parameter.name.as_str());
        }
        visitor::walk_expr(self, expression);
    }
}
