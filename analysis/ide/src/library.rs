//! One sentence about the meaning of each builtin and control-flow API that staged code may call, for hover. The
//! sentences are based on AutoGraph's operators and the documentation of the libraries.

use ag_index::assumptions::Stage;
use ag_index::dialect::Dialect;

/// Returns the meaning of a call of a builtin.
pub(super) fn builtin(name: &str, stage: &Stage) -> Option<&'static str> {
    if stage.converts {
        return converted(name);
    }
    Some(match (name, stage.dialect) {
        ("print", Dialect::Torch) => "Causes a graph break, or runs while tracing.",
        ("print", Dialect::Jax) => "Runs while tracing and prints tracers; `jax.debug.print` prints values.",
        ("int" | "float" | "bool", Dialect::Jax) => "Raises on a tracer, which has no Python value.",
        ("int" | "float" | "bool", Dialect::Torch) => {
            "Reads the value of a Tensor, which causes a graph break."
        }
        ("len", _) => "Returns the size of the first dimension, which is known while tracing.",
        ("range" | "enumerate" | "zip", _) => "Runs while tracing: a loop over it is unrolled.",
        _ => return None,
    })
}

fn converted(name: &str) -> Option<&'static str> {
    Some(match name {
        "print" => "Runs while the graph is built, once per trace; `tf.print` runs in the graph.",
        "len" => {
            "On a Tensor: the static size of the first dimension if it is known, otherwise `tf.shape(x)[0]`."
        }
        "range" => "With a Tensor argument: `tf.range`, so that a loop over it is staged.",
        "int" => "On a Tensor: a cast to `int32`.",
        "float" => "On a Tensor: a cast to `float32`.",
        "abs" | "sorted" => "On a Tensor: the TensorFlow operation.",
        "enumerate" | "zip" | "map" | "filter" | "any" | "all" => {
            "On a `Dataset`: the method of the Dataset. On a Tensor: the Python builtin, which iterates over it."
        }
        "max" | "min" | "sum" | "round" | "next" | "bool" | "isinstance" => {
            "Not converted: the Python builtin, even on a Tensor."
        }
        "eval" | "super" | "globals" | "locals" => "Runs in the frame of the original function.",
        _ => return None,
    })
}

/// Returns the meaning of a call of a library function, by its module and qualified name.
pub(super) fn function(module: &str, qualname: &str) -> Option<&'static str> {
    let package = module.split('.').next().unwrap_or_default();
    Some(match (package, qualname) {
        ("tensorflow", "cond" | "case" | "switch_case") => {
            "Traces every branch; the graph runs one. AutoGraph does not convert the branch functions."
        }
        ("tensorflow", "while_loop") => {
            "Traces the body once; the graph repeats it while the condition holds."
        }
        ("tensorflow", "map_fn" | "scan" | "vectorized_map") => {
            "Traces the function once; the graph runs it for each element."
        }
        ("tensorflow", "print") => "Prints each time the graph runs.",
        ("tensorflow", "py_function" | "numpy_function") => "Calls Python each time the graph runs.",
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
            "Compiles the function when it is called; unsupported code causes a graph break."
        }
        _ => return None,
    })
}
