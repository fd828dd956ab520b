"""Optimizer: groups of parameters with their options, the state of each, and hooks around steps."""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial, wraps
from itertools import chain
from typing import Any, TypeAlias

from ...extend import CURRENT, api_boundary
from .. import _surface  # noqa: F401  Tensors have all their methods
from .._core.hooks import HookList, RemovableHandle
from .._core.tensor import Tensor
from ..errors import ArgumentError, ArgumentValueError, TensorError
from ..nn.modules.module import clear_grad
from .support import (  # noqa: F401  optimizers written for torch import them from here
    _capturable_doc,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _differentiable_doc,
    _disable_dynamo_if_unsupported,
    _foreach_doc,
    _foreach_supported_types,
    _fused_doc,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _group_tensors_by_device_and_dtype,
    _maximize_doc,
    _params_doc,
    _stack_if_compiling,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
)

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

HOOK_KINDS = (
    "step_pre",
    "step_post",
    "state_dict_pre",
    "state_dict_post",
    "load_state_dict_pre",
    "load_state_dict_post",
)
GLOBAL_PRE_HOOKS, GLOBAL_POST_HOOKS = HookList(), HookList()  # around the steps of all optimizers


class _RequiredParameter:
    """The default of an option that every group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register hook(optimizer, args, kwargs) to be called before the steps of all optimizers; see
    `Optimizer.register_step_pre_hook`."""
    return GLOBAL_PRE_HOOKS.add(hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register hook(optimizer, args, kwargs) to be called after the steps of all optimizers."""
    return GLOBAL_POST_HOOKS.add(hook)


def note_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `step` of an optimizer: it calls the hooks, and notes that there was a step, see `lr_scheduler`. To a
    profile it is one step as well. Where it is called by the `step` of a subclass, it is part of that one. An optimizer
    around another, which has not called `Optimizer.__init__`, has no hooks."""

    @wraps(step)
    def wrapper(self, *args, **kwargs) -> Any:
        if type(self).step is not wrapper or "_optimizer_step_pre_hooks" not in self.__dict__:
            return step(self, *args, **kwargs)
        self._opt_called = True
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        run = step
        if before or after or GLOBAL_PRE_HOOKS or GLOBAL_POST_HOOKS:
            run = partial(step_with_hooks, step)
        observer = CURRENT.get().observer
        if observer is None:
            return run(self, *args, **kwargs)
        name = f"Optimizer.step#{type(self).__name__}.step"
        return observer.observe("user", name, (), partial(run, self, *args, **kwargs))

    return wrapper


def step_with_hooks(step: Callable[..., Any], self: Optimizer, *args, **kwargs) -> Any:
    """Make a step between its hooks. They get the optimizer among the arguments, as torch's do."""
    args = (self, *args)
    for hook in chain(GLOBAL_PRE_HOOKS.to_list(), list(self._optimizer_step_pre_hooks.values())):
        found = hook(self, args, kwargs)
        if found is None:
            continue
        if not isinstance(found, tuple) or len(found) != 2:
            raise TensorError(
                f"{step} must return None or a tuple of (new_args, new_kwargs), but got {found}.",
                hint="return args, kwargs, or nothing",
            )
        args, kwargs = found
    result = step(*args, **kwargs)
    for hook in chain(list(self._optimizer_step_post_hooks.values()), GLOBAL_POST_HOOKS.to_list()):
        hook(self, args, kwargs)
    return result


class Optimizer:
    """The base of all optimizers: subclasses define `step`.

    `param_groups` are dicts of options with their "params"; `state` has a dict of Tensors for each parameter.

    Args:
        params: Tensors, or pairs of a name and a Tensor, or groups: dicts with their "params" and options.
        defaults: the options of groups that do not give their own; `required` for those that they must give.

    Raises:
        TypeError, ValueError: see `add_param_group`; no parameters at all.

    >>> class Descent(torch.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @torch.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = Descent([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.detach()
    tensor([0.8000])
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init_subclass__(cls, **rest):
        super().__init_subclass__(**rest)
        if "step" in cls.__dict__:
            cls.step = note_step(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]):
        self.defaults = defaults
        self._fx_begin_hooks()
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        if isinstance(params, Tensor):
            raise ArgumentError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type(),
                hint="[x]",
            )
        groups: list[Any] = list(params)
        if not groups:
            raise ArgumentValueError(
                "optimizer got an empty parameter list",
                hint="module.parameters(); a generator is used up by the first list(…), so make it anew",
            )
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    profile_hook_step = staticmethod(note_step)

    def _fx_begin_hooks(self) -> None:
        """Begin with no hooks if there are no lists of them yet."""
        for kind in HOOK_KINDS:
            self.__dict__.setdefault(f"_optimizer_{kind}_hooks", HookList())
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"

    _patch_step_function = (
        _fx_begin_hooks  # which an optimizer around another calls instead of `Optimizer.__init__`
    )

    # -- parameters ------------------------------------------
    @api_boundary
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own; those not given are the defaults.

        Args:
            param_group: its "params" are Tensors, or pairs of a name and a Tensor as in all other groups. The dict
                itself becomes the group.

        Raises:
            TypeError: what is no Tensor.
            ValueError: no leaf; a parameter that is in another group; names in some groups only; a required option
                that is not there.
        """
        if not isinstance(param_group, dict):
            raise ArgumentError(
                f"param_group must be a dict, but got {type(param_group)}",
                hint='{"params": list(module.parameters()), "lr": 0.1}',
            )
        given = param_group["params"]
        if isinstance(given, set):
            raise ArgumentError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead.",
                hint="list(module.parameters()), which has each of them once",
            )
        params = [given] if isinstance(given, Tensor) else list(given)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names:
            if len(names) < len(params):
                raise ArgumentValueError(
                    "all optimizer params should be with/without names. Some param names are missing",
                    hint="list(module.named_parameters()), or module.parameters() without names",
                )
            param_group["param_names"], params = names, [p[1] for p in params]
        param_group["params"] = params
        for p in params:
            if not isinstance(p, Tensor):
                raise ArgumentError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}",
                    hint="module.parameters(), list(d.values()) of a dict d; or pairs of a name and a Tensor",
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ArgumentValueError(
                    "can't optimize a non-leaf Tensor",
                    hint="x.detach().requires_grad_(), or the Tensors that x is computed from",
                )
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ArgumentValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}",
                    hint=f'"{name}" in the group, or {type(self).__name__}(params, {name}=…) for all',
                )
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) < len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                UserWarning,
                stacklevel=4,
            )
        taken = {id(p) for p in self._fx_all_parameters()}
        if any(id(p) in taken for p in params):
            raise ArgumentValueError(
                "some parameters appear in more than one parameter group",
                hint="each parameter in one group: [p for p in module.parameters() if p not in set(others)]",
            )
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[-1]):
            which = "with" if "param_names" in param_group else "without"
            raise ArgumentValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {which} names to the optimizer",
                hint=f"module.{'named_' if which == 'without' else ''}parameters() for all groups",
            )
        self.param_groups.append(param_group)

    def _fx_all_parameters(self) -> Iterable[Tensor]:
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or make them zero."""
        observer = CURRENT.get().observer
        if observer is None:
            self._fx_clear_grads(set_to_none)
        else:
            observer.observe(
                "user", self._zero_grad_profile_name, (), partial(self._fx_clear_grads, set_to_none)
            )

    def _fx_clear_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                clear_grad(p, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient: subclasses define it. It returns what `closure`, which is called
        first, returned."""
        raise NotImplementedError

    def _cuda_graph_capture_health_check(self) -> None:
        """This does nothing; steps written for torch call it before a capture by CUDA."""

    _accelerator_graph_capture_health_check = _cuda_graph_capture_health_check
    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

    # -- hooks ------------------------------------------
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register hook(optimizer, args, kwargs) to be called before each step; (args, kwargs) that it returns are
        used instead.

        Returns:
            A handle whose `remove()` takes it away again.

        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("a step"))
        >>> optimizer.step()
        a step
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register hook(optimizer, args, kwargs) to be called after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register hook(optimizer) to be called before `state_dict`; first of all with `prepend`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register hook(optimizer, state_dict) to be called after `state_dict`, whose result is what it returns, if
        not None.

        Args:
            prepend: whether it is called before the others.
        """
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register hook(optimizer, state_dict) to be called before `load_state_dict`, which loads what it returns, if
        not None; the dict is a shallow copy.

        Args:
            prepend: whether it is called before the others.
        """
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register hook(optimizer) to be called after `load_state_dict`.

        Args:
            prepend: whether it is called before the others.
        """
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- the state out and in ------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The options, and the state of each parameter, by its number among all.

        Returns:
            {"state": number → dict, "param_groups": the groups with numbers as "params"}, or what hooks made of it.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        for p in self._fx_all_parameters():
            numbers.setdefault(id(p), len(numbers))
        found: dict[str, Any] = {
            "state": {
                numbers[id(p)] if isinstance(p, Tensor) else p: state for p, state in self.state.items()
            },
            "param_groups": [
                {name: x for name, x in group.items() if name != "params"}
                | {"params": [numbers[id(p)] for p in group["params"]]}
                for group in self.param_groups
            ],
        }
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, found)
            found = found if changed is None else changed
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what `state_dict` returned. What belongs to the entries of a parameter takes its dtype; options
        that are not there stay as they are.

        Raises:
            ValueError: there are other groups, or other numbers of parameters in them.
        """
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        loaded = deepcopy(state_dict["param_groups"])
        if len(loaded) != len(self.param_groups):
            raise ArgumentValueError(
                "loaded state dict has a different number of parameter groups",
                hint=f"{len(loaded)} groups, as those that were saved: the optimizer has {len(self.param_groups)}",
            )
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(loaded, self.param_groups)):
            raise ArgumentValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
                hint="an optimizer of the same parameters as when it was saved, in the same order",
            )
        params = dict(
            zip(chain.from_iterable(group["params"] for group in loaded), self._fx_all_parameters())
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, entries in state_dict["state"].items():
            if number in params:
                state[params[number]] = load_entry("", entries, params[number])
            else:
                state[number] = entries
        groups = [old | new | {"params": old["params"]} for old, new in zip(self.param_groups, loaded)]
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take attributes back, as copies, pickles and `load_state_dict` do; optimizers of one's own add here what
        older ones lack."""
        self.__dict__.update(state)
        self._fx_begin_hooks()

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [""] * (i > 0) + [f"Parameter Group {i}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def add_hook(hooks: OrderedDict, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
    """Append a hook to others, or put it before them."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def load_entry(name: str, x, p: Tensor) -> Any:
    """Copy a loaded entry of the state of a parameter, and what is in it; Tensors take the parameter's dtype."""
    if isinstance(x, Tensor):
        copied = x.detach().clone()
        return copied.to(p.dtype) if name != "step" and p.dtype.is_floating_point else copied
    if isinstance(x, dict):
        return {key: load_entry(key, inner, p) for key, inner in x.items()}
    return type(x)(load_entry(name, inner, p) for inner in x) if isinstance(x, list | tuple) else x


def check_option(holds: bool, name: str, value, range: str | None, problem: str = "Invalid {}: {}") -> None:
    """Raise for an option out of its range, which a message may have in its own words: None."""
    if not holds:
        raise ArgumentValueError(problem.format(name, value), hint=range)


def ensure_real(p: Tensor, optimizer: str) -> None:
    """Raise for a complex parameter."""
    if p.is_complex():
        raise TensorError(
            f"{optimizer} does not support complex parameters",
            hint="torch.view_as_real(z) as the parameter, torch.view_as_complex of it in the computation",
        )


def check_learning_rate(lr) -> None:
    """Raise for a learning rate that is a Tensor of several entries."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ArgumentValueError(
            "Tensor lr must be 1-element",
            hint="lr.item() of one entry; a group of parameters for each of several rates",
        )
