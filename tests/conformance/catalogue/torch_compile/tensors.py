"""Methods and attributes of Tensors that break the graph of torch.compile."""
import torch
from torch import nn

DIALECT = "torch.compile"


@torch.compile
def trains_step(weight, x):
    loss = (weight * x).sum()
    loss.backward()
    return loss


@torch.compile
def takes_gradient(weight, x):
    loss = (weight * x).square().sum()
    (gradient,) = torch.autograd.grad(loss, weight)
    return weight - 0.1 * gradient


@torch.compile
def keeps_gradient(weight, x):
    hidden = weight * x
    hidden.retain_grad()
    return hidden.sum()


@torch.compile
def perturbs(x):
    noise = torch.zeros_like(x)
    noise.requires_grad_()
    return x + noise


@torch.compile
def detaches(x):
    return x.detach() * 2


@torch.compile
def freezes(x):
    hidden = x * 2
    hidden.requires_grad = False
    return hidden


@torch.compile
def creates_leaf(x):
    offset = torch.zeros(3, requires_grad=True)
    return x + offset


@torch.compile
def creates_constant(x):
    offset = torch.zeros(3, requires_grad=False)
    return x + offset


@torch.compile
def grows(x):
    buffer = torch.empty(0)
    buffer.resize_(x.shape[0])
    return buffer.copy_(x)


@torch.compile
def grows_like(x):
    buffer = torch.empty(0)
    buffer.resize_as_(x)
    return buffer.copy_(x)


@torch.compile
def views_storage(x):
    view = torch.empty(0)
    view.set_(x.untyped_storage(), 0, (3,), (1,))
    return view + 1


@torch.compile
def shares_memory(x):
    hidden = x * 2
    hidden.share_memory_()
    return hidden


@torch.compile
def adds_batch_in_place(x):
    x.unsqueeze_(0)
    return x * 2


@torch.compile
def adds_batch(x):
    return x.unsqueeze(0) * 2


@torch.compile
def samples_integers(x):
    noise = torch.empty_like(x)
    noise.random_(0, 10)
    return x + noise


@torch.compile
def samples_from(x):
    noise = torch.empty_like(x)
    noise.uniform_(**{"from": -1.0, "to": 1.0})
    return x + noise


@torch.compile
def samples_uniform(x):
    noise = torch.empty_like(x)
    noise.uniform_(-1.0, 1.0)
    return x + noise


@torch.compile
def checks_inference(x):
    if x.is_inference():
        return x
    return x * 2


@torch.compile
def checks_inference_mode(x):
    if torch.is_inference_mode_enabled():
        return x
    return x * 2


@torch.compile
def checks_grad_mode(x):
    if torch.is_grad_enabled():
        return x
    return x * 2


@torch.compile
def compares_addresses(x, y):
    if x.data_ptr() == y.data_ptr():
        return x
    return x + y


@torch.compile
def replaces_data(x):
    hidden = x * 2
    hidden.data = x + 1
    return hidden


@torch.compile
def changes_data_dtype(x):
    x.data = x.data.to(torch.float64)
    return x * 2


@torch.compile
def sets_real_part(x):
    spectrum = torch.fft.fft(x)
    spectrum.real = x
    return spectrum


@torch.compile
def sparsifies(x):
    return x.to_sparse().coalesce().values()


@torch.compile
def builds_sparse(x):
    indices = torch.tensor([[0, 1, 2], [2, 0, 1]])
    return torch.sparse_coo_tensor(indices, x, (3, 3)).to_dense()


@torch.compile
def scales_sparse(adjacency, x):
    return adjacency @ x


@torch.compile
def pads_ragged(x, y):
    return torch.nested.nested_tensor([x, y]).to_padded_tensor(0.0)


@torch.compile
def stacks(x, y):
    return torch.stack([x, y])


@torch.compile
def pickles_storage(x):
    return x * x.storage().size()


@torch.compile
def subclasses(x):
    return x.as_subclass(nn.Buffer)


@torch.compile
def creates_parameter(x):
    scale = nn.Parameter(torch.ones(3))
    return x * scale


@torch.compile
def creates_parameter_from_input(x):
    scale = nn.Parameter(x * 2)
    return x * scale


@torch.compile
def collects_listed(x, y):
    seen = [x, y]
    return sum(seen)


@torch.compile
def sorts_values(x):
    first, *rest = sorted([x[0], x[1], x[2]])
    return first


@torch.compile
def chooses_by_key(x):
    return max(x[0], x[1], key=lambda value: -value)


@torch.compile
def chooses(x):
    return max(x[0], x[1])


@torch.compile
def counts_bytes(x):
    return x * x.untyped_storage().nbytes()


@torch.compile
def counts_elements(x):
    return x * x.numel() * x.element_size()


@torch.compile
def sorts_tensor(x):
    return torch.sort(x).values[0]


@torch.compile
def sorts_shapes(x, y):
    first, second = sorted([x.shape[0], y.shape[0]])
    return x[:first] + y[:first]


@torch.compile
def takes_first_rows(x, count):
    return x[:count].sum()


@torch.compile
def takes_as_index(x, i):
    import operator
    return x * [1.0, 2.0][operator.index(i)]


@torch.compile
def reads_list(x):
    return sum(x.tolist()) * x


@torch.compile
def looks_up(x, table):
    return table[x.argmax()]


@torch.compile
def deterministic(x):
    torch.use_deterministic_algorithms(True, warn_only=True)
    return x * 2


@torch.compile
def writes_out_of_other_shape(x):
    result = torch.empty(5)
    torch.mul(x, 2, out=result)
    return result


KINDS = {
    "trains_step": "GB0123",
    "takes_gradient": "GB9186",
    "keeps_gradient": "GB0108",
    "perturbs": "GB0125",
    "detaches": None,
    "freezes": "GB0206",
    "creates_leaf": "GB0225",
    "creates_constant": None,
    "grows": "GB0126",
    "grows_like": "GB0127",
    "views_storage": "GB0128",
    "shares_memory": "GB0117",
    "adds_batch_in_place": "GB0148",
    "adds_batch": None,
    "samples_integers": "GB0107",
    "samples_from": "GB0110",
    "samples_uniform": None,
    "checks_inference": "GB0045",
    "checks_inference_mode": "GB0046",
    "checks_grad_mode": None,
    "compares_addresses": "GB0023",
    "replaces_data": "GB0056",
    "changes_data_dtype": "GB0220",
    "sets_real_part": "GB0058",
    "sparsifies": "GB0277",
    "builds_sparse": "GB0007",
    "scales_sparse": "GB0015",
    "pads_ragged": "GB0090",
    "stacks": None,
    "pickles_storage": "GB0208",
    "subclasses": "GB0001",
    "creates_parameter": "GB0264",
    "creates_parameter_from_input": "GB0264",
    "collects_listed": None,
    "sorts_values": "GB0207",
    "chooses_by_key": "GB0193",
    "chooses": None,
    "counts_bytes": "GB0156",
    "counts_elements": None,
    "sorts_tensor": None,
    "sorts_shapes": None,
    "takes_first_rows": None,
    "takes_as_index": "GB0218",
    "reads_list": "GB0109",
    "looks_up": "GB0070",
    "deterministic": "GB0230",
    "writes_out_of_other_shape": "GB0247",
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    y = torch.tensor([1.0, 2.0, 4.0])
    weight = torch.ones(3, requires_grad=True)
    print(trains_step(weight, x))
    print(takes_gradient(weight, x))
    print(keeps_gradient(weight, x))
    print(perturbs(x))
    print(detaches(x))
    print(freezes(x))
    print(creates_leaf(x))
    print(creates_constant(x))
    print(grows(x))
    print(grows_like(x))
    print(views_storage(x))
    print(shares_memory(x))
    print(adds_batch_in_place(x.clone()))
    print(adds_batch(x))
    print(samples_integers(x))
    print(samples_from(x))
    print(samples_uniform(x))
    print(checks_inference(x))
    print(checks_inference_mode(x))
    print(checks_grad_mode(x))
    print(compares_addresses(x, y))
    print(replaces_data(x))
    print(changes_data_dtype(x.clone()))
    print(sets_real_part(x))
    print(sparsifies(x))
    print(builds_sparse(x))
    print(scales_sparse(torch.eye(3).to_sparse(), x))
    print(pads_ragged(x, y))
    print(stacks(x, y))
    print(pickles_storage(x))
    print(subclasses(x))
    print(creates_parameter(x))
    print(creates_parameter_from_input(x))
    print(collects_listed(x, y))
    print(sorts_values(x))
    print(chooses_by_key(x))
    print(chooses(x))
    print(counts_bytes(x))
    print(counts_elements(x))
    print(sorts_tensor(x))
    print(sorts_shapes(x, y))
    print(takes_first_rows(x, 2))
    print(takes_as_index(x, torch.tensor(1)))
    print(reads_list(x))
    print(looks_up(x, [x, y, weight]))
    print(deterministic(x))
    print(writes_out_of_other_shape(x))


if __name__ == "__main__":
    main()
