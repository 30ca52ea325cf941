"""Tiny models of transformers, from the library's own tables: inference at two lengths, and training steps."""

import functools

import suite
import tiny
import torch


def cases():
    for task, kind in tiny.models():
        for form, program in (("inference", _inference), ("training", _training)):
            yield suite.Case(f"{kind} {form}", functools.partial(program, task, kind))


def _inference(task, kind, stage):
    model = tiny.build(task, kind).eval()

    @stage
    def forward(**inputs):
        return model(**inputs)

    observed = []
    with torch.no_grad():
        for length in (12, 12, 16):
            result = forward(**tiny.inputs(task, model, length=length))
            observed.append(_content(result))
    return observed


def _training(task, kind, stage):
    model = tiny.build(task, kind).train()
    if task == "image":  # batch normalization of a few elements amplifies rounding errors
        model = model.double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    @stage
    def step(labels, **inputs):
        optimizer.zero_grad()
        result = model(**inputs, labels=labels)
        result.loss.backward()
        optimizer.step()
        return result

    observed = []
    for number in range(2):
        given = {name: v.to(model.dtype) if v.is_floating_point() else v for name, v in tiny.inputs(task, model).items()}
        suite.seed(number)
        observed.append(step(tiny.labels(task, given), **given).loss.detach())
        observed.append([p.detach().clone() for p in model.parameters()])
    return observed


def _content(result):
    """Returns the tensors in an output, also those in a cache."""
    found = {}
    for name, value in result.items():
        if hasattr(value, "layers"):
            value = [[getattr(layer, n, None) for n in ("keys", "values")] for layer in value.layers]
        found[name] = value
    return suite.snapshot(found)


if __name__ == "__main__":
    suite.main("transformers", lambda: list(cases()))
