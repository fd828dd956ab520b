"""What happens at a call of one of torch's operations: see `declaration` for how these are declared.

All that users call for an operation, the function, its methods and `out=`, leads to `Operation.__call__`, unless a fast
path in the entry point comes first. For every kind of plain operands the operation makes a Plan, which says how they
are computed and differentiated, and runs it; other operands (traced, dual, of inference mode, of a subclass) are
recorded by the current tape.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...extend import (
    CONSTANTS_FOLLOW,
    CURRENT,
    ERROR_STATE,
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
    source_info,
)
from .._core import duals, inference, views
from .._core.dtypes import check_numpy_dtype, result_numpy_dtype, short_name
from .._core.error_messages import (
    REWORDED_ERRORS,
    check_result_dtype,
    common_device,
    dtype_error,
    not_a_tensor_error,
    reword_error,
)
from .._core.memory import VERSIONS
from .._core.modes import current_modes
from .._core.precision import value_dtype
from .._core.sparse_tensor import SparseTensor
from .._core.tape import BASE_TAPE, Edge, Node, TapeInterpreter, TapeTracer, current_tape
from .._core.tensor import TENSOR_CLASSES, Tensor, gradient_edge, make_tensor, to_open_tape, to_outer, wrap
from ..errors import ArgumentError
from .composite import Composite, InplacePlan, Plan, needs_gradient
from .declaration import Declaration
from .entry import check_params, inplace_method, make_user_function, take_number, wanted_number
from .gate import read_operands
from .handlers import handle_call
from .kinds import ALL, KINDS, takes_dtype
from .observed import run_observed
from .out import write_out
from .pattern import make_primitive, share_float_dtype
from .spaces import expose

# Every declared operation by name; filled while compat.ops is imported, not changed afterwards.
OPERATIONS: dict[str, Operation] = {}
NO_PARAMS: dict[str, Any] = {}
MIXING_OPERATIONS = {"index", "index_put", "to_copy"}  # whose operands may be on different devices


class Outcome(NamedTuple):
    """The outcome of a call: the value of the result, or several values, and the Node that records it on a tape, if
    any. `first` is the first Tensor among the operands; `complete` gives the result Tensors what those of the operands
    have besides a value: a class, a tangent, a mark."""

    tape: TapeInterpreter
    first: Tensor | None
    value: Any
    node: Node | None
    complete: Callable[[Sequence[Tensor]], None] | None = None


class Operation(Declaration):
    """A declared operation, which can be called."""

    composites: Cache  # its primitives by patterns of operands
    plans: Cache

    def __init__(self, *declared: Any, **options: Any):
        super().__init__(*declared, **options)
        vars(self).update(composites=Cache(), plans=Cache())  # attributes of a declaration cannot be set

    # -- the primitives that compute it ------------------------------------------
    def primitive_for(self, pattern: tuple) -> Composite:
        """Return the primitive for a pattern of operands: see `make_primitive`."""
        key = key_of(pattern)  # a sequence of one operand is not an operand
        found = self.composites.get(key)
        if found is None:
            found = self.composites[key] = make_primitive(self, pattern)
        return found

    def choose_primitive(self, values: Sequence[Any], pattern: tuple, params: dict) -> tuple[Any, dict]:
        """Return the primitive that computes these values, and its params. Parameters are compared with their defaults
        by identity: alpha=True is not alpha=1."""
        if self.numbers_together:
            self.check_numbers(values[1:])
        if self.kinds != ALL[0]:
            self.check_kinds(values)
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
            outcome = self.run_plan(operands, params, target)
            if outcome is None and (sparse := find_sparse(self, operands)) is not None:
                return sparse.operate(self, operands, params, out)
            if outcome is None:
                context = CURRENT.get()
                observer, modes = context.observer, context.modes
                autocast = None if modes is None else modes.autocast
                if autocast is not None and out is None and target is None:
                    operands = autocast.cast_operands(self.name, operands)
                if observer is None:
                    outcome = self.run_on_tape(operands, params, target)
                else:
                    outcome = run_observed(observer, self, operands, params, target)
        except REWORDED_ERRORS as error:
            raise reword_error(self.name, operands, error) from None
        finally:
            ERROR_STATE.reset(silence)
        tape, first, y, node, complete = outcome
        if out is not None:
            return write_out(self, y, node, out, operands)
        is_single = self.results is None
        if is_single:
            if target is not None and y is target._fx_value:
                return target
            results = [make_tensor(tape, y, node)]
        else:
            results = [make_tensor(tape, v, self.edge_to(node, i)) for i, v in enumerate(y)]
        if self.view:
            for i, result in enumerate(results):
                views.record_view(result, first, self, operands, params, None if is_single else i)
        if complete is not None:
            complete(results)
        if is_single:
            return results[0]
        return self.results(results) if self.results in (tuple, list) else self.results(*results)

    def run_plan(self, operands: Sequence[Any], params: dict, target: Tensor | None) -> Outcome | None:
        """Compute on plain operands (see `gate`) by the plan for such. Return None if there is more to decide."""
        pattern, flat = self.arrange(operands) if self.has_sequences else ((), operands)
        found = read_operands(flat, self.differentiable)
        if found is None or (self.view and not isinstance(operands[0], Tensor)):
            return None
        key, values, edges = found
        if pattern:
            key.append(key_of(pattern))
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
            check_params(self, params)
            if self.read_numbers(params):
                return self.run_plan(operands, params, target)
            plan = self.plans[known] = self.make_plan(operands, values, edges, params, target)
        if target is not None and target._fx_view_meta is None and not any(edges):
            y = plan.write(values)
            if y is values[0]:
                VERSIONS.record_change(y, self.name + "_", source_info.user_frame())
            return Outcome(BASE_TAPE, None, y, None)
        y, rule, residuals = plan.run(values, edges)
        node = None
        if rule is not None:
            results = None if self.results is None else y
            node = Node(self, rule, residuals, tuple(edges), rule.pull_plain, results)
        return Outcome(BASE_TAPE, operands[0], y, node)

    def make_plan(self, operands, values: Sequence[Any], next_edges, params: dict, target) -> Any:
        """Make the plan for operands of which these are the values."""
        if target is not None:
            self.check_target(target, operands)
        primitive, given = self.choose_primitive(values, self.arrange(operands)[0], params)
        if target is not None and not needs_gradient(next_edges):
            return InplacePlan(primitive, given, values)
        if self.differentiable and isinstance(primitive, Composite):
            return primitive.plan_for(values, next_edges, given)
        return Plan(primitive, given, next_edges)

    def run_on_tape(self, operands: Sequence[Any], params: dict, target: Tensor | None) -> Outcome:
        """Compute on operands of any kind, recorded by the tape in charge."""
        if target is not None:
            self.check_target(target, operands)
        if params:
            check_params(self, params)
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
        complete = None
        if special:
            complete = partial(self.complete_results, operands, params, pattern, flat, edges, node)
        return Outcome(tape, first, y, node, complete)

    def complete_results(
        self, operands, params: dict, pattern: tuple, flat, next_edges, node, results
    ) -> None:
        """Complete the results as the metadata and classes of the operands, and the modes, require."""
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
    def check_kinds(self, values: Sequence[Any]) -> None:
        """Raise if the operation does not exist for the dtype of the operands."""
        kinds, words = KINDS[self.name]
        is_first = self.promote in (None, "choice")
        dtype = value_dtype(values[0]) if is_first else result_numpy_dtype(values)
        if not takes_dtype(kinds, dtype):
            name = self.name.removeprefix("special_")
            raise dtype_error(words.format(short_name(dtype), name) or f"{name}_cpu", dtype)

    def check_numbers(self, values: Sequence[Any]) -> None:
        """Raise where a number stands beside a Tensor with dimensions: torch has no such overload."""
        if len({type(v) in SCALARS for v in values}) > 1 and any(aval_of(v).ndim for v in values):
            raise ArgumentError(
                f"{self.name}() received an invalid combination of arguments: a Tensor and a number for "
                f"{' and '.join(self.names[1:])}",
                hint="torch.tensor(number), which broadcasts",
            )

    def check_target(self, target: Tensor, operands: Sequence[Any]) -> None:
        """Raise if the first operand cannot take a result of the operands' common dtype."""
        if self.promote in ("arithmetic", "choice"):
            given = [x._fx_value if isinstance(x, Tensor) else x for x in operands if x is not None]
            check_result_dtype(self.name, aval_of(target._fx_value).dtype, result_numpy_dtype(given))

    def read_numbers(self, params: dict[str, Any]) -> bool:
        """Put the numbers of Tensors and of NumPy that were given for static parameters, or inside of these, into
        their place; return whether there were any. A Tensor with axes stays, where the parameter is not declared to
        be an int, and every one where it is declared to be a Tensor."""
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
    """Whether a static parameter is a Tensor or a number of NumPy's, or a sequence with one."""
    return any(map(holds_tensor, x)) if isinstance(x, tuple | list) else isinstance(x, Tensor | np.generic)


def read_number(op: Operation, name: str, x) -> Any:
    """Return a static parameter with numbers of Python's for the Tensors and numbers of NumPy's in it."""
    if isinstance(x, tuple | list):
        parts = tuple([read_number(op, name, part) for part in x])
        return x if all(part is given for part, given in zip(parts, x)) else parts
    if not isinstance(x, Tensor):
        return x.item() if isinstance(x, np.generic) else x
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


def operation(tensors: str = "input", **options) -> Callable[[Callable[..., Any]], Any]:
    """Declare an operation by its function: the parameters that are Tensors, and options of a `Declaration`."""

    def declare(function: Callable[..., Any]) -> Any:
        op = Operation(function, tensors, **{"name": function.__name__, **options})
        OPERATIONS[op.name] = op
        user = make_user_function(op, op.spaces, op.out)
        for space in op.spaces.split():
            expose(space, op.name.removeprefix(f"{space}_"))(user)
        if op.inplace:
            expose("method", op.name + "_")(inplace_method(user))
        return user

    return declare
