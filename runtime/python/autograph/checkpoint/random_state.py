"""An object whose state is the state of the global random number generators."""

import random
import sys

import torch


class RandomState:
    """Represents the global random number generators of torch (on the CPU and, if it is used, CUDA), of the module `random`,
    and of NumPy if it is imported. A checkpoint saves their state: `ag.Checkpoint(random=ag.RandomState(), …)`."""

    def state_dict(self):
        state = {"torch": torch.get_rng_state(), "python": random.getstate()}
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = torch.cuda.get_rng_state_all()
        if "numpy" in sys.modules:
            state["numpy"] = sys.modules["numpy"].random.get_state(legacy=False)
        return state

    def load_state_dict(self, state):
        torch.set_rng_state(state["torch"])
        random.setstate(state["python"])
        if "cuda" in state and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda"][: torch.cuda.device_count()])
        if "numpy" in state:
            import numpy

            numpy.random.set_state(state["numpy"])
