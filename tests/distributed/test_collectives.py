"""Collectives between processes: the same program under `vmap` with a named axis is the oracle, value and
derivatives."""

import ml_dtypes
import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax

from .ranks import run_on_ranks

N = 4
ROTATION = [(i, (i + 1) % N) for i in range(N)]

# Programs of one rank with a value x of shape (4, 3), along an axis "i" of 4.
PROGRAMS = {
    "psum": lambda x: lax.psum(x * x, "i"),
    "psum of a tree": lambda x: lax.psum({"a": x, "b": [x.sum(), 2.0]}, "i")["a"] * x,
    "pmean": lambda x: x - lax.pmean(x, "i"),
    "pmax": lambda x: lax.pmax(x, "i") * x,
    "pmin that ties": lambda x: lax.pmin(fnp.round(x), "i") + x,
    "ties": lambda x: lax.pmax(fnp.minimum(x, 0.5), "i") * x,
    "all_gather": lambda x: fnp.tanh(lax.all_gather(x, "i")).sum(0) * x,
    "all_gather, tiled": lambda x: lax.all_gather(x, "i", axis=1, tiled=True) @ fnp.ones(12),
    "psum_scatter": lambda x: lax.psum_scatter(fnp.sin(x), "i"),
    "psum_scatter, tiled": lambda x: lax.psum_scatter(x * x, "i", scatter_dimension=0, tiled=True),
    "all_to_all": lambda x: lax.all_to_all(x * x, "i", 0, 1),
    "all_to_all, tiled": lambda x: lax.all_to_all(x * x, "i", 0, 1, tiled=True),
    "ppermute": lambda x: lax.ppermute(x * x, "i", ROTATION) * x,
    "ppermute of some": lambda x: lax.ppermute(fnp.exp(x), "i", [(0, 1), (2, 3)]),
    "pshuffle": lambda x: lax.pshuffle(x, "i", [3, 2, 1, 0]) * x,
    "pbroadcast": lambda x: lax.pbroadcast(x * x, "i", 2) * x,
    "pcast": lambda x: lax.psum(lax.pcast(2.0, "i", to="varying") * x, "i"),
    "axis_index": lambda x: x * lax.axis_index("i") / lax.axis_size("i"),
    "softmax over ranks": lambda x: (
        fnp.exp(x - lax.pmax(x, "i")) / lax.psum(fnp.exp(x - lax.pmax(x, "i")), "i")
    ),
    "a loop": lambda x: lax.scan(lambda c, r: (fnp.tanh(lax.psum(c, "i") + r), c), x[0], x)[0],
    "a loop by ranks": lambda x: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c, "i", ROTATION) * 1.1, x),
    "a branch": lambda x: lax.cond(True, lambda v: lax.psum(v * v, "i"), lambda v: v, x),
    "compiled": lambda x: fx.jit(lambda v: lax.psum(v * v, "i") * v)(x),
    "a derivative": lambda x: fx.grad(lambda v: (lax.psum(v * v, "i") * v).sum())(x),
    "mapped": lambda x: fx.vmap(lambda r: lax.psum(r * r, "i"), in_axes=1, out_axes=1)(x),
    "groups": lambda x: lax.psum(x * x, "i", axis_index_groups=[[0, 2], [1, 3]]),
}

WAYS = {
    "value": lambda f: f,
    "grad": lambda f: fx.grad(lambda x: (f(x) ** 2).sum()),
    "jvp": lambda f: lambda x: fx.jvp(f, (x,), (fnp.cos(x),))[1],
    "second order": lambda f: fx.grad(lambda x: (fx.grad(lambda y: (f(y) ** 2).sum())(x) ** 2).sum()),
    "forward over reverse": lambda f: lambda x: fx.jvp(fx.grad(lambda y: (f(y) ** 3).sum()), (x,), (x,))[1],
    "jit": lambda f: fx.jit(f),
    "jit of grad": lambda f: fx.jit(fx.grad(lambda x: (f(x) ** 2).sum())),
    "vmap": lambda f: lambda x: fx.vmap(f)(fnp.stack([x, x + 1])),
    "vmap of grad": lambda f: lambda x: fx.vmap(fx.grad(lambda y: f(y).sum() ** 2))(fnp.stack([x, x + 1])),
    "checkpoint": lambda f: fx.grad(fx.checkpoint(lambda x: (f(x) ** 2).sum())),
    "linearize": lambda f: lambda x: fx.linearize(f, x)[1](x),
}


def on_ranks_programs_are_those_of_a_mapped_axis(world):
    mesh = fx.distributed.Mesh(world, {"i": N})
    xs = np.random.default_rng(0).normal(size=(N, 4, 3))
    for name, program in PROGRAMS.items():
        for way, transform in WAYS.items():
            f = transform(program)
            expected = fx.vmap(f, axis_name="i")(xs)[world.rank]
            with mesh:
                found = f(xs[world.rank])
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=f"{name}, {way}")
            assert type(found) is type(expected) and found.dtype == expected.dtype, (name, way)


def on_ranks_every_dtype_shape_and_layout(world):
    mesh = fx.distributed.Mesh(world, {"i": N})
    rng = np.random.default_rng(1)
    for dtype in (
        np.int8,
        np.uint16,
        np.int64,
        np.float16,
        ml_dtypes.bfloat16,
        np.float32,
        np.complex64,
        complex,
        bool,
    ):
        for shape in ((4, 3), (4, 0), (4,), (4, 2, 3)):
            xs = (rng.normal(size=(N, *shape)) * 4).astype(dtype)
            for name in ("psum", "all_gather", "psum_scatter", "ppermute", "all_to_all"):
                if dtype is bool and name == "psum_scatter":
                    continue
                program = {
                    "psum": lambda x: lax.psum(x, "i"),
                    "all_gather": lambda x: lax.all_gather(x, "i", axis=x.ndim - 1),
                    "psum_scatter": lambda x: lax.psum_scatter(x, "i"),
                    "ppermute": lambda x: lax.ppermute(x, "i", ROTATION),
                    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, x.ndim - 1),
                }[name]
                expected = fx.vmap(program, axis_name="i")(xs)[world.rank]
                for x in (xs[world.rank], np.asfortranarray(xs[world.rank])):
                    with mesh:
                        found = program(x)
                    tolerance = 0 if np.dtype(dtype).kind in "iub" else 2e-2 if found.itemsize == 2 else 1e-6
                    assert found.dtype == expected.dtype and found.shape == expected.shape, (
                        name,
                        dtype,
                        shape,
                    )
                    np.testing.assert_allclose(
                        found.astype(complex),
                        np.asarray(expected).astype(complex),
                        rtol=tolerance,
                        atol=tolerance,
                    )


def on_ranks_two_axes(world):
    mesh = fx.distributed.Mesh(world, {"a": 2, "b": 2})
    xs = np.random.default_rng(2).normal(size=(2, 2, 4))
    programs = {
        "both": lambda x: lax.psum(x * x, ("a", "b")) * x,
        "one, then the other": lambda x: lax.pmax(lax.psum(x * x, "a"), "b") * x,
        "gather of both": lambda x: lax.all_gather(x * x, ("a", "b")).sum(1).sum(),
        "index": lambda x: x * lax.axis_index(("b", "a")) + lax.axis_index("a"),
        "exchange": lambda x: lax.all_to_all(x * x, ("a", "b"), 0, 0),
    }
    for name, program in programs.items():
        for way in ("value", "grad", "jit", "jvp"):
            f = WAYS[way](program)
            expected = fx.vmap(fx.vmap(f, axis_name="b"), axis_name="a")(xs)[
                mesh.coords["a"], mesh.coords["b"]
            ]
            with mesh:
                found = f(xs[mesh.coords["a"], mesh.coords["b"]])
            np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=f"{name}, {way}")


def test_on_ranks():
    run_on_ranks(__name__, N)


def test_a_mesh_of_one_process():
    mesh = fx.distributed.Mesh(fx.distributed.Communicator(), {"i": -1})
    x = np.random.default_rng(0).normal(size=(1, 3))
    with mesh:
        for name in ("psum", "pmax", "all_gather", "a loop", "compiled"):
            f = WAYS["grad"](PROGRAMS[name])
            np.testing.assert_allclose(f(x), fx.vmap(f, axis_name="i")(x[None])[0], rtol=1e-12)
    assert repr(mesh) == "Mesh(i: 1)"
    for wrong in (((1,), ("data",)), (None, ("data",)), (None, (1,))):
        with pytest.raises(TypeError, match="Mesh takes"):
            fx.distributed.Mesh(*wrong)
