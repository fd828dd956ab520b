"""`__torch_function__` is asked wherever torch asks, about the same functions, also by objects that are no Tensors."""

from __future__ import annotations

import inspect
import operator
from functools import partial, reduce

import pytest
import torch

import fxgrad.compat as fxt

LIBRARIES = pytest.mark.parametrize("T", [fxt, torch], ids=["fxgrad.compat", "torch"])
SPACES = ["", "nn.functional", "linalg", "fft", "special", "Tensor"]
SIGNATURES = torch.overrides.get_testing_overrides()


UNLIKE = {"histogram"}  # torch finds out later that `bins` is needed


class Asked(Exception):
    """Raised where a function asks: with the function, and the number of arguments."""


def answer(cls, func, types, args=(), kwargs=None):
    raise Asked(func, len(args))


class Thing:
    """No Tensor."""

    __torch_function__ = classmethod(answer)


OVERRIDING = {
    T: type("Overriding", (T.Tensor,), {"__torch_function__": classmethod(answer)}) for T in (fxt, torch)
}


def find_members(T, space):
    return reduce(getattr, space.split(".") if space else [], T)


def required(function) -> list[str]:
    """The parameters of a function of torch's that have no defaults."""
    parameters = inspect.signature(SIGNATURES[function]).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]


def what_is_asked(call):
    """The function that is asked about; None where nobody is asked."""
    try:
        call()
    except Asked as asked:
        return asked.args[0]
    except Exception:
        return None
    return None


@pytest.mark.parametrize("space", SPACES)
def test_functions_ask_what_torch_asks(space):
    theirs, ours = find_members(torch, space), find_members(fxt, space)
    missed = []
    for name in dir(theirs):
        function = getattr(theirs, name)
        if not callable(function) or function not in SIGNATURES or not hasattr(ours, name):
            continue
        known, names = getattr(ours, name), required(function)
        wanted, found = (
            what_is_asked(partial(f, *make_operands(T, names))) for T, f in ((torch, function), (fxt, known))
        )
        if wanted is not None and name not in UNLIKE and not is_same(found, known, name):
            missed.append((name, found))
    assert missed == []


def make_operands(T, names) -> list:
    """Operands for the parameters of these names, all of which override functions."""
    return [T.ones(2, 2).as_subclass(OVERRIDING[T]) if name == "self" else Thing() for name in names]


def is_same(found, known, name) -> bool:
    """Whether a function is the known one, or an operation that is known under two names."""
    if found is None:
        return False
    return (
        found is known
        or getattr(found, "operation", None) is getattr(known, "operation", 0)
        or (
            fxt.overrides.resolve_name(found) is not None
            and found.__name__.strip("_") in (name.strip("_"), known.__name__)
        )
    )


ATTRIBUTES = [
    "shape", "dtype", "device", "grad", "requires_grad", "is_leaf", "T", "ndim", "real", "data", "grad_fn",
    "nbytes",
]  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_ask(name):
    for T in (torch, fxt):
        x = T.ones(2, 2).as_subclass(OVERRIDING[T])
        asked = what_is_asked(lambda x=x: getattr(x, name))
        assert asked == getattr(T.Tensor, name).__get__
        assert T.overrides.resolve_name(asked) == f"torch.Tensor.{name}.__get__"


@pytest.mark.parametrize("name", ["grad", "data", "requires_grad"])
def test_setting_attributes_asks(name):
    for T in (torch, fxt):
        x = T.ones(2).as_subclass(OVERRIDING[T])
        assert what_is_asked(lambda x=x: setattr(x, name, None)) == getattr(T.Tensor, name).__set__


OPERATORS = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift",
    "matmul", "eq", "ne", "lt", "le", "gt", "ge",
]  # fmt: skip
# Methods that are the operators of Python's expressions, or their meaning.
MEANINGS = ["add", "sub", "mul", "div", "remainder", "matmul", "bitwise_and", "bitwise_or", "bitwise_xor"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_and_their_reflections_ask(name):
    stem = name.strip("_")
    in_place = getattr(operator, f"i{stem}", None)
    known = [*MEANINGS, *COMPARISONS, *(f"{m}_" for m in MEANINGS), "floor_divide_"]
    known += [f"__{side}{stem}__" for side in ("", "r", "i")]
    found = []
    for T in (torch, fxt):
        t, function = T.ones(2, 2), getattr(operator, name)
        asked = [what_is_asked(partial(function, *pair)) for pair in ((t, Thing()), (Thing(), t))]
        asked += [what_is_asked(partial(in_place, t, Thing()))] if in_place else []
        found.append([next(n for n in known if getattr(T.Tensor, n, None) is f) for f in asked])
    assert found[0] == found[1]


PLACES = [
    "T.cat([thing, t])", "T.stack((t, thing))", "T.sum(t, dim=thing)", "t.reshape(2, thing)", "t[thing]",
    "t[0, thing]", "t[[thing]]", "t.__setitem__(0, thing)", "T.zeros_like(thing)", "T.full((2,), thing)",
    "T.add(t, t, out=thing)", "T.add(t, t, alpha=thing)", "T.rand(2, generator=thing)", "T.meshgrid([t, thing])",
    "T.block_diag(t, thing)", "T.broadcast_tensors(t, thing)", "T.nn.functional.linear(t, t, thing)",
    "T.clamp(t, min=thing)", "T.fft.fft(t, thing)", "t.index_put_((thing,), t)", "T.where(thing, t, t)",
    "T.is_tensor(thing)", "T.tensor(thing)", "T.as_tensor(thing)", "T.vmap(thing)", "T.linspace(thing, 1, 3)",
]  # fmt: skip


@pytest.mark.parametrize("code", PLACES)
def test_any_argument_may_override(code):
    asked = [
        what_is_asked(lambda T=T: eval(code, {"T": T, "t": T.ones(2, 2), "thing": Thing()}))
        for T in (torch, fxt)
    ]
    assert (asked[0] is None) == (asked[1] is None)
    assert asked[0] is None or asked[0].__name__ == asked[1].__name__


@LIBRARIES
def test_the_answer_of_an_object_is_the_result(T):
    class Matrix:
        def __init__(self, entries):
            self.entries = entries

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in (T.matmul, T.Tensor.matmul, T.diagonal):
                return NotImplemented
            plain = [x.entries if isinstance(x, cls) else x for x in args]
            return func(*plain, **(kwargs or {}))

    m = Matrix(T.tensor([[1.0, 2.0], [3.0, 4.0]]))
    t = T.eye(2, requires_grad=True)
    assert T.matmul(m, t).tolist() == (t @ m).tolist() == m.entries.tolist()
    assert T.diagonal(m).tolist() == [1.0, 4.0]
    (t @ m).sum().backward()
    assert t.grad.tolist() == [[3.0, 7.0], [3.0, 7.0]]
    with pytest.raises(TypeError, match="returned NotImplemented"):
        T.exp(m)


@LIBRARIES
def test_an_error_of_an_object_is_raised_once(T):
    calls = []

    class Broken:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append(func)
            raise ValueError("no such luck")

    for call in (
        lambda: T.add(T.ones(2), Broken()),
        lambda: T.sum(T.ones(2), dim=Broken()),
        lambda: T.numel(Broken()),
    ):
        calls.clear()
        with pytest.raises(ValueError, match="no such luck") as caught:
            call()
        assert len(calls) == 1 and caught.value.__context__ is None


@LIBRARIES
def test_modes_see_attributes_and_functions_that_make_tensors(T):
    seen = []

    class Log(T.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(T.overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    x = T.ones(2)
    with Log():
        x.shape, x.grad, T.tensor([1.0, 2.0]), T.ones(2), T.get_default_dtype()
        x.requires_grad = False
    x.shape  # noqa: B018
    names = [f"torch.Tensor.{n}" for n in ("shape.__get__", "grad.__get__")]
    assert seen == [*names, "torch.tensor", "torch.ones", "torch.Tensor.requires_grad.__set__"]


@LIBRARIES
def test_overrides_are_switched_off(T):
    disabled = (
        fxt.door.answers.ANSWERS
        if T is fxt
        else {f"torch._C.{n}": getattr(torch._C, n) for n in dir(torch._C)}
    )
    with disabled["torch._C.DisableTorchFunctionSubclass"]():
        assert T.ones(2).as_subclass(OVERRIDING[T]).shape == (2,)
        assert isinstance(T.ones(2).as_subclass(OVERRIDING[T]) + 1, T.Tensor)
    with pytest.raises(Asked):
        T.ones(2).as_subclass(OVERRIDING[T]).shape  # noqa: B018


@LIBRARIES
def test_redispatch_skips_one_question(T):
    seen = []

    class Log(T.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return T.overrides.redispatch_function(func, types, args, kwargs)

    def double(x):
        if T.overrides.has_torch_function((x,)):
            return T.overrides.handle_torch_function(double, (x,), x)
        return T.mul(x, 2)

    assert double(T.ones(1).as_subclass(Log)).tolist() == [2.0]
    assert seen[:2] == ["double", "mul"]


def wrapper_class(T):
    class Halved(T.Tensor):
        @staticmethod
        def __new__(cls, whole, **options):
            made = T.Tensor._make_wrapper_subclass(
                cls, whole.shape, strides=whole.stride(), dtype=whole.dtype, **options
            )
            made.half = whole / 2
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            found = func(*(2 * x.half if isinstance(x, cls) else x for x in args), **(kwargs or {}))
            return cls(found) if isinstance(found, T.Tensor) else found

    return Halved


@LIBRARIES
def test_a_wrapper_has_no_entries_and_its_class_answers(T):
    x = wrapper_class(T)(T.arange(6.0).reshape(2, 3).T)
    assert (x.shape, x.stride(), x.dtype, x.device.type) == ((3, 2), (1, 3), T.float32, "cpu")
    assert not (x.is_contiguous() or x.requires_grad or x.is_meta) and x.numel() == 6
    assert type(x + 1) is type(x) and (x + 1).half.tolist() == [[0.5, 2.0], [1.0, 2.5], [1.5, 3.0]]
    assert T.sin(x).half.shape == (3, 2) and x[0].half.tolist() == [0.0, 1.5] and x.sum().half.item() == 7.5
    assert wrapper_class(T)(T.ones(2), requires_grad=True).requires_grad
    assert wrapper_class(T)(T.ones(2), device="meta").is_meta or T is fxt

    class Silent(T.Tensor):
        pass

    with pytest.raises(TypeError, match="Silent must define __torch_dispatch__"):
        T.Tensor._make_wrapper_subclass(Silent, (2,))


@LIBRARIES
def test_functions_of_overrides(T):
    functions = T.overrides.get_overridable_functions()
    assert (
        T.add in functions[T] and T.Tensor.add in functions[T.Tensor] and T.linalg.norm in functions[T.linalg]
    )
    assert functions[T.Tensor.shape] == [T.Tensor.shape.__get__]
    answers = T.overrides.get_testing_overrides()
    assert answers[T.add](1, 2) == -1 and answers[T.Tensor.shape.__get__](0) == -1
    assert next(iter(inspect.signature(answers[T.add]).parameters)) == "input"
    ignored = T.overrides.get_ignored_functions()
    # Not torch.manual_seed: torch puts another one there with `torch._dynamo`, and remembers what it ignores.
    assert {T.is_tensor, T.zeros, T.random.manual_seed} <= ignored and T.add not in ignored
    assert T.overrides.is_tensor_method_or_property(T.Tensor.shape.__get__)
    assert T.Tensor.grad.__get__ in T.overrides.get_default_nowrap_functions()
    assert T.overrides.resolve_name(len) is None
