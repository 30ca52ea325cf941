"""A dynamic RNN: sequences of different lengths in one batch, and a loop over the longest of them."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

import autograph as ag


def select(running, new, old):
    """Returns the new state of sequences that have not ended, the old state of the others. A state is a tensor or a tuple."""
    if isinstance(new, tuple):
        return tuple(select(running, n, o) for n, o in zip(new, old))
    return torch.where(running[:, None], new, old)


@ag.function
def dynamic_rnn(cell, inputs, state, lengths):
    inputs = inputs.transpose(0, 1)
    outputs = []
    for i in range(lengths.max()):
        running = i < lengths
        new = cell(inputs[i], state)
        state = select(running, new, state)
        output = new[0] if isinstance(new, tuple) else new
        outputs.append(torch.where(running[:, None], output, torch.zeros_like(output)))
    return torch.stack(outputs, 1), state


def reference(kind, cell, inputs, lengths):
    """Returns the same results from torch's own RNN on packed sequences."""
    rnn = kind(cell.input_size, cell.hidden_size, batch_first=True)
    rnn.load_state_dict({f"{name}_l0": value for name, value in cell.state_dict().items()})
    return rnn(pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False))[1]


def main():
    torch.manual_seed(0)
    basic, lstm = nn.RNNCell(4, 8), nn.LSTMCell(4, 8)
    for batch, steps in (3, 5), (6, 12), (6, 9):
        inputs, lengths = torch.randn(batch, steps, 4), torch.randint(1, steps + 1, (batch,))
        zero = torch.zeros(batch, 8)
        outputs, state = dynamic_rnn(basic, inputs, zero, lengths)
        difference = (state - reference(nn.RNN, basic, inputs, lengths)[0]).abs().max()
        print("basic", tuple(outputs.shape), f"mean {outputs.mean():.4f}, as torch's: {difference < 1e-5}")
        outputs, (h, c) = dynamic_rnn(lstm, inputs, (zero, zero), lengths)
        difference = (c - reference(nn.LSTM, lstm, inputs, lengths)[1][0]).abs().max()
        print("lstm", tuple(outputs.shape), f"mean {outputs.mean():.4f}, as torch's: {difference < 1e-5}")
    outputs, (h, c) = dynamic_rnn(lstm, inputs, (zero, zero), lengths)
    (outputs.square().mean() + h.sum()).backward()
    print("gradient", f"{lstm.weight_hh.grad.norm():.4f}")


if __name__ == "__main__":
    main()
