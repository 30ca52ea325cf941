"""Programs whose functions and arguments do not fit the control flow of `jax.lax`."""
import jax
import jax.numpy as jnp
from jax import lax

DIALECT = "jax.jit"


def keeps_one_branch(x):
    return lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v.sum(), jnp.ones(3))


def keeps_both_branches(x):
    return lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: -v, x)


def returns_pair_or_array(x):
    return lax.cond(x.sum() > 0, lambda v: (v, v), lambda v: v, jnp.ones(3))


def tests_compared_vector():
    x = jnp.ones(3)
    return lax.cond(x > 0, lambda v: v, lambda v: -v, x)


def tests_none(x):
    return lax.cond(None, lambda v: v, lambda v: -v, x)


def tests_text(x):
    return lax.cond("train", lambda v: v, lambda v: -v, x)


def tests_list(x):
    return lax.cond([x.sum() > 0], lambda v: v, lambda v: -v, x)


def calls_branches(x):
    return lax.cond(x.sum() > 0, jnp.abs(x), jnp.exp(x))


def calls_branch_by_lambda(x):
    return lax.cond(x.sum() > 0, lambda: jnp.abs(x), lambda: jnp.exp(x))


def passes_operands_twice(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, x, operand=x)


def passes_operand(x):
    return lax.cond(x.sum() > 0, lambda v: v, lambda v: -v, operand=x)


def switches_by_float(x):
    return lax.switch(0.5, [lambda v: v, lambda v: -v], x)


def switches_by_mean():
    x = jnp.ones(3)
    return lax.switch(x.mean(), [lambda v: v, lambda v: -v], x)


def switches_by_maximum(x):
    return lax.switch(jnp.argmax(x), [lambda v: v, lambda v: -v], x)


def switches_by_vector():
    choices = jnp.array([0, 1])
    return lax.switch(choices, [lambda v: v, lambda v: -v], 1.0)


def switches_over_nothing(x):
    return lax.switch(0, [], x)


def switches_over_results(x):
    return lax.switch(0, [jnp.abs(x), jnp.exp(x)])


def switches_with_operands_twice(x):
    return lax.switch(0, [lambda v: v, lambda v: -v], x, operand=x)


def chooses_platform(x):
    return lax.platform_dependent(x, cpu=jnp.abs(x), default=jnp.exp)


def chooses_default_platform(x):
    return lax.platform_dependent(x, cpu=jnp.abs, default=jnp.exp(x))


def chooses_gpu(x):
    return lax.platform_dependent(x, gpu=jnp.abs, default=jnp.exp)


def chooses_by_function(x):
    return lax.platform_dependent(x, cpu=jnp.abs, default=jnp.exp)


def unrolls_negative(x):
    return lax.scan(lambda total, row: (total + row, row), 0.0, x, unroll=-1)


def unrolls_pairs(x):
    return lax.scan(lambda total, row: (total + row, row), 0.0, x, unroll=2)


def scans_with_result(x):
    return lax.scan(jnp.cumsum(x), 0.0, x)


def returns_total_only(x):
    return lax.scan(lambda total, row: total + row, 0.0, x)


def returns_three(x):
    def step(total, row):
        return total + row, row, total

    return lax.scan(step, 0.0, x)


def iterates_without_length():
    return lax.scan(lambda total, _: (total + 1, total), 0, None)


def iterates_with_length():
    return lax.scan(lambda total, _: (total + 1, total), 0, None, length=5)


def iterates_over_count(n=10):
    return lax.scan(lambda total, _: (total + 1, total), 0, 10)


def iterates_over_range():
    return lax.scan(lambda total, i: (total + i, total), 0, jnp.arange(10))


def counts_differ():
    rewards = jnp.ones(5)
    values = jnp.ones(6)
    return lax.scan(lambda total, pair: (total + pair[0] - pair[1], total), 0.0, (rewards, values))


def counts_agree():
    rewards = jnp.ones(5)
    values = jnp.ones(6)
    return lax.scan(lambda total, pair: (total + pair[0] - pair[1], total), 0.0, (rewards, values[:-1]))


def length_differs():
    rewards = jnp.ones(5)
    return lax.scan(lambda total, reward: (total + reward, total), 0.0, rewards, length=4)


@jax.jit
def length_is_traced(n):
    return lax.scan(lambda total, _: (total + 1, total), 0, None, length=n)


def adds_key_to_carry(x):
    def step(state, row):
        return {"total": state["total"] + row, "last": row}, None

    return lax.scan(step, {"total": 0.0}, x)


def counts_in_floats(x):
    def step(carry, row):
        total, count = carry
        return (total + row, count + 0.5), None

    return lax.scan(step, (0.0, jnp.int32(0)), x)


def counts_in_integers(x):
    def step(carry, row):
        total, count = carry
        return (total + row, count + 1), None

    return lax.scan(step, (0.0, jnp.int32(0)), x)


def loops_with_result(x):
    return lax.while_loop(x.sum() < 10, lambda v: v * 2, x)


def tests_pair():
    return lax.while_loop(lambda v: (v[0] < 10, v[1]), lambda v: (v[0] + 1, v[1]), (0, 1))


def tests_difference():
    return lax.while_loop(lambda v: 10 - v, lambda v: v + 1, 0)


def tests_comparison():
    return lax.while_loop(lambda v: v < 10, lambda v: v + 1, 0)


def differentiates_while(x):
    def halve(v):
        return lax.while_loop(lambda s: s > 1.0, lambda s: s / 2, v)

    return jax.grad(halve)(x.sum())


def differentiates_fori(x):
    def power(v):
        return lax.fori_loop(0, 5, lambda i, s: s * v, 1.0)

    return jax.grad(power)(x.sum())


def loops_without_function(x):
    return lax.fori_loop(0, 5, x * 2, x)


def loops_to_other_type(x):
    return lax.fori_loop(jnp.int32(0), jnp.float32(5), lambda i, s: s + i, x)


@jax.jit
def unrolls_traced(x, n):
    return lax.fori_loop(0, n, lambda i, s: s + i, x, unroll=4)


def unrolls_known(x):
    return lax.fori_loop(0, 8, lambda i, s: s + i, x, unroll=4)


def accumulates_array(x):
    return lax.associative_scan(jnp.cumsum(x), x)


def accumulates_pairs():
    decay = jnp.ones(4)
    inputs = jnp.ones(5)
    return lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] + b[1]), (decay, inputs))


def accumulates(x):
    return lax.associative_scan(jnp.add, x)


def sums_last_axis(x):
    return lax.cumsum(x, axis=-1)


def sums_missing_axis():
    x = jnp.ones(3)
    return lax.cumsum(x, axis=1)


def sums_first_axis(x):
    return lax.cumsum(x, axis=0)


def sums_flags():
    return lax.cumsum(jnp.array([True, False]))


def solves_to_other_shape():
    return lax.custom_linear_solve(lambda v: (v, v), jnp.ones(3), lambda matvec, b: b)


def solves_linear(x):
    return lax.custom_linear_solve(lambda v: v * 2, x, lambda matvec, b: b / 2)


def differentiates_solution(x):
    return jax.grad(lambda b: lax.custom_linear_solve(lambda v: v * 2, b, lambda matvec, c: c / 2).sum())(x)


def finds_root_of_pair(x):
    def solve(f, guess):
        return guess, guess

    return lax.custom_root(lambda v: v ** 2 - 2, x, solve, lambda g, y: y / g(1.0))


def finds_root_with_auxiliary(x):
    def solve(f, guess):
        return guess

    return lax.custom_root(lambda v: v ** 2 - 2, x, solve, lambda g, y: y / g(1.0), has_aux=True)


def switches_by_text(x):
    return lax.switch("first", [lambda v: v, lambda v: -v], x)



KINDS = {
    "finds_root_of_pair": "common: {}() output pytree structure must match {}, got {} and {}.",
    "finds_root_with_auxiliary": "common: {}() produced a pytree with structure {}, but a pytree tuple",
    "switches_by_text": "conditionals: Index type must be an integer, got {}.",
    "keeps_one_branch": "conditionals: {} branches must have equal output types but they differ. {}",
    "keeps_both_branches": None,
    "returns_pair_or_array": "conditionals: {} branch outputs must have the same pytree structure, but t",
    "tests_compared_vector": "conditionals: Pred must be a scalar, got {} of {}",
    "tests_none": "conditionals: cond predicate is None",
    "tests_text": "conditionals: Pred must be a scalar, got {} of {}",
    "tests_list": "conditionals: Pred must be a scalar, got {} of {}",
    "calls_branches": "conditionals: lax.cond: true_fun and false_fun arguments should be callabl",
    "calls_branch_by_lambda": None,
    "passes_operands_twice": "conditionals: if 'operand' keyword is passed then no positional operands c",
    "passes_operand": None,
    "switches_by_float": "conditionals: Index type must be an integer, got {} as {}",
    "switches_by_mean": "conditionals: Index type must be an integer, got {} as {}",
    "switches_by_maximum": None,
    "switches_by_vector": "conditionals: Branch index must be scalar, got {} of shape {}.",
    "switches_over_nothing": "conditionals: Empty branch sequence",
    "switches_over_results": "conditionals: lax.switch: branches argument should be a sequence of callab",
    "switches_with_operands_twice": "conditionals: if 'operand' keyword is passed then no positional operands c",
    "chooses_platform": "conditionals: lax.platform_dependent: the '{}' branch must be a callable.",
    "chooses_default_platform": "conditionals: lax.platform_dependent: the 'default' branch must be a calla",
    "chooses_gpu": "conditionals: Use 'cuda' or 'rocm' for lax.platform_dependent.",
    "chooses_by_function": None,
    "unrolls_negative": "loops: `unroll` must be a `bool` or a non-negative `int`.",
    "unrolls_pairs": None,
    "scans_with_result": "loops: lax.scan: f argument should be a callable.",
    "returns_total_only": "loops: scan body output must be a pair, got {}.",
    "returns_three": "loops: scan body output must be a pair, got {}.",
    "iterates_without_length": "loops: scan got no values to scan over and `length` not provided.",
    "iterates_with_length": None,
    "iterates_over_count": "loops: scan got value with no leading axis to scan over: {}.",
    "iterates_over_range": None,
    "counts_differ": "loops: scan got values with different leading axis sizes: {}.",
    "counts_agree": None,
    "length_differs": "loops: scan got `length` argument of {} which disagrees with leadin",
    "length_is_traced": "loops: The `length` argument to `scan` expects a concrete `int` val",
    "adds_key_to_carry": "loops: {} function carry input and carry output must have the same",
    "counts_in_floats": "loops: {} function carry input and carry output must have equal typ",
    "counts_in_integers": None,
    "loops_with_result": "loops: lax.while_loop: body_fun and cond_fun arguments should be ca",
    "tests_pair": "loops: cond_fun must return a boolean scalar, but got pytree {}.",
    "tests_difference": "loops: cond_fun must return a boolean scalar, but got output type(s",
    "tests_comparison": None,
    "differentiates_while": "loops: Reverse-mode differentiation does not work for lax.while_loo",
    "differentiates_fori": None,
    "loops_without_function": "loops: lax.fori_loop: body_fun argument should be callable.",
    "loops_to_other_type": "loops: lower and upper arguments to fori_loop must have equal types",
    "unrolls_traced": "loops: Can only use `unroll` in `fori_loop` if the loop bounds are",
    "unrolls_known": None,
    "accumulates_array": "loops: lax.associative_scan: fn argument should be callable.",
    "accumulates_pairs": "loops: Array inputs to associative_scan must have the same first di",
    "accumulates": None,
    "sums_last_axis": "loops: XLA operations do not allow negative axes",
    "sums_missing_axis": "loops: axis {} is out of bounds for array of shape {}",
    "sums_first_axis": None,
    "sums_flags": "loops: {} does not accept dtype {}. Accepted dtypes are subtypes of",
    "solves_to_other_shape": "solves: {}() output shapes must match {}, got {} and {}",
    "solves_linear": None,
    "differentiates_solution": "solves: transpose_solve required for backwards mode automatic differ",
}


def main():
    x = jnp.arange(4.0)
    print(keeps_one_branch(x))
    print(keeps_both_branches(x))
    print(returns_pair_or_array(x))
    print(tests_compared_vector())
    print(tests_none(x))
    print(tests_text(x))
    print(tests_list(x))
    print(calls_branches(x))
    print(calls_branch_by_lambda(x))
    print(passes_operands_twice(x))
    print(passes_operand(x))
    print(switches_by_float(x))
    print(switches_by_mean())
    print(switches_by_maximum(x))
    print(switches_by_vector())
    print(switches_over_nothing(x))
    print(switches_over_results(x))
    print(switches_with_operands_twice(x))
    print(chooses_platform(x))
    print(chooses_default_platform(x))
    print(chooses_gpu(x))
    print(chooses_by_function(x))
    print(unrolls_negative(x))
    print(unrolls_pairs(x))
    print(scans_with_result(x))
    print(returns_total_only(x))
    print(returns_three(x))
    print(iterates_without_length())
    print(iterates_with_length())
    print(iterates_over_count())
    print(iterates_over_range())
    print(counts_differ())
    print(counts_agree())
    print(length_differs())
    print(length_is_traced(3))
    print(adds_key_to_carry(x))
    print(counts_in_floats(x))
    print(counts_in_integers(x))
    print(loops_with_result(x))
    print(tests_pair())
    print(tests_difference())
    print(tests_comparison())
    print(differentiates_while(x))
    print(differentiates_fori(x))
    print(loops_without_function(x))
    print(loops_to_other_type(x))
    print(unrolls_traced(x, 3))
    print(unrolls_known(x))
    print(accumulates_array(x))
    print(accumulates_pairs())
    print(accumulates(x))
    print(sums_last_axis(x))
    print(sums_missing_axis())
    print(sums_first_axis(x))
    print(sums_flags())
    print(solves_to_other_shape())
    print(solves_linear(x))
    print(differentiates_solution(x))
    print(finds_root_of_pair(x))
    print(finds_root_with_auxiliary(x))
    print(switches_by_text(x))


if __name__ == "__main__":
    main()
