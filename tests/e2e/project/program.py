"""A program of the runtime."""

import autograph as ag
import torch


@ag.function
def collatz(n, limit=100):
    steps = 0
    while n != 1 and steps < limit:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


if __name__ == "__main__":
    print("collatz", int(collatz(torch.tensor(27))))
