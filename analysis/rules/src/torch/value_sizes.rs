//! Sizes that depend on the values of a Tensor. Finds decisions on them, and loops over them.
//!
//! ```python
//! kept = x[x > 0].float()
//! if kept.shape[0] > 2: …           # the size has no value while torch traces
//! for row in kept: …
//! ```

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::Ranged;

use super::super::FunctionContext;
use super::super::tracing::{self, is_mask};
use super::break_shape::sized_by_values;
use super::handles_tracing;
use ag_flow::DefKind;
use ag_index::facts::Binding;
use ag_staging::construct::ConstructKind;
use ag_syntax::expressions::natural;
use ag_syntax::qname::QName;

/// The maximum length of a chain of assignments and methods that is followed back.
const MAX_STEPS: usize = 6;

/// Methods that return a Tensor with the same number of rows.
const KEEP_ROWS: [&str; 14] = [
    "bool",
    "clone",
    "contiguous",
    "cpu",
    "cuda",
    "detach",
    "double",
    "float",
    "half",
    "int",
    "long",
    "sort",
    "to",
    "type",
];

/// A decision on such a size, or a loop with this number of iterations.
pub(super) struct SizeUse<'a> {
    pub at: &'a Expr,
    /// The construct in messages: "an `if`", "a `for`".
    pub what: &'static str,
    /// The operation that determines the size.
    pub source: &'a Expr,
}

pub(super) fn uses<'a>(ctx: &FunctionContext<'a>) -> Vec<SizeUse<'a>> {
    let mut found = Vec::new();
    for (construct, node) in ctx.decisions() {
        if construct.binding != Binding::Python || construct.kind == ConstructKind::For {
            continue;
        }
        if let Some(test) = node.test()
            && let Some(source) = decided_by(ctx, test)
            && !handles_tracing(ctx, construct.range)
        {
            let what = tracing::noun_phrase(construct.kind);
            // In `if not kept.numel():`, both the `if` and the `not` are decisions.
            if !found.iter().any(|other: &SizeUse| other.at.range().contains_range(test.range())) {
                found.push(SizeUse { at: test, what, source });
            }
        }
    }
    let loops = ctx.statements().into_iter().filter_map(|statement| match statement {
        Stmt::For(node) => Some((&*node.iter, "a `for`")),
        _ => None,
    });
    let comprehensions = ctx.expressions().into_iter().filter_map(|expression| match expression {
        Expr::ListComp(ast::ExprListComp { generators, .. })
        | Expr::SetComp(ast::ExprSetComp { generators, .. })
        | Expr::DictComp(ast::ExprDictComp { generators, .. }) => {
            generators.first().map(|generator| (&generator.iter, "a comprehension"))
        }
        _ => None,
    });
    for (at, what) in loops.chain(comprehensions) {
        if let Some(source) = iterations(ctx, at)
            && !handles_tracing(ctx, at.range())
        {
            found.push(SizeUse { at, what, source });
        }
    }
    found
}

/// Returns the operation that determines the size in a test: `kept.shape[0] > 2`, `not len(kept)`, `kept.numel()`.
fn decided_by<'a>(ctx: &FunctionContext<'a>, test: &'a Expr) -> Option<&'a Expr> {
    match test {
        Expr::Compare(compare) => {
            let [CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE | CmpOp::Eq | CmpOp::NotEq] = &*compare.ops
            else {
                return None;
            };
            size(ctx, &compare.left)
        }
        Expr::UnaryOp(operation) if operation.op == UnaryOp::Not => decided_by(ctx, &operation.operand),
        Expr::BoolOp(operation) => operation.values.iter().find_map(|value| decided_by(ctx, value)),
        _ => size(ctx, test),
    }
}

/// Returns the operation that determines the number of iterations of a loop over `kept`, `kept.tolist()`,
/// `range(len(kept))`.
fn iterations<'a>(ctx: &FunctionContext<'a>, iter: &'a Expr) -> Option<&'a Expr> {
    if let Expr::Call(call) = iter {
        if let Some(name) = ctx.builtin(&call.func) {
            return match (name, &*call.arguments.args) {
                ("range", bounds) => bounds.iter().find_map(|bound| size(ctx, bound)),
                ("enumerate" | "reversed" | "list" | "tuple", [inner, ..]) => iterations(ctx, inner),
                _ => None,
            };
        }
        if let Expr::Attribute(method) = &*call.func
            && method.attr.as_str() == "tolist"
        {
            return rows(ctx, &method.value, MAX_STEPS);
        }
    }
    rows(ctx, iter, MAX_STEPS)
}

/// Returns the operation that determines a size: `kept.shape[0]`, `kept.size(0)`, `len(kept)`, `kept.numel()`. Only the
/// first dimension of a selection depends on values: the others have the sizes of the original Tensor.
fn size<'a>(ctx: &FunctionContext<'a>, expression: &'a Expr) -> Option<&'a Expr> {
    let is_first = |axis: &Expr| natural(axis) == Some(0);
    match expression {
        Expr::Subscript(subscript) if is_first(&subscript.slice) => {
            let shape = subscript.value.as_attribute_expr().filter(|shape| shape.attr.as_str() == "shape")?;
            rows(ctx, &shape.value, MAX_STEPS)
        }
        Expr::Call(call) => match (&*call.func, &*call.arguments.args) {
            (Expr::Attribute(method), [axis]) if method.attr.as_str() == "size" && is_first(axis) => {
                rows(ctx, &method.value, MAX_STEPS)
            }
            (Expr::Attribute(method), []) if method.attr.as_str() == "numel" => {
                rows(ctx, &method.value, MAX_STEPS)
            }
            (callee, [value]) if ctx.builtin(callee) == Some("len") => rows(ctx, value, MAX_STEPS),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the operation that determines the number of rows of a Tensor, if that number depends on values.
fn rows<'a>(ctx: &FunctionContext<'a>, tensor: &'a Expr, steps: usize) -> Option<&'a Expr> {
    let steps = steps.checked_sub(1)?;
    if selects_rows(ctx, tensor) {
        return Some(tensor);
    }
    match tensor {
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let definition = match definitions.as_slice() {
                [definition] => definition,
                // In `while len(order): order = order[mask]`, the second test reads the selection.
                several => several.iter().find(|definition| definition.range.start() > name.start())?,
            };
            if definition.kind != DefKind::Assign {
                return None;
            }
            let Some(value) = definition.value else {
                // `boxes, scores = self.select(boxes, scores)`
                let value = ctx.bound_value(definition)?;
                let is_selection = |callee: &FunctionContext<'a>, part| rows(callee, part, steps).is_some();
                return ctx
                    .result_of_call(value.as_call_expr()?, Some(definition), &is_selection)
                    .then_some(value);
            };
            rows(ctx, ctx.expression_at(value)?, steps)
        }
        Expr::Call(call) if ctx.callee_context(call).is_some() => ctx
            .result_of_call(call, None, &|callee, value| rows(callee, value, steps).is_some())
            .then_some(tensor),
        Expr::Call(call) => {
            let method = call.func.as_attribute_expr().filter(|_| ctx.resolve(&call.func).is_none())?;
            let keeps = match (method.attr.as_str(), &*call.arguments.args) {
                ("squeeze" | "unsqueeze", [axis]) => natural(axis) != Some(0),
                (name, _) => KEEP_ROWS.contains(&name),
            };
            keeps.then(|| rows(ctx, &method.value, steps)).flatten()
        }
        // `mask.nonzero(as_tuple=True)[0]`, `torch.where(mask)[0]`
        Expr::Subscript(subscript) if natural(&subscript.slice) == Some(0) => match &*subscript.value {
            Expr::Call(call) => indices_by_axis(ctx, call).then_some(&*subscript.value),
            _ => None,
        },
        // `kept[:, 0]`
        Expr::Subscript(subscript) => match &*subscript.slice {
            Expr::Tuple(tuple) if tuple.elts.first().is_some_and(is_full_slice) => {
                rows(ctx, &subscript.value, steps)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether the first dimension of an operation's result depends on values. The first dimension of `x[:, mask]`
/// and `one_hot(x)` does not.
fn selects_rows(ctx: &FunctionContext, tensor: &Expr) -> bool {
    let selects = match tensor {
        Expr::Subscript(subscript) => match &*subscript.slice {
            Expr::Tuple(tuple) => tuple.elts.first().is_some_and(|first| is_mask(ctx, first)),
            _ => true,
        },
        Expr::Call(call) => {
            let name = match &*call.func {
                Expr::Attribute(attribute) => attribute.attr.as_str(),
                Expr::Name(name) => name.id.as_str(),
                _ => return false,
            };
            !matches!(name, "one_hot" | "repeat_interleave" | "where")
                && !call
                    .arguments
                    .keywords
                    .iter()
                    .any(|keyword| keyword.arg.as_ref().is_none_or(|name| name.as_str() != "sorted"))
        }
        _ => false,
    };
    selects && sized_by_values(ctx, tensor).is_some()
}

/// Returns whether a call returns a Tensor of indices for each axis: `x.nonzero(as_tuple=True)`, `torch.where(x)`.
fn indices_by_axis(ctx: &FunctionContext, call: &ast::ExprCall) -> bool {
    let by_axis = call
        .arguments
        .find_keyword("as_tuple")
        .and_then(|keyword| keyword.value.as_boolean_literal_expr())
        .is_some_and(|literal| literal.value);
    let is_where = ctx.resolve(&call.func).is_some_and(|name| name == "torch.where")
        && call.arguments.len() == 1
        && call.arguments.args.first().is_some_and(|condition| tracing::is_tensor(ctx, condition));
    let is_nonzero = match &*call.func {
        Expr::Attribute(method) if method.attr.as_str() == "nonzero" => {
            tracing::is_tensor(ctx, &method.value)
                || call.arguments.args.first().is_some_and(|value| tracing::is_tensor(ctx, value))
        }
        _ => false,
    };
    is_where || by_axis && is_nonzero
}

fn is_full_slice(index: &Expr) -> bool {
    matches!(index, Expr::Slice(slice) if slice.lower.is_none() && slice.upper.is_none() && slice.step.is_none())
}
