"""Copies of tensors. Tensors that share memory have copies that share memory; `.grad`, hooks and attributes are
kept."""

import torch


class NotCopied(Exception):
    """An object that cannot be copied, although eager Python could change it."""


class Tensors:
    """Copies tensors for one call. `leaves` has three items for each tensor that requires a gradient: the tensor, the
    node of its history at which it is differentiated, and the copy whose gradient is compared."""

    def __init__(self, copy):
        self._copy = copy  # copies any object
        self._storages = {}  # address of the storage -> (copy of it, a tensor in it has a history)
        self.leaves = []

    def copied(self, tensor, memo):
        """Copies a tensor with its gradient, hooks and attributes. A copy that requires a gradient starts a history
        of its own."""
        if torch.nn.parameter.is_lazy(tensor):
            memo[id(tensor)] = result = type(tensor)(tensor.requires_grad, tensor.device, tensor.dtype)
            return result
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise NotCopied("a tensor inside a transform of `torch.func`")
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            result = self._data(tensor)
        leaf = result
        if tensor.requires_grad:
            leaf.requires_grad_(True)
            # An in-place write replaces the history of a tensor. The edge keeps the current history of the tensor.
            edge = tensor if tensor.is_leaf else torch.autograd.graph.get_gradient_edge(tensor)
            self.leaves.append((tensor, edge, leaf))
            if not tensor.is_leaf:
                with torch.enable_grad():
                    result = leaf.clone()  # may be written in place, unlike a leaf
        memo[id(tensor)] = result
        if tensor.is_leaf and tensor.grad is not None:
            result.grad = self._copy(tensor.grad)
        for hook in (tensor._backward_hooks or {}).values():
            result.register_hook(self._copy(hook))
        for hook in (tensor._post_accumulate_grad_hooks or {}).values():
            result.register_post_accumulate_grad_hook(self._copy(hook))
        for name, value in tensor.__dict__.items():
            result.__dict__[name] = self._copy(value)
        return result

    def _data(self, tensor):
        has_storage = tensor.layout is torch.strided and tensor.device.type != "meta"
        if has_storage and not tensor.is_quantized and not tensor.is_nested:
            plain = self._in_copied_storage(tensor)
        else:
            plain = tensor.detach().clone()
        if isinstance(tensor, torch.nn.Parameter) and type(tensor) is torch.nn.Parameter:
            return torch.nn.Parameter(plain, requires_grad=tensor.requires_grad)
        if isinstance(tensor, torch.nn.Buffer):
            return torch.nn.Buffer(plain, persistent=tensor.persistent)
        return plain if type(tensor) is torch.Tensor else plain.as_subclass(type(tensor))

    def _in_copied_storage(self, tensor):
        storage = tensor.untyped_storage()
        has_history = not tensor.is_leaf and tensor.requires_grad
        known = self._storages.get(storage._cdata)
        if known is None:
            known = self._storages[storage._cdata] = storage.clone(), has_history
        elif has_history or known[1]:
            raise NotCopied("tensors that share memory and have a gradient function")
        result = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        result.set_(known[0], tensor.storage_offset(), tensor.size(), tensor.stride())
        if tensor.is_conj():
            result = torch._conj(result)
        return torch._neg_view(result) if tensor.is_neg() else result
