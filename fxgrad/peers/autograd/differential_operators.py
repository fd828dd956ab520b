"""`autograd.differential_operators`: derivatives by autograd's names, from this library's transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import numpy as fnp
from ...core import pytree
from ...transforms import jacobian as jacobians
from ...transforms import jvp as forward
from ...transforms import vjp as reverse
from ...transforms.checkpoint import checkpoint
from .wrap_util import unary_to_nary

__all__ = [
    "checkpoint", "deriv", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product",
    "hessian_vector_product", "holomorphic_grad", "jacobian", "make_ggnvp", "make_hvp", "make_jvp",
    "make_jvp_reversemode",
    "make_vjp", "multigrad_dict", "tensor_jacobian_product", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip


@unary_to_nary
def make_vjp(fun: Any, x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The pullback and the value."""
    value, pullback = reverse.vjp(fun, x)
    return lambda ct: pullback(ct)[0], value


@unary_to_nary
def grad(fun: Any, x: Any) -> Any:
    """The gradient of a function with a number as its value."""
    return reverse.grad(fun)(x)


@unary_to_nary
def value_and_grad(fun: Any, x: Any) -> Any:
    """The value and the gradient."""
    return reverse.value_and_grad(fun)(x)


@unary_to_nary
def grad_and_aux(fun: Any, x: Any) -> Any:
    """The gradient of the first of two results, and the second."""
    return reverse.grad(fun, has_aux=True)(x)


@unary_to_nary
def holomorphic_grad(fun: Any, x: Any) -> Any:
    """The derivative of a complex-differentiable function."""
    return reverse.grad(fun, holomorphic=True)(x)


@unary_to_nary
def elementwise_grad(fun: Any, x: Any) -> Any:
    """The gradient of the sum of the entries of the value, which for an elementwise function is its derivative."""
    value, pullback = reverse.vjp(fun, x)
    return pullback(pytree.map(fnp.ones_like, value))[0]


@unary_to_nary
def make_jvp(fun: Any, x: Any) -> Callable[[Any], Any]:
    """The function from a tangent to the value and its tangent."""
    return lambda tangent: forward.jvp(fun, (x,), (tangent,))


make_jvp_reversemode = make_jvp


@unary_to_nary
def deriv(fun: Any, x: Any) -> Any:
    """The derivative in the direction of ones."""
    return forward.jvp(fun, (x,), (pytree.map(fnp.ones_like, x),))[1]


@unary_to_nary
def jacobian(fun: Any, x: Any) -> Any:
    """The derivatives of all entries of the value, of its shape and that of x."""
    return jacobians.jacrev(fun)(x)


@unary_to_nary
def hessian(fun: Any, x: Any) -> Any:
    """The Jacobian of the Jacobian."""
    return jacobians.jacrev(jacobians.jacrev(fun))(x)


@unary_to_nary
def make_hvp(fun: Any, x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The function from a vector to the Hessian's product with it, and the gradient."""
    gradient, push = forward.linearize(reverse.grad(fun), x)
    return push, gradient


def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Return the function of the arguments and a tensor that gives the Hessian's product with it."""
    return lambda *args, **kwargs: make_hvp(fun, argnum)(*args[:-1], **kwargs)[0](args[-1])


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """Return the function of the arguments and a tensor that gives its product with the Jacobian."""
    return lambda *args, **kwargs: make_vjp(fun, argnum)(*args[:-1], **kwargs)[0](args[-1])


vector_jacobian_product = tensor_jacobian_product


def make_ggnvp(f: Callable[..., Any], g: Any = None, f_argnum: int = 0) -> Callable[..., Any]:
    """Return the function that gives products with the Gauss–Newton matrix of g(f(x)); g is half the sum of squares
    unless it is given."""
    outer = g or (lambda y: fnp.sum(y**2, axis=-1) / 2)

    @unary_to_nary
    def make_product(fun: Any, x: Any) -> Callable[[Any], Any]:
        value, push = forward.linearize(fun, x)
        _, pullback = reverse.vjp(fun, x)
        curve = make_hvp(outer)(value)[0]
        return lambda v: pullback(curve(push(v)))[0]

    return make_product(f, f_argnum)


def grad_named(fun: Callable[..., Any], argname: str) -> Callable[..., Any]:
    """Return the gradient with respect to the argument of a name."""
    names = fun.__code__.co_varnames
    return grad(fun, names.index(argname))


def multigrad_dict(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that gives the gradients in all arguments, by their names."""
    import inspect

    signature = inspect.signature(fun)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return reverse.grad(lambda named: fun(**named))(dict(bound.arguments))

    return gradients
