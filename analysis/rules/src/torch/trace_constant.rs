//! Values that torch.jit.trace freezes.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::{Ranged, TextRange};

use super::super::FunctionContext;
use super::super::declare::declare_rule;
use super::super::generators::draws_from_generator;
use super::super::pitfalls::runs_while_tracing::is_random;
use super::super::tracing::{self, is_tensor};
use super::{
    bool_severity, decisions, handles_tracing, host_value, is_assumed, ordering, snippet, tensor_guards,
    traces,
};
use ag_db::diagnostic::Severity;
use ag_flow::DefKind;
use ag_index::facts::Binding;
use ag_staging::construct::{ConstructKind, ConstructNode};
use ag_syntax::expressions::natural;
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports Python decisions on Tensors and their sizes, loops over Tensors, and conversions of Tensors to Python
    /// numbers, lists and arrays, in a function that `torch.jit.trace` records. Also reports loops over sizes of
    /// Tensors, random numbers of Python and NumPy, and reads of `self.training` if code calls `eval()` or `train()` of the
    /// recorded module, also of one that `torch.fx` has recorded.
    ///
    /// ## Why is this bad?
    /// The function runs once, with the example inputs, and its operations are recorded. The branch that was taken, the
    /// number of iterations, and the number that was read become constants of the recorded graph: for other inputs the
    /// graph computes wrong results, and no error is raised.
    ///
    /// An `assert` or a test that only raises is not reported: the recording omits it, and the results stay the same.
    ///
    /// ## Example
    /// ```python
    /// import torch
    ///
    /// def clip(x):
    ///     if x.norm() > 1:
    ///         x = x / x.norm()
    ///     return x
    ///
    /// traced = torch.jit.trace(clip, (torch.ones(3),))
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import torch
    ///
    /// def clip(x):
    ///     return torch.where(x.norm() > 1, x / x.norm(), x)
    ///
    /// traced = torch.jit.trace(clip, (torch.ones(3),))
    /// ```
    /// A function that `torch.jit.script` compiles keeps its branches, also when a traced function calls it.
    ///
    /// ## What torch reports
    /// `TracerWarning: Converting a tensor to a Python boolean might cause the trace to be incorrect. We can't record
    /// the data flow of Python values, so this value will be treated as a constant in the future.`
    pub(crate) static TRACE_CONSTANT = {
        code: "AG601", name: "trace-constant",
        summary: "a value becomes a constant of the traced graph",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Torch], fix: None,
        check: Function(check),
    }
}

/// The maximum length of a chain of assignments that is followed back.
const MAX_STEPS: usize = 4;

fn check(ctx: &FunctionContext) {
    if !traces(ctx) {
        return;
    }
    on_tensors(ctx);
    on_sizes(ctx);
    conversions(ctx);
    numbers_of_sizes(ctx);
    random_numbers(ctx);
}

fn on_tensors(ctx: &FunctionContext) {
    for decision in decisions(ctx) {
        if only_raises(decision.node) {
            continue;
        }
        let severity = bool_severity(ctx, &decision, Severity::Warning);
        let verb = if severity == Severity::Info { "may be" } else { "is" };
        report(
            ctx,
            decision.test,
            format!(
                "`{}` {verb} a Tensor: {} on it is decided once, for the example inputs",
                snippet(ctx, decision.test),
                tracing::noun_phrase(decision.construct.kind)
            ),
            severity,
            decision.test,
        );
    }
    for guard in tensor_guards(ctx) {
        let severity = if is_assumed(ctx, guard) { Severity::Info } else { Severity::Warning };
        let message = format!(
            "`{}` is a Tensor: a `case` with it is decided once, for the example inputs",
            snippet(ctx, guard)
        );
        report(ctx, guard, message, severity, guard);
    }
    for (construct, node) in ctx.decisions() {
        if let ConstructNode::For(statement) = node
            && construct.binding == Binding::Staged
            && is_tensor(ctx, &statement.iter)
            && !handles_tracing(ctx, construct.range)
        {
            let severity = if is_assumed(ctx, &statement.iter) { Severity::Info } else { Severity::Warning };
            let message = format!(
                "the loop over `{}` is unrolled for the size of the example inputs",
                snippet(ctx, &statement.iter)
            );
            report(ctx, &statement.iter, message, severity, &statement.iter);
        }
    }
    loops_over_sizes(ctx);
}

/// Reports loops and comprehensions such as `for i in range(x.shape[0])`. In the graph, they have as many iterations as
/// for the example inputs.
fn loops_over_sizes(ctx: &FunctionContext) {
    let loops = ctx.decisions().filter_map(|(_, node)| match node {
        ConstructNode::For(statement) => Some(&*statement.iter),
        _ => None,
    });
    let comprehensions = ctx.expressions().into_iter().flat_map(|expression| match expression {
        Expr::ListComp(ast::ExprListComp { generators, .. })
        | Expr::SetComp(ast::ExprSetComp { generators, .. })
        | Expr::DictComp(ast::ExprDictComp { generators, .. })
        | Expr::Generator(ast::ExprGenerator { generators, .. }) => generators.as_slice(),
        _ => &[],
    });
    for iter in loops.chain(comprehensions.map(|generator| &generator.iter)) {
        let Some(call) = iter.as_call_expr().filter(|call| ctx.builtin(&call.func) == Some("range")) else {
            continue;
        };
        let size = call.arguments.args.iter().find_map(|bound| size_in(ctx, bound));
        if let Some(size) = size.filter(|_| !handles_tracing(ctx, iter.range())) {
            let message = format!(
                "the loop over `{}` is unrolled for the size of the example inputs",
                snippet(ctx, iter)
            );
            report(ctx, iter, message, Severity::Warning, size);
        }
    }
}

/// Checks decisions on sizes. While torch traces, it records sizes as values of the graph, too. A test of a size reads
/// such a value.
fn on_sizes(ctx: &FunctionContext) {
    let mut reported: Vec<&Expr> = Vec::new();
    for (construct, node) in ctx.decisions() {
        let tests = matches!(construct.kind, ConstructKind::If | ConstructKind::While | ConstructKind::IfExp);
        let Some(test) = node.test().filter(|_| tests && construct.binding == Binding::Python) else {
            continue;
        };
        if only_raises(node) || handles_tracing(ctx, construct.range) {
            continue;
        }
        if let Some(size) = size_in(ctx, test)
            && !reported.iter().any(|other| other.range().contains_range(test.range()))
        {
            reported.push(test);
            let message = format!(
                "`{}` depends on the size `{}`: {} on it is decided once, for the example inputs",
                snippet(ctx, test),
                snippet(ctx, size),
                tracing::noun_phrase(construct.kind)
            );
            report(ctx, test, message, Severity::Warning, size);
        }
    }
}

fn conversions(ctx: &FunctionContext) {
    for expression in ctx.expressions() {
        let converted = host_value(ctx, expression).or_else(|| {
            let method = expression.as_call_expr()?.func.as_attribute_expr()?;
            let name = method.attr.as_str();
            (matches!(name, "tolist" | "numpy") && is_tensor(ctx, &method.value))
                .then(|| (format!("`.{name}()`"), &*method.value))
        });
        // `min(outputs, key=entropy)` compares Tensors.
        let ordered = || {
            let (name, values) = ordering::comparing(ctx, expression)?;
            Some((format!("the order that `{name}` finds for"), values))
        };
        let Some((what, value)) =
            converted.or_else(ordered).filter(|_| !handles_tracing(ctx, expression.range()))
        else {
            continue;
        };
        let severity = if is_assumed(ctx, value) { Severity::Info } else { Severity::Warning };
        let message =
            format!("{what} makes the value of `{}` a constant of the traced graph", snippet(ctx, value));
        report(ctx, expression, message, severity, value);
    }
}

/// Reports numbers that Python computes from the first size: `math.ceil(x.shape[0] / 4)`, `len(x) - 1`. A size is a
/// value of the graph only as long as operators of torch compute with it. Other sizes are often fixed by the model, as
/// in `math.ceil(x.shape[-1] / heads)`.
fn numbers_of_sizes(ctx: &FunctionContext) {
    // Their results do not depend on numbers in messages and in tests that only raise.
    let mut unused: Vec<TextRange> = ctx
        .decisions()
        .filter(|(_, node)| only_raises(*node))
        .filter_map(|(_, node)| node.test())
        .map(Ranged::range)
        .collect();
    unused.extend(ctx.statements().into_iter().filter(|it| it.is_raise_stmt()).map(Ranged::range));
    unused.extend(ctx.expressions().into_iter().filter(|it| it.is_f_string_expr()).map(Ranged::range));
    for expression in ctx.expressions() {
        let (what, size) = match expression {
            Expr::Call(call) => {
                let function = match (ctx.resolve(&call.func), ctx.builtin(&call.func)) {
                    (Some(name), _) if matches!(name.as_str(), "math.ceil" | "math.floor") => name,
                    (None, Some("int")) => Name::new("int"),
                    _ => continue,
                };
                let size = call.arguments.args.iter().find_map(|value| size_in(ctx, value));
                let Some(size) = size.filter(|size| is_first(size)) else { continue };
                (format!("`{function}()`"), size)
            }
            Expr::BinOp(operation) => {
                let sides: [&Expr; 2] = [&operation.left, &operation.right];
                let is_length = |side: &&Expr| {
                    side.as_call_expr().is_some_and(|call| ctx.builtin(&call.func) == Some("len"))
                        && size_in(ctx, side).is_some()
                };
                let Some(size) = sides.into_iter().find(is_length) else { continue };
                ("`len()`".to_owned(), size)
            }
            _ => continue,
        };
        let range = expression.range();
        if handles_tracing(ctx, range) || unused.iter().any(|it| it.contains_range(range)) {
            continue;
        }
        unused.push(range);
        let message =
            format!("{what} makes the size `{}` a constant of the traced graph", snippet(ctx, size));
        report(ctx, expression, message, Severity::Warning, size);
    }
}

/// Returns whether a size is `len(x)`, `x.shape[0]` or `x.size(0)`.
fn is_first(size: &Expr) -> bool {
    match size {
        Expr::Subscript(item) => natural(&item.slice) == Some(0),
        Expr::Call(call) if call.func.is_name_expr() => true,
        Expr::Call(call) => call.arguments.args.first().and_then(natural) == Some(0),
        _ => false,
    }
}

/// Reports `random.random()` and `np.random.normal()`. Their results are constants of the graph.
fn random_numbers(ctx: &FunctionContext) {
    for call in ctx.expressions().into_iter().filter_map(Expr::as_call_expr) {
        let name = ctx.resolve(&call.func).filter(|name| is_random(name));
        let generator = || draws_from_generator(ctx, call).then(|| ctx.text(&*call.func).into());
        let Some(name) = name.or_else(generator) else { continue };
        if !handles_tracing(ctx, call.range()) {
            let message =
                format!("`{name}` runs once, while tracing: its result is a constant of the traced graph");
            ctx.report(&TRACE_CONSTANT, call, message)
                .help("use random operations of torch, such as `torch.rand`")
                .emit();
        }
    }
}

fn report(ctx: &FunctionContext, at: &Expr, message: String, severity: Severity, cause: &Expr) {
    ctx.report(&TRACE_CONSTANT, at, message)
        .severity(severity)
        .why(ctx.why(cause))
        .help("use operations on Tensors, or compile the function with `torch.jit.script`")
        .emit();
}

/// Returns whether a decision is an `assert`, or an `if` that only raises an exception. The results are the same
/// without such a decision.
fn only_raises(node: ConstructNode) -> bool {
    match node {
        ConstructNode::Assert(_) => true,
        ConstructNode::If(statement, 0) => {
            statement.elif_else_clauses.is_empty() && matches!(statement.body.as_slice(), [Stmt::Raise(_)])
        }
        _ => false,
    }
}

/// Returns the size of a Tensor that determines `expression`: `x.shape[0]`, `x.size(1)`, `len(x)`.
pub(super) fn size_in<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<&'a Expr> {
    size_within(ctx, expression, MAX_STEPS)
}

fn size_within<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr, steps: usize) -> Option<&'a Expr> {
    match expression {
        Expr::Compare(compare)
            if compare.ops.iter().any(|op| matches!(op, ast::CmpOp::Is | ast::CmpOp::IsNot)) =>
        {
            None
        }
        Expr::Compare(compare) => std::iter::once(&*compare.left)
            .chain(&compare.comparators)
            .find_map(|side| size_within(ctx, side, steps)),
        Expr::BoolOp(operation) => operation.values.iter().find_map(|value| size_within(ctx, value, steps)),
        Expr::BinOp(operation) => {
            size_within(ctx, &operation.left, steps).or_else(|| size_within(ctx, &operation.right, steps))
        }
        Expr::UnaryOp(operation) => size_within(ctx, &operation.operand, steps),
        Expr::Attribute(attribute) => {
            (attribute.attr.as_str() == "shape" && is_tensor(ctx, &attribute.value)).then_some(expression)
        }
        Expr::Subscript(subscript) => size_within(ctx, &subscript.value, steps).map(|_| expression),
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => (matches!(method.attr.as_str(), "size" | "numel" | "nelement")
                && is_tensor(ctx, &method.value))
            .then_some(expression),
            callee => match (ctx.builtin(callee)?, &*call.arguments.args) {
                ("len", [value]) => is_tensor(ctx, value).then_some(expression),
                ("min" | "max" | "int" | "abs", values) => {
                    values.iter().find_map(|value| size_within(ctx, value, steps))
                }
                _ => None,
            },
        },
        Expr::Name(name) if steps > 0 => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return None };
            if matches!(definition.kind, DefKind::Parameter(_) | DefKind::AugAssign) {
                return None;
            }
            let value = ctx.expression_at(definition.value?)?;
            size_within(ctx, value, steps - 1)
        }
        _ => None,
    }
}
