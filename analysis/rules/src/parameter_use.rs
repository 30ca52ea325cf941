//! How a function uses a parameter that is assumed to be a Tensor only because nothing else is known about it.

use ruff_python_ast::name::Name;
use ruff_python_ast::{self as ast, CmpOp, Expr, Operator};

use super::FunctionContext;
use super::callers::MAX_CALLERS;
use super::path_certainty;
use ag_db::diagnostic::Diagnostic;
use ag_index::answers::Target;
use ag_index::assumptions::{Parameter, Source};
use ag_index::dialect::RootKind;
use ag_staging::queries;

/// Functions of the frameworks that accept Python numbers and sequences besides Tensors.
const ACCEPT_NUMBERS: [&str; 20] = [
    "Variable",
    "arange",
    "array",
    "as_tensor",
    "asarray",
    "broadcast_to",
    "cast",
    "constant",
    "convert_to_tensor",
    "empty",
    "eye",
    "full",
    "is_tensor",
    "linspace",
    "ones",
    "print",
    "range",
    "tensor",
    "tree_map",
    "zeros",
];

/// Modules whose functions take structures of Tensors.
const OF_STRUCTURES: [&str; 4] = [".data.", ".nest.", ".tree.", ".tree_util."];

/// Functions that take Tensors or structures of Tensors. Most of them pass the parts of a structure to another
/// function.
const ACCEPT_STRUCTURES: [&str; 13] = [
    "associative_scan",
    "block_until_ready",
    "cond",
    "device_get",
    "device_put",
    "foldl",
    "foldr",
    "map_fn",
    "scan",
    "switch",
    "unpack_x_y_sample_weight",
    "vectorized_map",
    "while_loop",
];

/// Attributes of Tensors that numbers, sequences and dictionaries do not have.
const TENSOR_ATTRIBUTES: [&str; 34] = [
    "T",
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "astype",
    "at",
    "clone",
    "cpu",
    "cuda",
    "detach",
    "device",
    "dim",
    "dtype",
    "flatten",
    "item",
    "max",
    "mean",
    "min",
    "ndim",
    "norm",
    "numpy",
    "permute",
    "requires_grad",
    "reshape",
    "shape",
    "size",
    "squeeze",
    "std",
    "sum",
    "to",
    "tolist",
    "view",
];

/// Returns whether only Tensors and arrays have an attribute: `x.sum`.
pub(super) fn is_of_tensor(attribute: &ast::ExprAttribute) -> bool {
    TENSOR_ATTRIBUTES.contains(&attribute.attr.as_str())
}

/// Methods that only containers have: `x.items()`.
const CONTAINER_METHODS: [&str; 5] = ["append", "get", "items", "keys", "values"];

/// Returns whether a diagnostic depends on a parameter that is only assumed to be a Tensor, and that the body does not
/// use as a Tensor: `if decay > 0:` in a function that may be called with a number. The arguments of a layer may be
/// numbers, too, except for the first one: `def call(self, x, width)`.
pub(super) fn depends_on_unconfirmed_tensor(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    let assumed = |parameter: &Parameter| {
        parameter.source == Source::Assumption
            && parameter.why.iter().any(|step| diagnostic.why.contains(step))
    };
    let unconfirmed = ctx.stage.parameters.iter().enumerate().any(|(position, parameter)| {
        assumed(parameter) && may_be_number(ctx, position) && !is_used_as_tensor(ctx, &parameter.name)
    });
    unconfirmed || depends_on_flag(ctx, diagnostic) || depends_on_annotated_flag(ctx, diagnostic)
}

/// Returns whether callers of this root may pass a Python number for a parameter without annotation.
pub(super) fn may_be_number(ctx: &FunctionContext, position: usize) -> bool {
    // `jax.jit` traces numbers, TorchScript requires annotations for them, and libraries call the other roots
    // with Tensors.
    let takes_numbers = matches!(
        ctx.stage.root,
        Some(
            RootKind::Function
                | RootKind::Convert
                | RootKind::TorchCompile
                | RootKind::TorchExport
                | RootKind::TorchFx
                | RootKind::Configured
        )
    );
    takes_numbers || may_be_option(ctx, position)
}

/// Returns whether a diagnostic depends on a parameter that is used as a flag although it is annotated as a Tensor.
/// Such a parameter receives the second or a later argument of a Keras method, or has a `bool` as its default.
///
/// ```python
/// def call(self, x: tf.Tensor, mask: tf.Tensor, return_weights: tf.Tensor = False):
///     if return_weights: …
/// ```
fn depends_on_annotated_flag(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    let parameters = ctx.stage.parameters.iter().enumerate();
    let mut annotated = parameters.filter(|(_, parameter)| {
        parameter.source == Source::Annotation
            && parameter.why.iter().any(|step| diagnostic.why.contains(step))
    });
    annotated.any(|(position, parameter)| {
        (is_later(ctx, position) || has_bool_default(ctx, &parameter.name))
            && !is_used_as_tensor(ctx, &parameter.name)
            && !is_compared(ctx, &parameter.name)
    })
}

/// Returns whether a parameter may receive an option of a layer, because it is the second or a later one: `width` in
/// `call(self, x, width)`. Two methods are excluded, because Keras itself passes two Tensors to them:
/// `call(self, y_true, y_pred)` of a loss, and `update_state` of a metric.
fn may_be_option(ctx: &FunctionContext, position: usize) -> bool {
    let of_loss = ctx.stage.parameters.iter().any(|parameter| parameter.name == "y_true");
    is_later(ctx, position) && ctx.def().name.as_str() == "call" && !of_loss
}

/// Returns whether a parameter is the second or a later parameter of a Keras method, not counting `self`.
fn is_later(ctx: &FunctionContext, position: usize) -> bool {
    position >= 2 && ctx.stage.root == Some(RootKind::KerasMethod)
}

fn has_bool_default(ctx: &FunctionContext, parameter: &Name) -> bool {
    let declared = ctx.def().parameters.iter().find(|declared| declared.name().id == *parameter);
    declared.and_then(|declared| declared.default()).is_some_and(Expr::is_boolean_literal_expr)
}

/// Returns whether the body compares the parameter, or a value computed from it, with another value: `if step > 0:`.
fn is_compared(ctx: &FunctionContext, parameter: &Name) -> bool {
    ctx.expressions().into_iter().any(|expression| {
        let Expr::Compare(compare) = expression else { return false };
        let is_identity = compare.ops.iter().all(|op| matches!(op, CmpOp::Is | CmpOp::IsNot));
        !is_identity && computes(expression, parameter)
    })
}

/// Returns whether a diagnostic depends on a parameter that is tested as a flag and that receives the second or a later
/// argument of a Keras method, which may be a `bool`:
///
/// ```python
/// def attend(self, x, with_weights):
///     if with_weights: …                            # here
///
/// def call(self, x, with_weights):
///     return self.attend(x, with_weights)
/// ```
fn depends_on_flag(ctx: &FunctionContext, diagnostic: &Diagnostic) -> bool {
    let parameters = ctx.stage.parameters.iter().filter(|parameter| parameter.source == Source::CallSites);
    parameters
        .filter(|parameter| parameter.why.iter().any(|step| diagnostic.why.contains(step)))
        .any(|parameter| !is_used_as_tensor(ctx, &parameter.name) && is_flag_of_keras(ctx, &parameter.name))
}

/// Returns whether the parameter receives the second or a later argument of a Keras method. The calls between that
/// method and this function must pass the argument on unchanged.
fn is_flag_of_keras(ctx: &FunctionContext, parameter: &Name) -> bool {
    let mut callee = Target { document: ctx.document, path: ctx.path.clone(), bound: false };
    let (mut stage, mut name) = (ctx.stage, parameter.clone());
    for _ in 0..MAX_CALLERS {
        if stage.root.is_some() {
            let mut later = stage.parameters.iter().skip(2);
            return stage.root == Some(RootKind::KerasMethod)
                && later.any(|own| own.name == name && own.source != Source::Annotation);
        }
        let Some((caller, value)) = path_certainty::argument(ctx.db, stage, &callee, &name) else {
            return false;
        };
        let (Some(passed), Some(caller_stage)) =
            (value.as_name_expr(), queries::stage(ctx.db, caller).as_ref())
        else {
            return false;
        };
        callee =
            Target { document: caller.document(ctx.db), path: caller.path(ctx.db).clone(), bound: false };
        (stage, name) = (caller_stage, passed.id.clone());
    }
    false
}

/// Returns whether an expression of the body treats the parameter as a Tensor: `torch.sin(x)`, `x.shape`, `x @ w`,
/// `x[:, 0]`, `self.layer(x)`.
pub(super) fn is_used_as_tensor(ctx: &FunctionContext, parameter: &Name) -> bool {
    ctx.expressions().into_iter().any(|expression| match expression {
        Expr::Call(call) => {
            let tensors = match ctx.resolve(&call.func) {
                Some(name) => is_of_framework(&name),
                None => is_layer(&call.func),
            };
            tensors && call.arguments.args.iter().any(|argument| computes(argument, parameter))
        }
        Expr::Attribute(attribute) => is(&attribute.value, parameter) && is_of_tensor(attribute),
        Expr::BinOp(ast::ExprBinOp { left, op: Operator::MatMult, right, .. }) => {
            computes(left, parameter) || computes(right, parameter)
        }
        Expr::Subscript(subscript) => {
            is(&subscript.value, parameter)
                && subscript.slice.as_tuple_expr().is_some_and(|tuple| {
                    tuple.elts.iter().any(|element| {
                        element.is_slice_expr()
                            || element.is_ellipsis_literal_expr()
                            || element.is_none_literal_expr()
                    })
                })
        }
        _ => false,
    })
}

/// Returns whether the body treats the parameter as a container of values: `f(*x)`, `x.items()`, `x["key"]`,
/// `{k: x[k] for k in x}`.
pub(super) fn is_container(ctx: &FunctionContext, parameter: &Name) -> bool {
    ctx.expressions().into_iter().any(|expression| match expression {
        Expr::Starred(starred) => is(&starred.value, parameter),
        Expr::Call(call) => call
            .arguments
            .keywords
            .iter()
            .any(|keyword| keyword.arg.is_none() && is(&keyword.value, parameter)),
        Expr::Attribute(attribute) => {
            is(&attribute.value, parameter) && CONTAINER_METHODS.contains(&attribute.attr.as_str())
        }
        Expr::Subscript(subscript) => {
            is(&subscript.value, parameter) && subscript.slice.is_string_literal_expr()
        }
        Expr::DictComp(comprehension) => comprehension.generators.iter().any(|generator| {
            is(&generator.iter, parameter) && is_key(&generator.target, comprehension.key.as_deref())
        }),
        _ => false,
    })
}

/// Returns whether `key` is the loop variable of a comprehension.
fn is_key(target: &Expr, key: Option<&Expr>) -> bool {
    target.as_name_expr().is_some_and(|name| key.is_some_and(|key| is(key, &name.id)))
}

fn is(expression: &Expr, parameter: &Name) -> bool {
    expression.as_name_expr().is_some_and(|name| name.id == *parameter)
}

/// Returns whether an expression is the parameter, or arithmetic on it.
fn computes(expression: &Expr, parameter: &Name) -> bool {
    match expression {
        Expr::BinOp(operation) => {
            computes(&operation.left, parameter) || computes(&operation.right, parameter)
        }
        Expr::UnaryOp(operation) => computes(&operation.operand, parameter),
        Expr::Compare(compare) => {
            computes(&compare.left, parameter)
                || compare.comparators.iter().any(|side| computes(side, parameter))
        }
        _ => is(expression, parameter),
    }
}

fn is_of_framework(name: &str) -> bool {
    let (package, function) = (name.split('.').next(), name.rsplit('.').next());
    matches!(package, Some("torch" | "tensorflow" | "jax" | "keras" | "tf_keras"))
        && !OF_STRUCTURES.iter().any(|module| name.contains(module))
        && function.is_some_and(|function| {
            !ACCEPT_NUMBERS.contains(&function) && !ACCEPT_STRUCTURES.contains(&function)
        })
}

/// Returns whether a callee may be a layer, which takes Tensors: `self.layer`, `self.layers[0]`, `layer`.
fn is_layer(function: &Expr) -> bool {
    match function {
        Expr::Attribute(attribute) => is_layer(&attribute.value),
        Expr::Subscript(subscript) => is_layer(&subscript.value),
        Expr::Name(name) => name.id == "self",
        _ => false,
    }
}
