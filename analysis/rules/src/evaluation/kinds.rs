//! What the evaluation reports.

use ag_db::Document;
use ruff_text_size::TextRange;

/// How torch traces a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Compile {
        full_graph: bool,
        is_static: bool,
    },
    Export,
    Script,
    Trace,
    /// `torch.fx.symbolic_trace`
    Symbolic,
    /// `jax.jit` and the loops of `jax.lax`: each operation is traced.
    Jit,
    /// `jax.vmap`: traces only what depends on a mapped argument.
    Map,
    /// `tf.function`
    Graph,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub document: Document,
    pub range: TextRange,
    pub kind: Kind,
    pub message: String,
    /// Whether the code is reached with values that are not known, or under conditions that are not known.
    pub is_explored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An operation does not accept its inputs.
    Sizes,
    /// Python compares a dynamic dimension of an exported program with a number.
    Bound,
    /// A recorded program keeps the number that an attribute had in the recorded call.
    Frozen,
    /// An assignment has another number of targets than values.
    Count,
    /// Python needs the truth value of a Tensor.
    Decision(Mode),
    /// Python needs the number that a Tensor holds.
    Conversion,
    /// A call that the compiler cannot trace.
    Call { full_graph: bool },
    /// `sorted` of Tensors, or `max` with a key.
    Order { full_graph: bool },
    /// Compiled code creates a module.
    Creation { full_graph: bool },
    /// TorchScript calls a lambda.
    Lambda,
    /// The example inputs of an exported module are not a tuple.
    Inputs,
    /// A traced module returns a value that a program cannot return.
    Result,
    /// An exported program needs the number that a Tensor holds.
    Number,
    /// An exported program loses a Tensor that it assigns to an attribute.
    State,
    /// TorchScript requires a value, but an attribute is `None`.
    None,
    /// A call passes another value each time, for which it compiles the function again.
    Argument { is_float: bool },
    /// Code assigns an attribute that a program keeps, which torch has made of the module before.
    Stale,
    /// An exported program does not accept the sizes of an input.
    Input,
    /// A call passes another constant to an exported program than the example.
    Constant,
    /// A call passes arguments to a scripted function that do not have its types.
    Scripted,
    /// A scripted or traced module does not have a method.
    Method,
    /// An exported program is called itself.
    Called,
    /// A recorded program keeps the mode that a module had: `self.training`.
    Training,
    /// Python needs the value of a symbolic value of `torch.fx`.
    Symbol,
    /// A module does not have the keys of the parameters that it loads.
    Keys,
    /// A function that `torch.func` transforms calls a `torch.autograd.Function` that does not allow it.
    Derivative,
    /// A function cannot be differentiated by `torch.func.grad`.
    Gradient,
    /// `torch.vmap` does not accept its arguments, or the result of its function.
    Mapped,
    /// A mapped module reads an attribute that differs between the modules whose parameters are stacked.
    Stacked,
    /// A mapped function assigns a Tensor to an attribute, which other code reads after the call.
    Escaped,
    /// An example input of a traced module is not a Tensor.
    Example,
    /// TorchScript reads a variable of the module.
    Global,
    /// A control flow operator does not accept what a function returns.
    Operator,
    /// Code assigns an attribute of a module for whose values a function is compiled again.
    Attribute { is_float: bool },
}
