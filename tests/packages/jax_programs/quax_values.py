"""Values of a type of one's own through a function: multiple dispatch by quax.

packages: quax
tolerance: 1e-5
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import quax


class Unit(quax.ArrayValue):
    array: jax.Array
    exponent: int = eqx.field(static=True)

    def aval(self):
        return jax.core.ShapedArray(self.array.shape, self.array.dtype)

    def materialise(self):
        raise ValueError


@quax.register(jax.lax.mul_p)
def _(x: Unit, y: Unit, **params):
    return Unit(x.array * y.array, x.exponent + y.exponent)


out = quax.quaxify(lambda x, y: x * y)(Unit(jnp.arange(3.0), 1), Unit(jnp.ones(3), 2))
print(out.array.tolist(), out.exponent)
