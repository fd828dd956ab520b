"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, of functions of Tensors.

Inputs and outputs are a Tensor or a tuple of Tensors; a result has the structure of what it differentiates, nested
where it is of two of them. Where an output does not depend on an input the derivative is zero; with `strict` that is
an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.interpreter import CURRENT, api_boundary, use_context
from .._core.errors import ArgumentError, NotSupportedError, TensorError
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE_TAPE, current_tape
from .._core.tensor import Tensor
from .._make.creation import from_numpy, ones_like, zeros_like
from ..ops.joining import stack
from .forward_ad import dual_level, make_dual, unpack_dual
from .gradients import grad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

STRICT = {
    "constant": "Output {0} of the user-provided function does not require gradients. The outputs must be computed in "
    "a differentiable manner from the input when running in strict mode.",
    "pair": "Output {1} of the user-provided function is independent of input {0}. This is not allowed in strict "
    "mode.",
    "input": "The output of the user-provided function is independent of input {0}. This is not allowed in strict "
    "mode.",
    "jacobian": "The jacobian of the user-provided function is independent of input {0}. This is not allowed in "
    "strict mode when create_graph=True.",
    "hessian": "The hessian of the user-provided function is independent of input {0}. This is not allowed in strict "
    "mode when create_graph=True.",
    "linear": "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {0} is independent of the input. This is not allowed in strict mode. You should ensure that your function "
    "is twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
    "for example).",
}


def check_recorded(tensors: Sequence[Tensor | None], kind: str, output: int = 0) -> None:
    """Raise the error of strict mode about the first of some Tensors that has no history, or is none."""
    for i, tensor in enumerate(tensors):
        if tensor is None or not tensor.requires_grad:
            raise TensorError(STRICT[kind].format(i, output))


def tensor_tuple(given, what: str, name: str) -> tuple[Tensor, ...]:
    """Convert a Tensor or a tuple of Tensors to a tuple."""
    tensors = given if isinstance(given, tuple) else (given,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            subject = f"value at index {i}" if isinstance(given, tuple) else f"given {what}"
            raise ArgumentError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {subject} has type "
                f"{type(tensor)}."
            )
    return tensors


def match_structure(given, tensors: Sequence[Any]) -> Any:
    """Return a tuple where a tuple was given, otherwise the one Tensor."""
    return tuple(tensors) if isinstance(given, tuple) else tensors[0]


def is_history_kept(create_graph: bool) -> bool:
    """Whether results keep their history: where that is asked for, and inside transforms, which differentiate them."""
    return create_graph or (current_tape() is not BASE_TAPE and current_modes().is_recording)


def prepare_inputs(tensors: Sequence[Tensor], keep: bool, required: bool = True) -> tuple[Tensor, ...]:
    """Prepare the Tensors by which the function is differentiated; they keep their own history where `keep`."""
    made = []
    for x in tensors:
        own = x.view_as(x) if keep else x.detach()
        made.append(own.requires_grad_() if required and not own.requires_grad else own)
    return tuple(made)


def call_function(
    func: Callable[..., Any], inputs: Sequence[Tensor], name: str
) -> tuple[Any, tuple[Tensor, ...]]:
    """Call the function; return (its result, the result as a tuple)."""
    returned = func(*inputs)
    return returned, tensor_tuple(returned, "outputs of the user-provided function", name)


def detach_results(tensors: Sequence[Tensor], keep: bool) -> list[Tensor]:
    """Detach results, unless their history is to be kept."""
    return [t if keep or not t.requires_grad else t.detach() for t in tensors]


def grad_or_none(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors, keep: bool, **options
) -> list[Any]:
    """Call `autograd.grad`, which gives None for inputs on which nothing depends."""
    chosen = [i for i, y in enumerate(outputs) if y.requires_grad]
    if not chosen:
        return [None] * len(inputs)
    return list(
        grad(
            [outputs[i] for i in chosen],
            inputs,
            None if vectors is None else [vectors[i] for i in chosen],
            create_graph=keep,
            allow_unused=True,
            **options,
        )
    )


def replace_none(found: Sequence[Any], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Replace None by zeros."""
    return [zeros_like(x) if g is None else g for g, x in zip(found, inputs)]


def jvp_by_reverse(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Sequence[Tensor], keep: bool
) -> tuple[list[Any], list[Any]]:
    """Return (gradients, derivatives of the outputs along vectors): `grad` is linear in its `grad_outputs`, and the
    transpose of this map is the derivative. It takes reverse rules only, of functions without forward rule, too."""
    weights = [zeros_like(y).requires_grad_() for y in outputs]
    found = grad_or_none(outputs, inputs, weights, True)
    given = [(g, v) for g, v in zip(found, vectors) if g is not None]
    pulled, along = [g for g, _ in given], [v for _, v in given]
    return found, grad_or_none(pulled, weights, along, keep) if pulled else [None] * len(outputs)


def vectors_for(given, tensors: Sequence[Tensor], keep: bool, name: str, missing: str) -> tuple:
    """The vectors `v`, or 1 where none are given and there is a single number."""
    if given is None:
        if len(tensors) != 1 or tensors[0].shape.numel() != 1:
            raise TensorError(
                f"The vector v can only be None if {missing} a single Tensor with a single element."
            )
        return (ones_like(tensors[0].detach()),)
    vectors = tensor_tuple(given, "v", name)
    if len(vectors) != len(tensors):
        if len(tensors) == 1:
            raise TensorError("The given v should contain a single Tensor.")
        raise TensorError(f"v is a tuple of invalid length: should be {len(tensors)} but got {len(vectors)}.")
    for i, (v, t) in enumerate(zip(vectors, tensors)):
        if v.shape != t.shape:
            entry = f"Entry {i} in v" if len(tensors) > 1 else "v"
            raise TensorError(f"{entry} has invalid size: should be {t.shape} but got {v.shape}.")
    return prepare_inputs(vectors, keep, required=False)


OF_INPUT, OF_OUTPUT = "the input to the user-provided function is", "the user-provided function returns"


def enable_recording() -> Any:
    """A context manager in which operations are recorded, whatever the caller has set."""
    return use_context(with_modes(CURRENT.get(), grad=True))


@api_boundary
def vjp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(outputs, vᵀJ) of a function and its Jacobian.

    Args:
        func: takes and returns Tensors.
        inputs: its arguments.
        v: vectors of the shapes of the outputs; None for an output of one element.
        create_graph: the results can be differentiated; inside transforms they can in any case.
        strict: raise where an output is independent of an input.

    >>> import fxgrad.compat as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.tensor([1.0, 0.0]))[1].numpy()
    array([2., 0.], dtype=float32)
    """
    keep = is_history_kept(create_graph)
    with enable_recording():
        xs = prepare_inputs(tensor_tuple(inputs, "inputs", "vjp"), keep)
        returned, ys = call_function(func, xs, "vjp")
        if strict:
            check_outputs(ys)
        vectors = vectors_for(v, ys, keep, "vjp", OF_OUTPUT)
        found = grad_or_none(ys, xs, vectors, keep)
        if strict:
            check_connected(found, "input", "jacobian" * create_graph)
        results = detach_results(replace_none(found, xs), keep)
        return match_structure(returned, detach_results(ys, keep)), match_structure(inputs, results)


@api_boundary
def jvp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(outputs, Jv) of a function and its Jacobian, by reverse mode twice: `forward_ad` and `torch.func.jvp` cost less.

    Args are those of `vjp`, but for `v`, which has the shapes of the inputs.
    """
    keep = is_history_kept(create_graph)
    with enable_recording():
        xs = prepare_inputs(tensor_tuple(inputs, "inputs", "jvp"), keep)
        vectors = vectors_for(v, xs, keep, "jvp", OF_INPUT)
        returned, ys = call_function(func, xs, "jvp")
        if strict:
            check_outputs(ys)
        pulled, found = jvp_by_reverse(ys, xs, vectors, keep)
        if strict:
            check_connected(pulled, "input")
            check_recorded(found if create_graph else (), "jacobian")
        results = detach_results(replace_none(found, ys), keep)
        return match_structure(returned, detach_results(ys, keep)), match_structure(returned, results)


@api_boundary
def vhp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(output, vᵀH) of a function with one number as its output and its Hessian. Args are those of `jvp`."""

    def product(slopes: list, xs: tuple, vectors: tuple, keep: bool) -> list:
        return grad_or_none(replace_none(slopes, xs), xs, vectors, keep)

    return hessian_product("vhp", product, func, inputs, v, create_graph, strict)


@api_boundary
def hvp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(output, Hv) of a function with one number as its output and its Hessian. Args are those of `jvp`; `vhp` gives
    the same at less cost where second derivatives are continuous."""

    def product(slopes: list, xs: tuple, vectors: tuple, keep: bool) -> list:
        return jvp_by_reverse(replace_none(slopes, xs), xs, vectors, keep)[1]

    return hessian_product("hvp", product, func, inputs, v, create_graph, strict)


def hessian_product(
    name: str,
    product: Callable[[list, tuple, tuple, bool], list],
    func: Callable[..., Any],
    inputs,
    v,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    """Return (output, a product with the Hessian), where `product` makes that of the gradients."""
    keep = is_history_kept(create_graph)
    with enable_recording():
        xs = prepare_inputs(tensor_tuple(inputs, "inputs", name), keep)
        vectors = vectors_for(v, xs, keep, name, OF_INPUT)
        returned, ys = call_function(func, xs, name)
        check_number(returned, ys, name)
        if strict:
            check_outputs(ys)
        slopes = grad_or_none(ys, xs, None, True)
        if strict:
            check_connected(slopes, "input")
            check_recorded(slopes, "linear")
        found = product(slopes, xs, vectors, keep)
        if strict:
            check_connected(found, "pair", "hessian" * create_graph)
        return detach_results(ys, keep)[0], match_structure(
            inputs, detach_results(replace_none(found, xs), keep)
        )


def check_number(returned, outputs: Sequence[Tensor], name: str) -> None:
    """Raise unless the function returned one Tensor with one element."""
    if isinstance(returned, tuple):
        raise TensorError(f"The function given to {name} should return a single Tensor")
    if outputs[0].shape.numel() != 1:
        raise TensorError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )


def check_outputs(outputs: Sequence[Tensor]) -> None:
    """Raise, in strict mode, unless all outputs depend on something."""
    check_recorded(outputs, "constant")


def check_connected(found: Sequence[Any], kind: str, order: str = "", output: int = 0) -> None:
    """Raise, in strict mode, unless each input has a derivative, which with `order` (a kind of error) has a history."""
    for i, g in enumerate(found):
        if g is None:
            raise TensorError(STRICT[kind].format(i, output))
        if order and not g.requires_grad:
            raise TensorError(STRICT[order].format(i))


@api_boundary
def jacobian(
    func: Callable[..., Any],
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function: for every output and input a Tensor of the shapes of both, one after the other.

    Args:
        func: takes and returns Tensors.
        inputs: its arguments.
        create_graph: the result can be differentiated.
        strict: raise where an output is independent of an input.
        vectorize: all rows at once, by vmap of the backward pass, instead of one after the other.
        strategy: "reverse-mode", or with `vectorize` "forward-mode", which takes as many passes as the inputs have
            elements.

    >>> import fxgrad.compat as torch
    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0])).numpy()
    array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotSupportedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not '
                'supported together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotSupportedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`."
            )
    if vectorize and strict:
        raise TensorError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    given, keep = tensor_tuple(inputs, "inputs", "jacobian"), is_history_kept(create_graph)
    with enable_recording():
        if strategy == "forward-mode":
            returned, blocks = jacobian_forward(func, prepare_inputs(given, keep, required=False))
        else:
            xs = prepare_inputs(given, keep)
            returned, ys = call_function(func, xs, "jacobian")
            if strict:
                check_outputs(ys)
            if vectorize:
                blocks = vectorized_jacobian(ys, xs, keep)
            else:
                blocks = [jacobian_rows(i, y, xs, keep, strict, create_graph) for i, y in enumerate(ys)]
        blocks = [detach_results(row, keep) for row in blocks]
    return match_structure(returned, [match_structure(inputs, row) for row in blocks])


def jacobian_rows(
    position: int, output: Tensor, inputs: Sequence[Tensor], keep: bool, strict: bool, create_graph: bool
) -> list[Tensor]:
    """The Jacobian of the output at a position, a row after the other."""
    if output.dtype.is_complex and output.requires_grad:
        raise TensorError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}",
            hint="vectorize=True, for the gradient with respect to the real part",
        )
    rows: list[list[Tensor]] = []
    for element in output.reshape(-1).unbind():
        found = grad_or_none([element], inputs, None, keep, retain_graph=True)
        if strict:
            check_connected(found, "pair", "jacobian" * create_graph, position)
        rows.append(replace_none(found, inputs))
    if not rows:
        return [zeros_like(x).expand(0, *x.shape).reshape(*output.shape, *x.shape) for x in inputs]
    return [
        stack(column).reshape(tuple(output.shape) + tuple(x.shape)) for column, x in zip(zip(*rows), inputs)
    ]


def basis_batches(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each Tensor a batch of Tensors like it: among them all, every element is 1 once."""
    sizes = [t.shape.numel() for t in tensors]
    columns = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1], axis=1)
    return [
        from_numpy(part.reshape((-1, *t.shape)).astype(t.dtype.numpy)) for part, t in zip(columns, tensors)
    ]


def vectorized_jacobian(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], keep: bool
) -> list[list[Tensor]]:
    """The Jacobian of all outputs from one backward pass, batched over their elements."""
    found = grad_or_none(outputs, inputs, basis_batches(outputs), keep, is_grads_batched=True)
    sizes = [y.shape.numel() for y in outputs]
    blocks: list[list[Tensor]] = [[] for _ in outputs]
    for g, x in zip(found, inputs):
        rows = zeros_like(x).expand(sum(sizes), *x.shape) if g is None else g
        for block, part, y in zip(blocks, rows.split(sizes), outputs):
            block.append(part.reshape(tuple(y.shape) + tuple(x.shape)))
    return blocks


def jacobian_forward(func: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Any, list[list[Tensor]]]:
    """The Jacobian from one forward pass, batched over the elements of the inputs."""
    from ..func import vmap

    shapes: list[Any] = []
    returned: Any = None

    def jvp_along(*tangents: Tensor) -> tuple[Tensor, ...]:
        nonlocal returned
        with dual_level():
            duals = [make_dual(x, t) for x, t in zip(inputs, tangents)]
            returned, ys = call_function(func, duals, "jacobian")
            shapes[:] = [y.shape for y in ys]
            pairs = [unpack_dual(y) for y in ys]
            return tuple(zeros_like(p) if t is None else t for p, t in pairs)

    columns = vmap(jvp_along)(*basis_batches(inputs))
    sizes = [x.shape.numel() for x in inputs]
    blocks = []
    for column, shape in zip(columns, shapes):
        parts = column.movedim(0, -1).split(sizes, -1)
        blocks.append([p.reshape(tuple(shape) + tuple(x.shape)) for p, x in zip(parts, inputs)])
    return returned, blocks


@api_boundary
def hessian(
    func: Callable[..., Any],
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one number as its output: for every pair of inputs a Tensor of the shapes of both.

    Args are those of `jacobian`; `outer_jacobian_strategy="forward-mode"` with `vectorize` is forward over reverse.

    >>> import fxgrad.compat as torch
    >>> torch.autograd.functional.hessian(lambda x: (x * x * x).sum(), torch.tensor([1.0, 2.0])).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    tensor_tuple(inputs, "inputs", "hessian")

    def gradients_of_inputs(*xs: Tensor) -> tuple[Tensor, ...]:
        xs = tuple(x if x.requires_grad else x.view_as(x).requires_grad_() for x in xs)
        returned, ys = call_function(func, xs, "hessian")
        check_number(returned, ys, "hessian")
        if strict:
            check_outputs(ys)
        slopes = grad_or_none(ys, xs, None, True)
        if strict:
            check_recorded(slopes, "linear")
        return tuple(replace_none(slopes, xs))

    blocks = jacobian(gradients_of_inputs, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if isinstance(inputs, tuple) else blocks[0]


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
