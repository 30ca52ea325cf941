"""Products of matrices with measured kernels have the same results within rounding, in every layout. The measurements are
kept in a cache."""

import os
import subprocess
import sys

import autograph as ag
import pytest
import torch

#: Rows, inner dimension and columns.
SHAPES = [(1, 300, 800), (8, 256, 512), (300, 200, 10), (130, 70, 300)]


@ag.function
def product(a, b):
    return a @ b


@ag.function
def sum_of_product(added, a, b):
    return torch.addmm(added, a, b)


@pytest.fixture(params=["measured", "torch", "onednn"])
def kernels(request, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ag.use_product_kernels(request.param)
    yield request.param
    ag.use_product_kernels("measured")


def layouts(matrix):
    """Returns the matrix stored by rows, and stored by columns."""
    return [matrix, matrix.t().contiguous().t()]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equal_within_rounding(kernels, shape):
    rows, inner, columns = shape
    torch.manual_seed(rows)
    left, right = torch.randn(rows, inner), torch.randn(inner, columns)
    # The error of a sum of n terms is at most n times the unit roundoff, relative to the sum of magnitudes.
    bound = inner * torch.finfo(torch.float32).eps * (left.abs() @ right.abs())
    exact, bias = left.double() @ right.double(), torch.randn(columns)
    for a in layouts(left):
        for b in layouts(right):
            found = product(a, b)
            assert found.is_contiguous()
            assert ((found - exact).abs() <= bound).all()
            assert ((sum_of_product(bias, a, b) - (bias + exact)).abs() <= bound + 1e-6 * bias.abs()).all()


def test_other_dtypes_and_mismatched_shapes_are_those_of_torch(kernels):
    a, b = torch.randn(64, 200), torch.randn(200, 64)
    assert torch.equal(product(a.double(), b.double()), a.double() @ b.double())
    assert torch.equal(product(a.long(), b.long()), a.long() @ b.long())
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        product(a, a)
    half = torch.randn(200, 64).half()
    with pytest.raises(RuntimeError, match="dtype|same"):
        product(a, half)


def test_infinities_and_nan(kernels):
    torch.manual_seed(0)
    a, b = torch.randn(64, 200), torch.randn(200, 64)
    a[0, 0], a[1, 1], b[5, 5] = float("inf"), float("nan"), float("-inf")
    torch.testing.assert_close(product(a, b), a @ b, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_deterministic_kernels_are_those_of_torch(kernels):
    a, b, added = torch.randn(300, 200), torch.randn(200, 10), torch.randn(10)
    ag.use_deterministic_kernels()
    try:
        assert torch.equal(product(a, b), a @ b)
        assert torch.equal(sum_of_product(added, a, b), torch.addmm(added, a, b))
    finally:
        ag.use_deterministic_kernels(False)


def test_a_user_without_onednn_gets_the_kernels_of_torch():
    a, b = torch.randn(64, 300), torch.randn(300, 200)
    ag.use_product_kernels("onednn")
    try:
        with torch.backends.mkldnn.flags(enabled=False):
            assert torch.equal(product(a, b), a @ b)
    finally:
        ag.use_product_kernels("measured")


def test_an_unknown_setting_is_an_error():
    with pytest.raises(ValueError, match="measured"):
        ag.use_product_kernels("fast")


PROGRAM = """
import autograph as ag, torch
torch.set_num_threads(1)
product = ag.function(lambda a, b: a @ b)
product(torch.ones(64, 200), torch.ones(200, 100))
ag.show_config()
"""


def config(folder, program=PROGRAM):
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_the_table_is_kept_in_the_cache_folder(tmp_path):
    shown = config(tmp_path)
    assert "16+ rows, 16+ columns, left operand by rows, right operand by rows:" in shown
    [table] = (tmp_path / "ag-lsp").iterdir()
    assert str(table) in shown
    kept = table.read_text()
    assert config(tmp_path) == shown
    assert table.read_text() == kept
    # A table that is not valid is measured again.
    table.write_bytes(b"0 onednn\n0 rm\n17 torch\n\xff\xfe\x00")
    assert "16+ rows, 16+ columns, left operand by rows, right operand by rows:" in config(tmp_path)
    assert len(table.read_text().splitlines()) == 1


def test_nothing_is_measured_while_onednn_is_disabled(tmp_path):
    shown = config(tmp_path, "import torch; torch.backends.mkldnn.set_flags(False)\n" + PROGRAM)
    assert "left operand" not in shown
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert "16+ rows" in config(tmp_path / "file")
