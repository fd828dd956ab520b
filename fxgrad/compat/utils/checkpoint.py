"""Checkpoints: the values for backward are computed again instead of being saved.

In the non-reentrant form the function is recorded like any other, under hooks that save nothing: see `recomputation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from ...extend import CURRENT, is_object, pytree, use_context
from .._core.backward import engine
from .._core.modes import current_modes, with_modes
from .._core.tensor import Tensor
from .._declare.generated import entry_point
from .._make import generators
from ..autograd.function import Function
from ..autograd.grad_mode import no_grad
from ..autograd.gradients import backward
from ..autograd.saved_tensors_hooks import ensure_hooks_allowed
from ..errors import ArgumentValueError, CheckpointError, TensorError
from .recomputation import CheckpointedCall, GraphExecGroup, resume_rng
from .selective_checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)


def noop_context_fn() -> tuple[Any, Any]:
    """Return two context managers, for the first and the second run, that do nothing.

    >>> first, second = torch.utils.checkpoint.noop_context_fn()
    >>> with first:
    ...     x = torch.zeros(2)
    """
    return nullcontext(), nullcontext()


@entry_point
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
        context_fn: gives two context managers, for the first and for the second run: see
            `create_selective_checkpoint_contexts`.
        determinism_check: "default": shapes and dtypes in both runs are compared; "none".
        debug: whether a CheckpointError lists the operations of both runs, with the user's lines.
        early_stop: whether the second run is stopped when all is there that was saved in the first.
        preserve_rng_state: whether the second run draws the random numbers of the first.

    Raises:
        CheckpointError: in backward, the second run was different.
        ValueError: options that do not fit.

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
            raise ArgumentValueError(
                f"Unexpected keyword arguments: {','.join(kwargs)}",
                hint="use_reentrant=False, which passes keywords on to the function",
            )
        if context_fn is not noop_context_fn or debug:
            raise ArgumentValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False.",
                hint="use_reentrant=False, or leave both out",
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ArgumentValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}",
            hint='determinism_check="none" for functions whose shapes may differ from run to run',
        )
    debug = pick(DEBUG.get(), debug)
    if debug and context_fn is not noop_context_fn:
        raise ArgumentValueError(
            "debug=True is incompatible with non-default context_fn",
            hint="debug=False, or leave context_fn out",
        )
    first, second = context_fn()
    if not current_modes().is_recording:
        with first:
            return function(*args, **kwargs)
    ensure_hooks_allowed()
    call = CheckpointedCall(
        function,
        args,
        kwargs,
        second,
        preserves_rng=preserve_rng_state,
        compares_metadata=determinism_check == "default",
        stops_early=pick(EARLY_STOP.get(), early_stop),
        logs_operations=debug,
    )
    return call.run(args, kwargs, first)


def pick(switch: bool | None, given: bool) -> bool:
    """Return the option of the context manager, or else that of the call."""
    return given if switch is None else switch


def checkpoint_sequential(
    functions, segments: int, input, use_reentrant: bool | None = None, **kwargs
) -> Any:
    """Call functions one after the other in so many segments, all but the last of them checkpointed.

    Args:
        functions: a sequence of functions, or an `nn.Sequential`.
        segments: the number of parts.
        input: the argument of the first function.
        use_reentrant, preserve_rng_state: as for `checkpoint`.
        kwargs: `preserve_rng_state`; anything else is an error.

    Returns:
        What the last function returns.

    Raises:
        ValueError: there is no such option.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    >>> x = torch.ones(3, 2)
    >>> y = torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
    >>> torch.equal(y, model(x))
    True
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ArgumentValueError(
            f"Unexpected keyword arguments: {','.join(kwargs)}",
            hint="preserve_rng_state=True or False; a function around the modules takes what is constant",
        )
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


# What the context managers say, over what the calls say; None: nothing.
EARLY_STOP: ContextVar[bool | None] = ContextVar("fxgrad early stop of checkpoints", default=None)
DEBUG: ContextVar[bool | None] = ContextVar("fxgrad debugging of checkpoints", default=None)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context manager in which checkpoints have this `early_stop`, whatever they are called with.

    Args:
        enable: the option.

    >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1), use_reentrant=False)
    """
    token = EARLY_STOP.set(enable)
    try:
        yield
    finally:
        EARLY_STOP.reset(token)


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context manager in which checkpoints have this `debug`, whatever they are called with; None: theirs.

    Args:
        enabled: the option; None: that of each.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(False):
    ...     y = torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(1), use_reentrant=False)
    """
    token = DEBUG.set(enabled)
    try:
        yield
    finally:
        DEBUG.reset(token)


# -- with reentrance ------------------------------------------
class CheckpointFunction(Function):
    """A function that is not recorded; its backward pass runs it again, with a backward pass of its own."""

    @staticmethod
    def forward(ctx, function: Callable[..., Any], preserve_rng_state: bool, *args) -> Any:
        check_backward_validity(args)
        ctx.function, ctx.rng = function, generators.get_rng_state() if preserve_rng_state else None
        ctx.autocast = current_modes().autocast
        ctx.others = [None if isinstance(a, Tensor) else (a,) for a in args]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads) -> Any:
        if engine.is_for_inputs_only():
            raise TensorError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument.",
                hint="use_reentrant=False",
            )
        rest = iter(ctx.saved_tensors)
        inputs = detach_variable(tuple([next(rest) if entry is None else entry[0] for entry in ctx.others]))
        with resume_rng(ctx.rng), use_context(with_modes(CURRENT.get(), grad=True, autocast=ctx.autocast)):
            outputs = ctx.function(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise TensorError(
                "none of output has requires_grad=True, this checkpoint() is not necessary",
                hint="requires_grad_() of an input, or call the function itself, without checkpoint",
            )
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *[x.grad if isinstance(x, Tensor) else None for x in inputs]


def check_backward_validity(inputs: Sequence[Any]) -> None:
    """Warn if no argument of a reentrant checkpoint requires a gradient."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=6)


def detach_variable(inputs: tuple) -> tuple:
    """Detach Tensors from their history; they still require a gradient if they did before."""
    return tuple([x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs])


class DefaultDeviceType:
    """The type of the devices whose generators checkpoints keep besides the CPU's. There is one generator here.

    >>> torch.utils.checkpoint.DefaultDeviceType.get_device_type()
    'cuda'
    """

    _fx_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Set the type of device."""
        DefaultDeviceType._fx_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """Return the type of device."""
        return DefaultDeviceType._fx_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Return the devices of the Tensors among arguments that are not on the CPU, and their generators' states.

    Code that computes results again on its way back takes them along, with `torch.get_rng_state()`.

    Args:
        args: any objects.

    >>> torch.utils.checkpoint.get_device_states(torch.ones(2), 3)
    ([], [])
    """
    found = [a.device for a in pytree.leaves(args, is_object) if isinstance(a, Tensor)]
    devices = [d.index or 0 for d in found if d.type not in ("cpu", "meta")]
    return devices, [generators.get_rng_state() for _ in devices]


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set the generators of devices to states from `get_device_states`.

    Args:
        device_type: the kind of device; None: that of the CPU.

    Returns:
        None.

    >>> devices, states = torch.utils.checkpoint.get_device_states(torch.zeros(2))
    >>> torch.utils.checkpoint.set_device_states(devices, states)
    """
    for _, state in zip(devices, states):
        generators.set_rng_state(state)


__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]
