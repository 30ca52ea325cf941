"""Decoding loops, as users write them, with tiny models of transformers: all types of causal language models."""

import functools

import suite
import tiny
import torch


def cases():
    for kind in (kind for task, kind in tiny.models() if task == "causal"):
        for form, program in FORMS.items():
            yield suite.Case(f"{kind} {form}", functools.partial(_run, kind, program))


def _run(kind, program, stage):
    model = tiny.build("causal", kind).eval()
    observed = []
    with torch.no_grad():
        decode = stage(program(model))
        for length in (5, 5, 7):
            ids = torch.randint(3, 99, (2, length))
            observed.append(decode(ids).clone())
    return observed


def _for(model):
    def decode(ids):
        for _ in range(6):
            logits = model(ids, use_cache=False).logits
            following = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, following], dim=1)
        return ids

    return decode


def _while(model):
    def decode(ids):
        last = ids[:, -1]
        n = torch.zeros((), dtype=torch.int64)
        while n < 6 and (last != 2).any():
            logits = model(ids, use_cache=False).logits
            last = logits[:, -1].argmax(-1)
            ids = torch.cat([ids, last[:, None]], dim=1)
            n = n + 1
        return ids

    return decode


def _break(model):
    def decode(ids):
        finished = torch.zeros(len(ids), dtype=torch.bool)
        for _ in range(6):
            logits = model(ids, use_cache=False).logits[:, -1]
            following = torch.where(finished, 0, logits.argmax(-1))
            ids = torch.cat([ids, following.unsqueeze(-1)], dim=-1)
            finished = finished | (following == 2)
            if finished.all():
                break
        return ids

    return decode


def _sampled(model):
    def decode(ids):
        while ids.shape[1] < 12:
            logits = model(ids, use_cache=False).logits[:, -1] / 0.8
            values, _ = torch.topk(logits, 5)
            logits[logits < values[:, -1:]] = -float("inf")
            following = torch.multinomial(torch.softmax(logits, -1), 1)
            ids = torch.cat((ids, following), dim=1)
            if (following == 2).all():
                break
        return ids

    return decode


def _cached_for(model):
    def decode(ids):
        cache = None
        following = ids
        for _ in range(6):
            result = model(following, past_key_values=cache, use_cache=True)
            cache = result.past_key_values
            following = result.logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, following], dim=1)
        return ids

    return decode


def _cached_while(model):
    def decode(ids):
        result = model(ids, use_cache=True)
        cache = result.past_key_values
        following = result.logits[:, -1:].argmax(-1)
        found = following
        n = torch.tensor(1)
        while n < 6 and (following != 2).any():
            result = model(following, past_key_values=cache, use_cache=True)
            cache = result.past_key_values
            following = result.logits[:, -1:].argmax(-1)
            found = torch.cat([found, following], dim=1)
            n += 1
        return torch.cat([ids, found], dim=1)

    return decode


def _generate(model):
    def decode(ids):
        return model.generate(ids, max_new_tokens=6, do_sample=False)

    return decode


def _generate_uncached(model):
    def decode(ids):
        return model.generate(ids, max_new_tokens=6, do_sample=False, use_cache=False)

    return decode


FORMS = {
    "cat in for": _for, "cat in while": _while, "cat with break": _break, "sampling": _sampled,
    "cache in for": _cached_for, "cache in while": _cached_while, "generate": _generate,
    "generate without cache": _generate_uncached,
}  # fmt: skip


if __name__ == "__main__":
    suite.main("decoding", lambda: list(cases()))
