"""The kinds of primitives: each supplies the plumbing, so that a declaration states only the mathematics.

* `Elementwise`: broadcasting, promotion, batching by rank alignment; one rule an operand serves both modes,
  since a diagonal Jacobian is its own transpose.
* `Linear`: its JVP is itself; a transpose line and a batching line.
* `Bilinear`: linear in each of two operands separately.
* `General`: a tangent rule, from which reverse mode is derived (see `derive`); a batching line.

The declaring functions (`elementwise`, `linear`, …) register the primitive and return its binding function; the
Primitive is that function's attribute `.primitive`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.aval import (
    PLAIN,
    SCALARS,
    WEAK_DTYPES,
    Aval,
    aval_of,
    check_dtype,
    is_differentiable,
    sample,
)
from ..core.cache import Cache
from ..core.errors import NotLinearError, ShapeError, UnsupportedError
from ..core.interpreter import CURRENT, VALUES
from ..core.key import params_key
from ..core.primitive import KERNEL_ERRORS, Primitive, bind, explain, register
from ..core.pullback import PullbackRule
from .derive import elementwise_rule, general_rule
from .masked import Masked, Support, dense, scaled
from .projection import lift, project
from .vocabulary import ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


FLOAT = np.dtype(float)
NO_PARAMS: dict = {}
ARRAYS = PLAIN - SCALARS
NUMBERS = {float: 3, int: 4, complex: 5, bool: 6}  # see `Elementwise.linearize`


def named(*names: str) -> Callable[[Any], Callable]:
    """A kernel factory: the function of the array namespace under the first of `names` that it has."""

    def make_kernel(xp: Any) -> Callable:
        for name in names:
            if hasattr(xp, name):
                return getattr(xp, name)
        raise UnsupportedError(f"{names[0]} has no kernel for {xp.__name__}")

    return make_kernel


def scalar_aval(primitive: Any, avals: Sequence[Aval], params: dict) -> Aval:
    """The result's dtype and weakness, by asking the kernel about scalar operands; remembered."""
    key = (*[(a.dtype, a.weak) for a in avals], params_key(params))
    found = primitive.dtypes.get(key)
    if found is None:
        with np.errstate(all="ignore"):
            out = primitive.kernel(*[sample(a) for a in avals], **params)
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
                        f"{operation}: operands could not be broadcast together with shapes {shapes}"
                    )
                shape[i] = n
    return tuple(shape)


def is_weak(value: Any) -> bool:
    return type(value) in SCALARS or getattr(value, "weak", False)


def spread(value: Any, batched: bool, size: int) -> Any:
    """An operand with a leading batch axis, repeated along it where it was not batched."""
    return value if batched else ops.broadcast_to(value, shape=(size, *aval_of(value).shape))


def rule_key(y: Any, values: Sequence[Any], needed: Sequence[Any], params: dict) -> tuple:
    """All that the Rule of an elementwise operation depends on: params, whether the result has axes, its dtype and
    weakness, and of every operand the same, whether a cotangent is wanted, and whether it is to be summed."""
    out = y if type(y) in ARRAYS else aval_of(y)
    key: list[Any] = [out.dtype, type(y) not in ARRAYS and out.weak, bool(out.shape)]
    for v, need in zip(values, needed):
        if type(v) in SCALARS:
            key += (type(v), need is None)
        else:
            have = v if type(v) in ARRAYS else aval_of(v)
            weak = type(v) not in ARRAYS and have.weak
            key += (have.dtype, weak, need is None, have.shape == out.shape)
    if params:
        key.append(params_key(params))
    return tuple(key)


class Elementwise(Primitive):
    """y = f(x₀, x₁, …) entry by entry, broadcasting and promoting as NumPy does inside the one kernel call.

    rules[i](t, y, *xs) is t·∂f/∂xᵢ (None: no derivative); complex results are projected to real operands. It
    scales a tangent in forward mode and a cotangent in reverse mode. It may return `Masked(t·…, where)`: zero
    elsewhere. `linear` lists the operands in which f is linear, jointly or (`jointly=False`) one at a time.
    `finite`: all partial derivatives are finite everywhere. `static` names its params.
    """

    def __init__(
        self,
        name: str,
        make_kernel: Any,
        rules: Sequence[Any],
        *,
        linear: Sequence[int] = (),
        jointly: bool = True,
        finite: bool = False,
        symbol: str | None = None,
        static: Sequence[str] = (),
    ):
        self.rules, self.symbol, self.static = tuple(rules), symbol, tuple(static)
        self.linear, self.jointly, self.finite = frozenset(linear), jointly, finite
        self.dtypes = Cache()
        self.derived = Cache()
        super().__init__(name, make_kernel)

    def make_call(self) -> Callable[..., Any]:
        primitive, kernel, current = self, self.kernel, CURRENT.get

        def unary(x: Any, /) -> Any:
            if type(x) in PLAIN and not current().watching:
                return kernel(x)
            if type(x) in VALUES:
                try:
                    return current().interpreter.process(primitive, (x,), NO_PARAMS)
                except KERNEL_ERRORS as error:
                    explain(error, primitive, (x,))
            return bind(primitive, (x,), NO_PARAMS)

        def binary(x: Any, y: Any, /) -> Any:
            if type(x) in PLAIN and type(y) in PLAIN and not current().watching:
                return kernel(x, y)
            if type(x) in VALUES and type(y) in VALUES:
                try:
                    return current().interpreter.process(primitive, (x, y), NO_PARAMS)
                except KERNEL_ERRORS as error:
                    explain(error, primitive, (x, y))
            return bind(primitive, (x, y), NO_PARAMS)

        if self.static or len(self.rules) > 2:
            return super().make_call()
        return unary if len(self.rules) == 1 else binary

    def abstract(self, avals: Sequence[Aval], params: dict) -> Aval:
        scalar = scalar_aval(self, avals, params)
        shape = broadcast_shapes(avals, self.name)
        return Aval(shape, scalar.dtype, scalar.weak and not shape)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        y = self.call(*primals, **params)
        aval = aval_of(y)
        total = None
        if is_differentiable(aval.dtype):
            with np.errstate(all="ignore"):  # entries that a mask discards may divide by zero
                for rule, t in zip(self.rules, tangents):
                    if t is not None and rule is not None:
                        if type(t) in SCALARS:  # Python's own division by zero raises
                            t = WEAK_DTYPES[type(t)].type(t)
                        term = dense(rule(t, y, *primals, **params))
                        total = term if total is None else ops.add(total, term)
        else:
            check_dtype(aval.dtype, f"the result of {self.name}")
        return y, None if total is None else lift(total, aval)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        # The common kinds of one and two operands are told apart by a number. It says the dtype of the result, whether
        # that has axes, and of each operand whether it is a number of Python's (3 to 6) or else of this dtype, with no
        # cotangent wanted (0), with one like the result's (1) or a sum of it (2). What has axes is not weak. This is
        # the hot path: it is written out, no call unpacks a tuple, and all other kinds are left to `rule_key`.
        key: Any = None
        if len(values) == 1 and not params:
            (x,) = values
            y = apply(x)
            try:
                shape, dtype = y.shape, y.dtype
                if x.dtype is dtype and x.shape == shape and (shape or type(x) in ARRAYS):
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
                    if a.dtype is not dtype or not ((axes := a.shape) or type(a) in ARRAYS):
                        raise AttributeError
                    number = number * 8 + (1 if axes == shape else 2)
                elif type(a) in NUMBERS:
                    number = number * 8 + NUMBERS[type(a)]
                elif a.dtype is dtype and (a.shape or type(a) in ARRAYS):
                    number *= 8
                else:
                    raise AttributeError
                if needed[1] is not None:
                    if b.dtype is not dtype or not ((axes := b.shape) or type(b) in ARRAYS):
                        raise AttributeError
                    key = number * 8 + (1 if axes == shape else 2)
                elif type(b) in NUMBERS:
                    key = number * 8 + NUMBERS[type(b)]
                elif b.dtype is dtype and (b.shape or type(b) in ARRAYS):
                    key = number * 8
            except AttributeError:
                pass
        else:
            y = apply(*values, **params)
        if key is None:
            key = rule_key(y, values, needed, params)
        try:
            rule = self.derived[key]
        except KeyError:
            rule = elementwise_rule(self, key, values, needed, y, params)
        return y, rule, () if rule is None or rule.keep is None else rule.keep(own, y, values)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> list[Any]:
        traced = [i for i, v in enumerate(operands) if type(v) is Aval]
        if not self.linear.issuperset(traced) or (len(traced) > 1 and not self.jointly):
            raise NotLinearError(f"{self.name} is not linear in its traced operand" + "s" * (len(traced) > 1))
        masked = ct if type(ct) is Masked else None
        results: list[Any] = [None] * len(operands)
        for i in traced:
            result = self.rules[i](ct.value if masked else ct, None, *operands, **params)
            results[i] = project(scaled(result, ct, self.finite) if masked else result, operands[i])
        return results

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        ranks = [aval_of(v).ndim - b for v, b in zip(values, batched)]
        rank = max(ranks)
        aligned = [
            v if not b or r == rank else ops.reshape(v, shape=(size, *(1,) * (rank - r), *v.shape[1:]))
            for v, b, r in zip(values, batched, ranks)
        ]
        return self.call(*aligned, **params), True


class Linear(Primitive, PullbackRule):
    """Linear in its first `count` operands jointly (None: in all); the others (indices) are without derivative.

    shape(*avals, **params) → the result's shape; or, where its dtype is another, abstract(self, *avals, **params)
    transposed(ct, *operands, **params) → cotangent of the operand, or a list where there are several
    batched(x, *others, size, **params) → the result for operands that all have a leading batch axis, and
    `others` too where they are given
    `structural`: the transpose only moves and adds entries, so the support of a masked cotangent moves with it.
    """

    def __init__(
        self,
        name: str,
        make_kernel: Any,
        *,
        transposed: Any,
        batched: Any,
        shape: Any = None,
        abstract: Any = None,
        count: int | None = 1,
        structural: bool = True,
    ):
        self.shape, self.rule, self.transposed, self.batched = shape, abstract, transposed, batched
        self.count, self.structural = count, structural
        self.dtypes = Cache()
        super().__init__(name, make_kernel)

    def abstract(self, avals: Sequence[Aval], params: dict) -> Aval:
        if self.rule is not None:
            return self.rule(self, *avals, **params)
        return Aval(tuple(self.shape(*avals, **params)), avals[0].dtype)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        y = self.call(*primals, **params)
        count = len(primals) if self.count is None else self.count
        if all(t is None for t in tangents[:count]):
            return y, None
        filled = [ops.zeros_like(p) if t is None else t for p, t in zip(primals[:count], tangents)]
        return y, self.call(*filled, *primals[count:], **params)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        y = apply(*values, **params)
        count = len(values) if self.count is None else self.count
        if all(n is None for n in needed[:count]):
            return y, None, None
        operands = [aval_of(v) for v in values[:count]]
        operands += [own(v) for v in values[count:]]
        return y, self, (operands, params)

    kept = ()  # the indices are no values that anything is differentiated by

    def refill(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        operands, params = residuals
        return [v if type(v) is Aval else operand(i, v) for i, v in enumerate(operands)], params

    def pull(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        """The pullback, from the residuals that `linearize` gives."""
        return self.transpose(ct, operands, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        count = len(operands) if self.count is None else self.count
        if any(type(v) is Aval for v in operands[count:]):
            raise NotLinearError(f"{self.name} is not linear in its traced operand")
        operands = [v if type(v) is Aval or i >= count else aval_of(v) for i, v in enumerate(operands)]
        results = self.transposed(dense(ct), *operands, **params)
        results = [results] if self.count == 1 else list(results)
        if type(ct) is Masked and self.structural:
            results = [
                None if r is None else self.moved(i, r, ct, operands, params) for i, r in enumerate(results)
            ]
        return [*results, *[None] * (len(operands) - count)]

    def moved(self, i: int, result: Any, ct: Masked, operands: Sequence[Any], params: dict) -> Masked:
        """The cotangent `result` of operand i with its support: what the transpose makes of the incoming one."""

        shape = aval_of(ct.value).shape  # that of the support may be one that broadcasts to it

        def combine(mask: Any) -> Any:
            ones = ops.broadcast_to(ops.convert(mask, dtype=FLOAT), shape=shape)
            moved = self.transposed(ones, *operands, **params)
            return ops.not_equal(dense(moved if self.count == 1 else moved[i]), 0)

        return Masked(dense(result), Support(combine, ct.support), True)

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        count = len(values) if self.count is None else self.count
        operands = [spread(v, b, size) for v, b in zip(values[:count], batched)]
        others = list(values[count:])
        if any(batched[count:]):
            others = [spread(v, b, size) for v, b in zip(others, batched[count:])]
            return self.batched(*operands, *others, size=size, indexed=True, **params), True
        return self.batched(*operands, *others, size=size, **params), True


class Bilinear(Primitive, PullbackRule):
    """Linear in each of two operands: transposed(i, ct, aval, other, **params) is the cotangent of operand i."""

    def __init__(self, name: str, make_kernel: Any, *, abstract: Any, transposed: Any, batched: Any):
        self.rule, self.transposed, self.batched = abstract, transposed, batched
        self.dtypes = Cache()
        super().__init__(name, make_kernel)

    def abstract(self, avals: Sequence[Aval], params: dict) -> Aval:
        return self.rule(self, *avals, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        (a, b), (ta, tb) = primals, tangents
        y = self.call(a, b, **params)
        terms = [] if ta is None else [self.call(ta, b, **params)]
        terms += [] if tb is None else [self.call(a, tb, **params)]
        if not terms:
            return y, None
        return y, lift(terms[0] if len(terms) == 1 else ops.add(*terms), aval_of(y))

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        y = apply(*values, **params)
        (a, b), (da, db) = values, needed
        # An operand is kept only where the other one needs a cotangent.
        kept_a = (a if da is not None else own(a)) if db is not None else None
        kept_b = (b if db is not None else own(b)) if da is not None else None
        return y, self, (aval_of(a), aval_of(b), kept_a, kept_b, params)

    kept = (1, 2)

    def refill(self, residuals: tuple, operand: Callable, result: Callable) -> tuple:
        """See `PullbackRule`."""
        aval_a, aval_b, a, b, params = residuals
        a, b = a if a is None else operand(0, a), b if b is None else operand(1, b)
        return aval_a, aval_b, a, b, params

    def pull(self, ct: Any, aval_a: Aval, aval_b: Aval, a: Any, b: Any, params: dict) -> Sequence[Any]:
        """The pullback, from the residuals that `linearize` gives."""
        ct = dense(ct)
        return (
            None if b is None else project(self.transposed(0, ct, aval_a, b, **params), aval_a),
            None if a is None else project(self.transposed(1, ct, aval_b, a, **params), aval_b),
        )

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        traced = [type(v) is Aval for v in operands]
        if all(traced):
            raise NotLinearError(f"{self.name} of two traced operands is not linear")
        i = traced.index(True)
        cts: list[Any] = [None, None]
        cts[i] = project(self.transposed(i, dense(ct), operands[i], operands[1 - i], **params), operands[i])
        return cts

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, bool]:
        return self.batched(*values, *batched, **params), True


class General(Primitive):
    """Nonlinear and not elementwise: tangent(y, primals, tangents, params) → the result's tangent (None: zero),
    written in operations that are linear in the tangents. `tangent=None`: no derivative anywhere. Where the
    primitive is linear in some operands, transposed(ct, *operands, **params) gives their cotangents.
    reach(mask, *avals, **params) → the entries of the operands on which the results inside the mask depend.

    `multiple`: the kernel, `abstract`, `batched` and `tangent` give sequences, and y and ct are sequences.
    """

    def __init__(
        self,
        name: str,
        make_kernel: Any,
        *,
        abstract: Any,
        tangent: Any,
        batched: Any,
        transposed: Any = None,
        reach: Any = None,
        multiple: bool = False,
    ):
        self.rule, self.tangent, self.batched, self.transposed = abstract, tangent, batched, transposed
        self.reach, self.multiple_results = reach, multiple
        self.dtypes = Cache()
        self.derived = Cache()
        super().__init__(name, make_kernel)

    def abstract(self, avals: Sequence[Aval], params: dict) -> Any:
        return self.rule(self, *avals, **params)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        y = self.call(*primals, **params)
        none = [None] * len(y) if self.multiple_results else None
        if self.tangent is None or all(t is None for t in tangents):
            return y, none
        if not self.multiple_results and not is_differentiable(aval_of(y).dtype):
            return y, none
        with np.errstate(all="ignore"):  # as for elementwise operations
            return y, self.tangent(y, primals, tangents, params)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        y = apply(*values, **params)
        if self.tangent is None:
            return y, None, None
        rule = self.rule_for(y, values, needed, params)
        return y, rule, () if rule is None or rule.keep is None else rule.keep(own, y, values)

    def rule_for(self, y: Any, values: Sequence[Any], needed: Sequence[Any], params: dict) -> Any:
        """The rule for operands and results of these avals, or None."""
        key = (tuple(map(aval_of, values)), tuple([n is not None for n in needed]), params_key(params))
        try:
            return self.derived[key]
        except KeyError:
            rule = self.derived[key] = general_rule(self, values, needed, y, params)
            return rule

    def further(self, cts: dict, outs: Sequence[Aval]) -> Sequence[Any]:
        """What the tangent rule has as operands beside those of several results: what their cotangents, by position,
        tell besides their values."""
        return ()

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict) -> Sequence[Any]:
        if self.transposed is None:
            raise NotLinearError(f"{self.name} is not linear in its traced operand")
        ct = [None if c is None else dense(c) for c in ct] if self.multiple_results else dense(ct)
        return self.transposed(ct, *operands, **params)

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        y = self.batched(*[spread(v, b, size) for v, b in zip(values, batched)], size=size, **params)
        return y, [True] * len(y) if self.multiple_results else True


def elementwise(name: str, *rules: Any, kernel: Any = None, **options: Any) -> Callable[..., Any]:
    """Declare an elementwise primitive; `kernel` defaults to the namespace function of that name."""
    return register(Elementwise(name, kernel or named(name), rules, **options)).call


def linear(name: str, kernel: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a linear primitive."""
    return register(Linear(name, kernel, **rules)).call


def bilinear(name: str, kernel: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a bilinear primitive."""
    return register(Bilinear(name, kernel, **rules)).call


def general(name: str, kernel: Any, **rules: Any) -> Callable[..., Any]:
    """Declare a primitive by its tangent rule."""
    return register(General(name, kernel, **rules)).call
