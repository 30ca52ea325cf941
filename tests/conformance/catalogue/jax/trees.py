"""Programs with trees of different structure."""
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import tree_util

DIALECT = "jax.jit"


def updates_list_by_dictionary():
    params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    grads = [jnp.ones(3), jnp.ones(3)]
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)


def updates_missing_key():
    params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    grads = {"w": jnp.ones(3)}
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def updates_renamed_key():
    params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    grads = {"w": jnp.ones(3), "bias": jnp.zeros(3)}
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def updates_shorter_list():
    layers = [jnp.ones(3), jnp.zeros(3)]
    grads = [jnp.ones(3)]
    return jax.tree.map(lambda p, g: p - 0.1 * g, layers, grads)


def updates_same_keys():
    params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    grads = {"b": jnp.ones(3), "w": jnp.zeros(3)}
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def adds_number():
    params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, 1.0)


def transposes_wrong():
    outer = tree_util.tree_structure([0, 0])
    inner = tree_util.tree_structure((0, 0, 0))
    return tree_util.tree_transpose(outer, inner, [(1, 2), (3, 4)])


def registers_one_list():
    @dataclass
    class State:
        params: dict
        step: int

    return tree_util.register_dataclass(State, data_fields=["params", "step"])


def registers_plain_class():
    class State:
        def __init__(self, params):
            self.params = params

    return tree_util.register_dataclass(State)


def registers_some_fields():
    @dataclass
    class State:
        params: dict
        step: int

    return tree_util.register_dataclass(State, data_fields=["params"], meta_fields=[])


def registers_field_twice():
    @dataclass
    class State:
        params: dict
        step: int

    return tree_util.register_dataclass(State, data_fields=["params", "step"], meta_fields=["step"])


def registers_all_fields():
    @dataclass
    class State:
        params: dict
        step: int

    return tree_util.register_dataclass(State, data_fields=["params"], meta_fields=["step"])


KINDS = {
    "updates_list_by_dictionary": "tree_util: pytree structure error: different types at key path {}{} At",
    "updates_missing_key": "tree_util: pytree structure error: different numbers of pytree children",
    "updates_renamed_key": "tree_util: pytree structure error: different pytree metadata at key pat",
    "updates_shorter_list": "tree_util: pytree structure error: different lengths of {} at key path",
    "updates_same_keys": None,
    "adds_number": "tree_util: pytree structure error: different types at key path {}{} At",
    "transposes_wrong": "tree_util: Mismatch {} != {}",
    "registers_one_list": "tree_util: register_dataclass: data_fields and meta_fields must both be",
    "registers_plain_class": "tree_util: register_dataclass: data_fields and meta_fields are required",
    "registers_some_fields": "tree_util: data_fields and meta_fields must include all dataclass field",
    "registers_field_twice": "tree_util: data_fields and meta_fields must not overlap. Overlapping fi",
    "registers_all_fields": None,
}


def main():
    print(updates_list_by_dictionary())
    print(updates_missing_key())
    print(updates_renamed_key())
    print(updates_shorter_list())
    print(updates_same_keys())
    print(adds_number())
    print(transposes_wrong())
    print(registers_one_list())
    print(registers_plain_class())
    print(registers_some_fields())
    print(registers_field_twice())
    print(registers_all_fields())


if __name__ == "__main__":
    main()
