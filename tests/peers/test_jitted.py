"""`jax.jit` under the door: what is decided once, when a function is staged."""

from tests.peers.test_doors import output


def test_functions_are_given_dicts_in_the_order_of_their_keys_and_return_such():
    shown = output(
        """
import jax, jax.numpy as jnp
params = {"w": jnp.ones(2), "b": {"z": jnp.zeros(()), "a": jnp.ones(())}}
def f(params):
    seen.append([*params, *params["b"]])
    return {"y": jnp.sum(params["w"]), "x": params["b"]}
for transformed in (
    jax.jit(f), jax.vmap(f, axis_size=2, in_axes=None), jax.grad(lambda p: f(p)["y"]), lambda p: jax.vjp(f, p)[0]
):
    seen = []
    result = transformed(params)
    assert seen == [["b", "w", "a", "z"]], seen
    assert [*result] == sorted(result), result
print("done")
"""
    )
    assert shown == "done\n"


def test_results_are_arrays_whatever_the_function_returns():
    shown = output(
        """
import jax, jax.numpy as jnp, numpy as np
print(jax.jit(lambda: (1, True, 2.5, np.float64(3), None, np.arange(2), jax.random.key(0).shape))())
print(repr(jax.jit(lambda x: x)(3)), repr(jax.jit(lambda x: x)(np.float64(3))))
print(jax.random.key_data(jax.jit(lambda k: {"k": k})(jax.random.key(3))["k"]))
"""
    )
    assert shown == (
        "(Array(1, dtype=int32, weak_type=True), Array(True, dtype=bool), Array(2.5, dtype=float32, weak_type=True), "
        "Array(3., dtype=float32), None, Array([0, 1], dtype=int32), ())\n"
        "Array(3, dtype=int32, weak_type=True) Array(3., dtype=float32)\n[0 3]\n"
    )


def test_a_program_is_compiled_anew_when_the_precision_changes():
    shown = output(
        """
import jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.zeros(2) + x)
for wide in (False, True, False, True):
    jax.config.update("jax_enable_x64", wide)
    print(f(1).dtype, f(1).dtype)
"""
    )
    assert shown == "float32 float32\nfloat64 float64\n" * 2


def test_a_method_and_a_traced_argument_are_taken():
    shown = output(
        """
import jax, jax.numpy as jnp
class Model:
    scale = 3.0
    @jax.jit
    def double(x): return 2 * x
    def __init__(self): self.apply = jax.jit(self.apply)
    def apply(self, x): return x * self.scale
print(Model().apply(2.0), Model.double(2.0), jax.grad(Model().apply)(2.0), jax.vmap(Model().apply)(jnp.arange(2.0)))
"""
    )
    assert shown == "6.0 4.0 3.0 [0. 3.]\n"


def test_results_of_any_structure_are_put_together():
    shown = output(
        """
import collections, jax, jax.numpy as jnp
Pair = collections.namedtuple("Pair", "a b")
x = jnp.ones(2)
print(jax.jit(lambda: None)(), jax.jit(lambda x: ())(x), jax.jit(lambda x: {2: x, 1: [x, (x,), None]})(x))
print(jax.jit(lambda x: Pair(x > 0, {"z": x, "a": jnp.int32(1)}))(x))
found = jax.jit(lambda x: collections.OrderedDict(z=x, a=1.0))(x)
print(type(found).__name__, [*found.items()])
"""
    )
    ones = "Array([1., 1.], dtype=float32)"
    assert shown == (
        f"None () {{1: [{ones}, ({ones},), None], 2: {ones}}}\n"
        f"Pair(a=Array([ True,  True], dtype=bool), b={{'a': Array(1, dtype=int32), 'z': {ones}}})\n"
        f"OrderedDict [('z', {ones}), ('a', Array(1., dtype=float32, weak_type=True))]\n"
    )


def test_calls_of_two_kinds_take_turns():
    shown = output(
        """
import jax, jax.numpy as jnp
staged = []
f = jax.jit(lambda x: staged.append(0) or 2 * jnp.sum(x))
few, many = jnp.ones(2), jnp.ones(3)
print([float(f(x)) for _ in range(3) for x in (few, many)], len(staged))
print([float(f(x)) for x in (1.0, few, 1, many, few)], len(staged))
f.clear_cache()
print(float(f(few)), len(staged))
"""
    )
    assert shown == "[4.0, 6.0, 4.0, 6.0, 4.0, 6.0] 2\n[2.0, 4.0, 2.0, 6.0, 4.0] 4\n4.0 5\n"


def test_results_are_put_together_however_deep_they_are():
    shown = output(
        """
import jax
def nest(x):
    for k in range(250):
        x = [x] if k % 2 else (x, (), {"a": None})
    return x
found = jax.jit(nest)(2.0)
for k in reversed(range(250)):
    assert type(found) is (list if k % 2 else tuple) and (k % 2 or found[1:] == ((), {"a": None})), k
    found = found[0]
print(found)
"""
    )
    assert shown == "2.0\n"
