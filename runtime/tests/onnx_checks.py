"""Functions exported to ONNX have the same outcomes in onnxruntime, in a process without this package, as in eager
Python.

`onnx_test.py` runs this file. The number of random programs is the environment variable `PROGRAMS` divided by 1,000,
but at least 1. `FIRST` is the first seed.
"""

import os

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import autograph as ag
import exported
from oracle import t

COUNT, FIRST = max(1, int(os.environ.get("PROGRAMS", "0")) // 1000), int(os.environ.get("FIRST", "0"))


@pytest.mark.parametrize("suite", ["random", "gradients"])
def test_random_programs(suite, tmp_path):
    table = getattr(exported, suite)(tmp_path, range(FIRST, FIRST + COUNT), "onnx")
    assert not table.differences, "\n\n".join(table.differences[:3])


def test_benchmark_programs(tmp_path):
    table = exported.workloads(tmp_path, "onnx", ["w1_rnn"])
    assert not table.differences and not table.refusals, table


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.model_proto.SerializeToString(), options)


def call(session, *args):
    return session.run(None, {found.name: arg.numpy() for found, arg in zip(session.get_inputs(), args, strict=True)})


def compare(function, *calls):
    """Compares calls of the model of a function, which was exported for the first call, with eager calls. Returns the model."""
    model = ag.export.onnx(function, *calls[0])
    run = session(model)
    for args in calls:
        expected = torch.utils._pytree.tree_leaves(function(*args))
        for found, wanted in zip(call(run, *args), expected, strict=True):
            np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-5)
    return model


def operators(model):
    """Returns the operators of a model, including those in its loops and branches."""
    return {node.op_type for node in model.model.graph.all_nodes()}


def branches_and_loops(x, n):
    k = 0
    while n > 0:
        if n % 2 == 0:
            x = x * 2
        n, k = n - 1, k + 1
    return x, k


def test_a_condition_in_a_loop():
    model = compare(branches_and_loops, *((t(1.0), torch.tensor(n)) for n in (3, 0)))
    assert {"If", "Loop"} <= operators(model)


def changes_in_a_while_loop(x, n):
    found = [x]
    while n > 0:
        found.append(x * n)
        if n % 2 == 0:
            found.insert(0, x + n)
        n = n - 1
    return torch.stack(found).sum(0), len(found), found[-1]


def test_a_list_that_grows_in_a_while_loop():
    compare(changes_in_a_while_loop, *((t(1.0, -0.5), torch.tensor(n)) for n in (3, 1, 6, 0)))


def test_a_list_that_grows_in_a_loop_over_a_number_of_the_graph():
    model = compare(exported.appends_below_a_condition, *((x, torch.tensor(n)) for n in (3, 1, 6, 0) for x in (t(1.0, -0.5), t(-1.0, 0.5))))
    assert {"If", "Loop"} <= operators(model)


def test_the_gradient_of_a_cross_entropy():
    def program(x, y):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(torch.nn.functional.cross_entropy(x, y), x)[0]

    compare(program, (torch.arange(12.0).reshape(4, 3).sin(), torch.tensor([0, 1, 2, 1])))


def test_booleans_in_a_loop_and_in_a_selection():
    def program(x, n):
        flag = x > 0
        for i in range(int(n)):
            flag = torch.where(flag, x > i, x < -1)
        return flag, bool(flag[0]) if n > 0 else False

    compare(program, *((t(1.0, -2.0), torch.tensor(n)) for n in (3, 0)))


def test_a_model_is_valid_and_has_the_opset():
    model = ag.export.onnx(branches_and_loops, t(1.0), torch.tensor(3)).model_proto
    onnx.checker.check_model(model)
    assert {opset.version for opset in model.opset_import if opset.domain == ""} == {21}


def test_a_loop_that_appends_to_a_list_is_a_scan():
    def program(x, w):
        found = []
        for row in x:
            w = torch.tanh(w * row)
            found.append(w)
        return torch.stack(found), w, len(found)

    assert "Scan" in operators(compare(program, (torch.ones(20, 3), t(1.0, 2.0, 3.0))))


def test_names_of_inputs_are_those_of_the_parameters():
    run = session(ag.export.onnx(branches_and_loops, t(1.0), torch.tensor(3)))
    assert [found.name for found in run.get_inputs()] == ["x", "n"]


def test_unknown_sizes():
    function = ag.function(lambda x: x * len(x) if x.sum() > 0 else x)
    for size in (3, 4):
        function(torch.ones(size))
    run = session(ag.export.onnx(function, torch.ones(5)))
    np.testing.assert_array_equal(call(run, torch.ones(7))[0], np.full(7, 7.0))


def test_raise_is_an_error_of_the_run():
    def program(x, n):
        while n > 0:
            if x.sum() < 0:
                raise ValueError("negative")
            x, n = x - 1, n - 1
        return x, 6 // (n + 2), 6 // (int(n) + 3)

    run = session(ag.export.onnx(program, t(5.0), torch.tensor(2)))
    np.testing.assert_array_equal(call(run, t(5.0), torch.tensor(3))[0], [2.0])
    for args in ((t(1.0), torch.tensor(3)), (t(1.0), torch.tensor(-2)), (t(1.0), torch.tensor(-3))):
        with pytest.raises(Exception, match="out of data bounds"):
            call(run, *args)


def refusal(function, *args):
    return exported.refusal(ag.export.onnx, function, *args)


def test_random_numbers_are_refused_at_their_line():
    def program(x):
        return x + torch.rand(2)

    message = refusal(program, t(1.0, 2.0))
    assert "random numbers" in message and "return x + torch.rand(2)" in message


def test_writes_are_refused():
    def program(x):
        x += 1
        return x * 2

    assert "writes to a tensor" in refusal(program, t(1.0))


def test_operators_without_a_translation_are_refused():
    assert "torch.onnx" in refusal(lambda x: torch.linalg.eigvals(x), torch.eye(2))
