"""Iterative methods with a limit on iterations in Python and a tolerance on tensors."""
import torch


def power_iteration(matrix, steps=20, tolerance=None):
    vector = torch.ones(matrix.size(0))
    value = vector.new_zeros(())
    for _ in range(steps):
        image = matrix @ vector
        vector = image / image.norm()
        new = vector @ matrix @ vector
        if tolerance is not None and (new - value).abs() < tolerance:
            return new, vector
        value = new
    return value, vector


def shrink_to(x, limit=1.0, factor=0.5):
    count = 0
    while x.norm() > limit:
        x = x * factor
        count += 1
    return x, count


def newton(f, x, tolerance=1e-5, limit=25):
    step = torch.full_like(x, float("inf"))
    for iteration in range(limit):
        if step.abs().max() < tolerance:
            break
        value = f(x)
        slope = (f(x + 1e-3) - value) / 1e-3
        step = value / torch.where(slope == 0, 1e-3, slope)
        x = x - step
    else:
        iteration = limit
    return x, iteration


def conjugate_gradient(matrix, target, x=None, limit=None):
    x = torch.zeros_like(target) if x is None else x
    residual = target - matrix @ x
    direction = residual
    energy = residual @ residual
    for _ in range(limit or len(target)):
        if energy < 1e-8:
            break
        image = matrix @ direction
        alpha = energy / (direction @ image)
        x = x + alpha * direction
        residual = residual - alpha * image
        renewed = residual @ residual
        direction = residual + renewed / energy * direction
        energy = renewed
    return x


def bisect(f, low, high, width=1e-3):
    flipped = f(low) > 0
    while high - low > width:
        middle = (low + high) / 2
        above = f(middle) > 0
        if above if not flipped else not above:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def line_search(f, x, direction, rate=1.0, decrease=0.5, budget=10):
    start = f(x)
    for attempt in range(budget):
        candidate = x + rate * direction
        if f(candidate) < start or attempt == budget - 1:
            return candidate
        rate *= decrease
    return x


def adaptive_euler(field, state, end=1.0, step=0.25, tolerance=1e-2):
    time = 0.0
    rejected = 0
    while time < end:
        step = min(step, end - time)
        full = state + step * field(state)
        half = state + step / 2 * field(state)
        twice = half + step / 2 * field(half)
        error = (full - twice).abs().max()
        if error > tolerance and step > 1e-3:
            step = step / 2
            rejected += 1
            continue
        time += step
        state = twice
        if rejected == 0 and error < tolerance / 4:
            step *= 2
    return state


def sinkhorn(cost, epsilon=0.1, limit=50, check_every=10):
    kernel = torch.exp(-cost / epsilon)
    rows = torch.ones(cost.size(0)) / cost.size(0)
    u = torch.ones_like(rows)
    v = torch.ones(cost.size(1)) / cost.size(1)
    for i in range(limit):
        v = 1 / cost.size(1) / (kernel.T @ u)
        u = rows / (kernel @ v)
        if i % check_every == 0:
            drift = ((u[:, None] * kernel * v).sum(1) - rows).abs().sum()
            if drift < 1e-4:
                break
    return u[:, None] * kernel * v


def orthogonalise(rows, drop_dependent=True):
    basis = []
    for row in rows:
        for direction in basis:
            row = row - (row @ direction) * direction
        size = row.norm()
        if size > 1e-6:
            basis.append(row / size)
        elif not drop_dependent:
            basis.append(torch.zeros_like(row))
    return torch.stack(basis) if basis else rows[:0]


def horner(coefficients, x):
    if not coefficients:
        return torch.zeros_like(x)
    total = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x
        if coefficient != 0:
            total = total + coefficient
    return total


def cubic(x):
    return x ** 3 - 2


def main():
    square = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    eigen = torch.compile(power_iteration)
    print(eigen(square))
    print(eigen(square, steps=50, tolerance=1e-4))
    print(torch.compile(shrink_to)(torch.randn(4) * 10))
    print(torch.compile(newton)(cubic, torch.tensor([1.0, 2.0])))
    print(torch.compile(newton)(cubic, torch.tensor([1.0, 2.0]), limit=2))
    solve = torch.compile(conjugate_gradient)
    print(solve(square, torch.tensor([1.0, 2.0])))
    print(solve(square, torch.tensor([1.0, 2.0]), torch.ones(2), limit=1))
    print(torch.compile(bisect)(cubic, torch.tensor(0.0), torch.tensor(2.0)))
    print(torch.compile(bisect)(torch.cos, torch.tensor(0.0), torch.tensor(3.0)))
    print(torch.compile(line_search)(lambda x: (x ** 2).sum(), torch.ones(3), -torch.ones(3) * 8))
    print(torch.compile(adaptive_euler)(torch.cos, torch.rand(3)))
    print(torch.compile(adaptive_euler)(torch.exp, torch.rand(3), step=1.0))
    print(torch.compile(sinkhorn)(torch.rand(3, 4)))
    print(torch.compile(orthogonalise)(torch.tensor([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]])))
    print(torch.compile(orthogonalise)(torch.zeros(2, 2), drop_dependent=False))
    print(torch.compile(horner)([1.0, 0.0, 2.0], torch.rand(3)))


if __name__ == "__main__":
    main()
