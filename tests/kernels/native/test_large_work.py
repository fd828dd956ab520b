"""Large work of every kind is handed to threads, and its results do not depend on how many there are."""

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch
import fxgrad.numpy as fnp
from fxgrad.core.costs import SHARED_ENTRIES
from fxgrad.kernels.native import engine, threads

pytestmark = pytest.mark.skipif(engine.mode() == "never", reason="needs machine code")
LENGTH = SHARED_ENTRIES // 64 + 3
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((64, LENGTH)).astype("f4")
SQUARE = RNG.standard_normal((901, 1203)).astype("f4")
IMAGES = torch.tensor(RNG.standard_normal((16, 40, 40, 30)).astype("f4"))
NUMBERS = RNG.integers(-5, 5, (64, LENGTH))
WIDE = np.where(ROWS > 3, 1e300, ROWS.astype("f8"))
TIES = np.where(ROWS < -2, np.nan, np.round(ROWS * 50))
TABLE = RNG.integers(-9, 9, (3000, 256)).astype("f4")
PLACES = RNG.integers(0, 3000, 5000)
ORDER = np.argsort(ROWS, 1)
T = torch.tensor(ROWS)

# Programs of arrays, and what NumPy makes of them.
COPIES = {
    "jitted constant": (fx.jit(fx.grad(lambda x: fnp.sum(x + 1))), ROWS, np.ones_like),
    "jitted row": (fx.jit(lambda x: fnp.broadcast_to(x[0], x.shape)), ROWS, lambda x: np.tile(x[0], (64, 1))),
    "jitted transpose": (fx.jit(fnp.transpose), SQUARE, np.transpose),
    "jitted copy": (fx.jit(fnp.copy), ROWS, np.copy),
    "jitted concatenate": (fx.jit(lambda x: fnp.concatenate([x, x[:3]])), ROWS, lambda x: np.r_[x, x[:3]]),
    "clone": (lambda x: T.clone(), ROWS, np.copy),
    "clone, transposed": (lambda x: T.t().clone(), ROWS, np.transpose),
    "contiguous": (lambda x: torch.tensor(SQUARE).t().contiguous(), SQUARE, np.transpose),
    "channels": (lambda x: IMAGES.permute(0, 3, 1, 2).contiguous(), IMAGES, lambda x: x.permute(0, 3, 1, 2)),
    "cat": (lambda x: torch.cat([T, T[:5]]), ROWS, lambda x: np.r_[x, x[:5]]),
    "cat of rows": (lambda x: torch.cat(list(T)), ROWS, np.ravel),
    "cat of columns": (lambda x: torch.cat([T, T[:, :5]], 1), ROWS, lambda x: np.c_[x, x[:, :5]]),
    "stack": (lambda x: torch.stack([T, T], 1), ROWS, lambda x: np.stack([x, x], 1)),
    "stack of entries": (lambda x: torch.stack([T, T], -1), ROWS, lambda x: np.stack([x, x], -1)),
    "pad": (lambda x: torch.nn.functional.pad(T, (1, 2)), ROWS, lambda x: np.pad(x, ((0, 0), (1, 2)))),
}
CHOICES = {
    "jitted conversion": (fx.jit(lambda x: x.astype("f8")), ROWS, lambda x: x.astype("f8")),
    "jitted conversion of integers": (fx.jit(lambda x: x.astype("f4")), NUMBERS, lambda x: x.astype("f4")),
    "double": (lambda x: torch.tensor(x).double(), ROWS, lambda x: x.astype("f8")),
    "float": (lambda x: torch.tensor(x).float(), WIDE, np.errstate(over="ignore")(lambda x: x.astype("f4"))),
    "where": (lambda x: torch.where(T > 0, T, T + 1), ROWS, lambda x: np.where(x > 0, x, x + 1)),
    "where of a row": (lambda x: torch.where(T > 0, T[0], 0.0), ROWS, lambda x: np.where(x > 0, x[0], 0)),
}


def as_line(dtype):
    """TIES as one line; integers are no NaN."""
    return (np.nan_to_num(TIES) if dtype[0] == "i" else TIES).astype(dtype).reshape(1, -1)


def stable(x, axis=-1):
    return np.argsort(x, axis, kind="stable")


SORTS = {
    "sorted rows": (fnp.sort, ROWS, np.sort),
    "jitted sort of columns": (fx.jit(lambda x: fnp.sort(x, 0)), ROWS, lambda x: np.sort(x, 0)),
    "jitted argsort": (fx.jit(fnp.argsort), NUMBERS, stable),
    "jitted argsort of columns": (fx.jit(lambda x: fnp.argsort(x, 0)), ROWS, lambda x: stable(x, 0)),
    "places of rows": (lambda x: torch.sort(torch.tensor(x), 1, stable=True)[1], TIES, stable),
    **{
        f"{name} of a line, {dtype}": (function, as_line(dtype), reference)
        for name, function, reference in (
            ("sort", fx.jit(fnp.sort), np.sort),
            ("argsort", fx.jit(fnp.argsort), stable),
            ("torch's sort", lambda x: torch.sort(torch.tensor(x), -1)[1], stable),
        )
        for dtype in ("f4", "f8", "i4", "i8")
    },
    "sort of signs": (fx.jit(fnp.sort), np.where(ROWS > 0, 0.0, -0.0).reshape(-1), np.sort),
    "sort of equals": (fx.jit(fnp.argsort), np.ones(1 << 17), lambda x: np.arange(len(x))),
}


def draw(function, dtype="float32"):
    """Return a program that draws so many numbers with a seed."""

    def program(count):
        torch.manual_seed(5)
        return function(torch.empty(count, dtype=getattr(torch, dtype)))

    return draw_by_key(program)


def draw_by_key(program):
    """Return a program, its operand, and what it gives on one core."""

    def alone(count):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threads, "thread_count", lambda: 1)
            return program(count)

    return program, 700_001, alone


DRAWS = {
    "rand": draw(torch.rand_like),
    "rand in double precision": draw(torch.rand_like, "float64"),
    "randn": draw(torch.randn_like),
    "randn of halves": draw(torch.randn_like, "float16"),
    "uniform_": draw(lambda x: x.uniform_(-1, 3)),
    "exponential_": draw(lambda x: x.exponential_()),
    "bernoulli_": draw(lambda x: x.bernoulli_(0.3)),
    "randint": draw(lambda x: torch.randint(0, 100, x.shape)),
    "randint of two words": draw(lambda x: torch.randint(0, 1 << 40, x.shape)),
    "randperm": draw(lambda x: torch.randperm(len(x))),
    "poisson": draw_by_key(lambda count: fx.random.poisson(fx.random.key(0), 20.0, (count,))),
}


def weigh(take):
    """Return the program of the pullback of an indexing function, for the cotangents 1, 2, 3, …."""

    def loss(x):
        y = take(x)
        return fnp.sum(y * np.arange(y.size, dtype="f4").reshape(y.shape))

    return fx.jit(fx.grad(loss))


def add_rows(x):
    found = np.zeros_like(x)
    np.add.at(found, PLACES, np.arange(PLACES.size * x.shape[1], dtype="f4").reshape(-1, x.shape[1]))
    return found


GATHERS = {
    "jitted take": (fx.jit(lambda x: fnp.take(x, PLACES, 0)), TABLE, lambda x: x[PLACES]),
    "jitted places of rows": (
        fx.jit(lambda x: fnp.take_along_axis(x, ORDER, 1)),
        ROWS,
        lambda x: np.take_along_axis(x, ORDER, 1),
    ),
    "embedding": (
        lambda x: torch.nn.functional.embedding(torch.tensor(PLACES), torch.tensor(x)),
        TABLE,
        lambda x: x[PLACES],
    ),
    "pullback of take": (weigh(lambda x: fnp.take(x, PLACES, 0)), TABLE, add_rows),
    "pullback of a slice": (
        weigh(lambda x: x[3:-2]),
        ROWS,
        lambda x: np.pad(np.arange(x[5:].size, dtype="f4").reshape(-1, LENGTH), ((3, 2), (0, 0))),
    ),
}
PROGRAMS = {**COPIES, **CHOICES, **SORTS, **DRAWS, **GATHERS}


def note_crews(monkeypatch):
    """Return a list that grows with all work: whether threads could share it."""
    shared = []
    begin = threads.Crew.__init__

    def note(crew, *args, **options):
        begin(crew, *args, **options)
        shared.append(crew.most > 1)

    monkeypatch.setattr(threads.Crew, "__init__", note)
    return shared


@pytest.mark.parametrize("name", PROGRAMS)
def test_threads_share_it_and_change_nothing(name, monkeypatch):
    monkeypatch.setattr(engine, "mode", lambda: "always")
    program, operand, reference = PROGRAMS[name]
    shared = note_crews(monkeypatch)
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(threads, "thread_count", lambda count=count: count)
        found.append(np.asarray(program(operand)))
    assert any(shared)
    for other in found[1:]:
        assert found[0].tobytes() == other.tobytes()
    np.testing.assert_array_equal(found[0], np.asarray(reference(operand)))


def test_sums_at_places_of_narrow_rows_are_left_to_one_thread(monkeypatch):
    """Each of several would look at all places."""
    monkeypatch.setattr(engine, "mode", lambda: "always")
    monkeypatch.setattr(threads, "thread_count", lambda: 2)
    places = RNG.integers(0, 1000, SHARED_ENTRIES)
    pull = fx.jit(lambda u: fx.vjp(lambda w: w[places], np.zeros(1000, "f4"))[1](u)[0])
    ones = np.ones(SHARED_ENTRIES, "f4")
    pull(ones)
    crews = note_crews(monkeypatch)
    np.testing.assert_array_equal(pull(ones), np.bincount(places, minlength=1000))
    assert crews[-1] is False  # the last work is the addition
