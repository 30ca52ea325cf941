//! Selects where the rules about syntax that AutoGraph rejects report their findings.
//!
//! TensorFlow only logs a warning about the syntax, and runs the function as Python. It raises an exception at the
//! first decision on a Tensor, so the finding is reported there. Without such a decision, it is reported at the syntax.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use crate::context::Report;
use crate::{FunctionContext, Rule};
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::assumptions::{Source, Unconverted};
use ag_index::dialect::RootKind;
use ag_index::facts::{Fact, TensorKind};
use ag_staging::construct::{Construct, ConstructKind};
use ag_syntax::qname::QName;
use ag_syntax::unsupported;
use ag_syntax::unsupported::Unsupported;

/// Reports the first occurrence of `kind` in a function that AutoGraph would otherwise convert. Returns the report,
/// which the caller completes, and the range of the syntax. `phrase` completes "AutoGraph cannot convert `f` because of
/// …".
pub(super) fn check<'c>(
    ctx: &'c FunctionContext,
    rule: &'static Rule,
    kind: Unsupported,
    phrase: &str,
    help: &str,
) -> Option<(Report<'c>, TextRange)> {
    if ctx.stage.unconverted != Some(Unconverted::Syntax) {
        return None;
    }
    let found = unsupported::find(&ctx.path, ctx.ast, ctx.imports, &ctx.stage.options.features);
    let is_first = found.first().is_some_and(|(first, _)| *first == kind);
    let (_, range) = found.into_iter().find(|(found, _)| *found == kind)?;
    let name = ctx.def().name.as_str();
    let report = match first_decision(ctx).filter(|_| is_first && runs_while_tracing(ctx, kind)) {
        Some(decision) => {
            let failure = failure(ctx, decision);
            let message = format!("{failure}: AutoGraph cannot convert `{name}` because of {phrase}");
            ctx.report(rule, decision.test_range, message)
                .why(decision.why.clone())
                .label(ctx.span(range), format!("prevents conversion of `{name}`"))
        }
        None if kind == Unsupported::Yield && ctx.root().is_none() => return None,
        None if !runs_while_tracing(ctx, kind) && ctx.root() == Some(RootKind::Function) => ctx
            .report(
                rule,
                ctx.def().name.range(),
                format!("`{name}` returns an object that a graph cannot return, because of {phrase}"),
            )
            .label(ctx.span(range), "here"),
        None => ctx
            .report(rule, range, format!("AutoGraph runs `{name}` as plain Python because of {phrase}"))
            .severity(Severity::Warning),
    };
    Some((report.help(help), range))
}

/// Returns whether a call of the function runs its body. It does not if the function is a generator or coroutine.
fn runs_while_tracing(ctx: &FunctionContext, kind: Unsupported) -> bool {
    match kind {
        Unsupported::Async => false,
        Unsupported::Yield => ctx.root().is_none(),
        _ => true,
    }
}

/// Returns the first decision on a Tensor, which runs in Python.
fn first_decision<'a>(ctx: &FunctionContext<'a>) -> Option<&'a Construct> {
    let staged = ctx.staged().filter(|(_, node)| !node.test().is_some_and(|test| may_be_flag(ctx, test)));
    staged.map(|(construct, _)| construct).min_by_key(|construct| construct.test_range.start())
}

/// Returns whether a test consists only of a parameter without an annotation. Callers may pass a flag for it, or a
/// container that may be empty.
pub(super) fn may_be_flag(ctx: &FunctionContext, test: &Expr) -> bool {
    let tested = match test {
        Expr::UnaryOp(operation) => operation.operand.as_ref(),
        _ => test,
    };
    // A Tensor with a known dtype is not a flag.
    let unknown = ctx.fact(tested).dtype().is_none();
    tested.as_name_expr().filter(|_| unknown).is_some_and(|name| {
        let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
        let is_parameter =
            definitions.iter().any(|definition| matches!(definition.kind, DefKind::Parameter(_)));
        let annotated =
            ctx.parameter(&name.id).is_some_and(|parameter| parameter.source == Source::Annotation);
        // Keras calls losses and metrics with Tensors.
        is_parameter && !annotated && ctx.root() != Some(RootKind::KerasFunction)
    })
}

/// Returns a clause for messages: how an unconverted decision on a Tensor fails.
pub(super) fn failure(ctx: &FunctionContext, decision: &Construct) -> &'static str {
    match decision.kind {
        // While a graph is traced, the iterator of a Dataset returns symbolic elements and never ends.
        ConstructKind::For if is_dataset(ctx, decision) => {
            "this `for` over a Dataset runs while the graph is traced and never ends"
        }
        ConstructKind::For => "this `for` iterates over a Tensor in Python, which raises",
        ConstructKind::If => "this `if` converts a Tensor to a Python bool, which raises",
        ConstructKind::While => "this `while` converts a Tensor to a Python bool, which raises",
        ConstructKind::IfExp => {
            "this conditional expression converts a Tensor to a Python bool, which raises"
        }
        ConstructKind::And => "this `and` converts a Tensor to a Python bool, which raises",
        ConstructKind::Or => "this `or` converts a Tensor to a Python bool, which raises",
        ConstructKind::Not => "this `not` converts a Tensor to a Python bool, which raises",
        ConstructKind::CompareChain => {
            "this chained comparison converts a Tensor to a Python bool, which raises"
        }
        ConstructKind::Assert => "this `assert` converts a Tensor to a Python bool, which raises",
        ConstructKind::ComprehensionIf => {
            "this comprehension condition converts a Tensor to a Python bool, which raises"
        }
    }
}

fn is_dataset(ctx: &FunctionContext, decision: &Construct) -> bool {
    let kind = decision.test.and_then(|test| ctx.facts.get(test)).and_then(Fact::tensor_kind);
    matches!(kind, Some(TensorKind::Dataset | TensorKind::Iterator))
}
