//! Shapes that literals in a function determine.

use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::carried::StagedLoop;
use crate::FunctionContext;
use ag_flow::{Def, DefKind};
use ag_index::facts::Alternative;
use ag_syntax::expressions::sequence;
use ag_syntax::qname::QName;

/// The maximum depth of nested computations. Deeper shapes are unknown.
const MAX_DEPTH: u32 = 8;

pub(crate) type Shape = Vec<i64>;

/// Operations that have the shape of the result as their first argument.
const SHAPE_FIRST: [&str; 6] = [
    "tensorflow.zeros",
    "tensorflow.ones",
    "tensorflow.fill",
    "tensorflow.random.normal",
    "tensorflow.random.uniform",
    "tensorflow.random.truncated_normal",
];

/// Operations that preserve the shape of their argument.
const SHAPE_PRESERVING: [&str; 7] = [
    "tensorflow.cast",
    "tensorflow.identity",
    "tensorflow.stop_gradient",
    "tensorflow.zeros_like",
    "tensorflow.ones_like",
    "tensorflow.abs",
    "tensorflow.sqrt",
];

/// Returns the shape of a name before the loop.
pub(super) fn entry(staged: &StagedLoop, name: &QName) -> Option<Shape> {
    let before = staged.before(name);
    let [definition] = before.as_slice() else { return None };
    of(staged.ctx, staged.ctx.value_of(definition)?, None)
}

/// Returns the shape of an expression. `known` is a name whose shape is known.
pub(crate) fn of(ctx: &FunctionContext, expression: &Expr, known: Option<(&QName, &Shape)>) -> Option<Shape> {
    within(ctx, expression, known, 0)
}

fn within(
    ctx: &FunctionContext,
    expression: &Expr,
    known: Option<(&QName, &Shape)>,
    depth: u32,
) -> Option<Shape> {
    if depth >= MAX_DEPTH {
        return None;
    }
    let inner = |expression: &Expr| within(ctx, expression, known, depth + 1);
    match expression {
        Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) => Some(Vec::new()),
        Expr::Name(_) => {
            let (name, shape) = known?;
            (QName::from_expr(expression).as_ref() == Some(name)).then(|| shape.clone())
        }
        Expr::UnaryOp(operation) => inner(&operation.operand),
        Expr::BinOp(ast::ExprBinOp { left, op, right, .. }) if *op != ast::Operator::MatMult => {
            broadcast(&inner(left)?, &inner(right)?)
        }
        Expr::Call(call) => {
            let function = ctx.resolve(&call.func)?;
            let first = call.arguments.args.first()?;
            if SHAPE_FIRST.contains(&function.as_str()) {
                dimensions(ctx, first)
            } else if function == "tensorflow.reshape" {
                let shape = dimensions(ctx, call.arguments.find_argument_value("shape", 1)?)?;
                shape.iter().all(|size| *size >= 0).then_some(shape)
            } else if SHAPE_PRESERVING.contains(&function.as_str()) {
                inner(first)
            } else if matches!(function.as_str(), "tensorflow.constant" | "tensorflow.convert_to_tensor") {
                let reshaped =
                    call.arguments.args.len() > 2 || call.arguments.find_keyword("shape").is_some();
                (!reshaped).then(|| literal(first, 0)).flatten()
            } else {
                None
            }
        }
        _ => None,
    }
}

/// Returns the dimensions that a literal gives: `[2, 3]`.
fn dimensions(ctx: &FunctionContext, shape: &Expr) -> Option<Shape> {
    let elements = match shape {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        _ => return None,
    };
    elements.iter().map(|element| dimension(ctx, element)).collect()
}

fn dimension(ctx: &FunctionContext, element: &Expr) -> Option<i64> {
    match ctx.python_fact(element).alternatives.as_slice() {
        [Alternative::Int(Some(size))] => Some(*size),
        _ => None,
    }
}

/// Returns the shape of `[[1.0, 2.0], [3.0, 4.0]]`.
fn literal(value: &Expr, depth: u32) -> Option<Shape> {
    let elements = match value {
        Expr::List(list) => &list.elts,
        Expr::Tuple(tuple) => &tuple.elts,
        Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::StringLiteral(_) => return Some(Vec::new()),
        Expr::UnaryOp(operation) => return literal(&operation.operand, depth),
        _ => return None,
    };
    let mut shape = vec![i64::try_from(elements.len()).ok()?];
    if let Some(first) = elements.first().filter(|_| depth < MAX_DEPTH) {
        shape.extend(literal(first, depth + 1)?);
    }
    Some(shape)
}

fn broadcast(left: &Shape, right: &Shape) -> Option<Shape> {
    let rank = left.len().max(right.len());
    let size = |shape: &Shape, axis: usize| {
        (axis + shape.len()).checked_sub(rank).and_then(|index| shape.get(index)).copied().unwrap_or(1)
    };
    (0..rank)
        .map(|axis| match (size(left, axis), size(right, axis)) {
            (a, b) if a == b || b == 1 => Some(a),
            (1, b) => Some(b),
            _ => None,
        })
        .collect()
}

/// How an expression enlarges a Tensor.
pub(crate) enum Growth {
    /// `tf.concat([x, y], axis)`, `tf.repeat(x, 2)`.
    Along(Option<usize>),
    /// `tf.stack([x, y])`, `tf.expand_dims(x, 0)`: the result has one more dimension.
    Rank,
}

pub(crate) fn growth(ctx: &FunctionContext, name: &QName, value: &Expr) -> Option<Growth> {
    growth_of_operation(ctx, name, value).or_else(|| growth_of_helper(ctx, name, value, None))
}

/// Returns how a definition that unpacks the result of a function of the project enlarges the variable:
/// `tokens, scores = extend(tokens, scores)`.
pub(super) fn growth_of_unpacked(ctx: &FunctionContext, name: &QName, definition: &Def) -> Option<Growth> {
    let mut assignments = ctx.statements().into_iter().filter_map(Stmt::as_assign_stmt);
    let assign = assignments.find(|assign| assign.range().contains_range(definition.range))?;
    let [target] = assign.targets.as_slice() else { return None };
    let targets = sequence(target)?;
    let element = targets.iter().position(|target| target.range() == definition.range)?;
    let is_plain = !targets.iter().any(Expr::is_starred_expr);
    is_plain.then(|| growth_of_helper(ctx, name, &assign.value, Some((element, targets.len())))).flatten()
}

/// Returns how a function of the project enlarges its argument: `push(tokens, token)` for
/// `def push(tokens, token): return tf.concat([tokens, token], 0)`. `element` is the position of the result in the
/// tuple that the function returns, and the number of elements.
///
/// The last statement must be the only `return`. It returns the larger Tensor, or a variable with this Tensor.
fn growth_of_helper(
    ctx: &FunctionContext,
    name: &QName,
    value: &Expr,
    element: Option<(usize, usize)>,
) -> Option<Growth> {
    let call = value.as_call_expr()?;
    let mut arguments = call.arguments.args.iter();
    let position = arguments.position(|argument| QName::from_expr(argument).as_ref() == Some(name))?;
    if call.arguments.args.iter().any(Expr::is_starred_expr) {
        return None;
    }
    let (helper, bound) = ctx.callee_context(call)?;
    let parameter = helper.def().parameters.iter().nth(position + usize::from(bound))?;
    if helper.statements().into_iter().filter(|statement| statement.is_return_stmt()).count() != 1 {
        return None;
    }
    let mut returned = helper.def().body.last()?.as_return_stmt()?.value.as_deref()?;
    if let Some((position, count)) = element {
        returned = returned.as_tuple_expr().filter(|tuple| tuple.elts.len() == count)?.elts.get(position)?;
    }
    let parameter = QName::simple(parameter.name().id.clone());
    let mut value = returned;
    if let Expr::Name(variable) = returned {
        let definitions = helper.flow.definitions_of(variable.range(), &QName::from(&variable.id));
        let [definition] = definitions.as_slice() else { return None };
        value = helper.value_of(definition).filter(|_| definition.kind == DefKind::Assign)?;
    }
    // The variable may have the name of the parameter: `tokens = tf.concat([tokens, token], 0)`.
    let reads = helper.expressions().into_iter().filter(|read| {
        value.range().contains_range(read.range()) && QName::from_expr(read).as_ref() == Some(&parameter)
    });
    let is_given = reads.into_iter().all(|read| {
        let definitions = helper.flow.definitions_of(read.range(), &parameter);
        definitions.iter().all(|definition| matches!(definition.kind, DefKind::Parameter(_)))
    });
    is_given.then(|| growth_of_operation(&helper, &parameter, value)).flatten()
}

fn growth_of_operation(ctx: &FunctionContext, name: &QName, value: &Expr) -> Option<Growth> {
    let is_name = |expression: &Expr| QName::from_expr(expression).as_ref() == Some(name);
    let call = value.as_call_expr()?;
    let function = ctx.resolve(&call.func)?;
    let first = call.arguments.find_argument_value("values", 0).or_else(|| call.arguments.args.first())?;
    let axis = || {
        let axis = call.arguments.find_argument_value("axis", 1)?;
        usize::try_from(dimension(ctx, axis)?).ok()
    };
    match (function.as_str(), first) {
        (
            "tensorflow.concat",
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }),
        ) => {
            let axis = axis();
            // `tf.gather` may change the first dimension only.
            let has_name = |element: &Expr| {
                is_name(element) || axis.is_some_and(|axis| axis > 0) && is_gathered(ctx, name, element)
            };
            let more = elts.len() > 1 && elts.iter().any(has_name);
            more.then_some(Growth::Along(axis))
        }
        (
            "tensorflow.stack",
            Expr::List(ast::ExprList { elts, .. }) | Expr::Tuple(ast::ExprTuple { elts, .. }),
        ) => elts.iter().any(is_name).then_some(Growth::Rank),
        ("tensorflow.repeat", _) if is_name(first) => {
            let times = dimension(ctx, call.arguments.find_argument_value("repeats", 1)?)?;
            (times > 1).then_some(Growth::Along(None))
        }
        ("tensorflow.expand_dims", _) if is_name(first) => Some(Growth::Rank),
        _ => None,
    }
}

/// Returns whether a value consists of rows of the named Tensor, as `tf.gather(x, indices)` does.
fn is_gathered(ctx: &FunctionContext, name: &QName, value: &Expr) -> bool {
    value.as_call_expr().is_some_and(|call| {
        ctx.resolve(&call.func).is_some_and(|function| function == "tensorflow.gather")
            && call.arguments.len() == 2
            && call.arguments.args.first().and_then(QName::from_expr).as_ref() == Some(name)
    })
}

/// The shape that `set_loop_options(shape_invariants=[(name, tf.TensorShape([None, 2]))])` declares for a name.
pub(super) enum Invariant {
    None,
    /// The declared shape, with `-1` for `None`.
    Shape(Shape),
    Unknown,
}

pub(super) fn invariant(staged: &StagedLoop, name: &QName) -> Invariant {
    let ctx = staged.ctx;
    for statement in staged.body() {
        let Some(call) = statement.as_expr_stmt().and_then(|statement| statement.value.as_call_expr()) else {
            continue;
        };
        let is_options = ctx.resolve(&call.func).is_some_and(|name| name.ends_with("set_loop_options"));
        let Some(invariants) = call.arguments.find_keyword("shape_invariants").filter(|_| is_options) else {
            continue;
        };
        let Expr::List(list) = &invariants.value else { return Invariant::Unknown };
        for pair in &list.elts {
            let Expr::Tuple(ast::ExprTuple { elts, .. }) = pair else { return Invariant::Unknown };
            if let [variable, shape] = elts.as_slice()
                && QName::from_expr(variable).as_ref() == Some(name)
            {
                return match shape.as_call_expr().and_then(|shape| shape.arguments.args.first()) {
                    Some(Expr::List(list)) => list
                        .elts
                        .iter()
                        .map(|size| if size.is_none_literal_expr() { Some(-1) } else { dimension(ctx, size) })
                        .collect::<Option<Shape>>()
                        .map_or(Invariant::Unknown, Invariant::Shape),
                    _ => Invariant::Unknown,
                };
            }
        }
    }
    Invariant::None
}

/// Returns whether a shape matches an invariant.
pub(super) fn conforms(shape: &Shape, invariant: &Shape) -> bool {
    shape.len() == invariant.len()
        && shape.iter().zip(invariant).all(|(size, allowed)| *allowed < 0 || size == allowed)
}

/// Returns a shape in Python syntax: `()`, `(2,)`, `(2, 3)`.
pub(crate) fn display(shape: &Shape) -> String {
    let sizes: Vec<String> =
        shape.iter().map(|size| if *size < 0 { "None".to_owned() } else { size.to_string() }).collect();
    match sizes.as_slice() {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.join(", ")),
    }
}
