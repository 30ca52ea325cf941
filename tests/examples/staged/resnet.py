"""ResNet-50's residual blocks in a small network: an epoch with a learning rate that drops in the graph."""

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = width * self.expansion
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        kept = x if self.shortcut is None else self.shortcut(x)
        return F.relu(self.layers(x) + kept)


class ResNet(nn.Module):
    """`counts` are the numbers of blocks of each stage: (3, 4, 6, 3) in ResNet-50."""

    def __init__(self, counts=(1, 2), width=4, classes=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        blocks, inputs = [], width
        for stage, count in enumerate(counts):
            for index in range(count):
                stride = 2 if index == 0 and stage > 0 else 1
                blocks.append(Bottleneck(inputs, width << stage, stride))
                inputs = (width << stage) * Bottleneck.expansion
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


@ag.function
def train(model, optimizer, images, labels, patience):
    """Trains on all batches. The learning rate drops after `patience` batches without a smaller loss."""
    best, bad, total = torch.tensor(float("inf")), torch.tensor(0), torch.tensor(0.0)
    rate = torch.tensor(0.1)
    for x, y in zip(images, labels):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            parameter.grad.mul_(rate)
        optimizer.step()
        if loss < best:
            best, bad = loss.detach(), torch.tensor(0)
        else:
            bad = bad + 1
        if bad >= patience:
            rate, bad = rate * 0.5, torch.tensor(0)
        total = total + loss.detach()
    return total / len(images), rate


def stripes(count):
    """Images with horizontal or vertical stripes, or noise."""
    labels = torch.randint(3, (count,))
    wave = torch.sin(torch.arange(12) * 1.5 + 6 * torch.rand(count, 1))
    rows, columns = wave[:, :, None].expand(-1, 12, 12), wave[:, None, :].expand(-1, 12, 12)
    images = torch.stack([rows, columns, torch.zeros_like(rows)])[labels, torch.arange(count)]
    return (images + 0.3 * torch.randn(count, 12, 12)).unsqueeze(1), labels


def main():
    torch.manual_seed(0)
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, weight_decay=1e-4)
    images, labels = zip(*(stripes(16) for _ in range(4)))
    images, labels = torch.stack(images), torch.stack(labels)
    for epoch in range(3):
        loss, rate = train(model, optimizer, images, labels, torch.tensor(2))
        print(f"epoch {epoch}: loss {loss:.3f}, rate {rate:.4f}")


if __name__ == "__main__":
    main()
