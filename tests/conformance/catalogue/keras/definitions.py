"""Layers, models and training that Keras rejects: a class or function for each kind of error."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

X = np.ones((4, 8), "float32")
Y = np.ones((4, 1), "float32")


class ForgetsInit(layers.Layer):
    def __init__(self, units):
        self.dense = layers.Dense(units)

    def call(self, x):
        return self.dense(x)


class SetsBeforeInit(keras.Model):
    def __init__(self, units):
        self.units = units
        self.dense = layers.Dense(units)
        super().__init__()

    def call(self, x):
        return self.dense(x)


class CallsInit(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.dense = layers.Dense(units)

    def call(self, x):
        return self.dense(x)


class NamesLayers(keras.Model):
    def __init__(self):
        super().__init__()
        self.layers = [layers.Dense(2), layers.Dense(1)]

    def call(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class HasNoCall(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def forward(self, x):
        return self.dense(x)


class UnknownOption(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(units=2, **kwargs)

    def call(self, x):
        return x


class CreatesInCall(layers.Layer):
    def call(self, x):
        self.dense = layers.Dense(2)
        return self.dense(x)


class AddsWeightInCall(layers.Layer):
    def call(self, x):
        scale = self.add_weight(shape=(8,), initializer="ones")
        return x * scale


class AddsWeightInBuild(layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.scale


class NamesWeightFirst(layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight("scale", shape=(input_shape[-1],))

    def call(self, x):
        return x * self.scale


class AddsMetric(layers.Layer):
    def call(self, x):
        self.add_metric(x, name="mean")
        return x


class AddsTextLoss(layers.Layer):
    def call(self, x):
        self.add_loss("l2")
        return x


class AddsLoss(layers.Layer):
    def call(self, x):
        self.add_loss(keras.ops.mean(x))
        return x


class BuildsWithOtherName(layers.Layer):
    def build(self, left_shape, other_shape):
        self.scale = self.add_weight(shape=())

    def call(self, left, right):
        return left + right


class BuildsWithoutShape(layers.Layer):
    def build(self, left, right):
        self.scale = self.add_weight(shape=())

    def call(self, left, right):
        return left + right


class ForgetsMetricInit(keras.metrics.Metric):
    def __init__(self):
        self.total = self.add_weight(name="total", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(1.0)

    def result(self):
        return self.total


def fits_without_compile():
    model = keras.Sequential([layers.Dense(1)])
    model.fit(X, Y, verbose=0)


def fits_without_loss():
    model = keras.Sequential([layers.Dense(1)])
    model.compile(optimizer="adam")
    model.fit(X, Y, verbose=0)


def fits():
    model = keras.Sequential([layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.fit(X, Y, verbose=0)


def evaluates_with_unknown():
    model = keras.Sequential([layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.evaluate(X, Y, verbose=0, shuffle=True)


def weights_samples_and_classes():
    model = keras.Sequential([layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
    model.train_on_batch(X, Y, sample_weight=np.ones(4), class_weight={0: 1.0, 1: 2.0})


def gets_nothing():
    model = keras.Sequential([layers.Dense(4, name="dense")])
    return model.get_layer()


def gets_by_both():
    model = keras.Sequential([layers.Dense(4, name="dense")])
    return model.get_layer("dense", 0)


def gets_unknown():
    model = keras.Sequential([layers.Dense(4, name="dense")])
    return model.get_layer("output")


def gets_beyond():
    model = keras.Sequential([layers.Dense(4, name="dense")])
    return model.get_layer(index=3)


def trainable_as_text():
    return layers.Dense(4, trainable="no")


DIALECT = "keras"

KINDS = {
    "ForgetsInit": "layer: In layer '{self.__class__.__name__}', you forgot to call `su",
    "SetsBeforeInit": None,
    "CallsInit": None,
    "NamesLayers": "model: `Model.layers` attribute is reserved and should not be used.",
    "HasNoCall": "model: Model {self.__class__.__name__} does not have a `call()` met",
    "UnknownOption": "model: Unrecognized keyword arguments passed to {self.__class__.__n",
    "CreatesInCall": "layer: locked",
    "AddsWeightInCall": "layer: locked",
    "AddsWeightInBuild": None,
    "NamesWeightFirst": "layer: `name` must be passed as a keyword argument. Received: add_w",
    "AddsMetric": "layer: Layer `add_metric()` method is deprecated. Add your metric i",
    "AddsTextLoss": "layer: `add_loss()` can only be called from inside `build()` or `ca",
    "AddsLoss": None,
    "BuildsWithOtherName": "layer: {error_preamble} For layer '{class_name}', received `{method",
    "BuildsWithoutShape": "layer: {error_preamble} For layer '{class_name}', Received `{method",
    "ForgetsMetricInit": "metric: You forgot to call `super().__init__()` in the `__init__()`",
    "fits_without_compile": "trainer: You must call `compile()` before",
    "fits_without_loss": "trainer: No loss to compute. Provide a `loss` argument in `compile()`",
    "fits": None,
    "evaluates_with_unknown": "trainer: Arguments not recognized: {kwargs}",
    "weights_samples_and_classes": "trainer: Arguments `sample_weight` and `class_weight` cannot be speci",
    "gets_nothing": "model: Provide either a layer name or layer index at `get_layer`.",
    "gets_by_both": "model: Provide only a layer name or a layer index. Received: index=",
    "gets_unknown": "model: No such layer: {name}. Existing layers are: {list((layer.nam",
    "gets_beyond": "model: Was asked to retrieve layer at index {index} but model only",
    "trainable_as_text": "layer: Expected `trainable` to be a boolean. Received: trainable={t",
}


def main():
    ForgetsInit(4)(X)
    SetsBeforeInit(4)(X)
    CallsInit(4)(X)
    NamesLayers()
    HasNoCall()(X)
    UnknownOption()
    CreatesInCall()(X)
    AddsWeightInCall()(X)
    AddsWeightInBuild()(X)
    NamesWeightFirst()(X)
    AddsMetric()(X)
    AddsTextLoss()(X)
    AddsLoss()(X)
    BuildsWithOtherName()(X, X)
    BuildsWithoutShape()(X, X)
    ForgetsMetricInit()
    fits_without_compile()
    fits_without_loss()
    fits()
    evaluates_with_unknown()
    weights_samples_and_classes()
    gets_nothing()
    gets_by_both()
    gets_unknown()
    gets_beyond()
    trainable_as_text()


if __name__ == "__main__":
    main()
