//! A chained comparison whose middle operand has side effects.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::effects;
use crate::effects::MUTATORS;
use ag_staging::construct::ConstructNode;

declare_rule! {
    /// ## What it does
    /// Finds chained comparisons (`a < f() < b`) whose middle operand has a side effect or draws a random
    /// number.
    ///
    /// ## Why is this bad?
    /// AutoGraph converts the chain to `a < f() and f() < b`. Python evaluates the middle operand once, the
    /// converted function twice: an item is popped twice, and the comparisons use two different random numbers.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def in_the_middle():
    ///     if 0.25 < tf.random.uniform([]) < 0.75:
    ///         return 1
    ///     return 0
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def in_the_middle():
    ///     sample = tf.random.uniform([])
    ///     if 0.25 < sample < 0.75:
    ///         return 1
    ///     return 0
    /// ```
    ///
    /// ## What TensorFlow reports
    /// Nothing.
    pub(crate) static CHAINED_COMPARE_EFFECTS = {
        code: "AG114", name: "chained-compare-effects",
        summary: "the middle operand of a converted chained comparison is evaluated twice",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Pennylane], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, node) in ctx.decisions() {
        let ConstructNode::Compare(compare) = node else { continue };
        let middle = compare.comparators.split_last().map_or(&[][..], |(_, middle)| middle);
        for operand in middle {
            let mut effects = Effects { ctx, found: None };
            effects.visit_expr(operand);
            let Some(effect) = effects.found else { continue };
            let mut report = ctx.report(
                &CHAINED_COMPARE_EFFECTS,
                operand.range(),
                "AutoGraph evaluates the middle operand of this chained comparison twice, with its side effects",
            );
            if effect != operand.range() {
                report = report.label(ctx.span(effect), "this runs twice");
            }
            report.why(construct.why.clone()).help("assign the middle operand to a variable first").emit();
        }
    }
}

/// Finds the first call with a side effect.
struct Effects<'c, 'a> {
    ctx: &'c FunctionContext<'a>,
    found: Option<TextRange>,
}

impl<'a> SourceOrderVisitor<'a> for Effects<'_, 'a> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Call(call) = expression
            && self.found.is_none()
            && has_effect(self.ctx, call)
        {
            self.found = Some(call.range());
        }
        if !expression.is_lambda_expr() {
            source_order::walk_expr(self, expression);
        }
    }
}

fn has_effect(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    const RANDOM: [&str; 3] = ["tensorflow.random.", "numpy.random.", "random."];
    if let Some(name) = ctx.resolve(&call.func) {
        return RANDOM.iter().any(|package| name.starts_with(package));
    }
    match &*call.func {
        Expr::Name(name) if name.id == "next" => true,
        Expr::Attribute(attribute) if MUTATORS.contains(&attribute.attr.as_str()) => true,
        Expr::Attribute(attribute) if attribute.attr.starts_with("assign") => {
            ctx.fact(&attribute.value).is_tensor()
        }
        _ => ctx.callee(call).is_some_and(|callee| effects::outer_side_effect(callee.def()).is_some()),
    }
}
