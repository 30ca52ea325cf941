"""Operations and types are objects that Python and the runtime share. Each is created once."""

import copy
import pickle

import pytest
import torch

import autograph as ag
from autograph._runtime import Graph, Op
from autograph.record import ops
from autograph.record.types import DTYPES, INT, STR, ListType, TensorType, TupleType, gradient_type
from oracle import assert_same, t

CPU = torch.device("cpu")


def constants():
    return {name: value for name, value in vars(ops).items() if isinstance(value, Op)}


def test_a_misspelled_operation_is_an_error():
    for name in ("list.apend", "scalar.plus", "if ", "", "aten.add.Tensor"):
        with pytest.raises(ValueError, match="unknown operation"):
            Op.named(name)


def test_each_operation_is_one_constant():
    found = constants()
    assert len(set(found.values())) == len(found) > 40
    assert str(ops.LIST_APPEND) == "list.append" and str(ops.TO_INT) == "scalar.int"


def test_an_operation_of_torch_is_created_once_from_its_schema():
    operator = torch.ops.aten.relu.default
    op = ops.of_torch(operator)
    assert op is ops.of_torch(operator) and op.overload is operator and str(op) == "aten.relu.default"
    assert ops.is_aten(op) and not ops.is_aten(ops.IF) and not ops.is_aten(ops.Call(None))
    assert str(ops.of_torch(torch.ops.aten.add.Tensor)) == "aten.add.Tensor"


def test_only_operations_and_types_are_recorded():
    graph = Graph("main")
    x = graph.parameter(TensorType(torch.float32, (2,), CPU), "x", argument="x")
    with pytest.raises(TypeError):
        graph.emit("item", [x], [INT])
    with pytest.raises(TypeError):
        graph.emit(ops.ITEM, [x], ["int"])
    with pytest.raises(TypeError, match="either `argument` or `capture`"):
        graph.parameter(INT, None)


def test_functions_are_called_by_the_operation_that_declares_them():
    graph = Graph("main")
    call = graph.declare()
    with pytest.raises(TypeError, match="`declare`"):
        graph.begin(ops.IF, "f", [])
    (n,) = graph.begin(call, "f", [INT], ["n"])
    graph.end(graph.emit(ops.ADD, [n, 1], [INT]), [INT])
    graph.finish(graph.emit(call, [2], [INT]), [None])
    assert "call @f(2)" in graph.text() and graph.compile().run([]) == (3,)


@pytest.mark.parametrize("text", ["f32[]", "f32[2,3]", "i64[?]", "bool[4,?]", "bf16[1]@meta", "c64[2]@cuda:1"])
def test_types_have_the_text_of_graphs(text):
    type = TensorType.parse(text)
    assert str(type) == text and type == TensorType(type.dtype, type.dims, type.device)
    assert (
        hash(type) == hash(TensorType.parse(text)) and pickle.loads(pickle.dumps(type)) == copy.deepcopy(type) == type
    )


def test_a_type_is_data():
    type = TensorType(torch.float16, (2, None), CPU)
    assert (type.dtype, type.dims, type.device) == (torch.float16, (2, None), CPU)
    assert TensorType.parse("f32[3]@cuda").device == torch.device("cuda", 0)
    assert type != TensorType(torch.float16, (2, 3), CPU) and type != INT and type != "f16[2,?]"
    assert str(TupleType((INT, ListType(STR)))) == "tuple[int, list[str]]"
    assert ListType(type).element is type and ListType().element is None
    assert str(ListType()) == "list[f32[]]"


@pytest.mark.parametrize(
    "text", ["f32", "q7[2]", "f32[-1]", "f32[2", "f32[*]", "f32[s0]x", "int", "list[f32[]]", "f32[]@x"]
)
def test_an_invalid_tensor_type_is_an_error(text):
    with pytest.raises(ValueError, match="invalid type"):
        TensorType.parse(text)


def test_an_unsupported_type_is_an_error():
    with pytest.raises(ValueError, match="unsupported dtype: torch.quint8"):
        TensorType(torch.quint8, (), CPU)
    with pytest.raises(ValueError, match="unsupported device: mps"):
        TensorType(torch.float32, (), torch.device("mps"))
    with pytest.raises(ValueError, match="invalid size -1"):
        TensorType(torch.float32, (-1,), CPU)


def test_the_dtypes_are_those_of_torch():
    assert DTYPES[torch.float32] == "f32" and DTYPES[torch.float8_e5m2fnuz] == "f8e5m2z"
    assert all(TensorType(dtype, (), CPU).dtype is dtype for dtype in DTYPES)


def test_the_type_of_a_gradient():
    real, number = TensorType(torch.float32, (2,), CPU), TensorType(torch.int64, (2,), CPU)
    assert gradient_type(real) is real and gradient_type(number) is None and gradient_type(INT) is None
    assert gradient_type(ListType(real)) == ListType(real) and gradient_type(ListType()) is None
    assert str(gradient_type(TupleType((real, number)))) == "tuple[f32[2], none]"


@ag.function(input_signature=["f32[?]"])
def doubled(x):
    return x * 2


def test_a_function_with_a_signature_can_be_pickled():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    function, arguments = ag.function(len, input_signature=["f32[?]"]).__reduce__()
    assert pickle.loads(pickle.dumps(arguments))[1] == [TensorType.parse("f32[?]")]


def test_complex_numbers():
    def f(x):
        y = torch.fft.rfft(x)
        if x.sum() > 0:
            y = y * (1 + 2j) - 1j
        return y + x[0], 2j * x

    assert_same(f, (t(1, 2, 3),), (t(-1, 2, -3),))
