//! The operands of a decision in traced code, for the dialects without conversion. Determines where the tested value
//! comes from, and whether the code handles tracing.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::names::Names;
use super::{FunctionContext, defaults, mapped, path_certainty};
use ag_db::Db;
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_flow::cfg::{BlockKind, StatementKind};
use ag_index::assumptions::{Parameter, Source};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::{Binding, TensorKind};
use ag_index::index::{FunctionId, function_ast};
use ag_staging::construct::{Construct, ConstructKind, ConstructNode};
use ag_staging::queries;
use ag_syntax::expressions;
use ag_syntax::functions::FunctionPath;
use ag_syntax::qname::QName;

/// The maximum length of a chain of assignments that is followed back.
const MAX_STEPS: usize = 4;

/// The origin of a Tensor, ordered from most to least certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// An operation, or an argument that is certainly a Tensor.
    Computed,
    /// A parameter of unknown type.
    Assumed,
    /// A global, a variable of an enclosing function, an attribute of `self`, or a static argument.
    Outside,
}

/// How certain it is that the tested value is a Tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Always,
    /// It is, unless a Python operand before the Tensor short-circuits: `training and x.any()`.
    UnlessShortCircuited,
    /// It is sometimes a Tensor and sometimes a Python value.
    Sometimes,
}

/// A decision on a Tensor. It is not nested in another decision that is reported.
pub(super) struct Decision<'a> {
    pub construct: &'a Construct,
    pub node: ConstructNode<'a>,
    /// The tested expression. For `and`, `or`, `not` and comparisons, it is the whole operation.
    pub test: &'a Expr,
    pub certainty: Certainty,
}

/// Returns the decisions on Tensors. `if not x.any():` is only one decision.
pub(super) fn decisions<'a>(ctx: &FunctionContext<'a>) -> Vec<Decision<'a>> {
    let mut decisions: Vec<Decision> = Vec::new();
    for (construct, node) in ctx.decisions() {
        let test = ctx.expression_at(construct.test_range);
        // The type of the test may hide that it is traced.
        let evaluated =
            test.filter(|_| ctx.dialect() == Dialect::Jax).map(|test| match ctx.is_traced_value(test) {
                true => Binding::Staged,
                false => ctx.binding(test),
            });
        let binding = evaluated.filter(|it| *it == Binding::Staged).unwrap_or(construct.binding);
        let traced = matches!(binding, Binding::Staged | Binding::Mixed);
        let within = decisions.iter().any(|other| other.construct.test_range.contains_range(construct.range));
        if construct.kind == ConstructKind::For || !traced || within {
            continue;
        }
        if let Some(test) = test {
            let certainty = match binding {
                Binding::Staged => Certainty::Always,
                _ if has_tensor_operand(ctx, test) => Certainty::UnlessShortCircuited,
                _ => Certainty::Sometimes,
            };
            decisions.push(Decision { construct, node, test, certainty });
        }
    }
    decisions
}

/// Returns whether an operand of `not`, `and` or `or` is always a Tensor. The operation may be the result of a function.
fn has_tensor_operand(ctx: &FunctionContext, test: &Expr) -> bool {
    match test {
        Expr::UnaryOp(operation) if operation.op == ast::UnaryOp::Not => {
            has_tensor_operand(ctx, &operation.operand)
        }
        Expr::BoolOp(operation) => operation.values.iter().any(|value| {
            ctx.binding(value) == Binding::Staged && !ctx.fact(value).unknown
                || has_tensor_operand(ctx, value)
        }),
        Expr::Call(call) => ctx.result_of_call(call, None, &|callee, value| {
            !value.is_call_expr() && has_tensor_operand(callee, value)
        }),
        _ => false,
    }
}

/// Returns the highest severity of a decision that tests a Tensor unless a Python operand before it short-circuits:
/// `if grid is None and x.any():`. Only the callers of a root can choose its arguments freely. In other functions, the
/// operand may always short-circuit, unless libraries pass both values for it (`if training and x.any():`), or it is an
/// attribute that is true by default: `self.strict and x.any()`.
///
/// The operation may also be the result of a function: `if self.may_stop(x):` with
/// `return not self.training and x.any()`.
pub(super) fn short_circuited_severity(ctx: &FunctionContext, test: &Expr) -> Severity {
    match test {
        Expr::Call(call) => {
            let is_evaluated = |callee: &FunctionContext, value: &Expr| evaluates_tensor(callee, value);
            match ctx.result_of_call(call, None, &is_evaluated) {
                true => Severity::Warning,
                false => Severity::Info,
            }
        }
        _ if ctx.root().is_some() || evaluates_tensor(ctx, test) => Severity::Warning,
        _ => Severity::Info,
    }
}

/// Returns whether the Python operands before the first Tensor are likely to hold in some call.
fn evaluates_tensor(ctx: &FunctionContext, test: &Expr) -> bool {
    let function = ctx.id();
    let holds = |operand: &Expr| defaults::may_hold(ctx.db, function, ctx.ast, operand);
    // Modules run in both modes.
    let is_mode = |operand: &Expr| {
        let negated = operand.as_unary_op_expr().filter(|it| it.op == ast::UnaryOp::Not);
        negated.and_then(|it| it.operand.as_attribute_expr()).is_some_and(|it| it.attr.as_str() == "training")
    };
    test.as_bool_op_expr().is_some_and(|operation| {
        let mut before = operation.values.iter().take_while(|value| ctx.binding(value) == Binding::Python);
        let may_hold = |operand: &Expr| is_mode(operand) || is_within_limit(ctx, operand) || holds(operand);
        operation.op == ast::BoolOp::And && before.all(may_hold)
            || ctx.dialect() == Dialect::Jax
                && operation
                    .values
                    .iter()
                    .take_while(|it| !ctx.fact(it).may_be_tensor())
                    .all(compares_numbers)
    })
}

/// Returns whether a test compares two numbers, such as a size with a limit. It differs between calls.
fn compares_numbers(test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let is_number = |side: &Expr| {
        !matches!(side, Expr::StringLiteral(_) | Expr::NoneLiteral(_) | Expr::BooleanLiteral(_))
    };
    compare
        .ops
        .iter()
        .all(|op| matches!(op, ast::CmpOp::Lt | ast::CmpOp::LtE | ast::CmpOp::Gt | ast::CmpOp::GtE))
        && compare.comparators.iter().all(is_number)
}

/// Returns whether a test compares a counter that starts at a literal with a limit: `step < self.limit` after
/// `step = 0`.
fn is_within_limit(ctx: &FunctionContext, test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let (Expr::Name(counter), [ast::CmpOp::Lt | ast::CmpOp::LtE]) = (&*compare.left, &*compare.ops) else {
        return false;
    };
    let definitions = ctx.flow.definitions_of(counter.range(), &QName::from(&counter.id));
    let is_start = |definition: &&ag_flow::Def| {
        definition.kind == DefKind::Assign
            && ctx.value_of(definition).is_some_and(|value| expressions::natural(value).is_some())
    };
    definitions.iter().any(is_start)
        && definitions.iter().all(|it| is_start(it) || it.kind == DefKind::AugAssign)
}

/// Returns the construct as a noun phrase for messages.
pub(super) fn noun_phrase(kind: ConstructKind) -> &'static str {
    match kind {
        ConstructKind::If => "an `if`",
        ConstructKind::While => "a `while`",
        ConstructKind::For => "a `for`",
        ConstructKind::IfExp => "a conditional expression",
        ConstructKind::And => "an `and`",
        ConstructKind::Or => "an `or`",
        ConstructKind::Not => "a `not`",
        ConstructKind::CompareChain => "a chain of comparisons",
        ConstructKind::Assert => "an `assert`",
        ConstructKind::ComprehensionIf => "the condition of a comprehension",
    }
}

/// Returns whether an expression is certainly a single Tensor or Variable. Arithmetic on a Tensor is one, also if the
/// type of the other operand is only partly known: `limit / norm` after `limit = unknown() if c else 1.0`.
pub(super) fn is_tensor(ctx: &FunctionContext, expression: &Expr) -> bool {
    let fact = ctx.fact(expression);
    matches!(fact.tensor_kind(), Some(TensorKind::Tensor | TensorKind::Variable))
        || fact.unknown
            && fact.may_be_tensor()
            && expression
                .as_bin_op_expr()
                .is_some_and(|operation| is_tensor(ctx, &operation.left) || is_tensor(ctx, &operation.right))
}

/// Returns where the Tensor that decides `expression` comes from.
pub(super) fn origin(ctx: &FunctionContext, expression: &Expr) -> Origin {
    trace(ctx, expression, MAX_STEPS)
}

fn trace(ctx: &FunctionContext, expression: &Expr, steps: usize) -> Origin {
    let best = |operands: &mut dyn Iterator<Item = &Expr>| {
        operands
            .filter(|operand| ctx.fact(operand).may_be_tensor())
            .map(|operand| trace(ctx, operand, steps))
            .min()
    };
    match expression {
        Expr::Named(named) => Some(trace(ctx, &named.value, steps)),
        Expr::UnaryOp(operation) => Some(trace(ctx, &operation.operand, steps)),
        Expr::BinOp(operation) => best(&mut [&*operation.left, &*operation.right].into_iter()),
        Expr::Compare(compare) => best(&mut std::iter::once(&*compare.left).chain(&compare.comparators)),
        // The first operand that is a Tensor is the first to be tested.
        Expr::BoolOp(operation) => operation
            .values
            .iter()
            .find(|value| ctx.binding(value) == Binding::Staged)
            .map(|value| trace(ctx, value, steps)),
        Expr::If(conditional) if ctx.binding(&conditional.test) == Binding::Staged => {
            Some(trace(ctx, &conditional.test, steps))
        }
        Expr::If(conditional) => {
            Some(trace(ctx, &conditional.body, steps).max(trace(ctx, &conditional.orelse, steps)))
        }
        Expr::Subscript(subscript) => Some(trace(ctx, &subscript.value, steps)),
        // An attribute of a Tensor is computed. An attribute of another object has the same origin as the object.
        // A property is a call of a method, which computes its value.
        Expr::Attribute(attribute)
            if !ctx.fact(&attribute.value).may_be_tensor()
                && !ctx.types.calls.iter().any(|call| call.location.range == expression.range()) =>
        {
            Some(trace(ctx, &attribute.value, steps))
        }
        Expr::Name(name) => Some(of_name(ctx, name, steps)),
        _ => Some(Origin::Computed),
    }
    .unwrap_or(Origin::Computed)
}

fn of_name(ctx: &FunctionContext, name: &ast::ExprName, steps: usize) -> Origin {
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    let origins = definitions.into_iter().map(|definition| match definition.kind {
        DefKind::Parameter(_) => match ctx.parameter(&name.id) {
            Some(parameter) if is_static(ctx, parameter) => Origin::Outside,
            Some(parameter) => match parameter.source {
                Source::Assumption => Origin::Assumed,
                Source::Receiver => Origin::Outside,
                _ => Origin::Computed,
            },
            None => Origin::Assumed,
        },
        DefKind::Outer => Origin::Outside,
        _ => {
            let value = definition.value.filter(|_| steps > 0);
            value
                .and_then(|range| ctx.expression_at(range))
                .map_or(Origin::Computed, |value| trace(ctx, value, steps - 1))
        }
    });
    origins.max().unwrap_or(Origin::Computed)
}

/// Returns whether a name belongs to the module, or to an enclosing function that is not staged, so that its value is
/// created before tracing. `jax.grad` alone traces only the values that depend on a differentiated argument.
pub(super) fn is_created_before_tracing(ctx: &FunctionContext, expression: &Expr) -> bool {
    if ctx.stage.mode == RootKind::JaxGrad && !mapped::is_differentiated(ctx, expression) {
        return true;
    }
    let Expr::Name(name) = expression else { return false };
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    let outer =
        !definitions.is_empty() && definitions.iter().all(|definition| definition.kind == DefKind::Outer);
    outer && is_outside_staged_code(ctx.db, ctx.id())
}

/// Returns whether no enclosing function is staged. If so, the captured variables are created before tracing.
pub(super) fn is_outside_staged_code<'db>(db: &'db dyn Db, function: FunctionId<'db>) -> bool {
    functions_around(db, function).all(|around| queries::stage(db, around).is_none())
}

/// Returns the functions around a function, from the inside out. Classes around it are among them, without a tree.
fn functions_around<'db>(
    db: &'db dyn Db,
    function: FunctionId<'db>,
) -> impl Iterator<Item = FunctionId<'db>> {
    let outer = |qualname: &&'db str| qualname.rsplit_once('.').map(|(outer, _)| outer);
    std::iter::successors(Some(function.path(db).qualname.as_str()), outer).skip(1).map(move |qualname| {
        FunctionId::new(db, function.document(db), FunctionPath { qualname: qualname.into(), occurrence: 0 })
    })
}

/// Returns whether a name is a variable of an enclosing function that is staged, so that its value is computed while that
/// function is traced:
///
/// ```python
/// @jax.jit
/// def step(x):
///     total = jnp.sum(x)
///     def scaled(y): return y / float(total)
/// ```
pub(super) fn is_captured_in_trace(ctx: &FunctionContext, expression: &Expr) -> bool {
    let Expr::Name(name) = expression else { return false };
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    if definitions.is_empty() || definitions.iter().any(|definition| definition.kind != DefKind::Outer) {
        return false;
    }
    let function = ctx.id();
    let owner = functions_around(ctx.db, function).find(|around| {
        function_ast(ctx.db, *around).as_ref().is_some_and(|tree| {
            let mut parameters = tree.def().parameters.iter();
            parameters.any(|parameter| parameter.name().id == name.id)
                || Names::of_body(&tree.def().body).bound.contains(name.id.as_str())
        })
    });
    owner.is_some_and(|owner| queries::stage(ctx.db, owner).is_some())
}

/// Returns whether a parameter is listed in `static_argnums` or `static_argnames`.
pub(super) fn is_static(ctx: &FunctionContext, parameter: &Parameter) -> bool {
    let position = ctx.stage.parameters.iter().position(|other| other.name == parameter.name);
    position.is_some_and(|position| ctx.stage.static_parameters.contains(position.into()))
}

/// Returns whether an exception raised at `range` is caught in this function.
pub(super) fn is_caught(ctx: &FunctionContext, range: TextRange) -> bool {
    let cfg = &ctx.flow.cfg;
    let mut inner = cfg.statement_around(range);
    while let Some(stmt) = inner {
        let outer = cfg.statement(stmt).and_then(|statement| statement.parent);
        if let Some(outer) = outer
            && let Some(statement) = cfg.statement(outer)
            && statement.kind == StatementKind::Try
            && cfg.block(outer, BlockKind::Body).is_some_and(|body| body.contains(stmt))
            && cfg.block(outer, BlockKind::Handler(0)).is_some()
        {
            return true;
        }
        inner = outer;
    }
    false
}

/// Returns whether the function uses one of these names anywhere: `jax.core.Tracer`, `torch.compiler.is_compiling`.
/// Code that does so handles tracing.
pub(super) fn uses(ctx: &FunctionContext, names: &[&str]) -> bool {
    ctx.expressions().into_iter().any(|expression| is_one_of(ctx, expression, names))
}

/// Returns whether a function of the project that this function calls uses one of these names.
pub(super) fn callees_use(ctx: &FunctionContext, names: &[&str]) -> bool {
    let called =
        ctx.expressions().into_iter().filter_map(|expression| ctx.callee(expression.as_call_expr()?));
    called
        .flat_map(|callee| expressions::of_function(callee.def()))
        .any(|expression| is_one_of(ctx, expression, names))
}

fn is_one_of(ctx: &FunctionContext, expression: &Expr, names: &[&str]) -> bool {
    matches!(expression, Expr::Attribute(_) | Expr::Name(_))
        && ctx.resolve(expression).is_some_and(|name| names.contains(&name.as_str()))
}

/// Returns whether the syntax of an expression shows that it is a boolean Tensor: `x > 0`, `~seen`, `a & b`,
/// `jnp.isnan(x)`.
pub(super) fn is_mask(ctx: &FunctionContext, expression: &Expr) -> bool {
    mask(ctx, expression, MAX_STEPS)
}

fn mask(ctx: &FunctionContext, expression: &Expr, steps: usize) -> bool {
    match expression {
        Expr::Compare(compare) => {
            compare.ops.len() == 1
                && !compare.ops.iter().any(|op| {
                    matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn)
                })
                && is_tensor(ctx, expression)
        }
        Expr::UnaryOp(operation) => {
            operation.op == ast::UnaryOp::Invert && mask(ctx, &operation.operand, steps)
        }
        Expr::BinOp(operation) => {
            matches!(operation.op, ast::Operator::BitAnd | ast::Operator::BitOr | ast::Operator::BitXor)
                && mask(ctx, &operation.left, steps)
                && mask(ctx, &operation.right, steps)
        }
        Expr::Call(call) => {
            let predicate = ctx.resolve(&call.func).is_some_and(|name| {
                name.rsplit_once('.').is_some_and(|(module, function)| {
                    matches!(module, "jax.numpy" | "torch")
                        && (matches!(function, "isnan" | "isinf" | "isfinite" | "isclose")
                            || function.starts_with("logical_"))
                }) || name == "jax.random.bernoulli"
            });
            // `scores.gt(0)`, `x.isnan()`, `seen.bool()`.
            let method = call.func.as_attribute_expr().is_some_and(|method| {
                matches!(
                    method.attr.as_str(),
                    "eq" | "ne"
                        | "lt"
                        | "le"
                        | "gt"
                        | "ge"
                        | "isnan"
                        | "isinf"
                        | "isfinite"
                        | "logical_and"
                        | "logical_or"
                        | "logical_not"
                        | "bool"
                ) && is_tensor(ctx, &method.value)
            });
            let declared = call.arguments.find_keyword("dtype").is_some_and(|dtype| {
                ctx.resolve(&dtype.value).is_some_and(|name| {
                    matches!(name.as_str(), "torch.bool" | "jax.numpy.bool_" | "jax.numpy.bool")
                })
            });
            let returned = || {
                steps > 0 && ctx.result_of_call(call, None, &|callee, value| mask(callee, value, steps - 1))
            };
            (predicate || method || declared || returned()) && is_tensor(ctx, expression)
        }
        Expr::Name(name) if steps > 0 && is_tensor(ctx, expression) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            !definitions.is_empty()
                && definitions.iter().all(|definition| match definition.kind {
                    DefKind::Parameter(_) => path_certainty::receives(ctx, &name.id, &|caller, value| {
                        is_comparison(ctx, caller, value, steps - 1)
                            || FunctionContext::of(ctx.db, caller)
                                .is_some_and(|caller| mask(&caller, value, steps - 1))
                    }),
                    _ => match definition.value {
                        Some(range) => {
                            ctx.expression_at(range).is_some_and(|value| mask(ctx, value, steps - 1))
                        }
                        // `inside, outside = split(x)`
                        None => {
                            ctx.bound_value(definition).and_then(Expr::as_call_expr).is_some_and(|call| {
                                let is_mask =
                                    |callee: &FunctionContext, value: &Expr| mask(callee, value, steps - 1);
                                ctx.result_of_call(call, Some(definition), &is_mask)
                            })
                        }
                    },
                })
        }
        _ => false,
    }
}

/// Returns whether an expression of a calling function is a comparison of Tensors, the negation of one, or a variable
/// that is bound to one: `x > 0`, `~(x > 0)`, `mask` after `mask = tokens != 0`.
fn is_comparison<'a>(ctx: &FunctionContext<'a>, caller: FunctionId<'a>, value: &Expr, steps: usize) -> bool {
    match value {
        Expr::Compare(compare) => match *compare.ops {
            [ast::CmpOp::Lt | ast::CmpOp::LtE | ast::CmpOp::Gt | ast::CmpOp::GtE] => true,
            [ast::CmpOp::Eq | ast::CmpOp::NotEq] => {
                let fact = expressions::id(value).and_then(|id| queries::facts(ctx.db, caller).get(id));
                fact.is_some_and(|fact| {
                    matches!(fact.tensor_kind(), Some(TensorKind::Tensor | TensorKind::Variable))
                })
            }
            _ => false,
        },
        Expr::UnaryOp(operation) => {
            operation.op == ast::UnaryOp::Invert && is_comparison(ctx, caller, &operation.operand, steps)
        }
        Expr::Name(name) if steps > 0 => {
            let (Some(flow), Some(ast)) =
                (queries::flow(ctx.db, caller).as_ref(), function_ast(ctx.db, caller).as_ref())
            else {
                return false;
            };
            let definitions = flow.definitions_of(name.range(), &QName::from(&name.id));
            !definitions.is_empty()
                && definitions.iter().all(|definition| {
                    let value = definition.value.and_then(|range| expressions::at(ast.def(), range));
                    definition.kind == DefKind::Assign
                        && value.is_some_and(|value| is_comparison(ctx, caller, value, steps - 1))
                })
        }
        _ => false,
    }
}

/// Returns source text for a message: one line, truncated if it is long.
pub(super) fn snippet(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain(['…']).collect()
}

/// Returns whether the text of a `print` says that the function is being traced: `print("Tracing with", x)`.
pub(crate) fn announces_tracing(arguments: &ast::Arguments) -> bool {
    const WORDS: [&str; 8] =
        ["compiling", "recompiling", "retrace", "retraced", "retracing", "traced", "tracing", "traces"];
    let announces = |text: &str| {
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
    };
    arguments.args.iter().any(|argument| match argument {
        Expr::StringLiteral(text) => announces(text.value.to_str()),
        Expr::FString(text) => {
            let literals = text.value.elements().filter_map(|element| element.as_literal());
            literals.into_iter().any(|literal| announces(&literal.value))
        }
        _ => false,
    })
}
