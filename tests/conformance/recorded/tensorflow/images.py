"""Image augmentation and sampling."""

import tensorflow as tf

SIZE = 4
SEED = (1, 2)


def chance(seed, probability):
    return tf.random.stateless_uniform([], seed) < probability


@tf.function
def flip(image, seed, probability=0.5):
    if chance(seed, probability):
        image = tf.image.flip_left_right(image)
    return image


@tf.function
def augment(image, training, ops):
    if not training:
        return image
    for op in ops:
        if op == "flip":
            if chance(SEED, 0.5):
                image = image[:, ::-1]
        elif op == "invert":
            image = 1.0 - image if tf.reduce_mean(image) < 0.5 else image
        else:
            raise ValueError(op)
    return image


@tf.function
def resize_keep_aspect(image, target):
    height = tf.shape(image)[0]
    width = tf.shape(image)[1]
    if height > width:
        new_height = target
        new_width = target * width // height
    else:
        new_height = target * height // width
        new_width = target
    return tf.image.resize(image, tf.stack([new_height, new_width]))


@tf.function
def to_rgb(image, channels=None):
    channels = channels or image.shape[-1]
    if channels == 1:
        image = tf.tile(image, [1, 1, 3])
    elif channels == 4:
        image = image[..., :3]
    if image.dtype != tf.float32:
        image = tf.cast(image, tf.float32) / 255.0
    return image


@tf.function
def random_crop(image, seed, size=2, attempts=3):
    best = image[:size, :size]
    for k in range(attempts):
        offset = tf.random.stateless_uniform([2], tf.stack([seed, k]), 0, SIZE - size + 1, tf.int32)
        crop = image[offset[0] : offset[0] + size, offset[1] : offset[1] + size]
        crop = tf.ensure_shape(crop, best.shape)
        if tf.reduce_mean(crop) > tf.reduce_mean(best):
            best = crop
    return best


@tf.function
def cutout(image, size, fill=None):
    if size <= 0:
        return image
    rows = tf.range(tf.shape(image)[0])
    inside = rows < size
    value = tf.reduce_mean(image) if fill is None else tf.constant(fill)
    if value > 0.9:
        value = tf.constant(0.9)
    return tf.where(inside[:, None, None], value, image)


@tf.function
def mix_up(images, labels, alpha):
    if alpha == 0.0:
        return images, labels
    weight = tf.random.stateless_uniform([], SEED)
    if weight < 0.5:
        weight = 1.0 - weight
    return weight * images + (1 - weight) * images[::-1], weight * labels + (1 - weight) * labels[::-1]


@tf.function
def batch_brightness(images, limits):
    low, high = limits
    out = tf.TensorArray(tf.float32, size=tf.shape(images)[0])
    for i in tf.range(tf.shape(images)[0]):
        mean = tf.reduce_mean(images[i])
        if mean < low:
            out = out.write(i, images[i] + (low - mean))
        elif mean > high:
            out = out.write(i, images[i] - (mean - high))
        else:
            out = out.write(i, images[i])
    return out.stack()


@tf.function
def non_maximum_suppression(scores, overlaps, threshold, keep):
    chosen = tf.TensorArray(tf.int64, size=keep)
    for k in tf.range(keep):
        best = tf.argmax(scores)
        chosen = chosen.write(k, best)
        if scores[best] <= 0.0:
            break
        scores = tf.where(overlaps[best] > threshold, 0.0, scores)
    return chosen.stack()


def pyramid(image, levels, pool="max"):
    maps = [image]
    for level in range(levels):
        if min(maps[-1].shape[0], maps[-1].shape[1]) < 2:
            break
        if pool == "max":
            image = tf.nn.max_pool2d(image[None], 2, 2, "VALID")[0]
        else:
            image = tf.nn.avg_pool2d(image[None], 2, 2, "VALID")[0]
        maps.append(image)
    return maps


@tf.function
def pyramid_energy(image, levels):
    total = tf.constant(0.0)
    for index, m in enumerate(pyramid(image, levels)):
        energy = tf.reduce_mean(m**2)
        if index > 0 and energy > total:
            energy = energy * 0.5
        total += energy
    return total


@tf.function
def top_k_sample(logits, k, seed, temperature=1.0):
    if temperature != 1.0:
        logits = logits / temperature
    if k > 0:
        cut = tf.math.top_k(logits, k).values[-1]
        logits = tf.where(logits < cut, -1e9, logits)
    return tf.random.stateless_categorical(logits[None], 1, seed)[0, 0]


@tf.function
def nucleus(logits, p):
    order = tf.argsort(logits, direction="DESCENDING")
    probabilities = tf.gather(tf.nn.softmax(logits), order)
    mass = tf.constant(0.0)
    kept = 0
    for probability in probabilities:
        if mass >= p:
            break
        mass += probability
        kept += 1
    return kept


@tf.function
def rejection(seed, low, max_tries):
    sample = tf.constant(0.0)
    tries = 0
    accepted = tf.constant(False)
    while not accepted and tries < max_tries:
        sample = tf.random.stateless_uniform([], tf.stack([seed, tries]))
        accepted = sample > low
        tries += 1
    return sample


@tf.function
def metropolis(x, steps, scale=0.5, thin=None):
    accepted = 0
    for t in tf.range(steps):
        proposal = x + scale * tf.random.stateless_normal([], tf.stack([t, 1]))
        log_ratio = (x**2 - proposal**2) / 2.0
        if log_ratio > 0.0 or tf.random.stateless_uniform([], tf.stack([t, 2])) < tf.exp(log_ratio):
            x = proposal
            accepted += 1
        if thin is not None:
            if t % thin == 0:
                x = x * 0.99
    return x, accepted


def main():
    flip(tf.ones([4, 4, 1]), tf.constant([1, 2]))
    augment(tf.ones([4, 4, 1]), True, ("flip", "invert"))
    augment(tf.ones([4, 4, 1]), False, ())
    resize_keep_aspect(tf.ones([4, 2, 1]), 8)
    to_rgb(tf.ones([4, 4, 1], tf.uint8))
    to_rgb(tf.ones([4, 4, 4]), 4)
    random_crop(tf.ones([4, 4, 1]), tf.constant(3))
    cutout(tf.ones([4, 4, 1]), 2)
    cutout(tf.ones([4, 4, 1]), 2, 0.0)
    mix_up(tf.ones([2, 4]), tf.ones([2]), 0.2)
    batch_brightness(tf.ones([2, 4]), (0.2, 0.8))
    non_maximum_suppression(tf.constant([0.9, 0.5]), tf.eye(2), 0.5, 2)
    pyramid_energy(tf.ones([4, 4, 1]), 3)
    top_k_sample(tf.constant([0.1, 0.9, 0.3]), 2, tf.constant([1, 2]))
    nucleus(tf.constant([0.1, 0.9, 0.3]), 0.8)
    rejection(tf.constant(3), 0.2, tf.constant(5))
    metropolis(tf.constant(0.0), tf.constant(5))
    metropolis(tf.constant(0.0), tf.constant(5), 0.5, 2)


EXAMPLES = {
    "flip": [(tf.ones([4, 4, 1]), tf.constant([1, 2]))],
    "augment": [(tf.ones([4, 4, 1]), True, ("flip", "invert")), (tf.ones([4, 4, 1]), False, ())],
    "resize_keep_aspect": [(tf.ones([4, 2, 1]), 8)],
    "to_rgb": [(tf.ones([4, 4, 1], tf.uint8),), (tf.ones([4, 4, 4]), 4)],
    "random_crop": [(tf.ones([4, 4, 1]), tf.constant(3))],
    "cutout": [(tf.ones([4, 4, 1]), 2), (tf.ones([4, 4, 1]), 2, 0.0)],
    "mix_up": [(tf.ones([2, 4]), tf.ones([2]), 0.2)],
    "batch_brightness": [(tf.ones([2, 4]), (0.2, 0.8))],
    "non_maximum_suppression": [(tf.constant([0.9, 0.5]), tf.eye(2), 0.5, 2)],
    "pyramid_energy": [(tf.ones([4, 4, 1]), 3)],
    "top_k_sample": [(tf.constant([0.1, 0.9, 0.3]), 2, tf.constant([1, 2]))],
    "nucleus": [(tf.constant([0.1, 0.9, 0.3]), 0.8)],
    "rejection": [(tf.constant(3), 0.2, tf.constant(5))],
    "metropolis": [(tf.constant(0.0), tf.constant(5)), (tf.constant(0.0), tf.constant(5), 0.5, 2)],
}


if __name__ == "__main__":
    main()
