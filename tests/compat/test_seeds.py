"""A seed's numbers, as torch 2.13 draws them on a CPU; what interruptions, threads and transforms do to their order."""

from __future__ import annotations

import subprocess
import sys
import threading
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fxgrad as fx
import fxgrad.compat as fxt
from fxgrad.compat._make import mersenne_twister

RECORDED = {
    "T.rand(3)": [0.49625658988952637, 0.7682217955589294, 0.08847743272781372],
    "T.rand(3, dtype=T.float64)": [0.9700530018065531, 0.707819864399788, 0.45938294312745087],
    "T.randn(3)": [1.5409960746765137, -0.293428897857666, -2.1787893772125244],
    "T.randn(18)[-3:]": [-0.843676745891571, 0.9318265914916992, 1.2590092420578003],
    "T.randn(18, dtype=T.float64)[-3:]": [-0.8910030351707375, 0.6748575435940039, 1.0468653769814655],
    "T.randint(100, (5,))": [44, 39, 33, 60, 63],
    "T.randint(2**40, (3,))": [741280623151, 506137267392, 291447657211],
    "T.randperm(8)": [4, 0, 7, 3, 2, 5, 1, 6],
    "T.randperm(1000)[-3:]": [745, 263, 354],
    "T.empty(3).exponential_()": [3.508326292037964, 1.2303847074508667, 0.615044116973877],
    "T.bernoulli(T.full((8,), 0.5))": [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0],
    "T.empty(8).bernoulli_(0.5)": [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0],
    "F.dropout(T.ones(8), 0.5)": [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0, 2.0],
    "T.multinomial(T.tensor([1.0, 2, 0, 5]), 6, True)": [3, 3, 3, 3, 3, 3],
    "T.multinomial(T.tensor([1.0, 2, 0, 5]), 3)": [3, 1, 0],
    "T.poisson(T.tensor([0.5, 5.0, 50.0]))": [2.0, 6.0, 49.0],
    "T.binomial(T.tensor([9.0, 90.0]), T.tensor([0.3, 0.4]))": [6.0, 34.0],
    "T._standard_gamma(T.tensor([0.5, 5.0]))": [0.0007893581641837955, 2.7152750492095947],
    "T.empty(2, 3).t().uniform_()": [
        [0.49625658988952637, 0.13203048706054688],
        [0.7682217955589294, 0.30742281675338745],
        [0.08847743272781372, 0.6340786814689636],
    ],
    "T.empty(3).cauchy_()": [10.597729682922363, 0.7647672891616821, -0.12829934060573578],
    "T.empty(3).geometric_(0.2)": [1.0, 2.0, 4.0],
}


@pytest.mark.parametrize("code", RECORDED)
def test_recorded_numbers(code):
    fxt.manual_seed(0)
    found = eval(code, {"T": fxt, "F": fxt.nn.functional})
    np.testing.assert_allclose(np.array(found.tolist(), float), RECORDED[code], 2e-6, 2e-6)


def test_initial_weights():
    fxt.manual_seed(0)
    net = fxt.nn.Sequential(fxt.nn.Linear(2, 2), fxt.nn.Linear(2, 1))
    np.testing.assert_allclose(
        fxt.cat([p.detach().flatten() for p in net.parameters()]).tolist(), WEIGHTS, 1e-6
    )


WEIGHTS = [
    -0.005293981172144413,
    0.37932288646698,
    -0.5819807648658752,
    -0.5203874707221985,
    -0.27234524488449097,
    0.1896158903837204,
    -0.014010033570230007,
    0.5606575012207031,
    -0.06275151669979095,
]


def swap_by_swap(targets):
    made = list(range(len(targets)))
    for i, j in enumerate(targets):
        made[i], made[j] = made[j], made[i]
    return made


@given(st.integers(1, 40), st.integers(0, 99))
def test_swaps_at_once(n, seed):
    steps = np.arange(n)
    targets = steps + np.random.default_rng(seed).integers(0, n - steps)
    assert fxt._make.variates.swap_in_turn(np.array(targets)).tolist() == swap_by_swap(targets.tolist())


@given(
    st.lists(
        st.tuples(st.sampled_from(["words", "floats", "doubles", "back"]), st.integers(0, 1500)), max_size=12
    ),
    st.sampled_from([0, 10_000, 15_000, 1 << 40]),
)
def test_words_in_pieces(steps, few):
    """However the words are asked for, they are those of the stream; and so they are after a state is set, and
    wherever NumPy's generator takes over from Python's."""
    stream = np.random.RandomState(7).randint(0, 2**32, 40000, dtype=np.uint32)
    with (
        patch.object(mersenne_twister.costs, "FEWEST_WORDS", few),
        patch.object(mersenne_twister.PythonWords, "used", 0),
    ):
        twister = mersenne_twister.MersenneTwister()
        twister.restart(7)
        place, saved, saved_place = 0, twister.state, 0
        for kind, n in steps:
            if kind == "back":
                saved, saved_place, twister.state, place = twister.state, place, saved, saved_place
                continue
            got = getattr(twister, kind)(n)
            words = stream[place : place + n * (1 + (kind == "doubles"))]
            place += len(words)
            if kind == "floats":
                words = ((words & 0xFFFFFF) / 2**24).astype(np.float32)
            elif kind == "doubles":
                words = ((words[0::2] & 0x1FFFFF) * 2.0**32 + words[1::2]) / 2**53
            assert np.array_equal(got, words)


@pytest.mark.parametrize("few", [0, 1 << 40])
def test_an_interrupted_draw_leaves_a_state_that_agrees_with_what_follows(monkeypatch, few):
    """Wherever a draw is interrupted, the state is that of the numbers drawn next."""
    monkeypatch.setattr(mersenne_twister.costs, "FEWEST_WORDS", few)

    class Interrupting:
        def __init__(self, source, moment):
            self.source, self.left = source, moment

        def __getattr__(self, name):
            return getattr(self.source, name)

        def read(self, count):
            made = self.source.read(count)
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return made

    for moment in (1, 2, 3, 4):
        g = fxt.Generator().manual_seed(1)
        fxt.rand(300, generator=g)
        source = g._fx_twister.source
        g._fx_twister.source = Interrupting(source, moment)
        with pytest.raises(KeyboardInterrupt):
            for _ in range(9):
                fxt.randn(9000, generator=g)
        g._fx_twister.source = source
        state = g.get_state()
        after = fxt.rand(700, generator=g)
        assert fxt.equal(fxt.rand(700, generator=fxt.Generator().set_state(state)), after)


def test_numbers_of_a_small_program_load_no_generator_of_numpy():
    program = (
        "import sys, fxgrad.compat as torch; torch.manual_seed(0); torch.nn.Linear(40, 40); torch.randperm(9)"
    )
    subprocess.run([sys.executable, "-c", f"{program}; assert 'numpy.random' not in sys.modules"], check=True)


def test_entries_of_a_batch_and_their_derivatives():
    """Numbers of known parameters are those of the seed inside of transforms as well."""
    rate = fxt.linspace(1.0, 30.0, 6).reshape(2, 3)

    def from_seed(f):
        fxt.manual_seed(2)
        return f(rate).tolist()

    for draw in (fxt.poisson, fxt._standard_gamma, lambda x: fxt.binomial(x, x / 60)):
        plain = from_seed(draw)
        assert from_seed(fxt.vmap(draw, randomness="different")) == plain
        assert from_seed(lambda x, draw=draw: fxt.func.jvp(draw, (x,), (x,))[0]) == plain
        assert from_seed(lambda x, draw=draw: draw(x.clone().requires_grad_())) == plain
        same = from_seed(fxt.vmap(lambda x, draw=draw: draw(x * 0 + 5), randomness="same"))
        assert same[0] == same[1]


def test_parameters_that_are_not_known_while_staging():
    def total(rate):
        return fxt.poisson(fxt.tensor(rate) if not isinstance(rate, fxt.Tensor) else rate).sum()

    found = fx.jit(total)(fxt.full((2000,), 4.0))
    assert abs(float(found) / 2000 - 4) < 0.5


def test_threads_draw_whole_blocks():
    generator, found = fxt.Generator().manual_seed(0), []

    def work():
        for _ in range(20):
            found.append(fxt.randint(2**20, (1000,), generator=generator).numpy())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    generator.manual_seed(0)
    alone = fxt.randint(2**20, (80, 1000), generator=generator).numpy()
    assert sorted(map(tuple, found)) == sorted(map(tuple, alone))
