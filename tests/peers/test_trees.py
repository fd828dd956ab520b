"""Pytrees under JAX's door: dicts in the order of their keys, and what packages ask of the registry."""

from __future__ import annotations

from tests.peers.test_doors import output


def test_dicts_come_back_in_the_order_of_their_keys():
    program = """
import jax, jax.numpy as jnp
from collections import OrderedDict, defaultdict
d = {"b": 1.0, "a": {"z": 2.0, "y": 3.0}}

def keys(tree):
    return "".join(key + (keys(value) if isinstance(value, dict) else "") for key, value in tree.items())

seen = []
def note(tree):
    seen.append(keys(tree))
    return tree

found = {
    "map": jax.tree.map(lambda x: x, d),
    "map of two": jax.tree.map(lambda x, y: x + y, d, {"a": {"y": 1.0, "z": 1.0}, "b": 1.0}),
    "with path": jax.tree_util.tree_map_with_path(lambda path, x: x, d),
    "unflatten": jax.tree.unflatten(jax.tree.structure(d), [1, 2, 3]),
    "flatten": jax.tree_util.tree_flatten(d)[1].unflatten([1, 2, 3]),
    "jit": jax.jit(note)(d),
    "grad": jax.grad(lambda d: d["b"] * d["a"]["y"])(d),
    "vmap": jax.vmap(lambda x: {"b": x, "a": {"z": x, "y": x}})(jnp.ones(2)),
    "scan": jax.lax.scan(lambda c, x: (c, {"b": x, "a": {"z": x, "y": x}}), 0.0, jnp.ones(2))[1],
    "eval_shape": jax.eval_shape(lambda d: d, d),
    "defaultdict": jax.tree.map(lambda x: x, defaultdict(int, d)),
}
print({keys(tree) for tree in found.values()}, set(seen), type(found["defaultdict"]).__name__)
print(keys(jax.tree.map(lambda x: x, OrderedDict(d))), keys(d))  # that order is part of the structure
print(jax.tree.map(lambda x: {"b": x, "a": x}, [1]))  # leaves stay what they are
"""
    assert output(program).splitlines() == [
        "{'ayzb'} {'ayzb'} defaultdict",
        "bayz bazy",
        "[{'b': 1, 'a': 1}]",
    ]


def test_the_registry_of_classes():
    program = """
import jax, jax.numpy as jnp
from jax._src.tree_util import _registry

@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def tree_flatten(self):
        return (self.x, self.y), "pair"
    @classmethod
    def tree_unflatten(cls, auxiliary, children):
        return cls(*children)

children, auxiliary = _registry[Pair].to_iter(Pair(1, 2))
print(children, auxiliary, _registry[Pair].from_iter(auxiliary, (3, 4)).x)
children, auxiliary = _registry[dict].to_iter({"b": 1, "a": [2]})
print(children, _registry[dict].from_iter(auxiliary, children))
print(list in _registry, type(jnp.ones(2)) in _registry, float in _registry, len(_registry) == len(list(_registry)))
"""
    assert output(program).splitlines() == [
        "(1, 2) pair 3",
        "[[2], 1] {'a': [2], 'b': 1}",
        "True False False True",
    ]


def test_static_nodes_need_no_hash():
    program = """
import jax

@jax.tree_util.register_static
class Names:
    def __init__(self, *names):
        self.names = list(names)
    def __eq__(self, other):
        return self.names == other.names
    __hash__ = None

traced = []

@jax.jit
def f(names, x):
    traced.append(names.names)
    return names, x * len(names.names)

print(f(Names("a"), 2.0)[1], f(Names("a"), 3.0)[1], f(Names("a", "b"), 3.0)[0].names, traced)
"""
    assert output(program) == "2.0 3.0 ['a', 'b'] [['a'], ['a', 'b']]\n"


def test_absent_names_refuse_to_be_searched():
    program = """
from jax.export import Exported
for ask in (lambda: 3 in Exported, lambda: list(Exported)):
    try:
        ask()
    except NotImplementedError as error:
        print("there is no XLA" in str(error))
"""
    assert output(program) == "True\nTrue\n"
