"""The package functorch, replaced by torch.func: its transforms, and modules as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from . import _surface  # noqa: F401  Tensors have all their methods
from ._core.absence import make_absent
from ._core.tensor import Tensor
from .errors import TensorError
from .func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from .func.stateless import check_models
from .nn.modules.module import Module

_vmap = vmap
make_fx = make_absent(
    "functorch.make_fx", "programs are not torch's graphs here; fxgrad.make_graph shows them"
)


class FunctionalModule(Module):
    """A module as a function of its parameters: `make_functional` returns it."""

    def __init__(self, model: Module, names: Sequence[str]):
        super().__init__()
        self.stateless_model, self.param_names = model, tuple(names)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self.param_names, params, strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters and buffers: `make_functional_with_buffers` returns it."""

    def __init__(self, model: Module, names: Sequence[str], buffer_names: Sequence[str]):
        super().__init__()
        self.stateless_model = model
        self.param_names, self.buffer_names = tuple(names), tuple(buffer_names)

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        given = dict(zip(self.param_names, params, strict=True)) | dict(
            zip(self.buffer_names, buffers, strict=True)
        )
        return functional_call(self.stateless_model, given, args, kwargs)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """Return a module as a pure function, and its parameters: (fmodel, params), for `fmodel(params, *args)`.

    Deprecated in torch, where `torch.func.functional_call` does the same.

    Args:
        model: the module, which stays as it is.
        disable_autograd_tracking: whether the parameters returned require no gradient.

    Raises:
        TensorError: the module has buffers.

    >>> from fxgrad.compat.functorch import make_functional
    >>> fmodel, params = make_functional(torch.nn.Linear(2, 1, bias=False))
    >>> fmodel((torch.tensor([[1.0, 2.0]]),), torch.tensor([3.0, 4.0]))
    tensor([11.])
    """
    if any(True for _ in model.buffers()):
        raise TensorError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead.",
            hint="make_functional_with_buffers(model), or torch.func.functional_call(model, state, args)",
        )
    made, params, _ = make_functional_with_buffers(model, disable_autograd_tracking)
    return FunctionalModule(made.stateless_model, made.param_names), params


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return a module as a pure function, its parameters and its buffers: (fmodel, params, buffers), for
    `fmodel(params, buffers, *args)`.

    Args:
        model: the module, which stays as it is.
        disable_autograd_tracking: whether the parameters returned require no gradient.

    >>> from fxgrad.compat.functorch import make_functional_with_buffers
    >>> fmodel, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2).eval())
    >>> fmodel(params, buffers, torch.ones(1, 2)).shape, fmodel.buffer_names[0]
    (torch.Size([1, 2]), 'running_mean')
    """
    copied = deepcopy(model)
    names, params = split_pairs(copied.named_parameters())
    buffer_names, buffers = split_pairs(copied.named_buffers())
    if disable_autograd_tracking:
        copied.requires_grad_(False)
    return FunctionalModuleWithBuffers(copied, names, buffer_names), params, buffers


def split_pairs(pairs: Any) -> tuple[tuple[str, ...], tuple[Tensor, ...]]:
    """Return the names and the Tensors of pairs."""
    listed = list(pairs)
    return tuple(name for name, _ in listed), tuple(tensor for _, tensor in listed)


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return modules of one kind as one pure function, and their parameters and buffers stacked along a new first
    dimension: (fmodel, params, buffers), for `vmap(fmodel, in_dims=(0, 0, None))(params, buffers, x)`.

    Deprecated in torch, where `torch.func.stack_module_state` does the same.

    Raises:
        TensorError: there are none, or they are of different classes or modes.

    >>> from fxgrad.compat.functorch import combine_state_for_ensemble, vmap
    >>> fmodel, params, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> vmap(fmodel, in_dims=(0, 0, None))(params, buffers, torch.ones(5, 2)).shape
    torch.Size([4, 5, 3])
    """
    models = list(models)
    check_models("combine_state_for_ensemble", models)
    params, buffers = stack_module_state(models)
    function = FunctionalModuleWithBuffers(deepcopy(models[0]), [*params], [*buffers])
    return function, tuple(p.detach() for p in params.values()), tuple(buffers.values())


__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]
