"""torch.utils._pytree: the same leaves, structures, paths and errors."""

from __future__ import annotations

import collections
import warnings

import pytest
import torch
import torch.utils._pytree

import fxgrad.compat as fxt

Point = collections.namedtuple("Point", "a b")
TREE = {"b": [1, (2, None)], "a": collections.OrderedDict(x=3)}
TEXTS = """
    p.tree_flatten(TREE)
    p.tree_flatten(3)
    p.tree_flatten([])
    p.tree_flatten(Point(1, [2, 3]))
    p.tree_flatten(C.defaultdict(list, {"a": 1}))
    p.tree_flatten(C.deque([1, 2], maxlen=3))
    p.tree_flatten([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple))
    (s.num_leaves, s.num_nodes, s.num_children, s.type, s.context, s.is_leaf())
    s.children()
    s == p.tree_structure(TREE), s == p.tree_structure([1])
    s.unflatten([1, 2, 3, 4])
    s.flatten_up_to(TREE)
    p.tree_unflatten([1], s)
    p.tree_unflatten(1, s)
    p.TreeSpec(list, None, [p.LeafSpec()])
    p.tree_map(lambda x: x + 1, C.defaultdict(list, {"a": 1}))
    p.tree_map(lambda x: x + 1, C.deque([1, 2], maxlen=3))
    p.tree_map(lambda x: x + 1, Point(1, 2))
    p.tree_map(lambda x: x, None)
    p.tree_map(lambda x, y: (x, y), {"a": 1, "b": 2}, {"b": 3, "a": 4})
    p.tree_map(lambda x, y: (x, y), [1, 2], [3, [4]])
    p.tree_map(lambda x, y: 0, [1, 2], [3])
    p.tree_map(lambda x, y: 0, [1, 2], (3, 4))
    p.tree_map(lambda x, y: 0, Point(1, 2), (1, 2))
    p.tree_map(lambda x, y: 0, {"a": 1}, {"b": 1})
    p.tree_map(lambda x, y: 0, [1], 2)
    p.tree_map_(lambda x: None, [1, 2])
    p.tree_map_only(int, lambda x: x + 1, [1, "a"])
    p.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0])
    p.tree_map_only(lambda x: x == 1, lambda x: x * 2, [1, "a", 2.0])
    p.tree_map_with_path(lambda k, x: (p.keystr(k), x), TREE)
    p.tree_any(lambda x: x, [0, 1]), p.tree_all(lambda x: x, [0, 1])
    p.tree_any_only(int, lambda x: x, [0, "a"]), p.tree_all_only(int, lambda x: x, [1, "a"])
    p.tree_flatten_with_path(TREE)[0]
    p.keystr(p.tree_flatten_with_path(Point(1, 2))[0][1][0])
    p.key_get(TREE, p.tree_flatten_with_path(TREE)[0][1][0])
    p.arg_tree_leaves(1, [2], a=3)
    list(p.tree_iter(TREE))
    p._broadcast_to_and_flatten(1, s)
    p._broadcast_to_and_flatten([1, 2], p.tree_structure([1, (2, 3)]))
    p._broadcast_to_and_flatten([1, 2], p.tree_structure([1]))
    p.register_pytree_node(list, 1, 2)
    p.is_namedtuple(Point), p.is_namedtuple_instance(Point(1, 2)), p.is_namedtuple_class(Point), p.tree_is_leaf(3)
"""


def outcome(T, text: str) -> str:
    """The result of an expression, or the built-in class and the message of what it raises."""
    p = T.utils._pytree
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {"p": p, "s": p.tree_structure(TREE), "TREE": TREE, "Point": Point, "C": collections}
        try:
            return str(eval(text, names))
        except Exception as error:
            kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
            return f"{kind.__name__}: {error}".split("\n  at:")[0]


@pytest.mark.parametrize("text", [line.strip() for line in TEXTS.strip().splitlines()])
def test_as_torch(text):
    assert outcome(fxt, text) == outcome(torch, text)


@pytest.mark.parametrize("T", [fxt, torch], ids=["fxgrad", "torch"])
def test_a_registered_class_goes_through_transforms(T):
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    T.utils._pytree.register_pytree_node(Pair, lambda x: ([x.a, x.b], None), lambda c, _: Pair(*c))
    pair = Pair(T.arange(3.0), T.ones(3))
    doubled = T.func.vmap(lambda x: Pair(2 * x.a, x.b))(pair)
    gradient = T.func.grad(lambda x: (x.a * x.b).sum())(pair)
    assert doubled.a.tolist() == [0, 2, 4] and gradient.b.tolist() == [0, 1, 2]
    assert T.utils._pytree.tree_leaves([Pair(1, {"x": 2})]) == [1, 2]
