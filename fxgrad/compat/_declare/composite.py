"""Composite: a declared operation as a primitive, whatever number of primitives its function takes."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core.aval import Aval, aval_of, is_differentiable
from ...core.cache import Cache
from ...core.key import params_key
from ...core.staging import stage
from ...kernels.codegen.source import compile_graph
from ...ops import derive
from ...ops.kinds import Elementwise, General, lift, spread
from ...transforms.jvp import push
from ...transforms.vmap import batch
from .._core.dtypes import _default
from .._core.memory import root
from .._core.tape import kept_as_is

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def flat_tangent(y: Any, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
    """The tangent rule of steps, such as floor: zero, but one that depends on those of the operands."""
    given = [ops.where(False, t, 0) for t in tangents if t is not None]
    zero = reduce(ops.add, [ops.reduce_sum(t, axes=tuple(range(aval_of(t).ndim))) for t in given])
    return lift(zero, aval_of(y))


class Plan:
    """What an operation does with plain operands of known kinds, some of which require a gradient: compiled code."""

    __slots__ = ("forward", "keep", "missing", "rule")

    def __init__(self, forward: Callable[..., list[Any]], missing: Callable[..., Any] | None):
        self.forward, self.rule, self.keep = forward, None, None
        self.missing = missing  # what derives the rule once there is a result

    def run(self, values: Sequence[Any], parents: Sequence[Any]) -> tuple[Any, Any, Any]:
        """(result, rule or None, residuals)."""
        (y,) = self.forward(*values)
        if self.missing is not None:
            self.rule = self.missing(y, values, parents)
            self.keep = None if self.rule is None else self.rule.keep
            self.missing = None
        return y, self.rule, () if self.keep is None else self.keep(kept_as_is, y, values)


class PrimitivePlan:
    """The same where it is one primitive."""

    __slots__ = ("finish", "params", "primitive", "wanted")

    def __init__(self, primitive: Any, params: dict, parents: Sequence[Any], finish: Any = None):
        self.primitive, self.params, self.finish = primitive, params, finish
        self.wanted = wanted(parents)

    def run(self, values: Sequence[Any], parents: Sequence[Any]) -> tuple[Any, Any, Any]:
        """(result, rule or None, residuals)."""
        primitive, kernel = self.primitive, self.primitive.kernel
        if self.wanted:
            y, rule, residuals = primitive.linearize(kernel, values, parents, self.params, kept_as_is)
        else:
            y, rule, residuals = kernel(*values, **self.params), None, ()
        return y if self.finish is None else self.finish(y), rule, residuals


def wanted(parents: Sequence[Any]) -> bool:
    """Whether an operand requires a gradient."""
    return any([p is not None for p in parents])


class Composite(General):
    """The operation as a primitive of the tape: computed and differentiated as its function says. Other interpreters
    see the primitives of the function instead, for `call` runs it, unless that would lose a tangent rule.

    Plain arrays are computed by compiled code, made once for each kind of operands. A function that looks at values, if
    only to refuse some, is `by_value` and runs as it is; so does one with positions or truth values among its operands,
    unless it is said not to look at them (`by_value` False).
    """

    by_value: bool | None = None
    shares = False  # memory: its results are views

    def __init__(self, name: str, function: Callable[..., Any], multiple: bool, tangent: Any = None):
        self.function = function
        self.forwards, self.batches = Cache(), Cache()
        super().__init__(
            name,
            lambda xp: self.computed,
            abstract=None,
            tangent=tangent or self.pushed,
            batched=None,
            multiple=multiple,
        )
        if tangent is None:
            self.call = partial(function)  # not the kernel itself: `linearize` tells them apart

    def computed(self, *values: Any, **params: Any) -> Any:
        """The kernel: the function, with results in memory that no operand has."""
        y = self.function(*values, **params)
        if self.shares:
            return y
        return [private(v, values) for v in y] if self.multiple_results else private(y, values)

    def abstract(self, avals: Sequence[Aval], params: dict) -> Any:
        multiple = self.multiple_results
        graph = stage(
            lambda *v: self.function(*v, **params) if multiple else [self.function(*v, **params)], avals
        )
        return graph.out_avals if multiple else graph.out_avals[0]

    def forward(self, values: Sequence[Any], params: dict) -> Callable[..., list[Any]]:
        """The function on plain values, compiled where that can be: values → [result]."""
        key = kinds_of(values, params)
        found = self.forwards.get(key)
        if found is None:
            function = partial(self.function, **params)

            def as_it_is(*given: Any) -> list[Any]:
                return [function(*given)]

            code = None if self.by_value else compiled(as_it_is, values, self.name, self.by_value is False)
            found = as_it_is if code is None else code
            if not self.shares and (code is None or rearranges(code)):
                found = in_rows(found)
            self.forwards[key] = found
        return found

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        if self.multiple_results:
            return super().linearize(apply, values, needed, params, own)
        if apply is self.kernel:
            (y,) = self.forward(values, params)(*values)
        else:
            y = apply(*values, **params)
        rule = self.rule_for(y, values, needed, params)
        return y, rule, () if rule is None or rule.keep is None else rule.keep(own, y, values)

    def plan(self, values: Sequence[Any], parents: Sequence[Any], params: dict) -> Any:
        """The plan for plain operands like these, or None."""
        return Plan(
            self.forward(values, params), partial(self.rule_for, params=params) if wanted(parents) else None
        )

    def rule_for(self, y: Any, values: Any, needed: Any, params: dict) -> Any:
        """The Rule for these kinds of operands."""
        key = (*[n is None for n in needed], *kinds_of(values, params))
        try:
            return self.derived[key]
        except KeyError:
            rule = self.derived[key] = derive.general_rule(self, values, needed, y, params)
            return rule

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        y = self.mapped(tuple(batched)).call(*values, **params)
        return y, [True] * len(y) if self.multiple_results else True

    def mapped(self, batched: tuple[bool, ...]) -> Composite:
        """The operation on operands of which some have a leading batch axis; all results have one."""
        found = self.batches.get(batched)
        if found is None:
            multiple = self.multiple_results
            function = mapped_function(self.function, multiple, batched)
            tangent = mapped_tangent(self.tangent, multiple, batched)
            found = self.batches[batched] = Composite(self.name, function, multiple, tangent)
            found.by_value, found.shares = self.by_value, self.shares
        return found

    def pushed(self, ys: Any, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
        """The tangent rule: the function in forward mode."""
        function = partial(self.function, **params)
        if self.multiple_results:
            return push(function, primals, tangents)[1]
        found = push(lambda *v: [function(*v)], primals, tangents)[1][0]
        if found is None and is_differentiable(aval_of(ys).dtype):
            return flat_tangent(ys, primals, tangents, params)
        return found


def listed(results: Any, multiple: bool) -> list[Any]:
    return list(results) if multiple else [results]


def over(fun: Callable[..., list[Any]], values: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """The results of a function over the leading axis of some of its arguments, all of them with that axis."""
    size = next(aval_of(v).shape[0] for v, b in zip(values, batched) if b)
    results, flags = batch(fun, values, batched, size)
    return [spread(r, f, size) for r, f in zip(results, flags)]


def mapped_function(
    function: Callable[..., Any], multiple: bool, batched: Sequence[bool]
) -> Callable[..., Any]:
    """The function of a Composite over a batch."""

    def mapped(*values: Any, **params: Any) -> Any:
        ys = over(lambda *v: listed(function(*v, **params), multiple), values, batched)
        return ys if multiple else ys[0]

    return mapped


def mapped_tangent(rule: Callable[..., Any], multiple: bool, batched: Sequence[bool]) -> Callable[..., Any]:
    """The tangent rule of a Composite over a batch."""

    def mapped(ys: Any, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
        ys, count = listed(ys, multiple), len(primals)
        moved = [i for i, t in enumerate(tangents) if t is not None]
        places: list[int] = []  # of the results that have a tangent

        def one(*known: Any) -> list[Any]:
            y, x, given = (
                known[: len(ys)],
                known[len(ys) : -len(moved)],
                dict(zip(moved, known[-len(moved) :])),
            )
            ts = rule(y if multiple else y[0], x, [given.get(i) for i in range(count)], params)
            ts = listed(ts, multiple)
            places[:] = [i for i, t in enumerate(ts) if t is not None]
            return [ts[i] for i in places]

        known = [*ys, *primals, *(tangents[i] for i in moved)]
        found = over(one, known, [True] * len(ys) + [*batched, *(batched[i] for i in moved)])
        ts = dict(zip(places, found))
        return [ts.get(i) for i in range(len(ys))] if multiple else ts.get(0)

    return mapped


def kinds_of(values: Sequence[Any], params: dict) -> tuple:
    """What compiled code depends on. Avals are hashed and compared in Python: shapes and numbers of dtypes are not."""
    key: list[Any] = [_default[0]]
    for v in values:
        key += (v.shape, v.dtype.num) if type(v) is np.ndarray else (type(v), aval_of(v))
    key.append(params_key(params))
    return tuple(key)


def compiled(
    function: Callable[..., Any], values: Sequence[Any], name: str, positions: bool
) -> Callable[..., Any] | None:
    """The function as straight-line code for plain values, or None where it has to run as it is: because it cannot be
    staged, or has operands that are positions or truth values, which it may look at (but not with `positions`)."""
    avals = [aval_of(v) for v in values]
    floating = all(is_differentiable(a.dtype) or a.weak for a in avals)
    if not (floating or positions) or all(a.weak for a in avals):
        return None
    try:
        graph = stage(function, avals, name, sites=False)
    except Exception:  # its own errors come again when it runs as it is
        return None
    if not graph.equations or any(e.primitive.effect or e.contextual for e in graph.equations):
        return None
    return compile_graph(graph, plain=True, quiet=True)


def rearranges(code: Callable[..., Any]) -> bool:
    """Whether results of compiled code may be in another order than that of rows although the operands are not."""
    return any(not isinstance(e.primitive, Elementwise) for e in code.equations.values())  # type: ignore[attr-defined]


def in_rows(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """The function with its result in the order of rows, as torch's results are, and in memory of its own."""

    def ordered(*values: Any) -> list[Any]:
        (y,) = function(*values)
        if not hasattr(y, "flags"):
            return [y]
        return [private(y, values) if y.flags.c_contiguous else np.asarray(y, order="C")]

    return ordered


def private(y: Any, values: Sequence[Any]) -> Any:
    """A result, or a copy of it if it is an operand or a view of one."""
    if type(y) is np.ndarray:
        owner = None if y.base is None else root(y)
        for v in values:
            if v is y or (owner is not None and type(v) is np.ndarray and root(v) is owner):
                return y.copy()
    return y
