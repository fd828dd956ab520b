"""Pytrees: classes made nodes, by registration and by decorators."""

from __future__ import annotations

import dataclasses
import functools
import operator
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import attrs
import pytest

import fxgrad as fx
from fxgrad import tree
from fxgrad.core.errors import StructureError


class Point(NamedTuple):
    x: Any
    y: Any


# ----------------------------------------------------------------------------------------------- registration


class Pair:
    """A node with a mark as auxiliary data."""

    def __init__(self, first, second, mark=None):
        self.first, self.second, self.mark = first, second, mark


tree.register_pytree_node(
    Pair, lambda p: ((p.first, p.second), p.mark), lambda mark, children: Pair(*children, mark)
)


def test_registered_class():
    doubled = tree.map(lambda x: 2 * x, Pair(1, [2], "mark"))
    assert (doubled.first, doubled.second, doubled.mark) == (2, [4], "mark")
    assert tree.structure(Pair(1, 2, "a")) != tree.structure(Pair(1, 2, "b"))
    assert tree.keystr(tree.leaves_with_path([Pair(1, [2])])[1][0]) == "[0][<flat index 1>][0]"
    with pytest.raises(StructureError, match=r"tree\[0\] is a node .*Pair\['a'\].*Pair\['b'\]"):
        tree.map(operator.add, [Pair(1, 2, "a")], [Pair(1, 2, "b")])


def test_subclasses_are_leaves():
    class Sub(Pair):
        pass

    assert len(tree.leaves(Sub(1, 2))) == 1
    assert tree.is_tree_node(Pair) and not tree.is_tree_node(Sub) and tree.is_tree_node(Point)


@pytest.mark.parametrize("cls", [Pair, dict, type(None), tree.Partial])
def test_registering_twice(cls):
    with pytest.raises(ValueError, match="already"):
        tree.register_pytree_node(cls, lambda x: ((), None), lambda aux, children: None)


def test_registering_what_is_no_class():
    with pytest.raises(TypeError, match="a class is needed"):
        tree.register_pytree_node(3, lambda x: ((), None), lambda aux, children: None)


def test_a_namedtuple_can_be_given_its_own_flattening():
    class Tagged(NamedTuple):
        value: Any
        tag: str

    tree.register_pytree_node(
        Tagged, lambda t: ((t.value,), t.tag), lambda tag, children: Tagged(*children, tag)
    )
    assert tree.map(lambda x: x + 1, Tagged(1, "tag")) == Tagged(2, "tag")
    assert tree.keystr(tree.leaves_with_path(Tagged(1, "tag"))[0][0]) == "[<flat index 0>]"


def test_class_decorators():
    @tree.register_pytree_node_class
    class Plain:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), "aux"

        @classmethod
        def tree_unflatten(cls, aux, children):
            assert aux == "aux"
            return cls(*children)

    @tree.register_pytree_with_keys_class
    class Keyed(Plain):
        def tree_flatten_with_keys(self):
            return ((tree.GetAttrKey("x"), self.x),), "aux"

    for cls, path in [(Plain, "[<flat index 0>]"), (Keyed, ".x")]:
        assert tree.map(lambda x: -x, cls(1)).x == -1
        assert tree.keystr(tree.leaves_with_path(cls(1))[0][0]) == path


def test_keys_without_a_flatten_function():
    class Keyed:
        def __init__(self, x):
            self.x = x

    tree.register_pytree_with_keys(
        Keyed, lambda k: ([("name", k.x)], None), lambda aux, children: Keyed(*children)
    )
    assert tree.map(lambda x: -x, Keyed(1)).x == -1
    assert tree.keystr(tree.leaves_with_path(Keyed(1))[0][0]) == "name"


def test_static_class():
    @tree.register_static
    class Mode(str):
        __slots__ = ()

    assert tree.leaves([Mode("train"), 1]) == [1]
    assert tree.structure(Mode("train")) == tree.structure(Mode("train")) != tree.structure(Mode("test"))


def test_one_of_many_threads_registers():
    class Contested:
        pass

    outcomes = []
    barrier = threading.Barrier(8)

    def register():
        barrier.wait()
        try:
            tree.register_pytree_node(Contested, lambda x: ((1, 2), None), lambda aux, children: Contested())
        except ValueError:
            outcomes.append("refused")
        else:
            outcomes.append(tree.leaves(Contested()))

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes, key=str) == [[1, 2], *["refused"] * 7]


def test_optree_waits_for_the_first_node():
    program = """
import sys, threading
import fxgrad as fx
from fxgrad import tree

class Early:
    pass

tree.register_pytree_node(Early, lambda e: ((1, 2), None), lambda aux, children: Early())
assert tree.map(lambda x: x + 1, 1) == 2
assert "optree" not in sys.modules, "a lone leaf needs no optree"
found = []
threads = [threading.Thread(target=lambda: found.append(tree.leaves([Early()]))) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found == [[1, 2]] * 8, found
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --------------------------------------------------------------------------------- attrs classes, dataclasses


@tree.attrs_class
@attrs.define
class Layer:
    w: Any = attrs.field(converter=lambda w: w if isinstance(w, float) else 1 / 0)
    name: str = tree.static_field(default="layer", metadata={"help": "shown in errors"})
    _hidden: Any = 5.0
    units: int = attrs.field(default=3, metadata={"static": True})


@tree.attrs_class
@dataclass(frozen=True)
class Frozen:
    x: Any
    y: Any = field(init=False, default=2)
    unit: str = tree.static(default="m")


def test_attrs_class():
    layer = Layer(1.0, "first")
    assert tree.leaves(layer) == [1.0, 5.0]
    assert tree.map(str, layer).w == "1.0"  # the converter does not run
    assert tree.map(lambda x: x, layer) == layer
    assert tree.structure(layer) != tree.structure(Layer(1.0, "second"))
    assert [tree.keystr(path) for path, _ in tree.leaves_with_path([layer])] == ["[0].w", "[0]._hidden"]
    assert attrs.fields(Layer).name.metadata == {"help": "shown in errors", "static": True}


def test_attrs_class_on_a_dataclass():
    moved = tree.map(lambda v: v + 1, Frozen(1, "km"))
    assert (moved.x, moved.y, moved.unit) == (2, 3, "km")


def test_attrs_class_needs_fields():
    with pytest.raises(TypeError, match="neither an attrs class nor a dataclass"):
        tree.attrs_class(type("Bare", (), {}))
    with pytest.raises(ValueError, match="already"):
        tree.attrs_class(Layer)


def test_register_dataclass_finds_the_fields():
    @tree.register_dataclass
    @dataclass
    class Op:
        x: Any
        name: str = tree.static(default="op")
        calls: int = field(init=False, default=0)

    op = Op(1)
    op.calls = 9
    assert tree.leaves(op) == [1]
    assert tree.map(lambda x: x + 1, op) == Op(2)  # made by the constructor: calls == 0


def test_register_dataclass_is_told_the_fields():
    @functools.partial(tree.register_dataclass, data_fields=["b"], meta_fields=["a"], drop_fields=["c"])
    @dataclass
    class Record:
        a: Any
        b: Any
        c: Any = None

    assert tree.map(lambda x: x + 1, Record(1, 2, 3)) == Record(1, 3)

    class Loose:
        def __init__(self, a):
            self.a = a

    tree.register_dataclass(Loose, ["a"], [])
    assert tree.map(lambda x: x + 1, Loose(1)).a == 2


@pytest.mark.parametrize(
    ("error", "names"),
    [
        (ValueError, {"data_fields": ["a"], "meta_fields": []}),
        (ValueError, {"data_fields": ["a", "q"], "meta_fields": ["b"]}),
        (TypeError, {"data_fields": ["a", "b"]}),
    ],
)
def test_register_dataclass_refuses_wrong_names(error, names):
    @dataclass
    class Record:
        a: Any
        b: Any

    with pytest.raises(error, match="data_fields and meta_fields"):
        tree.register_dataclass(Record, **names)


def test_register_dataclass_refuses_other_classes():
    with pytest.raises(TypeError, match="no dataclass"):
        tree.register_dataclass(type("Bare", (), {}))


def test_a_class_that_is_flattened_wrongly_is_named():
    class Wrong:
        pass

    fx.tree.register_pytree_node(Wrong, lambda node: ((1.0,),), lambda _, children: Wrong())
    for use in (fx.tree.leaves, fx.tree.structure, fx.jit(lambda x: 1.0), fx.grad(lambda x: 1.0)):
        with pytest.raises(fx.StructureError, match=r"flattens .*Wrong returned \(\(1.0,\),\)"):
            use(Wrong())


def test_transpose_of_a_class_whose_auxiliary_data_follow_its_contents():
    class Row:
        def __init__(self, items):
            self.items = tuple(items)

    fx.tree.register_pytree_node(
        Row, lambda row: (row.items, tuple(type(x).__name__ for x in row.items)), lambda _, items: Row(items)
    )
    outer, inner = fx.tree.structure(Row([0, 0])), fx.tree.structure([0, 0, 0])
    columns = fx.tree.transpose(outer, inner, Row([[1, 2, 3], [4, 5, 6]]))
    assert [column.items for column in columns] == [(1, 4), (2, 5), (3, 6)]
    with pytest.raises(fx.StructureError):
        fx.tree.transpose(outer, inner, Row([[1, 2], [4, 5]]))


def test_a_field_is_data_or_meta():
    @dataclasses.dataclass
    class Pair:
        a: float
        b: float

    with pytest.raises(ValueError, match=r"\['b'\] are data_fields and meta_fields"):
        fx.tree.register_dataclass(Pair, data_fields=["a", "b"], meta_fields=["b"])


def test_the_pair_of_a_flattened_instance_may_be_a_list():
    class Listed:
        pass

    fx.tree.register_pytree_node(Listed, lambda node: [iter([1.0]), None], lambda _, children: Listed())
    assert fx.tree.leaves([Listed(), 2.0]) == [1.0, 2.0]
