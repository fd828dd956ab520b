"""Functions with user-defined derivative rules: `custom_jvp` and `custom_vjp`, with JAX's signatures.

Like `custom`, they call a function of pytrees as one operation on flat values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial, update_wrapper, wraps
from operator import is_not
from types import MethodType
from typing import Any, Concatenate, Generic, Self, overload

from ... import ops
from ...core import pytree
from ...core.aval import Aval, aval_of, is_differentiable, kind_of
from ...core.cache import Cache
from ...core.common_errors import not_a_function
from ...core.errors import CustomRuleError, EscapedTracerError, StructureError
from ...core.interpreter import api_boundary, is_plain
from ...core.key import key_of
from ...core.references import is_reference
from ...core.snapshot import hand_over
from ...core.staging import stage
from ...core.surface import is_alike, is_object, release_all
from ...core.typing import P, Q, R
from ..arguments import (
    admit_arguments,
    admit_or_float0,
    is_float0,
    path_at_positions,
    positions_of,
    restrict_arguments,
    zero_tangent,
)
from ..flat_function import FlatFunction
from ..jit import closure_convert, function_name
from .call import RuledCall, custom_jvp_call, custom_vjp_call
from .symbolic_zeros import CustomVJPPrimal, SymbolicZero, with_symbolic_zeros


def signature_of(fun: Callable) -> inspect.Signature | None:
    """Return the signature of a function, or None: some functions written in C have none."""
    try:
        return inspect.signature(fun)
    except ValueError:
        return None


def bind_positional(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments by position, with defaults, as the signature of the function has them."""
    if signature is None or (not kwargs and len(args) >= len(signature.parameters)):
        if kwargs:
            raise CustomRuleError(
                "a function without a signature is called with keywords", hint="call it by position"
            )
        return args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise CustomRuleError(
            f"a function with a custom rule has keyword-only arguments: {sorted(bound.kwargs)}",
            hint="make them positional",
        )
    return bound.args


class Application:
    """One call of a custom function: its arguments as flat values, and its rules over flat values.

    `static` are the arguments handed to rules as they are, `places` the positions of the others. Of these `positions`
    are those without references, and `structure` is that of the tuple of what is there;
    `out_structure` that of the result, known as soon as the function or a rule has run.
    """

    custom: CustomFunction[..., Any]
    name: str
    args: tuple[Any, ...]
    places: list[int]
    positions: list[int]
    static: list[Any]
    structure: pytree.PyTreeDef
    values: list[Any]

    def __init__(self, custom: CustomFunction[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.custom, self.name = custom, custom.__name__
        self.args = bind_positional(custom.signature, args, kwargs)
        count = len(self.args)
        fixed = {p % count for p in custom.nondiff_positions if -count <= p < count}
        self.places = [i for i in range(count) if i not in fixed]
        self.positions = [
            i for i in self.places if not (custom.takes_references and is_reference(self.args[i]))
        ]
        self.static = [self.args[i] for i in sorted(fixed)]
        given, self.structure = pytree.flatten(tuple(self.args[i] for i in self.positions))
        self.out_structure: Any = None
        self.values = admit_arguments(self.name, given, self.structure)
        if any(map(is_not, given, self.values)):
            self.args = tuple(self.full_arguments(self.values))

    def full_arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """Return all arguments in their places; those that are not static are made of these leaves."""
        filled = list(self.args)
        for place, argument in zip(self.positions, pytree.unflatten(self.structure, leaves)):
            filled[place] = argument
        return filled

    def place(self, index: int) -> str:
        """Return the path by which messages name a value."""
        return path_at_positions(self.positions, self.structure, index)

    def flatten_result(self, result: Any) -> list[Any]:
        """Flatten a result of the function, and note its structure."""
        leaves, self.out_structure = pytree.flatten(result)
        return leaves

    def admit_result(self, result: Any) -> list[Any]:
        """Flatten and admit a computed result: no leaf may belong to a transform that was not open where it
        was computed."""
        return [admit_or_float0(y, f"{self.name}: a result") for y in self.flatten_result(result)]

    def fun(self, *leaves: Any) -> list[Any]:
        """Apply the function to flat values."""
        return self.admit_result(self.custom.fun(*self.full_arguments(hand_over(leaves))))

    def flatten_rule_result(self, what: str, primals: Sequence[Any], result: Any) -> list[Any]:
        """Flatten the result that a rule gives; raise unless it is like the function's own."""
        ys = self.admit_result(result)
        found = self.out_structure, self.strong_avals(map(aval_of, ys))
        options = [key_of(v) for v in self.static if v is None or isinstance(v, str | int | float | complex)]
        key = self.structure, tuple(map(aval_of, primals)), tuple(options)
        if self.custom.compares_results and self.custom.result_cache.get(key) != found:
            expected = self.result_type(primals)
            if expected is not None and not (is_alike(expected[0], found[0]) and expected[1] == found[1]):
                differ = is_alike(expected[0], found[0])  # in the avals
                raise CustomRuleError(
                    f"{what}: its result is {found[differ]}, the function's is {expected[differ]}",
                    hint="return what the function returns, with the same containers, shapes and dtypes",
                )
            self.custom.result_cache[key] = found
        return ys

    def result_type(self, primals: Sequence[Any]) -> Any:
        """Return (structure, avals) of the function's result without computing it; None where that takes
        values."""
        of_values = restrict_arguments(self.custom.fun, self.args, {}, self.positions)
        flat_fun = FlatFunction(of_values, self.structure, self.name)
        try:
            avals = stage(flat_fun, list(map(aval_of, primals)), self.name, sites=False).out_avals
        except Exception:  # whatever becomes of a function that gets none
            return None
        return flat_fun.out_structure, self.strong_avals(avals)

    def strong_avals(self, avals: Iterable[Aval]) -> list[Aval]:
        """Return avals of results as those of arrays."""
        return [Aval(a.shape, self.custom.dtype_of_result(a.dtype)) for a in avals]

    def jvp(
        self, rule: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
    ) -> tuple[Any, Any]:
        """Apply rule(*static, primals, tangents) to flat values; tangents that are None are symbolic zeros."""
        what = f"the jvp rule of {self.name}"
        tangents = with_symbolic_zeros(tangents, primals)
        unflattened = [pytree.unflatten(self.structure, hand_over(leaves)) for leaves in (primals, tangents)]
        result, tangent = unpack_pair(rule(*self.static, *unflattened), what, "(result, tangent)")
        ys = self.flatten_rule_result(what, primals, result)
        ts, structure = pytree.flatten(tangent)
        what = f"{what}: the tangent"
        moving = [type(t) is not SymbolicZero for t in ts]
        ts = (
            [t if m else zero_tangent(y) for t, m, y in zip(ts, moving, ys)]
            if is_alike(structure, self.out_structure)
            else ts
        )
        ts = check_rule_values(what, ys, self.out_structure, ts, structure)
        return ys, [cast_like(what, t, y) if m else None for t, y, m in zip(ts, ys, moving)]

    def vjp(
        self, fwd: Callable[..., Any], bwd: Callable[..., Any]
    ) -> tuple[Callable[..., tuple[list[Any], list[Any]]], Callable[..., list[Any]]]:
        """Return fwd(*args) → (result, residuals) and bwd(*static, residuals, ct) as functions of flat
        values, which are symbolic if `perturbed` and None are given."""
        saved: dict[str, Any] = {}

        def flat_fwd(*leaves: Any, perturbed: Sequence[bool] = ()) -> tuple[list[Any], list[Any]]:
            what = f"the fwd rule of {self.name}"
            leaves = tuple(hand_over(leaves))
            if perturbed:
                leaves = tuple(map(CustomVJPPrimal, leaves, perturbed))
            result, residuals = unpack_pair(fwd(*self.full_arguments(leaves)), what, "(result, residuals)")
            flat, saved["structure"] = pytree.flatten(residuals)
            saved["references"] = {i: r for i, r in enumerate(flat) if is_reference(r)}
            flat = [r for r in flat if not is_reference(r)]
            values = [x.value for x in leaves] if perturbed else leaves
            ys = self.flatten_rule_result(what, values, result)
            if perturbed:
                saved["results"] = list(map(aval_of, ys))
            return ys, flat

        def flat_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            others, refs = iter(hand_over(residuals)), saved["references"]
            count = len(residuals) + len(refs)
            leaves = [refs[i] if i in refs else next(others) for i in range(count)]
            residuals = pytree.unflatten(saved["structure"], leaves)
            cts = hand_over(cts)
            if "results" in saved:
                cts = with_symbolic_zeros(cts, saved["results"])
            found = bwd(*self.static, residuals, pytree.unflatten(self.out_structure, cts))
            return self.cotangents(f"the bwd rule of {self.name}", found)

        return flat_fwd, flat_bwd

    def cotangents(self, what: str, result: Any) -> list[Any]:
        """Flatten what a backward rule returned into one cotangent (or None) for each value."""
        children, values, count = self.structure.children(), self.values, len(self.places)
        if not isinstance(result, tuple | list) or len(result) != count:
            given = f" of {len(result)}" if isinstance(result, tuple | list) else ""
            raise CustomRuleError(
                f"{what} must return a tuple of {count} cotangents, one for each argument, "
                f"not a {type(result).__name__}{given}",
                hint="return (ct,)" if count == 1 else "None is the cotangent of what gets none",
            )
        flat: list[Any] = []
        numbered = [
            (i, ct) for i, (place, ct) in enumerate(zip(self.places, result)) if place in self.positions
        ]
        for (position, ct), child in zip(numbered, children):
            place = f"{what}: the cotangent of argument {position}"
            argument = pytree.unflatten(child, values[len(flat) : len(flat) + child.num_leaves])
            cts, ct_structure = pytree.flatten(
                ct, lambda c: c is None or is_object(c)
            )  # None stands for the zeros of a whole subtree
            try:
                parts = ct_structure.flatten_up_to(argument)
            except ValueError:
                raise CustomRuleError(
                    f"{place} has the structure {ct_structure}, expected {child}",
                    hint="a cotangent built as the argument is, or None for zeros",
                ) from None
            for c, part in zip(cts, parts):
                leaves, part_structure = pytree.flatten(part)
                if c is None or type(c) is SymbolicZero:
                    flat += [None] * len(leaves)
                    continue
                (c,) = check_rule_values(place, leaves, part_structure, *pytree.flatten(c))
                dead = is_float0(c) or not is_differentiable(aval_of(part).dtype)
                flat.append(None if dead else cast_like(place, c, part))
        return flat


def unpack_pair(result: Any, what: str, expected: str) -> tuple[Any, Any]:
    """Return the two parts of what a rule returned; raise unless it is a pair."""
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise CustomRuleError(
            f"{what} must return a pair {expected}, not a {type(result).__name__}", hint=f"return {expected}"
        )
    return result[0], result[1]


class CustomFunction(Generic[P, R]):
    """The base of functions with rules: it holds the function, and the positions of the arguments that are
    not differentiated."""

    fun: Callable[P, R]
    signature: inspect.Signature | None
    result_cache: Cache
    nondiff_positions: tuple[int, ...]
    takes_references = False
    compares_results = True  # with those of a rule, for which the function is staged

    __name__: str
    application: type[Application] = Application

    @staticmethod
    def dtype_of_result(dtype: Any) -> Any:
        """Return the dtype in which a result of a rule has to agree with the function's."""
        return dtype

    @api_boundary
    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: int | Sequence[int] = (),
        nondiff_argnames: str | Sequence[str] = (),
    ):
        if not callable(fun):
            raise not_a_function(type(self).__name__, fun)
        self.fun, self.signature, self.__name__ = fun, signature_of(fun), function_name(fun)
        self.result_cache = Cache(
            256
        )  # structure and avals of the result, by those of the arguments and by options
        self.nondiff_positions = (
            *positions_of(type(self).__name__, nondiff_argnums),
            *self.positions_of(nondiff_argnames),
        )
        update_wrapper(self, fun, updated=())  # pyright: ignore[reportArgumentType]

    def positions_of(self, names: str | Sequence[str]) -> list[int]:
        """Return the positions of the parameters with these names.

        Raises:
            StructureError: `nondiff_argnames` names no parameter.
        """
        names = [names] if isinstance(names, str) else list(names)
        known = [] if self.signature is None else list(self.signature.parameters)
        if unknown := [name for name in names if name not in known]:
            raise StructureError(
                f"{type(self).__name__}: {self.__name__} has no parameter {unknown[0]!r}, named by nondiff_argnames",
                hint=f"its parameters are {', '.join(known)}" if known else None,
            )
        return [known.index(name) for name in names]

    @api_boundary
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        self.ensure_rules()
        application = self.application(self, args, kwargs)
        if is_plain(application.values):
            fun: Callable[..., R] = self.fun
            return fun(*application.args)
        results = self.call_traced(application)
        return pytree.unflatten(application.out_structure, release_all(results))

    def ensure_rules(self) -> None:
        """Raise where the function cannot be called yet."""

    def call_traced(self, application: Application) -> list[Any]:
        """Return the flat results for traced arguments."""
        raise NotImplementedError

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Self: ...
    @overload
    def __get__(
        self: CustomFunction[Concatenate[Any, Q], R], instance: object, owner: Any = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or isinstance(self.fun, staticmethod):
            return self
        return MethodType(self, instance)


class custom_jvp(CustomFunction[P, R]):
    """A function with a rule for forward mode, from which reverse mode follows by transposition.

    Args:
        fun: a function of pytrees of arrays.
        nondiff_argnums, nondiff_argnames: positions and names of the arguments that are handed to the rule as they are
            (functions, settings).

    `defjvp(rule)`: rule(*nondiff_args, primals, tangents) → (result, its tangent), the tangent linear in `tangents`.
    `defjvps(*rules)`: one for each argument: rule(tangent, result, *primals) → its part of the tangent, or None.

    Raises:
        CustomRuleError: no rule is defined, or its results do not fit those of `fun`.

    >>> @fx.custom_jvp
    ... def f(x):
    ...     return fnp.log(1 + fnp.exp(x))
    >>> f.defjvps(lambda t, y, x: t / (1 + fnp.exp(-x)))
    >>> float(fx.grad(f)(0.0))
    0.5
    """

    symbolic_zeros: bool

    rule: Callable[..., Any] | None = None
    symbolic_zeros = False

    def defjvp(self, rule: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Define the rule; usable as a decorator. With `symbolic_zeros`, tangents of what is not differentiated are
        `fx.custom_derivatives.SymbolicZero`s, and the rule may return such."""
        self.rule, self.symbolic_zeros = rule, symbolic_zeros
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Define the rule by one function for each argument.

        Raises:
            CustomRuleError: there are `nondiff_argnums`, for which `defjvp` is.
        """
        if self.nondiff_positions:
            raise CustomRuleError("defjvps cannot be used with nondiff_argnums", hint="use defjvp")

        call: Any = self

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            y = call(*primals)
            parts = [r(t, y, *primals) for r, t in zip(rules, tangents, strict=True) if r is not None]
            if not parts:
                return y, pytree.map(ops.zeros_like, y)
            total = parts[0]
            for part in parts[1:]:
                total = pytree.map(ops.add, total, part)
            return y, total

        self.rule = rule

    def ensure_rules(self) -> None:
        """Raise CustomRuleError unless there is a rule."""
        if self.rule is None:
            raise CustomRuleError(
                f"custom_jvp function {self.__name__} has no rule", hint="define it with defjvp"
            )

    def call_traced(self, application: Application) -> list[Any]:
        rule = partial(application.jvp, self.rule)  # type: ignore[arg-type]
        call = RuledCall(
            application.fun,
            rule,
            name=f"custom_jvp function {self.__name__}",
            symbolic=self.symbolic_zeros,
        )
        return bind_call(custom_jvp_call, call, application.values)


class custom_vjp(CustomFunction[P, R]):
    """A function with a rule for reverse mode; forward mode follows where the rule can be staged and transposed.

    Args:
        fun: a function of pytrees of arrays.
        nondiff_argnums, nondiff_argnames: positions and names of the arguments that are handed to the rule as they are.

    `defvjp(fwd, bwd)`: fwd takes the arguments of `fun` and returns (result, residuals);
    bwd(*nondiff_args, residuals, ct) returns a tuple of cotangents, one for each other argument; None
    stands for the zeros of an argument or of a part of it. An `fx.Ref` may be an argument and a residual: bwd returns
    None for it, and may write into it.

    Raises:
        CustomRuleError: no rule is defined, or its results do not fit the arguments.

    >>> @fx.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (fnp.clip(ct, -1, 1),))
    >>> float(fx.grad(lambda x: 5 * clip_gradient(x))(2.0))
    1.0
    """

    symbolic_zeros: bool
    takes_references = True

    rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None
    symbolic_zeros = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Define the rule.

        With `symbolic_zeros`, `fwd` gets `fx.custom_derivatives.CustomVJPPrimal`s, which say whether they are
        perturbed, and `bwd` a `SymbolicZero` for a result without cotangent. `optimize_remat` is for programs written
        for JAX: nothing depends on it, since results that `fwd` does not need are left out under `checkpoint` in any
        case."""
        self.rules, self.symbolic_zeros = (fwd, bwd), symbolic_zeros

    def ensure_rules(self) -> None:
        """Raise CustomRuleError unless there is a rule."""
        if self.rules is None:
            raise CustomRuleError(
                f"custom_vjp function {self.__name__} has no rule", hint="define it with defvjp"
            )

    def call_traced(self, application: Application) -> list[Any]:
        rules = application.vjp(*self.rules)  # type: ignore[misc]
        call = RuledCall(
            application.fun,
            vjp=rules,
            name=f"custom_vjp function {self.__name__}",
            symbolic=self.symbolic_zeros,
        )
        return bind_call(custom_vjp_call, call, application.values)


def bind_call(bind: Callable[..., list[Any]], call: RuledCall, values: Sequence[Any]) -> list[Any]:
    """Bind a call to its operands, and to what it closes over where levels have to know of it."""
    try:
        return bind(*values, call=call)
    except EscapedTracerError:
        from .closures import lift_closure  # for the few calls that need it

        lifted, captured = lift_closure(call, values)
        if not captured:
            raise
        return bind(*captured, *values, call=lifted)


@api_boundary
def custom_gradient(fun: Callable[..., Any]) -> custom_vjp[..., Any]:
    """A function that returns its pullback together with its result.

    Args:
        fun: (*args) → (result, pullback): pullback(ct) returns a tuple of cotangents, one for each argument, or for
            one argument the cotangent itself.

    Returns:
        A `custom_vjp` function (*args) → result.

    Raises:
        CustomRuleError: `fun` does not return such a pair, or its cotangents do not fit the arguments.

    >>> @fx.custom_gradient
    ... def square(x):
    ...     return x * x, lambda ct: 3 * ct * x
    >>> float(square(2.0)), float(fx.grad(square)(2.0))
    (4.0, 6.0)
    """
    what = f"custom_gradient function {function_name(fun)}"

    @wraps(fun)
    def result_of(*args: Any, **kwargs: Any) -> Any:
        return unpack_pair(fun(*args, **kwargs), what, "(result, pullback)")[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        result, pullback = unpack_pair(fun(*args), what, "(result, pullback)")
        converted, closed_over = closure_convert(pullback, result)
        return result, pytree.Partial(lambda *values: converted(values[-1], *values[:-1]), *closed_over)

    def bwd(pullback: Any, ct: Any) -> Any:
        found = pullback(ct)
        return found if isinstance(found, tuple) else (found,)

    made = custom_vjp(result_of)
    made.defvjp(fwd, bwd)
    return made


def check_rule_values(
    what: str, values: Sequence[Any], structure: Any, given: Sequence[Any], given_structure: Any
) -> list[Any]:
    """Admit what a rule returned; raise unless it has the structure and shapes of `values`."""
    if not is_alike(structure, given_structure):
        raise CustomRuleError(
            f"{what} has the structure {given_structure}, expected {structure}",
            hint="containers of the same kinds, with the same keys and lengths",
        )
    found = [admit_or_float0(g, what) for g in given]
    for v, g in zip(values, found):
        if aval_of(g).shape != aval_of(v).shape:
            raise CustomRuleError(
                f"{what} has shape {aval_of(g).shape}, expected {aval_of(v).shape}",
                hint=f"fnp.broadcast_to(value, {aval_of(v).shape}) where it is too small, or sum it where it "
                "is too large",
            )
    return found


def cast_like(what: str, given: Any, value: Any) -> Any:
    """Convert a rule's tangent or cotangent to the dtype of its value. None is complex where that is real: an
    imaginary part is a mistake of the rule, and is not dropped."""
    if is_float0(given):
        return given
    have, dtype = aval_of(given).dtype, aval_of(value).dtype
    if kind_of(have) == "c" and kind_of(dtype) != "c":
        raise CustomRuleError(f"{what} is complex ({have}), expected {dtype}", hint="return its real part")
    return given if have == dtype else ops.convert(given, dtype=dtype)


@api_boundary
def stop_gradient(x: R) -> R:
    """Return x itself, as a constant for every derivative.

    >>> float(fx.grad(lambda x: x * fx.stop_gradient(x))(3.0))
    3.0
    """
    return pytree.map(ops.stop_gradient, x)
