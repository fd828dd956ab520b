"""Random numbers: generators, and the one function by which anything random is drawn.

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
from .._core.tensor import Tensor, make
from .._declare.operation import exposed
from .devices import as_device, new_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFAULT_SEED = 67280421310721
WORD = 1 << 64


@exposed()
class Generator:
    """A source of random numbers with a state of its own; threads may share one.

    >>> import fxgrad.compat as torch
    >>> a, b = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    >>> torch.equal(torch.rand(2, generator=a), torch.rand(2, generator=b))
    True
    """

    def __init__(self, device: Any = "cpu"):
        self.device = as_device(device)
        self.lock = RLock()
        self.manual_seed(DEFAULT_SEED)

    def manual_seed(self, seed: int) -> Generator:
        """Begin anew from a seed; the generator itself is returned.

        Raises:
            ArgumentValueError: the seed is not in [-2⁶³, 2⁶⁴).
        """
        seed = int(seed)
        if not -WORD // 2 <= seed < WORD:
            raise ArgumentValueError("Overflow when unpacking long long", hint="a seed has 64 bits")
        with self.lock:
            self._seed = seed % WORD
            self.numbers = np.random.Generator(np.random.PCG64(self._seed))
        return self

    def seed(self) -> int:
        """Begin anew from a seed of the operating system, which is returned."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed from which it began."""
        return self._seed

    def get_state(self) -> Tensor:
        """Its state, for `set_state`: a Tensor of bytes."""
        with self.lock:
            state: Any = self.numbers.bit_generator.state
        words = [self._seed, *(part for n in STATE for part in divmod(state["state"][n], WORD))]
        words += [state["has_uint32"], state["uinteger"]]
        return make(current_tape(), np.array(words, np.uint64).view(np.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from a state that `get_state` returned; the generator itself is returned.

        Raises:
            ArgumentError: it is no Tensor of bytes.
            TensorError: it is not the state of a generator.
        """
        if not isinstance(new_state, Tensor) or str(new_state.dtype) != "torch.uint8":
            raise ArgumentError("RNG state must be a torch.ByteTensor")
        if new_state.shape != (8 * (2 * len(STATE) + 3),):
            raise TensorError("RNG state is wrong size")
        seed, *words, has, last = [int(n) for n in new_state.value.copy().view(np.uint64)]
        pairs = zip(STATE, words[::2], words[1::2])
        with self.lock:
            self._seed = seed
            self.numbers.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": {name: high * WORD + low for name, high, low in pairs},
                "has_uint32": has,
                "uinteger": last,
            }
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator(self.device).set_state(self.get_state())


STATE = ("state", "inc")  # the words of a PCG64
default_generator = Generator()


def draw(
    sample: Callable[[np.random.Generator, tuple[int, ...]], Any], shape: Any, generator: Any = None
) -> Any:
    """The value of a sample of this shape: an array, or traced where entries of a batch are to differ.

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
        value = new_array(np.asarray(sample(generator.numbers, shape)), generator.device)
    for level in different:
        value = BatchTracer(level, value)
    return value


# -- the default generator ------------------------------------------
@exposed()
def manual_seed(seed: int) -> Generator:
    """Have the default generator begin anew from a seed; it is returned.

    >>> import fxgrad.compat as torch
    >>> _ = torch.manual_seed(0)
    >>> a = torch.rand(3)
    >>> _ = torch.manual_seed(0)
    >>> torch.equal(a, torch.rand(3))
    True
    """
    return default_generator.manual_seed(seed)


@exposed()
def seed() -> int:
    """Have the default generator begin anew from a seed of the operating system, which is returned."""
    return default_generator.seed()


@exposed()
def initial_seed() -> int:
    """The seed from which the default generator began."""
    return default_generator.initial_seed()


@exposed()
def get_rng_state() -> Tensor:
    """The state of the default generator."""
    return default_generator.get_state()


@exposed()
def set_rng_state(new_state: Tensor) -> None:
    """Have the default generator go on from a state."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Context manager: what is drawn from the default generator inside leaves no trace in its state, if `enabled`. It
    is the generator of all devices."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


exposed(name="default_generator")(default_generator)
