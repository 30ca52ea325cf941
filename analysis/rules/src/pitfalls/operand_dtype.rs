//! Tensors of different dtypes as operands of one operator.

use ruff_python_ast::{CmpOp, Expr, ExprCall, Operator};
use ruff_text_size::Ranged;

use crate::FunctionContext;
use crate::callers;
use crate::declare::declare_rule;
use crate::guards::is_guarded;
use crate::tracing::snippet;
use ag_db::diagnostic::Severity;
use ag_db::text;
use ag_flow::DefKind;
use ag_index::assumptions::Source;
use ag_index::facts::{Alternative, DType, Library, TensorKind};
use ag_syntax::expressions::{is_arithmetic, sequence};
use ag_syntax::qname::QName;

declare_rule! {
    /// ## What it does
    /// Reports two Tensors of different dtypes as operands of `+`, `-`, `*`, `/`, `//`, `%`, `**`, `@`, `<`, `<=`, `>`
    /// and `>=`, or as arguments of functions such as `tf.maximum`, `tf.where`, `tf.concat` and `tf.stack`, in staged
    /// code.
    ///
    /// Files that enable NumPy's behavior, where TensorFlow converts the operands, are not reported. If an operand has
    /// the dtype of an argument of a `tf.function`, the finding is a warning, because other calls may pass another dtype.
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

/// Functions whose result is never an integer.
const FLOATING: [&str; 24] = [
    "exp",
    "math.exp",
    "math.l2_normalize",
    "math.log",
    "math.log1p",
    "math.log_softmax",
    "math.reduce_logsumexp",
    "math.reduce_std",
    "math.reduce_variance",
    "math.rsqrt",
    "math.sigmoid",
    "math.softmax",
    "math.softplus",
    "math.sqrt",
    "math.tanh",
    "nn.l2_loss",
    "nn.l2_normalize",
    "nn.log_softmax",
    "nn.sigmoid",
    "nn.softmax",
    "nn.softplus",
    "sigmoid",
    "sqrt",
    "tanh",
];

/// Functions whose result has the dtype of their first argument.
const KEEPING: [&str; 24] = [
    "abs",
    "boolean_mask",
    "broadcast_to",
    "clip_by_value",
    "convert_to_tensor",
    "expand_dims",
    "gather",
    "gather_nd",
    "identity",
    "math.abs",
    "ones_like",
    "pad",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "repeat",
    "reshape",
    "reverse",
    "sort",
    "squeeze",
    "tile",
    "transpose",
    "zeros_like",
];

/// The maximum number of expressions that are followed.
const MAX_STEPS: usize = 5;

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
            "`{}` is a Tensor {}, but `{}` one {}: TensorFlow does not convert Tensors",
            snippet(ctx.text(left)),
            first.shown(),
            snippet(ctx.text(right)),
            second.shown()
        );
        let report = ctx
            .report(&OPERAND_DTYPE, expression, message)
            .why(ctx.why(right))
            .help("convert one of the two with `tf.cast`");
        match [left, right].into_iter().any(|value| is_dtype_of_argument(ctx, value, MAX_STEPS)) {
            true => report.severity(Severity::Warning).emit(),
            false => report.emit(),
        }
    }
}

fn requires_same(operator: Operator) -> bool {
    is_arithmetic(operator) || operator == Operator::MatMult
}

/// Returns whether the file changes how TensorFlow converts operands: `tf.experimental.numpy.experimental_enable_numpy_behavior()`.
fn promotes(ctx: &FunctionContext) -> bool {
    let text = text(ctx.db, ctx.document);
    ["enable_numpy_behavior", "experimental.numpy", "mixed_precision"]
        .iter()
        .any(|it| text.as_str().contains(it))
}

type Typed<'a> = (&'a Expr, Known);

/// The dtype of a Tensor, as far as it is known.
#[derive(Clone, Copy)]
enum Known {
    DType(DType),
    Floating,
}

impl Known {
    fn differs(self, other: Self) -> bool {
        match (self, other) {
            (Self::DType(one), Self::DType(other)) => one != other,
            (Self::DType(exact), Self::Floating) | (Self::Floating, Self::DType(exact)) => {
                exact.is_integer() || matches!(exact, DType::Bool | DType::String)
            }
            (Self::Floating, Self::Floating) => false,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::DType(dtype) => format!("of dtype {}", dtype.as_str()),
            Self::Floating => "of floating-point dtype".to_owned(),
        }
    }
}

/// Returns the dtype of a Tensor that is certainly one of TensorFlow.
fn dtype(ctx: &FunctionContext, value: &Expr) -> Option<Known> {
    let fact = ctx.fact(value);
    match fact.alternatives.as_slice() {
        [Alternative::Tensor { kind: TensorKind::Tensor, dtype, library: Library::Tensorflow }]
            if !fact.unknown =>
        {
            match dtype {
                Some(dtype) => Some(Known::DType(*dtype)),
                None => is_floating(ctx, value, MAX_STEPS).then_some(Known::Floating),
            }
        }
        _ => None,
    }
}

/// Returns whether a Tensor has the dtype of an argument of a root: `tf.repeat(ids, 2)`. Other callers may pass another
/// dtype, unless an `input_signature` or an annotation declares it.
fn is_dtype_of_argument(ctx: &FunctionContext, value: &Expr, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let is_any = |values: &[&Expr]| values.iter().any(|value| is_dtype_of_argument(ctx, value, steps));
    match value {
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            definitions.iter().any(|definition| match definition.kind {
                DefKind::Parameter(position) => {
                    let parameter = ctx.stage.parameters.get(position.into());
                    callers::is_called_by_users(ctx.stage)
                        && !ctx.stage.options.input_signature
                        && parameter.is_some_and(|parameter| parameter.source == Source::CallSites)
                }
                DefKind::Assign => definition
                    .value
                    .and_then(|range| ctx.expression_at(range))
                    .is_some_and(|value| is_any(&[value])),
                _ => false,
            })
        }
        Expr::UnaryOp(operation) => is_any(&[&operation.operand]),
        Expr::BinOp(operation) => is_any(&[&operation.left, &operation.right]),
        Expr::Subscript(subscript) => is_any(&[&subscript.value]),
        Expr::Attribute(attribute) => is_any(&[&attribute.value]),
        // Operations such as `tf.cast(x, tf.int32)` and `tf.range(n, dtype=tf.int64)` determine the dtype.
        Expr::Call(call) => {
            let keeps = ctx.resolve(&call.func).is_some_and(|name| {
                KEEPING.iter().any(|function| name.strip_prefix("tensorflow.") == Some(function))
            });
            keeps
                && call.arguments.find_keyword("dtype").is_none()
                && call.arguments.args.first().is_some_and(|first| is_any(&[first]))
        }
        _ => false,
    }
}

/// Returns whether a Tensor of unknown dtype has a floating-point or complex dtype, because of the operation that
/// computes it: `tf.nn.softmax(x)`, `-tf.math.log(x)`, `tf.reduce_sum(tf.exp(x))`.
fn is_floating(ctx: &FunctionContext, value: &Expr, steps: usize) -> bool {
    let Some(steps) = steps.checked_sub(1) else { return false };
    let is_floating = |value: &Expr| is_floating(ctx, value, steps);
    match value {
        Expr::UnaryOp(operation) => is_floating(&operation.operand),
        Expr::BinOp(operation) => is_floating(&operation.left) || is_floating(&operation.right),
        Expr::Name(name) => {
            let definitions = ctx.flow.definitions_of(name.range(), &QName::from(&name.id));
            let [definition] = definitions.as_slice() else { return false };
            definition.kind == DefKind::Assign
                && definition.value.and_then(|range| ctx.expression_at(range)).is_some_and(is_floating)
        }
        Expr::Call(call) => {
            let Some(name) = ctx.resolve(&call.func) else { return false };
            let Some(function) = name.strip_prefix("tensorflow.") else { return false };
            let keeps =
                matches!(function, "reduce_sum" | "reduce_mean" | "reduce_max" | "reduce_min" | "identity");
            FLOATING.contains(&function)
                || function.ends_with("_cross_entropy_with_logits")
                || keeps && call.arguments.args.first().is_some_and(is_floating)
        }
        _ => false,
    }
}

/// Returns the first two values with different dtypes.
fn different<'a>(
    ctx: &FunctionContext,
    values: impl IntoIterator<Item = &'a Expr>,
) -> Option<(Typed<'a>, Typed<'a>)> {
    let mut known = values.into_iter().filter_map(|value| Some((value, dtype(ctx, value)?)));
    let first = known.next()?;
    known.find(|(_, dtype)| dtype.differs(first.1)).map(|other| (first, other))
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
