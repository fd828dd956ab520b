"""Data parallelism: every process has the parameters and a part of the data, and gradients are those of all data.

The gradient of a parameter is sent as soon as it is complete, while the backward pass continues with earlier
parameters: see `buckets`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np

from .. import ops
from ..core import pytree
from ..core.arrays import namespace_of
from ..core.aval import aval_of
from ..core.common_errors import not_a_function
from ..core.errors import ShapeError, StructureError, UnsupportedError
from ..core.interpreter import acting_level, api_boundary, copy_level, levels
from ..core.pytree_keys import keystr
from ..core.staging import GraphInterpreter
from ..core.surface import release
from ..core.typing import P, PyTree
from ..numpy.placement import device_get
from ..ops.masked import densify
from ..ops.ranks import copy_to_ranks, sum_ranks, unite_copies
from ..ops.ranks import share as equal_share
from ..transforms.arguments import positions_of
from ..transforms.derived_function import derive
from ..transforms.reverse import backward, watch_leaves
from ..transforms.vjp import differentiator, input_cotangents
from .buckets import BUCKET_BYTES, Buckets, assign_buckets
from .communicator import Communicator
from .mesh import Mesh, MeshAxis
from .processes import world


@api_boundary
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    comm: Communicator | None = None,
    op: str = "mean",
    count: Callable[..., Any] | None = None,
    bucket_bytes: int = BUCKET_BYTES,
) -> Callable[P, Any]:
    """The gradient of the mean of a loss over processes, each of which calls it with data of its own.

    Args, errors: as for `fx.distributed.value_and_grad`.

    Returns:
        A function giving the gradient, or (gradient, aux) if `has_aux`: see `fx.grad`.

    >>> print(fx.distributed.grad(lambda w, x: w * x)(2.0, 5.0))
    5.0
    """
    reduced = DataParallel("distributed.grad", fun, argnums, has_aux, comm, op, count, bucket_bytes, False)

    @api_boundary
    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, gradients, aux = reduced(args, kwargs)
        return (gradients, aux) if has_aux else gradients

    return derive(gradient, grad, fun, **reduced.options)


@api_boundary
def value_and_grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    comm: Communicator | None = None,
    op: str = "mean",
    count: Callable[..., Any] | None = None,
    bucket_bytes: int = BUCKET_BYTES,
) -> Callable[P, tuple[Any, Any]]:
    """The mean of a loss over processes and its gradient. Each process calls it with the same parameters and with data
    of its own, and all get the same result.

    Args:
        fun: a function of pytrees of arrays that returns a scalar.
        argnums: which positional arguments are parameters; they are the same on all processes.
        has_aux: `fun` returns (value, aux). The auxiliary result is that of this process.
        comm: the group of processes; None is `world()`.
        op: "mean", or "sum" where `fun` is a sum over data, or has been divided by how much all processes have.
        count: a function of the same arguments which says how many examples they hold here, for means of as many:
            processes that have more count for more, and what one without any returns does not count.
        bucket_bytes: of how many bytes the messages are.

    Returns:
        A function giving (value, gradient), or ((value, aux), gradient) if `has_aux`.

    Raises:
        NonScalarError, DTypeError: as for `fx.grad`.
        StructureError: the processes' parameters are not alike, in the first call; `op` or `count` is none.
        ShapeError: no process has an example.
        UnsupportedError: inside `shard_map`, where `fx.value_and_grad` does the same.

    >>> loss = lambda w, x: fnp.mean((x - w) ** 2)
    >>> step = fx.distributed.value_and_grad(loss, count=lambda w, x: len(x))
    >>> value, gradient = step(1.0, np.array([0.0, 4.0]))
    >>> float(value), float(gradient)
    (5.0, -2.0)
    """
    reduced = DataParallel(
        "distributed.value_and_grad", fun, argnums, has_aux, comm, op, count, bucket_bytes, True
    )

    @api_boundary
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients, aux = reduced(args, kwargs)
        return ((value, aux), gradients) if has_aux else (value, gradients)

    return derive(value_and_gradient, value_and_grad, fun, **reduced.options)


class DataParallel:
    """The reduction of a value (if it is `wanted`) and of gradients over a group of processes."""

    def __init__(
        self,
        name: str,
        fun: Callable[..., Any],
        argnums: Any,
        has_aux: bool,
        comm: Communicator | None,
        op: str,
        count: Callable[..., Any] | None,
        bucket_bytes: int,
        wanted: bool,
    ):
        if op not in ("mean", "sum"):
            raise StructureError(f"{name}: op is {op!r}", hint='"mean" or "sum"')
        if count is not None and (op == "sum" or not callable(count)):
            raise StructureError(
                f"{name}: count is a function, by which means are weighted", hint='op="mean", or no count'
            )
        if comm is not None and not isinstance(comm, Communicator):
            raise StructureError(
                f"{name}: comm is a {type(comm).__name__}", hint="fx.distributed.world(), or mesh.comm"
            )
        self.options = {
            "argnums": argnums, "has_aux": has_aux, "comm": comm, "op": op, "count": count,
            "bucket_bytes": bucket_bytes,
        }  # fmt: skip
        if not callable(fun):
            raise not_a_function(name, fun)
        self.name, self.fun, self.argnums, self.has_aux = name, fun, argnums, has_aux
        self.group, self.op, self.count = comm, op, count
        self.bucket_bytes, self.wanted = bucket_bytes, wanted
        self.positions = positions_of(name, argnums)
        self.compared = False  # whether the processes' parameters have been compared

    @cached_property
    def comm(self) -> Communicator:
        """The group: MPI starts when it is first needed."""
        return world() if self.group is None else self.group

    @cached_property
    def axis(self) -> MeshAxis:
        """The group as the axis of operations."""
        return as_axis(self.comm)

    def __call__(self, args: tuple, kwargs: dict) -> tuple[Any, Any, Any]:
        if copy_level() is not None:
            raise UnsupportedError(
                f"{self.name} inside shard_map, where gradients of parameters are reduced already",
                hint=f"fx.{self.name.rpartition('.')[2]}",
            )
        at_once = runs_at_once()
        if not at_once:  # further derivatives are those of a function of parameters that are one value
            copies = list(args)
            for p in self.positions:
                if -len(args) <= p < len(args):
                    copies[p] = pytree.map(lambda leaf: copy_to_ranks(leaf, axis=self.axis), args[p])
            args = tuple(copies)
        fun, number, total = self.fun, None, lambda: None
        if self.count is not None:  # the sum is on its way while the function is evaluated
            number = np.float64(self.number_of_examples(args, kwargs))
            total = (
                self.comm.start_all_reduce(number).wait
                if at_once
                else partial(sum_ranks, number, axis=self.axis)
            )
            if number == 0:
                fun = silent(fun)

        def pull(value: Any, node: Any, seed: Any, leaves: Sequence[Any], primals: Sequence[Any]) -> Any:
            op = self.op
            if number is not None:
                value, node, seed = self.weigh(value, node, seed, number, total())
                op = "sum"
            return (self.pull_at_once if at_once else self.pull_traced)(
                value, node, seed, leaves, primals, op
            )

        compute = differentiator(fun, self.argnums, self.has_aux, False, False, self.name, False, pull)
        return compute(args, kwargs)

    def weigh(self, value: Any, node: Any, seed: Any, number: Any, total: Any) -> tuple[Any, Any, Any]:
        """Return the value, the node and the seed of a process's share in the mean. What is a mean of no examples
        counts as zero, whatever it is."""
        if number == 0:
            if not all(level.transparent or type(level) is GraphInterpreter for level in levels()):
                raise UnsupportedError(
                    f"{self.name} of no examples inside another derivative or vmap: other processes have tangents here",
                    hint="give every process an example",
                )
            if runs_at_once() and total == 0:
                raise ShapeError(f"{self.name}: no process has an example", hint="leave out the empty batch")
            return ops.zeros_like(value), None, seed
        share = ops.convert(ops.divide(number, total), dtype=aval_of(seed).dtype)
        return ops.multiply(value, share), node, ops.multiply(seed, share)

    def number_of_examples(self, args: tuple, kwargs: dict) -> float:
        """Return what `count` says of the arguments."""
        assert self.count is not None
        number = float(self.count(*args, **kwargs))
        if not 0 <= number < inf:
            raise ShapeError(f"{self.name}: count gives {number}", hint="a number of examples, zero or above")
        return number

    def pull_at_once(
        self, value: Any, node: Any, seed: Any, leaves: Sequence[Any], primals: Sequence[Any], op: str
    ) -> Any:
        """Walk back, and start the reduction of each bucket as soon as its gradients are complete."""
        kinds = [(aval.shape, aval.dtype) for aval in map(aval_of, primals)]
        if not self.compared:
            self.compare(kinds)
        xp = next((found for p in primals if (found := namespace_of(p)) is not np), np)
        array = xp.asarray(value)
        given = [*kinds, (array.shape, array.dtype)] if self.wanted else kinds
        buckets = Buckets(self.comm, given, self.bucket_bytes, average=op == "mean", xp=xp)
        if self.wanted:
            buckets.ready(len(kinds), array)
        watch_leaves(node, leaves, lambda index, ct: buckets.ready(index, xp.asarray(densify(ct))))
        try:
            backward([(node, seed)], (), True)
        except Exception:
            buckets.abandon()
            raise
        gradients = [g[()] if g.shape == () else g for g in buckets.finish()]
        return gradients.pop() if self.wanted else value, gradients

    def pull_traced(
        self, value: Any, node: Any, seed: Any, leaves: Sequence[Any], primals: Sequence[Any], op: str
    ) -> Any:
        """Walk back, and reduce the gradients, bucket by bucket, by operations that other transforms see."""

        def reduce(x: Any) -> Any:
            total = sum_ranks(x, axis=self.axis)
            return unite_copies(equal_share(total, self.comm.size) if op == "mean" else total, axis=self.axis)

        gradients = input_cotangents([node], [seed], leaves, primals, True)
        gradients = list(map(release, reduce_in_buckets(gradients, reduce, self.bucket_bytes)))
        return reduce(value) if self.wanted else value, gradients

    def compare(self, kinds: Sequence[tuple[tuple[int, ...], Any]]) -> None:
        """Raise on all processes unless they have parameters of the same shapes and dtypes."""
        described = [f"{dtype}{list(shape)}" for shape, dtype in kinds]
        first, *others = self.comm.gather_objects(described)
        for rank, other in enumerate(others, 1):
            if other != first:
                pair = next(((a, b) for a, b in zip(first, other) if a != b), None)
                detail = (
                    f"{pair[0]} on rank 0 is {pair[1]}" if pair else f"{len(first)} arrays are {len(other)}"
                )
                raise StructureError(
                    f"{self.name}: the parameters of rank {rank} are not like those of rank 0: {detail} there",
                    hint="parameters = fx.distributed.replicate(parameters)",
                )
        self.compared = True


def as_axis(comm: Communicator) -> MeshAxis:
    """Return a group as the only axis of a mesh."""
    return Mesh(comm, {"data": -1}).axis("data")


def reduce_in_buckets(
    values: Sequence[Any], reduce: Callable[[Any], Any], bucket_bytes: int = BUCKET_BYTES
) -> list[Any]:
    """Return reduced values, by operations on flat arrays that are as large as the buckets."""
    avals = [aval_of(value) for value in values]
    results: list[Any] = [None] * len(avals)
    for members in assign_buckets([(aval.shape, aval.dtype) for aval in avals], bucket_bytes):
        parts = [ops.reshape(values[i], shape=(avals[i].size,)) for i in members]
        flat = reduce(ops.concatenate(*parts, axis=0) if len(parts) > 1 else parts[0])
        start = 0
        for i in members:
            stop = start + avals[i].size
            part = ops.getitem(flat, index=(slice(start, stop, None),))
            results[i] = ops.reshape(part, shape=avals[i].shape)
            start = stop
    return results


def silent(fun: Callable[P, Any]) -> Callable[P, Any]:
    """Return a function that does not warn, of a mean of nothing for instance."""

    def evaluate(*args: P.args, **kwargs: P.kwargs) -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            return fun(*args, **kwargs)

    return evaluate


def runs_at_once() -> bool:
    """Whether operations are carried out where they stand: no transform is open."""
    return acting_level().outer is None


@api_boundary
def check_replicated(tree: PyTree, comm: Communicator | None = None) -> None:
    """Raise an error unless all processes have the same values, to the bit: for instance parameters before the first
    step.

    Args:
        tree: a pytree of arrays.
        comm: the group of processes; None is `world()`.

    Raises:
        StructureError: on all processes; it names the array, and the processes where it is not that of rank 0.

    >>> fx.distributed.check_replicated({"w": np.zeros(3)})
    """
    group = world() if comm is None else comm
    described = [(keystr(path), describe(leaf)) for path, leaf in pytree.leaves_with_path(tree)]
    first, *others = group.gather_objects(described)
    for rank, other in enumerate(others, 1):
        if [path for path, _ in other] != [path for path, _ in first]:
            raise StructureError(
                f"check_replicated: rank {rank} has another tree than rank 0",
                hint="fx.distributed.replicate(tree), which gives all ranks that of rank 0",
            )
    for index, (path, value) in enumerate(first):
        unlike = [rank for rank, other in enumerate(others, 1) if other[index][1] != value]
        if unlike:
            places = ", ".join(map(str, unlike))
            raise StructureError(
                f"check_replicated: the array {path or 'given'} of rank {places} is not that of rank 0",
                hint="tree = fx.distributed.replicate(tree)",
            )


def describe(leaf: Any) -> tuple[str, tuple[int, ...], str]:
    """Return what two arrays have in common that are the same to the bit."""
    array = np.asarray(device_get(leaf))
    return str(array.dtype), array.shape, sha256(array.tobytes()).hexdigest()


__all__ = ["check_replicated", "grad", "value_and_grad"]
