"""W14: the actor-critic of A3C for one worker, on an environment similar to cart-pole (JANUS, table 2).

An episode ends when the pole falls. The random numbers are inputs, so that every variant takes the same actions.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from harness import Workload, single

RATE, DISCOUNT, ENTROPY, STEP, LIMIT = 0.02, 0.97, 0.01, 0.05, 0.4
CONFIGURATIONS = [dict(H=H, episodes=10, limit=100) for H in (32, 256)]


class ActorCritic(nn.Module):
    def __init__(self, H):
        super().__init__()
        self.body, self.actor, self.critic = nn.Linear(4, H), nn.Linear(H, 2), nn.Linear(H, 1)

    def forward(self, state):
        h = torch.relu(self.body(state))
        return F.log_softmax(self.actor(h), -1), self.critic(h).squeeze(-1)


def move(state, action):
    """Returns the next state of the cart and the pole."""
    x, v, angle, spin = state
    force = 10.0 * (2.0 * action - 1.0)
    sine, cosine = torch.sin(angle), torch.cos(angle)
    push = (force + 0.05 * spin * spin * sine) / 1.1
    turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * cosine * cosine / 1.1))
    pull = push - 0.05 * turn * cosine / 1.1
    return torch.stack([x + STEP * v, v + STEP * pull, angle + STEP * spin, spin + STEP * turn])


def play(model, state, uniform, limit: int):
    """Plays an episode. Returns the log-probabilities of the actions, the values and the entropies, one per step."""
    chosen, values, entropies = [], [], []
    t = 0
    while t < limit and state[2].abs() < LIMIT:
        log, value = model(state)
        action = (uniform[t] < log[1].exp()).long()
        chosen.append(log[action])
        values.append(value)
        entropies.append(-(log.exp() * log).sum())
        with torch.no_grad():
            state = move(state, action.float())
        t += 1
    return chosen, values, entropies


def loss_of(chosen, values, entropies):
    gain, loss = torch.zeros(()), torch.zeros(())
    for i in reversed(range(len(values))):
        gain = 1.0 + DISCOUNT * gain
        advantage = gain - values[i]
        loss = loss - chosen[i] * advantage.detach() + 0.5 * advantage.square() - ENTROPY * entropies[i]
    return loss / len(values)


def learn(model, start, states, uniform, limit: int):
    """Each call starts with the same parameters, so that all calls do the same work."""
    model.load_state_dict(start)
    steps = 0
    for episode in range(states.shape[0]):
        chosen, values, entropies = play(model, states[episode], uniform[episode], limit)
        loss = loss_of(chosen, values, entropies)
        model.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with torch.no_grad():
            for p in model.parameters():
                p -= RATE * p.grad
        steps += len(values)
    return steps, loss.detach(), [p.detach().clone() for p in model.parameters()]


def workload(H, episodes, limit):
    rng = np.random.RandomState(0)
    model = ActorCritic(H)
    start = {name: single(rng.randn(*p.shape) * 0.3 * p.shape[-1] ** -0.5) for name, p in model.named_parameters()}
    states, uniform = single(rng.randn(episodes, 4) * 0.05), single(rng.rand(episodes, limit))
    return Workload(learn, (model, start, states, uniform, limit))
