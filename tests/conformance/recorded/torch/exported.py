"""Modules for torch.export: everything that decides the path is fixed before the export."""
from dataclasses import dataclass
from typing import Dict, Tuple

import torch
from torch import nn


@dataclass(frozen=True)
class Stage:
    width: int
    repeat: int = 1
    stride: int = 1
    squeeze: bool = False


class SqueezeExcite(nn.Module):
    def __init__(self, width, ratio=4):
        super().__init__()
        self.down = nn.Conv2d(width, max(1, width // ratio), 1)
        self.up = nn.Conv2d(max(1, width // ratio), width, 1)

    def forward(self, x):
        scale = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.up(torch.relu(self.down(scale))))


class ConvStage(nn.Module):
    def __init__(self, inputs, stage: Stage):
        super().__init__()
        self.stage = stage
        self.convs = nn.ModuleList()
        for i in range(stage.repeat):
            self.convs.append(nn.Conv2d(inputs if i == 0 else stage.width, stage.width, 3, padding=1))
        self.squeeze = SqueezeExcite(stage.width) if stage.squeeze else None

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            y = torch.relu(conv(x))
            x = x + y if x.shape == y.shape else y
            if i == 0 and self.stage.stride > 1:
                x = nn.functional.avg_pool2d(x, self.stage.stride)
        if self.squeeze is not None:
            x = self.squeeze(x)
        return x


class Classifier(nn.Module):
    def __init__(self, stages: Tuple[Stage, ...], classes=10, pool="mean"):
        super().__init__()
        widths = [3] + [stage.width for stage in stages]
        self.stages = nn.Sequential(*[ConvStage(w, s) for w, s in zip(widths, stages)])
        self.head = nn.Linear(widths[-1], classes)
        self.pool = pool

    def forward(self, image):
        if image.ndim == 3:
            image = image.unsqueeze(0)
        assert image.shape[1] == 3, "an RGB image is wanted"
        x = self.stages(image)
        if self.pool == "mean":
            x = x.mean((2, 3))
        elif self.pool == "max":
            x = x.amax((2, 3))
        return self.head(x)


class Standardise(nn.Module):
    def __init__(self, mean=None, std=None):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean) if mean is not None else None)
        self.register_buffer("std", torch.tensor(std) if std is not None else None)

    def forward(self, x):
        if self.mean is not None:
            x = x - self.mean
        if self.std is not None:
            x = x / torch.where(self.std == 0, 1.0, self.std)
        return x


class Tabular(nn.Module):
    """Columns by name. The loop over the dictionary runs at export time."""

    def __init__(self, columns: Dict[str, int], width=4):
        super().__init__()
        self.columns = columns
        self.embeddings = nn.ModuleDict({n: nn.Embedding(size, width) for n, size in columns.items() if size > 0})
        self.dense = nn.Linear(1, width)

    def forward(self, row: Dict[str, torch.Tensor]):
        total = torch.zeros(())
        for name, size in self.columns.items():
            if name not in row:
                continue
            total = total + (self.embeddings[name](row[name]) if size > 0 else self.dense(row[name][:, None]))
        return total


class Branching(nn.Module):
    """A condition in the graph, written with torch.cond."""

    def __init__(self, width, threshold=0.0, invert=False):
        super().__init__()
        self.large = nn.Linear(width, width)
        self.threshold = threshold
        self.invert = invert

    def forward(self, x):
        def shrink(y):
            return y * 0.5

        def transform(y):
            return self.large(y) if not self.invert else -self.large(y)

        return torch.cond(x.sum() > self.threshold, transform, shrink, (x,))


def export(model, *args):
    program = torch.export.export(model.eval(), args)
    return len(list(program.graph.nodes)) > 0 and program


def main():
    image = torch.randn(1, 3, 8, 8)
    small = Classifier((Stage(4), Stage(8, repeat=2, stride=2, squeeze=True)))
    print(small(image))
    print(torch.export.export(small.eval(), (image,)))
    print(torch.export.export(Classifier((Stage(4),), pool="max"), (image[0],)))
    print(torch.export.export(Standardise(), (torch.randn(3),)))
    print(torch.export.export(Standardise([0.5, 0.2, 0.1], [1.0, 0.0, 2.0]), (torch.randn(3),)))
    table = Tabular({"age": 0, "city": 7, "income": 0})
    print(torch.export.export(table, ({"age": torch.rand(2), "city": torch.tensor([1, 2])},)))
    print(torch.export.export(Branching(4), (torch.randn(2, 4),)))
    print(export(Branching(4, invert=True), torch.randn(2, 4)))


if __name__ == "__main__":
    main()
