//! AG308: `or` and `not` that ask whether an argument was given.

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
    /// Reports `y or default` and `not y` where `y` may be a Tensor that is no bool.
    ///
    /// ## Why is this bad?
    /// In Python both ask whether `y` was given. Of a Tensor AutoGraph makes logical operations of the
    /// graph, which take bools only.
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
    /// Unsafe: `or` also replaces `0`, `""` and other false values.
    ///
    /// ## What TensorFlow says
    /// ```text
    /// InvalidArgumentError: Input 'pred' passed float expected bool while building NodeDef 'cond/switch_pred/'
    /// TypeError: Input 'x' of 'LogicalNot' Op has type float32 that does not match expected type of bool.
    /// ```
    pub(crate) static DEFAULT_OR = {
        code: "AG308", name: "default-or",
        summary: "`or` or `not` asks whether a Tensor was given",
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
                default_value(ctx, operation, tested);
            }
            ConstructNode::Not(operation) => absent(ctx, operation.range(), &operation.operand),
            _ => {}
        }
    }
}

/// What a value may be, other than a bool.
enum Given {
    /// A Tensor, for certain.
    Always,
    /// A Tensor or `None`.
    Sometimes,
}

fn given(fact: &Fact) -> Option<Given> {
    // An unknown dtype may be bool; an optional argument hardly is.
    match (fact.may_be_tensor(), fact.dtype()) {
        (false, _) | (_, Some(DType::Bool)) => None,
        (true, _) if fact.may_be_none() => Some(Given::Sometimes),
        (true, Some(_)) if fact.is_tensor() => Some(Given::Always),
        _ => None,
    }
}

/// `y or default`, as a value.
fn default_value(ctx: &FunctionContext, operation: &ExprBoolOp, tested: bool) {
    let [value, default] = operation.values.as_slice() else { return };
    let Some(given) = given(ctx.python_fact(value)).filter(|_| !tested) else { return };
    let (name, severity) = (ctx.text(value), severity(&given));
    let report = ctx
        .report(
            &DEFAULT_OR,
            operation,
            format!("`or` tests `{name}`, which {} a Tensor but no bool", is(&given)),
        )
        .why(ctx.why(value))
        .severity(severity)
        .help(format!("ask for `{name} is None`"));
    let simple = QName::from_expr(value).is_some() && !ctx.text(default).contains('\n');
    let choice = format!("{} if {name} is None else {name}", ctx.text(default));
    // A ternary binds less than `or` does.
    let text = if stands_alone(ctx, operation.range()) { choice } else { format!("({choice})") };
    if simple && !default.is_lambda_expr() && !default.is_if_expr() {
        report
            .fix(Applicability::Unsafe, "Ask for `None`", vec![Edit::replace(operation.range(), text)])
            .emit();
    } else {
        report.emit();
    }
}

/// `not y`.
fn absent(ctx: &FunctionContext, range: TextRange, operand: &Expr) {
    let optional = || operand.as_name_expr().is_some_and(|name| is_optional(ctx, &name.id));
    let severity = match given(ctx.python_fact(operand)) {
        Some(Given::Sometimes) => Severity::Warning,
        Some(Given::Always) if optional() => Severity::Error,
        _ => return,
    };
    let name = ctx.text(operand);
    let report = ctx
        .report(&DEFAULT_OR, range, format!("`not` tests `{name}`, which may be a Tensor but no bool"))
        .why(ctx.why(operand))
        .severity(severity)
        .help(format!("ask for `{name} is None`"));
    match QName::from_expr(operand) {
        Some(_) => {
            let edit = Edit::replace(range, format!("{name} is None"));
            report.fix(Applicability::Unsafe, "Ask for `None`", vec![edit]).emit();
        }
        None => report.emit(),
    }
}

/// Whether `None` is the default of a parameter.
fn is_optional(ctx: &FunctionContext, name: &str) -> bool {
    let default = ctx.def().parameters.iter().find(|parameter| parameter.name() == name);
    default.and_then(|parameter| parameter.default()).is_some_and(Expr::is_none_literal_expr)
}

fn is(given: &Given) -> &'static str {
    match given {
        Given::Always => "is",
        Given::Sometimes => "may be",
    }
}

fn severity(given: &Given) -> Severity {
    match given {
        Given::Always => Severity::Error,
        Given::Sometimes => Severity::Warning,
    }
}

/// Whether an expression is the whole right side of an assignment.
fn stands_alone(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.statements()
        .into_iter()
        .any(|statement| statement.as_assign_stmt().is_some_and(|assign| assign.value.range() == range))
}
