"""`custom`: a function with any of the rules jvp, vjp, transpose and vmap; the others are derived."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...checking.compare import (
    FunctionAtPoint,
    compare_leaves,
    compare_pullback,
    compare_tangents,
    flatten_jvp,
)
from ...checking.finite_differences import Tolerance, precision, random_direction, random_like
from ...core import pytree, source_info
from ...core.aval import Aval, aval_of, is_differentiable
from ...core.errors import (
    ConcretizationError,
    CustomRuleError,
    EscapedTracerError,
    NotCheckableError,
    UnsupportedError,
)
from ...core.interpreter import Tracer, api_boundary
from ...core.typing import P, R
from ...ops import kinds
from ..arguments import zero_tangent
from ..shape_struct import ShapeDtypeStruct
from ..vmap import BatchTracer
from .call import RuledCall, custom_call
from .jvp_vjp import Application, CustomFunction, cast_like, unpack_pair

# What a check raises where the values are not known, or say nothing.
UNKNOWN_VALUE_ERRORS = (ConcretizationError, EscapedTracerError, NotCheckableError, UnsupportedError)


class CustomApplication(Application):
    """One call of a `custom` function, with its rules over flat values."""

    custom: custom
    call: RuledCall

    def make_call(self) -> RuledCall:
        rules, ruled = self.custom.rules, self.custom.rules.__contains__
        if ruled("transpose") and not all(is_differentiable(aval_of(v).dtype) for v in self.values):
            raise CustomRuleError(
                f"{self.name} has a rule for its transpose, and an argument that is no floating-point array",
                hint="name the other arguments by their positions: fx.custom(f, static=…)",
            )
        vjp = rules.get("vjp")
        if vjp is not None:
            vjp = self.vjp(*vjp) if isinstance(vjp, tuple) else (self.forward, self.backward)
        self.call = RuledCall(
            self.fun,
            partial(self.jvp, rules["jvp"]) if ruled("jvp") else None,
            vjp=vjp,
            transpose=self.transpose if ruled("transpose") else None,
            vmap=self.vmap if ruled("vmap") else None,
            out=None if self.custom.out is None else self.out,
            name=f"custom function {self.name}",
            on_loop=self.custom.warn,
            on_use=self.check_first_use if self.custom.unchecked_rules else None,
        )
        return self.call

    def fun(self, *leaves: Any) -> list[Any]:
        results = super().fun(*leaves)
        if self.custom.out is None:
            return results
        outline, shapes = self.out_structure, [aval_of(y).shape for y in results]
        declared = self.out([aval_of(v) for v in leaves])
        if outline != self.out_structure or shapes != [a.shape for a in declared]:
            raise CustomRuleError(
                f"{self.name}: the result has structure {outline} and shapes {shapes}; declared with out= are "
                f"{self.out_structure} and {[a.shape for a in declared]}",
                hint="return what out= declares, or declare what is returned",
            )
        return [cast_like(f"{self.name}: a result", y, a) for y, a in zip(results, declared)]

    def out(self, avals: Sequence[Aval]) -> list[Aval]:
        """Return the avals of the declared results."""
        declared = self.custom.out
        if callable(declared):
            declared = declared(*self.full_arguments(shape_structs(avals)))
        return [Aval(a.shape, a.dtype) for a in map(aval_of, self.flatten_result(declared))]

    # -- the rules
    def forward(self, *leaves: Any) -> tuple[list[Any], list[Any]]:
        ys = custom_call(*leaves, call=self.call)
        return ys, [*ys, *leaves]

    def backward(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        count = len(cts)
        ct, y = (pytree.unflatten(self.out_structure, leaves) for leaves in (cts, residuals[:count]))
        found = self.custom.rules["vjp"](ct, y, *self.full_arguments(residuals[count:]))
        return self.cotangents(f"the vjp rule of {self.name}", found)

    def transpose(self, cts: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
        ct = pytree.unflatten(self.out_structure, cts)
        found = self.custom.rules["transpose"](ct, *self.full_arguments(shape_structs(avals)))
        return self.cotangents(f"the transpose rule of {self.name}", found)

    def vmap(self, values: Sequence[Any], is_batched: Sequence[bool], size: int) -> list[Any]:
        what = f"the vmap rule of {self.name}"
        flags: list[Any] = [False] * len(self.args)
        for place, flag in zip(self.positions, pytree.unflatten(self.structure, is_batched)):
            flags[place] = flag
        found = self.custom.rules["vmap"](size, flags, *self.full_arguments(values))
        result, result_flags = unpack_pair(found, what, "(result, whether it is batched)")
        results = list(zip(self.flatten_result(result), pytree.flatten_prefix(result_flags, result, what)))
        for y, flag in results:
            shape = aval_of(y).shape
            if flag and shape[:1] != (size,):
                raise CustomRuleError(
                    f"{what}: a batched result has shape {shape}, expected ({size}, …)",
                    hint="put the mapped axis first: fnp.moveaxis(y, axis, 0)",
                )
        return [kinds.ensure_batched(y, bool(flag), size) for y, flag in results]

    # -- the first use of each
    def check_first_use(self, rule: str, values: Sequence[Any], *mapping: Any) -> None:
        """Check a rule that has not been checked yet, if the values are known; otherwise a later use will do
        so."""
        unchecked = self.custom.unchecked_rules
        if rule not in unchecked:
            return
        unchecked.discard(rule)  # the check itself makes use of it
        try:
            self.check(rule, [peek_value(v) for v in values], *mapping)
        except BaseException as error:
            unchecked.add(rule)
            if not isinstance(error, UNKNOWN_VALUE_ERRORS):
                raise

    def check(self, rule: str, values: list[Any], *mapping: Any) -> None:
        """Raise `CheckError` unless a rule agrees with the function at these values."""
        call, what = self.call, f"the {rule} rule of {self.name}"
        if rule == "vmap":
            is_batched, size = mapping
            found = call.vmap(values, is_batched, size)  # type: ignore[misc]
            for k in {0, size - 1}:
                expected = call.fun(*[v[k] if b else v for v, b in zip(values, is_batched)])
                compare_leaves(
                    f"{what}: entry {k}", [y[k] for y in found], expected, precision(values) ** 0.75
                )
            return
        point = FunctionAtPoint(what, call.fun, values, name_leaf=self.place)
        results = point.results(*values)
        tolerance = Tolerance([*values, *results])
        if rule == "jvp":
            compare_tangents(point, random_direction(values), flatten_jvp(point, call.jvp), tolerance)  # type: ignore[arg-type]
            return
        cts = random_like(np.random.default_rng(1), *results)
        if rule == "vjp":
            forward, backward = call.vjp  # type: ignore[misc]
            pulled = backward(forward(*values)[1], cts)
        else:  # a linear function is its own derivative
            compare_tangents(
                point, random_direction(values), lambda *ts: call.fun(*point.tangents(ts)), tolerance
            )
            pulled = call.transpose(cts, [aval_of(v) for v in values])  # type: ignore[misc]
        pulled = [zero_tangent(v) if ct is None else ct for ct, v in zip(pulled, values)]
        floating = [ct for ct, y in zip(cts, results) if is_differentiable(aval_of(y).dtype)]
        compare_pullback(point, floating, pulled, tolerance)


class custom(CustomFunction[P, R]):
    """A function with user-defined rules. Any of them may be given; missing ones are derived.

    Args:
        fun: a function of pytrees of arrays. It may be opaque, that is, need plain arrays and numbers (SciPy, code in
            C, `float(x)`): where there is a rule, it is not traced.
        jvp, vjp, transpose, vmap: the rules, or decorate them with the methods of these names:
            `jvp(rule)`: rule(primals, tangents) → (result, its tangent).
            `vjp(rule)`: rule(ct, result, *args) → a tuple of cotangents, one for each argument, None for zero.
            `vjp(fwd, bwd)`: fwd(*args) → (result, residuals), bwd(residuals, ct) → the tuple of cotangents.
            `transpose(rule)`: for a function that is linear in all arguments together: rule(ct, *args) → the tuple of
            cotangents, where args are `ShapeDtypeStruct`s.
            `vmap(rule)`: rule(size, batched, *args) → (result, whether it is batched): the function of arguments of
            which those with `is_batched` true (pytrees of booleans) have a leading batch axis of that size.
        static: positional arguments that are not differentiated, and reach `fun` and rules as they are: in their
            places in `args`, and first of all arguments of `jvp` and `bwd`.
        out: what an opaque function returns, to be called inside `jit`: a pytree of `ShapeDtypeStruct`, or a function
            from those of the arguments to it.
        check: compare each rule with `fun` when it is first used with known values: derivatives with numerical ones, a
            transpose and a vmap rule by the numbers. Not for rules meant to differ from the derivative.

    Reverse mode is derived from a jvp rule by transposition, forward mode from a vjp rule likewise where the cotangents
    pass through operations of fxgrad. Rules are functions like others: they may be differentiated, jitted and mapped. A
    function that is opaque is mapped by a loop, with a warning, unless there is a rule for `vmap`. A rule that is
    opaque has to call out by `pure_callback` where derivatives of the function are jitted or mapped.

    Raises:
        CustomRuleError: what a rule returned does not fit.
        CheckError: a rule contradicts the function.

    >>> import math
    >>> erf = fx.custom(math.erf, out=lambda x: x)
    >>> @erf.vjp
    ... def erf_vjp(ct, y, x):
    ...     return (ct * 2 / math.sqrt(math.pi) * fnp.exp(-x * x),)
    >>> [f"{fx.grad(erf)(1.0):.4f}", f"{fx.jit(fx.grad(fx.grad(erf)))(1.0):.4f}"]
    ['0.4151', '-0.8302']
    """

    out: Any
    checked: bool
    looped: bool

    application: type[Application] = CustomApplication

    @api_boundary
    def __init__(
        self,
        fun: Callable[P, R],
        *,
        jvp: Callable[..., Any] | None = None,
        vjp: Callable[..., Any] | tuple[Callable[..., Any], Callable[..., Any]] | None = None,
        transpose: Callable[..., Any] | None = None,
        vmap: Callable[..., Any] | None = None,
        static: int | Sequence[int] = (),
        out: Any = None,
        check: bool = True,
    ):
        super().__init__(fun, static)
        self.out, self.checked = out, check
        self.rules: dict[str, Any] = {}
        self.unchecked_rules: set[str] = set()
        self.looped = False
        if vjp is not None:
            self.vjp(*vjp if isinstance(vjp, tuple) else (vjp,))
        for name, rule in (("jvp", jvp), ("transpose", transpose), ("vmap", vmap)):
            if rule is not None:
                self.define_rule(name, rule)

    def define_rule(self, name: str, rule: Any) -> Any:
        """Define the rule of a name, "jvp", "vjp", "transpose" or "vmap", and return `rule`."""
        self.rules[name] = rule
        if self.checked:
            self.unchecked_rules.add(name)
        return rule

    def jvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the rule for forward mode; usable as a decorator."""
        return self.define_rule("jvp", rule)

    def vjp(self, rule: Callable[..., Any], bwd: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """Define the rule for reverse mode, as one function (usable as a decorator) or as fwd and bwd."""
        self.define_rule("vjp", rule if bwd is None else (rule, bwd))
        return rule

    def transpose(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the transpose of a linear function; usable as a decorator."""
        return self.define_rule("transpose", rule)

    def vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the rule for `vmap`; usable as a decorator."""
        return self.define_rule("vmap", rule)

    def call_traced(self, application: Any) -> list[Any]:
        return custom_call(*application.values, call=application.make_call())

    def warn(self, error: Exception) -> None:
        """Warn once that the function is mapped by a loop."""
        if not self.looped:
            self.looped = True
            warnings.warn(
                f"{source_info.user_frame()}: {self.__name__} or one of its rules cannot be traced "
                f"({error.args[0]}): vmap calls it for one entry after the other; @{self.__name__}.vmap would give "
                "it a rule for all at once",
                RuntimeWarning,
                stacklevel=2,
            )


def shape_structs(avals: Sequence[Aval]) -> list[ShapeDtypeStruct]:
    return [ShapeDtypeStruct(a.shape, a.dtype) for a in avals]


def peek_value(value: Any) -> Any:
    """Return the numbers behind a value that may be traced: for a batch, those of its first entry."""
    while isinstance(value, Tracer):
        if isinstance(value, BatchTracer):
            if value.interpreter.size == 0:
                raise ConcretizationError(
                    "an empty batch has no entry", hint="look at the batch's size first"
                )
            return peek_value(value.value)[0]
        value = value.concretize("the check of a rule")
    return value
