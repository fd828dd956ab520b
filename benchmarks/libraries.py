"""The libraries under one set of names, so that a program is written once for several of them.

`functional` takes a program in JAX's style, `tape` one in torch's. Both give contenders by name. In `functional`,
`:jit` after a library's name compiles the program, `:follow` does so with Python's decisions, and `torch.compile` is
torch.func's by torch.compile.
"""

from collections.abc import Callable
from importlib import import_module
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from .line import Contenders, Run

Library = SimpleNamespace


def functional(program: Callable[[Library], Callable], *arguments: Any, by: str) -> Contenders:
    """Contenders that call `program(library)` on the arguments, which may be lists, tuples and dicts of arrays."""

    def prepare(name: str) -> Run:
        library, _, form = ("torch.func", ":", "jit") if name == "torch.compile" else name.partition(":")
        lib = _LIBRARIES[library]()
        options = {"control": "follow"} if form == "follow" else {}
        function = lib.jit(program(lib), **options) if form else program(lib)
        given = tree_map(lib.array, arguments)
        wait = lib.wait
        return (lambda: function(*given)) if wait is None else (lambda: wait(function(*given)))

    return {name: lambda name=name: prepare(name) for name in by.split()}


def tape(program: Callable[..., Run], *arguments: Any, by: str = "fxgrad.compat torch") -> Contenders:
    """Contenders that call what `program(torch, *arguments)` gives, with torch and with fxgrad.compat.

    What stands in `by` behind a colon only tells programs apart.
    """

    def prepare(name: str) -> Run:
        torch = import_module(name.partition(":")[0])
        return program(torch, *tree_map(torch.tensor, arguments))

    return {name: lambda name=name: prepare(name) for name in by.split()}


def tree_map(function: Callable, tree: Any) -> Any:
    """A function of every array in lists, tuples and dicts; what is no array stays."""
    if isinstance(tree, dict):
        return {key: tree_map(function, value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(tree_map(function, value) for value in tree)
    return function(tree) if isinstance(tree, np.ndarray) else tree


def leaves(tree: Any) -> list[np.ndarray]:
    """The arrays of a result, as NumPy's, whichever library made them."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for value in tree for leaf in leaves(value)]
    return [np.asarray(tree.detach() if hasattr(tree, "detach") else tree)]


def _fxgrad() -> Library:
    import fxgrad
    from fxgrad import lax
    from fxgrad import numpy as fnp

    library = _named(fxgrad, "grad value_and_grad vmap vjp jvp hessian jacfwd jacrev jit checkpoint")
    library["odeint"] = import_module("fxgrad.experimental.ode").odeint
    library["solve_triangular"] = import_module("fxgrad.scipy.linalg").solve_triangular
    return Library(np=fnp, lax=lax, array=np.array, wait=None, mutable=True, **library)


def _jax() -> Library:
    import jax

    jax.config.update("jax_enable_x64", True)
    library = _named(jax, "grad value_and_grad vmap vjp jvp hessian jacfwd jacrev jit checkpoint")
    library["solve_triangular"] = import_module("jax.scipy.linalg").solve_triangular
    library["odeint"] = import_module("jax.experimental.ode").odeint
    library |= {"array": jax.numpy.array, "wait": jax.block_until_ready, "mutable": False}
    return Library(np=jax.numpy, lax=jax.lax, **library)


def _autograd() -> Library:
    import autograd
    import autograd.numpy

    library = _named(autograd, "grad value_and_grad hessian")
    return Library(np=autograd.numpy, array=np.array, wait=None, jacrev=autograd.jacobian, **library)


def _torch_func(name: str) -> Library:
    torch = import_module(name)

    def value_and_grad(f: Callable, argnums: Any = 0) -> Callable:
        transformed = torch.func.grad_and_value(f, argnums)
        return lambda *arguments: transformed(*arguments)[::-1]

    same = (
        "exp log sin cos tanh cosh sqrt abs sum mean where stack searchsorted logaddexp outer matmul einsum"
    )
    namespace = SimpleNamespace(
        **_named(torch, same),
        maximum=lambda x, y: torch.maximum(x, y) if hasattr(y, "shape") else torch.clamp(x, min=y),
        clip=lambda x, low, high: torch.clamp(x, low, high),
        log1p=torch.log1p,
        linalg=torch.linalg,
    )
    return Library(
        np=namespace,
        torch=torch,
        array=torch.tensor,
        wait=None,
        value_and_grad=value_and_grad,
        jit=torch.compile if name == "torch" else import_module("fxgrad").jit,
        **_named(torch.func, "grad vmap jvp hessian jacfwd jacrev"),
    )


def _numba() -> Library:
    numba = import_module("numba")

    def jit(function: Any) -> Any:
        """Compile a function, and the functions that it closes over."""
        for cell in function.__closure__ or ():
            if isinstance(cell.cell_contents, FunctionType):
                cell.cell_contents = jit(cell.cell_contents)
        return numba.njit(function)

    return Library(np=np, array=np.array, wait=None, jit=jit)


def _named(module: Any, names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names.split()}


_LIBRARIES: dict[str, Callable[[], Library]] = {
    "fxgrad": _fxgrad,
    "jax": _jax,
    "autograd": _autograd,
    "numba": _numba,
    "torch.func": lambda: _torch_func("torch"),
    "fxgrad.compat.func": lambda: _torch_func("fxgrad.compat"),
}
