//! AG204: a loop-carried variable that changes its dtype.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Expr, Number, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::carried::{StagedLoop, staged_loops};
use super::dtypes::{Clash, Evaluation, entry};
use crate::FunctionContext;
use crate::context::Report;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_index::facts::DType;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports a loop-carried variable of a staged loop whose dtype differs before the loop and after an
    /// iteration, or that the loop combines with a Tensor of another dtype.
    ///
    /// ## Why is this bad?
    /// Every variable that a staged loop carries is a Tensor, even if it was a Python number: `0` becomes an
    /// int32, `0.0` a float32. A Tensor keeps its dtype, and TensorFlow does not convert dtypes in arithmetic,
    /// so `total = 0` cannot accumulate floats as it does in Python.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def mean(values):
    ///     total = 0
    ///     for v in values:
    ///         total += v
    ///     return total / 3
    ///
    ///
    /// mean(tf.constant([1.0, 2.0, 4.0]))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def mean(values):
    ///     total = 0.0
    ///     for v in values:
    ///         total += v
    ///     return total / 3
    ///
    ///
    /// mean(tf.constant([1.0, 2.0, 4.0]))
    /// ```
    ///
    /// ## Fix safety
    /// Safe: only the type of the initial number changes, and the loop raised before.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// TypeError: 'mean' has dtype int32 before the loop, but dtype float32 after one iteration
    /// TypeError: Input 'y' of 'AddV2' Op has type float32 that does not match type int32 of argument 'x'.
    /// ```
    pub(crate) static LOOP_DTYPE = {
        code: "AG204", name: "loop-dtype",
        summary: "a variable of a staged loop changes its dtype",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    let mut clashes: Vec<TextRange> = Vec::new();
    for staged in staged_loops(ctx) {
        let mut operations = Operations { staged: &staged, clashes: Vec::new() };
        operations.visit_body(staged.body());
        let found = operations.clashes;
        for clash in &found {
            if !clashes.contains(&clash.operation) {
                clashes.push(clash.operation);
                report_mixed_dtypes(&staged, clash);
            }
        }
        for variable in staged.carried().filter(|variable| variable.modified_in_body) {
            if !found.iter().any(|clash| clash.number == variable.name) {
                check_iteration(&staged, &variable.name);
            }
        }
    }
}

/// Reports an operation such as `total = total + 0.5` if `total` is an int32 before the loop.
fn report_mixed_dtypes(staged: &StagedLoop, clash: &Clash) {
    let ctx = staged.ctx;
    let (name, has, needs) = (&clash.number, clash.has.as_str(), clash.needs.as_str());
    let severity = if staged.certainly_traces(clash.operation) { Severity::Error } else { Severity::Warning };
    let report = ctx
        .report(
            &LOOP_DTYPE,
            clash.operation,
            format!(
                "`{name}` is {} in this staged loop, but is combined with {} here",
                article(has),
                article(needs)
            ),
        )
        .label(ctx.span(staged.head()), format!("this loop carries `{name}` as a Tensor"))
        .why(staged.construct.why.clone())
        .severity(severity);
    suggest_initial_value(staged, name, clash.needs, report);
}

/// Reports a name whose dtype changes, such as `mean = tf.cast(i, tf.float32)` in the loop after `mean = 0` before it.
fn check_iteration(staged: &StagedLoop, name: &QName) {
    let ctx = staged.ctx;
    let Some(before) = entry(staged, name) else { return };
    for definition in staged.after(name) {
        if !staged.directly_contains(definition.range) {
            continue;
        }
        let Some(after) = Evaluation::new(staged).bound(definition).dtype() else { continue };
        if after == before.dtype {
            continue;
        }
        let (has, gets) = (before.dtype.as_str(), after.as_str());
        let report = ctx
            .report(
                &LOOP_DTYPE,
                staged.head(),
                format!(
                    "`{name}` is {} before this staged loop and {} after an iteration",
                    article(has),
                    article(gets)
                ),
            )
            .label(ctx.span(definition.range), format!("`{name}` becomes {} here", article(gets)))
            .why(staged.construct.why.clone());
        suggest_initial_value(staged, name, after, report);
        return;
    }
}

/// Suggests an initial number of the right dtype.
fn suggest_initial_value(staged: &StagedLoop, name: &QName, needs: DType, report: Report) {
    let report =
        report.help(format!("initialize `{name}` as {}, or convert with `tf.cast`", article(needs.as_str())));
    let Some((literal, start)) = start(staged, name, needs) else { return report.emit() };
    report
        .label(staged.ctx.span(literal), format!("`{name}` is initialized here"))
        .fix(Applicability::Safe, format!("Initialize with `{start}`"), vec![Edit::replace(literal, start)])
        .emit();
}

/// Returns the number with which a name is initialized, and the same number in another dtype.
fn start(staged: &StagedLoop, name: &QName, needs: DType) -> Option<(TextRange, String)> {
    let ctx = staged.ctx;
    let before = staged.before(name);
    let [definition] = before.as_slice() else { return None };
    let literal = ctx.value_of(definition)?.as_number_literal_expr()?;
    let text = ctx.text(literal);
    let start = match &literal.value {
        Number::Int(_) if needs == DType::Float32 && text.bytes().all(|digit| digit.is_ascii_digit()) => {
            format!("{text}.0")
        }
        Number::Float(_) if needs.is_integer() => return None,
        _ => {
            let module = ctx.imports.local_name_of("tensorflow")?;
            format!("{module}.constant({text}, {module}.{})", needs.as_str())
        }
    };
    Some((literal.range(), start))
}

fn article(dtype: &str) -> String {
    match dtype {
        "int8" | "int16" | "int32" | "int64" => format!("an {dtype}"),
        _ => format!("a {dtype}"),
    }
}

/// Finds clashes in all arithmetic of a body, at most one for each name.
struct Operations<'s, 'c, 'a> {
    staged: &'s StagedLoop<'c, 'a>,
    clashes: Vec<Clash>,
}

impl Operations<'_, '_, '_> {
    fn note(&mut self, clash: Option<Clash>) {
        if let Some(clash) = clash
            && !self.clashes.iter().any(|known| known.number == clash.number)
        {
            self.clashes.push(clash);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Operations<'_, '_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(_) | Stmt::ClassDef(_) => {}
            Stmt::AugAssign(assign) => {
                source_order::walk_stmt(self, statement);
                let mut evaluation = Evaluation::new(self.staged);
                evaluation.operation(&assign.target, assign.op, &assign.value, assign.range());
                self.note(evaluation.clash);
            }
            _ => source_order::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Lambda(_) => {}
            Expr::BinOp(_) => {
                let mut evaluation = Evaluation::new(self.staged);
                evaluation.of(expression);
                self.note(evaluation.clash);
                source_order::walk_expr(self, expression);
            }
            _ => source_order::walk_expr(self, expression),
        }
    }

    fn visit_annotation(&mut self, _annotation: &'a Expr) {}
}
