"""The optimizers of torch, from torch's own table: one step in a staged function, and steps in two staged loops."""

import suite
import torch
from torch.testing._internal.common_optimizers import optim_db

FORMS = "step", "for", "while"


def cases():
    for info in optim_db:
        for given in info.optim_inputs_func("cpu"):
            for form in FORMS:
                yield suite.Case(f"{info.optim_cls.__name__} {given.desc} {form}", _program(info, given, form))


def _program(info, given, form):
    """Returns the program of a case."""
    def program(stage):
        suite.seed()
        sparse = info.optim_cls is torch.optim.SparseAdam
        model = _Embedded() if sparse else _Network(bias=info.optim_cls is not torch.optim.Muon)
        options = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in given.kwargs.items()}
        x = torch.randint(0, 6, (8,)) if sparse else torch.randn(8, 4)
        y = torch.randn(8, 2)
        closure_only = info.optim_cls is torch.optim.LBFGS
        if closure_only:  # the steps of LBFGS amplify rounding errors
            model, x, y = model.double(), x.double(), y.double()
        optimizer = info.optim_cls(model.parameters(), **options)

        def loss_of():
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            return loss

        def step():
            if closure_only:
                return optimizer.step(loss_of)
            loss = loss_of()
            optimizer.step()
            return loss

        def train_for(count):
            loss = torch.zeros(())
            for _ in range(count):
                loss = step()
            return loss

        def train_while(count):
            i = torch.zeros((), dtype=torch.int64)
            loss = torch.zeros(())
            while i < count:
                loss = step()
                i = i + 1
            return loss

        observed = []
        if form == "step":
            staged = stage(step)
            for _ in range(4):
                observed.append(staged().detach().clone())
        elif form == "for":
            staged = stage(train_for)
            observed += [staged(20).detach().clone(), staged(20).detach().clone()]
        else:
            staged = stage(train_while)
            observed += [staged(torch.tensor(3)).detach().clone(), staged(torch.tensor(2)).detach().clone()]
        parameters = [p.detach().clone() for p in model.parameters()]
        state = [suite.snapshot(dict(optimizer.state[p])) for p in model.parameters()]
        return observed, parameters, state

    return program


class _Network(torch.nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.first = torch.nn.Linear(4, 5, bias=bias)
        self.second = torch.nn.Linear(5, 2, bias=bias)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


class _Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(6, 2, sparse=True)

    def forward(self, x):
        return self.table(x)


if __name__ == "__main__":
    suite.main("OptimizerInfo", lambda: list(cases()))
