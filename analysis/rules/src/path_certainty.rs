//! Decides whether a location is reached on every traced path, and with which argument values.

use ruff_python_ast::name::Name;
use ruff_python_ast::{BoolOp, CmpOp, Expr};
use ruff_text_size::{Ranged, TextRange};

use super::FunctionContext;
use super::callers::{self, Call, MAX_CALLERS, is_called_by_users};
use super::defaults;
use super::guards;
use ag_db::Db;
use ag_db::diagnostic::Severity;
use ag_index::answers::Target;
use ag_index::assumptions::{Source, Stage};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::facts::Binding;
use ag_index::index::FunctionId;
use ag_staging::construct::Construct;
use ag_staging::queries;
use ag_syntax::expressions;
use ag_syntax::functions::FunctionAst;

/// Returns whether no `if` guards `range`, neither in this function nor at the calls that lead to it from a root. A
/// condition such as `if seed is None` may be false in every call. Conditions in the root itself do not count: a
/// finding under one of them applies to the callers that satisfy it. In TorchScript both branches are always compiled;
/// in AutoGraph both branches of a staged `if` are traced.
///
/// An `except` clause runs only if an exception is raised while the function is traced.
pub(super) fn is_definitely_reached(ctx: &FunctionContext, range: TextRange) -> bool {
    if ctx.stage.mode == RootKind::TorchScript {
        return !is_called_uncompiled(ctx);
    }
    if guards::is_in_handler(&ctx.def().body, range)
        || callers::from_root(ctx).iter().any(|call| guards::is_in_handler(&call.ast.def().body, call.range))
    {
        return false;
    }
    if is_called_by_users(ctx.stage) {
        return true;
    }
    if callers::from_root(ctx).iter().any(|call| defaults::exclude(ctx.db, call)) {
        return false;
    }
    let mut calls =
        callers::of(ctx).take_while(|call| call.stage.is_some_and(|stage| !is_called_by_users(stage)));
    if matches!(ctx.dialect(), Dialect::Jax | Dialect::Torch) {
        let function = ctx.id();
        return !is_guarded(ctx.db, function, ctx.ast, ctx.stage, range)
            && calls.all(|call| {
                call.stage
                    .is_some_and(|stage| !is_guarded(ctx.db, call.function, call.ast, stage, call.range))
            });
    }
    !is_under_python_test(ctx.ast, ctx.constructs, range)
        && calls.all(|call| {
            !is_under_python_test(call.ast, queries::constructs(ctx.db, call.function), call.range)
        })
}

/// Returns the highest severity of a finding at `range`. It is a warning if `range`, or a call between the root and
/// this function, is under a condition that Python decides, because there may be no call that satisfies this condition.
///
/// ```python
/// @jax.jit
/// def attend(q, ids, count=None):
///     if count is None:
///         count = int(ids.max())                # raises, but all callers may pass `count`
/// ```
pub(super) fn highest_severity(ctx: &FunctionContext, range: TextRange) -> Severity {
    if ctx.stage.mode == RootKind::TorchScript {
        return Severity::Error;
    }
    let is_conditional =
        |function: &FunctionAst, constructs: &[Construct], stage: &Stage, range: TextRange| {
            let is_python = |test: &Expr| {
                let construct = constructs.iter().find(|construct| construct.test_range == test.range());
                let decides = construct.is_some_and(|construct| construct.binding != Binding::Staged);
                decides && !is_filled(function, test, range) && !is_satisfied(stage, test)
            };
            guards::is_under(&function.def().body, range, &is_python, &|_| false)
        };
    let calls = callers::from_root(ctx);
    let mut calls = calls.iter().filter_map(|call| call.stage.map(|stage| (call, stage)));
    let conditional = is_conditional(ctx.ast, ctx.constructs, ctx.stage, range)
        || calls.any(|(call, stage)| {
            is_conditional(call.ast, queries::constructs(ctx.db, call.function), stage, call.range)
        });
    if conditional { Severity::Warning } else { Severity::Error }
}

/// Returns whether a call of the project satisfies `size is None`.
fn is_satisfied(stage: &Stage, test: &Expr) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let ([CmpOp::Is], [Expr::NoneLiteral(_)], Expr::Name(name)) =
        (&*compare.ops, &*compare.comparators, &*compare.left)
    else {
        return false;
    };
    let passes_none = |shown: &Name| shown.split(" | ").any(|alternative| alternative == "None");
    stage.parameters.iter().any(|parameter| {
        parameter.name == name.id
            && parameter.source == Source::CallSites
            && parameter.shown.as_ref().is_some_and(passes_none)
    })
}

/// Returns whether `range` is under an `if` that Python decides while the graph is built: `if seed is None: seed =
/// random.randint(0, 9)`. Its condition may be false in every call.
fn is_under_python_test(function: &FunctionAst, constructs: &[Construct], range: TextRange) -> bool {
    let is_python = |test: &Expr| {
        let construct = constructs.iter().find(|construct| construct.test_range == test.range());
        construct.is_some_and(|construct| construct.binding != Binding::Staged)
            && !is_filled(function, test, range)
    };
    guards::is_under(&function.def().body, range, &is_python, &|_| false)
}

/// Returns whether TorchScript may leave out a call between the root and this function. TorchScript leaves out a call
/// if it decides a test while it compiles, such as `if not torch.jit.is_scripting():`, and the call is under this `if`.
/// The call may also be after the `if`, if the body of the `if` returns.
fn is_called_uncompiled(ctx: &FunctionContext) -> bool {
    guards::is_called_under(ctx, &|call, test| {
        let text = &call.ast.text[test.range()];
        ["scripting", "isinstance", "hasattr", " is None", " is not None"]
            .iter()
            .any(|word| text.contains(word))
    })
}

/// Returns whether the calls between the root and this function pass a Tensor for `parameter`, as its annotation
/// declares. Some calls do not: `def cell_list(box_size: Array)` may be called with a number, and arguments of a host
/// callback are not traced.
pub(super) fn receives_tensor(ctx: &FunctionContext, parameter: &str) -> bool {
    let mut callee = Target { document: ctx.document, path: ctx.path.clone(), bound: false };
    let mut stage = ctx.stage;
    let mut name = Name::new(parameter);
    for _ in 0..MAX_CALLERS {
        if stage.root.is_some() {
            return true;
        }
        let Some((caller, value)) = argument(ctx.db, stage, &callee, &name) else { return false };
        let fact = expressions::id(value).and_then(|id| queries::facts(ctx.db, caller).get(id));
        if fact.is_none_or(|fact| fact.tensor_kind().is_none()) {
            return false;
        }
        let Some(caller_stage) = queries::stage(ctx.db, caller).as_ref() else { return false };
        let annotated = value.as_name_expr().filter(|name| {
            caller_stage.parameters.iter().any(|own| own.name == name.id && own.source == Source::Annotation)
        });
        let Some(annotated) = annotated else { return true };
        callee =
            Target { document: caller.document(ctx.db), path: caller.path(ctx.db).clone(), bound: false };
        (stage, name) = (caller_stage, annotated.id.clone());
    }
    true
}

/// Returns whether the call that reaches this function passes an expression for `parameter` for which `accepts` returns
/// true. `accepts` also receives the calling function.
pub(super) fn receives<'a>(
    ctx: &FunctionContext<'a>,
    parameter: &str,
    accepts: &dyn Fn(FunctionId<'a>, &'a Expr) -> bool,
) -> bool {
    let callee = Target { document: ctx.document, path: ctx.path.clone(), bound: false };
    ctx.stage.root.is_none()
        && argument(ctx.db, ctx.stage, &callee, &Name::new(parameter))
            .is_some_and(|(caller, value)| accepts(caller, value))
}

/// The value that a parameter receives from the call that leads to its function.
pub(super) enum Passed<'db> {
    Argument(&'db Expr),
    /// A library function calls the function with values that it computes from these arguments:
    /// `lax.scan(body, state, rows)` passes `state` and parts of `rows`.
    FromLibrary(Vec<&'db Expr>),
}

/// Returns the value that a parameter receives from the call that reaches this function, with the calling function.
/// `None` if it is not known.
pub(super) fn passed<'db>(
    ctx: &FunctionContext<'db>,
    parameter: &Name,
) -> Option<(FunctionContext<'db>, Passed<'db>)> {
    let call = callers::of_stage(ctx.db, ctx.stage)?;
    let caller = FunctionContext::of(ctx.db, call.function)?;
    let expression = expressions::at(call.ast.def(), call.range)?.as_call_expr()?;
    if caller.resolve(&expression.func).is_some() {
        let others = expression.arguments.iter_source_order().map(|argument| argument.value()).skip(1);
        return Some((caller, Passed::FromLibrary(others.collect())));
    }
    let callee = Target { document: ctx.document, path: ctx.path.clone(), bound: false };
    let (_, value) = argument(ctx.db, ctx.stage, &callee, parameter)?;
    Some((caller, Passed::Argument(value)))
}

/// Returns the argument that the call of `callee` passes for the parameter `name`, and the calling function.
pub(super) fn argument<'db>(
    db: &'db dyn Db,
    stage: &Stage,
    callee: &Target,
    name: &Name,
) -> Option<(FunctionId<'db>, &'db Expr)> {
    let Call { function: caller, ast, range, .. } = callers::of_stage(db, stage)?;
    let site = queries::types(db, caller).calls.iter().find(|site| site.location.range == range)?;
    let target = site
        .targets
        .iter()
        .find(|target| target.document == callee.document && target.path == callee.path)?;
    let call = expressions::at(ast.def(), range)?.as_call_expr()?;
    if let Some(keyword) = call.arguments.find_keyword(name) {
        return Some((caller, &keyword.value));
    }
    let position = stage.parameters.iter().position(|parameter| parameter.name == *name)?;
    let position = position.checked_sub(usize::from(target.bound))?;
    let value = call.arguments.args.get(position)?;
    let spread = call.arguments.args[..=position].iter().any(Expr::is_starred_expr);
    (!spread && !site.partial).then_some((caller, value))
}

/// Returns the argument that a call passes for a parameter, and the calling function, if the function is called as a
/// value: `kernel(a, b)`, where `kernel` is a variable.
pub(super) fn argument_by_value<'db>(
    db: &'db dyn Db,
    stage: &Stage,
    position: usize,
    name: &str,
) -> Option<(FunctionId<'db>, &'db Expr)> {
    let Call { function, ast, range, .. } = callers::of_stage(db, stage).filter(|_| stage.by_value)?;
    let call = expressions::at(ast.def(), range)?.as_call_expr()?;
    // The function of a library calls it: `lax.switch(i, kernels, a, b)`.
    if queries::imports(db, function.document(db)).resolve(&call.func).is_some() {
        return None;
    }
    if let Some(keyword) = call.arguments.find_keyword(name) {
        return Some((function, &keyword.value));
    }
    let receives = stage.parameters.first().is_some_and(|first| first.source == Source::Receiver);
    let position = position.checked_sub(usize::from(receives))?;
    let spread = call.arguments.args.iter().any(Expr::is_starred_expr);
    Some((function, call.arguments.args.get(position).filter(|_| !spread)?))
}

/// Returns whether `range` is under an `if`, in an operand that is evaluated only after a test, or after an `if` that
/// returns and tests an attribute of `self` or compares with a string: `if like == "numpy": return …`.
///
/// A test that the default of the constructor satisfies is no guard: `if self.mode == "auto":`. Neither is the test of
/// a parameter that the call omits: `if size is None:`.
fn is_guarded<'db>(
    db: &'db dyn Db,
    id: FunctionId<'db>,
    function: &FunctionAst,
    stage: &Stage,
    range: TextRange,
) -> bool {
    let compares_string = |test: &Expr| function.text[test.range()].contains(['"', '\'']);
    let guards_it = |test: &Expr| {
        !is_filled(function, test, range)
            && !defaults::may_hold(db, id, function, test)
            && !defaults::omission_satisfies(db, function, stage, test)
    };
    guards::is_under(&function.def().body, range, &guards_it, &compares_string)
        || guards::is_after_return(&function.def().body, range)
        || expressions::of_function(function.def()).into_iter().any(|outer| {
            // `self.training and self.skips()`
            let is_evaluated = outer.as_bool_op_expr().is_some_and(|operation| {
                let operands = operation.values.iter();
                let mut before = operands.take_while(|operand| !operand.range().contains_range(range));
                operation.op == BoolOp::And && before.all(|test| defaults::may_hold(db, id, function, test))
            });
            guards::is_operand(outer, range) && !is_evaluated
        })
}

/// Returns whether a test checks that a value is missing, and the code at `range` assigns this value: `if key not in
/// self.cache: self.cache[key] = …`, `if self.table is None: self.table = …`. The first trace runs this code.
fn is_filled(function: &FunctionAst, test: &Expr, range: TextRange) -> bool {
    let Expr::Compare(compare) = test else { return false };
    let place = match (&*compare.ops, &*compare.comparators) {
        ([CmpOp::NotIn], [container]) => container,
        ([CmpOp::Is], [Expr::NoneLiteral(_)]) => &compare.left,
        _ => return false,
    };
    let assigned = function.text[range].strip_prefix(&function.text[place.range()]);
    assigned.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}
