"""The state of a Module: all its parameters and buffers by name, saving and loading, and hooks around both."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

from ..._core.hooks import HookList, RemovableHandle
from ..._core.meta import is_meta
from ..._core.tensor import Tensor
from ..._declare.packages import complete_methods
from ...autograd.grad_mode import no_grad
from ...errors import ArgumentError, RequirementError, TensorError
from ..parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The missing and the unexpected names of a call of `load_state_dict`."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


def quote_names(names: list[str]) -> str:
    """Quote names for a message."""
    return ", ".join(f'"{name}"' for name in names)


def loading_hint(found: IncompatibleKeys, strict: bool) -> str:
    """Return a hint for a state that does not fit a module."""
    if found.unexpected_keys and all(name.startswith("module.") for name in found.unexpected_keys):
        return "torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state_dict, 'module.')"
    if strict and (found.missing_keys or found.unexpected_keys):
        return "strict=False loads what fits by name"
    return "a module of the sizes that were saved, or leave out what has another shape, with strict=False"


class StateMixin:
    """The part of a Module that saves and loads its state.

    `_version` is the version of what a class saves, kept in the `_metadata` of a state; a class that changes its
    parameters raises it, and its `_load_from_state_dict` converts older states.
    """

    _version = 1
    _parameters: dict
    _buffers: dict
    _modules: dict
    _non_persistent_buffers_set: set

    # -- hooks ------------------------------------------
    @cached_property
    def _state_dict_pre_hooks(self) -> HookList:
        return HookList()

    @cached_property
    def _state_dict_hooks(self) -> HookList:
        return HookList()

    @cached_property
    def _load_state_dict_pre_hooks(self) -> HookList:
        return HookList()

    @cached_property
    def _load_state_dict_post_hooks(self) -> HookList:
        return HookList()

    def _fx_list_hooks(self, kind: str) -> list[Callable[..., Any]]:
        """The hooks of a kind; most modules have no list of hooks, because they have none."""
        hooks = self.__dict__.get(kind)
        return list(hooks.values()) if hooks else []

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register hook(module, prefix, keep_vars) to be called before `state_dict` reads the module."""
        return self._state_dict_pre_hooks.add(hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register hook(module, state_dict, prefix, local_metadata) to be called after `state_dict` has read the
        module and what is inside it. The hook may change the dict, and must return None.
        """
        return self._state_dict_hooks.add(partial(change_in_place, hook))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Like `register_state_dict_post_hook`, for a hook that may return another dict."""
        return self._state_dict_hooks.add(hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Have hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        called before `load_state_dict` writes into the module. The hook may change the dict and the lists.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """Like `register_load_state_dict_pre_hook`; without `with_module` the hook is not given the module."""
        return self._load_state_dict_pre_hooks.add(
            hook if with_module else partial(call_without_module, hook)
        )

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register hook(module, incompatible_keys) to be called after `load_state_dict` has written into the module
        and what is inside it. The hook may change the lists `missing_keys` and `unexpected_keys`, and must return None.
        """
        return self._load_state_dict_post_hooks.add(hook)

    # -- out ------------------------------------------
    def get_extra_state(self) -> Any:
        """Return further parts of the state; subclasses define it together with `set_extra_state`.

        Raises:
            RuntimeError: the class has none.
        """
        raise TensorError(
            "get_extra_state: this module has none", hint="def get_extra_state(self): …, with set_extra_state"
        )

    def set_extra_state(self, state) -> None:
        """Restore the value that `get_extra_state` returned.

        Raises:
            RuntimeError: the class has none.
        """
        raise TensorError(
            "set_extra_state: this module has none",
            hint="def set_extra_state(self, state): …, with get_extra_state",
        )

    def _fx_own_state(self) -> dict[str, Tensor]:
        """The members of the state that belong to this module itself."""
        members = {**self._parameters, **self._buffers}
        hidden = self._non_persistent_buffers_set
        return {name: member for name, member in members.items() if member is not None and name not in hidden}

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Write the state of this module, without its submodules, into a dict; subclasses may extend it."""
        for name, member in self._fx_own_state().items():
            destination[prefix + name] = member if keep_vars else member.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Collect parameters and persistent buffers by their full names. They share the memory of the module's;
        `keep_vars`: they are the module's.

        Args:
            destination: the dict to put them in; None: a new OrderedDict, whose `_metadata` has the version of every
                module.
            prefix: what their names begin with.

        >>> list(torch.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given: Any = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._fx_list_hooks("_state_dict_pre_hooks"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._fx_list_hooks("_state_dict_hooks"):
            changed = hook(self, destination, prefix, metadata)
            destination = destination if changed is None else changed
        return destination

    # -- in ------------------------------------------
    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy a state into the parameters and buffers; with `assign`, make its Tensors those of the module, whose
        parameters keep their `requires_grad`.

        Args:
            state_dict: what `state_dict()` gave: Tensors by their names.

        Returns:
            The names that it did not find, and those that it did not look for.

        Raises:
            TypeError: it is no mapping.
            RuntimeError: there are any of these names, where `strict`; or other shapes.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}.",
                hint="module.load_state_dict(other.state_dict())"
                if hasattr(state_dict, "state_dict")
                else "torch.load(path), of a file that torch.save(module.state_dict(), path) wrote",
            )
        state: Any = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            state._metadata = metadata
        errors: list[str] = []
        found = IncompatibleKeys([], [])
        self._fx_load(state, "", metadata or {}, assign, found, errors)
        if strict:
            wrong = {"Missing": found.missing_keys, "Unexpected": found.unexpected_keys}
            errors[:0] = [
                f"{what} key(s) in state_dict: {quote_names(names)}. "
                for what, names in wrong.items()
                if names
            ]
        if errors:
            lines = "\n\t".join(errors)
            raise TensorError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}",
                hint=loading_hint(found, strict),
            )
        return found

    def _fx_load(
        self,
        state: Mapping[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        found: IncompatibleKeys,
        errors: list[str],
    ) -> None:
        """`load_state_dict` of the names with a prefix."""
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(
            state, prefix, local, True, found.missing_keys, found.unexpected_keys, errors
        )
        inside: dict[str, OrderedDict[str, Any]] = {name: OrderedDict() for name in self._modules}
        for key, x in state.items() if inside else ():
            name, dot, _ = key[len(prefix) :].partition(".")
            if dot and name in inside:
                inside[name][key] = x
        for name, module in self._modules.items():
            if module is not None:
                module._fx_load(inside[name], f"{prefix}{name}.", metadata, assign, found, errors)
        for hook in self._fx_list_hooks("_load_state_dict_post_hooks"):
            if hook(self, found) is not None:
                raise RequirementError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace.",
                    hint="change the lists of incompatible_keys, and return None",
                )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Take from a state what belongs to this module itself; subclasses may convert what older versions saved.

        Args:
            state_dict: the state, which may be changed.
            prefix: what the names of this module begin with.
            local_metadata: what the state says about this module: the "version" that saved it.
            strict: whether to note names that are not there, and those that nobody looks for.
            missing_keys, unexpected_keys, error_msgs: where to note them, and what else is wrong.
        """
        for hook in self._fx_list_hooks("_load_state_dict_pre_hooks"):
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own, assign = self._fx_own_state(), "assign_to_params_buffers" in local_metadata
        with no_grad():
            for name, member in own.items():
                key = prefix + name
                if key in state_dict:
                    error_msgs += self._fx_take_member(name, member, key, state_dict[key], assign)
                elif strict:
                    missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _fx_take_member(self, name: str, member: Tensor, key: str, given, assign: bool) -> list[str]:
        """Load one parameter or buffer from a state; return the error messages, at most one."""
        if not isinstance(given, Tensor):
            return [
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}"
            ]
        if not is_lazy(member):
            shape, wanted = given.shape, member.shape
            if shape == (1,) and not wanted:
                given, shape = given[0], wanted  # what had no dimensions had one before torch 0.4
            if shape != wanted:
                return [
                    f"size mismatch for {key}: copying a param with shape {shape} from checkpoint, the shape in "
                    f"current model is {wanted}."
                ]
        if not assign and is_meta(member._fx_value) and not is_meta(given._fx_value):
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                "to their corresponding key in the module instead of copying them in place?)",
                stacklevel=4,
            )
        try:
            if assign:
                if isinstance(member, Parameter):
                    given = given if isinstance(given, Parameter) else Parameter(given, member.requires_grad)
                    given.requires_grad_(member.requires_grad)
                setattr(self, name, given)
            else:
                member.copy_(given)
        except Exception as error:
            return [
                f'While copying the parameter named "{key}", whose dimensions in the model are {member.size()} and '
                f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            ]
        return []


def change_in_place(hook: Callable[..., Any], *given) -> None:
    """Call a hook of `register_state_dict_post_hook`, which has nothing to return."""
    if hook(*given) is not None:
        raise TensorError("state_dict post-hook must return None", hint="change the dict that it is given")


def call_without_module(hook: Callable[..., Any], module: StateMixin, *rest) -> Any:
    """Call a hook that does not take the module."""
    return hook(*rest)


complete_methods(StateMixin, "nn.modules.call_hooks")
