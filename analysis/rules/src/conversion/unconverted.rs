//! Shared by the rules about syntax that AutoGraph refuses: where the harm shows.
//!
//! TensorFlow only warns about the syntax, and runs the function as Python. It raises at the first
//! decision on a Tensor, so that is where the finding stands; without one it stands at the syntax.

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

/// Reports the first place of a kind in a function that AutoGraph would convert but for such places;
/// gives the report, to be finished, and the place. `phrase` completes "AutoGraph cannot convert `f`
/// because of …".
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
    let (_, place) = found.into_iter().find(|(found, _)| *found == kind)?;
    let name = ctx.def().name.as_str();
    let report = match first_decision(ctx).filter(|_| is_first && runs_while_tracing(ctx, kind)) {
        Some(decision) => {
            let refusal = refusal(ctx, decision);
            let message = format!("{refusal}: AutoGraph cannot convert `{name}` because of {phrase}");
            ctx.report(rule, decision.test_range, message)
                .why(decision.why.clone())
                .label(ctx.span(place), format!("keeps `{name}` from being converted"))
        }
        None if kind == Unsupported::Yield && ctx.root().is_none() => return None,
        None if !runs_while_tracing(ctx, kind) && ctx.root() == Some(RootKind::Function) => ctx
            .report(
                rule,
                ctx.def().name.range(),
                format!("`{name}` gives an object that no graph can return, because of {phrase}"),
            )
            .label(ctx.span(place), "here"),
        None => ctx
            .report(rule, place, format!("AutoGraph leaves `{name}` as plain Python because of {phrase}"))
            .severity(Severity::Warning),
    };
    Some((report.help(help), place))
}

/// A generator's or coroutine's body does not run when it is called.
fn runs_while_tracing(ctx: &FunctionContext, kind: Unsupported) -> bool {
    match kind {
        Unsupported::Async => false,
        Unsupported::Yield => ctx.root().is_none(),
        _ => true,
    }
}

/// The first decision that Python makes on a Tensor.
fn first_decision<'a>(ctx: &FunctionContext<'a>) -> Option<&'a Construct> {
    let staged = ctx.staged().filter(|(_, node)| !node.test().is_some_and(|test| may_be_flag(ctx, test)));
    staged.map(|(construct, _)| construct).min_by_key(|construct| construct.test_range.start())
}

/// Whether a test is of a parameter as it is, without an annotation: what callers pass there may as well
/// be a flag, or a container that may be empty.
pub(super) fn may_be_flag(ctx: &FunctionContext, test: &Expr) -> bool {
    let tested = match test {
        Expr::UnaryOp(operation) => operation.operand.as_ref(),
        _ => test,
    };
    // A Tensor of known elements is no flag.
    let unknown = ctx.fact(tested).dtype().is_none();
    tested.as_name_expr().filter(|_| unknown).is_some_and(|name| {
        let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
        let is_parameter =
            definitions.iter().any(|definition| matches!(definition.kind, DefKind::Parameter(_)));
        let annotated =
            ctx.parameter(&name.id).is_some_and(|parameter| parameter.source == Source::Annotation);
        is_parameter && !annotated
    })
}

/// What Python does with a Tensor in a decision that nobody converts.
pub(super) fn refusal(ctx: &FunctionContext, decision: &Construct) -> &'static str {
    match decision.kind {
        // While a graph is traced, Python gets another symbolic element each time it asks.
        ConstructKind::For if is_dataset(ctx, decision) => {
            "this `for` asks for elements while the graph is traced, and never ends"
        }
        ConstructKind::For => "this `for` iterates over a Tensor in plain Python, which raises",
        ConstructKind::If => "this `if` needs a Python bool but gets a Tensor, which raises",
        ConstructKind::While => "this `while` needs a Python bool but gets a Tensor, which raises",
        ConstructKind::IfExp => {
            "this conditional expression needs a Python bool but gets a Tensor, which raises"
        }
        ConstructKind::And => "this `and` needs a Python bool but gets a Tensor, which raises",
        ConstructKind::Or => "this `or` needs a Python bool but gets a Tensor, which raises",
        ConstructKind::Not => "this `not` needs a Python bool but gets a Tensor, which raises",
        ConstructKind::CompareChain => {
            "this chained comparison needs a Python bool but gets a Tensor, which raises"
        }
        ConstructKind::Assert => "this `assert` needs a Python bool but gets a Tensor, which raises",
        ConstructKind::ComprehensionIf => {
            "this condition of a comprehension needs a Python bool but gets a Tensor, which raises"
        }
    }
}

fn is_dataset(ctx: &FunctionContext, decision: &Construct) -> bool {
    let kind = ctx.facts.get(decision.test).and_then(Fact::tensor_kind);
    matches!(kind, Some(TensorKind::Dataset | TensorKind::Iterator))
}
