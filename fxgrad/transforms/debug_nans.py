"""`debug_nans`: the operation that makes the first NaN or infinity is reported, forward or backward.

`Watch` is a level of its own, through which even operations on plain arrays pass. It looks at what the user's
steps give: an operation, a function of the namespace, the tangent of an operation, the cotangents of one. What
goes on inside such a step is no business of the user's, for rules compute NaN in entries that they then discard
(a masked cotangent, the tangent of a norm at 0).
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import source_info
from ..core.arrays import namespace_of
from ..core.aval import SCALARS, aval_of, is_differentiable, kind_of
from ..core.errors import NonFiniteError, describe
from ..core.graph import Graph
from ..core.interpreter import EVAL, Interpreter, Tracer, is_plain, opened
from ..core.pullback import PullbackRule
from ..ops import kinds as families
from ..ops import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Inside a step that is looked at as a whole: what tells the user's line behind it.
_inside: ContextVar[Callable[[], Any] | None] = ContextVar("fxgrad_step", default=None)

TESTS = {"NaN": "isnan", "inf": "isinf"}
WARNINGS = {"NaN": ("invalid",), "inf": ("divide", "over")}  # NumPy's, in place of which the error comes

SHOWN = 8  # operands in a report

Labelled = list[tuple[str, Any]]


class Watch(Interpreter):
    """Looks at the results of every step. `kinds` are those of "NaN" and "inf" that are reported."""

    name = "debug_nans"
    watches = True
    __slots__ = ("ignored", "kinds")

    def __init__(self, kinds: list[str], site: Any):
        super().__init__(site)
        self.kinds = kinds
        self.ignored: dict[str, Any] = {warning: "ignore" for kind in kinds for warning in WARNINGS[kind]}

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        run = partial(self.bind_outer, primitive, args, params)
        if not self.looks():
            return run()
        if not primitive.runs_user_code:
            result = self.step(source_info.caller, run)
        else:
            if self.outer.interpreter is EVAL.interpreter and is_plain(args):
                run = partial(primitive.kernel, *args, **params)  # in our own context: we see what it does
            with np.errstate(**self.ignored):
                result = run()
        self.look_forward(primitive, result, args, params)
        return result

    def looks(self) -> bool:
        """Whether we are outside a step that is looked at as a whole."""
        return _inside.get() is None

    def whole(self, name: str, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """The result of a function that is one step."""
        result = self.step(source_info.caller, partial(function, *args, **kwargs))
        self.look(name, [("the result", result)], labelled("operand", (*args, *kwargs.values())))
        return result

    def jvp(self, primitive: Any, primals: Any, tangents: Any, params: dict) -> tuple[Any, Any]:
        """The result of an operation and its tangent, as one step."""
        run = partial(primitive.jvp, primals, tangents, params)
        if not self.looks():
            return run()
        y, t = run() if primitive.rules_run_user_code else self.step(source_info.caller, run)
        self.look_forward(primitive, y, primals, params)
        operands = [*labelled("operand", primals), *labelled("tangent", tangents)]
        self.look(primitive.name, [("the tangent of the result", t)], operands)
        return y, t

    def pullback(self, interpreter: Interpreter, primitive: Any, rule: Any) -> WatchedRule:
        """The rule of an operation that `interpreter` records, as one step of its backward pass."""
        return WatchedRule(self, interpreter, primitive.name, rule, (_inside.get() or source_info.caller)())

    def step(self, site: Callable[[], Any], run: Callable[[], Any]) -> Any:
        """Run a step, inside which nothing is reported; `site` tells the user's line behind it."""
        token = _inside.set(site)
        try:
            with np.errstate(**self.ignored):
                return run()
        finally:
            _inside.reset(token)

    def look_forward(self, primitive: Any, result: Any, operands: Any, params: dict) -> None:
        given = [*labelled("operand", operands), ("", params)]
        self.look(
            primitive.name, [("the result", result)], given, isinstance(primitive, families.Elementwise)
        )

    def look(
        self, name: str, results: Labelled, given: Labelled, entrywise: bool = False, site: Any = None
    ) -> None:
        """Raise where a result has NaN or infinities that nothing given accounts for."""
        for label, result in results:
            for array in arrays(result):
                if not is_differentiable(aval_of(array).dtype) or not count(~marked("isfinite", array)):
                    continue
                for kind in self.kinds:
                    if made(TESTS[kind], array, given, entrywise):
                        raise self.report(
                            f"{name}: {label} has {kind}: {statistics(array)}", kind, given, site
                        )

    def report(self, message: str, kind: str, given: Labelled, site: Any) -> NonFiniteError:
        shown = [f"\n  of:  {label} {statistics(a)}" for label, v in given if label for a in arrays(v)]
        more = f"\n       and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
        hint = (
            "keep such entries from the operation: f(fnp.where(ok, x, 1.0)); fnp.where after it is too late"
        )
        if kind == "inf":
            hint += ". To allow infinities: fx.debug_nans(infs=False)"
        return NonFiniteError(message + "".join(shown[:SHOWN]) + more, hint=hint, site=site)


class WatchedRule(PullbackRule):
    """The rule of an operation on the tape, with what a report of its cotangents says."""

    __slots__ = ("interpreter", "name", "rule", "site", "watch")

    def __init__(self, watch: Watch, interpreter: Interpreter, name: str, rule: Any, site: Any):
        self.watch, self.interpreter, self.name, self.rule, self.site = watch, interpreter, name, rule, site

    def pull(self, ct: Any, *residuals: Any) -> Any:
        if not self.watch.looks():
            return self.rule.pull(ct, *residuals)

        def run() -> tuple[Any, list[Any]]:
            cts = self.rule.pull(ct, *residuals)
            return cts, [list(arrays(c)) for c in cts]  # masks are applied within the step

        cts, found = run() if self.rule.rules_run_user_code else self.watch.step(lambda: self.site, run)
        place = f", in the backward pass of {self.interpreter.name}"
        place += f" at {self.interpreter.site}," if self.interpreter.site else ","
        results = [(label + place, v) for label, v in labelled("the cotangent of operand", found)]
        given = [("cotangent", ct), *labelled("residual", residuals)]
        self.watch.look(self.name, results, given, site=self.site)
        return cts


def labelled(label: str, values: Any) -> Labelled:
    """The values with their positions."""
    return [(f"{label} {i}", v) for i, v in enumerate(values)]


def arrays(value: Any) -> Iterator[Any]:
    """The arrays and numbers of which a value of any kind consists."""
    if type(value) is masked.Masked:
        value = value.dense()
    parts: Iterable[Any] = ()
    if isinstance(value, Tracer):
        parts = value.contents()
    elif isinstance(value, Graph):
        parts = value.captured.values()
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, tuple | list):
        parts = value
    elif type(value) in SCALARS or (not isinstance(value, type) and namespace_of(value) is not None):
        yield value
    for part in parts:
        yield from arrays(part)


def marked(test: str, array: Any) -> Any:
    """isnan, isinf or isfinite of an array of any library."""
    xp = namespace_of(array)
    return getattr(xp, test)(xp.asarray(array))


def count(mask: Any) -> int:
    return int(namespace_of(mask).count_nonzero(mask))


def made(test: str, array: Any, given: Labelled, entrywise: bool) -> bool:
    """Whether entries pass the test for which nothing given accounts: the same entry where the operation is
    elementwise, any entry otherwise."""
    found = marked(test, array)
    for _, value in given:
        for operand in arrays(value):
            if is_differentiable(aval_of(operand).dtype):
                there = marked(test, operand)
                if entrywise and there.shape in ((), found.shape):
                    found = found & ~there
                elif count(there):
                    return False
    return count(found) > 0


def statistics(array: Any) -> str:
    """`float64[3] from -1 to 2, 1 NaN`: the range is that of the finite entries (of their moduli)."""
    text = describe(array)
    kind = kind_of(aval_of(array).dtype)
    if kind not in "iufc":
        return text
    xp = namespace_of(array)
    array = xp.asarray(array)
    finite = array[xp.isfinite(array)]
    if finite.size:
        finite = xp.abs(finite) if kind == "c" else finite
        low, high = float(xp.min(finite)), float(xp.max(finite))
        text += f" from {low:.6g} to {high:.6g}" if array.ndim else f" {low:.6g}"
    counts = {name: count(marked(test, array)) for name, test in TESTS.items()}
    return text + "".join(f", {n} {name}" for name, n in counts.items() if n)


class debug_nans:
    """Context manager that reports the operation which makes the first NaN or infinity, forward or backward.

    The error has the operation, the user's line (in a backward pass that of the forward operation), ranges and
    numbers of NaN and inf of operands and result, and the open transforms. It works outside and inside `grad`,
    `jvp`, `vmap`, `checkpoint`, custom rules, and the loops of `fx.lax`, which take their steps one by one meanwhile;
    `jit` runs the Python function itself. (Inside a function that `jit` stages there are no values to look at.)

    Only what makes NaN or inf is reported: what merely has them in its operands is not, so a NaN in the arguments
    passes, as does an infinity (`fnp.where(mask, x, -fnp.inf)`). A value or tangent counts even where a later
    `fnp.where` discards it, as in JAX, and so does a branch that `vmap` computes for entries which take another; the
    entries of a cotangent that a `where` leaves out do not.

    NumPy's own functions on plain arrays are not seen: write `fnp.log` for `np.log`. A transform that is called inside
    is watched in both directions; of one that is called outside, only the part within the context is. The innermost
    context decides what is reported.

    Args:
        nans: report NaN.
        infs: report infinities.

    Raises:
        NonFiniteError: a FloatingPointError.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> with fx.debug_nans():
    ...     fx.grad(lambda x: fnp.sqrt(x) * 2.0)(0.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonFiniteError: sqrt: the cotangent of operand 0, in the backward pass of grad at ...
    """

    def __init__(self, *, nans: bool = True, infs: bool = True):
        self.kinds = [kind for kind, wanted in {"NaN": nans, "inf": infs}.items() if wanted]

    def __enter__(self) -> None:
        self.level = opened(Watch(self.kinds, source_info.caller()))
        self.level.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.level.__exit__()
        if error is not None:
            source_info.hide_frames(error)
