"""Runs exported functions in a process with torch alone: `python torch_alone.py CASES`.

Each folder in CASES contains a program (`program.py` with its tensors, an archive `program.pt2`, or a model
`program.onnx`), and `calls.pt` with the arguments and the seed of each call. The outcomes are written to `outcomes.pt`.
"""

import importlib.util
import pathlib
import sys

import torch


def load(folder):
    if (folder / "program.pt2").exists():
        return torch.export.load(folder / "program.pt2").module()
    if (folder / "program.onnx").exists():
        return Model(folder / "program.onnx")
    spec = importlib.util.spec_from_file_location(f"program_{folder.name}", folder / "program.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(folder / "program.pt")


class Model:
    """A model for onnxruntime, called with tensors. The order of its inputs is that of the arguments."""

    def __init__(self, path):
        import onnxruntime  # installed in another environment than torch

        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 4, 1
        self.session = onnxruntime.InferenceSession(path, options)
        self.names = [parameter.name for parameter in self.session.get_inputs()]

    def __call__(self, *arguments):
        values = {name: argument.detach().numpy() for name, argument in zip(self.names, arguments, strict=True)}
        return [torch.from_numpy(array) for array in self.session.run(None, values)]


def outcome(module, arguments, seed):
    """Returns the result, the changed arguments and the gradients of the arguments, or the last line of the error
    message."""
    torch.manual_seed(seed)
    needed = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    try:
        result = module(*arguments)
        if needed:
            return "gradients", torch.autograd.grad(result, needed, materialize_grads=True)
    except Exception as error:
        return "raised", str(error).strip().splitlines()[-1]
    return "returned", plain(result), arguments


def plain(value):
    """Detaches a result, and converts named tuples and dictionaries of `torch.jit` to tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


if __name__ == "__main__":
    assert importlib.util.find_spec("autograph") is None
    torch.set_num_threads(1)
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
        calls = torch.load(folder / "calls.pt")
        try:
            module = load(folder)
        except Exception as error:
            outcomes = [("not loaded", str(error))] * len(calls)
        else:
            outcomes = [outcome(module, *call) for call in calls]
        torch.save(outcomes, folder / "outcomes.pt")
