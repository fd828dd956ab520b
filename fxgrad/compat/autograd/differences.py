"""The derivatives that gradcheck compares: finite differences, reverse mode and forward mode.

A Jacobian is a NumPy matrix with a row for every element of an input and a column for every element of an output. The
real and the imaginary part of a complex output are checked one after the other, as two real outputs. The row of a
complex input is ∂s/∂Re + i ∂s/∂Im, which is torch's gradient of s.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import Aval, finite_differences, unit_vectors
from .._core.memory import is_array
from .._core.tensor import Tensor, refresh
from .._make.creation import from_numpy, zeros_like
from ..errors import ArgumentValueError, GradcheckError, TensorError
from .forward_ad import dual_level, make_dual, unpack_dual
from .gradients import grad


class Problem:
    """A function and its inputs, with the data that the checks need."""

    def __init__(self, func: Callable[..., Any], inputs, options: dict[str, Any]):
        self.func, self.options = func, options
        self.args = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
        self.positions = [i for i, x in enumerate(self.args) if isinstance(x, Tensor) and x.requires_grad]
        self.inputs = [self.args[i] for i in self.positions]
        self.random = np.random.default_rng(0)
        self.check_inputs()
        results = self.results()
        self.places = [i for i, y in enumerate(results) if y.requires_grad]
        self.outputs = [results[i] for i in self.places]
        self.floating = [i for i, y in enumerate(results) if y.dtype.is_floating_point or y.dtype.is_complex]

    def check_inputs(self) -> None:
        """Raise for inputs that allow no comparison; warn if the comparison would be imprecise."""
        if not self.inputs:
            raise ArgumentValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True.",
                hint="x = torch.rand(3, dtype=torch.float64, requires_grad=True)",
            )
        for i, x in zip(self.positions, self.inputs):
            if x.dtype.itemsize != (16 if x.dtype.is_complex else 8):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                    "will likely fail if all the inputs are not of double precision floating point or complex. ",
                    UserWarning,
                    stacklevel=5,
                )
            value = refresh(x)._fx_value
            if not is_array(value):
                raise TensorError(
                    "gradcheck perturbs its inputs in place, which a Tensor of a transform does not allow",
                    hint="gradcheck outside of the transform, of the function that is transformed",
                )
            if any(stride == 0 and n > 1 for stride, n in zip(value.strides, value.shape)):
                raise TensorError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck.",
                    hint="x.detach().clone().requires_grad_()",
                )

    def results(self, args: Sequence[Any] | None = None) -> list[Tensor]:
        """All results of the function."""
        found = self.func(*(self.args if args is None else args))
        return list(found) if isinstance(found, tuple | list) else [found]

    def central_differences(
        self, x: Tensor, direction, places: Sequence[int], index: tuple[int, ...] | None = None
    ) -> list[np.ndarray]:
        """The flat central differences of some results, of an input that moves along a direction in memory, which
        changes the element at `index` alone if that is given."""
        eps, memory = self.options["eps"], refresh(x)._fx_value
        before = memory.copy()

        def results_at(step: float) -> list[tuple[Any, Any, np.ndarray]]:
            memory[...] = before + step * direction
            results = self.results()
            chosen = [results[i] for i in places]
            return [(y.shape, y.dtype, as_array(y).reshape(-1)) for y in chosen]

        try:
            found = {step: results_at(step) for step in (-eps, eps)}
        finally:
            memory[...] = before
        where = "" if index is None else f"on index {index} "
        for behind, ahead in zip(found[-eps], found[eps]):
            for what, a, b in zip(("shape", "dtype"), behind, ahead):
                if a != b:
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by "
                        f"{eps}, but got: {what}s {a} and {b}."
                    )
        with np.errstate(all="ignore"):
            return finite_differences.central_differences(
                lambda step: [array for _, _, array in found[step]], eps
            )

    def numerical_jacobians(
        self, places: Sequence[int], x: Tensor
    ) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """The numerical Jacobians of some results, by the real and by the imaginary parts of an input."""
        real, imaginary = [], []
        for index, step in zip(np.ndindex(x.shape), unit_arrays(x)):
            real.append(self.central_differences(x, step, places, index))
            if x.dtype.is_complex:
                imaginary.append(self.central_differences(x, 1j * step, places, index))
        return [
            (stack_entries(real, k), stack_entries(imaginary, k) if x.dtype.is_complex else None)
            for k in range(len(places))
        ]

    def draw(self, tensor: Tensor) -> np.ndarray:
        """Random numbers like a Tensor."""
        return finite_differences.random_like(self.random, refresh(tensor)._fx_value)[0]

    def is_close(self, analytical, numerical, slack: float = 1.0) -> bool:
        """Whether two Jacobians, or two products with them, are close enough. NaN is close to nothing."""
        atol, rtol = self.options["atol"] * slack, self.options["rtol"]
        return not np.size(analytical) or bool(np.allclose(analytical, numerical, rtol, atol))

    def vjp_arrays(self, index: int, weight: np.ndarray) -> list[np.ndarray]:
        """The gradients of the inputs for a gradient of one output; missing gradients are zeros."""
        output = self.outputs[index]
        found = grad(output, self.inputs, tensor_like(weight, output), retain_graph=True, allow_unused=True)
        return [
            np.zeros(x.shape) if g is None else self.gradient_array(g, x) for g, x in zip(found, self.inputs)
        ]

    def gradient_array(self, gradient: Tensor, x: Tensor) -> np.ndarray:
        """Convert a gradient to an array, or raise unless it has the dtype and the shape of its input."""
        if self.options["check_grad_dtypes"] and gradient.dtype is not x.dtype:
            raise GradcheckError(
                "Gradient has dtype mismatch",
                hint=f"the gradient has dtype {gradient.dtype}, the input {x.dtype}: cast it in backward with "
                ".to(x.dtype)",
            )
        if gradient.shape != x.shape:
            raise GradcheckError(
                "Analytical gradient has incorrect size",
                hint=f"the gradient has shape {list(gradient.shape)}, the input {list(x.shape)}: sum it in "
                "backward over what was broadcast",
            )
        return as_array(gradient)

    def jvp(self, tangents: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        """The tangents of the differentiable outputs for tangents of the inputs; None for an input that is not dual.
        The inputs require no gradient during the call."""
        with dual_level():
            args = list(self.args)
            for i, x, t in zip(self.positions, self.inputs, tangents):
                args[i] = x.detach() if t is None else make_dual(x.detach(), t)
            results = self.results(args)
            pairs = [unpack_dual(results[i]) for i in self.places]
            return tuple([zeros_like(p) if t is None else t for p, t in pairs])

    def tangents(self, given: dict[int, np.ndarray]) -> list[Tensor]:
        """A tangent for every input: some that are given, by position, and zeros."""
        return [tensor_like(given.get(i, np.zeros(x.shape)), x) for i, x in enumerate(self.inputs)]

    def jvp_arrays(self, tangents: Sequence[Tensor | None]) -> list[np.ndarray]:
        """The same as flat arrays."""
        return [as_array(t).reshape(-1) for t in self.jvp(tangents)]


def as_array(tensor: Tensor) -> np.ndarray:
    """A copy of the entries of a Tensor, in double precision."""
    return finite_differences.to_host_array(refresh(tensor)._fx_value)


def tensor_like(array: np.ndarray, tensor: Tensor) -> Tensor:
    """Convert an array to a Tensor of the shape and dtype of another."""
    array = np.asarray(array).reshape(tensor.shape)
    return from_numpy(array.astype(refresh(tensor)._fx_value.dtype))


def unit_arrays(x: Tensor) -> np.ndarray:
    """For every element an array that is 1 there and 0 elsewhere."""
    return unit_vectors([Aval(x.shape, np.dtype(float))])[0]


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
