"""Complex numbers of Python in staged code: operands of tensors become tensors of the graph."""

import pytest
import torch

import autograph as ag

PROGRAMS = {
    "mul": lambda x: x * (0.1 + 1j),
    "add": lambda x: x + (2 + 0.1j),
    "rsub": lambda x: (2 + 1j) - x,
    "div": lambda x: x / 1j,
    "rdiv": lambda x: 1j / x,
    "pow": lambda x: x ** (1 + 1j),
    "scaled": lambda x: torch.add(x, 1j, alpha=2),
    "equal": lambda x: (x == 1j).float() * x,
    "real": lambda x: x.real * 1j,
    "zero_dimensional": lambda x: x.sum() * 0.1j,
    "in_place": lambda x: x.clone().mul_(1j),
    "polar": lambda x: torch.polar(x.real, x.imag),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name, dtype):
    def program(real, imaginary):
        return PROGRAMS[name](torch.complex(real, imaginary))

    found = []
    for function in (ag.function(program), program):
        parts = [torch.tensor(numbers, dtype=dtype, requires_grad=True) for numbers in ([0.3, 0.8], [0.9, 0.2])]
        result = function(*parts)
        found.append((result.detach(), *torch.autograd.grad(torch.view_as_real(result).sum(), parts)))
    torch.testing.assert_close(*found)


def test_gradient_of_padding_by_an_unknown_size():
    def program(x):
        return torch.fft.rfft(x, n=8).abs()

    staged = ag.function(program)
    for size in (3, 4, 5, 6):
        found = []
        for function in (staged, program):
            x = torch.arange(float(size), requires_grad=True)
            found.append(torch.autograd.grad(function(x).sum(), x)[0])
        torch.testing.assert_close(*found)


def test_sparse_tensors_run_in_python():
    def program(indices, values):
        return torch.sparse.mm(torch.sparse_coo_tensor(indices, values, (3, 3)).coalesce(), torch.ones(3, 1))

    staged = ag.function(program)
    arguments = torch.tensor([[0, 1, 1], [2, 0, 0]]), torch.tensor([1.0, 2.0, 3.0])
    for _ in range(2):
        torch.testing.assert_close(staged(*arguments), program(*arguments))
    assert sum(staged.fallbacks.values()) == 2
