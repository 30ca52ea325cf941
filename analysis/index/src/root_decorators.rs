//! The public functions that make their argument a root (`jax.jit`), and those that only wrap it (`jax.grad`).
//!
//! `tests/spec/roots.md` has an example of each.

use std::sync::LazyLock;

use ruff_python_ast::{self as ast, Expr};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::dialect::{Dialect, RootKind};
use ag_syntax::imports::Imports;

/// A public function that makes its argument a root, mostly as a decorator: `jax.jit`.
pub(crate) struct RootDecorator {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    pub(crate) kind: RootKind,
}

const fn decorator(name: &'static str, dialect: Dialect, kind: RootKind) -> RootDecorator {
    RootDecorator { name, dialect, kind }
}

pub(crate) fn named(name: &str) -> Option<&'static RootDecorator> {
    // A map, because a file has thousands of names to look up.
    static BY_NAME: LazyLock<FxHashMap<&str, &RootDecorator>> =
        LazyLock::new(|| ROOT_DECORATORS.iter().map(|decorator| (decorator.name, decorator)).collect());
    BY_NAME.get(name).copied()
}

/// Returns whether a file imports a package that has a [`RootDecorator`].
pub(crate) fn are_imported(imports: &Imports) -> bool {
    static PACKAGES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| {
        ROOT_DECORATORS.iter().filter_map(|decorator| decorator.name.split('.').next()).collect()
    });
    imports
        .dotted_names()
        .any(|name| name.split('.').next().is_some_and(|package| PACKAGES.contains(package)))
}

/// Resolves an expression to a [`RootDecorator`].
pub(crate) fn of(imports: &Imports, expression: &Expr) -> Option<&'static RootDecorator> {
    named(&imports.resolve(expression)?)
}

/// Returns whether a function takes only options and returns a decorator: `torch._dynamo.optimize(backend)(f)`. The
/// backend is not made a root: it is a function that compiles graphs.
pub(crate) fn takes_options(name: &str) -> bool {
    matches!(name, "torch._dynamo.optimize" | "torch._dynamo.optimize_assert")
}

/// Returns whether a function returns a wrapper that calls its first argument without staging it: `jax.grad`.
pub(crate) fn is_transparent(name: &str) -> bool {
    TRANSPARENT.contains(&name)
}

pub(crate) fn resolves_to(imports: &Imports, callee: &Expr, names: &[&str]) -> bool {
    match (imports.resolve(callee), callee) {
        (Some(name), _) => names.contains(&name.as_str()),
        (None, Expr::Name(name)) => names.contains(&name.id.as_str()),
        _ => false,
    }
}

/// Returns the function that a call passes by keyword: `f` in `jax.jit(fun=f)`.
pub(crate) fn function_keyword(arguments: &ast::Arguments) -> Option<&Expr> {
    const KEYWORDS: [&str; 8] = ["func", "fun", "f", "fn", "obj", "mod", "model", "nnx_fn"];
    KEYWORDS.iter().find_map(|keyword| Some(&arguments.find_keyword(keyword)?.value))
}

pub(crate) fn is_partial(imports: &Imports, callee: &Expr) -> bool {
    imports.resolve(callee).is_some_and(|name| name == "functools.partial" || name == "jax.tree_util.Partial")
}

/// Returns the number of positional arguments that `partial` binds: 2 in `partial(f, a, b)`.
pub(crate) fn given_by_partial(imports: &Imports, function: &Expr) -> usize {
    let call = function.as_call_expr().filter(|call| is_partial(imports, &call.func));
    call.map_or(0, |call| call.arguments.args.len().saturating_sub(1))
}

/// The name of `tff.tensorflow.computation` inside its package.
const TFF_COMPUTATION: &str =
    "tensorflow_federated.python.core.environments.tensorflow_frontend.tensorflow_computation.tf_computation";

const fn tensorflow(name: &'static str, kind: RootKind) -> RootDecorator {
    decorator(name, Dialect::Tensorflow, kind)
}

const fn torch(name: &'static str, kind: RootKind) -> RootDecorator {
    decorator(name, Dialect::Torch, kind)
}

const fn jax(name: &'static str, kind: RootKind) -> RootDecorator {
    decorator(name, Dialect::Jax, kind)
}

const fn pennylane(name: &'static str, kind: RootKind) -> RootDecorator {
    decorator(name, Dialect::Pennylane, kind)
}

/// The functions that make their argument a root. Each is used as a decorator, or is called with the function as its
/// first argument. A decorator that [`takes_options`] is called with its options first.
pub(crate) static ROOT_DECORATORS: &[RootDecorator] = &[
    tensorflow("tensorflow.function", RootKind::Function),
    tensorflow("tensorflow.autograph.to_graph", RootKind::Convert),
    tensorflow("tensorflow.autograph.tf_convert", RootKind::Convert),
    tensorflow("tensorflow.wrap_function", RootKind::Function),
    tensorflow("tensorflow.xla.experimental.compile", RootKind::Function),
    // Wrappers of `tf.function` that libraries publish.
    tensorflow("tf_agents.utils.common.function", RootKind::Function),
    tensorflow("tf_agents.utils.common.function_in_tf1", RootKind::Function),
    tensorflow("tensorflow_federated.tensorflow.computation", RootKind::Function),
    tensorflow(TFF_COMPUTATION, RootKind::Function),
    decorator("autograph.convert", Dialect::Autograph, RootKind::Convert),
    decorator("autograph.function", Dialect::Autograph, RootKind::Function),
    decorator("autograph.to_graph", Dialect::Autograph, RootKind::Convert),
    torch("torch.compile", RootKind::TorchCompile),
    torch("torch._dynamo.optimize", RootKind::TorchCompile),
    torch("torch._dynamo.optimize_assert", RootKind::TorchCompile),
    torch("torch._dynamo.explain", RootKind::TorchCompile),
    torch("torch.compiler.nested_compile_region", RootKind::TorchCompile),
    torch("torch.jit.script", RootKind::TorchScript),
    torch("torch.jit.script_method", RootKind::TorchScript),
    torch("torch.jit.export", RootKind::TorchScript),
    torch("torch.jit.script_if_tracing", RootKind::TorchScript),
    torch("torch.jit._script_if_tracing", RootKind::TorchScript),
    torch("torch.jit.trace", RootKind::TorchTrace),
    torch("torch.jit.trace_module", RootKind::TorchTrace),
    torch("torch.export.export", RootKind::TorchExport),
    torch("torch.export.draft_export", RootKind::TorchExport),
    torch("torch.export.export_for_training", RootKind::TorchExport),
    torch("torch.export.export_for_inference", RootKind::TorchExport),
    torch("torch.export", RootKind::TorchExport),
    torch("torch._export.export", RootKind::TorchExport),
    torch("torch._dynamo.export", RootKind::TorchExport),
    torch("torch.onnx.export", RootKind::TorchExport),
    torch("torch.fx.symbolic_trace", RootKind::TorchFx),
    torch("torch.vmap", RootKind::TorchVmap),
    torch("torch.func.vmap", RootKind::TorchVmap),
    torch("functorch.vmap", RootKind::TorchVmap),
    torch("torch.ao.quantization.quantize_fx.fuse_fx", RootKind::TorchFx),
    torch("torch.ao.quantization.quantize_fx.prepare_fx", RootKind::TorchFx),
    torch("torch.ao.quantization.quantize_fx.prepare_qat_fx", RootKind::TorchFx),
    torch("torch.distributed.pipelining.pipeline", RootKind::TorchExport),
    jax("jax.jit", RootKind::JaxJit),
    jax("jax.pmap", RootKind::JaxJit),
    jax("jax.vmap", RootKind::JaxVmap),
    // Arguments that are not split are not traced in eager code.
    jax("jax.shard_map", RootKind::JaxVmap),
    jax("jax.smap", RootKind::JaxVmap),
    jax("jax.experimental.shard_map.shard_map", RootKind::JaxVmap),
    jax("jax.checkpoint", RootKind::JaxJit),
    jax("jax.remat", RootKind::JaxJit),
    jax("jax.ad_checkpoint.checkpoint", RootKind::JaxJit),
    jax("jax.make_jaxpr", RootKind::JaxJit),
    jax("jax.eval_shape", RootKind::JaxJit),
    jax("jax.closure_convert", RootKind::JaxJit),
    jax("jax.custom_derivatives.closure_convert", RootKind::JaxJit),
    jax("jax.custom_derivatives.linear_call", RootKind::JaxJit),
    jax("jax.fwd_and_bwd", RootKind::JaxJit),
    jax("jax.ad_checkpoint.print_saved_residuals", RootKind::JaxJit),
    jax("jax.linear_transpose", RootKind::JaxJit),
    jax("jax.lax.composite", RootKind::JaxJit),
    jax("jax.custom_batching.custom_vmap", RootKind::JaxJit),
    jax("jax.custom_batching.sequential_vmap", RootKind::JaxJit),
    jax("jax.experimental.pjit.pjit", RootKind::JaxJit),
    jax("jax.experimental.checkify.checkify", RootKind::JaxJit),
    jax("jax.experimental.sparse.sparsify", RootKind::JaxJit),
    jax("jax.experimental.jet.jet", RootKind::JaxJit),
    jax("jax.experimental.jax2tf.convert", RootKind::JaxJit),
    jax("jax.experimental.pallas.pallas_call", RootKind::JaxJit),
    jax("jax.experimental.pallas.kernel", RootKind::JaxJit),
    jax("jax.experimental.pallas.run_scoped", RootKind::JaxJit),
    jax("jax.experimental.pallas.run_state", RootKind::JaxJit),
    jax("jax.experimental.pallas.estimate_cost", RootKind::JaxJit),
    jax("jax.numpy.vectorize", RootKind::JaxVmap),
    jax("jax.numpy.frompyfunc", RootKind::JaxVmap),
    jax("jax.numpy.fromfunction", RootKind::JaxVmap),
    jax("jax.numpy.apply_along_axis", RootKind::JaxVmap),
    jax("equinox.filter_jit", RootKind::JaxJit),
    jax("equinox.filter_pmap", RootKind::JaxJit),
    jax("equinox.filter_vmap", RootKind::JaxVmap),
    jax("equinox.filter_checkpoint", RootKind::JaxJit),
    jax("equinox.filter_make_jaxpr", RootKind::JaxJit),
    jax("equinox.filter_eval_shape", RootKind::JaxJit),
    // The rules of a primitive.
    jax("equinox.internal.filter_primitive_def", RootKind::JaxJit),
    jax("equinox.internal.filter_primitive_jvp", RootKind::JaxJit),
    jax("equinox.internal.filter_primitive_transpose", RootKind::JaxJit),
    jax("equinox.internal.filter_primitive_batching", RootKind::JaxJit),
    jax("jax.interpreters.mlir.lower_fun", RootKind::JaxJit),
    jax("flax.nnx.jit", RootKind::JaxJit),
    jax("flax.nnx.jit_partial", RootKind::JaxJit),
    jax("flax.nnx.pmap", RootKind::JaxJit),
    jax("flax.nnx.shard_map", RootKind::JaxVmap),
    jax("flax.nnx.vmap", RootKind::JaxVmap),
    jax("flax.nnx.scan", RootKind::JaxJit),
    jax("flax.nnx.remat", RootKind::JaxJit),
    jax("flax.nnx.checkify", RootKind::JaxJit),
    jax("flax.nnx.eval_shape", RootKind::JaxJit),
    jax("flax.linen.jit", RootKind::JaxJit),
    jax("flax.linen.remat", RootKind::JaxJit),
    jax("flax.linen.checkpoint", RootKind::JaxJit),
    jax("flax.linen.scan", RootKind::JaxJit),
    jax("flax.linen.remat_scan", RootKind::JaxJit),
    jax("flax.linen.vmap", RootKind::JaxVmap),
    jax("haiku.remat", RootKind::JaxJit),
    jax("haiku.vmap", RootKind::JaxVmap),
    jax("haiku.eval_shape", RootKind::JaxJit),
    jax("haiku.jit", RootKind::JaxJit),
    jax("optax.microbatch", RootKind::JaxJit),
    // Inference compiles the model that is passed to the kernel: `NUTS(model)`.
    jax("numpyro.infer.NUTS", RootKind::JaxJit),
    jax("numpyro.infer.HMC", RootKind::JaxJit),
    jax("numpyro.infer.SA", RootKind::JaxJit),
    jax("numpyro.infer.AIES", RootKind::JaxJit),
    jax("numpyro.infer.ESS", RootKind::JaxJit),
    jax("numpyro.infer.BarkerMH", RootKind::JaxJit),
    jax("numpyro.infer.SVI", RootKind::JaxJit),
    jax("numpyro.infer.Predictive", RootKind::JaxJit),
    pennylane("pennylane.qjit", RootKind::Qjit),
    pennylane("catalyst.qjit", RootKind::Qjit),
    pennylane("malt.to_graph", RootKind::Convert),
    pennylane("malt.convert", RootKind::Convert),
];

/// The transformations that differentiate a function by the arguments in `argnums`.
pub(crate) const DIFFERENTIATING: [&str; 6] =
    ["jax.grad", "jax.hessian", "jax.jacfwd", "jax.jacobian", "jax.jacrev", "jax.value_and_grad"];

/// Transformations that do not start tracing themselves. They matter as arguments of a root: `jax.jit(jax.grad(f))`.
pub(crate) static TRANSPARENT: &[&str] = &[
    "equinox.internal.noinline",
    "jax.grad",
    "jax.value_and_grad",
    "jax.jacfwd",
    "jax.jacrev",
    "jax.jacobian",
    "jax.hessian",
    "jax.linearize",
    "jax.jvp",
    "jax.vjp",
    "jax.named_call",
    "jax.custom_jvp",
    "jax.custom_vjp",
    "jax.custom_gradient",
    "jax.profiler.annotate_function",
    "equinox.filter_closure_convert",
    "equinox.filter_grad",
    "equinox.filter_value_and_grad",
    "equinox.filter_jacfwd",
    "equinox.filter_jacrev",
    "equinox.filter_hessian",
    "equinox.filter_jvp",
    "equinox.filter_vjp",
    "equinox.filter_custom_jvp",
    "equinox.filter_custom_vjp",
    "equinox.Partial",
    "flax.nnx.grad",
    "flax.nnx.value_and_grad",
    "flax.nnx.jvp",
    "flax.nnx.vjp",
    "flax.nnx.custom_vjp",
    "flax.nnx.cached_partial",
    "flax.linen.compact",
    "flax.linen.nowrap",
    "haiku.grad",
    "haiku.value_and_grad",
    "haiku.transform",
    "haiku.transform_with_state",
    "haiku.without_apply_rng",
    "haiku.without_state",
    "haiku.with_empty_state",
    "haiku.transparent",
    "haiku.to_module",
    "optax.value_and_grad_from_state",
    "chex.assert_max_traces",
    "chex.chexify",
    "numpyro.handlers.block",
    "numpyro.handlers.condition",
    "numpyro.handlers.do",
    "numpyro.handlers.lift",
    "numpyro.handlers.mask",
    "numpyro.handlers.replay",
    "numpyro.handlers.scale",
    "numpyro.handlers.scope",
    "numpyro.handlers.seed",
    "numpyro.handlers.substitute",
    "numpyro.handlers.trace",
    "numpyro.handlers.uncondition",
];

/// Returns whether a decorator traces the function, but replaces only some of its arguments by tracers. Pallas passes
/// references, NumPyro passes the data of a model unchanged, and Equinox replaces only arrays. `checkify` passes all
/// arguments unchanged, but traces operations on arrays.
pub(crate) fn traces_some_arguments(name: &str) -> bool {
    [
        "equinox.filter_",
        "equinox.internal.filter_primitive_",
        "numpyro.infer.",
        "jax.experimental.pallas.",
        "jax.experimental.checkify.",
        "flax.nnx.checkify",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// Returns whether a decorator replaces all non-static arguments of the function by tracers, even Python numbers.
/// `flax.linen.scan` does not, for example: a flag that it broadcasts remains a flag.
pub(crate) fn traces_all_arguments(name: &str) -> bool {
    matches!(
        name,
        "jax.jit"
            | "jax.pmap"
            | "jax.checkpoint"
            | "jax.remat"
            | "jax.make_jaxpr"
            | "jax.eval_shape"
            | "jax.experimental.pjit.pjit"
            | "flax.linen.checkpoint"
            | "flax.linen.remat"
            | "flax.nnx.jit"
    )
}

/// Returns whether a transformation of a class traces its `__call__`: `nn.remat(Block)`.
pub(crate) fn lifts_classes(name: &str) -> bool {
    matches!(name, "flax.linen.checkpoint" | "flax.linen.jit" | "flax.linen.remat")
}
