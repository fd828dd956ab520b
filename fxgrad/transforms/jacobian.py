"""Full Jacobians and Hessians: `linearize` or `vjp`, mapped over a basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, NamedTuple, Unpack, overload

import numpy as np

from .. import ops
from ..core import pytree
from ..core.arrays import dtype_in, has_devices, namespace_of, use_device_of
from ..core.aval import Aval, aval_of, float0, is_differentiable
from ..core.common_errors import check_option
from ..core.errors import ConcretizationError, DTypeError, FxgradError
from ..core.interpreter import api_boundary, concretize
from ..transforms.arguments import positions_of, wrong_argnums
from .arguments import LeafName, admit, path_at_positions, restrict_arguments
from .derived_function import derive
from .jit import eval_shape, function_name
from .jvp import jvp, linearize
from .linear_map import map_rows
from .vjp import grad, vjp
from .vmap import vmap

if TYPE_CHECKING:
    from ..core.typing import P, R, T
    from .signatures import First, Jacobian, JacobianOptions, NoAux


class Chunks(NamedTuple):
    """How many entries of a basis are mapped over at a time: the options of `vmap`."""

    chunk_size: int | str | None = None
    memory_limit: int | float | str | None = None
    progress: bool | str = False


@overload
def jacfwd(
    fun: Callable[Concatenate[T, P], R],
    argnums: First = 0,
    has_aux: NoAux = False,
    **options: Unpack[JacobianOptions],
) -> Jacobian[T, P, R]: ...
@overload
def jacfwd(
    fun: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *args: Any, **options: Any
) -> Callable[P, Any]: ...
@api_boundary
def jacfwd(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    sparsity: Any = None,
    chunk_size: int | str | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | str = False,
    check: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of `fun` by forward mode: one column for each entry of the arguments. See `jacobian`.

    >>> fx.jacfwd(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    chunks = Chunks(chunk_size, memory_limit, progress)
    return jacobian(
        fun, argnums, has_aux, holomorphic, mode="fwd", sparsity=sparsity, check=check, **chunks._asdict()
    )


@overload
def jacrev(
    fun: Callable[Concatenate[T, P], R],
    argnums: First = 0,
    has_aux: NoAux = False,
    **options: Unpack[JacobianOptions],
) -> Jacobian[T, P, R]: ...
@overload
def jacrev(
    fun: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *args: Any, **options: Any
) -> Callable[P, Any]: ...
@api_boundary
def jacrev(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    sparsity: Any = None,
    chunk_size: int | str | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | str = False,
    check: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of `fun` by reverse mode: one row for each entry of the result. See `jacobian`.

    >>> fx.jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    chunks = Chunks(chunk_size, memory_limit, progress)
    return jacobian(
        fun,
        argnums,
        has_aux,
        holomorphic,
        allow_int,
        mode="rev",
        sparsity=sparsity,
        check=check,
        **chunks._asdict(),
    )


@overload
def jacobian(
    fun: Callable[Concatenate[T, P], R],
    argnums: First = 0,
    has_aux: NoAux = False,
    *,
    allow_int: bool = False,
    mode: str = "auto",
    **options: Unpack[JacobianOptions],
) -> Jacobian[T, P, R]: ...
@overload
def jacobian(
    fun: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *args: Any, **options: Any
) -> Callable[P, Any]: ...
@api_boundary
def jacobian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    mode: str = "auto",
    sparsity: Any = None,
    chunk_size: int | str | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | str = False,
    check: bool = False,
) -> Callable[P, Any]:
    """The Jacobian of `fun`, as a function of the same arguments.

    Args:
        fun: a function of pytrees of arrays.
        argnums: which positional arguments to differentiate.
        has_aux: `fun` returns (value, aux).
        holomorphic: `fun` is holomorphic: complex arguments and results are allowed.
        allow_int: integer arguments are allowed (reverse mode; their Jacobian has dtype float0).
        mode: "fwd", "rev", or "auto": forward where the arguments have no more entries than the result, unless only
            the other mode can do it.
        sparsity: None for dense arrays; "auto" for sparse ones, of the pattern that `sparsity_pattern` finds; a pattern
            (a `scipy.sparse` array or a boolean array with a row for each entry of the result, a column for each of the
            arguments), or a `Coloring` of one. As many products are computed as the pattern has colors (see `color`).
            The pattern is found once for arguments of these shapes and dtypes, so that `fun` must be pure, as for
            `jit`.
        chunk_size, memory_limit, progress: how many columns (rows) to compute at a time, to bound memory, and a bar
            over them, as for `vmap`.
        check: compare the Jacobian times a random vector with a numerical derivative, as for `grad`.

    Returns:
        A function giving, for every leaf of the result, a pytree like the argument (a tuple of them for a
        sequence `argnums`) of arrays of shape result.shape + argument.shape; (jacobian, aux) if `has_aux`. With
        `sparsity` they are `scipy.sparse.csr_array`s of shape (result.size, argument.size), or, where the entries are
        traced, as inside `jit` and `grad`, objects of the class `SparseMatrix`, which are pytrees: `.data` are the
        entries, `.to_scipy()` and `.todense()` the matrix.

    Raises:
        StructureError: the argument is no function.
        ShapeError: the pattern has another shape than the Jacobian.
        MissingLibraryError: `sparsity` without SciPy.
        DTypeError: an argument is not floating; without `holomorphic`, a complex argument in forward mode, a complex
            result in reverse mode.
        CheckError, ConcretizationError: as for `grad`, with `check`.

    >>> fx.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    >>> fx.jacobian(lambda x: x[1:] * x[:-1], sparsity="auto")(np.arange(1.0, 1001.0))
    <Compressed Sparse Row sparse array of dtype 'float64'
        with 1998 stored elements and shape (999, 1000)>
    """
    check_option("jacobian", "mode", mode, ("auto", "fwd", "rev"))
    single = isinstance(argnums, int | np.integer)
    chunks = Chunks(chunk_size, memory_limit, progress)
    places = positions_of("jacobian", argnums)
    if sparsity is not None:
        from .sparse_jacobian import SparseBlocks  # when first wanted

        sparse = sparsity if isinstance(sparsity, SparseBlocks) else SparseBlocks("jacobian", sparsity, mode)

    @api_boundary
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        positions = [p % len(args) if -len(args) <= p < len(args) else p for p in places]
        if any(p >= len(args) for p in positions):
            raise wrong_argnums("jacobian", argnums, len(args))
        if len(set(positions)) < len(positions):
            raise wrong_argnums("jacobian", argnums, len(args))

        of_chosen = restrict_arguments(fun, args, kwargs, positions)
        chosen = tuple(args[p] for p in positions)
        leaves, structure = pytree.flatten(chosen)
        for index, leaf in enumerate(leaves):
            name = LeafName("jacobian: the argument", path_at_positions, positions, structure, index)
            leaves[index] = admit_for_jacobian(leaf, name, mode, holomorphic, allow_int)
        chosen = pytree.unflatten(structure, leaves)
        if sparsity is not None:
            compute = partial(sparse, check=check_results)
        elif mode == "fwd" or (mode == "auto" and prefers_forward(of_chosen, chosen, has_aux, holomorphic)):
            compute = forward_blocks
        else:
            compute = reverse_blocks
        blocks, out_structure, aux = compute(of_chosen, chosen, has_aux, holomorphic, chunks)
        if check:
            from ..checking.compare import check_jacobian  # a program over the transforms

            value_of = restrict_arguments(fun, args, kwargs, positions, has_aux)
            check_jacobian(f"jacobian of {function_name(fun)}", value_of, chosen, positions, blocks)
        result = [pytree.unflatten(structure, row) for row in blocks]
        result = pytree.unflatten(out_structure, [row[0] for row in result] if single else result)
        return (result, aux) if has_aux else result

    return derive(
        jacobian_of,
        jacobian,
        fun,
        argnums=argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
        allow_int=allow_int,
        mode=mode,
        sparsity=sparsity,
        check=check,
        **chunks._asdict(),
    )


def admit_for_jacobian(leaf: Any, name: LeafName, mode: str, holomorphic: bool, allow_int: bool) -> Any:
    """Admit an argument of `jacobian`; raise unless it can be differentiated in that mode."""
    leaf = admit(leaf, name)
    dtype = aval_of(leaf).dtype
    if not is_differentiable(dtype) and (mode == "fwd" or not allow_int):
        raise DTypeError(
            f"{name} has dtype {dtype}, which has no derivative",
            hint="convert it (x.astype(float)), or choose other argnums",
        )
    if holomorphic and dtype.kind != "c":
        raise DTypeError(
            f"{name} is {dtype}, holomorphic=True needs complex arguments",
            hint="x.astype(complex), or leave holomorphic=True out",
        )
    if mode == "fwd" and dtype.kind == "c" and not holomorphic:
        raise DTypeError(
            f"{name} has dtype {dtype}, expected a real one in forward mode",
            hint="for a holomorphic function give holomorphic=True; for a real one use fx.jacrev",
        )
    return leaf


def prefers_forward(fun: Callable[..., Any], chosen: tuple, has_aux: bool, holomorphic: bool) -> bool:
    """Whether to use forward mode: the arguments have no more entries than the result, or reverse mode is impossible.

    Found without computing, where the function can be staged; otherwise by calling it.
    """
    given = [aval_of(v) for v in pytree.leaves(chosen)]
    if any((a.dtype.kind == "c" and not holomorphic) or not is_differentiable(a.dtype) for a in given):
        return False

    def value_fun(*arguments: Any) -> Any:
        return fun(*arguments)[0] if has_aux else fun(*arguments)

    try:
        results = pytree.leaves(eval_shape(value_fun, *chosen))
    except FxgradError:  # depends on values
        results = pytree.leaves(value_fun(*chosen))
    found = [aval_of(v) for v in results]
    if any((a.dtype.kind == "c" and not holomorphic) or not is_differentiable(a.dtype) for a in found):
        return True
    return sum(a.size for a in given) <= sum(a.size for a in found)


def standard_basis(values: Sequence[Any]) -> list[Any]:
    """Return the standard basis of the space of these values: arrays with a leading axis over all entries, of
    the libraries of the values, on their devices."""
    return unit_vectors([aval_of(v) for v in values], [known_array(v) for v in values])


def unit_vectors(avals: Sequence[Aval], beside: Sequence[Any] | None = None) -> list[Any]:
    """Return the standard basis of the space of values of these shapes: for each of them an array with a leading axis
    over all entries, where the arrays `beside` are."""
    total, start, vectors = sum([a.size for a in avals]), 0, []
    for aval, array in zip(avals, beside or [None] * len(avals)):
        xp = namespace_of(array) or np
        with use_device_of([array], "a basis") if has_devices(xp) else nullcontext():
            rows = xp.eye(total, aval.size, k=-start, dtype=dtype_in(xp, aval.dtype))
            vectors.append(xp.reshape(rows, (total, *aval.shape)))
        start += aval.size
    return vectors


def known_array(value: Any) -> Any:
    """Return a value below all levels, or None where it is not known."""
    try:
        return concretize(value, "jacobian")
    except ConcretizationError:
        return None


def put_beside(vector: np.ndarray, value: Any) -> Any:
    """Return an array in the library of a value and on its device, as far as these are known."""
    array = known_array(value)
    xp = namespace_of(array) or np
    with use_device_of([array], "a basis") if has_devices(xp) else nullcontext():
        return xp.asarray(vector)


def split_leading(array: Any, avals: Sequence[Aval]) -> list[Any]:
    """Cut the leading axis into one piece for each value, and give each the shape of its value."""
    parts, start = [], 0
    rest = aval_of(array).shape[1:]
    for aval in avals:
        part = ops.getitem(array, index=(slice(start, start + aval.size, None),))
        parts.append(ops.reshape(part, shape=(*aval.shape, *rest)))
        start += aval.size
    return parts


def forward_blocks(fun: Callable, chosen: tuple, has_aux: bool, holomorphic: bool, chunks: Chunks) -> tuple:
    out, push, *aux = linearize(fun, *chosen, has_aux=has_aux)
    leaves, structure = pytree.flatten(chosen)
    avals = [aval_of(v) for v in leaves]
    results, out_structure = pytree.flatten(out)
    check_results(results, holomorphic, "fwd")
    basis = standard_basis(leaves)
    columns = map_rows(push.graph, basis) if chunks == Chunks() else None
    if columns is None:
        mapped = vmap(lambda *ts: pytree.leaves(push(*pytree.unflatten(structure, ts))), **chunks._asdict())
        columns = mapped(*basis)
    blocks = []
    # One for each leaf of the result, its columns along the leading axis.
    for column, result in zip(columns, map(aval_of, results)):
        if not is_differentiable(result.dtype):
            blocks.append([np.zeros(result.shape + a.shape, result.dtype) for a in avals])
            continue
        rank = aval_of(column).ndim - 1
        parts = split_leading(column, avals)
        blocks.append(
            [
                ops.permute(p, axes=(*range(a.ndim, a.ndim + rank), *range(a.ndim)))
                for p, a in zip(parts, avals)
            ]
        )
    return [[unshare_block(b) for b in row] for row in blocks], out_structure, aux[0] if has_aux else None


def reverse_blocks(fun: Callable, chosen: tuple, has_aux: bool, holomorphic: bool, chunks: Chunks) -> tuple:
    out, pull, *aux = vjp(fun, *chosen, has_aux=has_aux)
    results, out_structure = pytree.flatten(out)
    check_results(results, holomorphic, "rev")
    avals = [aval_of(v) for v in results]
    arguments = [aval_of(v) for v in pytree.leaves(chosen)]
    floating = [is_differentiable(a.dtype) for a in arguments]

    def row(*cts: Any) -> list[Any]:
        found = pytree.leaves(pull(pytree.unflatten(out_structure, cts)))
        return [ct for ct, f in zip(found, floating) if f]

    basis = standard_basis(results)
    if sum([a.size for a in avals]) == 1:  # a gradient, which needs no batch
        only = row(*(ops.reshape(b, shape=a.shape) for b, a in zip(basis, avals)))
        found = iter([ops.reshape(ct, shape=(1, *aval_of(ct).shape)) for ct in only])
    else:
        found = iter(vmap(row, **chunks._asdict())(*basis))
    by_argument = [split_leading(next(found), avals) if f else [np.zeros(r.shape + a.shape, float0) for r in avals]
                   for a, f in zip(arguments, floating)]  # fmt: skip
    blocks = [[unshare_block(b) for b in row] for row in zip(*by_argument)]
    return blocks, out_structure, aux[0] if has_aux else None


def unshare_block(block: Any) -> Any:
    """Return a block that the user may write into: a view is copied."""
    return block.copy() if type(block) is np.ndarray and block.base is not None else block


def check_results(results: Sequence[Any], holomorphic: bool, mode: str) -> None:
    for r in results:
        dtype = aval_of(r).dtype
        if holomorphic and dtype.kind != "c":
            raise DTypeError(
                f"jacobian: a result has dtype {dtype}, expected a complex one (holomorphic=True)",
                hint="leave holomorphic=True out: the function is real",
            )
        if mode == "rev" and not is_differentiable(dtype):
            raise DTypeError(
                f"jacobian: a result has dtype {dtype}, which has no derivative",
                hint="return floating-point numbers: y.astype(float), or only those of the results",
            )
        if mode == "rev" and dtype.kind == "c" and not holomorphic:
            raise DTypeError(
                "jacobian: a result is complex",
                hint="for a holomorphic function give holomorphic=True; "
                "otherwise differentiate real and imaginary parts",
            )


@overload
def hessian(
    fun: Callable[Concatenate[T, P], R],
    argnums: First = 0,
    has_aux: NoAux = False,
    **options: Unpack[JacobianOptions],
) -> Jacobian[T, P, R]: ...
@overload
def hessian(
    fun: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, *args: Any, **options: Any
) -> Callable[P, Any]: ...
@api_boundary
def hessian(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    sparsity: Any = None,
    chunk_size: int | str | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | str = False,
    check: bool = False,
) -> Callable[P, Any]:
    """The Hessian of `fun`: forward mode over reverse mode. Arguments as for `jacobian`; `check` compares the gradient
    with `fun`, and the Hessian with the gradient. A sparse Hessian of a scalar function takes as many Hessian-vector
    products as a star coloring of its pattern has colors.

    >>> fx.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    chunks = Chunks(chunk_size, memory_limit, progress)._asdict()
    options = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic, **chunks}
    sparse = sparsity
    if sparsity is not None:
        from .sparse_jacobian import SparseBlocks  # when first wanted

        sparse = SparseBlocks("hessian", sparsity, "fwd", symmetric=True)
    body = compute = jacfwd(jacrev(fun, **options), sparsity=sparse, check=check, **options)
    if check:
        gradient = jacrev(fun, check=True, **options)

        @api_boundary
        def body(*args: P.args, **kwargs: P.kwargs) -> Any:
            gradient(*args, **kwargs)
            return compute(*args, **kwargs)

    return derive(body, hessian, fun, sparsity=sparsity, check=check, **options)


@overload
def hvp(fun: Callable[[T], Any], primals: tuple[T], tangents: Sequence[Any]) -> T: ...
@overload
def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any: ...
@api_boundary
def hvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian of a scalar function times a vector, by forward mode over reverse mode: no Hessian is formed.

    Args:
        fun: a scalar function of pytrees of arrays.
        primals: tuple of its arguments.
        tangents: the vector, a tuple of the same structure.

    Returns:
        The product, like the argument where there is one, a tuple like `primals` where there are several.

    >>> fx.hvp(lambda x: (x ** 3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    return jvp(grad(fun, argnums=0 if len(primals) == 1 else tuple(range(len(primals)))), primals, tangents)[
        1
    ]
