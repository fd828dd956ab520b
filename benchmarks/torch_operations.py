"""Heavy operations of fxgrad.compat on medium and large arrays against torch eager: forward, and backward with a given
cotangent.

Decides where kernels work block by block, what is kept for the backward pass, and which arrays are written twice. Each
is called until everything is compiled that will be. The aim: nothing takes much more than torch's time, most take less.
Where `cat` and `stack` take longer it is for gradients that torch lets share the memory of the cotangent that the user
gave. Arguments select operations by a part of their name.
"""

import measure  # isort: skip  (it sets the number of threads)

import statistics
import sys
import time
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


def recurrent(torch: Any, x: Any, *weights: Any) -> Any:
    """The states of a long short-term memory that starts from zeros."""
    start = torch.zeros(1, x.shape[1], weights[1].shape[1])
    return torch.lstm(x, (start, start), weights, True, 1, 0.0, True, False, False)[0]


def written(torch: Any, x: Any, v: Any, index: Any) -> Any:
    """A copy with rows replaced."""
    y = x.clone()
    y[index] = v
    return y


WARM = 0.3  # seconds
MILLION, SQUARE, VECTOR = (1_000_000,), (1000, 1000), (100_000,)
ROWS = np.random.default_rng(8).permutation(1000)[:500]
EIGHT = ((256, 256),) * 8
IMAGES, WEIGHTS = (32, 64, 16, 16), ((64,), (64,))
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
    "group_norm (32,64,16,16)": Case(
        lambda torch, x, w, b: torch.nn.functional.group_norm(x, 8, w, b), (IMAGES, *WEIGHTS)
    ),
    "batch_norm (32,64)": Case(
        lambda torch, x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, training=True),
        ((32, 64), *WEIGHTS),
    ),
    "cross_entropy (32,10)": named(F + "cross_entropy", (32, 10), target=CLASSES[:32] % 10),
    "max_pool2d (2,4,8,8)": named(F + "max_pool2d", (2, 4, 8, 8), kernel_size=2),
    "interpolate (8,8,32,32)": named(F + "interpolate", (8, 8, 32, 32), scale_factor=2, mode="bilinear"),
    "lstm (50,32,64)": Case(recurrent, ((50, 32, 64), (256, 64), (256, 64), (256,), (256,))),
    "lstm (200,4,16)": Case(recurrent, ((200, 4, 16), (64, 16), (64, 16), (64,), (64,))),
    "relu, 4 million": named("relu", (4_000_000,)),
    "cumprod(1)": named("cumprod", SQUARE, dim=1),
    "prod(1)": named("prod", SQUARE, dim=1),
    "lgamma": Case(lambda torch, x: torch.lgamma(x.abs() + 0.5), (VECTOR,)),
    "index_add (1000,100), 500": Case(
        lambda torch, x, v, i: x.index_add(0, i, v), ((1000, 100), (500, 100)), (ROWS,)
    ),
    "repeat_interleave": Case(lambda torch, x: x.repeat_interleave(4, 0), ((250, 1000),)),
    "solve 100": Case(
        lambda torch, a, b: torch.linalg.solve(a + 20 * torch.eye(100), b), ((100, 100), (100,))
    ),
    "inv 100": Case(lambda torch, a: torch.linalg.inv(a + 20 * torch.eye(100)), ((100, 100),)),
    "slogdet 100": Case(lambda torch, a: torch.linalg.slogdet(a + 20 * torch.eye(100))[1], ((100, 100),)),
    "qr (100,50)": Case(lambda torch, a: torch.linalg.qr(a)[0], ((100, 50),)),
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


def warm_up(run: Callable[[], object]) -> None:
    """Call until everything is compiled that will be."""
    end = time.process_time() + WARM
    while time.process_time() < end:
        run()


def main() -> None:
    libraries = {"fxgrad.compat": fxgrad.compat, **measure.peers("torch")}
    programs: dict[str, Any] = {name: (differentiated, (case,), {}) for name, case in CASES.items()}
    programs |= {name: (stepping, (optimizer,), options) for name, (optimizer, options) in STEPS.items()}
    print("forward and backward: ms of fxgrad.compat, of torch, and the ratio")
    ratios = []
    for name, (program, args, options) in programs.items():
        if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
            continue
        runs = {library: program(module, *args, **options) for library, module in libraries.items()}
        values = [run() for run in runs.values()]
        for value in values[1:]:
            for ours, theirs in zip(values[0], value):
                np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * max(1, np.abs(ours).max()))
        for run in runs.values():
            warm_up(run)
        trial = max(measure.medians(runs, rounds=3).values())
        times = list(measure.medians(runs, rounds=15, calls=max(1, int(5e-3 / trial))).values())
        columns = "  ".join(f"{1e3 * t:8.3f}" for t in times)
        ratio = ""
        if len(times) > 1:
            ratios.append(times[0] / times[1])
            ratio = f"{ratios[-1]:6.2f}"
        print(f"  {name:26} {columns}  {ratio}", flush=True)
    if ratios:
        print(f"  geometric mean {statistics.geometric_mean(ratios):.2f}, greatest {max(ratios):.2f}")


if __name__ == "__main__":
    main()
