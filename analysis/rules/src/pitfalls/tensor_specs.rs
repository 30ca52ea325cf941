//! The dtypes and shapes of the Tensors that calls pass. Compares them with the entries of an `input_signature`.

use ruff_python_ast::{self as ast, Expr, Number};
use ruff_text_size::Ranged;

use crate::FileContext;
use crate::program::{Bound, ScopeId};
use ag_syntax::expressions::{natural, sequence};

/// The maximum number of names and calls that are followed.
const DEEPEST: usize = 8;

/// The dtype and shape of a Tensor or of a `tf.TensorSpec`, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spec {
    /// The name in `tensorflow`: `float32`.
    dtype: Option<String>,
    /// The sizes of the dimensions. A size is `None` if it is unknown.
    shape: Option<Vec<Option<u64>>>,
}

/// Returns what an entry of an `input_signature` declares: `tf.TensorSpec([None, 4], tf.float32)`.
pub(super) fn of_entry(ctx: &FileContext, entry: &Expr) -> Option<Spec> {
    let call = entry.as_call_expr()?;
    ctx.resolve(&call.func).filter(|name| name == "tensorflow.TensorSpec")?;
    let shape = call.arguments.find_argument_value("shape", 0).and_then(sizes);
    let dtype = match call.arguments.find_argument_value("dtype", 1) {
        None => Some("float32".to_owned()),
        Some(dtype) => dtype_of(ctx, dtype),
    };
    Some(Spec { dtype, shape })
}

/// Returns the dtype and shape of an argument of a call, as far as they are known.
pub(super) fn of_argument<'a>(ctx: &FileContext<'a>, scope: ScopeId, argument: &'a Expr) -> Spec {
    tensor(ctx, scope, argument, DEEPEST).unwrap_or_default()
}

/// Returns how an argument differs from an entry, as two noun phrases.
pub(super) fn difference(argument: &Spec, entry: &Spec) -> Option<(String, String)> {
    if let (Some(own), Some(other)) = (&argument.dtype, &entry.dtype)
        && own != other
    {
        return Some((format!("dtype {own}"), format!("dtype {other}")));
    }
    let (own, other) = (argument.shape.as_ref()?, entry.shape.as_ref()?);
    let differ = |(own, other): (&Option<u64>, &Option<u64>)| own.zip(*other).is_some_and(|(a, b)| a != b);
    if own.len() != other.len() {
        return Some((dimensions(own.len()), dimensions(other.len())));
    }
    own.iter().zip(other).any(differ).then(|| (shown(own), shown(other)))
}

fn dimensions(count: usize) -> String {
    if count == 1 { "1 dimension".to_owned() } else { format!("{count} dimensions") }
}

fn shown(shape: &[Option<u64>]) -> String {
    let sizes: Vec<String> =
        shape.iter().map(|size| size.map_or("None".to_owned(), |size| size.to_string())).collect();
    format!("shape ({})", sizes.join(", "))
}

/// Returns the sizes in `[None, 4]`. A name is an unknown size.
fn sizes(shape: &Expr) -> Option<Vec<Option<u64>>> {
    let elements = sequence(shape)?;
    (!elements.iter().any(Expr::is_starred_expr)).then(|| elements.iter().map(natural).collect())
}

fn dtype_of(ctx: &FileContext, dtype: &Expr) -> Option<String> {
    const DTYPES: [&str; 9] =
        ["bool", "float16", "float32", "float64", "int8", "int32", "int64", "string", "uint8"];
    if let Some(literal) = dtype.as_string_literal_expr() {
        let name = literal.value.to_str();
        return DTYPES.contains(&name).then(|| name.to_owned());
    }
    let name = ctx.resolve(dtype)?;
    let name = name.strip_prefix("tensorflow.")?;
    DTYPES.contains(&name).then(|| name.to_owned())
}

fn tensor<'a>(ctx: &FileContext<'a>, scope: ScopeId, value: &'a Expr, depth: usize) -> Option<Spec> {
    let depth = depth.checked_sub(1)?;
    if let Some((passed, scope)) = value.as_name_expr().and_then(|name| passed(ctx, scope, name)) {
        return tensor(ctx, scope, passed, depth);
    }
    let (Bound::Value(Expr::Call(call)), owner) = ctx.program().value(scope, value) else { return None };
    let name = ctx.resolve(&call.func)?;
    let argument = |name: &str, position: usize| call.arguments.find_argument_value(name, position);
    let explicit = |position: usize| argument("dtype", position);
    let of = |dtype: Option<&Expr>, default: &str| match dtype {
        None => Some(default.to_owned()),
        Some(dtype) => dtype_of(ctx, dtype),
    };
    match name.strip_prefix("tensorflow.")? {
        "constant" => {
            let (dtype, rank) = literal(ctx, owner, argument("value", 0)?, depth)?;
            let dtype = explicit(1).map_or(dtype, |dtype| dtype_of(ctx, dtype));
            let has_shape = argument("shape", 2).is_some();
            Some(Spec { dtype, shape: (!has_shape).then(|| vec![None; rank]) })
        }
        "ones" | "zeros" => {
            let shape = argument("shape", 0)?;
            let shape = sizes(shape).or_else(|| natural(shape).map(|size| vec![Some(size)]));
            Some(Spec { dtype: of(explicit(1), "float32"), shape })
        }
        "random.normal" => {
            Some(Spec { dtype: of(explicit(3), "float32"), shape: argument("shape", 0).and_then(sizes) })
        }
        "random.uniform" => {
            Some(Spec { dtype: of(explicit(3), "float32"), shape: argument("shape", 0).and_then(sizes) })
        }
        "cast" => {
            let inner = argument("x", 0).and_then(|inner| tensor(ctx, owner, inner, depth));
            Some(Spec {
                dtype: explicit(1).and_then(|it| dtype_of(ctx, it)),
                shape: inner.and_then(|it| it.shape),
            })
        }
        _ => None,
    }
}

/// Returns the dtype that TensorFlow gives a literal, and its number of dimensions.
fn literal<'a>(
    ctx: &FileContext<'a>,
    scope: ScopeId,
    value: &'a Expr,
    depth: usize,
) -> Option<(Option<String>, usize)> {
    let depth = depth.checked_sub(1)?;
    if let Some((passed, scope)) = value.as_name_expr().and_then(|name| passed(ctx, scope, name)) {
        return literal(ctx, scope, passed, depth);
    }
    let scalar = |dtype: &str| Some((Some(dtype.to_owned()), 0));
    match ctx.program().value(scope, value) {
        (Bound::Value(Expr::NumberLiteral(number)), _) => match number.value {
            Number::Int(_) => scalar("int32"),
            Number::Float(_) => scalar("float32"),
            Number::Complex { .. } => None,
        },
        (Bound::Value(Expr::UnaryOp(operation)), owner) => literal(ctx, owner, &operation.operand, depth),
        (Bound::Value(Expr::StringLiteral(_)), _) => scalar("string"),
        (Bound::Value(Expr::BooleanLiteral(_)), _) => scalar("bool"),
        (
            Bound::Value(Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. })),
            owner,
        ) => {
            let parts: Option<Vec<_>> = elts.iter().map(|it| literal(ctx, owner, it, depth)).collect();
            let parts = parts?;
            let (_, rank) = parts.first()?;
            let dtypes: Vec<&str> = parts.iter().filter_map(|(dtype, _)| dtype.as_deref()).collect();
            let dtype = match dtypes.as_slice() {
                [first, rest @ ..] if dtypes.len() == parts.len() && rest.iter().all(|it| it == first) => {
                    Some((*first).to_owned())
                }
                _ => None,
            };
            Some((dtype, rank + 1))
        }
        _ => None,
    }
}

/// Returns the argument that is passed for a parameter, if the file calls the function once.
fn passed<'a>(ctx: &FileContext<'a>, scope: ScopeId, name: &ast::ExprName) -> Option<(&'a Expr, ScopeId)> {
    let program = ctx.program();
    let owner = program.owner(scope, &name.id)?;
    let (def, _) = program.functions.iter().find(|(def, _)| def.range() == program.range(owner))?;
    let mut positional = def.parameters.posonlyargs.iter().chain(&def.parameters.args);
    let position = positional.position(|parameter| parameter.parameter.name.id == name.id)?;
    if program.bindings(owner, &name.id).len() != 1 {
        return None;
    }
    let mut calls = program.calls.iter().filter(|site| {
        matches!(program.value(site.scope, &site.node.func), (Bound::Function(called), _) if called.range() == def.range())
    });
    let site = calls.next().filter(|_| calls.next().is_none())?;
    let spread = site.node.arguments.args.iter().any(Expr::is_starred_expr);
    let value = site.node.arguments.find_argument_value(&name.id, position).filter(|_| !spread)?;
    Some((value, site.scope))
}
