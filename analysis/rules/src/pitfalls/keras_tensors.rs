//! The names of a scope that are bound to symbolic tensors of a functional Keras model, and to nothing else.
//!
//! ```python
//! inputs = keras.Input((8,))
//! dense = keras.layers.Dense(4)
//! x = dense(inputs)              # symbolic
//! x = keras.ops.relu(x) + 1.0    # symbolic
//! x = block(x, 8)                # symbolic if `block` of this file returns such a tensor
//! ```

use std::cell::RefCell;
use std::rc::Rc;

use ruff_python_ast::{self as ast, CmpOp, Expr, Stmt, UnaryOp};
use ruff_text_size::{Ranged, TextSize};
use rustc_hash::{FxHashMap, FxHashSet};

use super::bindings::Bindings;
use super::keras_ranks::returns_several;
use crate::FileContext;
use ag_syntax::{expressions, statements};

/// The maximum depth of expressions that are followed.
const MAX_DEPTH: usize = 32;

/// Results of calls of the file's functions. The key is the start of the function, and the names of its parameters that
/// are symbolic tensors in the call. The value is whether the call returns a symbolic tensor; it is `false` while the
/// function is being examined.
type Returns<'a> = Rc<RefCell<FxHashMap<(TextSize, Vec<&'a str>), bool>>>;

pub(super) struct KerasTensors<'c, 'a> {
    ctx: &'c FileContext<'a>,
    returns: Returns<'a>,
    /// The names that are bound only to symbolic tensors.
    tensors: FxHashSet<&'a str>,
    /// The names that are bound only to layers with a single result.
    layers: FxHashSet<&'a str>,
    /// All names that the scope binds.
    bound: FxHashSet<&'a str>,
    /// Whether the scope is the module. Then the names that it binds include its functions.
    is_module: bool,
}

impl<'c, 'a> KerasTensors<'c, 'a> {
    /// Returns the tensors and layers of a scope. `symbolic` are the parameters that are symbolic tensors, `parameters`
    /// are the other parameters.
    pub(super) fn of_scope(
        ctx: &'c FileContext<'a>,
        body: &'a [Stmt],
        parameters: &[&'a str],
        symbolic: &[&'a str],
    ) -> Self {
        Self::of_scope_with(ctx, body, parameters, symbolic, Returns::default())
    }

    fn of_scope_with(
        ctx: &'c FileContext<'a>,
        body: &'a [Stmt],
        parameters: &[&'a str],
        symbolic: &[&'a str],
        returns: Returns<'a>,
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
            returns,
            is_module: std::ptr::eq(body, ctx.parsed.suite().as_slice()),
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

    /// Returns whether an expression is a symbolic tensor.
    pub(super) fn contains(&self, expression: &Expr) -> bool {
        self.is_symbolic(expression, 0)
    }

    /// Returns whether a name still refers to the builtin.
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
            Expr::Name(name) if self.returns_tensor(name, call, is_symbolic) => true,
            callee => self.ctx.resolve(callee).is_some_and(|name| {
                matches!(name.as_str(), "keras.Input" | "keras.layers.Input" | "keras.KerasTensor")
                    && arguments.find_keyword("tensor").is_none()
                    || name.strip_prefix("keras.ops.").is_some_and(returns_one_tensor) && takes_tensor()
                    // Keras 3 rejects `x = tf.reshape(x, …)`, and Keras 2 converts it to a layer.
                    || name.strip_prefix("tensorflow.").is_some_and(keeps_tensor) && takes_tensor()
                    // `x = np.tanh(x)` raises an exception.
                    || name.strip_prefix("numpy.").is_some_and(raises) && takes_tensor()
            }),
        }
    }

    /// Returns whether this call of a function of the file returns a symbolic tensor:
    /// `def block(x): return Dense(4)(x)`.
    fn returns_tensor(
        &self,
        name: &ast::ExprName,
        call: &ast::ExprCall,
        is_symbolic: &dyn Fn(&Expr) -> bool,
    ) -> bool {
        let is_local = self.bound.contains(name.id.as_str()) && !self.is_module;
        if is_local || call.arguments.args.iter().any(Expr::is_starred_expr) {
            return false;
        }
        let mut defs = self.ctx.parsed.suite().iter().filter_map(Stmt::as_function_def_stmt);
        let Some(def) = defs.find(|def| def.name.id == name.id) else { return false };
        if defs.any(|other| other.name.id == name.id) || !def.decorator_list.is_empty() || def.is_async {
            return false;
        }
        let positional = def.parameters.posonlyargs.iter().chain(&def.parameters.args);
        let mut symbolic: Vec<&'a str> = positional
            .zip(&call.arguments.args)
            .filter(|(_, argument)| is_symbolic(argument))
            .map(|(parameter, _)| parameter.name().as_str())
            .collect();
        let named = call.arguments.keywords.iter().filter(|keyword| is_symbolic(&keyword.value));
        let named: Vec<&str> =
            named.filter_map(|keyword| keyword.arg.as_ref()).map(|it| it.as_str()).collect();
        let parameters: Vec<&'a str> = def.parameters.iter().map(|it| it.name().as_str()).collect();
        symbolic.extend(parameters.iter().filter(|parameter| named.contains(parameter)));
        if symbolic.is_empty() {
            return false;
        }
        let key = (def.start(), symbolic.clone());
        if let Some(known) = self.returns.borrow().get(&key) {
            return *known;
        }
        self.returns.borrow_mut().insert(key.clone(), false);
        let others: Vec<&str> = parameters.into_iter().filter(|name| !symbolic.contains(name)).collect();
        let tensors =
            KerasTensors::of_scope_with(self.ctx, &def.body, &others, &symbolic, Rc::clone(&self.returns));
        let yields = expressions::of_function(def)
            .into_iter()
            .any(|expression| matches!(expression, Expr::Yield(_) | Expr::YieldFrom(_)));
        let mut returned =
            statements::of_function(def).into_iter().filter_map(Stmt::as_return_stmt).peekable();
        let result = !yields
            && returned.peek().is_some()
            && returned.all(|node| node.value.as_deref().is_some_and(|value| tensors.contains(value)));
        self.returns.borrow_mut().insert(key, result);
        result
    }
}

/// Returns whether a function of NumPy raises an exception for a tensor of a functional model.
pub(super) fn raises(function: &str) -> bool {
    !function.contains('.') && !matches!(function, "shape" | "ndim" | "iterable" | "isscalar")
}

/// Returns whether a function of TensorFlow returns a tensor of a functional model if its argument is one.
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

/// Returns whether the result of a function of `keras.ops` is a single tensor.
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

/// Returns whether a value is a call that creates a layer with a single result.
fn is_layer(ctx: &FileContext, value: &Expr) -> bool {
    const OTHER_LAYERS: [&str; 4] = ["Input", "InputLayer", "Lambda", "RNN"];
    let Some(call) = value.as_call_expr().filter(|call| !returns_several(ctx, call)) else { return false };
    ctx.resolve(&call.func).is_some_and(|name| {
        name.strip_prefix("keras.layers.").is_some_and(|layer| {
            layer.starts_with(|letter: char| letter.is_ascii_uppercase()) && !OTHER_LAYERS.contains(&layer)
        })
    })
}
