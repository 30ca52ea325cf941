"""Images: augmentation, padding, boxes, a small encoder-decoder."""
import torch
import torch.nn.functional as F
from torch import nn


def augment(image, flip=True, jitter=0.0, crop=None):
    if flip and torch.rand(()) < 0.5:
        image = image.flip(-1)
    if jitter:
        image = image * (1 + jitter * torch.randn(()))
    if crop is not None:
        height, width = image.shape[-2:]
        if crop > height or crop > width:
            raise ValueError("the crop is larger than the image")
        top = int(torch.randint(0, height - crop + 1, ()))
        left = int(torch.randint(0, width - crop + 1, ()))
        image = image[..., top:top + crop, left:left + crop]
    return image


def pad_to(image, multiple=4, mode="constant"):
    height, width = image.shape[-2:]
    bottom, right = -height % multiple, -width % multiple
    if bottom == 0 and right == 0:
        return image
    return F.pad(image, (0, right, 0, bottom)) if mode == "constant" else F.pad(image, (0, right, 0, bottom), mode=mode)


def overlap(box, others):
    low = torch.maximum(box[:2], others[:, :2])
    high = torch.minimum(box[2:], others[:, 2:])
    inner = (high - low).clamp(min=0).prod(-1)
    area = (box[2:] - box[:2]).prod()
    return inner / (area + (others[:, 2:] - others[:, :2]).prod(-1) - inner)


def suppress(boxes, scores, threshold=0.5, limit=None):
    order = scores.argsort(descending=True)
    kept = []
    while order.numel() > 0:
        best = order[0]
        kept.append(best)
        if limit is not None and len(kept) == limit:
            break
        rest = order[1:]
        order = rest[overlap(boxes[best], boxes[rest]) <= threshold]
    return torch.stack(kept) if kept else order


def match_anchors(anchors, truth, positive=0.5, force=True):
    labels = torch.full((len(anchors),), -1)
    if len(truth) == 0:
        return labels
    for number, box in enumerate(truth):
        ratio = overlap(box, anchors)
        labels[ratio > positive] = number
        if force and ratio.max() > 0 and not (labels == number).any():
            labels[ratio.argmax()] = number
    return labels


class Down(nn.Module):
    def __init__(self, inputs, outputs, norm=None):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm = nn.BatchNorm2d(outputs) if norm == "batch" else nn.Identity()
        self.project = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        return y + (x if self.project is None else self.project(x))


class UNet(nn.Module):
    def __init__(self, widths=(3, 4, 8), norm="batch", checkpoint=False):
        super().__init__()
        self.downs = nn.ModuleList([Down(a, b, norm) for a, b in zip(widths, widths[1:])])
        self.ups = nn.ModuleList([Down(b, a) for a, b in zip(widths, widths[1:])][::-1])
        self.checkpoint = checkpoint

    def forward(self, x, features=False):
        skips = []
        for down in self.downs:
            skips.append(x)
            if self.checkpoint and self.training:
                x = torch.utils.checkpoint.checkpoint(down, x, use_reentrant=False)
            else:
                x = down(x)
            if min(x.shape[-2:]) > 2:
                x = F.max_pool2d(x, 2)
        bottom = x
        for up, skip in zip(self.ups, reversed(skips)):
            if x.shape[-2:] != skip.shape[-2:]:
                x = F.interpolate(x, size=skip.shape[-2:])
            x = up(x) + skip
        return (x, bottom) if features else x


def threshold_mask(image, level=None, rounds=10):
    """Without `level`, computes the threshold iteratively, similar to Otsu's method."""
    if level is None:
        level = image.mean()
        for _ in range(rounds):
            above = image > level
            if above.all() or not above.any():
                break
            new = (image[above].mean() + image[~above].mean()) / 2
            if (new - level).abs() < 1e-3:
                break
            level = new
    return image > level


def main():
    image = torch.rand(3, 9, 9)
    spoil = torch.compile(augment)
    print(spoil(image))
    print(spoil(image, flip=False, jitter=0.1, crop=6))
    extend = torch.compile(pad_to)
    print(extend(image))
    print(extend(image, multiple=3))
    print(extend(image, mode="reflect"))
    boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [3.0, 3.0, 4.0, 4.0]])
    keep = torch.compile(suppress)
    print(keep(boxes, torch.rand(3)))
    print(keep(boxes, torch.rand(3), limit=1))
    assign = torch.compile(match_anchors)
    print(assign(boxes, boxes[:1] + 0.5))
    print(assign(boxes, boxes[:1] + 0.5, force=False))
    print(assign(boxes, torch.zeros(0, 4)))
    unet = torch.compile(UNet())
    print(unet(torch.rand(2, 3, 8, 8)))
    print(unet(torch.rand(2, 3, 8, 8), features=True))
    print(torch.compile(UNet(norm=None, checkpoint=True))(torch.rand(2, 3, 8, 8)))
    cut = torch.compile(threshold_mask)
    print(cut(image))
    print(cut(image, level=0.5))


if __name__ == "__main__":
    main()
