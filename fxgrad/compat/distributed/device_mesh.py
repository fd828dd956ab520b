"""torch.distributed.device_mesh: processes as the entries of an array, with a group along each of its axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .._make.creation import tensor
from ..errors import ArgumentValueError, TensorError
from .groups import ProcessGroup, get_rank, get_world_size, is_initialized, split_off
from .groups import get_default_group as default_group
from .initialization import init_process_group


class DeviceMesh:
    """Processes as the entries of an array, with a group along each of its axes.

    Args:
        device_type: "cpu" or "cuda".
        mesh: the numbers of the processes, as a Tensor or nested lists. All processes make the same mesh.
        mesh_dim_names: names of the axes.

    Raises:
        RuntimeError: not one name for each axis.
        ValueError: a process comes twice.

    >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    >>> mesh, mesh["data"].get_local_rank()
    (DeviceMesh((data=1, model=1), 'cpu'), 0)
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _groups: Sequence[ProcessGroup | None] | None = None,
    ):
        if not is_initialized():
            init_process_group()
        self.device_type = device_type
        self._fx_ranks = np.asarray(getattr(mesh, "_fx_value", mesh), np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self._fx_ranks.ndim:
            raise TensorError(
                f"DeviceMesh: {len(self.mesh_dim_names)} names for {self._fx_ranks.ndim} axes",
                hint="mesh_dim_names=(…), a name for each",
            )
        if len({*self._fx_ranks.ravel().tolist()}) < self._fx_ranks.size:
            raise ArgumentValueError(
                "DeviceMesh: a process comes twice", hint=f"mesh={self._fx_ranks.tolist()}"
            )
        self._fx_groups = (
            list(_groups) if _groups is not None else [self._fx_make_group(i) for i in range(self.ndim)]
        )

    def _fx_make_group(self, axis: int) -> ProcessGroup | None:
        """Return the group of this process along an axis; None if it is not in the mesh."""
        lines = np.moveaxis(self._fx_ranks, axis, -1).reshape(-1, self._fx_ranks.shape[axis]).tolist()
        here = get_rank()
        color = next((i for i, line in enumerate(lines) if here in line), -1)
        made = split_off(default_group(), lines[color] if color >= 0 else [], color, None, f"mesh_dim_{axis}")
        return None if type(made) is int else made

    @property
    def mesh(self) -> Any:
        """The numbers of the processes, as a Tensor."""
        return tensor(self._fx_ranks)

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self._fx_ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._fx_ranks.shape

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, or how many along an axis."""
        return self._fx_ranks.size if mesh_dim is None else self._fx_ranks.shape[mesh_dim]

    def _fx_find_axis(self, mesh_dim: int | str | None) -> int:
        """Return the number of an axis, which may be left out if there is one.

        Raises:
            TensorError: it is left out if there are several.
            KeyError: there is no axis of this name.
        """
        if mesh_dim is None:
            if self.ndim > 1:
                raise TensorError(
                    f"Found the DeviceMesh have {self.ndim} dimensions: the optional argument `mesh_dim` needs to be "
                    "specified when device_mesh.ndim > 1.",
                    hint=f"mesh_dim={self.mesh_dim_names[0]!r}" if self.mesh_dim_names else "mesh_dim=0",
                )
            return 0
        if isinstance(mesh_dim, str):
            names = self.mesh_dim_names or ()
            if mesh_dim not in names:
                raise KeyError(f"Invalid mesh_dim_name {mesh_dim!r}: the mesh has {names}")
            return names.index(mesh_dim)
        return range(self.ndim)[mesh_dim]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """Return the group of this process along an axis."""
        return self._fx_groups[self._fx_find_axis(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """Return the groups of this process along all axes."""
        return list(self._fx_groups)

    def get_rank(self) -> int:
        """Return the number of this process among all."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return where this process is along an axis."""
        return get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """Return where this process is along all axes; None if it is not in the mesh."""
        places = np.argwhere(self._fx_ranks == get_rank())
        return places[0].tolist() if len(places) else None

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh, along these axes, in which this process is."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        axes, here = [self._fx_find_axis(name) for name in names], self.get_coordinate()
        if here is None:
            raise TensorError(
                f"process {get_rank()} is not in {self}", hint="if mesh.get_coordinate() is not None: …"
            )
        index = tuple(slice(None) if i in axes else here[i] for i in range(self.ndim))
        kept = sorted(axes)
        part = np.moveaxis(self._fx_ranks[index], range(len(axes)), [axes.index(axis) for axis in kept])
        return DeviceMesh(
            self.device_type, part, mesh_dim_names=names, _groups=[self._fx_groups[axis] for axis in axes]
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self._fx_key == other._fx_key

    def __hash__(self) -> int:
        return hash(self._fx_key)

    @property
    def _fx_key(self) -> tuple[Any, ...]:
        """The key by which meshes are compared."""
        return self.device_type, self.shape, tuple(self._fx_ranks.ravel().tolist()), self.mesh_dim_names

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        axes = ", ".join(f"{n}={s}" for n, s in zip(names, self.shape, strict=True)) if names else self.shape
        return (
            f"DeviceMesh(({axes}), {self.device_type!r})"
            if names
            else f"DeviceMesh({axes}, {self.device_type!r})"
        )


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """Return a mesh of all processes, in their order; without a group of all, one is made.

    Args:
        device_type: "cpu" or "cuda".
        mesh_shape: the lengths of the axes.
        mesh_dim_names: names of the axes.
        backend_override: accepted.

    Raises:
        TensorError: there are not as many processes, or names twice or of another number.

    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> mesh.size()
    1
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise TensorError(
            "Each mesh_dim_name must be unique.",
            hint=f"Found repeated mesh_dim_name in {tuple(mesh_dim_names)}",
        )
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise TensorError(
            "mesh_shape and mesh_dim_names should have same length!",
            hint=f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape): {len(mesh_shape)}.",
        )
    if not is_initialized():
        init_process_group()
    count = get_world_size()
    if prod(mesh_shape) > count:
        raise TensorError(
            f"Mesh should not be bigger than default world size {count}, but found {prod(mesh_shape)} ranks!",
            hint=f"mpirun -n {prod(mesh_shape)} python program.py",
        )
    return DeviceMesh(
        device_type, np.arange(prod(mesh_shape)).reshape(mesh_shape), mesh_dim_names=mesh_dim_names
    )


__all__ = ["DeviceMesh", "init_device_mesh"]
