"""Beam search over a recurrent decoder; the search ends when every beam has ended."""

import torch
from torch import nn

import autograph as ag

START, STOP = 0, 1


class Decoder(nn.Module):
    """Scores the next word, given the last one and a state."""

    def __init__(self, words, width):
        super().__init__()
        self.words = words
        self.embedding = nn.Embedding(words, width)
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, words)

    def forward(self, words, state):
        state = self.cell(self.embedding(words), state)
        return self.head(state).log_softmax(-1), state


@ag.function
@torch.no_grad()
def beam_search(decoder, state, width=4, limit=20, alpha=0.6):
    """Returns the best sentence from a start state, and its score divided by its length."""
    state = state.expand(width, -1)
    words = torch.full((width,), START)
    scores = torch.full((width,), -torch.inf)
    scores[0] = 0.0
    finished = torch.zeros(width, dtype=torch.bool)
    lengths = torch.ones(width)
    parents, chosen = [], []
    for _ in range(limit):
        log, state = decoder(words, state)
        log[finished] = -torch.inf
        log[finished, STOP] = 0.0
        scores, flat = (scores[:, None] + log).flatten().topk(width)
        parent, words = flat // decoder.words, flat % decoder.words
        state, lengths = state[parent], lengths[parent] + ~finished[parent]
        finished = finished[parent] | (words == STOP)
        parents.append(parent)
        chosen.append(words)
        if finished.all():
            break
    scores = scores / ((5 + lengths) / 6) ** alpha
    best = scores.argmax()
    beam, sentence = best, []
    for parent, words in zip(reversed(parents), reversed(chosen)):
        sentence.append(words[beam])
        beam = parent[beam]
    return torch.stack(sentence).flip(0), scores[best]


def words_of(sentence):
    words = sentence.tolist()
    return words[: words.index(STOP)] if STOP in words else words


def main():
    torch.manual_seed(1)
    decoder = Decoder(12, 16)
    nn.init.normal_(decoder.head.weight, std=1.5)
    nn.init.constant_(decoder.head.bias[STOP], 1.0)
    for width in 1, 4:
        for state in torch.randn(3, 16):
            sentence, score = beam_search(decoder, state, width)
            print(f"width {width}: {score:.4f}", *words_of(sentence))


if __name__ == "__main__":
    main()
