//! Tensors of different dtypes as operands of one operator.

use ruff_python_ast::{CmpOp, Expr, ExprCall, Operator};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use crate::tracing::snippet;
use ag_db::text;
use ag_index::facts::{Alternative, DType, Library, TensorKind};
use ag_syntax::expressions::sequence;

declare_rule! {
    /// ## What it does
    /// Reports two Tensors of different dtypes as operands of `+`, `-`, `*`, `/`, `//`, `%`, `**`, `@`, `<`, `<=`, `>`
    /// and `>=`, or as arguments of functions such as `tf.maximum`, `tf.where`, `tf.concat` and `tf.stack`, in staged
    /// code.
    ///
    /// Files that enable NumPy's behavior, where TensorFlow converts the operands, are not reported.
    ///
    /// ## Why is this bad?
    /// TensorFlow does not convert Tensors implicitly. It converts only Python numbers to the dtype of the other operand.
    ///
    /// ## Example
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def masked_mean(losses: tf.Tensor, lengths: tf.Tensor):
    ///     mask = tf.cast(lengths > 0, tf.int32)
    ///     return tf.reduce_sum(tf.nn.relu(tf.cast(losses, tf.float32)) * mask)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import tensorflow as tf
    ///
    ///
    /// @tf.function
    /// def masked_mean(losses: tf.Tensor, lengths: tf.Tensor):
    ///     mask = tf.cast(lengths > 0, tf.float32)
    ///     return tf.reduce_sum(tf.nn.relu(tf.cast(losses, tf.float32)) * mask)
    /// ```
    ///
    /// ## What TensorFlow reports
    /// > TypeError: Input 'y' of 'Mul' Op has type int32 that does not match type float32 of argument 'x'.
    pub(crate) static OPERAND_DTYPE = {
        code: "AG420", name: "operand-dtype",
        summary: "an operator gets Tensors of different dtypes",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Tensorflow], fix: None,
        check: Function(check),
    }
}

/// Functions whose first two arguments must have the same dtype.
const BINARY: [&str; 22] = [
    "add",
    "divide",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "math.add",
    "math.divide",
    "math.divide_no_nan",
    "math.floordiv",
    "math.maximum",
    "math.minimum",
    "math.multiply",
    "math.multiply_no_nan",
    "math.subtract",
    "math.squared_difference",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "subtract",
];

fn check(ctx: &FunctionContext) {
    for expression in ctx.expressions() {
        let pair = match expression {
            Expr::BinOp(operation) if requires_same(operation.op) => {
                different(ctx, [&*operation.left, &*operation.right])
            }
            Expr::Compare(compare) => match (&*compare.ops, &*compare.comparators) {
                ([CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE], [right]) => {
                    different(ctx, [&*compare.left, right])
                }
                _ => None,
            },
            Expr::Call(call) => arguments(ctx, call),
            _ => None,
        };
        let Some(((left, first), (right, second))) = pair else { continue };
        if is_guarded(ctx, expression.range()) || promotes(ctx) {
            continue;
        }
        let message = format!(
            "`{}` is a Tensor of dtype {}, but `{}` one of dtype {}: TensorFlow does not convert Tensors",
            snippet(ctx.text(left)),
            first.as_str(),
            snippet(ctx.text(right)),
            second.as_str()
        );
        ctx.report(&OPERAND_DTYPE, expression, message)
            .why(ctx.why(right))
            .help("convert one of the two with `tf.cast`")
            .emit();
    }
}

fn requires_same(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Add
            | Operator::Sub
            | Operator::Mult
            | Operator::Div
            | Operator::FloorDiv
            | Operator::Mod
            | Operator::Pow
            | Operator::MatMult
    )
}

/// Returns whether the file changes how TensorFlow converts operands: `tf.experimental.numpy.experimental_enable_numpy_behavior()`.
fn promotes(ctx: &FunctionContext) -> bool {
    let text = text(ctx.db, ctx.document);
    ["enable_numpy_behavior", "experimental.numpy", "mixed_precision"]
        .iter()
        .any(|it| text.as_str().contains(it))
}

type Typed<'a> = (&'a Expr, DType);

/// Returns the dtype of a Tensor that is certainly one of TensorFlow.
fn dtype(ctx: &FunctionContext, value: &Expr) -> Option<DType> {
    let fact = ctx.fact(value);
    match fact.alternatives.as_slice() {
        [Alternative::Tensor { kind: TensorKind::Tensor, dtype, library: Library::Tensorflow }]
            if !fact.unknown =>
        {
            *dtype
        }
        _ => None,
    }
}

/// Returns the first two values with different dtypes.
fn different<'a>(
    ctx: &FunctionContext,
    values: impl IntoIterator<Item = &'a Expr>,
) -> Option<(Typed<'a>, Typed<'a>)> {
    let mut known = values.into_iter().filter_map(|value| Some((value, dtype(ctx, value)?)));
    let first = known.next()?;
    known.find(|(_, dtype)| *dtype != first.1).map(|other| (first, other))
}

/// Returns arguments with different dtypes: `tf.maximum(x, y)`, `tf.where(test, x, y)`, `tf.concat([x, y], 0)`.
fn arguments<'a>(ctx: &FunctionContext<'a>, call: &'a ExprCall) -> Option<(Typed<'a>, Typed<'a>)> {
    let name = ctx.resolve(&call.func)?;
    let function = name.strip_prefix("tensorflow.")?;
    let positional = &*call.arguments.args;
    match function {
        "where" => different(ctx, positional.get(1..3)?),
        "concat" | "stack" => different(ctx, sequence(positional.first()?)?),
        _ if BINARY.contains(&function) => different(ctx, positional.get(..2)?),
        _ => None,
    }
}
