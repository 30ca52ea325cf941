//! AG308: `or` and `not` used to test whether an argument was passed.

use ruff_python_ast::{BoolOp, Expr, ExprBoolOp};
use ruff_text_size::{Ranged, TextRange};

use crate::FunctionContext;
use crate::declare::declare_rule;
use ag_db::diagnostic::{Applicability, Edit, Severity};
use ag_index::facts::{DType, Fact};
use ag_staging::construct::{ConstructKind, ConstructNode};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports `y or default` and `not y` where `y` may be a Tensor that is not a bool.
    ///
    /// ## Why is this bad?
    /// In Python both are used to test whether `y` was passed. On a Tensor AutoGraph converts them to logical
    /// operations of the graph, which accept bools only.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def shifted(x, offset=None):
    ///     offset = offset or 1.0
    ///     return x + offset
    ///
    ///
    /// shifted(tf.constant(1.0), tf.constant(2.0))
    /// shifted(tf.constant(1.0))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def shifted(x, offset=None):
    ///     offset = 1.0 if offset is None else offset
    ///     return x + offset
    ///
    ///
    /// shifted(tf.constant(1.0), tf.constant(2.0))
    /// shifted(tf.constant(1.0))
    /// ```
    ///
    /// ## Fix safety
    /// Unsafe: `or` also replaces `0`, `""` and other falsy values.
    ///
    /// ## What TensorFlow reports
    /// ```text
    /// InvalidArgumentError: Input 'pred' passed float expected bool while building NodeDef 'cond/switch_pred/'
    /// TypeError: Input 'x' of 'LogicalNot' Op has type float32 that does not match expected type of bool.
    /// ```
    pub(crate) static DEFAULT_OR = {
        code: "AG308", name: "default-or",
        summary: "`or` or `not` tests whether a Tensor was passed",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow, Autograph], fix: Sometimes,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !ctx.converts() {
        return;
    }
    let tests: Vec<TextRange> = ctx
        .decisions()
        .filter(|(construct, _)| construct.kind != ConstructKind::For)
        .filter(|(_, node)| node.test().is_some())
        .map(|(construct, _)| construct.test_range)
        .collect();
    for (_, node) in ctx.decisions() {
        match node {
            ConstructNode::BoolOp(operation) if operation.op == BoolOp::Or => {
                let tested = tests.iter().any(|test| test.contains_range(operation.range()));
                check_or(ctx, operation, tested);
            }
            ConstructNode::Not(operation) => check_not(ctx, operation.range(), &operation.operand),
            _ => {}
        }
    }
}

/// How certain it is that a value is a Tensor and not a bool.
enum TensorCertainty {
    /// Always a Tensor.
    Always,
    /// A Tensor or `None`.
    Sometimes,
}

fn tensor_certainty(fact: &Fact) -> Option<TensorCertainty> {
    // An unknown dtype may be bool, but an optional argument is unlikely to be one.
    match (fact.may_be_tensor(), fact.dtype()) {
        (false, _) | (_, Some(DType::Bool)) => None,
        (true, _) if fact.may_be_none() => Some(TensorCertainty::Sometimes),
        (true, Some(_)) if fact.is_tensor() => Some(TensorCertainty::Always),
        _ => None,
    }
}

/// Reports `y or default` if its value is used.
fn check_or(ctx: &FunctionContext, operation: &ExprBoolOp, tested: bool) {
    let [value, default] = operation.values.as_slice() else { return };
    let Some(certainty) = tensor_certainty(ctx.python_fact(value)).filter(|_| !tested) else { return };
    let (name, severity) = (ctx.text(value), severity(&certainty));
    let report = ctx
        .report(
            &DEFAULT_OR,
            operation,
            format!("`or` tests `{name}`, which {} a non-bool Tensor", is(&certainty)),
        )
        .why(ctx.why(value))
        .severity(severity)
        .help(format!("test `{name} is None`"));
    let simple = QName::from_expr(value).is_some() && !ctx.text(default).contains('\n');
    let choice = format!("{} if {name} is None else {name}", ctx.text(default));
    // A conditional expression has a lower precedence than `or`.
    let text = if is_assigned_value(ctx, operation.range()) { choice } else { format!("({choice})") };
    if simple && !default.is_lambda_expr() && !default.is_if_expr() {
        report
            .fix(Applicability::Unsafe, "Test for `None`", vec![Edit::replace(operation.range(), text)])
            .emit();
    } else {
        report.emit();
    }
}

/// Reports `not y`.
fn check_not(ctx: &FunctionContext, range: TextRange, operand: &Expr) {
    let optional = || operand.as_name_expr().is_some_and(|name| is_optional(ctx, &name.id));
    let severity = match tensor_certainty(ctx.python_fact(operand)) {
        Some(TensorCertainty::Sometimes) => Severity::Warning,
        Some(TensorCertainty::Always) if optional() => Severity::Error,
        _ => return,
    };
    let name = ctx.text(operand);
    let report = ctx
        .report(&DEFAULT_OR, range, format!("`not` tests `{name}`, which may be a non-bool Tensor"))
        .why(ctx.why(operand))
        .severity(severity)
        .help(format!("test `{name} is None`"));
    match QName::from_expr(operand) {
        Some(_) => {
            let edit = Edit::replace(range, format!("{name} is None"));
            report.fix(Applicability::Unsafe, "Test for `None`", vec![edit]).emit();
        }
        None => report.emit(),
    }
}

/// Returns whether a parameter has the default `None`.
fn is_optional(ctx: &FunctionContext, name: &str) -> bool {
    let default = ctx.def().parameters.iter().find(|parameter| parameter.name() == name);
    default.and_then(|parameter| parameter.default()).is_some_and(Expr::is_none_literal_expr)
}

fn is(certainty: &TensorCertainty) -> &'static str {
    match certainty {
        TensorCertainty::Always => "is",
        TensorCertainty::Sometimes => "may be",
    }
}

fn severity(certainty: &TensorCertainty) -> Severity {
    match certainty {
        TensorCertainty::Always => Severity::Error,
        TensorCertainty::Sometimes => Severity::Warning,
    }
}

/// Returns whether an expression is the whole right side of an assignment.
fn is_assigned_value(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.statements()
        .into_iter()
        .any(|statement| statement.as_assign_stmt().is_some_and(|assign| assign.value.range() == range))
}
