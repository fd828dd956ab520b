"""The derivatives that gradcheck compares: by finite differences, by reverse mode and by forward mode.

A Jacobian is a NumPy matrix with a row for every element of an input and a column for every element of an output. Of
complex outputs the real and the imaginary part are checked one after the other, as two real outputs. The row of a
complex input is ∂s/∂Re + i ∂s/∂Im, which is torch's gradient of s.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.aval import kind_of
from .._core.errors import ArgumentValueError, TensorError
from .._core.memory import is_array
from .._core.tensor import Tensor, refresh
from .._make.creation import from_numpy
from .forward_ad import dual_level, make_dual, unpack_dual
from .gradients import grad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class GradcheckError(TensorError):
    """A derivative that does not agree with finite differences, or with itself."""


class Problem:
    """A function at some inputs, with all that the checks need to know about it."""

    def __init__(self, func: Callable[..., Any], inputs, options: dict[str, Any]):
        self.func, self.options = func, options
        self.args = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
        self.inputs = [x for x in self.args if isinstance(x, Tensor) and x.requires_grad]
        self.random = np.random.default_rng(0)
        self.check_inputs()
        results = self.results()
        self.floating = [i for i, y in enumerate(results) if y.dtype.is_floating_point or y.dtype.is_complex]
        self.places = [i for i, y in enumerate(results) if y.requires_grad]
        self.outputs = [results[i] for i in self.places]

    def check_inputs(self) -> None:
        """Raise for inputs with which there is nothing to compare; warn where it will not be precise."""
        if not self.inputs:
            raise ArgumentValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for i, x in enumerate(self.args):
            if not any(x is y for y in self.inputs):
                continue
            if x.dtype.itemsize != (16 if x.dtype.is_complex else 8):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                    "will likely fail if all the inputs are not of double precision floating point or complex. ",
                    UserWarning,
                    stacklevel=5,
                )
            value = refresh(x).value
            if not is_array(value):
                raise TensorError(
                    "gradcheck perturbs its inputs in place, which a Tensor of a transform does not allow"
                )
            if any(stride == 0 and n > 1 for stride, n in zip(value.strides, value.shape)):
                raise TensorError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )

    def results(self, args: Sequence[Any] | None = None) -> list[Tensor]:
        """All results of the function."""
        found = self.func(*(self.args if args is None else args))
        return list(found) if isinstance(found, tuple | list) else [found]

    def values(self, places: Sequence[int]) -> list[np.ndarray]:
        """Copies of some results as the inputs are now, each flat."""
        results = self.results()
        return [as_array(results[i]).reshape(-1) for i in places]

    def central_differences(self, x: Tensor, step, places: Sequence[int]) -> list[np.ndarray]:
        """The central differences of some results for a step of an input in memory, per eps."""
        memory, eps = refresh(x).value, self.options["eps"]
        before = memory.copy()
        try:
            memory[...] = before + eps * step
            above = self.values(places)
            memory[...] = before - eps * step
            below = self.values(places)
        finally:
            memory[...] = before
        return [(a - b) / (2 * eps) for a, b in zip(above, below)]

    def numerical_jacobians(
        self, places: Sequence[int], x: Tensor
    ) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """The numerical Jacobians of some results, by the real and by the imaginary parts of an input."""
        real, imaginary = [], []
        for step in unit_arrays(x):
            real.append(self.central_differences(x, step, places))
            if x.dtype.is_complex:
                imaginary.append(self.central_differences(x, 1j * step, places))
        return [
            (stack_entries(real, k), stack_entries(imaginary, k) if x.dtype.is_complex else None)
            for k in range(len(places))
        ]

    def draw(self, tensor: Tensor) -> np.ndarray:
        """Random numbers of the shape and kind of a Tensor."""
        found = self.random.standard_normal(tensor.shape)
        return found + 1j * self.random.standard_normal(tensor.shape) if tensor.dtype.is_complex else found

    def is_close(self, analytical, numerical, slack: float = 1.0) -> bool:
        """Whether two Jacobians, or two products with them, are close enough."""
        atol, rtol = self.options["atol"] * slack, self.options["rtol"]
        return bool(np.allclose(analytical, numerical, rtol, atol, equal_nan=True))

    def pulled(self, index: int, weight: np.ndarray, **options) -> list[np.ndarray]:
        """The gradients of the inputs for a gradient of one output, as arrays; zeros where there is none."""
        output = self.outputs[index]
        found = grad(
            output, self.inputs, tensor_like(weight, output), retain_graph=True, allow_unused=True, **options
        )
        return [np.zeros(x.shape) if g is None else self.checked(g, x) for g, x in zip(found, self.inputs)]

    def checked(self, gradient: Tensor, x: Tensor) -> np.ndarray:
        """Convert a gradient to an array, or raise unless it has the dtype and the shape of its input."""
        if self.options["check_grad_dtypes"] and gradient.dtype is not x.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        if gradient.shape != x.shape:
            raise GradcheckError("Gradient has incorrect size")
        return as_array(gradient)

    def jvp_arrays(self, tangents: dict[int, np.ndarray]) -> list[np.ndarray]:
        """The flat tangents of the differentiable outputs, for tangents of the inputs at some positions."""
        with dual_level():
            duals = iter(
                make_dual(x, tensor_like(tangents[i], x)) if i in tangents else x
                for i, x in enumerate(self.inputs)
            )
            args = [next(duals) if any(x is y for y in self.inputs) else x for x in self.args]
            results = self.results(args)
            pairs = [unpack_dual(results[i]) for i in self.places]
            return [np.zeros(p.shape.numel()) if t is None else as_array(t).reshape(-1) for p, t in pairs]


def as_array(tensor: Tensor) -> np.ndarray:
    """A copy of the entries of a Tensor, in double precision."""
    value = refresh(tensor).value
    return np.array(value, dtype=complex if kind_of(value.dtype) == "c" else float)


def tensor_like(array: np.ndarray, tensor: Tensor) -> Tensor:
    """Convert an array to a Tensor of the shape and dtype of another."""
    array = np.asarray(array).reshape(tensor.shape)
    return from_numpy(array.astype(refresh(tensor).value.dtype))


def unit_arrays(x: Tensor) -> Iterator[np.ndarray]:
    """Yield for every element an array that is 1 there and 0 elsewhere."""
    for k in range(x.shape.numel()):
        step = np.zeros(x.shape.numel())
        step[k] = 1
        yield step.reshape(x.shape)


def stack_entries(rows: Sequence[Sequence[np.ndarray]], k: int) -> np.ndarray:
    """The k-th entries of all rows as a matrix."""
    return np.array([row[k] for row in rows]) if rows else np.zeros((0, 0))


def complex_part(array: np.ndarray, part: str) -> np.ndarray:
    """The real or the imaginary part of an array."""
    return np.imag(array) if part == "imag" else np.real(array)


def combine_parts(derivatives: tuple[np.ndarray, np.ndarray | None], part: str) -> np.ndarray:
    """Combine the derivatives by both parts of an input to the gradients of one part of an output."""
    real, imaginary = derivatives
    return (
        complex_part(real, part)
        if imaginary is None
        else complex_part(real, part) + 1j * complex_part(imaginary, part)
    )
