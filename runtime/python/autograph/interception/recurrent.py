"""Recurrent layers of torch. The decomposition in torch 2.11 has three faults. It omits the dropout between layers,
because it tests `num_layers < i - 1`. For an LSTM without biases in oneDNN, it creates biases with the shape of the
weights. The final states of LSTMs that do not use oneDNN, such as those of `float64`, have an additional dimension. To
avoid them, each layer is decomposed separately, and its final states get the shapes of its initial states."""

import torch

aten = torch.ops.aten

_LSTM = aten.lstm.input


def layers(staging, func, args, kwargs):
    """Records the layers of a network such as `torch.nn.GRU(…, num_layers=2, dropout=0.5)`."""
    is_padded = func._overloadname == "input"  # packed sequences have no `batch_first`
    *operands, params, has_biases, count, dropout, train, bidirectional = args[: -1 if is_padded else None]
    if func is _LSTM and not has_biases and len(params) == 2 * count * (1 + bidirectional):
        params, has_biases = _with_biases(params), True
    sequence, *sizes, states = operands
    batch_first = is_padded and args[-1]
    layout = [False] if is_padded else []
    if batch_first:
        sequence = sequence.transpose(0, 1)
    directions, params_per_layer = 1 + bidirectional, len(params) // count
    ends = []
    for layer in range(count):
        if layer and dropout and train:
            sequence = torch.dropout(sequence, dropout, True)
        start = _narrowed(states, layer * directions, directions)
        weights = params[layer * params_per_layer : (layer + 1) * params_per_layer]
        options = [has_biases, 1, 0.0, train, bidirectional, *layout]
        sequence, *end = func.decompose(sequence, *sizes, start, weights, *options)
        starts = start if isinstance(start, list) else [start]
        ends.append([state.reshape(initial.shape) for state, initial in zip(end, starts)])
    if batch_first:
        sequence = sequence.transpose(0, 1)
    return sequence, *map(torch.cat, zip(*ends))


def _with_biases(params):
    """Returns the parameters with zero biases, which follow each pair of an input-hidden and a hidden-hidden matrix."""
    found = []
    for first, second in zip(params[::2], params[1::2]):
        found += [first, second, first.new_zeros(first.shape[0]), second.new_zeros(second.shape[0])]
    return found


def _narrowed(states, first, count):
    """Returns the initial states of a layer: one, or two for an LSTM."""
    if isinstance(states, (list, tuple)):
        return [_narrowed(state, first, count) for state in states]
    return states.narrow(0, first, count)


SPECIAL = {
    getattr(getattr(aten, name), overload): layers
    for name in ("gru", "lstm", "rnn_tanh", "rnn_relu")
    for overload in ("input", "data")
}
