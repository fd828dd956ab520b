"""`jax.sharding`, `jax.shard_map`, and functions that place arrays: on one device arrays are whole, and specs are
checked against the mesh."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from ... import distributed, tree
from ...core.aval import aval_of
from ...core.errors import ShapeError, StructureError
from .arrays import array_of, convert, value_of
from .devices import CPU, Sharding, SingleDeviceSharding, as_sharding
from .meshes import (
    CONTEXT_MESH,
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    get_abstract_mesh,
    get_mesh,
    make_mesh,
    set_mesh,
    use_abstract_mesh,
)
from .programs import lift_transform, map_leaves

__all__ = [
    "AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding",
    "auto_axes", "explicit_axes", "get_abstract_mesh", "get_mesh", "make_array_from_callback",
    "make_array_from_process_local_data", "make_array_from_single_device_arrays", "make_mesh",
    "make_single_device_sharding", "reshard", "set_mesh", "shard_map", "smap", "use_abstract_mesh",
]  # fmt: skip


# -- where arrays lie ------------------------------------------------------------------------------------------------
def context_mesh(what: str) -> Any:
    """Return the mesh that was set.

    Raises:
        StructureError: none was.
    """
    mesh = CONTEXT_MESH.get()
    if mesh is None or mesh.empty:
        raise StructureError(
            f"{what} needs a mesh", hint="jax.set_mesh(mesh), or a NamedSharding(mesh, spec)"
        )
    return mesh


def sharding_of(given: Any, what: str) -> Any:
    """Return a sharding for a sharding, a device, or a spec that belongs to the mesh that was set.

    Raises:
        StructureError: no mesh was set.
        TypeError: it is none of these.
    """
    if isinstance(given, PartitionSpec):
        return NamedSharding(context_mesh(f"{what} of {given!r}"), given)
    given = as_sharding(given)
    if not isinstance(given, Sharding):
        raise TypeError(f"{what} takes a NamedSharding, a PartitionSpec or a device, not {given!r}")
    return given


def is_none(leaf: Any) -> bool:
    """Whether a leaf of a tree of shardings leaves what it stands for where it is."""
    return leaf is None


def place_all(xs: Any, shardings: Any, what: str) -> Any:
    """Return a pytree of arrays that lie as a prefix of it says: they are whole. None leaves them as they are.

    Raises:
        ShapeError: a spec divides more axes than there are.
    """
    xs = map_leaves(xs)
    leaves, treedef = tree.flatten(xs)
    owners = tree.leaves(tree.broadcast(shardings, xs, is_leaf=is_none), is_leaf=is_none)
    found = [None if owner is None else sharding_of(owner, what) for owner in owners]
    for x, sharding in zip(leaves, found):
        if isinstance(sharding, NamedSharding):
            sharding.place(x._fx_value)  # of keys their words
    return treedef.unflatten([x if s is None else x.placed(s) for x, s in zip(leaves, found)])


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Return arrays that lie as shardings say, whose axes are explicit.

    Raises:
        StructureError: no mesh was set for a spec, or the spec names an axis that is not explicit.
        ShapeError: a spec divides more axes than there are.
        TypeError: what is given for a sharding is none.
    """
    for given in tree.leaves(out_shardings, is_leaf=is_none):
        if given is None:
            raise StructureError("reshard: a sharding is None", hint="a PartitionSpec or a NamedSharding")
        sharding = sharding_of(given, "reshard")
        if isinstance(sharding, NamedSharding):
            kinds = dict(zip(sharding.mesh.axis_names, sharding.mesh.axis_types))
            implicit = [name for name in sharding.spec.names if kinds[name] is not AxisType.Explicit]
            if implicit:
                raise StructureError(
                    f"reshard: the axis {implicit[0]!r} is {kinds[implicit[0]].name}, not Explicit",
                    hint="jax.lax.with_sharding_constraint, or a mesh with axis_types=AxisType.Explicit",
                )
    return place_all(xs, out_shardings, "reshard")


def make_single_device_sharding(device: Any = CPU, memory_kind: str | None = None) -> SingleDeviceSharding:
    """Return the sharding of arrays on one device."""
    return SingleDeviceSharding(device)


def with_checked_spec(what: str, f: Callable[..., Any] | None, spec: Any) -> Any:
    """Return a function whose spec is checked when it is called; it computes the same for all types of axes."""
    if f is None:
        return lambda f: with_checked_spec(what, f, spec)

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        context_mesh(what)
        given = kwargs.pop("out_sharding", spec) if what == "auto_axes" else kwargs.pop("in_sharding", spec)
        for part in tree.leaves(given):
            sharding_of(part, what)
        return f(*args, **kwargs)

    return checked


def auto_axes(f: Callable[..., Any] | None = None, /, *, axes: Any = None, out_sharding: Any = None) -> Any:
    """Return a function, inside of which axes of the mesh are automatic."""
    return with_checked_spec("auto_axes", f, out_sharding)


def explicit_axes(
    f: Callable[..., Any] | None = None, /, *, axes: Any = None, in_sharding: Any = None
) -> Any:
    """Return a function, inside of which axes of the mesh are explicit."""
    return with_checked_spec("explicit_axes", f, in_sharding)


# -- arrays from parts -----------------------------------------------------------------------------------------------
def as_whole(what: str, shape: Sequence[int], sharding: Any, data: Any, dtype: Any = None) -> Any:
    """Return the data of the one device as an array.

    Raises:
        ShapeError: it has not the shape of the whole.
    """
    sharding_of(sharding, what).shard_shape(tuple(shape))
    x = array_of(value_of(data))
    if aval_of(value_of(x)).shape != tuple(shape):
        raise ShapeError(f"{what}: the data has the shape {x.shape}, the array {tuple(shape)}")
    return (x if dtype is None else convert(x, dtype)).placed(sharding_of(sharding, what))


def make_array_from_callback(
    shape: Sequence[int], sharding: Any, data_callback: Callable[[Any], Any], dtype: Any = None
) -> Any:
    """Return the array whose part at an index a function gives: asked for the whole."""
    data = data_callback((slice(None),) * len(shape))
    return as_whole("make_array_from_callback", shape, sharding, data, dtype)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """Return the array of which this process has all."""
    shape = local_data.shape if global_shape is None else global_shape
    return as_whole("make_array_from_process_local_data", shape, sharding, local_data)


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Any, arrays: Sequence[Any], *, dtype: Any = None
) -> Any:
    """Return the array whose parts on the devices are given: one part.

    Raises:
        StructureError: there are more.
    """
    if len(arrays) != 1:
        raise StructureError(
            f"make_array_from_single_device_arrays: {len(arrays)} arrays for one device", hint="one array"
        )
    return as_whole("make_array_from_single_device_arrays", shape, sharding, arrays[0], dtype)


# -- functions of parts ----------------------------------------------------------------------------------------------
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = None,
    mesh: Mesh | None = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Apply a function to the parts of arrays: `fx.shard_map`, whose results are whole arrays here. Without a mesh
    it is that of `jax.set_mesh`."""
    if f is None:
        return lambda f: shard_map(f, out_specs=out_specs, in_specs=in_specs, mesh=mesh, check_vma=check_vma)
    specs = PartitionSpec() if in_specs is None else in_specs
    mesh = context_mesh("shard_map") if mesh is None else mesh
    return lift_transform(gather_results)(f, mesh, specs, out_specs, check_vma=check_vma)


def gather_results(f: Callable[..., Any], *specs: Any, check_vma: bool) -> Callable[..., Any]:
    """Return `fx.shard_map` of a function as one with whole results."""
    mapped = distributed.shard_map(f, *specs, check_vma=check_vma)
    return lambda *args: distributed.gather(mapped(*args))


def smap(
    f: Callable[..., Any] | None = None, /, *, in_axes: Any = None, out_axes: Any, axis_name: str
) -> Any:
    """Apply a function to the parts of arrays along one axis of the mesh that was set: `shard_map` with the places of
    that axis among those of the arrays."""
    if f is None:
        return partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)

    def specs_of(axes: Any) -> Any:
        return tree.map(
            lambda axis: PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, axis_name),
            axes,
            is_leaf=lambda axis: axis is None,
        )

    return shard_map(f, in_specs=specs_of(in_axes), out_specs=specs_of(out_axes), mesh=context_mesh("smap"))
