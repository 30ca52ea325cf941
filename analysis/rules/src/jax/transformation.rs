//! Arguments that the transformations of JAX reject.

use ruff_python_ast::{self as ast, Expr};
use ruff_text_size::Ranged;

use super::super::FileContext;
use super::super::declare::declare_rule;
use super::abstract_value::{DType, Value};
use super::evaluate::Evaluator;
use super::function_transforms::Axes;
use super::obstacles;
use super::transformed::{self, Transformed};
use super::{Fault, axes, axis_names, is_of_interest, jit_options};
use crate::program::{Bound, ScopeId};
use ag_db::diagnostic::Severity;
use ag_index::callbacks::argument;
use ag_syntax::functions::is_generator;

declare_rule! {
    /// ## What it does
    /// Reports calls of transformations with arguments that they reject:
    ///
    /// - the result of a function instead of the function: `jax.jit(f(x))`, and generator functions
    /// - `static_argnames` and `static_argnums` that name no parameter, or a donated parameter
    /// - `in_axes` and `out_axes` of `jax.vmap` and `jax.pmap` that do not fit the function, its arguments or its
    ///   result, and arrays of different lengths
    /// - `jax.pure_callback` without `vmap_method`, and ordered callbacks, in a function that `jax.vmap` maps
    /// - collective operations such as `lax.pmean` over an axis that no transformation of the file names
    /// - a `PartitionSpec` in a `NamedSharding` that names an axis which its mesh does not have
    /// - tangents of `jax.jvp` that do not fit the primals
    ///
    /// ## Why is this bad?
    /// JAX raises at this call, or when the returned function is called.
    ///
    /// ## Example
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// def scale(x, factor):
    ///     return x * factor
    ///
    /// jax.vmap(scale, in_axes=(0, None, None))(jnp.ones((3, 2)), 2.0)
    /// ```
    ///
    /// ## Use instead
    /// ```python
    /// import jax
    /// import jax.numpy as jnp
    ///
    /// def scale(x, factor):
    ///     return x * factor
    ///
    /// jax.vmap(scale, in_axes=(0, None))(jnp.ones((3, 2)), 2.0)
    /// ```
    ///
    /// ## What jax reports
    /// `ValueError: vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments
    /// passed to the function, but got len(in_axes)=3, len(args)=2`
    pub(crate) static JAX_TRANSFORMATION = {
        code: "AG546", name: "jax-transformation",
        summary: "a transformation of JAX rejects its arguments",
        severity: Error, default: true, since: "0.1.0",
        dialects: [Jax], fix: None,
        check: File(is_of_interest, check),
    }
}

fn check(ctx: &FileContext) {
    let program = ctx.program();
    let evaluator = Evaluator::new(ctx, program);
    let mut reported = Vec::new();
    for transformed in transformed::all(ctx, program) {
        let call = transformed.applied.map_or(transformed.made, |(call, _)| call);
        if reported.contains(&transformed.made.range()) {
            continue;
        }
        let fault = not_callable(&evaluator, &transformed).or_else(|| match transformed.name.as_str() {
            "jit" => jit_options::fault(&evaluator, &transformed),
            "vmap" => axes::fault(&evaluator, &transformed).or_else(|| callback(&evaluator, &transformed)),
            "pmap" => axes::fault(&evaluator, &transformed),
            "jvp" => jvp(&evaluator, &transformed),
            _ => None,
        });
        if let Some(fault) = fault {
            reported.push(transformed.made.range());
            fault.report(ctx, &JAX_TRANSFORMATION, call, "this argument");
        }
    }
    for (def, _) in &program.functions {
        let fault = jit_options::of_decorators(ctx, def).or_else(|| generator(ctx, def));
        if let Some(Fault { message, help, at }) = fault {
            ctx.report(&JAX_TRANSFORMATION, at, message).help(help).emit();
        }
    }
    for (call, message) in axis_names::unbound(&evaluator) {
        ctx.report(&JAX_TRANSFORMATION, call, message)
            .severity(Severity::Warning)
            .help("pass `axis_name=` to the transformation that maps the function")
            .emit();
    }
    for site in &program.calls {
        if let Some(fault) = other_call(ctx, site.scope, site.node) {
            fault.report(ctx, &JAX_TRANSFORMATION, site.node, "this argument");
        }
    }
}

/// Returns the fault if the argument of a transformation is not a function: `jax.jit(f(x))`.
fn not_callable<'a>(evaluator: &Evaluator<'_, 'a>, transformed: &Transformed<'a>) -> Option<Fault<'a>> {
    let at = transformed.function()?;
    if let (Bound::Function(def), _) = evaluator.program.value(transformed.scope, at)
        && def.decorator_list.is_empty()
        && is_generator(def)
    {
        return Some(of_generator(def, &transformed.name, at));
    }
    let value = evaluator.value(transformed.scope, at);
    (value.is_not_a_function() || at.is_string_literal_expr()).then(|| Fault {
        message: format!("`jax.{}` expects a function, but receives {}", transformed.name, value.noun()),
        help: "pass the function itself, and pass its arguments to the returned function",
        at,
    })
}

/// Returns the fault if `jax.vmap` is given a function that calls a function of the host with mapped arrays.
fn callback<'a>(evaluator: &Evaluator<'_, 'a>, transformed: &Transformed<'a>) -> Option<Fault<'a>> {
    let at = transformed.function()?;
    let function = evaluator.function(transformed.scope, at)?;
    let axes = Axes::of_call(transformed.made);
    let is_mapped: Vec<bool> = (0..function.positional().count())
        .map(|position| matches!(axes.axis(position), Ok(Some(_))))
        .collect();
    obstacles::maps_callback(evaluator, function, &is_mapped).then(|| Fault {
        message: "`jax.vmap` cannot map the host callback in this function".to_owned(),
        help: "pass `vmap_method=\"sequential\"` to `jax.pure_callback`; an ordered `io_callback` cannot be mapped",
        at,
    })
}

fn of_generator<'a>(def: &ast::StmtFunctionDef, transformation: &str, at: &'a Expr) -> Fault<'a> {
    Fault {
        message: format!("`jax.{transformation}` is given `{}`, which is a generator function", def.name),
        help: "return the values: in a tuple, or stacked in an array",
        at,
    }
}

/// Returns the fault if `@jax.jit` decorates a generator function.
fn generator<'a>(ctx: &FileContext<'a>, def: &'a ast::StmtFunctionDef) -> Option<Fault<'a>> {
    let decorator = &def.decorator_list.last()?.expression;
    let name = ctx.resolve(decorator)?;
    let transformation = name.strip_prefix("jax.")?;
    let is_known = matches!(transformation, "jit" | "vmap" | "grad" | "value_and_grad" | "pmap");
    (is_known && is_generator(def)).then(|| of_generator(def, transformation, decorator))
}

/// Returns the fault in the primals and tangents of `jax.jvp(f, primals, tangents)`.
fn jvp<'a>(evaluator: &Evaluator<'_, 'a>, transformed: &Transformed<'a>) -> Option<Fault<'a>> {
    let value = |position, keyword| {
        let at = argument(transformed.made, position, keyword)?;
        Some((evaluator.value(transformed.scope, at), at))
    };
    let ((primals, first), (tangents, second)) = (value(1, "primals")?, value(2, "tangents")?);
    for (value, at) in [(&primals, first), (&tangents, second)] {
        if matches!(value, Value::Leaf(_) | Value::Dict(_)) {
            return Some(Fault {
                message: format!("`jax.jvp` expects a tuple, but receives {}", value.noun()),
                help: "pass the primals and the tangents as tuples: `jax.jvp(f, (x,), (t,))`",
                at,
            });
        }
    }
    let structure = primals.prefix_difference(&tangents);
    let (mut of_primals, mut of_tangents) = (Vec::new(), Vec::new());
    let complete = primals.leaves(&mut of_primals) && tangents.leaves(&mut of_tangents);
    let types = || {
        let pairs = of_primals.iter().zip(&of_tangents);
        pairs.filter(|_| complete).find_map(|(primal, tangent)| {
            let shapes =
                primal.shape.as_ref().zip(tangent.shape.as_ref()).is_some_and(|(one, other)| one != other);
            let integer = |dtype: DType| !dtype.is_inexact();
            let dtypes = primal
                .dtype
                .zip(tangent.dtype)
                .is_some_and(|((one, _), (other, _))| one.is_inexact() && integer(other));
            (shapes || dtypes).then(|| (primal.noun(), tangent.noun()))
        })
    };
    let (primal, tangent) = structure.or_else(types)?;
    Some(Fault {
        message: format!("the tangents of `jax.jvp` do not fit the primals: {tangent} for {primal}"),
        help: "pass a tangent of the same shape and dtype for each primal",
        at: second,
    })
}

/// Returns the fault in a call of another function of JAX that rejects an argument, as far as the source shows it.
fn other_call<'a>(ctx: &FileContext<'a>, scope: ScopeId, call: &'a ast::ExprCall) -> Option<Fault<'a>> {
    const CALLS: [&str; 4] = ["device_put", "named_scope", "ShapeDtypeStruct", "NamedSharding"];
    let last = match &*call.func {
        Expr::Attribute(attribute) => attribute.attr.as_str(),
        Expr::Name(name) => name.id.as_str(),
        _ => return None,
    };
    if !CALLS.contains(&last) {
        return None;
    }
    match ctx.resolve(&call.func)?.as_str() {
        "jax.device_put" => {
            if let Some(at) = argument(call, 1, "device")
                && at.is_string_literal_expr()
            {
                return Some(Fault {
                    message: "`jax.device_put` expects a device, not its name".to_owned(),
                    help: "pass the device: `jax.devices(\"cpu\")[0]`",
                    at,
                });
            }
            let is_true = |name: &str| {
                let value = &call.arguments.find_keyword(name)?.value;
                value.as_boolean_literal_expr().filter(|literal| literal.value).map(|_| value)
            };
            is_true("donate").zip(is_true("may_alias")).map(|(_, at)| Fault {
                message: "`donate` and `may_alias` of `jax.device_put` cannot be combined".to_owned(),
                help: "remove one of them",
                at,
            })
        }
        "jax.sharding.NamedSharding" => {
            axis_names::not_of_mesh(ctx, scope, argument(call, 0, "mesh")?, argument(call, 1, "spec")?)
        }
        "jax.named_scope" => {
            let at = argument(call, 0, "name")?;
            at.is_number_literal_expr().then(|| Fault {
                message: "the name passed to `jax.named_scope` must be a string".to_owned(),
                help: "pass a string",
                at,
            })
        }
        "jax.ShapeDtypeStruct" => {
            let at = argument(call, 1, "dtype")?;
            at.is_none_literal_expr().then(|| Fault {
                message: "`jax.ShapeDtypeStruct` requires a dtype".to_owned(),
                help: "pass a dtype",
                at,
            })
        }
        _ => None,
    }
}
