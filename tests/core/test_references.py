"""Arrays that only this library has are taken as they are, others are copied: results are right whether or not a
program holds a reference, however it holds it. How references are counted depends on the version of Python: from 3.14
on the interpreter borrows those that it can do without."""

import gc

import numpy as np
import pytest

import fxgrad as fx
import fxgrad.compat as torch


class Holder:
    """What has an array as an attribute."""


def hold_as_attribute(array):
    holder = Holder()
    holder.array = array
    return holder


def hold_in_closure(array):
    return lambda: array


def hold_in_generator(array):
    def generate():
        yield array.shape
        yield array

    generator = generate()
    next(generator)
    return generator


def hold_in_frame(array):
    """A generator whose own frame has borrowed it as an argument."""

    def generate(array):
        yield array.shape
        yield array

    generator = generate(array)
    next(generator)
    return generator


def hold_as_default(array):
    def function(array=array):
        return array

    return function


HOLDERS = {
    "name": lambda array: array,
    "list": lambda array: [array],
    "tuple": lambda array: ((array,),),
    "dict": lambda array: {"array": array},
    "attribute": hold_as_attribute,
    "closure": hold_in_closure,
    "default": hold_as_default,
    "generator": hold_in_generator,
    "frame": hold_in_frame,
    "bound method": lambda array: array.sum,
    "view": lambda array: array[:1],
    "reshaped": lambda array: array.reshape(1, -1),
    "transposed": lambda array: array.T,
}
each_holder = pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
X = np.arange(1.0, 4.0)


def address(array):
    return array.__array_interface__["data"][0]


def rule_of(backward):
    """A function with this rule of its derivative."""
    made = fx.custom_vjp(lambda x: x * 2)
    made.defvjp(lambda x: (x * 2, None), lambda _, ct: (backward(ct),))
    return made


# -- rules of the functional API -----------------------------------------------------------------------------
@each_holder
def test_what_a_rule_returns_and_the_program_holds_is_copied(hold):
    held, addresses = [], set()

    def backward(ct):
        result = ct * 3
        addresses.add(address(result))
        held.append(hold(result))
        return result

    gradient = fx.grad(lambda x: rule_of(backward)(x).sum())(X)
    assert address(gradient) not in addresses and len(held) == 1
    assert gradient.tolist() == [3, 3, 3]


def test_what_a_rule_returns_and_nobody_holds_is_taken():
    addresses = []

    def backward(ct):
        result = ct * 3
        addresses.append(address(result))
        return result

    assert address(fx.vjp(rule_of(backward), X)[1](np.ones(3))[0]) == addresses[0]


@each_holder
def test_a_rule_that_returns_what_it_was_given_gives_no_hold_on_it(hold):
    ct = np.ones(3)
    held = hold(ct)
    (gradient,) = fx.vjp(rule_of(lambda ct: ct), X)[1](ct)
    gradient *= 7
    assert ct.tolist() == [1, 1, 1] and held is not None


@each_holder
def test_a_buffer_that_a_rule_fills_again_changes_no_earlier_result(hold):
    buffer = np.zeros(3)
    held = hold(buffer)

    def backward(ct):
        buffer[:] = ct
        return buffer

    function = rule_of(backward)
    first, second = (fx.grad(lambda x, k=k: (k * function(x)).sum())(X) for k in (2, 3))
    assert first.tolist() == [2, 2, 2] and second.tolist() == [3, 3, 3] and held is not None


# -- gradients of Tensors ------------------------------------------------------------------------------------
def tensors(*values):
    return [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in values]


def on_tensor(hold, tensor):
    """Hold a Tensor's array, or the Tensor itself."""
    return hold(tensor.numpy()), tensor


@each_holder
def test_a_cotangent_that_the_program_holds_is_no_gradient(hold):
    for combine in (lambda x, y: x + y, lambda x, y: x * 1 + y, lambda x, y: (x + y).reshape(1, 3)):
        x, y = tensors(X, X)
        result = combine(x, y)
        ct = torch.ones_like(result)
        held = on_tensor(hold, ct)
        result.backward(ct)
        x.grad.mul_(7)
        assert ct.reshape(-1).tolist() == y.grad.tolist() == [1, 1, 1] and held
        ct.mul_(5)
        assert x.grad.tolist() == [7, 7, 7] and y.grad.tolist() == [1, 1, 1]


@each_holder
def test_a_gradient_that_a_hook_holds_is_its_own(hold):
    for operation in (lambda x: x * 2, lambda x: x.reshape(1, 3) * 2, lambda x: x + 0, torch.clone):
        (x,) = tensors(X)
        held = []
        result = operation(x)
        result.register_hook(lambda ct: held.append(on_tensor(hold, ct)))  # noqa: B023
        x.register_hook(lambda ct: held.append(on_tensor(hold, ct)))  # noqa: B023
        result.sum().backward()
        before = [tensor.tolist() for _, tensor in held]
        x.grad.mul_(7)
        assert len(held) == 2 and [tensor.tolist() for _, tensor in held] == before


@each_holder
def test_what_a_function_returns_and_the_program_holds_is_its_own(hold):
    held = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            result = x * 2
            held.append(hold(result.numpy()))
            return result

        @staticmethod
        def backward(ctx, ct):
            result = ct * 2
            held.append(hold(result.numpy()))
            held.append(result)
            return result

    (x,) = tensors(X)
    Double.apply(x).sum().backward()
    x.grad.mul_(7)
    assert held[2].tolist() == [2, 2, 2] and x.grad.tolist() == [14, 14, 14]


def test_first_gradients_that_nobody_holds_are_taken():
    """One array is made for the gradient of a leaf, not two."""
    import tracemalloc

    (x,) = tensors(np.ones(1 << 18))
    result = (x * 2).sum()
    gc.collect()
    tracemalloc.start()
    try:
        result.backward()
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    size = x.numel() * 8
    assert size <= kept <= most < 1.5 * size


def test_leaves_of_one_sum_do_not_share_a_gradient():
    for count in (2, 3, 5):
        leaves = tensors(*[X] * count)
        sum(leaves).sum().backward()
        for k, leaf in enumerate(leaves):
            leaf.grad.mul_(k)
        assert [leaf.grad.tolist() for leaf in leaves] == [[k] * 3 for k in range(count)]
