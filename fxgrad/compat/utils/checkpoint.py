"""Checkpoints: residuals that backward needs are computed again instead of being saved.

Without reentrance the function is recorded like any other. When it has run, its nodes give up what they kept; the
first that is asked for it again has the function run once more, and the nodes of the second run, which are in the same
order, hand over what they keep. So everything that works on the tape works here: gradients of Tensors closed over,
`autograd.grad`, higher derivatives, transforms.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ...core import pytree
from ...core.aval import aval_of
from ...core.interpreter import EVAL, api_boundary, use_context
from .._core.backward import engine
from .._core.errors import ArgumentValueError, TensorError
from .._core.memory import ensure_unmodified
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE_TAPE, FREED, AccumulateGrad, Node, current_tape, next_serial, node_and_index
from .._core.tensor import Tensor
from .._make import generators
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.gradients import backward
from ..func.arguments import flatten_tree
from ..func.transform_levels import record_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RESIDUALS_SLOT: Any = Node.__dict__["residuals"]


class CheckpointError(TensorError):
    """The function did not do the same when it was run again."""


def noop_context_fn() -> tuple[Any, Any]:
    """Return two context managers, for the first and the second run, that do nothing."""
    return nullcontext(), nullcontext()


@api_boundary
def checkpoint(
    function: Callable[..., Any],
    *args,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs,
) -> Any:
    """The result of function(*args, **kwargs), of which backward computes the intermediate values again.

    Args:
        function: it must do the same in both runs.
        use_reentrant: True: nothing is recorded until `backward()`, in which another one is run; only where an argument
            requires a gradient, and not for `autograd.grad`. False is better in every respect. To be given.
        context_fn: gives two context managers, for the first and for the second run.
        determinism_check: "default": shapes and dtypes in both runs are compared; "none".
        debug: nothing more: errors name the lines without it.
        early_stop: whether more operations in the second run are no error.
        preserve_rng_state: whether the second run draws the random numbers of the first.

    Raises:
        CheckpointError: in backward, the second run was different.
        ValueError: options that do not fit.

    >>> import fxgrad.compat as torch
    >>> x = torch.tensor(0.0, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    >>> y.backward()
    >>> x.grad.numpy()
    array(1., dtype=float32)
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True.",
            stacklevel=3,
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ArgumentValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
        if context_fn is not noop_context_fn or debug:
            raise ArgumentValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ArgumentValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    first, second = context_fn()
    if EARLY_STOP.get() is not None:
        early_stop = bool(EARLY_STOP.get())
    run = CheckpointedCall(
        function, args, kwargs, second, preserve_rng_state, determinism_check == "default", early_stop
    )
    with first:
        result = function(*args, **kwargs)
    if current_modes().is_recording:
        run.take_over(nodes_since(run.start, result))
    return result


def checkpoint_sequential(
    functions, segments: int, input, use_reentrant: bool | None = None, **kwargs
) -> Any:
    """Call functions one after the other in so many segments, all but the last of them checkpointed.

    Args:
        functions: a sequence of functions, or an `nn.Sequential`.
        segments: the number of parts.
        input: the argument of the first function.
        use_reentrant, preserve_rng_state: as for `checkpoint`.
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ArgumentValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments

    def chain(part: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
        def run(value) -> Any:
            for function in part:
                value = function(value)
            return value

        return run

    last = size * (segments - 1)
    for start in range(0, last, size):
        part = chain(functions[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return chain(functions[last:])(input)


# -- without reentrance ------------------------------------------
class CheckpointedCall:
    """A checkpointed call, which can be made again to recompute the residuals of its nodes."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple,
        kwargs: dict,
        context,
        preserve: bool,
        compares_metadata: bool,
        early_stop: bool,
    ):
        self.function, self.args, self.kwargs, self.context = function, args, kwargs, context
        self.check, self.early_stop = compares_metadata, early_stop
        self.tape, self.modes = current_tape(), current_modes()
        self.rng = generators.get_rng_state() if preserve else None
        self.start = next_serial()
        self.known: list[list[Any]] = []  # what the nodes saved in the first run: shapes and dtypes
        self.found: dict[int, Any] = {}

    def take_over(self, nodes: Sequence[Node]) -> None:
        """Take their residuals from the nodes of the first run."""
        for i, node in enumerate(nodes):
            self.known.append(residual_metadata(node))
            node.__class__ = CheckpointedNode
            node.run, node.place, node.residuals = self, i, None  # type: ignore[attr-defined]

    def residuals(self, place: int) -> Any:
        """The residuals of the node at a place."""
        if place not in self.found:
            self.rerun()
        return self.found.pop(place)

    def rerun(self) -> None:
        """Run the function once more."""
        self.ensure_unmodified()
        base = with_modes(EVAL, **self.modes._replace(grad=True)._asdict())
        inside = use_context(base) if self.tape is BASE_TAPE else record_on(self.tape)
        with resume_rng(self.rng), inside, self.context:
            start = next_serial()
            nodes = nodes_since(start, self.function(*self.args, **self.kwargs))
        self.check_same([residual_metadata(node) for node in nodes])
        self.found = {i: node.residuals for i, node in enumerate(nodes[: len(self.known)])}

    def ensure_unmodified(self) -> None:
        """Raise if an argument was modified in place since the first run."""
        for x in flatten_tree((self.args, self.kwargs))[0]:
            if isinstance(x, Tensor) and x.grad_fn is not None:
                ensure_unmodified(x.value, self.start)

    def check_same(self, new: list[list[Any]]) -> None:
        """Raise if the second run was different."""
        counts = sum(map(len, self.known)), sum(map(len, new))
        if len(new) > len(self.known) and not self.early_stop:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                "forward pass."
            )
        if len(new) < len(self.known):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {counts[0]}\nNumber of tensors saved during "
                f"recomputation: {counts[1]}"
            )
        pairs = [(a, b) for old, now in zip(self.known, new) for a, b in zip(old, now)]
        lines = [
            f"tensor at position {i}:\nsaved metadata: {a}\nrecomputed metadata: {b}"
            for i, (a, b) in enumerate(pairs)
            if a != b
        ]
        if self.check and lines:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(lines)
            )


class CheckpointedNode(Node):
    """A Node without residuals, which has them computed again when it needs them."""

    __slots__ = ()
    run: CheckpointedCall
    place: int

    @property
    def residuals(self) -> Any:
        """The residuals of the rule, computed again."""
        kept = RESIDUALS_SLOT.__get__(self)
        if kept is None:
            kept = self.run.residuals(self.place)
            RESIDUALS_SLOT.__set__(self, kept)
        return kept

    @residuals.setter
    def residuals(self, value) -> None:
        RESIDUALS_SLOT.__set__(self, value)


def nodes_since(start: int, result) -> list[Node]:
    """The nodes behind a result that were made since `start` and save something, the earliest first."""
    found: dict[Node, None] = {}
    stack = [t.grad_fn for t in flatten_tree(result)[0] if isinstance(t, Tensor)]
    while stack:
        node = stack.pop()
        if node is None or node in found or type(node) is AccumulateGrad or node.order < start:
            continue
        found[node] = None
        stack += [node_and_index(p)[0] for p in node.next_edges if p is not None]
    kept = [n for n in found if type(n) is Node and n.rule.saved_from and n.residuals is not FREED]
    return sorted(kept, key=lambda n: n.order)


def residual_metadata(node: Node) -> list[Any]:
    """The avals of a node's residuals."""
    return [aval_of(v) for v in pytree.leaves(node.residuals) if hasattr(v, "shape") and hasattr(v, "dtype")]


# What `set_checkpoint_early_stop` says, over what the calls say; None: nothing.
EARLY_STOP: ContextVar[bool | None] = ContextVar("fxgrad early stop of checkpoints", default=None)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context manager in which checkpoints have this `early_stop`, whatever they are called with."""
    token = EARLY_STOP.set(enable)
    try:
        yield
    finally:
        EARLY_STOP.reset(token)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context manager that sets `debug` of checkpoints, which changes nothing here."""
    yield


@contextmanager
def resume_rng(state) -> Iterator[None]:
    """A context manager in which the default generator goes on from this state; after it, from where it was."""
    if state is None:
        yield
        return
    before = generators.get_rng_state()
    generators.set_rng_state(state)
    try:
        yield
    finally:
        generators.set_rng_state(before)


# -- with reentrance ------------------------------------------
class CheckpointFunction(Function):
    """A function that is not recorded, and is run again by a backward of its own within backward."""

    @staticmethod
    def forward(ctx, function: Callable[..., Any], preserve_rng_state: bool, *args) -> Any:
        check_backward_validity(args)
        ctx.function, ctx.rng = function, generators.get_rng_state() if preserve_rng_state else None
        ctx.others = [None if isinstance(a, Tensor) else (a,) for a in args]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads) -> Any:
        if engine.INPUTS_ONLY.get():
            raise TensorError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        rest = iter(ctx.saved_tensors)
        inputs = detach_variable(tuple([next(rest) if entry is None else entry[0] for entry in ctx.others]))
        with resume_rng(ctx.rng), enable_grad():
            outputs = ctx.function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise TensorError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in inputs]


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no argument of a reentrant checkpoint requires a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=6)


def detach_variable(inputs: tuple) -> tuple:
    """Tensors without their history, which require a gradient where they did."""
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]
