"""Weights of spectral norm one, recomputed before each call: the older form of `parametrizations`."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...errors import ArgumentValueError, TensorError
from .. import functional
from ..modules.module import Module
from ..parameter import Parameter
from .weight_norm import find_hook, remove_hook

TRANSPOSED = (
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
)  # their outputs are the second dimension


def output_dim(module: Module) -> int:
    """The dimension of the outputs in the weight of a module."""
    return 1 if any(cls.__name__ in TRANSPOSED for cls in type(module).__mro__) else 0


def check_iterations(count: int) -> None:
    """Raise unless there is a step of the power method."""
    if count <= 0:
        raise ArgumentValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={count}",
            hint="n_power_iterations=1",
        )


class SpectralNorm:
    """A hook that divides a weight by its spectral norm before each call of its module. Source: Miyato et al., 2018,
    arXiv:1802.05957."""

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_iterations(n_power_iterations)
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with its outputs as rows."""
        return weight.movedim(self.dim, 0).flatten(1) if weight.dim() > 1 else weight.reshape(len(weight), 1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the weight divided by its norm; the norm is updated by power iteration if asked."""
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix: Any = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(functional.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(functional.normalize(matrix.mv(v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()  # which later steps modify
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        for part in ("u", "v", "orig"):
            delattr(module, f"{self.name}_{part}")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace a weight by the Tensors from which the hook computes it."""
        if find_hook(module, SpectralNorm, name) is not None:
            raise TensorError(
                f"Cannot register two spectral_norm hooks on the same parameter {name}",
                hint=f"torch.nn.utils.remove_spectral_norm(module, {name!r}) before",
            )
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ArgumentValueError(
                f"`SpectralNorm` cannot be applied as parameter `{name}` is None",
                hint=f"{name} as a Parameter: torch.nn.Parameter(…)",
            )
        with no_grad():
            matrix = made.reshape_weight_to_matrix(weight)
            h, w = matrix.shape
            u, v = (functional.normalize(matrix.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in (h, w))
        del module._parameters[name]
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(made._fx_note_version)
        return made

    def _fx_note_version(
        self, module: Module, state_dict, prefix: str, local_metadata: dict[str, Any]
    ) -> None:
        """Write the version of the state into its metadata, in torch's format."""
        local_metadata.setdefault("spectral_norm", {})[f"{self.name}.version"] = 1


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Replace a weight by NAME_orig, and the vectors NAME_u and NAME_v of the power iteration.

    Source: T. Miyato et al., Spectral normalization for generative adversarial networks, ICLR 2018.

    Args:
        n_power_iterations: steps in each call in training.
        eps: the least norm by which is divided.
        dim: the dimension of the outputs; None: 1 for transposed convolutions, else 0.
        module: the module.
        name: the name of the parameter.

    Raises:
        RuntimeError: that was done already.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> layer.weight_orig.shape
    torch.Size([3, 2])
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight a parameter again, with the value that it has.

    Args:
        module: the module.
        name: the name of the parameter.

    Raises:
        ValueError: it is one.

    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
    >>> layer = torch.nn.utils.remove_spectral_norm(layer)
    >>> isinstance(layer.weight, torch.nn.Parameter)
    True
    """
    remove_hook(module, SpectralNorm, name, "spectral_norm")
    return module
