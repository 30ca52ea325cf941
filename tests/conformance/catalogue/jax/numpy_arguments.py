"""Functions of `jax.numpy` with an argument that must be known while tracing: sizes, axes, orders, whole arrays."""
import jax
import jax.numpy as jnp

DIALECT = "jax.jit"


@jax.jit
def spaces_by_axis(x, axis):
    return jnp.linspace(x, x + 1, 5, axis=axis)


@jax.jit
def spaces_logarithmically(num):
    return jnp.logspace(0.0, 1.0, num)


@jax.jit
def spaces_logarithmically_by_axis(x, axis):
    return jnp.logspace(x, x + 1, 5, axis=axis)


@jax.jit
def spaces_geometrically(num):
    return jnp.geomspace(1.0, 8.0, num)


@jax.jit
def spaces_geometrically_by_axis(x, axis):
    return jnp.geomspace(x + 1, x + 2, 5, axis=axis)


@jax.jit
def makes_grid(n):
    return jnp.mgrid[0:n]


@jax.jit
def makes_grid_from(n):
    return jnp.mgrid[n:5]


@jax.jit
def makes_grid_by_step(n):
    return jnp.mgrid[0:5:n]


@jax.jit
def fills_missing(x, fill):
    return x.at[jnp.array([0, 9])].get(mode="fill", fill_value=fill)


@jax.jit
def finds_edges(x, bins):
    return jnp.histogram_bin_edges(x, bins)


@jax.jit
def counts_in_bins(x, bins):
    return jnp.histogram(x, bins)


@jax.jit
def differences(x, order):
    return jnp.diff(x, n=order)


@jax.jit
def differences_along(x, axis):
    return jnp.diff(x, axis=axis)


@jax.jit
def differences_twice(x, order):
    return jnp.diff(x, n=2) * order


@jax.jit
def counts_at_least(labels, classes):
    return jnp.bincount(labels, minlength=classes, length=4)


@jax.jit
def counts_labels(labels):
    return jnp.bincount(labels)


@jax.jit
def counts_labels_of_known(labels):
    return jnp.bincount(labels, length=4)


@jax.jit
def splits_along(x, axis):
    return jnp.split(x, 2, axis=axis)


@jax.jit
def splits_at(x, sections):
    return jnp.split(x, sections)


@jax.jit
def sorts_along(x, axis):
    return jnp.sort(x, axis=axis)


@jax.jit
def rounds_to(x, decimals):
    return jnp.round(x, decimals)


@jax.jit
def rounds_method(x, decimals):
    return x.round(decimals)


@jax.jit
def rounds_to_two(x, decimals):
    return jnp.round(x, 2) * decimals


@jax.jit
def counts_to(n):
    return jnp.arange(n)


@jax.jit
def counts_between(n):
    return jnp.arange(n, 5)


@jax.jit
def counts_up_to(n):
    return jnp.arange(0, n)


@jax.jit
def counts_by(n):
    return jnp.arange(0, 5, n)


@jax.jit
def repeats_along(x, axis):
    return jnp.repeat(x, 2, axis=axis)


@jax.jit
def repeats_each(x, counts):
    return jnp.repeat(x, counts)


@jax.jit
def repeats_each_to_length(x, counts):
    return jnp.repeat(x, counts, total_repeat_length=8)


@jax.jit
def indexes_diagonal(n):
    return jnp.diag_indices(n)


@jax.jit
def indexes_diagonal_of_rank(n):
    return jnp.diag_indices(3, ndim=n)


@jax.jit
def takes_diagonal(square, offset):
    return jnp.diagonal(square, offset)


@jax.jit
def takes_diagonal_method(square, offset):
    return square.diagonal(offset)


@jax.jit
def trims_zeros(x):
    return jnp.trim_zeros(x)


@jax.jit
def deletes_elements(x, i):
    return jnp.delete(x, i)


@jax.jit
def deletes_mask(x):
    return jnp.delete(x, x > 1)


@jax.jit
def inserts_along(x, axis):
    return jnp.insert(x, 1, 2.0, axis=axis)


@jax.jit
def rolls_axis(square, start):
    return jnp.rollaxis(square, 1, start)


@jax.jit
def rolls_array(x, shift):
    return jnp.roll(x, shift)


@jax.jit
def digitizes(x, right):
    return jnp.digitize(x, x, right)


@jax.jit
def chooses(choice, x):
    return jnp.choose(choice, [x, -x])


@jax.jit
def chooses_wrapped(choice, x):
    return jnp.choose(choice, [x, -x], mode="wrap")


@jax.jit
def evaluates_vandermonde(x, n):
    return jnp.vander(x, n)


@jax.jit
def flattens_index(rows, n):
    return jnp.ravel_multi_index((rows, rows), (n, n), mode="clip")


@jax.jit
def flattens_checked_index(rows):
    return jnp.ravel_multi_index((rows, rows), (4, 4))


@jax.jit
def flattens_clipped_index(rows):
    return jnp.ravel_multi_index((rows, rows), (4, 4), mode="clip")


@jax.jit
def makes_indices(n):
    return jnp.indices((n, n))


@jax.jit
def fits_polynomial(x, degree):
    return jnp.polyfit(x, x, degree)


@jax.jit
def fits_polynomial_to(x, limit):
    return jnp.polyfit(x, x, 1, rcond=limit)


@jax.jit
def integrates_polynomial(x, times):
    return jnp.polyint(x, times)


@jax.jit
def derives_polynomial(x, times):
    return jnp.polyder(x, times)


@jax.jit
def finds_roots(x):
    return jnp.roots(x)


@jax.jit
def finds_all_roots(x):
    return jnp.roots(x, strip_zeros=False)


@jax.jit
def sums_along(x, axis):
    return jnp.sum(x, axis=axis)


@jax.jit
def sums_along_method(x, axis):
    return x.sum(axis)


@jax.jit
def averages_along_keyword(x, axis):
    return x.mean(axis=axis)


@jax.jit
def multiplies_along(x, axis):
    return jnp.cumsum(x, axis=axis)


@jax.jit
def normalises_along(x, axis):
    return jax.nn.softmax(x, axis=axis)


@jax.jit
def takes_difference_of_sets(x, y):
    return jnp.setdiff1d(x, y)


@jax.jit
def takes_union(x, y):
    return jnp.union1d(x, y)


@jax.jit
def takes_union_of_size(x, y):
    return jnp.union1d(x, y, size=8)


@jax.jit
def takes_union_of_traced_size(x, n):
    return jnp.union1d(x, x, size=n)


@jax.jit
def takes_difference_of_traced_size(x, n):
    return jnp.setdiff1d(x, x, size=n)


@jax.jit
def takes_unique(x):
    return jnp.unique(x)


@jax.jit
def takes_unique_of_traced_size(x, n):
    return jnp.unique(x, size=n)


@jax.jit
def takes_unique_rows(square):
    return jnp.unique(square, axis=0)


@jax.jit
def takes_common(x, y):
    return jnp.intersect1d(x, y)


@jax.jit
def takes_nonzero(x):
    return jnp.nonzero(x)


@jax.jit
def takes_exclusive(x, y):
    return jnp.setxor1d(x, y)


@jax.jit
def takes_where(x):
    return jnp.where(x > 1)


@jax.jit
def compresses(x, mask):
    return jnp.compress(mask, x)


@jax.jit
def extracts(x, mask):
    return jnp.extract(mask, x)


@jax.jit
def windows_blackman(n):
    return jnp.blackman(n)


@jax.jit
def windows_bartlett(n):
    return jnp.bartlett(n)


@jax.jit
def windows_hamming(n):
    return jnp.hamming(n)


@jax.jit
def windows_hanning(n):
    return jnp.hanning(n)


@jax.jit
def windows_kaiser(n):
    return jnp.kaiser(n, 14.0)


@jax.jit
def windows_row(x):
    return x * jnp.hanning(x.shape[0])


@jax.jit
def takes_triangle_indices(n):
    return jnp.triu_indices(n)


KINDS = {
    "spaces_by_axis": "numpy: 'axis' argument of jnp.linspace",
    "spaces_logarithmically": "numpy: 'num' argument of jnp.logspace",
    "spaces_logarithmically_by_axis": "numpy: 'axis' argument of jnp.logspace",
    "spaces_geometrically": "numpy: 'num' argument of jnp.geomspace",
    "spaces_geometrically_by_axis": "numpy: 'axis' argument of jnp.geomspace",
    "makes_grid": "numpy: slice stop of jnp.{}",
    "makes_grid_from": "numpy: slice start of jnp.{}",
    "makes_grid_by_step": "numpy: slice step of jnp.{}",
    "fills_missing": "numpy: fill_value argument to indexed get()",
    "finds_edges": "numpy: bins argument of histogram_bin_edges",
    "counts_in_bins": "numpy: bins argument of histogram_bin_edges",
    "differences": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "differences_along": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "differences_twice": None,
    "counts_at_least": "numpy: The error occurred because of argument 'minlength' of jnp.bi",
    "counts_labels": "numpy: The error occurred because of argument 'x' of jnp.bincount.",
    "counts_labels_of_known": None,
    "splits_along": "numpy: in jax.numpy.{} argument `axis`",
    "splits_at": "numpy: in jax.numpy.{} argument 1",
    "sorts_along": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "rounds_to": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "rounds_method": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "rounds_to_two": None,
    "counts_to": "numpy: It arose in the jnp.arange argument 'stop'",
    "counts_between": "numpy: It arose in the jnp.arange argument '{}'",
    "counts_up_to": "numpy: It arose in the jnp.arange argument 'stop'",
    "counts_by": "numpy: It arose in the jnp.arange argument 'step'",
    "repeats_along": "numpy: 'axis' argument of jnp.repeat()",
    "repeats_each": "numpy: When jit-compiling jnp.repeat, the total number of repeats m",
    "repeats_each_to_length": None,
    "indexes_diagonal": "numpy: 'n' argument of jnp.diag_indices()",
    "indexes_diagonal_of_rank": "numpy: 'ndim' argument of jnp.diag_indices()",
    "takes_diagonal": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "takes_diagonal_method": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "trims_zeros": "numpy: Error arose in the `filt` argument of trim_zeros()",
    "deletes_elements": "numpy: 'obj' array argument of jnp.delete()",
    "deletes_mask": "numpy: 'obj' array argument of jnp.delete()",
    "inserts_along": "numpy: axis argument of jnp.insert()",
    "rolls_axis": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "rolls_array": None,
    "digitizes": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "chooses": "numpy: The error occurred because jnp.choose was jit-compiled with",
    "chooses_wrapped": None,
    "evaluates_vandermonde": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "flattens_index": "numpy: in `dims` argument of ravel_multi_index().",
    "flattens_checked_index": "numpy: The error occurred because ravel_multi_index was jit-compile",
    "flattens_clipped_index": None,
    "makes_indices": "numpy: dimensions argument of jnp.indices",
    "fits_polynomial": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "fits_polynomial_to": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "integrates_polynomial": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "derives_polynomial": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "finds_roots": "numpy: The error occurred in the jnp.roots() function. To use this",
    "finds_all_roots": None,
    "sums_along": "numpy: The axis argument must be known statically.",
    "sums_along_method": "numpy: The axis argument must be known statically.",
    "averages_along_keyword": "numpy: The axis argument must be known statically.",
    "multiplies_along": "jaxlib: Non-hashable static arguments are not supported. An error oc",
    "normalises_along": "numpy: The axis argument must be known statically.",
    "takes_difference_of_sets": "numpy: The error arose in setdiff1d()",
    "takes_union": "numpy: The error arose in union1d()",
    "takes_union_of_size": None,
    "takes_union_of_traced_size": "numpy: The error arose in union1d()",
    "takes_difference_of_traced_size": "numpy: The error arose in setdiff1d()",
    "takes_unique": "numpy: The error arose for the first argument of jnp.unique(). {}",
    "takes_unique_of_traced_size": "numpy: The error arose for the size argument of jnp.unique(). {}",
    "takes_unique_rows": "numpy: The error arose for the first argument of jnp.unique(). {}",
    "takes_common": "numpy: The error arose for the first argument of jnp.unique(). {}",
    "takes_nonzero": "errors: Abstract tracer value encountered where concrete value is ex",
    "takes_exclusive": "numpy: The error arose for the first argument of jnp.unique(). {}",
    "takes_where": "errors: Abstract tracer value encountered where concrete value is ex",
    "compresses": "errors: Attempted boolean conversion of {}.{}",
    "extracts": "errors: Attempted boolean conversion of {}.{}",
    "windows_blackman": "numpy: M argument of jnp.blackman",
    "windows_bartlett": "numpy: M argument of jnp.bartlett",
    "windows_hamming": "numpy: M argument of jnp.hamming",
    "windows_hanning": "numpy: M argument of jnp.hanning",
    "windows_kaiser": "numpy: M argument of jnp.kaiser",
    "windows_row": None,
    "takes_triangle_indices": "errors: Abstract tracer value encountered where concrete value is ex",
}


def main():
    x = jnp.arange(4.0)
    labels = jnp.array([0, 1, 2, 1])
    choice = jnp.array([0, 1, 0, 1])
    square = jnp.ones((3, 3))
    print(spaces_by_axis(x, 0))
    print(spaces_logarithmically(5))
    print(spaces_logarithmically_by_axis(x, 0))
    print(spaces_geometrically(5))
    print(spaces_geometrically_by_axis(x, 0))
    print(makes_grid(3))
    print(makes_grid_from(3))
    print(makes_grid_by_step(3))
    print(fills_missing(x, 0.0))
    print(finds_edges(x, 3))
    print(counts_in_bins(x, 3))
    print(differences(x, 1))
    print(differences_along(x, 0))
    print(differences_twice(x, 1))
    print(counts_at_least(labels, 3))
    print(counts_labels(labels))
    print(counts_labels_of_known(labels))
    print(splits_along(x, 0))
    print(splits_at(x, 2))
    print(sorts_along(x, 0))
    print(rounds_to(x, 1))
    print(rounds_method(x, 1))
    print(rounds_to_two(x, 1))
    print(counts_to(3))
    print(counts_between(3))
    print(counts_up_to(3))
    print(counts_by(3))
    print(repeats_along(x, 0))
    print(repeats_each(x, labels))
    print(repeats_each_to_length(x, labels))
    print(indexes_diagonal(3))
    print(indexes_diagonal_of_rank(3))
    print(takes_diagonal(square, 0))
    print(takes_diagonal_method(square, 0))
    print(trims_zeros(x))
    print(deletes_elements(x, 1))
    print(deletes_mask(x))
    print(inserts_along(x, 0))
    print(rolls_axis(square, 0))
    print(rolls_array(x, 1))
    print(digitizes(x, True))
    print(chooses(choice, x))
    print(chooses_wrapped(choice, x))
    print(evaluates_vandermonde(x, 3))
    print(flattens_index(labels, 3))
    print(flattens_checked_index(labels))
    print(flattens_clipped_index(labels))
    print(makes_indices(3))
    print(fits_polynomial(x, 1))
    print(fits_polynomial_to(x, 0.1))
    print(integrates_polynomial(x, 1))
    print(derives_polynomial(x, 1))
    print(finds_roots(x))
    print(finds_all_roots(x))
    print(sums_along(x, 0))
    print(sums_along_method(x, 0))
    print(averages_along_keyword(x, 0))
    print(multiplies_along(x, 0))
    print(normalises_along(x, 0))
    print(takes_difference_of_sets(x, x))
    print(takes_union(x, x))
    print(takes_union_of_size(x, x))
    print(takes_union_of_traced_size(x, 3))
    print(takes_difference_of_traced_size(x, 3))
    print(takes_unique(x))
    print(takes_unique_of_traced_size(x, 3))
    print(takes_unique_rows(square))
    print(takes_common(x, x))
    print(takes_nonzero(x))
    print(takes_exclusive(x, x))
    print(takes_where(x))
    print(compresses(x, x > 1))
    print(extracts(x, x > 1))
    print(windows_blackman(3))
    print(windows_bartlett(3))
    print(windows_hamming(3))
    print(windows_hanning(3))
    print(windows_kaiser(3))
    print(windows_row(x))
    print(takes_triangle_indices(3))


if __name__ == "__main__":
    main()
