"""The table of the names in files that may be built without the user's permission, and their meanings."""

from __future__ import annotations

import re
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from functools import cache, partial
from typing import Any

import numpy as np

from ...extend import Aval
from .._core.bits import CONJ, NEG
from .._core.dtypes import OF_NUMPY, PUBLIC, from_name
from .._core.dtypes import dtype as torch_dtype
from .._core.layout import contiguous_strides
from .._core.memory import is_array, memory_owner
from .._core.meta import MetaTracer
from .._core.storage import TypedStorage, UntypedStorage
from .._core.tape import current_tape
from .._core.tensor import Size, Tensor, as_subclass, make_tensor
from .._core.views import set_bits
from .._make.attributes import MemoryLayout, strided
from .._make.devices import device, import_cupy
from .._make.generators import Generator
from ..errors import TensorError
from ..nn.parameter import Buffer, Parameter
from .errors import refuse
from .machine import Global, Machine
from .sparse_tensors import LAYOUTS, rebuild_sparse
from .storages import STORAGE_TYPES


# -- Tensors ------------------------------------------
def are_counts(given) -> bool:
    """Whether something is a tuple of numbers that are not negative."""
    return isinstance(given, tuple) and all(type(n) is int and n >= 0 for n in given)


def view_storage(storage, dtype: torch_dtype, offset, size, stride) -> Any:
    """Return the array of these strides in a storage.

    Raises:
        UnpicklingError: these are no sizes.
        RuntimeError: it would reach outside of the storage.
    """
    size = (size,) if type(size) is int else size
    if not isinstance(storage, UntypedStorage) or not are_counts(size) or not are_counts(stride):
        raise refuse("A Tensor has no storage, sizes and strides")
    if type(offset) is not int or offset < 0 or len(size) != len(stride):
        raise refuse("A Tensor has an offset below 0, or other numbers of sizes and strides")
    item, owner = dtype.itemsize, storage._fx_owner
    count = 0 if 0 in size else offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))
    if max(count, offset if owner.nbytes else 0) * item > owner.nbytes:
        raise TensorError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {count * item} are out of bounds for storage of size {owner.nbytes}",
            hint="the file is broken: save it again",
        )
    if type(owner) is MetaTracer:
        return MetaTracer(Aval(size, dtype.numpy))
    if type(owner) is np.ndarray:
        start = min(offset * item, owner.nbytes)
        return np.ndarray(size, dtype.numpy, owner, start, [s * item for s in stride] if count else None)
    flat = owner.view(dtype.numpy)[offset:]
    if tuple(stride) == contiguous_strides(size):
        return flat[: Size(size).numel()].reshape(size)
    return import_cupy().lib.stride_tricks.as_strided(flat, size, [s * item for s in stride])


def make_leaf(array, requires_grad) -> Tensor:
    """Make a Tensor of an array, which requires a gradient or does not."""
    made = make_tensor(current_tape(), array)
    return made.requires_grad_() if requires_grad is True else made


def apply_metadata(machine: Machine, made: Tensor, metadata) -> None:
    """Have a Tensor show conjugates or negatives, as a file says."""
    if metadata is None:
        return
    if type(metadata) is not dict or not metadata.keys() <= {"conj", "neg"}:
        raise refuse("The metadata of a Tensor are not known")
    bits = (CONJ if metadata.get("conj") else 0) | (NEG if metadata.get("neg") else 0)
    if bits and is_array(made._fx_value):
        machine.charge_copy(memory_owner(made._fx_value), made._fx_value.size)
        set_bits(made, bits, made._fx_value)


def drop_hooks(hooks) -> None:
    """Warn of hooks in a file, which are never called."""
    if hooks:
        warnings.warn(
            "the file holds backward hooks of a Tensor, which are not taken over", UserWarning, stacklevel=2
        )


def rebuild_tensor(machine: Machine, storage, storage_offset, size, stride) -> Tensor:
    """Build a Tensor on a storage."""
    dtype = storage.dtype if isinstance(storage, TypedStorage) else from_name("uint8")
    return make_leaf(view_storage(storage, dtype, storage_offset, size, stride), False)


def rebuild_tensor_v2(
    machine: Machine, storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None
) -> Tensor:
    """Build a Tensor on a storage that knows its dtype."""
    dtype = storage.dtype if isinstance(storage, TypedStorage) else from_name("uint8")
    return rebuild_tensor_v3(
        machine, storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata
    )


def rebuild_tensor_v3(
    machine: Machine,
    storage,
    storage_offset,
    size,
    stride,
    requires_grad,
    backward_hooks,
    dtype,
    metadata=None,
) -> Tensor:
    """Build a Tensor on a storage of bytes."""
    if not isinstance(dtype, torch_dtype) or not isinstance(storage, UntypedStorage):
        raise refuse("A Tensor has no dtype and storage")
    if dtype.name == "bool" and storage._fx_owner.dtype != bool:
        raise refuse("Truth values are in a storage of other numbers")
    drop_hooks(backward_hooks)
    made = make_leaf(view_storage(storage, dtype, storage_offset, size, stride), requires_grad)
    apply_metadata(machine, made, metadata)
    return made


def rebuild_meta_tensor(machine: Machine, dtype, size, stride, requires_grad) -> Tensor:
    """Build a Tensor without entries."""
    if not isinstance(dtype, torch_dtype) or not are_counts(size):
        raise refuse("A Tensor has no dtype and sizes")
    return make_leaf(MetaTracer(Aval(tuple(size), dtype.numpy)), requires_grad)


def rebuild_parameter(machine: Machine, data, requires_grad=True, backward_hooks=None) -> Parameter:
    """Build a Parameter on the memory of a Tensor."""
    if not isinstance(data, Tensor):
        raise refuse("The data of a Parameter is no Tensor")
    drop_hooks(backward_hooks)
    return Parameter(data, requires_grad is True)


def rebuild_parameter_with_state(machine: Machine, data, requires_grad, backward_hooks, state) -> Parameter:
    """Build a Parameter with attributes of the user's."""
    made = rebuild_parameter(machine, data, requires_grad, backward_hooks)
    set_attributes(machine, made, state)
    return made


def rebuild_from_type(machine: Machine, function, cls, args, state) -> Tensor:
    """Build a Tensor of a class, or with attributes of the user's."""
    found = machine.globals.get(id(function))
    build = None if found is None else found.build
    if build is None or build not in TENSOR_BUILDERS or type(args) is not tuple:
        raise refuse("A Tensor is built by another function than those that build Tensors")
    made: Tensor = build(machine, *args)
    known = machine.globals.get(id(cls))
    if known is None or not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise refuse(f"{cls!r} is no class of Tensors")
    if type(state) is dict and state.get("_is_buffer"):  # torch has no class of buffers
        cls, state = Buffer, {"persistent": state.get("persistent") is not False}
    made = as_subclass(made, cls)
    if known.trusted and hasattr(cls, "__setstate__"):
        machine.call_user(made.__setstate__, state)
    else:
        set_attributes(machine, made, state)
    return made


def set_attributes(machine: Machine, made: Tensor, state) -> None:
    """Give a Tensor attributes that its class has not."""
    parts: Any = state if type(state) is tuple and len(state) == 2 else (state, None)
    attributes, slots = parts
    for name, value in [*(attributes or {}).items(), *(slots or {}).items()]:
        if type(name) is not str or (hasattr(type(made), name) and not is_plain(type(made), name)):
            raise refuse(f"{name!r} is no attribute that a user would give a Tensor")
        machine.charge(1)
        setattr(made, name, value)


def is_plain(cls: type, name: str) -> bool:
    """Whether an attribute of a class of Tensors is a default for its instances rather than a member of every
    Tensor."""
    return not hasattr(Tensor, name) and not callable(getattr(cls, name))


def rebuild_device_tensor(machine: Machine, data, dtype, location, requires_grad) -> Tensor:
    """Build a Tensor of a device whose memory torch cannot read; the file has its entries in CPU memory."""
    if isinstance(data, np.ndarray):
        data = make_tensor(current_tape(), data)
    if not isinstance(data, Tensor) or not isinstance(dtype, torch_dtype):
        raise refuse("The entries of a Tensor are none")
    if dtype != data.dtype and is_array(data._fx_value):
        machine.charge_copy(memory_owner(data._fx_value), data._fx_value.size)
    made = data.detach().to(dtype=dtype)
    return made.requires_grad_() if requires_grad is True else made


TENSOR_BUILDERS = (
    rebuild_tensor,
    rebuild_tensor_v2,
    rebuild_tensor_v3,
    rebuild_meta_tensor,
    rebuild_parameter,
)


# -- containers, numbers and bytes ------------------------------------------
def check_entries(machine: Machine, given, kinds: tuple[type, ...]) -> Any:
    """Return the entries to copy, after charging for them."""
    if type(given) not in kinds:
        raise refuse(f"A container is built of {type(given)}")
    machine.charge(len(given))
    return given


def build_ordered_dict(machine: Machine, pairs=()) -> OrderedDict:
    """Build an OrderedDict from a list of pairs, the form in which old versions of Python saved it."""
    made: OrderedDict = OrderedDict()
    for pair in check_entries(machine, pairs, (list, tuple)):
        key, value = check_entries(machine, pair, (list, tuple))
        machine.check_key(key)
        made[key] = value
    return made


def update_ordered_dict(machine: Machine, made: OrderedDict, state) -> None:
    """Give an OrderedDict its attributes, as `_metadata` of a `state_dict`."""
    if type(state) is not dict or not all(type(name) is str and not is_special(name) for name in state):
        raise refuse("The attributes of an OrderedDict are none")
    made.__dict__.update(state)


def is_special(name: str) -> bool:
    """Whether Python looks an attribute up by itself."""
    return name.startswith("__") and name.endswith("__")


def build_counter(machine: Machine, counts=()) -> Counter:
    """Build a Counter of a dict."""
    made: Counter = Counter()
    if counts != ():
        for key, count in check_entries(machine, counts, (dict,)).items():
            made[key] = count
    return made


def build_default_dict(machine: Machine, factory=None) -> defaultdict:
    """Build a defaultdict, whose factory must be a built-in class."""
    if not any(factory is kind for kind in (None, *FACTORIES.values())):
        raise refuse("The default of a defaultdict is made by something else than a built-in class")
    machine.fragile.append(defaultdict(factory))
    return machine.fragile[-1]  # type: ignore[return-value]


def build_deque(machine: Machine, entries=(), maxlen=None) -> deque:
    """Build a deque."""
    if not (maxlen is None or (type(maxlen) is int and maxlen >= 0)):
        raise refuse("The greatest length of a deque is no number")
    machine.fragile.append(deque(check_entries(machine, entries, (list, tuple)), maxlen))
    return machine.fragile[-1]  # type: ignore[return-value]


def build_set(machine: Machine, members=()) -> set[Any]:
    """Build a set of a list."""
    for x in check_entries(machine, members, (list, tuple)):
        machine.check_key(x)
    return set(members)


def build_frozenset(machine: Machine, members=()) -> frozenset[Any]:
    """Build a frozenset of a list."""
    return frozenset(build_set(machine, members))


def build_complex(machine: Machine, real=0.0, imag=0.0) -> complex:
    """Build a complex number of its parts."""
    if not {type(real), type(imag)} <= {int, float}:
        raise refuse("The parts of a complex number are none")
    return complex(real, imag)


def encode_text(machine: Machine, text, encoding="utf-8") -> bytes:
    """Build bytes of a text, which is how protocol 2 has them."""
    if type(text) is not str or encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise refuse("Bytes are made of something else than text")
    machine.charge(len(text))
    return text.encode(encoding)


def build_bytes(machine: Machine, given=b"") -> bytes:
    """Build a bytes object: empty, or from other bytes."""
    return bytes(check_entries(machine, given, (bytes, bytearray)))


def build_bytearray(machine: Machine, given: Any = b"", encoding="latin-1") -> bytearray:
    """Build a bytearray of a text or of bytes."""
    if type(given) is str:
        given = encode_text(machine, given, encoding)
    return bytearray(check_entries(machine, given, (bytes, bytearray)))


def build_size(machine: Machine, sizes=()) -> Size:
    """Build the shape of a Tensor."""
    if not all(type(n) is int for n in check_entries(machine, sizes, (tuple, list, Size))):
        raise refuse("A torch.Size is not of numbers")
    return Size(sizes)


def build_device(machine: Machine, kind, index=None) -> device:
    """Build a device, which need not be there."""
    if type(kind) is not str or not (index is None or type(index) is int):
        raise refuse("A device has no name")
    return device(kind, index)


def build_layout(machine: Machine, name) -> MemoryLayout:
    """Build a layout by its name: `torch.strided`, say."""
    found = strided if name == str(strided) else LAYOUTS.get(name) if type(name) is str else None
    if found is None:
        raise refuse(f"The layout {name!r} is not known", hint="Tensors are dense, or in COO or CSR here")
    return found


def build_generator(machine: Machine, place="cpu") -> Generator:
    """Build a Generator, whose state follows later."""
    return Generator(place if isinstance(place, device) else build_device(machine, place))


def update_generator(machine: Machine, made: Generator, state) -> None:
    """Give a Generator its state: (seed, offset, Tensor of bytes)."""
    if type(state) is not tuple or len(state) != 3:
        raise refuse("The state of a Generator is none")
    machine.deferred.append(partial(restore_generator, made, state[2]))


def restore_generator(made: Generator, state) -> None:
    """Give a Generator its state.

    Raises:
        UnpicklingError: it is none.
    """
    try:
        made.set_state(state)
    except (ArithmeticError, RuntimeError, TypeError, ValueError) as error:
        raise refuse(f"The state of a Generator is none: {error}") from None


# -- NumPy ------------------------------------------
DTYPE_TEXT = re.compile(r"[<>|=]?(?:[biufc](?:1|2|4|8|16)|[SU]\d{0,9}|\?)")


def build_numpy_dtype(machine: Machine, text, align=False, copy=True) -> np.dtype:
    """Build a dtype of numbers, truth values or text."""
    if type(text) is not str or DTYPE_TEXT.fullmatch(text) is None:
        raise refuse(f"The dtype {text!r} of an array is none of numbers or text")
    return np.dtype(text, copy=True)


def update_numpy_dtype(machine: Machine, made: np.dtype, state) -> None:
    """Set the byte order of a dtype, which is its own object: (version, order, None, None, None, size, …)."""
    if type(state) is not tuple or not 8 <= len(state) <= 9 or any(x is not None for x in state[2:5]):
        raise refuse("The dtype of an array has parts")
    sizes = (made.itemsize, made.alignment) if made.kind in "SU" else (-1, -1)
    order = state[1]
    if order not in ("<", ">", "|", "=") or state[5:8] != (*sizes, made.flags):
        raise refuse("The dtype of an array has another size")
    made.__setstate__((3, order, None, None, None, *state[5:8]))  # type: ignore[attr-defined]


def start_numpy_array(machine: Machine, cls, shape, kind) -> np.ndarray:
    """Build an array that is empty until its state comes."""
    if cls is not np.ndarray:
        raise refuse("An array is of another class than NumPy's")
    return np.empty(0, np.uint8)


def update_numpy_array(machine: Machine, made: np.ndarray, state) -> None:
    """Give an array its entries: (version, shape, dtype, whether they are in Fortran's order, bytes)."""
    if type(state) is not tuple or len(state) != 5:
        raise refuse("The state of an array is none")
    _, shape, dtype, is_fortran, data = state
    if not isinstance(dtype, np.dtype) or not are_counts(shape) or type(data) is not bytes:
        raise refuse("An array has no shape, dtype and bytes")
    if not dtype.itemsize or Size(shape).numel() * dtype.itemsize != len(data) or made.size:
        raise refuse("An array has another number of bytes than its shape")
    if dtype.kind == "b" and data and max(data) > 1:
        raise refuse("An array has truth values that are none")
    machine.charge(len(data))
    own = bytes(bytearray(data))  # the array may keep them as its memory
    made.__setstate__((1, shape, dtype, is_fortran is True, own))  # type: ignore[call-overload]


def build_numpy_scalar(machine: Machine, dtype, data) -> Any:
    """Build a number of NumPy's."""
    if not isinstance(dtype, np.dtype) or type(data) is not bytes or len(data) != dtype.itemsize:
        raise refuse("A number of NumPy's has another number of bytes than its dtype")
    return np.ndarray((), dtype, data)[()] if data else np.zeros((), dtype)[()]


# -- the table ------------------------------------------
FACTORIES = {
    f"builtins.{cls.__name__}": cls for cls in (bool, bytes, dict, float, int, list, set, str, tuple)
}
NUMPY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")


@cache
def known_globals() -> dict[str, Global]:
    """The table from names to the objects that they stand for."""
    names = {name for name, found in PUBLIC.items() if isinstance(found, torch_dtype)} | {"bfloat16"}
    rebuild = {
        "_rebuild_tensor": rebuild_tensor,
        "_rebuild_tensor_v2": rebuild_tensor_v2,
        "_rebuild_tensor_v3": rebuild_tensor_v3,
        "_rebuild_meta_tensor_no_storage": rebuild_meta_tensor,
        "_rebuild_sparse_tensor": rebuild_sparse,
        "_rebuild_parameter": rebuild_parameter,
        "_rebuild_parameter_with_state": rebuild_parameter_with_state,
        "_rebuild_device_tensor_from_numpy": rebuild_device_tensor,
        "_rebuild_device_tensor_from_cpu_tensor": rebuild_device_tensor,
    }
    return {
        **{path: Global(cls) for path, cls in FACTORIES.items()},
        **{f"torch.{name}": Global(from_name(name)) for name in names},
        **{f"torch.{name}": Global(kind) for name, kind in STORAGE_TYPES.items()},
        **{f"torch.storage.{name}": Global(kind) for name, kind in STORAGE_TYPES.items()},
        **{f"torch._utils.{name}": Global(build, build) for name, build in rebuild.items()},
        **{f"numpy.{name}": Global(getattr(np, name)) for name in OF_NUMPY},
        **{
            f"{module}.{name}": Global(build, build)
            for module in NUMPY_MODULES
            for name, build in {"_reconstruct": start_numpy_array, "scalar": build_numpy_scalar}.items()
        },
        "torch._tensor._rebuild_from_type_v2": Global(rebuild_from_type, rebuild_from_type),
        "torch.nn.parameter.Parameter": Global(Parameter, rebuild_parameter),
        "torch.Tensor": Global(Tensor),
        "torch.Size": Global(Size, build_size),
        "torch.device": Global(device, build_device),
        "torch._C.Generator": Global(Generator, build_generator, update_generator),
        "torch.serialization._get_layout": Global(build_layout, build_layout),
        "numpy.ndarray": Global(np.ndarray, None, update_numpy_array),
        "numpy.dtype": Global(np.dtype, build_numpy_dtype, update_numpy_dtype),
        "collections.OrderedDict": Global(OrderedDict, build_ordered_dict, update_ordered_dict),
        "collections.Counter": Global(Counter, build_counter),
        "collections.defaultdict": Global(defaultdict, build_default_dict),
        "collections.deque": Global(deque, build_deque),
        "builtins.set": Global(set, build_set),
        "builtins.frozenset": Global(frozenset, build_frozenset),
        "builtins.complex": Global(complex, build_complex),
        "builtins.bytearray": Global(bytearray, build_bytearray),
        "builtins.bytes": Global(bytes, build_bytes),
        "_codecs.encode": Global(encode_text, encode_text),
    }
