"""A pytest plugin (`-p observer.compiled`) that compiles each outermost call of a torch module, on the backend that
runs a graph unchanged. If a test passes without the plugin, Dynamo causes its graph breaks and errors."""
import threading

import torch

inside = threading.local()


def pytest_configure():
    call = torch.nn.Module.__call__
    torch._dynamo.config.suppress_errors = True
    compiled = torch.compile(lambda module, *arguments, **keywords: call(module, *arguments, **keywords),
                             backend="eager", dynamic=False)

    def outermost(module, *arguments, **keywords):
        if getattr(inside, "active", False) or torch.compiler.is_compiling() or torch.jit.is_scripting():
            return call(module, *arguments, **keywords)
        inside.active = True
        try:
            return compiled(module, *arguments, **keywords)
        finally:
            inside.active = False

    torch.nn.Module.__call__ = outermost
