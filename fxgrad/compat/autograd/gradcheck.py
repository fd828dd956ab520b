"""gradcheck and gradgradcheck: derivatives compared with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...extend import CURRENT, ConcretizationError, finite_differences, use_context
from .._core.modes import with_modes
from .._core.tensor import Tensor, refresh
from .._declare.generated import entry_point
from .._make.creation import from_numpy
from .._read.printing import array_text
from ..errors import GradcheckError
from ..func.vectorize import vmap
from ..ops.joining import stack
from .differences import (
    Problem,
    as_array,
    combine_parts,
    complex_part,
    stack_entries,
    tensor_like,
    unit_arrays,
)
from .function_node import BackwardCFunction
from .gradients import grad

# -- messages ------------------------------------------
REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}."
)
UNDEFINED = {
    "refused": "Expected backward function to handle undefined output grads.",
    "nonzero": "Expected all input grads to be undefined or zero when all output grads are undefined or zero.",
}
UNDEFINED_NOTE = (
    " With set_materialize_grads(False) an output without gradient has None, which stands for zeros."
)
BATCHED = {
    "backward": "gradcheck or gradgradcheck failed while testing batched gradient computation.",
    "forward": "gradcheck failed while testing batched gradient computation with forward-mode AD.",
}
PARTS = {"real": "real", "imag": "imaginary"}
UNITS = {"real": 1, "imag": 1j}  # the gradient of an output by which its part is differentiated


def jacobian_mismatch(
    analytical, numerical, output: int, input: int, mode: str, part: str, note: str = ""
) -> GradcheckError:
    """Return the error for two Jacobians, or products with them, that are not close; `part` is that of a complex
    Tensor."""
    what = "Jacobian computed with forward mode mismatch" if mode == "forward" else "Jacobian mismatch"
    if part:
        whose = "inputs" if mode == "forward" else "outputs"
        what = f"While considering the {PARTS[part]} part of complex {whose} only, {what}"
    return GradcheckError(
        f"{what} for output {output} with respect to input {input},\nnumerical:{array_text(np.asarray(numerical))}\n"
        f"analytical:{array_text(np.asarray(analytical))}\n{note}",
        hint="the numerical one is right for inputs of torch.float64, away from kinks: compare backward with it",
    )


def batched_mismatch(
    output: int, input: int, mode: str, found: np.ndarray, expected: np.ndarray
) -> GradcheckError:
    """Return the error for a batch of derivatives that differs from the single derivatives."""
    return GradcheckError(
        f"For output {output} and input {input}:\n\n{BATCHED[mode]}\n\nGot:\n{found}\n\nExpected:\n{expected}"
    )


def batched_error(error: Exception, mode: str) -> GradcheckError:
    """The error for derivatives that cannot be computed in a batch."""
    return GradcheckError(f"While computing batched gradients, got: {error}\n\n{BATCHED[mode]}")


# -- the checks ------------------------------------------
def parts_to_check(tensors: Sequence[Tensor]) -> list[tuple[str, list[int]]]:
    """List pairs of a part and the Tensors that have it; the imaginary parts of complex Tensors come first."""
    chosen = [i for i, t in enumerate(tensors) if t.dtype.is_complex]
    everything = list(range(len(tensors)))
    return [("imag", chosen), ("real", everything)] if chosen else [("real", everything)]


def part_of(tensor: Tensor, part: str) -> str:
    """The part of a Tensor as text for messages; empty for a real Tensor."""
    return part if tensor.dtype.is_complex else ""


def check_constant(problem: Problem) -> None:
    """Check a function without differentiable outputs: nothing may change."""
    for x in problem.inputs:
        for real, imaginary in problem.numerical_jacobians(problem.floating, x):
            if real.any() or (imaginary is not None and imaginary.any()):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero",
                    hint="the output depends on the inputs, and no gradient says so: is it detached, or its "
                    "requires_grad False?",
                )


def backward_jacobian(problem: Problem, index: int, unit) -> list[np.ndarray]:
    """The Jacobians of one output by all inputs, or of its imaginary part (unit=1j)."""
    steps = unit_arrays(problem.outputs[index])
    columns = [problem.vjp_arrays(index, unit * step) for step in steps]
    return [
        np.array([column[j] for column in columns]).reshape(len(columns), x.shape.numel()).T
        for j, x in enumerate(problem.inputs)
    ]


def compute_twice(problem: Problem, compute: Callable[..., list[np.ndarray]], *args) -> list[np.ndarray]:
    """Compute gradients twice, and raise if they differ."""
    first, second = (compute(*args) for _ in range(2))
    tolerance = problem.options["nondet_tol"]
    with np.errstate(all="ignore"):
        differ = any(a.size and np.abs(a - b).max() > tolerance for a, b in zip(first, second))
    if differ:
        raise GradcheckError(
            REENTRANT.format(tolerance),
            hint="nondet_tol=1e-6, for sums in an order that changes; or seed what draws",
        )
    return first


def check_backward(problem: Problem) -> None:
    """Compare all entries of all Jacobians by reverse mode."""
    numerical = [problem.numerical_jacobians(problem.places, x) for x in problem.inputs]
    for part, chosen in parts_to_check(problem.outputs):
        for i in chosen:
            found = compute_twice(problem, backward_jacobian, problem, i, UNITS[part])
            for j, analytical in enumerate(found):
                expected = combine_parts(numerical[j][i], part)
                if not problem.is_close(analytical, expected):
                    name = part_of(problem.outputs[i], part)
                    raise jacobian_mismatch(analytical, expected, i, j, "backward", name)


def check_forward(problem: Problem) -> None:
    """Compare all entries of all Jacobians by forward mode."""
    for part, chosen in parts_to_check(problem.inputs):
        for j in chosen:
            x = problem.inputs[j]
            numerical = problem.numerical_jacobians(problem.places, x)
            steps = [problem.tangents({j: UNITS[part] * step}) for step in unit_arrays(x)]
            rows = [problem.jvp_arrays(tangents) for tangents in steps]
            for i, derivatives in enumerate(numerical):
                expected, analytical = derivatives[part == "imag"], stack_entries(rows, i)
                if not problem.is_close(analytical, expected):
                    raise jacobian_mismatch(analytical, expected, i, j, "forward", part_of(x, part))


def unit_direction(problem: Problem, x: Tensor) -> np.ndarray:
    """A random direction of length 1."""
    found = problem.draw(x)
    return found / max(float(np.linalg.norm(found)), 1e-30)


def check_backward_fast(problem: Problem) -> None:
    """Compare one number for every output and input: the derivative of a random combination of an output's elements
    along a random direction of the input."""
    directions = [unit_direction(problem, x) for x in problem.inputs]
    numerical = [
        problem.central_differences(x, u, problem.places) for x, u in zip(problem.inputs, directions)
    ]
    for part, chosen in parts_to_check(problem.outputs):
        for i in chosen:
            weight = problem.random.standard_normal(problem.outputs[i].shape)
            found = compute_twice(problem, problem.vjp_arrays, i, UNITS[part] * weight)
            for j, u in enumerate(directions):
                analytical = float(np.real(np.vdot(found[j], u)))
                expected = float(weight.reshape(-1) @ complex_part(numerical[j][i], part))
                slack = float(np.abs(u).sum() * np.abs(weight).sum())
                if not problem.is_close(analytical, expected, slack):
                    note, name = slow_mode_note(problem, i, j, part), part_of(problem.outputs[i], part)
                    raise jacobian_mismatch(analytical, expected, i, j, "backward", name, note)


def check_forward_fast(problem: Problem) -> None:
    """Compare the derivatives along one random direction of every input."""
    for part, chosen in parts_to_check(problem.inputs):
        for j in chosen:
            x = problem.inputs[j]
            u = UNITS[part] * complex_part(unit_direction(problem, x), part)
            numerical = problem.central_differences(x, u, problem.places)
            for i, analytical in enumerate(problem.jvp_arrays(problem.tangents({j: u}))):
                if not problem.is_close(analytical, numerical[i], float(np.abs(u).sum())):
                    raise jacobian_mismatch(analytical, numerical[i], i, j, "forward", part_of(x, part))


def slow_mode_note(problem: Problem, i: int, j: int, part: str) -> str:
    """Write out the whole Jacobians, where products with them did not agree."""
    expected = combine_parts(problem.numerical_jacobians(problem.places, problem.inputs[j])[i], part)
    analytical = backward_jacobian(problem, i, UNITS[part])[j]
    return (
        "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. Below, "
        "numerical and analytical jacobians are recomputed in slow mode:\n\n"
        f"Numerical:\n {expected}\nAnalytical:\n{analytical}\n\n"
        f"The max per-element difference (slow mode) is: {np.abs(expected - analytical).max()}.\n"
    )


def check_linear(problem: Problem) -> None:
    """Check that backward of zeros gives zeros."""
    zeros = [np.zeros(y.shape) for y in problem.outputs]
    found = joint_gradients(problem, range(len(zeros)), zeros)
    slack = 1e-8 if problem.options["masked"] else 0.0
    if any(g is not None and (np.abs(as_array(g)) > slack).any() for g in found):
        raise GradcheckError(
            "backward not multiplied by grad_output",
            hint="backward returns its gradient argument times the derivative: gradient * f'(x)",
        )


def check_undefined(problem: Problem) -> None:
    """Check that missing gradients of outputs count as zero: all in the user's own Nodes, one of several in the
    graph."""
    for node in function_nodes(problem.outputs):
        check_zero(lambda node=node: node(*[None] * node.num_results))
    count = len(problem.outputs)
    zeros = [np.zeros(y.shape) for y in problem.outputs]
    for left_out in range(count if count > 1 else 0):
        chosen = [i for i in range(count) if i != left_out]
        check_zero(lambda chosen=chosen: joint_gradients(problem, chosen, zeros))


def undefined_error(kind: str) -> GradcheckError:
    """Return the error for a `backward` that does not accept None."""
    return GradcheckError(
        UNDEFINED[kind] + UNDEFINED_NOTE,
        hint="in backward: if gradient is None: return None; or check_undefined_grad=False",
    )


def check_zero(compute: Callable[[], Any]) -> None:
    """Raise unless all gradients that are computed are undefined or zero."""
    try:
        found = compute()
    except RuntimeError as error:
        raise undefined_error("refused") from error
    for gradient in found if isinstance(found, tuple) else (found,):
        if gradient is not None and as_array(gradient).any():
            raise undefined_error("nonzero")


def function_nodes(outputs: Sequence[Tensor]) -> list[BackwardCFunction]:
    """The Nodes of Functions in the history of some Tensors."""
    found = list(dict.fromkeys(y.grad_fn for y in outputs))
    seen = set(found)
    for node in found:  # which grows
        parents = [parent for parent, _ in node.next_functions] if node is not None else []
        found.extend(parent for parent in parents if parent not in seen)
        seen.update(parents)
    return [node for node in found if isinstance(node, BackwardCFunction)]


def joint_gradients(problem: Problem, chosen, weights: Sequence[np.ndarray]) -> tuple[Tensor | None, ...]:
    """The gradients of the inputs for gradients of several outputs."""
    return grad(
        [problem.outputs[i] for i in chosen],
        problem.inputs,
        [tensor_like(weights[i], problem.outputs[i]) for i in chosen],
        retain_graph=True,
        allow_unused=True,
    )


def check_undefined_forward(problem: Problem) -> None:
    """Check that a missing tangent of an input counts as zero."""
    drawn = problem.tangents({i: problem.draw(x) for i, x in enumerate(problem.inputs)})
    for i, zero in enumerate(problem.tangents({})):
        with_zero, without = (problem.jvp([*drawn[:i], t, *drawn[i + 1 :]]) for t in (zero, None))
        for k, (a, b) in enumerate(zip(with_zero, without)):
            if not np.allclose(as_array(a), as_array(b)):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {k} when input: {problem.inputs[i]} has an "
                    f"undefined tangent value. Got: {b} but expected: {a}",
                    hint="in jvp, a tangent that is None counts as zeros",
                )


def check_batched_backward(problem: Problem) -> None:
    """Check that a batch of gradients gives the batch of single results."""
    for i, output in enumerate(problem.outputs):
        weights = [problem.draw(output) for _ in range(2)]
        expected = [problem.vjp_arrays(i, w) for w in weights]
        batch = stack([tensor_like(w, output) for w in weights])
        try:
            found = grad(
                output, problem.inputs, batch, retain_graph=True, allow_unused=True, is_grads_batched=True
            )
        except (RuntimeError, ConcretizationError) as error:
            raise batched_error(error, "backward") from error
        for j, g in enumerate(found):
            one_by_one = np.array([e[j] for e in expected])
            if g is not None and not np.allclose(as_array(g), one_by_one):
                raise batched_mismatch(i, j, "backward", as_array(g), one_by_one)


def check_batched_forward(problem: Problem) -> None:
    """Check that a batch of tangents gives the batch of single results."""
    for j, x in enumerate(problem.inputs):
        drawn = [tensor_like(problem.draw(x), x) for _ in range(2)]

        def push(t: Tensor, j: int = j) -> tuple[Tensor, ...]:
            return problem.jvp([t if i == j else None for i in range(len(problem.inputs))])

        expected = [push(t) for t in drawn]
        try:
            found = vmap(push)(stack(drawn))
        except (RuntimeError, ConcretizationError) as error:
            raise batched_error(error, "forward") from error
        for i, batch in enumerate(found):
            one_by_one = np.array([as_array(e[i]) for e in expected])
            if not np.allclose(as_array(batch), one_by_one):
                raise batched_mismatch(i, j, "forward", as_array(batch), one_by_one)


def run_checks(func: Callable[..., Any], inputs, options: dict[str, Any]) -> bool:
    """Run all requested checks in torch's order; a check that fails raises."""
    with use_context(with_modes(CURRENT.get(), grad=True)):
        problem = Problem(func, inputs, options)
        if not problem.outputs:
            check_constant(problem)
            return True
        fast = options["fast_mode"]
        chosen = {
            check_backward_fast if fast else check_backward: options["check_backward_ad"],
            check_forward_fast if fast else check_forward: options["check_forward_ad"],
            check_undefined_forward: options["check_forward_ad"] and options["check_undefined_grad"],
            check_batched_forward: options["check_batched_forward_grad"],
            check_batched_backward: options["check_batched_grad"],
            check_linear: options["check_backward_ad"],
            check_undefined: options["check_backward_ad"] and options["check_undefined_grad"],
        }
        for run, wanted in chosen.items():
            if wanted:
                run(problem)
        return True


@entry_point
def gradcheck(
    func: Callable[..., Any],
    inputs,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of a function of Tensors with central differences.

    Args:
        func: takes the inputs and returns a Tensor or a sequence of Tensors. In forward mode the inputs are duals that
            require no gradient.
        inputs: a Tensor or a sequence; those that require a gradient are checked, and perturbed in place meanwhile.
            They ought to be of double precision.
        eps: the step of the differences.
        atol, rtol: tolerances of the comparison.
        raise_exception: raise where the check fails, instead of returning False.
        nondet_tol: by how much the results of running backward twice may differ.
        check_undefined_grad: outputs without gradient (inputs without tangent) count as zeros.
        check_grad_dtypes: gradients have the dtypes of their inputs.
        check_batched_grad, check_batched_forward_grad: backward, forward mode work under vmap.
        check_forward_ad, check_backward_ad: the modes to be checked.
        fast_mode: compare the derivatives along a random direction only.
        masked: gradients of zeros need only be close to zero. It is meant for sparse Tensors, of which there are none.

    Raises:
        GradcheckError: the check failed.
        ValueError: no input requires a gradient.
        AssertionError: options that contradict each other; outputs whose shape or dtype depends on values.

    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,), check_forward_ad=True)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    options = {name: value for name, value in locals().items() if name not in ("func", "inputs")}
    try:
        return run_checks(func, inputs, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False


@entry_point
def gradgradcheck(
    func: Callable[..., Any],
    inputs,
    grad_outputs=None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients of a function, by the inputs and by `grad_outputs`.

    Args are those of `gradcheck`, and
        grad_outputs: gradients of the outputs; random ones unless they are given.
        gen_non_contig_grad_outputs: the random ones are not contiguous.
        check_fwd_over_rev, check_rev_over_rev: the modes by which gradients are differentiated.

    Args:
        func: takes and returns Tensors.
        eps: the step of finite differences.
        atol: the absolute tolerance.
        rtol: the relative tolerance.
        raise_exception: whether to raise where they differ, or return False.
        nondet_tol: how much two calls of backward may differ.
        check_undefined_grad: whether to see that undefined gradients are taken for zeros.
        check_grad_dtypes: whether gradients must have the dtypes of the inputs.
        check_batched_grad: whether gradients are computed in batches as well, by `vmap`.
        fast_mode: whether to compare one number for each output and input in the place of all entries.
        masked: whether sparse gradients are compared at their places only.

    Returns:
        True, or False where they differ and `raise_exception` is off.

    Raises:
        AssertionError: both ways of second derivatives are off, or reverse over reverse is, by which
            `check_undefined_grad` and `check_batched_grad` go.

    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, wanted in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    args = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    places = [i for i, x in enumerate(args) if isinstance(x, Tensor) and x.requires_grad]
    if grad_outputs is None:
        weights = random_weights(differentiable_results(func, args), gen_non_contig_grad_outputs)
    else:
        weights = tuple(grad_outputs) if isinstance(grad_outputs, tuple | list) else (grad_outputs,)

    def gradient(*given) -> tuple[Tensor, ...]:
        inner = given[: len(args)]
        sources = [inner[i].requires_grad_() for i in places]  # in forward mode they come without
        found = grad(
            differentiable_results(func, inner),
            sources,
            given[len(args) :],
            create_graph=True,
            allow_unused=True,
        )
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradient,
        args + weights,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def differentiable_results(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    """The results of a function that require a gradient."""
    found = func(*args)
    return [y for y in (found if isinstance(found, tuple | list) else [found]) if y.requires_grad]


def random_weights(outputs: Sequence[Tensor], scattered: bool) -> tuple[Tensor, ...]:
    """Random gradients of the outputs, which may be differentiated in turn; with `scattered` every other element of a
    larger memory."""
    random = np.random.default_rng(0)
    drawn = [
        finite_differences.random_like(random, np.empty((*y.shape, 2), refresh(y)._fx_value.dtype))[0][..., 0]
        for y in outputs
    ]
    return tuple([from_numpy(w if scattered else w.copy()).requires_grad_() for w in drawn])


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
