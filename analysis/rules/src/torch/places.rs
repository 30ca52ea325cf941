//! The objects that outlive a call of a compiled function: modules, globals, and what they refer to.
//!
//! ```python
//! class Curriculum:
//!     def advance(self, rows):
//!         self.seen += rows              # `self` is `task.curriculum`, an attribute of a module
//!
//! class Task(nn.Module):
//!     def forward(self, x):
//!         self.curriculum.advance(x.shape[0])
//! ```

use ruff_python_ast::Expr;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::callers;
use super::super::path_certainty::{self, Passed};
use ag_flow::DefKind;
use ag_index::index::file_index;
use ag_syntax::expressions;
use ag_syntax::qname::QName;

/// The maximum number of calls that are followed back.
const MAX_CALLS: usize = 4;

/// What refers to an object that outlives the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    Module,
    Global,
    /// The object whose method is compiled: `torch.compile(trainer.step)`.
    Receiver,
}

/// Returns what holds the object in which `place` is stored: `self.seen`, `STATE.steps`, `COUNTS["calls"]`.
pub(super) fn holder(ctx: &FunctionContext, place: &Expr) -> Option<Holder> {
    match place {
        Expr::Attribute(attribute) => of_object(ctx, &attribute.value),
        Expr::Subscript(item) => of_object(ctx, &item.value),
        Expr::Name(name) => ctx.flow.scope().globals.contains(&name.id).then_some(Holder::Global),
        _ => None,
    }
}

/// Returns what holds an object; `None` if the function may have created it.
pub(super) fn of_object(ctx: &FunctionContext, object: &Expr) -> Option<Holder> {
    within(ctx, object, MAX_CALLS)
}

fn within(ctx: &FunctionContext, object: &Expr, calls: usize) -> Option<Holder> {
    match object {
        Expr::Attribute(attribute) => within(ctx, &attribute.value, calls),
        Expr::Subscript(item) => within(ctx, &item.value, calls),
        Expr::Name(name) => {
            if ctx.is_module_variable(&name.id) {
                return ctx.resolve(object).is_none().then_some(Holder::Global);
            }
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return None };
            match definition.kind {
                DefKind::Parameter(0) if ctx.is_receiver(object) => receiver(ctx, calls),
                DefKind::Parameter(_) => match path_certainty::passed(ctx, &name.id)? {
                    (caller, Passed::Argument(value)) => within(&caller, value, calls.checked_sub(1)?),
                    _ => None,
                },
                // `state = self.state`
                DefKind::Assign => {
                    let value = ctx.expression_at(definition.value?)?;
                    within(ctx, value, calls.checked_sub(1)?).filter(|_| !value.is_name_expr())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns what holds the object whose method this function is. The object of a constructor is new.
fn receiver(ctx: &FunctionContext, calls: usize) -> Option<Holder> {
    if ctx.creates_objects() {
        return None;
    }
    if is_module(ctx) {
        return Some(Holder::Module);
    }
    if callers::is_called_by_users(ctx.stage) {
        return Some(Holder::Receiver);
    }
    let call = callers::of_stage(ctx.db, ctx.stage)?;
    let caller = FunctionContext::of(ctx.db, call.function)?;
    let object = match expressions::at(call.ast.def(), call.range)? {
        Expr::Call(node) => match &*node.func {
            Expr::Attribute(method) if method.attr.as_str() == ctx.path.name() => &*method.value,
            // `meter(loss)` calls `meter.__call__`.
            object if ctx.path.name() == "__call__" => object,
            _ => return None,
        },
        // A property.
        Expr::Attribute(attribute) => &*attribute.value,
        _ => return None,
    };
    within(&caller, object, calls.checked_sub(1)?)
}

/// Returns whether the function is a method of an `nn.Module`.
fn is_module(ctx: &FunctionContext) -> bool {
    let Some((class, _)) = ctx.path.qualname.rsplit_once('.') else { return false };
    let classes = &file_index(ctx.db, ctx.document).definitions.classes;
    let mut pending = vec![class.to_owned()];
    for _ in 0..8 {
        let Some(class) = pending.pop() else { return false };
        if let Some(entry) = classes.iter().find(|entry| entry.qualname == class) {
            if entry.bases.iter().any(|base| base.ends_with("Module")) {
                return true;
            }
            pending.extend(entry.bases.iter().map(|base| base.to_string()));
        }
    }
    false
}
