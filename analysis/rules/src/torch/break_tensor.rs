//! Operations that change the gradients, storage or kind of a Tensor, under torch.compile.

use ruff_python_ast::{self as ast, CmpOp, Expr, Operator, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::tracing::is_tensor;
use super::host_values::is_message;
use super::ordering::{has_tuples_of_tensors, may_sort_tensors, sorts_list_of_tensors, sorts_tensors};
use super::{break_severity, compiles, handles_tracing, is_assumed};
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::facts::Alternative;
use ag_syntax::expressions::formatted_values;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports operations on a Tensor in a function compiled by `torch.compile` that the compiler cannot trace:
    ///
    /// - gradients: `loss.backward()`, `torch.autograd.grad`, `requires_grad_()`, `retain_grad()`, an assignment to
    ///   `requires_grad`, a Tensor created with `requires_grad=True`;
    /// - storage: `resize_`, `set_`, `share_memory_`, `storage()`, comparisons of `data_ptr()`, an assignment to
    ///   `.data` of a computed Tensor, `unsqueeze_` and similar methods on an argument;
    /// - sparse Tensors: `to_sparse()`;
    /// - Python functions on elements: `sorted` and `sort` of Tensors, `max` with a key or of tuples, `apply_`, `str(x)`,
    ///   `pow(x, 2)`, `round(x)`;
    /// - functions that check their arguments by value: `quantile`, `cov`;
    /// - attributes and methods of NumPy arrays that torch does not implement: `x.numpy().tobytes()`.
    ///
    /// ## Why is this bad?
    /// The compiler inserts a graph break and runs the operation in Python between two graphs. With `fullgraph=True`
    /// the compiler raises.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def step(weight, x):
    ///     loss = (weight * x).square().sum()
    ///     loss.backward()
    ///     return loss
    ///
    /// step(torch.ones(3, requires_grad=True), torch.ones(3))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// @torch.compile
    /// def loss_of(weight, x):
    ///     return (weight * x).square().sum()
    ///
    /// loss = loss_of(torch.ones(3, requires_grad=True), torch.ones(3))
    /// loss.backward()
    /// ```
    /// `torch.func.grad` computes gradients in the graph.
    ///
    /// ## What torch reports
    /// `Unsupported Tensor.backward() call: Dynamo currently does not support tracing Tensor.backward() when
    /// trace_autograd_ops is off.`
    pub(crate) static TORCH_GRAPH_BREAK_TENSOR = {
        code: "AG515", name: "torch-graph-break-tensor",
        summary: "an operation that changes how a Tensor is stored or differentiated causes a graph break",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

const GRADIENT: &str = "differentiate outside the compiled function, or with `torch.func.grad`";
const LEAF: &str = "create the Tensor outside the compiled function and pass it as an argument";
const STORAGE: &str = "return a new Tensor, or change the storage outside the compiled function";
const SPARSE: &str = "keep sparse Tensors outside the compiled function";
const OPERATION: &str = "use an operation on whole Tensors";
const OUTSIDE: &str = "move it out of the compiled function";
const CHECKED: &str = "call it outside the compiled function: torch reads values to check its arguments";

/// Returns the help for a method of a Tensor at which the compiler breaks the graph; `None` for other methods (verified
/// with torch 2.11).
fn of_method(name: &str) -> Option<&'static str> {
    Some(match name {
        "backward" | "retain_grad" => GRADIENT,
        "as_subclass" | "is_pinned" | "is_shared" | "resize_" | "resize_as_" | "share_memory_"
        | "storage" => STORAGE,
        "sparse_resize_"
        | "sparse_resize_and_clear_"
        | "to_sparse"
        | "to_sparse_bsc"
        | "to_sparse_bsr"
        | "to_sparse_coo"
        | "to_sparse_csc"
        | "to_sparse_csr" => SPARSE,
        "apply_" | "map_" | "random_" => OPERATION,
        "corrcoef" | "cov" | "nanquantile" | "quantile" => CHECKED,
        "is_inference" => OUTSIDE,
        _ => return None,
    })
}

/// Methods that change the shape of a Tensor in place.
const RESHAPING: [&str; 7] =
    ["as_strided_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_", "unsqueeze_"];

/// Functions that create a Tensor.
const FACTORIES: [&str; 14] = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "tensor",
    "zeros",
    "zeros_like",
];

fn check(ctx: &FunctionContext) {
    if !compiles(ctx) {
        return;
    }
    for expression in ctx.expressions() {
        match expression {
            Expr::Call(call) => called(ctx, call),
            // `x == None` is not an operation on Tensors; `x != None` is.
            Expr::Compare(compare)
                if matches!(*compare.ops, [CmpOp::Eq])
                    && matches!(*compare.comparators, [Expr::NoneLiteral(_)])
                    && is_tensor(ctx, &compare.left) =>
            {
                let help = "compare with `is None`";
                report(ctx, compare.range(), "a comparison of a Tensor with `None`", &compare.left, help);
            }
            Expr::Compare(compare)
                if !compare.ops.iter().any(|op| matches!(op, CmpOp::Is | CmpOp::IsNot)) =>
            {
                let mut sides = std::iter::once(&*compare.left).chain(&compare.comparators);
                if let Some(value) = sides.find_map(|side| address(ctx, side)) {
                    report(ctx, compare.range(), "a comparison of `data_ptr()`", value, STORAGE);
                }
            }
            Expr::BinOp(operation)
                if let Some(values) = formatted_values(operation)
                    && !is_message(ctx, expression) =>
            {
                if let Some(value) = values.iter().find(|value| is_tensor(ctx, value)) {
                    report(ctx, operation.range(), "a Tensor formatted with `%`", value, OUTSIDE);
                }
            }
            Expr::BinOp(operation) if operation.op == Operator::Mod => {
                if let Some(value) = address(ctx, &operation.left) {
                    report(ctx, operation.range(), "arithmetic on `data_ptr()`", value, STORAGE);
                }
            }
            Expr::Attribute(attribute)
                if matches!(attribute.attr.as_str(), "base" | "flags") && is_array(ctx, &attribute.value) =>
            {
                let what = format!("`ndarray.{}`", attribute.attr);
                report(ctx, attribute.range(), &what, &attribute.value, OUTSIDE);
            }
            _ => {}
        }
    }
    for statement in ctx.statements() {
        let Stmt::Assign(assign) = statement else { continue };
        for target in &assign.targets {
            if let (Expr::Name(name), Some(value)) = (target, hooked(ctx, &assign.value))
                && ctx.flow.scope().globals.contains(&name.id)
            {
                report(ctx, assign.range(), "the handle of a hook in a global", value, OUTSIDE);
            }
            if let Expr::Attribute(attribute) = target {
                assigned(ctx, attribute);
            }
        }
    }
}

fn called(ctx: &FunctionContext, call: &ast::ExprCall) {
    if let Some(name) = ctx.resolve(&call.func) {
        of_function(ctx, call, &name);
        return;
    }
    if let Some(name) = ctx.builtin(&call.func) {
        let [value, ..] = &*call.arguments.args else { return };
        match name {
            "sorted" if sorts_tensors(ctx, call, value) => {
                report(ctx, call.range(), "sorting Tensors in Python", value, "use `torch.sort`");
            }
            "sorted" if may_sort_tensors(ctx, call) => {
                let what = "sorting Tensors in Python";
                report_at_most(ctx, call.range(), what, value, "use `torch.sort`", Severity::Warning);
            }
            "max" | "min"
                if call.arguments.find_keyword("key").is_some()
                    && (call.arguments.args.len() > 1 && is_tensor(ctx, value)
                        || call.arguments.args.len() == 1 && sorts_tensors(ctx, call, value)) =>
            {
                report(ctx, call.range(), &format!("`{name}()` of Tensors with a key"), value, OPERATION);
            }
            "max" | "min" if call.arguments.len() == 1 && has_tuples_of_tensors(ctx, value) => {
                let what = format!("`{name}()` of tuples with Tensors");
                report(ctx, call.range(), &what, value, OPERATION);
            }
            "id" if is_tensor(ctx, value) && !value.is_name_expr() => {
                report(ctx, call.range(), "`id()` of a computed Tensor", value, OPERATION);
            }
            "getattr" if call.arguments.args.get(1).is_some_and(|name| is_tensor(ctx, name)) => {
                report(ctx, call.range(), "`getattr()` with a Tensor as name", value, OPERATION);
            }
            "divmod" | "hash" | "pow" | "round" if is_tensor(ctx, value) => {
                report(ctx, call.range(), &format!("`{name}()` of a Tensor"), value, OPERATION);
            }
            "str" | "repr" if is_tensor(ctx, value) => {
                report(ctx, call.range(), &format!("`{name}()` of a Tensor"), value, OUTSIDE);
            }
            _ => {}
        }
        return;
    }
    let Some(method) = call.func.as_attribute_expr() else { return };
    let name = method.attr.as_str();
    let receiver = &*method.value;
    if matches!(name, "tobytes" | "tofile" | "tostring" | "byteswap" | "setflags" | "dump")
        && is_array(ctx, receiver)
        || name == "astype"
            && is_array(ctx, receiver)
            && call.arguments.args.first().is_some_and(|to| is_object(ctx, to))
    {
        let what = format!("`ndarray.{name}()`");
        report(ctx, call.range(), &what, receiver, OUTSIDE);
        return;
    }
    if matches!(name, "nbytes" | "size")
        && let Some(storage) = receiver.as_call_expr().and_then(|call| call.func.as_attribute_expr())
        && storage.attr.as_str() == "untyped_storage"
        && is_tensor(ctx, &storage.value)
    {
        report(ctx, call.range(), &format!("`untyped_storage().{name}()`"), &storage.value, STORAGE);
        return;
    }
    if name == "sort" && call.arguments.args.is_empty() && sorts_list_of_tensors(ctx, call, receiver) {
        report(ctx, call.range(), "sorting Tensors in Python", receiver, "use `torch.sort`");
    }
    if !is_tensor(ctx, receiver) {
        return;
    }
    let what = format!("`.{name}()`");
    if let Some(help) = of_method(name) {
        report(ctx, call.range(), &what, receiver, help);
    } else if RESHAPING.contains(&name) && is_argument(ctx, receiver) {
        report(ctx, call.range(), &format!("`.{name}()` on an argument"), receiver, STORAGE);
    } else if name == "set_" && call.arguments.args.len() > 1 {
        report(ctx, call.range(), &what, receiver, STORAGE);
    } else if name == "requires_grad_" && enables(call) && is_fresh(ctx, receiver) {
        report(ctx, call.range(), &what, receiver, LEAF);
    }
}

fn of_function(ctx: &FunctionContext, call: &ast::ExprCall, name: &str) {
    let first = call.arguments.args.first();
    if name == "torch.autograd.grad" || name == "torch.autograd.backward" {
        let value = first.unwrap_or(&call.func);
        report(ctx, call.range(), &format!("`{name}`"), value, GRADIENT);
        return;
    }
    if name.starts_with("torch.")
        && let Some(out) = call.arguments.find_keyword("out")
        && is_transposed(ctx, &out.value)
    {
        report(
            ctx,
            out.range(),
            "`out=` with a Tensor that is not contiguous",
            &out.value,
            "pass a contiguous Tensor",
        );
        return;
    }
    if name == "itertools.groupby"
        && let Some(values) = first
        && sorts_tensors(ctx, call, values)
    {
        report(ctx, call.range(), "grouping by Tensors in Python", values, OPERATION);
        return;
    }
    if matches!(name, "numpy.dtype" | "numpy.finfo" | "numpy.iinfo")
        && let Some(value) = first.filter(|value| is_tensor(ctx, value) || is_array(ctx, value))
    {
        report(ctx, call.range(), &format!("`{name}` of an array"), value, "pass its `dtype`");
        return;
    }
    let help = match name {
        "torch.corrcoef" | "torch.cov" | "torch.nanquantile" | "torch.quantile" => Some(CHECKED),
        "torch.linalg.lstsq" => Some(OUTSIDE),
        _ => None,
    };
    if let (Some(help), Some(value)) = (help, first.filter(|value| is_tensor(ctx, value))) {
        report(ctx, call.range(), &format!("`{name}`"), value, help);
        return;
    }
    if name == "operator.index"
        && let Some(value) = first.filter(|value| is_tensor(ctx, value))
    {
        report(ctx, call.range(), "`operator.index`", value, OPERATION);
        return;
    }
    if let Some(factory) = name.strip_prefix("torch.").filter(|factory| FACTORIES.contains(factory))
        && let Some(keyword) = call.arguments.find_keyword("requires_grad")
        && is_true(&keyword.value)
    {
        let what = format!("`torch.{factory}` with `requires_grad=True`");
        report(ctx, call.range(), &what, &call.func, LEAF);
    }
}

fn assigned(ctx: &FunctionContext, target: &ast::ExprAttribute) {
    let receiver = &*target.value;
    if !is_tensor(ctx, receiver) {
        return;
    }
    let what = format!("an assignment to `.{}`", target.attr);
    match target.attr.as_str() {
        "requires_grad" => report(ctx, target.range(), &what, receiver, LEAF),
        "data" if is_fresh(ctx, receiver) => report(ctx, target.range(), &what, receiver, STORAGE),
        "real" | "imag" | "names" => report(ctx, target.range(), &what, receiver, STORAGE),
        _ => {}
    }
}

fn report(ctx: &FunctionContext, range: TextRange, what: &str, value: &Expr, help: &str) {
    report_at_most(ctx, range, what, value, help, Severity::Error);
}

fn report_at_most(
    ctx: &FunctionContext,
    range: TextRange,
    what: &str,
    value: &Expr,
    help: &str,
    highest: Severity,
) {
    if handles_tracing(ctx, range) {
        return;
    }
    let severity = if is_assumed(ctx, value) && value.is_name_expr() && help != GRADIENT {
        break_severity(ctx).min(Severity::Warning)
    } else {
        break_severity(ctx)
    };
    ctx.report(&TORCH_GRAPH_BREAK_TENSOR, range, format!("{what} cannot be traced: it causes a graph break"))
        .severity(severity.min(highest))
        .why(ctx.why(value))
        .help(help)
        .emit();
}

/// Returns the Tensor `x` for `x.register_hook(…)`.
fn hooked<'a>(ctx: &FunctionContext, expression: &'a Expr) -> Option<&'a Expr> {
    let method = expression.as_call_expr()?.func.as_attribute_expr()?;
    (method.attr.as_str() == "register_hook" && is_tensor(ctx, &method.value)).then_some(&*method.value)
}

/// Returns the Tensor `x` for `x.data_ptr()`.
fn address<'a>(ctx: &FunctionContext, expression: &'a Expr) -> Option<&'a Expr> {
    let method = expression.as_call_expr()?.func.as_attribute_expr()?;
    (method.attr.as_str() == "data_ptr" && is_tensor(ctx, &method.value)).then_some(&*method.value)
}

/// Returns whether a call enables gradients: `requires_grad_()`, `requires_grad_(True)`.
fn enables(call: &ast::ExprCall) -> bool {
    let argument =
        call.arguments.args.first().or(call.arguments.keywords.first().map(|keyword| &keyword.value));
    argument.is_none_or(is_true)
}

fn is_true(value: &Expr) -> bool {
    value.as_boolean_literal_expr().is_some_and(|literal| literal.value)
}

/// Returns whether a value is a NumPy array: `x.numpy()` of a Tensor, or a value of the type `ndarray`.
fn is_array(ctx: &FunctionContext, value: &Expr) -> bool {
    let converts = value.as_call_expr().and_then(|call| call.func.as_attribute_expr());
    converts.is_some_and(|method| method.attr.as_str() == "numpy" && is_tensor(ctx, &method.value))
        || matches!(
            ctx.fact(value).alternatives.as_slice(),
            [Alternative::Instance { class, .. }] if class == "ndarray"
        )
}

fn is_object(ctx: &FunctionContext, dtype: &Expr) -> bool {
    ctx.builtin(dtype) == Some("object")
        || dtype.as_string_literal_expr().is_some_and(|text| matches!(text.value.to_str(), "O" | "object"))
}

/// Returns whether a value is `torch.empty(3, 4).t()`, or a name that is bound to such a call.
fn is_transposed(ctx: &FunctionContext, value: &Expr) -> bool {
    match value {
        Expr::Call(call) => call.func.as_attribute_expr().is_some_and(|method| {
            matches!(method.attr.as_str(), "t" | "transpose" | "permute") && is_tensor(ctx, &method.value)
        }),
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return false };
            let value = definition.value.filter(|_| definition.kind == DefKind::Assign);
            value
                .and_then(|range| ctx.expression_at(range))
                .is_some_and(|value| value.is_call_expr() && is_transposed(ctx, value))
        }
        _ => false,
    }
}

/// Returns whether a value is a parameter that is not rebound.
fn is_argument(ctx: &FunctionContext, value: &Expr) -> bool {
    let Expr::Name(name) = value else { return false };
    let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
    matches!(definitions.as_slice(), [definition] if matches!(definition.kind, DefKind::Parameter(_)))
}

/// Returns whether the function creates the value, and does not receive it from outside.
fn is_fresh(ctx: &FunctionContext, value: &Expr) -> bool {
    match value {
        Expr::Call(_) => true,
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let is_computed = |range: TextRange| {
                ctx.expression_at(range).is_some_and(|value| value.is_call_expr() || value.is_bin_op_expr())
            };
            !definitions.is_empty()
                && definitions.iter().all(|definition| {
                    definition.kind == DefKind::Assign && definition.value.is_some_and(is_computed)
                })
        }
        _ => false,
    }
}
