"""Random numbers: generators, and the one function that draws from them.

The numbers are not torch's; their distributions are, and so is what a seed fixes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.interpreter import levels
from ...transforms.vmap import BatchTracer
from .._core.errors import ArgumentError, ArgumentValueError, TensorError
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor
from .._declare.spaces import expose
from .devices import as_device, put_new_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFAULT_SEED = 67280421310721
WORD_RANGE = 1 << 64


@expose()
class Generator:
    """A source of random numbers with a state of its own; threads may share one.

    >>> import fxgrad.compat as torch
    >>> a, b = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    >>> torch.equal(torch.rand(2, generator=a), torch.rand(2, generator=b))
    True
    """

    def __init__(self, device="cpu"):
        self.device = as_device(device)
        self.lock = RLock()
        self.manual_seed(DEFAULT_SEED)

    _numbers: np.random.Generator | None

    def manual_seed(self, seed: int) -> Generator:
        """Restart the generator from a seed, and return it.

        Raises:
            ArgumentValueError: the seed is not in [-2⁶³, 2⁶⁴).
        """
        seed = int(seed)
        if not -WORD_RANGE // 2 <= seed < WORD_RANGE:
            raise ArgumentValueError("Overflow when unpacking long long", hint="a seed has 64 bits")
        with self.lock:
            self._seed, self._numbers = seed % WORD_RANGE, None
        return self

    @property
    def numbers(self) -> np.random.Generator:
        """NumPy's generator, made with the first number: `np.random` takes long to load. To be asked for under the
        lock."""
        if self._numbers is None:
            self._numbers = np.random.Generator(np.random.PCG64(self._seed))
        return self._numbers

    def seed(self) -> int:
        """Restart the generator from a seed of the operating system, and return the seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed from which the generator started."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state of the generator, for `set_state`: a Tensor of bytes."""
        with self.lock:
            state: Any = self.numbers.bit_generator.state
        words = [self._seed, *(part for n in PCG64_FIELDS for part in divmod(state["state"][n], WORD_RANGE))]
        words += [state["has_uint32"], state["uinteger"]]
        return make_tensor(current_tape(), np.array(words, np.uint64).view(np.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        """Set the generator to a state that `get_state` returned, and return the generator.

        Raises:
            ArgumentError: it is no Tensor of bytes.
            TensorError: it is not the state of a generator.
        """
        if not isinstance(new_state, Tensor) or str(new_state.dtype) != "torch.uint8":
            raise ArgumentError("RNG state must be a torch.ByteTensor")
        if new_state.shape != (8 * (2 * len(PCG64_FIELDS) + 3),):
            raise TensorError("RNG state is wrong size")
        seed, *words, has, last = [int(n) for n in new_state.value.copy().view(np.uint64)]
        pairs = zip(PCG64_FIELDS, words[::2], words[1::2])
        with self.lock:
            self._seed = seed
            self.numbers.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {name: high * WORD_RANGE + low for name, high, low in pairs},
                "has_uint32": has,
                "uinteger": last,
            }
        return self

    def __reduce__(self) -> Any:
        return Generator, (self.device,), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator(self.device).set_state(self.get_state())


PCG64_FIELDS = ("state", "inc")  # the words of a PCG64
default_generator = Generator()


def draw(sample: Callable[[np.random.Generator, tuple[int, ...]], Any], shape, generator=None) -> Any:
    """Draw a sample of this shape: an array, or a traced value where entries of a batch are to differ.

    Args:
        sample: (NumPy's generator, shape) → array of that shape.
        shape: as the function sees it. Mapped axes are added under `vmap(…, randomness="different")`.
        generator: None: the default one.

    Raises:
        TensorError: the function is mapped without `randomness`.
    """
    if generator is None:
        generator = default_generator
    elif not isinstance(generator, Generator):
        raise ArgumentError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    different = []
    for level in levels():
        randomness = getattr(level, "randomness", "same")
        if randomness == "error":
            raise TensorError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        if randomness == "different":
            different.insert(0, level)  # the outermost first
    shape = (*(level.size for level in different), *shape)
    with generator.lock:
        value = put_new_array(np.asarray(sample(generator.numbers, shape)), generator.device)
    for level in different:
        value = BatchTracer(level, value)
    return value


def draw_tensor(sample, shape, generator=None, dtype=None) -> Tensor:
    """Draw a Tensor, see `draw`; of a dtype of torch, if one is given."""

    def convert(rng: np.random.Generator, shape) -> Any:
        value = sample(rng, shape)
        return value if dtype is None else np.asarray(value).astype(dtype.numpy)

    return make_tensor(current_tape(), draw(convert, tuple(shape), generator))


# -- the default generator ------------------------------------------
@expose()
def manual_seed(seed: int) -> Generator:
    """Restart the default generator from a seed, and return it.

    >>> import fxgrad.compat as torch
    >>> _ = torch.manual_seed(0)
    >>> a = torch.rand(3)
    >>> _ = torch.manual_seed(0)
    >>> torch.equal(a, torch.rand(3))
    True
    """
    return default_generator.manual_seed(seed)


@expose()
def seed() -> int:
    """Restart the default generator from a seed of the operating system, and return the seed."""
    return default_generator.seed()


@expose()
def initial_seed() -> int:
    """The seed from which the default generator started."""
    return default_generator.initial_seed()


@expose()
def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


@expose()
def set_rng_state(new_state: Tensor) -> None:
    """Set the default generator to a state."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices=None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Context manager that restores the default generator's state at its end, if `enabled`. That generator serves all
    devices."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


expose(name="default_generator")(default_generator)
