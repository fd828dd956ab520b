"""`jax.extend.core.Primitive`: operations that programs define, each with a primitive of this library behind it.

The rules are those that a program enters into the tables of `jax.interpreters`, and are functions of arrays. A rule
that is missing is an error where it is needed, which says of which primitive, and where that was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ... import lax
from ... import numpy as fnp
from ...core import source_info
from ...core.aval import Aval, aval_of, float0, is_differentiable
from ...core.errors import NotDifferentiableError, UnsupportedError
from ...core.fp_errors import ERROR_STATE, IGNORE
from ...core.primitive import HigherOrder
from ...core.rules import REGISTRY
from ...ops import special as _special  # noqa: F401  (fills the registry, as all of `ops`)
from ...ops.masked import densify
from ...transforms.custom.transpose import vjp_from_jvp
from ...transforms.vmap import MAPPED_AXIS
from .arrays import array_of, value_of
from .avals import shaped, shaped_of

# The rules of programs, by primitive: what `jax.interpreters` shows of them.
JVPS: dict[Any, Callable[..., Any]] = {}
TRANSPOSES: dict[Any, Callable[..., Any]] = {}
BATCHERS: dict[Any, Callable[..., Any]] = {}  # with the length and the name of the axis
LOWERINGS: dict[Any, Callable[..., Any]] = {}


class Zero:
    """A tangent or cotangent that is zero, and has no array."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = shaped(aval)

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)

    def __repr__(self) -> str:
        return f"Zero({self.aval})"

    def instantiate(self) -> Any:
        """Return an array of zeros."""
        return array_of(np.zeros(self.aval.shape, self.aval.dtype))

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """Return the zero that is a tangent of a value."""
        return Zero(shaped_of(value).to_tangent_aval())


class UndefinedPrimal:
    """An operand in which a primitive is transposed: only its aval is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = shaped(aval)

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


class Primitive:
    """An operation of a program's own, which is bound to operands by `bind`.

    Args:
        name: of the operation, for listings and messages.
    """

    multiple_results = call_primitive = map_primitive = False

    def __init__(self, name: str):
        self.name, self.site = name, source_info.user_frame()
        self.impl: Callable[..., Any] = partial(run_lowering, self)
        self.abstract_eval: Callable[..., Any] | None = None
        self.house: Any = RuledPrimitive(self)

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the operation to arrays: what the innermost transform makes of it."""
        results = [array_of(r) for r in self.house.call(*map(value_of, args), **params)]
        return results if self.multiple_results else results[0]

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Define what it computes: impl(*arrays, **params) → results."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Define the shapes and dtypes of its results: rule(*avals, **params) → avals."""
        self.abstract_eval = abstract_eval
        return abstract_eval

    def def_effectful_abstract_eval(self, abstract_eval: Callable[..., Any]) -> Callable[..., Any]:
        """Define shapes, dtypes and effects: rule(*avals, **params) → (avals, effects)."""
        self.abstract_eval = lambda *avals, **params: abstract_eval(*avals, **params)[0]
        self.house.effectful = True
        return abstract_eval

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters with which `bind` is called."""
        return params

    def lack(self, rule: str, hint: str, kind: type[Exception] = UnsupportedError) -> NoReturn:
        """Raise the error for a rule that is missing."""
        where = "" if self.site is None else f", which {self.site.code.co_filename} has defined,"
        raise kind(f"the primitive {self.name!r}{where} has no {rule}", hint=hint)  # type: ignore[call-arg]

    def listed(self, results: Any) -> list[Any]:
        """Return its results as a list."""
        return list(results) if self.multiple_results else [results]


class HousePrimitive(Primitive):
    """A primitive of this library, as equations of programs show it."""

    def __init__(self, house: Any):
        self.name, self.house, self.site = house.name, house, None
        self.multiple_results = house.multiple_results

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the operation to arrays."""
        token = ERROR_STATE.set(IGNORE)
        try:
            found = self.house.call(*map(value_of, args), **params)
        finally:
            ERROR_STATE.reset(token)
        return list(map(array_of, found)) if self.multiple_results else array_of(found)


SHOWN: dict[str, HousePrimitive] = {}  # the primitives of this library that have been shown, by name


def primitive_of(house: Any) -> Primitive:
    """Return the operation of an equation as programs see it."""
    if isinstance(house, RuledPrimitive):
        return house.program
    if house.name not in SHOWN or SHOWN[house.name].house is not house:
        SHOWN[house.name] = HousePrimitive(house)
    return SHOWN[house.name]


# JAX's names of entrywise primitives, with those that they have here.
SAME = [
    "add", "cbrt", "ceil", "cos", "cosh", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "imag", "log",
    "log1p", "nextafter", "real", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
]  # fmt: skip
NAMED = {name: name for name in SAME} | {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "and": "bitwise_and", "asin": "arcsin",
    "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "complex": "make_complex",
    "conj": "conjugate", "div": "divide", "eq": "equal", "ge": "greater_equal", "gt": "greater",
    "is_finite": "isfinite", "le": "less_equal", "lgamma": "log_gamma", "logistic": "sigmoid", "lt": "less",
    "max": "maximum", "min": "minimum", "mul": "multiply", "ne": "not_equal", "neg": "negative", "not": "bitwise_not",
    "or": "bitwise_or", "pow": "power", "rem": "fmod", "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift", "sub": "subtract", "xor": "bitwise_xor",
}  # fmt: skip
# JAX's primitives that are several operations here, or one with parameters of its own.
COMPOSED = {name: name for name in (
    "bessel_i0e", "bessel_i1e", "clamp", "clz", "digamma", "igamma", "igammac", "integer_pow", "polygamma",
    "population_count", "rsqrt", "select_n", "shift_right_logical", "zeta",
)} | {"regularized_incomplete_beta": "betainc"}  # fmt: skip


class ComposedPrimitive(Primitive):
    """An operation of JAX's that is a function here: it can be bound, and programs show the operations that it does."""

    def __init__(self, name: str, function: Callable[..., Any]):
        self.name, self.site, self.house, self.function = name, None, None, function

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the function to arrays."""
        token = ERROR_STATE.set(IGNORE)
        try:
            return array_of(self.function(*map(value_of, args), **params))
        finally:
            ERROR_STATE.reset(token)


def run_lowering(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Compute a primitive that has no `impl` by the function that was registered for the compiler."""
    if primitive not in LOWERINGS:
        primitive.lack("rule for evaluation", f"{primitive.name}_p.def_impl(function)")
    return LOWERINGS[primitive](*args, **params)


class RuledPrimitive(HigherOrder):
    """The primitive behind one of a program: its rules call those of the program on arrays."""

    identity_params = rules_run_user_code = True
    formula_from = 0

    def __init__(self, program: Primitive):
        self.program = program
        super().__init__(program.name, lambda xp: self.run)

    def run(self, *args: Any, **params: Any) -> list[Any]:
        """Compute on values."""
        program = self.program
        return [value_of(r) for r in program.listed(program.impl(*map(array_of, args), **params))]

    @property
    def formula(self) -> Callable[..., Any]:  # type: ignore[override]
        """What compilers inline: the function that computes it, where that can be traced."""
        return self.run

    def unfold(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:  # type: ignore[override]
        """Call the function that computes it."""
        return self.run(*args, **params)

    def abstract_eval(self, avals: Sequence[Aval], params: dict[str, Any]) -> list[Aval]:
        program = self.program
        if program.abstract_eval is None:
            program.lack("abstract rule", f"{self.name}_p.def_abstract_eval(rule)")
        found = program.listed(program.abstract_eval(*map(shaped, avals), **params))
        return [Aval(tuple(a.shape), a.dtype) for a in found]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
        program = self.program
        if not any(t is not None and moves(p) for p, t in zip(primals, tangents, strict=True)):
            ys = self.call(*primals, **params)
            return ys, [None] * len(ys)
        if program not in JVPS:
            program.lack(
                "forward-mode rule",
                f"jax.interpreters.ad.primitive_jvps[{self.name}_p]",
                NotDifferentiableError,
            )
        given = [
            Zero.from_primal_value(p) if t is None else array_of(t)
            for p, t in zip(primals, tangents, strict=True)
        ]
        ys, ts = JVPS[program](tuple(map(array_of, primals)), tuple(given), **params)
        ys = list(map(value_of, program.listed(ys)))
        return ys, list(map(as_cotangent, program.listed(ts)))

    def vjp(
        self, apply: Any, values: Any, needed: Any, params: dict[str, Any], snapshot: Any
    ) -> tuple[Any, Any, Any]:
        if not any(n is not None and moves(v) for v, n in zip(values, needed, strict=True)):
            return self.call(*values, **params), None, None
        return vjp_from_jvp(self, values, needed, params)

    def transpose(self, ct: Any, operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
        program = self.program
        if program not in TRANSPOSES:
            program.lack("rule for transposition", f"jax.interpreters.ad.primitive_transposes[{self.name}_p]")
        avals = [v if type(v) is Aval else aval_of(v) for v in operands]
        outs = self.abstract_eval(avals, params)
        cts = [Zero(a) if c is None else array_of(densify(c)) for c, a in zip(ct, outs, strict=True)]
        given = [UndefinedPrimal(v) if type(v) is Aval else array_of(v) for v in operands]
        found = TRANSPOSES[program](cts if program.multiple_results else cts[0], *given, **params)
        return [as_cotangent(c) if type(v) is Aval else None for c, v in zip(found, operands)]

    def batch(
        self, values: Sequence[Any], is_batched: Sequence[bool], size: int, params: dict[str, Any]
    ) -> tuple[Any, Any]:
        program = self.program
        if program not in BATCHERS:
            program.lack("batching rule", f"jax.interpreters.batching.primitive_batchers[{self.name}_p]")
        dims = tuple([0 if b else None for b in is_batched])
        ys, places = BATCHERS[program](size, MAPPED_AXIS.get(), tuple(map(array_of, values)), dims, **params)
        if not program.multiple_results:
            ys, places = [ys], [places]
        elif places is None or isinstance(places, int):
            places = [places] * len(ys)
        front = [move_to_front(value_of(y), place) for y, place in zip(ys, places, strict=True)]
        return front, [place is not None for place in places]


def moves(value: Any) -> bool:
    """Whether a value has derivatives: integers have none."""
    return is_differentiable(aval_of(value).dtype)


def move_to_front(value: Any, place: int | None) -> Any:
    """Return a result with the axis of the batch as its first one."""
    return value if place in (0, None) else fnp.moveaxis(value, place, 0)


def as_cotangent(found: Any) -> Any:
    """Return a tangent or cotangent of a program's rule: None for zero."""
    if found is None or type(found) is Zero or getattr(found, "dtype", None) == float0:
        return None
    return value_of(found)


SHOWN_BY_LAX = {f"{name}_p": primitive_of(REGISTRY[own]) for name, own in NAMED.items()} | {
    f"{name}_p": ComposedPrimitive(name, getattr(lax, own)) for name, own in COMPOSED.items()
}
