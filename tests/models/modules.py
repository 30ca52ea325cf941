"""The modules of `torch.nn`, from torch's own table: two calls of the staged module, and a backward pass."""

import suite
import torch
from torch.testing._internal.common_modules import module_db


def cases():
    for info in module_db:
        for training in (False, True):
            inputs = _inputs(info, training)
            for index, _ in enumerate(inputs):
                name = f"{info.name} {'training' if training else 'inference'} {index}"
                yield suite.Case(name, _program(info, training, index))


def _inputs(info, training):
    suite.seed()
    return info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)


def _program(info, training, index):
    def program(stage):
        given = _inputs(info, training)[index]
        suite.seed(1)
        created = given.constructor_input
        module = info.module_cls(*created.args, **created.kwargs)
        module.train(training)

        @stage
        def forward(*args, **kwargs):
            return module(*args, **kwargs)

        args, kwargs = given.forward_input.args, given.forward_input.kwargs
        leaves = [t for t in _tensors((args, kwargs)) if t.requires_grad and t.is_leaf]
        leaves += [p for p in module.parameters() if p.requires_grad]
        observed = []
        for number in range(2):
            suite.seed(2 + number)
            result = forward(*args, **kwargs)
            observed.append(suite.snapshot(result))
            outputs = [t for t in _tensors(result) if t.requires_grad]
            if outputs:
                grads = [torch.ones_like(t) for t in outputs]
                found = torch.autograd.grad(outputs, leaves, grads, allow_unused=True) if leaves else ()
                observed.append(suite.snapshot(found))
            observed.append(suite.snapshot(dict(module.state_dict())))
        return observed

    return program


def _tensors(value):
    leaves = torch.utils._pytree.tree_leaves(value)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


if __name__ == "__main__":
    suite.main("ModuleInfo", lambda: list(cases()))
