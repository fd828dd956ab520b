"""Parameters, buffers and modules inside a module by their dotted names, as packages take and replace them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from ..._core.tensor import Tensor
from ...errors import ArgumentError, TensorError
from ..modules.module import Module

MISSING: Any = object()


def swap_tensor(module: Module, name: str, tensor: Tensor, allow_missing: bool = False) -> Tensor:
    """Put another Tensor into a module, which may be neither a Parameter nor a leaf, and return the one that was there.

    Args:
        module: the module itself, not one around it.
        name: without dots.
        tensor: the new one; one that stands for a missing Tensor removes the name.
        allow_missing: whether the name may be new.

    Raises:
        AttributeError: the module has no such Tensor.
        KeyError: the name has dots.
        TypeError: it is not a Tensor.
    """
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if tensor is not MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise ArgumentError(f"{tensor} is not an instance of torch.Tensor", hint="torch.as_tensor(…)")
    held = next((d for d in (module._parameters, module._buffers) if name in d), None)
    if held is not None:
        before: Any = held[name]
        if tensor is MISSING:
            del held[name]
        else:
            held[name] = tensor  # type: ignore[assignment]
        return before
    before = vars(module).get(name, MISSING)
    if before is MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if tensor is MISSING:
        vars(module).pop(name, None)
    else:
        vars(module)[name] = tensor
    return before


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a Tensor into a module, under a name without dots."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put another module into one, and return the one that was there.

    Raises:
        AttributeError: there is none of this name.
        KeyError: the name has dots.
        TypeError: it is not a module.
    """
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if not isinstance(submodule, Module):
        raise ArgumentError(f"{submodule} is not an instance of torch.nn.Module", hint="a torch.nn.Module")
    before = module._modules.get(name)
    if before is None:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Access to what is inside a module by dotted names.

    Args:
        module: the module.

    >>> from fxgrad.compat.nn.utils._named_member_accessor import NamedMemberAccessor
    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 1))
    >>> accessor = NamedMemberAccessor(model)
    >>> before = accessor.swap_tensor("0.weight", torch.full((1, 1), 3.0))
    >>> model[0].weight, before is accessor.get_tensor("0.weight")
    (tensor([[3.]]), False)
    """

    def __init__(self, module: Module):
        self.module = module

    def _fx_split(self, name: str) -> tuple[Module, str]:
        path, _, last = name.rpartition(".")
        return self.get_submodule(path), last

    def get_submodule(self, name: str) -> Module:
        """Return a module inside."""
        found = self.module
        for part in name.split(".") if name else ():
            inside = found._modules.get(part)
            if inside is None:
                raise AttributeError(f"{found._get_name()} has no attribute `{part}`")
            found = inside
        return found

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put another module in the place of one, and return that."""
        module, last = self._fx_split(path)
        return swap_submodule(module, last, value)

    def get_tensor(self, name: str) -> Tensor:
        """Return a parameter or buffer."""
        module, last = self._fx_split(name)
        found: Any = getattr(module, last, MISSING)
        if found is MISSING:
            raise AttributeError(f"{module._get_name()} has no attribute `{last}`")
        if found is not None and not isinstance(found, Tensor):
            raise ArgumentError(f"{found} is not an instance of torch.Tensor", hint="the name of a Tensor")
        return cast(Tensor, found)  # or None, where a parameter is not set

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """Return parameters and buffers."""
        return [self.get_tensor(name) for name in names]

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Put a Tensor under a name."""
        module, last = self._fx_split(name)
        set_tensor(module, last, value)

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Put Tensors under names."""
        for name, value in zip(names, values, strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        """Put Tensors under names."""
        self.set_tensors(named_tensors, named_tensors.values())

    def del_tensor(self, name: str) -> None:
        """Remove a parameter or buffer."""
        module, last = self._fx_split(name)
        swap_tensor(module, last, MISSING)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Remove parameters and buffers."""
        for name in names:
            self.del_tensor(name)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        """Put another Tensor under a name, and return the one that was there."""
        module, last = self._fx_split(name)
        return swap_tensor(module, last, value, allow_missing)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False
    ) -> list[Tensor]:
        """Put other Tensors under names, and return those that were there."""
        return [self.swap_tensor(n, v, allow_missing) for n, v in zip(names, values, strict=True)]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Put other Tensors under names, and return those that were there, with the names that are missing."""
        before: dict[str, Tensor] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                try:
                    before[name] = self.swap_tensor(name, value)
                except AttributeError:
                    missing.append(name)
                    if allow_missing:
                        before[name] = self.swap_tensor(name, value, allow_missing=True)
        except BaseException:
            self.set_tensors_dict(before)
            raise
        if missing and not allow_missing:
            self.set_tensors_dict(before)
            raise TensorError(
                f"Missing key(s): {', '.join(map(repr, missing))}.", hint="allow_missing=True adds them"
            )
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names that are missing among some, and those among them that are unknown."""
        given = set(keys)
        known = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(known - given), sorted(given - known)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The parameters with their names."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Parameters and buffers with their names."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The modules with their names."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
