"""Primitives that programs for JAX define, by `jax.extend.core` and the tables of `jax.interpreters`."""

from __future__ import annotations

import numpy as np

from tests.peers.test_doors import numbers_of, output

DEFINED = """
from functools import partial
import jax, jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Primitive, Var
from jax.interpreters import ad, batching, mlir, xla

cube_p = Primitive("cube")  # by rules
cube = cube_p.bind
cube_p.def_impl(lambda x, *, factor: factor * x**3)
cube_p.def_abstract_eval(lambda x, *, factor: jax.core.ShapedArray(x.shape, x.dtype))
ad.defjvp(cube_p, lambda t, x, *, factor: 3 * factor * x**2 * t)
batching.defvectorized(cube_p)

turn_p = Primitive("turn")  # linear, several results, computed by what is registered for the compiler
turn_p.multiple_results = True
turn_p.def_impl(partial(xla.apply_primitive, turn_p))
turn_p.def_abstract_eval(lambda x, y: [x, y])
ad.deflinear2(turn_p, lambda cts, x, y: [ad.instantiate_zeros(cts[1]), -ad.instantiate_zeros(cts[0])])
batching.primitive_batchers[turn_p] = lambda args, dims: (
    turn_p.bind(*(batching.bdim_at_front(a, d, 3) for a, d in zip(args, dims))), [0, 0])
mlir.register_lowering(turn_p, mlir.lower_fun(lambda x, y: [-y, x], multiple_results=True))

x = jnp.array([1.0, 2.0, 3.0])
f = lambda x: jnp.sum(cube(x, factor=2.0))
g = lambda x: jnp.sum(turn_p.bind(x, jnp.sin(x))[0] * x)
results = [cube(x, factor=2.0), jax.grad(f)(x), jax.jit(jax.grad(f))(x), jax.hessian(f)(x)[1],
    jax.jvp(f, (x,), (x,))[1],
    jax.vmap(lambda x: cube(x, factor=2.0))(x), jax.vmap(jax.grad(f))(jnp.stack([x, x, x]))[2],
    g(x), jax.grad(g)(x), jax.jit(jax.grad(g))(x), jax.vmap(lambda x, y: turn_p.bind(x, y)[1], (0, None))(x, 2.0)]
closed = jax.make_jaxpr(f)(x)
assert isinstance(closed, ClosedJaxpr) and isinstance(closed.jaxpr, Jaxpr) and closed.eqns[0].primitive is cube_p
assert closed.eqns[0].params == {"factor": 2.0} and all(isinstance(v, Var) for v in closed.jaxpr.invars)
results.append(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0])
assert closed.eqns[0].primitive.get_bind_params(closed.eqns[0].params) == {"factor": 2.0}  # bind(*inputs, **params)
for r in results:
    print(*jnp.ravel(r).tolist())
"""


def test_its_rules_serve_all_transforms():
    x = np.array([1.0, 2.0, 3.0])
    wanted = [
        2 * x**3, 6 * x**2, 6 * x**2, [0, 24, 0], [np.sum(6 * x**3)], 2 * x**3, 6 * x**2,
        [np.sum(-np.sin(x) * x)], -np.cos(x) * x - np.sin(x), -np.cos(x) * x - np.sin(x), x, [np.sum(2 * x**3)],
    ]  # fmt: skip
    found = numbers_of(output(DEFINED))
    assert len(found) == len(wanted)
    for have, want in zip(found, wanted):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5)


def test_a_rule_that_is_missing_is_named():
    program = """
import jax
from jax.extend.core import Primitive
from jax.interpreters import ad
bare_p = Primitive("bare")
for use in (bare_p.bind, jax.grad(bare_p.bind), jax.jit(bare_p.bind)):
    try:
        use(2.0)
    except Exception as error:
        print(str(error).splitlines()[0])
bare_p.def_impl(lambda x: 3 * x)
bare_p.def_abstract_eval(lambda x: x)
ad.defjvp(bare_p, lambda t, x: bare_p.bind(t))
for use in (jax.grad(bare_p.bind), jax.vmap(bare_p.bind)):
    try:
        use(jax.numpy.ones(2) if use is not None and "vmap" in repr(use) else 2.0)
    except Exception as error:
        print(str(error).splitlines()[0])
"""
    lines = output(program).splitlines()
    assert "the primitive 'bare'" in lines[0] and "rule for evaluation" in lines[0]
    assert (
        "no forward-mode rule" in lines[1] and "no abstract rule" in lines[2] and "transposition" in lines[3]
    )


def test_programs_interpret_equations():
    program = """
import jax, jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal

inverse = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}

def inverted(f):
    def g(y):
        closed = jax.make_jaxpr(f)(jnp.zeros(2))
        values = dict(zip(closed.jaxpr.outvars, [y]))
        for e in reversed(closed.eqns):
            values[e.invars[0]] = inverse[e.primitive](values[e.outvars[0]])
        return values[closed.jaxpr.invars[0]]
    return g

x = jnp.array([0.1, 0.2])
print(*inverted(lambda x: jnp.exp(jnp.tanh(x)))(jnp.exp(jnp.tanh(x))).tolist())
print(*jax.jit(jax.grad(lambda y: inverted(lambda x: jnp.exp(jnp.tanh(x)))(y).sum()))(jnp.ones(2) * 1.2).tolist())
"""
    values, slopes = numbers_of(output(program))
    np.testing.assert_allclose(values, [0.1, 0.2], rtol=1e-4)
    np.testing.assert_allclose(slopes, [1 / 1.2 / (1 - np.log(1.2) ** 2)] * 2, rtol=1e-4)


def test_callbacks_in_a_branch_run_if_it_is_taken():
    program = """
import jax, jax.numpy as jnp

def refuse(i):
    raise ValueError(f"called with {i.item()}")

@jax.jit
def f(x):
    struct = jax.ShapeDtypeStruct((), jnp.float32)
    return jax.lax.cond(x > 0, lambda: x, lambda: jax.pure_callback(refuse, struct, jnp.int32(7)))

print(f(2.0))
try:
    f(-2.0)
except Exception as error:
    print("called with 7" in str(error))
"""
    assert output(program) == "2.0\nTrue\n"


def test_operations_of_jax_can_be_bound():
    program = """
import jax, jax.numpy as jnp
from jax import lax
x = jnp.array([0.5, 1.5])
print(*[round(float(p.bind(x)[0]), 4) for p in (lax.erf_p, lax.erf_inv_p, lax.lgamma_p, lax.rsqrt_p, lax.digamma_p)])
print(*lax.integer_pow_p.bind(x, y=3).tolist(), *lax.rem_p.bind(x + 1, x).tolist(), lax.rsqrt_p)
print([e.primitive is lax.erf_p for e in jax.make_jaxpr(lax.erf)(x).eqns])
"""
    assert output(program).splitlines() == [
        "0.5205 0.4769 0.5724 1.4142 -1.9635",
        "0.125 3.375 0.0 1.0 rsqrt",
        "[True]",
    ]


def test_closed_programs_have_as_many_constants_where_these_are_traced():
    program = """
import jax, jax.numpy as jnp

def constants(y):
    slope = jnp.cos(y)
    return len(jax.make_jaxpr(lambda x: x * slope + slope)(1.0).consts)

found = [constants(jnp.float32(0.5))]
jax.jit(lambda y: found.append(constants(y)))(jnp.float32(0.5))
print(found)
closed = jax.make_jaxpr(lambda x: x * jnp.cos(jnp.float32(0.5)))(1.0)
print(float(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 2.0)[0]))
"""
    lines = output(program).splitlines()
    assert lines[0] == "[1, 1]"
    assert abs(float(lines[1]) - 2 * np.cos(0.5)) < 1e-6


def test_results_that_do_not_depend_on_unknown_values_are_known():
    program = """
import jax, jax.numpy as jnp
from jax.extend import linear_util as lu
from jax.interpreters import partial_eval as pe

k = jnp.array(3.0)
flat, tree = jax.api_util.flatten_fun_nokwargs(
    lu.wrap_init(lambda pair: {"known": k * 2, "moving": pair[0] + k}), jax.tree.structure(((1, 2),)))
aval = k.aval
program, results, consts = pe.trace_to_jaxpr_nounits(flat, [pe.PartialVal.unknown(aval)] * 2)
print([(aval is None, None if const is None else float(const)) for aval, const in results], tree().num_leaves)
print(jax.core.eval_jaxpr(program, consts, 1.0, 2.0))
"""
    assert output(program).splitlines() == [
        "[(True, 6.0), (False, None)] 2",
        "[Array(4., dtype=float32)]",
    ]


def test_loops_take_modules_as_functions():
    program = """
import jax, jax.numpy as jnp

@jax.tree_util.register_pytree_node_class
class Scale:
    def __init__(self, k):
        self.k = k
    def __call__(self, x):
        assert isinstance(x, jax.Array)
        return self.k * x
    def tree_flatten(self):
        return (self.k,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

scale = Scale(jnp.array(2.0))
print(jax.linear_transpose(scale, jax.ShapeDtypeStruct((2,), jnp.float32))(jnp.ones(2))[0].tolist())
print(jax.lax.map(scale, jnp.arange(2.0)).tolist(), *map(float, jax.jvp(scale, (1.0,), (1.0,))))
print(float(jax.lax.cond(True, scale, lambda x: x, jnp.array(3.0))))
"""
    assert output(program).splitlines() == [
        "[2.0, 2.0]",
        "[0.0, 2.0] 2.0 2.0",
        "6.0",
    ]


def test_optimizers_of_jax_s_examples():
    program = """
import jax, jax.numpy as jnp
from jax.example_libraries import optimizers

ends = []
for make in (
    optimizers.sgd(0.1), optimizers.momentum(0.05, 0.5), optimizers.nesterov(0.05, 0.5), optimizers.adagrad(0.3),
    optimizers.rmsprop(0.05), optimizers.rmsprop_momentum(0.01), optimizers.adamax(0.3),
    optimizers.adam(optimizers.exponential_decay(0.3, 9, 0.9)),
):
    init, update, get = make
    state = init({"b": jnp.ones(2), "a": jnp.array(-1.0)})
    for i in range(40):
        grads = jax.grad(lambda p: jnp.sum(p["b"] ** 2) + p["a"] ** 2)(get(state))
        state = jax.jit(update)(i, optimizers.clip_grads(grads, 2.0), state)
    ends.append(float(optimizers.l2_norm(get(state))))
print(max(ends) < 0.5, list(get(state)))
try:
    update(0, [1.0], state)
except TypeError as error:
    print("structure" in str(error))
"""
    assert output(program) == "True ['a', 'b']\nTrue\n"


def test_the_orthogonal_initializer_has_jax_s_numbers():
    program = """
import jax
square, wide = [jax.nn.initializers.orthogonal()(jax.random.PRNGKey(0), shape) for shape in ((3, 3), (2, 3))]
print(*square[0].tolist(), *wide[1].tolist())
"""
    expected = [0.955, 0.294, 0.026, 0.186, 0.319, -0.929]
    np.testing.assert_allclose(numbers_of(output(program))[0], expected, atol=6e-4)
