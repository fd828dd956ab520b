"""The backward hooks of modules against torch: what they get and replace, and in which passes they are called."""

from __future__ import annotations

import gc
import weakref

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:Full backward hook is firing"
    ),  # torch's, where no input requires a gradient
    pytest.mark.filterwarnings("ignore:Using backward:UserWarning"),
]


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


def listed(gradients):
    return [None if g is None else g.tolist() for g in gradients]


class Hooked:
    """A module that computes a function, and what its backward hooks are called with."""

    def __init__(self, torch, function, replace=None, replace_output=None):
        class Compute(torch.nn.Module):
            def forward(self, *args):
                return function(*args)

        self.log = []
        self.module = Compute()
        self.module.register_full_backward_pre_hook(self.note_output(replace_output))
        self.module.register_full_backward_hook(self.note_input(replace))

    def note_output(self, replace):
        def hook(module, grad_output):
            self.log.append(listed(grad_output))
            return None if replace is None else replace(grad_output)

        return hook

    def note_input(self, replace):
        def hook(module, grad_input, grad_output):
            self.log.append((listed(grad_input), listed(grad_output)))
            return None if replace is None else replace(grad_input)

        return hook

    def run(self, *args, loss=lambda result: result.sum()):
        """Run backward from the module's result; return what the hooks saw, and the gradients of the arguments."""
        loss(self.module(*args)).backward()
        return self.log, [getattr(a, "grad", None) for a in args]


def first(results):
    return results[0].sum()


@scenario
def hooks_of_all_modules(torch):
    places, log = torch.nn.modules.module, []
    handles = [
        places.register_module_forward_pre_hook(lambda m, args: log.append((type(m).__name__, "before"))),
        places.register_module_forward_hook(
            lambda m, args, y: log.append((type(m).__name__, "after")) or y * 2
        ),
        places.register_module_full_backward_pre_hook(
            lambda m, gy: log.append((type(m).__name__, listed(gy)))
        ),
        places.register_module_full_backward_hook(
            lambda m, gx, gy: log.append((type(m).__name__, listed(gx)))
        ),
    ]
    try:
        net = torch.nn.Sequential(torch.nn.ReLU())
        net[0].register_forward_hook(lambda m, args, y: log.append("its own"))
        x = values(torch, 1.0, -2.0)
        net(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    net(x)
    return log, x.grad


@scenario
def hooks_of_registration(torch):
    places, log = torch.nn.modules.module, []
    handles = [
        places.register_module_parameter_registration_hook(
            lambda m, name, p: log.append(("parameter", name))
        ),
        places.register_module_buffer_registration_hook(lambda m, name, b: b + 1 if name == "mine" else None),
        places.register_module_module_registration_hook(lambda m, name, child: log.append(("module", name))),
    ]
    try:
        net = torch.nn.Sequential(torch.nn.Linear(2, 1))
        net.more = torch.nn.ReLU()
        net.register_buffer("mine", torch.zeros(1))
    finally:
        for handle in handles:
            handle.remove()
    return sorted(log), net.mine


@scenario
def lists_of_hooks_are_at_hand(torch):
    module, log = torch.nn.ReLU(), []
    handle = module.register_forward_hook(lambda m, args, y: log.append(1))
    names = ("forward", "forward_pre", "backward", "backward_pre", "state_dict", "load_state_dict_pre")
    counts = [len(getattr(module, f"_{name}_hooks")) for name in names]
    own = torch.nn.ReLU()
    own._forward_hooks[0] = lambda m, args, y: log.append(2)
    for m in (module, own):
        m(torch.ones(1))
    module._forward_hooks.clear()
    module(torch.ones(1))
    other = torch.nn.ReLU()
    other._forward_hooks = dict(own._forward_hooks)
    third = torch.nn.ReLU()
    third.__setstate__({"_forward_pre_hooks": {0: lambda m, args: log.append(3)}})
    for m in (other, third):
        m(torch.ones(1))
    handle.remove()
    with_kwargs = torch.nn.ReLU()
    with_kwargs.register_forward_pre_hook(lambda m, args, kwargs: log.append(len(args)), with_kwargs=True)
    with_kwargs(torch.ones(1))
    return counts, log, [callable(hook) for hook in own._forward_hooks.values()]


@scenario
def arguments_of_all_kinds(torch):
    def product(a, b):
        return a * b

    others = [values(torch, 3.0, 4.0), torch.ones(2), torch.tensor([1, 2]), 3]
    return [Hooked(torch, product).run(values(torch, 1.0, 2.0), other) for other in others]


@scenario
def results_of_all_kinds(torch):
    functions = [
        lambda a: (a * 2, a * 3),
        lambda a: (a * 2, a.detach()),
        lambda a: (a * 2, a > 0),
        lambda a: (a * 2, 5),
    ]
    return [Hooked(torch, f).run(values(torch, 1.0, 2.0), loss=first) for f in functions]


@scenario
def an_argument_that_is_not_used(torch):
    return Hooked(torch, lambda a, b: a * 2).run(values(torch, 1.0, 2.0), values(torch, 1.0))


@scenario
def no_argument_requires_a_gradient(torch):
    w = values(torch, 1.0, 1.0)
    found = Hooked(torch, lambda a: a * w).run(torch.ones(2)), Hooked(torch, lambda: w * 2).run()
    return found, w.grad


@scenario
def nothing_is_recorded(torch):
    hooked = Hooked(torch, lambda a: a * 2)
    with torch.no_grad():
        hooked.module(values(torch, 1.0))
    hooked.module(torch.ones(1))
    return hooked.log


@scenario
def gradients_that_are_replaced(torch):
    def product(a, b):
        return a * b

    def replace(grad_input):
        return grad_input[0] * 2, torch.ones(2)

    others = [values(torch, 3.0, 4.0), torch.ones(2), 3]
    found = [Hooked(torch, product, replace).run(values(torch, 1.0, 2.0), other) for other in others]
    unused = Hooked(torch, lambda a, b: a * 2, replace).run(values(torch, 1.0, 2.0), values(torch, 5.0, 6.0))
    return found, unused


@scenario
def gradients_of_results_that_are_replaced(torch):
    def replace(grad_output):
        return tuple([torch.ones(2) if g is None else g * 5 for g in grad_output])

    one = Hooked(torch, lambda a: a * 2, replace_output=replace).run(values(torch, 1.0, 2.0))
    two = Hooked(torch, lambda a: (a * 2, a * 3), replace_output=replace)
    return one, two.run(values(torch, 1.0, 2.0), loss=first)


@scenario
def replacements_of_another_number(torch):
    found = []
    for options in ({"replace": lambda g: (*g, None)}, {"replace_output": lambda g: (*g, None)}):
        with pytest.raises(RuntimeError) as error:
            Hooked(torch, lambda a: a * 2, **options).run(values(torch, 1.0))
        found.append(str(error.value).partition("\n")[0])
    return found


@scenario
def several_hooks_of_a_kind(torch):
    hooked = Hooked(torch, lambda a: a * 2, lambda g: (g[0] * 2,), lambda g: (g[0] * 5,))
    hooked.module.register_full_backward_hook(hooked.note_input(lambda g: (g[0] * 3,)))
    hooked.module.register_full_backward_pre_hook(hooked.note_output(lambda g: (g[0] * 7,)))
    return hooked.run(values(torch, 1.0))


@scenario
def every_backward_of_one_call(torch):
    x = values(torch, 3.0)
    hooked = Hooked(torch, lambda a: a * a)
    y = hooked.module(x)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    return hooked.log, x.grad


@scenario
def parts_of_one_call(torch):
    x, z = values(torch, 3.0), values(torch, 4.0)
    hooked = Hooked(torch, lambda a, b: (a * 2, b * 3))
    p, q = hooked.module(x, z)
    found = [
        torch.autograd.grad(p.sum(), x, retain_graph=True),
        torch.autograd.grad((p + q).sum(), z),
    ]
    return found, hooked.log


@scenario
def gradients_of_gradients(torch):
    """They do not come through the results of the module."""
    x = values(torch, 3.0)
    hooked = Hooked(torch, lambda a: a**4)
    y = hooked.module(x).sum()
    found = []
    for _ in range(3):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y.item())
    return found, hooked.log


@scenario
def gradients_of_gradients_of_a_loss(torch):
    x, log = values(torch, 1.0, 2.0), []
    loss = torch.nn.MSELoss()
    loss.register_full_backward_hook(lambda module, *given: log.append([listed(gs) for gs in given]))
    (g,) = torch.autograd.grad(loss(x, torch.zeros(2)), x, create_graph=True)
    g.sum().backward()
    return log, x.grad


@scenario
def gradients_of_replaced_gradients(torch):
    x = values(torch, 1.0, 2.0)
    hooked = Hooked(torch, torch.tanh, lambda g: (g[0] * 2,))
    (g,) = torch.autograd.grad(hooked.module(x).sum(), x, create_graph=True)
    g.sum().backward()
    return g.detach(), x.grad, len(hooked.log)


@scenario
def gradients_of_gradients_of_two_modules(torch):
    x = values(torch, 0.5, 1.5)
    inner, outer = Hooked(torch, torch.tanh), Hooked(torch, torch.tanh)
    (g,) = torch.autograd.grad(outer.module(inner.module(x)).sum(), x, create_graph=True)
    first_pass = len(inner.log), len(outer.log)
    g.sum().backward()
    return first_pass, len(inner.log), len(outer.log), x.grad


@scenario
def in_place_operations_on_arguments(torch):
    x = values(torch, 1.0, -2.0)
    return Hooked(torch, lambda a: a.mul_(2)).run(x * 3)


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)


# -- ours alone -------------------------------------------------------------------------------------------------------


def test_lists_are_watched_as_tuples_are():
    """torch warns, and does not call the hooks."""
    hooked = Hooked(fxt, lambda a: [a * 2, a * 3])
    assert hooked.run(values(fxt, 1.0), loss=first)[0] == [[[1.0], None], ([[2.0]], [[1.0], None])]


def test_inside_transforms():
    """torch refuses hooks inside `vmap`."""
    log = []
    square = fxt.nn.Module()
    square.forward = lambda a: a * a
    square.register_full_backward_hook(lambda module, *given: log.append([tuple(g[0].shape) for g in given]))
    assert fxt.func.grad(square)(fxt.tensor(3.0)).item() == 6.0
    assert fxt.func.vmap(fxt.func.grad(square))(fxt.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert fxt.func.jacrev(square)(fxt.tensor([1.0, 2.0])).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    primal, tangent = fxt.func.jvp(square, (fxt.tensor(3.0),), (fxt.tensor(1.0),))
    assert (primal.item(), tangent.item()) == (9.0, 6.0)
    assert log == [[(), ()], [(), ()], [(2,), (2,)]]


def test_hooks_keep_no_graph_alive():
    gc.collect()
    gc.disable()
    try:
        hooked = Hooked(fxt, lambda a: a * a)
        x = values(fxt, 1.0)
        y = hooked.module(x)
        references = weakref.ref(y), weakref.ref(y.grad_fn)
        y.sum().backward()
        del y
        assert [reference() for reference in references] == [None, None]
    finally:
        gc.enable()
