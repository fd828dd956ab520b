"""Optimizers given by a rule for one parameter, on arrays: `update(value, gradient, state, options)` returns the new
value. It may write into its arguments, and must use what the operators return, because traced values cannot be modified
in place.

`foreach`, `fused` and `capturable` select among torch's implementations: they are accepted, and have no effect. With
`differentiable` the rules compute with traced values, so that steps are recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...extend import Tracer, api_boundary, ops, source_info, use_device_of
from .._core.bits import has_bit, memory_array, write_memory
from .._core.dtypes import get_default_dtype
from .._core.memory import VERSIONS, ensure_no_overlap, is_array
from .._core.modes import current_modes
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh, to_tracer, unwrap, wrap
from .._core.views import rebind_value
from .._declare.constructors import make_constructor
from .._declare.packages import complete_by_package
from ..autograd.grad_mode import enable_grad, no_grad
from ..errors import TensorError
from ..ops.complex import view_as_complex, view_as_real
from .blocks import is_for_blocks, update_blocks
from .optimizer import Optimizer, check_learning_rate, check_option

NUMBERS = {"step", "mu_product", "eta", "mu"}  # entries of the state that are numbers, and not recorded
OPTION_NAMES = {"lr": "learning rate", "eps": "epsilon value"}


class RuleOptimizer(Optimizer):
    """The base of the optimizers that are a rule for one parameter; see the module."""

    _fx_fixed: dict[str, Any] = {}  # noqa: RUF012
    _fx_non_negative = ""  # the options that may not be negative
    _fx_order = ""  # options that are in this order in groups, where it is not that of the parameters
    _fx_fractions = ""  # the options that are from 0 to 1
    _fx_is_elementwise = True  # whether `update` treats each entry by itself

    def __init_subclass__(cls, options: str | None = None, fixed: dict[str, Any] | None = None, **rest):
        """Give the class the parameters `options`; the options that are `fixed` are none of them."""
        super().__init_subclass__(**rest)
        if options is not None:
            cls._fx_fixed = fixed or {}
            cls.__init__ = api_boundary(make_constructor(f"params, {options}", start_with_options))  # type: ignore[method-assign]
            complete_by_package(cls, "optim")

    def _fx_check(self, options: dict[str, Any]) -> None:
        """Raise for options out of range.

        Raises:
            ValueError, RuntimeError: they are out of range, or contradict each other.
        """
        check_learning_rate(options["lr"])
        for name in self._fx_non_negative.split():
            check_option(
                options[name] >= 0, OPTION_NAMES.get(name, f"{name} value"), options[name], "0 or more"
            )
        for name in self._fx_fractions.split():
            check_option(0 <= options[name] <= 1, f"{name} value", options[name], "a number from 0 to 1")
        for i, beta in enumerate(options.get("betas", ())):
            check_option(
                0 <= beta < 1, f"beta parameter at index {i}", beta, "from 0 to below 1, such as 0.9"
            )
        if options.get("fused"):
            if options["differentiable"]:
                raise TensorError("`fused` does not support `differentiable`", hint="fused=False")
            if options["foreach"]:
                raise TensorError("`fused` and `foreach` cannot be `True` together.", hint="foreach=False")

    def _fx_update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        """The new value of a parameter; see the module.

        Args:
            value: the value.
            gradient: its gradient, of the same shape.
            state: what is kept of the parameter, which this writes into.
            options: those of its group.

        Raises:
            ValueError, RuntimeError: options or a gradient that the rule does not allow.
        """
        raise NotImplementedError

    def _fx_update_sparse(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """Update a parameter by a sparse gradient.

        Args:
            p: the parameter.
            gradient: its gradient.
            options: those of its group.
            site: the line of the program, for messages.

        Raises:
            RuntimeError: the rule needs all entries.
        """
        raise TensorError(
            f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam instead",
            hint="sparse=False of the Embedding, or gradient.to_dense()",
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what `closure`, called first, returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        site = source_info.user_frame()
        with np.errstate(all="ignore"):
            for group in self.param_groups:
                recorded = group.get("differentiable", False)
                options = {name: read_option(x, recorded) for name, x in group.items() if name != "params"}
                for p in group["params"]:
                    gradient = p.grad
                    if gradient is None:
                        continue
                    if getattr(gradient, "is_sparse", False):
                        with enable_grad() if recorded else no_grad():
                            self._fx_update_sparse(p, gradient, options, site)
                    elif recorded:
                        self._fx_record_update(p, gradient, options)
                    else:
                        with use_device_of([p._fx_value], "step"):
                            self._fx_update_parameter(p, gradient, options, site)
        return loss

    def _fx_update_parameter(self, p: Tensor, gradient: Tensor, options: dict[str, Any], site) -> None:
        """Update one parameter in its memory.

        Args:
            p: the parameter.
            gradient: its gradient.
            options: those of its group.
            site: the line of the program, for messages.
        """
        mutations = current_modes().mutations
        if mutations is not None:
            mutations.keep(memory_array(p))
        value, slope = refresh(p)._fx_value, refresh(gradient)._fx_value
        whole = None
        if is_array(value):
            ensure_no_overlap(value)
            value = whole = value.copy() if has_bit(p) else value
        kept = self.state.get(p, {})
        state = {name: x._fx_value if isinstance(x, Tensor) else x for name, x in kept.items()}
        is_complex = value.dtype.kind == "c" and is_array(value)
        if is_complex:
            value, slope = as_real_pairs(value), as_real_pairs(slope)
            state = {name: as_real_pairs(x) if is_complex_array(x) else x for name, x in state.items()}
        if options.get("maximize"):
            slope = -slope
        if self._fx_is_elementwise and is_for_blocks(value, slope, state):
            new = update_blocks(self._fx_update, value, slope, state, options)
        else:
            new = self._fx_update(value, slope, state, options)
        for name, x in state.items():
            known = kept.get(name)
            if isinstance(known, Tensor) and known._fx_value is x:  # written into
                continue
            if name not in NUMBERS and x.dtype != value.dtype:  # of bfloat16 beside Python's numbers
                x = x.astype(value.dtype)
            if is_complex and np.ndim(x):
                x = from_real_pairs(x)
            if isinstance(known, Tensor):
                known._fx_value = make_tensor(known._fx_tape, x)._fx_value
            else:
                kept[name] = make_tensor(current_tape(), x) if hasattr(x, "shape") else x
        if kept:
            self.state[p] = kept
        if whole is None or not is_array(new):
            rebind_value(p, new)
            return
        if new is not value:
            value[...] = new
        if has_bit(p):
            write_memory(p, whole)
        VERSIONS.record_change(memory_array(p), "step_", site)

    def _fx_record_update(self, p: Tensor, gradient: Tensor, options: dict[str, Any]) -> None:
        """Update one parameter by recorded operations: the new value and the new state depend on what they were
        computed of.

        Args:
            p: the parameter.
            gradient: its gradient.
            options: those of its group.

        Raises:
            RuntimeError: the parameter is a leaf that requires a gradient.
        """
        with enable_grad():
            pairs: Callable[[Any], Any] = view_as_real if p.is_complex() else lambda x: x
            back: Callable[[Any], Any] = view_as_complex if p.is_complex() else lambda x: x
            kept = self.state[p]
            state = {}
            for name, x in kept.items():
                if not isinstance(x, Tensor):
                    state[name] = x
                else:
                    state[name] = x._fx_value if name in NUMBERS else to_tracer(pairs(x))
            slope = to_tracer(pairs(gradient.neg() if options["maximize"] else gradient))
            new = self._fx_update(to_tracer(pairs(p)), slope, state, options)
            for name, x in state.items():
                made = wrap(x) if hasattr(x, "shape") else x
                kept[name] = back(made) if isinstance(made, Tensor) and name not in NUMBERS else made
            p.copy_(back(wrap(new)))


def start_with_options(self: RuleOptimizer, given: dict[str, Any]) -> None:
    """The `__init__` of an optimizer whose options are declared."""
    params = given.pop("params")
    options = given | self._fx_fixed
    self._fx_check(options)
    ordered = iter(self._fx_order.split())
    moved = {*self._fx_order.split()}
    names = [next(ordered) if name in moved else name for name in options]
    Optimizer.__init__(self, params, {name: options[name] for name in names})


def read_option(x, recorded: bool) -> Any:
    """Return an option as rules use it: a Tensor as a number, unless its part in the step is to be recorded."""
    if isinstance(x, tuple):
        return tuple([read_option(part, recorded) for part in x])
    if not isinstance(x, Tensor):
        return x
    value = unwrap(x)
    return value.item() if is_array(value) else value.reshape(())


# -- complex parameters ------------------------------------------
def is_complex_array(x) -> bool:
    """Whether a value is an array of complex numbers."""
    return is_array(x) and x.dtype.kind == "c"


def as_real_pairs(array) -> Any:
    """A complex array as a real one in the same memory, with real and imaginary parts along a last axis."""
    return array[..., None].view(np.dtype(f"f{array.itemsize // 2}"))


def from_real_pairs(array) -> Any:
    """The complex array in the memory of an array of pairs."""
    whole = array if array.strides[-1] == array.itemsize else array.copy()
    return whole.view(np.dtype(f"c{2 * array.itemsize}"))[..., 0]


# -- of which rules are made ------------------------------------------
def copy_array(x) -> Any:
    """Copy an array; traced values need no copy."""
    return x.copy() if is_array(x) else x


def state_entry(state: dict[str, Any], name: str, like) -> Any:
    """Return an entry of the state, which begins as zeros."""
    if name not in state:
        state[name] = np.zeros_like(like) if isinstance(like, np.ndarray) else ops.zeros_like(like)
    return state[name]


def number_entry(value: float) -> np.ndarray:
    """Return a number as the state keeps it: in single precision, unless the default is double."""
    return np.asarray(value, np.float64 if get_default_dtype().itemsize == 8 else np.float32)


def add_to(place, x) -> Any:
    """place + x, in the memory of `place` unless x is traced."""
    if isinstance(x, Tracer):
        return place + x
    place += x
    return place


def scale(place, factor) -> Any:
    """place · factor, in the memory of `place` unless the factor is traced."""
    if isinstance(factor, Tracer):
        return place * factor
    place *= factor
    return place


def add_decay(gradient, value, options: dict[str, Any]) -> Any:
    """Add the gradient of the penalty weight_decay · value²/2."""
    decay = options["weight_decay"]
    return gradient + decay * value if decay else gradient


def decay_weights(value, gradient, options: dict[str, Any]) -> tuple[Any, Any]:
    """(value, gradient) after weight decay, which is part of the gradient unless it is decoupled from it."""
    decay = options["weight_decay"]
    if not decay:
        return value, gradient
    if options["decoupled_weight_decay"]:
        return scale(value, 1 - options["lr"] * decay), gradient
    return value, gradient + decay * value


def count_step(state: dict[str, Any]) -> float:
    """Count this step, and return its number."""
    known = state.get("step")
    if known is None:
        state["step"] = number_entry(1)
    else:
        state["step"] = np.asarray(known + 1, getattr(known, "dtype", np.float32))
    return float(state["step"])


def follow_mean(state: dict[str, Any], name: str, x, rate: float) -> Any:
    """Move an entry of the state towards `x` by a fraction: mean + rate · (x - mean); return it."""
    mean = state_entry(state, name, x)
    mean = state[name] = add_to(mean, rate * (x - mean))
    return mean


def follow_square(state: dict[str, Any], name: str, x, beta: float) -> Any:
    """Move an entry of the state towards x²: beta · square + (1 - beta) · x²; return it."""
    square = scale(state_entry(state, name, x), beta)
    square = state[name] = add_to(square, (1 - beta) * (x * x))
    return square
