"""torch.library: named user-defined operations, with kernels, shapes, derivatives and batching rules.

They run in Python, like `torch.autograd.Function`s, and are found as `torch.ops.mine.scale`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ._core.absence import make_absent
from ._core.operation_names import OPERATIONS, find_operation
from ._declare.packages import complete_module
from .autograd.named_operation import EVERYWHERE, Derivative, NamedOperation
from .autograd.schemas import Schema, infer_schema, read_schema
from .errors import ArgumentValueError, TensorError

COMPILED = "operations are carried out by Python here"
opcheck = make_absent("torch.library.opcheck", "torch.autograd.gradcheck examines derivatives")
wrap_triton = make_absent("torch.library.wrap_triton", COMPILED)
get_ctx = make_absent("torch.library.get_ctx", "shapes are numbers here")
get_kernel = make_absent("torch.library.get_kernel", COMPILED)

# Kernels of a Library by torch's keys: the rest are names of devices.
KEYS = {
    "": None,
    "CompositeExplicitAutograd": None,
    "CompositeImplicitAutograd": EVERYWHERE,
    "Autograd": EVERYWHERE,
}


class CustomOpDef:
    """The result of `custom_op`: calling it calls the operation, and its methods register rules.

    Args:
        function: the function that carries it out.

    >>> @torch.library.custom_op("docs_of_def::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> type(twice).__name__
    'CustomOpDef'
    """

    def __init__(self, operation: NamedOperation, function: Callable[..., Any]):
        self._opoverload, self._init_fn = operation, function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    _name = _qualname = property(lambda self: self._opoverload.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._opoverload.name})>"

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what gives results without entries, on the device "meta", of their shapes and dtypes."""
        return register_fake(self, fn)

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Register the function for Tensors on these devices.

        Args:
            device_types: the names of kinds of devices, or None for all.
            fn: the function; without it, a decorator is returned.
        """
        return register_kernel(self, device_types, fn)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Register the derivative: see `torch.library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None, /) -> Any:
        """Register what `vmap` calls: see `torch.library.register_vmap`."""
        return register_vmap(self, func)

    def set_kernel_enabled(
        self, device_type: str | Sequence[str], enabled: bool = True
    ) -> AbstractContextManager[None]:
        """Return a context manager in which the kernels of these devices do not run, but those for any device.

        Args:
            device_type: the names of kinds of devices.
            enabled: whether they run.
        """
        places = [device_type] if isinstance(device_type, str) else list(device_type)
        return self._opoverload.disable_kernel([] if enabled else places)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[object] | None = None,
) -> Any:
    """Make an operation of a function that may do with its Tensors what it likes, call NumPy, say: a decorator.

    Args:
        name: `namespace::name`; torch.ops.namespace.name is the operation as well.
        fn: the function. Its parameters and its result have annotations, or there is a `schema`.
        mutates_args: the names of the parameters that it modifies, or "unknown".
        device_types: the devices on which it runs: all of them if None.
        schema: what it takes and returns, `(Tensor x, float factor=2.0) -> Tensor`.
        tags: accepted, without meaning here.

    >>> @torch.library.custom_op("docs::scale", mutates_args=())
    ... def scale(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() * factor)
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.factor = inputs[1]
    >>> scale.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup_context)
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.ops.docs.scale(x, 3.0).sum().backward()
    >>> x.grad
    tensor([3., 3.])

    Raises:
        ArgumentValueError, a ValueError: the name has no namespace, or an annotation is missing.
    """

    def define_operation(function: Callable[..., Any]) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        operation = add_operation(name, with_defaults(read_schema(text), function), is_recorded=False)
        register_kernel(operation, device_types, function)
        return CustomOpDef(operation, function)

    return define_operation if fn is None else define_operation(fn)


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
) -> Any:
    """Make an operation of a function, as `custom_op` does. Triton's kernels, for which torch has it, are not here.

    Args:
        name: the name, with its namespace.

    >>> @torch.library.triton_op("docs::negate", mutates_args=())
    ... def negate(x: torch.Tensor) -> torch.Tensor:
    ...     return -x
    >>> negate(torch.ones(1))
    tensor([-1.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def with_defaults(schema: Schema, function: Callable[..., Any]) -> Schema:
    """Give a schema the defaults of a function, which may be more than a text says."""
    written = inspect.signature(function).parameters
    parameters = [
        p.replace(default=written[p.name].default) if p.name in written else p
        for p in schema.signature.parameters.values()
    ]
    return schema._replace(signature=schema.signature.replace(parameters=parameters))


def add_operation(name: str, schema: Schema, is_recorded: bool) -> NamedOperation:
    """Register an operation under its name, replacing any earlier one.

    Raises:
        ArgumentValueError, a ValueError: the name has no namespace.
    """
    namespace, colons, rest = name.partition("::")
    if not (namespace and colons and rest):
        raise ArgumentValueError(
            f"Expected `name` to be of the form `namespace::name`, got {name!r}",
            hint=f"'mine::{name.strip(':')}'",
        )
    operation = NamedOperation(name, schema, is_recorded)
    OPERATIONS.setdefault(namespace, {})[rest] = operation
    return operation


def get_operation(op: Any) -> NamedOperation:
    """Find an operation that is given as itself or by its name.

    Raises:
        TensorError, a RuntimeError: there is none of this name.
    """
    found = op if isinstance(op, NamedOperation) else getattr(op, "_opoverload", None)
    found = find_operation(op) if found is None and isinstance(op, str) else found
    if found is None:
        raise TensorError(f"operator {op} does not exist", hint="torch.library.custom_op defines operations")
    return found


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Register what gives an operation's results without entries, on the device "meta": also a decorator.

    The shapes of operations of a C++ library may be registered too; as these operations are not here, nothing asks for
    them.

    Args:
        allow_override: whether it may replace another.

    Raises:
        RuntimeError: there is no such operation.

    >>> @torch.library.custom_op("docs::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x + x
    >>> @torch.library.register_fake("docs::twice")
    ... def _(x):
    ...     return torch.empty_like(x)
    >>> twice(torch.ones(2, 3, device="meta")).shape
    torch.Size([2, 3])
    """
    if func is None:
        return lambda function: register_fake(op, function)
    if not isinstance(op, str) or find_operation(op) is not None:
        get_operation(op).kernels["meta"] = func
    return func


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register the function that carries out an operation on these devices, on all if None: also a decorator.

    Args:
        device_types: kinds of devices; None: all.

    Raises:
        TensorError, a RuntimeError: there is no such operation.

    >>> torch.library.define("docs_of_kernel::twice", "(Tensor x) -> Tensor")
    >>> @torch.library.register_kernel("docs_of_kernel::twice", None)
    ... def twice(x):
    ...     return 2 * x
    >>> torch.ops.docs_of_kernel.twice(torch.ones(2))
    tensor([2., 2.])
    """
    operation = get_operation(op)
    if func is None:
        return lambda function: register_kernel(operation, device_types, function)
    places = [device_types] if device_types is None or isinstance(device_types, str) else device_types
    for place in places:
        operation.kernels[KEYS.get(place, place.lower()) if place is not None else None] = func
    return func


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the derivative of an operation.

    Args:
        backward: backward(ctx, *grads) gives a gradient for each argument, None for what has none; for a list of
            Tensors a list.
        setup_context: setup_context(ctx, inputs, output) leaves in `ctx` what `backward` reads. Where there are
            arguments by keyword only, it is given `keyword_only_inputs` as well.
        lib: accepted, without meaning here.

    Raises:
        TensorError, a RuntimeError: there is no such operation.

    >>> @torch.library.custom_op("docs_of_autograd::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> torch.library.register_autograd(twice, lambda ctx, grad: 2 * grad)
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> twice(x).backward()
    >>> x.grad
    tensor(2.)
    """
    get_operation(op).derivative = Derivative(backward, setup_context)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Register what `vmap` does with an operation: func(info, in_dims, *args) returns (output, out_dims), as
    `torch.autograd.Function.vmap` does. Otherwise the entries of a batch are carried out one after another.

    Raises:
        TensorError, a RuntimeError: there is no such operation.

    >>> @torch.library.custom_op("docs_of_vmap::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return 2 * x
    >>> rule = torch.library.register_vmap(twice, lambda info, in_dims, x: (2 * x, in_dims[0]))
    >>> torch.vmap(twice)(torch.ones(2))
    tensor([2., 2.])
    """
    operation = get_operation(op)
    if func is None:
        return lambda function: register_vmap(operation, function)
    operation.batch = func
    return func


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Sequence[object] = ()) -> None:
    """Define an operation that has no kernel yet.

    Args:
        tags: accepted and without effect.

    Raises:
        ValueError: the name is not "namespace::name".

    >>> torch.library.define("docs::add_one", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("docs::add_one", "cpu")
    ... def add_one(x):
    ...     return x + 1
    >>> torch.ops.docs.add_one(torch.zeros(2))
    tensor([1., 1.])
    """
    add_operation(qualname, read_schema(schema), is_recorded=True)


def impl(
    qualname: str,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register the function that carries out a defined operation on devices of these types, "default" for all: also a
    decorator.

    Raises:
        TensorError, a RuntimeError: there is no such operation.

    >>> torch.library.define("docs_of_impl::twice", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("docs_of_impl::twice", "default")
    ... def twice(x):
    ...     return 2 * x
    >>> torch.ops.docs_of_impl.twice(torch.ones(2))
    tensor([2., 2.])
    """
    places = [types] if isinstance(types, str) else types
    return register_kernel(qualname, [EVERYWHERE if p == "default" else p for p in places], func)


class Library:
    """Operations of one namespace, defined by their schemas.

    Args:
        ns: the namespace.
        kind: "DEF" or "FRAGMENT" to define operations, "IMPL" to register kernels of others'.
        dispatch_key: the kind of device for which kernels are if nothing else is said.

    Raises:
        ValueError: there is no such `kind`.

    >>> library = torch.library.Library("docs", "FRAGMENT")
    >>> _ = library.define("thrice(Tensor x) -> Tensor")
    >>> library.impl("thrice", lambda x: 3 * x, "CPU")
    >>> torch.ops.docs.thrice(torch.ones(1))
    tensor([3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ArgumentValueError(
                f"Unsupported library kind: {kind}",
                hint='"DEF" for a new namespace, "FRAGMENT" to add to one, "IMPL" for further kernels',
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(
        self, schema: str, alias_analysis: str = "", *, tags: Sequence[object] = (), overload_name: str = ""
    ) -> str:
        """Define the operation of a schema, and return its name.

        Args:
            schema: "name(Tensor x) -> Tensor".
            alias_analysis, tags: accepted and without effect.
            overload_name: which of several of this name it is.

        Raises:
            ValueError: the schema does not begin with a name.
        """
        read = read_schema(schema)
        add_operation(f"{self.ns}::{read.name}", read, is_recorded=True)
        return read.name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register a kernel. One of an operation of a C++ library is taken note of; it is not called from here.

        Args:
            op_name: the name of the operation, or itself.
            fn: the function.
            dispatch_key: the kind of devices; none: all.
            with_keyset: accepted and without effect.
            allow_override: whether it may take the place of another.

        Raises:
            RuntimeError: there is no such operation.
        """
        name = op_name if isinstance(op_name, str) else get_operation(op_name).name
        full = name if "::" in name else f"{self.ns}::{name}"
        if find_operation(full) is not None:
            register_kernel(full, dispatch_key or self.dispatch_key, fn)

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Record a kernel for all operations. There are no calls that it could serve.

        Args:
            fn: the function.
            dispatch_key, with_keyset: accepted and without effect.
        """

    def _destroy(self) -> None:
        """Forget the operations of this namespace, if it was defined here."""
        if self.kind != "IMPL":
            OPERATIONS.pop(self.ns, None)


def fallthrough_kernel(*args: object, **options: object) -> None:
    """Stand for passing on to the next kernel, in `Library.impl`; it is not to be called.

    Raises:
        TensorError, a RuntimeError: always.

    >>> try:
    ...     torch.library.fallthrough_kernel()
    ... except RuntimeError:
    ...     print("it is not to be called")
    it is not to be called
    """
    raise TensorError("fallthrough_kernel() should never be called.")


__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


complete_module(globals(), "library")
