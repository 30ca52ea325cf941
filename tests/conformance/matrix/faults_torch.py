"""Faults of code that `torch.compile(fullgraph=True)` and `torch.export` trace."""
from program import Fault, Framework

FAULTS = [
    Fault("if on a tensor", "raises", """
        if x.sum() > 0.0:  # fault
            y = x * 2.0
        else:
            y = x
    """, """
        y = torch.where(x.sum() > 0.0, x * 2.0, x)
    """),
    Fault("while on a tensor", "raises", """
        y = x
        while y.abs().max() > 1.0:  # fault
            y = y * 0.5
    """, """
        y = x
        while y.dim() < 3:
            y = y[None] * 0.5
    """),
    Fault("conditional expression", "raises", """
        peak = x.max()
        scale = 1.0 / peak if peak > 1.0 else 1.0  # fault
        y = x * scale
    """, """
        peak = x.max()
        scale = torch.where(peak > 1.0, 1.0 / peak, 1.0)
        y = x * scale
    """),
    Fault("and of tensors", "raises", """
        busy = x.sum() > 0.0 and x.max() < 10.0  # fault
        y = torch.where(torch.as_tensor(busy), x, -x)
    """, """
        busy = (x.sum() > 0.0) & (x.max() < 10.0)
        y = torch.where(busy, x, -x)
    """),
    Fault("item() as a condition", "raises", """
        if x.max().item() > 1.0:  # fault
            y = x * 0.5
        else:
            y = x
    """, """
        y = torch.where(x.max() > 1.0, x * 0.5, x)
    """),
    Fault("tolist()", "raises", """
        total = sum(x.tolist())  # fault
        y = x + total
    """, """
        total = x.sum()
        y = x + total
    """),
    Fault("range of a value", "raises", """
        y = x
        for _ in range(int(x.argmax())):  # fault
            y = y * 0.5
    """, """
        y = x
        for _ in range(x.dim()):
            y = y * 0.5
    """),
    Fault("print()", "raises", """
        print("norm", x.norm())  # fault
        y = x * 2.0
    """, """
        y = x * 2.0
    """),
    Fault("logging", "raises", """
        logger.warning("norm of %d values", x.numel())  # fault
        y = x * 2.0
    """, """
        y = x * 2.0
    """, setup="import logging\n\nlogger = logging.getLogger(__name__)"),
    Fault("breakpoint", "raises", """
        if x.dim() > 0:
            breakpoint()  # fault
        y = x * 2.0
    """, """
        y = x * 2.0
    """),
    Fault("file", "raises", """
        with open("/dev/null", "w") as log:  # fault
            log.write("step")
        y = x * 2.0
    """, """
        y = x * 2.0
    """),
    Fault("data_ptr()", "raises", """
        aligned = x.data_ptr() % 16 == 0  # fault
        y = x * 2.0 if aligned else x
    """, """
        aligned = x.is_contiguous()
        y = x * 2.0 if aligned else x
    """),
    Fault("assert on a tensor", "raises", """
        assert x.isfinite().all().item(), f"{x.max().item()}"  # fault
        y = x * 2.0
    """, """
        assert x.dim() == 1
        y = x * 2.0
    """),
    Fault("exception", "raises", """
        try:
            if x.sum() < -100.0:  # fault
                raise ValueError("negative")
            y = x * 2.0
        except ValueError:
            y = x
    """, """
        y = torch.where(x.sum() < -100.0, x, x * 2.0)
    """),
    Fault("max() of tensors", "raises", """
        scale = max(x.max(), x.mean())  # fault
        y = x / scale
    """, """
        scale = torch.maximum(x.max(), x.mean())
        y = x / scale
    """),
    Fault("time", "raises", """
        started = time.time()  # fault
        y = x * 2.0 + started * 0.0
    """, """
        y = x * 2.0
    """, setup="import time"),
    Fault("NumPy generator", "raises", """
        noise = RNG.normal(size=4)  # fault
        y = x + torch.from_numpy(noise)
    """, """
        noise = torch.randn(4)
        y = x + noise
    """, setup="import numpy as np\n\nRNG = np.random.default_rng(0)"),
    Fault("copy of an object", "raises", """
        table = copy.copy(x)  # fault
        y = x + table
    """, """
        table = x.clone()
        y = x + table
    """, setup="import copy"),
    Fault("key of a dict", "raises", """
        table = {0: 1.0, 1: 2.0, 2: 4.0, 3: 8.0}
        y = x * table[x.argmax().item()]  # fault
    """, """
        table = torch.tensor([1.0, 2.0, 4.0, 8.0])
        y = x * table.index_select(0, x.argmax().reshape(1))
    """),
]

IMPORTS = """
import torch
"""
INPUT = "torch.tensor([0.5, -1.0, 2.0, 3.0])"
COMPILE = Framework("torch_compile", IMPORTS, "torch.compile(fullgraph=True)", "torch.compile(fullgraph=True)", INPUT, "torch.Tensor", FAULTS)
EXPORT = Framework("torch_export", IMPORTS, "", "", INPUT, "torch.Tensor", [fault for fault in FAULTS if fault.traced], main="""
class Program(torch.nn.Module):
    def forward(self, x):
        return step(x)


def main():
    x = {input}
    program = torch.export.export(Program(), (x,))
    return [program.module()(x)]
""", module_main="""
def main():
    x = {input}
    program = torch.export.export(step, (x,))
    return [program.module()(x)]
""")
