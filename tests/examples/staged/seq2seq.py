"""A translator with attention that learns to reverse sentences, with teacher forcing and without."""

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

START, STOP = 0, 1


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)

    def forward(self, state, memory):
        scores = torch.einsum("bh,bth->bt", self.query(state), memory)
        return torch.einsum("bt,bth->bh", scores.softmax(-1), memory)


class Translator(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.encoder = nn.GRUCell(width, width)
        self.decoder = nn.GRUCell(2 * width, width)
        self.attention = Attention(width)
        self.head = nn.Linear(width, words)
        self.dropout = nn.Dropout(0.1)

    def encode(self, source):
        state = torch.zeros(source.shape[0], self.encoder.hidden_size)
        memory = []
        for words in source.unbind(1):
            state = self.encoder(self.dropout(self.embedding(words)), state)
            memory.append(state)
        return torch.stack(memory, 1), state

    def decode(self, word, state, memory):
        context = self.attention(state, memory)
        state = self.decoder(torch.cat([self.embedding(word), context], -1), state)
        return self.head(state), state

    def loss(self, source, target, forcing):
        """`forcing` is the probability that the decoder gets the correct word instead of its own."""
        memory, state = self.encode(source)
        word = torch.full_like(target[:, 0], START)
        loss = torch.zeros(())
        for t in range(target.shape[1]):
            logits, state = self.decode(word, state, memory)
            loss = loss + F.cross_entropy(logits, target[:, t])
            if torch.rand(()) < forcing:
                word = target[:, t]
            else:
                word = logits.argmax(-1)
        return loss / target.shape[1]

    @torch.no_grad()
    def translate(self, source, limit=30):
        """Decodes word by word until every sentence has ended."""
        memory, state = self.encode(source)
        word = torch.full_like(source[:, 0], START)
        stopped = torch.zeros_like(word, dtype=torch.bool)
        sentence = []
        while len(sentence) < limit and not stopped.all():
            logits, state = self.decode(word, state, memory)
            word = torch.where(stopped, STOP, logits.argmax(-1))
            stopped = stopped | (word == STOP)
            sentence.append(word)
        return torch.stack(sentence, 1)


@ag.function
def train(model, optimizer, sources, targets, forcing):
    """Trains for one epoch. Returns the mean loss."""
    total = torch.zeros(())
    for source, target in zip(sources, targets):
        loss = model.loss(source, target, forcing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.detach()
    return total / len(sources)


@ag.function
def translate(model, source):
    return model.translate(source)


def main():
    for forcing in 1.0, 0.0:
        torch.manual_seed(0)
        sources = torch.randint(2, 10, (24, 16, 4))
        targets = torch.cat([sources.flip(-1), torch.full((24, 16, 1), STOP)], -1)
        model = Translator(10, 32)
        optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
        for epoch in range(4):
            loss = train(model, optimizer, sources, targets, torch.tensor(forcing))
        model.eval()
        found = translate(model, sources[0])
        length = min(found.shape[1], targets.shape[2])
        right = (found[:, :length] == targets[0][:, :length]).float().mean()
        print(f"forcing {forcing}: loss {loss:.3f}, {right:.0%} of the words right, {found.shape[1]} steps")


if __name__ == "__main__":
    main()
