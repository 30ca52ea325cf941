"""Faults of code that `tf.function` and Keras trace."""
from program import Fault, Framework

FAULTS = [
    Fault("numpy()", "raises", """
        peak = tf.reduce_max(x).numpy()  # fault
        y = x / peak
    """, """
        peak = tf.reduce_max(x)
        y = x / peak
    """),
    Fault("NumPy function", "raises", """
        weights = np.exp(x)  # fault
        y = x * weights
    """, """
        weights = tf.exp(x)
        y = x * weights
    """),
    Fault("np.array", "raises", """
        values = np.array(x)  # fault
        y = x - values.mean()
    """, """
        values = tf.identity(x)
        y = x - tf.reduce_mean(values)
    """),
    Fault("name bound in one branch", "raises", """
        if tf.reduce_sum(x) > 0.0:  # fault
            scale = 2.0
        y = x * scale  # cause
    """, """
        scale = 1.0
        if tf.reduce_sum(x) > 0.0:
            scale = 2.0
        y = x * scale
    """),
    Fault("dtypes of branches", "raises", """
        if tf.reduce_sum(x) > 0.0:  # fault
            scale = 2.0  # cause
        else:
            scale = 1  # cause
        y = x * tf.cast(scale, tf.float32)
    """, """
        if tf.reduce_sum(x) > 0.0:
            scale = 2.0
        else:
            scale = 1.0
        y = x * tf.cast(scale, tf.float32)
    """),
    Fault("None in one branch", "raises", """
        mask = None  # cause
        if tf.reduce_sum(x) > 0.0:  # fault
            mask = tf.cast(x > 0.0, tf.float32)
        y = x if mask is None else x * mask
    """, """
        mask = tf.ones_like(x)
        if tf.reduce_sum(x) > 0.0:
            mask = tf.cast(x > 0.0, tf.float32)
        y = x * mask
    """),
    Fault("structure of branches", "raises", """
        if tf.reduce_sum(x) > 0.0:  # fault
            parts = (x, x * 2.0)  # cause
        else:
            parts = (x,)  # cause
        y = parts[0]
    """, """
        if tf.reduce_sum(x) > 0.0:
            parts = (x, x * 2.0)
        else:
            parts = (x, x)
        y = parts[0]
    """),
    Fault("return in one branch", "raises", """
        def clipped(v):
            if tf.reduce_sum(v) > 0.0:  # fault
                return v * 2.0

        y = clipped(x)
    """, """
        def clipped(v):
            if tf.reduce_sum(v) > 0.0:
                return v * 2.0
            return v

        y = clipped(x)
    """),
    Fault("dtype in a loop", "raises", """
        total = 0  # cause
        for v in x:  # cause
            total = total + v  # fault
        y = x + total
    """, """
        total = 0.0
        for v in x:
            total = total + v
        y = x + total
    """),
    Fault("shape in a loop", "raises", """
        values = x
        while tf.size(values) < 16:  # fault
            values = tf.concat([values, values], 0)  # cause
        y = x + tf.reduce_sum(values)
    """, """
        values = x
        while tf.reduce_sum(values) < 16.0:
            values = values + tf.abs(values) + 1.0
        y = x + tf.reduce_sum(values)
    """),
    Fault("name bound in a loop", "raises", """
        for v in x:  # fault
            last = v * 2.0  # cause
        y = x * last
    """, """
        last = 0.0
        for v in x:
            last = v * 2.0
        y = x * last
    """),
    Fault("list in a loop", "raises", """
        outputs = []
        for v in x:
            outputs.append(v * 2.0)  # cause
        y = tf.stack(outputs)  # fault
    """, """
        outputs = tf.TensorArray(tf.float32, 4)
        for i in tf.range(4):
            outputs = outputs.write(i, x[i] * 2.0)
        y = outputs.stack()
    """),
    Fault("None before a loop", "raises", """
        state = None  # cause
        for v in x:  # fault
            state = v if state is None else state + v  # cause
        y = x + state
    """, """
        state = tf.constant(0.0)
        for v in x:
            state = state + v
        y = x + state
    """),
    Fault("unused result of write", "raises", """
        outputs = tf.TensorArray(tf.float32, 4)
        for i in tf.range(4):
            outputs.write(i, x[i] * 2.0)  # cause
        y = outputs.stack()
    """, """
        outputs = tf.TensorArray(tf.float32, 4)
        for i in tf.range(4):
            outputs = outputs.write(i, x[i] * 2.0)
        y = outputs.stack()
    """),
    Fault("variable in the function", "raises", """
        bias = tf.Variable(1.0)  # fault
        y = x + bias
    """, """
        bias = tf.constant(1.0)
        y = x + bias
    """),
    Fault("optimizer in the function", "raises", """
        optimizer = keras.optimizers.Adam(0.1)  # fault
        optimizer.apply_gradients([(x, WEIGHTS)])  # cause
        y = x + WEIGHTS
    """, """
        OPTIMIZER.apply_gradients([(x, WEIGHTS)])
        y = x + WEIGHTS
    """, setup="""
        WEIGHTS = tf.Variable(tf.ones(4))
        OPTIMIZER = keras.optimizers.Adam(0.1)
    """),
    Fault("item assignment", "raises", """
        y = x * 2.0
        y[0] = 0.0  # fault
    """, """
        y = x * 2.0
        y = tf.tensor_scatter_nd_update(y, [[0]], [0.0])
    """),
    Fault("index of a list", "raises", """
        scales = [1.0, 2.0, 4.0, 8.0]
        y = x * scales[tf.argmax(x)]  # fault
    """, """
        scales = tf.constant([1.0, 2.0, 4.0, 8.0])
        y = x * scales[tf.argmax(x)]
    """),
    Fault("key of a dict", "raises", """
        table = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0}
        y = x * table[tf.argmax(x)]  # fault
    """, """
        table = tf.constant([1.0, 2.0, 4.0, 8.0])
        y = x * tf.gather(table, tf.argmax(x))
    """),
    Fault("leaked tensor", "raises", """
        HISTORY.append(tf.reduce_sum(x))  # cause
        y = x * 2.0
    """, """
        HISTORY.append(len(x.shape))
        y = x * 2.0
    """, setup="HISTORY = []", after='print("total", float(sum(HISTORY)))', names=("HISTORY",)),
    Fault("random number of NumPy", "frozen", """
        noise = np.random.normal()  # fault
        y = x + noise
    """, """
        noise = tf.random.normal([])
        y = x + noise
    """),
    Fault("random number of Python", "frozen", """
        y = x * random.random()  # fault
    """, """
        y = x * tf.random.uniform([])
    """, setup="import random"),
    Fault("time", "frozen", """
        started = time.perf_counter()  # fault
        y = x * 0.0 + (started % 1.0)
    """, """
        started = tf.timestamp()
        y = x * 0.0 + tf.cast(started % 1.0, tf.float32)
    """, setup="import time"),
    Fault("counter of Python", "differs", """
        COUNTS["calls"] += 1  # fault
        y = x * 2.0
    """, """
        COUNTER.assign_add(1)
        y = x * 2.0
    """, setup='COUNTS = {"calls": 0}\nCOUNTER = tf.Variable(0)', after='results.append(COUNTS["calls"])', names=("COUNTS",)),
    Fault("changed setting", "differs", """
        y = x * SETTINGS["scale"]  # fault
    """, """
        y = x * FIXED
    """, setup='SETTINGS = {"scale": 1.0}\nFIXED = 2.0', between='SETTINGS["scale"] = SETTINGS["scale"] + 1.0  # cause',
        names=("SETTINGS",)),
    Fault("Python number", "retraces", """
        y = x
        for k in range(4):
            y = scale(y, SCHEDULE.pop())  # fault
    """, """
        y = x
        for k in range(4):
            y = scale(y, tf.constant(SCHEDULE.pop()))
    """, setup="""
        SCHEDULE = [float(k) for k in range(100)]


        @tf.function
        def scale(v, k):  # cause
            return v * k
    """, traced=False),
    Fault("function in a loop", "retraces", """
        y = x
        for k in range(3):
            y = tf.function(lambda v: v * 2.0)(y)  # fault
    """, """
        y = x
        for k in range(3):
            y = double(y)
    """, setup="""
        @tf.function
        def double(v):
            return v * 2.0
    """, traced=False),
    Fault("dtype of operands", "raises", """
        positions = tf.range(4)  # cause
        y = x * positions  # fault
    """, """
        positions = tf.range(4.0)
        y = x * positions
    """),
    Fault("eager TensorArray length", "raises", """
        total = 0.0
        for i in range(tf.argmax(x) + 1):
            total = total + x[i]
            if total > 100.0:
                raise ValueError("too large")  # cause
        count = len(tf.where(x > 0.0))  # fault
        y = x + total + float(count)
    """, """
        total = 0.0
        for i in range(tf.argmax(x) + 1):
            total = total + x[i]
        count = tf.shape(tf.where(x > 0.0))[0]
        y = x + total + tf.cast(count, tf.float32)
    """),
]

FRAMEWORK = Framework(
    "tensorflow",
    """
import keras
import numpy as np
import tensorflow as tf
""",
    "tf.function", "tf.function", "tf.constant([0.5, -1.0, 2.0, 3.0])", "tf.Tensor", FAULTS)
