"""W15: training of pix2pix, a U-Net and a discriminator of patches, with Adam (JANUS, table 2)."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from harness import Workload, single

WEIGHT = 10.0
CONFIGURATIONS = [dict(width=width, size=32, B=4, steps=3) for width in (8, 32)]


def block(inputs, outputs, up=False, norm=True):
    convolution = nn.ConvTranspose2d if up else nn.Conv2d
    layers = [convolution(inputs, outputs, 4, stride=2, padding=1, bias=not norm)]
    return nn.Sequential(*layers, *([nn.InstanceNorm2d(outputs, affine=True)] if norm else []), nn.LeakyReLU(0.2))


class UNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        sizes = [3, width, 2 * width, 4 * width, 4 * width]
        pairs = zip(sizes, sizes[1:])
        self.down = nn.ModuleList([block(first, second, norm=first != 3) for first, second in pairs])
        inputs = [4 * width, 8 * width, 4 * width]
        outputs = [4 * width, 2 * width, width]
        self.up = nn.ModuleList([block(first, second, up=True) for first, second in zip(inputs, outputs)])
        self.last = nn.ConvTranspose2d(2 * width, 3, 4, stride=2, padding=1)

    def forward(self, x):
        skipped = []
        for layer in self.down:
            x = layer(x)
            skipped.append(x)
        skipped.pop()
        for layer in self.up:
            x = torch.cat([layer(x), skipped.pop()], 1)
        return torch.tanh(self.last(x))


class Patches(nn.Module):
    """Computes a score for each patch of a pair of images."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(block(6, width, norm=False), block(width, 2 * width), nn.Conv2d(2 * width, 1, 3))

    def forward(self, outline, image):
        return self.layers(torch.cat([outline, image], 1))


def judged(scores, is_real):
    target = torch.ones_like(scores) if is_real else torch.zeros_like(scores)
    return F.binary_cross_entropy_with_logits(scores, target)


def train(generator, critic, start, outlines, images):
    """Each call starts with the same parameters, so that all calls do the same work."""
    for model, state in zip((generator, critic), start):
        model.load_state_dict(state)
    first, second = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (generator, critic))
    for outline, image in zip(outlines, images):
        made = generator(outline)
        critic_loss = (judged(critic(outline, image), True) + judged(critic(outline, made.detach()), False)) / 2
        second.zero_grad()
        critic_loss.backward()
        second.step()
        loss = judged(critic(outline, made), True) + WEIGHT * (made - image).abs().mean()
        first.zero_grad()
        loss.backward()
        first.step()
    return loss.detach(), critic_loss.detach(), [p.detach().clone() for p in generator.parameters()]


def workload(width, size, B, steps):
    rng = np.random.RandomState(0)
    models = UNet(width), Patches(width)
    start = [{name: single(rng.randn(*p.shape) * 0.05) for name, p in model.named_parameters()} for model in models]
    outlines, images = (single(rng.rand(steps, B, 3, size, size) * 2 - 1) for _ in range(2))
    return Workload(train, (*models, start, outlines, images))
