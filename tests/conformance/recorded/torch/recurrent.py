"""Recurrent models: stepping over time, trees of nodes, sequence to sequence."""
from typing import List, NamedTuple, Optional

import torch
from torch import nn


class State(NamedTuple):
    hidden: torch.Tensor
    cell: torch.Tensor


class LSTMCell(nn.Module):
    def __init__(self, inputs, width, forget_bias=1.0, peephole=False):
        super().__init__()
        self.gates = nn.Linear(inputs + width, 4 * width)
        self.forget_bias = forget_bias
        self.peephole = nn.Parameter(torch.zeros(width)) if peephole else None

    def forward(self, x, state: State) -> State:
        i, f, g, o = self.gates(torch.cat([x, state.hidden], -1)).chunk(4, -1)
        if self.peephole is not None:
            i = i + self.peephole * state.cell
        cell = torch.sigmoid(f + self.forget_bias) * state.cell + torch.sigmoid(i) * torch.tanh(g)
        return State(torch.sigmoid(o) * torch.tanh(cell), cell)


class Encoder(nn.Module):
    def __init__(self, inputs, width, reverse=False):
        super().__init__()
        self.cell = LSTMCell(inputs, width)
        self.width = width
        self.reverse = reverse

    def forward(self, sequence, lengths: Optional[torch.Tensor] = None):
        batch = sequence.size(1)
        state = State(torch.zeros(batch, self.width), torch.zeros(batch, self.width))
        outputs = []
        steps = reversed(range(len(sequence))) if self.reverse else range(len(sequence))
        for t in steps:
            new = self.cell(sequence[t], state)
            if lengths is not None:
                alive = (t < lengths)[:, None]
                new = State(torch.where(alive, new.hidden, state.hidden), torch.where(alive, new.cell, state.cell))
            state = new
            outputs.append(state.hidden)
        if self.reverse:
            outputs.reverse()
        return torch.stack(outputs), state


def run_until_quiet(cell, sequence, threshold=1e-2):
    hidden = torch.zeros(sequence.size(1), cell.hidden_size)
    for x in sequence:
        new = cell(x, hidden)
        if (new - hidden).abs().max() < threshold:
            break
        hidden = new
    return hidden


class Node:
    def __init__(self, token=None, children=()):
        self.token = token
        self.children = list(children)


class TreeLSTM(nn.Module):
    def __init__(self, vocabulary, width, max_depth=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.merge = nn.Linear(2 * width, width)
        self.max_depth = max_depth

    def forward(self, node, depth=0):
        if not node.children or depth >= self.max_depth:
            return self.embed(torch.tensor(node.token or 0))
        states = [self.forward(child, depth + 1) for child in node.children]
        result = states[0]
        for state in states[1:]:
            result = torch.tanh(self.merge(torch.cat([result, state])))
            if result.norm() > 3:
                result = result / result.norm()
        return result


class Seq2Seq(nn.Module):
    def __init__(self, vocabulary, width, start=1, stop=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.encoder = Encoder(width, width)
        self.cell = LSTMCell(width, width, peephole=True)
        self.head = nn.Linear(width, vocabulary)
        self.start, self.stop = start, stop

    def forward(self, source, target=None, limit=6, forcing=1.0):
        _, state = self.encoder(self.embed(source))
        token = torch.full((source.size(1),), self.start)
        logits = []
        for t in range(len(target) if target is not None else limit):
            state = self.cell(self.embed(token), state)
            logits.append(self.head(state.hidden))
            if target is not None and torch.rand(()) < forcing:
                token = target[t]
            else:
                token = logits[-1].argmax(-1)
            if target is None and (token == self.stop).all():
                break
        return torch.stack(logits)


def pad(rows: List[torch.Tensor], value=0.0, multiple: Optional[int] = None):
    longest = max(len(row) for row in rows)
    if multiple and longest % multiple:
        longest += multiple - longest % multiple
    out = torch.full((len(rows), longest), value)
    for i, row in enumerate(rows):
        if row.isnan().any():
            continue
        out[i, :len(row)] = row
    return out


class SequenceTagger(nn.Module):
    """Viterbi decoding over emission scores."""

    def __init__(self, tags, constrained=False):
        super().__init__()
        self.transitions = nn.Parameter(torch.randn(tags, tags))
        self.constrained = constrained

    def forward(self, emissions):
        score, back = emissions[0], []
        for emission in emissions[1:]:
            paths = score[:, None] + self.transitions
            if self.constrained:
                paths = paths.triu()
            best, origin = paths.max(0)
            score = best + emission
            back.append(origin)
        tag = score.argmax()
        path = [tag]
        for origin in reversed(back):
            tag = origin[tag]
            path.append(tag)
            if self.constrained and tag == 0:
                break
        return torch.stack(path[::-1])


def main():
    sequence = torch.randn(5, 3, 4)
    encoder = torch.compile(Encoder(4, 6))
    print(encoder(sequence))
    print(encoder(sequence, torch.tensor([5, 2, 3])))
    print(torch.compile(Encoder(4, 6, reverse=True))(sequence))
    print(torch.compile(run_until_quiet)(nn.GRUCell(4, 6), sequence))
    tree = Node(children=[Node(3), Node(children=[Node(1), Node(2), Node(4)])])
    print(torch.compile(TreeLSTM(10, 6))(tree))
    translate = torch.compile(Seq2Seq(12, 8))
    print(translate(torch.randint(0, 12, (4, 2))))
    print(translate(torch.randint(0, 12, (4, 2)), torch.randint(0, 12, (3, 2)), forcing=0.5))
    print(torch.compile(pad)([torch.ones(3), torch.ones(5)]))
    print(torch.compile(pad)([torch.ones(3), torch.ones(5)], multiple=4))
    print(torch.compile(SequenceTagger(4))(torch.randn(6, 4)))
    print(torch.compile(SequenceTagger(4, constrained=True))(torch.randn(6, 4)))


if __name__ == "__main__":
    main()
