//! What calls of builtins and of control flow APIs do when they are staged: for hover, one sentence each.
//! The facts are those of AutoGraph's operators and of the libraries' documentation.

use ag_index::assumptions::Stage;
use ag_index::dialect::Dialect;

/// The meaning of a call of a builtin.
pub(super) fn builtin(name: &str, stage: &Stage) -> Option<&'static str> {
    if stage.converts {
        return converted(name);
    }
    Some(match (name, stage.dialect) {
        ("print", Dialect::Torch) => "Breaks the graph, or runs while tracing.",
        ("print", Dialect::Jax) => "Runs while tracing, and shows tracers; `jax.debug.print` shows values.",
        ("int" | "float" | "bool", Dialect::Jax) => "Raises on a traced value: it has no Python value yet.",
        ("int" | "float" | "bool", Dialect::Torch) => "Reads the value of a Tensor, which breaks the graph.",
        ("len", _) => "Is known while tracing: the size of the first dimension.",
        ("range" | "enumerate" | "zip", _) => "Runs while tracing: a loop over it is unrolled.",
        _ => return None,
    })
}

fn converted(name: &str) -> Option<&'static str> {
    Some(match name {
        "print" => "Runs while the graph is made, once for each trace; `tf.print` runs in the graph.",
        "len" => {
            "On a Tensor: the static size of the first dimension where it is known, else `tf.shape(x)[0]`."
        }
        "range" => "With a Tensor among its arguments it is `tf.range`, so that a loop over it is staged.",
        "int" => "On a Tensor it is a cast to `int32`.",
        "float" => "On a Tensor it is a cast to `float32`.",
        "abs" | "sorted" => "On a Tensor it is the operation of TensorFlow.",
        "enumerate" | "zip" | "map" | "filter" | "any" | "all" => {
            "On a `Dataset` it is the operation of the Dataset; on a Tensor it is Python's and iterates it."
        }
        "max" | "min" | "sum" | "round" | "next" | "bool" | "isinstance" => {
            "Is not converted: it is Python's also on a Tensor."
        }
        "eval" | "super" | "globals" | "locals" => "Is executed in the frame of the original function.",
        _ => return None,
    })
}

/// The meaning of a call of a library function, by its module and qualified name.
pub(super) fn function(module: &str, qualname: &str) -> Option<&'static str> {
    let package = module.split('.').next().unwrap_or_default();
    Some(match (package, qualname) {
        ("tensorflow", "cond" | "case" | "switch_case") => {
            "Traces every branch; the graph runs one. The branches are not converted by themselves."
        }
        ("tensorflow", "while_loop") => {
            "Traces the body once; the graph runs it as often as the condition holds."
        }
        ("tensorflow", "map_fn" | "scan" | "vectorized_map") => {
            "Traces the function once; the graph runs it for each element."
        }
        ("tensorflow", "print") => "Prints each time the graph runs.",
        ("tensorflow", "py_function" | "numpy_function") => {
            "Leaves the graph: Python runs each time the graph does."
        }
        ("tensorflow", "range") => "A Tensor: a loop over it is staged.",
        ("jax", "cond" | "switch") => "Traces every branch; one runs.",
        ("jax", "while_loop" | "fori_loop" | "scan" | "map") => {
            "Traces the body once; it runs as a loop of the compiled program."
        }
        ("jax", "jit") => {
            "Traces the function when it is called, once for each combination of shapes, dtypes and static arguments."
        }
        ("jax", "debug_callback" | "pure_callback" | "io_callback") => {
            "Calls Python each time the compiled program runs."
        }
        ("torch", "cond") => "Traces both branches; one runs.",
        ("torch", "compile") => {
            "Compiles the function when it is called; what it cannot follow breaks the graph."
        }
        _ => return None,
    })
}
