//! Results of functions without side effects that a program does not use.

use ruff_python_ast::helpers::map_callable;
use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{self as ast, Expr, Stmt};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::uses_jax;
use crate::tracing::snippet;
use ag_db::text;

declare_rule! {
    /// ## What it does
    /// Reports statements that call a function or method without side effects, and do not use its result: updates such
    /// as `x.at[i].set(v)`, `optax.apply_updates(params, updates)` and `state.replace(step=1)`, functions of
    /// `jax.numpy` that compute an array from others, `jax.random.split(key)`, and `equinox.error_if(x, test, text)`.
    ///
    /// ## Why is this bad?
    /// JAX arrays do not change in place, and neither do the objects of its libraries. The call has no effect: the
    /// parameters are not updated, the key is used twice. `jax.jit` removes checks whose results are not used.
    ///
    /// Calls under `try` and `pytest.raises`, which test that they raise an exception, are not reported, nor are calls
    /// that end a cell of a notebook, which shows the result.
    ///
    /// ## Example
    /// ```python
    /// import jax.numpy as jnp
    ///
    /// counts = jnp.zeros(4)
    /// counts.at[1].add(1.0)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax.numpy as jnp
    ///
    /// counts = jnp.zeros(4)
    /// counts = counts.at[1].add(1.0)
    /// ```
    pub(crate) static JAX_UNUSED_RESULT = {
        code: "AG554", name: "jax-unused-result",
        summary: "a statement has no effect, because the result of a function of JAX is not used",
        severity: Warning, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(uses_jax, check),
    }
}

/// Functions without side effects, outside of `jax.numpy`.
const PURE: [&str; 24] = [
    "equinox.apply_updates",
    "equinox.combine",
    "equinox.filter",
    "equinox.partition",
    "equinox.nn.inference_mode",
    "equinox.tree_at",
    "equinox.tree_inference",
    "flax.core.freeze",
    "flax.core.unfreeze",
    "flax.traverse_util.flatten_dict",
    "flax.traverse_util.unflatten_dict",
    "jax.device_get",
    "jax.lax.dynamic_update_index_in_dim",
    "jax.lax.dynamic_update_slice",
    "jax.lax.pmean",
    "jax.lax.psum",
    "jax.lax.stop_gradient",
    "jax.lax.with_sharding_constraint",
    "jax.random.fold_in",
    "jax.random.split",
    "optax.apply_updates",
    "optax.global_norm",
    "optax.incremental_update",
    "optax.periodic_update",
];

/// Functions that return their argument, and raise an exception when the returned value is computed.
const CHECKS: [&str; 2] = ["equinox.branched_error_if", "equinox.error_if"];

/// Functions of `jax.numpy` that compute an array from others. Programs call functions that create arrays, and matrix
/// products, to measure them or to start the device.
const ARRAY_FUNCTIONS: [&str; 34] = [
    "abs",
    "add",
    "append",
    "astype",
    "clip",
    "concatenate",
    "cumsum",
    "delete",
    "divide",
    "exp",
    "expand_dims",
    "flip",
    "hstack",
    "insert",
    "log",
    "maximum",
    "mean",
    "minimum",
    "multiply",
    "nan_to_num",
    "power",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "sort",
    "sqrt",
    "squeeze",
    "stack",
    "subtract",
    "swapaxes",
    "transpose",
    "vstack",
    "where",
];

/// The methods of `x.at[i]`.
const UPDATES: [&str; 10] =
    ["add", "apply", "divide", "max", "min", "mul", "multiply", "power", "set", "subtract"];

fn check(ctx: &FileContext) {
    let source = text(ctx.db, ctx.document);
    let cells = source.as_notebook().map(|notebook| notebook.cell_offsets());
    let suite = ctx.parsed.suite();
    for (index, statement) in suite.iter().enumerate() {
        let next = suite.get(index + 1).map(Ranged::start);
        let ends_cell = cells.is_some_and(|offsets| {
            next.is_none_or(|next| offsets.iter().any(|it| (statement.end()..=next).contains(it)))
        });
        if !(ends_cell && statement.is_expr_stmt()) {
            Statements { ctx }.visit_stmt(statement);
        }
    }
}

struct Statements<'c, 'a> {
    ctx: &'c FileContext<'a>,
}

impl<'a> SourceOrderVisitor<'a> for Statements<'_, 'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Try(_) => return,
            Stmt::With(with) if with.items.iter().any(expects_exception) => return,
            Stmt::Expr(expression) => {
                if let Expr::Call(call) = &*expression.value
                    && let Some(help) = effect(self.ctx, call)
                {
                    let function = snippet(self.ctx.text(&*call.func));
                    self.ctx
                        .report(&JAX_UNUSED_RESULT, call, format!("the result of `{function}` is not used"))
                        .help(help)
                        .emit();
                }
                return;
            }
            _ => {}
        }
        source_order::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, _: &'a Expr) {}
}

/// Returns whether a context manager tests that its block raises an exception: `pytest.raises(TypeError)`.
fn expects_exception(item: &ast::WithItem) -> bool {
    let function = map_callable(&item.context_expr);
    let name = match function {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return false,
    };
    let name = name.to_lowercase();
    ["raises", "warns", "suppress"].iter().any(|word| name.contains(word))
}

/// Returns what a program should do with the result of a call that has no effect of its own.
fn effect(ctx: &FileContext, call: &ast::ExprCall) -> Option<&'static str> {
    const ASSIGN: &str = "assign the result: the call does not change its arguments";
    if let Some(name) = ctx.resolve(&call.func) {
        let name: &str = &name;
        return if CHECKS.contains(&name) {
            Some("use the result instead of the argument: `jax.jit` removes a check whose result is not used")
        } else if PURE.contains(&name) || is_array_function(name) {
            Some(ASSIGN)
        } else {
            None
        };
    }
    let method = call.func.as_attribute_expr()?;
    let name = method.attr.as_str();
    let keywords = &call.arguments.keywords;
    let is_update = UPDATES.contains(&name)
        && method.value.as_subscript_expr().is_some_and(|item| {
            item.value.as_attribute_expr().is_some_and(|attribute| attribute.attr.as_str() == "at")
        });
    // `str.replace` has positional arguments, and `DataFrame.replace` may change the object.
    let replaces = name == "replace"
        && call.arguments.args.is_empty()
        && !keywords.is_empty()
        && keywords.iter().all(|it| it.arg.as_ref().is_some_and(|name| name != "inplace"))
        && (ctx.imports.uses("flax") || ctx.imports.uses("chex"));
    // `TrainState.apply_gradients`; optimizers of Keras change the variables.
    let applies = name == "apply_gradients"
        && keywords.iter().any(|it| it.arg.as_ref().is_some_and(|name| name == "grads"))
        && ctx.imports.uses("flax");
    (is_update || replaces || applies).then_some(ASSIGN)
}

fn is_array_function(name: &str) -> bool {
    name.strip_prefix("jax.numpy.").is_some_and(|own| ARRAY_FUNCTIONS.contains(&own))
}
