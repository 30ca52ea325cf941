//! AG51x: graph breaks of torch.compile. AG52x: errors of torch.export. AG53x, AG54x: code that TorchScript does not
//! compile. AG60x: values that torch.jit.trace freezes, and functions that torch.func cannot transform.

pub(super) mod break_branch;
pub(super) mod break_builtin;
pub(super) mod break_item;
pub(super) mod break_object;
pub(super) mod break_shape;
pub(super) mod break_tensor;
pub(super) mod checkpoint;
mod custom_operators;
mod evaluated;
pub(super) mod export_branch;
pub(super) mod export_call;
pub(super) mod export_host;
pub(super) mod export_item;
pub(super) mod export_result;
mod export_shapes;
pub(super) mod export_state;
mod exported_program;
pub(super) mod func_gradient;
mod host_values;
pub(super) mod operator_arguments;
mod ordering;
mod places;
pub(super) mod recompile;
pub(super) mod recompiled_call;
mod repeated_changes;
pub(super) mod script_attribute;
pub(super) mod script_branch_type;
mod script_class;
pub(super) mod script_container;
pub(super) mod script_global;
pub(super) mod script_index;
pub(super) mod script_loop_type;
pub(super) mod script_none;
mod script_paths;
pub(super) mod script_return;
mod script_types;

pub(super) mod script_undefined;
pub(super) mod script_unsupported;
pub(super) mod script_untyped;
pub(super) mod stale_attribute;
pub(super) mod tensor_sizes;
pub(super) mod trace_constant;
mod value_sizes;
pub(super) mod vmap;
mod vmap_leak;

use ruff_python_ast::{CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

use super::FunctionContext;
use super::classes::{declares_attribute, registers_buffer};
use super::tracing::{self, Certainty, Decision, Origin, short_circuited_severity};
use ag_db::diagnostic::Severity;
use ag_index::assumptions::Source;
use ag_index::dialect::RootKind;
use ag_index::facts::Binding;
use ag_index::index::{FunctionId, function_ast, last_name};
use ag_staging::construct::{ConstructKind, ConstructNode};
use ag_syntax::functions::{FunctionAst, FunctionPath};
use ag_syntax::qname::QName;

/// The maximum length of a chain of assignments that is followed back.
const MAX_STEPS: usize = 4;

/// Methods that reduce a Tensor to one element.
const REDUCTIONS: [&str; 8] = ["all", "any", "max", "mean", "min", "norm", "prod", "sum"];

/// Returns whether torch.compile traces the function. It inserts graph breaks where it cannot trace.
fn compiles(ctx: &FunctionContext) -> bool {
    matches!(ctx.stage.mode, RootKind::TorchCompile | RootKind::Configured)
}

/// Returns whether torch.export or torch.fx traces the function. They raise exceptions where they cannot trace.
fn exports(ctx: &FunctionContext) -> bool {
    matches!(ctx.stage.mode, RootKind::TorchExport | RootKind::TorchFx)
}

/// Returns whether torch.fx records the function. In torch.fx, the sizes of Tensors are unknown, too.
fn records_symbolically(ctx: &FunctionContext) -> bool {
    ctx.stage.mode == RootKind::TorchFx
}

/// Returns whether TorchScript compiles the source of the function.
fn scripts(ctx: &FunctionContext) -> bool {
    ctx.stage.mode == RootKind::TorchScript
}

/// Returns whether torch.jit.trace runs the function once and records its operations.
fn traces(ctx: &FunctionContext) -> bool {
    ctx.stage.mode == RootKind::TorchTrace
}

/// Returns the severity of a graph break: an error with `fullgraph=True`, which raises an exception.
fn break_severity(ctx: &FunctionContext) -> Severity {
    if ctx.stage.options.full_graph { Severity::Error } else { Severity::Warning }
}

/// Returns the severity of a decision for which Python needs the truth value of a Tensor. `certain` is the severity if
/// the value is certainly a Tensor. A parameter of unknown type may be a Python value, most likely if the code tests
/// the parameter directly.
fn bool_severity(ctx: &FunctionContext, decision: &Decision, certain: Severity) -> Severity {
    let origin = tracing::origin(ctx, decision.test);
    let severity = match origin {
        _ if is_undeclared(ctx, decision.test) => Severity::Info,
        _ if ctx.fact(decision.test).unknown && is_of_buffer(ctx, decision.test, MAX_STEPS) => {
            certain.min(Severity::Warning)
        }
        // An attribute of a module whose type is unknown is usually a parameter or buffer.
        Origin::Outside if ctx.fact(decision.test).unknown => certain.min(Severity::Warning),
        _ if ctx.fact(decision.test).unknown => Severity::Info,
        Origin::Assumed if is_bare(decision.test) => Severity::Info,
        Origin::Assumed => certain.min(Severity::Warning),
        Origin::Computed | Origin::Outside => certain,
    };
    match decision.certainty {
        Certainty::Always => severity,
        Certainty::UnlessShortCircuited => severity.min(short_circuited_severity(ctx, decision.test)),
        Certainty::Sometimes => Severity::Info,
    }
}

/// Returns whether a value is computed from a buffer that this file registers. The base class `Module` declares
/// buffers as a Tensor or any other value.
fn is_of_buffer(ctx: &FunctionContext, value: &Expr, steps: usize) -> bool {
    match value {
        Expr::UnaryOp(operation) => is_of_buffer(ctx, &operation.operand, steps),
        Expr::Compare(compare) => {
            is_of_buffer(ctx, &compare.left, steps)
                && !matches!(*compare.ops, [CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn, ..])
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                REDUCTIONS.contains(&method.attr.as_str()) && is_of_buffer(ctx, &method.value, steps)
            }
            _ => false,
        },
        Expr::Name(name) if steps > 0 => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return false };
            ctx.value_of(definition).is_some_and(|value| is_of_buffer(ctx, value, steps - 1))
        }
        Expr::Attribute(attribute) => {
            let receiver = ctx.stage.parameters.first().filter(|first| first.source == Source::Receiver);
            let is_own =
                attribute.value.as_name_expr().zip(receiver).is_some_and(|(it, own)| it.id == own.name);
            is_own && registers_buffer(ctx.db, ctx.document, attribute.attr.id.clone())
        }
        _ => false,
    }
}

/// Returns whether the decision is on an attribute of the module that its class neither assigns nor registers:
/// `self.checks`, which a base class or other code sets. The base class `Module` declares such attributes as a Tensor
/// or any other value.
fn is_undeclared(ctx: &FunctionContext, test: &Expr) -> bool {
    let all = |operands: &mut dyn Iterator<Item = &Expr>| {
        let mut traced = operands.filter(|operand| ctx.binding(operand) != Binding::Python).peekable();
        traced.peek().is_some() && traced.all(|operand| is_undeclared(ctx, operand))
    };
    match test {
        Expr::UnaryOp(operation) => is_undeclared(ctx, &operation.operand),
        Expr::BoolOp(operation) => all(&mut operation.values.iter()),
        Expr::Compare(compare) => all(&mut std::iter::once(&*compare.left).chain(&compare.comparators)),
        Expr::Attribute(attribute) => {
            let receiver = ctx.stage.parameters.first().filter(|first| first.source == Source::Receiver);
            let is_own =
                attribute.value.as_name_expr().zip(receiver).is_some_and(|(it, own)| it.id == own.name);
            is_own
                && ctx.fact(test).unknown
                && !declares_attribute(ctx.db, ctx.document, attribute.attr.id.clone())
        }
        _ => false,
    }
}

fn is_bare(test: &Expr) -> bool {
    match test {
        Expr::Name(_) | Expr::Attribute(_) => true,
        Expr::UnaryOp(operation) => operation.op == UnaryOp::Not && is_bare(&operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().any(is_bare),
        _ => false,
    }
}

/// Returns the decisions on Tensors. Decisions in code that tests for tracing are left out.
fn decisions<'a>(ctx: &FunctionContext<'a>) -> Vec<Decision<'a>> {
    let mut decisions = tracing::decisions(ctx);
    decisions.retain(|decision| !handles_tracing(ctx, decision.test.range()));
    decisions
}

/// Returns the guards of `match` statements that are Tensors: `case Step(error) if error < 1:`. Guards with `and`, `or`
/// or `not` are decisions.
fn tensor_guards<'a>(ctx: &FunctionContext<'a>) -> Vec<&'a Expr> {
    let statements = ctx.statements().into_iter().filter_map(Stmt::as_match_stmt);
    let guards = statements.flat_map(|node| node.cases.iter().filter_map(|case| case.guard.as_deref()));
    let is_decision = |guard: &Expr| matches!(guard, Expr::BoolOp(_) | Expr::UnaryOp(_));
    guards
        .filter(|guard| {
            !is_decision(guard) && tracing::is_tensor(ctx, guard) && !handles_tracing(ctx, guard.range())
        })
        .collect()
}

/// Returns whether torch.compile turns an `assert` into a check in the graph. It does unless the message is computed.
fn is_graph_assert(decision: &Decision) -> bool {
    match decision.node {
        ConstructNode::Assert(node) => {
            node.msg.as_ref().is_none_or(|message| message.is_string_literal_expr())
        }
        _ => false,
    }
}

/// A decision on a Python number that is read from a Tensor: `if x.item() > 0:`, `n = int(x)` and `while n < 3:`,
/// `table[x.item()]`.
struct NumberDecision<'a> {
    test: &'a Expr,
    what: &'static str,
    /// The conversion, such as `x.item()`.
    number: &'a Expr,
}

/// Returns the decisions on numbers that have no value during tracing. Decisions in code that tests for tracing are
/// left out.
fn number_decisions<'a>(ctx: &FunctionContext<'a>) -> Vec<NumberDecision<'a>> {
    let mut found: Vec<NumberDecision> = Vec::new();
    for (construct, node) in ctx.decisions() {
        let within = found.iter().any(|other| other.test.range().contains_range(construct.test_range));
        // The elements of `x.tolist()` have no known type.
        let decided = matches!(construct.binding, Binding::Python | Binding::Unknown);
        if !decided || within || handles_tracing(ctx, construct.range) {
            continue;
        }
        let Some(test) = node.test().filter(|_| construct.kind != ConstructKind::For) else { continue };
        if let Some(number) = host_values::number(ctx, test) {
            found.push(NumberDecision { test, what: tracing::noun_phrase(construct.kind), number });
        }
    }
    // `set(x.tolist())`: Python compares the elements.
    for expression in ctx.expressions() {
        if let Expr::Call(call) = expression
            && (matches!(ctx.builtin(&call.func), Some("set" | "frozenset" | "sorted"))
                || ctx.resolve(&call.func).is_some_and(|name| name == "collections.Counter"))
            && let Some(Expr::Call(list)) = call.arguments.args.first()
            && let Expr::Attribute(method) = &*list.func
            && method.attr.as_str() == "tolist"
            && tracing::is_tensor(ctx, &method.value)
            && !handles_tracing(ctx, expression.range())
        {
            found.push(NumberDecision {
                test: expression,
                what: "a comparison",
                number: &call.arguments.args[0],
            });
        }
    }
    // `torch.export` has a rule of its own for these.
    for (expression, what, number) in host_values::uses(ctx).into_iter().filter(|_| compiles(ctx)) {
        let within = found.iter().any(|other| other.test.range().contains_range(expression.range()));
        if !within && !handles_tracing(ctx, expression.range()) {
            found.push(NumberDecision { test: expression, what, number });
        }
    }
    found
}

/// Returns whether the function tests anywhere whether it is being compiled, or the code at `range` is under a test for
/// scripting. Functions that test for compilation are recognized by the last part of their names, because torch has
/// moved them between modules, and packages wrap them.
fn handles_tracing(ctx: &FunctionContext, range: TextRange) -> bool {
    let tests_compilation = ctx.expressions().into_iter().any(|expression| {
        last_name(expression).is_some_and(|name| {
            matches!(name.trim_start_matches('_'), "is_compiling" | "is_dynamo_compiling" | "is_exporting")
        })
    });
    tests_compilation || is_under_script_test(ctx, range)
}

/// Returns whether `range` is in an `if not torch.jit.is_scripting(): …`.
fn is_under_script_test(ctx: &FunctionContext, range: TextRange) -> bool {
    ctx.constructs.iter().any(|construct| {
        matches!(construct.kind, ConstructKind::If | ConstructKind::IfExp)
            && construct.range.contains_range(range)
            && ["is_scripting", "is_tracing"].iter().any(|name| ctx.text(construct.test_range).contains(name))
    })
}

/// Returns the function of this file with a qualified name: `step`, `Net.forward`, or `train.step` for a `def` inside a
/// function.
fn definition<'a>(ctx: &FunctionContext<'a>, qualname: &str) -> Option<&'a FunctionAst> {
    let path = FunctionPath { qualname: qualname.into(), occurrence: 0 };
    function_ast(ctx.db, FunctionId::new(ctx.db, ctx.document, path)).as_ref()
}

fn snippet(ctx: &FunctionContext, expression: &Expr) -> String {
    tracing::snippet(ctx.text(expression))
}

/// Returns the name of the conversion in `x.item()` or `int(x)`, and the Tensor.
fn host_value<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let call = expression.as_call_expr()?;
    if let Some(name) = ctx.builtin(&call.func) {
        let [value] = &*call.arguments.args else { return None };
        let converts = matches!(name, "int" | "float" | "bool" | "complex");
        return (converts && tracing::is_tensor(ctx, value)).then(|| (format!("`{name}()`"), value));
    }
    let attribute = call.func.as_attribute_expr()?;
    (attribute.attr.as_str() == "item" && tracing::is_tensor(ctx, &attribute.value))
        .then(|| ("`.item()`".to_owned(), &*attribute.value))
}

/// Returns whether a value is a parameter that is only assumed to be a Tensor, and not rebound. It may be a Python
/// number.
fn is_assumed(ctx: &FunctionContext, value: &Expr) -> bool {
    tracing::origin(ctx, value) == Origin::Assumed
}
