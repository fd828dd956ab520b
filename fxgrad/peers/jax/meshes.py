"""JAX's meshes and shardings: those of `fxgrad.distributed`, of the one device there is. On it, values are whole, and
explicit axes do not differ from automatic ones: specs are checked only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from enum import Enum
from typing import Any

import numpy as np

from ... import distributed
from ...core.errors import StructureError
from ...core.staging import stages_effects
from ...distributed import PartitionSpec
from .devices import CPU, Sharding

__all__ = [
    "AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec", "create_device_mesh", "get_abstract_mesh",
    "get_mesh", "make_mesh", "set_mesh", "use_abstract_mesh",
]  # fmt: skip


class AxisType(Enum):
    """How the division of arrays along an axis of a mesh is decided."""

    Auto, Explicit, Manual = "auto", "explicit", "manual"

    def __repr__(self) -> str:
        return self.name


def types_of(axis_types: Any, names: Sequence[str], otherwise: AxisType) -> tuple[AxisType, ...]:
    """Return the type of every axis, of one type for all or one for each.

    Raises:
        StructureError: there is not one for each.
    """
    if axis_types is None or isinstance(axis_types, AxisType):
        return (axis_types or otherwise,) * len(names)
    found = tuple(axis_types)
    if len(found) != len(names) or not all(isinstance(kind, AxisType) for kind in found):
        raise StructureError(
            f"axis_types {axis_types!r} of the axes {tuple(names)}",
            hint="an AxisType for each axis, or one for all",
        )
    return found


class AbstractMesh:
    """The sizes, names and types of axes, without devices."""

    count = distributed.Mesh.count

    def __init__(
        self, axis_sizes: Sequence[int], axis_names: Sequence[str], axis_types: Any = None, **options: Any
    ):
        self.axis_sizes, self.axis_names = tuple(axis_sizes), tuple(axis_names)
        self.axis_types = types_of(axis_types, self.axis_names, AxisType.Auto)
        self.shape = OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))
        self.size, self.empty = int(np.prod(self.axis_sizes)), not self.axis_names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.axis_sizes, self.axis_names, self.axis_types))

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        return f"AbstractMesh({axes or '()'}, axis_types={self.axis_types})"


class Mesh(distributed.Mesh):
    """Devices in an array with named axes."""

    def __init__(self, devices: Any, axis_names: str | Sequence[str], axis_types: Any = None):
        self.devices = np.asarray(devices, dtype=object)
        mesh = distributed.make_mesh(self.devices.shape, axis_names, devices=[*self.devices.flat])
        super().__init__(mesh.comm, mesh.shape)
        self.empty, self.axis_sizes = not self.axis_names, self.devices.shape
        self.axis_types = types_of(axis_types, self.axis_names, AxisType.Auto)
        self.device_ids = np.zeros(self.axis_sizes, int)
        self.before: list[Any] = []

    def __repr__(self) -> str:
        axes = ", ".join(f"{name!r}: {size}" for name, size in self.shape.items())
        types = ", ".join(kind.name for kind in self.axis_types)
        return f"Mesh({axes or '()'}, axis_types=({types}{',' * (len(self.axis_types) == 1)}))"

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    def __enter__(self) -> Mesh:
        self.before.append(CONTEXT_MESH.get())
        CONTEXT_MESH.set(self)
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        CONTEXT_MESH.set(self.before.pop())


def make_mesh(
    axis_shapes: Sequence[int], axis_names: Sequence[str], axis_types: Any = None, *, devices: Any = None
) -> Mesh:
    """Return a mesh of these sizes and names, whose axes are explicit unless `axis_types` says otherwise."""
    sizes = distributed.make_mesh(axis_shapes, axis_names, devices=devices).shape
    return Mesh(np.full((*sizes.values(),), CPU), axis_names, axis_types or AxisType.Explicit)


def create_device_mesh(mesh_shape: Sequence[int], devices: Any = None, **options: Any) -> Any:
    """Return the devices in an array of this shape."""
    return make_mesh(mesh_shape, [f"axis{i}" for i in range(len(mesh_shape))], devices=devices).devices


# -- the mesh that specs belong to -----------------------------------------------------------------------------------
CONTEXT_MESH: ContextVar[Mesh | AbstractMesh | None] = ContextVar("mesh of jax.set_mesh", default=None)


class set_mesh:
    """Set the mesh to which specs belong from now on; as a context manager, until the end of the block."""

    kind: type = Mesh

    def __init__(self, mesh: Any):
        if mesh is not None and not isinstance(mesh, self.kind):
            raise StructureError(
                f"{type(self).__name__} takes a mesh, not {mesh!r}", hint='jax.make_mesh((1,), ("data",))'
            )
        if stages_effects():
            raise StructureError(
                f"{type(self).__name__} inside of jax.jit",
                hint="set the mesh around the call of the jitted function",
            )
        self.before = CONTEXT_MESH.get()
        CONTEXT_MESH.set(mesh)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        CONTEXT_MESH.set(self.before)


class use_abstract_mesh(set_mesh):
    """Set a mesh without devices for a block."""

    kind = AbstractMesh


def get_mesh() -> Mesh:
    """Return the mesh that was set; one without axes where none was."""
    mesh = CONTEXT_MESH.get()
    return mesh if isinstance(mesh, Mesh) else Mesh(CPU, ())


def get_abstract_mesh() -> AbstractMesh:
    """Return the mesh that was set, without its devices."""
    mesh = CONTEXT_MESH.get()
    return mesh if isinstance(mesh, AbstractMesh) else get_mesh().abstract_mesh


class NamedSharding(distributed.NamedSharding, Sharding):
    """How an array lies on a mesh."""

    mesh: Any  # one of these

    def __init__(self, mesh: Mesh, spec: PartitionSpec, *, memory_kind: str | None = None):
        super().__init__(mesh, spec)

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh!r}, spec={self.spec!r}, memory_kind={self.memory_kind})"

    def update(self, **changes: Any) -> NamedSharding:
        """Return it with another mesh or spec."""
        return NamedSharding(**({"mesh": self.mesh, "spec": self.spec} | changes))


def undivided(ndim: int) -> NamedSharding:
    """Return how an array lies whose axes no mesh divides."""
    return NamedSharding(Mesh(CPU, ()), PartitionSpec(*[None] * ndim))
