"""grad, vjp, jvp, linearize, Jacobians and their kin, against JAX."""

import numpy
import pytest

from tests.parity.oracle import agree, both_refuse

V = numpy.array([0.3, -1.2, 2.0])
W = numpy.array([1.5, 0.7, -0.4])
M = numpy.array([[0.5, -1.0, 0.2], [1.1, 0.3, -0.7]])
TREE = {"w": M, "b": (V[:2], None), "s": 1.5}


def loss(np):
    return lambda x, y, z=2.0: np.sum(np.sin(x) * y**2) * z


def model(np):
    def f(params, x):
        hidden = np.tanh(params["w"] @ x + params["b"][0])
        return {"h": hidden, "s": (np.sum(hidden) * params["s"], None)}

    return f


def scalar_model(np):
    return lambda params, x: model(np)(params, x)["s"][0]


def with_aux(np):
    return lambda x, y: (np.sum(x * y), {"x": x * 2.0, "n": (y, None)})


PROGRAMS = {
    # -- grad and value_and_grad ---------------------------------------------------------------------------------
    "grad of a scalar": lambda fx, np: fx.grad(np.sin)(0.5),
    "grad of an array": lambda fx, np: fx.grad(loss(np))(V, W),
    "argnums": lambda fx, np: fx.grad(loss(np), argnums=1)(V, W),
    "argnums, negative": lambda fx, np: fx.grad(loss(np), argnums=-1)(V, W, 3.0),
    "argnums, one in a tuple": lambda fx, np: fx.grad(loss(np), argnums=(1,))(V, W),
    "argnums, a list": lambda fx, np: fx.grad(loss(np), argnums=[0, 1])(V, W),
    "argnums, reversed and negative": lambda fx, np: fx.grad(loss(np), argnums=(-1, 0))(V, W, 3.0),
    "a pytree": lambda fx, np: fx.grad(scalar_model(np))(TREE, V),
    "a pytree among argnums": lambda fx, np: fx.grad(scalar_model(np), argnums=(0, 1))(TREE, V),
    "keyword arguments": lambda fx, np: fx.grad(loss(np))(V, y=W, z=0.5),
    "has_aux": lambda fx, np: fx.grad(with_aux(np), has_aux=True)(V, W),
    "has_aux, a list": lambda fx, np: fx.grad(lambda x: [x**2, x + 1.0], has_aux=True)(2.0),
    "value_and_grad": lambda fx, np: fx.value_and_grad(loss(np), argnums=(0, 1))(V, W),
    "value_and_grad, has_aux": lambda fx, np: fx.value_and_grad(with_aux(np), has_aux=True)(V, W),
    "allow_int": lambda fx, np: fx.grad(lambda x, n: np.sum(x * n), argnums=(0, 1), allow_int=True)(
        V, numpy.arange(3)
    ),
    "a result that does not depend": lambda fx, np: fx.grad(lambda x, y: np.sum(y))(V, W),
    "an unused leaf": lambda fx, np: fx.grad(lambda d: np.sum(d["a"]))({"a": V, "b": M, "c": 1.0}),
    "the argument itself": lambda fx, np: fx.grad(lambda x: x)(2.0),
    "an argument given twice": lambda fx, np: fx.grad(lambda x, y: np.sum(x * y), argnums=(0, 1))(V, V),
    "holomorphic": lambda fx, np: fx.grad(lambda z: np.sin(z) * z, holomorphic=True)(0.3 + 0.5j),
    "holomorphic, value": lambda fx, np: fx.value_and_grad(lambda z: np.sum(z**2), holomorphic=True)(V + 1j),
    "one-element array by index": lambda fx, np: fx.grad(lambda x: np.exp(x)[0])(V),
    # -- vjp -------------------------------------------------------------------------------------------------------
    "vjp": lambda fx, np: (lambda y, pull: (y, pull(W)))(*fx.vjp(lambda x: np.sin(x) * x, V)),
    "vjp of two": lambda fx, np: (lambda y, pull: (y, pull(2.0)))(*fx.vjp(loss(np), V, W)),
    "vjp, pytrees": lambda fx, np: fx.vjp(model(np), TREE, V)[1]({"h": V[:2], "s": (2.0, None)}),
    "vjp, has_aux": lambda fx, np: (lambda y, pull, aux: (y, pull(1.0), aux))(
        *fx.vjp(with_aux(np), V, W, has_aux=True)
    ),
    "vjp, integer argument": lambda fx, np: fx.vjp(lambda x, n: x * n, V, numpy.arange(3))[1](W),
    "vjp, integer result": lambda fx, np: fx.vjp(lambda x: (x * 2.0, np.sum(x > 0)), V)[1](
        (W, numpy.zeros((), fx.float0))
    ),
    "vjp, no dependence": lambda fx, np: fx.vjp(lambda x: np.ones(2), V)[1](V[:2]),
    "vjp, several results, the same twice": lambda fx, np: fx.vjp(lambda x: (x, x, np.sin(x)), V)[1](
        (V, W, W)
    ),
    "vjp of no argument": lambda fx, np: fx.vjp(lambda: np.ones(2))[1](V[:2]),
    # -- jvp -------------------------------------------------------------------------------------------------------
    "jvp": lambda fx, np: fx.jvp(lambda x: np.sin(x) * x, (V,), (W,)),
    "jvp, lists": lambda fx, np: fx.jvp(lambda x, y: x * y, [V, W], [W, V]),
    "jvp, pytrees": lambda fx, np: fx.jvp(model(np), (TREE, V), (TREE, W)),
    "jvp, has_aux": lambda fx, np: fx.jvp(with_aux(np), (V, W), (W, V), has_aux=True),
    "jvp, integer argument": lambda fx, np: fx.jvp(
        lambda x, n: x * n, (V, numpy.arange(3)), (W, numpy.zeros(3, fx.float0))
    ),
    "jvp, integer result": lambda fx, np: fx.jvp(lambda x: (x, x > 0), (V,), (W,)),
    "jvp, no dependence": lambda fx, np: fx.jvp(lambda x: np.ones(2), (V,), (W,)),
    # -- linearize, linear_transpose -------------------------------------------------------------------------------
    "linearize": lambda fx, np: (lambda y, push: (y, push(W), push(V)))(
        *fx.linearize(lambda x: np.sin(x) * x, V)
    ),
    "linearize, pytrees": lambda fx, np: (lambda y, push: (y, push(TREE, W)))(
        *fx.linearize(model(np), TREE, V)
    ),
    "linearize, has_aux": lambda fx, np: (lambda y, push, aux: (y, push(W, V), aux))(
        *fx.linearize(with_aux(np), V, W, has_aux=True)
    ),
    "linearize, no dependence": lambda fx, np: (lambda y, push: (y, push(W)))(
        *fx.linearize(lambda x: np.ones(2), V)
    ),
    "linear_transpose": lambda fx, np: fx.linear_transpose(lambda x: M @ x, V)(W[:2]),
    "linear_transpose, several": lambda fx, np: fx.linear_transpose(
        lambda x, y: (M @ x + y, np.sum(y)), V, V[:2]
    )((W[:2], 2.0)),
    "linear_transpose, integers": lambda fx, np: fx.linear_transpose(
        lambda x: np.sum(2 * x[1:]), numpy.arange(3)
    )(numpy.int64(3)),
    "linear_transpose, an integer": lambda fx, np: fx.linear_transpose(lambda x: 2 * x, 1)(3),
    "float0, linearize": lambda fx, np: (lambda y, push: (y, push(W)))(
        *fx.linearize(lambda x: (x, np.argmax(x)), V)
    ),
    "float0, jit": lambda fx, np: fx.jit(fx.grad(lambda x, i: x[i], argnums=(0, 1), allow_int=True))(V, 1),
    "float0, vmap": lambda fx, np: fx.vmap(fx.grad(lambda x, i: x[i], argnums=(0, 1), allow_int=True))(
        M, numpy.array([2, 0])
    ),
    "float0, jacfwd": lambda fx, np: fx.jacfwd(lambda x: (np.argmax(x), x), 0)(V),
    "linear_transpose, pytrees": lambda fx, np: fx.linear_transpose(
        lambda d: {"s": d["w"] @ V + d["b"][0] * 3.0, "t": d["s"] * W}, TREE
    )({"s": V[:2], "t": W}),
    "linear_transpose, shapes only": lambda fx, np: fx.linear_transpose(
        lambda x: x[::2] * 2.0, fx.ShapeDtypeStruct((3,), numpy.dtype(float))
    )(V[:2]),
    "linear_transpose, zero": lambda fx, np: fx.linear_transpose(lambda x: np.zeros(2), V)(W[:2]),
    "linear_transpose of a jvp": lambda fx, np: fx.linear_transpose(
        lambda t: fx.jvp(lambda x: np.tanh(M @ x), (V,), (t,))[1], V
    )(W[:2]),
    # -- whole Jacobians -------------------------------------------------------------------------------------------
    **{
        f"{name}, {what}": (lambda fx, np, name=name, program=program: program(getattr(fx, name), np))
        for name in ("jacfwd", "jacrev", "jacobian")
        for what, program in {
            "an array": lambda jac, np: jac(lambda x: M @ np.sin(x))(V),
            "a scalar": lambda jac, np: jac(lambda x: x**2)(3.0),
            "a scalar result": lambda jac, np: jac(loss(np))(V, W),
            "matrices": lambda jac, np: jac(lambda m: np.exp(m).T * 2.0)(M),
            "argnums": lambda jac, np: jac(lambda x, y: x * y, argnums=1)(V, W),
            "a tuple of argnums": lambda jac, np: jac(lambda x, y: np.outer(x, y), argnums=(0, 1))(V, W[:2]),
            "pytrees in": lambda jac, np: jac(lambda d: np.tanh(d["w"] @ V) + d["b"][0] * d["s"])(TREE),
            "pytrees out": lambda jac, np: jac(lambda x: {"a": x[:2], "b": (np.sum(x), None)})(V),
            "pytrees in and out": lambda jac, np: jac(model(np))(TREE, V),
            "pytrees, a tuple of argnums": lambda jac, np: jac(model(np), argnums=(0, 1))(TREE, V),
            "pytrees, a tuple of one": lambda jac, np: jac(model(np), argnums=(1,))(TREE, V),
            "has_aux": lambda jac, np: jac(lambda x: (x**2, {"k": x}), has_aux=True)(V),
            "holomorphic": lambda jac, np: jac(lambda z: z * np.sin(z[::-1]), holomorphic=True)(V + 1j * W),
            "keyword arguments": lambda jac, np: jac(lambda x, k: x * k)(V, k=W),
            "no entries": lambda jac, np: jac(lambda x: np.sin(x))(V[:0]),
            "no dependence": lambda jac, np: jac(lambda x: np.ones(2))(V),
        }.items()
    },
    "jacfwd, complex result": lambda fx, np: fx.jacfwd(lambda x: x * 1j)(V),
    "hessian": lambda fx, np: fx.hessian(loss(np))(V, W),
    "hessian, argnums": lambda fx, np: fx.hessian(loss(np), argnums=(0, 1))(V, W),
    "hessian, pytrees": lambda fx, np: fx.hessian(scalar_model(np))(TREE, V),
    "hessian, pytrees and argnums": lambda fx, np: fx.hessian(scalar_model(np), argnums=(0, 1))(TREE, V),
    "hessian, several results": lambda fx, np: fx.hessian(lambda x: {"a": x**3, "b": np.prod(x)})(V),
    "hessian, has_aux": lambda fx, np: fx.hessian(with_aux(np), has_aux=True)(V, W),
    "hvp": lambda fx, np: fx.hvp(lambda x: np.sum(np.sin(x) ** 3), (V,), (W,)),
    "hvp, pytree": lambda fx, np: fx.hvp(lambda p: scalar_model(np)(p, V), (TREE,), (TREE,)),
    # -- stop_gradient ---------------------------------------------------------------------------------------------
    "stop_gradient": lambda fx, np: fx.grad(lambda x: np.sum(x * fx.stop_gradient(x)))(V),
    "stop_gradient, pytree": lambda fx, np: fx.grad(lambda d: np.sum(d["w"] @ V) * fx.stop_gradient(d)["s"])(
        TREE
    ),
    "stop_gradient, jvp": lambda fx, np: fx.jvp(lambda x: x * fx.stop_gradient(np.sin(x)), (V,), (W,)),
    "stop_gradient, second order": lambda fx, np: fx.hessian(lambda x: np.sum(x**2 * fx.stop_gradient(x)))(V),
    # -- closure_convert, eval_shape -------------------------------------------------------------------------------
    "closure_convert": lambda fx, np: fx.grad(
        lambda w: (lambda converted, closed: np.sum(converted(V, *[c * 2.0 for c in closed])))(
            *fx.closure_convert(lambda x: x * w + np.sum(w), V)
        )
    )(W),
    "closure_convert, pytrees": lambda fx, np: fx.grad(
        lambda w: (lambda converted, closed: converted({"x": V}, *closed)["y"])(
            *fx.closure_convert(lambda d: {"y": np.sum(d["x"] * w)}, {"x": V})
        )
    )(W),
    "eval_shape": lambda fx, np: fx.eval_shape(model(np), TREE, V),
    "eval_shape, keywords": lambda fx, np: fx.eval_shape(lambda x, *, k: (x @ k, x > 0), M, k=V),
    "eval_shape, shapes only": lambda fx, np: fx.eval_shape(
        lambda x: np.sum(x, axis=0), fx.ShapeDtypeStruct((2, 3), numpy.dtype("float32"))
    ),
    # -- checkpoint ------------------------------------------------------------------------------------------------
    "checkpoint": lambda fx, np: fx.grad(lambda x: np.sum(fx.checkpoint(np.sin)(np.sin(x))))(V),
    "checkpoint, pytrees": lambda fx, np: fx.value_and_grad(lambda p: fx.checkpoint(model(np))(p, V)["s"][0])(
        TREE
    ),
    "checkpoint, value": lambda fx, np: fx.checkpoint(model(np))(TREE, V),
    "checkpoint, forward": lambda fx, np: fx.jvp(fx.checkpoint(model(np)), (TREE, V), (TREE, W)),
    "checkpoint, hessian": lambda fx, np: fx.hessian(fx.checkpoint(scalar_model(np)), argnums=1)(TREE, V),
    "checkpoint, static_argnums": lambda fx, np: fx.grad(
        fx.checkpoint(lambda x, n: np.sum(x**n) if n else np.sum(x), static_argnums=1)
    )(V, 3),
    "checkpoint, closure": lambda fx, np: fx.grad(
        lambda w: np.sum(fx.checkpoint(lambda x: np.sin(x * w))(V))
    )(W),
    "checkpoint, vmap": lambda fx, np: fx.vmap(fx.grad(fx.checkpoint(lambda r: np.sum(np.sin(r) ** 2))))(M),
    "checkpoint of checkpoint": lambda fx, np: fx.grad(
        fx.checkpoint(lambda x: np.sum(fx.checkpoint(np.tanh)(np.sin(x))))
    )(V),
    # -- jit -------------------------------------------------------------------------------------------------------
    "jit": lambda fx, np: fx.jit(model(np))(TREE, V),
    "jit, static_argnums": lambda fx, np: fx.jit(lambda x, n: x**n if n > 1 else x, static_argnums=(1,))(
        V, 3
    ),
    "jit, static_argnames": lambda fx, np: fx.jit(lambda x, n=2: x**n, static_argnames="n")(V, n=3),
    "jit, keywords": lambda fx, np: fx.jit(lambda x, *, k: x * k["a"])(V, k={"a": W}),
    "jit under grad": lambda fx, np: fx.grad(fx.jit(scalar_model(np)))(TREE, V),
    "grad under jit": lambda fx, np: fx.jit(fx.grad(scalar_model(np)))(TREE, V),
    "jit under jvp, vmap, grad": lambda fx, np: fx.jvp(
        fx.vmap(fx.grad(fx.jit(lambda x: np.sum(np.sin(x) ** 2)))), (M,), (M,)
    ),
    "jit of hessian": lambda fx, np: fx.jit(fx.hessian(loss(np)))(V, W),
    "jit of a closure": lambda fx, np: fx.grad(lambda w: np.sum(fx.jit(lambda x: x * w**2)(V)))(W),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program(program):
    agree(program)


ERRORS = {
    "grad of a vector": lambda fx, np: fx.grad(np.sin)(V),
    "grad of a tuple": lambda fx, np: fx.grad(lambda x: (x, x))(1.0),
    "grad at an integer": lambda fx, np: fx.grad(lambda x: x * 2.0)(1),
    "grad at a boolean": lambda fx, np: fx.grad(lambda x: x * 2.0)(True),
    "grad of a complex result": lambda fx, np: fx.grad(lambda x: x * 1j)(1.0),
    "grad of an integer result": lambda fx, np: fx.grad(lambda x: np.sum(x > 0))(V),
    "holomorphic at a real number": lambda fx, np: fx.grad(np.sin, holomorphic=True)(1.0),
    "holomorphic with a real result": lambda fx, np: fx.grad(np.abs, holomorphic=True)(1j),
    "grad at a string": lambda fx, np: fx.grad(lambda x: x)("a"),
    "argnums out of range": lambda fx, np: fx.grad(np.sin, argnums=1)(1.0),
    "argnums out of range, negative": lambda fx, np: fx.grad(np.sin, argnums=-2)(1.0),
    "has_aux without aux": lambda fx, np: fx.grad(lambda x: x * 2.0, has_aux=True)(1.0),
    "jvp, tangent's shape": lambda fx, np: fx.jvp(np.sin, (V,), (W[:2],)),
    "jvp, tangent's dtype": lambda fx, np: fx.jvp(np.sin, (V,), (W.astype("float32"),)),
    "jvp, tangent's structure": lambda fx, np: fx.jvp(lambda d: d["a"], ({"a": V},), ({"b": V},)),
    "jvp, number of tangents": lambda fx, np: fx.jvp(np.sin, (V,), (W, W)),
    "jvp, no tuple": lambda fx, np: fx.jvp(np.sin, V, V),
    "jvp, integer tangent": lambda fx, np: fx.jvp(lambda n: n * 2.0, (numpy.arange(3),), (numpy.arange(3),)),
    "vjp, cotangent's shape": lambda fx, np: fx.vjp(np.sin, V)[1](W[:2]),
    "vjp, cotangent's structure": lambda fx, np: fx.vjp(lambda x: (x, x), V)[1](V),
    "linearize, number of tangents": lambda fx, np: fx.linearize(np.sin, V)[1](V, V),
    "linearize, tangent's shape": lambda fx, np: fx.linearize(np.sin, V)[1](V[:2]),
    "jacfwd at an integer": lambda fx, np: fx.jacfwd(np.sin)(numpy.arange(3)),
    "jacrev at an integer": lambda fx, np: fx.jacrev(np.sin)(numpy.arange(3)),
    "jacrev of a complex result": lambda fx, np: fx.jacrev(lambda x: x * 1j)(V),
    "jit, no array": lambda fx, np: fx.jit(lambda x: x)("a"),
    "jit, unhashable static argument": lambda fx, np: fx.jit(lambda x, n: x, static_argnums=1)(V, [1]),
    "jit, `if` on a value": lambda fx, np: fx.jit(lambda x: x if x > 0 else -x)(1.0),
    "jit, float()": lambda fx, np: fx.jit(lambda x: float(x))(1.0),
    "linear_transpose, integers to numbers": lambda fx, np: fx.linear_transpose(lambda x: 2.0 * x, 1),
    "linear_transpose, numbers to integers": lambda fx, np: fx.linear_transpose(lambda x: x.astype(int), V),
    "jacrev of an integer result": lambda fx, np: fx.jacrev(np.argmax)(V),
}


@pytest.mark.parametrize("program", ERRORS.values(), ids=ERRORS)
def test_both_refuse(program):
    both_refuse(program)
