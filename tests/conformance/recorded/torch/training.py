"""Training loops: schedules in plain Python, checks of the numbers that the model returns."""
import math
from dataclasses import dataclass, field
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Options:
    rate: float = 0.1
    clip: Optional[float] = None
    accumulate: int = 1
    schedule: str = "constant"
    warmup: int = 0
    decay: Dict[str, float] = field(default_factory=dict)


def rate_at(step, options: Options, total=100):
    if step < options.warmup:
        return options.rate * (step + 1) / options.warmup
    if options.schedule == "cosine":
        return options.rate * (1 + math.cos(math.pi * step / total)) / 2
    if options.schedule == "linear":
        return options.rate * (1 - step / total)
    return options.rate


def clip_gradients(parameters, limit):
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return torch.zeros(())
    norm = torch.stack([g.norm() for g in grads]).norm()
    if norm > limit:
        for grad in grads:
            grad.mul_(limit / norm)
    return norm


@torch.compile
def train_step(model, images, labels, options: Options, step):
    loss = F.cross_entropy(model(images), labels)
    loss = loss / options.accumulate
    loss.backward()
    if (step + 1) % options.accumulate != 0:
        return loss.detach()
    if options.clip is not None:
        clip_gradients(list(model.parameters()), options.clip)
    rate = rate_at(step, options)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.grad is None:
                continue
            decay = options.decay.get(name, 0.0)
            if decay:
                parameter.mul_(1 - rate * decay)
            parameter.sub_(rate * parameter.grad)
            parameter.grad = None
    return loss.detach()


class LossScaler:
    def __init__(self, scale=2.0 ** 8, interval=2):
        self.scale = scale
        self.interval = interval
        self.good = 0

    def step(self, grads: List[torch.Tensor]):
        finite = torch.stack([g.isfinite().all() for g in grads]).all()
        if not finite:
            self.scale /= 2
            self.good = 0
            return False
        self.good += 1
        if self.good % self.interval == 0:
            self.scale *= 2
        for grad in grads:
            grad.div_(self.scale)
        return True


class EarlyStopping:
    def __init__(self, patience=2, minimum=0.0):
        self.patience = patience
        self.minimum = minimum
        self.best = None
        self.waited = 0

    def update(self, loss):
        if self.best is None or loss < self.best - self.minimum:
            self.best = loss
            self.waited = 0
            return False
        self.waited += 1
        return self.waited > self.patience


def fit(model, batches, epochs=2, options=None, stopper=None):
    options = options or Options()
    history = []
    for epoch in range(epochs):
        for step, (images, labels) in enumerate(batches):
            loss = train_step(model, images, labels, options, step)
            if torch.isnan(loss):
                raise FloatingPointError(f"epoch {epoch}, step {step}")
            history.append(loss.item())
        if stopper is not None and stopper.update(history[-1]):
            break
    return history


def adam_step(parameter, grad, moments, step, amsgrad=False, decay=0.0):
    if decay != 0:
        grad = grad + decay * parameter
    moments["m"] = 0.9 * moments["m"] + 0.1 * grad
    moments["v"] = 0.999 * moments["v"] + 0.001 * grad ** 2
    m, v = moments["m"] / (1 - 0.9 ** step), moments["v"] / (1 - 0.999 ** step)
    if amsgrad:
        previous = moments.get("top")
        v = v if previous is None else torch.maximum(previous, v)
        moments["top"] = v
    update = m / (v.sqrt() + 1e-8)
    if update.norm() > 10 * parameter.norm() and step > 1:
        update = update / update.norm()
    return parameter - 0.01 * update


def accuracy(logits, labels, top=1, ignore=None):
    if top == 1:
        hits = logits.argmax(-1) == labels
    else:
        hits = (logits.topk(top).indices == labels[:, None]).any(-1)
    if ignore is not None:
        hits = hits[labels != ignore]
    return hits.float().mean() if len(hits) else torch.zeros(())


def main():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    images, labels = torch.randn(5, 6), torch.randint(0, 3, (5,))
    print(train_step(model, images, labels, Options(), 0))
    print(train_step(model, images, labels, Options(clip=0.1, schedule="cosine", decay={"0.weight": 0.1}), 0))
    print(train_step(model, images, labels, Options(accumulate=2, warmup=4, schedule="linear"), 0))
    print(train_step(model, images, labels, Options(accumulate=2, warmup=4), 1))
    print(fit(model, [(images, labels), (images, labels)]))
    print(fit(model, [(images, labels)], epochs=5, options=Options(rate=0.5), stopper=EarlyStopping(patience=0)))
    scaler = LossScaler()
    scaled = torch.compile(scaler.step)
    print(scaled([torch.ones(3), torch.ones(2)]))
    print(scaled([torch.ones(3), torch.tensor([float("inf")])]))
    stopper = EarlyStopping()
    watch = torch.compile(stopper.update)
    print(watch(torch.tensor(1.0)))
    print(watch(torch.tensor(2.0)))
    moments = {"m": torch.zeros(3), "v": torch.zeros(3)}
    adam = torch.compile(adam_step)
    print(adam(torch.ones(3), torch.rand(3), moments, 1))
    print(adam(torch.ones(3), torch.rand(3), moments, 2, amsgrad=True, decay=0.1))
    score = torch.compile(accuracy)
    print(score(torch.randn(5, 3), labels))
    print(score(torch.randn(5, 3), labels, top=2, ignore=0))


if __name__ == "__main__":
    main()
