"""Keys and bits of `jax.random`: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
1, 2, 3", SC 2011), with the counters that JAX gives it.

A key is two words of 32 bits, the last axis of a `uint32` array. Every draw enciphers the numbers of its entries, so
that an entry does not depend on how many are drawn.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as fnp
from ...core import shapes
from ...core.arrays import as_value
from ...core.aval import aval_of
from ...core.errors import DTypeError, ShapeError
from ...core.surface import SurfaceObject
from ...transforms.jit import jit
from .arrays import INSTANCES, Array, array_of, value_of
from .devices import OnDevice
from .dtypes import check_integer, finfo, is_wide, prng_key

WORD = np.dtype(np.uint32)
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def encipher(k0: Any, k1: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """Return two words, enciphered by a key of two words."""
    schedule = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = x0 + k0, x1 + k1
    for group in range(5):
        for r in ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + (schedule[(group + 2) % 3] + np.uint32(group + 1))
    return x0, x1


compiled = jit(encipher)


class KeyType:
    """The dtype of typed keys: `key<fry>`."""

    is_key, name, itemsize, kind = True, "key<fry>", 8, "V"

    def __repr__(self) -> str:
        return self.name

    @property
    def type(self) -> Any:
        """The kind of dtypes that it is of."""
        return prng_key


KEY_TYPE = KeyType()


class KeyArray(OnDevice, SurfaceObject):
    """An array of typed keys, as `jax.random.key` makes them: for transforms their words."""

    __slots__ = ("__weakref__", "_fx_sharding", "_fx_value")
    dtype, weak_type = KEY_TYPE, False

    @staticmethod
    def __fxgrad_object__(value: Any, shared: bool = False) -> KeyArray:
        made = KeyArray.__new__(KeyArray)
        made._fx_value = value
        return made

    shape = property(lambda self: self._fx_value.shape[:-1], doc="The lengths of the axes.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    size = property(lambda self: math.prod(self.shape), doc="The number of keys.")

    def __getitem__(self, index: Any) -> KeyArray:
        return KeyArray.__fxgrad_object__(array_of(self._fx_value)[index]._fx_value)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def reshape(self, *shape: Any) -> KeyArray:
        """Return the keys in another shape."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return KeyArray.__fxgrad_object__(self._fx_value.reshape((*shape, 2)))

    def __eq__(self, other: object) -> Any:
        return (
            array_of((self._fx_value == other._fx_value).all(-1))
            if type(other) is KeyArray
            else NotImplemented
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype=key<fry>) overlaying:\n{self._fx_value}"


INSTANCES.add(KeyArray)


def words_of(key: Any, name: str = "jax.random") -> Any:
    """Return the words of one key, typed or not.

    Raises:
        DTypeError: it is no key.
        ShapeError: it is several.
    """
    words = key._fx_value if type(key) is KeyArray else as_value(value_of(key))
    aval = aval_of(words)
    if aval.dtype != WORD or aval.shape[-1:] != (2,):
        raise DTypeError(
            f"{name}: a key is two words of uint32, not {aval!r}", hint="make a key by jax.random.key(seed)"
        )
    if len(aval.shape) > 1:
        raise ShapeError(
            f"{name}: one key is needed, not an array of shape {aval.shape[:-1]} of them",
            hint="jax.vmap(lambda key: …)(keys)",
        )
    return words


def like_key(key: Any, words: Any) -> Any:
    """Return keys by their words: typed if `key` is."""
    return KeyArray.__fxgrad_object__(words) if type(key) is KeyArray else array_of(words)


def seed_words(seed: Any) -> Any:
    """Return the words of the key of a seed: the integer's upper and lower half, of which the upper is 0 unless
    `jax_enable_x64` is set."""
    if type(seed) is int:
        low = seed & 0xFFFFFFFF
        return np.array([seed >> 32 & 0xFFFFFFFF if is_wide() else 0, low], WORD)
    value = as_value(seed)
    if aval_of(value).dtype.kind not in "iu":
        raise DTypeError(f"jax.random.key: a seed is an integer, not {aval_of(value)!r}", hint="int(seed)")
    if aval_of(value).shape:
        raise ShapeError("jax.random.key: a seed has no axes", hint="jax.vmap(jax.random.key)(seeds)")
    is_long = aval_of(value).dtype.itemsize == 8
    high = (value >> 32).astype(WORD) if is_long else fnp.zeros_like(value, dtype=WORD)
    return fnp.stack([high, value.astype(WORD)])


def as_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of integers."""
    return shapes.as_shape(shape, "jax.random")


def enciphered_numbers(words: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return two words for every entry of a shape: its number, enciphered by a key."""
    size = math.prod(shape)
    low = np.arange(size, dtype=WORD if size <= 2**32 else np.uint64).reshape(shape)
    high = np.zeros(shape, WORD) if size <= 2**32 else (low >> np.uint64(32)).astype(WORD)
    return compiled(words[0], words[1], high, low if size <= 2**32 else low.astype(WORD))


def bits(words: Any, shape: tuple[int, ...], width: int = 32) -> Any:
    """Return random bits, as unsigned integers of a width."""
    high, low = enciphered_numbers(words, shape)
    if width == 64:
        return (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    mixed = high ^ low
    return mixed if width == 32 else mixed.astype(np.dtype(f"u{width // 8}"))


@cache
def layout(dtype: Any) -> tuple[int, int, Any]:
    """Return of floating-point numbers of a dtype their width, that of the mantissa, and the bits of 1."""
    kind = np.dtype(f"u{dtype.itemsize}")
    return dtype.itemsize * 8, finfo(dtype).nmant, np.ones((), dtype).view(kind)[()]


def fraction(random_bits: Any, dtype: Any) -> Any:
    """Return bits as numbers from 0 to below 1: they are the mantissa of a number from 1 to below 2."""
    _, mantissa, one = layout(dtype)
    kind = random_bits.dtype
    filled = (random_bits >> kind.type(kind.itemsize * 8 - mantissa)).astype(one.dtype) | one
    whole = filled.view(dtype) if type(filled) is np.ndarray else lax.bitcast_convert_type(filled, dtype)
    return whole - dtype.type(1)


def fractions(words: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return numbers that are uniform from 0 to below 1."""
    width, mantissa, _ = layout(dtype)
    return fraction(bits(words, shape, 8 if mantissa < 8 else width), dtype)


def split_words(words: Any, shape: tuple[int, ...]) -> Any:
    """Return the words of the keys that a key is split into."""
    return fnp.stack(enciphered_numbers(words, shape), axis=-1)


def keys_of(words: Any, num: int) -> list[Any]:
    """Return the words of so many keys."""
    return list(split_words(words, (num,)))


def fold_words(words: Any, data: Any) -> Any:
    """Return the words of the child of a key for an integer."""
    data = np.uint32(data & 0xFFFFFFFF) if type(data) is int else as_value(data).astype(WORD)
    return fnp.stack(compiled(words[0], words[1], fnp.zeros_like(data), data))


def key(seed: Any, *, impl: Any = None) -> KeyArray:
    """Return the typed key of a seed."""
    refuse_other(impl)
    return KeyArray.__fxgrad_object__(seed_words(value_of(seed)))


def PRNGKey(seed: Any, *, impl: Any = None) -> Array:
    """Return the key of a seed, as its words."""
    refuse_other(impl)
    return array_of(seed_words(value_of(seed)))


def refuse_other(impl: Any) -> None:
    """Raise for another generator than Threefry."""
    if impl is not None and str(impl) not in ("threefry2x32", "fry", "key<fry>"):
        raise DTypeError(
            f"jax.random: the generator {impl!r} is not there", hint="impl='threefry2x32', the default"
        )


def split(key: Any, num: Any = 2) -> Any:
    """Return keys that are independent of each other: `num` of them, or an array of this shape."""
    return like_key(key, split_words(words_of(key, "split"), as_shape(num)))


def fold_in(key: Any, data: Any) -> Any:
    """Return the child of a key for an integer of 32 bits."""
    if np.ndim(data):
        raise ShapeError(
            "jax.random.fold_in: an integer has no axes", hint="jax.vmap(jax.random.fold_in, (None, 0))"
        )
    if type(data) is int:
        check_integer(data, np.uint32)
    return like_key(key, fold_words(words_of(key, "fold_in"), value_of(data)))


def key_data(keys: Any) -> Any:
    """Return the words of keys."""
    return array_of(keys._fx_value) if type(keys) is KeyArray else keys


def wrap_key_data(key_bits_array: Any, *, impl: Any = None) -> KeyArray:
    """Return words as typed keys."""
    refuse_other(impl)
    return KeyArray.__fxgrad_object__(as_value(value_of(key_bits_array)))


def clone(key: Any) -> Any:
    """Return a key of the same words."""
    return like_key(key, key_data(key)._fx_value if type(key) is KeyArray else value_of(key))


def key_impl(keys: Any) -> str:
    """Return the name of the generator of keys."""
    return "threefry2x32"
