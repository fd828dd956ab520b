"""Results of transforms are the caller's: no array among them shares memory with another, with an argument or with what
a function closes over, and what is written into any array after the call changes no other and no later pullback.
Tensors of the torch surface share memory where they are the same, or views of the same, and say so."""

from __future__ import annotations

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad import lax, tree
from tests.together import together

# Functions of two square matrices that hand values on: (x, c) → pytree. c is not differentiated, or closed over.
FUNCTIONS = {
    "identity": lambda x, c: x,
    "pair": lambda x, c: (x, x),
    "slice": lambda x, c: x[:1],
    "rows": lambda x, c: (x[0], x[0], x[1]),
    "entry": lambda x, c: x[0, 0],
    "transpose": lambda x, c: x.T,
    "swapped": lambda x, c: (x.T, fnp.swapaxes(x, 0, 1)),
    "reshape": lambda x, c: {"flat": fnp.ravel(x), "same": fnp.reshape(x, x.shape)},
    "broadcast": lambda x, c: fnp.broadcast_to(x[0], x.shape),
    "flip": lambda x, c: fnp.flip(x, 0),
    "real": lambda x, c: (fnp.real(x), fnp.asarray(x), +x),
    "diagonal": lambda x, c: fnp.diagonal(x),
    "constant": lambda x, c: (c, x * 2),
    "constants": lambda x, c: (c, c, c[:1], c.T),
    "computed": lambda x, c: (lambda y: (y, y, y[:1], y.T))(fnp.exp(x)),
    "product": lambda x, c: (lambda y: (y, x, c))(x @ c),
    "sum": lambda x, c: (x + c, x - c, x * c),
    "where": lambda x, c: fnp.where(c > 1, x, c),
    "nothing": lambda x, c: fnp.zeros_like(x),
}


def total(result):
    """A scalar in which each part of a result is linear."""
    return sum(fnp.sum(leaf) for leaf in tree.leaves(result))


def ones_for(result):
    return tree.map(lambda leaf: np.ones_like(leaf) * 1.5, result)


class Call:
    """What one use of a transform has: its `results`, what was `given`, and what can be called `again`."""

    def __init__(self, results, given, again=None):
        self.results, self.given, self.again = results, given, again

    def arrays(self):
        return [a for a in tree.leaves((self.results, self.given)) if isinstance(a, np.ndarray)]


def matrix(k=0.0):
    return np.array([[0.5, 1.5], [2.5, 3.5]]) + k


def closing(f, c):
    return lambda x: f(x, c)


def use_vjp(f):
    x, c = matrix(), matrix(1)
    y, pullback = fx.vjp(closing(f, c), x)
    cts = ones_for(y)
    return Call((y, pullback(cts)), (x, c, cts), lambda: pullback(ones_for(y)))


def use_vjp_of_both(f):
    x, c = matrix(), matrix(1)
    y, pullback, aux = fx.vjp(lambda a, b: (f(a, b), f(b, a)), x, c, has_aux=True)
    cts = ones_for(y)
    return Call((y, aux, pullback(cts)), (x, c, cts), lambda: pullback(ones_for(y)))


def use_grad(f):
    x, c = matrix(), matrix(1)
    found = fx.value_and_grad(lambda a, b: (total(f(a, b)), (f(a, b), a, b)), argnums=(0, 1), has_aux=True)(
        x, c
    )
    return Call((found, fx.grad(lambda a: total(f(a, c)))(x)), (x, c))


def use_jvp(f):
    x, c, t = matrix(), matrix(1), matrix(2)
    return Call(fx.jvp(lambda a: (f(a, c), (f(a, c), a, c)), (x,), (t,), has_aux=True), (x, c, t))


def use_linearize(f):
    x, c, t = matrix(), matrix(1), matrix(2)
    y, push = fx.linearize(closing(f, c), x)
    return Call((y, push(t)), (x, c, t), lambda: push(matrix(2)))


def use_transpose(f):
    x, c = matrix(), matrix(1)

    def linear(a):
        return fx.jvp(closing(f, c), (matrix(),), (a,))[1]

    pullback = fx.linear_transpose(linear, x)
    cts = ones_for(linear(x))
    return Call(pullback(cts), (x, c, cts), lambda: pullback(ones_for(linear(x))))


def use_vmap(in_axes, out_axes, **options):
    def use(f):
        x, c = np.stack([matrix(), matrix(4), matrix(5)], in_axes), matrix(1)
        both = fx.vmap(f, in_axes=(in_axes, None), out_axes=out_axes, **options)
        if out_axes is None:
            both = fx.vmap(lambda a, b: f(b, c), in_axes=(in_axes, None), out_axes=None, **options)
        return Call(both(x, c), (x, c))

    return use


def use_jit(f):
    x, c = matrix(), matrix(1)
    compiled, closed = fx.jit(f), fx.jit(closing(f, c))
    return Call((compiled(x, c), compiled(x, c), closed(x), closed(x)), (x, c))


def use_checkpoint(f):
    x, c = matrix(), matrix(1)
    saved = fx.checkpoint(f)
    y, pullback = fx.vjp(lambda a: saved(a, c), x)
    cts = ones_for(y)
    return Call((saved(x, c), y, pullback(cts)), (x, c, cts), lambda: pullback(ones_for(y)))


def use_custom_vjp(f):
    x, c = matrix(), matrix(1)
    ruled = fx.custom_vjp(f)
    ruled.defvjp(lambda a, b: (f(a, b), (a, b)), lambda kept, ct: kept)
    y, pullback = fx.vjp(ruled, x, c)
    cts = ones_for(y)
    return Call((y, pullback(cts)), (x, c, cts), lambda: pullback(ones_for(y)))


def use_custom_cotangent(f):
    """A backward rule that hands on cotangents as they are, what it keeps and what it closes over."""
    x, c, d = matrix(), matrix(1), matrix(4)
    ruled = fx.custom_vjp(lambda a, b, e, g: a * 2)
    ruled.defvjp(lambda a, b, e, g: (a * 2, (a, total(f(a, c)))), lambda kept, ct: (ct, ct, kept[0], d))
    y, pullback = fx.vjp(ruled, x, c, c, c)
    ct = matrix(3)
    return Call((y, pullback(ct), pullback(ct)), (x, c, d, ct), lambda: pullback(matrix(3))[:3])


def use_custom_jvp(f):
    x, c, t = matrix(), matrix(1), matrix(2)
    ruled = fx.custom_jvp(lambda a: (a, f(a, c)))
    ruled.defjvp(lambda primals, tangents: (ruled(*primals), (tangents[0], f(*tangents, c * 0))))
    return Call((fx.jvp(ruled, (x,), (t,)), fx.vmap(ruled)(c[None])), (x, c, t))


def use_scan(f):
    x, c, rows = matrix(), matrix(1), np.stack([matrix(3), matrix(4)])
    found = lax.scan(lambda carry, row: ((carry[1], row), (f(row, c), carry)), (x, c), rows)
    return Call(found, (x, c, rows))


def use_loops(f):
    x, c, none = matrix(), matrix(1), np.stack([matrix(3), matrix(4)])[:0]
    found = (
        lax.while_loop(lambda s: s[0] < 0, lambda s: s, (1.0, x, c)),
        lax.fori_loop(0, 0, lambda i, s: s, (x, c)),
        lax.fori_loop(0, 2, lambda i, s: (s[1], s[0]), (x, c)),
        lax.scan(lambda s, row: (s, row), (x, c), none)[0],
        lax.map(lambda row: (row, f(row, c)), np.stack([x, c])),
        lax.associative_scan(lambda a, b: b, np.stack([x, c])),
        lax.associative_scan(lambda a, b: b, x[None]),
    )
    return Call(found, (x, c))


def use_branches(f):
    x, c = matrix(), matrix(1)
    found = (
        lax.cond(True, f, lambda a, b: f(b, a), x, c),
        lax.switch(1, [lambda a, b: f(b, a), f], x, c),
        lax.cond(True, lambda: f(c, x), lambda: f(x, c)),
    )
    return Call(found, (x, c))


def use_jacobians(f):
    x, c = matrix(), matrix(1)
    g = closing(f, c)
    found = (
        fx.jacrev(g)(x),
        fx.jacfwd(lambda a: (g(a), (g(a), a, c)), has_aux=True)(x),
        fx.hessian(lambda a: total(g(a)) ** 2)(x),
        fx.hvp(lambda a: total(g(a)), (x,), (c,)),
    )
    return Call(found, (x, c))


def use_callback(f):
    x, c = matrix(), matrix(1)
    shape = fx.ShapeDtypeStruct(x.shape, x.dtype)
    return Call(fx.pure_callback(lambda a: c, shape, x), (x, c))


USES = {
    "vjp": use_vjp,
    "vjp_of_both": use_vjp_of_both,
    "grad": use_grad,
    "jvp": use_jvp,
    "linearize": use_linearize,
    "linear_transpose": use_transpose,
    "vmap": use_vmap(0, 0),
    "vmap_columns": use_vmap(1, -1),
    "vmap_constant": use_vmap(0, None),
    "vmap_chunks": use_vmap(0, 0, chunk_size=2),
    "vmap_chunks_constant": use_vmap(0, None, chunk_size=2),
    "vmap_split": use_vmap(0, 0, control="split"),
    "jit": use_jit,
    "checkpoint": use_checkpoint,
    "custom_vjp": use_custom_vjp,
    "custom_cotangent": use_custom_cotangent,
    "custom_jvp": use_custom_jvp,
    "scan": use_scan,
    "loops": use_loops,
    "branches": use_branches,
    "jacobians": use_jacobians,
    "pure_callback": use_callback,
}
ONLY = {"pure_callback": {"identity"}, "vmap_columns": set(FUNCTIONS) - {"entry"}}


def check_apart(use):
    """Write into each array of a call of its own, and look at all the others."""
    before = [a.copy() for a in use().arrays()]
    for i in range(len(before)):
        call = use()
        arrays = call.arrays()
        assert arrays[i].flags.writeable, f"array {i} is read-only"
        arrays[i][...] = 77
        for k, (array, value) in enumerate(zip(arrays, before, strict=True)):
            assert k == i or np.array_equal(array, value), (
                f"writing into array {i} of {len(arrays)} changes {k}"
            )
        if call.again is not None:
            after, expected = tree.leaves(call.again()), tree.leaves(use().again())
            assert all(map(np.array_equal, after, expected)), f"writing into array {i} changes a later call"


@together("function")
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", USES)
def test_apart(name, function):
    if function in ONLY.get(name, FUNCTIONS):
        check_apart(lambda: USES[name](FUNCTIONS[function]))


# Ways to compute a function of one array with another transform or operation with a body.
WRAPPED = {
    "jit": fx.jit,
    "checkpoint": fx.checkpoint,
    "vmap": lambda g: lambda a: fx.vmap(g)(a[None]),
    "cond": lambda g: lambda a: lax.cond(a[0, 0] < 9, g, g, a),
    "scan": lambda g: lambda a: lax.scan(lambda s, row: (s, g(row)), a, fnp.stack([a, a])),
    "map": lambda g: lambda a: lax.map(g, a[None]),
    "custom_jvp": lambda g: ruled_by_itself(g),
    "jvp": lambda g: lambda a: fx.jvp(g, (a,), (a,)),
    "vjp": lambda g: lambda a: fx.vjp(g, a)[0],
}


def ruled_by_itself(g):
    ruled = fx.custom_jvp(g)
    ruled.defjvp(lambda primals, tangents: fx.jvp(g, primals, tangents))
    return ruled


@together("function")
@pytest.mark.parametrize("function", ["pair", "rows", "transpose", "constants", "computed"])
@pytest.mark.parametrize("name", ["vjp", "jvp", "linearize", "vmap", "jit"])
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_nested_apart(wrapper, name, function):
    if (wrapper, name, function) == ("custom_jvp", "jit", "constants"):
        return  # what is traced is no constant of a function with rules of its own

    def f(x, c):
        return WRAPPED[wrapper](lambda a: FUNCTIONS[function](a, c))(x)

    check_apart(lambda: USES[name](f))


# -- the torch surface ---------------------------
TENSOR_FUNCTIONS = {
    "identity": lambda x, c: x,
    "pair": lambda x, c: (x, x),
    "rows": lambda x, c: (x[0], x[0:1], x[1]),
    "transpose": lambda x, c: (x.T, x.swapaxes(0, 1)),
    "reshape": lambda x, c: (x.view(-1), x.T.reshape(-1), x.reshape(1, 4)),
    "expand": lambda x, c: (x[0].expand(2, 2), x.diagonal(), x.unfold(0, 1, 1)),
    "flip": lambda x, c: (x.flip(0), x.roll(1, 0), x.contiguous(), x.real, x.to(x.dtype)),
    "pieces": lambda x, c: (x.unbind(), x.split(1), x.chunk(2)),
    "constant": lambda x, c: (c, c[0:1], c.flip(0), x * 2),
    "computed": lambda x, c: (lambda y: (y, y, y[0:1], y.T))(x.exp()),
    "nested": lambda x, c: torch.func.vmap(lambda t: (t, t[0:1], c[0]))(x),
    "nested_vjp": lambda x, c: torch.func.vjp(lambda t: (t, t[0], c), x)[0],
    "sum": lambda x, c: (x + c, x - c, x * c),
}


def summed(result):
    return sum((leaf * leaf).sum() for leaf in tree.leaves(result))


def drawn(k=0.0, grad=False):
    return torch.tensor(matrix(k)).requires_grad_(grad) * 1


def cotangents(result, grad=False):
    return tree.map(
        lambda leaf: (torch.ones(leaf.shape, dtype=leaf.dtype) * 1.5).requires_grad_(grad), result
    )


def tensor_vjp(f, grad):
    x, c = drawn(0, grad), drawn(1, grad)
    y, pullback, aux = torch.func.vjp(lambda a: (f(a, c), f(c, a)), x, has_aux=True)
    cts = cotangents(y, grad)
    return Call((y, aux, pullback(cts), pullback(cts)), (x, c, cts), lambda: pullback(cotangents(y)))


def tensor_grad(f, grad):
    x, c = drawn(0, grad), drawn(1, grad)
    found = torch.func.grad_and_value(lambda a, b: (summed(f(a, b)), (f(a, b), a, b)), (0, 1), True)(x, c)
    return Call((found, torch.func.grad(lambda a: summed(f(a, c)))(x)), (x, c))


def tensor_jvp(f, grad):
    x, c, t = drawn(0, grad), drawn(1, grad), drawn(2, grad)
    found = torch.func.jvp(lambda a: (f(a, c), (f(a, c), a, c)), (x,), (t,), has_aux=True)
    return Call(found, (x, c, t))


def tensor_linearize(f, grad):
    x, c, t = drawn(0, grad), drawn(1, grad), drawn(2, grad)
    y, push = torch.func.linearize(lambda a: f(a, c), x)
    return Call((y, push(t), push(t)), (x, c, t), lambda: push(drawn(2)))


def tensor_vmap(in_dims, out_dims, **options):
    def use(f, grad):
        c = drawn(1, grad)
        x = torch.stack([drawn(0, grad), drawn(4), drawn(5)], in_dims)
        return Call(torch.func.vmap(f, (in_dims, None), out_dims, **options)(x, c), (x, c))

    return use


def tensor_vmap_constant(f, grad):
    x, c = torch.stack([drawn(), drawn()]), drawn(1, grad)
    return Call(torch.func.vmap(lambda a, b: f(b, c), (0, None), None)(x, c), (x, c))


def tensor_jacobians(f, grad):
    x, c = drawn(0, grad), drawn(1, grad)
    found = (
        torch.func.jacrev(lambda a: f(a, c))(x),
        torch.func.jacfwd(lambda a: (f(a, c), (a, c)), has_aux=True)(x),
        torch.func.hessian(lambda a: summed(f(a, c)))(x),
    )
    return Call(found, (x, c))


def tensor_gradients(f, grad):
    x, c = drawn(0, True), drawn(1, True)
    y = [leaf for leaf in tree.leaves(f(x, c)) if leaf.requires_grad]
    cts = cotangents(y, grad)
    options = {"retain_graph": True, "create_graph": grad, "allow_unused": True}
    found = [torch.autograd.grad(y, (x, c), cts, **options) for _ in range(2)]
    return Call([g for g in [*found[0], *found[1]] if g is not None], (x, c, cts))


def tensor_backward(f, grad):
    x, c = torch.tensor(matrix(), requires_grad=True), torch.tensor(matrix(1), requires_grad=True)
    y = [leaf for leaf in tree.leaves(f(x * 1, c * 1)) if leaf.requires_grad]
    for leaf in y:
        leaf.retain_grad()
    cts = cotangents(y, grad)
    torch.autograd.backward(y, cts, create_graph=grad)
    return Call([t.grad for t in [x, c, *dict.fromkeys(y)] if t.grad is not None], cts)


class Handing(torch.autograd.Function):
    """A Function whose gradients are what it was given, and what it keeps."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y, z):
        return x * 2, x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[2])

    @staticmethod
    def backward(ctx, g, h):
        return g, g, ctx.saved_tensors[0]


def tensor_function(f, grad):
    x, c = torch.tensor(matrix(), requires_grad=True), torch.tensor(matrix(1), requires_grad=True)
    z = drawn(2, True)
    y = Handing.apply(x, c, z)
    cts = cotangents(y)
    found = torch.autograd.grad(y, (x, c, z), cts, retain_graph=True, create_graph=grad)
    torch.autograd.backward(Handing.apply(x, c, z), cts, create_graph=grad)
    mapped = torch.func.vmap(Handing.apply)(x.detach(), c.detach(), z.detach())
    return Call((y[0], found, x.grad, c.grad, mapped), (x, c, z, cts))


def tensor_checkpoint(f, grad):
    x, c = drawn(0, grad), drawn(1, grad)
    found = [torch.utils.checkpoint.checkpoint(f, x, c, use_reentrant=False) for _ in range(2)]
    return Call(found, (x, c))


TENSOR_USES = {
    "vjp": tensor_vjp,
    "grad": tensor_grad,
    "jvp": tensor_jvp,
    "linearize": tensor_linearize,
    "vmap": tensor_vmap(0, 0),
    "vmap_columns": tensor_vmap(2, -1),
    "vmap_chunks": tensor_vmap(0, 0, chunk_size=2),
    "vmap_constant": tensor_vmap_constant,
    "jacobians": tensor_jacobians,
    "autograd.grad": tensor_gradients,
    "backward": tensor_backward,
    "checkpoint": tensor_checkpoint,
    "function": tensor_function,
}


def source(tensor):
    """The Tensor whose memory it says to have."""
    return tensor if tensor._base is None else tensor._base


def overwrite(tensor):
    """Write into all of its memory."""
    with torch.no_grad():
        source(tensor).fill_(77)


@together("function")
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("function", TENSOR_FUNCTIONS)
@pytest.mark.parametrize("name", TENSOR_USES)
def test_tensors_apart(name, function, grad):
    if name == "function" and function != "identity":
        return  # which it does not use

    def use():
        call = TENSOR_USES[name](TENSOR_FUNCTIONS[function], grad)
        return call, [t for t in tree.leaves((call.results, call.given)) if isinstance(t, torch.Tensor)]

    call, tensors = use()
    before = [t.detach().numpy().copy() for t in tensors]
    again = None if call.again is None else [t.detach().numpy().copy() for t in tree.leaves(call.again())]
    for i in range(len(before)):
        call, tensors = use()
        overwrite(tensors[i])
        for k, (tensor, value) in enumerate(zip(tensors, before, strict=True)):
            if source(tensor) is not source(tensors[i]):
                assert np.array_equal(tensor.detach().numpy(), value), f"writing into {i} changes {k}"
        if again is None:
            continue
        try:
            found = [t.detach().numpy() for t in tree.leaves(call.again())]
        except RuntimeError as error:
            assert "has been modified by an inplace operation" in str(error)
        else:
            assert all(map(np.array_equal, found, again)), f"writing into {i} changes a later call"
