"""Look-ups of neighbours: which they are is a constant, how far they are has derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as fnp
from ...extend import Array, ArrayLike, ShapeDtypeStruct, Tracer, api_boundary, concretize, ops, pure_callback
from ...numpy.composite import operand
from ..reference import library


class KDTree:
    """A tree of points for quick look-ups of neighbours: SciPy's, with derivatives of the distances.

    Args:
        data: points [n, d], whose values are known: plain, or traced by `grad` or `jvp`.
        options: those of SciPy's KDTree.

    Other methods than `query` are those of SciPy's tree, for plain points.

    >>> tree = fx.scipy.spatial.KDTree(np.array([[0.0, 0.0], [3.0, 4.0]]))
    >>> tree.query(np.array([3.0, 3.0]))[1]
    np.int64(1)
    >>> fx.grad(lambda x: tree.query(x)[0])(np.array([3.0, 3.0]))
    array([ 0., -1.])
    """

    def __init__(self, data: ArrayLike, *args: Any, **options: Any):
        self.points: Any = operand(data)
        known = concretize(ops.stop_gradient(self.points), "KDTree")
        self.tree: Any = library("spatial", "fxgrad.scipy.spatial.KDTree").KDTree(known, *args, **options)

    def __getattr__(self, name: str) -> Any:
        if name in ("points", "tree"):  # which are not there yet
            raise AttributeError(name)
        return getattr(self.tree, name)

    @api_boundary
    def query(
        self,
        x: ArrayLike,
        k: int = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> tuple[Array, Array]:
        """Find the k nearest points.

        Args:
            x: a point, or points [..., d].
            k: how many.
            eps: how much farther than the nearest a point may be.
            p: the norm's.
            distance_upper_bound: beyond it none is found: the distance is ∞, the index n.
            workers: threads.

        Returns:
            (distances, indices), each [..., k], without the last axis for k = 1.
        """
        options: dict[str, Any] = {
            "k": k, "eps": eps, "p": p, "distance_upper_bound": distance_upper_bound, "workers": workers,
        }  # fmt: skip
        x = operand(x)
        if not isinstance(x, Tracer) and not isinstance(self.points, Tracer):
            return self.tree.query(x, **options)
        shape = x.shape[:-1] if k == 1 else (*x.shape[:-1], k)
        index = pure_callback(
            lambda x: np.asarray(self.tree.query(np.asarray(x), **options)[1], np.intp),
            ShapeDtypeStruct(shape, np.intp),
            ops.stop_gradient(x),
            vmap_method="expand_dims",
        )
        near = fnp.take(self.points, fnp.minimum(index, self.tree.n - 1), axis=0)
        distance = fnp.linalg.norm((x if k == 1 else x[..., None, :]) - near, p, axis=-1)
        return fnp.where(index < self.tree.n, distance, np.inf), index


__all__ = ["KDTree"]
