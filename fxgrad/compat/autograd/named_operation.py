"""Named user-defined operations, which torch.library creates, and calls as Functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ...extend import api_boundary
from .._core.tensor import Tensor
from ..errors import NotSupportedError, TensorError
from ..ops.joining import stack
from .function import Function
from .grad_mode import no_grad

if TYPE_CHECKING:
    from .schemas import Schema

# What a kernel may be registered for beside devices: it is recorded as it runs, whatever the device.
EVERYWHERE = "CompositeImplicitAutograd"
ALIASES = (
    "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias "
    "any inputs to this custom operator or other returns"
)


class NamedOperation:
    """An operation that is called by its name, as in `torch.ops.mine.scale`, or through the result of
    `torch.library.custom_op`.

    `kernels` are functions by the type of device, None for any, "meta" for Tensors without entries; `derivative` and
    `batch` are what has been registered. Where `is_recorded`, the kernel's own operations are differentiated if nothing
    else is known; otherwise it runs without being recorded, and has the derivative that was registered.
    """

    def __init__(self, name: str, schema: Schema, is_recorded: bool):
        self.name, self.schema, self.is_recorded = name, schema, is_recorded
        self.kernels: dict[str | None, Callable[..., Any]] = {}
        self.disabled: frozenset[str] = frozenset()
        self.derivative: Derivative | None = None
        self.batch: Callable[..., Any] | None = None
        path = name.replace("::", "_")
        members = {name: staticmethod(method) for name, method in METHODS.items()}
        self.function: Any = type(f"GeneratedBackwardFor_{path}_default", (Function,), members)

    @property
    def default(self) -> NamedOperation:
        """The only overload: the operation itself."""
        return self

    @property
    def _schema(self) -> str:
        return f"{self.name}{self.schema.text}"

    def __repr__(self) -> str:
        return self.name.replace("::", ".")

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, keywords = self.schema.bind(self.name, args, kwargs)
        everywhere = self.kernels.get(EVERYWHERE)
        if everywhere is not None:
            return everywhere(*args, **keywords)
        if self.is_recorded and self.derivative is None:
            return self.find_kernel(args, keywords)(*args, **keywords)
        if self.schema.returns_nothing:
            with no_grad():
                return self.run(args, keywords)
        call, leaves = Call.of(self, args, keywords)
        output = self.function.apply(call, *leaves)
        return list(output) if self.schema.returns_list and isinstance(output, tuple) else output

    def find_kernel(self, args: tuple, keywords: dict[str, Any]) -> Callable[..., Any]:
        """Find the kernel for a call, by the device of the first Tensor.

        Raises:
            NotSupportedError, a NotImplementedError: there is none for this device.
            TensorError, a RuntimeError: Tensors have no entries, and no shapes are registered.
        """
        tensors = [t for a in (*args, *keywords.values()) for t in tensors_in(a)]
        if any(t.is_meta for t in tensors):
            if "meta" not in self.kernels:
                raise TensorError(
                    f"There was no fake impl registered for <CustomOpDef({self.name})>. This is necessary for Tensors "
                    f"without entries. Please use `{self.name.rpartition(':')[2]}.register_fake` to add an fake impl.",
                    hint="@f.register_fake def _(x): return torch.empty_like(x)",
                )
            return self.kernels["meta"]
        place = tensors[0].device.type if tensors else "cpu"
        kernel = None if place in self.disabled else self.kernels.get(place)
        kernel = kernel or self.kernels.get(None)
        if kernel is None:
            there = ", ".join(str(k).upper() for k in self.kernels) or "none"
            raise NotSupportedError(
                f"Could not run '{self.name}' with arguments from the '{place.upper()}' backend. '{self.name}' is only "
                f"available for these backends: [{there}]",
                hint=f"torch.library.register_kernel('{self.name}', '{place}', function) adds one",
            )
        return kernel

    def run(self, args: tuple, keywords: dict[str, Any]) -> Any:
        """Carry out a call. It is not differentiated here.

        Raises:
            TensorError, a RuntimeError: the kernel returned one of its operands.
        """
        output = self.find_kernel(args, keywords)(*args, **keywords)
        given = {id(t) for a in (*args, *keywords.values()) for t in tensors_in(a)}
        if any(id(t) in given for t in tensors_in(output)):
            raise TensorError(f"{self.name}: {ALIASES}", hint="return x.clone()")
        return tuple(output) if isinstance(output, list) else output

    @contextmanager
    def disable_kernel(self, places: Sequence[str]) -> Iterator[None]:
        """Do without the kernels of these devices for a while."""
        before, self.disabled = self.disabled, self.disabled | {*places}
        try:
            yield
        finally:
            self.disabled = before


class Derivative(NamedTuple):
    """The registered derivative of an operation: `backward(ctx, *grads)`, and what leaves in `ctx` what it reads."""

    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None


class Call(NamedTuple):
    """One call of an operation, without the operands that may be differentiated, which are its leaves.

    `layout` has None for an argument that is a leaf, and the number of leaves for a list of Tensors.
    """

    operation: NamedOperation
    layout: tuple[int | None, ...]
    keywords: dict[str, Any]

    @staticmethod
    def of(operation: NamedOperation, args: tuple, keywords: dict[str, Any]) -> tuple[Call, list[Any]]:
        """Split the arguments of a call into their structure and leaves."""
        layout = tuple([len(a) if isinstance(a, (list, tuple)) and tensors_in(a) else None for a in args])
        leaves = [leaf for a, count in zip(args, layout) for leaf in ([a] if count is None else a)]
        return Call(operation, layout, keywords), leaves

    def group(self, leaves: Sequence[Any], make: Callable[[Sequence[Any]], Any] = list) -> tuple:
        """Arrange values of the leaves in the structure of the arguments."""
        groups, start = [], 0
        for count in self.layout:
            end = start + (1 if count is None else count)
            groups.append(leaves[start] if count is None else make(leaves[start:end]))
            start = end
        return tuple(groups)

    def spread(self, gradients: Sequence[Any]) -> list[Any]:
        """Return a gradient for each leaf, from gradients for the arguments."""
        if len(gradients) != len(self.layout):
            raise TensorError(
                f"{self.operation.name}: backward returned {len(gradients)} gradients for {len(self.layout)} arguments",
                hint="return None for an argument that has no gradient",
            )
        return [
            leaf
            for g, count in zip(gradients, self.layout)
            for leaf in ([g] if count is None else [None] * count if g is None else g)
        ]


def tensors_in(argument: Any) -> list[Tensor]:
    """The Tensors in an argument, at any depth."""
    inside = argument if isinstance(argument, (list, tuple)) else (argument,)
    return [a for a in inside if isinstance(a, Tensor)]


# -- the methods of the Function of an operation ------------------------------------------
def forward(call: Call, *leaves: Any) -> Any:
    """Carry out the operation."""
    return call.operation.run(call.group(leaves), call.keywords)


def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
    """Call the user's function that stores in `ctx` the values for the derivative."""
    call, *leaves = inputs
    derivative = call.operation.derivative
    needed = ctx.needs_input_grad
    ctx.needs_input_grad = call.group(needed[1:])
    if derivative is not None and derivative.setup_context is not None and any(needed):
        result = list(output) if call.operation.schema.returns_list else output
        keywords = {"keyword_only_inputs": call.keywords} if call.keywords else {}
        derivative.setup_context(ctx=ctx, inputs=call.group(leaves), output=result, **keywords)
    ctx.call = call


def backward(ctx: Any, *grads: Any) -> tuple:
    """Return the gradients that the user's `backward` gives."""
    call = ctx.call
    operation = call.operation
    if operation.derivative is None:
        raise TensorError(
            f"Trying to backward through {operation!r}.default but no autograd formula was registered. Please use "
            "register_autograd to add one.",
            hint="f.register_autograd(backward, setup_context=…), backward(ctx, gradient) as in "
            "autograd.Function",
        )
    given = operation.derivative.backward(ctx, *([list(grads)] if operation.schema.returns_list else grads))
    return None, *call.spread(given if isinstance(given, tuple) else (given,))


def vmap(info: Any, in_dims: tuple, call: Call, *leaves: Any) -> tuple[Any, Any]:
    """Carry out the operation for a batch, by the registered rule or entry by entry."""
    operation = call.operation
    if operation.batch is not None:
        return operation.batch(info, call.group(in_dims[1:]), *call.group(leaves), **call.keywords)

    def take_entry(k: int) -> list[Any]:
        """The leaves of one entry of the batch."""
        return [leaf if d is None else leaf.select(d, k) for leaf, d in zip(leaves, in_dims[1:])]

    outputs = [operation(*call.group(take_entry(k)), **call.keywords) for k in range(info.batch_size)]
    if isinstance(outputs[0], (tuple, list)):
        return tuple([stack(column) for column in zip(*outputs)]), (0,) * len(outputs[0])
    return stack(outputs), 0


METHODS = {"forward": forward, "setup_context": setup_context, "backward": backward, "vmap": vmap}
