//! The evidence for the staged value of a finding.
//!
//! The value of a finding may be a Tensor only because a parameter is assumed to be one, through any number of
//! variables and calls:
//!
//! ```python
//! def call(self, inputs, length):
//!     for t in range(length):                   # staged if `length` is a Tensor
//!         outputs.append(inputs[:, t])
//! ```
//!
//! Such a finding is info unless a use of the parameter confirms the assumption: [`super::parameter_use`].

use ruff_python_ast::Expr;
use ruff_python_ast::name::Name;
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::FxHashSet;

use super::FunctionContext;
use super::callers::{self, MAX_CALLERS};
use super::evaluation::Reach;
use super::parameter_use;
use super::path_certainty::{self, Passed};
use ag_db::diagnostic::{Anchor, Diagnostic};
use ag_flow::{Def, DefKind};
use ag_index::assumptions::Source;
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::Alternative;
use ag_staging::fixpoint::is_fed_back;
use ag_syntax::qname::QName;

/// Builtins whose result is or contains a Tensor only if an argument is or contains one.
const BUILTINS: [&str; 13] = [
    "abs",
    "enumerate",
    "float",
    "int",
    "iter",
    "len",
    "list",
    "max",
    "min",
    "range",
    "reversed",
    "sum",
    "zip",
];

/// Functions whose first argument is applied to the leaves of the structures in the other arguments.
const MAPS: [&str; 4] =
    ["jax.tree.map", "jax.tree_util.tree_map", "keras.tree.map_structure", "tensorflow.nest.map_structure"];

/// Methods of Keras whose first argument is an element of the data set, usually a tuple.
const STEPS: [&str; 3] = ["train_step", "test_step", "predict_step"];

/// The rules about traced values that Python or NumPy needs.
const NEEDING_VALUES: [&str; 4] = ["AG501", "AG502", "AG503", "AG504"];

/// Why an expression is a Tensor.
enum Evidence {
    /// A library function returns it, an annotation declares it, or it is unknown.
    Established,
    /// These parameters are Tensors.
    Parameters(FxHashSet<usize>),
}

impl Evidence {
    fn none() -> Self {
        Self::Parameters(FxHashSet::default())
    }

    /// Returns the evidence for a value that is a Tensor if one of several values is.
    fn any(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = FxHashSet::default();
        for part in parts {
            match part {
                Self::Established => return Self::Established,
                Self::Parameters(parameters) => all.extend(parameters),
            }
        }
        Self::Parameters(all)
    }
}

/// Returns whether the value that decides about a finding is a Tensor only if unconfirmed assumptions about parameters
/// hold: parameters of this function, or of the functions that call it.
pub(super) fn rests_on_assumptions(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    let of_parameter = ctx.stage.parameters.iter().enumerate().any(|(position, parameter)| {
        parameter.source == Source::CallSites
            && !is_options(ctx, &parameter.name)
            && parameter.why.iter().any(|step| diagnostic.why.contains(step))
            && !is_confirmed(ctx, position, MAX_CALLERS)
    });
    let needs_value = NEEDING_VALUES.contains(&diagnostic.code);
    let of_constant =
        ctx.stage.parameters.iter().any(|parameter| {
            parameter.bound && parameter.why.iter().any(|step| diagnostic.why.contains(step))
        });
    of_parameter
        || needs_value && of_constant
        || decisive(ctx, diagnostic).is_some_and(|value| {
            let evidence = of_expression(ctx, value, &mut FxHashSet::default());
            is_number(ctx, &evidence)
                || needs_value && is_constant(ctx, &evidence)
                || is_unconfirmed(ctx, evidence, MAX_CALLERS)
        })
}

/// Returns whether the value that decides about a finding is a traced array in the evaluation of the program, from a root
/// to the finding.
pub(super) fn is_established(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    evaluated(ctx, diagnostic).is_some_and(|reach| reach > Reach::Possible)
        || is_traced(ctx, diagnostic, &|value| ctx.is_certainly_traced(value))
}

/// Returns whether the evaluation of the program reaches the finding, and all conditions on the way are known.
pub(super) fn is_reached(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    evaluated(ctx, diagnostic) == Some(Reach::Certain)
        || is_traced(ctx, diagnostic, &|value| ctx.is_unconditionally_traced(value))
}

/// Returns how staged code reaches a fault that the evaluation of the program finds, too.
fn evaluated(ctx: &FunctionContext, diagnostic: &Diagnostic) -> Option<Reach> {
    let faults = || ctx.faults();
    match diagnostic.code {
        "AG404" | "AG506" => faults().leak(diagnostic.span.range),
        "AG406" => faults().variable(diagnostic.span.range),
        "AG407" | "AG508" => faults().iterator(diagnostic.span.range),
        "AG421" => faults().capture(diagnostic.span.range),
        "AG307" => faults().format(diagnostic.span.range),
        "AG503" => faults().format(diagnostic.span.range).or_else(|| faults().place(diagnostic.span.range)),
        "AG555" => faults().place(diagnostic.span.range),
        _ => None,
    }
}

fn is_traced(ctx: &FunctionContext, diagnostic: &Diagnostic, is_traced: &dyn Fn(&Expr) -> bool) -> bool {
    match decisive(ctx, diagnostic) {
        Some(value) => is_traced(value),
        // The why-chain starts at a parameter.
        None if NEEDING_VALUES.contains(&diagnostic.code) => {
            let range = diagnostic.span.range;
            let mut parts = ctx.expressions().into_iter().filter(|part| range.contains_range(part.range()));
            parts.any(is_traced)
        }
        None => false,
    }
}

/// Returns whether the value is an argument that `partial` binds, or a part of it. JAX does not trace such a value, so
/// it has a truth value and can be converted. The results of operations on it are traced:
///
/// ```python
/// def scaled(x, kernel):
///     return x * float(kernel[0])               # no error
///
/// step = jax.jit(partial(scaled, kernel=np.ones(3)))
/// ```
fn is_constant(ctx: &FunctionContext, evidence: &Evidence) -> bool {
    let Evidence::Parameters(parameters) = evidence else { return false };
    let is_bound = |position: &usize| {
        ctx.stage.parameters.iter().nth(*position).is_some_and(|parameter| parameter.bound)
    };
    !parameters.is_empty() && parameters.iter().all(is_bound)
}

/// Returns the expression at which the why-chain of a finding starts.
fn decisive<'a>(ctx: &FunctionContext<'a>, diagnostic: &Diagnostic) -> Option<&'a Expr> {
    let span = diagnostic.why.first()?.span.as_ref()?;
    let is_own =
        span.document == ctx.document && matches!(&span.anchor, Anchor::Function(path) if *path == ctx.path);
    is_own.then(|| ctx.expression_at(span.range))?
}

/// Returns whether no Tensor flows to the value: `k` in `for k in range(3)`, even if a parameter of this name is a
/// Tensor. AutoGraph converts numbers in staged loops to Tensors, JAX does not.
fn is_number(ctx: &FunctionContext, evidence: &Evidence) -> bool {
    matches!(evidence, Evidence::Parameters(parameters) if parameters.is_empty())
        && ctx.dialect() == Dialect::Jax
}

fn is_assumed(ctx: &FunctionContext, expression: &Expr, calls: usize) -> bool {
    let evidence = of_expression(ctx, expression, &mut FxHashSet::default());
    is_unconfirmed(ctx, evidence, calls)
}

fn is_unconfirmed(ctx: &FunctionContext, evidence: Evidence, calls: usize) -> bool {
    let Evidence::Parameters(parameters) = evidence else { return false };
    !parameters.is_empty() && !parameters.into_iter().any(|position| is_confirmed(ctx, position, calls))
}

/// Returns whether a parameter is certainly a Tensor if the analysis infers that it is. `calls`: the number of calls
/// that may be followed back.
fn is_confirmed(ctx: &FunctionContext, position: usize, calls: usize) -> bool {
    let Some(parameter) = ctx.stage.parameters.iter().nth(position) else { return true };
    // The items of `**options` have one common type.
    if is_options(ctx, &parameter.name) {
        let are_tensors = |shown: &Name| matches!(shown.as_str(), "Tensor" | "Array");
        return match parameter.source {
            Source::Annotation => true,
            Source::CallSites => parameter.shown.as_ref().is_some_and(are_tensors),
            _ => false,
        };
    }
    match parameter.source {
        Source::Assumption => {
            !(parameter_use::may_be_number(ctx, position) || is_data_of_step(ctx, position))
                || parameter_use::is_used_as_tensor(ctx, &parameter.name)
        }
        // If a call may reach several functions, its arguments may be meant for another of them. Functions in one
        // container receive the same arguments: `SCHEDULES[name](step, rate)`.
        Source::CallSites if ctx.stage.several_callees => {
            let is_method = ctx.stage.parameters.first().is_some_and(|it| it.source == Source::Receiver);
            parameter_use::is_used_as_tensor(ctx, &parameter.name)
                || !is_method && is_passed_tensor_by_value(ctx, position, calls)
        }
        // The values that a library function passes to its bodies are known only from the arguments of its call.
        Source::CallSites if !callers::is_called_by_users(ctx.stage) => {
            parameter_use::is_used_as_tensor(ctx, &parameter.name) || is_passed_tensor(ctx, position, calls)
        }
        _ => true,
    }
}

/// Returns whether a parameter is `**options`.
fn is_options(ctx: &FunctionContext, parameter: &Name) -> bool {
    ctx.def().parameters.kwarg.as_deref().is_some_and(|options| options.name.id == *parameter)
}

fn is_data_of_step(ctx: &FunctionContext, position: usize) -> bool {
    position == 1 && ctx.stage.root == Some(RootKind::KerasMethod) && STEPS.contains(&ctx.def().name.as_str())
}

/// Returns whether the call that reaches this function passes a value that does not depend on assumptions.
fn is_passed_tensor(ctx: &FunctionContext, position: usize, calls: usize) -> bool {
    let (Some(calls), Some(parameter)) = (calls.checked_sub(1), ctx.stage.parameters.iter().nth(position))
    else {
        return true;
    };
    match path_certainty::passed(ctx, &parameter.name) {
        Some((caller, Passed::Argument(value))) => !is_assumed(&caller, value, calls),
        Some((caller, Passed::FromLibrary(others))) => {
            let evidence = of_any(&caller, others, &mut FxHashSet::default());
            !is_unconfirmed(&caller, evidence, calls)
        }
        None => true,
    }
}

/// Returns whether a call of this function as a value passes a value that certainly is a Tensor.
fn is_passed_tensor_by_value(ctx: &FunctionContext, position: usize, calls: usize) -> bool {
    let parameter = ctx.stage.parameters.iter().nth(position);
    let (Some(calls), Some(parameter)) = (calls.checked_sub(1), parameter) else { return false };
    path_certainty::argument_by_value(ctx.db, ctx.stage, position, &parameter.name).is_some_and(
        |(function, value)| {
            FunctionContext::of(ctx.db, function).is_some_and(|caller| {
                let call = callers::of_stage(ctx.db, ctx.stage)
                    .and_then(|call| caller.expression_at(call.range)?.as_call_expr());
                let Some(call) = call.filter(|call| caller.callee(call).is_none()) else { return false };
                let mut fact = caller.fact(value).clone();
                fact.unknown &= !is_fed_back(caller.def(), value, call.range());
                !fact.unknown && fact.is_tensor() && !is_assumed(&caller, value, calls)
            })
        },
    )
}

/// `seen`: the expressions that are already followed.
fn of_expression(ctx: &FunctionContext, expression: &Expr, seen: &mut FxHashSet<TextRange>) -> Evidence {
    if !seen.insert(expression.range()) {
        return Evidence::none();
    }
    match expression {
        Expr::Name(name) => of_name(ctx, expression, &QName::from(&name.id), seen),
        Expr::Attribute(attribute) if parameter_use::is_of_tensor(attribute) => Evidence::Established,
        Expr::Attribute(attribute) => match QName::from_expr(expression) {
            Some(name) if !ctx.flow.definitions_of(expression.range(), &name).is_empty() => {
                of_name(ctx, expression, &name, seen)
            }
            _ => of_expression(ctx, &attribute.value, seen),
        },
        Expr::Subscript(subscript) => of_item(ctx, &subscript.value, seen),
        Expr::Starred(starred) => of_expression(ctx, &starred.value, seen),
        Expr::UnaryOp(operation) => of_expression(ctx, &operation.operand, seen),
        Expr::Named(named) => of_expression(ctx, &named.value, seen),
        Expr::BinOp(operation) => of_any(ctx, [&*operation.left, &*operation.right], seen),
        Expr::BoolOp(operation) => of_any(ctx, &operation.values, seen),
        Expr::Compare(compare) => {
            of_any(ctx, std::iter::once(&*compare.left).chain(&compare.comparators), seen)
        }
        Expr::If(conditional) => of_any(ctx, [&*conditional.body, &*conditional.orelse], seen),
        Expr::Tuple(tuple) => of_any(ctx, &tuple.elts, seen),
        Expr::List(list) => of_any(ctx, &list.elts, seen),
        Expr::Call(call) => {
            let arguments = || call.arguments.iter_source_order().map(|argument| argument.value());
            if let Some(name) = ctx.resolve(&call.func) {
                return match MAPS.contains(&name.as_str()) {
                    true => of_any(ctx, arguments().skip(1), seen),
                    false => Evidence::Established,
                };
            }
            match &*call.func {
                function if ctx.builtin(function).is_some_and(|name| BUILTINS.contains(&name)) => {
                    of_any(ctx, arguments(), seen)
                }
                // `options.get("mask")`; not a method of the project.
                Expr::Attribute(method)
                    if !parameter_use::is_of_tensor(method) && ctx.callee(call).is_none() =>
                {
                    of_item(ctx, &method.value, seen)
                }
                _ => Evidence::Established,
            }
        }
        _ => Evidence::Established,
    }
}

/// Returns the evidence for an item of a container.
fn of_item(ctx: &FunctionContext, container: &Expr, seen: &mut FxHashSet<TextRange>) -> Evidence {
    let options = container.as_name_expr().filter(|name| is_options(ctx, &name.id));
    let position = options.and_then(|name| ctx.stage.parameters.iter().position(|it| it.name == name.id));
    match position {
        Some(position) => Evidence::Parameters(FxHashSet::from_iter([position])),
        None => of_expression(ctx, container, seen),
    }
}

/// Returns the evidence for the operands that may be Tensors.
fn of_any<'e>(
    ctx: &FunctionContext,
    operands: impl IntoIterator<Item = &'e Expr>,
    seen: &mut FxHashSet<TextRange>,
) -> Evidence {
    let tensors = operands.into_iter().filter(|operand| {
        let fact = ctx.fact(operand);
        let holds_tensors =
            |alternative: &Alternative| matches!(alternative, Alternative::Container { staged: true, .. });
        fact.may_be_tensor()
            || fact.unknown
            || fact.alternatives.is_empty()
            || fact.alternatives.iter().any(holds_tensors)
    });
    Evidence::any(tensors.map(|operand| of_expression(ctx, operand, seen)).collect::<Vec<_>>())
}

/// Returns the evidence for a variable: the combined evidence for the values that reach it.
fn of_name(ctx: &FunctionContext, read: &Expr, name: &QName, seen: &mut FxHashSet<TextRange>) -> Evidence {
    let definitions = ctx.flow.definitions_of(read.range(), name);
    if definitions.is_empty() {
        return Evidence::Established;
    }
    let of_definition = |definition: &Def| match definition.kind {
        DefKind::Parameter(position) => match ctx.stage.parameters.get(position.into()) {
            Some(parameter) if !is_options(ctx, &parameter.name) => {
                Evidence::Parameters(FxHashSet::from_iter([position as usize]))
            }
            _ => Evidence::Established,
        },
        DefKind::Undefined | DefKind::Delete => Evidence::none(),
        DefKind::Assign | DefKind::Walrus | DefKind::ForTarget => match ctx.bound_value(definition) {
            Some(value) if is_python(ctx, value) => Evidence::none(),
            Some(value) => of_expression(ctx, value, seen),
            None => Evidence::Established,
        },
        _ => Evidence::Established,
    };
    let evidence: Vec<Evidence> = definitions.into_iter().map(of_definition).collect();
    Evidence::any(evidence)
}

/// Returns whether a value certainly neither is nor contains a Tensor.
fn is_python(ctx: &FunctionContext, value: &Expr) -> bool {
    let fact = ctx.fact(value);
    let is_scalar = |alternative: &Alternative| {
        matches!(
            alternative,
            Alternative::None
                | Alternative::Bool(_)
                | Alternative::Int(_)
                | Alternative::Float
                | Alternative::Str(_)
        )
    };
    !fact.unknown && !fact.alternatives.is_empty() && fact.alternatives.iter().all(is_scalar)
}
