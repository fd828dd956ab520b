"""Functional programs on a GPU: this library on CuPy, with and without CUDA graphs, beside torch and JAX.

    python benchmarks/gpu.py [--small] [--to FOLDER]

Every program is written once, in terms of what the three libraries have in common; random numbers are each library's
own. Results are compared with those of NumPy before anything is timed. Times are medians: of calls until their results
are there, and of the device, between two events around a call, which JAX does not have. Memory is what a library's pool
has taken at most, operands included; JAX tells that of the whole run only. The table goes into benchmarks/results/,
under the name of the device. Without a GPU there is nothing to measure.
"""

import argparse
import contextlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp

RESULTS = Path(__file__).parent / "results"
TOLERANCE = 2e-3  # of single precision, beside the largest entry: sums of a thousand products, maybe by TF32


class Library(NamedTuple):
    """A library as contender: what programs use of it, and how it is handled.

    `put` takes NumPy's arrays to the device and `get` brings results back; `wait` waits for results; `events` makes a
    pair of events and the function that gives the milliseconds between them; `peak` gives the bytes in use at most
    since `forget`.
    """

    name: str
    use: SimpleNamespace
    put: Callable
    get: Callable
    wait: Callable
    peak: Callable[[], int]
    forget: Callable[[], None]
    events: Callable | None = None


# -- programs ------------------------------------------
def network(lib):
    """The loss of a network with one hidden layer, of its parameters and a batch."""

    def loss(params, x, y):
        (w, b), (v, c) = params
        return lib.mean((lib.tanh(x @ w + b) @ v + c - y) ** 2)

    return loss


def softmax(lib, x):
    e = lib.exp(x - lib.max(x, axis=-1, keepdims=True))
    return e / lib.sum(e, axis=-1, keepdims=True)


def training_step(lib):
    def step(params, x, y):
        slopes = lib.grad(network(lib))(params, x, y)
        return lib.map(lambda p, g: p - 0.1 * g, params, slopes)

    return step


def hessian_vector(lib):
    def product(params, x, y, direction):
        return lib.jvp(lambda p: lib.grad(network(lib))(p, x, y), (params,), (direction,))[1]

    return product


def attention(lib):
    def loss(q, k, v):
        return lib.sum((softmax(lib, q @ lib.swapaxes(k, -1, -2) * 0.125) @ v) ** 2)

    return lib.grad(loss)


def convolutions(lib):
    def loss(w, x):
        return lib.mean(lib.tanh(lib.conv(lib.tanh(lib.conv(x, w[0])), w[1])) ** 2)

    return lib.grad(loss)


PROGRAMS = {
    "elementwise": lambda lib: lambda x: lib.exp(-x * x) * lib.tanh(x) + lib.sin(x) / (x * x + 1),
    "softmax of rows": lambda lib: lambda x: softmax(lib, x),
    "training step": training_step,
    "per-sample gradients": lambda lib: lib.vmap(lib.grad(network(lib)), (None, 0, 0)),
    "Hessian-vector product": hessian_vector,
    "attention, gradient": attention,
    "convolutions, gradient": convolutions,
    "random numbers": lambda lib: lambda x, n: lib.normal(x, n),
}


def operands_of(name: str, small: bool) -> tuple:
    """Return the operands of a program."""
    rng = np.random.default_rng(0)

    def normal(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.standard_normal(shape)).astype(np.float32)

    n, width = (16, 8) if small else (1024, 512)
    params = [(normal(width, width, scale=width**-0.5), normal(width)), (normal(width, 10), normal(10))]
    batch = normal(n, width), normal(n, 10)
    if name == "Hessian-vector product":
        return params, *batch, params
    if name == "attention, gradient":
        return tuple(normal(*((2, 8, 4) if small else (64, 512, 64))) for _ in range(3))
    if name == "convolutions, gradient":
        channels, side = (3, 6) if small else (32, 56)
        kernels = [normal(channels, channels, 3, 3, scale=0.1) for _ in range(2)]
        return kernels, normal(2 if small else 32, channels, side, side)
    if name in ("elementwise", "softmax of rows", "random numbers"):
        large = normal(*((8, 9) if small else (4096, 4096)))
        return (large, np.array(7, np.int32)) if name == "random numbers" else (large,)
    return params, *((b[: 256 if name.startswith("per") else None]) for b in batch)


# -- libraries ------------------------------------------
def our_functions(device: str) -> SimpleNamespace:
    """This library's functions; random numbers are drawn on a device."""
    use = SimpleNamespace(**{f: getattr(fnp, f) for f in SHARED}, grad=fx.grad, vmap=fx.vmap, jvp=fx.jvp)
    use.map = fx.tree.map
    use.conv = lambda x, w: fx.lax.conv(x, w, (1, 1), "SAME")
    with fx.default_device(device):
        key = fx.random.key(0)
    use.normal = lambda x, n: fx.random.normal(fx.random.fold_in(key, n), x.shape, np.float32)
    return use


def ours(cupy: Any) -> Library:
    """This library on CuPy."""
    pool = cupy.get_default_memory_pool()

    def events() -> tuple:
        pair = cupy.cuda.Event(), cupy.cuda.Event()
        return *pair, lambda: pair[1].synchronize() or cupy.cuda.get_elapsed_time(*pair)

    return Library(
        "fxgrad",
        our_functions("cuda"),
        lambda tree: fx.tree.map(cupy.asarray, tree),
        lambda tree: [x.get() for x in fx.tree.leaves(tree)],
        lambda tree: cupy.cuda.get_current_stream().synchronize(),
        pool.total_bytes,
        pool.free_all_blocks,
        events,
    )


SHARED = ("exp", "tanh", "sin", "sum", "mean", "max", "swapaxes")


def torch_library() -> Library | None:
    """torch, where it is installed and has a GPU."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    functions = {f: getattr(torch, {"max": "amax"}.get(f, f)) for f in SHARED}
    use = SimpleNamespace(**functions, grad=torch.func.grad, vmap=torch.func.vmap, jvp=torch.func.jvp)
    use.map = torch.utils._pytree.tree_map
    use.normal = lambda x, n: torch.randn_like(x)
    use.conv = lambda x, w: torch.nn.functional.conv2d(x, w, padding="same")

    def events() -> tuple:
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        return *pair, lambda: pair[1].synchronize() or pair[0].elapsed_time(pair[1])

    return Library(
        "torch",
        use,
        lambda tree: fx.tree.map(lambda x: torch.from_numpy(x).cuda(), tree),
        lambda tree: [x.cpu().numpy() for x in torch.utils._pytree.tree_leaves(tree)],
        lambda tree: torch.cuda.synchronize(),
        torch.cuda.max_memory_allocated,
        torch.cuda.reset_peak_memory_stats,
        events,
    )


def jax_library() -> Library | None:
    """JAX, where it is installed and has a GPU."""
    if importlib.util.find_spec("jax") is None:
        return None
    import jax

    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        return None
    use = SimpleNamespace(
        **{f: getattr(jax.numpy, f) for f in SHARED}, grad=jax.grad, vmap=jax.vmap, jvp=jax.jvp
    )
    use.map = jax.tree.map
    key = jax.random.key(0)
    use.normal = lambda x, n: jax.random.normal(jax.random.fold_in(key, n), x.shape, np.float32)
    use.conv = lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME")
    return Library(
        "jax",
        use,
        lambda tree: jax.device_put(tree, device),
        lambda tree: [np.asarray(x) for x in jax.tree.leaves(tree)],
        jax.block_until_ready,
        lambda: device.memory_stats()["peak_bytes_in_use"],
        lambda: None,
    )


def jit_of(library: Library, name: str) -> Callable:
    """Return what compiles a function for a contender."""
    if name == "fxgrad, CUDA graph":
        return lambda f: fx.jit(f, cuda_graph=True)
    if library.name == "fxgrad":
        return fx.jit
    return importlib.import_module("jax").jit if library.name == "jax" else lambda f: f


# -- measurement ------------------------------------------
class Measured(NamedTuple):
    """Of a contender: seconds of a call, those of the device (or None), and bytes."""

    seconds: float
    device: float | None
    peak: int


def measure(library: Library, run: Callable[[], Any], rounds: int) -> Measured:
    """Return the medians of some calls."""
    for _ in range(3):
        library.wait(run())
    library.forget()
    seconds, device = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        library.wait(run())
        seconds.append(time.perf_counter() - start)
    for _ in range(rounds if library.events else 0):
        begin, end, elapsed = library.events()
        begin.record()
        run()
        end.record()
        device.append(elapsed() / 1e3)
    return Measured(statistics.median(seconds), statistics.median(device) if device else None, library.peak())


def rounds_of(small: bool) -> int:
    """How many calls are measured."""
    return 3 if small else 30


def check_equal(name: str, got: list, want: list) -> None:
    """End the program where a contender computes something else."""
    for x, y in zip(got, want, strict=True):
        difference = np.max(np.abs(x - y)) / np.max(np.abs(y))
        if not difference < TOLERANCE:
            raise SystemExit(f"benchmarks/gpu.py: {name}: {difference:.1e} from NumPy's result")


def comparable(name: str, results: list) -> list:
    """Return what contenders have in common: of random numbers, mean and mean square."""
    return [np.array([x.mean(), (x**2).mean()]) for x in results] if name == "random numbers" else results


def compare(libraries: list[Library], small: bool) -> list[list[str]]:
    """Return the rows of the table."""
    rows = []
    reference = our_functions("cpu")
    for name, program in PROGRAMS.items():
        operands = operands_of(name, small)
        want = comparable(name, fx.tree.leaves(program(reference)(*operands)))
        contenders = [(library, library.name) for library in libraries]
        contenders[1:1] = [(libraries[0], "fxgrad, CUDA graph")]
        for library, contender in contenders:
            there = library.put(operands)
            function = jit_of(library, contender)(program(library.use))
            check_equal(f"{name}, {contender}", comparable(name, library.get(function(*there))), want)
            found = measure(library, lambda: function(*there), rounds_of(small))  # noqa: B023
            device = "" if found.device is None else f"{1e3 * found.device:.3f}"
            rows.append([name, contender, f"{1e3 * found.seconds:.3f}", device, f"{found.peak / 1e6:.1f}"])
    return rows


def versions() -> str:
    """The packages that took part, with their versions."""
    found = []
    for package in ("fxgrad", "numpy", "cupy-cuda12x", "cupy-cuda13x", "torch", "jax"):
        with contextlib.suppress(ImportError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--to", type=Path, default=RESULTS, metavar="FOLDER")
    options = parser.parse_args(arguments)
    if not fx.devices("cuda"):
        print("benchmarks/gpu.py: no GPU that CuPy finds, so there is nothing to measure")
        return
    import cupy

    libraries = [library for library in (ours(cupy), torch_library(), jax_library()) if library]
    device = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.get_device_id())["name"].decode()
    head = ["program", "by", "ms a call", "ms of the device", "MB at most"]
    rows = compare(libraries, options.small)
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
    text = f"# On {device}\n\n{versions()}; single precision, medians of {rounds_of(options.small)} calls.\n\n{table}\n"
    options.to.mkdir(parents=True, exist_ok=True)
    path = options.to / f"gpu-{'-'.join(device.split())}.md"
    path.write_text(text, encoding="utf-8")
    print(f"{text}\nwritten to {path}")


if __name__ == "__main__":
    main()
