"""Values divided among the processes of a mesh: `PartitionSpec` describes the division, `Sharded` is such a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import ops  # noqa: F401  before its parts
from ..core import pytree
from ..core.arrays import as_value
from ..core.aval import aval_of
from ..core.devices import Placement
from ..core.errors import ArrayConversionError, ShapeError, StructureError, UnsupportedError
from ..core.interpreter import api_boundary
from ..ops.ranks import join_parts, scatter_part
from .processes import world

if TYPE_CHECKING:
    from ..core.typing import PyTree
    from .mesh import Mesh


class PartitionSpec:
    """The division of an array along the axes of a mesh. Each axis of the array has the name of a mesh axis, a tuple of
    names (the first slowest), or None. Axes that are not mentioned are not divided, and along unused axes of the mesh
    every process has a copy.

    `names` are the axes of the mesh that divide something, `key` is what the spec says, without trailing axes that are
    not divided.

    Raises:
        StructureError: an axis of the mesh is named twice.

    >>> from fxgrad.distributed import P
    >>> P("data", None, ("model", "expert"))
    P('data', None, ('model', 'expert'))
    """

    __slots__ = ("dims", "key", "names")

    dims: tuple[str | tuple[str, ...] | None, ...]
    names: tuple[str, ...]
    key: tuple[Any, ...]

    def __init__(self, *dims: str | Sequence[str] | None):
        self.dims = tuple([d if d is None or isinstance(d, str) else tuple(d) or None for d in dims])
        named = [(d,) if isinstance(d, str) else d for d in self.dims]
        self.names = tuple([name for names in named for name in names or ()])
        while named and named[-1] is None:
            named.pop()
        self.key = tuple(named)
        if len({*self.names}) < len(self.names):
            raise StructureError(
                f"{self!r}: an axis of the mesh divides one axis of the array only",
                hint="P(('a', 'b'), None) divides one axis by two of the mesh",
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __len__(self) -> int:
        return len(self.dims)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.dims)

    def __getitem__(self, index: Any) -> Any:
        return self.dims[index]

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self.dims))}{',' * (len(self.dims) == 1)})"


P = PartitionSpec


class Sharded:
    """An array of which each process of a mesh holds a part, `local`. `shape` is that of the whole; `length` is the
    length of its first axes before padding, if it was padded.

    It is a pytree of one leaf, `local`: what maps over leaves (an optimizer, `fx.tree.map`) computes with the parts,
    and the gradient with respect to one is one. `fx.distributed.gather` makes an array of it.

    Args:
        local: this process's part.
        mesh: a mesh.
        spec: a `PartitionSpec`.
        lengths: of the first axes, before they were padded; None where they were not.

    >>> mesh = fx.distributed.Mesh(None, {"data": 1})
    >>> x = fx.distributed.shard(np.ones((4, 2)), mesh, fx.distributed.P("data"))
    >>> x.shape, x.local.shape
    ((4, 2), (4, 2))
    """

    __slots__ = ("lengths", "local", "mesh", "spec")

    lengths: tuple[int | None, ...]
    local: Any
    mesh: Mesh
    spec: PartitionSpec

    @api_boundary
    def __init__(self, local: Any, mesh: Mesh, spec: PartitionSpec, lengths: tuple[int | None, ...] = ()):
        self.local, self.mesh, self.spec, self.lengths = local, mesh, spec, lengths

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return aval_of(self.local).dtype

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of all parts together."""
        shape = list(aval_of(self.local).shape)
        for i, names in enumerate(self.spec.key):
            shape[i] *= self.mesh.count(names or ())
        return tuple(shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        lengths = (*self.lengths, *[None] * aval_of(self.local).ndim)
        return tuple([n if length is None else length for n, length in zip(self.padded_shape, lengths)])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def valid(self) -> Sharded:
        """Which entries are the array's, and not appended: a `Sharded` of booleans, divided in the same way."""
        index = part_index(self.padded_shape, self.mesh, self.spec, self.mesh.coords)
        shape = aval_of(self.local).shape
        valid = np.ones(shape, bool)
        for i, (part, length) in enumerate(zip(index, self.shape)):
            inside = np.arange(part.start, part.stop) < length
            valid &= inside.reshape(-1, *[1] * (len(shape) - i - 1))
        return Sharded(valid, self.mesh, self.spec, self.lengths)

    def __repr__(self) -> str:
        return f"<sharded {self.dtype}{list(self.shape)} over {self.mesh!r} by {self.spec!r}>"

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ArrayConversionError(
            f"{self!r} is not an array: each process has a part of it",
            hint="fx.distributed.gather(x), by all processes together; x.local is the part",
        )


pytree.register_pytree_node(
    Sharded,
    lambda x: ((x.local,), (x.mesh, x.spec, x.lengths)),
    lambda aux, children: Sharded(children[0], *aux),
)


def is_sharded(value: Any) -> bool:
    return isinstance(value, Sharded)


def specs_of(specs: Any, tree: PyTree, what: str, count: int | None = None) -> list[PartitionSpec]:
    """Return the spec of every leaf, of which a `Sharded` is one; None is that of copies. `count` is the number of
    leaves, if it is known."""
    if isinstance(specs, PartitionSpec) and count is not None:  # one for all
        return [specs] * count
    found = pytree._broadcast_leaves(specs, tree, what, lambda s: s is None, is_sharded)
    for spec in found:
        if spec is not None and not isinstance(spec, PartitionSpec):
            raise StructureError(
                f"{what} has an entry {spec!r}",
                hint='PartitionSpecs: P("data"), P(None, "model"), P() for copies',
            )
    return [P() if spec is None else spec for spec in found]


def check_spec(spec: PartitionSpec, rank: int, mesh: Mesh, name: object) -> list[int]:
    """Return the number of parts along the first axes; raise unless an array of this rank can be divided so."""
    if len(spec.key) > rank:
        raise ShapeError(
            f"{name} has {rank} axes, and the spec {spec!r} divides more",
            hint=f"a spec of {rank} entries at most",
        )
    return [mesh.count(names) if names else 1 for names in spec.key]


def check_division(shape: tuple[int, ...], mesh: Mesh, spec: PartitionSpec, name: object) -> None:
    """Raise unless an array of this shape can be divided into equal parts."""
    for dim, count in enumerate(check_spec(spec, len(shape), mesh, name)):
        if shape[dim] % count:
            raise ShapeError(
                f"{name}: axis {dim} of shape {shape} cannot be divided into {count} equal parts, along "
                f"{', '.join(spec.key[dim])} of {mesh!r}",
                hint="fx.distributed.shard(x, mesh, spec, pad=True) appends zeros",
            )


def take_local(value: Any, mesh: Mesh, spec: PartitionSpec, name: object) -> Any:
    """Return this process's part of a value that is the same on all of them."""
    check_division(getattr(value, "shape", ()), mesh, spec, name)
    for dim, names in enumerate(spec.key):
        if names is not None:
            value = scatter_part(value, axis=mesh.axis(names), dim=dim)
    return value


class NamedSharding(Placement):
    """How an array lies on a mesh: a mesh, and how its axes divide those of the array. `fx.device_put` takes it.

    Args:
        mesh: a mesh.
        spec: a `PartitionSpec`, which names axes of the mesh.

    Raises:
        UnboundAxisError: the mesh has no axis of a name in the spec.

    >>> mesh = fx.make_mesh((1, 1), ("data", "model"))
    >>> sharding = fx.NamedSharding(mesh, fx.P("data"))
    >>> sharding.shard_shape((4, 2)), sharding.is_fully_replicated
    ((4, 2), True)
    >>> fx.device_put(np.ones((2, 2)), sharding)
    array([[1., 1.],
           [1., 1.]])
    """

    mesh: Mesh
    spec: PartitionSpec

    @api_boundary
    def __init__(self, mesh: Mesh, spec: PartitionSpec):
        mesh.count(spec.names)
        self.mesh, self.spec = mesh, spec

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every process has the whole array."""
        return self.mesh.count(self.spec.names) == 1

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of a process's part of an array of a shape; raises `ShapeError` where it cannot be divided
        so."""
        shape = tuple(global_shape)
        check_division(shape, self.mesh, self.spec, "NamedSharding: an array")
        counts = check_spec(self.spec, len(shape), self.mesh, "NamedSharding: an array")
        return (*[n // count for n, count in zip(shape, counts)], *shape[len(counts) :])

    def place(self, value: Any) -> Any:
        """Return an array itself; raises `ShapeError` where the spec divides axes that it has not, and
        `UnsupportedError` where it would be divided."""
        check_spec(self.spec, aval_of(value).ndim, self.mesh, "device_put: an array")
        if not self.is_fully_replicated:
            raise UnsupportedError(
                f"device_put: {self!r} divides arrays among processes, and parts are no array",
                hint="fx.distributed.shard(x, mesh, spec), which fx.shard_map takes",
            )
        return value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (other.mesh, other.spec)

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding({self.mesh!r}, {self.spec!r})"


@api_boundary
def shard(tree: PyTree, mesh: Mesh, specs: Any, *, pad: bool = False) -> PyTree:
    """Divide arrays that every process has; each keeps its part, and nothing is sent.

    Args:
        tree: a pytree of arrays, the same on all processes.
        mesh: the processes.
        specs: how: a pytree prefix of PartitionSpecs.
        pad: append zeros where an axis cannot be divided evenly. The result knows how long it was, and `gather` cuts
            them off.

    Returns:
        The tree with a `Sharded` in the place of every array.

    Raises:
        ShapeError: an axis cannot be divided evenly.
        StructureError: an entry of `specs` is no PartitionSpec.

    >>> mesh = fx.distributed.Mesh(None, {"data": -1})
    >>> fx.distributed.shard(np.zeros((4, 3)), mesh, fx.distributed.P("data"))
    <sharded float64[4, 3] over Mesh(data: 1) by P('data',)>
    """
    leaves, structure = pytree.flatten(tree)
    results = []
    for leaf, spec in zip(leaves, specs_of(specs, tree, "shard: specs")):
        value, lengths = as_value(leaf), ()
        if pad:
            value, lengths = pad_evenly(value, mesh, spec)
        results.append(Sharded(take_local(value, mesh, spec, "shard: an array"), mesh, spec, lengths))
    return pytree.unflatten(structure, results)


def pad_evenly(value: Any, mesh: Mesh, spec: PartitionSpec) -> tuple[Any, tuple[int | None, ...]]:
    """Append zeros so that an array can be divided evenly; return the lengths that it had, where there are any."""
    from .. import numpy as fnp

    check_spec(spec, value.ndim, mesh, "shard: an array")
    sizes = [mesh.count(names or ()) for names in spec.key]
    missing = [-n % size for n, size in zip(value.shape, sizes)]
    if not any(missing):
        return value, ()
    widths = [(0, m) for m in missing] + [(0, 0)] * (value.ndim - len(missing))
    return fnp.pad(value, widths), tuple([n if m else None for n, m in zip(value.shape, missing)])


@api_boundary
def from_local(tree: PyTree, mesh: Mesh, specs: Any) -> PyTree:
    """Make arrays from the parts that the processes hold, for data that each has loaded by itself.

    Args:
        tree: a pytree of arrays, this process's parts, of the same shapes on all of them.
        mesh, specs: as for `shard`.

    Raises:
        StructureError: an entry of `specs` is no PartitionSpec.
        ShapeError: a spec divides more axes than there are.

    >>> mesh = fx.distributed.Mesh(None, {"data": -1})
    >>> fx.distributed.from_local(np.zeros((2, 3)), mesh, fx.distributed.P("data")).shape
    (2, 3)
    """
    leaves, structure = pytree.flatten(tree)
    results = []
    for leaf, spec in zip(leaves, specs_of(specs, tree, "from_local: specs")):
        value = as_value(leaf)
        check_spec(spec, len(aval_of(value).shape), mesh, "from_local: an array")
        results.append(Sharded(value, mesh, spec))
    return pytree.unflatten(structure, results)


@api_boundary
def gather(tree: PyTree) -> PyTree:
    """Return the whole arrays of a tree with `Sharded` ones, on all processes, which call it together.

    It is differentiable; other leaves come back as they are.

    >>> mesh = fx.distributed.Mesh(None, {"data": -1})
    >>> fx.distributed.gather(fx.distributed.shard(np.arange(3.0), mesh, fx.distributed.P("data")))
    array([0., 1., 2.])
    """
    return pytree.map(lambda x: gather_leaf(x) if is_sharded(x) else x, tree, is_leaf=is_sharded)


def gather_leaf(x: Sharded) -> Any:
    value = x.local
    for dim, names in enumerate(x.spec.key):
        if names is not None:
            value = join_parts(value, axis=x.mesh.axis(names), dim=dim)
    if x.lengths:
        value = value[tuple([slice(length) for length in x.lengths])]
    return value


@api_boundary
def replicate(tree: PyTree, mesh: Mesh | None = None, root: int = 0) -> PyTree:
    """Return the arrays of one process, the root, on all processes. Others may pass anything, for instance None.

    Args:
        tree: a pytree of arrays.
        mesh: the processes.
        root: the rank of the one that has the arrays.

    >>> fx.distributed.replicate({"w": 1.5})
    {'w': array(1.5)}
    """
    comm = world() if mesh is None else mesh.comm
    leaves, structure = pytree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves] if comm.rank == root else []
    described = [(a.shape, a.dtype) for a in arrays], structure
    forms, structure = comm.broadcast_object(described if comm.rank == root else None, root)
    if comm.rank != root:
        arrays = [np.empty(shape, dtype) for shape, dtype in forms]
    return pytree.unflatten(structure, [comm.broadcast(a, root) for a in arrays])


@api_boundary
def scatter(tree: PyTree, mesh: Mesh, specs: Any, *, root: int = 0, pad: bool = False) -> PyTree:
    """Divide arrays that only one process, the root, has; others may pass anything, for instance None.

    Args, result and errors: as for `shard`; `specs` is the same on all processes, one spec for all arrays or a prefix
    of the root's tree.

    Raises:
        StructureError: an entry of `specs` is no PartitionSpec.
        ShapeError: a spec divides more axes than there are, or an axis into parts that are not equal.

    >>> mesh = fx.distributed.Mesh(None, {"data": -1})
    >>> fx.distributed.scatter([np.zeros(2)], mesh, fx.distributed.P("data"))
    [<sharded float64[2] over Mesh(data: 1) by P('data',)>]
    """
    comm = mesh.comm
    if comm.rank == root:
        leaves, structure = pytree.flatten(tree)
        described, stacks = [], []
        for leaf, spec in zip(leaves, specs_of(specs, tree, "scatter: specs")):
            value, lengths = np.asarray(leaf), ()
            if pad:
                value, lengths = pad_evenly(value, mesh, spec)
            check_division(value.shape, mesh, spec, "scatter: an array")
            places = [mesh.place(rank) for rank in range(mesh.size)]
            stacks.append(np.stack([value[part_index(value.shape, mesh, spec, place)] for place in places]))
            described.append((spec, lengths))
        comm.broadcast_object((described, structure), root)
    else:
        described, structure = comm.broadcast_object(None, root)
        stacks = [None] * len(described)
    parts = [
        Sharded(comm.scatter(stack, root), mesh, spec, lengths)
        for stack, (spec, lengths) in zip(stacks, described)
    ]
    return pytree.unflatten(structure, parts)


def part_index(
    shape: Sequence[int], mesh: Mesh, spec: PartitionSpec, place: Mapping[str, int]
) -> tuple[slice, ...]:
    """Return where the part of the process at a place is in an array."""
    index = []
    for length, names in zip(shape, spec.key):
        number, count = 0, 1
        for name in names or ():
            number, count = number * mesh.shape[name] + place[name], count * mesh.shape[name]
        length //= count
        index.append(slice(number * length, (number + 1) * length))
    return tuple(index)


__all__ = [
    "NamedSharding",
    "P",
    "PartitionSpec",
    "Sharded",
    "from_local",
    "gather",
    "replicate",
    "scatter",
    "shard",
]
