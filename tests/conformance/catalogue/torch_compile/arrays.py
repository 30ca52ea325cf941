"""NumPy arrays and numbers read from Tensors, in functions that torch.compile traces."""
import numpy as np
import torch

DIALECT = "torch.compile"


@torch.compile
def interpolates(x):
    return torch.from_numpy(np.interp(x.numpy(), [0.0, 4.0], [0.0, 1.0]))


@torch.compile
def convolves(x):
    return torch.from_numpy(np.convolve(x.numpy(), [1.0, 2.0]))


@torch.compile
def sines(x):
    return torch.from_numpy(np.sin(x.numpy()))


@torch.compile
def serializes(x):
    return len(x.numpy().tobytes())


@torch.compile
def reads_base(x):
    return x if x.numpy().base is None else x * 2


@torch.compile
def reads_flags(x):
    return x if x.numpy().flags["C_CONTIGUOUS"] else x * 2


@torch.compile
def converts_to_object(x):
    return x.numpy().astype(object)


@torch.compile
def converts_to_double(x):
    return x.numpy().astype(np.float64)


@torch.compile
def builds_dtype(x):
    return torch.from_numpy(x.numpy().astype(np.dtype(str(x.dtype)[6:])))


@torch.compile
def unites(x):
    return np.union1d(x.numpy(), [1.0])


@torch.compile
def saves_array(x):
    np.save("/dev/null", x.numpy())
    return x


@torch.compile
def draws_generator(x):
    return x * np.random.default_rng(0).normal()


@torch.compile
def draws_torch(x):
    return x * torch.randn(3)


@torch.compile
def divides_by_item(x):
    return x / x.sum().item()


@torch.compile
def divides_by_sum(x):
    return x / x.sum()


@torch.compile
def masks(x):
    return x[x > 0]


@torch.compile
def encodes(x):
    return torch.nn.functional.one_hot(x.long())


@torch.compile
def counts(x):
    return torch.bincount(x.long())


@torch.compile
def selects(x):
    return torch.where(x.sum() > 0, x, x * 2)


@torch.compile
def compares_all(x, y):
    return torch.allclose(x, y)


@torch.compile
def histograms(x):
    return torch.histc(x, bins=3)


@torch.compile
def counts_histogram(x):
    return torch.histogramdd(x[:, None].double(), bins=[3])[0]


@torch.compile
def reads_default_dtype(x):
    return x.to(torch.get_default_dtype())


@torch.compile
def finds_type(x):
    return x.type(torch.promote_types(x.dtype, torch.float64))


@torch.compile
def eigenvalues(x):
    return torch.linalg.eigvals(x)


@torch.compile
def repeats(x):
    return torch.repeat_interleave(x, x.long())


@torch.compile
def reads_dlpack(x):
    return torch.from_dlpack(x)


@torch.compile
def quantizes(x):
    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()


@torch.compile
def maps_tensor(x):
    return x.apply_(lambda v: v * 2)


KINDS = {
    "interpolates": "GB0294",
    "convolves": None,
    "sines": None,
    "serializes": "GB0158",
    "reads_base": "GB0157",
    "reads_flags": "GB0157",
    "converts_to_object": "GB0250",
    "converts_to_double": None,
    "builds_dtype": None,
    "unites": "GB0294",
    "saves_array": "GB0294",
    "draws_generator": "GB0294",
    "draws_torch": None,
    "divides_by_item": "GB0124",
    "divides_by_sum": None,
    "masks": "GB0036",
    "encodes": "GB0246",
    "counts": "GB0036",
    "selects": None,
    "compares_all": "GB0033",
    "histograms": None,
    "counts_histogram": None,
    "reads_default_dtype": None,
    "finds_type": None,
    "eigenvalues": None,
    "repeats": "GB0036",
    "reads_dlpack": "GB0007",
    "quantizes": "GB0087",
    "maps_tensor": "GB0055",
}


def main():
    x = torch.tensor([1.0, 2.0, 3.0])
    print(interpolates(x))
    print(convolves(x))
    print(sines(x))
    print(serializes(x))
    print(reads_base(x))
    print(reads_flags(x))
    print(converts_to_object(x))
    print(converts_to_double(x))
    print(builds_dtype(x))
    print(unites(x))
    print(saves_array(x))
    print(draws_generator(x))
    print(draws_torch(x))
    print(divides_by_item(x))
    print(divides_by_sum(x))
    print(masks(x))
    print(encodes(x))
    print(counts(x))
    print(selects(x))
    print(compares_all(x, x))
    print(histograms(x))
    print(counts_histogram(x))
    print(reads_default_dtype(x))
    print(finds_type(x))
    print(eigenvalues(torch.ones(3, 3)))
    print(repeats(x))
    print(reads_dlpack(x))
    print(quantizes(x))
    print(maps_tensor(x))


if __name__ == "__main__":
    main()
