"""Private training on many processes: sums of clipped gradients, with noise drawn once for all processes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import Any

from .. import ops, per_sample
from .. import random as fxrandom
from ..core import pytree
from ..core.aval import aval_of
from ..core.errors import ShapeError
from ..core.interpreter import api_boundary
from ..ops.ranks import sum_ranks
from ..random.keys import check_one_key
from ..transforms.derived_function import derive
from .communicator import Communicator
from .data_parallel import as_axis, reduce_in_buckets
from .mesh import MeshAxis
from .processes import world


@api_boundary
def private_sum(
    loss: Callable[..., Any],
    max_norm: float,
    noise: float,
    in_axes: Any = 0,
    *,
    comm: Communicator | None = None,
) -> Callable[..., Any]:
    """The sum over all processes' examples of their gradients, each clipped to a norm, with Gaussian noise: DP-SGD
    (Abadi et al., "Deep learning with differential privacy", 2016).

    Args:
        loss, in_axes: as for `fx.per_sample.clipped_sum`.
        max_norm: the norm C to which gradients are clipped.
        noise: the standard deviation of the noise in each entry of the sum, as a multiple of C, however many processes
            there are.
        comm: the group of processes; None is `world()`.

    Returns:
        A function of a key, the parameters, which are the same on all processes, and this process's examples, of which
        it may have none. It gives a pytree like the parameters, the same on all processes, and to rounding what one
        process with all examples gives for the key.

    The noise enters once, with what rank 0 adds to the sum: the key is read there only. Complex entries have
    independent noise in both their parts.

    Raises:
        ShapeError: `max_norm` is not above zero, or `noise` is below.
        DTypeError: the key is none.

    >>> total = fx.distributed.private_sum(lambda w, x: w @ x, 1.0, noise=0.0)
    >>> total(fx.random.key(0), np.zeros(2), np.array([[3.0, 4.0], [0.0, 0.5]]))
    array([0.6, 1.3])
    """
    if not (0 < max_norm < inf and 0 <= noise < inf):
        raise ShapeError(
            f"private_sum: max_norm={max_norm}, noise={noise}",
            hint="a norm above zero, and how many times the norm the noise is",
        )
    local_sum = per_sample.clipped_sum(loss, max_norm, in_axes)
    axis: MeshAxis | None = None

    @api_boundary
    def total(key: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal axis
        if axis is None:
            axis = as_axis(world() if comm is None else comm)
        values, structure = pytree.flatten(local_sum(*args, **kwargs))
        key = check_one_key(key, "private_sum")
        if axis.rank == 0 and noise:
            keys = fxrandom.split(key, len(values))
            values = [add_noise(v, keys[i], noise * max_norm) for i, v in enumerate(values)]
        return pytree.unflatten(structure, reduce_in_buckets(values, lambda x: sum_ranks(x, axis=axis)))

    return derive(total, private_sum, loss, max_norm=max_norm, noise=noise, in_axes=in_axes, comm=comm)


def add_noise(value: Any, key: Any, deviation: float) -> Any:
    """Return a value with noise of this standard deviation in each of its entries, or in both parts of complex ones."""
    aval = aval_of(value)
    # A complex draw has the variance 1 in both its parts together.
    scale = aval.dtype.type(deviation * (sqrt(2) if aval.dtype.kind == "c" else 1))
    return ops.add(value, ops.multiply(scale, fxrandom.normal(key, aval.shape, aval.dtype)))


__all__ = ["private_sum"]
