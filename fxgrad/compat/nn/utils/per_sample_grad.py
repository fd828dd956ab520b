"""Per-sample gradients, which `backward` stores on the parameters."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ....extend import is_object, pytree
from ..._core.tensor import Tensor
from ...autograd.function import Function
from ...errors import TensorError
from ...func.stateless import functional_call
from ...func.vectorize import vmap
from ..modules.module import Module


class SampledParameter(Function):
    """A parameter once for each sample. Its gradient becomes the parameter's `grad_sample`, times a factor."""

    @staticmethod
    def forward(ctx: Any, parameter: Tensor, size: int, factor: int) -> Tensor:
        ctx.parameter, ctx.factor = parameter, factor
        return parameter.expand(size, *parameter.shape)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[None, None, None]:
        grad = ctx.factor * grad_outputs[0]
        before = getattr(ctx.parameter, "grad_sample", None)
        ctx.parameter.grad_sample = grad if before is None else before + grad
        return None, None, None


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """Return the call of a module, such that `backward` leaves the gradient for each sample with the parameters, as
    `parameter.grad_sample` of shape (batch_size, *parameter.shape), and no `grad`.

    The module is mapped over the samples (`torch.vmap`), each a batch of one.

    Args:
        module: the module.
        batch_size: the number of samples; None for that of the Tensors among the arguments.
        loss_reduction: "sum", or "mean" for a loss that is divided by the number of samples.
        batch_first: whether samples are along the first dimension of arguments, or the second.

    >>> from fxgrad.compat.nn.utils.per_sample_grad import call_for_per_sample_grads
    >>> model = torch.nn.Linear(4, 3)
    >>> call_for_per_sample_grads(model)(torch.randn(5, 4)).sum().backward()
    >>> model.weight.grad_sample.shape, model.weight.grad
    (torch.Size([5, 3, 4]), None)

    Raises:
        TensorError, a RuntimeError: an argument is not as above, or a parameter has a `grad_sample` already.
    """
    if loss_reduction not in ("sum", "mean"):
        raise TensorError(
            f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}",
            hint='loss_reduction="sum", or "mean"',
        )
    if not isinstance(module, Module):
        raise TensorError(
            f"Module passed must be nn.Module, got {type(module).__name__}",
            hint="a subclass of torch.nn.Module; torch.func.vmap(torch.func.grad(f)) for a function",
        )
    if not (batch_size is None or isinstance(batch_size, int)):
        raise TensorError(
            f"Batch size passed must be None or an integer, got {type(batch_size).__name__}",
            hint="batch_size=x.shape[0]",
        )
    if batch_size is not None and batch_size < 1:
        raise TensorError(f"Batch size must be positive, got {batch_size}", hint="batch_size=x.shape[0]")
    for parameter in module.parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise TensorError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                f"without clearing gradients. Please clear out the grad_sample parameter of {parameter}",
                hint="parameter.grad_sample = None",
            )
    dim = 0 if batch_first else 1

    @wraps(module.forward)
    def call_mapped(*args: Any, **kwargs: Any) -> Any:
        size = find_batch_size((args, kwargs), dim) if batch_size is None else batch_size
        factor = size if loss_reduction == "mean" else 1
        parameters: dict[str, Any] = {
            name: SampledParameter.apply(p, size, factor)
            for name, p in module.named_parameters()
            if p.requires_grad
        }

        def call_sample(parameters: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Any:
            given, named = pytree.map(
                lambda a: a.unsqueeze(dim) if isinstance(a, Tensor) else a, (args, kwargs), is_leaf=is_object
            )
            return functional_call(module, parameters, given, named)

        in_dims = pytree.map(
            lambda a: dim if isinstance(a, Tensor) else None, (args, kwargs), is_leaf=is_object
        )
        mapped = vmap(call_sample, in_dims=(0, *in_dims), out_dims=dim, randomness="different")
        return pytree.map(
            lambda out: out.flatten(dim, dim + 1), mapped(parameters, args, kwargs), is_leaf=is_object
        )

    return call_mapped


def find_batch_size(arguments: Any, dim: int) -> int:
    """Return the number of samples in the Tensors among arguments.

    Raises:
        TensorError, a RuntimeError: there are none, or of different sizes.
    """
    sizes = [a.shape[dim] for a in pytree.leaves(arguments, is_object) if isinstance(a, Tensor)]
    if not sizes:
        raise TensorError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so ExpandedWeights "
            "cannot compute the batch size from the inputs. Please specify it explicitly",
            hint="batch_size=x.shape[0]",
        )
    for size in sizes:
        if size != sizes[0]:
            raise TensorError(
                f"When computing batch size, found at least one input with batch size {sizes[0]} and one with batch "
                f"size {size}. Please specify it explicitly using the batch size kwarg in call_for_per_sample_grads",
                hint=f"batch_size={sizes[0]}, and every Tensor with its samples in dimension {dim}",
            )
    return sizes[0]
