"""LeNet with batch normalisation and dropout: an epoch is one graph, its buffers and optimiser included."""

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag


class Block(nn.Module):
    def __init__(self, inputs, outputs, kernel, norm=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)
        self.norm = nn.BatchNorm2d(outputs) if norm else None

    def forward(self, x):
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x)
        return F.max_pool2d(F.relu(x), 2)


class LeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.blocks = nn.ModuleList([Block(1, 6, 5), Block(6, 16, 5)])
        self.hidden = nn.Linear(16 * 4 * 4, 32)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = F.relu(self.hidden(x.flatten(1)))
        return self.head(F.dropout(x, 0.25, self.training))


def stripes(count, size=16):
    """Noisy images of vertical, horizontal and diagonal stripes."""
    labels = torch.randint(4, (count,))
    row, column = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    patterns = torch.stack([(p % 4 < 2).float() for p in (row, column, row + column, row - column)])
    return (patterns[labels] + 0.8 * torch.randn(count, size, size))[:, None], labels


@ag.function
def train(model, optimizer, images, labels, size=32):
    """Trains for an epoch in random order. Skips batches with a broken image. Returns the loss and the number of skips."""
    order = torch.randperm(len(images)).view(-1, size)
    total, skipped = torch.zeros(()), 0
    for chosen in order:
        batch = images[chosen]
        if not batch.isfinite().all():
            skipped += 1
            continue
        loss = F.cross_entropy(model(batch), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total / (len(order) - skipped), skipped


@ag.function
@torch.no_grad()
def accuracy(model, images, labels):
    return (model(images).argmax(1) == labels).float().mean()


def main():
    torch.manual_seed(0)
    images, labels = stripes(320)
    images[0] = torch.nan
    unseen = stripes(100)
    model = LeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    for epoch in range(3):
        model.train()
        loss, skipped = train(model, optimizer, images, labels)
        model.eval()
        rate = accuracy(model, *unseen)
        mean = model.blocks[0].norm.running_mean.mean()
        print(f"epoch {epoch}: loss {loss:.4f}, {skipped} skipped, accuracy {rate:.2f}, running mean {mean:.4f}")


if __name__ == "__main__":
    main()
