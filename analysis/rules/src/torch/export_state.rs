//! State that is lost when a module is exported.

use ruff_python_ast::{Expr, Stmt};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_class::{self, Initial};
use super::{exports, records_symbolically, snippet};
use ag_index::assumptions::Source;
use ag_index::facts::Alternative;

declare_rule! {
    /// ## What it does
    /// Reports Tensors that an exported module adds to a Python list or dictionary of `self`, and Tensors that it
    /// assigns to an attribute of `self` that is not a buffer.
    ///
    /// ## Why is this bad?
    /// The exported program is the graph: it computes the Tensor and discards it. The list never grows. During
    /// export a Tensor without a value is stored in it.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Recorder(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.history = []
    ///
    ///     def forward(self, x):
    ///         y = x * 2
    ///         self.history.append(y)
    ///         return y
    ///
    /// torch.export.export(Recorder(), (torch.ones(3),))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Recorder(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.register_buffer("total", torch.zeros(3))
    ///
    ///     def forward(self, x):
    ///         y = x * 2
    ///         self.total = self.total + y
    ///         return y
    ///
    /// torch.export.export(Recorder(), (torch.ones(3),))
    /// ```
    pub(crate) static TORCH_EXPORT_STATE = {
        code: "AG523", name: "torch-export-state",
        summary: "an exported program loses this state",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !exports(ctx) {
        return;
    }
    attributes(ctx);
    for statement in ctx.statements() {
        let (destination, value) = match statement {
            Stmt::Expr(expression) => {
                let Expr::Call(call) = &*expression.value else { continue };
                let Expr::Attribute(method) = &*call.func else { continue };
                if !matches!(method.attr.as_str(), "append" | "extend" | "insert") {
                    continue;
                }
                let Some(value) = call.arguments.args.last() else { continue };
                (&*method.value, value)
            }
            Stmt::Assign(assign) => {
                let [Expr::Subscript(subscript)] = assign.targets.as_slice() else { continue };
                (&*subscript.value, &*assign.value)
            }
            _ => continue,
        };
        if ctx.fact(value).is_tensor() && is_container_of_self(ctx, destination) {
            ctx.report(
                &TORCH_EXPORT_STATE,
                statement,
                format!(
                    "the exported program does not store `{}` in `{}`",
                    snippet(ctx, value),
                    snippet(ctx, destination)
                ),
            )
            .why(ctx.why(value))
            .help("return the Tensor, or store it in a buffer (`register_buffer`)")
            .emit();
        }
    }
}

/// Reports `self.cache = y` if the constructor assigns `None` or a new Tensor to the attribute, or nothing.
fn attributes(ctx: &FunctionContext) {
    // torch.fx is excluded: it stores its proxy in the attribute of the original module.
    let class = script_class::of_method(ctx).filter(|class| class.is_complete);
    let Some(class) = class.filter(|_| !records_symbolically(ctx)) else { return };
    for assign in ctx.statements().into_iter().filter_map(Stmt::as_assign_stmt) {
        let [target] = assign.targets.as_slice() else { continue };
        let Some(name) = script_class::attribute_of_self(ctx, target) else { continue };
        let is_plain = class.attributes.get(name).is_none_or(|attribute| {
            attribute.initial.iter().all(|it| matches!(it, Initial::None | Initial::Tensor))
        });
        if is_plain && ctx.fact(&assign.value).is_tensor() {
            let message = format!(
                "the exported program does not assign `{}` to `self.{name}`, which is not a buffer",
                snippet(ctx, &assign.value)
            );
            ctx.report(&TORCH_EXPORT_STATE, assign, message)
                .why(ctx.why(&assign.value))
                .help("return the Tensor, or store it in a buffer (`register_buffer`)")
                .emit();
        }
    }
}

/// Returns whether an expression is an attribute of `self` that holds a Python list or dictionary: `self.history`.
fn is_container_of_self(ctx: &FunctionContext, destination: &Expr) -> bool {
    let Expr::Attribute(attribute) = destination else { return false };
    let of_self = ctx.stage.parameters.first().is_some_and(|receiver| {
        receiver.source == Source::Receiver
            && attribute.value.as_name_expr().is_some_and(|name| name.id == receiver.name)
    });
    let fact = ctx.fact(destination);
    of_self
        && matches!(fact.alternatives.as_slice(), [Alternative::Container { class, .. }] if class == "list" || class == "dict")
}
