//! AG205: a loop-carried variable that changes its shape.

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::carried::{StagedLoop, staged_loops};
use super::distributed;
use super::shapes::{self, Growth, Invariant, Shape};
use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_flow::{Def, DefKind};
use ag_index::facts::TensorKind;
use ag_syntax::edits;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a Tensor whose shape after an iteration of a staged loop differs from its shape before the loop.
    ///
    /// ## Why is this bad?
    /// TensorFlow fixes the shape of every loop-carried variable before the first iteration, as far as it is
    /// known. A Tensor that grows must be declared with an unknown size along the axis where it grows. A loop over a
    /// `tf.data.Dataset` needs no declaration.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def powers(n):
    ///     found = tf.ones([1])
    ///     for i in tf.range(n):
    ///         found = tf.concat([found, [2.0]], 0)
    ///     return found
    ///
    ///
    /// powers(tf.constant(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def powers(n):
    ///     found = tf.ones([1])
    ///     for i in tf.range(n):
    ///         tf.autograph.experimental.set_loop_options(shape_invariants=[(found, tf.TensorShape([None]))])
    ///         found = tf.concat([found, [2.0]], 0)
    ///     return found
    ///
    ///
    /// powers(tf.constant(3))
    /// ```
    ///
    /// ## Fix safety
    /// Safe: the fix only declares the change of the shape; the loop changes it already.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// ValueError: 'found' has shape (1,) before the loop, but shape (2,) after one iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants.
    /// ValueError: 'found' has shape (1,) before the loop, which does not conform with the shape invariant (2,).
    /// ```
    pub(crate) static LOOP_SHAPE = {
        code: "AG205", name: "loop-shape",
        summary: "a variable of a staged loop changes its shape",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    for staged in staged_loops(ctx).filter(|staged| !reduces_dataset(staged)) {
        for variable in staged.carried().filter(|variable| variable.modified_in_body) {
            check_variable(&staged, &variable.name);
        }
    }
}

/// Returns whether a loop iterates over a Dataset. AutoGraph converts it to `dataset.reduce`, or to `dataset.scan` if
/// the loop has a `break`. Both give a variable the most specific shape that is valid for all iterations. A loop over
/// `iter(dataset)` is a `tf.while_loop`.
fn reduces_dataset(staged: &StagedLoop) -> bool {
    staged.iterable().is_some_and(|iterable| {
        staged.ctx.python_fact(iterable).tensor_kind() == Some(TensorKind::Dataset)
            && !distributed::iterates(staged)
    })
}

fn check_variable(staged: &StagedLoop, name: &QName) {
    let ctx = staged.ctx;
    let entry = shapes::entry(staged, name);
    match (shapes::invariant(staged, name), &entry) {
        (Invariant::None, _) => {}
        (Invariant::Shape(invariant), Some(shape)) if !shapes::conforms(shape, &invariant) => {
            let message = format!(
                "`{name}` has shape {} before this staged loop, which does not match its shape invariant {}",
                shapes::display(shape),
                shapes::display(&invariant)
            );
            return ctx
                .report(&LOOP_SHAPE, staged.head(), message)
                .why(staged.construct.why.clone())
                .help("use `None` for the dimensions that change")
                .emit();
        }
        _ => return,
    }
    let after = staged.after(name);
    let [definition] = after.as_slice() else { return };
    if staged.directly_contains(definition.range) && definition.kind == DefKind::Assign {
        check_iteration(staged, name, entry.as_ref(), definition);
    }
}

/// Returns how a definition enlarges the variable.
fn growth(ctx: &FunctionContext, name: &QName, definition: &Def, value: Option<&Expr>) -> Option<Growth> {
    match value {
        Some(value) => shapes::growth(ctx, name, value),
        None => shapes::growth_of_unpacked(ctx, name, definition),
    }
}

fn check_iteration(staged: &StagedLoop, name: &QName, entry: Option<&Shape>, definition: &Def) {
    let ctx = staged.ctx;
    let value = ctx.value_of(definition);
    let report = |message: String| {
        ctx.report(&LOOP_SHAPE, staged.head(), message)
            .label(ctx.span(definition.range), format!("`{name}` gets its new shape here"))
            .why(staged.construct.why.clone())
            .help("declare the shape with `tf.autograph.experimental.set_loop_options(shape_invariants=…)`")
    };
    match (growth(ctx, name, definition, value), entry) {
        (Some(growth), Some(shape)) => {
            let report = report(format!(
                "`{name}` has shape {} before this staged loop and a larger one after an iteration",
                shapes::display(shape)
            ));
            match declared(staged, name, shape, &growth) {
                Some((line, edit)) => {
                    report.fix(Applicability::Safe, format!("Add `{line}`"), vec![edit]).emit();
                }
                None => report.emit(),
            }
        }
        // TensorFlow accepts the growth if it does not know the shape either.
        (Some(_), None) if !ctx.stage.options.input_signature => {
            report(format!(
                "`{name}` has a larger shape after an iteration of this staged loop than before it"
            ))
            .severity(Severity::Warning)
            .emit();
        }
        (None, Some(shape)) => {
            let after = value.and_then(|value| shapes::of(ctx, value, Some((name, shape))));
            if let Some(after) = after.filter(|after| after != shape) {
                report(format!(
                    "`{name}` has shape {} before this staged loop and {} after an iteration",
                    shapes::display(shape),
                    shapes::display(&after)
                ))
                .emit();
            }
        }
        _ => {}
    }
}

/// Returns the shape invariant for a Tensor that grows along an axis, and the edit that inserts it as the first
/// statement of the body.
fn declared(staged: &StagedLoop, name: &QName, shape: &Shape, growth: &Growth) -> Option<(String, Edit)> {
    let Growth::Along(Some(axis)) = growth else { return None };
    let mut allowed = shape.clone();
    *allowed.get_mut(*axis)? = -1;
    let first = staged.body().first()?;
    let has_options = staged.ctx.text(first).contains("set_loop_options");
    let module = staged.ctx.imports.local_name_of("tensorflow").filter(|_| !has_options)?;
    let sizes = shapes::display(&allowed);
    let sizes = sizes.trim_matches(['(', ')']).trim_end_matches(',');
    let line = format!(
        "{module}.autograph.experimental.set_loop_options(shape_invariants=[({name}, {module}.TensorShape([{sizes}]))])"
    );
    let edit = edits::line_before(&staged.ctx.ast.text, first.start(), &line)?;
    Some((line, edit))
}
