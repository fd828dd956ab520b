"""Tensors in the functional API: every transform of `fxgrad` and functions of `fxgrad.numpy` over values that are, or
close over, Tensors give what they give of arrays, are Tensors where Tensors took part, and are recorded."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad.core import pytree
from fxgrad.core.errors import DTypeError, FxgradError, NonScalarError, StructureError
from fxgrad.core.interpreter import CURRENT, EVAL, Tracer
from fxgrad.core.surface import is_object

X = np.array([0.3, 0.5, 0.8])
K = np.array([0.5, 0.7, 0.9])


def tensor(array=X, **options):
    return torch.tensor(array, **options)


def leaves(tree):
    return pytree.leaves(tree, is_object)


def array_of(value):
    return value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


def close(found, expected):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert not isinstance(a, Tracer)
        np.testing.assert_allclose(array_of(a), array_of(b), rtol=1e-9, atol=1e-12)


def total(tree):
    """A number that depends on every entry of a result."""
    return sum(fnp.sum(leaf * (i + 1.0)) for i, leaf in enumerate(leaves(tree)))


# -- every transform ---------------------------------------------------------------------------------------------------
def summed(f):
    return lambda *args: fnp.sum(f(*args))


TRANSFORMED = {
    "call": lambda f, x: f(x),
    "grad": lambda f, x: fx.grad(summed(f))(x),
    "value_and_grad": lambda f, x: fx.value_and_grad(summed(f))(x),
    "grad(grad)": lambda f, x: fx.grad(lambda a: fnp.sum(fx.grad(summed(f))(a) ** 2))(x),
    "vjp": lambda f, x: (lambda y, pull: (y, pull(y)))(*fx.vjp(f, x)),
    "jvp": lambda f, x: fx.jvp(f, (x,), (x,)),
    "linearize": lambda f, x: (lambda y, push: (y, push(x)))(*fx.linearize(f, x)),
    "vmap": lambda f, x: fx.vmap(f)(x),
    "vmap in chunks": lambda f, x: fx.vmap(f, chunk_size=2)(x),
    "vmap(grad)": lambda f, x: fx.vmap(fx.grad(summed(f)))(fnp.stack([x, 2 * x])),
    "jit": lambda f, x: fx.jit(f)(x),
    "jit(grad)": lambda f, x: fx.jit(fx.grad(summed(f)))(x),
    "grad(jit)": lambda f, x: fx.grad(summed(fx.jit(f)))(x),
    "checkpoint": lambda f, x: fx.checkpoint(f)(x),
    "grad(checkpoint)": lambda f, x: fx.grad(summed(fx.checkpoint(f)))(x),
    "jacfwd": lambda f, x: fx.jacfwd(f)(x),
    "jacrev": lambda f, x: fx.jacrev(f)(x),
    "hessian": lambda f, x: fx.hessian(summed(f))(x),
    "hvp": lambda f, x: fx.hvp(summed(f), (x,), (x,)),
    "scan": lambda f, x: fx.lax.scan(lambda c, a: (c * f(a), c + a), x, fnp.stack([x, x])),
    "map": lambda f, x: fx.lax.map(f, x),
    "cond": lambda f, x: fx.lax.cond(True, f, lambda a: 2 * a, x),
    "fori_loop": lambda f, x: fx.lax.fori_loop(0, 2, lambda i, a: f(a), x),
    "while_loop": lambda f, x: fx.lax.while_loop(lambda a: fnp.sum(a) < 9, lambda a: f(a) + 2, x, max_steps=5),
}  # fmt: skip
# Each as a function of arrays, and as it is written for a Tensor w.
FUNCTIONS = {
    "fnp": (lambda k: lambda a: fnp.sin(fnp.multiply(a, k)), None),
    "composite": (lambda k: lambda a: a * fnp.mean(fnp.stack([k, k * k])) * fnp.var(k), None),
    "operator": (lambda k: lambda a: a * k * a - (a * a + 1) ** k, None),
    "reflected": (lambda k: lambda a: (k * a) ** 2 / (k + 1), None),
    "matmul": (lambda k: lambda a: a * (k @ (k * 2)), None),
    "torch": (lambda k: lambda a: fnp.sin(k * a), lambda w: lambda a: torch.sin(w * a)),
    "method": (lambda k: lambda a: fnp.exp(k * a), lambda w: lambda a: (w * a).exp()),
    "inside": (lambda k: fx.grad(lambda b: fnp.sum(b * b * k)), None),
}


def run(transform, function, w, x):
    arrays, tensors = FUNCTIONS[function]
    written = tensors if tensors is not None and isinstance(w, torch.Tensor) else arrays
    return TRANSFORMED[transform](written(w), x)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMED)
def test_every_transform(transform, function):
    """An array or a Tensor is the argument, a Tensor is closed over; each with and without requires_grad."""
    expected = run(transform, function, K, X)
    by_closed, by_argument = fx.grad(lambda k, x: total(run(transform, function, k, x)), (0, 1))(K, X)
    for closed_over in (False, True, None):
        for argument in (False, True, None):
            w = K if closed_over is None else tensor(K, requires_grad=closed_over)
            x = X if argument is None else tensor(X, requires_grad=argument)
            found = run(transform, function, w, x)
            close(found, expected)
            assert CURRENT.get() is EVAL
            if closed_over or argument:
                wanted = [(w, by_closed)] * bool(closed_over) + [(x, by_argument)] * bool(argument)
                if not any(np.any(gradient) for _, gradient in wanted):
                    continue
                total(found).backward()
                for held, gradient in wanted:
                    close(np.zeros(3) if held.grad is None else held.grad, gradient)


@pytest.mark.parametrize("transform", TRANSFORMED)
def test_of_a_tensor_it_gives_tensors(transform):
    found = leaves(run(transform, "fnp", K, tensor()))
    assert all(type(leaf) is torch.Tensor and not leaf.requires_grad for leaf in found)


LEVELS = {
    "grad": (lambda f, x: torch.func.grad(lambda a: f(a).sum())(x), "grad"),
    "vmap": (lambda f, x: torch.func.vmap(f)(x), "vmap"),
    "jvp": (lambda f, x: torch.func.jvp(f, (x,), (x,)), "jvp"),
    "jacrev": (lambda f, x: torch.func.jacrev(f)(x), "jacrev"),
    "linearize": (lambda f, x: torch.func.linearize(f, x)[1](x), "jvp"),
}


@pytest.mark.parametrize(
    "inner", ["call", "grad", "jvp", "vjp", "vmap", "jit", "checkpoint", "scan", "jacfwd"]
)
@pytest.mark.parametrize("level", LEVELS)
def test_inside_the_levels_of_torch(level, inner):
    transform, name = LEVELS[level]
    w = tensor(K, requires_grad=True)
    mine, theirs = (
        (lambda z: total(run(inner, "fnp", w, fnp.ones(3) * z))),
        (lambda z: total(run(inner, "fnp", K, fnp.ones(3) * z))),
    )
    expected = TRANSFORMED[name](theirs, X) if name not in ("grad", "jacrev", "jvp") else None
    if expected is None:
        row = lambda z: fx.vmap(theirs)(z)  # noqa: E731
        expected = TRANSFORMED[name](row, X)
        expected = expected[1] if level == "linearize" else expected
        found = transform(lambda z: torch.func.vmap(mine)(z), tensor())
    else:
        found = transform(mine, tensor())
    close(found, expected)
    assert all(leaf.requires_grad for leaf in leaves(found) if level != "jvp")


# -- what comes back ---------------------------------------------------------------------------------------------------
def test_each_leaf_comes_back_as_its_own_kind():
    params = {"w": tensor(), "b": np.ones(3)}

    def loss(p):
        assert isinstance(p["w"], torch.Tensor)
        assert not isinstance(p["b"], torch.Tensor)
        return (p["w"].exp() * p["b"]).sum()

    value, gradient = fx.value_and_grad(loss)(params)
    assert isinstance(value, torch.Tensor)
    assert isinstance(gradient["w"], torch.Tensor)
    assert type(gradient["b"]) is np.ndarray
    close(gradient, {"w": np.exp(X), "b": np.exp(X)})


def test_a_gradient_by_an_array_is_a_tensor_where_it_is_recorded():
    w = tensor(requires_grad=True)
    product = lambda held: fx.grad(lambda a: (a * held).sum())  # noqa: E731
    assert type(product(w.detach())(K)) is np.ndarray
    found = product(w)(K)
    found.sum().backward()
    close(w.grad, np.ones(3))
    with torch.no_grad():
        assert not getattr(product(w)(K), "requires_grad", False)


def test_as_torch_func_does():
    w, f = tensor(requires_grad=True), lambda z: (z.sin() * z).sum()
    close(fx.grad(f)(w), torch.func.grad(f)(w))
    close(fx.hessian(f)(w), torch.func.hessian(f)(w))
    close(fx.vmap(fx.grad(f))(torch.stack([w, w])), torch.func.vmap(torch.func.grad(f))(torch.stack([w, w])))
    fx.grad(f)(w).sum().backward()
    first, w.grad = w.grad, None
    torch.func.grad(f)(w).sum().backward()
    close(first, w.grad)


def test_parameters_and_modules():
    model = torch.nn.Linear(3, 1).double()
    x = np.ones((4, 3))
    params = dict(model.named_parameters())
    found = fx.grad(lambda p: (torch.func.functional_call(model, p, torch.tensor(x)) ** 2).mean())(params)
    (model(torch.tensor(x)) ** 2).mean().backward()
    close(found, {name: p.grad for name, p in params.items()})
    per_row = fx.vmap(lambda row: model(torch.as_tensor(row))[0])(torch.tensor(x))
    close(per_row, model(torch.tensor(x))[:, 0])
    assert per_row.requires_grad


def test_auxiliary_results():
    w = tensor(requires_grad=True)
    _, aux = fx.grad(lambda z: ((z * w).sum(), {"y": z * w, "n": 3}), has_aux=True)(K)
    close(aux["y"], X * K)
    assert aux["n"] == 3
    _, _, y = fx.jvp(lambda z: (z * w, z * w), (K,), (K,), has_aux=True)
    assert y.requires_grad


def test_tangents_and_cotangents_may_be_arrays():
    w = tensor()
    close(fx.jvp(torch.sin, (w,), (K,)), fx.jvp(fnp.sin, (X,), (K,)))
    close(fx.vjp(fnp.sin, X)[1](tensor(K)), fx.vjp(fnp.sin, X)[1](K))
    with pytest.raises(
        StructureError, match=r"the tangents have a list of length 1 at \[0\], expected a leaf"
    ):
        fx.jvp(torch.sin, (w,), ([K],))


# -- functions of fxgrad.numpy ---------------------------------------------------------------------------------------
def test_functions_of_arrays_give_tensors():
    w = tensor(requires_grad=True)
    for f in (fnp.sin, fnp.mean, fnp.cumsum, fnp.sort, lambda x: fnp.stack([x, x]), lambda x: fnp.linalg.norm(x),
              lambda x: fnp.where(x > 0.4, x, 0.0), lambda x: fnp.einsum("i,i->", x, x), lambda x: x @ fnp.diag(x),
              lambda x: fnp.interp(x, X, K), lambda x: fnp.concatenate((x, [1.0])), lambda x: fnp.asarray(x),
              lambda x: fnp.reshape(x, (3, 1)), lambda x: fx.lax.dot(x, x), lambda x: fnp.at(x)[0].set(2.0),
              lambda x: fx.stop_gradient(x) + x, lambda x: fnp.pad(x, 1), lambda x: fnp.fft.rfft(x).real):  # fmt: skip
        y = f(w)
        assert type(y) is torch.Tensor
        assert y.requires_grad
        close(y, f(X))
        (gradient,) = torch.autograd.grad(y.sum(), w)
        close(gradient, fx.grad(lambda x, f=f: fnp.sum(f(x)))(X))
    assert type(fnp.sin(w.detach())) is torch.Tensor
    assert fnp.shape(w) == (3,)
    assert not fnp.sin(w.detach()).requires_grad
    assert type(np.sin(w.detach())) is torch.Tensor
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        np.sin(w)


def test_a_result_has_memory_of_its_own():
    w = tensor()
    y = fnp.reshape(w, (3, 1))
    y += 1
    close(w, X)
    v = tensor(requires_grad=True)
    z = v * 1
    fnp.reshape(z, (3, 1)).mul_(2)
    close(z, X)


# -- jit ---------------------------------------------------------------------------------------------------------------
def test_jit_keeps_no_history_and_loses_none():
    w, calls = tensor(K, requires_grad=True), []

    @fx.jit
    def f(a):
        calls.append(a)
        return a * w

    with torch.no_grad():
        close(f(X), X * K)
    (f(X) + f(X)).sum().backward()
    close(w.grad, 2 * X)
    constant = fx.jit(lambda a: (calls.append(a), a * w.detach())[1])
    before = len(calls)
    close(constant(X), constant(X))
    assert len(calls) == before + 1
    g = fx.jit(lambda a: (calls.append(type(a)), a * 2)[1])
    before = len(calls)
    assert type(g(X)) is np.ndarray
    assert type(g(tensor())) is torch.Tensor
    assert type(g(X)) is np.ndarray
    assert g(w).requires_grad
    assert len(calls) == before + 3  # a Tensor with a history is traced
    assert len(set(calls[before:])) == 2


# -- control flow and rules --------------------------------------------------------------------------------------------
def test_control_flow_joins_arrays_and_tensors():
    w = tensor(K, requires_grad=True)
    carry, ys = fx.lax.scan(lambda c, x: (c * w, x), X, np.ones((2, 3)))
    assert carry.requires_grad
    close(carry, X * K * K)
    carry, ys = fx.lax.scan(lambda c, x: (c * w.detach(), x), X, np.ones((2, 3)))
    assert type(carry) is torch.Tensor
    assert type(ys) is np.ndarray
    for flag in (True, False, tensor(np.array(1.0)), tensor(np.array(0.0)) > 1):
        chosen = fx.lax.cond(flag, lambda a: a * w, lambda a: a, X)
        assert isinstance(chosen, torch.Tensor)
        close(chosen, X * K if flag else X)
    with pytest.raises(StructureError, match="expected a leaf as in the carry"):
        fx.lax.scan(lambda c, x: ((c * w, c), x), X, np.ones((2, 3)))


def test_custom_rules():
    @fx.custom_vjp
    def f(a, b):
        return fnp.sin(a) * b

    f.defvjp(lambda a, b: (f(a, b), (a, b)), lambda kept, ct: (ct * fnp.cos(kept[0]) * kept[1] * 10, ct * 20))
    w = tensor(requires_grad=True)
    y = f(w, K)
    close(y, np.sin(X) * K)
    y.sum().backward()
    close(w.grad, 10 * np.cos(X) * K)
    close(fx.grad(lambda a: f(a, w).sum(), 0)(K), 10 * np.cos(K) * X)

    @fx.custom_jvp
    def g(a):
        return fnp.sin(a)

    g.defjvp(lambda primals, tangents: (g(*primals), 10 * tangents[0]))
    w.grad = None
    g(w).sum().backward()
    close(w.grad, np.full(3, 10.0))
    close(fx.jvp(g, (w,), (K,))[1], 10 * K)


# -- what is inside a level stays there --------------------------------------------------------------------------------
def test_a_leaf_made_inside():
    def f(z):
        leaf = (z * 2).detach().requires_grad_()
        (leaf**2).sum().backward()
        return z * leaf.grad

    close(fx.vmap(f)(tensor()), 4 * X * X)
    found = fx.jvp(lambda z: (z * 1).requires_grad_() * 3, (tensor(),), (tensor(K),))
    close(found, (3 * X, 3 * K))
    assert CURRENT.get() is EVAL


@pytest.mark.parametrize(
    "use", [fnp.sin, fx.grad(lambda z: z.sum()), lambda z: fx.grad(lambda a: (a * z).sum())(X)]
)
def test_tangents_of_forward_ad_are_not_lost(use):
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(tensor(), tensor(K))
        with pytest.raises(FxgradError, match="its tangent would be lost"):
            use(dual)


def test_trees_have_tensors_as_leaves():
    tree = {"a": tensor(requires_grad=True), "b": [tensor(K), None, (1.0,)]}
    assert fx.tree.leaves(tree)[0] is tree["a"]
    assert fx.tree.flatten(tree["a"])[0] == [tree["a"]]
    assert fx.tree.structure(tree) == fx.tree.structure({"a": 1, "b": [2, None, (3,)]})
    assert fx.tree.leaves(tree, lambda x: x is None)[2] is None
    assert [type(leaf) for _, leaf in fx.tree.leaves_with_path(tree)] == [torch.Tensor, torch.Tensor, float]
    doubled = fx.tree.map(lambda t: t * 2, tree)
    assert doubled["a"].requires_grad
    assert fx.tree.map_with_path(lambda path, t: fx.tree.keystr(path), tree)["a"] == "['a']"
    assert not fx.tree.is_tree_node(torch.Tensor)
    assert not fx.tree.is_tree_node(torch.nn.Parameter)
    assert fx.tree.broadcast(1, tree) == {"a": 1, "b": [1, None, (1,)]}


def test_messages_name_the_argument():
    integers = torch.tensor([1, 2])
    with pytest.raises(DTypeError, match=r"the argument args\[0\]\['w'\] has integer"):
        fx.grad(lambda p: p["w"].sum())({"w": integers})
    with pytest.raises(NonScalarError, match=r"the result has shape \(3,\)"):
        fx.grad(lambda z: z * 2)(tensor())
