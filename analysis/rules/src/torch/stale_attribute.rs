//! Attributes of classes that become constants of a compiled function.

use ruff_python_ast::Expr;
use ruff_python_ast::name::Name;
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::repeated_changes::{self, Owner};
use super::{compiles, handles_tracing, snippet};
use ag_db::Document;
use ag_index::facts::CalleeKind;
use ag_index::index::file_index;
use ag_index::reexports;

declare_rule! {
    /// ## What it does
    /// Reports attributes of a class that a function compiled by `torch.compile` reads from the class itself, while
    /// other code changes them again and again: `Schedule.epoch`, `cls.epoch` or `type(self).epoch`, with
    /// `Schedule.epoch += 1` elsewhere. Also reports attributes of a module that change after `torch.jit`, `torch.fx` or
    /// `torch.export` has made a program of it, which reads the old value.
    ///
    /// ## Why is this bad?
    /// The compiler has no guards on the attributes of classes. The first value becomes a constant of the compiled
    /// code: later changes have no effect, and no error is raised. Attributes of an object, and global variables, have
    /// guards.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// class Schedule:
    ///     epoch = 0
    ///
    ///     @classmethod
    ///     def advance(cls):
    ///         cls.epoch += 1
    ///
    /// @torch.compile
    /// def noisy(x):
    ///     return x + torch.randn_like(x) / (1 + Schedule.epoch)
    ///
    /// for _ in range(3):
    ///     noisy(torch.ones(3))
    ///     Schedule.advance()
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def noisy(x, epoch):
    ///     return x + torch.randn_like(x) / (1 + epoch)
    ///
    /// for epoch in range(3):
    ///     noisy(torch.ones(3), torch.tensor(epoch))
    /// ```
    ///
    /// ## What torch reports
    /// Nothing: the results are computed with the old value.
    pub(crate) static TORCH_STALE_ATTRIBUTE = {
        code: "AG519", name: "torch-stale-attribute",
        summary: "an attribute of a class that changes later is a constant of the compiled code",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    for expression in ctx.expressions() {
        let Expr::Attribute(attribute) = expression else { continue };
        if !attribute.ctx.is_load() || handles_tracing(ctx, attribute.range()) {
            continue;
        }
        let Some((document, class)) = class_of(ctx, &attribute.value) else { continue };
        let owner = Owner::Class(class.clone());
        let Some(change) = repeated_changes::find(ctx.db, document, &owner, &attribute.attr.id) else {
            continue;
        };
        let message = format!(
            "`{}` becomes a constant of the compiled code: later changes of `{class}.{}` have no effect",
            snippet(ctx, expression),
            change.attribute
        );
        ctx.report(&TORCH_STALE_ATTRIBUTE, expression, message)
            .help("pass the value as an argument, or store it in an object")
            .emit();
    }
}

/// Returns the class to which an expression refers, and its file: `Schedule`, `cls` in a class method, `type(self)`.
fn class_of(ctx: &FunctionContext, value: &Expr) -> Option<(Document, Name)> {
    let own = || Some((ctx.document, ctx.class()?.qualname.as_str().into()));
    match value {
        Expr::Name(_) if ctx.is_receiver(value) => {
            let index = file_index(ctx.db, ctx.document);
            let (function, _) = index.definitions.find(&ctx.path)?;
            let decorators = &index.signature(function.into())?.decorators;
            decorators.iter().any(|name| name == "classmethod").then(own)?
        }
        Expr::Call(call) => match &*call.arguments.args {
            [object] if ctx.builtin(&call.func) == Some("type") && ctx.is_receiver(object) => own(),
            _ => None,
        },
        Expr::Name(name) => {
            let callee = ctx.fact(value).callee().filter(|callee| callee.kind == CalleeKind::Class)?;
            let classes = &file_index(ctx.db, ctx.document).definitions.classes;
            if !ctx.flow.scope().is_local(&name.id)
                && classes.iter().any(|entry| entry.qualname == callee.qualname && entry.qualname == name.id)
            {
                return Some((ctx.document, callee.qualname.clone()));
            }
            reexports::definition(ctx.db, ctx.document, &ctx.resolve(value)?)
        }
        _ => None,
    }
}
