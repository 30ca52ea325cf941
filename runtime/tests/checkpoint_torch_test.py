"""All optimizers, schedulers and kinds of modules of torch: a program that restores a checkpoint continues with the same
results, bit for bit, as the program that saved it."""

import inspect
import warnings

import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler, swa_utils
from torch.optim.lr_scheduler import LRScheduler

import autograph as ag

OPTIMIZERS = [
    cls for _, cls in inspect.getmembers(torch.optim, inspect.isclass)
    if issubclass(cls, torch.optim.Optimizer) and cls is not torch.optim.Optimizer
]  # fmt: skip
OPTIONS = [
    (torch.optim.Adam, {"amsgrad": True, "foreach": True}), (torch.optim.Adam, {"fused": True}),
    (torch.optim.Adam, {"lr": torch.tensor(0.01)}), (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "lr": 0.01}),
    (torch.optim.Adagrad, {"lr_decay": 0.1}), (torch.optim.RMSprop, {"momentum": 0.5, "centered": True}),
    (torch.optim.LBFGS, {"line_search_fn": "strong_wolfe", "lr": 0.1}),
]  # fmt: skip
SCHEDULERS = {
    lr_scheduler.LambdaLR: {"lr_lambda": lambda epoch: 0.9**epoch},
    lr_scheduler.MultiplicativeLR: {"lr_lambda": lambda epoch: 0.9},
    lr_scheduler.StepLR: {"step_size": 2},
    lr_scheduler.MultiStepLR: {"milestones": [1, 4, 4]},
    lr_scheduler.ConstantLR: {"total_iters": 4},
    lr_scheduler.LinearLR: {"total_iters": 6},
    lr_scheduler.ExponentialLR: {"gamma": 0.8},
    lr_scheduler.PolynomialLR: {"total_iters": 6},
    lr_scheduler.CosineAnnealingLR: {"T_max": 5},
    lr_scheduler.CosineAnnealingWarmRestarts: {"T_0": 2},
    lr_scheduler.CyclicLR: {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 2, "mode": "triangular2"},
    lr_scheduler.OneCycleLR: {"max_lr": 0.1, "total_steps": 20},
    lr_scheduler.ReduceLROnPlateau: {"patience": 0},
    swa_utils.SWALR: {"swa_lr": 0.05, "anneal_epochs": 3},
}


def model_of(cls):
    return (
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        if cls is not torch.optim.SparseAdam
        else nn.Embedding(5, 1, sparse=True)
    )


def step(checkpoint, x):
    def closure():
        checkpoint.optimizer.zero_grad()
        inputs = x if not isinstance(checkpoint.model, nn.Embedding) else (x[:, 0].abs() * 2).long().clamp(0, 4)
        loss = checkpoint.model(inputs).pow(2).mean()
        loss.backward()
        return loss

    loss = checkpoint.optimizer.step(closure).item()
    scheduler = getattr(checkpoint, "scheduler", None)
    if scheduler is not None:
        scheduler.step(*([loss] if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) else []))
    return loss, [group["lr"] for group in checkpoint.optimizer.param_groups]


def assert_resumes(make, step, path, before=3, after=4):
    """Asserts that a restored program continues with the same results. `make(seed)` returns a checkpoint;
    `step(checkpoint, x)` changes its objects, and returns values to compare."""
    inputs = [torch.randn(6, 3, generator=torch.Generator().manual_seed(i)) for i in range(before + after)]
    whole, other = make(0), make(1)
    for x in inputs[:before]:
        step(whole, x)
    whole.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.restore(path).assert_consumed()
    for x in inputs[before:]:
        assert repr(step(whole, x)) == repr(step(other, x))
    for a, b in zip(whole.model.state_dict().values(), other.model.state_dict().values(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize(
    "cls, options", [(cls, {}) for cls in OPTIMIZERS] + OPTIONS, ids=lambda v: getattr(v, "__name__", str(v))
)
@pytest.mark.parametrize("has_stepped", [False, True])
def test_optimizers(cls, options, has_stepped, tmp_path):
    def make(seed):
        torch.manual_seed(seed)
        model = model_of(cls)
        parameters = [p for p in model.parameters() if cls is not torch.optim.Muon or p.dim() == 2]
        own = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
        checkpoint = ag.Checkpoint(model=model, optimizer=cls(parameters, **own))
        if seed and has_stepped:
            step(checkpoint, torch.ones(6, 3))
        return checkpoint

    assert_resumes(make, step, tmp_path / "checkpoint")


def test_all_schedulers_are_tested():
    others = {LRScheduler, lr_scheduler.ChainedScheduler, lr_scheduler.SequentialLR}
    found = {cls for _, cls in inspect.getmembers(lr_scheduler, inspect.isclass) if issubclass(cls, LRScheduler)}
    assert found - others - {getattr(lr_scheduler, "_LRScheduler", None)} <= set(SCHEDULERS)


@pytest.mark.parametrize("cls", SCHEDULERS)
def test_schedulers(cls, tmp_path):
    def make(seed):
        torch.manual_seed(seed)
        model = model_of(None)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        return ag.Checkpoint(model=model, optimizer=optimizer, scheduler=cls(optimizer, **SCHEDULERS[cls]))

    assert_resumes(make, step, tmp_path / "checkpoint")


def test_chained_schedulers(tmp_path):
    def make(seed):
        torch.manual_seed(seed)
        model = model_of(None)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        parts = [lr_scheduler.ConstantLR(optimizer, total_iters=2), lr_scheduler.MultiStepLR(optimizer, [1, 3])]
        return ag.Checkpoint(
            model=model, optimizer=optimizer, scheduler=lr_scheduler.ChainedScheduler(parts, optimizer)
        )

    assert_resumes(make, step, tmp_path / "checkpoint")


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(3, 4, num_layers=2), nn.Linear(4, 1)
        self.state = None

    def forward(self, x):
        y, state = self.lstm(x[None], self.state)
        self.state = tuple(part.detach() for part in state)
        return self.out(y)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        self.layers["b"].weight = self.layers["a"].weight
        self.extra = nn.ParameterList([nn.Parameter(torch.randn(3)), nn.Parameter(torch.randn(3))])
        self.by_name = nn.ParameterDict({"x": nn.Parameter(torch.randn(1))})

    def forward(self, x):
        return self.layers["b"](self.layers["a"](x)) * self.extra[0] + self.extra[1] * self.by_name["x"]


def normalized():
    return nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)),
        nn.BatchNorm1d(4),
        nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2)),
    )


def attention():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.3), 2, enable_nested_tensor=False)


MODELS = {
    "recurrent": Recurrent,
    "tied": Tied,
    "normalized": normalized,
    "attention": lambda: nn.Sequential(nn.Linear(3, 4), attention(), nn.Dropout(0.2), nn.Linear(4, 1)),
    "averaged": lambda: swa_utils.AveragedModel(nn.Linear(3, 2), multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9)),
    "lazy": lambda: nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.Linear(4, 1)),
}


@pytest.mark.parametrize("wrap", [lambda f: f, ag.function], ids=["eager", "staged"])
@pytest.mark.parametrize("name", MODELS)
def test_modules(name, wrap, tmp_path):
    def make(seed):
        torch.manual_seed(seed)
        model = MODELS[name]()
        if name == "lazy" and not seed:
            model(torch.ones(2, 3))
        checkpoint = ag.Checkpoint(model=model, random=ag.RandomState())
        checkpoint.optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)

        def train(x):
            checkpoint.optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            checkpoint.optimizer.step()
            return loss.detach()

        trains[id(checkpoint)] = wrap(train)
        return checkpoint

    def train(checkpoint, x):
        torch.manual_seed(int(x.abs().sum() * 1000))
        loss = trains[id(checkpoint)](x)
        if name == "averaged":
            checkpoint.model.update_parameters(nn.Linear(3, 2).requires_grad_(False))
        return loss

    trains = {}
    assert_resumes(make, train, tmp_path / "checkpoint")
