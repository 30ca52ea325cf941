"""Faults of code that `torch.jit.script` compiles."""
from program import Fault, Framework

FAULTS = [
    Fault("name bound in one branch", "raises", """
        if x.sum() > 0.0:  # cause
            scale = 2.0  # cause
        y = x * scale  # fault
    """, """
        scale = 1.0
        if x.sum() > 0.0:
            scale = 2.0
        y = x * scale
    """),
    Fault("types of branches", "raises", """
        if x.sum() > 0.0:  # fault
            scale = 2.0  # cause
        else:
            scale = x.max()  # cause
        y = x * scale
    """, """
        if x.sum() > 0.0:
            scale = x.min()
        else:
            scale = x.max()
        y = x * scale
    """),
    Fault("type in a loop", "raises", """
        count = 0  # cause
        for i in range(3):  # cause
            count = count + 0.5  # fault
        y = x + count
    """, """
        count = 0.0
        for i in range(3):
            count = count + 0.5
        y = x + count
    """),
    Fault("None", "raises", """
        mask = None  # cause
        if x.sum() > 0.0:  # cause
            mask = x.relu()  # fault
        y = x * mask  # cause
    """, """
        mask = torch.ones_like(x)
        if x.sum() > 0.0:
            mask = x.relu()
        y = x * mask
    """),
    Fault("list of the wrong type", "raises", """
        sizes = []  # cause
        for i in range(3):
            sizes.append(i)  # fault
        y = x + sizes[0]
    """, """
        sizes = [0]
        for i in range(3):
            sizes.append(i)
        y = x + sizes[0]
    """),
    Fault("dict of mixed types", "raises", """
        features = {"values": x, "count": 4}  # cause
        y = features["values"] * 2.0  # fault
    """, """
        features = {"values": x, "count": x * 4}
        y = features["values"] * 2.0
    """),
    Fault("global value", "raises", """
        y = x * SCALES[0]  # fault
    """, """
        scales = [1.0, 2.0]
        y = x * scales[0]
    """, setup="SCALES = [1.0, 2.0]"),
    Fault("NumPy function", "raises", """
        scale = np.mean([2.0])  # fault
        y = x * scale
    """, """
        scale = math.sqrt(2.0)
        y = x * scale
    """, setup="import math\n\nimport numpy as np"),
    Fault("untyped parameter", "raises", """
        y = scaled(x, 2)  # fault
    """, """
        y = scaled(x, 2)
    """, setup="""
        def scaled(v, count):  # cause
            return v * count
    """, repaired_setup="""
        def scaled(v, count: int):
            return v * count
    """),
    Fault("type of the result", "raises", """
        y = x * total(x)
    """, """
        y = x * total(x)
    """, setup="""
        def total(v: torch.Tensor) -> float:  # cause
            return v.size(0)  # fault
    """, repaired_setup="""
        def total(v: torch.Tensor) -> float:
            return float(v.size(0))
    """),
    Fault("lambda", "raises", """
        shift = lambda v: v - 0.5  # fault
        y = shift(x)
    """, """
        y = x - 0.5
    """),
    Fault("set", "raises", """
        seen = {1, 2}  # fault
        y = x + len(seen)
    """, """
        seen = [1, 2]
        y = x + len(seen)
    """),
    Fault("try", "raises", """
        try:  # fault
            y = x * 2.0
        except RuntimeError:
            y = x
    """, """
        y = x * 2.0
    """),
    Fault("keyword dictionary", "raises", """
        options = {"dim": 0}
        y = x * torch.sum(x, **options)  # fault
    """, """
        y = x * torch.sum(x, dim=0)
    """),
    Fault("str method", "raises", """
        name = "{:>8}".format(x.size(0)).casefold()  # fault
        y = x * len(name)
    """, """
        name = "{}".format(x.size(0)).lower()
        y = x * len(name)
    """),
    Fault("computed index of a tuple", "raises", """
        pair = (x, 2.0)
        i = int(x.argmax()) % 2
        y = x * pair[i]  # fault
    """, """
        pair = (x, 2.0)
        y = x * pair[1]
    """),
    Fault("local class", "raises", """
        class Box:  # fault
            pass

        y = x * 2.0
    """, """
        y = x * 2.0
    """),
]

FRAMEWORK = Framework("torchscript", "\nimport torch\n", "torch.jit.script", "torch.jit.script",
                      "torch.tensor([0.5, -1.0, 2.0, 3.0])", "torch.Tensor", FAULTS)
