"""W13: ResNet-50 and a network of Inception-v3's blocks on small images, inference and training (JANUS, table 2)."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from harness import Workload, single

CLASSES, RATE = 10, 0.001
CONFIGURATIONS = [
    dict(model="resnet", width=64, B=4, steps=0),
    dict(model="resnet", width=16, B=16, steps=2),
    dict(model="inception", width=16, B=4, steps=0),
    dict(model="inception", width=8, B=16, steps=2),
]


class ConvNorm(nn.Sequential):
    def __init__(self, inputs, outputs, kernel, stride=1, padding=0, activation=True):
        layers = [nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs)]
        super().__init__(*layers, *([nn.ReLU()] if activation else []))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        self.first, self.second = ConvNorm(inputs, width, 1), ConvNorm(width, width, 3, stride, 1)
        self.third = ConvNorm(width, 4 * width, 1, activation=False)
        self.shortcut = None
        if stride != 1 or inputs != 4 * width:
            self.shortcut = ConvNorm(inputs, 4 * width, 1, stride, activation=False)

    def forward(self, x):
        kept = x if self.shortcut is None else self.shortcut(x)
        return F.relu(self.third(self.second(self.first(x))) + kept)


class ResNet(nn.Module):
    """ResNet-50 with `width` channels after the stem: 64 in the paper."""

    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential(ConvNorm(3, width, 7, 2, 3), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], width
        for stage, count in enumerate((3, 4, 6, 3)):
            for index in range(count):
                blocks.append(Bottleneck(inputs, width << stage, 2 if index == 0 and stage > 0 else 1))
                inputs = 4 * (width << stage)
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(inputs, CLASSES)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


class Mixed(nn.Module):
    """Inception-v3's block A: four branches, whose channels are joined."""

    def __init__(self, inputs, width):
        super().__init__()
        self.point = ConvNorm(inputs, 4 * width, 1)
        self.five = nn.Sequential(ConvNorm(inputs, 3 * width, 1), ConvNorm(3 * width, 4 * width, 5, padding=2))
        self.three = nn.Sequential(
            ConvNorm(inputs, 4 * width, 1),
            ConvNorm(4 * width, 6 * width, 3, padding=1),
            ConvNorm(6 * width, 6 * width, 3, padding=1),
        )
        self.pool = ConvNorm(inputs, 2 * width, 1)
        self.outputs = 16 * width

    def forward(self, x):
        pooled = F.avg_pool2d(x, 3, stride=1, padding=1)
        return torch.cat([self.point(x), self.five(x), self.three(x), self.pool(pooled)], 1)


class Factorized(nn.Module):
    """Inception-v3's block C: convolutions of 7 x 7 as rows and columns."""

    def __init__(self, inputs, width):
        super().__init__()
        self.point = ConvNorm(inputs, 6 * width, 1)
        self.once = nn.Sequential(
            ConvNorm(inputs, 4 * width, 1),
            ConvNorm(4 * width, 4 * width, (1, 7), padding=(0, 3)),
            ConvNorm(4 * width, 6 * width, (7, 1), padding=(3, 0)),
        )
        self.pool = ConvNorm(inputs, 4 * width, 1)
        self.outputs = 16 * width

    def forward(self, x):
        pooled = F.avg_pool2d(x, 3, stride=1, padding=1)
        return torch.cat([self.point(x), self.once(x), self.pool(pooled)], 1)


class Reduction(nn.Module):
    """Halves the height and width with a convolution and a pooling beside it."""

    def __init__(self, inputs, width):
        super().__init__()
        self.three = nn.Sequential(ConvNorm(inputs, 4 * width, 1), ConvNorm(4 * width, 8 * width, 3, 2))
        self.outputs = 8 * width + inputs

    def forward(self, x):
        return torch.cat([self.three(x), F.max_pool2d(x, 3, 2)], 1)


class Inception(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Sequential(ConvNorm(3, 2 * width, 3, 2), ConvNorm(2 * width, 4 * width, 3, padding=1))
        blocks, inputs = [], 4 * width
        for kind in (Mixed, Mixed, Mixed, Reduction, Factorized, Factorized, Factorized, Factorized, Reduction, Mixed):
            blocks.append(kind(inputs, width))
            inputs = blocks[-1].outputs
        self.blocks = nn.Sequential(*blocks)
        self.dropout = nn.Dropout(0.0)
        self.head = nn.Linear(inputs, CLASSES)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(self.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1)))


def classify(model, images):
    with torch.no_grad():
        return torch.softmax(model(images), 1)


def train(model, start, images, labels):
    """Each call starts with the same parameters, so that all calls do the same work."""
    model.load_state_dict(start)
    for x, y in zip(images, labels):
        loss = F.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= RATE * p.grad
    return loss.detach(), [p.detach().clone() for p in model.head.parameters()]


def workload(model, width, B, steps):
    rng = np.random.RandomState(0)
    torch.manual_seed(0)
    network = (ResNet if model == "resnet" else Inception)(width)
    for name, parameter in network.named_parameters():
        if parameter.ndim > 1:
            parameter.data = single(rng.randn(*parameter.shape) * np.sqrt(2 / parameter[0].numel()))
        elif name.startswith("head") or "third" in name:  # the residuals are small at first
            parameter.data = torch.full_like(parameter, 0.1)
    if steps == 0:
        return Workload(classify, (network.eval(), single(rng.rand(B, 3, 32, 32))))
    start = {name: value.clone() for name, value in network.state_dict().items()}
    labels = torch.from_numpy(rng.randint(0, CLASSES, (steps, B)))
    return Workload(train, (network, start, single(rng.rand(steps, B, 3, 32, 32)), labels))
