//! Indices of module containers in TorchScript.

use ruff_python_ast::{Expr, Stmt, UnaryOp};
use ruff_text_size::{Ranged, TextRange};

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
    /// `enumerate` and `zip` of containers are unrolled, too. If all modules of the container implement an interface
    /// (`@torch.jit.interface`), a variable may be the index where that type is declared:
    /// `block: Block = self.blocks[i]`.
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
    let declared = declared(ctx);
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
            _ if declared.contains(&expression.range()) => continue,
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

/// Returns the expressions for which the code declares a type. If all modules of a container have that type, the index
/// may be a variable:
///
/// ```python
/// step: Step = self.steps[i]
/// step = torch.jit.annotate(Step, self.steps[i])
/// return self.steps[i]        # in a function with a return annotation
/// ```
fn declared(ctx: &FunctionContext) -> Vec<TextRange> {
    let of_statements = ctx.statements().into_iter().filter_map(|statement| match statement {
        Stmt::AnnAssign(assign) => assign.value.as_deref(),
        Stmt::Return(returned) if ctx.def().returns.is_some() => returned.value.as_deref(),
        _ => None,
    });
    let of_calls = ctx.expressions().into_iter().filter_map(|expression| {
        let call = expression.as_call_expr()?;
        let annotates = ctx.resolve(&call.func).is_some_and(|name| name == "torch.jit.annotate");
        call.arguments.args.get(1).filter(|_| annotates)
    });
    of_statements.chain(of_calls).flat_map(results).collect()
}

/// Returns the expressions that an expression may evaluate to: itself, or the branches of a conditional expression.
fn results(expression: &Expr) -> Vec<TextRange> {
    match expression {
        Expr::If(conditional) => {
            [&conditional.body, &conditional.orelse].into_iter().flat_map(|branch| results(branch)).collect()
        }
        other => vec![other.range()],
    }
}

/// Returns whether an index is neither a literal nor a constant of the module.
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
        // The variable of an unrolled loop (`for name in self.blocks.keys():`), an f-string and a conditional
        // expression do not count as literals either.
        Expr::Name(_)
        | Expr::BinOp(_)
        | Expr::BoolOp(_)
        | Expr::Call(_)
        | Expr::Compare(_)
        | Expr::FString(_)
        | Expr::If(_)
        | Expr::Subscript(_) => true,
        _ => false,
    }
}
