"""Checks that run in several processes, started by `torchrun` in `distributed_test.py`. Each check is a function; it
compares a staged function with eager torch, and raises an error if they differ. Each process writes its outcomes to a
file. `PROGRAMS` is the number of random programs. With `CHECK`, only the check with this name runs.

    torchrun --nproc-per-node 2 distributed_checks.py FOLDER [PROGRAMS [CHECK]]
"""

import contextlib
import importlib.util
import io
import json
import pathlib
import random
import sys
import traceback

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as differentiable
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel

import autograph as ag

CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


# Collectives. The operations around them are exact, so the results are bitwise equal.


def all_reduce(x, n):
    y = x * 2
    dist.all_reduce(y)
    return y + 1


def all_reduce_of_a_view(x, n):
    y = x * 1
    dist.all_reduce(y[1])
    return y


def all_reduce_started(x, n):
    y = x * 2
    work = dist.all_reduce(y, async_op=True)
    z = x * 3
    work.wait()
    return y + z


def maximum(x, n):
    y = x * 1
    dist.all_reduce(y, op=dist.ReduceOp.MAX)
    return y


def reduced_to_one(x, n):
    y = x * 1
    dist.reduce(y, 0)
    return y if dist.get_rank() == 0 else x


def broadcast(x, n):
    y = x * 1
    dist.broadcast(y, 1)
    return y


def gathered(x, n):
    parts = torch.empty(n * len(x), 3)
    dist.all_gather_into_tensor(parts, x)
    pieces = [torch.empty_like(x) for _ in range(n)]
    dist.all_gather(pieces, x)
    return parts.sum(0) + torch.stack(pieces)


def scattered(x, n):
    part = torch.empty(len(x) // n, 3)
    dist.reduce_scatter_tensor(part, x)
    own = torch.empty_like(x)
    dist.scatter(own, [x * (i + 1) for i in range(n)] if dist.get_rank() == 0 else None, 0)
    pieces = [torch.empty_like(x) for _ in range(n)] if dist.get_rank() == 0 else None
    dist.gather(x, pieces, 0)
    return part, own, torch.stack(pieces) if pieces else x


def exchanged(x, n):
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    received = torch.empty_like(x)
    rank = dist.get_rank()
    sent = dist.isend(x * 3, (rank + 1) % n)
    got = dist.irecv(received, (rank - 1) % n)
    sent.wait()
    got.wait()
    dist.barrier()
    return y, received


def several_at_once(x, n):
    return functional.all_reduce_coalesced([x, x * 2], "sum", dist.group.WORLD)


def of_a_group(x, n):
    return functional.all_reduce(x, "sum", PAIRS[dist.get_rank() // 2])


def in_a_branch(x, n):
    if functional.all_reduce(x.sum(), "sum", dist.group.WORLD) > 0:
        y = functional.all_reduce(x, "max", dist.group.WORLD)
    else:
        y = functional.all_reduce(x, "sum", dist.group.WORLD)
    return y


def in_a_loop(x, n):
    count = torch.tensor(0)
    while functional.all_reduce(x.abs().sum(), "sum", dist.group.WORLD) > 1:
        x = functional.all_reduce(x, "sum", dist.group.WORLD) / (2 * n)
        count += 1
    return x, count


def without_a_use(x, n):
    dist.all_reduce(x * 1)
    dist.all_reduce(x * 1)
    return x


PLAIN = [
    all_reduce, all_reduce_of_a_view, all_reduce_started, maximum, reduced_to_one, broadcast, gathered, scattered,
    exchanged, several_at_once, of_a_group, in_a_branch, in_a_loop, without_a_use,
]  # fmt: skip


def sum_of_all(x, n):
    return functional.all_reduce(x * x, "sum", dist.group.WORLD) * x


def all_parts(x, n):
    return functional.all_gather_tensor(x, 0, dist.group.WORLD).reshape(n, *x.shape) * x * torch.arange(1, n + 1).reshape(n, 1, 1)


def all_columns(x, n):
    return functional.all_gather_tensor(x, 1, dist.group.WORLD) ** 2


def part_of_sum(x, n):
    return functional.reduce_scatter_tensor(x * x, "sum", 0, dist.group.WORLD) * 3


def exchange(x, n):
    return functional.all_to_all_single(x, None, None, dist.group.WORLD) * x


def with_autograd(x, n):
    parts = functional.all_gather_tensor_autograd(x, 0, dist.group.WORLD)
    return functional.reduce_scatter_tensor_autograd(parts * parts, "sum", 0, dist.group.WORLD) * x


def of_torch_nn(x, n):
    total = differentiable.all_reduce(x * x)
    parts = torch.cat(differentiable.all_gather(x))
    return total * x, parts * parts


def in_a_branch_with_gradient(x, n):
    if functional.all_reduce(x.detach().sum(), "sum", dist.group.WORLD) > -1000:
        y = functional.all_reduce(x * x, "sum", dist.group.WORLD) * 3
    else:
        y = x
    return y * x


def in_a_loop_with_gradient(x, n):
    i = torch.tensor(0)
    while i < 3:
        x = functional.all_reduce(x, "sum", dist.group.WORLD) / n * 2
        i += 1
    return x


DIFFERENTIABLE = [
    sum_of_all, all_parts, all_columns, part_of_sum, exchange, with_autograd, of_torch_nn, in_a_branch_with_gradient,
    in_a_loop_with_gradient,
]  # fmt: skip


def integers(*shape, seed=0):
    generator = torch.Generator().manual_seed(100 * seed + dist.get_rank())
    return torch.randint(-3, 4, shape, generator=generator).float()


def assert_same(found, expected):
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert torch.equal(a, b), f"{a} instead of {b}"


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value.wait() if hasattr(value, "wait") else value]
    return [leaf for part in value for leaf in leaves(part)]


def results(function, x, n, with_gradient):
    x = x.clone().requires_grad_(with_gradient)
    found = leaves(function(x, n))
    if with_gradient:
        sum((part * torch.arange(part.numel()).reshape(part.shape)).sum() for part in found).backward()
        found.append(x.grad)
    return found


def compared(function, with_gradient):
    def run():
        n = dist.get_world_size()
        staged = ag.function(function)
        for seed in range(2):  # the second call runs the graph without tracing
            x = integers(4 * n, 3, seed=seed)
            assert_same(results(staged, x, n, with_gradient), results(function, x, n, with_gradient))

    return run


for _function in PLAIN:
    CHECKS[_function.__name__] = compared(_function, False)
for _function in DIFFERENTIABLE:
    CHECKS[_function.__name__] = compared(_function, True)


@check
def gradient_inside():
    def gradient(x, n):
        y = functional.all_reduce(x * x, "sum", dist.group.WORLD)
        return torch.autograd.grad((y * x).sum(), x)[0]

    n, x = dist.get_world_size(), integers(4, 3).requires_grad_()
    assert_same(ag.function(gradient)(x, n), gradient(x, n))


@check
def gradients_that_torch_lacks():
    """Torch has no derivative of `broadcast`. Staged code adds the gradients of all processes at the source."""
    rank, n = dist.get_rank(), dist.get_world_size()

    @ag.function
    def of_broadcast(x):
        return functional.broadcast(x, 1, dist.group.WORLD) * (1 + dist.get_rank())

    x = integers(3).requires_grad_()
    of_broadcast(x).sum().backward()
    assert_same(x.grad, torch.full((3,), n * (n + 1) / 2 if rank == 1 else 0.0))


@check
def second_gradient():
    def second(x):
        y = functional.all_reduce(x**3, "sum", dist.group.WORLD)
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return torch.autograd.grad(first.sum(), x)[0]

    x = integers(3).requires_grad_()
    assert_same(ag.function(second)(x), 6 * x.detach() * dist.get_world_size())


@check
def a_rank_in_python():
    """Some processes run the graph and others run Python. All execute the same collectives."""
    n, x = dist.get_world_size(), integers(4 * dist.get_world_size(), 3)
    for function in (all_reduce, in_a_branch, in_a_loop, gathered):
        run = ag.function(function) if dist.get_rank() % 2 else function
        assert_same(leaves(run(x, n)), leaves(function(x, n)))


# Training.


def network(dtype=torch.float32, exact=False):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).to(dtype)
    if exact:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randint(-2, 3, parameter.shape))
    return model


def batches(dtype=torch.float32, exact=False, rows=4):
    """Returns the whole batch, and the part of this process."""
    generator = torch.Generator().manual_seed(1)
    n = dist.get_world_size()
    draw = torch.randn if not exact else lambda *shape, generator: torch.randint(-2, 3, shape, generator=generator)
    x, y = (draw(rows * n, width, generator=generator).to(dtype) for width in (6, 2))
    part = slice(rows * dist.get_rank(), rows * (dist.get_rank() + 1))
    return (x, y), (x[part], y[part])


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def averaged_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = mse_loss(model(x), y)
    loss.backward()
    ag.average_gradients(model.parameters())
    optimizer.step()
    return loss


def averaged_in_many_buckets(model, optimizer, x, y):
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    ag.average_gradients(model.parameters(), bucket_cap_mb=1e-6)
    optimizer.step()


def trained(step, model, batch, steps, rate=2**-4):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        step(model, optimizer, *batch)
    return [*model.parameters(), *model.buffers()]


@check
def exact_training():
    """All values fit in 53 bits, so the order of additions does not matter: one process with the whole batch,
    `DistributedDataParallel`, and all variants of averaging gradients have bitwise equal results."""
    whole, part = batches(torch.float64, exact=True)

    def model():
        return network(torch.float64, exact=True)

    expected = trained(step, model(), whole, 2)
    assert_same(trained(step, DistributedDataParallel(model()), part, 2), expected)
    for function in (averaged_step, averaged_in_many_buckets):
        assert_same(trained(function, model(), part, 2), expected)
        assert_same(trained(ag.function(function), model(), part, 2), expected)
    assert_same(trained(ag.function(step), DistributedDataParallel(model()), part, 2), expected)

    @ag.function
    def loss_of(model, x, y):
        return mse_loss(model(x), y)

    def backward_outside(model, optimizer, x, y):
        optimizer.zero_grad()
        loss_of(model, x, y).backward()
        optimizer.step()

    assert_same(trained(backward_outside, DistributedDataParallel(model()), part, 2), expected)


@check
def same_bits_as_ddp():
    """In eager Python, `average_gradients` and `DistributedDataParallel` have bitwise equal results. With more than two
    processes, this holds for the first step only, because the order of additions differs in later steps."""
    _, part = batches()
    steps = 5 if dist.get_world_size() == 2 else 1
    expected = trained(step, DistributedDataParallel(network()), part, steps)
    assert_same(trained(averaged_step, network(), part, steps), expected)


@check
def training():
    whole, part = batches(rows=16)
    expected = trained(step, network(), whole, 20)
    for model, function in (
        (network(), ag.function(averaged_step)),
        (DistributedDataParallel(network()), ag.function(step)),
        (DistributedDataParallel(network()), step),
    ):
        torch.testing.assert_close(trained(function, model, part, 20), expected)


@check
def accumulated_gradients():
    """The block `no_sync` surrounds the first of two backward passes, in staged code and around staged code."""

    def accumulating(model, optimizer, x, y):
        optimizer.zero_grad()
        with model.no_sync():
            mse_loss(model(x), y).backward()
        mse_loss(model(x * 2), y).backward()
        optimizer.step()

    @ag.function
    def loss_of(model, x, y):
        return mse_loss(model(x), y)

    def around(model, optimizer, x, y):
        optimizer.zero_grad()
        with model.no_sync():
            loss_of(model, x, y).backward()
        loss_of(model, x * 2, y).backward()
        optimizer.step()

    _, part = batches(torch.float64, exact=True)
    models = [DistributedDataParallel(network(torch.float64, exact=True)) for _ in range(3)]
    functions = accumulating, ag.function(accumulating), around
    expected, *found = [trained(function, model, part, 1) for function, model in zip(functions, models)]
    for other in found:
        assert_same(other, expected)


@check
def buffers():
    """The running statistics of the first process are sent to all others before each forward pass."""

    def model():
        torch.manual_seed(0)
        return DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2)))

    _, part = batches(rows=8)
    expected = trained(step, model(), part, 3)
    torch.testing.assert_close(trained(ag.function(step), model(), part, 3), expected)


@check
def gradients_of_some():
    """In some processes, the loss does not depend on all parameters."""

    def partial(model, optimizer, x, y):
        optimizer.zero_grad()
        z = model[0](x)
        if dist.get_rank() == 0:
            z = model[2](z)
        z.sum().backward()
        ag.average_gradients(model.parameters(), missing="zeros")
        optimizer.step()

    _, part = batches(torch.float64, exact=True)
    models = [network(torch.float64, exact=True) for _ in range(2)]
    expected = trained(partial, models[0], part, 1)
    assert_same(trained(ag.function(partial), models[1], part, 1), expected)


@check
def verified():
    """Shadow mode runs Python beside the graph: each process executes all collectives twice."""
    n, x = dist.get_world_size(), integers(4 * dist.get_world_size(), 3)
    for function in (all_reduce, in_a_branch, gathered):
        run = ag.function(function, verify=True)
        assert_same(leaves(run(x, n)), leaves(function(x, n)))
    x = integers(4, 3).requires_grad_()
    y = ag.function(lambda x: functional.all_reduce(x * x, "sum", dist.group.WORLD), verify=True)(x)
    assert_same([y], [functional.all_reduce(x * x, "sum", dist.group.WORLD)])
    _, part = batches()
    trained(ag.function(averaged_step, verify=True), network(), part, 2)


@check
def different_paths():
    """With speculation, processes assume different paths, and a run that contradicts an assumption runs in Python."""

    def chosen(x):
        y = x * 2 if x.sum() > 0 else x * 3
        dist.all_reduce(y)
        return y

    staged = ag.function(chosen, speculate=True)
    for call in range(8):
        x = torch.full((3,), 1.0 if (call + dist.get_rank()) % 3 else -1.0)
        assert_same(leaves(staged(x)), leaves(chosen(x)))


@check
def example():
    """The example `data_parallel.py` prints the same text staged and eager."""
    module = loaded(pathlib.Path(__file__).parents[2] / "tests/examples/staged/data_parallel.py")
    texts = []
    for is_eager in (False, True):
        ag.run_functions_eagerly(is_eager)
        with contextlib.redirect_stdout(io.StringIO()) as text:
            module.epochs(2)
        texts.append(text.getvalue())
    ag.run_functions_eagerly(False)
    assert texts[0] == texts[1]
    assert texts[0].count("\n") == (2 if dist.get_rank() == 0 else 0)


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Random programs.


def program(seed):
    """Returns the source of a function `program(x, w)` with collectives in straight code, branches and loops. All
    processes generate the same program. Its values remain small integers, or fractions with few bits."""
    draw = random.Random(seed)

    def expression(names):
        a, b = draw.choice(names), draw.choice(names)
        return draw.choice(
            (
                f"{a} + {b}", f"({a} * {b}).clamp(-4, 4)", f"{a}.relu()", f"{a} - 2 * {b}", f"{a}.flip(0)",
                f"F.all_reduce({a}, 'sum', W).clamp(-4, 4)", f"F.all_reduce({a}, 'sum', W) / n",
                f"F.all_gather_tensor({a}, 0, W).reshape(n, *{a}.shape).sum(0) / n",
                f"F.reduce_scatter_tensor(torch.cat([{a}] * n), 'sum', 0, W) / n", f"N.all_reduce({a}) / n",
            )
        )  # fmt: skip

    def block(names, depth, indent):
        lines = []
        for _ in range(draw.randint(2, 4)):
            kind = draw.random()
            if kind < 0.15 and depth:
                target = draw.choice(names)
                lines.append(f"{indent}if F.all_reduce({draw.choice(names)}.detach().sum(), 'sum', W) > {draw.randint(-3, 3)}:")
                lines += [*block(names, depth - 1, indent + "    "), f"{indent}else:"]
                lines.append(f"{indent}    {target} = {expression(names)}")
            elif kind < 0.25 and depth:
                lines += [f"{indent}i = torch.tensor(0)", f"{indent}while i < {draw.randint(1, 3)}:"]
                lines += [*block(names, 0, indent + "    "), f"{indent}    i += 1"]
            elif kind < 0.35:
                name = draw.choice(names)
                lines += [f"{indent}c = {name}.detach() * 1", f"{indent}dist.all_reduce(c)", f"{indent}{name} = {name} + c / n"]
            else:
                lines.append(f"{indent}{draw.choice(names)} = {expression(names)}")
        return lines

    head = [
        "import torch, torch.distributed as dist", "import torch.distributed._functional_collectives as F",
        "import torch.distributed.nn.functional as N", "W, n = dist.group.WORLD, dist.get_world_size()",
        "def program(x, w):", "    y, z = x * w, x - w",
    ]  # fmt: skip
    return "\n".join([*head, *block(["x", "y", "z"], 2, "    "), "    return x, y, z", ""])


@check
def random_programs():
    folder = pathlib.Path(sys.argv[1]) / f"programs{dist.get_rank()}"
    folder.mkdir(exist_ok=True)
    for seed in range(int(sys.argv[2]) if len(sys.argv) > 2 else 12):
        path = folder / f"program{seed}.py"
        path.write_text(program(seed))
        module = loaded(path)
        found = []
        for function in (module.program, ag.function(module.program)):
            x, w = integers(2, 3, seed=seed).requires_grad_(), integers(2, 3, seed=seed + 1).requires_grad_()
            outputs = leaves(function(x, w))
            gradients = torch.autograd.grad(sum(o.sum() for o in outputs if o.requires_grad), (x, w), allow_unused=True)
            found.append([*outputs, *(torch.zeros(2, 3) if g is None else g for g in gradients)])
        torch.testing.assert_close(found[1], found[0], msg=lambda text: f"program {seed}: {text}")


def main():
    folder = pathlib.Path(sys.argv[1])
    dist.init_process_group("gloo")
    rank, n = dist.get_rank(), dist.get_world_size()
    PAIRS[:] = [dist.new_group([i, i + 1]) for i in range(0, n, 2)]
    outcomes = {}
    for name, function in [(k, v) for k, v in CHECKS.items() if len(sys.argv) < 4 or k == sys.argv[3]]:
        try:
            function()
            outcomes[name] = "passed"
        except Exception:
            outcomes[name] = traceback.format_exc()
            break  # later checks cannot run: the other processes may be at a different collective
        finally:
            (folder / f"{rank}.json").write_text(json.dumps(outcomes))
    dist.barrier()
    dist.destroy_process_group()


#: Groups of two processes each.
PAIRS = []

if __name__ == "__main__":
    main()
