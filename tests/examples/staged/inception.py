"""Inception-v3's blocks with parallel branches, and its auxiliary classifier, in a small network."""

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag


class Convolution(nn.Module):
    def __init__(self, inputs, outputs, size, **options):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, size, bias=False, **options)
        self.norm = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x):
        return F.relu(self.norm(self.convolution(x)))


class Block(nn.Module):
    """Four branches: 1x1, 5x5, 3x3 as 1x3 and 3x1, and pooling."""

    def __init__(self, inputs, width):
        super().__init__()
        self.one = Convolution(inputs, width, 1)
        self.five = nn.Sequential(Convolution(inputs, width, 1), Convolution(width, width, 5, padding=2))
        self.three = nn.Sequential(
            Convolution(inputs, width, 1),
            Convolution(width, width, (1, 3), padding=(0, 1)),
            Convolution(width, width, (3, 1), padding=(1, 0)),
        )
        self.pooled = Convolution(inputs, width, 1)

    def forward(self, x):
        pooled = self.pooled(F.avg_pool2d(x, 3, stride=1, padding=1))
        return torch.cat([self.one(x), self.five(x), self.three(x), pooled], 1)


class Inception(nn.Module):
    def __init__(self, width=4, classes=2):
        super().__init__()
        self.stem = Convolution(1, 8, 3, padding=1)
        self.first, self.second = Block(8, width), Block(4 * width, width)
        self.head, self.auxiliary = nn.Linear(4 * width, classes), nn.Linear(4 * width, classes)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        """Returns the scores and, in training, those of the auxiliary classifier."""
        x = self.first(self.stem(x))
        scores = self.auxiliary(x.mean((2, 3))) if self.training else None
        x = self.second(F.max_pool2d(x, 2))
        return self.head(self.dropout(x.mean((2, 3)))), scores


@ag.function
def train(model, optimizer, images, labels):
    """Trains on all batches, except for those without both classes."""
    total, used = torch.tensor(0.0), torch.tensor(0)
    for x, y in zip(images, labels):
        if y.min() == y.max():
            continue
        scores, auxiliary = model(x)
        loss = F.cross_entropy(scores, y, label_smoothing=0.1) + 0.4 * F.cross_entropy(auxiliary, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        total, used = total + loss.detach(), used + 1
    return total / used, used


@ag.function
def accuracy(model, images, labels):
    scores, _ = model(images.flatten(0, 1))
    return (scores.argmax(1) == labels.flatten()).float().mean()


def images_of(count):
    """Images of crosses and of squares, at random positions."""
    labels = torch.randint(2, (count,))
    middle = torch.randint(3, 9, (count, 2, 1))
    apart = (torch.arange(12) - middle).abs()
    rows, columns = apart[:, 0, :, None], apart[:, 1, None, :]
    cross = ((rows == 0) | (columns == 0)) & (rows <= 2) & (columns <= 2)
    square = torch.maximum(rows, columns) == 2
    images = torch.where(labels[:, None, None] == 0, cross, square).float()
    return (images + 0.2 * torch.randn(count, 12, 12)).unsqueeze(1), labels


def main():
    torch.manual_seed(0)
    model = Inception()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.003, alpha=0.9, momentum=0.5)
    images, labels = zip(*(images_of(3) for _ in range(4)))
    images, labels = torch.stack(images), torch.stack(labels)
    for epoch in range(6):
        model.train()
        loss, used = train(model, optimizer, images, labels)
        model.eval()
        print(f"epoch {epoch}: {used} batches, loss {loss:.3f}, accuracy {accuracy(model, images, labels):.3f}")


if __name__ == "__main__":
    main()
