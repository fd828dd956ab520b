"""`shard_map`: the function of whole arrays on one process is the oracle, value and derivatives of every kind."""

import doctest

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from fxgrad.distributed import (
    Communicator,
    Mesh,
    P,
    Sharded,
    from_local,
    gather,
    replicate,
    scatter,
    shard,
    shard_map,
)

from .ranks import ROOT, run_on_ranks

N = 4
RNG = np.random.default_rng(0)
W, X, Y, A, B = (
    RNG.normal(size=(3,)),
    RNG.normal(size=(8, 3)),
    RNG.normal(size=(8,)),
    RNG.normal(size=(3, 8)),
    RNG.normal(size=(8, 3)),
)


def close(found, expected, message=""):
    for x, y in zip(fx.tree.leaves(gather(found)), fx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12, err_msg=message)


# name: (function of parts, in_specs, out_specs, arguments, the same of whole arrays)
ONE_AXIS = {
    "a mean loss": (
        lambda w, x, y: lax.pmean(((x @ w - y) ** 2).mean(), "data"),
        (P(), P("data"), P("data")), P(), (W, X, Y),
        lambda w, x, y: ((x @ w - y) ** 2).mean(),
    ),
    "a term of the parameters alone": (
        lambda w, x: lax.psum((fnp.tanh(x @ w)).sum(), "data") + (w**2).sum() * 0.5,
        (P(), P("data")), P(), (W, X),
        lambda w, x: fnp.tanh(x @ w).sum() + (w**2).sum() * 0.5,
    ),
    "a term inside the sum": (
        lambda w, x: lax.pmean((x @ w).mean() + (w**2).sum(), "data"),
        (P(), P("data")), P(), (W, X),
        lambda w, x: (x @ w).mean() + (w**2).sum(),
    ),
    "a copy after the sum meets what differs": (
        lambda w, x: lax.psum((lax.psum(x, "data").sum() * w * x.sum(0)).sum(), "data") * w.sum(),
        (P(), P("data")), P(), (W, X),
        lambda w, x: (x.reshape(4, 2, 3).sum(0).sum() * w * x.reshape(4, 2, 3).sum(1)).sum() * w.sum(),
    ),
    "results that stay divided": (
        lambda w, x: fnp.sin(x * w), (P(), P("data")), P("data"), (W, X), lambda w, x: fnp.sin(x * w),
    ),
    "normalization over ranks": (
        lambda x: (x - lax.pmean(x.mean(0), "data")) / fnp.sqrt(lax.pmean((x**2).mean(0), "data")),
        (P("data"),), P("data"), (X,),
        lambda x: (x - x.mean(0)) / fnp.sqrt((x**2).mean(0)),
    ),
    "a loop with sums inside": (
        lambda w, x: lax.scan(lambda c, _: (fnp.tanh(lax.psum((x * c).sum(0), "data") / 8 + w), None), w, None, 3)[0],
        (P(), P("data")), P(), (W, X),
        lambda w, x: lax.scan(lambda c, _: (fnp.tanh((x * c).sum(0) / 8 + w), None), w, None, 3)[0],
    ),
    "a loop over divided rows": (
        lambda w, x: lax.psum(lax.scan(lambda c, r: (fnp.tanh(c * r + w), c), w * 0 + 1, x)[1].sum(), "data"),
        (P(), P("data")), P(), (W, X),
        lambda w, x: fx.vmap(
            lambda part: lax.scan(lambda c, r: (fnp.tanh(c * r + w), c), w * 0 + 1, part)[1]
        )(x.reshape(4, 2, 3)).sum(),
    ),
    "a branch": (
        lambda w, x: lax.cond(w.sum() > -100, lambda v: lax.psum((x * v).sum(), "data"), lambda v: v.sum(), w),
        (P(), P("data")), P(), (W, X),
        lambda w, x: (x * w).sum(),
    ),
    "the greatest": (
        lambda w, x: lax.pmax((x * w).max(), "data"), (P(), P("data")), P(), (W, X), lambda w, x: (x * w).max(),
    ),
    "one part": (
        lambda w, x: lax.pbroadcast(fnp.tanh(x @ w), "data", 2).sum(), (P(), P("data")), P(), (W, X),
        lambda w, x: fnp.tanh(x[4:6] @ w).sum(),
    ),
    "all parts": (
        lambda w, x: fnp.tanh(lax.all_gather(x, "data", tiled=True) @ w).sum() + 0 * lax.psum(x.sum(), "data"),
        (P(), P("data")), P(), (W, X), lambda w, x: fnp.tanh(x @ w).sum(),
    ),
    "divided columns": (
        lambda a, b: lax.psum(a @ b, "data"), (P(None, "data"), P("data")), P(), (A, B), lambda a, b: a @ b,
    ),
    "a tree": (
        lambda p, x: {"loss": lax.pmean((fnp.tanh(x @ p["w"]) * p["s"]).mean(), "data"), "rows": x @ p["w"]},
        (P(), P("data")), {"loss": P(), "rows": P("data")}, ({"w": W, "s": 2.0}, X),
        lambda p, x: {"loss": (fnp.tanh(x @ p["w"]) * p["s"]).mean(), "rows": x @ p["w"]},
    ),
}  # fmt: skip

TWO_AXES = {
    "a layer divided both ways": (
        lambda w1, w2, x: lax.pmean((lax.psum(fnp.tanh(x @ w1) @ w2, "model") ** 2).mean(), "data"),
        (P(None, "model"), P("model"), P("data")), P(), (A, B, X),
        lambda w1, w2, x: ((fnp.tanh(x @ w1) @ w2) ** 2).mean(),
    ),
    "both axes on one": (
        lambda w, x: lax.psum(fnp.sin(x @ w).sum(), ("data", "model")),
        (P(), P(("data", "model"))), P(), (W, X),
        lambda w, x: fnp.sin(x @ w).sum(),
    ),
    "one axis left": (
        lambda w, x: lax.psum(x * w, "data"), (P("model"), P("data", "model")), P(None, "model"),
        (B[:, 0], RNG.normal(size=(8, 8))), lambda w, x: (x * w).reshape(2, 4, 8).sum(0),
    ),
}  # fmt: skip


def scalar(f):
    """The sum of squares of all leaves of results, which may be sharded."""
    return lambda *args: sum((fnp.asarray(leaf) ** 2).sum() for leaf in fx.tree.leaves(gather(f(*args))))


def check_all_ways(name, mapped, args, whole):
    positions = tuple(range(len(args)))
    close(mapped(*args), whole(*args), name)
    close(fx.jit(mapped)(*args), whole(*args), name)
    g, h = fx.grad(scalar(mapped), positions), fx.grad(scalar(whole), positions)
    close(g(*args), h(*args), f"{name}: grad")
    close(fx.jit(g)(*args), h(*args), f"{name}: jit of grad")
    direction = fx.tree.map(lambda v: fnp.cos(v), args)
    close(
        fx.jvp(scalar(mapped), args, direction)[1], fx.jvp(scalar(whole), args, direction)[1], f"{name}: jvp"
    )
    close(fx.jvp(g, args, direction)[1], fx.jvp(h, args, direction)[1], f"{name}: forward over reverse")

    def second(f):
        return fx.grad(lambda *a: sum((leaf**3).sum() for leaf in fx.tree.leaves(f(*a))), positions)

    close(second(g)(*args), second(h)(*args), f"{name}: reverse over reverse")
    stacked = fx.tree.map(lambda v: fnp.stack([v, fnp.asarray(v) * 0.5]), args)
    close(fx.vmap(g)(*stacked), fx.vmap(h)(*stacked), f"{name}: vmap of grad")
    numbers = fx.tree.map(lambda v: fnp.asarray(v) * 1.0, whole(*args))
    close(
        fx.vjp(lambda *a: gather(mapped(*a)), *args)[1](numbers),
        fx.vjp(whole, *args)[1](numbers),
        f"{name}: vjp",
    )


def on_ranks_whole_arrays_are_the_oracle(world):
    for mesh, programs in (
        (Mesh(world, {"data": N}), ONE_AXIS),
        (Mesh(world, {"data": 2, "model": -1}), TWO_AXES),
    ):
        for name, (f, in_specs, out_specs, args, whole) in programs.items():
            for check_vma in (True, False):
                mapped = shard_map(f, mesh, in_specs, out_specs, check_vma=check_vma)
                check_all_ways(f"{name}, {check_vma}", mapped, args, whole)


def on_ranks_derivatives_inside_are_reduced_once(world):
    mesh = Mesh(world, {"data": N})

    def whole(w, x):
        return (fnp.tanh(x @ w)).sum() + (w**2).sum()

    expected, each = fx.grad(whole)(W, X), fx.grad(lambda w, x: fnp.tanh(x @ w).sum())(W, X)

    def summed(w, x):  # the loss is one value
        return lax.psum(fnp.tanh(x @ w).sum(), "data") + (w**2).sum()

    def own(w, x):  # every rank has a loss of its own: the gradient is that of their sum
        return fnp.tanh(x @ w).sum()

    specs = (P(), P("data"))
    close(shard_map(fx.grad(summed), mesh, specs, P())(W, X), expected)
    close(shard_map(fx.grad(own), mesh, specs, P())(W, X), each)
    close(shard_map(fx.jit(fx.grad(own)), mesh, specs, P())(W, X), each)
    close(fx.jit(shard_map(fx.grad(own), mesh, specs, P()))(W, X), each)
    close(shard_map(fx.grad(own, 1), mesh, specs, P("data"))(W, X), fx.grad(lambda x: own(W, x))(X))
    close(shard_map(fx.hessian(summed), mesh, specs, P())(W, X), fx.hessian(whole)(W, X))
    close(shard_map(lambda w, x: fx.vjp(summed, w, x)[1](2.0)[0], mesh, specs, P())(W, X), 2 * expected)

    # A derivative of one inside, from outside.
    def norm(f):
        return lambda w, x: (f(w, x) ** 2).sum()

    close(
        fx.grad(norm(shard_map(fx.grad(summed), mesh, specs, P())))(W, X), fx.grad(norm(fx.grad(whole)))(W, X)
    )

    def by_cast(w, x):
        return lax.psum(fx.grad(own)(lax.pcast(w, "data", to="varying"), x), "data")

    close(shard_map(by_cast, mesh, specs, P())(W, X), each)
    # A mean over copies changes nothing; without the bookkeeping, each rank's own is summed by hand.
    close(shard_map(lambda w, x: lax.pmean(fx.grad(summed)(w, x), "data"), mesh, specs, P())(W, X), expected)

    def by_hand(w, x):
        return lax.psum(fx.grad(own)(w, x), "data")

    close(shard_map(by_hand, mesh, specs, P(), check_vma=False)(W, X), each)


def on_ranks_derivatives_inside_of_loops_and_branches(world):
    """What is staged knows of its arguments which of them differ, from step to step."""
    mesh = Mesh(world, {"data": N})
    specs = (P(), P("data"))

    def mean(w, x):
        return (fnp.tanh(x @ w) ** 2).mean()

    def train(loss):
        def step(w, _):
            value, gradient = fx.value_and_grad(loss)(w)
            return w - 0.5 * gradient, value

        return lambda w: lax.scan(step, w, None, 4)

    inside = shard_map(lambda w, x: train(lambda w: lax.pmean(mean(w, x), "data"))(w), mesh, specs, P())
    expected = train(lambda w: mean(w, X))(W)
    close(inside(W, X), expected)
    close(fx.jit(inside)(W, X), expected)
    close(
        fx.grad(lambda w: inside(w, X)[1].sum())(W),
        fx.grad(lambda w: train(lambda w: mean(w, X))(w)[1].sum())(W),
    )

    # A carry that is every process's own.
    def drift(w, x):
        def step(c, _):
            return c - fx.grad(lambda v: (v * x).sum() ** 2)(c), None

        return lax.psum(lax.scan(step, w, None, 2)[0], "data")

    def whole(w):
        parts = X.reshape(N, 2, 3)
        total = 0.0
        for part in parts:
            c = w
            for _ in range(2):
                c = c - fx.grad(lambda v, part=part: (v * part).sum() ** 2)(c)
            total = total + c
        return total

    own = shard_map(lambda w, x: drift(lax.pcast(w, "data", to="varying"), x), mesh, specs, P())
    close(own(W, X), whole(W))

    def branch(w, x):
        return lax.cond(w.sum() > 0, fx.grad(lambda v: lax.pmean(mean(v, x), "data")), lambda v: v, w)

    close(shard_map(branch, mesh, specs, P())(W, X), fx.grad(lambda w: mean(w, X))(W))

    def mean_over(w, x):
        return lax.pmean(mean(w, x), "data")

    def until(w, x):
        return lax.while_loop(lambda w: mean_over(w, x) > 0.1, lambda w: w - fx.grad(mean_over)(w, x), w)

    mapped = shard_map(until, mesh, specs, P())
    one = lax.while_loop(lambda w: mean(w, X) > 0.1, lambda w: w - fx.grad(mean)(w, X), W)
    close(mapped(W, X), one)


def on_ranks_sharded_values(world):
    mesh = Mesh(world, {"data": N})
    xs = shard(X, mesh, P("data"))
    assert isinstance(xs, Sharded) and xs.shape == X.shape and xs.local.shape == (2, 3)
    close(xs, X)
    close(from_local(X[2 * world.rank : 2 * world.rank + 2], mesh, P("data")), X)
    root = world.rank == 0
    close(scatter({"x": X} if root else None, mesh, P("data")), {"x": X})
    close(replicate([W, 3] if root else None, mesh), [W, 3])
    padded = scatter(X[:5] if root else None, mesh, P("data"), pad=True)
    close(padded, X[:5])
    assert padded.shape == (5, 3) and padded.local.shape == (2, 3)
    close(padded.valid, np.ones((5, 3), bool))
    assert padded.valid.local.sum() == 3 * [2, 2, 1, 0][world.rank]
    masked = shard_map(lambda x, v: lax.psum(fnp.where(v, fnp.cos(x), 0).sum(), "data"), mesh, P("data"), P())
    close(masked(padded, padded.valid), np.cos(X[:5]).sum())
    both = Mesh(world, {"a": 2, "b": 2})
    for spec in (P("a", "b"), P("b"), P(("b", "a")), P(None, "b"), P()):
        table = np.arange(32.0).reshape(8, 4)
        parts = scatter(table if root else None, both, spec)
        close(parts, table)
        close(parts.local, shard(table, both, spec).local)
    f = shard_map(lambda w, x: lax.pmean((fnp.sin(x * w)).mean(), "data"), mesh, (P(), P("data")), P())
    close(fx.grad(f, (0, 1))(W, xs), fx.grad(lambda w, x: fnp.sin(x * w).mean(), (0, 1))(W, X))
    # What was divided is handed on: nothing is sent in between.
    h = shard_map(lambda x: x**2, mesh, P("data"), P("data"))
    close(h(h(xs)), X**4)
    steps = fx.tree.map(lambda v: v - 0.5, h(xs))
    close(steps, X**2 - 0.5)
    with pytest.raises(TypeError, match="gather"):
        np.asarray(xs)
    with pytest.raises(TypeError, match="in_specs says"):
        shard_map(lambda x: x, mesh, P(), P())(xs)


def on_ranks_nothing_is_remembered_that_has_changed(world):
    """Neither what functions close over, nor the axis that had the same name, nor what was a copy."""
    mesh, two = Mesh(world, {"data": N}), Mesh(world, {"rest": 2, "data": 2})
    factor = [1.0]
    total = shard_map(lambda x: lax.psum((x * factor[0]).sum(), "data"), mesh, P("data"), P())
    close(total(X), X.sum())
    factor[0] = 3.0
    close(total(X), 3 * X.sum())

    compiled = fx.jit(lambda x: lax.psum(x, "data") * 1.0)

    def loop(x):
        return lax.scan(lambda c, _: (lax.psum(c, "data"), None), x, None, 2)[0]

    for _ in range(3):
        with mesh:
            assert compiled(1.0) == 4 and fx.grad(loop)(1.0) == loop(1.0) == 16
        with two:
            assert compiled(1.0) == 2 and fx.grad(loop)(1.0) == loop(1.0) == 4
        close(fx.vmap(compiled, axis_name="data")(np.ones(3)), np.full(3, 3.0))
        with pytest.raises(NameError):
            compiled(1.0)

    gradient = fx.jit(fx.grad(lambda w, x: fnp.tanh(x @ w).sum()))
    for _ in range(2):
        for spec in (P("data"), P()):
            close(shard_map(gradient, mesh, (P(), spec), P())(W, X), gradient(W, X))


def on_ranks_mistakes_are_named(world):
    mesh = Mesh(world, {"data": N})
    with pytest.raises(ValueError, match="differs along 'data'"):
        shard_map(lambda x: x.sum(), mesh, P("data"), P())(X)
    with pytest.raises(ValueError, match=r"axis 0 of shape \(7, 3\) cannot be divided into 4 equal parts"):
        shard_map(lambda x: x, mesh, P("data"), P("data"))(X[:7])
    with pytest.raises(ValueError, match="has 1 axes, and the spec"):
        shard_map(lambda x: x, mesh, P(None, "data"), P("data"))(W)
    with pytest.raises(NameError, match="no axis 'model'"):
        shard_map(lambda x: x, mesh, P("model"), P())(X)
    with pytest.raises(TypeError, match="PartitionSpecs"):
        shard_map(lambda x: x, mesh, "data", P())(X)
    with pytest.raises(ValueError, match=r"axes \{'a': 3\} for 4 processes"):
        Mesh(world, {"a": 3})
    shard_map(lambda x: x.sum(), mesh, P("data"), P(), check_vma=False)(X)
    kept = []
    shard_map(lambda x: kept.append(x) or x, mesh, P("data"), P("data"))(X)
    with pytest.raises(RuntimeError, match="outside that transform"):
        kept[0] + 1


def on_ranks_the_examples_of_the_page(world):
    page = str(ROOT / "docs" / "howto" / "shard_map.md")
    assert doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS).failed == 0


def test_on_ranks():
    run_on_ranks(__name__, N)


def test_one_process_is_a_mesh():
    mesh = Mesh(Communicator(), {"data": 1})
    for name, (f, in_specs, out_specs, args, whole) in ONE_AXIS.items():
        if name not in ("a copy after the sum meets what differs", "a loop over divided rows", "one part"):
            check_all_ways(name, shard_map(f, mesh, in_specs, out_specs), args, whole)


def test_a_mesh_as_jax_makes_it():
    mesh = fx.make_mesh((1, -1), ("data", "model"))
    assert mesh == Mesh(None, {"data": 1, "model": 1}) and isinstance(mesh, fx.sharding.Mesh)
    assert fx.make_mesh((1,), "data", devices=fx.devices("cpu")).axis_names == ("data",)
    assert fx.P is fx.sharding.PartitionSpec is P and fx.shard_map is shard_map
    assert [*P("data", None)] == ["data", None] and len(P()) == 0 and P("data")[0] == "data"
    found = fx.shard_map(lambda x: fx.lax.psum(x.sum(), ("data", "model")), mesh, fx.P("data"), fx.P())(X)
    np.testing.assert_allclose(found, X.sum())
    with pytest.raises(
        ValueError, match=r"axes \{'data': 8\} of 8 devices, and there is 1: one for each process"
    ) as told:
        fx.make_mesh((8,), ("data",))
    assert "mpirun -n 8" in told.value.hint
    with pytest.raises(ValueError, match="of 2 devices, and there is 1"):
        fx.make_mesh((1,), ("data",), devices=fx.devices("cpu") * 2)
    with pytest.raises(ValueError, match="make_mesh: axes"):
        fx.make_mesh((1,), ("data", "model"))
    with pytest.raises(TypeError, match="Mesh takes a group of processes") as told:
        fx.sharding.Mesh(np.array(fx.devices("cpu")), ("data",))
    assert "fx.make_mesh" in told.value.hint


def test_device_put_with_a_sharding():
    mesh = fx.make_mesh((1,), ("data",))
    sharding = fx.NamedSharding(mesh, P("data"))
    assert sharding.shard_shape((4, 3)) == (4, 3) and sharding.is_fully_replicated
    assert sharding == fx.NamedSharding(mesh, P("data", None)) != fx.NamedSharding(mesh, P())
    assert len({sharding, fx.NamedSharding(mesh, P("data", None))}) == 1
    placed = fx.device_put({"w": W, "b": 0.5}, {"w": sharding, "b": fx.NamedSharding(mesh, P())})
    np.testing.assert_array_equal(placed["w"], W)
    assert placed["b"].shape == ()
    gradient = fx.grad(fx.jit(lambda w: (fx.device_put(w, sharding) ** 2).sum()))(W)
    np.testing.assert_allclose(gradient, 2 * W)
    with pytest.raises(ValueError, match="has 1 axes, and the spec"):
        fx.device_put(np.ones(2), fx.NamedSharding(mesh, P(None, "data")))
    with pytest.raises(NameError, match="no axis 'x'"):
        fx.NamedSharding(mesh, P("x"))


def on_ranks_a_sharding_of_parts_is_refused(world):
    sharding = fx.NamedSharding(fx.make_mesh((2, -1), ("data", "model")), P("data"))
    assert (
        sharding.shard_shape(X.shape) == (X.shape[0] // 2, *X.shape[1:]) and not sharding.is_fully_replicated
    )
    with pytest.raises(NotImplementedError, match="divides arrays among processes") as told:
        fx.device_put(X, sharding)
    assert "fx.distributed.shard" in told.value.hint
    np.testing.assert_array_equal(fx.device_put(X, fx.NamedSharding(sharding.mesh, P())), X)
