//! Whether staged code certainly comes to a place, and with what, or only as some callers have it.

use ruff_python_ast::Expr;
use ruff_python_ast::name::Name;
use ruff_text_size::{Ranged, TextRange};

use super::FunctionContext;
use super::guards;
use ag_db::Db;
use ag_db::diagnostic::{Anchor, Span};
use ag_index::answers::Target;
use ag_index::assumptions::{Source, Stage};
use ag_index::dialect::{Dialect, RootKind};
use ag_index::index::{FunctionId, function_ast};
use ag_staging::queries;
use ag_syntax::expressions;
use ag_syntax::functions::FunctionAst;

/// Calls that are followed back towards the root.
const MAX_CALLERS: usize = 6;

/// Whether no `if` stands between the root and `range`, in this function or where it and its callers are called:
/// `if seed is None: …` in a function that a root reaches is perhaps never true there. The root's own `if`s are its
/// callers' business: a finding below one of them says what happens to those who ask for it. AutoGraph and TorchScript
/// take both ways.
pub(super) fn is_certain(ctx: &FunctionContext, range: TextRange) -> bool {
    let traces = match ctx.dialect() {
        Dialect::Jax => true,
        Dialect::Torch => ctx.stage.mode != RootKind::TorchScript,
        _ => false,
    };
    if !traces || is_entry(ctx.stage) {
        return true;
    }
    if depends(ctx.ast, range) {
        return false;
    }
    let mut cause = ctx.stage.cause.clone();
    for _ in 0..MAX_CALLERS {
        let Some(Span { document, anchor: Anchor::Function(path), range }) = cause else { return true };
        let caller = FunctionId::new(ctx.db, document, path);
        let Some(stage) = queries::stage(ctx.db, caller).as_ref().filter(|stage| !is_entry(stage)) else {
            return true;
        };
        if function_ast(ctx.db, caller).as_ref().is_some_and(|ast| depends(ast, range)) {
            return false;
        }
        cause = stage.cause.clone();
    }
    true
}

/// A root that people call; the body of a `lax.cond` is a part of the function around it.
fn is_entry(stage: &Stage) -> bool {
    stage.root.is_some_and(|root| root != RootKind::ControlFlowBody)
}

/// Whether the calls by which the root comes here give `parameter` a Tensor, as its annotation says. They need not:
/// `def cell_list(box_size: Array)` is called with a number, and what a host callback is given is not traced.
pub(super) fn is_given_tensor(ctx: &FunctionContext, parameter: &str) -> bool {
    let mut callee = Target { document: ctx.document, path: ctx.path.clone(), bound: false };
    let mut stage = ctx.stage;
    let mut name = Name::new(parameter);
    for _ in 0..MAX_CALLERS {
        if stage.root.is_some() {
            return true;
        }
        let Some((caller, given)) = argument(ctx.db, stage, &callee, &name) else { return false };
        let fact = expressions::id(given).and_then(|id| queries::facts(ctx.db, caller).get(id));
        if fact.is_none_or(|fact| fact.tensor_kind().is_none()) {
            return false;
        }
        let Some(calling) = queries::stage(ctx.db, caller).as_ref() else { return false };
        let annotated = given.as_name_expr().filter(|given| {
            calling.parameters.iter().any(|own| own.name == given.id && own.source == Source::Annotation)
        });
        let Some(annotated) = annotated else { return true };
        callee =
            Target { document: caller.document(ctx.db), path: caller.path(ctx.db).clone(), bound: false };
        (stage, name) = (calling, annotated.id.clone());
    }
    true
}

/// What the call that reaches `callee` gives to the parameter `name`, and in which function.
fn argument<'db>(
    db: &'db dyn Db,
    stage: &Stage,
    callee: &Target,
    name: &Name,
) -> Option<(FunctionId<'db>, &'db Expr)> {
    let Span { document, anchor: Anchor::Function(path), range } = stage.cause.clone()? else { return None };
    let caller = FunctionId::new(db, document, path);
    let site = queries::types(db, caller).calls.iter().find(|site| site.place.range == range)?;
    let target = site
        .targets
        .iter()
        .find(|target| target.document == callee.document && target.path == callee.path)?;
    let call = expressions::at(function_ast(db, caller).as_ref()?.def(), range)?.as_call_expr()?;
    if let Some(keyword) = call.arguments.find_keyword(name) {
        return Some((caller, &keyword.value));
    }
    let position = stage.parameters.iter().position(|parameter| parameter.name == *name)?;
    let position = position.checked_sub(usize::from(target.bound))?;
    let given = call.arguments.args.get(position)?;
    let spread = call.arguments.args[..=position].iter().any(Expr::is_starred_expr);
    (!spread && !site.partial).then_some((caller, given))
}

/// Under an `if`, or behind one that returns for some word: `if like == "numpy": return …`.
fn depends(function: &FunctionAst, range: TextRange) -> bool {
    let names_word = |test: &Expr| function.text[test.range()].contains(['"', '\'']);
    guards::is_under(&function.def().body, range, &|_| true, &names_word)
}
