"""Modules, autograd functions and objects of the program that break the graph of torch.compile."""
import dataclasses
import functools

import torch
from torch import nn
from torch.utils.data import DataLoader

DIALECT = "torch.compile"


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        hidden, _ = self.rnn(x)
        return self.head(hidden)


class Stepper(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)

    def forward(self, x):
        hidden, memory = self.cell(x)
        return hidden + memory


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 4)

    def forward(self, x):
        return self.gru(x)[0]


class Doubling(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


@torch.compile
def applies_jvp(x):
    return Doubling.apply(x)


class Squaring(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


@torch.compile
def applies_function(x):
    return Squaring.apply(x)


class Fake(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Selected(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x, index=1):
        return self.layers[index](x)


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3)])

    def forward(self, x):
        self.layers.append(nn.Linear(3, 3))
        return self.layers[0](x)


class CreatesLayer(nn.Module):
    def forward(self, x):
        layer = nn.Linear(3, 3)
        return layer(x)


class Fallback(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x):
        return x * self.weight.sum()


class Flag:
    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return bool(self.value.sum() > 0)


class Plain:
    pass


@torch.compile
def sets_by_name(x, names=("a", "b")):
    plain = Plain()
    for name in names:
        setattr(plain, name, x)
    return plain.a


@torch.compile
def changes_class(x):
    plain = Plain()
    plain.__class__ = Flag
    return x


class Keyed:
    def __init__(self, key):
        self.key = key

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


@dataclasses.dataclass(frozen=True)
class Normalized:
    value: torch.Tensor

    def __post_init__(self):
        object.__setattr__(self, "total", self.value.sum())


@torch.compile
def returns_frozen(x):
    return Normalized(x * 2)


@dataclasses.dataclass(frozen=True)
class Pair:
    first: torch.Tensor
    second: torch.Tensor


@torch.compile
def returns_pair(x):
    return Pair(x, x * 2)


def trains(model, optimizer, x):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    return loss


@torch.compile
def steps_optimizer(x):
    optimizer = torch.optim.SGD([nn.Parameter(x)], lr=0.1)
    optimizer.step()
    return x


@torch.compile
def reads_loader(x):
    for batch in DataLoader([x, x]):
        x = x + batch.sum()
    return x


@functools.lru_cache
def cached(scale):
    return scale * 2


@torch.compile
def calls_cached(x):
    return x * cached(2)


@torch.compile
def calls_script(x):
    return scripted(x)


@torch.jit.script
def scripted(x):
    return x * 2


class Property(nn.Module):
    @property
    def device(self):
        return next(self.parameters()).device

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x.to(self.device))


class RegistersBuffer(nn.Module):
    def forward(self, x):
        self.register_buffer("last", x.clone())
        return x * 2


class Packs(nn.Module):
    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return packed.data


class ClipsNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        nn.utils.clip_grad_norm_(self.layer.parameters(), 1.0)
        return self.layer(x)


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


KINDS = {
    "Tagger": "GB0014",
    "Stepper": None,
    "Gated": "GB0014",
    "applies_jvp": "GB0144",
    "applies_function": None,
    "Selected": None,
    "Grows": "GB0264",
    "CreatesLayer": "GB0264",
    "Fallback": None,
    "sets_by_name": None,
    "changes_class": "GB4271",
    "returns_frozen": None,
    "returns_pair": None,
    "steps_optimizer": "GB0008",
    "reads_loader": "GB0008",
    "calls_cached": None,
    "calls_script": None,
    "Property": None,
    "RegistersBuffer": None,
    "Packs": "GB0007",
    "ClipsNorm": None,
    "Attends": None,
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    batch = torch.ones(2, 2, 3)
    weight = torch.ones(3, requires_grad=True)
    print(torch.compile(Tagger())(batch))
    print(torch.compile(Stepper())(batch[0]))
    print(torch.compile(Gated())(batch))
    print(applies_jvp(weight))
    print(applies_function(weight))
    print(torch.compile(Selected())(x))
    print(torch.compile(Grows())(x))
    print(torch.compile(CreatesLayer())(x))
    print(torch.compile(Fallback())(x))
    print(sets_by_name(x))
    print(changes_class(x))
    print(returns_frozen(x))
    print(returns_pair(x))
    print(steps_optimizer(x))
    print(reads_loader(x))
    print(calls_cached(x))
    print(calls_script(x))
    print(torch.compile(Property())(x))
    print(torch.compile(RegistersBuffer())(x))
    print(torch.compile(Packs())(batch, torch.tensor([2, 1])))
    print(torch.compile(ClipsNorm())(x))
    print(torch.compile(Attends())(torch.ones(2, 3, 4)))


if __name__ == "__main__":
    main()
