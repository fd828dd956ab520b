"""Pruning: parameters multiplied by masks of zeros and ones.

A pruned parameter NAME of a module becomes NAME_orig, with the buffer NAME_mask; before each call a hook, the pruning
method, sets NAME to their product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ..._core.tensor import Tensor
from ..._declare.packages import complete_module
from ..._make.creation import ones_like, zeros_like
from ..._make.sampling import rand, rand_like
from ...errors import ArgumentError, ArgumentValueError, DimensionError, RequirementError
from ...ops.arguments import shape_hint
from ...ops.joining import cat
from ..modules.module import Module
from .pruning_amounts import check_amount, count_pruned


class BasePruningMethod(ABC):
    """The base of pruning methods: subclasses define `compute_mask`, and `apply` if their arguments need names.

    PRUNING_TYPE says what `compute_mask` is given of a Tensor that is pruned already: "unstructured", the entries that
    are left, as a vector; "structured", the channels that are left along its dimension `dim`; "global", all.

    >>> class PruneNegative(torch.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t >= 0)
    >>> PruneNegative().prune(torch.tensor([-1.0, 2.0]))
    tensor([-0., 2.])
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for the importances t: zero at pruned entries, equal to `default_mask` elsewhere.

        Raises:
            ValueError, IndexError, AssertionError: the Tensor has not the dimensions that the method needs, or a mask
                another shape.
        """

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned parameter of a module."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args, importance_scores: Tensor | None = None, **kwargs
    ) -> BasePruningMethod:
        """Prune a parameter, in addition to what prunes it already.

        Args:
            args, kwargs: of the constructor of the method.
            importance_scores: by what entries are chosen; None: by the parameter itself.
            module: the module.
            name: that of the parameter.

        Raises:
            AssertionError: `importance_scores` has another shape.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        before = cls._fx_find(module, name)
        if before is not None:
            known = module._forward_pre_hooks.pop(before)
            container = known if isinstance(known, PruningContainer) else PruningContainer(known)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise RequirementError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{original.shape}",
                hint=shape_hint("importance_scores", scores.shape, original.shape),
            )
        if before is None:
            default_mask = ones_like(original.detach())
        else:
            default_mask = getattr(module, f"{name}_mask").detach().clone()
        mask = method.compute_mask(scores.detach(), default_mask=default_mask)
        if before is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """The pruned Tensor, without a module.

        Args:
            t: the Tensor.
            default_mask: what is pruned already; None: nothing.
            importance_scores: by what entries are chosen; None: by `t`.

        Raises:
            AssertionError: `importance_scores` has another shape.
        """
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise RequirementError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}",
                hint=shape_hint("importance_scores", scores.shape, t.shape),
            )
        default_mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default_mask)  # type: ignore[operator]

    @staticmethod
    def _fx_find(module: Module, name: str | None) -> int | None:
        """The number of the hook that prunes a parameter, or any, of a module."""
        for number, hook in module._forward_pre_hooks.items():
            if isinstance(hook, BasePruningMethod) and name in (None, hook._tensor_name):
                return number
        return None

    def remove(self, module: Module) -> None:
        """Make the pruned parameter an ordinary one that contains the zeros."""
        weight = self.apply_mask(module)
        original: Any = module._parameters.pop(f"{self._tensor_name}_orig")
        original.data = weight.detach()
        del module._buffers[f"{self._tensor_name}_mask"]
        delattr(module, self._tensor_name)
        setattr(module, self._tensor_name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, of which the last chooses among what the others left.

    Args:
        args: those of the function in its place.

    >>> layer = torch.nn.Linear(2, 2)
    >>> for _ in range(2):
    ...     layer = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
    >>> int(layer.weight_mask.sum())
    2
    """

    def __init__(self, *args) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1 and not isinstance(args[0], Iterable):
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args[0] if len(args) == 1 else args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Append a method of the same parameter.

        Raises:
            TypeError: it is no pruning method.
            ValueError: it prunes another parameter.
        """
        if method is None:
            return
        if not isinstance(method, BasePruningMethod):
            raise ArgumentError(
                f"{type(method)} is not a BasePruningMethod subclass",
                hint="torch.nn.utils.prune.L1Unstructured(amount=0.5)",
            )
        name = getattr(self, "_tensor_name", method._tensor_name)
        if name != method._tensor_name:
            raise ArgumentValueError(
                f"Can only add pruning methods acting on the parameter named '{name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'",
                hint=f"a container for each parameter: {type(method).__name__}.apply(module, {method._tensor_name!r})",
            )
        self._tensor_name = name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, restricted to the entries that the default mask keeps."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        place: Any
        if method.PRUNING_TYPE == "unstructured":
            place = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()  # type: ignore[attr-defined]
            left = mask.sum(dim=tuple(d for d in range(t.dim()) if d != dim)) != 0
            place = (slice(None),) * dim + (left,)
        elif method.PRUNING_TYPE == "global":
            place = (slice(None),) * t.dim()
        else:
            raise ArgumentValueError(
                f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}",
                hint='PRUNING_TYPE = "unstructured", "structured" or "global" in the class',
            )
        partial = method.compute_mask(t[place], default_mask=mask[place])
        made = mask.clone()
        made[place] = partial.to(dtype=made.dtype)
        return made


# -- the methods ------------------------------------------
class Identity(BasePruningMethod):
    """Prune nothing, but make the mask.

    >>> torch.nn.utils.prune.Identity().prune(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Unstructured(BasePruningMethod):
    """The base of methods that prune the single entries of least importance."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        check_amount(amount)
        self.amount = amount

    def _fx_importance(self, t: Tensor) -> Tensor:
        """The importance of each entry."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = count_pruned(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            least = self._fx_importance(t).reshape(-1).topk(count, largest=False).indices
            mask.view(-1)[least] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prune random entries.

    >>> int((torch.nn.utils.prune.RandomUnstructured(1).prune(torch.ones(2)) == 0).sum())
    1
    """

    def _fx_importance(self, t: Tensor) -> Tensor:
        return rand_like(t)


class L1Unstructured(_Unstructured):
    """Prune the entries of least absolute value.

    >>> torch.nn.utils.prune.L1Unstructured(1).prune(torch.tensor([1.0, 2.0]))
    tensor([0., 2.])
    """

    def _fx_importance(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(BasePruningMethod):
    """The base of those that prune an amount of channels: those of least importance."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        check_amount(amount)
        self.amount, self.dim = amount, dim

    def _fx_importance(self, t: Tensor) -> Tensor:
        """The importance of each channel."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ArgumentValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims",
                hint="an unstructured method, such as prune.l1_unstructured",
            )
        if not -t.dim() <= self.dim < t.dim():
            raise DimensionError(
                f"Invalid index {self.dim} for tensor of size {t.shape}", hint=f"dim={t.dim() - 1}"
            )
        size = t.shape[self.dim]
        count = count_pruned(self.amount, size)
        if count == 0:
            return default_mask
        kept = self._fx_importance(t).topk(size - count, largest=True).indices
        mask = zeros_like(t)
        mask[(slice(None),) * (self.dim % t.dim()) + (kept,)] = 1
        return mask * default_mask.to(dtype=mask.dtype)  # type: ignore[operator]


class RandomStructured(_Structured):
    """Prune random channels along a dimension.

    >>> torch.nn.utils.prune.RandomStructured(1, dim=0).prune(torch.ones(2, 2)).sum()
    tensor(2.)
    """

    def _fx_importance(self, t: Tensor) -> Tensor:
        return rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prune the channels of least norm of order n along a dimension.

    >>> torch.nn.utils.prune.LnStructured(1, n=2, dim=0).prune(torch.ones(2, 2)).sum()
    tensor(2.)
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    @classmethod
    def apply(cls, module: Module, name: str, amount: float, n: Any, dim: int, importance_scores=None) -> Any:  # type: ignore[override]
        """See `BasePruningMethod`."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)

    def _fx_importance(self, t: Tensor) -> Tensor:
        return t.norm(p=self.n, dim=tuple(d for d in range(t.dim()) if d != self.dim % t.dim()))


class CustomFromMask(BasePruningMethod):
    """Prune where a mask is zero.

    >>> torch.nn.utils.prune.CustomFromMask(torch.tensor([1.0, 0.0])).prune(torch.tensor([1.0, 2.0]))
    tensor([1., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise RequirementError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}",
                hint=shape_hint("default_mask", default_mask.shape, self.mask.shape),
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)  # type: ignore[operator]


def identity(module: Module, name: str) -> Module:
    """Prune nothing of a parameter, but make its mask; returns the module.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer = torch.nn.utils.prune.identity(layer, "weight")
    >>> int(layer.weight_mask.sum())
    4
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune random entries of a parameter: so many, or that part of them; returns the module.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer = torch.nn.utils.prune.random_unstructured(layer, "weight", amount=1)
    >>> int(layer.weight_mask.sum())
    3
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the entries of a parameter of least absolute value, or of the least scores; returns the module.

    >>> layer = torch.nn.Linear(2, 2, bias=False)
    >>> _ = torch.nn.init.eye_(layer.weight)
    >>> torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=0.5).weight_mask
    tensor([[1., 0.],
            [0., 1.]])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune random channels of a parameter along a dimension; returns the module.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer = torch.nn.utils.prune.random_structured(layer, "weight", amount=1, dim=0)
    >>> int(layer.weight_mask.sum())
    2
    """
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the channels of a parameter of least norm of order n along a dimension; returns the module.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer = torch.nn.utils.prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    >>> int(layer.weight_mask.sum())
    2
    """
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs,
) -> None:
    """Prune several parameters as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: an unstructured one; `kwargs` are the arguments of its constructor.
        importance_scores: for some of the pairs, by what entries are chosen.

    Raises:
        TypeError: arguments of another kind; a structured method.

    >>> layer = torch.nn.Linear(2, 2)
    >>> prune = torch.nn.utils.prune
    >>> parameters = [(layer, "weight"), (layer, "bias")]
    >>> prune.global_unstructured(parameters, prune.L1Unstructured, amount=2)
    >>> int(layer.weight_mask.sum() + layer.bias_mask.sum())
    4
    """
    if not isinstance(parameters, Iterable):
        raise ArgumentError(
            "global_unstructured(): parameters is not an Iterable",
            hint="[(module, 'weight'), (other, 'weight')]",
        )
    scores: Any = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise ArgumentError(
            "global_unstructured(): importance_scores must be of type dict",
            hint="{(module, 'weight'): scores}",
        )
    pairs = list(parameters)
    values = [scores.get((module, name), getattr(module, name)).detach() for module, name in pairs]
    masks = [getattr(module, f"{name}_mask", ones_like(x)) for (module, name), x in zip(pairs, values)]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}",
            hint="prune.L1Unstructured, or prune.ln_structured for one parameter at a time",
        )
    whole = PruningContainer(method).compute_mask(
        cat([x.reshape(-1) for x in values]), cat([mask.reshape(-1) for mask in masks])
    )
    for (module, name), part in zip(pairs, whole.split([x.numel() for x in values])):
        custom_from_mask(module, name, part.view(getattr(module, name).shape))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where a mask is zero; returns the module.

    >>> layer = torch.nn.Linear(2, 2)
    >>> layer = torch.nn.utils.prune.custom_from_mask(layer, "weight", torch.tensor([[1, 0], [1, 1]]))
    >>> int(layer.weight_mask.sum())
    3
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a plain one, with the zeros in it; returns the module.

    Raises:
        ValueError: it is not pruned.

    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
    >>> layer = torch.nn.utils.prune.remove(layer, "weight")
    >>> torch.nn.utils.prune.is_pruned(layer), int((layer.weight == 0).sum())
    (False, 1)
    """
    number = BasePruningMethod._fx_find(module, name)
    if number is None:
        raise ArgumentValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed",
            hint="prune.is_pruned(module) tells",
        )
    module._forward_pre_hooks.pop(number).remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one inside it, has a pruned parameter.

    >>> layer = torch.nn.Linear(2, 2)
    >>> _ = torch.nn.utils.prune.l1_unstructured(layer, "weight", amount=1)
    >>> torch.nn.utils.prune.is_pruned(layer)
    True
    """
    return any(BasePruningMethod._fx_find(part, None) is not None for part in module.modules())


complete_module(globals(), "nn.utils.prune")
