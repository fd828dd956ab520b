"""Operands whose bits are read as another dtype."""

import numpy as np

from tests.sample import Sample, written


def reread(domain: str, shape: tuple[int, ...], dtype: str, result: tuple[int, ...]) -> Sample:
    """The reference goes through the bytes of each number."""

    def reference(x: np.ndarray) -> np.ndarray:
        return np.frombuffer(b"".join(v.tobytes() for v in x.reshape(-1)), dtype).reshape(result)

    return written("bitcast", (domain, shape), dtype=np.dtype(dtype), reference=reference)


SAMPLES = [
    reread("real", (2, 3), "i8", (2, 3)),
    reread("int", (3,), "u8", (3,)),
    reread("real", (), "i4", (2,)),
    reread("int", (2, 0), "u2", (2, 0, 4)),
    reread("uint8", (3, 8), "i8", (3,)),
]
