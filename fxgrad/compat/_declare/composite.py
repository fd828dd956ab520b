"""Composite: a declared operation as one primitive, however many primitives its function calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from ...extend import (
    SCALARS,
    Aval,
    Cache,
    Elementwise,
    General,
    Tracer,
    aval_of,
    compile_graph,
    derive,
    ensure_batched,
    is_differentiable,
    is_on_cuda,
    jvp_flat,
    ops,
    params_key,
    promote_tangent,
    stage,
    vmap_flat,
)
from .._core.device_level import run_on_device
from .._core.dtypes import _default_dtype
from .._core.layout import copy_in_order, memory_order
from .._core.memory import copy_array, is_array, is_writable, memory_owner
from .._core.tape import no_copy


def zero_tangent_rule(y, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
    """The tangent rule of step functions such as floor: a zero that depends on the tangents of the operands."""
    given = [ops.where(False, t, 0) for t in tangents if t is not None]
    zero = reduce(ops.add, [ops.reduce_sum(t, axes=tuple(range(aval_of(t).ndim))) for t in given])
    return promote_tangent(zero, aval_of(y))


class Plan:
    """How an operation is computed on plain operands of known dtypes and shapes, some of which require a gradient: by
    the kernel of a primitive and its rule."""

    __slots__ = ("finish", "params", "primitive", "wanted")

    def __init__(self, primitive, params: dict, next_edges: Sequence[Any], finish=None):
        self.primitive, self.params, self.finish = primitive, params, finish
        self.wanted = needs_gradient(next_edges)

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return (result, pullback or None, residuals)."""
        primitive, kernel = self.primitive, self.primitive.kernel
        if self.wanted:
            y, rule, residuals = primitive.vjp(kernel, values, next_edges, self.params, no_copy)
        else:
            y, rule, residuals = kernel(*values, **self.params), None, ()
        return y if self.finish is None else self.finish(y), rule, residuals


class InplacePlan(Plan):
    """A Plan for an operation in place that is not recorded. It is compiled when it is used again: params may be others
    every time, such as a learning rate."""

    __slots__ = ("direct", "forward", "is_direct", "is_new")

    def __init__(self, primitive, params: dict, values: Sequence[Any]):
        super().__init__(primitive, params, ())
        shape = values[0].shape
        fits = all([type(v) in SCALARS or v.shape in ((), shape) for v in values])
        self.is_direct = fits and type(primitive.kernel) is np.ufunc
        self.direct = primitive.direct_for(values, params) if isinstance(primitive, Composite) else None
        self.forward = partial(self.run_once, primitive) if isinstance(primitive, Composite) else None
        self.is_new = True

    def run_once(self, primitive, *values) -> list[Any]:
        """Return the result, the first time as the function is written, and the second by code for such values."""
        if not self.is_new:
            self.forward = primitive.forward(values, self.params)
            return self.forward(*values)
        self.is_new = False
        return [primitive.kernel(*values, **self.params)]

    def write(self, values: Sequence[Any]) -> Any:
        """Compute the result in the memory of the first value, which is returned; return another array where the result
        does not fit."""
        memory, kernel = values[0], self.primitive.kernel
        if self.is_direct:
            return kernel(*values, out=memory)
        results = None if self.direct is None else self.direct(*values)
        if results is None:
            results = [kernel(*values, **self.params)] if self.forward is None else self.forward(*values)
        y = results[0]
        if y.shape != memory.shape or y.dtype is not memory.dtype:
            return y
        memory[...] = y
        return memory


class DirectPlan:
    """A Plan that computes directly, where that gives something. Where a gradient is wanted `link` gives the rule."""

    __slots__ = ("direct", "general", "link")

    def __init__(self, direct: Callable[..., list[Any] | None], general: Any, link: Any):
        self.direct, self.general, self.link = direct, general, link

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return (result, pullback or None, residuals)."""
        results = self.direct(*values)
        if results is None:
            return self.general.run(values, next_edges)
        return (results[0], None, ()) if self.link is None else self.link(results[0], values, next_edges)


class CompiledPlan:
    """A Plan by code that was compiled for such operands, and a rule derived for them."""

    __slots__ = ("derive_pullback", "forward", "rule", "save_residuals")

    def __init__(self, forward: Callable[..., list[Any]], derive_pullback: Callable[..., Any] | None):
        self.forward, self.rule, self.save_residuals = forward, None, None
        self.derive_pullback = derive_pullback  # what derives the rule once there is a result

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return (result, pullback or None, residuals)."""
        (y,) = self.forward(*values)
        return self.link(y, values, next_edges)

    def link(self, y, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return the result, or the list of several, with the pullback and the residuals."""
        if self.derive_pullback is not None:
            self.rule = self.derive_pullback(y, values, next_edges)
            self.save_residuals = None if self.rule is None else self.rule.save_residuals
            self.derive_pullback = None
        return y, self.rule, () if self.save_residuals is None else self.save_residuals(no_copy, y, values)


class MultipleCompiledPlan(CompiledPlan):
    """The CompiledPlan of an operation with several results."""

    __slots__ = ()

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return (list of results, pullback or None, residuals)."""
        return self.link(self.forward(*values), values, next_edges)


class PrivatePlan(CompiledPlan):
    """The CompiledPlan of a PrivateComposite."""

    __slots__ = ()

    def run(self, values: Sequence[Any], next_edges: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return (result, pullback or None, residuals)."""
        return copy_saved_operands(*super().run(values, next_edges))


def copy_saved_operands(y, rule, residuals) -> tuple[Any, Any, Any]:
    """Return (result, pullback or None, residuals) with copies of the operands among the residuals."""
    if rule is not None:
        residuals = rule.map_residuals(residuals, lambda i, v: v.copy() if is_array(v) else v, lambda i, v: v)
    return y, rule, residuals


def needs_gradient(next_edges: Sequence[Any]) -> bool:
    """Whether any operand requires a gradient."""
    return any([p is not None for p in next_edges])


class Composite(General):
    """A declared operation as a primitive of the tape: its function says how it is computed and differentiated. Other
    interpreters see the primitives of the function instead, since `call` runs it, unless that would lose a tangent
    rule.

    Plain arrays are computed by compiled code, made once for each kind of operands. A function that looks at values, if
    only to refuse some, is `by_value` and runs as it is; so does one with positions or truth values among its operands,
    unless it is said not to look at them (`by_value` False) and no number of Python's is among them.
    """

    by_value: bool | None = None
    shares = False  # memory: its results are views
    in_single = True  # half precision is computed in single precision
    order: Any = None  # (operands) → the axes of the result as they lie in memory; None: row-major
    find_direct: Callable[[Sequence[Any], dict], Any] | None = None  # see `prefer`
    pattern: tuple = ()  # of the operands that are given: see `Operation.primitive_for`
    formula_from = 0

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent=None):
        self.function = function
        self.forward_cache, self.batch_cache = Cache(), Cache()
        super().__init__(
            name,
            lambda xp: self.compute,
            abstract_rule=None,
            tangent_rule=tangent or self.jvp_rule,
            batch_rule=None,
            multiple=multiple,
        )
        if tangent is None:
            self.call = partial(self.run)  # not the kernel itself: `vjp` tells them apart

    def run(self, *values, **params) -> Any:
        """Run the function: on a device by primitives alone, to which NumPy's constants follow."""
        if any([is_on_cuda(v) for v in values]):
            return self.separate(run_on_device(self.function, values, params), values)
        return self.function(*values, **params)

    def formula(self, *values, **params) -> list[Any] | None:
        """Return the list of results by the operations of the function, of which compiled Graphs consist."""
        return result_list(self.function(*values, **params), self.multiple_results)

    def compute(self, *values, **params) -> Any:
        """Run the function as a kernel: no result shares memory with an operand."""
        return self.separate(self.run(*values, **params), values)

    def separate(self, y, values: Sequence[Any]) -> Any:
        """Return results, or copies of those that share memory with an operand, unless they are to."""
        if self.shares:
            return y
        return [copy_if_shared(v, values) for v in y] if self.multiple_results else copy_if_shared(y, values)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Any:
        multiple = self.multiple_results
        graph = stage(
            lambda *v: self.function(*v, **params) if multiple else [self.function(*v, **params)], avals
        )
        return graph.out_avals if multiple else graph.out_avals[0]

    def forward(self, values: Sequence[Any], params: dict) -> Callable[..., list[Any]]:
        """Return the function on plain values (values → [result]), compiled where that is possible."""
        key = specialization_key(values, params)
        found = self.forward_cache.get(key)
        if found is None:
            function, multiple = partial(self.function, **params), self.multiple_results

            def run_uncompiled(*given) -> list[Any]:
                return list(function(*given)) if multiple else [function(*given)]

            # A number may be out of a dtype's range, which the function looks at as it is written.
            allow_positions = self.by_value is False and not any([type(v) in SCALARS for v in values])
            code = None if self.by_value else try_compile(run_uncompiled, values, self.name, allow_positions)
            found = run_uncompiled if code is None else code
            if multiple:
                found = found if self.shares else copy_shared_results(found)
            elif not self.shares and (code is None or may_reorder(code, self.order is not None)):
                found = force_order(found, self.order)
            found = self.forward_cache[key] = prefer(self.direct_for(values, params), found)
        return found

    def direct_for(self, values: Sequence[Any], params: dict) -> Callable[..., list[Any] | None] | None:
        """Return the direct way for values like these, if there is one."""
        if self.find_direct is None or not all([type(v) is np.ndarray or type(v) in SCALARS for v in values]):
            return None
        return self.find_direct(values, params)

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        if apply is self.kernel and not self.multiple_results:
            forward = self.forward(values, params)
            return super().vjp(lambda *v, **_: forward(*v)[0], values, needed, params, snapshot)
        return super().vjp(apply, values, needed, params, snapshot)

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        """Return the plan for plain operands like these."""
        if self.multiple_results and (self.shares or type(self).vjp is not Composite.vjp):
            return Plan(self, params, next_edges)
        derive_pullback = partial(self.pullback_for, params=params) if needs_gradient(next_edges) else None
        plan = CompiledPlan if not self.multiple_results else MultipleCompiledPlan
        return plan(self.forward(values, params), derive_pullback)

    def pullback_for(self, y, values, needed, params: dict) -> Any:
        """Return the Pullback for operands of these dtypes and shapes."""
        key = (*[n is None for n in needed], *specialization_key(values, params))
        try:
            return self.pullbacks[key]
        except KeyError:
            rule = self.pullbacks[key] = derive.general_pullback(self, values, needed, y, params)
            return rule

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        y = self.batched_composite(tuple(is_batched)).call(*values, **params)
        return y, [True] * len(y) if self.multiple_results else True

    def batched_composite(self, is_batched: tuple[bool, ...]) -> Composite:
        """Return the Composite for operands of which some have a leading batch axis; all its results have one."""
        found = self.batch_cache.get(is_batched)
        if found is None:
            multiple = self.multiple_results
            function = batch_function(self.function, multiple, is_batched)
            tangent = batch_tangent_rule(self.tangent_rule, multiple, is_batched)
            found = self.batch_cache[is_batched] = Composite(self.name, function, multiple, tangent)
            found.by_value, found.shares = self.by_value, self.shares
        return found

    def jvp_rule(self, ys, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
        """Compute the tangents of the results by running the function in forward mode."""
        found = self.run_forward_mode(primals, tangents, params)[1]
        if self.multiple_results:
            return found
        (found,) = found
        if found is None and is_differentiable(aval_of(ys).dtype):
            return zero_tangent_rule(ys, primals, tangents, params)
        return found

    def run_forward_mode(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
        """Return the results of the function and their tangents."""
        return jvp_flat(
            lambda *v: result_list(self.function(*v, **params), self.multiple_results), primals, tangents
        )

    def keep_results(self) -> None:
        """Let nodes keep results that the derivative reads, instead of the values from which they were computed."""
        if self.tangent_rule == self.jvp_rule:
            self.forward_mode = self.run_forward_mode


class PrivateComposite(Composite):
    """A Composite whose nodes keep copies of the operands that they read, so that operands and results may be modified
    afterwards, as in torch, whose nodes keep intermediate values. Copies cost little compared with the operation."""

    def vjp(self, apply, values, needed, params: dict, snapshot) -> tuple[Any, Any, Any]:
        return copy_saved_operands(*super().vjp(apply, values, needed, params, snapshot))

    def plan_for(self, values: Sequence[Any], next_edges: Sequence[Any], params: dict) -> Any:
        """Return the plan for plain operands like these."""
        if self.multiple_results or not needs_gradient(next_edges):
            return super().plan_for(values, next_edges, params)
        return PrivatePlan(self.forward(values, params), partial(self.pullback_for, params=params))


class DepthwiseComposite(Composite):
    """The Composite of a convolution. Where it reads each channel alone, images that have their channels last in memory
    give such images, as in torch; other kinds give rows, from which the next layers read faster."""

    @staticmethod
    def order(values: Sequence[Any]) -> tuple[int, ...] | None:
        x, w = values[:2]
        axes = (0, *range(2, x.ndim), 1)
        alone = x.ndim > 3 and w.ndim == x.ndim and w.shape[1] == 1 and w.shape[0] == x.shape[1] > 1
        return axes if alone and not x.flags.c_contiguous and x.transpose(axes).flags.c_contiguous else None


def result_list(results, multiple: bool) -> list[Any]:
    return list(results) if multiple else [results]


def call_over_batch(
    fun: Callable[..., list[Any]], values: Sequence[Any], is_batched: Sequence[bool]
) -> list[Any]:
    """Call a function for each entry of the leading axis of some of its arguments; all results get that axis."""
    size = next(aval_of(v).shape[0] for v, b in zip(values, is_batched) if b)
    results, flags = vmap_flat(fun, values, is_batched, size)
    return [ensure_batched(r, f, size) for r, f in zip(results, flags)]


def batch_function(
    function: Callable[..., Any], multiple: bool, is_batched: Sequence[bool]
) -> Callable[..., Any]:
    """Return the function of a Composite for operands with a batch axis."""

    def apply_to_batch(*values, **params) -> Any:
        ys = call_over_batch(lambda *v: result_list(function(*v, **params), multiple), values, is_batched)
        return ys if multiple else ys[0]

    return apply_to_batch


def batch_tangent_rule(
    rule: Callable[..., Any], multiple: bool, is_batched: Sequence[bool]
) -> Callable[..., Any]:
    """Return the tangent rule of a Composite for operands with a batch axis."""

    def apply_to_batch(ys, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
        ys, count = result_list(ys, multiple), len(primals)
        moved = [i for i, t in enumerate(tangents) if t is not None]
        places: list[int] = []  # of the results that have a tangent

        def entry_tangents(*known) -> list[Any]:
            y = known[: len(ys)]
            x = known[len(ys) : -len(moved)]
            given = dict(zip(moved, known[-len(moved) :]))
            ts = rule(y if multiple else y[0], x, [given.get(i) for i in range(count)], params)
            ts = result_list(ts, multiple)
            places[:] = [i for i, t in enumerate(ts) if t is not None]
            return [ts[i] for i in places]

        known = [*ys, *primals, *(tangents[i] for i in moved)]
        found = call_over_batch(
            entry_tangents, known, [True] * len(ys) + [*is_batched, *(is_batched[i] for i in moved)]
        )
        ts = dict(zip(places, found))
        return [ts.get(i) for i in range(len(ys))] if multiple else ts.get(0)

    return apply_to_batch


def specialization_key(values: Sequence[Any], params: dict) -> tuple:
    """Return the key on which compiled code depends. Avals are hashed and compared in Python: shapes and numbers of
    dtypes are not."""
    key: list[Any] = [_default_dtype[0]]
    for v in values:
        key += (v.shape, v.dtype.num) if type(v) is np.ndarray else (type(v), aval_of(v))
    key.append(params_key(params))
    return tuple(key)


def try_compile(
    function: Callable[..., Any], values: Sequence[Any], name: str, allow_positions: bool
) -> Callable[..., Any] | None:
    """Compile a function to straight-line code for plain values. Return None where it must run uncompiled: where it
    cannot be staged, or has positions or truth values among its operands, which it may look at (not with
    `allow_positions`)."""
    avals = [aval_of(v) for v in values]
    floating = all(is_differentiable(a.dtype) or a.weak for a in avals)
    if not (floating or allow_positions) or all(a.weak for a in avals):
        return None
    try:
        graph = stage(function, avals, name, sites=False)
    except Exception:  # its own errors come again when it runs as it is
        return None
    if not graph.equations or any(e.primitive.effectful or e.bound_to_axis for e in graph.equations):
        return None
    if len(graph.equations) > 1:
        from ...extend import compact  # which the simplest programs do without

        graph = compact(graph)
    return compile_graph(graph, plain=True, quiet=True)


def may_reorder(code: Callable[..., Any], entrywise: bool) -> bool:
    """Whether compiled code may give an operand itself, as where nothing is left to be done, or results that are not
    row-major although the operands are; of functions of entries also whether they may be although the operands are
    not."""
    equations = code.equations.values()  # type: ignore[attr-defined]
    keeps_order = all(
        isinstance(e.primitive, Elementwise) and not (entrywise and type(e.primitive.kernel) is not np.ufunc)
        for e in equations
    )
    return not equations or not keeps_order


def order_of_operands(values: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the dimensions of the first operand that has the result's shape, by decreasing stride; None if it is
    row-major."""
    arrays = [v for v in values if is_array(v)]
    if all([v.flags.c_contiguous for v in arrays]):
        return None
    shape = np.broadcast_shapes(*[v.shape for v in arrays])
    return next((memory_order(v) for v in arrays if v.shape == shape), None)


def force_order(
    function: Callable[..., list[Any]], order: Callable[[Sequence[Any]], Any] | None
) -> Callable[..., list[Any]]:
    """Wrap a function so that its result is row-major, as torch's results are, or has another `order`, and has memory
    of its own, which may be written into."""

    def compute_in_order(*values) -> list[Any]:
        (y,) = function(*values)
        if isinstance(y, Tracer):
            return [y]
        axes = None if order is None else order(values)
        fits = (y if axes is None else y.transpose(axes)).flags.c_contiguous
        return [copy_if_shared(y, values) if fits and is_writable(y) else copy_in_order(y, axes)]

    compute_in_order.code, compute_in_order.wrap = function, partial(force_order, order=order)  # type: ignore[attr-defined]
    return compute_in_order


def prefer(direct: Callable[..., Any] | None, general: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Return the function that computes directly, where that is possible and gives something, or else generally.

    A direct way is a function of plain values of known kinds (arrays of known shapes and dtypes, numbers) that gives
    the list of results, each in row-major memory of its own, with the entries that the general way gives. It looks at
    entries as far as it must, and gives None where there is more to decide, or something to refuse.
    """
    if direct is None:
        return general

    def compute(*values) -> list[Any]:
        results = direct(*values)
        return general(*values) if results is None else results

    vars(compute).update(vars(general))  # what is observed is the general way
    return compute


def copy_shared_results(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Wrap a function so that each of its results is row-major, may be written into, and has memory of its own: not
    that of an operand or of another result, and no more than it fills."""

    def compute_in_own_memory(*values) -> list[Any]:
        owners = [memory_owner(v) for v in values if is_array(v)]
        results = function(*values)
        for i, y in enumerate(results):
            if is_array(y):
                owner = memory_owner(y)
                fits = y.flags.c_contiguous and is_writable(y) and owner.nbytes <= y.nbytes
                if not fits or any([owner is other for other in owners]):
                    results[i] = owner = copy_array(y)
                owners.append(owner)
        return results

    compute_in_own_memory.code, compute_in_own_memory.wrap = function, copy_shared_results  # type: ignore[attr-defined]
    return compute_in_own_memory


def copy_if_shared(y, values: Sequence[Any]) -> Any:
    """Return a result, or a copy of it if it is an operand or a view of one."""
    if is_array(y):
        owner = None if y.base is None else memory_owner(y)
        for v in values:
            if v is y or (owner is not None and is_array(v) and memory_owner(v) is owner):
                return copy_array(y)
    return y
