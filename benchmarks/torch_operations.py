"""Heavy operations of fxgrad.compat on medium and large arrays against torch eager: forward, and backward with a given
cotangent.

Decides where kernels work block by block, what is kept for the backward pass, and which arrays are written twice. The
aim: nothing takes twice torch's time, most take about the same. Arguments select operations by a part of their name.
"""

import measure  # isort: skip  (it sets the number of threads)

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import fxgrad.compat

F = "nn.functional."
CLASSES = np.random.default_rng(5).integers(0, 1000, 256)
TOKENS = np.random.default_rng(6).integers(0, 10000, 4096)
PLACES = np.random.default_rng(7).integers(0, 100_000, 100_000)
STATISTICS = {"running_mean": np.zeros(32, "f4"), "running_var": np.ones(32, "f4"), "training": True}


class Case(NamedTuple):
    """A function of `torch`, differentiable operands and the others, and the shapes of the former."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    others: tuple[Any, ...] = ()


def named(name: str, *shapes: tuple[int, ...], **options: Any) -> Case:
    """A function of torch by its name; options that are arrays become Tensors."""

    def function(torch: Any, *operands: Any) -> Any:
        found = torch
        for part in name.split("."):
            found = getattr(found, part)
        given = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        return found(*operands, **given)

    return Case(function, shapes)


def written(torch: Any, x: Any, v: Any, index: Any) -> Any:
    """A copy with rows replaced."""
    y = x.clone()
    y[index] = v
    return y


MILLION, SQUARE, VECTOR = (1_000_000,), (1000, 1000), (100_000,)
ROWS = np.random.default_rng(8).permutation(1000)[:500]
EIGHT = ((256, 256),) * 8
CASES = {
    "layer_norm (64,128,256)": Case(
        lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (256,), w, b),
        ((64, 128, 256), (256,), (256,)),
    ),
    "batch_norm (64,32,16,16)": named(F + "batch_norm", (64, 32, 16, 16), **STATISTICS),
    "batch_norm with weight": Case(
        lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, training=True),
        ((64, 32, 16, 16), (32,), (32,)),
    ),
    "softmax (256,1000)": named("softmax", (256, 1000), dim=1),
    "log_softmax (256,1000)": named("log_softmax", (256, 1000), dim=1),
    "cross_entropy (256,1000)": named(F + "cross_entropy", (256, 1000), target=CLASSES),
    "gelu": named(F + "gelu", MILLION),
    "gelu, tanh": named(F + "gelu", MILLION, approximate="tanh"),
    "silu": named(F + "silu", MILLION),
    "sigmoid": named("sigmoid", MILLION),
    "relu": named("relu", MILLION),
    "tanh": named("tanh", MILLION),
    "dropout": Case(lambda torch, x: torch.nn.functional.dropout(x, 0.3) * 0, (MILLION,)),
    "conv2d 3→16, 32×32": named(F + "conv2d", (32, 3, 32, 32), (16, 3, 3, 3), (16,), padding=1),
    "conv2d 32→32, 16×16": named(F + "conv2d", (16, 32, 16, 16), (32, 32, 3, 3), (32,), padding=1),
    "max_pool2d": named(F + "max_pool2d", (32, 16, 32, 32), kernel_size=2),
    "avg_pool2d": named(F + "avg_pool2d", (32, 16, 32, 32), kernel_size=2),
    "embedding 10000×64, 4096": Case(
        lambda torch, w, i: torch.nn.functional.embedding(i, w), ((10000, 64),), (TOKENS,)
    ),
    "attention (8,4,64,32)": named(F + "scaled_dot_product_attention", *((8, 4, 64, 32),) * 3),
    "linear (256,784)→512": named(F + "linear", (256, 784), (512, 784), (512,)),
    "matmul + bias": Case(lambda torch, x, w, b: x @ w + b, ((256, 784), (784, 512), (512,))),
    "sum": named("sum", SQUARE),
    "sum(1)": named("sum", SQUARE, dim=1),
    "sum(0)": named("sum", SQUARE, dim=0),
    "mean(1)": named("mean", SQUARE, dim=1),
    "var(1)": named("var", SQUARE, dim=1),
    "var": named("var", SQUARE),
    "amax(1)": named("amax", SQUARE, dim=1),
    "max(1)": Case(lambda torch, x: torch.max(x, 1).values, (SQUARE,)),
    "cumsum(1)": named("cumsum", SQUARE, dim=1),
    "cumsum(0)": named("cumsum", SQUARE, dim=0),
    "sort(1)": Case(lambda torch, x: torch.sort(x, dim=1, stable=True).values, (SQUARE,)),
    "index_select 1e5": named("index_select", VECTOR, dim=0, index=PLACES),
    "gather 1e5": named("gather", VECTOR, dim=0, index=PLACES),
    "scatter_add 1e5": Case(lambda torch, x, v, i: x.scatter_add(0, i, v), (VECTOR, VECTOR), (PLACES,)),
    "cat of 8": Case(lambda torch, *x: torch.cat(x), EIGHT),
    "cat of 8, dim 1": Case(lambda torch, *x: torch.cat(x, 1), EIGHT),
    "stack of 8": Case(lambda torch, *x: torch.stack(x), EIGHT),
    "x[idx] (1000,1000), 500": Case(lambda torch, x, i: x[i], (SQUARE,), (ROWS,)),
    "x[idx] = v": Case(written, (SQUARE, (500, 1000)), (ROWS,)),
    "x[:500] = v": Case(lambda torch, x, v: written(torch, x, v, slice(0, 500)), (SQUARE, (500, 1000))),
    "clone": Case(lambda torch, x: x.clone(), (SQUARE,)),
    "copy_": Case(lambda torch, x: torch.empty(1000, 1000).copy_(x), (SQUARE,)),
    "add_": Case(lambda torch, x, y: x.clone().add_(y), (SQUARE, SQUARE)),
    "mul_": Case(lambda torch, x, y: x.clone().mul_(y), (SQUARE, SQUARE)),
    "exp_": Case(lambda torch, x: x.clone().exp_(), (SQUARE,)),
    "where": Case(lambda torch, x, y: torch.where(x > y, x, y), (SQUARE, SQUARE)),
    "clamp": named("clamp", SQUARE, min=-1.0, max=1.0),
}


def differentiated(torch: Any, case: Case) -> Callable[[], list[np.ndarray]]:
    """Forward and backward: the value and the gradients."""
    rng = np.random.default_rng(0)
    leaves = [
        torch.from_numpy(rng.standard_normal(shape).astype("float32")).requires_grad_()
        for shape in case.shapes
    ]
    others = [torch.from_numpy(v) for v in case.others]
    y = case.function(torch, *leaves, *others)
    ct = torch.from_numpy(rng.standard_normal(tuple(y.shape)).astype("float32"))

    def run() -> list[np.ndarray]:
        for leaf in leaves:
            leaf.grad = None
        y = case.function(torch, *leaves, *others)
        y.backward(ct)
        return [y.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)]

    return run


def stepping(torch: Any, optimizer: str, **options: Any) -> Callable[[], list[np.ndarray]]:
    """A step of an optimizer on a million numbers."""
    rng = np.random.default_rng(0)
    w = torch.from_numpy(rng.standard_normal(MILLION).astype("float32")).requires_grad_()
    w.grad = torch.from_numpy(rng.standard_normal(MILLION).astype("float32"))
    made = getattr(torch.optim, optimizer)([w], **options)

    def run() -> list[np.ndarray]:
        made.step()
        return [w.detach().numpy()]

    return run


STEPS = {
    "Adam step": ("Adam", {}),
    "AdamW step": ("AdamW", {}),
    "SGD step": ("SGD", {"momentum": 0.9}),
    "RMSprop step": ("RMSprop", {}),
}


def main() -> None:
    libraries = {"fxgrad.compat": fxgrad.compat, **measure.peers("torch")}
    programs: dict[str, Any] = {name: (differentiated, (case,), {}) for name, case in CASES.items()}
    programs |= {name: (stepping, (optimizer,), options) for name, (optimizer, options) in STEPS.items()}
    print("forward and backward: ms of fxgrad.compat, of torch, and the ratio")
    for name, (program, args, options) in programs.items():
        if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
            continue
        runs = {library: program(module, *args, **options) for library, module in libraries.items()}
        values = [run() for run in runs.values()]
        for value in values[1:]:
            for ours, theirs in zip(values[0], value):
                np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * max(1, np.abs(ours).max()))
        trial = max(measure.medians(runs, rounds=3).values())
        times = list(measure.medians(runs, rounds=15, calls=max(1, int(5e-3 / trial))).values())
        columns = "  ".join(f"{1e3 * t:8.3f}" for t in times)
        ratio = f"{times[0] / times[1]:6.2f}" if len(times) > 1 else ""
        print(f"  {name:26} {columns}  {ratio}", flush=True)


if __name__ == "__main__":
    main()
