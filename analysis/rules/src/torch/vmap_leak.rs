//! Tensors that a mapped function stores in containers which outlive the call.
//!
//! ```python
//! def loss(params, x, y):
//!     error = (predict(params, x) - y).pow(2).mean()
//!     history.append(error)                         # a Tensor of all rows
//!     return error
//!
//! torch.vmap(loss, in_dims=(None, 0, 0))(params, xs, ys)
//! torch.stack(history)                              # RuntimeError: the Tensor has escaped
//! ```

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::mapped;
use super::super::tracing::is_tensor;
use super::vmap::TORCH_VMAP;
use super::{places, snippet};
use crate::evaluation::STORING;
use ag_db::diagnostic::Severity;

/// Reports `history.append(error)` and `errors[name] = error`.
pub(super) fn check(ctx: &FunctionContext) {
    for statement in ctx.statements() {
        let (container, value) = match statement {
            Stmt::Expr(expression) => {
                let Some(call) = expression.value.as_call_expr() else { continue };
                let (Some(method), [value]) = (call.func.as_attribute_expr(), &*call.arguments.args) else {
                    continue;
                };
                // A method of the project is checked itself: `self.log.add(error)`.
                if !STORING.contains(&method.attr.as_str()) || ctx.callee(call).is_some() {
                    continue;
                }
                (&*method.value, value)
            }
            Stmt::Assign(assign) => match assign.targets.as_slice() {
                [Expr::Subscript(item)] => (&*item.value, &*assign.value),
                _ => continue,
            },
            _ => continue,
        };
        let is_stored = !is_tensor(ctx, container)
            && is_tensor(ctx, value)
            && mapped::is_mapped(ctx, value)
            && places::of_object(ctx, container).is_some()
            && !is_new(ctx, container);
        if is_stored {
            let message = format!(
                "`{}` has a value for each row of the batch, and `{}` keeps it after the mapped call: no other code can \
                 use it",
                snippet(ctx, value),
                snippet(ctx, container)
            );
            ctx.report(&TORCH_VMAP, statement, message)
                .severity(Severity::Warning)
                .why(ctx.why(value))
                .help("return the Tensor from the mapped function")
                .emit();
        }
    }
}

/// Returns whether the function itself assigns the container: `self.outputs = []`.
fn is_new(ctx: &FunctionContext, container: &Expr) -> bool {
    let text = ctx.text(container.range());
    ctx.statements().into_iter().any(|statement| {
        let targets = match statement {
            Stmt::Assign(assign) => assign.targets.as_slice(),
            Stmt::AnnAssign(assign) => std::slice::from_ref(&*assign.target),
            _ => &[],
        };
        targets.iter().any(|target| ctx.text(target.range()) == text)
    })
}
