"""Losses: reductions named by strings, optional weights, guards against empty and broken batches."""
import torch
import torch.nn.functional as F
from torch import nn


def reduce(loss, reduction="mean", weight=None):
    if weight is not None:
        loss = loss * weight
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction != "mean":
        raise ValueError(reduction)
    total = loss.numel() if weight is None else weight.sum()
    return loss.sum() / total


def smoothed_cross_entropy(logits, targets, smoothing=0.0, ignore=None):
    if ignore is not None:
        keep = targets != ignore
        logits, targets = logits[keep], targets[keep]
        if targets.numel() == 0:
            return logits.sum()
    log = logits.log_softmax(-1)
    picked = -log.gather(-1, targets[:, None]).squeeze(-1)
    if smoothing:
        picked = (1 - smoothing) * picked - smoothing * log.mean(-1)
    return picked.mean()


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0, alpha=None, reduction="mean"):
        super().__init__()
        self.gamma = gamma
        self.reduction = reduction
        self.register_buffer("alpha", alpha)

    def forward(self, logits, targets):
        p = torch.sigmoid(logits)
        loss = F.binary_cross_entropy_with_logits(logits, targets, reduction="none")
        match = p * targets + (1 - p) * (1 - targets)
        if self.gamma > 0:
            loss = loss * (1 - match) ** self.gamma
        if self.alpha is not None:
            loss = loss * (self.alpha if self.alpha.dim() == 0 else self.alpha[targets.long()])
        return reduce(loss, self.reduction)


def contrastive(a, b, temperature=0.1, symmetric=True):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    logits = a @ b.T / temperature
    labels = torch.arange(len(a))
    loss = F.cross_entropy(logits, labels)
    if symmetric:
        loss = (loss + F.cross_entropy(logits.T, labels)) / 2
    hardest = (logits - 10 * torch.eye(len(a))).max()
    if hardest > logits.diagonal().min() and not symmetric:
        loss = loss + 0.1 * hardest
    return loss


def triplet(anchor, positive, negative, margin=1.0, swap=False):
    near = (anchor - positive).norm(dim=-1)
    far = (anchor - negative).norm(dim=-1)
    if swap:
        far = torch.minimum(far, (positive - negative).norm(dim=-1))
    losses = (near - far + margin).clamp(min=0)
    active = losses > 0
    count = active.sum()
    return losses.sum() / count if count > 0 else losses.sum()


def huber(error, delta=1.0):
    size = error.abs()
    if isinstance(delta, torch.Tensor) and delta <= 0:
        return error.square().mean()
    return torch.where(size < delta, 0.5 * size ** 2, delta * (size - 0.5 * delta)).mean()


def ordinal(scores, cuts, labels):
    loss = scores.new_zeros(())
    previous = None
    for cut in cuts:
        if previous is not None and cut < previous:
            loss = loss + (previous - cut)
        previous = cut
    for score, label in zip(scores, labels):
        below = torch.sigmoid(cuts[label] - score) if label < len(cuts) else 1.0
        loss = loss - torch.log(torch.as_tensor(below) + 1e-6)
    return loss


def guarded(losses, weights=None):
    """The weighted sum of the named losses that are finite."""
    total = torch.zeros(())
    skipped = 0
    for name, loss in losses.items():
        if not torch.isfinite(loss):
            skipped += 1
            continue
        scale = weights.get(name, 1.0) if weights else 1.0
        total = total + scale * loss
    assert skipped < len(losses) or not losses, "no loss is finite"
    return total


def main():
    logits, targets = torch.randn(6, 4), torch.randint(0, 4, (6,))
    averaged = torch.compile(reduce)
    print(averaged(torch.rand(6)))
    print(averaged(torch.rand(6), "sum"))
    print(averaged(torch.rand(6), weight=torch.rand(6)))
    entropy = torch.compile(smoothed_cross_entropy)
    print(entropy(logits, targets))
    print(entropy(logits, targets, smoothing=0.1, ignore=0))
    labels = torch.randint(0, 2, (8,)).float()
    print(torch.compile(FocalLoss())(torch.randn(8), labels))
    print(torch.compile(FocalLoss(alpha=torch.tensor([0.3, 0.7]), reduction="sum"))(torch.randn(8), labels))
    pairs = torch.compile(contrastive)
    print(pairs(torch.randn(4, 8), torch.randn(4, 8)))
    print(pairs(torch.randn(4, 8), torch.randn(4, 8), symmetric=False))
    print(torch.compile(triplet)(torch.randn(5, 3), torch.randn(5, 3), torch.randn(5, 3), swap=True))
    robust = torch.compile(huber)
    print(robust(torch.randn(5)))
    print(robust(torch.randn(5), delta=torch.tensor(0.5)))
    print(torch.compile(ordinal)(torch.randn(3), torch.tensor([-1.0, 1.0]), [0, 2, 1]))
    both = torch.compile(guarded)
    print(both({"data": torch.tensor(1.0), "prior": torch.tensor(float("nan"))}))
    print(both({}))
    print(both({"data": torch.tensor(1.0)}, weights={"data": 0.5}))


if __name__ == "__main__":
    main()
