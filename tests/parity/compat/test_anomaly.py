"""Anomaly mode against torch: what is an error, and what is reported of the forward calls behind it.

Reports are compared by the words around the stacks, and by those entries of the stacks that lie in this file.
"""

from __future__ import annotations

import re
import warnings

from tests.parity.compat.scenarios import Scenarios, check, outcome

scenario = Scenarios()

ENTRY = re.compile(r'  File "([^"]*)", line (\d+), in (\S+)\n(?:    .*\n)?')


def reported(message: str) -> tuple:
    """The words of a report, and (line, function) of the entries in this file."""
    entries = [(int(line), name) for path, line, name in ENTRY.findall(message) if path == __file__]
    return ENTRY.sub("", message).partition(" (Triggered internally")[0].strip(), entries


def watched(torch, program) -> tuple:
    """What a program returns or raises in anomaly mode, and the reports that it makes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            result = outcome(lambda library: program(), torch)
    return result, [reported(str(w.message)) for w in found]


def values(torch, *entries):
    return torch.tensor(entries, requires_grad=True)


# -- what is an error -------------------------------------------------------------------------------------------------


@scenario
def nan_in_a_gradient(torch):
    def program():
        x = values(torch, 0.0)
        y = torch.sqrt(x)
        (y * 0).sum().backward()

    return watched(torch, program)


@scenario
def nan_in_a_gradient_of_a_complex_number(torch):
    def program():
        x = torch.tensor([0j], requires_grad=True)
        (x.log() * 0).real.sum().backward()

    return watched(torch, program)


@scenario
def nan_in_the_gradient_of_one_operand(torch):
    def program():
        x, y = values(torch, 0.0), values(torch, float("inf"))
        (torch.mul(x, y) * 0).sum().backward()

    return watched(torch, program)


@scenario
def nan_that_is_given(torch):
    def program():
        x = values(torch, 0.0)
        y = torch.mul(x, 2)
        y.backward(torch.tensor([float("nan")]))

    return watched(torch, program)


@scenario
def nan_that_is_given_for_the_input_itself(torch):
    def program():
        y = values(torch, 0.0) * 2
        return torch.autograd.grad(y, y, torch.tensor([float("nan")]))

    return watched(torch, program)


@scenario
def infinities_are_none(torch):
    def program():
        x = values(torch, 0.0)
        torch.sqrt(x).sum().backward()
        return x.grad

    return watched(torch, program)


@scenario
def nan_from_a_hook_is_found_at_the_node(torch):
    def program():
        x = values(torch, 1.0)
        y = torch.exp(x)
        y.register_hook(lambda g: g * float("nan"))
        y.sum().backward()

    return watched(torch, program)


@scenario
def nan_from_the_hook_of_a_leaf_is_not_looked_at(torch):
    def program():
        x = values(torch, 1.0)
        x.register_hook(lambda g: g * float("nan"))
        torch.exp(x).sum().backward()
        return x.grad

    return watched(torch, program)


@scenario
def nan_from_a_hook_after_the_node(torch):
    def program():
        x = values(torch, 1.0)
        y = torch.exp(x)
        y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * float("nan"),))
        y.sum().backward()

    return watched(torch, program)


@scenario
def nan_is_not_looked_for(torch):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly(check_nan=False):
            x = values(torch, 0.0)
            (torch.sqrt(x) * 0).sum().backward()
    return x.grad, [str(w.message) for w in found]


@scenario
def what_was_modified(torch):
    def program():
        x = values(torch, 1.0)
        y = torch.exp(x)
        y.add_(1)
        y.sum().backward()

    result, reports = watched(torch, program)
    return result[:2], reports


@scenario
def a_second_backward(torch):
    def program():
        x = values(torch, 1.0)
        y = torch.exp(x).sum()
        y.backward()
        y.backward()

    return watched(torch, program)


@scenario
def a_hook_that_raises(torch):
    def program(register):
        def run():
            x = values(torch, 1.0)
            y = torch.exp(x)
            register(x, y, fail)
            y.sum().backward()

        return run

    def fail(*args):
        raise ValueError("in the hook")

    kinds = [
        lambda x, y, hook: y.register_hook(hook),
        lambda x, y, hook: y.grad_fn.register_prehook(hook),
        lambda x, y, hook: y.grad_fn.register_hook(hook),
        lambda x, y, hook: x.register_hook(hook),
        lambda x, y, hook: x.register_post_accumulate_grad_hook(hook),
    ]
    return [watched(torch, program(kind)) for kind in kinds]


@scenario
def an_error_before_backward_begins_is_not_reported(torch):
    return watched(torch, lambda: values(torch, 1.0, 2.0).backward())


# -- Functions --------------------------------------------------------------------------------------------------------


@scenario
def a_function_that_raises(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("Some error in backward")

    def run(a):
        out = Fails.apply(a)
        return out.sum()

    def program():
        x = torch.ones(10, 10, requires_grad=True)
        run(x).backward()

    return watched(torch, program)


@scenario
def nan_in_the_second_output_of_a_function(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.clone(), y.clone()

        @staticmethod
        def backward(ctx, g, h):
            return g, h * float("nan")

    def program():
        x = values(torch, 1.0)
        a, b = Two.apply(x, x)
        (a + b).sum().backward()

    return watched(torch, program)


@scenario
def backward_inside_backward(torch):
    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                w = torch.zeros(1, requires_grad=True)
                y = torch.sqrt(w)
                (y * 0).sum().backward()
            return g

    def program():
        x = values(torch, 1.0)
        y = Nested.apply(x)
        y.sum().backward()

    return watched(torch, program)


# -- without a forward call -------------------------------------------------------------------------------------------


@scenario
def the_forward_pass_was_outside(torch):
    x = values(torch, 0.0)
    y = (torch.sqrt(x) * 0).sum()
    return watched(torch, lambda: y.backward())


@scenario
def the_first_forward_pass_was_outside(torch):
    x = values(torch, 0.0)
    y = (x**1.5).sum()

    def program():
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (h * 0).sum().backward()

    return watched(torch, program)


# -- gradients of gradients -------------------------------------------------------------------------------------------


@scenario
def the_calls_that_induced_it(torch):
    def program():
        x = values(torch, 0.0)
        y = x**1.5
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x, create_graph=True)
        (h * 0).sum().backward()

    return watched(torch, program)


@scenario
def a_transform(torch):
    def loss(t):
        return (torch.sqrt(t) * 0).sum()

    def program():
        return torch.func.grad(loss)(torch.zeros(1))

    return watched(torch, program)


@scenario
def a_transform_of_a_transform(torch):
    def loss(t):
        return (t**1.5).sum()

    def slope(t):
        return torch.func.grad(loss)(t) * 0

    def program():
        return torch.func.grad(slope)(torch.tensor(0.0))

    return watched(torch, program)


@scenario
def a_batch_of_transforms(torch):
    def loss(t):
        return (torch.sqrt(t) * 0).sum()

    def program():
        return torch.func.vmap(torch.func.grad(loss))(torch.tensor([[1.0], [0.0]]))

    return watched(torch, program)


# -- operations in place, views, checkpoints --------------------------------------------------------------------------


@scenario
def an_operation_in_place(torch):
    def program():
        x = values(torch, 0.0)
        y = x.clone()
        y.sqrt_()
        (y * 0).sum().backward()

    return watched(torch, program)


@scenario
def checkpoints(torch):
    checkpoint = torch.utils.checkpoint.checkpoint

    def segment(t):
        return torch.sqrt(t) * 0

    def program(reentrant):
        def run():
            x = values(torch, 0.0)
            y = checkpoint(segment, x, use_reentrant=reentrant)
            y.sum().backward()

        return run

    return [watched(torch, program(reentrant)) for reentrant in (True, False)]


# -- switches ---------------------------------------------------------------------------------------------------------


def state(torch):
    return torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()


@scenario
def switches(torch):
    autograd = torch.autograd
    seen = [state(torch)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd.detect_anomaly() as found:
            seen += [state(torch), found]
            with autograd.detect_anomaly(check_nan=False):
                seen.append(state(torch))
            seen.append(state(torch))
    seen.append(state(torch))
    with autograd.set_detect_anomaly(True, False) as found:
        seen += [state(torch), found]
        with autograd.set_detect_anomaly(False):
            seen.append(state(torch))
        seen.append(state(torch))
    autograd.set_detect_anomaly(True, check_nan=False)
    seen.append(state(torch))
    autograd.set_detect_anomaly(False)
    seen.append(state(torch))
    torch.set_anomaly_enabled(True, False)
    seen.append(state(torch))
    torch.set_anomaly_enabled(False)
    return [*seen, state(torch)]


@scenario
def the_warning_of_the_context_manager(torch):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.autograd.set_detect_anomaly(True)
        torch.autograd.set_detect_anomaly(False)
        mode = torch.autograd.detect_anomaly()
        inside = state(torch)
    return (
        inside,
        [(w.category.__name__, str(w.message), w.filename == __file__) for w in found],
        mode is None,
    )


@scenario
def what_is_no_bool(torch):
    wrong = [
        lambda library: library.autograd.set_detect_anomaly("yes"),
        lambda library: library.autograd.set_detect_anomaly(1),
        lambda library: library.autograd.set_detect_anomaly(True, check_nan=1),
        lambda library: library.set_anomaly_enabled(None),
    ]
    return [outcome(program, torch)[:2] for program in wrong], state(torch)


@scenario
def what_a_node_keeps(torch):
    def program():
        x = values(torch, 1.0)
        y = torch.exp(x)
        nodes = [y.grad_fn, y.grad_fn.next_functions[0][0]]
        return [(set(n.metadata), reported("".join(n.metadata["traceback_"]))) for n in nodes]

    return watched(torch, program)


@scenario
def nothing_is_kept_outside(torch):
    y = torch.exp(values(torch, 1.0))
    return y.grad_fn.metadata, y.grad_fn.next_functions[0][0].metadata


@scenario.each()
def test_as_in_torch(scenario):
    check(scenario)
