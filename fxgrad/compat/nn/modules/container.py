"""Modules that hold others, or parameters, in order or under names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import index
from typing import Any

from ..._core.tensor import Tensor
from ...errors import ArgumentError, ArgumentValueError, DimensionError
from ...ops.arguments import place_hint
from ..parameter import Parameter
from .module import Module, indent_lines


def position_of(i, size: int) -> int:
    """Count the position of an entry from the front."""
    position = index(i)
    if not -size <= position < size:
        raise DimensionError(f"index {position} is out of range", hint=place_hint(size))
    return position % size


class IndexedContainer(Module):
    """The base of containers of modules in order, with the methods of a list."""

    def _fx_name_at(self, i) -> str:
        """The name of the entry at a position."""
        return list(self._modules)[position_of(i, len(self))]

    def _fx_set_entries(self, modules: Iterable[Any]) -> None:
        """Make these the entries."""
        modules = list(modules)
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __getitem__(self, i) -> Any:
        if isinstance(i, slice):
            return type(self)(*self._fx_slice_arguments(i))
        return self._modules[self._fx_name_at(i)]

    def _fx_slice_arguments(self, i: slice) -> tuple:
        """The arguments of a new container of the entries of a slice."""
        return (list(self._modules.values())[i],)

    def __setitem__(self, i, module: Module) -> None:
        setattr(self, self._fx_name_at(i), module)

    def __delitem__(self, i) -> None:
        modules = list(self._modules.values())
        del modules[i if isinstance(i, slice) else list(self._modules).index(self._fx_name_at(i))]
        self._fx_set_entries(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before the one at a position.

        Args:
            index: the position.
            module: a Module.
        """
        modules = list(self)
        modules.insert(index, module)
        self._fx_set_entries(modules)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key=-1) -> Any:
        """Take a module away."""
        found = self[key]
        del self[key]
        return found


class Sequential(IndexedContainer):
    """Modules one after the other, each called with the result of the one before: given as arguments, or as one dict.

    Args:
        args: modules, or one dict of them.

    >>> torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 2))
    Sequential(
      (0): Flatten(start_dim=1, end_dim=-1)
      (1): Linear(in_features=6, out_features=2, bias=True)
    )
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def _fx_slice_arguments(self, i: slice) -> tuple:
        return (dict(list(self._modules.items())[i]),)

    def __add__(self, other: Sequential) -> Sequential:
        check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Sequential:
        check_sequential(other)
        return self.extend(list(other))

    def _fx_repeated(self, times: int) -> list[Module]:
        """The modules, so many times over."""
        if not isinstance(times, int):
            raise ArgumentError(
                f"unsupported operand type(s) for *: {type(self)} and {type(times)}", hint="module * 2"
            )
        if times <= 0:
            raise ArgumentValueError(
                f"Non-positive multiplication factor {times} for {type(self)}", hint="module * 1"
            )
        return list(self) * times

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*self._fx_repeated(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Sequential:
        self._fx_set_entries(self._fx_repeated(other))
        return self


def check_sequential(other) -> None:
    """Raise unless the value can be added to a Sequential."""
    if not isinstance(other, Sequential):
        raise ArgumentValueError(
            f"add operator supports only objects of Sequential class, but {type(other)} is given.",
            hint="torch.nn.Sequential(module)",
        )


class ModuleList(IndexedContainer):
    """Modules as a list.

    They are found by `parameters()` and all else that goes through a model, which those in a plain list are not.

    Args:
        modules: a sequence of modules.

    >>> layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules: Iterable[Module] | None = None):
        super().__init__()
        self.extend(modules or ())

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        groups: list[list[Any]] = []  # first, last, text
        for i, module in enumerate(self):
            text = repr(module)
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        lines = [
            f"({a}): {indent_lines(text)}" if a == b else f"({a}-{b}): {b - a + 1} x {indent_lines(text)}"
            for a, b, text in groups
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class Container(Module):
    """Modules under the names of keyword arguments; deprecated in torch.

    Args:
        kwargs: the modules.

    >>> torch.nn.Container(first=torch.nn.ReLU())
    Container(
      (first): ReLU()
    )
    """

    def __init__(self, **kwargs):
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class NamedContainer(Module):
    """The base of containers under names, with the methods of a dict; `_fx_entries` are its entries."""

    @property
    def _fx_entries(self) -> dict[str, Any]:
        return self._modules

    def __getitem__(self, key: str) -> Any:
        return self._fx_entries[key]

    def __setitem__(self, key: str, value) -> None:
        self.add_module(key, value)

    def __delitem__(self, key: str) -> None:
        del self._fx_entries[key]

    def __len__(self) -> int:
        return len(self._fx_entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._fx_entries)

    def __contains__(self, key: str) -> bool:
        return key in self._fx_entries

    def keys(self) -> Any:
        """The names."""
        return self._fx_entries.keys()

    def items(self) -> Any:
        """(name, entry)."""
        return self._fx_entries.items()

    def values(self) -> Any:
        """The entries."""
        return self._fx_entries.values()

    def clear(self) -> None:
        """Take all away."""
        self._fx_entries.clear()

    def pop(self, key: str) -> Any:
        """Take an entry away."""
        return self._fx_entries.pop(key)

    def update(self, entries: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add entries, or replace them."""
        for key, value in dict(entries).items():
            self[key] = value


class ModuleDict(NamedContainer):
    """Modules under names.

    They are found by `parameters()` and all else that goes through a model, which those in a plain dict are not.

    Args:
        modules: a dict of modules, or pairs of name and module.

    >>> layers = torch.nn.ModuleDict({"map": torch.nn.Linear(2, 3)})
    >>> layers["map"](torch.zeros(1, 2)).shape, len(list(layers.parameters()))
    (torch.Size([1, 3]), 2)
    """

    def __init__(self, modules: Mapping[str, Module] | None = None):
        super().__init__()
        if modules is not None:  # subclasses override `update`
            self.update(modules)


def as_parameter(value) -> Any:
    """Convert a Tensor to a Parameter; return any other value unchanged."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def parameter_line(name, p, type_name_of: Callable[[Any], Any]) -> str:
    """The line of `repr` for an entry of a container of parameters."""
    if not isinstance(p, Tensor):
        return f"  ({name}): Object of type: {type(p).__name__}"
    kind = "Parameter" if isinstance(p, Parameter) else "Tensor"
    sizes = "x".join(map(str, p.shape))
    return f"  ({name}): {kind} containing: [{type_name_of(p)} of size {sizes}]"


class ParameterList(Module):
    """Parameters as a list; Tensors become parameters in it.

    Args:
        values: a sequence of Tensors.

    >>> parameters = torch.nn.ParameterList([torch.zeros(2), torch.zeros(3)])
    >>> len(parameters), parameters[1].requires_grad
    (2, True)
    """

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _fx_name_at(self, i) -> str:
        return str(position_of(i, self._size))

    def __getitem__(self, i) -> Any:
        if isinstance(i, slice):
            return type(self)([self[k] for k in range(*i.indices(len(self)))])
        return getattr(self, self._fx_name_at(i))

    def __setitem__(self, i, value) -> None:
        setattr(self, self._fx_name_at(i), as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def append(self, value) -> ParameterList:
        """Add one at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several at the end."""
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self) -> str:
        return "\n".join(parameter_line(i, p, lambda p: p.dtype) for i, p in enumerate(self))


class ParameterDict(NamedContainer):
    """Parameters under names; Tensors become parameters in it.

    Args:
        parameters: a dict, or pairs of name and Tensor.

    >>> parameters = torch.nn.ParameterDict({"scale": torch.tensor(2.0)})
    >>> parameters["scale"].requires_grad
    True
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    @property
    def _fx_entries(self) -> dict[str, Any]:
        return self._parameters

    def __setitem__(self, key: str, value) -> None:
        self._parameters[key] = as_parameter(value)

    def extra_repr(self) -> str:
        return "\n".join(parameter_line(name, p, lambda p: p.type()) for name, p in self.items())
