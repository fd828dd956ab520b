"""How torch's operations are declared: a pure function of values under a torch name.

    @operation("input other", promote="arithmetic", inplace=True)
    def lerp(input, end, weight):
        return input + weight * (end - input)

The function computes on arrays and tracers with `fxgrad.ops` and `fxgrad.numpy`; it knows nothing of Tensors. The
declaration says which of its parameters are Tensors (`*tensors` is a sequence of them); the others are static. What
is declared is the function that users call, on Tensors: with a grad_fn named after it, whose backward is derived
from it and cached, in every transform, as a method, with `out=`, and as `lerp_` in place.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...core import source_info
from ...core.arrays import has_own_operations
from ...core.aval import SCALARS, aval_of, is_differentiable, kind_of
from ...core.cache import Cache
from ...core.fp_errors import ERROR_STATE, IGNORE
from ...core.interpreter import CURRENT, EVAL, Tracer, api_boundary
from ...core.key import EXACT, key_of
from .._core import duals, inference, views
from .._core.dtypes import (
    _default_dtype,
    cast_number,
    check_numpy_dtype,
    default_numpy_dtype,
    result_numpy_dtype,
)
from .._core.error_messages import (
    REWORDED_ERRORS,
    check_result_dtype,
    not_a_tensor_error,
    not_implemented_error,
    reword_error,
)
from .._core.memory import VERSIONS
from .._core.modes import NO_GRAD, current_modes
from .._core.precision import compute_in_single, tangent_rule_in_single, value_dtype
from .._core.tape import BASE_TAPE, LEAF, Edge, Node, current_tape, grad_accumulator, node_name
from .._core.tensor import TENSOR_CLASSES, Tensor, gradient_edge, make_tensor, to_open_tape, to_outer
from .composite import Composite, PrimitivePlan
from .entry import inplace_method, make_user_function, parameter_names, with_numpy_names
from .out import write_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Every declared operation by name; filled while compat.ops is imported, not changed afterwards.
OPERATIONS: dict[str, Operation] = {}
# What the namespaces have: "function" is `torch.` itself, "method" the Tensor, others as "linalg", "nn.functional".
SPACES: dict[str, dict[str, Any]] = {"function": {}, "method": {}}
NO_PARAMS: dict[str, Any] = {}
# The dtypes of the fast path.
REALS = {np.dtype("f4"), np.dtype("f8"), np.dtype("f2")}
FLOATS = REALS | {np.dtype("c8"), np.dtype("c16")}


def expose(spaces: str = "function", name: str | None = None) -> Callable[[Any], Any]:
    """Put a function on Tensors that is no single operation into namespaces, as an entry point of the library."""

    def put(function) -> Any:
        entrance = function
        if type(function) is FunctionType:
            if "dim" in parameter_names(function):
                entrance = with_numpy_names(function)
            elif not function.__code__.co_filename.startswith("<fxgrad"):  # those are boundaries themselves
                entrance = api_boundary(function)
        for space in spaces.split():
            SPACES.setdefault(space, {})[name or function.__name__] = entrance
        return function

    return put


def float_dtype(dtype) -> Any:
    """The dtype in which functions like sin compute: integers go to the default dtype."""
    return dtype if kind_of(dtype) in "fc" else _default_dtype[0].numpy


def promote_values(values: Sequence[Any], rule: str) -> list[Any]:
    """Convert operands to torch's common dtype. `rule`: "arithmetic"; "float" (integers become the default dtype);
    "number" (as arithmetic, but bool becomes int64); "comparison" (as arithmetic, but the result is boolean); "choice"
    (as arithmetic, but numbers that may be the result have to be in the range of the dtype)."""
    dtype = result_numpy_dtype(values)
    if rule == "float":
        dtype = float_dtype(dtype)
    elif rule == "number" and dtype.kind == "b":
        dtype = default_numpy_dtype("i")
    if rule == "choice":
        values = [cast_number(v, dtype) if type(v) in SCALARS else v for v in values]
    return [
        v if v is None or (type(v) is np.ndarray and v.dtype is dtype) else convert_value(v, dtype)
        for v in values
    ]


def convert_value(value, dtype) -> Any:
    """Convert a value to a NumPy dtype; numbers become arrays without axes."""
    if type(value) in SCALARS:
        return np.asarray(value).astype(dtype)
    aval = aval_of(value)
    return value if aval.dtype == dtype and not aval.weak else ops.convert(value, dtype=dtype)


class Operation:
    """A declared operation: see the module's description."""

    def __init__(self, function: Callable[..., Any], tensors: str, **options):
        self.function = function
        self.name: str = options.pop("name", None) or function.__name__
        self.node_name: str = options.pop("node", None) or node_name(self.name)
        self.operands = tensors.split()
        self.promote: str | None = options.pop("promote", None)
        self.fast_primitive: Any = options.pop("primitive", None)
        self.composite: type[Composite] = options.pop("composite", Composite)
        self.view: Any = options.pop("view", False)
        self.inplace: bool = options.pop("inplace", False)
        self.out: bool = options.pop("out", True)
        self.results: Any = options.pop("results", None)  # the class of several results: tuple, a namedtuple
        self.constant: tuple[int, ...] = options.pop("constant", ())
        self.tangent: Any = options.pop("tangent", None)
        self.numbers: bool = options.pop("numbers", False)
        self.mixed: bool = options.pop("mixed", False)
        self.by_value: bool | None = options.pop("by_value", None)
        self.kinds: str = options.pop("kinds", "biufc")
        self.computes_in_single = (
            not options.pop("own_precision", False) and not self.view and self.composite is Composite
        )
        self.dtypes = FLOATS if options.pop("complex", True) else REALS  # of the fast path
        self.spaces: str = options.pop("spaces", "function method")
        if options:
            raise TypeError(f"operation {self.name}: unknown options {sorted(options)}")
        self.composites = Cache()
        self.plans = Cache()
        self.entry_point: Any = None  # the function that users call
        self.full_pattern = (True,) * len(self.operands)
        self.names = [n.lstrip("*") for n in self.operands]
        self.has_sequences = any(n.startswith("*") for n in self.operands)
        self.differentiable = self.results is not None or not self.constant
        self.is_plannable = self.results is None and self.differentiable
        self.parameters = list(inspect.signature(function).parameters.values())
        self.defaults = {
            p.name: p.default
            for p in self.parameters
            if p.default is not p.empty and p.name not in self.names
        }
        OPERATIONS[self.name] = self

    def primitive(self, pattern: tuple) -> Composite:
        """Return the primitive for a pattern of operands: True where a value is given, an int for a sequence of that
        length."""
        key = key_of(pattern)  # a sequence of one operand is not an operand
        found = self.composites.get(key)
        if found is None:
            found = self.composites[key] = self.composite(
                self.name, self.function_for(pattern), self.results is not None, self.tangent_for(pattern)
            )
            # NumPy gives views where primitives copy.
            found.by_value = True if self.view else self.by_value
            found.shares = found.shares or bool(self.view)
        return found

    def tangent_for(self, pattern: tuple) -> Any:
        """Return the tangent rule for a pattern: operands that are not given have None as primal and tangent."""
        rule = self.tangent
        if rule is not None and self.computes_in_single:
            rule = tangent_rule_in_single(rule)
        if rule is None or all(pattern):
            return rule

        def tangent(ys, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
            given = iter(zip(primals, tangents))
            return rule(ys, *zip(*[next(given) if p else (None, None) for p in pattern]), params)

        return tangent

    def function_for(self, pattern: tuple) -> Callable[..., Any]:
        """Return the function of a flat sequence of the values that are given."""
        names, promote = self.names, self.promote

        def call_with_pattern(*values, **params) -> Any:
            rest = iter(values)
            for name, present in zip(names, pattern):
                if type(present) is int:
                    params[name] = [next(rest) for _ in range(present)]
                else:
                    params[name] = next(rest) if present else None
            if values and kind_of(value_dtype(values[0])) not in self.kinds:
                raise not_implemented_error(self.name, value_dtype(values[0]))
            return self.function(**params)

        function = compute_in_single(call_with_pattern) if self.computes_in_single else call_with_pattern
        if promote is None:
            return function

        def call_promoted(*values, **params) -> Any:
            return function(*promote_values(values, promote), **params)

        return call_promoted

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __call__(self, operands: Sequence[Any], params: dict, out=None) -> Any:
        """Apply the operation to operands: Tensors, numbers, arrays, None, or sequences of them."""
        if out is None and self.is_plannable:
            result = self.run_planned(operands, params)
            if result is not None:
                return result
        pattern: tuple = self.full_pattern
        flat = operands
        if self.has_sequences or any([x is None for x in operands]):
            pattern, flat = self.arranged(operands)
        for name, value in params.items():
            if type(value) is list:
                params[name] = tuple(value)
        tape = current_tape()
        modes = current_modes()
        recording = modes.is_recording and self.differentiable
        values, parents = [], []
        first = None
        special = False  # operands that are views, duals, inference Tensors, or of a subclass
        for x in flat:
            if isinstance(x, Tensor):
                if x.tape is not tape:
                    x = to_open_tape(x)
                first = x if first is None else first
                special = special or x.view_meta is not None or type(x) not in TENSOR_CLASSES
                values.append(to_outer(x, tape))
                parents.append(gradient_edge(x) if recording and x.tape is tape else None)
            else:
                values.append(x if type(x) in SCALARS else self.as_operand(x, operands))
                parents.append(None)
        if (
            self.fast_primitive is not None
            and self.has_default_params(params)
            and share_float_dtype(values, self.dtypes)
        ):
            primitive, given = self.fast_primitive.primitive, NO_PARAMS
        else:
            primitive, given = self.primitive(pattern), params
        silence = ERROR_STATE.set(IGNORE)
        try:
            y, node = tape.record(primitive, tuple(values), tuple(parents), given, self)
        except REWORDED_ERRORS as error:
            raise reword_error(self.name, operands, error) from None
        finally:
            ERROR_STATE.reset(silence)
        if out is not None:
            return write_out(self, y, node, out, flat)
        if self.results is not None:
            results = [
                make_tensor(
                    tape,
                    v,
                    Edge(node, i)
                    if node is not None and i not in self.constant and is_differentiable(aval_of(v).dtype)
                    else None,
                )
                for i, v in enumerate(y)
            ]
            if self.view:
                for i, r in enumerate(results):
                    views.record_view(r, first, self, operands, params, i)
            if special or modes.inference:
                self.finish_results(operands, params, pattern, flat, parents, results)
            return self.results(results) if self.results in (tuple, list) else self.results(*results)
        result = make_tensor(tape, y, node)
        if self.view:
            views.record_view(result, first, self, operands, params)
        if special or modes.inference:
            self.finish_results(operands, params, pattern, flat, parents, [result])
        return result

    def plan_for(self, values: Sequence[Any], pattern: tuple, next_edges: Sequence[Any], params: dict) -> Any:
        """Make the plan for these operands, or return None."""
        if (
            self.fast_primitive is not None
            and self.has_default_params(params)
            and share_float_dtype(values, self.dtypes)
        ):
            return PrimitivePlan(self.fast_primitive.primitive, NO_PARAMS, next_edges)
        return self.primitive(pattern).plan_for(values, next_edges, params)

    def run_planned(self, operands: Sequence[Any], params: dict) -> Tensor | None:
        """Compute the result on plain arrays outside all transforms by a plan; return None where there is more to
        decide."""
        context = CURRENT.get()
        if context is not EVAL and context is not NO_GRAD:
            return None
        recording = context is EVAL
        key: list[Any] = [_default_dtype[0]]
        values, parents = [], []
        flat, pattern = operands, None
        if self.has_sequences:
            pattern, flat = self.arranged(operands)
            key.append(key_of(pattern))
        for x in flat:
            kind = type(x)
            if kind in TENSOR_CLASSES:
                aspect = x.view_meta
                if aspect is not None:
                    if aspect.tangent is not None or x.is_inference_tensor:
                        return None
                    aspect.refresh_history(x)
                value, node = x.value, x.node if recording else None
                if type(value) is not np.ndarray:
                    return None
                key += (value.shape, value.dtype.num, node is None)
                values.append(value)
                if node is not None:
                    if x.tape is not BASE_TAPE:
                        return None
                    parents.append(x.accumulator or grad_accumulator(x) if node is LEAF else node)
                    continue
            elif x is None:
                key.append(None)
                continue
            elif kind in SCALARS:
                key.append(kind)
                values.append(x)
            else:
                return None
            parents.append(None)
        for name, value in params.items():
            kind = type(value)
            if kind is list:
                value, kind = tuple(value), tuple
                params[name] = value
            key += (name, kind, value if kind in EXACT else key_of(value))
        known = tuple(key)
        try:
            plan = self.plans.get(known)
        except TypeError:  # parameters that are not hashable
            return None
        silence = ERROR_STATE.set(IGNORE)
        try:
            if plan is None:
                plan = self.plan_for(
                    values, pattern or tuple([x is not None for x in operands]), parents, params
                )
                if plan is None:
                    return None
                self.plans[known] = plan
            y, rule, residuals = plan.run(values, parents)
            tensor = make_tensor(BASE_TAPE, y)
            if rule is not None:
                tensor.node = Node(self, rule, residuals, tuple(parents), rule.pull_plain)
        except REWORDED_ERRORS as error:
            raise reword_error(self.name, operands, error) from None
        finally:
            ERROR_STATE.reset(silence)
        if self.view:
            views.record_view(tensor, flat[0], self, operands, params)
        return tensor

    def finish_results(
        self,
        operands: Sequence[Any],
        params: dict,
        pattern: tuple,
        flat: Sequence[Any],
        next_edges: Sequence[Any],
        results: Sequence[Tensor],
    ) -> None:
        """Finish the results as the metadata and classes of the operands, and the modes, require."""
        modes = current_modes()
        subclass = next(
            (type(x) for x in flat if isinstance(x, Tensor) and type(x) not in TENSOR_CLASSES), None
        )
        if subclass is not None:
            for result in results:
                result.__class__ = subclass
        if modes.inference or any(isinstance(x, Tensor) and x.is_inference_tensor for x in flat):
            inference.mark_inference_results(self, flat, results, modes.inference)
        if modes.forward:
            duals.propagate_tangents(self, operands, params, pattern, flat, next_edges, results)

    def has_default_params(self, params: dict) -> bool:
        """Whether all parameters have their defaults. They are compared by identity: alpha=True is not alpha=1."""
        return all([params[name] is default for name, default in self.defaults.items()])

    def compute_into(self, target: Tensor, operands: Sequence[Any], params: dict) -> bool:
        """Compute straight into the memory of the first operand where nothing is to be recorded. Return whether that
        was possible."""
        kernel = None if self.fast_primitive is None else self.fast_primitive.primitive.kernel
        context = CURRENT.get()
        if context.interpreter is not EVAL.interpreter or context.observer is not None:
            return False
        values, recording = [], current_modes().is_recording
        for x in operands:
            if type(x) in TENSOR_CLASSES and x.view_meta is None and not (recording and x.node is not None):
                values.append(x.value)
            elif type(x) in SCALARS:
                values.append(x)
            else:
                return False
        memory = target.value
        if type(memory) is not np.ndarray or not share_float_dtype(values, self.dtypes):
            return False
        silence = ERROR_STATE.set(IGNORE)
        try:
            if (
                type(kernel) is np.ufunc
                and self.has_default_params(params)
                and fits_shape(values, memory.shape)
            ):
                kernel(*values, out=memory)
            else:
                y = self.function(**dict(zip(self.names, values)), **params)
                if y.shape != memory.shape:
                    return False
                memory[...] = y
        except REWORDED_ERRORS:
            return False
        finally:
            ERROR_STATE.reset(silence)
        VERSIONS.record_change(memory, self.name + "_", source_info.user_frame())
        return True

    def check_target(self, target: Tensor, operands: Sequence[Any]) -> None:
        """Raise if the first operand cannot take a result of the operands' common dtype."""
        if self.promote in ("arithmetic", "choice"):
            given = [x.value if isinstance(x, Tensor) else x for x in operands if x is not None]
            check_result_dtype(self.name, aval_of(target.value).dtype, result_numpy_dtype(given))

    def arranged(self, operands: Sequence[Any]) -> tuple[tuple, Sequence[Any]]:
        """Return the pattern of operands, and the given ones in a flat sequence."""
        if not self.has_sequences:
            return tuple([x is not None for x in operands]), [x for x in operands if x is not None]
        pattern: list[Any] = []
        flat: list[Any] = []
        for x in operands:
            if x is None:
                pattern.append(False)
            elif isinstance(x, list | tuple):
                pattern.append(len(x))
                flat.extend(x)
            else:
                pattern.append(True)
                flat.append(x)
        return tuple(pattern), flat

    def as_operand(self, x, operands: Sequence[Any]) -> Any:
        """Return an operand that is no Tensor as a value: an array, a traced value, a Python number for one of
        NumPy's."""
        if isinstance(x, Tracer):
            return x
        if isinstance(x, np.generic):
            check_numpy_dtype(x.dtype)
            return x.item()
        if type(x) is np.ndarray or (isinstance(x, np.ndarray) and not has_own_operations(type(x))):
            check_numpy_dtype(x.dtype)
            return np.asarray(x)
        if isinstance(x, bool | int | float | complex):
            kinds: tuple[Any, ...] = (bool, int, float, complex)
            return next(kind for kind in kinds if isinstance(x, kind))(x)
        place = next((i for i, y in enumerate(operands) if y is x), 0)
        raise not_a_tensor_error(self.name, self.operands[place].lstrip("*"), place + 1, x)


def fits_shape(values: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether all values broadcast to the shape of the first."""
    return all([type(v) in SCALARS or v.shape in ((), shape) for v in values])


def share_float_dtype(values: Sequence[Any], dtypes: set[Any]) -> bool:
    """Whether all values have one floating dtype, or are numbers of it: an elementwise primitive then does what torch
    does."""
    dtype = None
    for v in values:
        if type(v) in SCALARS:
            if type(v) is complex or type(v) is bool:
                return False
            continue
        found = v.dtype if type(v) is np.ndarray else aval_of(v).dtype
        if dtype is None and found in dtypes and not getattr(v, "weak", False):
            dtype = found
        elif found is not dtype:
            return False
    return dtype is not None


def operation(tensors: str = "input", **options) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operation: see the module's description.

    Args:
        tensors: the parameters that are Tensors, in their order; `*tensors` for a sequence of Tensors.
        promote: how operands get a common dtype: see `promote_values`.
        primitive: the elementwise primitive that it is on operands of one floating dtype; the fast path.
        composite: the class of its primitives: see `_declare.rearrangement`.
        view: the result is a view of the first operand where that is an array. Where it is more than a choice of
            entries: (first operand, view, **params) → the first operand after the view was given another value.
        inplace: there is a method `name_`.
        results: the class of its several results: tuple, list or a namedtuple.
        constant: the positions of results that never require a gradient.
        tangent: (ys, primals, tangents, params) → tangents, where the function's own would not be stable.
        spaces: where it is to be found: "function" (torch.name), "method", "linalg" (there without the prefix
            `linalg_` of its name), "nn.functional", …
        out: it takes `out=`.
        by_value: whether the function looks at values, if only to refuse some, so that it is not compiled. Without it
            those do that have operands which are positions or truth values.
        kinds: the kinds of dtypes ("b", "i", "u", "f", "c") that its first operand may have; others are refused.
        own_precision: it depends on the precision of its operands: see `compat.precision`.
        complex: whether it exists of complex numbers; it matters for `primitive`.
        numbers: a number may stand for its first operand, as in torch.pow(2, x).
        mixed: its keywords, which are numbers, may stand among its operands, as in torch.add(x, alpha, y).
        name, node: what it is called, where that is not the name of the function.
    """

    def declare(function: Callable[..., Any]) -> Any:
        op = Operation(function, tensors, **options)
        user = make_user_function(op, function)
        op.entry_point = user
        for space in op.spaces.split():
            expose(space, op.name.removeprefix(f"{space}_"))(user)
        if op.inplace:
            expose("method", op.name + "_")(inplace_method(op, function))
        return user

    return declare
