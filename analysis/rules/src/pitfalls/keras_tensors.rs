//! The names of a scope that are bound only to symbolic tensors of a functional Keras model.
//!
//! ```python
//! inputs = keras.Input((8,))
//! dense = keras.layers.Dense(4)
//! x = dense(inputs)              # symbolic
//! x = keras.ops.relu(x) + 1.0    # symbolic
//! ```

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt, UnaryOp};
use rustc_hash::FxHashSet;

use super::bindings::Bindings;
use super::keras_ranks::returns_several;
use crate::FileContext;
use ag_syntax::expressions;

/// Deeper expressions are not followed.
const MAX_DEPTH: usize = 32;

pub(super) struct KerasTensors<'c, 'a> {
    ctx: &'c FileContext<'a>,
    /// Names that are bound only to symbolic tensors.
    tensors: FxHashSet<&'a str>,
    /// Names that are bound only to layers with one result.
    layers: FxHashSet<&'a str>,
    /// All names that the scope binds.
    bound: FxHashSet<&'a str>,
}

impl<'c, 'a> KerasTensors<'c, 'a> {
    /// The tensors and layers of a scope. `symbolic` lists the parameters that are symbolic tensors, `parameters` the
    /// others.
    pub(super) fn of_scope(
        ctx: &'c FileContext<'a>,
        body: &'a [Stmt],
        parameters: &[&'a str],
        symbolic: &[&'a str],
    ) -> Self {
        let mut bindings = Bindings::of_scope(body, parameters);
        for name in symbolic {
            bindings.values.entry(name).or_default();
        }
        std::mem::take(&mut bindings.loops).into_iter().for_each(|node| bindings.forget(&node.target));
        let bound = bindings.values.keys().chain(&bindings.others).copied().collect();
        let of_one_kind = |name: &&&'a str| !bindings.others.contains(**name);
        let layers = bindings.values.iter().filter(|(name, _)| of_one_kind(name));
        let layers = layers
            .filter(|(_, values)| !values.is_empty() && values.iter().all(|value| is_layer(ctx, value)));
        let mut found = Self {
            ctx,
            layers: layers.map(|(name, _)| *name).collect(),
            tensors: bindings.values.keys().filter(of_one_kind).copied().collect(),
            bound,
        };
        // A name is symbolic only if all its values are.
        loop {
            let is_other = |name: &&&'a str| {
                bindings.values.get(**name).into_iter().flatten().any(|value| !found.is_symbolic(value, 0))
            };
            let Some(name) = found.tensors.iter().find(is_other).copied() else { return found };
            found.tensors.remove(name);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Whether an expression is a symbolic tensor.
    pub(super) fn contains(&self, expression: &Expr) -> bool {
        self.is_symbolic(expression, 0)
    }

    /// Whether the name of a builtin still refers to that builtin.
    pub(super) fn is_builtin(&self, name: &str) -> bool {
        !self.bound.contains(name) && self.ctx.imports.get(name).is_none()
    }

    fn is_symbolic(&self, expression: &Expr, depth: usize) -> bool {
        if depth > MAX_DEPTH {
            return false;
        }
        let is_symbolic = |expression: &Expr| self.is_symbolic(expression, depth + 1);
        match expression {
            Expr::Name(name) => self.tensors.contains(name.id.as_str()),
            Expr::BinOp(operation) => is_symbolic(&operation.left) || is_symbolic(&operation.right),
            Expr::UnaryOp(operation) => operation.op != UnaryOp::Not && is_symbolic(&operation.operand),
            Expr::Compare(compare) => {
                let is_order = |op: &CmpOp| matches!(op, CmpOp::Lt | CmpOp::LtE | CmpOp::Gt | CmpOp::GtE);
                matches!(&*compare.ops, [op] if is_order(op))
                    && (is_symbolic(&compare.left) || compare.comparators.iter().any(is_symbolic))
            }
            Expr::Subscript(item) => is_symbolic(&item.value),
            Expr::Call(call) => self.is_symbolic_call(call, &is_symbolic),
            _ => false,
        }
    }

    fn is_symbolic_call(&self, call: &ast::ExprCall, is_symbolic: &dyn Fn(&Expr) -> bool) -> bool {
        let arguments = &call.arguments;
        if returns_several(self.ctx, call) {
            return false;
        }
        let takes_tensor = || {
            let holds = |argument: &Expr| {
                is_symbolic(argument) || expressions::elements(argument).iter().any(is_symbolic)
            };
            arguments.args.first().is_some_and(holds)
        };
        match call.func.as_ref() {
            // `keras.layers.Dense(4)(x)`
            layer @ Expr::Call(_) => is_layer(self.ctx, layer) && takes_tensor(),
            Expr::Name(name) if self.layers.contains(name.id.as_str()) => takes_tensor(),
            callee => self.ctx.resolve(callee).is_some_and(|name| {
                matches!(name.as_str(), "keras.Input" | "keras.layers.Input" | "keras.KerasTensor")
                    && arguments.find_keyword("tensor").is_none()
                    || name.strip_prefix("keras.ops.").is_some_and(returns_one_tensor) && takes_tensor()
                    // `x = tf.reshape(x, …)`, which Keras 3 rejects and Keras 2 converts to a layer.
                    || name.strip_prefix("tensorflow.").is_some_and(keeps_tensor) && takes_tensor()
            }),
        }
    }
}

/// Whether a function of TensorFlow, applied to a tensor of a functional model, returns such a tensor.
fn keeps_tensor(function: &str) -> bool {
    const FUNCTIONS: [&str; 14] = [
        "cast",
        "concat",
        "exp",
        "expand_dims",
        "identity",
        "pad",
        "reduce_max",
        "reduce_mean",
        "reduce_sum",
        "reshape",
        "sqrt",
        "squeeze",
        "tile",
        "transpose",
    ];
    FUNCTIONS.contains(&function) || function.starts_with("nn.") || function.starts_with("image.")
}

/// Whether the result of a function of `keras.ops` is one tensor.
fn returns_one_tensor(function: &str) -> bool {
    const OTHER_RESULTS: [&str; 14] = [
        "shape",
        "ndim",
        "size",
        "is_tensor",
        "split",
        "unstack",
        "moments",
        "top_k",
        "meshgrid",
        "qr",
        "svd",
        "eigh",
        "cond",
        "while_loop",
    ];
    !OTHER_RESULTS.contains(&function)
}

/// Whether a value is a call that creates a layer with one result.
fn is_layer(ctx: &FileContext, value: &Expr) -> bool {
    const OTHER_LAYERS: [&str; 4] = ["Input", "InputLayer", "Lambda", "RNN"];
    let Some(call) = value.as_call_expr().filter(|call| !returns_several(ctx, call)) else { return false };
    ctx.resolve(&call.func).is_some_and(|name| {
        name.strip_prefix("keras.layers.").is_some_and(|layer| {
            layer.starts_with(|letter: char| letter.is_ascii_uppercase()) && !OTHER_LAYERS.contains(&layer)
        })
    })
}
