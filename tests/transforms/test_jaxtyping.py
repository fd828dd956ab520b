"""Annotations of jaxtyping on users' functions hold under transforms."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.numpy as fnp

jaxtyping = pytest.importorskip("jaxtyping", reason="jaxtyping is not installed")
beartype = pytest.importorskip("beartype", reason="beartype is not installed")
Floats = jaxtyping.Float

X, W = np.ones((3, 2)), np.array([0.5, -1.0])


@jaxtyping.jaxtyped(typechecker=beartype.beartype)
def predict(x: Floats[fx.Array, "n d"], w: Floats[fx.Array, " d"]) -> Floats[fx.Array, " n"]:
    return fnp.tanh(x @ w)


def loss(w, x):
    return fnp.sum(predict(x, w))


TRANSFORMED = {
    "jit": lambda w: fx.jit(loss)(w, X),
    "grad": lambda w: fx.grad(loss)(w, X),
    "jvp": lambda w: fx.jvp(loss, (w, X), (np.ones_like(w), X)),
    "vmap": lambda w: fx.vmap(loss, in_axes=(None, 0))(w, np.stack([X, X])),
    "hessian": lambda w: fx.hessian(loss)(w, X),
    "jit of vmap of grad": lambda w: fx.jit(fx.vmap(fx.grad(loss), in_axes=(None, 0)))(w, np.stack([X, X])),
}


@pytest.mark.parametrize("transformed", TRANSFORMED.values(), ids=TRANSFORMED.keys())
def test_annotations_hold(transformed):
    transformed(W)
    with pytest.raises(jaxtyping.TypeCheckError):
        transformed(np.ones(3))
