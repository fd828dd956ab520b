"""What callbacks are called with, how often and in which order, against JAX."""

from types import SimpleNamespace

import jax
import numpy
import pytest

import fxgrad
import fxgrad.numpy

jax.config.update("jax_enable_x64", True)

JAX = SimpleNamespace(
    **{
        name: getattr(jax, name)
        for name in ("checkpoint", "grad", "hessian", "jit", "jvp", "linearize", "vjp", "vmap")
    },
    **{
        name: getattr(jax, name)
        for name in ("ShapeDtypeStruct", "debug", "linear_transpose", "pure_callback")
    },
)
X = numpy.array([0.5, 1.5, -2.0])


def printed(fx, np, x, transform, capfd):
    """The lines that a transformed function prints."""

    def f(x):
        fx.debug.print("x = {x:.3f}", x=x)
        y = np.sin(x)
        fx.debug.print("y = {:.3f}, {word}", y, word="text")
        return y * x

    transform(fx, np, f)(x)
    if fx is JAX:
        jax.effects_barrier()
    return capfd.readouterr().out


ORDERED = {
    "plain": (lambda fx, np, f: f, 0.5),
    "jit": (lambda fx, np, f: fx.jit(f), 0.5),
    "grad": (lambda fx, np, f: fx.grad(f), 0.5),
    "jit(grad)": (lambda fx, np, f: fx.jit(fx.grad(f)), 0.5),
    "grad(jit)": (lambda fx, np, f: fx.grad(fx.jit(f)), 0.5),
    "grad(checkpoint)": (lambda fx, np, f: fx.grad(fx.checkpoint(f)), 0.5),
    "jvp": (lambda fx, np, f: lambda x: fx.jvp(f, (x,), (1.0,)), 0.5),
    "vjp": (lambda fx, np, f: lambda x: fx.vjp(f, x)[1](1.0), 0.5),
    "linearize": (lambda fx, np, f: lambda x: fx.linearize(f, x)[1](1.0), 0.5),
    "hessian": (lambda fx, np, f: fx.hessian(f), 0.5),
    "vmap": (lambda fx, np, f: fx.vmap(f), X),
    "vmap(grad)": (lambda fx, np, f: fx.vmap(fx.grad(f)), X),
    "grad(vmap)": (lambda fx, np, f: fx.grad(lambda x: np.sum(fx.vmap(f)(x))), X),
}


@pytest.mark.parametrize("name", ORDERED)
def test_the_same_lines_in_the_same_order(name, capfd):
    transform, x = ORDERED[name]
    ours = printed(fxgrad, fxgrad.numpy, x, transform, capfd)
    assert ours == printed(JAX, jax.numpy, x, transform, capfd)
    assert ours.count("\n") == 2 * numpy.size(x) * (2 if "checkpoint" in name else 1)


UNORDERED = {
    "jit(vmap)": lambda fx, np, f: fx.jit(fx.vmap(f)),
    "jit(vmap(grad))": lambda fx, np, f: fx.jit(fx.vmap(fx.grad(f))),
    "vmap(vmap)": lambda fx, np, f: lambda x: fx.vmap(fx.vmap(f))(x.reshape(1, 3)),
}


@pytest.mark.parametrize("name", UNORDERED)
def test_the_same_lines(name, capfd):
    """JAX does not promise an order here; ours is that of the entries."""
    ours = printed(fxgrad, fxgrad.numpy, X, UNORDERED[name], capfd)
    theirs = printed(JAX, jax.numpy, X, UNORDERED[name], capfd)
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    assert [line for line in ours.splitlines() if line[0] == "x"] == [f"x = {x:.3f}" for x in X]


@pytest.mark.parametrize("fx", [fxgrad, JAX], ids=["ours", "theirs"])
def test_transposing_drops_effects(fx, capfd):
    f = fx.linear_transpose(lambda x: (fx.debug.print("{}", x), 2 * x)[1], 1.0)
    assert f(3.0) == (6.0,)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0), (1, None)])
@pytest.mark.parametrize("jitted", [False, True])
def test_pure_callback_is_called_with_the_same_shapes(method, in_axes, jitted):
    def run(fx):
        calls = []

        def add(a, b):
            a, b = numpy.asarray(a), numpy.asarray(b)
            calls.append((a.shape, b.shape))
            return a + b

        def f(a, b):
            out = fx.ShapeDtypeStruct(a.shape, a.dtype)
            return fx.pure_callback(add, out, a, b, vmap_method=method)

        shape = [(3, 2) if axis == 0 else (2, 3) for axis in in_axes]
        args = [
            numpy.ones(s if axis is not None else 2) * (i + 1)
            for i, (s, axis) in enumerate(zip(shape, in_axes))
        ]
        mapped = fx.vmap(f, in_axes=in_axes)
        results = (fx.jit(mapped) if jitted else mapped)(*args)
        return calls, numpy.asarray(results)

    (calls, ours), (their_calls, theirs) = run(fxgrad), run(JAX)
    numpy.testing.assert_array_equal(ours, theirs)
    assert calls == their_calls


def test_what_is_refused_by_both():
    def f(fx, **options):
        return lambda x: fx.pure_callback(numpy.sin, fx.ShapeDtypeStruct((), float), x, **options)

    for fx in (fxgrad, JAX):
        with pytest.raises((TypeError, ValueError)):
            fx.grad(f(fx))(1.0)
        with pytest.raises(NotImplementedError):
            fx.vmap(f(fx))(X)
        with pytest.raises(ValueError):
            fx.debug.print("x", 1.0)
        with pytest.raises(IndexError):
            fx.debug.print("{} {}", 1.0)
