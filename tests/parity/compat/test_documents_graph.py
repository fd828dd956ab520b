"""What the documents of torch.autograd show and say of Tensors, Functions, forward mode, checks and the graph."""

from __future__ import annotations

import inspect

import pytest
import torch

import fxgrad.compat as fxt
from tests.parity.compat.comparison import as_numpy
from tests.parity.compat.documents import uniform
from tests.parity.compat.scenarios import Scenarios, check

scenario = Scenarios()
# torch's own, of what it is made of.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


# -- Tensors ----------------------------------------------------------------------------------------------------------


@scenario
def is_leaf(torch):
    a = torch.rand(10, requires_grad=True)
    b = torch.rand(10, requires_grad=True).double()
    c = torch.rand(10, requires_grad=True) + 2
    d = torch.rand(10).double()
    e = torch.rand(10).double().requires_grad_()
    f = torch.rand(10, requires_grad=True, device="cpu")
    return [t.is_leaf for t in (a, b, c, d, e, f)]


@scenario
def grad_is_none_until_backward(torch):
    x = uniform(torch, 2, requires_grad=True)
    before = x.grad
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    return before, x.grad, y.grad, y.retains_grad, x.retains_grad


@scenario
def register_hook(torch):
    v = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    h = v.register_hook(lambda grad: grad * 2)
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    found = v.grad.clone()
    h.remove()
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    return found, v.grad


@scenario
def register_post_accumulate_grad_hook(torch):
    v = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    lr = 0.01

    def hook(p):
        p.data.add_(p.grad, alpha=-lr)

    h = v.register_post_accumulate_grad_hook(hook)
    v.backward(torch.tensor([1.0, 2.0, 3.0]))
    h.remove()
    return v


# -- Function ---------------------------------------------------------------------------------------------------------


def exponential(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, i):
            result = i.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad_output):
            (result,) = ctx.saved_tensors
            return grad_output * result

    return Exp


@scenario
def function(torch):
    x = uniform(torch, 3, requires_grad=True)
    output = exponential(torch).apply(x)
    output.sum().backward()
    return output, x.grad, output.grad_fn.name()


@scenario
def function_passes_gradcheck(torch):
    x = uniform(torch, 3).double().requires_grad_()
    exp = exponential(torch).apply
    return torch.autograd.gradcheck(exp, [x]), torch.autograd.gradgradcheck(exp, [x])


@scenario
def needs_input_grad(torch):
    class Mul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, scale):
            ctx.save_for_backward(x, y, None)
            return x * y * scale

        @staticmethod
        def backward(ctx, grad):
            _, y, none = ctx.saved_tensors
            found.append((ctx.needs_input_grad, none))
            return grad * y, None, None

    found = []
    x = uniform(torch, 2, requires_grad=True)
    Mul.apply(x, uniform(torch, 2), 1).sum().backward()
    return x.grad, found


@scenario
def non_differentiable_outputs_have_zeros(torch):
    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, places = x.sort()
            ctx.mark_non_differentiable(places)
            ctx.save_for_backward(x, places)
            return values, places

        @staticmethod
        def backward(ctx, g1, g2):
            x, places = ctx.saved_tensors
            found.append(g2)
            return torch.zeros_like(x).index_add_(0, places, g1)

    found = []
    x = uniform(torch, 3, requires_grad=True)
    values, places = Sort.apply(x)
    (values * torch.arange(3.0)).sum().backward()
    return x.grad, places.requires_grad, found


@scenario
def undefined_gradients_are_expanded(torch):
    def split(materialize):
        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(materialize)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, a, b):
                found.append(b)
                return a

        return Two.apply

    found = []
    for materialize in (True, False):
        split(materialize)(uniform(torch, 2, requires_grad=True))[0].sum().backward()
    return found


@scenario
def modified_inputs_are_marked_dirty(torch):
    class Inplace(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad

    a = torch.tensor(1.0, requires_grad=True).clone()
    b = a * a
    Inplace.apply(a)
    return a, b.requires_grad, a.grad_fn.name(), a._version


# -- forward mode -----------------------------------------------------------------------------------------------------


@scenario
def forward_mode(torch):
    fwAD = torch.autograd.forward_ad
    x, t = uniform(torch, 3), torch.ones(3)
    with fwAD.dual_level():
        inp = fwAD.make_dual(x, t)
        out = fwAD.unpack_dual(inp.exp())
        plain = fwAD.unpack_dual(x)
        kind = type(out).__name__, out._fields, isinstance(out, fwAD.UnpackedDualTensor)
        found = out.primal, out.tangent, plain.tangent
    return *found, *kind, fwAD.unpack_dual(inp).tangent


@scenario
def forward_mode_by_levels(torch):
    fwAD = torch.autograd.forward_ad
    level = fwAD.enter_dual_level()
    tangent = fwAD.unpack_dual(fwAD.make_dual(uniform(torch, 2), torch.ones(2), level=level).sin()).tangent
    fwAD.exit_dual_level(level=level)
    return level, tangent


@scenario
def forward_mode_wants_a_level(torch):
    torch.autograd.forward_ad.make_dual(uniform(torch, 2), torch.ones(2))


# -- checks of gradients ----------------------------------------------------------------------------------------------


@scenario
def gradcheck_fails(torch):
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = uniform(torch, 2).double().requires_grad_()
    quiet = torch.autograd.gradcheck(Wrong.apply, [x], raise_exception=False)
    try:
        torch.autograd.gradcheck(Wrong.apply, [x])
    except torch.autograd.gradcheck.GradcheckError as error:
        return quiet, isinstance(error, RuntimeError), str(error).splitlines()[0]


@scenario
def gradcheck_of_complex_functions(torch):
    z = torch.tensor([0.3 + 0.4j, -1.0 + 0.2j], dtype=torch.complex128, requires_grad=True)
    return torch.autograd.gradcheck(lambda z: z * z.conj() + z.exp(), [z])


@scenario
def gradgradcheck_options(torch):
    x = uniform(torch, 2, 2).double().requires_grad_()
    return torch.autograd.gradgradcheck(
        lambda x: x.pow(3),
        [x],
        [torch.ones(2, 2, dtype=torch.float64)],
        eps=1e-6,
        atol=1e-5,
        rtol=1e-3,
        gen_non_contig_grad_outputs=True,
        raise_exception=True,
        nondet_tol=0.0,
        check_undefined_grad=True,
        check_grad_dtypes=True,
        check_batched_grad=True,
        check_fwd_over_rev=True,
    )


# -- the graph --------------------------------------------------------------------------------------------------------


@scenario
def what_a_node_has_saved(torch):
    a = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
    b = a.exp()
    node = b.grad_fn
    return (
        isinstance(node, torch.autograd.graph.Node),
        torch.allclose(node._saved_result, b),
        {"_saved_result", "metadata", "name", "next_functions", "register_hook", "register_prehook"}
        <= {*dir(node)},
        node.name(),
        node.metadata,
        [(type(n).__name__, i) for n, i in node.next_functions],
    )


@scenario
def hooks_of_nodes(torch):
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a.clone()
    first = b.grad_fn.register_prehook(lambda gO: (gO[0] * 2,))
    second = b.grad_fn.register_hook(lambda gI, gO: (gO[0] * 2,))
    b.sum().backward(retain_graph=True)
    both = a.grad
    first.remove()
    second.remove()
    a.grad = None
    b.sum().backward()
    return both, a.grad


@scenario
def gradient_edges(torch):
    x = uniform(torch, 3, requires_grad=True)
    y = x * 2
    loss = (y**2).sum()
    edge = torch.autograd.graph.get_gradient_edge(y)
    same = torch.autograd.grad(loss, y, retain_graph=True), torch.autograd.grad(loss, edge, retain_graph=True)
    from_edge = torch.autograd.grad(edge, x, torch.ones(3))
    made = torch.autograd.graph.GradientEdge(edge.node, edge.output_nr)
    return same, from_edge, edge._fields[:2], made.output_nr, isinstance(edge, tuple)


@scenario
def increment_version(torch):
    x = uniform(torch, 3, requires_grad=True)
    y = x * 1
    z = y * y
    before = y._version
    torch.autograd.graph.increment_version(y)
    after = y._version
    torch.autograd.graph.increment_version([y, y])
    try:
        z.sum().backward()
    except RuntimeError as error:
        return before, after, y._version, str(error).partition(":")[0]


@scenario
def increment_version_of_inference_tensors(torch):
    with torch.inference_mode():
        x = torch.ones(2)
    torch.autograd.graph.increment_version(x)


@scenario.each()
def test_alike(scenario):
    modes = [(library, library.is_grad_enabled()) for library in (torch, fxt)]
    try:
        check(scenario)
    finally:
        for library, mode in modes:
            library.set_grad_enabled(mode)


# Parameters in all versions, in their order; torch has since renamed or dropped some.
PARAMETERS = {
    "autograd.backward": "tensors grad_tensors retain_graph create_graph grad_variables inputs",
    "autograd.grad": """
        outputs inputs grad_outputs retain_graph create_graph only_inputs allow_unused is_grads_batched
        materialize_grads
    """,
    "autograd.functional.jacobian": "func inputs create_graph strict vectorize strategy",
    "autograd.functional.hessian": "func inputs create_graph strict vectorize outer_jacobian_strategy",
    "autograd.functional.vjp": "func inputs v create_graph strict",
    "autograd.functional.jvp": "func inputs v create_graph strict",
    "autograd.functional.vhp": "func inputs v create_graph strict",
    "autograd.functional.hvp": "func inputs v create_graph strict",
    "Tensor.backward": "self gradient retain_graph create_graph inputs",
    "Tensor.register_hook": "self hook",
    "Tensor.register_post_accumulate_grad_hook": "self hook",
    "Tensor.retain_grad": "self",
    "autograd.function.FunctionCtx.mark_dirty": "self args",
    "autograd.function.FunctionCtx.mark_non_differentiable": "self args",
    "autograd.function.FunctionCtx.save_for_backward": "self tensors",
    "autograd.function.FunctionCtx.set_materialize_grads": "self value",
    "autograd.forward_ad.make_dual": "tensor tangent level",
    "autograd.forward_ad.unpack_dual": "tensor level",
    "autograd.graph.increment_version": "tensor",
    "autograd.graph.get_gradient_edge": "tensor",
    "autograd.graph.Node.register_hook": "self fn",
    "autograd.graph.Node.register_prehook": "self fn",
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    found = fxt
    for part in name.split("."):
        found = getattr(found, part)
    names = [p for p in inspect.signature(found).parameters]
    assert [n for n in PARAMETERS[name].split() if n in names] == PARAMETERS[name].split()
    assert names[: len(PARAMETERS[name].split())] == PARAMETERS[name].split()


def test_create_graph_makes_no_cycle():
    """Of which torch warns."""
    x = fxt.tensor([1.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    (second,) = fxt.autograd.grad(x.grad.sum(), x)
    assert as_numpy(second).tolist() == [6.0]
