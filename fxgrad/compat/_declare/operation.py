"""The declaration of torch's operations: a pure function of values under a torch name.

    @operation("input end weight", promote="arithmetic", inplace=True)
    def lerp(input, end, weight):
        return input + weight * (end - input)

The function computes on arrays and tracers with `fxgrad.ops` and `fxgrad.numpy`, and does not depend on Tensors. The
declaration says which of its parameters are Tensors (`*tensors` is a sequence of them); the others are static. From it
follows the function that users call, on Tensors: with a grad_fn named after it, whose backward is derived and cached,
in every transform, as a method, with `out=`, and as `lerp_` in place.

All of these call `Operation.__call__`. For every kind of plain operands it makes a Plan, which says how they are
computed and differentiated, and runs it; other operands (traced, dual, of inference mode, of a subclass) are recorded
by the current tape.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...extend import (
    CONSTANTS_FOLLOW,
    CURRENT,
    ERROR_STATE,
    EVAL,
    EXACT,
    IGNORE,
    SCALARS,
    Cache,
    Tracer,
    aval_of,
    device_in_use,
    has_own_operations,
    is_differentiable,
    is_on_cuda,
    key_of,
    kind_of,
    source_info,
)
from .._core import duals, inference, views
from .._core.dtypes import _default_dtype, check_numpy_dtype, result_numpy_dtype
from .._core.error_messages import (
    REWORDED_ERRORS,
    check_result_dtype,
    common_device,
    not_a_tensor_error,
    not_implemented_error,
    reword_error,
)
from .._core.memory import VERSIONS
from .._core.modes import NO_GRAD, QUIET, current_modes
from .._core.precision import compute_in_single, tangent_rule_in_single, value_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tape import BASE_TAPE, LEAF, Edge, Node, TapeTracer, current_tape, grad_accumulator, node_name
from .._core.tensor import TENSOR_CLASSES, Tensor, gradient_edge, make_tensor, to_open_tape, to_outer, wrap
from .composite import Composite, InplacePlan, Plan, PrivateComposite, needs_gradient
from .entry import inplace_method, make_user_function, take_number, wanted_number
from .handlers import handle_call
from .observed import run_observed
from .out import write_out
from .promotion import promote_values
from .spaces import expose

# Every declared operation by name; filled while compat.ops is imported, not changed afterwards.
OPERATIONS: dict[str, Operation] = {}
NO_PARAMS: dict[str, Any] = {}
MIXING_OPERATIONS = {"index", "index_put", "to_copy"}  # whose operands may be on different devices
# The dtypes of the fast path.
HALF = np.dtype("f2")
REALS = {np.dtype("f4"), np.dtype("f8"), HALF}
FLOATS = REALS | {np.dtype("c8"), np.dtype("c16")}


@dataclass(eq=False, repr=False)
class Operation:
    """A declared operation: see the module's description, and `operation` for the options."""

    function: Callable[..., Any]
    tensors: str
    name: str = ""
    node: InitVar[str] = ""
    overload: Callable[[set[str], dict[str, Any]], int] | None = None
    promote: str | None = None
    primitive: Any = None
    composite: type[Composite] = Composite
    view: Any = False
    bit: int = 0
    inplace: bool = False
    out: bool = True
    results: Any = None
    constant: tuple[int, ...] = ()
    keeps_results: bool = False
    copies_operands: InitVar[bool] = False
    tangent: Any = None
    cotangent: Any = None
    numbers: bool = False
    mixed: bool = False
    by_value: bool | None = None
    kinds: str = "biufc"
    exact_numbers: bool = False
    own_precision: InitVar[bool] = False
    complex: InitVar[bool] = True
    spaces: str = "function method"
    arguments: Any = None

    def __post_init__(self, node: str, copies_operands: bool, own_precision: bool, complex: bool) -> None:
        self.name = self.name or self.function.__name__
        self.node_name = node or node_name(self.name)
        self.names = self.tensors.replace("*", "").split()
        self.has_sequences = "*" in self.tensors
        self.full_pattern = (True,) * len(self.names)
        self.dtypes = FLOATS if complex else REALS  # for which it is its primitive
        if self.primitive is not None and not rounds_once(self.primitive.primitive):
            self.dtypes = self.dtypes - {HALF}
        self.differentiable = self.results is not None or not self.constant
        self.computes_in_single = not (own_precision or self.view or self.composite is not Composite)
        if copies_operands:
            self.composite = PrivateComposite
        self.composites, self.plans = Cache(), Cache()
        OPERATIONS[self.name] = self

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    @cached_property
    def parameters(self) -> list[inspect.Parameter]:
        """The parameters that users see."""
        return list(inspect.signature(self.arguments or self.function).parameters.values())

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The defaults of static parameters."""
        declared = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in declared if p.default is not p.empty and p.name not in self.names}

    # -- the declaration as a primitive ------------------------------------------
    def primitive_for(self, pattern: tuple) -> Composite:
        """Return the primitive for a pattern of operands: True where a value is given, an int for a sequence of that
        length."""
        key = key_of(pattern)  # a sequence of one operand is not an operand
        found = self.composites.get(key)
        if found is None:
            found = self.composites[key] = self.composite(
                self.name, self.function_for(pattern), self.results is not None, self.tangent_for(pattern)
            )
            found.pattern = pattern
            # NumPy gives views where primitives copy.
            found.by_value = True if self.view else self.by_value
            found.shares = found.shares or bool(self.view)
            if self.keeps_results:
                found.keep_results()
            if self.cotangent is not None:
                found.cotangent_rule = self.cotangent_for(pattern)
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

    def cotangent_for(self, pattern: tuple) -> Callable[..., list[Any]]:
        """Return the cotangent rule for a pattern: operands that are not given are None."""
        rule = tangent_rule_in_single(self.cotangent) if self.computes_in_single else self.cotangent

        def cotangent(ys, operands: Sequence[Any], ct, params: dict) -> list[Any]:
            given = iter(operands)
            found = rule(ys, [next(given) if p else None for p in pattern], ct, params)
            return [v for v, p in zip(found, pattern) if p]

        return cotangent

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

        function = call_with_pattern
        if self.computes_in_single:
            function = compute_in_single(call_with_pattern, self.exact_numbers)
        if promote is None:
            return function

        def call_promoted(*values, **params) -> Any:
            return function(*promote_values(values, promote, self.exact_numbers), **params)

        return call_promoted

    def choose_primitive(self, values: Sequence[Any], pattern: tuple, params: dict) -> tuple[Any, dict]:
        """Return the primitive that computes these values, and its params. Parameters are compared with their defaults
        by identity: alpha=True is not alpha=1."""
        if (
            self.primitive is not None
            and all([params[name] is default for name, default in self.defaults.items()])
            and share_float_dtype(values, self.dtypes, self.exact_numbers)
        ):
            return self.primitive.primitive, NO_PARAMS
        return self.primitive_for(pattern), params

    # -- how it runs ------------------------------------------
    def __call__(self, operands: Sequence[Any], params: dict, out=None, target: Tensor | None = None) -> Any:
        """Apply the operation to operands: Tensors, numbers, arrays, None, or sequences of them. The result is written
        into `out`. Where nothing is recorded it is computed in the memory of `target`, the first operand of an
        operation in place, which is then returned."""
        silence = ERROR_STATE.set(IGNORE)
        try:
            found = self.run_plan(operands, params, target)
            if found is None and (sparse := find_sparse(self, operands)) is not None:
                return sparse.operate(self, operands, params, out)
            if found is None:
                context = CURRENT.get()
                observer, modes = context.observer, context.modes
                autocast = None if modes is None else modes.autocast
                if autocast is not None and out is None and target is None:
                    operands = autocast.cast_operands(self.name, operands)
                if observer is None:
                    found = self.run_on_tape(operands, params, target)
                else:
                    found = run_observed(observer, self, operands, params, target)
        except REWORDED_ERRORS as error:
            raise reword_error(self.name, operands, error) from None
        finally:
            ERROR_STATE.reset(silence)
        tape, first, y, node, finish = found
        if out is not None:
            return write_out(self, y, node, out, operands)
        if self.results is None:
            if target is not None and y is target._fx_value:
                return target
            result = make_tensor(tape, y, node)
            if self.view:
                views.record_view(result, first, self, operands, params)
            if finish is not None:
                finish([result])
            return result
        results = [make_tensor(tape, v, self.edge_to(node, i)) for i, v in enumerate(y)]
        if self.view:
            for i, r in enumerate(results):
                views.record_view(r, first, self, operands, params, i)
        if finish is not None:
            finish(results)
        return self.results(results) if self.results in (tuple, list) else self.results(*results)

    def run_plan(self, operands: Sequence[Any], params: dict, target: Tensor | None) -> Any:
        """Compute on plain arrays outside all transforms by the plan for such operands: (tape, first operand, result,
        Node or None, None). Return None where there is more to decide."""
        context = CURRENT.get()
        if context is not EVAL and context is not NO_GRAD and context is not QUIET:
            return None
        recording = context is EVAL and self.differentiable
        key: list[Any] = [_default_dtype[0]]
        flat = operands
        if self.has_sequences:
            pattern, flat = self.arrange(operands)
            key.append(key_of(pattern))
        values, edges, wanted = [], [], False
        for x in flat:
            kind = type(x)
            edge = None
            if kind in TENSOR_CLASSES:
                meta = x._fx_view_meta
                if meta is not None and not views.is_plain_view(x):
                    return None  # a tangent, its own or that of its base, or inference mode
                value = x._fx_value
                if type(value) is not np.ndarray:
                    return None
                if recording:
                    edge = x._fx_node
                    if edge is not None:
                        if x._fx_tape is not BASE_TAPE:
                            return None
                        if edge is LEAF:
                            edge = x._fx_accumulator or grad_accumulator(x)
                        wanted = True
                key += (value.shape, value.dtype.num, edge is None)
                values.append(value)
            elif kind in SCALARS:
                key.append(kind)
                values.append(x)
            elif x is None:
                key.append(None)
                continue
            else:
                return None
            edges.append(edge)
        for name, value in params.items():
            kind = type(value)
            if kind is list:
                value, kind = tuple(value), tuple
                params[name] = value
            key += (name, kind, value if kind in EXACT else key_of(value))
        if target is not None:
            key.append("in place")
        known = tuple(key)
        try:
            plan = self.plans.get(known)
        except TypeError:  # parameters that are not hashable
            return None
        if plan is None:
            if self.read_numbers(params):
                return self.run_plan(operands, params, target)
            plan = self.plans[known] = self.make_plan(operands, values, edges, params, target)
        if target is not None and target._fx_view_meta is None and not wanted:
            y = plan.write(values)
            if y is values[0]:
                VERSIONS.record_change(y, self.name + "_", source_info.user_frame())
            return BASE_TAPE, None, y, None, None
        y, rule, residuals = plan.run(values, edges)
        node = None
        if rule is not None:
            results = None if self.results is None else y
            node = Node(self, rule, residuals, tuple(edges), rule.pull_plain, results)
        return BASE_TAPE, operands[0], y, node, None

    def make_plan(self, operands, values: Sequence[Any], next_edges, params: dict, target) -> Any:
        """Make the plan for operands of which these are the values."""
        primitive, given = self.choose_primitive(values, self.arrange(operands)[0], params)
        if target is not None:
            self.check_target(target, operands)
            if not needs_gradient(next_edges):
                return InplacePlan(primitive, given, values)
        if self.differentiable and isinstance(primitive, Composite):
            return primitive.plan_for(values, next_edges, given)
        return Plan(primitive, given, next_edges)

    def run_on_tape(self, operands: Sequence[Any], params: dict, target: Tensor | None) -> Any:
        """Compute on operands of any kind, recorded by the tape in charge: (tape, first operand, result, Node or None,
        what is to be done with the Tensors of the results or None)."""
        if target is not None:
            self.check_target(target, operands)
        if params:
            self.read_numbers(params)
            params |= {name: tuple(value) for name, value in params.items() if type(value) is list}
        pattern, flat = self.arrange(operands)
        tape, modes = current_tape(), current_modes()
        recording = modes.is_recording and self.differentiable
        values, edges = [], []
        first, special = None, modes.inference or modes.packing
        for x in flat:
            edge = None
            if type(x) is TapeTracer:  # as a function of the library gives it
                x = wrap(x, x.interpreter)
            if isinstance(x, Tensor):
                if x._fx_tape is not tape:
                    x = to_open_tape(x)
                first = x if first is None else first
                special = special or x._fx_view_meta is not None or type(x) not in TENSOR_CLASSES
                values.append(to_outer(x, tape))
                if recording and x._fx_tape is tape:
                    edge = gradient_edge(x)
            else:
                values.append(x if type(x) in SCALARS else self.as_operand(x, operands))
            edges.append(edge)
        primitive, given = self.choose_primitive(values, pattern, params)
        record = (
            tape.record
            if not modes.handlers
            else partial(handle_call, modes.handlers, operands, target, tape)
        )
        if "cupy" not in sys.modules:
            y, node = record(primitive, tuple(values), tuple(edges), given, self)
        else:
            places = [v for x, v in zip(flat, values) if isinstance(x, Tensor)]
            place = common_device(places[: None if self.name not in MIXING_OPERATIONS else 1])
            token = CONSTANTS_FOLLOW.set(True)
            try:
                with device_in_use(place):
                    y, node = record(primitive, tuple(values), tuple(edges), given, self)
            finally:
                CONSTANTS_FOLLOW.reset(token)
        finish = (
            partial(self.finish_results, operands, params, pattern, flat, edges, node) if special else None
        )
        return tape, first, y, node, finish

    def finish_results(self, operands, params: dict, pattern: tuple, flat, next_edges, node, results) -> None:
        """Finish the results as the metadata and classes of the operands, and the modes, require."""
        modes = current_modes()
        subclass = next(
            (
                type(x)
                for x in flat
                if isinstance(x, Tensor) and type(x) not in TENSOR_CLASSES and x._fx_gives_its_class
            ),
            None,
        )
        if subclass is not None:
            for result in results:
                result.__class__ = subclass
        if modes.inference or any(isinstance(x, Tensor) and x._fx_is_inference_tensor for x in flat):
            inference.mark_inference_results(self, flat, results, modes.inference)
        if modes.forward:
            duals.propagate_tangents(self, operands, params, pattern, flat, next_edges, results)
        if modes.packing and node is not None:
            modes.packing[-1].pack_node(node, current_tape(), flat)

    def edge_to(self, node: Node | None, index: int) -> Edge | None:
        """Return the edge to one of several results of a Node, or None if it never requires a gradient."""
        if node is None or index in self.constant or not is_differentiable(node.result_avals[index].dtype):
            return None
        return Edge(node, index)

    # -- what it takes ------------------------------------------
    def check_target(self, target: Tensor, operands: Sequence[Any]) -> None:
        """Raise if the first operand cannot take a result of the operands' common dtype."""
        if self.promote in ("arithmetic", "choice"):
            given = [x._fx_value if isinstance(x, Tensor) else x for x in operands if x is not None]
            check_result_dtype(self.name, aval_of(target._fx_value).dtype, result_numpy_dtype(given))

    def read_numbers(self, params: dict[str, Any]) -> bool:
        """Put the numbers of Tensors that were given for static parameters, or inside of these, into their place;
        return whether there were any. A Tensor with axes stays, where the parameter is not declared to be an int, and
        every one where it is declared to be a Tensor."""
        given = {name: x for name, x in params.items() if holds_tensor(x)}
        if not given:
            return False
        found = {name: read_number(self, name, x) for name, x in given.items()}
        params |= found
        return any(found[name] is not x for name, x in given.items())

    def arrange(self, operands: Sequence[Any]) -> tuple[tuple, Sequence[Any]]:
        """Return the pattern of operands, and the given ones in a flat sequence."""
        if not self.has_sequences:
            if any([x is None for x in operands]):
                return tuple([x is not None for x in operands]), [x for x in operands if x is not None]
            return self.full_pattern, operands
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
        if is_on_cuda(x):
            return x
        if isinstance(x, bool | int | float | complex):
            kinds: tuple[Any, ...] = (bool, int, float, complex)
            return next(kind for kind in kinds if isinstance(x, kind))(x)
        place = next((i for i, y in enumerate(operands) if y is x), 0)
        raise not_a_tensor_error(self.name, self.names[place], place + 1, x)


def holds_tensor(x) -> bool:
    """Whether a static parameter is a Tensor, or a sequence with one."""
    return any(map(holds_tensor, x)) if isinstance(x, tuple | list) else isinstance(x, Tensor)


def read_number(op: Operation, name: str, x) -> Any:
    """Return a static parameter with numbers for the Tensors in it."""
    if isinstance(x, tuple | list):
        parts = tuple([read_number(op, name, part) for part in x])
        return x if all(part is given for part, given in zip(parts, x)) else parts
    if not isinstance(x, Tensor):
        return x
    wanted = wanted_number(op, name)
    is_number = wanted == "int" or (wanted != "Tensor" and not (x.shape or x.requires_grad))
    return take_number(op, name, x) if is_number else x


def find_sparse(op: Operation, operands: Sequence[Any]) -> SparseTensor | None:
    """Find a sparse Tensor among operands."""
    for x in operands:
        if type(x) is SparseTensor:
            return x
    if op.has_sequences:
        return next((x for x in op.arrange(operands)[1] if type(x) is SparseTensor), None)
    return None


def rounds_once(primitive: Any) -> bool:
    """Whether a primitive rounds half precision once: where its kernel is a function of NumPy's, or rounds nothing, or
    sums in single precision."""
    return type(primitive.kernel) is np.ufunc or primitive.name in ("relu", "mm", "pow")


def share_float_dtype(values: Sequence[Any], dtypes: set[Any], exact_numbers: bool) -> bool:
    """Whether all values have one floating dtype, or are numbers of it: an elementwise primitive then does what torch
    does. With `exact_numbers` there are no numbers of half precision."""
    dtype, has_numbers = None, False
    for v in values:
        if type(v) in SCALARS:
            if type(v) is complex or type(v) is bool:
                return False
            has_numbers = True
            continue
        found = v.dtype if type(v) is np.ndarray else aval_of(v).dtype
        if dtype is None and found in dtypes and not getattr(v, "weak", False):
            dtype = found
        elif found is not dtype:
            return False
    return dtype is not None and not (exact_numbers and has_numbers and dtype is HALF)


def operation(tensors: str = "input", **options) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operation: see the module's description.

    Args:
        tensors: the parameters that are Tensors, in their order; `*tensors` for a sequence of Tensors.
        promote: how operands get a common dtype: see `promote_values`.
        primitive: the elementwise primitive that it is on operands of one floating dtype; the fast path.
        composite: the class of its primitives: see `_declare.rearrangement`.
        view: the result is a view of the first operand where that is an array. Where it is more than a choice of
            entries: (first operand, view, **params) → the first operand after the view was given another value.
        bit: the bit of the view: it shows the conjugates or the negatives of what is in memory (`_core.bits`).
        inplace: there is a method `name_`.
        results: what it makes of its several results: tuple, list, a namedtuple, or a function of them.
        constant: the positions of results that never require a gradient.
        keeps_results: its nodes keep results, where its derivative reads them, as torch's do: operands may be modified
            afterwards, and results may not.
        copies_operands: its nodes keep copies of operands, where its derivative reads them: see `PrivateComposite`.
        tangent: (ys, primals, tangents, params) → tangents, where the function's own would not be stable.
        cotangent: (ys, operands, ct, params) → cotangents of all operands, for one of the (first) result, where that
            takes fewer steps than the tangent rule transposed; it reads no more than that.
        spaces: where it is to be found: "function" (torch.name), "method", "linalg" (there without the prefix
            `linalg_` of its name), "nn.functional", …
        out: it takes `out=`.
        by_value: whether the function looks at values, if only to refuse some, so that it is not compiled. Without it
            those do that have operands which are positions or truth values.
        kinds: the kinds of dtypes ("b", "i", "u", "f", "c") that its first operand may have; others are refused.
        exact_numbers: a number beside half precision is not rounded to it.
        own_precision: it depends on the precision of its operands: see `_core.precision`.
        complex: whether it exists of complex numbers; it matters for `primitive`.
        numbers: a number may stand for its first operand, as in torch.pow(2, x).
        mixed: its keywords, which are numbers, may stand among its operands, as in torch.add(x, alpha, y).
        arguments: the parameters that users see, where they are not those of the function: a function of them that
            returns (operands, params), as in `arguments=lambda input, dim=-1: ((input,), {"axis": dim})`.
        name, node: what it is called, where that is not the name of the function.
        overload: (names of the operands that are numbers, params) → torch's counter in the name of the node, where it
            has several of that name.
    """

    def declare(function: Callable[..., Any]) -> Any:
        op = Operation(function, tensors, **options)
        user = make_user_function(op, op.out)
        for space in op.spaces.split():
            expose(space, op.name.removeprefix(f"{space}_"))(user)
        if op.inplace:
            expose("method", op.name + "_")(inplace_method(user))
        return user

    return declare
