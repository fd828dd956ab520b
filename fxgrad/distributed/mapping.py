"""`shard_map`: every process of a mesh applies a function to its part of the arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..core import pytree, source_info
from ..core.errors import ShapeError, StructureError
from ..core.interpreter import CURRENT, api_boundary, opened, use_context
from ..transforms.arguments import LeafName, admit, leaf_path, unshare_results
from ..transforms.copies import CopyInterpreter, VaryingTracer, copy_along, unite_along
from ..transforms.derived_function import derive
from .sharding import PartitionSpec, Sharded, check_spec, is_sharded, specs_of, take_local

if TYPE_CHECKING:
    from .mesh import Mesh


@api_boundary
def shard_map(
    fun: Callable[..., Any] | None = None,
    mesh: Mesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    check_vma: bool = True,
) -> Callable[..., Any]:
    """Apply `fun` on every process of a mesh to its parts of the arguments; between them, it uses collectives.

    Args:
        fun: a function of pytrees of arrays, in which the axes of the mesh are open for `fx.lax.psum` and the others.
        mesh: the processes.
        in_specs: how the arguments are divided: a PartitionSpec, or a tuple with an entry for every argument, each a
            pytree prefix of it. P() is that of a value of which every process has a copy.
        out_specs: how the results are: a pytree prefix of them.
        check_vma: know which values differ between processes. Derivatives inside `fun` with respect to a copy are then
            summed over the processes, once, and a result of P() that differs is an error. False: every process's values
            are its own.

    Returns:
        A function of the whole arrays, which are the same on all processes, or `Sharded`. Its results are whole arrays
        for P(), and `Sharded` otherwise. All transforms apply to it; `fx.jit` of it leaves out the bookkeeping.

    Raises:
        ShapeError: an axis cannot be divided evenly.
        StructureError: specs are no prefix; a Sharded argument is divided otherwise.
        ValueError: a result differs along an axis that its spec does not name.

    >>> from fxgrad.distributed import P
    >>> mesh = fx.distributed.Mesh(None, {"data": -1})
    >>> def loss(w, x):
    ...     return fx.lax.pmean(((x @ w) ** 2).mean(), "data")
    >>> mapped = fx.distributed.shard_map(loss, mesh, (P(), P("data")), P())
    >>> fx.grad(mapped)(np.ones(2), np.eye(2))
    array([1., 1.])
    """
    if fun is None:
        return partial(shard_map, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma)
    if mesh is None:
        raise StructureError(
            "shard_map needs a mesh", hint="shard_map(f, fx.make_mesh(…), in_specs, out_specs)"
        )

    @api_boundary
    def mapped(*args: Any) -> Any:
        site = source_info.user_frame()
        leaves, structure = pytree.flatten(args, is_sharded)
        prefix = tuple(in_specs) if isinstance(in_specs, list) else in_specs
        specs = specs_of(prefix, args, "shard_map: in_specs", len(leaves))
        parts = []
        for i, (leaf, spec) in enumerate(zip(leaves, specs)):
            name = LeafName("shard_map: the argument", leaf_path, structure, i)
            parts.append(enter_part(leaf, mesh, spec, name))
        with use_context(CURRENT.get()):  # all levels inside end together
            mesh.open_axes()
            level = None
            if check_vma:
                level = CopyInterpreter(site, mesh)
                CURRENT.set(opened(level).context)
                parts = [level.wrap(p, mesh.varying(s.names)) for p, s in zip(parts, specs)]
            result = fun(*pytree.unflatten(structure, parts))
            results, out_structure = pytree.flatten(result)
            names = [
                LeafName("shard_map: the result", leaf_path, out_structure, i) for i in range(len(results))
            ]
            found = list(map(admit, results, names))
        wanted = specs_of(out_specs, result, "shard_map: out_specs", len(results))
        ended = []
        for value, spec, name in zip(found, wanted, names):
            if level is not None:
                value, varying = level.unwrap(value)
                check_varying(varying, spec, name)
            check_spec(spec, len(getattr(value, "shape", ())), mesh, name)
            ended.append(unite_along(value, mesh, spec.names))
        ended = unshare_results(ended, [p.primal if isinstance(p, VaryingTracer) else p for p in parts])
        return pytree.unflatten(
            out_structure, [Sharded(v, mesh, s) if s.names else v for v, s in zip(ended, wanted)]
        )

    return derive(
        mapped, shard_map, fun, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma
    )


def enter_part(leaf: Any, mesh: Mesh, spec: PartitionSpec, name: LeafName) -> Any:
    """Return this process's part of an argument."""
    if is_sharded(leaf):
        if leaf.spec != spec or leaf.mesh != mesh:
            raise StructureError(
                f"{name} is {leaf!r}, and in_specs says {spec!r} of {mesh!r}",
                hint="fx.distributed.shard(fx.distributed.gather(x), mesh, spec)",
            )
        value = admit(leaf.local, name)
    else:
        value = take_local(admit(leaf, name), mesh, spec, name)
    return copy_along(value, mesh, spec.names)


def check_varying(varying: Any, spec: PartitionSpec, name: object) -> None:
    """Raise where a result differs along an axis of which its spec says that it does not."""
    differs = [n for n in varying if n not in spec.names]
    if differs:
        raise ShapeError(
            f"{name} differs along {', '.join(map(repr, sorted(differs)))}, and its spec in out_specs, {spec!r}, "
            "says that it is the same there",
            hint=f"fx.lax.psum or pmean over {sorted(differs)[0]!r}, a spec that names the axis, or check_vma=False",
        )


__all__ = ["shard_map"]
