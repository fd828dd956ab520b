"""The data set of the package: the UCI hand-written digits. README.md has the source and the licence."""

from importlib import resources

import numpy as np

__all__ = ["load_digits"]


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """1797 hand-written digits: images, float64 in [0, 1] of shape (1797, 64), and labels, int64.

    >>> images, labels = load_digits()
    >>> images.shape, labels[:5].tolist()
    ((1797, 64), [0, 1, 2, 3, 4])
    """
    with (
        resources.files(__name__).joinpath("digits.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        images, labels = archive["images"], archive["labels"]
    return images.reshape(-1, 64).astype(np.float64) / 16, labels.astype(np.int64)
