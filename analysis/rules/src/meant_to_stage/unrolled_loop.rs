//! AG304: a Python loop of many iterations, each of which adds operations to the graph.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit};
use ag_index::facts::{Alternative, Binding};
use ag_staging::construct::{Construct, ConstructNode};

/// The minimum number of iterations. Shorter loops are often unrolled on purpose: layers, heads, steps of an
/// integrator.
const MANY_ITERATIONS: i64 = 100;

declare_rule! {
    /// ## What it does
    /// Reports a Python loop of 100 iterations or more whose body computes with Tensors.
    ///
    /// ## Why is this bad?
    /// Python runs the loop while the graph is built, so the graph contains the operations of every iteration.
    /// It takes long to build, optimize and load. A staged loop contains the operations once.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def relax(x):
    ///     for _ in range(1000):
    ///         x = tf.tanh(x)
    ///     return x
    ///
    ///
    /// relax(tf.constant(1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def relax(x):
    ///     for _ in tf.range(1000):
    ///         x = tf.tanh(x)
    ///     return x
    ///
    ///
    /// relax(tf.constant(1.0))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: in a staged loop the variables become Tensors with a fixed dtype and shape.
    ///
    /// ## What TensorFlow reports
    /// Nothing up to 50,000 iterations, then:
    /// ```text
    /// WARNING: Large unrolled loop detected. Did you mean to use a TF loop?
    /// ```
    pub(crate) static UNROLLED_LOOP = {
        code: "AG304", name: "unrolled-loop",
        summary: "a Python loop adds the operations of many iterations to the graph",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    for (construct, node) in ctx.decisions() {
        let ConstructNode::For(statement) = node else { continue };
        let iterations = iterations(ctx, &statement.iter).filter(|iterations| *iterations >= MANY_ITERATIONS);
        let (Some(iterations), Binding::Python) = (iterations, construct.binding) else { continue };
        if computes_with_tensors(ctx, construct) {
            let head = construct.head();
            let report = ctx
                .report(
                    &UNROLLED_LOOP,
                    head,
                    format!("Python unrolls this loop: the graph contains its operations {iterations} times"),
                )
                .why(construct.why.clone())
                .help("iterate over `tf.range(…)` to stage the loop");
            match (statement.iter.as_call_expr(), ctx.imports.local_name_of("tensorflow")) {
                (Some(call), Some(module)) => report
                    .fix(
                        Applicability::Unsafe,
                        format!("Stage the loop with `{module}.range`"),
                        vec![Edit::replace(call.func.range(), format!("{module}.range"))],
                    )
                    .emit(),
                _ => report.emit(),
            }
        }
    }
}

/// Returns the number of iterations of a `range(…)` whose arguments are known.
fn iterations<'a>(ctx: &FunctionContext<'a>, iterable: &'a Expr) -> Option<i64> {
    let call = iterable.as_call_expr().filter(|call| ctx.builtin(&call.func) == Some("range"))?;
    let number = |argument: &Expr| match ctx.python_fact(argument).alternatives.as_slice() {
        [Alternative::Int(Some(number))] => Some(*number),
        _ => None,
    };
    let numbers: Option<Vec<i64>> = call.arguments.args.iter().map(number).collect();
    let (start, stop, step) = match *numbers?.as_slice() {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [start, stop, step] => (start, stop, step),
        _ => return None,
    };
    stop.checked_sub(start)?.checked_div(step)
}

fn computes_with_tensors(ctx: &FunctionContext, construct: &Construct) -> bool {
    ctx.expressions().into_iter().any(|expression| {
        let within = construct.range.contains_range(expression.range())
            && !construct.test_range.contains_range(expression.range());
        let computes = match expression {
            Expr::Call(call) => ctx.resolve(&call.func).is_some_and(|name| name.starts_with("tensorflow.")),
            Expr::BinOp(_) => true,
            _ => false,
        };
        within && computes && ctx.python_fact(expression).may_be_tensor()
    })
}
