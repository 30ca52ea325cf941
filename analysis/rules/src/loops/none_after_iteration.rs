//! AG203: a name that a staged loop sets to `None`.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

use super::carried::staged_loops;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::{Def, DefKind};

declare_rule! {
    /// ## What it does
    /// Reports a variable of a staged loop that is `None` at the end of a round.
    ///
    /// ## Why is this bad?
    /// The next round starts from what this one leaves, and a graph cannot carry `None`. It often
    /// comes from keeping the result of a call that returns nothing.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def log(v):
    ///     tf.print("value:", v)
    ///
    ///
    /// @tf.function
    /// def last_of(values):
    ///     last = values[0]
    ///     for v in values:
    ///         last = log(v)
    ///     return last
    ///
    ///
    /// last_of(tf.constant([1, 2]))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// def log(v):
    ///     tf.print("value:", v)
    ///
    ///
    /// @tf.function
    /// def last_of(values):
    ///     last = values[0]
    ///     for v in values:
    ///         log(v)
    ///         last = v
    ///     return last
    ///
    ///
    /// last_of(tf.constant([1, 2]))
    /// ```
    ///
    /// ## What TensorFlow says
    /// ```text
    /// ValueError: 'last' is None at the end of the iteration.
    /// ```
    pub(crate) static NONE_AFTER_ITERATION = {
        code: "AG203", name: "none-after-iteration",
        summary: "a variable of a staged loop is `None` after a round",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let is_none = |definition: &&Def| ctx.fact_of(definition).is_none() || is_of_nothing(ctx, definition);
    for staged in staged_loops(ctx) {
        for variable in staged.carried().filter(|variable| variable.modified_in_body) {
            let name = &variable.name;
            let after = ctx.flow.definitions_after_body(staged.stmt, name);
            let (Some(last), false) = (after.last(), staged.before(name).iter().any(is_none)) else {
                continue;
            };
            let certain = after.iter().all(|definition| {
                is_none(definition) && staged.makes(definition) && staged.directly_contains(definition.range)
            });
            if !certain {
                continue;
            }
            ctx.report(
                &NONE_AFTER_ITERATION,
                staged.head(),
                format!(
                    "`{name}` is `None` at the end of a round; this staged loop must carry it to the next"
                ),
            )
            .label(ctx.span(last.range), format!("`{name}` becomes `None` here"))
            .why(staged.construct.why.clone())
            .help(format!("keep `{name}` a Tensor, or use another name for what is local to a round"))
            .emit();
        }
    }
}

/// `x = log(y)`, of a function that returns nothing.
fn is_of_nothing(ctx: &FunctionContext, definition: &Def) -> bool {
    let call = ctx.value_of(definition).and_then(Expr::as_call_expr);
    let Some(callee) = call.and_then(|call| ctx.callee(call)) else { return false };
    let mut returns = Returns::default();
    returns.visit_body(&callee.def().body);
    let constructs = callee.def().name.as_str() == "__init__";
    definition.kind == DefKind::Assign && returns.completes && !returns.a_value && !constructs
}

/// What a function's body may give to its caller.
#[derive(Default)]
struct Returns {
    /// By `return` or `yield`.
    a_value: bool,
    /// It is more than a `raise` or a `...`.
    completes: bool,
}

impl<'a> Visitor<'a> for Returns {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Return(node) => self.a_value |= node.value.is_some(),
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Raise(_) => {}
            Stmt::Expr(node) if node.value.is_literal_expr() => {}
            _ => {
                self.completes = true;
                visitor::walk_stmt(self, statement);
            }
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Yield(_) | Expr::YieldFrom(_) => self.a_value = true,
            Expr::Lambda(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }
}
