"""Operands that are on another device, or seem to be."""

from tests.sample import written

SAMPLES = [
    written("location", ("real", (2, 3)), reference=lambda x: x.reshape(-1)[:0].astype("u1")),
    *[
        written("transfer", ("real", shape), ("uint8", (0,)), ("uint8", (0,)), reference=lambda x, *ends: x)
        for shape in [(2, 3), (), (2, 0)]
    ],
]
