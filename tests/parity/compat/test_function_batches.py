"""Functions under vmap against torch: nested arguments, keywords, what rules may return, inputs modified in place."""

from __future__ import annotations

import pytest

import fxgrad.compat as fxt
from tests.parity.compat.scenarios import Scenarios, check, double  # noqa: F401

scenario = Scenarios()
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.usefixtures("double"),
]


def function(torch, generate=False, **methods):
    """A Function of these methods; nothing is saved unless they say so."""
    methods = {"setup_context": lambda ctx, inputs, output: None} | methods
    members = {name: staticmethod(method) for name, method in methods.items()}
    return type("Foo", (torch.autograd.Function,), members | {"generate_vmap_rule": generate})


# -- Tensors in containers --------------------------------------------------------------------------------------------


def nested(torch, seen, generate=False):
    """a·b₀ + b₁·k of (a, [b₀, b₁], {"k": k, "note": …}), with gradients and tangents of its own."""

    def rule(info, in_dims, a, bs, options):
        seen.append((in_dims, tuple(a.shape), [tuple(b.shape) for b in bs]))
        return a * bs[0] + bs[1] * options["k"], 0

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g * 7, None, None

    made = function(
        torch,
        generate,
        forward=lambda a, bs, options: a * bs[0] + bs[1] * options["k"],
        backward=backward,
        jvp=lambda ctx, t, u, v: t * 5,
        **({} if generate else {"vmap": rule}),
    )
    return lambda a, b, c: made.apply(a, [b, c], {"k": 4, "note": "text"})


def operands(torch, *shapes):
    return [
        torch.arange(float(torch.zeros(shape).numel())).reshape(shape) + i for i, shape in enumerate(shapes)
    ]


@pytest.mark.parametrize("generate", [False, True], ids=["own rule", "generated rule"])
@pytest.mark.parametrize(
    "in_dims", [(0, 0, 0), (0, None, 0), (None, 0, None), (1, 0, None), (0, 1, 1)], ids=str
)
def test_containers_are_mapped(in_dims, generate):
    def run(torch):
        seen = []
        given = operands(torch, *[(3,) if d is None else (2, 3) if d == 0 else (3, 2) for d in in_dims])
        result = torch.vmap(nested(torch, seen, generate), in_dims=in_dims)(*given)
        return result, str(seen)

    check(run)


@scenario
def containers_in_two_batches(torch):
    seen = []
    both = torch.vmap(torch.vmap(nested(torch, seen), in_dims=(0, 0, None)), in_dims=(0, None, 0))
    return both(*operands(torch, (2, 2, 3), (2, 3), (2, 3))), str(seen)


@scenario
def containers_are_constants_to_gradients(torch):
    seen = []
    f, (a, b, c) = nested(torch, seen), operands(torch, (3,), (3,), (3,))
    both = torch.func.grad(lambda a, b: f(a, b, c).sum(), argnums=(0, 1))(a, b)
    of_list = torch.func.grad(lambda b: f(a, b, c).sum())(b)
    return both, of_list, seen


@scenario
def containers_are_constants_to_tangents(torch):
    f, (a, b, c) = nested(torch, []), operands(torch, (3,), (3,), (3,))
    return (
        torch.func.jvp(lambda a, b: f(a, b, c), (a, b), (b, a)),
        torch.func.jvp(lambda b: f(a, b, c), (b,), (a,)),
        torch.func.jacfwd(lambda a: f(a, b, c))(a),
    )


@scenario
def containers_in_gradients_of_batches(torch):
    f, (a, b, c) = nested(torch, [], generate=True), operands(torch, (2, 3), (2, 3), (3,))

    def total(a, b):
        return f(a, b, c).sum()

    return (
        torch.vmap(torch.func.grad(total, argnums=(0, 1)))(a, b),
        torch.func.grad(lambda a, b: torch.vmap(f, in_dims=(0, 0, None))(a, b, c).sum(), argnums=(0, 1))(
            a, b
        ),
    )


def test_containers_in_tangents_of_batches():
    f, (a, b, c) = nested(fxt, [], generate=True), operands(fxt, (2, 3), (2, 3), (3,))
    y, t = fxt.func.jvp(lambda a, b: fxt.vmap(f, in_dims=(0, 0, None))(a, b, c), (a, b), (b, a))
    assert (y == a * b + c * 4).all()
    assert (t == b * 5).all()


# -- keywords ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generate", [False, True], ids=["own rule", "generated rule"])
def test_a_keyword_that_is_no_tensor(generate):
    rule = {} if generate else {"vmap": lambda info, in_dims, a, k: (a * k, in_dims[0])}
    made = function(
        fxt,
        generate,
        forward=lambda a, *, k: a * k,
        backward=lambda ctx, g: g * 7,
        jvp=lambda ctx, t: t * 5,
        **rule,
    )
    x = fxt.tensor([1.0, 2.0])

    def f(a):
        return made.apply(a, k=3)

    assert f(x).tolist() == fxt.vmap(f)(x).tolist() == [3.0, 6.0]
    assert fxt.func.grad(lambda a: f(a).sum())(x).tolist() == [7.0, 7.0]
    assert fxt.func.jvp(f, (x,), (x,))[1].tolist() == [5.0, 10.0]


@pytest.mark.parametrize("mapped", ["argument", "keyword"])
@pytest.mark.parametrize("generate", [False, True], ids=["own rule", "generated rule"])
def test_a_tensor_given_by_keyword_is_refused(generate, mapped):
    def run(torch):
        rule = {} if generate else {"vmap": lambda info, in_dims, a, k: (a * k, in_dims[0])}
        made = function(torch, generate, forward=lambda a, *, k: a * k, **rule)
        x = torch.ones(3)
        try:
            if mapped == "argument":
                torch.vmap(lambda a: made.apply(a, k=x))(torch.ones(2, 3))
            else:
                torch.vmap(lambda a: made.apply(x, k=a))(torch.ones(2, 3))
        except NotImplementedError as error:
            return str(error).partition(" Got:")[0]
        return "nothing"

    check(run)


# -- what a rule returns ----------------------------------------------------------------------------------------------

RETURNED = {
    "in front": lambda y: (y, 0),
    "at the end": lambda y: (y, 1),
    "counted from the end": lambda y: (y, -1),
    "not mapped": lambda y: (y, None),
    "one for both": lambda y: ((y, y), 0),
    "one for each": lambda y: ((y, y.sum(0)), (0, None)),
    "beside a number": lambda y: ((y, y, 3), (0, 0, None)),
    "too many": lambda y: (y, (0, 0)),
    "too few": lambda y: ((y, y), (0,)),
    "a list": lambda y: (y, [0]),
    "no pair": lambda y: (y, 0, 0),
    "a list of two": lambda y: [y, 0],
    "beyond the rank": lambda y: (y, 5),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_a_rule_returns(name):
    def run(torch):
        made = function(torch, forward=lambda a: a, vmap=lambda info, in_dims, a: RETURNED[name](a * 2))
        try:
            results = torch.vmap(lambda a: tuple_of_tensors(torch, made.apply(a)))(torch.ones(2, 3))
        except (RuntimeError, IndexError) as error:
            return isinstance(error, IndexError), str(error).partition("\n")[0][:100]
        return results

    check(run)


def tuple_of_tensors(torch, results):
    results = results if isinstance(results, tuple) else (results,)
    return tuple(r for r in results if isinstance(r, torch.Tensor))


# -- inputs modified in place -----------------------------------------------------------------------------------------


def doubled(torch, generate=False):
    """2a, in place, with seven times the gradient and twice the tangent."""
    rule = {} if generate else {"vmap": lambda info, in_dims, a: (a.mul_(2), in_dims[0])}
    return function(
        torch,
        generate,
        forward=lambda a: a.mul_(2),
        setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]),
        backward=lambda ctx, g: g * 2,
        jvp=lambda ctx, t: t.mul_(2),
        **rule,
    ).apply


def modified_in_batches(torch, generate):
    f, x = doubled(torch, generate), torch.arange(6.0).reshape(2, 3)

    def modify(a):
        a = a.clone()
        y = f(a)
        return y * 1, a * 1

    def modify_outside(a):
        a = a.clone()
        return (torch.vmap(f)(a) * a).sum() + a.sum()

    leaf = x.clone().requires_grad_()
    copy = leaf.clone()
    returned = torch.vmap(f)(copy)
    return (
        torch.vmap(modify)(x),
        torch.vmap(modify, in_dims=1, out_dims=1)(x),
        torch.vmap(torch.func.grad(lambda a: (modify(a)[0] ** 2).sum()))(x),
        torch.func.grad(modify_outside)(x),
        returned is copy,
        torch.autograd.grad((returned * copy).sum(), leaf),
    )


def test_inputs_modified_by_a_rule():
    check(lambda torch: modified_in_batches(torch, generate=False))


def test_inputs_modified_by_a_generated_rule():
    """torch refuses them."""

    def run(torch):
        return modified_in_batches(torch, generate=torch is fxt)

    check(run)


def test_tangents_of_inputs_modified_by_a_generated_rule():
    f, x = doubled(fxt, generate=True), fxt.tensor([[1.0, 2.0], [3.0, 4.0]])
    y, t = fxt.func.jvp(lambda a: fxt.vmap(lambda a: f(a.clone()), in_dims=1)(a) ** 2, (x,), (x,))
    assert y.tolist() == (4 * x * x).T.tolist()
    assert t.tolist() == (8 * x * x).T.tolist()


@scenario
def gradients_that_are_not_there(torch):
    seen = []

    def backward(ctx, g, h):
        seen.append((g is None, h is None))
        return g * 2

    made = function(
        torch,
        True,
        forward=lambda a: (a * 2, a * 3),
        setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False),
        backward=backward,
    )
    x = torch.ones(2, 3, requires_grad=True)
    torch.vmap(made.apply)(x)[0].sum().backward()
    return x.grad, seen


@scenario
def too_few_gradients(torch):
    made = function(torch, True, forward=lambda a, b: a * b, backward=lambda ctx, g: g)
    x = torch.ones(2, 3, requires_grad=True)
    torch.vmap(made.apply)(x, x).sum().backward()


@scenario.each()
def test_alike(scenario):
    check(scenario)


def test_constants_need_no_setup_context():
    """A transform that has no part in the arguments is none of the Function's business."""

    class Doubled(fxt.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

    c = fxt.ones(2)
    assert fxt.vmap(lambda x: x + Doubled.apply(c))(fxt.ones(3, 2)).tolist() == [[3.0, 3.0]] * 3
    assert fxt.func.grad(lambda x: (x * Doubled.apply(c)).sum())(fxt.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="setup_context"):
        fxt.vmap(Doubled.apply)(fxt.ones(3, 2))
    with pytest.raises(RuntimeError, match="setup_context"):
        fxt.func.grad(lambda x: Doubled.apply(x).sum())(c)


def test_a_gradient_for_a_container():
    made = function(fxt, True, forward=lambda a, bs: a * bs[0], backward=lambda ctx, g: (g, g))
    x = fxt.ones(2, 3, requires_grad=True)
    y = fxt.vmap(lambda a: made.apply(a, [a]))(x)
    with pytest.raises(
        RuntimeError, match="VmappedFooBackward returned a gradient different than None at position 2"
    ):
        y.sum().backward()
