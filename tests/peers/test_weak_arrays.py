"""Weak arrays with axes under JAX's door: what makes them, what they are beside others, what transforms make of them.
The expected dtypes are those that JAX 0.10.2 has."""

from __future__ import annotations

from tests.peers.test_doors import output

START = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
def show(*arrays):
    print(*[f"{x.dtype.name}{'*' * x.weak_type}{list(x.shape)}" for x in arrays])
w, n, i = jnp.full((3,), 2.0), jnp.full((3,), 2), jnp.arange(3)
half, byte = jnp.ones(3, jnp.bfloat16), jnp.ones(3, jnp.int8)
"""


def test_arrays_of_numbers_are_weak():
    shown = output(
        START
        + """
show(w, n, jnp.broadcast_to(1.0, (2,)), jnp.where(i > 1, 1.0, 0.0), jnp.stack([1.0, 2.0]), jnp.full_like(w, 1))
x = i * 2.0
show(x, 2.0 * i, i**2.0, jnp.sin(x), x[0], x.reshape(3, 1), jnp.clip(i, 0.0, 1.0), -w, abs(w))
show(i * 2, i / 2, jnp.sin(i), w.sum(), w.astype(float), jnp.array([1.0, 2.0]), jnp.ones(3) * 2.0, jnp.ones(3) * 2j)
print(repr(i * 2.0))
"""
    )
    assert shown.splitlines() == [
        "float32*[3] int32*[3] float32*[2] float32*[3] float32*[2] float32*[3]",
        "float32*[3] float32*[3] float32*[3] float32*[3] float32*[] float32*[3, 1] float32*[3] float32*[3] float32*[3]",
        "int32[3] float32[3] float32[3] float32[] float32[3] float32[2] float32[3] complex64[3]",
        "Array([0., 2., 4.], dtype=float32, weak_type=True)",
    ]


def test_weak_arrays_take_the_precision_of_others():
    shown = output(
        START
        + """
show(w * half, half * w, n * byte, byte + n, w + byte, w * 2, n * 2.0, w + n, w * np.ones(3, "float16"))
show(jnp.maximum(w, half), jnp.where(True, half, w), jnp.concatenate([w, half]), jnp.dot(w, half), w @ half, w < half)
show(jnp.full((3,), 2j) * half, jnp.full((3,), 2j) + byte)
"""
    )
    assert shown.splitlines() == [
        "bfloat16[3] bfloat16[3] int8[3] int8[3] float32*[3] float32*[3] float32*[3] float32*[3] float16[3]",
        "bfloat16[3] bfloat16[3] bfloat16[6] bfloat16[] bfloat16[] bool[3]",
        "complex64[3] complex64*[3]",
    ]


def test_transforms_keep_weak_arrays():
    shown = output(
        START
        + """
show(jax.jit(lambda x: x * 2.0)(i), jax.jit(lambda x: x)(w), jax.jit(lambda x: x * half)(w))
show(jax.vmap(lambda x: x * 2)(w), jax.vmap(lambda x: 1.0)(i), jax.grad(lambda x: (x * 2.0).sum())(w))
y = jnp.ones(3)
show(lax.cond(True, lambda x: x, lambda x: x * y, w), lax.fori_loop(0, 2, lambda _, x: x + y, w))
"""
    )
    assert shown.splitlines() == [
        "float32*[3] float32*[3] bfloat16[3]",
        "float32*[3] float32*[3] float32*[3]",
        "float32[3] float32[3]",
    ]


def test_integers_wrap_as_in_jax_or_do_not_fit():
    shown = output(
        START
        + """
print(byte + 200, jnp.zeros(1, "uint8").at[0].set(300), lax.shift_right_logical(-8, 1), lax.population_count(-1))
for make in (lambda: jnp.array(2**31), lambda: jnp.array([2**40]), lambda: jnp.uint8(300), lambda: i + 2**31):
    try:
        print(make())
    except OverflowError as error:
        print(error)
"""
    )
    assert shown.splitlines() == [
        "[-55 -55 -55] [44] 2147483644 32",
        "Python integer 2147483648 out of bounds for int32",
        "Python integer 1099511627776 out of bounds for int32",
        "Python integer 300 out of bounds for uint8",
        "Python integer 2147483648 out of bounds for int32",
    ]


def test_lists_have_the_common_dtype_of_arrays_and_numbers():
    shown = output(
        START
        + """
show(jnp.array([half[0], 1]), jnp.array([np.float16(1), 2.0]), jnp.array([byte, [1, 2, 3]]), jnp.array([1, 2.0]))
show(jnp.mgrid[0:2], jnp.r_[0:2, 5])
"""
    )
    assert shown == "bfloat16[2] float16[2] int8[2, 3] float32[2]\nint32[2] int32[3]\n"
