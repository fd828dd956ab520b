"""What the parity tests compare: results, the gradients of a number made of them, and how a call fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Rounding errors of the dtypes in which results are compared, relative and absolute.
ROUNDING = {
    "torch.float16": 2e-3,
    "torch.bfloat16": 2e-2,
    "torch.float32": 2e-5,
    "torch.complex64": 2e-5,
}
# Classes by which torch's errors are caught; the first that fits is the class of an error.
ERRORS = (NotImplementedError, RuntimeError, IndexError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, eq=False)
class Entries:
    """What is in a Tensor, whichever library it is of: bfloat16 as single precision."""

    dtype: str
    values: np.ndarray


def is_tensor(result) -> bool:
    """Whether it is a Tensor of either library, or what was in one."""
    return isinstance(result, Entries) or hasattr(result, "grad_fn")


def flat(results) -> list:
    """The Tensors among (nested) results."""
    if is_tensor(results):
        return [results]
    if isinstance(results, tuple | list):
        return [r for part in results for r in flat(part)]
    return []


def as_numpy(tensor) -> np.ndarray:
    """The entries of a Tensor of either library."""
    if isinstance(tensor, Entries):
        return tensor.values
    tensor = tensor.detach().resolve_conj().resolve_neg()
    tensor = tensor.where(tensor.new_ones(()) != 0, tensor)  # torch's zeros may have no memory
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


def entries(tensor) -> Entries:
    """What is in a Tensor of either library."""
    return tensor if isinstance(tensor, Entries) else Entries(str(tensor.dtype), as_numpy(tensor))


def check_same(ours, theirs, tol: float) -> None:
    """Equal structure, dtype, shape and values."""
    ours, theirs = ([entries(r) for r in flat(results)] for results in (ours, theirs))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype
        assert a.values.shape == b.values.shape
        tolerance = max(tol, ROUNDING.get(b.dtype, 0.0))
        np.testing.assert_allclose(a.values, b.values, rtol=tolerance, atol=tolerance)


def check_close(ours, theirs, tol: float) -> None:
    """Equal values of gradients, where None, as not connected, is as good as zeros."""
    for a, b in zip(ours, theirs, strict=True):
        if a is None or b is None:
            given = a if b is None else b
            assert given is None or (np.abs(as_numpy(given)) <= tol).all()
        else:
            check_same(a, b, tol)


def outcome(run):
    """(results, None), or (None, class) of the error that running it raises."""
    try:
        return run(), None
    except ERRORS as error:
        return None, next(cls for cls in ERRORS if isinstance(error, cls))


def attempt(run):
    """What running it gives, or the name of the class of the error that it raises."""
    results, error = outcome(run)
    return results if error is None else error.__name__


def from_numpy(array: np.ndarray, dtype, library):
    """A Tensor of these entries in a dtype of the library."""
    name = str(dtype).removeprefix("torch.")
    if name == "bfloat16":
        return library.from_numpy(array).to(dtype)
    return library.from_numpy(np.asarray(array, name))


def weights(shape: tuple[int, ...], k: int) -> np.ndarray:
    """Numbers by which to tell the entries of the k-th result apart."""
    return np.asarray(np.cos(np.arange(int(np.prod(shape))) * (0.7 + 0.1 * k) + 0.3)).reshape(shape)


def weighted(results, library, of=weights):
    """A number that depends on every differentiable entry in its own way, or None."""
    total = None
    for k, r in enumerate(flat(results)):
        if not r.requires_grad:
            continue
        term = (r * from_numpy(of(tuple(r.shape), k), r.dtype, library)).sum()
        if term.is_complex():
            term = term.real + 0.5 * term.imag
        total = term if total is None else total + term
    return total


def leaves_of(case, library) -> list:
    """The Tensors of a case, those that take a gradient requiring one."""
    tensors = case.tensors(library)
    for spec, t in zip(case.specs, tensors):
        if spec.grad:
            t.requires_grad_()
    return tensors


def gradients(case, library, order: int) -> list | None:
    """The first or second derivatives of a weighted sum of the results; None where there are none."""
    tensors = leaves_of(case, library)
    leaves = [t for t in tensors if t.requires_grad]
    total = weighted(case.call(library, tensors), library)
    if total is None:
        return None
    grads = library.autograd.grad(total, leaves, create_graph=order == 2, allow_unused=True)
    if order == 1:
        return list(grads)
    total = weighted([g for g in grads if g is not None], library)
    return None if total is None else list(library.autograd.grad(total, leaves, allow_unused=True))
