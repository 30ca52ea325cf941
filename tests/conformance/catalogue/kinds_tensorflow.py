"""The errors of tf.function: `raise` statements of AutoGraph, of functions and their graphs, of control flow and of
TensorArray."""
import tensorflow
from raises import kinds_of

SOURCES = [
    "python/autograph/core/unsupported_features_checker.py",
    "python/autograph/operators/*.py",
    "python/autograph/impl/*.py",
    "python/autograph/converters/*.py",
    "python/autograph/pyct/*.py",
    "python/eager/polymorphic_function/*.py",
    "python/framework/func_graph.py",
    "python/framework/tensor.py",
    "python/ops/cond.py",
    "python/ops/cond_v2.py",
    "python/ops/control_flow*.py",
    "python/ops/tensor_array_ops.py",
    "python/ops/while_loop.py",
    "python/ops/while_v2.py",
]


def kinds():
    return kinds_of(tensorflow, SOURCES)
