"""Attributes of a Tensor: its sizes, its kind of elements, its device."""

from __future__ import annotations

from typing import Any

from ...extend import aval_of, devices
from .._core.dtypes import dtype as torch_dtype
from .._core.dtypes import from_numpy_dtype, result_numpy_dtype, short_name
from .._core.error_messages import dimension_error
from .._core.meta import is_meta
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, unwrap
from .._declare.spaces import expose
from ..errors import DimensionError, TensorError, argument_error
from .devices import CPU, device_count, device_of


# -- sizes ------------------------------------------
@expose("method")
def size(self: Tensor, dim=None) -> Any:
    """The shape, or the size of one dimension."""
    shape = self.shape
    if dim is None:
        return shape
    if not hasattr(dim, "__index__"):
        raise argument_error("size", "dim", 1, "int", dim, "x.size() has all sizes, x.size(0) the first")
    if not -len(shape) <= dim < len(shape):
        if shape:
            raise dimension_error(dim, len(shape))
        raise DimensionError(
            f"Dimension specified as {dim} but tensor has no dimensions", hint="x.size(), which is empty"
        )
    return shape[dim]


@expose("method")
@expose("method", "ndimension")
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self.shape)


@expose("function method")
@expose("method", "nelement")
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.shape.numel()


@expose("method")
def element_size(self: Tensor) -> int:
    """The bytes of an element."""
    return self.dtype.itemsize


# -- kinds ------------------------------------------
@expose("function method")
def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers."""
    return input.dtype.is_floating_point


@expose("function method")
def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers."""
    return input.dtype.is_complex


@expose("function method")
def is_signed(input: Tensor) -> bool:
    """Whether the elements may be negative."""
    return input.dtype.is_signed


@expose("function method")
def is_distributed(input: Tensor) -> bool:
    """Whether the Tensor is spread over several processes: never."""
    return False


@expose()
def result_type(tensor, other) -> torch_dtype:
    """The dtype in which arithmetic on two Tensors or numbers is done.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    return from_numpy_dtype(result_numpy_dtype((unwrap(tensor), unwrap(other))))


# -- place ------------------------------------------
@expose("function method")
def get_device(input: Tensor) -> int:
    """The number of the CUDA device; -1 on the CPU."""
    index = device_of(input._fx_value).index
    return -1 if index is None else index


@expose("method")
def is_pinned(self: Tensor, device=None) -> bool:
    """Whether the entries are in pinned memory, so that copies to a CUDA device overlap with other work."""
    return devices.is_pinned_array(self._fx_value)


@expose("method")
def pin_memory(self: Tensor, device=None) -> Tensor:
    """A copy in pinned memory; the Tensor itself if it is pinned already.

    Raises:
        TensorError: there is no CUDA device; the Tensor is on one.
    """
    if not device_count():
        raise TensorError(
            "Cannot access accelerator device when none is available.",
            hint="the Tensor as it is, in ordinary memory",
        )
    if device_of(self._fx_value) != CPU:
        kind = f"torch.cuda.{short_name(self.dtype)}Tensor"
        raise TensorError(
            f"cannot pin '{kind}' only dense CPU tensors can be pinned", hint="x.cpu().pin_memory()"
        )
    if devices.is_pinned_array(self._fx_value):
        return self
    made = devices.pinned_empty(self.shape, aval_of(self._fx_value).dtype)
    return make_tensor(current_tape(), made).copy_(self.detach()).requires_grad_(self.requires_grad)


@expose("method")
def record_stream(self: Tensor, s) -> None:
    """Do nothing, because memory is freed by reference counting, independently of streams."""


@expose("method")
def dim_order(self: Tensor, ambiguity_check=False) -> tuple[int, ...]:
    """The dimensions by how far apart their entries are in memory, the farthest first.

    >>> torch.ones(2, 3).T.dim_order()
    (1, 0)
    """
    strides = self.stride()
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


@expose(name="layout")
class MemoryLayout:
    """How the entries of a Tensor are stored: `torch.strided`; of sparse Tensors it is a subclass.

    >>> isinstance(torch.strided, torch.layout)
    True
    """

    compressed = False  # whether by compressed rows

    def __repr__(self) -> str:
        return "torch.strided"


strided = MemoryLayout()
expose(name="strided")(strided)

# What is known without a call.
ATTRIBUTES = {
    "ndim": dim,
    "itemsize": element_size,
    "nbytes": lambda self: self.dtype.itemsize * self.shape.numel(),
    "device": lambda self: device_of(self._fx_value),
    "is_cpu": lambda self: device_of(self._fx_value).type == "cpu",
    "is_cuda": lambda self: device_of(self._fx_value).type == "cuda",
    "layout": lambda self: strided,
    "is_sparse": lambda self: False,
    "is_sparse_csr": lambda self: False,
    "is_quantized": lambda self: False,
    "is_meta": lambda self: is_meta(self._fx_value),
    "name": lambda self: None,
    # Places and layouts of torch's that are not here.
    **dict.fromkeys(
        ["is_ipu", "is_maia", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_vulkan", "is_xla", "is_xpu"],
        lambda self: False,
    ),
}
for name, get in ATTRIBUTES.items():
    expose("method", name)(property(get))
