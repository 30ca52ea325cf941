"""The advantage actor-critic of A3C, for one worker: an episode in a corridor and the update are one graph."""

import torch
from torch import nn

import autograph as ag

LENGTH, LIMIT = 6, 30


class Policy(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(LENGTH, width), nn.Tanh())
        self.actor, self.critic = nn.Linear(width, 2), nn.Linear(width, 1)

    def forward(self, position):
        hidden = self.body(nn.functional.one_hot(position, LENGTH).float())
        return torch.log_softmax(self.actor(hidden), 0), self.critic(hidden)[0]


@ag.function
def learn(policy, optimizer, discount=0.95):
    """Plays one episode and learns from it. Returns the number of steps and the loss."""
    position, steps = torch.tensor(1), torch.tensor(0)
    chosen, values, rewards, entropy = [], [], [], torch.tensor(0.0)
    while position < LENGTH - 1 and steps < LIMIT:
        scores, value = policy(position)
        action = torch.multinomial(scores.exp(), 1)[0]
        position = torch.clamp(position + 2 * action - 1, min=0)
        if position == LENGTH - 1:
            reward = torch.tensor(1.0)
        elif position == 0:
            reward = torch.tensor(-0.5)
        else:
            reward = torch.tensor(-0.02)
        chosen.append(scores[action])
        values.append(value)
        rewards.append(reward)
        entropy = entropy - (scores.exp() * scores).sum()
        steps = steps + 1

    gain, policy_loss, value_loss = torch.tensor(0.0), torch.tensor(0.0), torch.tensor(0.0)
    for i in range(steps):
        at = steps - 1 - i
        gain = rewards[at] + discount * gain
        advantage = gain - values[at]
        policy_loss = policy_loss - chosen[at] * advantage.detach()
        value_loss = value_loss + advantage.pow(2)
    loss = (policy_loss + 0.5 * value_loss - 0.01 * entropy) / steps
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    return steps, loss.detach()


def main():
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=0.01)
    for block in range(4):
        episodes = [learn(policy, optimizer) for _ in range(20)]
        steps, loss = (sum(part.item() for part in column) / len(episodes) for column in zip(*episodes))
        print(f"episodes {20 * block + 20}: {steps:.2f} steps, loss {loss:.3f}")


if __name__ == "__main__":
    main()
