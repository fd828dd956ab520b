"""The guard of compiled code decides as the key does under which it is kept: whatever follows the arguments for which
it was made is told apart from them, or is not, as without a guard."""

import threading
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from tests.ways import same

V = np.array([0.3, -1.2, 2.0])
Pair = namedtuple("Pair", "first second")
Other = namedtuple("Other", "first second")


class Registered:
    def __init__(self, *children, aux=None):
        self.children, self.aux = children, aux


fx.tree.register_pytree_node(
    Registered, lambda r: (r.children, r.aux), lambda aux, c: Registered(*c, aux=aux)
)


class Text(str):
    __slots__ = ()


class Subclass(np.ndarray):
    pass


class Claims:
    """A key of a dict that says it is equal to "a"."""

    def __eq__(self, other):
        return other == "a"

    def __hash__(self):
        return hash("a")


LEAVES = [
    V,
    V + 1,
    V[::2],
    V.astype("f4"),
    V.reshape(3, 1),
    V.reshape(1, 3),
    np.array(2.0),
    np.float64(2.0),
    np.float32(2.0),
    2.0,
    -0.0,
    2,
    True,
    2j,
    np.zeros((0,)),
    np.arange(3),
    np.zeros(3, np.dtype("f8", metadata={"unit": "m"})),
    V.view(Subclass),
    None,
]
KEYS = ["a", "b", "".join(["a", ""]), Text("a"), 1, True, 1.0, (1, 2), (1, 2.0), None]


def containers(trees):
    return st.one_of(
        st.lists(trees, max_size=2),
        st.lists(trees, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from(KEYS), trees, max_size=2),
        st.dictionaries(st.sampled_from(["a", "b"]), trees, max_size=2).map(OrderedDict),
        st.dictionaries(st.sampled_from(["a", "b"]), trees, max_size=2).map(lambda d: defaultdict(list, d)),
        st.lists(trees, max_size=2).map(deque),
        st.tuples(trees, trees).map(lambda t: Pair(*t)),
        st.tuples(trees, trees).map(lambda t: Other(*t)),
        st.builds(lambda c, aux: Registered(*c, aux=aux), st.lists(trees, max_size=2), st.sampled_from(KEYS)),
    )


TREES = st.recursive(st.sampled_from(LEAVES), containers, max_leaves=4)
CALLS = st.tuples(st.lists(TREES, max_size=2), st.dictionaries(st.sampled_from("xy"), TREES, max_size=2))


def count_stagings(calls, guarded):
    """Return for every call how often the body has run by then."""
    runs = []
    count = 0

    def body(*args, **kwargs):
        nonlocal count
        count += 1
        return fx.tree.map(lambda v: v * 2, fx.tree.leaves((args, kwargs)))

    f = fx.jit(body)
    for args, kwargs in calls:
        if not guarded:
            f.last = None
        found = f(*args, **kwargs)
        same(
            found,
            [
                fnp.asarray(v * 2) if isinstance(v, Subclass) else v * 2
                for v in fx.tree.leaves((args, kwargs))
            ],
        )
        runs.append(count)
    return runs


@settings(deadline=None, max_examples=60)
@given(st.lists(CALLS, min_size=1, max_size=3))
def test_it_decides_as_the_key_does(calls):
    calls = [calls[0], calls[0], *calls[1:], *calls, *calls]
    assert count_stagings(calls, True) == count_stagings(calls, False)


def plain_tree(leaf, order="ab", kind=dict, name="a"):
    values = {"a": leaf, "b": (leaf, [2.0])}
    return kind({(name if k == "a" else k): values[k] for k in order})


@pytest.mark.parametrize("other", [
    plain_tree(V, "ba"),
    plain_tree(V, kind=OrderedDict),
    plain_tree(V, kind=lambda d: defaultdict(int, d)),
    plain_tree(V, name=Text("a")),
    plain_tree(V, name=np.str_("a")),
    plain_tree(V, name=Claims()),
    plain_tree(V.astype("f4")),
    plain_tree(V[:2]),
    plain_tree(V.view(Subclass)),
    plain_tree(np.float64(1.0)),
    {"a": V, "b": [V, [2.0]]},
    {"a": V, "b": (V, [2])},
    {"a": V, "b": (V, [2.0, None])},
    {"a": V},
    [V, (V, [2.0])],
])  # fmt: skip
def test_what_is_of_another_kind_is_told_apart(other):
    calls = [((plain_tree(V),), {})] * 3 + [((other,), {}), ((plain_tree(V),), {}), ((other,), {})]
    found = []
    for guarded in (True, False):
        seen = []

        def body(tree, seen=seen):
            seen.append(list(tree))
            return fx.tree.leaves(tree)[0] * 2.0

        f = fx.jit(body)
        for args, _ in calls:
            f.last = f.last if guarded else None
            f(*args)
        found.append(len(seen))
    assert found[0] == found[1]


@dataclass(frozen=True)
class Config:
    rate: float


@pytest.mark.parametrize("values", [
    (1, True, 1.0, 1, True),
    (0.0, -0.0, 0.0),
    (float("nan"), float("nan"), -float("nan")),
    ("up", Text("up"), "down", "up"),
    ((1, 2), (1, 2.0), (1, 2)),
    (Config(0.0), Config(-0.0), Config(0.0), Config(0)),
    (np.sin, np.cos, np.sin),
])  # fmt: skip
@pytest.mark.parametrize("by_name", [False, True])
def test_static_values_are_compared_as_in_the_key(values, by_name):
    counts = []
    for guarded in (True, False):
        count = 0

        def body(x, n):
            nonlocal count
            count += 1
            return x + 1.0

        f = fx.jit(body, static_argnames="n")
        for value in [v for v in values for _ in range(3)]:
            f.last = f.last if guarded else None
            f(V, n=value) if by_name else f(V, value)
        counts.append(count)
    assert counts[0] == counts[1]


def test_unhashable_static_values_are_refused_after_others():
    f = fx.jit(lambda x, n: x, static_argnums=1)
    f(V, 1), f(V, 1), f(V, 1)
    with pytest.raises(fx.StaticArgumentError):
        f(V, [1])


def test_containers_may_change_between_calls():
    f = fx.jit(lambda tree: fnp.sum(tree["a"]) + sum(map(fnp.sum, tree["b"])))
    tree = {"a": V, "b": [V]}
    same([f(tree), f(tree), f(tree)], [2 * V.sum()] * 3)
    tree["b"].append(V)
    same(f(tree), 3 * V.sum())
    tree["a"] = V[:2]
    same(f(tree), 2 * V.sum() + V[:2].sum())
    del tree["b"][:]
    same(f(tree), V[:2].sum())


def test_a_class_registered_later_is_seen():
    Late = namedtuple("Late", "x")
    f = fx.jit(lambda tree: fx.tree.leaves(tree)[0] * 2.0)
    same([f(Late(V)), f(Late(V)), f(Late(V))], [2 * V] * 3)
    fx.tree.register_pytree_node(Late, lambda late: ((late.x + 1.0,), None), lambda _, c: Late(c[0] - 1.0))
    same(f(Late(V)), 2 * (V + 1.0))


def test_named_axes_are_part_of_the_kind():
    f = fx.jit(lambda x: x * fx.lax.axis_size("rows"))

    def g(row):
        return f(V) + row

    for size in (2, 3, 2):
        same(fx.vmap(g, axis_name="rows")(np.zeros((size, 3))), np.tile(V * size, (size, 1)))


def test_levels_and_observers_are_seen():
    f = fx.jit(lambda x: fnp.sin(x) * x)
    f(2.0), f(2.0), f(2.0)
    same(fx.grad(f)(2.0), np.cos(2.0) * 2.0 + np.sin(2.0))
    same(fx.vmap(f)(V), np.sin(V) * V)
    with fx.debug_nans(), pytest.raises(fx.NonFiniteError):
        f(float("inf"))
    with fx.profile() as recorded:
        f(2.0)
    assert any(event.name == "sin" for event in recorded.events)
    assert f(2.0) == np.sin(2.0) * 2.0


def test_wrong_arguments_are_refused_as_before():
    f = fx.jit(lambda x, y=1.0: x + y)
    f(V), f(V), f(V)
    for args, kwargs in [((), {}), ((V, V, V), {}), ((V,), {"z": 1.0}), (("text",), {})]:
        with pytest.raises(TypeError) as caught:
            f(*args, **kwargs)
        with pytest.raises(TypeError) as fresh:
            fx.jit(lambda x, y=1.0: x + y)(*args, **kwargs)
        assert str(caught.value)[:60] == str(fresh.value)[:60]
    same(f(V), V + 1.0)


def test_threads_with_different_arguments_do_not_meet():
    f = fx.jit(lambda x: fnp.cumsum(x) * 2.0)
    wrong = []

    def work(size):
        x = np.arange(float(size))
        for _ in range(200):
            if not np.array_equal(f(x), np.cumsum(x) * 2.0):
                wrong.append(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_clear_cache_forgets_the_latest_too():
    count = 0

    def body(x):
        nonlocal count
        count += 1
        return x

    f = fx.jit(body)
    f(V), f(V), f(V)
    f.clear_cache()
    f(V)
    assert count == 2
