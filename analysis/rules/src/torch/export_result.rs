//! Objects that an exported module returns, although the graph of a program cannot represent them.

use ruff_python_ast::{Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::guards::is_guarded;
use super::snippet;
use ag_db::text;
use ag_index::dialect::RootKind;
use ag_index::facts::Alternative;
use ag_index::index::file_index;
use ag_index::modules::module_name;

declare_rule! {
    /// ## What it does
    /// Finds instances of classes of the project in the result of a module that is exported with `torch.export`. In the
    /// result of a module that the program traces with `torch.jit.trace`, it also finds texts and `None`, and
    /// dictionaries without `strict=False`. It also reports example inputs of `torch.jit.trace` that are not Tensors, and
    /// calls of traced modules with more arguments than the example.
    ///
    /// ## Why is this bad?
    /// The result of an exported program consists of Tensors and numbers, and of tuples, lists, dictionaries and
    /// NamedTuples of them. For an object of another class, torch raises unless the class is registered.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Box:
    ///     def __init__(self, centre, size):
    ///         self.centre = centre
    ///         self.size = size
    ///
    /// class Detector(nn.Module):
    ///     def forward(self, x):
    ///         return Box(x.mean(0), x.std(0))
    ///
    /// torch.export.export(Detector(), (torch.ones(3, 2),))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// from typing import NamedTuple
    ///
    /// import torch
    /// from torch import nn
    ///
    /// class Box(NamedTuple):
    ///     centre: torch.Tensor
    ///     size: torch.Tensor
    ///
    /// class Detector(nn.Module):
    ///     def forward(self, x):
    ///         return Box(x.mean(0), x.std(0))
    ///
    /// torch.export.export(Detector(), (torch.ones(3, 2),))
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: Found <class 'Box'> in output, which is not a known type.`
    pub(crate) static TORCH_EXPORT_RESULT = {
        code: "AG526", name: "torch-export-result",
        summary: "an exported or traced module returns an object that a program cannot return",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if ctx.root() != Some(RootKind::TorchExport) || registers_classes(ctx) {
        return;
    }
    for statement in ctx.statements() {
        let Stmt::Return(node) = statement else { continue };
        let value = node.value.as_deref().filter(|value| !is_guarded(ctx, value.range()));
        if let Some((part, class)) = value.and_then(|value| object_in(ctx, value)) {
            let message = format!(
                "an exported module cannot return `{}`, an instance of the class `{class}`",
                snippet(ctx, part)
            );
            let help =
                "return a NamedTuple, or register the class with `torch.utils._pytree.register_pytree_node`";
            ctx.report(&TORCH_EXPORT_RESULT, node, message).help(help).emit();
        }
    }
}

/// Returns whether the file registers any class with torch.
fn registers_classes(ctx: &FunctionContext) -> bool {
    let text = text(ctx.db, ctx.document);
    ["register_pytree", "register_dataclass", "register_constant"]
        .iter()
        .any(|name| text.as_str().contains(name))
}

/// Returns the part of a result that is an object of a class of this file, and the class.
fn object_in<'a>(ctx: &FunctionContext<'a>, value: &'a Expr) -> Option<(&'a Expr, &'a str)> {
    match value {
        Expr::Tuple(tuple) => tuple.elts.iter().find_map(|element| object_in(ctx, element)),
        Expr::List(list) => list.elts.iter().find_map(|element| object_in(ctx, element)),
        Expr::Dict(dict) => dict.items.iter().find_map(|item| object_in(ctx, &item.value)),
        _ => {
            let fact = ctx.python_fact(value);
            let [Alternative::Instance { module, class }] = fact.alternatives.as_slice() else { return None };
            let is_object = !fact.unknown && !fact.never && is_object_class(ctx, module.as_deref(), class);
            is_object.then_some((value, class.as_str()))
        }
    }
}

/// Returns whether a class of this file has no base classes from other files, and is not registered with torch: it has
/// no decorator other than `@dataclass`.
fn is_object_class(ctx: &FunctionContext, module: Option<&str>, class: &str) -> bool {
    ctx.is_plain_class(module, class) || is_dataclass(ctx, module, class)
}

/// Returns whether a class of this file is a dataclass without bases and other decorators.
pub(super) fn is_dataclass(ctx: &FunctionContext, module: Option<&str>, class: &str) -> bool {
    let classes = &file_index(ctx.db, ctx.document).definitions.classes;
    let Some(entry) = classes.iter().find(|it| it.qualname == class) else { return false };
    let source = text(ctx.db, ctx.document);
    let range = usize::from(entry.range.start())..usize::from(entry.name_range.start());
    let Some(text) = source.as_str().get(range) else { return false };
    let decorator = text.trim_start_matches("@dataclasses.").trim_start_matches('@');
    let is_only = text.matches('@').count() == 1 && decorator.starts_with("dataclass");
    let is_own = module_name(ctx.db, ctx.document).as_deref().is_none_or(|own| Some(own) == module);
    is_only && is_own && entry.bases.is_empty()
}
