"""no_grad, enable_grad, set_grad_enabled and inference_mode against torch, and what is made under them."""

from __future__ import annotations

import asyncio
import threading

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
MODES = ("no_grad", "enable_grad", "inference_mode")


def state(torch):
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def leaf(torch, *values):
    return torch.tensor(values or (0.0, 1.0, 2.0), requires_grad=True)


def inferred(torch):
    with torch.inference_mode():
        return torch.ones(3)


# -- switches ---------------------------------------------------------------------------------------------------------


@scenario
def nested_modes(torch):
    seen = [state(torch)]
    for outer in MODES:
        for inner in MODES:
            with getattr(torch, outer)():
                with getattr(torch, inner)():
                    seen.append(state(torch))
                seen.append(state(torch))
            seen.append(state(torch))
    return seen


@scenario
def results_under_modes(torch):
    x = leaf(torch)
    seen = []
    for mode in MODES:
        with getattr(torch, mode)():
            y = x * 2
            seen.append((y, y.is_leaf, y.is_inference()))
    return seen


@scenario
def inference_mode_false_records_again(torch):
    x = leaf(torch)
    with torch.inference_mode(), torch.inference_mode(False):
        return x * 2, (x * 2).is_inference(), state(torch)


@scenario
def enable_grad_in_inference_mode_records_nothing(torch):
    x = leaf(torch)
    with torch.inference_mode(), torch.enable_grad():
        return x * 2, (x * 2).is_inference(), state(torch)


@scenario
def set_grad_enabled_is_a_function_and_a_context_manager(torch):
    seen = []
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(before)
    for mode in (False, True):
        with torch.set_grad_enabled(mode):
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    return seen, repr(torch.set_grad_enabled(True))


@scenario
def set_grad_enabled_of_no_bool(torch):
    torch.set_grad_enabled("no")


@scenario
def decorators_with_and_without_parentheses(torch):
    def f(a):
        """doc"""
        return state(torch), a

    made = [
        torch.no_grad(f),
        torch.no_grad()(f),
        torch.enable_grad(f),
        torch.enable_grad()(f),
        torch.inference_mode(f),
        torch.inference_mode()(f),
        torch.inference_mode(False)(f),
        torch.set_grad_enabled(False)(f),
    ]
    return [(g(1), g(a=2), g.__name__, g.__doc__) for g in made], state(torch)


@scenario
def decorated_generator(torch):
    seen = []

    @torch.no_grad()
    def steps():
        try:
            seen.append(("got", (yield torch.is_grad_enabled()), torch.is_grad_enabled()))
            yield torch.is_grad_enabled()
        except ValueError:
            seen.append(("caught", torch.is_grad_enabled()))
            yield torch.is_grad_enabled()
        finally:
            seen.append(("left", torch.is_grad_enabled()))
        return "end"

    def outside(value):
        return value, torch.is_grad_enabled()

    running = steps()
    seen += [outside(next(running)), outside(running.send("sent")), outside(running.throw(ValueError()))]
    with pytest.raises(StopIteration) as stop:
        next(running)
    seen.append(stop.value.value)
    closed = steps()
    seen.append(outside(next(closed)))
    closed.close()

    def delegating():
        return (yield from steps())

    return seen, list(delegating()), torch.is_grad_enabled()


@scenario
def decorated_class(torch):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated") as caught:

        @torch.no_grad()
        class Model:
            def __init__(self):
                self.enabled = torch.is_grad_enabled()

    return Model().enabled, str(caught[0].message)


@scenario
def restored_after_errors(torch):
    for mode in MODES:
        with pytest.raises(ZeroDivisionError), getattr(torch, mode)():
            raise ZeroDivisionError
    return state(torch)


@scenario
def threads_have_their_own(torch):
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(state(torch)))
        thread.start()
        thread.join()
    return seen


@scenario
def multithreading_switch(torch):
    autograd = torch.autograd
    with autograd.set_multithreading_enabled(False):
        inside = autograd.is_multithreading_enabled()
    return inside, autograd.is_multithreading_enabled()


@scenario
def names(torch):
    return (
        [
            getattr(torch.autograd, name) is getattr(torch.autograd.grad_mode, name)
            for name in ("no_grad", "enable_grad", "set_grad_enabled", "set_multithreading_enabled")
        ],
        torch.no_grad is torch.autograd.no_grad,
        torch.inference_mode is torch.autograd.grad_mode.inference_mode,
    )


# -- inference Tensors ------------------------------------------------------------------------------------------------


@scenario
def inference_tensors_and_their_results(torch):
    i = inferred(torch)
    made = (i, i[0], i + 1, i.clone(), i.detach(), i.view(3, 1), i * leaf(torch).detach())
    return [(t, t.is_inference(), torch.is_inference(t)) for t in made], i[0]._is_view()


@scenario
def what_inference_mode_makes(torch):
    x = leaf(torch)
    with torch.inference_mode():
        made = (
            x * 2,
            x.detach()[0],
            x.detach(),
            torch.zeros(2),
            torch.ones(2).view(2, 1),
            torch.tensor([1.0]),
        )
        required = torch.ones(2, requires_grad=True)
        return [(t, t.is_inference()) for t in made], required, required * 2


@scenario
def inference_tensor_saved(torch):
    return leaf(torch) * inferred(torch)


@scenario
def inference_tensor_saved_by_itself(torch):
    return (leaf(torch) + inferred(torch)).sin() @ inferred(torch)


@scenario
def inference_tensor_not_saved(torch):
    x = leaf(torch)
    y = (x + inferred(torch)).sin().sum()
    y.backward()
    return x.grad


@scenario
def inference_tensor_that_no_gradient_passes(torch):
    with torch.no_grad():
        return leaf(torch) * inferred(torch)


@scenario
def inference_tensor_requires_grad(torch):
    inferred(torch).requires_grad_()


@scenario
def inference_tensor_requires_grad_inside(torch):
    with torch.inference_mode():
        return torch.ones(2).requires_grad_()


@scenario
def inference_tensor_version(torch):
    return inferred(torch)._version


@scenario
def inference_tensor_modified_inside(torch):
    with torch.inference_mode():
        i = torch.ones(3)
        i[:2].mul_(3)
        return i.add_(1)


@scenario
def inference_tensor_modifies_ordinary(torch):
    y = leaf(torch) * 1
    y.copy_(inferred(torch))
    z = torch.zeros(3)
    z.add_(inferred(torch))
    return y, z


@scenario
def ordinary_tensor_modified_in_inference_mode(torch):
    y = torch.ones(3)
    with torch.inference_mode():
        v = y[:2]
        v.mul_(2)
        y.mul_(3)
    return y, v.is_inference(), y._version


@scenario
def data_makes_inference_tensors_and_others(torch):
    made, x, y = inferred(torch), torch.zeros(3), leaf(torch)
    made.data = torch.zeros(3)
    x.data = inferred(torch)
    y.data = inferred(torch)
    return [(t, t.is_inference()) for t in (made, x, y)], x * 2, y * 2


@scenario
def parameters_of_inference_mode(torch):
    with torch.inference_mode():
        p, linear = torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(2, 2)
    buffer, fixed = torch.nn.Buffer(inferred(torch)), torch.nn.Parameter(inferred(torch), requires_grad=False)
    found = [(t.is_inference(), t.requires_grad) for t in (p, linear.weight, buffer, fixed)]
    return found, linear(torch.ones(2)).requires_grad


@scenario
def parameters_that_are_inference_tensors(torch):
    return torch.nn.Parameter(inferred(torch))


@scenario
def parameters_of_inference_mode_are_not_saved(torch):
    with torch.inference_mode():
        linear = torch.nn.Linear(3, 2)
    linear(leaf(torch))


@scenario
def views_of_an_inference_leaf(torch):
    with torch.inference_mode():
        i = torch.ones(3, requires_grad=True)
        i.resize_(2)
    return [(t, t.is_inference()) for t in (i, i[:1], i.view(2), i * 1)]


WRITES = {
    "out": lambda torch, i: torch.mul(torch.ones(3), 2, out=i),
    "several out": lambda torch, i: torch.sort(torch.ones(3), out=(i, torch.empty(3, dtype=torch.int64))),
    "resize_": lambda torch, i: i.resize_(5),
    "set_": lambda torch, i: i.set_(torch.ones(3)),
    "copy_": lambda torch, i: i.copy_(torch.ones(3)),
    "entry": lambda torch, i: i.__setitem__(0, 1.0),
    "mask": lambda torch, i: i.__setitem__(i > 0, 1.0),
    "shape": lambda torch, i: i.unsqueeze_(0),
    "view": lambda torch, i: i[:1].add_(1),
    "random": lambda torch, i: i.uniform_(),
    "nn": lambda torch, i: torch.nn.functional.relu(i, inplace=True),
    "index_add_": lambda torch, i: i.index_add_(0, torch.tensor([0]), torch.ones(1)),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
def test_inference_tensors_are_not_written_outside(write, mode):
    for library in (torch, fxt):
        with (
            getattr(library, mode)(),
            pytest.raises(RuntimeError, match="Inplace update to inference tensor"),
        ):
            WRITES[write](library, inferred(library))


@scenario
def inference_clone_is_ordinary(torch):
    c = inferred(torch).clone().requires_grad_()
    (c * c).sum().backward()
    return c.grad, c.grad.is_inference()


@pytest.mark.parametrize("mode", ["grad", "no_grad"])
def test_inference_tensor_modified_outside(mode):
    def modified(torch):
        i = inferred(torch)
        if mode == "grad":
            return i.add_(1)
        with torch.no_grad():
            return i.add_(1)

    messages = []
    for library in (torch, fxt):
        with pytest.raises(RuntimeError) as error:
            modified(library)
        messages.append(str(error.value).partition("You can make")[0].strip())
    assert messages[0] == messages[1]


# -- views ------------------------------------------------------------------------------------------------------------


def view_made_under(mode):
    def made(torch):
        y = leaf(torch) * 1
        with getattr(torch, mode)():
            v = y[:2]
        return y, v

    return made


@scenario
def view_under_no_grad_modified_outside(torch):
    _, v = view_made_under("no_grad")(torch)
    v.mul_(2)


@scenario
def view_under_inference_mode_modified_outside(torch):
    _, v = view_made_under("inference_mode")(torch)
    v.mul_(2)


@scenario
def view_under_no_grad_modified_there(torch):
    y = leaf(torch) * 1
    with torch.no_grad():
        v = y[:2]
        v.mul_(2)
        y.mul_(2)
    return y


@scenario
def parameter_updated_under_no_grad(torch):
    x = leaf(torch)
    (x * x).sum().backward()
    with torch.no_grad():
        x -= 0.1 * x.grad
        x[0].add_(1)
    return x, x.is_leaf, (x * 2)


@scenario.each()
def test_as_torch(scenario):
    check(scenario)


# -- beyond torch -----------------------------------------------------------------------------------------------------


def test_a_switch_may_be_entered_within_itself():
    switch = fxt.no_grad()
    with switch:
        with switch:
            pass
        assert not fxt.is_grad_enabled()
    assert fxt.is_grad_enabled()


def test_set_grad_enabled_may_be_entered_again():
    switch = fxt.set_grad_enabled(False)
    with switch:
        pass
    assert fxt.is_grad_enabled()
    with switch:
        assert not fxt.is_grad_enabled()
    assert fxt.is_grad_enabled()


def test_tasks_have_their_own():
    async def task(mode, seen):
        with fxt.set_grad_enabled(mode):
            for _ in range(3):
                seen.append(fxt.is_grad_enabled() is mode)
                await asyncio.sleep(0)

    async def main():
        seen = []
        await asyncio.gather(task(False, seen), task(True, seen), task(False, seen))
        return seen

    assert asyncio.run(main()) == [True] * 9
    assert fxt.is_grad_enabled()


def test_decorated_coroutine():
    @fxt.no_grad()
    async def inner():
        await asyncio.sleep(0)
        return fxt.is_grad_enabled()

    async def main():
        return await asyncio.gather(inner(), outer()), fxt.is_grad_enabled()

    async def outer():
        await asyncio.sleep(0)
        return fxt.is_grad_enabled()

    assert asyncio.run(main()) == ([False, True], True)


def test_decorated_async_generator_is_off_between_steps():
    seen = []

    @fxt.no_grad
    async def steps():
        try:
            seen.append((yield fxt.is_grad_enabled()))
            yield fxt.is_grad_enabled()
        except ValueError:
            yield ("caught", fxt.is_grad_enabled())
        finally:
            seen.append(("left", fxt.is_grad_enabled()))

    async def main():
        running = steps()
        values = [await running.asend(None), fxt.is_grad_enabled()]
        values += [await running.asend("sent"), fxt.is_grad_enabled()]
        values += [await running.athrow(ValueError()), fxt.is_grad_enabled()]
        await running.aclose()
        return values, [value async for value in steps()]

    values, again = asyncio.run(main())
    assert values == [False, True, False, True, ("caught", False), True]
    assert again == [False, False]
    assert seen == ["sent", ("left", False), None, ("left", False)]


def test_a_mode_set_inside_a_transform_ends_with_it():
    def f(x):
        y = x * 2
        fxt.set_grad_enabled(False)
        return y.sum()

    fxt.func.grad(f)(fxt.ones(2))
    assert fxt.is_grad_enabled()


def test_a_level_of_the_tape_survives_a_mode():
    def f(x):
        w = fxt.ones(2)
        with fxt.no_grad():
            w.requires_grad_()
            fxt.sin(x)
        (w * x).sum().backward()
        return w.grad

    x = fxt.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert fxt.func.vmap(f)(x).tolist() == x.tolist()
