//! What goes wrong while JAX traces a function: control flow on tracers, tracers as host values, and
//! effects that happen once.

pub(super) mod argument;
pub(super) mod branch;
pub(super) mod concretize;
pub(super) mod dynamic_shape;
pub(super) mod impure;
pub(super) mod item_assignment;
mod jitted_calls;
pub(super) mod leak;
pub(super) mod loops;
pub(super) mod numpy;
pub(super) mod static_argument;

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::FunctionContext;
use super::tracing::{self, Certainty, Decision, Origin};
use super::ways;
use ag_db::diagnostic::{Anchor, Severity};
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_syntax::qname::QName;

/// How bad it is when Python needs the truth of `expression`, a Tensor. Under `jit` every
/// operation gives a tracer; only an array from outside that nothing was done to is concrete.
/// A parameter of unknown type may also be a container, which has a truth.
fn needs_truth(ctx: &FunctionContext, expression: &Expr) -> Severity {
    let severity = needs_value(ctx, expression);
    let container = tracing::origin(ctx, expression) == Origin::Assumed && !is_operation(expression);
    if container { severity.min(Severity::Warning) } else { severity }
}

/// How bad a decision is, and whether its message says that the test is traced or that it may be.
fn weight(ctx: &FunctionContext, decision: &Decision) -> (&'static str, Severity) {
    let severity = match decision.certainty {
        Certainty::Always => needs_truth(ctx, decision.test),
        Certainty::Reached => needs_truth(ctx, decision.test).min(Severity::Warning),
        Certainty::Sometimes => Severity::Info,
    };
    (if severity == Severity::Info { "may be" } else { "is" }, severity)
}

/// How bad it is when Python needs the value of `expression`, a Tensor.
fn needs_value(ctx: &FunctionContext, expression: &Expr) -> Severity {
    let concrete = tracing::origin(ctx, expression) == Origin::Outside && !is_operation(expression);
    let concrete = concrete || is_perhaps_concrete(ctx, expression);
    let certain = !concrete && !provides_for_tracing(ctx, expression.range());
    let severity = if certain { Severity::Error } else { Severity::Info };
    // `vmap` traces what depends on a mapped argument, which only the mapped function itself shows.
    let most = match ctx.stage.mode {
        RootKind::JaxVmap if ctx.root().is_none() => Severity::Info,
        RootKind::JaxVmap | RootKind::Configured => Severity::Warning,
        _ if ctx.fact(expression).unknown => Severity::Warning,
        _ => Severity::Error,
    };
    severity.min(most)
}

/// It is made of nothing but parameters that are annotated as arrays, in a function that is given who knows what.
fn is_perhaps_concrete(ctx: &FunctionContext, expression: &Expr) -> bool {
    let all = |operands: &mut dyn Iterator<Item = &Expr>| {
        let mut traced = operands.filter(|operand| ctx.fact(operand).may_be_tensor()).peekable();
        traced.peek().is_some() && traced.all(|operand| is_perhaps_concrete(ctx, operand))
    };
    match expression {
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            ctx.root().is_none()
                && !definitions.is_empty()
                && definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
                && ctx.parameter(&name.id).is_some_and(|parameter| parameter.source == Source::Annotation)
                && !ways::is_given_tensor(ctx, &name.id)
        }
        Expr::UnaryOp(operation) => is_perhaps_concrete(ctx, &operation.operand),
        Expr::Subscript(subscript) => is_perhaps_concrete(ctx, &subscript.value),
        Expr::BinOp(operation) => all(&mut [&*operation.left, &*operation.right].into_iter()),
        Expr::Compare(compare) => all(&mut std::iter::once(&*compare.left).chain(&compare.comparators)),
        _ => false,
    }
}

/// The tracer has the value in any case: whatever it was made from, an operation was traced.
fn is_operation(expression: &Expr) -> bool {
    match expression {
        Expr::Compare(_) | Expr::BinOp(_) | Expr::Call(_) => true,
        Expr::UnaryOp(operation) => {
            operation.op != ruff_python_ast::UnaryOp::Not || is_operation(&operation.operand)
        }
        Expr::Named(named) => is_operation(&named.value),
        _ => false,
    }
}

/// The author catches the error, or asks whether the value is a tracer.
fn provides_for_tracing(ctx: &FunctionContext, range: TextRange) -> bool {
    const QUESTIONS: [&str; 5] = [
        "jax.core.Tracer",
        "jax.core.is_concrete",
        "jax.core.concrete_or_error",
        "jax.ensure_compile_time_eval",
        "pennylane.math.is_abstract",
    ];
    tracing::is_caught(ctx, range) || tracing::asks(ctx, &QUESTIONS) || tracing::has_asked(ctx, &QUESTIONS)
}

/// The text of an expression in a message; long ones are cut.
fn shown(ctx: &FunctionContext, expression: &Expr) -> String {
    tracing::shown(ctx.text(expression))
}

/// The targets of an assignment with what they are given; of `a, b = x, y` the parts.
fn targets(statement: &Stmt) -> Vec<(&Expr, &Expr)> {
    fn split<'a>(target: &'a Expr, value: &'a Expr, pairs: &mut Vec<(&'a Expr, &'a Expr)>) {
        match (target, value) {
            (Expr::Tuple(targets), Expr::Tuple(values)) if targets.elts.len() == values.elts.len() => {
                for (target, value) in targets.elts.iter().zip(&values.elts) {
                    split(target, value, pairs);
                }
            }
            _ => pairs.push((target, value)),
        }
    }
    let mut pairs = Vec::new();
    match statement {
        Stmt::Assign(assign) => {
            for target in &assign.targets {
                split(target, &assign.value, &mut pairs);
            }
        }
        Stmt::AugAssign(assign) => pairs.push((&assign.target, &assign.value)),
        Stmt::AnnAssign(assign) => {
            pairs.extend(assign.value.as_deref().map(|value| (&*assign.target, value)))
        }
        _ => {}
    }
    pairs
}

/// Whether `place` is there after the trace: a global, a variable of an enclosing function that is
/// not part of the same trace, an attribute of a `self` that is not traced itself. `content` tells
/// that not the name is bound anew but its contents change.
fn outlives(ctx: &FunctionContext, place: &Expr, content: bool) -> bool {
    let scope = ctx.flow.scope();
    let starts_trace = ctx.root().is_some();
    match place {
        Expr::Name(name) if content => starts_trace && !scope.is_local(&name.id),
        Expr::Name(name) => {
            scope.globals.contains(&name.id) || starts_trace && scope.nonlocals.contains(&name.id)
        }
        Expr::Attribute(attribute) => match (&*attribute.value, ctx.stage.parameters.first()) {
            (Expr::Name(name), Some(receiver)) => {
                // `jax.jit(self.step)` in a method keeps the object outside.
                let bound =
                    ctx.stage.cause.as_ref().is_some_and(|cause| matches!(cause.anchor, Anchor::Function(_)));
                receiver.source == Source::Receiver
                    && name.id == receiver.name
                    && ctx.root() == Some(RootKind::JaxJit)
                    && (bound || tracing::is_static(ctx, receiver))
                    && !ctx.imports.uses("flax.nnx")
                    && ctx.imports.get("nnx").is_none()
            }
            _ => false,
        },
        _ => false,
    }
}
