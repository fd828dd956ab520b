"""`torch.ops.aten`: operations under the names that torch uses below its public functions; checkpoint policies refer to
them.

Here one operation serves all kinds of operands: all overloads of a name, `aten.sum.default` and `aten.sum.dim_IntList`,
are the same object, which prints as the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from .._core.absence import is_asked, make_absent
from .._declare.operation import OPERATIONS
from .._declare.spaces import SPACES, load_families

# Operations that torch carries out by others: the name of the one that computes.
COMPUTED_BY = {
    "batch_norm": "native_batch_norm",
    "conv1d": "convolution",
    "conv2d": "convolution",
    "conv3d": "convolution",
    "conv_transpose1d": "convolution",
    "conv_transpose2d": "convolution",
    "conv_transpose3d": "convolution",
    "group_norm": "native_group_norm",
    "layer_norm": "native_layer_norm",
    "linalg_inv": "linalg_inv_ex",
    "linear": "addmm",
    "log_softmax": "_log_softmax",
    "logsigmoid": "log_sigmoid_forward",
    "matmul": "bmm",
    "native_instance_norm": "native_batch_norm",
    "nll_loss": "nll_loss_forward",
    "norm": "linalg_vector_norm",
    "prelu": "_prelu_kernel",
    "relu6": "hardtanh",
    "rms_norm": "_fused_rms_norm",
    "scaled_dot_product_attention": "_scaled_dot_product_flash_attention_for_cpu",
    "selu": "elu",
    "softmax": "_softmax",
    "square": "pow",
    "to_copy": "_to_copy",
    "unsafe_view": "_unsafe_view",
}
# The overload by which an operation is known, where that is not "default".
FIRST_OVERLOADS = {
    name: overload
    for overload, names in {
        "Tensor": """
            add sub mul div floor_divide fmod remainder eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor index slice
            split lerp
        """,
        "Tensor_Scalar": "pow",
        "Scalar": "rsub masked_fill",
        "self": "where",
        "int": "transpose select unbind",
        "correction": "std var std_mean var_mean",
    }.items()
    for name in names.split()
}
OVERLOADS = """
    default out dim dim_IntList int int_out self self_int correction memory_format sizes unary_out Dimname Scalar
    Scalar_mode Scalar_out ScalarOther ScalarSelf Tensor Tensor_Scalar Tensor_Tensor Tensor_mode Tensor_out
"""


class AtenOperation:
    """One of torch's operations: `torch.ops.aten.mm.default`, which prints as that. There is one for each name, so that
    it can be compared and be in sets. Calling it calls the function of this name."""

    def __init__(self, name: str):
        self._opname = name
        self._overloadname = FIRST_OVERLOADS.get(name.removesuffix("_"), "default")
        self.__name__ = f"{name}.{self._overloadname}"
        self.__qualname__ = self.__name__

    namespace = "aten"

    @property
    def overloadpacket(self) -> AtenOperation:
        """All overloads of the name, which are one."""
        return self

    def name(self) -> str:
        """The name with its namespace: `aten::mm`."""
        return f"aten::{self._opname}"

    def __call__(self, *args, **kwargs) -> Any:
        for space in ("function", "nn.functional", "method"):
            function = SPACES[space].get(self._opname)
            if function is not None:
                return function(*args, **kwargs)
        raise NotImplementedError(f"{self} is called by another function, and cannot be called itself")

    def __getattr__(self, overload: str) -> Any:
        if overload in OVERLOADS.split():
            return self
        if not overload.startswith("__") and not is_asked():  # named, as in a table of operations
            return make_absent(
                f"torch.ops.aten.{self._opname}.{overload}", "no overload is known by this name here"
            )
        raise AttributeError(f"The underlying op of 'aten.{self._opname}' has no overload name '{overload}'")

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._opname}', overload='{self._overloadname}')>"


class AtenNamespace:
    """`torch.ops.aten`, which has an `AtenOperation` for every name that an operation is known by.

    >>> torch.ops.aten.mm.default
    <OpOverload(op='aten.mm', overload='default')>
    >>> hasattr(torch.ops.aten, "linear")  # which is made of others
    False

    Others can be named, as in tables of operations, and not be called.
    """

    def __getattr__(self, name: str) -> Any:
        if name not in aten_names() and not is_called_by_name(name):
            if name.startswith("__") or is_asked():
                raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
            return make_absent(f"torch.ops.aten.{name}", "no operation is known by this name here")
        return aten_operation(name)

    def __dir__(self) -> list[str]:
        return sorted(aten_names())


aten = AtenNamespace()


def is_called_by_name(name: str) -> bool:
    """Whether a name is that of a function, or of an in-place method, that runs under no other name."""
    if name.startswith("_") or name in COMPUTED_BY:
        return False
    return name in SPACES["function"] or (name.endswith("_") and name in SPACES["method"])


@cache
def aten_operation(name: str) -> AtenOperation:
    """The operation of a name."""
    return AtenOperation(name)


@cache
def aten_names() -> set[str]:
    """The names of all operations."""
    load_families()
    names = {COMPUTED_BY.get(name, name) for name in OPERATIONS}
    return names | {f"{name}_" for name, operation in OPERATIONS.items() if operation.inplace}


def called_operation(name: str, operands: Sequence[Any], is_inplace: bool) -> AtenOperation:
    """Return the ATen operation that a declared operation calls for these operands."""
    if name == "linear" and (len(operands) < 3 or operands[2] is None):
        return aten_operation("mm")
    return aten_operation(f"{name}_" if is_inplace else COMPUTED_BY.get(name, name))
