"""`python -m tests.peers.answers`: what JAX gives for the expressions of `expressions`, for `jax_answers.json`.

Under the door, `python -m fxgrad -m tests.peers.answers --to FILE`, it asks this library instead.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.scipy.ndimage
import jax.scipy.optimize
import jax.scipy.sparse.linalg
import numpy as np
from jax import lax, random
from jax.experimental.ode import odeint  # noqa: F401  (of expressions)
from jax.scipy.spatial.transform import Rotation, Slerp  # noqa: F401  (of expressions)

from tests.peers.expressions import MEANINGS, RANDOM

ANSWERS = Path(__file__).with_name("jax_answers.json")


def custom_jvp_example() -> Any:
    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), jnp.cos(x) * x_dot * y * 2 + jnp.sin(x) * y_dot

    return jax.jit(jax.grad(f))(2.0, 3.0)


def custom_vjp_example() -> Any:
    @jax.custom_vjp
    def f(x):
        return {"y": jnp.sum(x**2)}

    def forward(x):
        return f(x), x

    def backward(x, ct):
        return (x.at[0].set(7) * ct["y"],)

    f.defvjp(forward, backward)
    return jax.grad(lambda x: f(x)["y"] * 2)(jnp.arange(3.0))


def x64_example() -> Any:
    jax.config.update("jax_enable_x64", True)
    try:
        return jnp.sin(jnp.arange(3)) + random.normal(random.key(0), (3,)) + jnp.ones(3, jnp.float32)
    finally:
        jax.config.update("jax_enable_x64", False)


def codes(value: Any) -> Any:
    """The letters of a text, or of that of a value, as numbers."""
    return jnp.array([ord(letter) for letter in (value if isinstance(value, str) else repr(value))])


def traced_text(transform: Any) -> Any:
    """The text of what a transform calls a function with."""
    kept: list[str] = []
    transform(lambda x: (kept.append(repr(x)), x.sum())[1])(jnp.ones((1, 2)))
    return codes(kept[0])


def answer(expression: str, names: dict[str, Any]) -> list[Any]:
    """The dtype, the shape and the entries of what an expression gives."""
    y = eval(expression, names)
    if jnp.issubdtype(y.dtype, jax.dtypes.prng_key):
        y = random.key_data(y)
    assert isinstance(y, jax.Array), type(y)
    entries = np.asarray(y)
    return [entries.dtype.name, list(entries.shape), entries.astype(np.float64).ravel().tolist()]


def ask() -> dict[str, list[Any]]:
    """The answers to all expressions."""
    names = globals() | {"lax": lax, "key": random.PRNGKey(42), "S": (5, 3)}
    return {name: answer(expression, names) for name, expression in (RANDOM | MEANINGS).items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.peers.answers", description=__doc__)
    parser.add_argument("--to", type=Path, default=ANSWERS, help="write the answers there")
    options = parser.parse_args()
    answers = ask()
    options.to.write_text(
        "{\n" + ",\n".join(f"{json.dumps(n)}: {json.dumps(a)}" for n, a in answers.items()) + "\n}\n"
    )


if __name__ == "__main__":
    main()
