"""The programs that record_eager.py runs for PyTorch: the `main()` of each module of this folder."""
import torch

from main_calls import calls

MODULES = ("attention", "exported", "hosted", "layers", "losses", "numerics", "pipelines", "recurrent", "reinforce",
           "rollout", "sampling", "scripted", "state", "training", "vision")


def seeded(module, seed):
    torch.manual_seed(seed)
    yield from calls(module, "torch.compile")


CASES = {name: seeded for name in MODULES}
