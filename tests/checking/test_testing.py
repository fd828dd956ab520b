"""fxgrad.testing: what it accepts is right, what is wrong it finds and names."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.core.primitive import REGISTRY
from fxgrad.testing import (
    check_grads,
    check_jvp,
    check_vjp,
    check_vmap,
    coverage,
    inner,
    measured_jvp,
    random_like,
    strategies,
)

V = np.array([0.3, -1.2, 2.0])


def model(params, x):
    return {"y": fnp.tanh(params["w"] @ x + params["b"]), "n": 3}


PARAMS = {"w": np.arange(6.0).reshape(2, 3) / 5, "b": 0.5}


# -- derivatives ------------------------------------------
@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_right_derivatives_pass(modes):
    check_grads(fnp.sin, (0.5,), order=4, modes=modes)
    check_grads(model, (PARAMS, V), order=2, modes=modes)
    check_grads(lambda x, n: x**n, (V, 3), order=2, modes=modes)
    check_grads(lambda z: z * fnp.conj(z) * fnp.exp(z), (V + 1j,), order=2, modes=modes)
    check_grads(lambda x: fnp.exp(1j * x), (V,), order=2, modes=modes)
    check_grads(fnp.sin, (V.astype("f"),), order=2, modes=modes)
    check_grads(fnp.tanh, (V.astype(np.float16),), order=1, modes=modes)
    check_grads(fnp.sin, (np.zeros((0, 3)),), modes=modes)


def scaled(order, factor):
    """exp, whose derivative of an order is wrong by a factor."""
    f = fx.custom_jvp(fnp.exp)
    if order > 1:
        f.defjvps(lambda t, y, x: t * scaled(order - 1, factor)(x))
    else:
        f.defjvps(lambda t, y, x: t * factor * fnp.exp(x))
    return f


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_the_order_and_the_mode_are_named(order, mode):
    f = scaled(order, 1.01)
    check_grads(f, (V,), order=order - 1, modes=(mode,)) if order > 1 else None
    trail = " of ".join([mode] * order)
    with pytest.raises(
        AssertionError, match=f"check_grads of exp: order {order}, {trail}: the derivative"
    ) as caught:
        check_grads(f, (V,), order=3, modes=(mode,))
    assert "(relative error 0.01)" in str(caught.value).replace("0.0099", "0.01")


def test_tolerances_and_steps():
    f = scaled(1, 1.01)
    check_grads(f, (V,), 1, rtol=0.02)
    check_grads(f, (V,), 1, atol=1.0)
    with pytest.raises(fx.CheckError):
        check_grads(f, (V,), 1, atol=1e-3, rtol=1e-3, eps=1e-3)
    check_grads(fnp.exp, (V,), 1, eps=1e-4)
    with pytest.raises(fx.StructureError, match="modes='fwd'"):
        check_grads(f, (V,), modes="fwd")


def test_a_rule_by_hand():
    def f_jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        return x * y, tx * y + x * ty

    check_jvp(fnp.multiply, f_jvp, (V, 2 * V))
    check_vjp(fnp.multiply, lambda x, y: (x * y, lambda ct: (ct * y, ct * x)), (V, 2 * V))
    with pytest.raises(fx.CheckError, match=r"mine: the derivative.*args\[1\]"):
        check_jvp(fnp.multiply, lambda p, t: (p[0] * p[1], t[0] * p[1]), (V, 2 * V), err_msg="mine")
    with pytest.raises(fx.CheckError, match=r"check_vjp of multiply.*args\[0\]"):
        check_vjp(fnp.multiply, lambda x, y: (x * y, lambda ct: (ct, ct * x)), (V, 2 * V))
    with pytest.raises(fx.CheckError, match=r"result 0 at entry \(1,\) is -3.6, expected 2.88"):
        check_jvp(fnp.multiply, lambda p, t: (p[0] * 3, f_jvp(p, t)[1]), (V, 2 * V))
    with pytest.raises(fx.CheckError, match="result 0 has shape"):
        check_vjp(fnp.multiply, lambda x, y: (fnp.sum(x * y), lambda ct: (ct * y, ct * x)), (V, 2 * V))
    with pytest.raises(fx.CheckError, match="2 results, expected 1"):
        check_vjp(fnp.multiply, lambda x, y: ((x, y), lambda ct: (ct * y, ct * x)), (V, 2 * V))
    with pytest.raises(fx.CheckError, match=r"the tangents have shapes \[\(\)\], expected \[\(3,\)\]"):
        check_jvp(fnp.multiply, lambda p, t: (p[0] * p[1], 0.0), (V, 2 * V))
    with pytest.raises(fx.CheckError, match=r"the cotangents have shapes \[\(3,\)\], expected"):
        check_vjp(fnp.multiply, lambda x, y: (x * y, lambda ct: (ct * y,)), (V, 2 * V))
    check_grads(lambda n: n * 2.0, (3,))  # nothing to differentiate
    with pytest.raises(fx.ConcretizationError, match="traced by jit"):
        fx.jit(lambda x: check_grads(fnp.sin, (x,)))(V)


@given(strategies.arrays(strategies.shapes(max_dims=2)), strategies.dtypes())
def test_measured_derivatives(x, dtype):
    x = x.astype(dtype)
    (t,) = random_like(np.random.default_rng(0), x)
    assert (t.shape, t.dtype) == (x.shape, x.dtype)
    measured = measured_jvp(lambda x: {"y": fnp.sin(x)}, (x,), (t,))["y"]
    tolerance = np.finfo(dtype).eps ** 0.5
    np.testing.assert_allclose(measured, t * np.cos(x), rtol=0, atol=tolerance * 30)
    assert inner([x, 3], [t, 4]) == pytest.approx(np.sum(x.astype(complex) * t).real, rel=1e-6, abs=1e-6)


# -- vmap ------------------------------------------
def test_vmap_against_the_loop():
    check_vmap(model, ({"w": np.arange(6.0).reshape(2, 3), "b": np.ones(3)}, V), ({"w": None, "b": 0}, None))
    check_vmap(fnp.sin, (V,))
    check_vmap(fnp.matmul, (np.ones((2, 3)), V), in_axes=None)
    check_vmap(model, (PARAMS, V.astype("f")), in_axes=None)
    check_vmap(lambda x, n: x**n, (V, 3), in_axes=None)

    def mixed(x):
        return x - (fnp.mean(x) if type(x) is np.ndarray else 0)

    with pytest.raises(fx.CheckError, match=r"check_vmap of mixed: in_axes=0: result 0 at entry"):
        check_vmap(mixed, (np.ones((2, 3)),))
    with pytest.raises(fx.CheckError, match=r"in_axes=\(-1,\): result 0 has dtype float32, expected float64"):
        check_vmap(lambda x: x if type(x) is np.ndarray else fnp.asarray(x, "f4"), (np.ones((2, 3)),), (-1,))


# -- the table ------------------------------------------
def test_the_table_tells_what_transforms_do():
    table = coverage()
    rows = {row.name: row for row in table}
    assert list(rows) == sorted(REGISTRY)
    assert rows["sin"][1:-1] == ("elementwise", "rule", "same rule", "—", "rule", "rule")
    assert rows["floor"].jvp == rows["floor"].reverse == rows["argmax"].jvp == "—"
    assert rows["cumprod"].reverse == "from jvp"
    assert rows["getitem"].transpose == "rule" and rows["contract"].transpose == "rule for each"
    assert rows["cbrt"].kernels["numpy"] is True
    assert all(row.kernels["numpy"] for row in table)
    if "array_api_strict" in rows["cbrt"].kernels:
        assert rows["cbrt"].kernels["array_api_strict"] is False  # the standard has no cube root


def test_the_table_is_printed_and_shown():
    table = coverage()
    lines = repr(table).splitlines()
    assert len(lines) == len(table) + 1 and lines[0].split()[:4] == ["operation", "kind", "jvp", "reverse"]
    assert len({line.index("rule") for line in lines if line.startswith(("sin ", "arctan2 "))}) == 1
    assert table._repr_html_().count("<tr>") == len(lines) and "<td>sin</td>" in table._repr_html_()
    assert "elementwise" in repr(coverage())


# -- strategies ------------------------------------------
@given(
    strategies.shapes(max_dims=3).flatmap(
        lambda shape: st.tuples(strategies.arrays(shape), strategies.axes(shape))
    )
)
def test_axes_fit_their_arrays(pair):
    x, axis = pair
    np.sum(x, axis=axis)
    assert np.unique(x).size == x.size and not np.any(x * 64 == np.round(x * 64))


@given(strategies.broadcastable(3))
def test_broadcastable_shapes_are(shapes):
    assert len(shapes) == 3 and len(np.broadcast_shapes(*shapes)) <= 3


@given(strategies.pytrees(strategies.dtypes(strategies.DTYPES).flatmap(partial(strategies.arrays, (2,)))))
def test_pytrees_of_arrays(tree):
    assert all(leaf.shape == (2,) for leaf in fx.tree.leaves(tree))
