"""`torch.ops.aten`: operations under the names that torch uses below its public functions; checkpoint policies refer to
them.

Here one operation serves all kinds of operands: all overloads of a name, `aten.sum.default` and `aten.sum.dim_IntList`,
are the same object, which prints as the first of them. The name itself, `aten.sum`, is a packet of them.
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
# What programs name where operations are counted; derivatives run under other names.
ATTENTION = "_scaled_dot_product_flash_attention"
COUNTED = {"convolution_backward", ATTENTION, f"{ATTENTION}_backward"}
OVERLOADS = """
    default out dim dim_IntList int int_out self self_int correction memory_format sizes unary_out Dimname Scalar
    Scalar_mode Scalar_out ScalarOther ScalarSelf Tensor Tensor_Scalar Tensor_Tensor Tensor_mode Tensor_out
"""


def convolve(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
) -> Any:  # fmt: skip
    """Carry out a convolution of any number of dimensions, or the transpose of one."""
    functions, dims = SPACES["nn.functional"], len(weight.shape) - 2
    if transposed:
        function = functions[f"conv_transpose{dims}d"]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return functions[f"conv{dims}d"](input, weight, bias, stride, padding, dilation, groups)


class AtenOperation:
    """An operation of `torch.ops.aten`, such as `torch.ops.aten.mm.default`, which is also its repr. Each name has one
    object, so that operations can be compared and put into sets. Calling it calls the function of this name."""

    def __init__(self, name: str):
        self._opname = name
        self._overloadname = FIRST_OVERLOADS.get(name.removesuffix("_"), "default")
        self.__name__ = f"{name}.{self._overloadname}"
        self.__qualname__, self.__module__ = self.__name__, "torch.ops.aten"

    namespace = "aten"

    @property
    def overloadpacket(self) -> AtenPacket:
        """All overloads of the name."""
        return aten_packet(self._opname)

    def name(self) -> str:
        """The name with its namespace: `aten::mm`."""
        return f"aten::{self._opname}"

    @property
    def function(self) -> Any:
        """The function of this name: None if the operation is called by another one."""
        if self._opname == "convolution":
            return convolve
        spaces = ("function", "nn.functional", "method")
        return next((f for f in (SPACES[space].get(self._opname) for space in spaces) if f is not None), None)

    def __call__(self, *args, **kwargs) -> Any:
        if self.function is None:
            raise NotImplementedError(f"{self} is called by another function, and cannot be called itself")
        return self.function(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._opname}', overload='{self._overloadname}')>"


class AtenPacket:
    """A name of `torch.ops.aten`, such as `torch.ops.aten.mm`; its attributes are the operation's overloads. Calling it
    calls the operation."""

    def __init__(self, name: str):
        self._qualified_op_name, self.__name__ = f"aten::{name}", name
        self.__module__ = "torch.ops.aten"

    def __call__(self, *args, **kwargs) -> Any:
        return aten_operation(self.__name__)(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        operation = aten_operation(self.__name__)
        if overload in OVERLOADS.split():
            return operation
        if not overload.startswith("__") and not is_asked():  # named, as in a table of operations
            return make_absent(f"torch.ops.{self}.{overload}", "no overload is known by this name here")
        raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class AtenNamespace:
    """`torch.ops.aten`, which has an `AtenPacket` for every name that an operation is known by.

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
        return aten_packet(name)

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
def aten_packet(name: str) -> AtenPacket:
    """The packet of a name."""
    return AtenPacket(name)


@cache
def aten_names() -> set[str]:
    """The names of all operations."""
    load_families()
    names = {COMPUTED_BY.get(name, name) for name in OPERATIONS} | COUNTED
    return names | {f"{name}_" for name, operation in OPERATIONS.items() if operation.inplace}


def called_operation(name: str, operands: Sequence[Any], is_inplace: bool) -> AtenOperation:
    """Return the ATen operation that a declared operation calls for these operands."""
    if name == "linear" and (len(operands) < 3 or operands[2] is None):
        return aten_operation("mm")
    return aten_operation(f"{name}_" if is_inplace else COMPUTED_BY.get(name, name))
