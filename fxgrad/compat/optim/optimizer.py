"""Optimizer: groups of parameters with their options, the state of each, and a step.

An optimizer is a rule for one parameter, on arrays: `update(value, gradient, state, options)` returns the new value. It
may write into what it was given, and must use what the operators return: traced values have no memory to write into.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import source_info
from ...core.interpreter import CURRENT, api_boundary
from .._core.bits import has_bit, memory_array, write_memory
from .._core.errors import ArgumentError, ArgumentValueError, NotSupportedError
from .._core.memory import VERSIONS, ensure_no_overlap, is_array
from .._core.modes import current_modes
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._core.views import rebind_value
from ..autograd.grad_mode import enable_grad
from ..nn.modules.functional_modules import make_constructor
from ..nn.modules.module import clear_grad
from .blocks import is_for_blocks, update_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


OPTION_NAMES = {"lr": "learning rate", "eps": "epsilon value"}


def note_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `step` of an optimizer, so that it notes that there was one: see `lr_scheduler`. To a profile it is one
    step as well."""

    @wraps(step)
    def wrapper(self, *args, **kwargs) -> Any:
        self._opt_called = True
        observer = CURRENT.get().observer
        if observer is None:
            return step(self, *args, **kwargs)
        name = f"Optimizer.step#{type(self).__name__}.step"
        return observer.observe("user", name, (), partial(step, self, *args, **kwargs))

    return wrapper


class Optimizer:
    """The base of all optimizers.

    `param_groups` are dicts of options with their "params"; `state` has a dict of Tensors for each parameter.
    """

    fixed: dict[str, Any] = {}  # noqa: RUF012
    non_negative = ""  # the options that may not be negative
    is_elementwise = False  # whether `update` treats each entry by itself

    def __init_subclass__(cls, options: str | None = None, fixed: dict[str, Any] | None = None, **rest):
        """Give the class the parameters `options`; the options that are `fixed` are none of them."""
        super().__init_subclass__(**rest)
        if "step" in cls.__dict__:
            cls.step = note_step(cls.step)  # type: ignore[method-assign]
        if options is not None:
            cls.fixed = fixed or {}
            cls.__init__ = api_boundary(make_constructor(f"params, {options}", start_with_options))

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]):
        self.defaults = defaults
        self.state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        if isinstance(params, Tensor):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type()
            )
        groups = list(params)
        if not groups:
            raise ArgumentValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    @api_boundary
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own; those not given are the defaults.

        Raises:
            TypeError: what is no Tensor.
            ValueError: no leaf; a parameter that is in another group; an option out of range.
        """
        if not isinstance(param_group, dict):
            raise ArgumentError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise ArgumentError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        if params and isinstance(params[0], tuple):
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise ArgumentError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}"
                )
            if not p.is_leaf:
                raise ArgumentValueError("can't optimize a non-leaf Tensor")
        taken = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in taken for p in params):
            raise ArgumentValueError("some parameters appear in more than one parameter group")
        group = self.defaults | param_group | {"params": params}
        self.check(group)
        self.param_groups.append(group)

    def check(self, options: dict[str, Any]) -> None:
        """Raise for options out of range."""
        for name in self.non_negative.split():
            check_option(options[name] >= 0, OPTION_NAMES.get(name, f"{name} value"), options[name])

    def update(self, value, gradient, state: dict[str, Any], options: dict[str, Any]) -> Any:
        """The new value of a parameter; see the module."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or make them zero."""
        observer = CURRENT.get().observer
        if observer is None:
            self._clear_grads(set_to_none)
        else:
            name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
            observer.observe("user", name, (), partial(self._clear_grads, set_to_none))

    def _clear_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

    @note_step
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what `closure`, called first, returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        site = source_info.user_frame()
        with np.errstate(all="ignore"):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self.update_parameter(p, group, site)
        return loss

    def update_parameter(self, p, group: dict[str, Any], site) -> None:
        """Update one parameter."""
        mutations = current_modes().mutations
        if mutations is not None:
            mutations.keep(memory_array(p))
        value, gradient = refresh(p).value, refresh(p.grad).value
        if is_array(value):
            ensure_no_overlap(value)
            value = whole = value.copy() if has_bit(p) else value
        if value.dtype.kind == "c" and is_array(value):  # as pairs of real numbers
            value, gradient = as_real_pairs(value), as_real_pairs(gradient)
        kept = self.state.get(p, {})
        state = {name: x.value if isinstance(x, Tensor) else x for name, x in kept.items()}
        options = {
            name: x.value if isinstance(x, Tensor) else x for name, x in group.items() if name != "params"
        }
        if options["maximize"]:
            gradient = -gradient
        if self.is_elementwise and is_for_blocks(value, gradient, state):
            new = update_blocks(self.update, value, gradient, state, options)
        else:
            new = self.update(value, gradient, state, options)
        for name, x in state.items():
            known = kept.get(name)
            if isinstance(known, Tensor):
                known.value = make_tensor(known.tape, x).value
            else:
                kept[name] = make_tensor(current_tape(), x) if hasattr(x, "shape") else x
        if kept:
            self.state[p] = kept
        if not is_array(value) or not is_array(new):
            rebind_value(p, new)
            return
        if new is not value:
            value[...] = new
        if has_bit(p):
            write_memory(p, whole)
        VERSIONS.record_change(memory_array(p), "step_", site)

    # -- the state out and in ------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The options, and the state of each parameter, by its number among all."""
        numbers = {id(p): i for i, p in enumerate(self._params())}
        return {
            "state": {numbers[id(p)]: dict(state) for p, state in self.state.items()},
            "param_groups": [
                {**group, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned. What belongs to the entries of a parameter takes its dtype.

        Raises:
            ValueError: there are other groups, or other numbers of parameters in them.
        """
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ArgumentValueError("loaded state dict has a different number of parameter groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(groups, self.param_groups)):
            raise ArgumentValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        params = dict(zip(chain.from_iterable(group["params"] for group in groups), self._params()))
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            p = params[number]
            self.state[p] = {name: load_entry(name, x, p) for name, x in state.items()}
        for old, new in zip(self.param_groups, groups):
            old.update({name: x for name, x in new.items() if name != "params"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take attributes back, as copies and pickles do; optimizers of one's own add here what older ones lack."""
        self.__dict__.update(state)

    def _params(self) -> Any:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def as_real_pairs(array) -> Any:
    """A complex array as a real one in the same memory, with real and imaginary parts along a last axis."""
    return array[..., None].view(np.dtype(f"f{array.itemsize // 2}"))


def start_with_options(self, given: dict[str, Any]) -> None:
    """The `__init__` of an optimizer whose options are declared."""
    params = given.pop("params")
    options = given | self.fixed
    if options["differentiable"]:
        raise NotSupportedError(
            "differentiable=True: steps are not recorded",
            hint="compute new parameters from gradients made with create_graph=True, for func.functional_call",
        )
    Optimizer.__init__(self, params, options)


def load_entry(name: str, x, p) -> Any:
    """Convert a loaded entry of the state of a parameter to its dtype."""
    if not isinstance(x, Tensor) or name == "step":
        return x
    x = x.detach().clone()
    return x.to(p.dtype) if p.dtype.is_floating_point else x


def check_option(holds: bool, name: str, value) -> None:
    """Raise for an option out of range."""
    if not holds:
        raise ArgumentValueError(f"Invalid {name}: {value}")
