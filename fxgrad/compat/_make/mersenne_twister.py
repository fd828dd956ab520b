"""The generator MT19937; Python, NumPy or machine code generate its words, in runs of blocks of 624.

Source: Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random number
generator", 1998; seeded by one word as in their revision of 2002.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from ...extend import costs, native_function

BLOCK = 624  # words that are made at once, and words of a state
SEED_WORDS = 1 << 13  # words that take Python as long as a seed


class PythonWords:
    """The words as Python's generator makes them; `used` are those that all of its kind have made, and seeds."""

    used = 0

    def __init__(self) -> None:
        self.random = Random(0)

    def seed(self, seed: int) -> None:
        """Start anew from a seed of 32 bits."""
        key = [seed]
        for i in range(1, BLOCK):
            seed = (1812433253 * (seed ^ seed >> 30) + i) & 0xFFFFFFFF
            key.append(seed)
        self.restore(key, BLOCK)
        PythonWords.used += SEED_WORDS

    def restore(self, key: Any, place: int) -> None:
        """Stand at a place of the block of a key."""
        self.random.setstate((3, (*map(int, key), place), None))

    def read_key(self) -> np.ndarray:
        """The key of the block at hand."""
        return np.array(self.random.getstate()[1][:BLOCK], np.uint32)

    def read(self, count: int) -> np.ndarray:
        """The next words, one or more."""
        PythonWords.used += count
        return np.frombuffer(self.random.getrandbits(32 * count).to_bytes(4 * count, "little"), "<u4")


class NumpyWords:
    """The words as NumPy's generator makes them: in a quarter of Python's time, but `np.random` takes long to load.
    Machine code, once it is there, goes on from the end of a block."""

    def __init__(self) -> None:
        self.bits = np.random.MT19937(0)
        self.key: np.ndarray | None = None  # of the last block, if machine code has made it

    def seed(self, seed: int) -> None:
        """Start anew from a seed of 32 bits."""
        np.random.RandomState(self.bits).seed(seed)
        self.key = None

    def restore(self, key: Any, place: int) -> None:
        """Stand at a place of the block of a key."""
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": place}}
        self.key = None

    def read_key(self) -> np.ndarray:
        """The key of the block at hand."""
        return self.bits.state["state"]["key"] if self.key is None else self.key.copy()

    def read(self, count: int) -> np.ndarray:
        """The next words, whole blocks of them."""
        make = native_function("twister.block_maker")(count)
        if make is not None:
            if self.key is not None:
                return make(self.key)
            state = self.bits.state["state"]
            if state["pos"] == BLOCK:
                self.key = state["key"].copy()
                return make(self.key)
        elif self.key is not None:
            self.restore(self.key, BLOCK)
        return self.bits.random_raw(count).astype(np.uint32)


class MersenneTwister:
    """A stream of 32-bit words, with a state in torch's format: (key of the block, place of the next word).

    After the key of a seed, place 0 means that its block is still to be made.

    A run of blocks is handed out piece by piece. The source of words always stands at the end of a run, and what is
    known of the run is forgotten before the next one is asked for: an interruption at any moment leaves a state that
    agrees with the words that follow. The first run after a seed or a state is one block, each further one is twice as
    long, up to `READ_BLOCKS`.
    """

    def __init__(self) -> None:
        self.source: PythonWords | NumpyWords = PythonWords()
        self.restart(0)

    def restart(self, seed: int) -> None:
        """Start anew from the lower 32 bits of a seed."""
        self.forget_run()
        self.blocks = 1  # of the next run
        self.start: int | tuple[np.ndarray, int] | None = seed & 0xFFFFFFFF

    @property
    def state(self) -> tuple[np.ndarray, int]:
        """The key, which is never modified, and the place of the next word in its block."""
        if isinstance(self.start, tuple):
            return self.start
        fresh = self.start is not None or self.is_fresh
        self.begin()
        self.is_fresh = fresh
        if self.run is None:
            if self.key is None:
                self.key = self.source.read_key()
            return self.key, 0 if fresh else BLOCK
        before = (self.place - 1) // BLOCK * BLOCK
        if self.key is None or self.before != before:
            self.key, self.before = undo_tempering(self.run[before : before + BLOCK]), before
        return self.key, self.place - before

    @state.setter
    def state(self, state: tuple[np.ndarray, int]) -> None:
        key, place = state
        if place and self.key is not None and self.run is not None and np.array_equal(key, self.key):
            self.place = self.before + place  # in the run at hand
        else:
            self.forget_run()
            self.blocks = 1
            self.start = state

    def forget_run(self) -> None:
        """Mark the run as used up."""
        self.start, self.place, self.end, self.is_fresh = None, 0, 0, False
        self.run: Any = None  # its words, of which there are `end`
        self.key: Any = None  # the state behind a block of them, where it has been asked for,
        self.before = 0  # and the words before that block
        self.unit_floats: Any = None  # float32 numbers made of its words, where they have been asked for
        self.normals: Any = None  # normal numbers made of these: see `variates.normals_at_hand`

    def begin(self, count: int = 0) -> None:
        """Start the source from the seed or state of this one, before it is asked for `count` words."""
        if type(self.source) is PythonWords and PythonWords.used + count >= costs.FEWEST_WORDS:
            source = NumpyWords()
            source.restore(self.source.read_key(), BLOCK)
            self.source = source
        start = self.start
        if start is None:
            return
        if isinstance(start, int):
            self.source.seed(start)
            self.start = None
            return
        key, place = start
        if not 0 < place < BLOCK:
            self.source.restore(key, BLOCK)
            self.start, self.is_fresh = None, not place
            return
        self.source.restore(key, 0)
        self.keep_run(self.source.read(BLOCK), place)
        self.start, self.key, self.before = None, key, 0

    def keep_run(self, run: np.ndarray, place: int) -> None:
        """Keep a run of words, which stands at this place, to be handed out."""
        run.flags.writeable = False
        self.run, self.place, self.end = run, place, len(run)

    def words(self, count: int) -> np.ndarray:
        """The next words: uint32, not to be modified."""
        place = self.pass_words(count)
        if place is not None:
            return self.run[place : place + count]
        if not count:
            return np.empty(0, np.uint32)
        self.begin(count)
        made = np.empty(count, np.uint32)
        here = self.end - self.place
        if here:
            made[:here] = self.run[self.place :]
        end = count - (count - here - 1) % BLOCK - 1  # the run from the last block on is kept
        self.forget_run()
        if here < end:
            made[here:end] = self.source.read(end - here)
        run = self.source.read(BLOCK * self.blocks)
        made[end:] = run[: count - end]
        self.keep_run(run, count - end)
        self.blocks = min(2 * self.blocks, costs.READ_BLOCKS)
        return made

    def pairs_of_words(self, count: int) -> np.ndarray:
        """Twice as many words."""
        return self.words(2 * count)

    def long_words(self, count: int) -> np.ndarray:
        """Numbers of 64 bits, each made of two words, the upper one first: uint64."""
        return to_long_words(self.words(2 * count))

    def floats(self, count: int) -> np.ndarray:
        """Multiples of 2⁻²⁴ in [0, 1), of one word each: float32."""
        place = self.pass_words(count)
        if place is not None:
            return self.run_floats()[place : place + count].copy()
        return to_unit_floats(self.words(count))

    def run_floats(self) -> np.ndarray:
        """The numbers of `floats` made of all words of the run at hand, not to be modified."""
        if self.unit_floats is None:
            self.unit_floats = to_unit_floats(self.run)
        return self.unit_floats

    def pass_words(self, count: int) -> int | None:
        """Pass over words of the run at hand, and return the place of the first. The run is one that has them: where
        the rest of the last one is too short, it goes on with that. None where these are more than are read at once."""
        place = self.place
        if place + count <= self.end and self.run is not None:
            self.place = place + count
            return place
        self.begin(count)
        here = self.end - self.place
        if not 0 < count <= here + BLOCK * self.blocks:
            return None
        if count <= here:  # of the block of a state
            return self.pass_words(count)
        rest: Any = None
        place, known = 0, self.run
        if here and known is not None:
            first = self.place // BLOCK * BLOCK
            rest, place = known[first:], self.place - first
        self.forget_run()
        run = self.source.read(BLOCK * self.blocks)
        self.keep_run(run if rest is None else np.concatenate((rest, run)), place + count)
        self.blocks = min(2 * self.blocks, costs.READ_BLOCKS)
        return place

    def doubles(self, count: int) -> np.ndarray:
        """Multiples of 2⁻⁵³ in [0, 1), of two words each: float64."""
        return to_unit_doubles(self.words(2 * count))


def undo_tempering(words: np.ndarray) -> np.ndarray:
    """The key of a block, of whose entries its words are made by shifts that can be undone: that to the right by 18
    and that to the left by 15 at once, those by 7 and 11, from their fixed digits on, by repetition."""
    key = words ^ (words >> np.uint32(18))
    key ^= (key << np.uint32(15)) & np.uint32(0xEFC60000)
    made = key
    for _ in range(4):
        made = key ^ ((made << np.uint32(7)) & np.uint32(0x9D2C5680))
    key = made
    for _ in range(2):
        made = key ^ (made >> np.uint32(11))
    return made


def to_unit_floats(words: np.ndarray) -> np.ndarray:
    """The lower 24 bits of words as fractions."""
    made = (words & np.uint32(0xFFFFFF)).astype(np.float32)
    made *= np.float32(2.0**-24)
    return made


def to_long_words(words: np.ndarray) -> np.ndarray:
    """Each two words as one number."""
    made = words[0::2].astype(np.uint64)
    made <<= np.uint64(32)
    made |= words[1::2]
    return made


def to_unit_doubles(words: np.ndarray) -> np.ndarray:
    """The lower 53 bits of each two words as fractions."""
    made = (words[0::2] & np.uint32(0x1FFFFF)).astype(np.float64)
    made *= 2.0**32
    made += words[1::2]
    made *= 2.0**-53
    return made
