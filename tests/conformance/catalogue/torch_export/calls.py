"""Calls of `torch.export.export` and uses of exported programs that raise."""
import dataclasses

import torch
from torch import nn
from torch.export import Dim, export

DIALECT = "torch.export"


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class Limited(nn.Module):
    def forward(self, x):
        if x.shape[0] > 4:
            return x
        return x * 2


class Fixed(nn.Module):
    def forward(self, x):
        assert x.shape[0] == 8
        return x * 2


@dataclasses.dataclass
class Batch:
    x: torch.Tensor


def double(x):
    return x * 2


def exports_list():
    return export(Double(), [torch.ones(8)])


def exports_tensor():
    x = torch.ones(8)
    return export(Double(), x)


def exports_parenthesized():
    return export(Double(), (torch.ones(8)))


def exports_tuple():
    return export(Double(), (torch.ones(8),))


def exports_function():
    return export(double, (torch.ones(8),))


def exports_lambda():
    return export(lambda x: x * 2, (torch.ones(8),))


def exports_scripted():
    scripted = torch.jit.script(Double())
    return export(scripted, (torch.ones(8),))


def calls_program():
    program = export(Double(), (torch.ones(8),))
    return program(torch.ones(8))


def calls_module():
    program = export(Double(), (torch.ones(8),))
    return program.module()(torch.ones(8))


def evaluates_module():
    model = export(Double(), (torch.ones(8),)).module()
    model.eval()
    return model


def evaluates_before():
    model = Double()
    model.eval()
    return export(model, (torch.ones(8),))


def saves_module():
    torch.export.save(Double(), "/dev/null")


def replaces_graph():
    program = export(Double(), (torch.ones(8),))
    program.graph = torch.fx.Graph()
    return program


def names_other_input():
    return export(Double(), (torch.ones(8),), dynamic_shapes={"inputs": {0: Dim("batch")}})


def names_one_input():
    batch = Dim("batch")
    return export(Sum(), (torch.ones(8), torch.ones(8)), dynamic_shapes={"x": {0: batch}})


def names_inputs():
    batch = Dim("batch")
    return export(Sum(), (torch.ones(8), torch.ones(8)), dynamic_shapes={"x": {0: batch}, "y": {0: batch}})


def gives_one_shape():
    batch = Dim("batch")
    return export(Sum(), (torch.ones(8), torch.ones(8)), dynamic_shapes=({0: batch},))


def gives_shapes():
    batch = Dim("batch")
    return export(Sum(), (torch.ones(8), torch.ones(8)), dynamic_shapes=({0: batch}, {0: batch}))


def names_dimension():
    return export(Double(), (torch.ones(8),), dynamic_shapes={"x": {0: "batch"}})


def gives_number():
    return export(Double(), (torch.ones(8),), dynamic_shapes={"x": 0})


def defines_twice():
    small, large = Dim("batch", max=16), Dim("batch", max=64)
    return export(Sum(), (torch.ones(8), torch.ones(8)), dynamic_shapes={"x": {0: small}, "y": {0: large}})


def gives_dimension_of_integer():
    batch = Dim("batch")
    return export(Sum(), (torch.ones(8), 2), dynamic_shapes={"x": {0: batch}, "y": batch})


def restricts_within_bounds():
    return export(Limited(), (torch.ones(8),), dynamic_shapes={"x": {0: Dim("batch", min=5)}})


def fixes_static_size():
    return export(Fixed(), (torch.ones(8),))


def passes_object():
    return export(Double(), (Batch(torch.ones(8)),))


def calls_with_two():
    module = export(Double(), (torch.ones(8),)).module()
    return module(torch.ones(8), torch.ones(8))


def calls_by_keyword():
    program = export(Double(), (torch.ones(8),))
    return program.module()(x=torch.ones(8))


def calls_as_exported():
    program = export(Double(), (), {"x": torch.ones(8)})
    return program.module()(x=torch.ones(8))


def calls_unflattened():
    program = export(Double(), (torch.ones(8),))
    return torch.export.unflatten(program)(torch.ones(8), torch.ones(8))


def calls_dimension():
    return Dim("batch")(4)


def lists_dimension():
    return export(Double(), (torch.ones(8),), dynamic_shapes={"x": ["batch"]})


def replaces_inputs():
    program = export(Double(), (torch.ones(8),))
    program.example_inputs = (torch.ones(4),)


def replaces_call_spec():
    program = export(Double(), (torch.ones(8),))
    program.call_spec = {}


def replaces_constants():
    program = export(Double(), (torch.ones(8),))
    program.constants = {}


def replaces_dialect():
    program = export(Double(), (torch.ones(8),))
    program.dialect = {}


def replaces_graph_module():
    program = export(Double(), (torch.ones(8),))
    program.graph_module = {}


def replaces_graph_signature():
    program = export(Double(), (torch.ones(8),))
    program.graph_signature = {}


def replaces_module_call_graph():
    program = export(Double(), (torch.ones(8),))
    program.module_call_graph = {}


def replaces_range_constraints():
    program = export(Double(), (torch.ones(8),))
    program.range_constraints = {}


def replaces_state_dict():
    program = export(Double(), (torch.ones(8),))
    program.state_dict = {}


def replaces_tensor_constants():
    program = export(Double(), (torch.ones(8),))
    program.tensor_constants = {}


def replaces_verifier():
    program = export(Double(), (torch.ones(8),))
    program.verifier = []


def replaces_verifiers():
    program = export(Double(), (torch.ones(8),))
    program.verifiers = []


def exceeds_range():
    return export(Double(), (torch.ones(8),), dynamic_shapes={"x": {0: Dim("batch", max=4)}})


def gives_too_many_dimensions():
    batch = Dim("batch")
    return export(Double(), (torch.ones(8),), dynamic_shapes={"x": (batch, None)})


def gives_other_form():
    return export(Double(), (torch.ones(8),), dynamic_shapes={"x": {0: 2 * Dim("pairs") + 1}})


KINDS = {
    "Limited": "symbolic_shapes: Constraints violated ({})! For more information, run with TO",
    "Fixed": "symbolic_shapes: Constraints violated ({})! For more information, run with TO",
    "exports_list": "_trace: Expecting `args` to be a tuple of example positional inputs,",
    "exports_tensor": "_trace: Expecting `args` to be a tuple of example positional inputs,",
    "exports_parenthesized": "_trace: Expecting `args` to be a tuple of example positional inputs,",
    "exports_tuple": None,
    "exports_function": "__init__: Expected `mod` to be an instance of `torch.nn.Module`, got {",
    "exports_lambda": "__init__: Expected `mod` to be an instance of `torch.nn.Module`, got {",
    "exports_scripted": "__init__: Exporting a ScriptModule is not supported. Maybe try convert",
    "calls_program": "exported_program: Unable to call ExportedProgram directly. You should use `exp",
    "calls_module": None,
    "evaluates_module": "values: eval",
    "evaluates_before": None,
    "saves_module": "__init__: The 'ep' parameter must be an instance of 'ExportedProgram',",
    "replaces_graph": "exported_program: Unable to set ExportedProgram's graph attribute.",
    "names_inputs": None,
    "names_other_input": "dynamic_shapes: its top-level keys",
    "names_one_input": "dynamic_shapes: its top-level keys",
    "gives_one_shape": "dynamic_shapes: Detected mismatch between the structure of `{}` and `dynamic",
    "gives_shapes": None,
    "names_dimension": "dynamic_shapes: Unexpected dimension mapped to index {} in input tensor shap",
    "gives_number": "dynamic_shapes: Unexpected input tensor shape {} specified at `dynamic_shape",
    "defines_twice": "dynamic_shapes: Found different definitions {} and {} for the same symbolic",
    "gives_dimension_of_integer": "dynamic_shapes: Unable to specify input integers as dynamic through named Di",
    "restricts_within_bounds": None,
    "fixes_static_size": None,
    "passes_object": "non_strict_utils: Unsupported input type {}. Export only supports pytree conta",
    "calls_with_two": "exported_program: Trying to flatten user inputs with exported input tree spec:",
    "calls_by_keyword": "_tree_utils: Ran into a kwarg keyword mismatch: Got the following keyword",
    "calls_as_exported": None,
    "calls_unflattened": "unflatten: There is no flat args adapter specified. Are you sure you ar",
    "calls_dimension": "dynamic_shapes: '{}' object is not callable",
    "lists_dimension": "dynamic_shapes: Unexpected dimension #{} in input tensor shape {} specified",
    "replaces_inputs": "exported_program: Example inputs should be a tuple containing example argument",
    "replaces_call_spec": "exported_program: Unable to set ExportedProgram's call_spec attribute.",
    "replaces_constants": "exported_program: Unable to set ExportedProgram's constants attribute.",
    "replaces_dialect": "exported_program: Unable to set ExportedProgram's dialect attribute.",
    "replaces_graph_module": "exported_program: Unable to set ExportedProgram's graph_module attribute.",
    "replaces_graph_signature": "exported_program: Unable to set ExportedProgram's graph_signature attribute.",
    "replaces_module_call_graph": "exported_program: Unable to set ExportedProgram's module_call_graph attribute.",
    "replaces_range_constraints": "exported_program: Unable to set ExportedProgram's range_constraints attribute.",
    "replaces_state_dict": "exported_program: Unable to set ExportedProgram's state_dict attribute.",
    "replaces_tensor_constants": "exported_program: Unable to set ExportedProgram's tensor_constants attribute.",
    "replaces_verifier": "exported_program: Unable to set ExportedProgram's verifier attribute.",
    "replaces_verifiers": "exported_program: Unable to set ExportedProgram's verifiers attribute.",
    "exceeds_range": "symbolic_shapes: {} not in range [{}, {}]",
    "gives_too_many_dimensions": "dynamic_shapes: Expected dynamic shape spec {} specified at `dynamic_shapes{",
    "gives_other_form": "dynamic_shapes: Expected shape[{}] = {} of input Tensor to be of the form {}",
}


def main():
    x = torch.ones(8)
    batch = Dim("batch")
    exports_list()
    exports_tensor()
    exports_parenthesized()
    exports_tuple()
    exports_function()
    exports_lambda()
    exports_scripted()
    calls_program()
    calls_module()
    evaluates_module()
    evaluates_before()
    saves_module()
    replaces_graph()
    names_other_input()
    names_one_input()
    names_inputs()
    gives_one_shape()
    gives_shapes()
    names_dimension()
    gives_number()
    defines_twice()
    gives_dimension_of_integer()
    restricts_within_bounds()
    fixes_static_size()
    passes_object()
    calls_with_two()
    calls_by_keyword()
    calls_as_exported()
    calls_unflattened()
    calls_dimension()
    lists_dimension()
    replaces_inputs()
    replaces_call_spec()
    replaces_constants()
    replaces_dialect()
    replaces_graph_module()
    replaces_graph_signature()
    replaces_module_call_graph()
    replaces_range_constraints()
    replaces_state_dict()
    replaces_tensor_constants()
    replaces_verifier()
    replaces_verifiers()
    exceeds_range()
    gives_too_many_dimensions()
    gives_other_form()
    export(Limited(), (x,), dynamic_shapes={"x": {0: batch}})
    export(Fixed(), (x,), dynamic_shapes={"x": {0: batch}})


if __name__ == "__main__":
    main()
