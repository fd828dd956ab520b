"""What fnp.sin, fnp.add and fnp.multiply on plain arrays cost above the NumPy function.

Decides whether the way through `bind` is short enough for code that is not being transformed at all. The aim:
half a microsecond at most.
"""

import measure  # isort: skip  (it sets the number of threads)

import statistics

import numpy as np

import fxgrad.numpy as fnp


def overhead(name: str, *arguments: np.ndarray) -> tuple[float, float]:
    """Seconds of the NumPy call, and the median of what ours takes more in the same round."""
    ours, theirs = getattr(fnp, name), getattr(np, name)
    np.testing.assert_array_equal(ours(*arguments), theirs(*arguments))
    contenders = {"fxgrad": lambda: ours(*arguments), "numpy": lambda: theirs(*arguments)}
    times = measure.take_turns(contenders, rounds=101, calls=1000)
    paired = [a - b for a, b in zip(times["fxgrad"], times["numpy"])]
    return statistics.median(times["numpy"]), statistics.median(paired)


def main() -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 64))
    print("on 64 numbers          numpy      fxgrad above it")
    for name, arguments in {"sin": (x,), "add": (x, y), "multiply": (x, y)}.items():
        numpy_seconds, more = overhead(name, *arguments)
        print(f"  {name:14} {1e6 * numpy_seconds:10.3f} µs {1e6 * more:12.3f} µs")


if __name__ == "__main__":
    main()
