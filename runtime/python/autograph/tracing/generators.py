"""The random number generators that a graph draws from. A run that fails restores their states."""

import torch


class Generators:
    """The generators of one graph. If `is_random`, it draws from torch's default generators too."""

    def __init__(self, staging, is_random):
        self.is_random = is_random
        self.drawn = list(staging.drawn.values())

    def state(self):
        of_torch = (torch.get_rng_state(), _of_devices()) if self.is_random else None
        return of_torch, [place.state() for place in self.drawn]

    def restore(self, state):
        of_torch, drawn = state
        if of_torch is not None:
            torch.set_rng_state(of_torch[0])
            if of_torch[1] is not None:
                torch.cuda.set_rng_state_all(of_torch[1])
        for place, before in zip(self.drawn, drawn):
            place.restore(before)


def _of_devices():
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
