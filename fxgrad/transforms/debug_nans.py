"""`debug_nans` reports the operation that makes the first NaN or infinity, forward or backward.

`NonFiniteObserver` is a level of its own, through which even operations on plain arrays pass. It checks the results of
the user's steps: of an operation, of a function of the namespace, the tangent of an operation, its cotangents. It
ignores operations inside such a step, because rules compute NaN in entries that they then discard (a masked cotangent,
the tangent of a norm at 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from ..core import source_info
from ..core.arrays import namespace_of
from ..core.aval import SCALARS, aval_of, is_differentiable, kind_of
from ..core.errors import NonFiniteError, describe
from ..core.graph import Graph
from ..core.interpreter import EVAL, Interpreter, Tracer, acting_level, api_boundary, is_plain, opened
from ..core.observer import Observer
from ..core.primitive import HigherOrder
from ..core.pullback import PullbackRule
from ..ops import kinds as families
from ..ops import masked

# Inside a step that is checked as a whole: what tells the user's line behind it.
_current_step: ContextVar[Callable[[], Any] | None] = ContextVar("fxgrad_step", default=None)
# In a backward pass: the pullback that is used.
_current_pullback: ContextVar[ObservedPullback | None] = ContextVar("fxgrad_pullback", default=None)

TESTS = {"NaN": "isnan", "inf": "isinf"}
WARNINGS = {"NaN": ("invalid",), "inf": ("divide", "over")}  # NumPy's, in place of which the error comes

MAX_SHOWN = 8  # operands in a report

LabelledValues = list[tuple[str, Any]]


class NonFiniteObserver(Observer):
    """A level that checks the results of every step; `kinds` says whether it reports "NaN", "inf" or both."""

    name = "debug_nans"
    __slots__ = ("errstate_options", "kinds")

    def __init__(self, kinds: list[str], site: Any):
        super().__init__(site)
        self.kinds = kinds
        self.errstate_options: dict[str, Any] = {
            warning: "ignore" for kind in kinds for warning in WARNINGS[kind]
        }

    def process(self, primitive: Any, args: tuple, params: dict) -> Any:
        run = partial(self.bind_outer, primitive, args, params)
        if not is_between_steps():
            return run()
        if not isinstance(primitive, HigherOrder):
            result = self.step(source_info.user_frame, run)
        else:
            if acting_level(self.outer) is EVAL.interpreter and is_plain(args):
                run = partial(primitive.kernel, *args, **params)  # in our own context: we see what it does
            with np.errstate(**self.errstate_options):
                result = run()
        self.check_result(primitive, result, args, params)
        return result

    def is_observing(self) -> bool:
        return is_between_steps() or super().is_observing()

    def observe_function(self, name: str, function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """Run a function as one step, and check its result."""
        run = partial(super().observe_function, name, function, args, kwargs)
        if not is_between_steps():
            return run()
        result = self.step(source_info.user_frame, run)
        self.check_values(name, [("the result", result)], label_values("operand", (*args, *kwargs.values())))
        return result

    def jvp(self, primitive: Any, primals: Any, tangents: Any, params: dict) -> tuple[Any, Any]:
        """Compute the result of an operation and its tangent as one step, and check both."""
        run = partial(super().jvp, primitive, primals, tangents, params)
        if not is_between_steps():
            return run()
        y, t = run() if primitive.rules_run_user_code else self.step(source_info.user_frame, run)
        self.check_result(primitive, y, primals, params)
        operands = [*label_values("operand", primals), *label_values("tangent", tangents)]
        self.check_values(primitive.name, [("the tangent of the result", t)], operands)
        return y, t

    def observe_pullback(self, interpreter: Interpreter, primitive: Any, rule: Any) -> ObservedPullback:
        """Wrap the rule of an operation that `interpreter` records: each use of it is one step of the
        backward pass."""
        rule = super().observe_pullback(interpreter, primitive, rule)
        site = (_current_step.get() or source_info.user_frame)()
        return ObservedPullback(self, interpreter, primitive.name, rule, site, _current_pullback.get())

    def step(self, site: Callable[[], Any], run: Callable[[], Any]) -> Any:
        """Run a step, inside which nothing is reported; `site` gives the user's line behind it."""
        token = _current_step.set(site)
        try:
            with np.errstate(**self.errstate_options):
                return run()
        finally:
            _current_step.reset(token)

    def check_result(self, primitive: Any, result: Any, operands: Any, params: dict) -> None:
        given = [*label_values("operand", operands), ("", params)]
        self.check_values(
            primitive.name, [("the result", result)], given, isinstance(primitive, families.Elementwise)
        )

    def check_values(
        self,
        name: str,
        results: LabelledValues,
        given: LabelledValues,
        entrywise: bool = False,
        pullback: ObservedPullback | None = None,
    ) -> None:
        """Raise NonFiniteError where a result has NaN or infinities that no operand accounts for."""
        for label, result in results:
            for array in iterate_arrays(result):
                if not is_differentiable(aval_of(array).dtype) or not count_true(
                    ~entry_mask("isfinite", array)
                ):
                    continue
                for kind in self.kinds:
                    if has_new_entries(TESTS[kind], array, given, entrywise):
                        raise self.non_finite_error(
                            f"{name}: {label} has {kind}: {summarize_array(array)}", kind, given, pullback
                        )

    def non_finite_error(
        self, message: str, kind: str, given: LabelledValues, pullback: ObservedPullback | None
    ) -> NonFiniteError:
        shown = [
            f"\n  of:  {label} {summarize_array(a)}" for label, v in given if label for a in iterate_arrays(v)
        ]
        more = f"\n       and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
        hint = (
            "keep such entries from the operation: f(fnp.where(ok, x, 1.0)); fnp.where after it is too late"
        )
        if kind == "inf":
            hint += ". To allow infinities: fx.debug_nans(infs=False)"
        origins, site = "", None
        if pullback is not None:
            site = pullback.site
            origins = "".join(f"\n  for: {origin.describe()}" for origin in pullback.origins())
        return NonFiniteError(message + "".join(shown[:MAX_SHOWN]) + more + origins, hint=hint, site=site)


class ObservedPullback(PullbackRule):
    """The pullback of an operation with a check of its cotangents, and what a report of them says: the user's line, and
    by which other pullback the operation was done, if it belongs to a backward pass that is differentiated in turn."""

    __slots__ = ("interpreter", "name", "observer", "origin", "rule", "site")

    def __init__(
        self,
        observer: NonFiniteObserver,
        interpreter: Interpreter,
        name: str,
        rule: PullbackRule,
        site: Any,
        origin: ObservedPullback | None,
    ):
        self.observer, self.interpreter, self.name = observer, interpreter, name
        self.rule, self.site, self.origin = rule, site, origin

    def describe(self) -> str:
        """'sqrt, in the backward pass of grad at a.py:3 in f:  …', with the line of the transform."""
        text = f"{self.name}, in the backward pass of {self.interpreter.name}"
        return f"{text} at {self.interpreter.site.describe()}" if self.interpreter.site else text

    def origins(self) -> Iterator[ObservedPullback]:
        """Yield the pullback by which the operation was done, that by which its operation was done, and so on."""
        origin = self.origin
        while origin is not None:
            yield origin
            origin = origin.origin

    def pull(self, ct: Any, *residuals: Any) -> Any:
        if not is_between_steps():
            return self.rule.pull(ct, *residuals)

        def run() -> tuple[Any, list[Any]]:
            cts = self.rule.pull(ct, *residuals)
            return cts, [list(iterate_arrays(c)) for c in cts]  # masks are applied within the step

        token = _current_pullback.set(self)
        try:
            is_users = self.rule.rules_run_user_code
            cts, found = run() if is_users else self.observer.step(lambda: self.site, run)
        finally:
            _current_pullback.reset(token)
        place = f", in the backward pass of {self.interpreter.name}"
        place += f" at {self.interpreter.site}," if self.interpreter.site else ","
        results = [(label + place, v) for label, v in label_values("the cotangent of operand", found)]
        given = [("cotangent", ct), *label_values("residual", residuals)]
        self.observer.check_values(self.name, results, given, pullback=self)
        return cts


def is_between_steps() -> bool:
    """Whether no step that is checked as a whole is being run."""
    return _current_step.get() is None


def label_values(label: str, values: Any) -> LabelledValues:
    """Pair the values with labels that tell their positions."""
    return [(f"{label} {i}", v) for i, v in enumerate(values)]


def iterate_arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of which a value of any kind consists."""
    if type(value) is masked.Masked:
        value = value.densify()
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
        yield from iterate_arrays(part)


def entry_mask(test: str, array: Any) -> Any:
    """Apply isnan, isinf or isfinite to an array of any library."""
    xp = namespace_of(array)
    return getattr(xp, test)(xp.asarray(array))


def count_true(mask: Any) -> int:
    return int(namespace_of(mask).count_nonzero(mask))


def has_nan(value: Any) -> bool:
    """Whether the arrays and numbers of which a value consists have NaN entries: those of floating dtypes."""
    return any(
        count_true(entry_mask("isnan", array))
        for array in iterate_arrays(value)
        if is_differentiable(aval_of(array).dtype)
    )


def has_new_entries(test: str, array: Any, given: LabelledValues, entrywise: bool) -> bool:
    """Whether entries pass the test for which no operand accounts: the same entry where the operation is
    elementwise, any entry otherwise."""
    found = entry_mask(test, array)
    for _, value in given:
        for operand in iterate_arrays(value):
            if is_differentiable(aval_of(operand).dtype):
                there = entry_mask(test, operand)
                if entrywise and there.shape in ((), found.shape):
                    found = found & ~there
                elif count_true(there):
                    return False
    return count_true(found) > 0


def summarize_array(array: Any) -> str:
    """Describe an array, `float64[3] from -1 to 2, 1 NaN`: the range is that of the finite entries (of their
    moduli)."""
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
    counts = {name: count_true(entry_mask(test, array)) for name, test in TESTS.items()}
    return text + "".join(f", {n} {name}" for name, n in counts.items() if n)


class debug_nans:
    """Context manager that reports the operation which makes the first NaN or infinity, forward or backward.

    The error has the operation, the user's line (in a backward pass that of the forward operation), ranges and
    numbers of NaN and inf of operands and result, the open transforms, and for the gradient of a gradient the backward
    passes that the operation belongs to. It works outside and inside `grad`, `jvp`, `vmap`, `checkpoint`, custom rules,
    and the loops of `fx.lax`, which take their steps one by one meanwhile; `jit` runs the Python function itself.
    (Inside a function that `jit` stages there are no values to look at.)

    Only what makes NaN or inf is reported: what merely has them in its operands is not, so a NaN in the arguments
    passes, as does an infinity (`fnp.where(mask, x, -fnp.inf)`). A value or tangent counts even where a later
    `fnp.where` discards it, as in JAX, and so does a branch that `vmap` computes for entries which take another; the
    entries of a cotangent that a `where` leaves out do not.

    NumPy's own functions on plain arrays are not seen: write `fnp.log` for `np.log`. A transform that is called inside
    is watched in both directions; of one that is called outside, only the part within the context is. The innermost
    context decides what is reported.

    Args:
        enable: False: the context changes nothing.
        nans: report NaN.
        infs: report infinities.

    Raises:
        NonFiniteError: a FloatingPointError.

    >>> with fx.debug_nans():
    ...     fx.grad(lambda x: fnp.sqrt(x) * 2.0)(0.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonFiniteError: sqrt: the cotangent of operand 0, in the backward pass of grad at ...
    """

    kinds: list[str]
    level: opened

    @api_boundary
    def __init__(self, enable: bool = True, *, nans: bool = True, infs: bool = True):
        self.enable = enable
        self.kinds = [kind for kind, wanted in {"NaN": nans, "inf": infs}.items() if wanted]

    def __enter__(self) -> None:
        if self.enable:
            self.level = opened(NonFiniteObserver(self.kinds, source_info.user_frame()))
            self.level.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self.enable:
            self.level.__exit__()
        if self.enable and error is not None:
            source_info.hide_frames(error)
