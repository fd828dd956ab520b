"""What a sample of a primitive is, and what the generated tests do with it.

Operands are drawn from a generator by domain, so that a batch of operands is several draws; the domains keep
clear of kinks, branch cuts and jumps, at which tests/ops/test_masked.py looks closely.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import fxgrad.numpy as fnp
from fxgrad import ops
from fxgrad.core.aval import is_differentiable
from fxgrad.core.graph import Graph
from fxgrad.core.primitive import REGISTRY

ops.load_families()


def magnitude(low: float, high: float) -> Callable:
    """Values of either sign between two absolute values."""
    return lambda rng, shape: rng.uniform(low, high, shape) * rng.choice([-1.0, 1.0], shape)


def distinct(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """No two values are near each other."""
    return (rng.permutation(math.prod(shape)).reshape(shape) + rng.uniform(-0.2, 0.2, shape)) / 2 - 1.1


DOMAINS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "real": lambda rng, shape: rng.uniform(-2, 2, shape),
    "positive": lambda rng, shape: rng.uniform(0.3, 2.5, shape),
    "unit": lambda rng, shape: rng.uniform(-0.9, 0.9, shape),
    "above1": lambda rng, shape: rng.uniform(1.2, 3, shape),
    "nonzero": magnitude(0.3, 2),
    "fraction": lambda rng, shape: rng.integers(-3, 3, shape) + rng.uniform(0.1, 0.4, shape),
    "numerator": magnitude(3.1, 3.9),  # of quotients between the integers 2 and 3, or −3 and −2
    "denominator": lambda rng, shape: rng.uniform(1.35, 1.5, shape),
    "distinct": distinct,
    "apart": lambda rng, shape: distinct(rng, shape) + 0.25,  # from those, too
    "complex": lambda rng, shape: rng.uniform(0.2, 1.2, shape) + 1j * magnitude(0.3, 1.2)(rng, shape),
    "bool": lambda rng, shape: rng.random(shape) < 0.5,
    "int": lambda rng, shape: rng.integers(-5, 6, shape),
    "count": lambda rng, shape: rng.integers(1, 5, shape),
    "uint8": lambda rng, shape: rng.integers(0, 200, shape).astype(np.uint8),
    "index3": lambda rng, shape: rng.integers(-3, 3, shape),
    "index6": lambda rng, shape: rng.integers(-1, 7, shape),
    "index4": lambda rng, shape: rng.integers(-4, 4, shape),
    "permuted3": lambda rng, shape: rng.permutation(3),
}


def flattened(*results: Any) -> Any:
    """Several results as one vector."""
    return fnp.concatenate([fnp.ravel(r) for r in results])


def shown(param: Any) -> Any:
    """A param as the name of a test has it: a Graph by its name."""
    if isinstance(param, tuple) and param and isinstance(param[0], Graph):
        return "+".join(graph.name for graph in param)
    return param.name if isinstance(param, Graph) else param


@dataclass(frozen=True, eq=False)
class Sample:
    """Operands of a primitive: (domain, shape) for each, with params.

    reference(*operands): the result by means other than the kernel. model(*operands, **params): the function
    whose derivative it has, where that is another one by design. joined(*results) makes one array of several
    results: one that does not depend on what they leave open (signs of eigenvectors). `of` is the primitive where
    the registry does not have it, since its params are Graphs and it is made by transforms.
    """

    name: str
    operands: tuple[tuple[str, tuple[int, ...]], ...]
    params: dict[str, Any] = field(default_factory=dict)
    reference: Callable | None = None
    model: Callable | None = None
    joined: Callable = flattened
    of: Any = None

    @property
    def primitive(self) -> Any:
        return self.of or REGISTRY[self.name]

    def call(self, *operands: Any) -> Any:
        """The primitive applied; several results are joined to one."""
        result = self.primitive.call(*operands, **self.params)
        return self.joined(*result) if self.primitive.multiple_results else result

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [np.asarray(DOMAINS[domain](rng, shape)) for domain, shape in self.operands]

    def __str__(self) -> str:
        shapes = ",".join(f"{domain}{list(shape)}".replace(" ", "") for domain, shape in self.operands)
        params = ",".join(f"{key}={shown(value)}" for key, value in self.params.items())
        return f"{self.name}-{shapes}{'-' * bool(params)}{params}".replace("slice", "").replace(", None", "")


def written(
    name: str, *operands: tuple[str, tuple[int, ...]], reference: Callable | None = None, **params: Any
) -> Sample:
    """A sample in one line."""
    return Sample(name, operands, params, reference)


def drawn(sample: Sample) -> tuple[np.random.Generator, list[np.ndarray]]:
    """(a generator of its own, operands) of a sample: the same in every run."""
    rng = np.random.default_rng(zlib.crc32(str(sample).encode()))
    return rng, sample.draw(rng)


def active(sample: Sample) -> list[int]:
    """The positions of the operands that carry tangents."""
    return [i for i, x in enumerate(drawn(sample)[1]) if is_differentiable(x.dtype)]


def function_of(sample: Sample, operands: Sequence[Any]) -> tuple[Callable, list[Any]]:
    """(f, values): the primitive as a function of its active operands, the others fixed."""
    positions = active(sample)

    def f(*values: Any) -> Any:
        full = list(operands)
        for i, v in zip(positions, values):
            full[i] = v
        return sample.call(*full)

    return f, [operands[i] for i in positions]


def close(actual: Any, expected: Any, tolerance: float = 1e-7) -> None:
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
