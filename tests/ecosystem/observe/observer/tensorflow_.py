"""TensorFlow: a trace is active while a function graph is built. AutoGraph's converter reads the original text of a
function, so the observer also rewrites the tree of the converter, before the first pass. Thus the probe records the values
that AutoGraph's operators test."""
import ast
from pathlib import Path

import gast
import tensorflow as tf
from tensorflow.python.autograph.impl import api
from tensorflow.python.autograph.operators import control_flow
from tensorflow.python.autograph.pyct import anno
from tensorflow.python.autograph.utils import tensors
from tensorflow.python.framework import ops, tensor_util

from observer.rewrite import Rewriter

NAME = "tensorflow"
PACKAGES = Path(tf.__file__).parent.parent
FOLDERS = tuple(f"{PACKAGES / name}/" for name in ("tensorflow", "keras", "tf_keras"))


def tracing():
    return not tf.executing_eagerly() and ops.get_default_graph().building_function


def verdict(kind, value):
    """Returns the verdict for code that AutoGraph does not convert: "staged" for a symbolic Tensor, for which TensorFlow
    raises an exception if it is a condition."""
    symbolic = tensor_util.is_tf_type(value) and not isinstance(value, (ops.EagerTensor, tf.RaggedTensor))
    return "staged" if symbolic and getattr(value, "dtype", None) != tf.resource else "python"


def converted_verdict(kind, value):
    if kind == "test":
        return "staged" if tensors.is_dense_tensor(value) else "python"
    if tensor_util.is_tf_type(value) or isinstance(value, (tf.distribute.DistributedDataset, tf.distribute.DistributedIterator)):
        return "staged"
    try:
        control_flow.for_loop_registry.lookup(value)
        return "staged"
    except LookupError:
        return "python"


def owns(file):
    return file.startswith(FOLDERS) or "__autograph_generated_file" in file


def install(probe):
    sites, facts = probe.sites, probe.facts

    def noted(kind):
        def note(number, value):
            if tracing():
                facts.decision(sites.places[number], NAME, converted_verdict(kind, value))
            return value
        return note

    def enter(number):
        if tracing():
            file, line, _, name, _ = sites.places[number]
            probe.entered(file, line, name.removeprefix("def "), NAME)

    def line(number):
        if tracing():
            file, row, *_ = sites.places[number]
            facts.line(file, row)

    operators = api._TRANSPILER.get_extra_locals()["ag__"]
    for name, function in (("test", noted("test")), ("iteration", noted("iteration")), ("enter", enter), ("line", line)):
        setattr(operators, "observed_" + name, function)

    rewrite_tree(probe)
    note_errors(probe)
    probe.translate = translation()


def rewrite_tree(probe):
    analyze = api.PyToTF.initial_analysis

    def position(node):
        origin = anno.getanno(node, anno.Basic.ORIGIN, default=None)
        if origin is None or not probe.observed(origin.loc.filename):
            return None
        return str(origin.loc.filename), origin.loc.lineno, origin.loc.col_offset + 1

    def initial_analysis(self, node, context):
        node = GastRewriter(probe.sites, position, calls, exceptions=False).visit(node)
        return analyze(self, node, context)

    api.PyToTF.initial_analysis = initial_analysis


def translation():
    """Returns a function that maps a line of converted code to the user's line, by AutoGraph's source maps."""
    convert = api._convert_actual
    places = {}

    def converting(entity, context):
        converted = convert(entity, context)
        for generated, origin in converted.ag_source_map.items():
            places[generated.filename, generated.lineno] = origin.loc.filename, origin.loc.lineno
        return converted

    api._convert_actual = converting
    return lambda file, line: places.get((file, line), (file, line))


def calls(name, *arguments):
    values = [argument if isinstance(argument, ast.AST) else gast.Constant(argument, None) for argument in arguments]
    function = gast.Attribute(gast.Name("ag__", gast.Load(), None, None), "observed_" + name, gast.Load())
    return gast.Call(function, values, [])


class GastRewriter(Rewriter):
    """Sets the origin of every new node, which AutoGraph's passes require."""

    def probed(self, node, value, construct, kind="test"):
        return with_origin(super().probed(node, value, construct, kind), value)

    def block(self, statements):
        statements = super().block(statements)
        for probe, statement in zip(statements, statements[1:]):
            with_origin(probe, statement)
        return statements

    def visit_FunctionDef(self, node):
        node = super().visit_FunctionDef(node)
        for statement in node.body:
            with_origin(statement, node)
        return node


def with_origin(new, old):
    if anno.hasanno(old, anno.Basic.ORIGIN):
        origin = anno.getanno(old, anno.Basic.ORIGIN)
        for node in ast.walk(new):
            if not anno.hasanno(node, anno.Basic.ORIGIN):
                anno.setanno(node, anno.Basic.ORIGIN, origin)
    return new


def note_errors(probe):
    """Records exceptions that leave converted functions. AutoGraph maps their stacks to the user's lines."""
    attach = api._attach_error_metadata

    def attach_error_metadata(error, function):
        attach(error, function)
        metadata = getattr(error, "ag_error_metadata", None)
        if metadata is None or any(error is seen for seen in probe.seen):
            return
        frames = [frame for frame in metadata.translated_stack if probe.observed(frame.filename)]
        if frames:
            probe.seen = [error, *probe.seen[:3]]
            type_ = f"{type(error).__module__}.{type(error).__qualname__}"
            innermost = metadata.translated_stack[0].filename
            if not probe.observed(innermost):
                probe.facts.event("error", frames[0].filename, frames[0].lineno, NAME, str(error), type_, True)

    api._attach_error_metadata = attach_error_metadata
