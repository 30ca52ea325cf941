"""A plugin of pytest (`-p observer.compiled`): each outermost call of a module of torch is compiled, on the backend that
runs a graph as it is. A test that passes without it shows what Dynamo makes of the package's code."""
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
