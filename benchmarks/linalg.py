"""What value and gradient of functions of matrices cost beside torch, for matrices of order 30 and 300.

Decides whether a matrix is factored as often as it has to be, and by the routine that LAPACK has for its kind. The aim:
torch's time at order 300, twice that at order 30.
"""

import measure  # isort: skip  (it sets the number of threads)

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import fxgrad as fx
import fxgrad.compat
import fxgrad.numpy as fnp

PROGRAMS: dict[str, tuple[Callable, Callable]] = {
    # of fxgrad.numpy, and of torch: a matrix a, a positive definite one s, vectors b
    "solve": (
        lambda np, a, s, b: np.sum(np.linalg.solve(a, b)),
        lambda torch, a, s, b: torch.linalg.solve(a, b).sum(),
    ),
    "solve a triangle": (
        lambda np, a, s, b: np.sum(np.linalg.solve(np.tril(a), b)),
        lambda torch, a, s, b: torch.linalg.solve_triangular(a, b, upper=False).sum(),
    ),
    "inv": (
        lambda np, a, s, b: np.sum(np.linalg.inv(a)),
        lambda torch, a, s, b: torch.linalg.inv(a).sum(),
    ),
    "det": (lambda np, a, s, b: np.linalg.det(a), lambda torch, a, s, b: torch.linalg.det(a)),
    "slogdet": (
        lambda np, a, s, b: np.linalg.slogdet(a)[1],
        lambda torch, a, s, b: torch.linalg.slogdet(a)[1],
    ),
    "cholesky": (
        lambda np, a, s, b: np.sum(np.linalg.cholesky(s)),
        lambda torch, a, s, b: torch.linalg.cholesky(s).sum(),
    ),
    "normal density": (
        lambda np, a, s, b: np.sum(b * np.linalg.solve(s, b)) + np.linalg.slogdet(s)[1],
        lambda torch, a, s, b: (b * torch.linalg.solve(s, b)).sum() + torch.linalg.slogdet(s)[1],
    ),
    "lstsq": (
        lambda np, a, s, b: np.sum(np.linalg.lstsq(a, b)[0]),
        lambda torch, a, s, b: torch.linalg.lstsq(a, b).solution.sum(),
    ),
    "qr": (
        lambda np, a, s, b: np.sum(np.linalg.qr(a)[1]),
        lambda torch, a, s, b: torch.linalg.qr(a)[1].sum(),
    ),
    "eigvalsh": (
        lambda np, a, s, b: np.sum(np.linalg.eigvalsh(s) ** 2),
        lambda torch, a, s, b: (torch.linalg.eigvalsh(s) ** 2).sum(),
    ),
}


def on_tape(torch: Any, program: Callable, *data: np.ndarray) -> Callable[[], Any]:
    """Return the gradients of a program written in torch's names."""
    tensors = [torch.tensor(x, requires_grad=True) for x in data]

    def run() -> Any:
        found = torch.autograd.grad(program(torch, *tensors), tensors, allow_unused=True)
        return [np.zeros(x.shape) if g is None else g.numpy() for g, x in zip(found, data)]

    return run


def main() -> None:
    import torch

    torch.set_num_threads(1)
    rng, only = np.random.default_rng(0), sys.argv[1:]
    for n in (30, 300):
        a = rng.standard_normal((n, n)) / np.sqrt(n) + 3 * np.eye(n)
        data = a / 3, a @ a.T, rng.standard_normal((n, 4))
        for name, (program, torch_program) in PROGRAMS.items():
            if only and name not in only:
                continue
            contenders = {
                "fxgrad": lambda program=program, data=data: fx.grad(
                    lambda *xs, program=program: program(fnp, *xs), (0, 1, 2)
                )(*data),
                "fxgrad.compat": on_tape(fxgrad.compat, torch_program, *data),
                "torch": on_tape(torch, torch_program, *data),
            }
            expected = contenders["torch"]()
            for run in contenders.values():
                for x, y in zip(run(), expected):
                    np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6 * np.max(np.abs(y), initial=1e-9))
            print(f"{name}, order {n}")
            measure.report(measure.medians(contenders, rounds=11), "torch")


if __name__ == "__main__":
    main()
