"""What happens once in a process: imports, the first call of a compiled function, the memory that a program takes."""

from importlib import import_module
from typing import Any

import numpy as np

from ..libraries import functional, tape
from ..line import Contenders, Run, line
from .networks import SMALL, mlp_small, network, step_of


def _programs(texts: dict[str, str]) -> Contenders:
    return {name: lambda text=text: lambda: exec(text, {}) for name, text in texts.items()}


# With a first gradient: laziness only moves the cost.
@line(tolerance=0, metric="first_call")
def import_functional(quick: bool) -> Contenders:
    """import and a first gradient, above NumPy"""
    return _programs(
        {
            "fxgrad": "import fxgrad, fxgrad.numpy as np; fxgrad.grad(lambda x: np.sin(x) * x)(1.0)",
            "autograd": "import autograd, autograd.numpy as np; autograd.grad(lambda x: np.sin(x) * x)(1.0)",
            "jax": "import jax, jax.numpy as np; jax.grad(lambda x: np.sin(x) * x)(1.0)",
        }
    )


@line(tolerance=0, metric="first_call")
def import_torch(quick: bool) -> Contenders:
    """import of torch's surface, nn and a first gradient, above NumPy"""
    program = "import {} as torch; torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum().backward()"
    return _programs({name: program.format(name) for name in ("fxgrad.compat", "torch")})


def _compilation(program: Any, *arguments: Any) -> Contenders:
    """The first call of a compiled function, in a process that has compiled another before."""

    def warmed(lib: Any) -> Any:
        lib.wait_for = lib.wait or (lambda result: result)
        (lib.wait or np.asarray)(lib.jit(lambda x: x + 1.0)(lib.array(np.ones(3))))
        return lib.jit(program(lib))

    return {f"{name}:jit": make for name, make in functional(warmed, *arguments, by="fxgrad jax").items()}


@line(tolerance=1e-5, metric="first_call")
def compile_mlp(quick: bool) -> Contenders:
    """first call of a jitted training step of an MLP 64-64-10"""
    layers, x, _, targets = network(*SMALL)
    return _compilation(step_of, layers, x, targets)


@line(tolerance=1e-9, metric="first_call")
def compile_500(quick: bool) -> Contenders:
    """first call of a jitted chain of 500 operations"""

    def program(lib: Any) -> Any:
        def chain(x: Any) -> Any:
            y = x
            for _ in range(125):
                y = lib.np.tanh(lib.np.sin(y) * x) + x
            return y

        return chain

    return _compilation(program, np.random.default_rng(0).standard_normal(64))


def _deep(lib: Any, layers: int, segments: int | None) -> Any:
    np = lib.np

    def layer(y: Any) -> Any:
        return y + 0.1 * np.sin(y)

    def segment(y: Any) -> Any:
        for _ in range(layers // segments if segments else layers):
            y = layer(y)
        return y

    kept = lib.checkpoint(segment) if segments else segment

    def total(x: Any) -> Any:
        for _ in range(segments or 1):
            x = kept(x)
        return np.sum(x)

    return total


def _memory(quick: bool, segments: int | None) -> Contenders:
    layers, size = (100, 10_000) if quick else (1000, 1_000_000)
    segments = segments and (10 if quick else segments)
    x = np.random.default_rng(0).standard_normal(size).astype("float32")

    def on_tape(torch: Any, x: Any) -> Run:
        x.requires_grad_()
        checkpointed = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
        lib = type(
            "torch",
            (),
            {"np": torch, "checkpoint": lambda f: lambda v: checkpointed(f, v, use_reentrant=False)},
        )

        def run(x: Any = x) -> Any:
            _deep(lib, layers, segments)(x).backward()
            return x.grad

        run(
            torch.ones(8, requires_grad=True)
        )  # what is loaded when it is first used is no memory of the chain

        return run

    def program(lib: Any) -> Any:
        gradient = lib.grad(_deep(lib, layers, segments))
        gradient(lib.array(np.ones(8, "float32")))
        return gradient

    return {
        **tape(on_tape, x),
        **functional(program, x, by="fxgrad jax" if segments else "fxgrad jax autograd"),
    }


@line(tolerance=1e-3, metric="peak_memory")
def memory_chain(quick: bool) -> Contenders:
    """peak memory of a gradient of 1000 layers on 1M float32"""
    return _memory(quick, segments=None)


@line(tolerance=1e-3, metric="peak_memory")
def memory_checkpoint(quick: bool) -> Contenders:
    """peak memory of the same in 25 checkpointed segments"""
    return _memory(quick, segments=25)


@line(tolerance=1e-5, metric="memory_growth")
def memory_growth(quick: bool) -> Contenders:
    """memory that 2000 training steps of an MLP 64-64-10 keep"""
    chosen, contenders = ("fxgrad", "fxgrad.compat:nn", "torch:nn"), mlp_small(quick)
    return {name: contenders[name] for name in chosen}
