"""Random generators, and the one function that draws from them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np

from ...extend import CURRENT, EVAL, BatchTracer, levels
from .._core.error_messages import captured_target_error
from .._core.layout import batch_levels, contained_array, inverse_order, layout_array, order_of
from .._core.memory import is_array
from .._core.modes import NO_GRAD, QUIET
from .._core.overriding import ORDINARY_CLASSES
from .._core.tape import current_tape
from .._core.tensor import Tensor, make_tensor, refresh
from .._declare.spaces import expose
from ..errors import ArgumentError, ArgumentValueError, TensorError
from .devices import CPU, as_device, device_of, move_array, put_new_array
from .mersenne_twister import BLOCK, MersenneTwister

DEFAULT_SEED = 67280421310721
WORD_RANGE = 1 << 64


@expose()
class Generator:
    """A source of random numbers with a state of its own; threads may share one.

    The numbers are those that torch draws on the CPU from the same seed: Mersenne's twister.

    Source: M. Matsumoto, T. Nishimura, Mersenne twister, ACM TOMACS 8 (1998).

    Args:
        device: "cpu", or a device of CUDA.

    >>> a, b = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    >>> torch.equal(torch.rand(2, generator=a), torch.rand(2, generator=b))
    True
    """

    def __init__(self, device="cpu"):
        self.device = as_device(device)
        self._fx_lock = RLock()
        self._fx_twister = MersenneTwister()
        self.manual_seed(DEFAULT_SEED)

    _fx_spare_normal: float | None  # the second normal number of a pair, of which the first was drawn

    def manual_seed(self, seed: int) -> Generator:
        """Restart the generator from a seed, and return it. The numbers are those of torch's generator on the CPU.

        Raises:
            ArgumentValueError: the seed is not in [-2⁶³, 2⁶⁴).
        """
        seed = int(seed)
        if not -WORD_RANGE // 2 <= seed < WORD_RANGE:
            raise ArgumentValueError("Overflow when unpacking long long", hint="a seed has 64 bits")
        with self._fx_lock:
            self._fx_seed, self._fx_spare_normal = seed % WORD_RANGE, None
            self._fx_twister.restart(seed)
        return self

    def seed(self) -> int:
        """Restart the generator from a seed of the operating system, and return the seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed from which the generator started."""
        return self._fx_seed

    def get_state(self) -> Tensor:
        """The state of the generator, for `set_state`, in torch's bytes: uint8 (5056,)."""
        state = np.zeros((), STATE)
        with self._fx_lock:
            state["key"], place = self._fx_twister.state
            state["seed"], state["next"], state["left"] = self._fx_seed, place, BLOCK + 1 - (place or BLOCK)
            if self._fx_spare_normal is not None:
                state["has_spare"], state["spare"] = 1, self._fx_spare_normal
        state["is_seeded"] = 1
        return make_tensor(current_tape(), np.frombuffer(bytearray(state.tobytes()), np.uint8))

    def set_state(self, new_state: Tensor) -> Generator:
        """Set the generator to a state that `get_state` returned, here or in torch, and return the generator.

        Raises:
            ArgumentError: it is no Tensor of bytes.
            TensorError: it is not the state of a generator.
        """
        if not isinstance(new_state, Tensor):
            raise ArgumentError(
                f"expected a torch.ByteTensor, but got {type(new_state).__name__}",
                hint="generator.get_state(), or torch.get_rng_state()",
            )
        if str(new_state.dtype) != "torch.uint8":
            raise ArgumentError("RNG state must be a torch.ByteTensor", hint="state.to(torch.uint8)")
        size = math.prod(new_state.shape)
        if size != STATE.itemsize:
            raise TensorError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input RNG state size to be "
                f"{size}",
                hint="generator.get_state() has a state of this size",
            )
        if new_state.device != CPU:
            raise ArgumentError("RNG state must be a torch.ByteTensor", hint="state.cpu()")
        state = np.frombuffer(np.asarray(new_state._fx_value).tobytes(), STATE)[0]
        place, left = int(state["next"]), int(state["left"])
        if state["is_seeded"] != 1 or place > BLOCK or left != BLOCK + 1 - (place or BLOCK):
            raise TensorError(
                "Invalid mt19937 state",
                hint="a state as get_state() gave it; generator.manual_seed(seed) begins anew",
            )
        with self._fx_lock:
            self._fx_seed = int(state["seed"])
            self._fx_spare_normal = float(state["spare"]) if state["has_spare"] else None
            self._fx_twister.state = state["key"].astype(np.uint32), place
        return self

    def __reduce__(self) -> Any:
        return Generator, (self.device,), self.get_state()

    def __setstate__(self, state: Tensor) -> None:
        self.set_state(state)

    def clone_state(self) -> Generator:
        """Another generator in the same state."""
        return Generator(self.device).set_state(self.get_state())


ORDINARY_CLASSES.add(Generator)
# torch's bytes. Those between the names are of other ways to draw pairs, which are not used any more.
STATE = np.dtype({
    "names": ["seed", "left", "is_seeded", "next", "key", "spare", "has_spare"],
    "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", BLOCK), "<f8", "<i4"],
    "offsets": [0, 8, 12, 16, 24, 24 + 8 * BLOCK + 8, 24 + 8 * BLOCK + 24],
    "itemsize": 5056,
})  # fmt: skip
default_generator = Generator()


def random_levels() -> list[Any]:
    """The open levels of `vmap(…, randomness="different")`, the outermost first.

    Raises:
        TensorError: the function is mapped without `randomness`.
    """
    different: list[Any] = []
    if CURRENT.get().interpreter is EVAL.interpreter:
        return different
    for level in levels():
        randomness = getattr(level, "randomness", "same")
        if randomness == "error":
            raise TensorError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
                "'different' randomness flags on vmap or perform the randomness operation out of vmap",
                hint='torch.vmap(f, randomness="different") draws anew for each entry, "same" once for all',
            )
        if randomness == "different":
            different.insert(0, level)
    return different


def choose_generator(generator: Generator | None) -> Generator:
    """Return the given generator, or the default one for None."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise ArgumentError(
            f"argument 'generator' must be torch.Generator, not {type(generator).__name__}",
            hint="torch.Generator().manual_seed(0)",
        )
    return generator


def draw(
    sample: Callable[[Generator, tuple[int, ...]], Any],
    shape: Sequence[int],
    generator: Generator | None = None,
    order: Sequence[int] | None = None,
    like: Tensor | None = None,
    as_in_memory: bool = False,
) -> Any:
    """Draw a sample of this shape: an array, or a traced value where entries of a batch are to differ.

    All numbers are drawn on the CPU, so that a seed gives the same ones on every device, and copied to theirs.

    Args:
        sample: (generator, shape) → array of that shape, whose entries are drawn in the order in which they lie.
        shape: as the function sees it. Mapped axes are added under `vmap(…, randomness="different")`.
        generator: None: the default one.
        order: the dimensions by decreasing stride, in which the entries are to lie in memory; None: as they come.
        like: a Tensor on whose device they are to be; None: on the generator's.
        as_in_memory: whether the entries of a batch are to lie as those of `like`, wherever its mapped axes are.

    Raises:
        TensorError: the function is mapped without `randomness`.
    """
    source = choose_generator(generator)
    different = random_levels()
    whole = (*[level.size for level in different], *shape)
    places = batch_order(like, different) if as_in_memory and different and like is not None else None
    if places is None and order:
        lead = len(different)
        places = (*range(lead), *(lead + d for d in order))
    with source._fx_lock:
        value = np.asarray(sample(source, tuple([whole[d] for d in places]) if places else whole))
    value = value.transpose(inverse_order(places)) if places else value
    value = put_new_array(value, source.device if like is None else device_of(like._fx_value))
    for level in different:
        value = BatchTracer(level, value)
    return value


def draw_tensor(
    sample: Callable[[Generator, tuple[int, ...]], Any],
    shape: Sequence[int],
    generator: Generator | None = None,
    order: Sequence[int] | None = None,
    like: Tensor | None = None,
    as_in_memory: bool = False,
) -> Tensor:
    """Draw a Tensor, see `draw`."""
    return make_tensor(current_tape(), draw(sample, tuple(shape), generator, order, like, as_in_memory))


def draw_plainly(
    sample: Callable[..., np.ndarray], shape: tuple[int, ...], numpy: Any, generator: Generator | None
) -> np.ndarray | None:
    """Draw sample(generator, shape, dtype) on the CPU, outside all transforms, where nobody looks on; None where there
    is more to decide."""
    context = CURRENT.get()
    if context is not EVAL and context is not NO_GRAD and context is not QUIET:
        return None
    source = default_generator
    if generator is not None:
        source = choose_generator(generator)
        if source.device.type != "cpu":
            return None
    with source._fx_lock:
        return sample(source, shape, numpy)


def batch_of(value: Any) -> tuple[Any, list[Any]]:
    """Return the array of which a value is an entry, and the levels that map its first axes; None if it is not
    known."""
    return contained_array(value), batch_levels(value)[::-1]


def batch_order(tensor: Tensor, different: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the axes of the batch of which a Tensor is an entry, by decreasing stride: those of the levels, then its
    own. None where it is no batch, or not known."""
    array, found = batch_of(refresh(tensor)._fx_value)
    if array is None or not found or any(level not in different for level in found):
        return None
    mapped = dict(zip(found, array.strides))
    strides = [mapped.get(level, array.nbytes + 1) for level in different] + [*array.strides[len(found) :]]
    for d in reversed(range(len(strides) - 1)):  # where an entry is repeated, the axis stays where it is
        strides[d] = strides[d] or strides[d + 1]
    return order_of(strides)


def enter_batches(made: Tensor, like: Tensor, as_in_memory: bool = False) -> Tensor:
    """Return a new Tensor as an entry of the batches of another, if random numbers written into it are to differ
    between entries; `as_in_memory` is as of `draw`."""
    different = [level for level in levels() if getattr(level, "randomness", "same") == "different"]
    if not different or made.requires_grad or not is_array(made._fx_value):
        return made
    _, found = batch_of(refresh(like)._fx_value)
    own = [level for level in found if level in different]
    if not own:
        return made
    whole = (*[level.size for level in own], *made.shape)
    order = batch_order(like, own) if as_in_memory else None
    value = np.empty([whole[d] for d in order or range(len(whole))], made._fx_value.dtype)
    value = value.transpose(inverse_order(order)) if order else value
    value[...] = made._fx_value
    for level in own:
        value = BatchTracer(level, value)
    return make_tensor(current_tape(), value)


def lies_in_rows(tensor: Tensor) -> bool:
    """Whether the entries of a Tensor, or of its batch, are contiguous in row-major order."""
    if tensor._fx_view_meta is None and type(tensor._fx_value) is np.ndarray:
        return tensor._fx_value.flags.c_contiguous
    known = batch_order(tensor, random_levels()) is not None
    array = batch_of(refresh(tensor)._fx_value)[0] if known else layout_array(tensor)
    return array.flags.c_contiguous


def ensure_mapped(tensor: Tensor, name: str, *others: Tensor) -> None:
    """Raise unless a Tensor that is filled with random numbers differs between the entries of all batches."""
    different = random_levels()
    _, found = batch_of(refresh(tensor)._fx_value)
    if all(level in found for level in different):
        return
    for other in others:
        _, beside = batch_of(refresh(other)._fx_value)
        if any(level in beside and level not in found for level in different):
            raise captured_target_error("", mapped=True, called=name.rstrip("_"))
    raise TensorError(
        "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
        "randomness. If this is necessary for your usage, please file an issue with functorch.",
        hint=f"x.repeat(n, …).{name}(…) outside, and vmap over it; or a function that makes a Tensor, as torch.rand",
    )


def known_entries(value: Any, shape: Sequence[int], different: Sequence[Any]) -> np.ndarray | None:
    """Return the entries of a value as an array, broadcast to this shape, behind the axes of the levels that map it.

    None where the entries are not known, or are mapped by a level whose entries are to draw the same numbers.
    """
    value, found = batch_of(value)
    if value is None or any(level not in different for level in found):
        return None
    lead = [level.size if level in found else 1 for level in different]
    own = value.shape[len(found) :]
    array = move_array(value, CPU).reshape((*lead, *(1,) * (len(shape) - len(own)), *own))
    return np.broadcast_to(array, (*[level.size for level in different], *shape))


def draw_for_each(
    sample: Callable[..., np.ndarray], values: Sequence[Any], generator: Generator | None
) -> Tensor | None:
    """Draw one number for each entry of operands that are broadcast against one another.

    Args:
        sample: (generator, arrays of one shape) → array of that shape.

    Returns:
        A Tensor, or None where the operands' entries are not known.

    Raises:
        TensorError: the function is mapped without `randomness`.
    """
    different = random_levels()
    shape = np.broadcast_shapes(*[v.shape for v in values])
    arrays = [known_entries(v, shape, different) for v in values]
    if any(a is None for a in arrays):
        return None
    like = make_tensor(current_tape(), values[0])
    return draw_tensor(lambda rng, _: sample(rng, *arrays), shape, generator, like=like)


# -- the default generator ------------------------------------------
@expose()
def manual_seed(seed: int) -> Generator:
    """Restart the default generator from a seed, and return it.

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
    """Set the default generator to a state.

    Returns:
        None.
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices=None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """Context manager that restores the default generator's state at its end, if `enabled`. That generator serves all
    devices.

    Args:
        devices: accepted and without effect.
        enabled: False: nothing is done.
        device_type: accepted and without effect.

    >>> before = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(2)
    >>> torch.equal(before, torch.get_rng_state())
    True
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def thread_safe_generator() -> Generator | None:
    """Return None, which stands for the default generator: threads may share it, and a worker of a `DataLoader` is a
    process that has its own. (In torch a worker that is a thread gets another one.)

    >>> torch.rand(2, generator=torch.random.thread_safe_generator()).shape
    torch.Size([2])
    """


expose(name="default_generator")(default_generator)
