"""Meshes: processes arranged along named axes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from contextvars import ContextVar
from math import prod
from typing import Any

from ..core.errors import ShapeError, StructureError, UnboundAxisError
from ..core.interpreter import CURRENT, Context, Interpreter, api_boundary, opened
from ..core.source_info import user_frame
from ..ops import ranks  # noqa: F401  collectives along axes between processes
from .communicator import Communicator
from .processes import world

# The Contexts that are current again when a `with mesh:` ends.
ENTERED: ContextVar[tuple[Context, ...]] = ContextVar("fxgrad meshes", default=())


class MeshAxis:
    """An axis of a mesh, or several as one: those processes that differ in their place along it only.

    `comm` is the communicator of these, `size` their number, `rank` the place of this process among them.
    """

    __slots__ = ("comm", "mesh", "names", "rank", "size", "varying")

    comm: Communicator
    mesh: Mesh
    names: tuple[str, ...]
    rank: int
    size: int
    varying: frozenset[str]

    def __init__(self, mesh: Mesh, names: tuple[str, ...], comm: Communicator):
        self.mesh, self.names, self.comm, self.size, self.rank = mesh, names, comm, comm.size, comm.rank
        self.varying = mesh.varying(names)

    def __repr__(self) -> str:
        return f"<axis {', '.join(self.names)} of {self.size} processes>"


class AxisInterpreter(Interpreter):
    """A level at which an axis of a mesh has its name. It leaves everything else alone."""

    name = "mesh"
    transparent = True
    __slots__ = ("axis_name", "extent")

    def __init__(self, site: Any, name: str, axis: MeshAxis):
        super().__init__(site)
        self.axis_name, self.extent = name, axis

    def process(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return self.bind_outer(primitive, args, params)


class Mesh:
    """Processes along named axes. In `with mesh:` these are open for the collectives of `fx.lax`, as the axis of
    `fx.vmap(f, axis_name=…)` is: the same program runs on one process or on many.

    Args:
        comm: the group of processes; None is `world()`.
        shape: the size of every axis by its name, the last running fastest; one of them may be -1.

    Raises:
        ShapeError: the sizes do not give the number of processes.
        StructureError: `comm` is no communicator, or `shape` no mapping.

    >>> mesh = fx.distributed.Mesh(None, {"data": -1})
    >>> with mesh:
    ...     print(fx.lax.psum(1, "data"), fx.lax.pmean(2.0, "data"))
    1 2.0
    """

    comm: Communicator
    axis_names: tuple[str, ...]
    size: int
    coords: dict[str, int]

    @api_boundary
    def __init__(self, comm: Communicator | None, shape: Mapping[str, int]):
        if not isinstance(comm, Communicator | None) or not isinstance(shape, Mapping):
            raise StructureError(
                f"Mesh takes a group of processes and the sizes of its axes by name, not {comm!r} and {shape!r}",
                hint='fx.make_mesh((-1,), ("data",)), or fx.distributed.Mesh(None, {"data": -1}): one axis of all',
            )
        self.comm = world() if comm is None else comm
        sizes = {str(name): int(size) for name, size in shape.items()}
        free = [name for name, size in sizes.items() if size == -1]
        if len(free) == 1:
            sizes[free[0]] = self.comm.size // max(1, -prod(sizes.values()))
        if prod(sizes.values()) != self.comm.size or any(size < 1 for size in sizes.values()):
            raise ShapeError(
                f"Mesh: axes {dict(shape)} for {self.comm.size} processes",
                hint="sizes whose product is the number of processes; one of them may be -1",
            )
        self.shape = sizes
        self.axis_names = tuple(sizes)
        self.size = self.comm.size
        self.coords = self.place(self.comm.rank)
        # Of all meshes of these sizes together: MPI has only so many communicators.
        known: dict[tuple, dict[tuple[str, ...], MeshAxis]] = vars(self.comm).setdefault("mesh_axes", {})
        self._axes = known.setdefault(tuple(sizes.items()), {})
        for name in sizes:
            self.axis(name)

    def __repr__(self) -> str:
        return f"Mesh({', '.join(f'{name}: {size}' for name, size in self.shape.items())})"

    def axis(self, names: str | Sequence[str]) -> MeshAxis:
        """Return an axis, or several as one, in which the first runs slowest. All processes ask for it together.

        Raises:
            UnboundAxisError: the mesh has no axis of this name.
            StructureError: an axis comes twice.
        """
        names = (names,) if isinstance(names, str) else tuple(names)
        found = self._axes.get(names)
        if found is None:
            self.count(names)
            if len({*names}) < len(names):
                raise StructureError(f"an axis twice: {names}", hint="each axis once")
            found = self._axes[names] = MeshAxis(self, names, self._split(names))
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._axes is other._axes

    def __hash__(self) -> int:
        return id(self._axes)

    def count(self, names: Iterable[str]) -> int:
        """Return the number of processes along axes; raises `UnboundAxisError` where there is no such axis."""
        for name in names:
            if name not in self.shape:
                raise UnboundAxisError(
                    f"{self!r} has no axis {name!r}", hint=f"one of {', '.join(map(repr, self.axis_names))}"
                )
        return prod([self.shape[name] for name in names])

    def varying(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of the axes along which there is more than one process."""
        return frozenset([name for name in names if self.shape[name] > 1])

    def place(self, rank: int) -> dict[str, int]:
        """Return the place of a process along every axis."""
        place = {}
        for name, size in reversed(self.shape.items()):
            rank, place[name] = divmod(rank, size)
        return {name: place[name] for name in self.shape}

    def rest(self, names: Container[str]) -> MeshAxis | None:
        """Return the axes that are not among these as one, None where these have one process only."""
        others = tuple([n for n, size in self.shape.items() if n not in names and size > 1])
        return self.axis(others) if others else None

    def _split(self, names: tuple[str, ...]) -> Communicator:
        """Return the group of those processes that differ in their places along these axes only."""
        if names == self.axis_names:
            return self.comm
        color = key = 0
        for name, size in self.shape.items():
            if name not in names:
                color = color * size + self.coords[name]
        for name in names:
            key = key * self.shape[name] + self.coords[name]
        return self.comm.split(color, key)

    def open_axes(self) -> None:
        """Open a level for every axis, which ends when another Context is made current."""
        site = user_frame()
        for name in self.axis_names:
            CURRENT.set(opened(AxisInterpreter(site, name, self.axis(name))).context)

    def __enter__(self) -> Mesh:
        ENTERED.set((*ENTERED.get(), CURRENT.get()))
        self.open_axes()
        return self

    def __exit__(self, *exc: object) -> None:
        *rest, before = ENTERED.get()
        ENTERED.set(tuple(rest))
        CURRENT.set(before)


@api_boundary
def make_mesh(
    axis_shapes: Sequence[int], axis_names: str | Sequence[str], *, devices: Sequence[Any] | None = None
) -> Mesh:
    """Return the mesh of all processes, as `jax.make_mesh` arranges devices: a process computes on one device, the
    processor or the GPU that its arrays are on.

    Args:
        axis_shapes: the sizes of the axes, the last running fastest; one of them may be -1.
        axis_names: their names.
        devices: None, or as many devices as there are processes.

    Raises:
        ShapeError: the sizes do not give the number of processes, or there is not one name for each.

    >>> fx.make_mesh((1, 1), ("data", "model"))
    Mesh(data: 1, model: 1)
    >>> fx.make_mesh((8,), ("data",))
    Traceback (most recent call last):
      ...
    fxgrad.core.errors.ShapeError: make_mesh: axes {'data': 8} of 8 devices, and there is 1: one for each process...
    """
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    sizes = tuple(axis_shapes)
    if len(sizes) != len(names):
        raise ShapeError(f"make_mesh: axes {sizes} with the names {names}", hint="a name for each axis")
    shape = dict(zip(names, sizes))
    found = world().size
    wanted = prod(sizes) if min(sizes, default=1) > 0 else found
    given = found if devices is None else len(devices)
    count = max(wanted, given)
    if count > found:
        raise ShapeError(
            f"make_mesh: axes {shape} of {count} devices, and there {'is' if found == 1 else 'are'} {found}: "
            "one for each process",
            hint=f"mpirun -n {count} python program.py, or fx.vmap(f, axis_name=…) in one process",
        )
    return Mesh(None, shape)


__all__ = ["Mesh", "make_mesh"]
