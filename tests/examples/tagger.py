"""A sequence tagger whose Viterbi decoder is compiled by TorchScript, control flow included."""
from typing import List, Optional, Tuple

import torch
from torch import nn


@torch.jit.script
def viterbi(scores: torch.Tensor, transitions: torch.Tensor, stop: int = -1) -> Tuple[List[int], torch.Tensor]:
    """Returns the best path through `scores` (steps x tags), cut after `stop`, and its score."""
    best = scores[0]
    back: List[torch.Tensor] = []
    for t in range(1, scores.size(0)):
        paths = best.unsqueeze(1) + transitions
        top, origin = paths.max(0)
        best = top + scores[t]
        back.append(origin)
    tag = int(best.argmax())
    path = [tag]
    for t in range(len(back) - 1, -1, -1):
        tag = int(back[t][tag])
        path.insert(0, tag)
    kept: List[int] = []
    for tag in path:
        kept.append(tag)
        if tag == stop:
            break
    return kept, best.max()


@torch.jit.script
def forward_score(scores: torch.Tensor, transitions: torch.Tensor, lengths: Optional[torch.Tensor] = None):
    """Returns the log-sum of the scores of all paths, for `scores` of (batch x steps x tags)."""
    total = scores[:, 0]
    for t in range(1, scores.size(1)):
        new = (total.unsqueeze(2) + transitions).logsumexp(1) + scores[:, t]
        if lengths is not None:
            new = torch.where((t < lengths).unsqueeze(1), new, total)
        total = new
    result = total.logsumexp(1)
    if result.isnan().any():
        result = torch.zeros_like(result)
    return result


class Tagger(nn.Module):
    def __init__(self, vocabulary: int, width: int, tags: int, window: int = 1):
        super().__init__()
        self.window = window
        self.embedding = nn.Embedding(vocabulary, width)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, tags)
        self.transitions = nn.Parameter(torch.zeros(tags, tags))

    def scores(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        mixed = x
        for shift in range(1, self.window + 1):
            mixed = mixed + torch.roll(x, shift, 1) + torch.roll(x, -shift, 1)
        return self.head(torch.tanh(self.mix(mixed)))

    def loss(self, tokens: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        scores = self.scores(tokens)
        right = scores.gather(2, tags.unsqueeze(2)).sum((1, 2))
        right = right + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        return (forward_score(scores, self.transitions) - right).mean()

    def forward(self, tokens: torch.Tensor, limit: Optional[int] = None) -> List[List[int]]:
        scores = self.scores(tokens)
        if limit is not None:
            scores = scores[:, :limit]
        return [viterbi(row, self.transitions)[0] for row in scores.unbind(0)]


def main():
    torch.manual_seed(0)
    tokens = torch.randint(0, 20, (6, 7))
    tags = tokens % 3
    model = Tagger(20, 16, 3)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(30):
        optimiser.zero_grad()
        loss = model.loss(tokens, tags)
        loss.backward()
        optimiser.step()
    print("loss", float(loss.detach()))
    served = torch.jit.script(model)
    print(served(tokens)[0], tags[0].tolist())
    print(served(tokens, 3)[0])
    print(viterbi(torch.rand(5, 3), torch.zeros(3, 3), stop=1)[0])


if __name__ == "__main__":
    main()
