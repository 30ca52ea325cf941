"""pix2pix: a U-Net fills outlines of squares, and a discriminator judges pairs of images in patches."""

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

SIZE = 16


def block(inputs, outputs, *, up=False, norm=True):
    convolution = nn.ConvTranspose2d if up else nn.Conv2d
    layers = [convolution(inputs, outputs, 4, stride=2, padding=1, bias=not norm)]
    return nn.Sequential(*layers, *([nn.BatchNorm2d(outputs)] if norm else []), nn.LeakyReLU(0.2))


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.ModuleList([block(1, width, norm=False), block(width, 2 * width), block(2 * width, 2 * width)])
        self.up = nn.ModuleList([block(2 * width, 2 * width, up=True), block(4 * width, width, up=True)])
        self.last = nn.ConvTranspose2d(2 * width, 1, 4, stride=2, padding=1)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x):
        skipped = []
        for layer in self.down:
            x = layer(x)
            skipped.append(x)
        skipped.pop()
        for layer in self.up:
            x = torch.cat([self.dropout(layer(x)), skipped.pop()], 1)
        return torch.sigmoid(self.last(x))


class Patches(nn.Module):
    """Computes a score for each patch of a pair of images."""

    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(block(2, width, norm=False), block(width, 2 * width), nn.Conv2d(2 * width, 1, 3))

    def forward(self, outline, image):
        return self.layers(torch.cat([outline, image], 1))


def judged(scores, is_real):
    target = torch.ones_like(scores) if is_real else torch.zeros_like(scores)
    return F.binary_cross_entropy_with_logits(scores, target)


@ag.function
def train(generator, critic, optimizers, batches, weight=10.0):
    """Trains on all batches. Returns the mean losses of the generator and the discriminator."""
    totals = torch.zeros(2)
    for outline, image in batches:
        made = generator(outline)
        critic_loss = (judged(critic(outline, image), True) + judged(critic(outline, made.detach()), False)) / 2
        optimizers[1].zero_grad()
        critic_loss.backward()
        optimizers[1].step()
        loss = judged(critic(outline, made), True) + weight * (made - image).abs().mean()
        optimizers[0].zero_grad()
        loss.backward()
        optimizers[0].step()
        totals = totals + torch.stack([loss, critic_loss]).detach()
    return totals / len(batches)


def squares(count):
    """Outlines of squares, and the same squares filled."""
    first = torch.randint(0, SIZE // 2, (count, 2, 1))
    last = first + torch.randint(3, SIZE // 2, (count, 1, 1))
    place = torch.arange(SIZE)
    inside, deep = (place >= first) & (place <= last), (place > first) & (place < last)
    image = (inside[:, 0, :, None] & inside[:, 1, None, :]).float()
    hole = (deep[:, 0, :, None] & deep[:, 1, None, :]).float()
    return (image - hole).unsqueeze(1), image.unsqueeze(1)


def main():
    torch.manual_seed(0)
    generator, critic = UNet(), Patches()
    optimizers = [torch.optim.Adam(m.parameters(), lr=2e-3, betas=(0.5, 0.999)) for m in (generator, critic)]
    batches = [squares(8) for _ in range(4)]
    for epoch in range(4):
        made, real = train(generator, critic, optimizers, batches)
        print(f"epoch {epoch}: generator {made:.3f}, discriminator {real:.3f}")


if __name__ == "__main__":
    main()
