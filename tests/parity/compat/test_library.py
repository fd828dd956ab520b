"""torch.library: operations by name are called, differentiated and mapped as torch's, and refuse what torch refuses."""

import numpy as np
import pytest
import torch

import fxgrad.compat as fxc

NAMES = iter(range(1000))


@pytest.fixture(params=[fxc, torch], ids=["ours", "torch"])
def library(request):
    return request.param


@pytest.fixture
def make(library):
    """A function that makes an operation of ours in a namespace of its own, which is left out again."""
    namespace = f"fxgrad_tests_{next(NAMES)}"

    def make_scale():
        def scale(x, factor=2.0):
            return library.from_numpy(x.detach().numpy() * factor)

        scale.__annotations__ = {"x": library.Tensor, "factor": float, "return": library.Tensor}
        op = library.library.custom_op(f"{namespace}::scale", mutates_args=())(scale)
        return op, getattr(library.ops, namespace)

    yield make_scale
    fxc.library.Library(namespace, "FRAGMENT")._destroy()


def record_derivative(op):
    op.register_autograd(
        lambda ctx, g: (g * ctx.factor, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
    )


def test_an_operation_is_found_by_its_name_and_takes_keywords(make, library):
    scale, namespace = make()
    x = library.ones(3)
    calls = [
        scale(x),
        scale(x, 4.0),
        scale(x=x, factor=5.0),
        namespace.scale(x),
        namespace.scale.default(x),
    ]
    assert [c.tolist()[0] for c in calls] == [2, 4, 5, 2, 2]
    assert not hasattr(namespace, "other")


def test_derivatives_are_what_was_registered(make, library):
    scale, _ = make()
    x = library.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        scale(x).sum().backward()
    record_derivative(scale)
    y = scale(x, factor=3.0)
    assert type(y.grad_fn).__name__.startswith("GeneratedBackwardFor_")
    (g,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
    assert g.tolist() == [18, 18, 18]
    assert not scale(x.detach()).requires_grad


def test_batches_go_entry_by_entry_or_as_registered(make, library):
    scale, _ = make()
    x = library.arange(6.0).reshape(2, 3)
    assert library.vmap(scale, in_dims=1, out_dims=1)(x).tolist() == (2 * x).tolist()
    scale.register_vmap(lambda info, in_dims, x, factor=2.0: (x + info.batch_size, in_dims[0]))
    assert library.vmap(scale)(x).tolist() == (x + 2).tolist()


def test_lists_of_tensors_and_keywords_have_their_places(make, library):
    seen = []
    _, namespace = make()

    def join(xs, n, *, k=1):
        return library.cat(xs) * n * k, library.ones(1)

    tensor = library.Tensor
    join.__annotations__ = {"xs": list[tensor], "n": int, "k": int, "return": tuple[tensor, tensor]}
    op = library.library.custom_op(f"{namespace.scale}".replace(".scale", "::join"), mutates_args=())(join)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.factor, ctx.sizes = inputs[1] * keyword_only_inputs["k"], [len(x) for x in inputs[0]]

    def backward(ctx, g, other):
        seen.append((ctx.needs_input_grad, other.tolist()))
        return [part * ctx.factor for part in g.split(ctx.sizes)], None

    op.register_autograd(backward, setup_context=setup_context)
    a, b = library.ones(2, requires_grad=True), library.ones(1)
    joined, _ = op([a, b], 2, k=3)
    assert joined.tolist() == [6, 6, 6]
    joined.sum().backward()
    assert a.grad.tolist() == [6, 6]
    assert seen == [(([True, False], False), [0.0])]


def test_shapes_come_from_what_was_registered(make, library):
    scale, _ = make()
    x = library.ones(2, 3, device="meta")
    with pytest.raises(RuntimeError, match="There was no fake impl registered"):
        scale(x)
    scale.register_fake(lambda x, factor=2.0: library.empty_like(x))
    assert scale(x).shape == (2, 3)
    assert scale(x).is_meta


def test_bad_calls_are_refused_in_torchs_words(make, library):
    scale, _ = make()
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'nothing' for operator"):
        scale(library.ones(1), nothing=1)
    with pytest.raises(
        RuntimeError, match="Expected a value of type 'Tensor' for argument 'x' but instead found"
    ):
        scale(2.0)
    with pytest.raises(ValueError, match="Parameter x must have a type annotation"):
        library.library.custom_op("mine::untyped", mutates_args=())(lambda x: x)
    with pytest.raises(RuntimeError, match="must not also be an input to this custom operator"):
        identity = library.library.custom_op(
            f"{scale._qualname}_id", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor"
        )
        identity(library.ones(1))


def test_schemas_are_written_as_torch_writes_them():
    def write(library):
        def f(x, n, m, o=None, b=True, d=library.float32, s="a", *, z=3): ...

        tensor = library.Tensor
        kinds = [tensor, int, list[int], tensor | None, bool, library.dtype, str, float | int | bool]
        f.__annotations__ = dict(zip("xnmobdsz", kinds), **{"return": tuple[tensor, int]})
        return library.library.infer_schema(f, mutates_args=("x",))

    assert write(fxc) == write(torch)


def test_a_library_defines_by_schema_and_its_kernels_are_recorded(make, library):
    _, namespace = make()
    name = f"{namespace.scale}".partition(".")[0]
    fragment = library.library.Library(name, "FRAGMENT")
    fragment.define("twice(Tensor x, int n=2) -> Tensor")
    x = library.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match=f"Could not run '{name}::twice'"):
        namespace.twice(x)
    fragment.impl("twice", lambda x, n=2: x * n, "CompositeImplicitAutograd")
    namespace.twice(x, n=4).sum().backward()
    assert x.grad.tolist() == [4, 4]
    library.library.define(f"{name}::add_", "(Tensor(a!) x, Tensor y) -> ()")

    @library.library.impl(f"{name}::add_", "cpu")
    def add_in_place(x, y):
        x.add_(y)

    z = library.zeros(1)
    assert namespace.add_(z, library.ones(1)) is None
    assert z.tolist() == [1]


def test_numbers_of_an_operation_on_numpy_arrays_pass_gradcheck(make, library):
    scale, _ = make()
    record_derivative(scale)
    x = library.tensor(np.linspace(-1, 1, 4), requires_grad=True)
    assert library.autograd.gradcheck(lambda x: scale(x, 3.0), x)
