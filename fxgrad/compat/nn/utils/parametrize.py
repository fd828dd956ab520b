"""Parametrizations: parameters and buffers of Modules that are functions of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import deepcopy
from typing import Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...errors import ArgumentValueError, TensorError
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

# What parametrizations gave inside the outermost `cached()` that is open: by module and name.
CACHE: ContextVar[dict[tuple[int, str], Tensor] | None] = ContextVar("fxgrad parametrizations", default=None)


@contextmanager
def cached() -> Iterator[None]:
    """A context manager in which each parametrized Tensor is computed once, when it is first used.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    >>> with torch.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    if CACHE.get() is not None:
        yield
        return
    token = CACHE.set({})
    try:
        yield
    finally:
        CACHE.reset(token)


class ParametrizationList(ModuleList):
    """The parametrizations of one Tensor, each a function of what the one before it gives; the first is a function of
    `original`, or of `original0`, `original1`, ….

    Args:
        modules: the parametrizations.
        original: the Tensor that is parametrized. The right inverses, if there are some, make the new originals of
            it.
        unsafe: whether shape and dtype may change.

    Raises:
        ValueError: there is no parametrization, or one gives what is no Tensor or another shape or dtype.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> type(layer.parametrizations.weight).__name__
    'ParametrizationList'
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ArgumentValueError(
                "ParametrizationList requires one or more modules.",
                hint="register_parametrization(module, name, parametrization), which makes the list",
            )
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(self):  # type: ignore[call-overload]
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        if not isinstance(new, Tensor | Sequence):
            raise ArgumentValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}",
                hint="return a Tensor of which forward makes the parameter",
            )
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            if original.dtype != new.dtype:
                raise ArgumentValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {new.dtype}",
                    hint=f".to({original.dtype}) in right_inverse",
                )
            with no_grad():
                original.data = new.detach()
            register_tensor(self, "original", original)
        else:
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ArgumentValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(part).__name__}.",
                        hint="return a Tensor of which forward makes the parameter",
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                register_tensor(self, f"original{i}", part.requires_grad_(original.requires_grad))
        if not self.unsafe:
            check_registration(self(), shape, dtype)

    def _fx_originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals by the right inverses, so that the parametrizations give a value.

        Raises:
            RuntimeError: a parametrization has no `right_inverse`.
            ValueError: one gives other Tensors than the originals.
        """
        with no_grad():
            for module in reversed(self):  # type: ignore[call-overload]
                if not hasattr(module, "right_inverse"):
                    raise TensorError(
                        f"parametrization {type(module).__name__} does not implement right_inverse.",
                        hint=f"def right_inverse(self, value): … in {type(module).__name__}, or assign to the original",
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ArgumentValueError(
                        f"`right_inverse` should return a tensor. Got {type(value).__name__}",
                        hint="return a Tensor of which forward makes the parameter",
                    )
                parts: Sequence[Any] = [value]
            else:
                parts = value  # type: ignore[assignment]
                if not isinstance(parts, Sequence) or isinstance(parts, Tensor):
                    raise ArgumentValueError(
                        f"'right_inverse' must return a sequence of tensors. Got {type(parts).__name__}.",
                        hint=f"return a tuple of {self.ntensors} Tensors, as for the first value",
                    )
                if len(parts) != self.ntensors:
                    raise ArgumentValueError(
                        f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence "
                        f"of length {len(parts)}.",
                        hint=f"return {self.ntensors} Tensors, as for the first value",
                    )
            for i, (original, part) in enumerate(zip(self._fx_originals(), parts)):
                where = "" if self.is_tensor else f" {i}"
                if not isinstance(part, Tensor):
                    raise ArgumentValueError(
                        f"`right_inverse` must return a sequence of tensors. Got element{where} of type "
                        f"{type(part).__name__}",
                        hint="return Tensors, of which forward makes the parameter",
                    )
                if original.dtype != part.dtype:
                    raise ArgumentValueError(
                        f"The tensor{where} returned by `right_inverse` has dtype {part.dtype} while `original{where}` "
                        f"has dtype {original.dtype}",
                        hint=f".to({original.dtype}) in right_inverse",
                    )
                original.data = part.detach()

    def forward(self) -> Tensor:
        """Return the value that the parametrizations compute."""
        first, *rest = self
        x = first(*self._fx_originals())
        for module in rest:
            x = module(x)
        return x


def register_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Register a Tensor as a parameter or a buffer, according to its class."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def check_registration(found, shape, dtype) -> None:
    """Raise unless the value is a Tensor of this shape and dtype."""
    if not isinstance(found, Tensor):
        raise ArgumentValueError(
            f"A parametrization must return a tensor. Got {type(found).__name__}.", hint="return x in forward"
        )
    words = "Registering a parametrization may not change the {0} of the tensor, unless `unsafe` flag is enabled.\n"
    for name, before, after in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
        if before != after:
            raise ArgumentValueError(
                f"{words.format(name)}unparametrized {name}: {before}\nparametrized {name}: {after}",
                hint=f"unsafe=True, or .to({before}) in forward" if name == "dtype" else "unsafe=True",
            )


# -- classes ------------------------------------------
def make_property(name: str) -> property:
    """Make the property that computes a parametrized Tensor."""

    def compute(self) -> Tensor:
        known = CACHE.get()
        if known is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in known:
            known[key] = self.parametrizations[name]()
        return known[key]

    def assign(self, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(compute, assign)


def refuse_pickling(self) -> None:
    """Raise, because pickle could not find the class of a parametrized module again."""
    raise TensorError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training",
        hint="torch.save(module.state_dict(), path), or remove_parametrizations before",
    )


def copy_parametrized(self, memo: dict[int, Any]) -> Any:
    """The `__deepcopy__` of a parametrized module: the copy is of the same class."""
    made: Any = object.__new__(type(self))
    memo[id(self)] = made
    made.__dict__ = deepcopy(self.__dict__, memo)
    return made


def set_parametrized_class(module: Module) -> None:
    """Give a module the class that has a property for each parametrized Tensor, or its original class if none is left.
    The class is a new one: copies of the module have the one before."""
    base = type_before_parametrizations(module)
    names = list(module.parametrizations) if "parametrizations" in module._modules else []
    if not names:
        module.__class__ = base
        return
    members: dict[str, Any] = {name: make_property(name) for name in names}
    members["__getstate__"] = refuse_pickling
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = copy_parametrized
    members["_unparametrized_class"] = base
    made: Any = type(f"Parametrized{base.__name__}", (base,), members)
    module.__class__ = made


# -- what users call ------------------------------------------
def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer a function of a new one, `module.parametrizations.NAME.original`: what the module
    `parametrization` gives for it. Where there are parametrizations already, it is a function of what they give.

    Args:
        module: the module whose class it changes.
        tensor_name: the name of the Tensor.
        parametrization: its `right_inverse`, if there is one, makes the new original of the Tensor, and of what is
            assigned to it later on; several originals if it returns a sequence.
        unsafe: whether shape and dtype may change.

    Returns:
        The module.

    Raises:
        ValueError: there is no such Tensor; the parametrization gives none, or another shape or dtype.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known = module.parametrizations[tensor_name]
        if not unsafe:
            check_chained(parametrization, getattr(module, tensor_name))
        known.append(parametrization)
        known.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ArgumentValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'",
            hint=f"one of {', '.join([*module._parameters, *module._buffers])}",
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made
    set_parametrized_class(module)
    return module


def check_chained(parametrization: Module, before: Tensor) -> None:
    """Raise for a parametrization after others that changes shape or dtype, forward or in its right inverse."""
    after = parametrization(before)
    check_registration(after, before.shape, before.dtype)
    inverse = getattr(parametrization, "right_inverse", None)
    if inverse is None:
        return
    try:
        back = inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ArgumentValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}",
            hint="return a Tensor of which forward makes the parameter",
        )
    for name in ("shape", "dtype"):
        if getattr(back, name) != getattr(before, name):
            raise ArgumentValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {name} as "
                f"module.{name}.\nunparametrized {name}: {getattr(before, name)}\n"
                f"right_inverse {name}: {getattr(back, name)}",
                hint="unsafe=True"
                if name == "shape"
                else f".to({before.dtype}) in right_inverse, or unsafe=True",
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of this Tensor.

    Args:
        tensor_name: the name of the Tensor; None: any.

    Returns:
        A bool.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.nn.utils.parametrize.is_parametrized(layer), torch.nn.utils.parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized Tensor a plain one again.

    Args:
        leave_parametrized: whether it keeps the value that the parametrizations give, or takes that of the original.
        module: the module.
        tensor_name: the name of the Tensor; None: any.

    Raises:
        ValueError: it is not parametrized; or to be left as one original that is several.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> layer = torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentValueError(
            f"Module {module} does not have a parametrization on {tensor_name}",
            hint="torch.nn.utils.parametrize.is_parametrized(module, name) tells",
        )
    known = module.parametrizations[tensor_name]
    if known.is_tensor:
        tensor = known.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ArgumentValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors.",
            hint="leave_parametrized=True",
        )
    del module.parametrizations[tensor_name]
    set_parametrized_class(module)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
    register_tensor(module, tensor_name, tensor)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it was parametrized.

    Returns:
        A class.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__dict__.get("_unparametrized_class", type(module))


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and their originals.

    Args:
        tensor_name: of which Tensor; None: of all.
        from_module: the other module.

    Returns:
        `to_module`.

    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> other = torch.nn.utils.parametrize.transfer_parametrizations_and_params(layer, torch.nn.Linear(2, 2))
    >>> torch.equal(other.weight, layer.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    known = from_module.parametrizations
    for name in list(known) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in known[name]:
            register_parametrization(to_module, name, parametrization)
        for key in (
            ("original",) if known[name].is_tensor else [f"original{i}" for i in range(known[name].ntensors)]
        ):
            setattr(to_module.parametrizations[name], key, getattr(known[name], key))
    return to_module


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
