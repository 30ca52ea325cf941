"""L-BFGS with a backtracking line search. The whole minimisation is one graph; its history is in two Python lists."""

import torch
import torch.nn.functional as F

import autograph as ag


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def logistic(features, labels, penalty=1e-2):
    def loss(w):
        return F.softplus(-labels * (features @ w)).mean() + penalty * w.square().sum()

    return loss


def value_and_gradient(f, x):
    x = x.detach().requires_grad_()
    value = f(x)
    (gradient,) = torch.autograd.grad(value, x)
    return value.detach(), gradient


def direction(gradient, steps, changes):
    """Computes minus the inverse Hessian, approximated from the history, times the gradient: the two loops of L-BFGS."""
    q, alphas = gradient, []
    for s, y in zip(reversed(steps), reversed(changes)):
        alpha = s.dot(q) / y.dot(s)
        alphas.append(alpha)
        q = q - alpha * y
    if len(steps) > 0:
        q = q * steps[-1].dot(changes[-1]) / changes[-1].dot(changes[-1])
    for s, y, alpha in zip(steps, changes, reversed(alphas)):
        q = q + (alpha - y.dot(q) / y.dot(s)) * s
    return -q


def line_search(f, x, value, gradient, along, decrease=1e-4):
    rate = 1.0
    while f(x + rate * along) > value + decrease * rate * gradient.dot(along):
        rate *= 0.5
        if rate < 1e-10:
            break
    return rate


@ag.function
def minimise(f, x, history=6, limit=200, tolerance=1e-5):
    """Returns the minimum, its value, and the number of iterations."""
    steps, changes = [], []
    value, gradient = value_and_gradient(f, x)
    for iteration in range(limit):
        if gradient.norm() < tolerance:
            return x, value, iteration
        along = direction(gradient, steps, changes)
        step = line_search(f, x, value, gradient, along) * along
        x = x + step
        value, new = value_and_gradient(f, x)
        change, gradient = new - gradient, new
        if step.dot(change) > 1e-10:
            steps.append(step)
            changes.append(change)
            if len(steps) > history:
                steps.pop(0)
                changes.pop(0)
    return x, value, limit


def main():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    x, value, iterations = minimise(rosenbrock, torch.tensor([-1.2, 1.0, 0.5, -0.3]))
    print(f"rosenbrock: {value:.2e} after {iterations} iterations, at", *(f"{c:.4f}" for c in x.tolist()))
    features = torch.randn(80, 5)
    labels = torch.sign(features @ torch.tensor([1.0, -2, 0.5, 0, 3]) + 0.3 * torch.randn(80))
    w, value, iterations = minimise(logistic(features, labels), torch.zeros(5))
    print(f"logistic: {value:.4f} after {iterations} iterations, at", *(f"{c:.4f}" for c in w.tolist()))
    torch.set_default_dtype(torch.float32)


if __name__ == "__main__":
    main()
