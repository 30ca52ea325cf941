//! Dialects: families of libraries with the same roots and the same meaning of a staged condition.

use crate::assumed::AssumedType;
use crate::type_expression::{Placeholder, TypeExpression};
use serde::{Deserialize, Serialize};

/// A family of libraries with the same roots and the same meaning of a staged condition.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// `tf.function` and the code that it converts; Keras 2.
    Tensorflow,
    /// Keras 3 methods reached through Keras: traced, but *not* converted.
    Keras,
    /// The bundled runtime: `import autograph as ag`.
    Autograph,
    /// `torch.compile`, `torch.export`, `torch.jit.script`.
    Torch,
    /// `jax.jit` and the bodies of `jax.lax` control flow.
    Jax,
    /// `qjit(autograph=True)` and malt.
    Pennylane,
}

impl Dialect {
    pub const ALL: [Self; 6] =
        [Self::Tensorflow, Self::Keras, Self::Autograph, Self::Torch, Self::Jax, Self::Pennylane];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tensorflow => "tensorflow",
            Self::Keras => "keras",
            Self::Autograph => "autograph",
            Self::Torch => "torch",
            Self::Jax => "jax",
            Self::Pennylane => "pennylane",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == name)
    }

    /// Returns whether AutoGraph converts Python control flow on a Tensor. In other dialects, such control flow is an
    /// error.
    pub fn converts(self) -> bool {
        matches!(self, Self::Tensorflow | Self::Autograph | Self::Pennylane)
    }

    /// Returns the term that the libraries of the dialect use for a value in traced code: "a Tensor", "a tracer".
    pub fn traced_value(self) -> &'static str {
        match self {
            Self::Jax => "a tracer",
            _ => "a Tensor",
        }
    }

    /// Returns the module and name of the dialect's Tensor class. It is the type of a parameter without other evidence.
    pub fn tensor_class(self) -> (&'static str, &'static str) {
        match self {
            Self::Tensorflow | Self::Keras => ("tensorflow", "Tensor"),
            Self::Autograph | Self::Torch => ("torch", "Tensor"),
            Self::Jax | Self::Pennylane => ("jax", "Array"),
        }
    }
}

impl Dialect {
    /// Returns the assumed type of an argument of staged code: a Tensor, or a structure of Tensors.
    pub fn assumed_argument(self) -> AssumedType {
        match self {
            Self::Tensorflow | Self::Keras => {
                AssumedType::of(TypeExpression::Placeholder(Placeholder::Argument))
            }
            dialect => {
                let (module, class) = dialect.tensor_class();
                AssumedType::of(TypeExpression::class(module, class))
            }
        }
    }
}

/// How a function becomes a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootKind {
    /// `@tf.function`, `tf.function(f)`, `@ag.function`.
    Function,
    /// `tf.autograph.to_graph(f)`, `@tf.autograph.experimental.…`, `@ag.convert()`.
    Convert,
    /// `Dataset.map(f)`, `filter`, `reduce`, `scan`, …
    DatasetCallback,
    /// A body that is passed to `tf.cond`, `tf.while_loop`, `tf.map_fn`, `tf.scan`, `jax.lax.cond`, `scan`, …
    ControlFlowBody,
    /// `Layer.call`, `Model.train_step`, `Loss.call`, …: methods that Keras traces.
    KerasMethod,
    /// A function that Keras calls with Tensors: a loss or metric that is passed to `compile`, or an activation.
    KerasFunction,
    /// `@torch.compile`, `torch.compile(f)`.
    TorchCompile,
    /// `torch.export.export(m, …)`.
    TorchExport,
    /// `@torch.jit.script`, `torch.jit.script(f)`.
    TorchScript,
    /// `torch.fx.symbolic_trace(m)`: records operations on symbolic values, which have no sizes.
    TorchFx,
    /// `torch.vmap(f)`: runs the function on Tensors that represent all rows of a batch.
    TorchVmap,
    /// `torch.jit.trace(f, example)`: runs the function once, and records its operations.
    TorchTrace,
    /// `@jax.jit`, `jax.jit(f)`, `partial(jax.jit, …)`, `pmap`.
    JaxJit,
    /// `jax.vmap(f)`: traces only values that depend on a mapped argument.
    JaxVmap,
    /// `jax.grad(f)` outside traced code: replaces the arguments that it differentiates by tracers that have a value, so
    /// Python decides conditions on them. Any other root that reaches the function takes precedence.
    JaxGrad,
    /// `qjit(autograph=True)`.
    Qjit,
    /// A function that the configuration names (`roots = ["pkg.mod.f"]`), or any function with `--roots all`.
    Configured,
}
