//! Tensors where Python needs a number, under torch.compile.

use ruff_python_ast::{Expr, Operator, Stmt};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::path_certainty::{self, Passed};
use super::super::tracing::is_tensor;
use super::{break_severity, compiles, handles_tracing, host_value, is_assumed, snippet};
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::facts::Alternative;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports conversions of a Tensor to a Python number in a function compiled by `torch.compile`:
    /// `x.item()`, `int(x)`, `float(x)`, `bool(x)`, `x.tolist()`, `range(x)`, an index of a Python list or
    /// `nn.ModuleList`, `x.argmax()` as the index of a Tensor, an argument of a function of `math`, a value in an
    /// f-string.
    ///
    /// ## Why is this bad?
    /// The compiler traces without values. It inserts a graph break and waits for the device to compute the
    /// number.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def normalise(x):
    ///     return x / x.sum().item()
    ///
    /// normalise(torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def normalise(x):
    ///     return x / x.sum()
    ///
    /// normalise(torch.ones(3))
    /// ```
    /// With `torch._dynamo.config.capture_scalar_outputs = True`, or `fullgraph=True`, the numbers stay
    /// symbolic in the graph. A Tensor as the bound of a `range`, or as the index of a list or `nn.ModuleList`, is an
    /// error with `fullgraph=True`: use `layers[int(i)]`. So is an argument of a function of `math`: use `torch.sqrt`.
    ///
    /// ## What torch reports
    /// `Unsupported Tensor.item() call with capture_scalar_outputs=False`
    pub(crate) static TORCH_GRAPH_BREAK_ITEM = {
        code: "AG513", name: "torch-graph-break-item",
        summary: "a Tensor used as a Python number causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    let differentiable = ctx.stage.options.full_graph && is_forward_of_function(ctx);
    for expression in ctx.expressions() {
        // With `fullgraph=True`, numbers become symbolic, but Tensors do not become numbers.
        let found = match ctx.stage.options.full_graph {
            true => index(ctx, expression)
                .or_else(|| range_bound(ctx, expression))
                .or_else(|| list_of_floats(ctx, expression))
                .or_else(|| of_math(ctx, expression))
                .or_else(|| scalar_index(ctx, expression))
                .or_else(|| differentiable.then(|| float_of_input(ctx, expression))?),
            false => number(ctx, expression),
        };
        let Some((what, value)) = found else { continue };
        if handles_tracing(ctx, expression.range()) {
            continue;
        }
        let severity = if is_assumed(ctx, value) { Severity::Info } else { break_severity(ctx) };
        // The exception is raised at the call of `apply`, if a gradient is wanted.
        let severity = if differentiable { severity.min(Severity::Warning) } else { severity };
        ctx.report(
            &TORCH_GRAPH_BREAK_ITEM,
            expression,
            format!("{what} needs the value of `{}`, which causes a graph break", snippet(ctx, value)),
        )
        .severity(severity)
        .why(ctx.why(value))
        .help("keep the Tensor; operators and indexing accept Tensors")
        .emit();
    }
}

fn number<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    if let Some(found) = host_value(ctx, expression) {
        return Some(found);
    }
    match expression {
        Expr::Call(call) => {
            if let Some(found) = range_bound(ctx, expression).or_else(|| of_math(ctx, expression)) {
                return Some(found);
            }
            if ctx.resolve(&call.func).is_some_and(|name| name == "torch.arange") {
                let bound = call.arguments.args.iter().find(|bound| is_tensor(ctx, bound))?;
                return Some(("`torch.arange`".to_owned(), bound));
            }
            let attribute = call.func.as_attribute_expr()?;
            (attribute.attr.as_str() == "tolist" && is_tensor(ctx, &attribute.value))
                .then(|| ("`.tolist()`".to_owned(), &*attribute.value))
        }
        Expr::Subscript(_) => index(ctx, expression).or_else(|| scalar_index(ctx, expression)),
        Expr::FString(text) if is_used(ctx, expression) => {
            let mut values = text.value.elements().filter_map(|element| element.as_interpolation());
            let formatted = values.find(|value| is_tensor(ctx, &value.expression))?;
            Some(("the f-string".to_owned(), &*formatted.expression))
        }
        _ => None,
    }
}

/// The maximum length of a chain of assignments and operations that is followed back.
const MAX_STEPS: usize = 6;

/// Functions and methods whose result is a Tensor of floats.
const FLOATS: [&str; 21] = [
    "cos",
    "double",
    "exp",
    "float",
    "half",
    "log",
    "log_softmax",
    "mean",
    "norm",
    "normal",
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "rsqrt",
    "sigmoid",
    "sin",
    "softmax",
    "sqrt",
    "std",
    "tanh",
];

/// Methods whose result has the dtype of the Tensor.
const KEEP_DTYPE: [&str; 14] = [
    "abs",
    "amax",
    "amin",
    "clamp",
    "clone",
    "contiguous",
    "cpu",
    "detach",
    "flatten",
    "reshape",
    "squeeze",
    "sum",
    "unsqueeze",
    "view",
];

/// Returns the Tensor of floats in `x.softmax(-1).tolist()`. The compiler traces `tolist` of integers only.
fn list_of_floats<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let method = expression.as_call_expr()?.func.as_attribute_expr()?;
    let is_it = method.attr.as_str() == "tolist"
        && is_tensor(ctx, &method.value)
        && is_float(ctx, &method.value, MAX_STEPS);
    is_it.then(|| ("`.tolist()` of floats".to_owned(), &*method.value))
}

/// Returns whether the syntax of an expression shows that it is a Tensor of floats: `x.mean()`, `x / 2`, `x * 0.5`.
fn is_float(ctx: &FunctionContext, expression: &Expr, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    match expression {
        Expr::NumberLiteral(number) => number.value.is_float(),
        Expr::BinOp(operation) => {
            operation.op == Operator::Div
                || [&operation.left, &operation.right].into_iter().any(|side| is_float(ctx, side, steps))
        }
        Expr::Subscript(item) => is_float(ctx, &item.value, steps),
        Expr::Call(call) if call.arguments.find_keyword("dtype").is_some() => false,
        Expr::Call(call) => match (ctx.resolve(&call.func), &*call.func) {
            (Some(name), _) => {
                let function = name.strip_prefix("torch.nn.functional.").or(name.strip_prefix("torch."));
                function.is_some_and(|function| FLOATS.contains(&function))
            }
            (None, Expr::Attribute(method)) if is_tensor(ctx, &method.value) => {
                FLOATS.contains(&method.attr.as_str())
                    || KEEP_DTYPE.contains(&method.attr.as_str()) && is_float(ctx, &method.value, steps)
            }
            _ => false,
        },
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return false };
            if matches!(definition.kind, DefKind::Parameter(_)) {
                return match path_certainty::passed(ctx, &name.id) {
                    Some((caller, Passed::Argument(value))) => is_float(&caller, value, steps),
                    _ => false,
                };
            }
            let value = definition.value.filter(|_| definition.kind == DefKind::Assign);
            value.and_then(|range| ctx.expression_at(range)).is_some_and(|value| is_float(ctx, value, steps))
        }
        _ => false,
    }
}

/// Returns whether this is the forward method of a `torch.autograd.Function`.
fn is_forward_of_function(ctx: &FunctionContext) -> bool {
    let is_function = |base: &str| base == "Function" || base.ends_with("autograd.Function");
    ctx.path.name() == "forward"
        && ctx.class().is_some_and(|class| class.bases.iter().any(|it| is_function(it)))
}

/// Returns the Tensor in `x.abs().max().item()` if `x` is a parameter of this function or a Tensor of floats. In the
/// forward method of a `torch.autograd.Function`, such a number cannot become symbolic (verified with torch 2.11).
fn float_of_input<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let (what, value) = host_value(ctx, expression).filter(|(what, _)| what != "`int()`")?;
    (is_float(ctx, value, MAX_STEPS) || is_of_parameter(ctx, value)).then_some((what, value))
}

/// Returns whether a value is computed from a parameter by methods that keep its dtype: `x.abs().max()`.
fn is_of_parameter(ctx: &FunctionContext, value: &Expr) -> bool {
    match value {
        Expr::Call(call) => call.func.as_attribute_expr().is_some_and(|method| {
            let keeps = KEEP_DTYPE.contains(&method.attr.as_str())
                || matches!(method.attr.as_str(), "max" | "min") && call.arguments.is_empty();
            keeps && is_of_parameter(ctx, &method.value)
        }),
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            matches!(definitions.as_slice(), [definition] if matches!(definition.kind, DefKind::Parameter(_)))
        }
        _ => false,
    }
}

/// Returns a Tensor that is the bound of a `range`.
fn range_bound<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let call = expression.as_call_expr().filter(|call| ctx.builtin(&call.func) == Some("range"))?;
    let bound = call.arguments.args.iter().find(|bound| is_tensor(ctx, bound))?;
    Some(("`range()`".to_owned(), bound))
}

/// Returns the Tensor that is an argument of a function of `math`, which computes with Python numbers.
fn of_math<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let call = expression.as_call_expr()?;
    let function = ctx.resolve(&call.func)?;
    function.strip_prefix("math.")?;
    let value = call.arguments.args.iter().find(|value| is_tensor(ctx, value))?;
    Some((format!("`{function}()`"), value))
}

/// Returns a Tensor that is the index of a list, tuple or `nn.ModuleList`.
fn index<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<(String, &'a Expr)> {
    let subscript = expression.as_subscript_expr()?;
    let fact = ctx.fact(&subscript.value);
    let what = match fact.alternatives.as_slice() {
        [Alternative::Container { class, .. }] if class == "list" || class == "tuple" => {
            "the index of a Python sequence"
        }
        [Alternative::Instance { module: Some(module), class }]
            if module.starts_with("torch.nn") && class == "ModuleList" =>
        {
            "the index of a `ModuleList`"
        }
        _ => return None,
    };
    (!fact.unknown && is_tensor(ctx, &subscript.slice)).then(|| (what.to_owned(), &*subscript.slice))
}

/// Returns the Tensor without dimensions that is an index of a Tensor: `rows[scores.argmax()]`. Torch reads its value,
/// as with `rows[scores.argmax().item()]`.
pub(super) fn scalar_index<'a>(
    ctx: &FunctionContext<'a>,
    expression: &'a Expr,
) -> Option<(String, &'a Expr)> {
    let subscript = expression.as_subscript_expr().filter(|it| is_tensor(ctx, &it.value))?;
    let indices = match &*subscript.slice {
        Expr::Tuple(tuple) => tuple.elts.as_slice(),
        index => std::slice::from_ref(index),
    };
    let index = indices.iter().find(|index| is_scalar(ctx, index, MAX_STEPS))?;
    Some(("an index without dimensions".to_owned(), index))
}

/// Returns whether the syntax of an expression shows that it is a Tensor without dimensions: `x.argmax()`,
/// `x.argmax() + 1`.
fn is_scalar(ctx: &FunctionContext, expression: &Expr, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    match expression {
        Expr::BinOp(operation) => {
            operation.right.is_number_literal_expr() && is_scalar(ctx, &operation.left, steps)
        }
        Expr::Call(call) => match (ctx.resolve(&call.func), &*call.func) {
            (Some(name), _) => {
                matches!(name.as_str(), "torch.argmax" | "torch.argmin")
                    && call.arguments.len() == 1
                    && is_tensor(ctx, expression)
            }
            (None, Expr::Attribute(method)) => {
                matches!(method.attr.as_str(), "argmax" | "argmin" | "max" | "min" | "sum")
                    && call.arguments.is_empty()
                    && is_tensor(ctx, &method.value)
            }
            _ => false,
        },
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return false };
            ctx.value_of(definition)
                .is_some_and(|value| definition.kind == DefKind::Assign && is_scalar(ctx, value, steps))
        }
        _ => false,
    }
}

/// Returns whether the value is assigned or returned. The text of an error message, for example, is not always
/// evaluated.
fn is_used(ctx: &FunctionContext, expression: &Expr) -> bool {
    ctx.statements().into_iter().any(|statement| {
        matches!(statement, Stmt::Assign(_) | Stmt::Return(_))
            && statement.range().contains_range(expression.range())
    })
}
