//! Python values from outside a TorchScript function.

use ruff_python_ast::Expr;
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::script_class;
use super::script_paths::Compiled;
use super::{is_under_script_test, scripts};
use ag_flow::DefKind;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports numbers, strings, Tensors and containers defined outside a TorchScript function and used in it.
    ///
    /// ## Why is this bad?
    /// The compiled function cannot access Python variables. Functions, modules and their constants (`math.pi`)
    /// can be used; other values must be arguments, local variables, or constants of an `nn.Module`.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// LIMIT = 3
    ///
    /// @torch.jit.script
    /// def scaled(x: torch.Tensor):
    ///     return x * LIMIT
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.jit.script
    /// def scaled(x: torch.Tensor, limit: int = 3):
    ///     return x * limit
    /// ```
    ///
    /// ## What torch reports
    /// `RuntimeError: python value of type 'int' cannot be used as a value. Perhaps it is a closed over
    /// global variable?`
    pub(crate) static SCRIPT_GLOBAL = {
        code: "AG537", name: "script-global",
        summary: "a TorchScript function uses a Python value from outside",
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
    let types = types(ctx);
    for expression in ctx.expressions() {
        // `Net.SCALE`
        if let Expr::Attribute(attribute) = expression
            && let Expr::Name(class) = &*attribute.value
            && !ctx.flow.scope().is_local(&class.id)
            && script_class::module_classes(ctx.db, ctx.document)
                .get(&class.id)
                .is_some_and(|known| known.is_module && known.variables.contains(&attribute.attr.id))
            && compiled.contains(expression.range())
            && !is_under_script_test(ctx, expression.range())
        {
            let message =
                format!("`{}` is a variable of a class, which TorchScript cannot use", ctx.text(expression));
            ctx.report(&SCRIPT_GLOBAL, expression, message)
                .help("declare it `Final` in the class, and read it from `self`")
                .emit();
            continue;
        }
        let Expr::Name(name) = expression else { continue };
        if !name.ctx.is_load() || name.id.starts_with("__") || ctx.imports.get(&name.id).is_some() {
            continue;
        }
        if types.iter().any(|written| written.contains_range(name.range())) {
            continue;
        }
        let is_type = matches!(name.id.as_str(), "int" | "float" | "complex" | "bool" | "str");
        if is_type && ctx.builtin(expression).is_some() {
            continue;
        }
        let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
        let outside = !definitions.is_empty()
            && definitions.iter().all(|definition| definition.kind == DefKind::Outer)
            && !ctx.flow.scope().globals.contains(&name.id);
        let fact = ctx.fact(expression);
        let [alternative] = fact.alternatives.as_slice() else { continue };
        let kind = match alternative {
            Alternative::Int(_) => "an int",
            Alternative::Float => "a float",
            Alternative::Bool(_) => "a bool",
            Alternative::Str(_) => "a string",
            Alternative::Tensor { .. } => "a Tensor",
            Alternative::Instance { module: Some(module), class }
                if module == "torch" && class == "dtype" =>
            {
                "a dtype"
            }
            Alternative::Instance { module: Some(module), class }
                if module == "torch" && class == "device" =>
            {
                "a device"
            }
            Alternative::Container { class, .. } if class == "list" => "a list",
            Alternative::Container { class, .. } if class == "dict" => "a dictionary",
            Alternative::Container { class, .. } if class == "tuple" => "a tuple",
            _ => continue,
        };
        if outside
            && !fact.unknown
            && compiled.contains(name.range())
            && !is_under_script_test(ctx, name.range())
        {
            ctx.report(
                &SCRIPT_GLOBAL,
                expression,
                format!("`{}` is {kind} defined outside the function, which TorchScript cannot use", name.id),
            )
            .help("pass it as an argument, or assign it inside the function")
            .emit();
        }
    }
}

/// Returns the ranges of arguments that are types. Such an argument may name a type from outside the function:
/// `torch.jit.annotate(List[Hypothesis], [])`.
fn types(ctx: &FunctionContext) -> Vec<TextRange> {
    let calls = ctx.expressions().into_iter().filter_map(Expr::as_call_expr);
    let written = calls.filter_map(|call| {
        let position = match ctx.resolve(&call.func)?.as_str() {
            "torch.jit.annotate" | "typing.cast" => 0,
            "torch.jit.isinstance" | "torch.jit.Attribute" => 1,
            _ => return None,
        };
        call.arguments.args.get(position).map(Ranged::range)
    });
    written.collect()
}
