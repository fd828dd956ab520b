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
from ...core.fp_errors import SILENT, STATE
from ...core.interpreter import CURRENT, EVAL, Tracer, boundary
from ...core.key import EXACT, key_of
from .._core import duals, inference, views
from .._core.dtypes import _default, check_dtype, default_numpy, number_in, result_numpy
from .._core.error_messages import REWORDED, check_result, not_a_tensor, not_implemented, refusal
from .._core.memory import MEMORIES
from .._core.modes import NO_GRAD, current_modes
from .._core.precision import dtype_of, in_single, tangent_in_single
from .._core.tape import BASE, LEAF, Edge, Node, current_tape, leaf_of, node_name
from .._core.tensor import TENSORS, Tensor, alive, lower, make, parent_of
from .composite import Composite, PrimitivePlan
from .entry import arguments_of, inplace_method, user_function, with_numpy_names
from .out import write_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Every declared operation by name; filled while compat.ops is imported, not changed afterwards.
OPERATIONS: dict[str, Operation] = {}
# What the namespaces have: "function" is `torch.` itself, "method" the Tensor, others as "linalg", "nn.functional".
SPACES: dict[str, dict[str, Any]] = {"function": {}, "method": {}}
NONE: dict[str, Any] = {}
# The dtypes of the fast path.
REALS = {np.dtype("f4"), np.dtype("f8"), np.dtype("f2")}
FLOATS = REALS | {np.dtype("c8"), np.dtype("c16")}


def exposed(spaces: str = "function", name: str | None = None) -> Callable[[Any], Any]:
    """Put a function on Tensors, which is no single operation, into namespaces, as a way into the library."""

    def put(function: Any) -> Any:
        entrance = function
        if type(function) is FunctionType:
            if "dim" in arguments_of(function):
                entrance = with_numpy_names(function)
            elif not function.__code__.co_filename.startswith("<fxgrad"):  # those are boundaries themselves
                entrance = boundary(function)
        for space in spaces.split():
            SPACES.setdefault(space, {})[name or function.__name__] = entrance
        return function

    return put


def as_float(dtype: Any) -> Any:
    """The dtype in which functions like sin compute: integers go to the default dtype."""
    return dtype if kind_of(dtype) in "fc" else _default[0].numpy


def promoted(values: Sequence[Any], rule: str) -> list[Any]:
    """Operands converted to torch's common dtype. `rule`: "arithmetic"; "float" (integers become the default dtype);
    "number" (as arithmetic, but bool becomes int64); "comparison" (as arithmetic, but the result is boolean); "choice"
    (as arithmetic, but numbers that may be the result have to be in the range of the dtype)."""
    dtype = result_numpy(values)
    if rule == "float":
        dtype = as_float(dtype)
    elif rule == "number" and dtype.kind == "b":
        dtype = default_numpy("i")
    if rule == "choice":
        values = [number_in(v, dtype) if type(v) in SCALARS else v for v in values]
    return [
        v if v is None or (type(v) is np.ndarray and v.dtype is dtype) else in_dtype(v, dtype) for v in values
    ]


def in_dtype(value: Any, dtype: Any) -> Any:
    """A value converted to a NumPy dtype; numbers become arrays without axes."""
    if type(value) in SCALARS:
        return np.asarray(value).astype(dtype)
    aval = aval_of(value)
    return value if aval.dtype == dtype and not aval.weak else ops.convert(value, dtype=dtype)


class Operation:
    """A declared operation: see the module."""

    def __init__(self, function: Callable[..., Any], tensors: str, **options: Any):
        self.function = function
        self.name: str = options.pop("name", None) or function.__name__
        self.node_name: str = options.pop("node", None) or node_name(self.name)
        self.operands = tensors.split()
        self.promote: str | None = options.pop("promote", None)
        self.fast: Any = options.pop("primitive", None)
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
        self.widened = (
            not options.pop("own_precision", False) and not self.view and self.composite is Composite
        )
        self.dtypes = FLOATS if options.pop("complex", True) else REALS  # of the fast path
        self.spaces: str = options.pop("spaces", "function method")
        if options:
            raise TypeError(f"operation {self.name}: unknown options {sorted(options)}")
        self.patterns = Cache()
        self.plans = Cache()
        self.user: Any = None  # the function that users call
        self.all_given = (True,) * len(self.operands)
        self.names = [n.lstrip("*") for n in self.operands]
        self.sequences = any(n.startswith("*") for n in self.operands)
        self.differentiable = self.results is not None or not self.constant
        self.plannable = self.results is None and self.differentiable
        self.parameters = list(inspect.signature(function).parameters.values())
        self.defaults = {
            p.name: p.default
            for p in self.parameters
            if p.default is not p.empty and p.name not in self.names
        }
        OPERATIONS[self.name] = self

    def primitive(self, pattern: tuple) -> Composite:
        """The primitive for a pattern of operands: True where a value is given, an int for a sequence of so many."""
        key = key_of(pattern)  # a sequence of one operand is not an operand
        found = self.patterns.get(key)
        if found is None:
            found = self.patterns[key] = self.composite(
                self.name, self.on_values(pattern), self.results is not None, self.tangent_for(pattern)
            )
            # NumPy gives views where primitives copy.
            found.by_value = True if self.view else self.by_value
            found.shares = found.shares or bool(self.view)
        return found

    def tangent_for(self, pattern: tuple) -> Any:
        """The tangent rule where some operands are not given: their primals and tangents are None."""
        rule = self.tangent
        if rule is not None and self.widened:
            rule = tangent_in_single(rule)
        if rule is None or all(pattern):
            return rule

        def tangent(ys: Any, primals: Sequence[Any], tangents: Sequence[Any], params: dict) -> Any:
            given = iter(zip(primals, tangents))
            return rule(ys, *zip(*[next(given) if p else (None, None) for p in pattern]), params)

        return tangent

    def on_values(self, pattern: tuple) -> Callable[..., Any]:
        """The function of a flat sequence of the values that are given."""
        names, promote = self.names, self.promote

        def arranged(*values: Any, **params: Any) -> Any:
            rest = iter(values)
            for name, present in zip(names, pattern):
                if type(present) is int:
                    params[name] = [next(rest) for _ in range(present)]
                else:
                    params[name] = next(rest) if present else None
            if values and kind_of(dtype_of(values[0])) not in self.kinds:
                raise not_implemented(self.name, dtype_of(values[0]))
            return self.function(**params)

        function = in_single(arranged) if self.widened else arranged
        if promote is None:
            return function

        def computed(*values: Any, **params: Any) -> Any:
            return function(*promoted(values, promote), **params)

        return computed

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __call__(self, operands: Sequence[Any], params: dict, out: Any = None) -> Any:
        """Apply it to operands: Tensors, numbers, arrays, None, or sequences of them."""
        if out is None and self.plannable:
            result = self.planned(operands, params)
            if result is not None:
                return result
        pattern: tuple = self.all_given
        flat = operands
        if self.sequences or any([x is None for x in operands]):
            pattern, flat = self.arranged(operands)
        for name, value in params.items():
            if type(value) is list:
                params[name] = tuple(value)
        tape = current_tape()
        modes = current_modes()
        recording = modes.recording and self.differentiable
        values, parents = [], []
        first = None
        special = False  # operands that are views, duals, inference Tensors, or of a subclass
        for x in flat:
            if isinstance(x, Tensor):
                if x.tape is not tape:
                    x = alive(x)
                first = x if first is None else first
                special = special or x.aspect is not None or type(x) not in TENSORS
                values.append(lower(x, tape))
                parents.append(parent_of(x) if recording and x.tape is tape else None)
            else:
                values.append(x if type(x) in SCALARS else self.as_operand(x, operands))
                parents.append(None)
        if self.fast is not None and self.usual(params) and alike(values, self.dtypes):
            primitive, given = self.fast.primitive, NONE
        else:
            primitive, given = self.primitive(pattern), params
        silence = STATE.set(SILENT)
        try:
            y, node = tape.record(primitive, tuple(values), tuple(parents), given, self)
        except REWORDED as error:
            raise refusal(self.name, operands, error) from None
        finally:
            STATE.reset(silence)
        if out is not None:
            return write_out(self, y, node, out, flat)
        if self.results is not None:
            results = [
                make(
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
                    views.set_view(r, first, self, operands, params, i)
            if special or modes.inference:
                self.follow(operands, params, pattern, flat, parents, results)
            return self.results(results) if self.results in (tuple, list) else self.results(*results)
        result = make(tape, y, node)
        if self.view:
            views.set_view(result, first, self, operands, params)
        if special or modes.inference:
            self.follow(operands, params, pattern, flat, parents, [result])
        return result

    def plan(self, values: Sequence[Any], pattern: tuple, parents: Sequence[Any], params: dict) -> Any:
        """The plan for these operands, or None."""
        if self.fast is not None and self.usual(params) and alike(values, self.dtypes):
            return PrimitivePlan(self.fast.primitive, NONE, parents)
        return self.primitive(pattern).plan(values, parents, params)

    def planned(self, operands: Sequence[Any], params: dict) -> Tensor | None:
        """The result on plain arrays outside all transforms, by a Plan; None where there is more to decide."""
        context = CURRENT.get()
        if context is not EVAL and context is not NO_GRAD:
            return None
        recording = context is EVAL
        key: list[Any] = [_default[0]]
        values, parents = [], []
        flat, pattern = operands, None
        if self.sequences:
            pattern, flat = self.arranged(operands)
            key.append(key_of(pattern))
        for x in flat:
            kind = type(x)
            if kind in TENSORS:
                aspect = x.aspect
                if aspect is not None:
                    if aspect.tangent is not None or x.is_inference_tensor:
                        return None
                    aspect.use(x)
                value, node = x.value, x.node if recording else None
                if type(value) is not np.ndarray:
                    return None
                key += (value.shape, value.dtype.num, node is None)
                values.append(value)
                if node is not None:
                    if x.tape is not BASE:
                        return None
                    parents.append(x.leaf or leaf_of(x) if node is LEAF else node)
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
        silence = STATE.set(SILENT)
        try:
            if plan is None:
                plan = self.plan(values, pattern or tuple([x is not None for x in operands]), parents, params)
                if plan is None:
                    return None
                self.plans[known] = plan
            y, rule, residuals = plan.run(values, parents)
            tensor = make(BASE, y)
            if rule is not None:
                tensor.node = Node(self, rule, residuals, tuple(parents), rule.plain)
        except REWORDED as error:
            raise refusal(self.name, operands, error) from None
        finally:
            STATE.reset(silence)
        if self.view:
            views.set_view(tensor, flat[0], self, operands, params)
        return tensor

    def follow(
        self,
        operands: Sequence[Any],
        params: dict,
        pattern: tuple,
        flat: Sequence[Any],
        parents: Sequence[Any],
        results: Sequence[Tensor],
    ) -> None:
        """What the aspects and classes of operands, and the modes, make of the results."""
        modes = current_modes()
        subclass = next((type(x) for x in flat if isinstance(x, Tensor) and type(x) not in TENSORS), None)
        if subclass is not None:
            for result in results:
                result.__class__ = subclass
        if modes.inference or any(isinstance(x, Tensor) and x.is_inference_tensor for x in flat):
            inference.follow(self, flat, results, modes.inference)
        if modes.forward:
            duals.follow(self, operands, params, pattern, flat, parents, results)

    def usual(self, params: dict) -> bool:
        """Whether the parameters have their defaults. They are compared by identity: alpha=True is not alpha=1."""
        return all([params[name] is default for name, default in self.defaults.items()])

    def into(self, target: Tensor, operands: Sequence[Any], params: dict) -> bool:
        """Compute straight into the memory of the first operand, where nothing is to be recorded, and say whether that
        was possible."""
        kernel = None if self.fast is None else self.fast.primitive.kernel
        context = CURRENT.get()
        if context.interpreter is not EVAL.interpreter or context.watching is not None:
            return False
        values, recording = [], current_modes().recording
        for x in operands:
            if type(x) in TENSORS and x.aspect is None and not (recording and x.node is not None):
                values.append(x.value)
            elif type(x) in SCALARS:
                values.append(x)
            else:
                return False
        memory = target.value
        if type(memory) is not np.ndarray or not alike(values, self.dtypes):
            return False
        silence = STATE.set(SILENT)
        try:
            if type(kernel) is np.ufunc and self.usual(params) and fits(values, memory.shape):
                kernel(*values, out=memory)
            else:
                y = self.function(**dict(zip(self.names, values)), **params)
                if y.shape != memory.shape:
                    return False
                memory[...] = y
        except REWORDED:
            return False
        finally:
            STATE.reset(silence)
        MEMORIES.modified(memory, self.name + "_", source_info.caller())
        return True

    def check_target(self, target: Tensor, operands: Sequence[Any]) -> None:
        """Raise where the first operand cannot take a result of the dtype that the operands have in common."""
        if self.promote in ("arithmetic", "choice"):
            given = [x.value if isinstance(x, Tensor) else x for x in operands if x is not None]
            check_result(self.name, aval_of(target.value).dtype, result_numpy(given))

    def arranged(self, operands: Sequence[Any]) -> tuple[tuple, Sequence[Any]]:
        """The pattern of operands, and those that are given in a flat sequence."""
        if not self.sequences:
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

    def as_operand(self, x: Any, operands: Sequence[Any]) -> Any:
        """An operand that is no Tensor: an array, a traced value, a number of NumPy's."""
        if isinstance(x, Tracer):
            return x
        if isinstance(x, np.generic):
            check_dtype(x.dtype)
            return x.item()
        if type(x) is np.ndarray or (isinstance(x, np.ndarray) and not has_own_operations(type(x))):
            check_dtype(x.dtype)
            return np.asarray(x)
        if isinstance(x, bool | int | float | complex):
            kinds: tuple[Any, ...] = (bool, int, float, complex)
            return next(kind for kind in kinds if isinstance(x, kind))(x)
        place = next((i for i, y in enumerate(operands) if y is x), 0)
        raise not_a_tensor(self.name, self.operands[place].lstrip("*"), place + 1, x)


def fits(values: Sequence[Any], shape: tuple[int, ...]) -> bool:
    """Whether these broadcast to the shape of the first."""
    return all([type(v) in SCALARS or v.shape in ((), shape) for v in values])


def alike(values: Sequence[Any], dtypes: set[Any]) -> bool:
    """Whether an elementwise primitive does with these what torch does: of one floating dtype, and numbers of it."""
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


def operation(tensors: str = "input", **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operation: see the module.

    Args:
        tensors: the parameters that are Tensors, in their order; `*tensors` for a sequence of Tensors.
        promote: how operands get a common dtype: see `promoted`.
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
        user = user_function(op, function)
        op.user = user
        for space in op.spaces.split():
            exposed(space, op.name.removeprefix(f"{space}_"))(user)
        if op.inplace:
            exposed("method", op.name + "_")(inplace_method(op, function))
        return user

    return declare
