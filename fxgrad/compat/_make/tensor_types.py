"""Tensors made by calling a class: `torch.Tensor(…)`, `x.new(…)`, `torch.FloatTensor` and similar ones."""

from __future__ import annotations

import numpy as np

from .._core.dtypes import NAMES, from_name, get_default_dtype
from .._core.dtypes import dtype as torch_dtype
from .._core.tensor import Size, Tensor, as_subclass
from .._declare.spaces import expose
from ..errors import ArgumentError
from .creation import empty, tensor
from .devices import device_count


def construct(dtype: torch_dtype, args: tuple[object, ...], device: object = None) -> Tensor:
    """Construct a Tensor as `torch.Tensor(…)` does: from sizes, with arbitrary numbers, or from data."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], Size | int | np.integer):
        if not isinstance(args[0], str) and not hasattr(args[0], "__len__"):
            raise ArgumentError(
                f"new(): data must be a sequence (got {type(args[0]).__name__})",
                hint=f"torch.tensor({args[0]!r})",
            )
        return tensor(args[0], dtype=dtype, device=device)
    return empty(*(args or (0,)), dtype=dtype, device=device)


def construct_instance(cls: type, *args: object, device: object = None) -> Tensor:
    """Construct a Tensor, or an instance of a subclass, as `torch.Tensor(…)` does."""
    return as_subclass(construct(get_default_dtype(), args, device), cls)


Tensor._fx_attach(__new__=staticmethod(construct_instance))


@expose("method")
def new(self: Tensor, *args: object) -> Tensor:
    """`torch.Tensor(…)` in the dtype and on the device of this Tensor."""
    return construct(self.dtype, args, self.device)


class TensorType(type):
    """The class of types such as `torch.FloatTensor`: each makes Tensors of a dtype, and `isinstance` recognizes them.

    `dtype` is their dtype, `place` the namespace of torch in which the type is: "cuda" and "sparse" say where the
    entries of its Tensors are, and how they are kept.

    >>> torch.LongTensor([1, 2]), isinstance(torch.ones(2), torch.FloatTensor), isinstance(3, torch.cuda.FloatTensor)
    (tensor([1, 2]), True, False)
    """

    dtype_name = place = ""  # no annotation: from Python 3.14 on, classes would show it as theirs

    @property
    def dtype(cls) -> torch_dtype:
        """The dtype of the type's Tensors."""
        return from_name(cls.dtype_name)

    @property
    def is_cuda(cls) -> bool:
        """Whether the type's Tensors are on a CUDA device."""
        return cls.place == "cuda"

    @property
    def is_sparse(cls) -> bool:
        """Whether of the type's Tensors only some entries are kept."""
        return cls.place == "sparse"

    def __call__(cls, *args: object, device: object = None) -> Tensor:
        """Make a Tensor of sizes, or of data.

        Raises:
            ArgumentError: there is no CUDA device for the Tensors of this type.
        """
        if cls.is_cuda and not device_count():
            raise ArgumentError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.",
                hint="torch.FloatTensor and its like are of the CPU; torch.cuda.is_available() tells",
            )
        return construct(cls.dtype, args, device or ("cuda" if cls.is_cuda else None))

    def __instancecheck__(cls, x: object) -> bool:
        """Whether an object is a Tensor of this dtype, device and layout."""
        return (
            isinstance(x, Tensor)
            and x.dtype.name == cls.dtype_name
            and x.is_cuda == cls.is_cuda
            and x.is_sparse == cls.is_sparse
        )


def make_types(place: str, kind: type[TensorType] = TensorType) -> dict[str, TensorType]:
    """Make the types of a namespace of torch's, one for each dtype, by name."""
    module = f"torch.{place}".rstrip(".")
    return {
        f"{short}Tensor": kind(
            f"{short}Tensor", (), {"__module__": module, "dtype_name": name, "place": place}
        )
        for name, (short, _) in NAMES.items()
    }


TENSOR_TYPES = make_types("")
for name in TENSOR_TYPES:
    expose(name=name)(TENSOR_TYPES[name])
