//! Indices of module containers in TorchScript.

use ruff_python_ast::{Expr, UnaryOp};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_class;
use super::script_paths::Compiled;
use super::{is_under_script_test, scripts, snippet};
use ag_index::facts::Alternative;

declare_rule! {
    /// ## What it does
    /// Reports a variable as the index of an `nn.ModuleList` or `nn.Sequential`, and as the key of an
    /// `nn.ModuleDict`, in a TorchScript function.
    ///
    /// ## Why is this bad?
    /// Each module of a container is compiled separately and has its own type, so the compiler must know which module
    /// is meant. It unrolls loops over a container, but not loops over `range`.
    ///
    /// ## Example
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Tower(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    ///
    ///     def forward(self, x: torch.Tensor):
    ///         for i in range(2):
    ///             x = self.blocks[i](x)
    ///         return x
    ///
    /// torch.jit.script(Tower())
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    /// from torch import nn
    ///
    /// class Tower(nn.Module):
    ///     def __init__(self):
    ///         super().__init__()
    ///         self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    ///
    ///     def forward(self, x: torch.Tensor):
    ///         for block in self.blocks:
    ///             x = block(x)
    ///         return x
    ///
    /// torch.jit.script(Tower())
    /// ```
    /// `enumerate` and `zip` of containers are unrolled, too.
    ///
    /// ## What torch reports
    /// `RuntimeError: Expected integer literal for index but got a variable or non-integer.
    /// ModuleList/Sequential indexing is only supported with integer literals.`
    pub(crate) static SCRIPT_MODULE_INDEX = {
        code: "AG540", name: "script-module-index",
        summary: "a container of modules is indexed by a variable",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !scripts(ctx) {
        return;
    }
    let compiled = Compiled::of(ctx);
    for expression in ctx.expressions() {
        let Expr::Subscript(subscript) = expression else { continue };
        let [Alternative::Instance { module: Some(module), class }] =
            ctx.fact(&subscript.value).alternatives.as_slice()
        else {
            continue;
        };
        let what = match class.as_str() {
            "ModuleList" | "Sequential" => "an integer literal",
            "ModuleDict" => "a string literal",
            _ => continue,
        };
        let parts: Vec<&Expr> = match &*subscript.slice {
            Expr::Slice(slice) => {
                [&slice.lower, &slice.upper, &slice.step].into_iter().flatten().map(|it| &**it).collect()
            }
            other => vec![other],
        };
        let Some(index) = parts.into_iter().find(|part| is_variable(ctx, part)) else { continue };
        let range = expression.range();
        if module.starts_with("torch.nn") && compiled.contains(range) && !is_under_script_test(ctx, range) {
            ctx.report(
                &SCRIPT_MODULE_INDEX,
                expression,
                format!(
                    "the index of `{}`, a `{class}`, must be {what}, but `{}` is not",
                    snippet(ctx, &subscript.value),
                    snippet(ctx, index)
                ),
            )
            .help(format!("iterate over it: `for module in {}:`", snippet(ctx, &subscript.value)))
            .emit();
        }
    }
}

/// Whether an index is neither a literal nor a constant of the module.
fn is_variable(ctx: &FunctionContext, index: &Expr) -> bool {
    match index {
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::NoneLiteral(_) => false,
        Expr::UnaryOp(operation) => {
            operation.op != UnaryOp::USub || !operation.operand.is_number_literal_expr()
        }
        Expr::Attribute(_) => script_class::attribute_of_self(ctx, index).is_some_and(|name| {
            script_class::of_method(ctx).is_some_and(|class| {
                class.is_complete
                    && class
                        .attributes
                        .get(name)
                        .is_some_and(|attribute| !attribute.is_constant && !attribute.initial.is_empty())
            })
        }),
        // The key of a dictionary over which an unrolled loop iterates is a constant, and so is the index.
        Expr::Name(_) | Expr::BinOp(_) | Expr::Call(_) => true,
        _ => false,
    }
}
