"""The kinds of primitives. Each kind supplies the common code, so that a declaration states only the mathematics.

* `Elementwise`: broadcasting, promotion, batching by rank alignment; one rule an operand serves both modes,
  since a diagonal Jacobian is its own transpose.
* `Linear`: its JVP is itself; a transpose line and a batching line.
* `Bilinear`: linear in each of two operands separately.
* `General`: a tangent rule, from which reverse mode is derived (see `derive`); a batching line.

The declaring functions (`elementwise`, `linear`, …) register the primitive and return its binding function; the
Primitive is that function's attribute `.primitive`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..core.advice import fit_broadcast
from ..core.arrays import move_beside
from ..core.aval import (
    PLAIN,
    SCALARS,
    STRONG,
    WEAK_DTYPES,
    Aval,
    aval_of,
    check_dtype,
    example_value,
    is_differentiable,
)
from ..core.cache import Cache
from ..core.common_errors import no_kernel
from ..core.errors import NotLinearError, ShapeError
from ..core.interpreter import CURRENT, VALUES
from ..core.key import params_key
from ..core.primitive import KERNEL_ERRORS, Primitive, bind, explain, register
from ..core.pullback import PullbackRule
from .derive import elementwise_pullback, general_pullback
from .masked import Masked, Support, densify, restore_support
from .options import OPERANDS, call_ufunc
from .projection import project, promote_tangent
from .vocabulary import ops

if TYPE_CHECKING:
    from ..core.typing import Array, ArrayLike


FLOAT = np.dtype(float)
LINEARIZE = "fx.vjp(f, x), which linearizes a function first"  # hint of a NotLinearError
NO_PARAMS: dict = {}
NUMBER_CODES = {float: 3, int: 4, complex: 5, bool: 6}  # see `Elementwise.vjp`


def namespace_function(*names: str) -> Callable[[Any], Callable]:
    """Return a kernel factory that takes the function of the array namespace under the first of `names` that it has."""

    def make_kernel(xp: Any) -> Callable:
        for name in names:
            if hasattr(xp, name):
                return getattr(xp, name)
        raise no_kernel(names[0], xp)

    return make_kernel


def on_numpy(kernel: Callable[..., Any]) -> Any:
    """Return the kernel factory of what only libraries for NumPy's arrays compute, such as SciPy."""
    return lambda xp: kernel if xp is np else None


def scalar_aval(primitive: Any, avals: Sequence[Aval], params: dict) -> Aval:
    """The result's dtype and weakness, by asking the kernel about scalar operands; remembered."""
    key = (*[(a.dtype, a.weak) for a in avals], params_key(params))
    found = primitive.dtypes.get(key)
    if found is None:
        with np.errstate(all="ignore"):
            out = primitive.kernel(*[example_value(a) for a in avals], **params)
        found = primitive.dtypes[key] = aval_of(out)
    return found


def broadcast_shapes(avals: Sequence[Aval], operation: str) -> tuple[int, ...]:
    """The common shape of operands, by NumPy's rule."""
    rank = max(len(a.shape) for a in avals)
    shape = [1] * rank
    for aval in avals:
        for i, n in enumerate(aval.shape, rank - len(aval.shape)):
            if n != 1 and shape[i] != n:
                if shape[i] != 1:
                    shapes = " ".join(str(a.shape) for a in avals)
                    raise ShapeError(
                        f"{operation}: operands could not be broadcast together with shapes {shapes}",
                        hint=fit_broadcast([a.shape for a in avals]),
                    )
                shape[i] = n
    return tuple(shape)


def is_weak(value: Any) -> bool:
    return type(value) in SCALARS or getattr(value, "weak", False)


def ensure_batched(value: Any, is_batched: bool, size: int) -> Any:
    """Give an operand a leading batch axis, along which it is repeated if it was not batched."""
    return value if is_batched else ops.broadcast_to(value, shape=(size, *aval_of(value).shape))


def pullback_key(y: Any, values: Sequence[Any], needed: Sequence[Any], params: dict) -> tuple:
    """Return the key of the Pullback of an elementwise operation: params, whether the result has axes, its dtype and
    weakness; for every operand the same, whether it needs a cotangent, and whether that is summed."""
    out = y if type(y) in STRONG else aval_of(y)
    key: list[Any] = [out.dtype, type(y) not in STRONG and out.weak, bool(out.shape)]
    for v, need in zip(values, needed):
        if type(v) in SCALARS:
            key += (type(v), need is None)
        else:
            have = v if type(v) in STRONG else aval_of(v)
            weak = type(v) not in STRONG and have.weak
            key += (have.dtype, weak, need is None, have.shape == out.shape)
    if params:
        key.append(params_key(params))
    return tuple(key)


class Elementwise(Primitive):
    """y = f(x₀, x₁, …) entry by entry, broadcasting and promoting as NumPy does inside the one kernel call.

    partials[i](t, y, *xs) is t·∂f/∂xᵢ (None: no derivative); complex results are projected to real operands. It
    scales a tangent in forward mode and a cotangent in reverse mode. It may return `Masked(t·…, where)`: zero
    elsewhere. `linear` lists the operands in which f is linear, jointly or (`jointly=False`) one at a time.
    `finite`: all partial derivatives are finite everywhere. `static` names its params.
    """

    entrywise = True

    def __init__(
        self,
        name: str,
        make_kernel: Any,
        partials: Sequence[Any],
        *,
        linear: Sequence[int] = (),
        jointly: bool = True,
        finite: bool = False,
        symbol: str | None = None,
        static: Sequence[str] = (),
    ):
        self.partials, self.symbol, self.static = tuple(partials), symbol, tuple(static)
        self.linear, self.jointly, self.finite = frozenset(linear), jointly, finite
        self.dtypes = Cache()
        self.pullbacks = Cache()
        super().__init__(name, make_kernel)

    def make_call(self) -> Callable[..., Any]:
        primitive, kernel, current, ndarray = self, self.kernel, CURRENT.get, np.ndarray

        def unary(x: Any, /, out: Any = None, *, where: Any = True, dtype: Any = None) -> Any:
            if out is not None or where is not True or dtype is not None:
                return call_ufunc(primitive.name, (x,), out, where, dtype)
            if type(x) in PLAIN and not current().observer:
                return kernel(x)
            if type(x) in VALUES:
                try:
                    return current().interpreter.process(primitive, (x,), NO_PARAMS)
                except KERNEL_ERRORS as error:
                    explain(error, primitive, (x,))
            return bind(primitive, (x,), NO_PARAMS)

        def binary(x: Any, y: Any, /, out: Any = None, *, where: Any = True, dtype: Any = None) -> Any:
            if out is not None or where is not True or dtype is not None:
                return call_ufunc(primitive.name, (x, y), out, where, dtype)
            if type(x) in PLAIN and type(y) in PLAIN and not current().observer:
                return kernel(x, y)
            if (x.dtype.hasobject if type(x) is ndarray else type(x) not in VALUES) or (
                y.dtype.hasobject if type(y) is ndarray else type(y) not in VALUES
            ):
                return bind(primitive, (x, y), NO_PARAMS)
            try:
                return current().interpreter.process(primitive, (x, y), NO_PARAMS)
            except KERNEL_ERRORS as error:
                explain(error, primitive, (x, y))

        if self.static or len(self.partials) > 2:
            return super().make_call()
        call: Any = unary if len(self.partials) == 1 else binary
        call.__signature__ = OPERANDS[len(self.partials)]  # the options are those of NumPy's ufuncs
        return call

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        scalar = scalar_aval(self, avals, params)
        shape = broadcast_shapes(avals, self.name)
        return Aval(shape, scalar.dtype, scalar.weak and not shape)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        y = self.call(*primals, **params)
        aval = aval_of(y)
        if type(y) not in PLAIN:
            primals = move_beside(primals, tangents)
        total = None
        if is_differentiable(aval.dtype):
            with np.errstate(all="ignore"):  # entries that a mask discards may divide by zero
                for rule, t in zip(self.partials, tangents):
                    if t is not None and rule is not None:
                        if type(t) in SCALARS:  # Python's own division by zero raises
                            t = WEAK_DTYPES[type(t)].type(t)
                        term = densify(rule(t, y, *primals, **params))
                        total = term if total is None else ops.add(total, term)
        else:
            check_dtype(aval.dtype, f"the result of {self.name}")
        return y, None if total is None else promote_tangent(total, aval)

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        # The common kinds of one and two operands are told apart by a number. It says the dtype of the result, whether
        # that has axes, and of each operand whether it is a number of Python's (3 to 6) or else of this dtype, with no
        # cotangent wanted (0), with one like the result's (1) or a sum of it (2). What has axes is not weak. This is
        # the hot path: it is written out, no call unpacks a tuple, and all other kinds are left to `pullback_key`.
        key: Any = None
        if len(values) == 1 and not params:
            (x,) = values
            y = apply(x)
            try:
                shape, dtype = y.shape, y.dtype
                if x.dtype is dtype and x.shape == shape and (shape or type(x) in STRONG):
                    key = dtype.num if shape else ~dtype.num
            except AttributeError:  # Python numbers, and arrays with dtypes that are not NumPy's
                pass
        elif len(values) == 2 and not params:
            a, b = values
            y = apply(a, b)
            try:
                shape, dtype = y.shape, y.dtype
                number = dtype.num if shape else ~dtype.num
                if needed[0] is not None:
                    if a.dtype is not dtype or not ((axes := a.shape) or type(a) in STRONG):
                        raise AttributeError
                    number = number * 8 + (1 if axes == shape else 2)
                elif type(a) in NUMBER_CODES:
                    number = number * 8 + NUMBER_CODES[type(a)]
                elif a.dtype is dtype and (a.shape or type(a) in STRONG):
                    number *= 8
                else:
                    raise AttributeError
                if needed[1] is not None:
                    if b.dtype is not dtype or not ((axes := b.shape) or type(b) in STRONG):
                        raise AttributeError
                    key = number * 8 + (1 if axes == shape else 2)
                elif type(b) in NUMBER_CODES:
                    key = number * 8 + NUMBER_CODES[type(b)]
                elif b.dtype is dtype and (b.shape or type(b) in STRONG):
                    key = number * 8
            except AttributeError:
                pass
        else:
            y = apply(*values, **params)
        if key is None:
            key = pullback_key(y, values, needed, params)
        try:
            rule = self.pullbacks[key]
        except KeyError:
            rule = elementwise_pullback(self, key, values, needed, y, params)
        return (
            y,
            rule,
            () if rule is None or rule.save_residuals is None else rule.save_residuals(snapshot, y, values),
        )

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> list[Any]:
        traced = [i for i, v in enumerate(operands) if type(v) is Aval]
        if not self.linear.issuperset(traced) or (len(traced) > 1 and not self.jointly):
            raise NotLinearError(
                f"{self.name} is not linear in its traced operand" + "s" * (len(traced) > 1), hint=LINEARIZE
            )
        masked = ct if type(ct) is Masked else None
        results: list[Any] = [None] * len(operands)
        for i in traced:
            result = self.partials[i](ct.value if masked else ct, None, *operands, **params)
            results[i] = project(restore_support(result, ct, self.finite) if masked else result, operands[i])
        return results

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        if len(values) > 1:
            ranks = [0 if type(v) in SCALARS else len(v.shape) - b for v, b in zip(values, is_batched)]
            if ranks.count(ranks[0]) < len(ranks):  # axes that are broadcast come after the batch axis
                rank = max(ranks)
                values = [
                    v
                    if not b or r == rank
                    else ops.reshape(v, shape=(size, *(1,) * (rank - r), *v.shape[1:]))
                    for v, b, r in zip(values, is_batched, ranks)
                ]
        return self.call(*values, **params), True


class Linear(Primitive, PullbackRule):
    """A primitive linear in its first `count` operands jointly (None: in all); the others (indices) have no derivative.

    shape_rule(*avals, **params) → the result's shape; or, if its dtype differs, abstract_rule(self, *avals, **params)
    transpose_rule(ct, *operands, **params) → cotangent of the operand, or a list where there are several
    batch_rule(x, *others, size, **params) → the result for operands that all have a leading batch axis, and
    `others` too where they are given
    shared_rule(x, *others, size, **params) → likewise, for an operand that is one for the whole batch; `others` are
    those of the batch, or have 1 in place of its size
    `structural`: the transpose only moves and adds entries, so the support of a masked cotangent moves with it.
    """

    def __init__(
        self,
        name: str,
        make_kernel: Any,
        *,
        transpose_rule: Any,
        batch_rule: Any,
        shape_rule: Any = None,
        abstract_rule: Any = None,
        shared_rule: Any = None,
        count: int | None = 1,
        structural: bool = True,
    ):
        self.shape_rule = shape_rule
        self.abstract_rule = abstract_rule
        self.transpose_rule = transpose_rule
        self.batch_rule, self.shared_rule = batch_rule, shared_rule
        self.count, self.structural = count, structural
        self.dtypes = Cache()
        super().__init__(name, make_kernel)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        if self.abstract_rule is not None:
            return self.abstract_rule(self, *avals, **params)
        return Aval(tuple(self.shape_rule(*avals, **params)), avals[0].dtype)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        y = self.call(*primals, **params)
        count = len(primals) if self.count is None else self.count
        if all(t is None for t in tangents[:count]):
            return y, None
        filled = [ops.zeros_like(p) if t is None else t for p, t in zip(primals[:count], tangents)]
        return y, self.call(*filled, *primals[count:], **params)

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        y = apply(*values, **params)
        if len(values) == 1:
            return (y, None, None) if needed[0] is None else (y, self, ([aval_of(values[0])], params))
        count = len(values) if self.count is None else self.count
        if all(n is None for n in needed[:count]):
            return y, None, None
        operands = [aval_of(v) for v in values[:count]]
        operands += [snapshot(v) for v in values[count:]]
        return y, self, (operands, params)

    saved_from = ()  # the indices are no values that anything is differentiated by

    def map_residuals(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        operands, params = residuals
        return [v if type(v) is Aval else operand(i, v) for i, v in enumerate(operands)], params

    def pull(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        """Pull back with the residuals that `vjp` gives."""
        return self.transpose(ct, operands, params)

    def pull_plain(self, ct: Any, residuals: tuple) -> Sequence[Any]:
        """See `PullbackRule`."""
        operands, params = residuals
        if self.count == 1 == len(operands):
            return (self.transpose_rule(ct, operands[0], **params),)
        return self.transpose(ct, operands, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        count = len(operands) if self.count is None else self.count
        if any(type(v) is Aval for v in operands[count:]):
            raise NotLinearError(f"{self.name} is not linear in its traced operand", hint=LINEARIZE)
        operands = [v if type(v) is Aval or i >= count else aval_of(v) for i, v in enumerate(operands)]
        results = self.transpose_rule(densify(ct), *operands, **params)
        results = [results] if self.count == 1 else list(results)
        if type(ct) is Masked and self.structural:
            results = [
                None if r is None else self.move_support(i, r, ct, operands, params)
                for i, r in enumerate(results)
            ]
        return [*results, *[None] * (len(operands) - count)]

    def move_support(self, i: int, result: Any, ct: Masked, operands: Sequence[Any], params: dict) -> Masked:
        """Give the cotangent `result` of operand i its support: what the transpose makes of the incoming one."""

        shape = aval_of(ct.value).shape  # that of the support may be one that broadcasts to it

        def combine(mask: Any) -> Any:
            ones = ops.broadcast_to(ops.convert(mask, dtype=FLOAT), shape=shape)
            moved = self.transpose_rule(ones, *operands, **params)
            return ops.not_equal(densify(moved if self.count == 1 else moved[i]), 0)

        return Masked(densify(result), Support(combine, ct.support), True)

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        count = len(values) if self.count is None else self.count
        if self.shared_rule is not None and not any(is_batched[:count]):
            others = [
                v if b else ops.reshape(v, shape=(1, *aval_of(v).shape)) for v, b in zip(values, is_batched)
            ]
            return self.shared_rule(*values[:count], *others[count:], size=size, **params), True
        operands = [ensure_batched(v, b, size) for v, b in zip(values[:count], is_batched)]
        others = list(values[count:])
        if any(is_batched[count:]):
            others = [ensure_batched(v, b, size) for v, b in zip(others, is_batched[count:])]
            return self.batch_rule(*operands, *others, size=size, indexed=True, **params), True
        return self.batch_rule(*operands, *others, size=size, **params), True


class Bilinear(Primitive, PullbackRule):
    """A primitive that is linear in each of two operands: transpose_rule(i, ct, aval, other, **params) is the cotangent
    of operand i."""

    def __init__(
        self, name: str, make_kernel: Any, *, abstract_rule: Any, transpose_rule: Any, batch_rule: Any
    ):
        self.abstract_rule, self.transpose_rule, self.batch_rule = abstract_rule, transpose_rule, batch_rule
        self.dtypes = Cache()
        super().__init__(name, make_kernel)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Aval:
        return self.abstract_rule(self, *avals, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        (a, b), (ta, tb) = primals, tangents
        y = self.call(a, b, **params)
        terms = [] if ta is None else [self.call(ta, b, **params)]
        terms += [] if tb is None else [self.call(a, tb, **params)]
        if not terms:
            return y, None
        return y, promote_tangent(terms[0] if len(terms) == 1 else ops.add(*terms), aval_of(y))

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        y = apply(*values, **params)
        (a, b), (da, db) = values, needed
        # An operand is kept only where the other one needs a cotangent.
        kept_a = (a if da is not None else snapshot(a)) if db is not None else None
        kept_b = (b if db is not None else snapshot(b)) if da is not None else None
        return y, self, (aval_of(a), aval_of(b), kept_a, kept_b, params)

    saved_from = (1, 2)

    def map_residuals(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        aval_a, aval_b, a, b, params = residuals
        a, b = a if a is None else operand(0, a), b if b is None else operand(1, b)
        return aval_a, aval_b, a, b, params

    def pull(self, ct: Any, aval_a: Aval, aval_b: Aval, a: Any, b: Any, params: dict) -> Sequence[Any]:
        """Pull back with the residuals that `vjp` gives."""
        ct = densify(ct)
        return (
            None if b is None else project(self.transpose_rule(0, ct, aval_a, b, **params), aval_a),
            None if a is None else project(self.transpose_rule(1, ct, aval_b, a, **params), aval_b),
        )

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        traced = [type(v) is Aval for v in operands]
        if all(traced):
            raise NotLinearError(f"{self.name} of two traced operands is not linear", hint=LINEARIZE)
        i = traced.index(True)
        cts: list[Any] = [None, None]
        cts[i] = project(
            self.transpose_rule(i, densify(ct), operands[i], operands[1 - i], **params), operands[i]
        )
        return cts

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return self.batch_rule(*values, *is_batched, **params), True


class General(Primitive):
    """A nonlinear primitive that is not elementwise. tangent_rule(y, primals, tangents, params) → the result's tangent
    (None: zero), written in operations that are linear in the tangents; `tangent_rule=None`: no derivative anywhere.
    Where the primitive is linear in some operands, transpose_rule(ct, *operands, **params) gives their cotangents.
    reach(mask, *avals, **params) → the entries of the operands on which the results inside the mask depend.

    `multiple`: the kernel and the rules (abstract, batch, tangent) give sequences, and y and ct are sequences.
    forward_mode(primals, tangents, params) → (results, tangents), both sequences, may stand for the tangent rule in the
    derivation of the pullback, which reads the results that are kept where this would read its own.
    cotangent_rule(y, operands, ct, params) → cotangents of all operands, for a cotangent of the result, or of the first
    of several and of no other, may stand for the transposed tangent rule: the same values in fewer steps, of what that
    reads as well.
    """

    forward_mode: Any = None
    cotangent_rule: Any = None

    def __init__(
        self,
        name: str,
        make_kernel: Any,
        *,
        abstract_rule: Any,
        tangent_rule: Any,
        batch_rule: Any,
        transpose_rule: Any = None,
        reach: Any = None,
        multiple: bool = False,
    ):
        self.abstract_rule = abstract_rule
        self.tangent_rule = tangent_rule
        self.batch_rule = batch_rule
        self.transpose_rule = transpose_rule
        self.reach, self.multiple_results = reach, multiple
        self.dtypes = Cache()
        self.pullbacks = Cache()
        super().__init__(name, make_kernel)

    def abstract_eval(self, avals: Sequence[Aval], params: dict) -> Any:
        return self.abstract_rule(self, *avals, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        y = self.call(*primals, **params)
        none = [None] * len(y) if self.multiple_results else None
        if self.tangent_rule is None or all(t is None for t in tangents):
            return y, none
        if not self.multiple_results and not is_differentiable(aval_of(y).dtype):
            return y, none
        with np.errstate(all="ignore"):  # as for elementwise operations
            return y, self.tangent_rule(y, primals, tangents, params)

    def vjp(self, apply: Any, values: Any, needed: Any, params: dict, snapshot: Any) -> tuple[Any, Any, Any]:
        y = apply(*values, **params)
        if self.tangent_rule is None:
            return y, None, None
        rule = self.pullback_for(y, values, needed, params)
        return (
            y,
            rule,
            () if rule is None or rule.save_residuals is None else rule.save_residuals(snapshot, y, values),
        )

    def pullback_for(self, y: Any, values: Sequence[Any], needed: Sequence[Any], params: dict) -> Any:
        """Return the pullback for operands and results of these avals, or None."""
        key = (tuple(map(aval_of, values)), tuple([n is not None for n in needed]), params_key(params))
        try:
            return self.pullbacks[key]
        except KeyError:
            rule = self.pullbacks[key] = general_pullback(self, values, needed, y, params)
            return rule

    def extra_operands(self, cts: dict, outs: Sequence[Aval]) -> Sequence[Any]:
        """Return the extra operands of the tangent rule of several results: what their cotangents, by position, tell
        besides their values."""
        return ()

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        if self.transpose_rule is None:
            raise NotLinearError(f"{self.name} is not linear in its traced operand", hint=LINEARIZE)
        ct = [None if c is None else densify(c) for c in ct] if self.multiple_results else densify(ct)
        return self.transpose_rule(ct, *operands, **params)

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        y = self.batch_rule(
            *[v if b else ensure_batched(v, b, size) for v, b in zip(values, is_batched)], size=size, **params
        )
        return y, [True] * len(y) if self.multiple_results else True


# To type checkers: a function of as many operands as there are partial derivatives.
@overload
def elementwise(name: str, *partials: Any, static: Sequence[str], **options: Any) -> Callable[..., Any]: ...
@overload
def elementwise(name: str, partial: Any, /, **options: Any) -> Callable[[ArrayLike], Array]: ...
@overload
def elementwise(
    name: str, first: Any, second: Any, /, **options: Any
) -> Callable[[ArrayLike, ArrayLike], Array]: ...
@overload
def elementwise(name: str, *partials: Any, **options: Any) -> Callable[..., Any]: ...
def elementwise(name: str, *partials: Any, kernel: Any = None, **options: Any) -> Callable[..., Any]:
    """Declare an elementwise primitive; `kernel` defaults to the namespace function of that name."""
    return register(Elementwise(name, kernel or namespace_function(name), partials, **options)).call


def linear(name: str, kernel: Any, **rules: Any) -> Callable[..., Array]:
    """Declare a linear primitive."""
    return register(Linear(name, kernel, **rules)).call


def bilinear(name: str, kernel: Any, **rules: Any) -> Callable[..., Array]:
    """Declare a bilinear primitive."""
    return register(Bilinear(name, kernel, **rules)).call


def general(name: str, kernel: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a primitive by its tangent rule."""
    return register(General(name, kernel, **rules)).call
