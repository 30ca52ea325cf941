//! AG203: a loop-carried variable that is set to `None`.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Stmt};

use super::carried::staged_loops;
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_flow::{Def, DefKind};

declare_rule! {
    /// ## What it does
    /// Reports a variable of a staged loop that is `None` at the end of an iteration.
    ///
    /// ## Why is this bad?
    /// The variable must be carried to the next iteration, and a graph cannot carry `None`. A frequent cause is
    /// assigning the result of a function without a `return`.
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
    /// ## What TensorFlow reports
    /// ```text
    /// ValueError: 'last' is None at the end of the iteration.
    /// ```
    pub(crate) static NONE_AFTER_ITERATION = {
        code: "AG203", name: "none-after-iteration",
        summary: "a variable of a staged loop is `None` after an iteration",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let is_none = |definition: &&Def| ctx.fact_of(definition).is_none() || calls_procedure(ctx, definition);
    for staged in staged_loops(ctx) {
        for variable in staged.carried().filter(|variable| variable.modified_in_body) {
            let name = &variable.name;
            let after = ctx.flow.definitions_after_body(staged.stmt, name);
            let (Some(last), false) = (after.last(), staged.before(name).iter().any(is_none)) else {
                continue;
            };
            let certain = after.iter().all(|definition| {
                is_none(definition)
                    && staged.contains(definition)
                    && staged.directly_contains(definition.range)
            });
            if !certain {
                continue;
            }
            ctx.report(
                &NONE_AFTER_ITERATION,
                staged.head(),
                format!(
                    "`{name}` is `None` at the end of an iteration, and this staged loop cannot carry `None`"
                ),
            )
            .label(ctx.span(last.range), format!("`{name}` becomes `None` here"))
            .why(staged.construct.why.clone())
            .help(format!(
                "assign a Tensor to `{name}`, or use another name for a value that is local to an iteration"
            ))
            .emit();
        }
    }
}

/// Returns whether a definition is like `x = log(y)`, where `log` returns no value.
fn calls_procedure(ctx: &FunctionContext, definition: &Def) -> bool {
    let call = ctx.value_of(definition).and_then(Expr::as_call_expr);
    let Some(callee) = call.and_then(|call| ctx.callee(call)) else { return false };
    let mut returns = Returns::default();
    returns.visit_body(&callee.def().body);
    let constructs = callee.def().name.as_str() == "__init__";
    definition.kind == DefKind::Assign && returns.completes && !returns.a_value && !constructs
}

/// The `return` statements of a function.
#[derive(Default)]
struct Returns {
    /// Whether the function has a `return` with a value, or a `yield`.
    a_value: bool,
    /// Whether the function contains statements other than `raise` and `...`.
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
