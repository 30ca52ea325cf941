"""Choosing the next token: filters with Python parameters, loops that end on a tensor."""
import torch


def top_k(logits, k=None):
    if k is None or k >= logits.size(-1):
        return logits
    threshold = torch.topk(logits, k).values[..., -1:]
    return torch.where(logits < threshold, float("-inf"), logits)


def top_p(logits, p=1.0):
    if not 0 < p < 1:
        return logits
    ordered, order = logits.sort(descending=True)
    mass = ordered.softmax(-1).cumsum(-1)
    drop = mass - ordered.softmax(-1) >= p
    return logits.masked_fill(drop.scatter(-1, order, drop), float("-inf"))


def penalise(logits, seen, penalty=1.0):
    if penalty == 1.0:
        return logits
    for row, tokens in enumerate(seen):
        for token in tokens.unique():
            value = logits[row, token]
            logits[row, token] = value / penalty if value > 0 else value * penalty
    return logits


def pick(logits, temperature=1.0, k=None, p=1.0, generator=None):
    if temperature == 0:
        return logits.argmax(-1)
    logits = top_p(top_k(logits / temperature, k), p)
    assert torch.isfinite(logits).any(), "every token was filtered out"
    probabilities = logits.softmax(-1)
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)


def beam_search(step, start, width=3, limit=5, stop=0, length_penalty=None):
    """`step` maps a row of tokens to the log-probabilities of the next one."""
    beams = [(start, torch.tensor(0.0))]
    finished = []
    for _ in range(limit):
        grown = []
        for tokens, score in beams:
            best = step(tokens).topk(width)
            for value, token in zip(best.values, best.indices):
                row = torch.cat([tokens, token[None]])
                if token == stop:
                    finished.append((row, score + value))
                else:
                    grown.append((row, score + value))
        if not grown:
            break
        grown.sort(key=lambda beam: beam[1].item(), reverse=True)
        beams = grown[:width]
    best_tokens, best_score = beams[0]
    for tokens, score in finished:
        if length_penalty:
            score = score / len(tokens) ** length_penalty
        if score > best_score:
            best_tokens, best_score = tokens, score
    return best_tokens


def tensor_beams(scores, limit=4, width=2, stop=1):
    totals, last = scores[0].topk(width)
    done = last == stop
    length = 1
    while length < limit and not done.all():
        candidates = totals[:, None] + torch.where(done[:, None], 0.0, scores[last])
        totals, flat = candidates.flatten().topk(width)
        parent = flat // scores.size(-1)
        last = flat % scores.size(-1)
        done = done[parent] | (last == stop)
        length += 1
    return totals[0] if totals[0] > float("-inf") else totals.new_zeros(())


def speculative(draft, target, proposal):
    accepted = []
    for position, token in enumerate(proposal.tolist()):
        ratio = target[position, token] / draft[position, token]
        if ratio < 1 and torch.rand(()) > ratio:
            break
        accepted.append(token)
    return accepted if accepted else [int(target[0].argmax())]


def typical_length(lengths, quantile=0.5):
    ordered = sorted(lengths)
    middle = int(len(ordered) * quantile)
    if len(ordered) > 1 and ordered[middle] > 2 * ordered[0]:
        middle -= 1
    return ordered[middle]


def bigram(tokens):
    return torch.log_softmax(torch.cos(torch.arange(10.0) * tokens[-1]), dim=-1)


def main():
    logits = torch.randn(2, 10)
    choose = torch.compile(pick)
    print(choose(logits))
    print(choose(logits, temperature=0))
    print(choose(logits, temperature=0.7, k=5, p=0.9))
    gentle = torch.compile(penalise)
    print(gentle(logits.clone(), torch.randint(0, 10, (2, 4)), penalty=1.3))
    print(gentle(logits, torch.randint(0, 10, (2, 4))))
    search = torch.compile(beam_search)
    print(search(bigram, torch.tensor([3])))
    print(search(bigram, torch.tensor([3]), width=2, limit=8, length_penalty=0.8))
    print(torch.compile(tensor_beams)(torch.randn(6, 6).log_softmax(-1)))
    guess = torch.compile(speculative)
    print(guess(torch.rand(3, 5), torch.rand(3, 5), torch.tensor([1, 4, 2])))
    print(torch.compile(typical_length)([3, 9, 4, 12]))


if __name__ == "__main__":
    main()
