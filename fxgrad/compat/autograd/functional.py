"""torch.autograd.functional: Jacobians, Hessians and their products with vectors, of functions of Tensors.

Inputs and outputs are a Tensor or a tuple of Tensors. A result has the structure of what is differentiated; second
derivatives have a nested structure. If an output does not depend on an input the derivative is zero; with `strict` that
is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...extend import CURRENT, use_context
from .._core.error_messages import tensor_hint
from .._core.modes import current_modes, with_modes
from .._core.tape import BASE_TAPE, current_tape
from .._core.tensor import Tensor
from .._declare.generated import entry_point
from .._declare.packages import complete_module
from .._make.creation import ones_like, zeros_like
from ..errors import ArgumentError, NotSupportedError, TensorError
from ..func.forward import jvp_at
from ..func.jacobian import split_columns, split_rows, unit_tensors
from ..func.vectorize import vmap
from ..ops.joining import stack
from .gradients import grad

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


SCALAR = ("hessian", "hvp", "vhp")  # they are of functions with one number as their output


def strict_error(kind: str, *places: int) -> TensorError:
    """Return the error of strict mode about an input and an output that do not depend on one another."""
    return TensorError(STRICT[kind].format(*places), hint="strict=False, which gives zeros")


def check_recorded(tensors: Sequence[Tensor | None], kind: str, output: int = 0) -> None:
    """Raise the error of strict mode about the first value that has no history, or is not a Tensor."""
    for i, tensor in enumerate(tensors):
        if tensor is None or not tensor.requires_grad:
            raise strict_error(kind, i, output)


def tensor_tuple(given, what: str, name: str) -> tuple[Tensor, ...]:
    """Convert a Tensor or a tuple of Tensors to a tuple."""
    tensors = given if isinstance(given, tuple) else (given,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            subject = f"value at index {i}" if isinstance(given, tuple) else f"given {what}"
            raise ArgumentError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {subject} has type "
                f"{type(tensor)}.",
                hint=tensor_hint(tensor),
            )
    return tensors


def output_tuple(returned, name: str) -> tuple[Tensor, ...]:
    """Convert the result of the user's function to a tuple."""
    return tensor_tuple(returned, "outputs of the user-provided function", name)


def match_structure(given, tensors: Sequence[Any]) -> Any:
    """Return a tuple if the argument was a tuple, otherwise the single Tensor."""
    return tuple(tensors) if isinstance(given, tuple) else tensors[0]


def is_history_kept(create_graph: bool) -> bool:
    """Whether results keep their history: where that is asked for, and inside transforms, which differentiate them."""
    return create_graph or (current_tape() is not BASE_TAPE and current_modes().is_recording)


def prepare_inputs(tensors: Sequence[Tensor], keep: bool, required: bool = True) -> tuple[Tensor, ...]:
    """Prepare the Tensors by which the function is differentiated; with `keep` they retain their history."""
    made = []
    for x in tensors:
        own = x.view_as(x) if keep else x.detach()
        made.append(own.requires_grad_() if required and not own.requires_grad else own)
    return tuple(made)


def detach_results(tensors: Sequence[Tensor], keep: bool) -> list[Tensor]:
    """Detach results, unless their history is to be kept."""
    return [t if keep or not t.requires_grad else t.detach() for t in tensors]


def grad_or_none(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], vectors, keep: bool, **options
) -> list[Any]:
    """Call `autograd.grad`, which gives None for unused inputs."""
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
    """The vectors `v`; by default 1 for a single number."""
    if given is None:
        if len(tensors) != 1 or tensors[0].shape.numel() != 1:
            raise TensorError(
                f"The vector v can only be None if {missing} a single Tensor with a single element.",
                hint="v=torch.ones_like(y) of that Tensor, or a tuple of one for each",
            )
        return (ones_like(tensors[0].detach()),)
    vectors = tensor_tuple(given, "v", name)
    if len(vectors) != len(tensors):
        if len(tensors) == 1:
            raise TensorError(
                "The given v should contain a single Tensor.",
                hint="v itself, not in a tuple" if len(vectors) == 1 else "v of the first one",
            )
        raise TensorError(
            f"v is a tuple of invalid length: should be {len(tensors)} but got {len(vectors)}.",
            hint="tuple(torch.ones_like(t) for t in inputs) has one for each",
        )
    for i, (v, t) in enumerate(zip(vectors, tensors)):
        if v.shape != t.shape:
            entry = f"Entry {i} in v" if len(tensors) > 1 else "v"
            raise TensorError(
                f"{entry} has invalid size: should be {t.shape} but got {v.shape}.",
                hint=f"v.reshape({list(t.shape)})"
                if v.shape.numel() == t.shape.numel()
                else f"torch.ones({', '.join(map(str, t.shape))}) has the size",
            )
    return prepare_inputs(vectors, keep, required=False)


OF_INPUT, OF_OUTPUT = "the input to the user-provided function is", "the user-provided function returns"


def enable_recording() -> Any:
    """A context manager in which operations are recorded, regardless of the caller's mode."""
    return use_context(with_modes(CURRENT.get(), grad=True))


class FunctionCall:
    """A call of the user's function on inputs `xs`, with outputs `ys`. Results keep their history where `keep`."""

    returned: Any
    ys: tuple[Tensor, ...]

    def __init__(self, name: str, inputs, keep: bool, strict: bool):
        self.name, self.inputs, self.keep, self.strict = name, inputs, keep, strict
        self.xs = prepare_inputs(tensor_tuple(inputs, "inputs", name), keep)

    def run(self, func: Callable[..., Any]) -> None:
        """Call the function; with `strict` all its outputs must depend on something."""
        self.returned = func(*self.xs)
        self.ys = output_tuple(self.returned, self.name)
        if self.name in SCALAR:
            self.check_number()
        if self.strict:
            check_recorded(self.ys, "constant")

    def check_number(self) -> None:
        """Raise unless the function returned one Tensor with one element."""
        if isinstance(self.returned, tuple):
            raise TensorError(
                f"The function given to {self.name} should return a single Tensor",
                hint="return one of them, or their sum; jacobian takes several",
            )
        if self.ys[0].shape.numel() != 1:
            raise TensorError(
                f"The Tensor returned by the function given to {self.name} should contain a single element",
                hint="return y.sum(), or use jacobian, which takes y of any shape",
            )

    def gradients(self, kind: str) -> list[Tensor]:
        """The gradients of the outputs, with their history; in strict mode a missing one is an error of this `kind`."""
        found = grad_or_none(self.ys, self.xs, None, True)
        if self.strict:
            check_connected(found, kind)
            check_recorded(found, "linear")
        return replace_none(found, self.xs)

    def like_inputs(self, found: Sequence[Any]) -> Any:
        """Results, one for each input, in the structure of the inputs."""
        return match_structure(self.inputs, detach_results(replace_none(found, self.xs), self.keep))

    def like_outputs(self, found: Sequence[Any]) -> Any:
        """Results, one for each output, in the structure of the outputs."""
        return match_structure(self.returned, detach_results(replace_none(found, self.ys), self.keep))


@entry_point
def vjp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The pair (outputs, vᵀJ) of a function and its Jacobian.

    Args:
        v: vectors of the shapes of the outputs; None for an output of one element.

    Returns:
        A tuple (outputs, products), with the structure of the outputs and of the inputs.

    Raises:
        RuntimeError: `v` does not fit; it is not given though there are several entries; `strict` and an output is
            independent of an input.
        TypeError: `inputs`, `v` or what `func` returns are no Tensors.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vjp(lambda x: x * x, x, torch.tensor([1.0, 0.0]))[1].numpy()
    array([2., 0.], dtype=float32)
    """
    keep = is_history_kept(create_graph)
    with enable_recording():
        call = FunctionCall("vjp", inputs, keep, strict)
        call.run(func)
        vectors = vectors_for(v, call.ys, keep, "vjp", OF_OUTPUT)
        found = grad_or_none(call.ys, call.xs, vectors, keep)
        if strict:
            check_connected(found, "input", "jacobian" * create_graph)
        return call.like_outputs(call.ys), call.like_inputs(found)


@entry_point
def jvp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The pair (outputs, Jv) of a function and its Jacobian, by reverse mode twice: `forward_ad` and `torch.func.jvp`
    cost less.

    Args are those of `vjp`, but for `v`, which has the shapes of the inputs.

    Returns:
        A tuple (outputs, products), with the structure of the outputs.

    Raises:
        RuntimeError: `v` does not fit; it is not given though there are several entries; `strict` and an output is
            independent of an input.
        TypeError: `inputs`, `v` or what `func` returns are no Tensors.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.jvp(lambda x: x * x, x, torch.tensor([1.0, 0.0]))[1]
    tensor([2., 0.])
    """
    keep = is_history_kept(create_graph)
    with enable_recording():
        call = FunctionCall("jvp", inputs, keep, strict)
        vectors = vectors_for(v, call.xs, keep, "jvp", OF_INPUT)
        call.run(func)
        pulled, found = jvp_by_reverse(call.ys, call.xs, vectors, keep)
        if strict:
            check_connected(pulled, "input")
            check_recorded(found if create_graph else (), "jacobian")
        return call.like_outputs(call.ys), call.like_outputs(found)


@entry_point
def vhp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The pair (output, vᵀH) of a function with one number as its output and its Hessian. Args are those of `jvp`.

    Args:
        func: takes Tensors and returns one of a single element.

    Returns:
        A tuple (output, products), the latter with the structure of the inputs.

    Raises:
        RuntimeError: as of `vjp`, or the output has several elements.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.vhp(lambda x: (x * x * x).sum(), x, torch.tensor([1.0, 1.0]))[1]
    tensor([ 6., 12.])
    """

    return hessian_product("vhp", grad_or_none, func, inputs, v, create_graph, strict)


@entry_point
def hvp(
    func: Callable[..., Any], inputs, v=None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The pair (output, Hv) of a function with one number as its output and its Hessian. Args are those of `jvp`;
    `vhp` gives the same at less cost where second derivatives are continuous.

    Args:
        func: takes Tensors and returns one of a single element.

    Returns:
        A tuple (output, products), the latter with the structure of the inputs.

    Raises:
        RuntimeError: as of `vjp`, or the output has several elements.

    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.autograd.functional.hvp(lambda x: (x * x * x).sum(), x, torch.tensor([1.0, 1.0]))[1]
    tensor([ 6., 12.])
    """

    def product(*args) -> list[Any]:
        return jvp_by_reverse(*args)[1]

    return hessian_product("hvp", product, func, inputs, v, create_graph, strict)


def hessian_product(
    name: str,
    product: Callable[[Sequence, Sequence, Sequence, bool], list],
    func: Callable[..., Any],
    inputs,
    v,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    """Return (output, a product with the Hessian), which `product` makes of the gradients, the inputs and vectors."""
    keep = is_history_kept(create_graph)
    with enable_recording():
        call = FunctionCall(name, inputs, keep, strict)
        vectors = vectors_for(v, call.xs, keep, name, OF_INPUT)
        call.run(func)
        found = product(call.gradients("input"), call.xs, vectors, keep)
        if strict:
            check_connected(found, "pair", "hessian" * create_graph)
        return call.like_outputs(call.ys), call.like_inputs(found)


def check_connected(found: Sequence[Any], kind: str, order: str = "", output: int = 0) -> None:
    """Raise, in strict mode, unless each input has a derivative, which with `order` (a kind of error) has a history."""
    for i, g in enumerate(found):
        if g is None:
            raise strict_error(kind, i, output)
        if order and not g.requires_grad:
            raise strict_error(order, i)


@entry_point
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
        create_graph: the result can be differentiated.
        vectorize: all rows at once, by vmap of the backward pass, instead of one after the other.
        strategy: "reverse-mode", or with `vectorize` "forward-mode", which takes as many passes as the inputs have
            elements.

    Returns:
        A Tensor of shape output.shape + input.shape; tuples of them if there are several outputs or inputs.

    Raises:
        RuntimeError: `strict` and an output is independent of an input; a strategy that does not fit the other
            options.
        AssertionError: there is no such `strategy`.
        TypeError: `inputs`, or what `func` returns, are no Tensors.

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
                'supported together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.',
                hint='strategy="reverse-mode", or torch.func.jacfwd, whose result has derivatives',
            )
        if not vectorize:
            raise NotSupportedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`.",
                hint="vectorize=True",
            )
    if vectorize and strict:
        raise TensorError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`.",
            hint="vectorize=False, which looks at each output by itself",
        )
    keep = is_history_kept(create_graph)
    with enable_recording():
        if strategy == "forward-mode":
            xs = prepare_inputs(tensor_tuple(inputs, "inputs", "jacobian"), keep, required=False)
            returned, blocks = jacobian_by_columns(func, xs)
        else:
            call = FunctionCall("jacobian", inputs, keep, strict)
            call.run(func)
            returned = call.returned
            if vectorize:
                rows = grad_or_none(call.ys, call.xs, unit_tensors(call.ys), keep, is_grads_batched=True)
                total = sum(y.shape.numel() for y in call.ys)
                rows = [expand_zeros(x, total) if g is None else g for g, x in zip(rows, call.xs)]
                blocks = split_rows(rows, call.ys, call.xs)
            else:
                blocks = [jacobian_by_rows(call, i, create_graph) for i in range(len(call.ys))]
        blocks = [match_structure(inputs, detach_results(row, keep)) for row in blocks]
    return match_structure(returned, blocks)


def expand_zeros(tensor: Tensor, size: int) -> Tensor:
    """So many zeros like a Tensor, along a new first dimension."""
    return zeros_like(tensor).expand(size, *tensor.shape)


def jacobian_by_rows(call: FunctionCall, position: int, create_graph: bool) -> list[Tensor]:
    """The Jacobian of the output at a position by all inputs, one row after the other."""
    output = call.ys[position]
    if output.dtype.is_complex and output.requires_grad:
        raise TensorError(
            f"grad can be implicitly created only for real scalar outputs but got {output.dtype}",
            hint="vectorize=True, for the gradient with respect to the real part",
        )
    rows: list[list[Tensor]] = []
    for element in output.reshape(-1).unbind():
        found = grad_or_none([element], call.xs, None, call.keep, retain_graph=True)
        if call.strict:
            check_connected(found, "pair", "jacobian" * create_graph, position)
        rows.append(replace_none(found, call.xs))
    columns = map(stack, zip(*rows)) if rows else [expand_zeros(x, 0) for x in call.xs]
    return [column.reshape(output.shape + x.shape) for column, x in zip(columns, call.xs)]


def jacobian_by_columns(func: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Any, list[list[Tensor]]]:
    """The result of the function and its Jacobian, by forward mode mapped over the elements of the inputs."""
    returned: Any = None

    def call_function(*xs: Tensor) -> tuple[Tensor, ...]:
        nonlocal returned
        returned = func(*xs)
        return output_tuple(returned, "jacobian")

    def jvp_column(*tangents: Tensor) -> tuple[Tensor, ...]:
        return jvp_at(call_function, tuple(inputs), {}, range(len(inputs)), tangents)[1]

    columns = vmap(jvp_column)(*unit_tensors(inputs))
    return returned, split_columns(columns, inputs)


@entry_point
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

    Args:
        func: takes Tensors and returns one of a single element.
        create_graph: the result can be differentiated.

    Returns:
        A Tensor of shape input.shape + input.shape; a tuple of tuples of them if there are several inputs.

    Raises:
        RuntimeError: the output has several elements; or as of `jacobian`.

    >>> torch.autograd.functional.hessian(lambda x: (x * x * x).sum(), torch.tensor([1.0, 2.0])).numpy()
    array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    tensor_tuple(inputs, "inputs", "hessian")

    def gradients_of_inputs(*xs: Tensor) -> tuple[Tensor, ...]:
        call = FunctionCall("hessian", xs, True, strict)
        call.run(func)
        return tuple(call.gradients("linear"))

    blocks = jacobian(gradients_of_inputs, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if isinstance(inputs, tuple) else blocks[0]


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


complete_module(globals(), "autograd.functional")
