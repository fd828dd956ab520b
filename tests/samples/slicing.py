"""Operands for slices at places that are values."""

import numpy as np

from tests.sample import Sample, written


def places(shape: tuple[int, ...], starts: tuple, sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return np.ix_(*[np.arange(n)[int(s) :][:k] for n, s, k in zip(shape, starts, sizes)])


def sliced(domain: str, shape: tuple[int, ...], sizes: tuple[int, ...]) -> Sample:
    """The starts are between 1 and 4."""
    return written(
        "dynamic_slice",
        (domain, shape),
        *[("count", ())] * len(shape),
        sizes=sizes,
        reference=lambda x, *starts: x[places(shape, starts, sizes)],
    )


def updated(domain: str, shape: tuple[int, ...], sizes: tuple[int, ...]) -> Sample:
    def reference(x: np.ndarray, u: np.ndarray, *starts: int) -> np.ndarray:
        x = x.copy()
        x[places(shape, starts, sizes)] = u
        return x

    return written(
        "dynamic_update_slice",
        (domain, shape),
        (domain, sizes),
        *[("count", ())] * len(shape),
        reference=reference,
    )


CASES = [
    ("real", (6,), (2,)),
    ("complex", (5,), (1,)),
    ("real", (5, 7), (1, 3)),
    ("real", (5, 6, 5), (1, 2, 0)),
    ("int", (6,), (2,)),
]
SAMPLES = [make(*case) for make in (sliced, updated) for case in CASES]
SAMPLES += [sliced("real", (), ()), updated("real", (6,), (0,))]
