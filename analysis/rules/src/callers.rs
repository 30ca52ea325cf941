//! The calls that lead from a root to a function.

use ruff_text_size::TextRange;

use super::FunctionContext;
use ag_db::Db;
use ag_db::diagnostic::{Anchor, Span};
use ag_index::assumptions::Stage;
use ag_index::dialect::RootKind;
use ag_index::index::{FunctionId, function_ast};
use ag_staging::queries;
use ag_syntax::functions::FunctionAst;

/// The maximum number of calls that are followed back towards the root.
pub(super) const MAX_CALLERS: usize = 6;

/// The call by which the analysis reached a function. The fields describe the calling function.
pub(super) struct Call<'a> {
    pub function: FunctionId<'a>,
    pub ast: &'a FunctionAst,
    /// How the calling function is staged; `None` if it is not staged.
    pub stage: Option<&'a Stage>,
    /// The range of the call in the calling function.
    pub range: TextRange,
}

impl Call<'_> {
    pub(super) fn is_in_root(&self) -> bool {
        self.stage.is_some_and(|stage| stage.root.is_some())
    }
}

/// Returns the calls that lead to a function. They are ordered backwards: the call of the function itself comes first,
/// the call in the root last.
pub(super) fn of<'a>(ctx: &FunctionContext<'a>) -> impl Iterator<Item = Call<'a>> {
    let db = ctx.db;
    std::iter::successors(of_stage(db, ctx.stage), move |call| of_stage(db, call.stage?)).take(MAX_CALLERS)
}

/// Returns the call by which the analysis reached the function with this stage; `None` if no function contains that
/// call.
pub(super) fn of_stage<'a>(db: &'a dyn Db, stage: &Stage) -> Option<Call<'a>> {
    let Span { document, anchor: Anchor::Function(path), range } = stage.cause.clone()? else { return None };
    let function = FunctionId::new(db, document, path);
    let stage = queries::stage(db, function).as_ref();
    Some(Call { function, ast: function_ast(db, function).as_ref()?, stage, range })
}

/// Returns the calls that lead to a function from the nearest root that users call, up to the call in this root. The
/// callers of the root are not included: other code may call the root as well.
pub(super) fn from_root<'a>(ctx: &FunctionContext<'a>) -> Vec<Call<'a>> {
    let mut calls = Vec::new();
    if !is_called_by_users(ctx.stage) {
        for call in of(ctx) {
            let ends = call.stage.is_none_or(is_called_by_users);
            calls.push(call);
            if ends {
                break;
            }
        }
    }
    calls
}

/// Returns whether a function is reached from a root that compiles a value: `torch.compile(model)` for a parameter
/// `model`. The value is usually a module that users pass, so the functions of the project that flow to it may never be
/// compiled.
pub(super) fn is_reached_from_compiled_value(ctx: &FunctionContext) -> bool {
    let is_value = |stage: &Stage| {
        stage.by_value && stage.root == Some(RootKind::TorchCompile) && !is_hook(ctx.db, stage)
    };
    is_value(ctx.stage) || from_root(ctx).iter().any(|call| call.stage.is_some_and(is_value))
}

/// Returns whether a function is a root because a compiled module of the file calls it as a hook.
fn is_hook(db: &dyn Db, stage: &Stage) -> bool {
    of_stage(db, stage)
        .and_then(|call| call.ast.text.get(std::ops::Range::<usize>::from(call.range)))
        .is_some_and(|text| text.contains(".register_forward_"))
}

/// Returns whether users call this root. The body of a `lax.cond`, for example, belongs to the enclosing function.
pub(super) fn is_called_by_users(stage: &Stage) -> bool {
    stage.root.is_some_and(|root| root != RootKind::ControlFlowBody)
}
