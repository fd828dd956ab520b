"""Collectives: every rule of every primitive, names in scope, dtypes, errors, and what jit keeps.

They need an open axis, so that the tests that are generated from the registry do not fit; here each is taken through
the same ways. JAX is the reference for values in tests/parity/test_jax_collectives.py.
"""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.core.primitive import Primitive
from fxgrad.ops import collective
from tests.ways import same

RNG = np.random.default_rng(0)
SIZE = 3
X = RNG.normal(size=(SIZE, 4))
C = RNG.normal(size=(SIZE, SIZE, 2, SIZE))

# Primitive → (params, the whole result for the whole operand).
PRIMITIVES = {
    "psum": [({}, lambda x: np.stack([x.sum(0)] * SIZE))],
    "all_gather": [
        ({"axis": axis}, lambda x, axis=axis: np.stack([np.moveaxis(x, 0, axis)] * SIZE))
        for axis in (0, 2, 3)
    ],
    "psum_scatter": [
        ({"axis": axis}, lambda x, axis=axis: np.moveaxis(x.sum(0), axis, 0)) for axis in (0, 2)
    ],
    "ppermute": [
        ({"perm": ((0, 1), (1, 2), (2, 0))}, lambda x: x[[2, 0, 1]]),
        ({"perm": ((0, 2), (1, 0))}, lambda x: np.stack([x[1], 0 * x[0], x[0]])),
        ({"perm": ()}, np.zeros_like),
    ],
    "all_to_all": [
        (
            {"split_axis": at, "concat_axis": to},
            lambda x, at=at, to=to: np.stack(
                [np.stack([np.take(row, i, at) for row in x], to) for i in range(SIZE)]
            ),
        )
        for at in (0, 2)
        for to in (0, 1, 2)
    ],
}
CASES = [(name, *case) for name, cases in PRIMITIVES.items() for case in cases]
each = pytest.mark.parametrize(
    "name, params, reference", CASES, ids=[f"{name}-{params}" for name, params, _ in CASES]
)


def bound(name, params):
    return lambda x: getattr(collective, name)(x, axis_name="i", **params)


def mapped(f, **options):
    return fx.vmap(f, axis_name="i", **options)


def test_every_collective_is_among_the_cases():
    linear = {
        n
        for n, f in vars(collective).items()
        if isinstance(getattr(f, "primitive", None), Primitive) and f.primitive.bound_to_axis
    }
    assert linear == {*PRIMITIVES, "axis_index"}


@each
def test_values_over_dtypes(name, params, reference):
    f = bound(name, params)
    for dtype in (float, "float32", complex, "int8"):
        x = (10 * C).astype(dtype)
        expected = reference(x) if dtype != "int8" else reference(x.astype(int)).astype("int8")
        same(mapped(f)(x), expected, 1e-5 if dtype == "float32" else 1e-12)
    same(mapped(lambda x: f(C[0]) + 0 * x)(np.zeros(SIZE)), reference(np.stack([C[0]] * SIZE)))
    same(mapped(f, in_axes=2)(np.moveaxis(C, 0, 2)), reference(C))


@each
def test_derivatives(name, params, reference):
    """Tangents, adjoints and second derivatives, with the differentiation outside and inside of the map."""
    f = bound(name, params)
    rng = np.random.default_rng(0)  # of its own: the order of tests decides nothing
    x, t, y = C, rng.normal(size=C.shape), rng.normal(size=reference(C).shape)
    same(fx.jvp(mapped(f), (x,), (t,))[1], reference(t))
    same(mapped(lambda x, t: fx.jvp(f, (x,), (t,))[1])(x, t), reference(t))
    (adjoint,) = fx.vjp(mapped(f), x)[1](y)
    same(np.sum(adjoint * t), np.sum(y * reference(t)))  # sums of numbers about 1, which may cancel
    same(mapped(lambda x, y: fx.vjp(f, x)[1](y)[0])(x, y), adjoint)
    same(mapped(lambda x, y: fx.linear_transpose(f, x)(y)[0])(x, y), adjoint)

    def loss(x):
        return fnp.sum(f(x) ** 3)

    whole = fx.grad(lambda x: fnp.sum(mapped(loss)(x)))
    same(whole(x), fx.vjp(mapped(f), x)[1](3 * reference(x) ** 2)[0])
    same(mapped(fx.grad(loss))(x), whole(x))
    same(mapped(lambda x, t: fx.jvp(fx.grad(loss), (x,), (t,))[1])(x, t), fx.jvp(whole, (x,), (t,))[1])
    same(
        mapped(lambda x, t: fx.grad(lambda x: fnp.sum(fx.grad(loss)(x) * t))(x))(x, t),
        fx.jvp(whole, (x,), (t,))[1],
    )


@each
def test_other_levels_take_it_for_an_ordinary_operation(name, params, reference):
    f = bound(name, params)
    pairs = np.stack([C, 2 * C], -1)
    same(mapped(fx.vmap(f, -1, -1))(pairs), np.stack([reference(C), reference(2 * C)], -1))
    same(fx.vmap(mapped(f), -1, -1)(pairs), np.stack([reference(C), reference(2 * C)], -1))
    same(mapped(fx.vmap(f, axis_name="other"))(C[:, None]), reference(C)[:, None])


@each
def test_staging(name, params, reference):
    """The abstract rule gives what is computed; a Graph and its code do the same."""
    f, graphs = bound(name, params), []

    def staged(x):
        graphs.append(fx.make_graph(f)(x))
        return graphs[-1].check()(x)[0]

    same(mapped(staged)(C), reference(C))
    (graph,) = graphs
    assert graph.out_avals[0].shape == reference(C).shape[1:]
    assert name in repr(graph)
    same(mapped(fx.jit(f))(C), reference(C))
    same(fx.jit(mapped(f))(C), reference(C))
    same(
        mapped(fx.jit(lambda x: f(x) * 2 + f(C[0])))(C), 2 * reference(C) + reference(np.stack([C[0]] * SIZE))
    )
    same(mapped(lambda x: fx.jit(f)(C[0]) + 0 * x)(np.zeros(SIZE)), reference(np.stack([C[0]] * SIZE)))


# -- functions ------------------------------------------
def test_containers_and_several_axes():
    def f(x):
        total = lax.psum({"a": x, "b": (x, None)}, ("i", "j"))
        assert total["b"][1] is None
        return total["a"] - total["b"][0], lax.axis_index(("j", "i")), lax.all_gather(x, ("j", "i"))

    table = np.arange(6.0).reshape(2, 3)  # j outside, i inside
    difference, position, gathered = fx.vmap(mapped(f), axis_name="j")(table)
    same(difference, 0 * table)
    same(position, np.arange(6).reshape(2, 3))
    same(gathered, np.broadcast_to(np.arange(6.0), (2, 3, 6)))
    tiled = fx.vmap(mapped(lambda x: lax.all_gather(x[None], ("i", "j"), tiled=True)), axis_name="j")(table)
    same(tiled[0, 0], table.T.ravel())


def test_extrema_share_the_derivative():
    x = np.array([1.0, 3.0, 3.0])
    same(fx.grad(lambda x: mapped(lambda x: lax.pmax(x, "i"))(x)[0])(x), np.array([0, 0.5, 0.5]))
    same(mapped(fx.grad(lambda x: lax.pmax(x, "i")))(x), np.array([0, 1.5, 1.5]))
    same(mapped(fx.grad(lambda x: lax.pmin(x, "i") ** 2))(x), np.array([6.0, 0, 0]))
    same(mapped(lambda x: lax.pmax(x, "i"))(np.array([1, np.nan, 2])), np.full(3, np.nan))


def test_numbers_stay_numbers():
    kept = []

    def f(x):
        kept.extend([lax.psum(1, "i"), lax.psum(0.5, "i"), lax.axis_size("i")])
        return x * lax.psum(2.0, "i")

    assert mapped(f)(np.ones(SIZE, np.float32)).dtype == np.float32
    assert kept == [3, 1.5, 3] and [type(v) for v in kept] == [int, float, int]


def test_integers_keep_their_dtype_however_long_the_axis():
    same(
        mapped(lambda x: lax.psum(np.int8(2), "i") + 0 * x)(np.zeros(300, np.int8)), np.full(300, 88, np.int8)
    )


def test_truth_values_are_counted():
    same(mapped(lambda x: lax.psum(x > 0, "i"))(np.array([1.0, -1.0, 2.0])), np.array([2, 2, 2]))


def test_an_inner_axis_hides_one_of_the_same_name():
    x = RNG.normal(size=(2, 3))
    same(mapped(mapped(lambda x: lax.psum(x, "i")))(x), np.stack([x.sum(1)] * 3, 1))


def test_names_are_any_hashable():
    for name in ("i", 0, ("a", 1)[0], object):
        same(fx.vmap(lambda x, n=name: lax.psum(x, n), axis_name=name)(X), np.stack([X.sum(0)] * SIZE))


def test_an_empty_axis():
    same(mapped(lambda x: lax.psum(x, "i"), out_axes=None)(np.zeros((0, 2))), np.zeros(2))
    assert mapped(lambda x: lax.all_gather(x, "i"))(np.zeros((0, 2))).shape == (0, 0, 2)


def test_arrays_of_another_library():
    strict = pytest.importorskip("array_api_strict")
    x = strict.asarray(X)
    for f in (
        lambda x: lax.psum(x, "i"),
        lambda x: lax.pmax(x, "i"),
        lambda x: lax.all_gather(x, "i"),
    ):
        result = mapped(f)(x)
        assert type(result) is type(x)
        same(np.asarray(result), mapped(f)(X))


# -- jit ------------------------------------------
def test_compiled_code_is_not_used_for_another_axis():
    gather = fx.jit(lambda x: lax.all_gather(x, "i"))
    total = fx.jit(lambda x: lax.psum(np.float64(1.0), "i") * x)
    for size in (2, 5, 2):
        assert mapped(gather)(np.ones(size)).shape == (size, size)
        same(mapped(total)(np.ones(size)), np.full(size, float(size)))
        same(fx.vmap(mapped(total), axis_name="j")(np.ones((3, size))), np.full((3, size), float(size)))
        same(fx.vmap(mapped(total, in_axes=None, axis_size=4))(np.ones(2)), np.full((2, 4), 4.0))
    with pytest.raises(fx.UnboundAxisError):
        total(1.0)


def test_compiled_code_is_used_again_for_the_same_axis():
    traces = []

    @fx.jit
    def f(x):
        traces.append(1)
        return lax.psum(x, "i")

    for _ in range(3):
        mapped(f)(X)
    assert len(traces) == 1
    mapped(f)(X[:2])
    assert len(traces) == 2


def test_positions_are_compiled_too():
    traces = []

    @fx.jit
    def f(x):
        traces.append(1)
        return x + lax.axis_index("i")

    for _ in range(2):
        same(mapped(f)(np.zeros(3)), np.arange(3.0))
    assert len(traces) == 1


# -- errors ------------------------------------------
def test_an_axis_that_is_not_open():
    with pytest.raises(fx.UnboundAxisError, match=r"'k'.*'i' of size 3, 'j' of size 2") as error:
        fx.vmap(mapped(lambda x: lax.psum(x, "k")), axis_name="j")(np.ones((2, 3)))
    assert isinstance(error.value, NameError) and "axis_name='k'" in str(error.value)
    for call in (lax.axis_index, lax.axis_size, lambda n: lax.pmax(1.0, n), lambda n: lax.psum(1, n)):
        with pytest.raises(fx.UnboundAxisError, match="open are: none"):
            call("i")
    with pytest.raises(fx.UnboundAxisError):
        fx.jit(lambda x: lax.all_gather(x, "i"))(X)
    with pytest.raises(fx.UnboundAxisError):  # a chunk is not the axis
        mapped(lambda x: lax.psum(x, "i"), chunk_size=2)(X)
    same(mapped(lambda x: lax.psum(x, "i"), chunk_size=3)(X), np.stack([X.sum(0)] * 3))


ERRORS = {
    "a source twice": (fx.ShapeError, lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)])),
    "a target twice": (fx.ShapeError, lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)])),
    "out of range": (fx.ShapeError, lambda x: lax.ppermute(x, "i", [(0, 3)])),
    "no permutation": (fx.ShapeError, lambda x: lax.pshuffle(x, "i", [0, 0, 1])),
    "all_to_all, size": (fx.ShapeError, lambda x: lax.all_to_all(x, "i", 0, 0)),
    "all_to_all, tiled": (fx.ShapeError, lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True)),
    "psum_scatter, size": (fx.ShapeError, lambda x: lax.psum_scatter(x, "i")),
    "psum_scatter, tiled": (fx.ShapeError, lambda x: lax.psum_scatter(x, "i", tiled=True)),
    "axis": (fx.AxisError, lambda x: lax.all_to_all(x, "i", 2, 0)),
    "groups": (fx.ShapeError, lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2]])),
    "groups, twice": (fx.ShapeError, lambda x: lax.pmax(x, "i", axis_index_groups=[[0], [1], [1]])),
    "groups, parts": (fx.UnsupportedError, lambda x: lax.all_to_all(x, "i", 0, 0, axis_index_groups=[[0]])),
    "two axes": (fx.UnsupportedError, lambda x: lax.ppermute(x, ("i", "j"), [(0, 1)])),
}


@pytest.mark.parametrize("error, f", ERRORS.values(), ids=ERRORS)
def test_errors(error, f):
    with pytest.raises(error):
        mapped(f)(X)


def test_groups_of_entries():
    """Each entry gets what its group gives: groups are compared with collectives over the group's rows alone."""
    x, groups = RNG.normal(size=(4, 2)), [[0, 2], [3, 1]]
    ways = {
        "psum": lambda rows: rows.sum(0),
        "pmean": lambda rows: rows.mean(0),
        "pmax": lambda rows: rows.max(0),
        "pmin": lambda rows: rows.min(0),
        "all_gather": lambda rows: rows,
    }
    for name, of_rows in ways.items():
        f = mapped(lambda x, name=name: getattr(lax, name)(x, "i", axis_index_groups=groups))
        expected = np.stack([of_rows(x[groups[0] if i in groups[0] else groups[1]]) for i in range(4)])
        same(f(x), expected)
        same(fx.jit(f)(x), expected)
        fx.testing.check_grads(f, (x,), order=1)
    tiled = mapped(lambda x: lax.all_gather(x, "i", axis_index_groups=groups, axis=0, tiled=True))(x)
    same(tiled, np.stack([x[[0, 2]].ravel(), x[[3, 1]].ravel()])[[0, 1, 0, 1]])
    assert mapped(lambda x: x[0] * 0 + lax.psum(1, "i", axis_index_groups=groups))(x)[0] == 2


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("at, to", [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)])
def test_all_to_all_over_two_axes_is_that_over_their_product(at, to, tiled):
    x = RNG.normal(size=(2, 3, 6, 6, 2))
    two = fx.vmap(lambda x: lax.all_to_all(x, ("i", "j"), at, to, tiled=tiled), axis_name="j")
    one = mapped(lambda x: lax.all_to_all(x, "i", at, to, tiled=tiled))
    found = mapped(two)(x)
    same(found.reshape(6, *found.shape[2:]), one(x.reshape(6, 6, 6, 2)))


# -- inside of other functions ------------------------------------------
@fx.custom_jvp
def with_jvp(x):
    return lax.psum(x, "i") * x


@with_jvp.defjvp
def with_jvp_rule(primals, tangents):
    return fx.jvp(lambda x: lax.psum(x, "i") * x, primals, tangents)


@fx.custom_vjp
def with_vjp(x):
    return lax.psum(x, "i") * x


with_vjp.defvjp(
    lambda x: (with_vjp(x), (x, lax.psum(x, "i"))),
    lambda residuals, ct: (ct * residuals[1] + lax.psum(ct * residuals[0], "i"),),
)

BODIES = {
    "nothing": lambda x: lax.psum(x, "i") * x,
    "jit": fx.jit(lambda x: lax.psum(x, "i") * x),
    "checkpoint": fx.checkpoint(lambda x: lax.psum(x, "i") * x),
    "custom_jvp": with_jvp,
    "custom_vjp": with_vjp,
    "scan": lambda x: lax.scan(lambda c, _: (lax.psum(c, "i") * x, None), x, None, length=1)[0],
    "fori_loop": lambda x: lax.fori_loop(0, 1, lambda _, y: lax.psum(y, "i") * y, x),
    "cond": lambda x: lax.cond(x * 0 == 0, lambda x: lax.psum(x, "i") * x, lambda x: 0 * x, x),
    "switch": lambda x: lax.switch(1, [lambda x: x, lambda x: lax.psum(x, "i") * x], x),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_are_mapped_over_the_axis_as_well(name):
    f, x = BODIES[name], X[:, 0]
    slope = x.sum() + np.full(SIZE, x.sum())
    for way in (mapped, lambda f: mapped(fx.jit(f)), lambda f: fx.jit(mapped(f))):
        same(way(f)(x), x.sum() * x)
        same(way(fx.grad(f))(x), slope)
    same(fx.grad(lambda x: fnp.sum(mapped(f)(x)))(x), slope)
    if not name.startswith(
        "custom"
    ):  # of whose functions only evaluation knows that there are collectives in them
        same(mapped(lambda x: f(2.0) + 0 * x)(x), np.full(SIZE, 12.0))
    assert name == "nothing" or mapped(fx.vmap(f))(x[:, None]).shape == (SIZE, 1)


def test_custom_rules_with_collectives_reach_operands_that_are_not_mapped():
    """Their functions are looked into, as the bodies of control flow are."""
    forward = fx.custom_jvp(lambda x: lax.psum(x, "i"))
    forward.defjvp(lambda primals, tangents: (forward(*primals), 2.0 * lax.psum(tangents[0], "i")))
    backward = fx.custom_vjp(lambda x: lax.psum(x, "i"))
    backward.defvjp(lambda x: (backward(x), None), lambda _, ct: (2.0 * lax.psum(ct, "i"),))
    for f in (forward, backward):
        for g in (f, fx.jit(f), lambda y, f=f: lax.fori_loop(0, 1, lambda i, c: f(c), y)):
            weighed = lambda y, g=g: fnp.sum(mapped(lambda x: g(y) * x)(WEIGHTS))  # noqa: E731
            same(weighed(2.0), 6.0 * np.sum(WEIGHTS))
            same(fx.jit(weighed)(2.0), 6.0 * np.sum(WEIGHTS))
            same(fx.grad(weighed)(2.0), 6.0 * np.sum(WEIGHTS))
            same(fx.jit(fx.grad(weighed))(2.0), 6.0 * np.sum(WEIGHTS))


def test_opaque_functions_have_no_collectives():
    """They are looked into in vain."""

    def opaque(x):
        if type(x) is not np.float64:
            raise TypeError("code in C")
        return 2.0 * x

    f = fx.custom(opaque, vjp=lambda ct, y, x: (2.0 * ct,))
    slope = fx.grad(lambda y: fnp.sum(mapped(lambda x: f(y) * x)(WEIGHTS)))
    same(slope(2.0 * np.ones(())[()]), 2.0 * np.sum(WEIGHTS))


WEIGHTS = RNG.normal(size=SIZE)


def test_a_loop_body_is_not_taken_for_that_of_another_axis():
    def total(x):
        return lax.scan(lambda c, _: (lax.psum(c, "i"), None), x, None, length=2)[0]

    table = RNG.normal(size=(3, 3))
    inner = fx.vmap(mapped(total))(table)  # over the second axis
    outer = mapped(fx.vmap(total))(table)  # over the first
    same(inner, 3 * np.stack([table.sum(1)] * 3, 1))
    same(outer, 3 * np.stack([table.sum(0)] * 3))
    with pytest.raises(fx.UnboundAxisError):
        fx.vmap(total, axis_name="j")(table)


def test_training_in_parallel():
    """Gradients are averaged over the axis in every step of a loop, so that all entries keep the same weights."""
    inputs, targets = RNG.normal(size=(4, 5)), RNG.normal(size=(4, 5))

    def loss(w, x, y):
        return fnp.mean((w * x - y) ** 2)

    def train(x, y):
        def step(w, _):
            return w - 0.1 * lax.pmean(fx.grad(loss)(w, x, y), "i"), None

        return lax.scan(step, 0.0, None, length=7)[0]

    w = 0.0
    for _ in range(7):
        w -= 0.1 * fx.grad(loss)(w, inputs, targets)
    same(mapped(train)(inputs, targets), np.full(4, w))
