"""Samples of activation functions."""

import numpy as np

from tests.sample import written

SAMPLES = [
    written("relu", ("nonzero", (2, 3)), reference=lambda x: np.where(x > 0, x, 0)),
    written("relu", ("int", (4,)), reference=lambda x: np.where(x > 0, x, 0)),
    written("sigmoid", ("real", (2, 3)), reference=lambda x: 1 / (1 + np.exp(-x))),
    written("sigmoid", ("complex", (3,)), reference=lambda x: 1 / (1 + np.exp(-x))),
    written("sigmoid", ("real", ()), reference=lambda x: 1 / (1 + np.exp(-x))),
    written("sigmoid_slope", ("real", (2, 3)), reference=lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2),
    written("silu", ("real", (2, 3)), reference=lambda x: x / (1 + np.exp(-x))),
    written("silu", ("complex", (3,)), reference=lambda x: x / (1 + np.exp(-x))),
    written("silu", ("real", (70000,)), reference=lambda x: x / (1 + np.exp(-x))),
    written(
        "silu_slope",
        ("real", (2, 3)),
        reference=lambda x: 1 / (1 + np.exp(-x)) + x * np.exp(-x) / (1 + np.exp(-x)) ** 2,
    ),
    written("softplus", ("real", (2, 3)), reference=lambda x: np.log(1 + np.exp(x))),
    written("softplus", ("real", ()), reference=lambda x: np.log(1 + np.exp(x))),
]
