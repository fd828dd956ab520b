"""Functions with derivative rules of their own: `custom_jvp` and `custom_vjp`.

Each call is one primitive operation whose params hold the functions, flattened to values. A level that has no
tracers among the arguments hands the call on, the level that differentiates applies the rule, `vmap` maps
function and rule, evaluation runs the function.
"""

from __future__ import annotations

import inspect
from functools import update_wrapper, wraps
from typing import TYPE_CHECKING, Any

from .. import ops
from ..core import tree
from ..core.aval import Aval, aval_of, is_differentiable
from ..core.errors import CustomRuleError, FxgradError, NotDifferentiableError, StructureError
from ..core.graph import Graph
from ..core.interpreter import boundary, is_plain, opened
from ..core.primitive import Primitive
from ..core.staging import GraphInterpreter, stage
from ..ops.kinds import spread
from ..ops.masked import dense
from ..ops.transpose import transpose_graph
from .inputs import check_arguments, float0_zeros, is_float0
from .vmap import batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class LinearMap:
    """The rule of an operation whose tangent map was staged: its pullback transposes the Graph."""

    plain = None

    @staticmethod
    def pull(ct: Any, graph: Graph, positions: Sequence[int], count: int) -> list[Any]:
        cts = transpose_graph(graph, [], len(positions), [ct.get(i) for i in range(len(graph.outputs))])
        found = dict(zip(positions, cts))
        return [found.get(i) for i in range(count)]


class CustomJVP(Primitive):
    """call.fun(*values) → flat results; call.rule(primals, tangents) → (flat results, flat tangents)."""

    multiple_results = True
    runs_user_code = True

    def __init__(self) -> None:
        super().__init__("custom_jvp_call", lambda xp: lambda *args, call: call.fun(*args))

    def abstract(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return stage(params["call"].fun, avals, sites=False).out_avals

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        filled = [zero_tangent(p) if t is None else t for p, t in zip(primals, tangents)]
        return params["call"].rule(primals, filled)

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        positions = [i for i, n in enumerate(needed) if n is not None]
        staging = GraphInterpreter(name="custom_jvp", sites=False)
        inputs = [staging.new(aval_of(values[i])) for i in positions]
        tangents = dict(zip(positions, inputs))
        with opened(staging):
            ys, ts = params["call"].rule(
                values, [tangents.get(i) if i in tangents else zero_tangent(v) for i, v in enumerate(values)]
            )
            outputs = [staging.atom(t) for t in ts]
        graph = Graph(
            [t.variable for t in inputs], staging.equations, outputs, staging.captured, "tangent map"
        ).pruned()
        return ys, LinearMap, (graph, positions, len(values))

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        call = params["call"]

        def fun(*values: Any) -> list[Any]:
            return all_batched(call.fun, values, batched, size)

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            def both(*pairs: Any) -> list[Any]:
                ys, ts = call.rule(pairs[: len(primals)], pairs[len(primals) :])
                return [*ys, *ts]

            results = all_batched(both, [*primals, *tangents], [*batched, *batched], size)
            half = len(results) // 2
            return results[:half], results[half:]

        results = self.call(*values, call=Call(fun, rule))
        return results, [True] * len(results)


class CustomVJP(Primitive):
    """call.fun(*values) → flat results; call.rule is (forward, backward): forward(*values) → (results, residuals),
    backward(residuals, cts) → flat cotangents, None for zero."""

    multiple_results = True
    runs_user_code = True

    def __init__(self) -> None:
        super().__init__("custom_vjp_call", lambda xp: lambda *args, call: call.fun(*args))

    plain = None

    def abstract(self, avals: Sequence[Aval], params: dict) -> list[Aval]:
        return stage(params["call"].fun, avals, sites=False).out_avals

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> tuple[Any, Any]:
        """The backward rule is linear in the cotangents: its transpose is the tangent map."""
        forward, backward = params["call"].rule
        ys, residuals = forward(*primals)
        positions = [i for i, t in enumerate(tangents) if t is not None]

        def pulled(*cts: Any) -> list[Any]:
            found = backward(residuals, cts)
            return [zero_tangent(primals[i]) if found[i] is None else found[i] for i in positions]

        try:
            graph = stage(pulled, [aval_of(y) for y in ys], "custom_vjp", sites=False)
            ts = transpose_graph(graph, [], len(ys), [tangents[i] for i in positions])
        except FxgradError as error:
            raise NotDifferentiableError(
                "forward mode through a custom_vjp function whose backward rule cannot be staged and transposed",
                hint="define the rule with fx.custom_jvp, which serves both modes",
            ) from error
        return ys, [None if t is None else dense(t) for t in ts]

    def linearize(self, apply: Any, values: Any, needed: Any, params: dict, own: Any) -> tuple[Any, Any, Any]:
        forward, backward = params["call"].rule
        ys, residuals = forward(*values)
        return ys, self, (backward, [own(r) for r in residuals], [aval_of(y) for y in ys], ys)

    def pull(
        self, ct: Any, backward: Callable, residuals: Any, avals: Sequence[Aval], ys: Any
    ) -> Sequence[Any]:
        """The user's backward rule, with zeros for the results that have no cotangent."""
        return backward(residuals, [dense(ct[i]) if i in ct else zero_tangent(y) for i, y in enumerate(ys)])

    def batch(
        self, values: Sequence[Any], batched: Sequence[bool], size: int, params: dict
    ) -> tuple[Any, Any]:
        call = params["call"]
        forward, backward = call.rule
        count: list[int] = []

        def fun(*values: Any) -> list[Any]:
            return all_batched(call.fun, values, batched, size)

        def mapped_forward(*values: Any) -> tuple[Any, Any]:
            def both(*entries: Any) -> list[Any]:
                ys, residuals = forward(*entries)
                count[:] = [len(ys)]
                return [*ys, *residuals]

            results = all_batched(both, values, batched, size)
            return results[: count[0]], results[count[0] :]

        def mapped_backward(residuals: Any, cts: Any) -> list[Any]:
            present: list[bool] = []

            def one(*entries: Any) -> list[Any]:
                results = backward(entries[: len(residuals)], entries[len(residuals) :])
                present[:] = [r is not None for r in results]
                return [r for r in results if r is not None]

            found = iter(all_batched(one, [*residuals, *cts], [True] * (len(residuals) + len(cts)), size))
            results = [next(found) if p else None for p in present]
            return [r if r is None or b else ops.reduce_sum(r, axes=(0,)) for r, b in zip(results, batched)]

        results = self.call(*values, call=Call(fun, (mapped_forward, mapped_backward)))
        return results, [True] * len(results)


class Call:
    """The flat function and rule of one call."""

    __slots__ = ("fun", "rule")

    def __init__(self, fun: Callable[..., Any], rule: Any):
        self.fun, self.rule = fun, rule


custom_jvp_call = CustomJVP().call
custom_vjp_call = CustomVJP().call


def all_batched(fun: Callable, values: Sequence[Any], batched: Sequence[bool], size: int) -> list[Any]:
    """The results of a mapped function, all with a leading batch axis."""
    results, flags = batch(fun, values, batched, size)
    return [spread(r, f, size) for r, f in zip(results, flags)]


def zero_tangent(value: Any) -> Any:
    return ops.zeros_like(value) if is_differentiable(aval_of(value).dtype) else float0_zeros(value)


def positional(fun: Callable, args: tuple, kwargs: dict) -> tuple:
    """The arguments by position, as the function's signature has them."""
    if not kwargs:
        return args
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise CustomRuleError(
            f"a function with a custom rule has keyword-only arguments: {sorted(bound.kwargs)}",
            hint="make them positional",
        )
    return bound.args


class Custom:
    """What custom_jvp and custom_vjp share: the function, the arguments apart from those not differentiated."""

    __name__: str

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = ()):
        if not callable(fun):
            raise StructureError(f"{type(self).__name__} takes a function, not a {type(fun).__name__}")
        self.fun = fun
        self.nondiff = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        update_wrapper(self, fun, updated=())  # pyright: ignore[reportArgumentType]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return (
            self
            if instance is None
            else wraps(self.fun)(lambda *args, **kwargs: self(instance, *args, **kwargs))
        )

    def prepare(self, args: tuple, kwargs: dict) -> tuple[list[Any], Any, list[Any], Callable]:
        """(flat values, their structure, the arguments not differentiated, function of the flat values)."""
        args = positional(self.fun, args, kwargs)
        fixed = {p % len(args) for p in self.nondiff if -len(args) <= p < len(args)}
        values, structure = tree.flatten(tuple(a for i, a in enumerate(args) if i not in fixed))
        check_arguments(self.__name__, values, structure)

        def full(*leaves: Any) -> Any:
            rest = iter(tree.unflatten(structure, leaves))
            return self.fun(*[args[i] if i in fixed else next(rest) for i in range(len(args))])

        return values, structure, [args[i] for i in sorted(fixed)], full


class custom_jvp(Custom):
    """A function with a rule for forward mode, from which reverse mode follows by transposition.

    Args:
        fun: a function of pytrees of arrays.
        nondiff_argnums: positional arguments that are handed to the rule as they are (functions, settings).

    `defjvp(rule)`: rule(*nondiff_args, primals, tangents) → (result, its tangent), the tangent linear in `tangents`.
    `defjvps(*rules)`: one for each argument: rule(tangent, result, *primals) → its part of the tangent, or None.

    Raises:
        CustomRuleError: no rule is defined, or its results do not fit those of `fun`.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> @fx.custom_jvp
    ... def f(x):
    ...     return fnp.log(1 + fnp.exp(x))
    >>> f.defjvps(lambda t, y, x: t / (1 + fnp.exp(-x)))
    >>> float(fx.grad(f)(0.0))
    0.5
    """

    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Define the rule; usable as a decorator."""
        self.rule = rule
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Define the rule by one function for each argument."""
        if self.nondiff:
            raise CustomRuleError("defjvps cannot be used with nondiff_argnums", hint="use defjvp")

        def rule(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            y = self(*primals)
            parts = [r(t, y, *primals) for r, t in zip(rules, tangents, strict=True) if r is not None]
            if not parts:
                return y, tree.map(ops.zeros_like, y)
            total = parts[0]
            for part in parts[1:]:
                total = tree.map(ops.add, total, part)
            return y, total

        self.rule = rule

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        user_rule = self.rule
        if user_rule is None:
            raise CustomRuleError(
                f"custom_jvp function {self.__name__} has no rule", hint="define it with defjvp"
            )
        values, structure, fixed, full = self.prepare(args, kwargs)
        if is_plain(values):
            return full(*values)
        box: dict[str, Any] = {}

        def fun(*leaves: Any) -> list[Any]:
            results, box["structure"] = tree.flatten(full(*leaves))
            return results

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out = user_rule(*fixed, tree.unflatten(structure, primals), tree.unflatten(structure, tangents))
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise CustomRuleError(
                    f"the jvp rule of {self.__name__} must return a pair (result, tangent), not a "
                    f"{type(out).__name__}"
                )
            ys, box["structure"] = tree.flatten(out[0])
            ts, tangent_structure = tree.flatten(out[1])
            check_rule(
                f"the jvp rule of {self.__name__}: the tangent", ys, box["structure"], ts, tangent_structure
            )
            return ys, [cast_like(t, y) for t, y in zip(ts, ys)]

        results = custom_jvp_call(*values, call=Call(fun, rule))
        return tree.unflatten(box["structure"], results)


class custom_vjp(Custom):
    """A function with a rule for reverse mode; forward mode follows where the rule can be staged and transposed.

    Args:
        fun: a function of pytrees of arrays.
        nondiff_argnums: positional arguments that are handed to the rule as they are.

    `defvjp(fwd, bwd)`: fwd takes the arguments of `fun` and returns (result, residuals);
    bwd(*nondiff_args, residuals, ct) returns a tuple of cotangents, one for each other argument; None
    stands for the zeros of an argument or of a part of it.

    Raises:
        CustomRuleError: no rule is defined, or its results do not fit the arguments.

    >>> import fxgrad as fx, fxgrad.numpy as fnp
    >>> @fx.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (fnp.clip(ct, -1, 1),))
    >>> float(fx.grad(lambda x: 5 * clip_gradient(x))(2.0))
    1.0
    """

    rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Define the rule."""
        self.rules = fwd, bwd

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.rules is None:
            raise CustomRuleError(
                f"custom_vjp function {self.__name__} has no rule", hint="define it with defvjp"
            )
        fwd, bwd = self.rules
        values, structure, fixed, full = self.prepare(args, kwargs)
        if is_plain(values):
            return full(*values)
        args = positional(self.fun, args, kwargs)
        places = {p % len(args) for p in self.nondiff if -len(args) <= p < len(args)}
        box: dict[str, Any] = {}

        def fun(*leaves: Any) -> list[Any]:
            results, box["structure"] = tree.flatten(full(*leaves))
            return results

        def forward(*leaves: Any) -> tuple[list[Any], list[Any]]:
            rest = iter(tree.unflatten(structure, leaves))
            out = fwd(*[args[i] if i in places else next(rest) for i in range(len(args))])
            if not isinstance(out, tuple | list) or len(out) != 2:
                raise CustomRuleError(
                    f"the fwd rule of {self.__name__} must return a pair (result, residuals), not a "
                    f"{type(out).__name__}"
                )
            ys, box["structure"] = tree.flatten(out[0])
            residuals, box["residuals"] = tree.flatten(out[1])
            return ys, residuals

        def backward(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            result = bwd(
                *fixed, tree.unflatten(box["residuals"], residuals), tree.unflatten(box["structure"], cts)
            )
            return self.flat_cotangents(result, values, structure)

        results = custom_vjp_call(*values, call=Call(fun, (forward, backward)))
        return tree.unflatten(box["structure"], results)

    def flat_cotangents(self, result: Any, values: Sequence[Any], structure: Any) -> list[Any]:
        """What the backward rule returned, as one cotangent (or None) for each value."""
        what = f"the bwd rule of {self.__name__}"
        children = structure.children()
        if not isinstance(result, tuple | list) or len(result) != len(children):
            raise CustomRuleError(
                f"{what} must return a tuple of {len(children)} cotangents, one for each argument, "
                f"not a {type(result).__name__}"
            )
        flat: list[Any] = []
        for position, (ct, child) in enumerate(zip(result, children)):
            place = f"{what}: the cotangent of argument {position}"
            argument = tree.unflatten(child, values[len(flat) : len(flat) + child.num_leaves])
            cts, outline = tree.flatten(
                ct, lambda c: c is None
            )  # None stands for the zeros of a whole subtree
            try:
                parts = outline.flatten_up_to(argument)
            except ValueError:
                raise CustomRuleError(f"{place} has the structure {outline}, expected {child}") from None
            for c, part in zip(cts, parts):
                leaves, part_structure = tree.flatten(part)
                if c is None:
                    flat += [None] * len(leaves)
                    continue
                check_rule(place, leaves, part_structure, *tree.flatten(c))
                dead = is_float0(c) or not is_differentiable(aval_of(part).dtype)
                flat.append(None if dead else cast_like(c, part))
        return flat


def check_rule(
    what: str, values: Sequence[Any], structure: Any, given: Sequence[Any], given_structure: Any
) -> None:
    """Raise unless what a rule returned has the structure and shapes of the values."""
    if structure != given_structure:
        raise CustomRuleError(f"{what} has the structure {given_structure}, expected {structure}")
    for v, g in zip(values, given):
        shape = g.shape if is_float0(g) else aval_of(g).shape
        if shape != aval_of(v).shape:
            raise CustomRuleError(f"{what} has shape {shape}, expected {aval_of(v).shape}")


def cast_like(tangent: Any, value: Any) -> Any:
    """A rule's tangent or cotangent in the dtype of its value."""
    if is_float0(tangent):
        return tangent
    dtype = aval_of(value).dtype
    return tangent if aval_of(tangent).dtype == dtype else ops.convert(tangent, dtype=dtype)


def stop_gradient(x: Any) -> Any:
    """x itself, as a constant to every derivative.

    >>> import fxgrad as fx
    >>> float(fx.grad(lambda x: x * fx.stop_gradient(x))(3.0))
    3.0
    """
    return tree.map(ops.stop_gradient, x)
