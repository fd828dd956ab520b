"""The state of a Module: all its parameters and buffers by name, out and in."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._core.errors import ArgumentError, TensorError
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ..parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRA_STATE_KEY = "_extra_state"


class IncompatibleKeys(NamedTuple):
    """The names that `load_state_dict` did not find, and those that it did not look for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


def quote_names(names: list[str]) -> str:
    """Quote names for a message."""
    return ", ".join(f'"{name}"' for name in names)


class StateMixin:
    """The part of a Module that saves and loads its state."""

    _parameters: dict
    _buffers: dict
    _modules: dict
    _non_persistent_buffers_set: set

    def get_extra_state(self) -> Any:
        """Return what else belongs to the state; subclasses define it, with `set_extra_state`."""
        raise TensorError("get_extra_state: this module has none")

    def set_extra_state(self, state) -> None:
        """Take back what `get_extra_state` returned."""
        raise TensorError("set_extra_state: this module has none")

    def _own_state(self) -> dict[str, Tensor]:
        """The members of the state that belong to this module itself."""
        members = {**self._parameters, **self._buffers}
        hidden = self._non_persistent_buffers_set
        return {name: member for name, member in members.items() if member is not None and name not in hidden}

    def state_dict(
        self, *, destination=None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by their full names. They share the memory of the module's; `keep_vars`:
        they are the module's.

        >>> import fxgrad.compat as torch
        >>> list(torch.nn.Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        found = OrderedDict() if destination is None else destination
        for name, member in self._own_state().items():
            found[prefix + name] = member if keep_vars else member.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            found[prefix + EXTRA_STATE_KEY] = self.get_extra_state()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy a state into the parameters and buffers; with `assign`, make its Tensors those of the module.

        Returns:
            The names that it did not find, and those that it did not look for.

        Raises:
            TensorError: there are any of these, where `strict`; or other shapes.
        """
        if not hasattr(state_dict, "keys"):
            raise ArgumentError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        known: set[str] = set()
        errors: list[str] = []
        self._load(state_dict, "", assign, missing, known, errors)
        unexpected = [name for name in state_dict if name not in known]
        if strict:
            wrong = {"Missing": missing, "Unexpected": unexpected}
            errors[:0] = [
                f"{what} key(s) in state_dict: {quote_names(names)}. "
                for what, names in wrong.items()
                if names
            ]
        if errors:
            lines = "\n\t".join(errors)
            raise TensorError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return IncompatibleKeys(missing, unexpected)

    def _load(
        self,
        state: Mapping[str, Any],
        prefix: str,
        assign: bool,
        missing: list[str],
        known: set[str],
        errors: list[str],
    ) -> None:
        """`load_state_dict` of the names with a prefix."""
        for name, member in self._own_state().items():
            key = prefix + name
            known.add(key)
            if key not in state:
                missing.append(key)
            elif not isinstance(state[key], Tensor):
                errors.append(
                    f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                    f"checkpoint but received {type(state[key])}"
                )
            elif state[key].shape != member.shape:
                errors.append(
                    f"size mismatch for {key}: copying a param with shape {state[key].shape} from checkpoint, the "
                    f"shape in current model is {member.shape}."
                )
            elif assign:
                given = state[key]
                if isinstance(member, Parameter) and not isinstance(given, Parameter):
                    given = Parameter(given, member.requires_grad)
                setattr(self, name, given)
            else:
                with no_grad():
                    member.copy_(state[key])
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            known.add(prefix + EXTRA_STATE_KEY)
            if prefix + EXTRA_STATE_KEY in state:
                self.set_extra_state(state[prefix + EXTRA_STATE_KEY])
            else:
                missing.append(prefix + EXTRA_STATE_KEY)
        for name, module in self._modules.items():
            if module is not None:
                module._load(state, f"{prefix}{name}.", assign, missing, known, errors)
