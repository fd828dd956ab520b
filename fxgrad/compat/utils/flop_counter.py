"""torch.utils.flop_counter: the floating-point operations of products, convolutions and attention, counted from what a
profile records (`torch.autograd.profiler`)."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ...extend import CURRENT
from .._core.modes import current_modes, with_modes
from .._core.tensor import Tensor, make_tensor
from .._declare.handlers import OperationHandler
from .._declare.observed import run_plainly
from ..autograd.profiler import profile
from ..errors import ArgumentValueError, TensorError
from ..ops.overloads import AtenPacket, aten, called_operation
from .module_tracker import ModuleTracker
from .selective_checkpoint import handled_by

if TYPE_CHECKING:
    from ...profiling.recording import Event
    from .._declare.handlers import OperationCall, Recorded

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}  # the formulas of the user's, by operations

ATTENTION = "scaled_dot_product_attention"
SHAPED = ("addmm", "baddbmm", "bmm", "linear", "mm")  # the shapes of their operands say the count
VECTORS = ("dot", "mv")  # torch does not count these


class FlopCounterMode:
    """Context manager that counts floating-point operations of matrix products, convolutions and attention, forward and
    backward: a multiplication and an addition for each product.

    Args:
        mods: not needed: modules are told apart in any case.
        depth: how deep the modules of the table are; None: all.
        display: whether the table is printed at the end.
        custom_mapping: formulas for operations of `torch.ops.aten`: see `register_flop_formula`.

    Of attention on the CPU torch's counter knows nothing for four axes; here it is counted as torch counts it on GPUs.

    >>> w = torch.ones(3, 2, requires_grad=True)
    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     (torch.ones(4, 3) @ w).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Global"]
    (96, {<OpOverloadPacket(op='aten.mm')>: 96})
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Any] | None = None,
    ):
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display = depth, display
        self.flop_counts: defaultdict[str, Counter[Any]] = defaultdict(Counter)
        self.mod_tracker = ModuleTracker()
        self._fx_profile: profile | None = None
        given = {
            key: f if getattr(f, "_get_raw", False) else with_shapes(f)
            for key, f in (custom_mapping or {}).items()
        }
        self._fx_formulas = {**flop_registry, **given}
        self._fx_handling = handled_by(lambda: FormulaHandler(self))

    def get_total_flops(self) -> int:
        """Return how many were counted in all."""
        return self.flop_counts["Global"].total() if self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Return how many were counted for each operation of `torch.ops.aten`, in each module by its name, and in the
        whole program: `{"Global": {torch.ops.aten.mm: …}}`; nothing where nothing was counted."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """Return the counts as text: a line for each module down to the depth, and one for each of its operations;
        "Global" where something happened outside of all modules."""
        depth, total = self.depth if depth is None else depth, self.get_total_flops()
        unit = max(0, min(len(UNITS) - 1, (len(str(total)) - 2) // 3))
        modules = sorted(name for name in self.flop_counts if name != "Global")
        shown = [(name.count("."), name) for name in modules if depth is None or name.count(".") < depth]
        if total and all(self.flop_counts[name].total() < total for _, name in shown):
            shown = [(0, "Global"), *((level + 1, name) for level, name in shown)]
        lines = []
        for level, name in shown:
            counts = self.flop_counts[name]
            for label, count in [(name, counts.total()), *((f" - {key}", n) for key, n in counts.items())]:
                text = f"{count / 1000**unit:.3f}{UNITS[unit]}"
                lines.append((" " * level + label, text, f"{count / total:.2%}"))
        return format_table([("Module", "FLOP", "% Total"), *(lines or [("Global", "0", "0%")])])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._fx_profile = profile(with_flops=True)
        self._fx_profile.__enter__()
        if self._fx_formulas:
            self._fx_handling.__enter__()
        assert self._fx_profile._fx_recording is not None
        self._fx_profile._fx_recording.take_note = self._fx_name_modules
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._fx_profile is not None and self._fx_profile._fx_recording is not None
        if self._fx_formulas:
            self._fx_handling.__exit__(*error)
        self._fx_profile.__exit__(*error)
        self.mod_tracker.__exit__()
        for event, name, flops in count_steps(self._fx_profile._fx_recording.events):
            formula = self._fx_formulas.get(getattr(aten, name))
            if formula is None:
                self._fx_add(event.note, getattr(aten, name), flops)
            elif operation_around(event).kind == "node":
                shapes = [shape for shape, _ in event.operands]
                self._fx_add(event.note, getattr(aten, name), formula(*shapes, out_val=None))
        self._fx_profile = None
        if self.display:
            print(self.get_table(self.depth))

    def _fx_add(self, modules: Sequence[str], operation: Any, flops: int) -> None:
        """Add a count to those of the modules in which an operation happened."""
        for module in modules:
            self.flop_counts[module][operation] += flops

    def _fx_name_modules(self) -> tuple[str, ...]:
        """Return the names of the modules in which a step happens."""
        return tuple(self.mod_tracker.parents)


def shape_of(x: Any) -> Any:
    """Return the shape of a Tensor; anything else itself, and sequences entry by entry."""
    if isinstance(x, list | tuple):
        return type(x)([shape_of(part) for part in x]) if type(x) in (list, tuple) else x
    return x.shape if isinstance(x, Tensor) else x


def with_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    """Wrap a formula of shapes as one of Tensors."""

    def count(*args: Any, out_val: Any = None, **params: Any) -> int:
        return formula(*map(shape_of, args), out_shape=shape_of(out_val), **params)

    return count


def register_flop_formula(
    targets: Any, get_raw: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Register a formula that says how many floating-point operations an operation takes, as a decorator.

    Args:
        targets: an operation, such as `torch.ops.aten.sin`, or several.
        get_raw: whether the formula is called with Tensors, `formula(*operands, out_val=result, **params)`; otherwise
            with their shapes, `formula(*shapes, out_shape=shape, **params)`.

    Raises:
        ValueError: something else than an operation is given.
        RuntimeError: an operation has a formula.

    >>> @torch.utils.flop_counter.register_flop_formula(torch.ops.aten.sinh)
    ... def count_sinh(shape, *args, out_shape=None, **params):
    ...     return 20 * shape.numel()
    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(5).sinh()
    >>> counter.get_total_flops()
    100
    >>> del torch.utils.flop_counter.flop_registry[torch.ops.aten.sinh]  # which no longer counts
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, list | tuple) else [targets]:
            if not isinstance(target, AtenPacket):
                raise ArgumentValueError(
                    "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. "
                    f"torch.ops.mylib.foo), JitFunction, or HigherOrderOperator, got {target} which is of type "
                    f"{type(target)}",
                    hint="torch.ops.aten.sin",
                )
            if target in flop_registry or str(target).removeprefix("aten.") in COUNTED:
                raise TensorError(
                    f"duplicate registrations for {target}",
                    hint="FlopCounterMode(custom_mapping={target: formula})",
                )
            flop_registry[target] = formula if get_raw else with_shapes(formula)
        return formula

    return register


COUNTED = ("addmm", "baddbmm", "bmm", "convolution", "convolution_backward", "mm")


class FormulaHandler(OperationHandler):
    """Counts the operations for which there is a formula."""

    def __init__(self, counter: FlopCounterMode):
        self.counter = counter

    def handle(self, call: OperationCall, proceed: Callable[[], Recorded]) -> Recorded:
        """Return what `proceed` returns, and count by the formula for the operation."""
        operation = called_operation(call.operation.name, call.operands, call.is_inplace).overloadpacket
        formula = self.counter._fx_formulas.get(operation)
        modes = current_modes()
        if formula is None and not call.is_inplace and len(modes.handlers) == 1:
            token = CURRENT.set(with_modes(CURRENT.get(), handlers=()))
            try:  # the profile sees the steps of what nobody handles
                outcome = run_plainly(call.operation, call.operands, {**call.params}, None)
            finally:
                CURRENT.reset(token)
            return outcome.value, outcome.node
        recorded = proceed()
        if formula is not None:
            is_single = call.operation.results is None
            made = [make_tensor(call.tape, v, None) for v in ([recorded[0]] if is_single else recorded[0])]
            flops = formula(*call.operands, out_val=made[0] if is_single else tuple(made), **call.params)
            self.counter._fx_add(self.counter._fx_name_modules(), operation, flops)
        return recorded


UNITS = ("", "K", "M", "B", "T")


def format_table(rows: Sequence[tuple[str, ...]]) -> str:
    """Lay out a head and rows of text, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    widths = [max(width, len(title) + 2) for width, title in zip(widths, rows[0])]
    lines = [
        "  ".join(
            text.rjust(width) if i else text.ljust(width) for i, (text, width) in enumerate(zip(row, widths))
        )
        for row in rows
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def count_steps(events: list[Event]) -> Iterator[tuple[Event, str, int]]:
    """Yield each step that has a count, the name of torch's operation, and the count."""
    forward: dict[int | None, Event] = {}
    for event in events:
        outer = operation_around(event)
        in_backward = outer.kind == "node"
        source = forward.get(outer.number, outer) if in_backward else outer
        if event is outer and event.kind == "operation":
            forward[event.number] = event
            if event.name in SHAPED:
                yield event, *count_product(event)
        elif event is outer and in_backward and source.name == ATTENTION:
            yield event, *backward_of_attention(source)
        elif not event.flops or source.name in VECTORS or (source is outer and source.name in SHAPED):
            continue
        elif source.name.startswith("conv"):
            name = "convolution_backward" if in_backward else "convolution"
            yield event, name, count_convolution(event, outer, source)
        else:
            yield event, name_of_product(event, source), event.flops


def count_convolution(event: Event, outer: Event, source: Event) -> int:
    """Return the count of a step of a convolution, or of its backward pass, where `outer` is the node, by the shapes of
    the input and the weights: as torch counts it, the weights' gradient once for each group."""
    x, weight = (shape for shape, _ in source.operands[:2])
    x = x if len(x) == len(weight) else (1, *x)
    transposed = source.name.startswith("conv_transpose")
    if outer is source:
        return 2 * x[0] * prod(x[2:]) * prod(weight) if transposed else event.flops
    channels = outer.operands[0][0][1 - len(weight)]
    made = outer.operands[0][0][2 - len(weight) :]
    flops = 2 * x[0] * prod(x[2:] if transposed else made) * prod(weight)
    groups = channels // weight[1] if transposed else x[1] // weight[1]
    grouped = sorted((groups, weight[0] // groups, *weight[1:]))
    of_input = any(sorted(shape) == grouped for shape, _ in event.operands)
    return flops if of_input or groups == 1 else flops * groups


def operation_around(event: Event) -> Event:
    """Return the operation, or the node of backward, in which an event happened: itself, if in none."""
    found: Event | None = event
    while found is not None and found.kind not in ("operation", "node"):
        found = found.parent
    return event if found is None else found


def count_product(event: Event) -> tuple[str, int]:
    """Return the name and the count of a product by the shapes of its operands."""
    shapes = [shape for shape, _ in event.operands]
    if event.name == "linear":
        has_bias = len(shapes) > 2 and bool(shapes[2])
        return "addmm" if has_bias else "mm", 2 * prod(shapes[0]) * shapes[1][0]
    left, right = shapes[1:3] if event.name in ("addmm", "baddbmm") else shapes[:2]
    return event.name, 2 * prod(left) * right[-1]


def name_of_product(event: Event, source: Event) -> str:
    """Return which product of torch's a step is: by the operation that it belongs to, forward or backward, and by the
    axes of the operands."""
    if source.name == ATTENTION:
        return name_of_attention(source)
    name = source.name.lower()
    operands = event.operands if source.kind == "node" else source.operands
    is_batched = name.startswith("matmul") and len(operands[1][0]) > 2
    return "bmm" if is_batched or name.startswith(("baddbmm", "bmm", "einsum")) else "mm"


def name_of_attention(event: Event) -> str:
    """Return the operation by which torch computes attention: one for four axes, products otherwise."""
    return "_scaled_dot_product_flash_attention" if len(event.operands[0][0]) == 4 else "bmm"


def backward_of_attention(event: Event) -> tuple[str, int]:
    """Return the name and the count of the backward pass of attention: four products, and with one operation a fifth,
    which computes the weights anew."""
    (query, _), (key, _), (value, _) = event.operands[:3]
    scores, mixed = (2 * prod(query) * key[-2], 2 * prod(query[:-1]) * prod(value[-2:]))
    if name_of_attention(event) == "bmm":
        return "bmm", 2 * (scores + mixed)
    return f"{name_of_attention(event)}_backward", 3 * scores + 2 * mixed
