"""The errors of Keras 3: `raise` statements of layers, symbolic tensors, functional models and training."""
import ast
from pathlib import Path

import keras
from raises import kinds_of, message

SOURCES = [
    "src/backend/common/keras_tensor.py",
    "src/backend/tensorflow/trainer.py",
    "src/layers/core/lambda_layer.py",
    "src/layers/input_spec.py",
    "src/layers/layer.py",
    "src/metrics/metric.py",
    "src/models/functional.py",
    "src/models/model.py",
    "src/ops/function.py",
    "src/ops/node.py",
    "src/ops/operation.py",
    "src/trainers/trainer.py",
]


def kinds():
    return kinds_of(keras, SOURCES) + list(locked())


def locked():
    """Yields the error for a change to a layer that is already built: `self._tracker.lock(msg=…)`."""
    path = Path(keras.__file__).parent / "src/layers/layer.py"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "lock":
            for text in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield {"kind": "layer: locked", "source": "keras/src/layers/layer.py", "message": message(text)}
