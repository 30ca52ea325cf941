"""Compiles the modules of a package, each built from its signature and called with small tensors.

    torch_modules.py PACKAGE [SUBPACKAGE...]

The values and shapes that a class accepts are found by trial: only calls that run eagerly are compiled."""
import importlib
import inspect
import itertools
import pkgutil
import sys
import warnings

import torch

warnings.simplefilter("ignore")
# Values of parameters, by name.
VALUES = {
    "dim": 16, "depth": 1, "heads": 2, "num_heads": 2, "nhead": 2, "n_heads": 2, "mlp_dim": 16, "dim_head": 8,
    "image_size": 32, "img_size": 32, "patch_size": 8, "num_classes": 4, "channels": 3, "in_channels": 3,
    "out_channels": 6, "in_chans": 3, "in_features": 16, "out_features": 8, "hidden_features": 16, "num_features": 16,
    "embed_dim": 16, "hidden_dim": 16, "hidden_size": 16, "input_size": 16, "output_size": 8, "kernel_size": 3,
    "stride": 1, "padding": 1, "num_tokens": 32, "max_seq_len": 16, "dropout": 0.0, "drop": 0.0, "drop_prob": 0.1,
    "num_layers": 1, "emb_dim": 16, "dim_in": 16, "dim_out": 16, "in_dim": 16, "out_dim": 16, "inplanes": 16, "planes": 4,
    "window_size": 4, "num_groups": 2, "groups": 1, "eps": 1e-5, "margin": 0.2, "p": 0.5, "alpha": 0.5, "gamma": 2.0,
    "reduction": "mean", "num_channels": 16, "feature_dim": 16, "num_blocks": 1, "normalized_shape": 16, "length": 8,
    "hidden_channels": 16, "latent_size": 2, "shape": (2,), "loc": 0.0, "scale": 1.0, "embedding_size": 16,
    "input_dim": 16, "frames": 4, "image_patch_size": 8, "frame_patch_size": 2, "num_inputs": 16, "seq_len": 16,
    "act_layer": torch.nn.ReLU, "norm_layer": torch.nn.LayerNorm, "max_freq": 10, "mult": 2, "n": 16, "d_model": 16,
    "num_labels": 4, "task": "multiclass", "average": "macro", "beta": 1.0, "sigma": 1.0, "temperature": 0.1,
}
SHAPES = [(2, 3, 32, 32), (2, 8, 16), (2, 16), (2, 16, 8, 8), (16,), (2, 16, 8), (2, 8, 8, 16), (2, 3, 4, 32, 32), (5, 2)]
INPUTS = [lambda shape=shape: (torch.randn(shape),) for shape in SHAPES] + [
    lambda: (torch.randint(0, 4, (2, 16)),),
    lambda: (torch.randn(8, 4), torch.randint(0, 4, (8,))),
    lambda: (torch.randn(8), torch.randint(0, 2, (8,))),
    lambda: (torch.rand(8, 4), torch.rand(8, 4)),
    lambda: (torch.randn(2, 8, 16), torch.randn(2, 8, 16)),
    lambda: (torch.randn(2, 3, 16, 16), torch.randn(2, 3, 16, 16)),
    lambda: (torch.randn(2, 8, 16), torch.randn(2, 8, 16), torch.randn(2, 8, 16)),
    lambda: (),
]
MAX_VARIANTS = 3


def modules_of(names):
    for name in names:
        module = importlib.import_module(name)
        yield module
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), name + "."):
            if not any(part.startswith(("test", "_test", "__main__")) for part in found.name.split(".")):
                try:
                    yield importlib.import_module(found.name)
                except Exception as error:
                    print(found.name, type(error).__name__, flush=True)


def values(signature):
    """Returns arguments for the parameters without a default; None if the value of one is not known."""
    given = {}
    for parameter in itertools.islice(signature.parameters.values(), 20):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in VALUES and (parameter.default is parameter.empty or isinstance(parameter.default, int)
                                         and parameter.default > 64):
            given[parameter.name] = VALUES[parameter.name]
        elif parameter.default is parameter.empty:
            return None
    return given


def try_target(name, target):
    found = 0
    for make in INPUTS:
        try:
            with torch.no_grad():
                target(*make())
        except Exception:
            continue
        torch._dynamo.reset()
        try:
            with torch.no_grad():
                torch.compile(target, backend="eager", dynamic=False)(*make())
        except Exception as error:
            print(name, type(error).__name__, str(error)[:120].replace("\n", " "), flush=True)
        found += 1
        if found == MAX_VARIANTS:
            break


def main():
    names = sys.argv[1:]
    package = names[0].split(".")[0]
    seen = set()
    for module in modules_of(names):
        for name, value in sorted(vars(module).items()):
            own = getattr(value, "__module__", None)
            if not isinstance(own, str) or own.split(".")[0] != package or id(value) in seen:
                continue
            seen.add(id(value))
            if inspect.isclass(value) and issubclass(value, torch.nn.Module):
                try:
                    target = value(**values(inspect.signature(value))).eval()
                except Exception:
                    continue
                try_target(name, target)
            elif inspect.isfunction(value) and not name.startswith("_") and values(inspect.signature(value)) is None:
                try_target(name, value)


main()
