//! AG5xx: tracer errors and side effects under JAX transformations: control flow on tracers, tracers as host
//! values, side effects while tracing.

mod abstract_value;
pub(super) mod argument;
pub(super) mod argument_type;
mod array_operations;
mod axes;
mod axis_names;
pub(super) mod branch;
mod callee;
mod changes;
pub(super) mod concretize;
pub(super) mod control_flow;
mod control_flow_arguments;
pub(super) mod custom_derivative;
pub(super) mod donated_argument;
pub(super) mod dynamic_shape;
mod evaluate;
pub(super) mod flax_copied_state;
pub(super) mod flax_outer_state;
mod frame;
pub(super) mod frozen_attribute;
mod function;
mod function_transforms;
pub(super) mod gradient;
pub(super) mod impure;
mod indexing;
pub(super) mod item_assignment;
pub(super) mod jit_in_loop;
mod jit_options;
mod jitted_calls;
mod kinds;
pub(super) mod leak;
mod library_results;
pub(super) mod loops;
mod mapped_trees;
mod matched;
mod modules;
pub(super) mod number_type;
pub(crate) mod numpy;
mod obstacles;
mod records;
mod shape_functions;
pub(super) mod stale_value;
pub(super) mod static_argument;
mod static_parameters;
pub(super) mod traced_library_function;
pub(super) mod transformation;
mod transformed;
pub(super) mod tree;
pub(super) mod unused_result;

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::callers;
use super::mapped;
use super::parameter_use;
use super::parts;
use super::path_certainty;
use super::tracing::{self, Certainty, Decision, Origin, short_circuited_severity};
use super::{FileContext, FunctionContext, Rule};
use ag_db::diagnostic::{Anchor, Severity};
use ag_flow::DefKind;
use ag_index::assumptions::{Source, Stage};
use ag_index::dialect::RootKind;
use ag_index::ids::ParameterIndex;
use ag_index::index::{FileIndex, FunctionId};
use ag_staging::queries;
use ag_syntax::expressions;
use ag_syntax::qname::QName;

/// The maximum length of a chain of assignments that is followed back.
const MAX_STEPS: usize = 4;

/// The functions whose calls are checked.
const CHECKED: [&str; 30] = [
    "apply_along_axis",
    "associative_scan",
    "cond",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "custom_jvp",
    "custom_vjp",
    "device_put",
    "fori_loop",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "make_jaxpr",
    "map",
    "named_scope",
    "platform_dependent",
    "pmap",
    "register_dataclass",
    "scan",
    "switch",
    "tree_map",
    "value_and_grad",
    "vmap",
    "while_loop",
];

/// Returns whether a file uses JAX, and has a root or calls a function whose arguments are checked:
/// `lax.scan(lambda …)`.
fn is_of_interest(index: &FileIndex) -> bool {
    index.imports.uses("jax")
        && (!index.roots.is_empty() || CHECKED.iter().any(|name| index.calls.contains_key(*name)))
}

/// Returns whether a file uses JAX.
fn uses_jax(index: &FileIndex) -> bool {
    index.imports.uses("jax")
}

/// Returns whether a rule applies to a function that is staged in this way. A tracer of `jax.grad` alone has a value, so
/// Python can branch on it and use it as an index.
pub(super) fn applies(rule: &Rule, stage: &Stage) -> bool {
    let of_gradients: [&Rule; 3] =
        [&concretize::JAX_CONCRETIZE, &item_assignment::JAX_SETITEM, &numpy::JAX_NUMPY];
    stage.mode != RootKind::JaxGrad || of_gradients.iter().any(|it| it.code == rule.code)
}

/// An argument that JAX rejects, with the message and the help of the finding.
struct Fault<'a> {
    message: String,
    help: &'static str,
    at: &'a Expr,
}

impl Fault<'_> {
    /// Reports the fault at a call. `label` describes the argument.
    fn report(self, ctx: &FileContext, rule: &'static Rule, call: &ast::ExprCall, label: &str) {
        ctx.report(rule, call, self.message).label(ctx.span(self.at.range()), label).help(self.help).emit();
    }
}

/// Returns whether dtypes may have 64 bits, because the file seems to set `jax_enable_x64`.
fn may_use_64_bits(ctx: &FileContext) -> bool {
    ctx.text.contains("x64")
}

/// Returns the severity of a finding where Python needs the truth value of `expression`, a Tensor. Under `jit` every
/// operation returns a tracer. Only an array from outside is concrete, as long as no operation is performed on it. A
/// parameter of unknown type may be a container, which has a truth value, and its parts may be, too.
fn bool_severity(ctx: &FunctionContext, expression: &Expr) -> Severity {
    let severity = value_severity(ctx, expression);
    if parts::is_unknown_part(ctx, expression) {
        return Severity::Info;
    }
    let may_be_container = tracing::origin(ctx, expression) == Origin::Assumed && !is_operation(expression);
    if !may_be_container {
        return severity;
    }
    let tested = match expression {
        Expr::BoolOp(operation) => operation.values.last(),
        _ => Some(expression),
    };
    let is_container =
        tested.and_then(Expr::as_name_expr).is_some_and(|name| parameter_use::is_container(ctx, &name.id));
    severity.min(if is_container { Severity::Info } else { Severity::Warning })
}

/// Returns the verb for the message about a decision (the test "is" or "may be" traced), and the severity.
fn decision_severity(ctx: &FunctionContext, decision: &Decision) -> (&'static str, Severity) {
    let severity = match decision.certainty {
        Certainty::Always => bool_severity(ctx, decision.test),
        Certainty::UnlessShortCircuited => {
            bool_severity(ctx, decision.test).min(short_circuited_severity(ctx, decision.test))
        }
        Certainty::Sometimes => Severity::Info,
    };
    (if severity == Severity::Info { "may be" } else { "is" }, severity)
}

/// Returns the severity of a finding where Python needs the value of `expression`, a Tensor.
fn value_severity(ctx: &FunctionContext, expression: &Expr) -> Severity {
    let concrete = tracing::origin(ctx, expression) == Origin::Outside
        && !is_operation(expression)
        && !tracing::is_captured_in_trace(ctx, expression);
    let concrete = concrete || may_be_concrete(ctx, expression, MAX_STEPS);
    let concrete = concrete && !ctx.is_certainly_traced(expression);
    let certain = !concrete && !handles_tracers(ctx, expression.range());
    let severity = if certain { Severity::Error } else { Severity::Info };
    // `vmap` traces only values that depend on a mapped argument. In the mapped function itself, most do.
    let max_severity = match tracing_mode(ctx) {
        RootKind::JaxVmap if ctx.root().is_none() && !mapped::is_mapped(ctx, expression) => Severity::Info,
        RootKind::JaxVmap | RootKind::Configured => Severity::Warning,
        _ if ctx.fact(expression).unknown || ctx.is_only_evaluated(expression) => Severity::Warning,
        _ => Severity::Error,
    };
    severity.min(max_severity)
}

/// Returns how the function is traced. A function that `jax.vmap` traces counts as jitted if a jitted function is among
/// its callers.
fn tracing_mode(ctx: &FunctionContext) -> RootKind {
    let is_jitted = |call: callers::Call| call.stage.is_some_and(|stage| stage.mode == RootKind::JaxJit);
    match ctx.stage.mode {
        RootKind::JaxVmap if callers::of(ctx).any(is_jitted) => RootKind::JaxJit,
        mode => mode,
    }
}

/// Returns whether a value may be concrete because it is computed only from parameters that are annotated as arrays, in
/// a function that is called with unknown arguments. At most `steps` names are followed to their values:
///
/// ```python
/// def shifted(grid, offset: Array):
///     dx, dy = offset
///     if dx < 0: …                     # no error if `offset` is a NumPy array
/// ```
///
/// If only `jax.vmap` traces the function, the result of a library function that receives only Python values also
/// counts.
fn may_be_concrete(ctx: &FunctionContext, expression: &Expr, steps: usize) -> bool {
    let all = |operands: &mut dyn Iterator<Item = &Expr>| {
        let mut traced = operands.filter(|operand| ctx.fact(operand).may_be_tensor()).peekable();
        traced.peek().is_some() && traced.all(|operand| may_be_concrete(ctx, operand, steps))
    };
    match expression {
        Expr::Name(name) => {
            let is_concrete_argument = || {
                ctx.root().is_none()
                    && ctx.parameter(&name.id).is_some_and(|parameter| parameter.source == Source::Annotation)
                    && !path_certainty::receives_tensor(ctx, &name.id)
            };
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            !definitions.is_empty()
                && definitions.iter().all(|definition| match definition.kind {
                    DefKind::Parameter(_) => is_concrete_argument(),
                    DefKind::Undefined => true,
                    DefKind::Assign if steps > 0 => {
                        ctx.bound_value(definition).is_some_and(|value| is_concrete(ctx, value, steps - 1))
                    }
                    _ => false,
                })
        }
        Expr::UnaryOp(operation) => may_be_concrete(ctx, &operation.operand, steps),
        Expr::Subscript(subscript) => may_be_concrete(ctx, &subscript.value, steps),
        Expr::BinOp(operation) => all(&mut [&*operation.left, &*operation.right].into_iter()),
        Expr::BoolOp(operation) => all(&mut operation.values.iter()),
        // `jax.vmap` alone traces only values that depend on a mapped argument: `jnp.prod(x.shape[0])` has a value.
        Expr::Call(call) if tracing_mode(ctx) == RootKind::JaxVmap => {
            let is_known = |operand: &Expr| {
                let fact = ctx.fact(operand);
                !fact.unknown && !fact.may_be_tensor()
            };
            ctx.resolve(&call.func).is_some()
                && call.arguments.iter_source_order().all(|argument| is_known(argument.value()))
        }
        Expr::Compare(compare) => all(&mut std::iter::once(&*compare.left).chain(&compare.comparators)),
        _ => false,
    }
}

/// Returns whether [`may_be_concrete`] is true for a value. Literals, and lists or tuples of such values, count too.
fn is_concrete(ctx: &FunctionContext, value: &Expr, steps: usize) -> bool {
    match value {
        _ if ctx.fact(value).may_be_tensor() => may_be_concrete(ctx, value, steps),
        Expr::Tuple(tuple) => tuple.elts.iter().all(|element| is_concrete(ctx, element, steps)),
        Expr::List(list) => list.elts.iter().all(|element| is_concrete(ctx, element, steps)),
        _ => value.is_literal_expr(),
    }
}

/// Returns whether the value is certainly a tracer, because it is the result of an operation: every operation is
/// traced, whatever its operands are.
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

/// Returns whether the function catches the tracer error, or tests for tracers.
fn handles_tracers(ctx: &FunctionContext, range: TextRange) -> bool {
    const TRACER_TESTS: [&str; 5] = [
        "jax.core.Tracer",
        "jax.core.is_concrete",
        "jax.core.concrete_or_error",
        "jax.ensure_compile_time_eval",
        "pennylane.math.is_abstract",
    ];
    tracing::is_caught(ctx, range)
        || tracing::uses(ctx, &TRACER_TESTS)
        || tracing::callees_use(ctx, &TRACER_TESTS)
}

/// Returns the source text of an expression for a message. A long text is truncated.
fn snippet(ctx: &FunctionContext, expression: &Expr) -> String {
    tracing::snippet(ctx.text(expression))
}

/// Returns the targets of an assignment with their values. `a, b = x, y` is split. In `a, b = f(x)` each target gets
/// the whole value.
fn targets(statement: &Stmt) -> Vec<(&Expr, &Expr)> {
    fn split<'a>(target: &'a Expr, value: &'a Expr, pairs: &mut Vec<(&'a Expr, &'a Expr)>) {
        let targets = match target {
            Expr::Tuple(tuple) => &tuple.elts,
            Expr::List(list) => &list.elts,
            Expr::Starred(starred) => return split(&starred.value, value, pairs),
            _ => return pairs.push((target, value)),
        };
        match value {
            Expr::Tuple(values) if targets.len() == values.elts.len() => {
                for (target, value) in targets.iter().zip(&values.elts) {
                    split(target, value, pairs);
                }
            }
            _ => targets.iter().for_each(|target| split(target, value, pairs)),
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

/// Returns whether `destination` outlives the trace: a global, a variable of an enclosing function outside the trace,
/// or an attribute of a `self` that is not traced. `content`: whether the contents are mutated, not the name rebound.
fn outlives(ctx: &FunctionContext, destination: &Expr, content: bool) -> bool {
    let scope = ctx.flow.scope();
    let starts_trace = ctx.root().is_some();
    match destination {
        // Code that runs after the trace can see a container of the module, no matter which function mutated it.
        Expr::Name(name) if content => {
            let of_module = ctx.is_module_variable(&name.id) && ctx.stage.mode == RootKind::JaxJit;
            of_module || starts_trace && !scope.is_local(&name.id)
        }
        // A function that `make_average()` returned to the module changes a variable of `make_average`.
        Expr::Name(name) => {
            let is_outside = || {
                starts_trace
                    || tracing::is_outside_staged_code(
                        ctx.db,
                        FunctionId::new(ctx.db, ctx.document, ctx.path.clone()),
                    )
            };
            scope.globals.contains(&name.id) || scope.nonlocals.contains(&name.id) && is_outside()
        }
        Expr::Attribute(attribute) => match (&*attribute.value, ctx.stage.parameters.first()) {
            // `model.last = y`, where `model` is an object of the module, or of a function outside the trace.
            (Expr::Name(name), _) if !scope.is_local(&name.id) => {
                ctx.root().is_some_and(keeps_tracers) && !handles_state(ctx)
            }
            (Expr::Name(name), Some(receiver)) if ctx.root().is_none() => {
                receiver.source == Source::Receiver
                    && name.id == receiver.name
                    && !handles_state(ctx)
                    && is_called_on_outer(ctx)
            }
            (Expr::Name(name), Some(receiver)) => {
                receiver.source == Source::Receiver
                    && name.id == receiver.name
                    && ctx.root().is_some_and(keeps_tracers)
                    && (captures_receiver(ctx.stage) || tracing::is_static(ctx, receiver))
                    && !handles_state(ctx)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether a tracer that a function of this kind stores in an object can be read after its trace has ended: the
/// function is jitted, or the body of a `lax.scan`, whose `self` is a captured object.
fn keeps_tracers(root: RootKind) -> bool {
    matches!(root, RootKind::JaxJit | RootKind::ControlFlowBody)
}

/// Returns whether the code uses flax's nnx, whose modules are traced together with their state.
fn handles_state(ctx: &FunctionContext) -> bool {
    ctx.imports.uses("flax") && (ctx.imports.uses("flax.nnx") || ctx.imports.get("nnx").is_some())
}

/// Returns whether the function that starts the trace calls this method on an object of the module, or of a function
/// outside the trace, directly or through other methods of the object:
///
/// ```python
/// keys = Keys(0)
///
/// @jax.jit
/// def noise(x):
///     return x + jax.random.normal(keys.next())
/// ```
///
/// A function that the jitted one calls may also capture the object, as a variable of functions that are not traced.
fn is_called_on_outer(ctx: &FunctionContext) -> bool {
    let mut method = ctx.def().name.as_str();
    for call in callers::of(ctx) {
        let Some((flow, stage)) = queries::flow(ctx.db, call.function).as_ref().zip(call.stage) else {
            return false;
        };
        let Some(receiver) = receiver(&call, method) else { return false };
        // `self.next()`, `self.keys.next()` in another method
        let own = stage.parameters.first().filter(|first| first.source == Source::Receiver);
        let is_own = own.is_some_and(|own| own.name == receiver.id);
        if stage.root.is_some() {
            let is_traced = stage.root.is_some_and(keeps_tracers) && stage.dialect == ctx.dialect();
            let is_outer = !flow.scope().is_local(&receiver.id);
            let is_kept =
                captures_receiver(stage) || stage.static_parameters.contains(ParameterIndex::from(0_u32));
            return is_traced && (is_outer || is_own && is_kept);
        }
        if !is_own {
            let is_captured = !flow.scope().is_local(&receiver.id)
                && tracing::is_outside_staged_code(ctx.db, call.function);
            return is_captured && keeps_tracers(stage.mode);
        }
        method = call.ast.def().name.as_str();
    }
    false
}

/// Returns the name through which a call reaches the object whose method it calls: `keys` in `keys.next()` and in
/// `keys(x)`, which calls `__call__`; `self` in `self.keys.next()`. A call that creates the object, and so runs
/// `__init__`, has no receiver: `models.Keys(0)`. The method may be transformed: `jax.grad(self.loss)(params)`.
fn receiver<'a>(call: &callers::Call<'a>, method: &str) -> Option<&'a ast::ExprName> {
    let mut callee = &*expressions::at(call.ast.def(), call.range)?.as_call_expr()?.func;
    if let Expr::Call(made) = callee
        && let Some(transformed @ Expr::Attribute(_)) = made.arguments.args.first()
    {
        callee = transformed;
    }
    let mut object = match callee {
        Expr::Attribute(attribute) if attribute.attr.as_str() == method => &*attribute.value,
        object if method == "__call__" => object,
        _ => return None,
    };
    while let Expr::Attribute(attribute) = object {
        object = &attribute.value;
    }
    object.as_name_expr()
}

/// Returns whether the trace of a method captures the object of the method. It does if another method starts the trace
/// with `jax.jit(self.step)`.
fn captures_receiver(stage: &Stage) -> bool {
    stage.cause.as_ref().is_some_and(|cause| matches!(cause.anchor, Anchor::Function(_)))
}
