"""Symbolic tensors and functional models that Keras rejects: a function for each kind of error."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers


def converts_to_int():
    inputs = keras.Input(())
    return int(inputs)


def converts_to_float():
    inputs = keras.Input((8,))
    x = layers.Dense(1)(inputs)
    return keras.Model(inputs, x * float(x))


def converts_to_array():
    inputs = keras.Input((8,))
    x = layers.Dense(1)(inputs)
    return keras.Model(inputs, np.asarray(x))


def calls_tensorflow():
    inputs = keras.Input((8,))
    x = tf.nn.relu(inputs)
    return keras.Model(inputs, x)


def calls_keras():
    inputs = keras.Input((8,))
    x = keras.ops.relu(inputs)
    return keras.Model(inputs, x)


def iterates():
    inputs = keras.Input((8, 4))
    x = [layers.Dense(2)(row) for row in inputs]
    return keras.Model(inputs, x)


def tests_tensor():
    inputs = keras.Input((8,))
    x = layers.Dense(1)(inputs)
    if x > 0:
        x = x * 2
    return keras.Model(inputs, x)


def sets_shape():
    inputs = keras.Input((8,))
    inputs.shape = (None, 4)
    return keras.Model(inputs, layers.Dense(2)(inputs))


def sets_dtype():
    inputs = keras.Input((8,))
    inputs.dtype = "float16"
    return keras.Model(inputs, layers.Dense(2)(inputs))


def sets_sparse():
    inputs = keras.Input((8,))
    inputs.sparse = True
    return keras.Model(inputs, layers.Dense(2)(inputs))


def sets_ragged():
    inputs = keras.Input((8,))
    inputs.ragged = True
    return keras.Model(inputs, layers.Dense(2)(inputs))


def disconnected():
    inputs = keras.Input((8,))
    other = keras.Input((8,))
    x = layers.Dense(2)(other)
    return keras.Model(inputs, x)


def overwrites_input():
    inputs = keras.Input((8,))
    x = layers.Dense(4)(inputs)
    inputs = keras.Input((8,))
    x = layers.Dense(2)(x)
    return keras.Model(inputs, x)


def forgets_second_input():
    left = keras.Input((8,))
    right = keras.Input((8,))
    x = layers.Concatenate()([left, right])
    return keras.Model(left, layers.Dense(2)(x))


def connected():
    left = keras.Input((8,))
    right = keras.Input((8,))
    x = layers.Concatenate()([left, right])
    return keras.Model([left, right], layers.Dense(2)(x))


def starts_at_hidden():
    inputs = keras.Input((8,))
    hidden = layers.Dense(4)(inputs)
    outputs = layers.Dense(2)(hidden)
    return keras.Model(hidden, outputs)


def returns_layer():
    inputs = keras.Input((8,))
    outputs = layers.Dense(2)
    return keras.Model(inputs, outputs)


def returns_nothing():
    inputs = keras.Input((8,))
    return keras.Model(inputs, [])


def takes_nothing():
    inputs = keras.Input((8,))
    return keras.Model([], layers.Dense(2)(inputs))


def takes_shape():
    inputs = keras.Input((8,))
    return keras.Model((8,), layers.Dense(2)(inputs))


def takes_array():
    inputs = np.zeros((4, 8), "float32")
    outputs = layers.Dense(2)(inputs)
    return keras.Model(inputs, outputs)


def same_names():
    inputs = keras.Input((8,))
    x = layers.Dense(4, name="dense")(inputs)
    x = layers.Dense(2, name="dense")(x)
    return keras.Model(inputs, x)


def different_names():
    inputs = keras.Input((8,))
    x = layers.Dense(4, name="first")(inputs)
    x = layers.Dense(2, name="second")(x)
    return keras.Model(inputs, x)


def passes_number():
    inputs = keras.Input((8,))
    x = layers.Dropout(0.5)(inputs, True)
    return keras.Model(inputs, x)


class Scaled(layers.Layer):
    def call(self, x, factor):
        return x * factor


def passes_factor():
    inputs = keras.Input((8,))
    return keras.Model(inputs, Scaled()(inputs, 2.0))


def passes_named_factor():
    inputs = keras.Input((8,))
    return keras.Model(inputs, Scaled()(inputs, factor=2.0))


class Summed(layers.Layer):
    def call(self, parts):
        return parts[0] * parts[1]


def passes_mixed():
    inputs = keras.Input((8,))
    return keras.Model(inputs, Summed()([inputs, 2.0]))


class Named(layers.Layer):
    def call(self, x):
        return {"x": x, "name": "doubled"}


def reads_output():
    dense = layers.Dense(2)
    return dense.output


def reads_called_output():
    dense = layers.Dense(2)
    dense(keras.Input((8,)))
    return dense.output


def counts_unbuilt():
    dense = layers.Dense(4)
    return dense.count_params()


def sets_weights_of_unbuilt():
    dense = layers.Dense(4)
    dense.set_weights([np.ones((8, 4))])


def wrong_rank():
    inputs = keras.Input((8,))
    return keras.Model(inputs, layers.Conv2D(4, 3)(inputs))


def two_for_one():
    left = keras.Input((8,))
    right = keras.Input((8,))
    return keras.Model([left, right], layers.Dense(4)([left, right]))


def lambda_of_rank():
    inputs = keras.Input((8,))
    x = layers.Lambda(lambda x: x.numpy())(inputs)
    return keras.Model(inputs, x)


def lambda_of_double():
    inputs = keras.Input((8,))
    x = layers.Lambda(lambda x: x * 2.0)(inputs)
    return keras.Model(inputs, x)


DIALECT = "keras"

KINDS = {
    "converts_to_int": "keras_tensor: A KerasTensor is symbolic: it's a placeholder for a shape an",
    "converts_to_float": "keras_tensor: A KerasTensor is symbolic: it's a placeholder for a shape an … ny actual numerical value. You cannot convert it to a float.",
    "converts_to_array": "keras_tensor: A KerasTensor is symbolic: it's a placeholder for a shape an … ual numerical value. You cannot convert it to a NumPy array.",
    "calls_tensorflow": "keras_tensor: A KerasTensor cannot be used as input to a TensorFlow functi",
    "calls_keras": None,
    "iterates": "keras_tensor: Iterating over a symbolic KerasTensor is not supported.",
    "tests_tensor": "keras_tensor: A symbolic KerasTensor cannot be used as a boolean.",
    "sets_shape": "keras_tensor: The `shape` attribute of KerasTensor is immutable. One shoul",
    "sets_dtype": "keras_tensor: The `dtype` attribute of KerasTensor is immutable. One shoul",
    "sets_sparse": "keras_tensor: The `sparse` attribute of KerasTensor is immutable. One shou",
    "sets_ragged": "keras_tensor: The `ragged` attribute of KerasTensor is immutable. One shou",
    "disconnected": "function: Output with path `{path}` is not connected to `inputs`",
    "overwrites_input": "function: Output with path `{path}` is not connected to `inputs`",
    "forgets_second_input": "function: Output with path `{path}` is not connected to `inputs`",
    "connected": None,
    "starts_at_hidden": None,
    "returns_layer": "functional: All `outputs` values must be KerasTensors. Received: outputs",
    "returns_nothing": "function: `outputs` argument cannot be empty. Received: inputs={inputs",
    "takes_nothing": "function: `inputs` argument cannot be empty. Received: inputs={inputs}",
    "takes_shape": "functional: All `inputs` values must be KerasTensors. Received: inputs={",
    "takes_array": "functional: All `inputs` values must be KerasTensors. Received: inputs={",
    "same_names": "function: The name \"{name}\" is used {all_names.count(name)} times in t",
    "different_names": None,
    "passes_number": "layer: Only input tensors may be passed as positional arguments. Th",
    "passes_factor": "layer: Only input tensors may be passed as positional arguments. Th",
    "passes_named_factor": None,
    "passes_mixed": "layer: Only input tensors may be passed as positional arguments. Th",
    "Named": "node: All operation outputs must be tensors. Operation {operation}",
    "reads_output": "operation: The layer {self.name} has never been called and thus has no",
    "reads_called_output": None,
    "counts_unbuilt": "layer: You tried to call `count_params` on layer '{self.name}', but",
    "sets_weights_of_unbuilt": "layer: You called `set_weights(weights)` on layer '{self.name}' wit",
    "wrong_rank": "input_spec: Input {input_index} with name '{spec.name}' of layer '{layer … c.min_ndim}, found ndim={ndim}. Full shape received: {shape}",
    "two_for_one": "input_spec: Layer \"{layer_name}\" expects {len(input_spec)} input(s), but",
    "lambda_of_rank": "lambda_layer: We could not automatically infer the shape of the Lambda's o",
    "lambda_of_double": None,
}


def main():
    converts_to_int()
    converts_to_float()
    converts_to_array()
    calls_tensorflow()
    calls_keras()
    iterates()
    tests_tensor()
    sets_shape()
    sets_dtype()
    sets_sparse()
    sets_ragged()
    disconnected()
    overwrites_input()
    forgets_second_input()
    connected()
    starts_at_hidden()
    returns_layer()
    returns_nothing()
    takes_nothing()
    takes_shape()
    takes_array()
    same_names()
    different_names()
    passes_number()
    passes_factor()
    passes_named_factor()
    passes_mixed()
    Named()(keras.Input((8,)))
    reads_output()
    reads_called_output()
    counts_unbuilt()
    sets_weights_of_unbuilt()
    wrong_rank()
    two_for_one()
    lambda_of_rank()
    lambda_of_double()


if __name__ == "__main__":
    main()
