"""Keys, which determine random numbers.

A key is a uint64 without axes; split(key, n) has shape (n,), and keys are mapped, reshaped and stored as arrays are. It
is one word of the key of Philox4x64-10. The other word encodes the request: draws, children of `split`, or children of
`fold_in`. So no draw is ever a key, and the children of `split` and `fold_in` differ. Keys are 64 random bits: among n
keys, however derived, two are equal with a probability of about n²/2⁶⁵, that is 3e-8 for a million keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..core.arrays import as_value
from ..core.aval import aval_of, kind_of
from ..core.devices import CPU, DEFAULT_DEVICE
from ..core.errors import DTypeError, ShapeError
from ..core.shapes import as_shape
from ..core.typing import Array, DType, Key, Shape
from ..numpy.placement import device_put
from ..ops.random import DRAW, SPLIT

UINT64 = np.dtype(np.uint64)


def check_keys(key: Any, name: str) -> Any:
    """Raise `DTypeError` unless these are keys."""
    value = as_value(key)
    aval = aval_of(value)
    if aval.weak or aval.dtype != UINT64:
        raise DTypeError(
            f"{name}: a key is a uint64, not {'a number' if aval.weak else aval!r}",
            hint="make a key with fx.random.key(seed)",
        )
    return value


def check_one_key(key: Any, name: str) -> Array:
    """Raise unless this is one key."""
    value = check_keys(key, name)
    shape = aval_of(value).shape
    if shape:
        raise ShapeError(
            f"{name}: one key is needed, not an array of shape {shape} of them",
            hint=f"fx.vmap(lambda key: fx.random.{name}(key, …))(keys)",
        )
    return value


def key(seed: Any) -> Key:
    """A key from a seed.

    Args:
        seed: an integer from −2⁶³ to 2⁶⁴ − 1; different ones give different keys.

    Returns:
        The key, a uint64, on the default device. What is drawn with it is where it is, and the same numbers everywhere.

    Raises:
        DTypeError: the seed is no integer.
        ShapeError: the seed has axes, or does not fit into 64 bits.

    >>> fx.random.normal(fx.random.key(0), (2,))
    array([-2.27188415, -0.70132792])
    """
    value = as_value(seed) if type(seed) is not int else seed
    if type(value) is int:
        if not -(2**63) <= value < 2**64:
            raise ShapeError(f"key: the seed {value} does not fit into 64 bits", hint="seed % 2**64")
        found = np.uint64(value % 2**64)
        return found if DEFAULT_DEVICE.get() is CPU else device_put(found)
    aval = aval_of(value)
    if kind_of(aval.dtype) not in "iu":
        raise DTypeError(f"key: a seed is an integer, not {aval!r}", hint="fx.random.key(int(seed))")
    if aval.shape:
        raise ShapeError(f"key: a seed has no axes, but this has the shape {aval.shape}",
                         hint="fx.vmap(fx.random.key)(seeds), or split one key")  # fmt: skip
    return ops.convert(value, dtype=UINT64)


PRNGKey = key


def split(key: Key, num: Any = 2) -> Key:
    """Keys that are independent of each other, of the key's other children, and of draws with the key.

    Args:
        key: a key, which should not be used again.
        num: how many, or the shape of an array of them. The first keys do not depend on how many there are.

    Returns:
        uint64 array of shape (num,), or of the shape `num`.

    Raises:
        DTypeError: `key` is no key.
        ShapeError: an array of keys, or no shape.

    >>> this, that = fx.random.split(fx.random.key(0))
    >>> fx.random.split(this, (2, 3)).shape
    (2, 3)
    """
    return ops.random_bits(check_one_key(key, "split"), shape=as_shape(num, "split"), domain=SPLIT)


def fold_in(key: Key, data: Any) -> Key:
    """The child of a key for an integer: a key for every step of a loop, say.

    Args:
        key: a key.
        data: an integer of 64 bits.

    Returns:
        A key.

    Raises:
        DTypeError: `key` is no key, or `data` no integer.
        ShapeError: an array of keys.

    >>> keys = [fx.random.fold_in(fx.random.key(0), step) for step in range(100)]
    >>> len(set(keys))
    100
    """
    key, data = check_one_key(key, "fold_in"), as_value(data)
    aval = aval_of(data)
    if kind_of(aval.dtype) not in "iu" or aval.shape:
        raise DTypeError(
            f"fold_in: data is one integer, not {aval!r}",
            hint="fx.vmap(fx.random.fold_in, (None, 0))(key, data) for several, int(data) for one",
        )
    return ops.fold_in(key, data)


def bits(key: Key, shape: Shape = (), dtype: DType = None) -> Array:
    """Random bits: the words that np.random.Philox(key=[key, 0]) gives.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: an unsigned dtype, uint64 by default; narrower ones have the leading bits.

    Returns:
        Array of unsigned integers.

    Raises:
        DTypeError: `key` is no key, or `dtype` no unsigned integer.
        ShapeError: an array of keys, or no shape.

    >>> words = fx.random.bits(fx.random.key(3), 5)
    >>> np.array_equal(words, np.random.Philox(key=[3, 0]).random_raw(5))
    True
    """
    dtype = UINT64 if dtype is None else np.dtype(dtype)
    if dtype.kind != "u":
        raise DTypeError(
            f"bits: dtype is an unsigned integer, not {dtype}",
            hint='dtype="uint32" or "uint64"; randint draws signed integers',
        )
    words = ops.random_bits(check_one_key(key, "bits"), shape=as_shape(shape, "bits"), domain=DRAW)
    spare = 64 - 8 * dtype.itemsize
    return words if spare == 0 else ops.convert(ops.right_shift(words, np.uint64(spare)), dtype=dtype)


def key_data(keys: Any) -> Key:
    """The numbers of keys, for storage: here the keys themselves.

    Raises:
        DTypeError: not of dtype uint64.

    >>> key = fx.random.key(0)
    >>> bool(fx.random.key_data(key) == key)
    True
    """
    return check_keys(keys, "key_data")


def wrap_key_data(key_bits_array: Any) -> Key:
    """The keys whose numbers `key_data` has returned.

    Raises:
        DTypeError: not of dtype uint64.

    >>> key = fx.random.key(0)
    >>> bool(fx.random.wrap_key_data(fx.random.key_data(key)) == key)
    True
    """
    return check_keys(key_bits_array, "wrap_key_data")


def clone(key: Key) -> Key:
    """A copy of a key, to mark that it is used twice on purpose.

    Raises:
        DTypeError: not of dtype uint64.

    >>> key = fx.random.key(0)
    >>> bool(fx.random.clone(key) == key)
    True
    """
    return check_keys(key, "clone")
