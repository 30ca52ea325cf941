"""An LSTM language model: truncated backpropagation with a state that is kept between calls, and sampling."""

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

TEXT = "the quick brown fox jumps over the lazy dog and the lazy dog does not mind the quick brown fox. " * 8


class LanguageModel(nn.Module):
    def __init__(self, words, width, layers=2, dropout=0.1):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.cells = nn.ModuleList([nn.LSTMCell(width, width) for _ in range(layers)])
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, words)
        self.head.weight = self.embedding.weight

    def initial(self, batch):
        zero = torch.zeros(len(self.cells), batch, self.embedding.embedding_dim)
        return zero, zero

    def step(self, word, h, c):
        x, states = self.embedding(word), []
        for cell, *state in zip(self.cells, h, c):
            states.append(cell(x, state))
            x = self.dropout(states[-1][0])
        return self.head(x), *map(torch.stack, zip(*states))

    def forward(self, words, h, c):
        outputs = []
        for word in words:
            logits, h, c = self.step(word, h, c)
            outputs.append(logits)
        return torch.stack(outputs), h, c


class Trainer:
    def __init__(self, model, batch, clip=1.0):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        self.clip = clip
        self.h, self.c = model.initial(batch)
        self.smooth = None
        self.steps = 0

    @ag.function
    def train(self, words):
        logits, h, c = self.model(words[:-1], self.h, self.c)
        loss = F.cross_entropy(logits.flatten(0, 1), words[1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        self.h, self.c = h.detach(), c.detach()
        self.smooth = loss.detach() if self.smooth is None else 0.9 * self.smooth + 0.1 * loss.detach()
        self.steps += 1
        return self.smooth, norm


@ag.function
@torch.no_grad()
def sample(model, word, stop, limit=40, temperature=0.5):
    """Returns letters until `stop`, sampled from the predictions of the model."""
    (h, c), text = model.initial(1), [word]
    while len(text) < limit and word != stop:
        logits, h, c = model.step(word[None], h, c)
        word = torch.multinomial((logits[0] / temperature).softmax(-1), 1)[0]
        text.append(word)
    return torch.stack(text)


def main():
    torch.manual_seed(0)
    letters = sorted(set(TEXT))
    corpus = torch.tensor([letters.index(letter) for letter in TEXT])
    batch, length = 8, 16
    columns = corpus.view(batch, -1).t()
    model = LanguageModel(len(letters), 48)
    trainer = Trainer(model, batch)
    for epoch in range(8):
        for start in range(0, len(columns) - length, length):
            loss, norm = trainer.train(columns[start : start + length + 1])
        if epoch % 4 == 3:
            print(f"step {trainer.steps}: loss {loss:.3f}, gradient {norm:.3f}")
    model.eval()
    text = sample(model, torch.tensor(letters.index("t")), torch.tensor(letters.index(".")))
    print("".join(letters[index] for index in text.tolist()))


if __name__ == "__main__":
    main()
