"""A recurrent language model in PyTorch; the training step is compiled."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Settings:
    vocabulary: int = 30
    width: int = 24
    layers: int = 2
    dropout: float = 0.1
    tie: bool = True
    clip: float = 1.0


class LanguageModel(nn.Module):
    def __init__(self, settings: Settings):
        super().__init__()
        self.settings = settings
        self.embedding = nn.Embedding(settings.vocabulary, settings.width)
        self.cells = nn.ModuleList([nn.GRUCell(settings.width, settings.width) for _ in range(settings.layers)])
        self.head = None if settings.tie else nn.Linear(settings.width, settings.vocabulary)

    def initial(self, batch):
        return [torch.zeros(batch, self.settings.width) for _ in self.cells]

    def forward(self, tokens, states):
        outputs = []
        for t in range(tokens.size(1)):
            x = self.embedding(tokens[:, t])
            new = []
            for cell, state in zip(self.cells, states):
                x = cell(x, state)
                new.append(x)
                if self.training and self.settings.dropout > 0:
                    x = F.dropout(x, self.settings.dropout)
            states = new
            outputs.append(x)
        hidden = torch.stack(outputs, 1)
        logits = hidden @ self.embedding.weight.T if self.head is None else self.head(hidden)
        return logits, states


class Trainer:
    def __init__(self, model, rate=0.5):
        self.model = model
        self.rate = rate
        self.smooth = None
        self.skipped = 0

    @torch.compile
    def step(self, tokens, states):
        logits, states = self.model(tokens[:, :-1], [s.detach() for s in states])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        if self.smooth is not None and loss > 3 * self.smooth:
            self.skipped += 1
            return loss, states
        gradients = torch.autograd.grad(loss, list(self.model.parameters()))
        norm = torch.stack([g.norm() for g in gradients]).norm()
        scale = min(1.0, self.model.settings.clip / norm.item())
        with torch.no_grad():
            for parameter, gradient in zip(self.model.parameters(), gradients):
                parameter -= self.rate * scale * gradient
        value = loss.detach()
        self.smooth = value if self.smooth is None else 0.9 * self.smooth + 0.1 * value
        return loss, states


@torch.no_grad()
def sample(model, start, length, temperature=1.0):
    model.eval()
    states, token, text = model.initial(1), torch.tensor([[start]]), [start]
    for _ in range(length):
        logits, states = model(token, states)
        if temperature > 0:
            token = torch.multinomial((logits[:, -1] / temperature).softmax(-1), 1)
        else:
            token = logits[:, -1].argmax(-1, keepdim=True)
        text.append(int(token))
    model.train()
    return text


def main():
    torch.manual_seed(0)
    model = LanguageModel(Settings())
    trainer = Trainer(model)
    corpus = (torch.arange(4 * 61).reshape(4, 61) * 7) % 30
    states = model.initial(4)
    for start in range(0, 60, 12):
        loss, states = trainer.step(corpus[:, start:start + 13], states)
        print(start, float(loss))
    print(sample(model, 3, 8, temperature=0))


if __name__ == "__main__":
    main()
