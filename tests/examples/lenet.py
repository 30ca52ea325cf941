"""LeNet in Keras 3 with its own training step: gradients are clipped, broken batches are skipped."""
import keras
import tensorflow as tf
from keras import layers


class ConvBlock(layers.Layer):
    def __init__(self, filters, kernel, pool="average", norm=False):
        super().__init__()
        self.conv = layers.Conv2D(filters, kernel, padding="same", activation="tanh")
        self.norm = layers.BatchNormalization() if norm else None
        self.pool = layers.AveragePooling2D(2) if pool == "average" else layers.MaxPooling2D(2)

    def call(self, x, training=False):
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x, training=training)
        return self.pool(x)


class LeNet(keras.Model):
    def __init__(self, classes=10, norm=False, clip=None):
        super().__init__()
        self.blocks = [ConvBlock(6, 5, norm=norm), ConvBlock(16, 5, pool="max", norm=norm)]
        self.flatten = layers.Flatten()
        self.hidden = [layers.Dense(width, activation="tanh") for width in (120, 84)]
        self.head = layers.Dense(classes)
        self.clip = clip

    def call(self, x, training=False):
        for block in self.blocks:
            x = block(x, training=training)
        x = self.flatten(x)
        for dense in self.hidden:
            x = dense(x)
        return self.head(x)

    def train_step(self, data):
        images, labels = data
        with tf.GradientTape() as tape:
            logits = self(images, training=True)
            loss = self.compute_loss(y=labels, y_pred=logits)
        gradients = tape.gradient(loss, self.trainable_variables)
        if self.clip is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip)
        if tf.math.is_finite(loss):
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        results = {"loss": loss}
        for metric in self.metrics:
            if metric.name != "loss":
                metric.update_state(labels, logits)
                results.update(metric.result())
        return results


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, rate, steps):
        self.rate = rate
        self.steps = steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        return self.rate * tf.minimum(1.0, (step + 1) / self.steps)

    def get_config(self):
        return {"rate": self.rate, "steps": self.steps}


def strokes(count, size=16):
    """Returns images of horizontal and vertical strokes, and their labels."""
    labels = tf.random.uniform((count,), 0, 2, tf.int32)
    place = tf.one_hot(tf.random.uniform((count,), 0, size, tf.int32), size)
    rows = tf.tile(place[:, :, None], [1, 1, size])
    columns = tf.transpose(rows, [0, 2, 1])
    images = tf.where(labels[:, None, None] == 0, rows, columns)
    return images[..., None] + 0.1 * tf.random.normal((count, size, size, 1)), labels


def main():
    keras.utils.set_random_seed(0)
    images, labels = strokes(128)
    model = LeNet(classes=2, norm=True, clip=1.0)
    model.compile(
        optimizer=keras.optimizers.SGD(Warmup(0.1, 4), momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    model.fit(images, labels, batch_size=32, epochs=2, verbose=0)
    print(model.evaluate(images, labels, verbose=0, return_dict=True))


if __name__ == "__main__":
    main()
