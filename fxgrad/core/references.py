"""References as transforms see them: cells that a function is given, or closes over, and writes into.

A transform that stages or maps its function hands the values of references to a pure function, in which other
references hold them, and writes what these hold in the end into its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from . import pytree
from .errors import ImmutableError, StructureError
from .typing import type_of


class Reference:
    """The base of references (`numpy.refs.Ref`).

    `box` is what holds the value, and None once the reference has ended.
    """

    __slots__ = ("__weakref__", "box")

    box: Any

    def __init__(self, value: Any):
        raise NotImplementedError

    def open_box(self) -> Any:
        """Return the box, whose value must be one of the body that is being staged, if there is one."""
        raise NotImplementedError

    def assign(self, value: Any) -> None:
        """Replace the whole value."""
        raise NotImplementedError

    def renew(self, value: Any) -> None:
        """Hold a value from here on, which belongs to the body that is being staged."""
        raise NotImplementedError

    @property
    def value(self) -> Any:
        """What it holds now."""
        return self.open_box().value

    def end(self) -> Any:
        """Return the value, and be of no use from here on."""
        value, self.box = self.value, None
        return value


class OuterRefError(ImmutableError):
    """A `Ref` made outside of a function that is being staged, and written or read inside it.

    The body would be staged once, and the Ref changed once, however often the code runs. (`jit`, loops and branches
    take such a Ref along; `checkpoint`, `make_graph` and derivatives of loops cannot.)

    >>> total = fx.new_ref(0.0)
    >>> def add(x):
    ...     total[...] = total[...] + x
    ...     return x
    >>> fx.make_graph(add)(1.0)
    Traceback (most recent call last):
        ...
    fxgrad.core.references.OuterRefError: an array f64[] made outside of make_graph is written into inside: ...
      in:  level 1: make_graph at ...
      at:  ...
      try: make it inside, or hand in its value; what a backward pass writes into needs a loop in Python
      see: errors/OuterRefError, or help(fx.OuterRefError)

    >>> def add(total, x):
    ...     total = fx.new_ref(total)
    ...     total[...] = total[...] + x
    ...     return fx.freeze(total)
    >>> print(fx.make_graph(add)(0.0, 1.0)(0.0, 1.0)[0])
    1.0
    """

    def __init__(self, message: str, ref: Reference, **options: Any):
        super().__init__(message, **options)
        self.ref = ref


is_reference = Reference.__instancecheck__  # at C's speed


def references_in(tree: Any) -> list[Reference]:
    """Return the references among the leaves of a tree."""
    return [leaf for leaf in pytree.leaves(tree) if is_reference(leaf)]


def ensure_distinct(refs: Sequence[Reference], name: str) -> None:
    """Raise where a function is given a reference twice.

    Raises:
        StructureError: one of two would not see what is written into the other.
    """
    if len({*map(id, refs)}) < len(refs):
        twice = next(ref for i, ref in enumerate(refs) if ref in refs[:i])
        raise StructureError(
            f"{name}: a reference {twice.open_box().aval!r} is given twice, or given to a function that also closes "
            "over it",
            hint="give it once, as one argument",
        )


@contextmanager
def inside_body(refs: Sequence[Reference], values: Sequence[Any]) -> Generator[list[Any]]:
    """Let references hold these values, which belong to a body; the list gets what they hold in the end."""
    outside = [ref.box for ref in refs]
    after: list[Any] = []
    try:
        for ref, value in zip(refs, values):
            ref.renew(value)
        yield after
        after += [ref.value for ref in refs]
    finally:
        for ref, box in zip(refs, outside):
            ref.box = box


class Held:
    """A reference among the arguments of a transform: a pytree whose one leaf is its value."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: Callable[[Any], Reference], value: Any):
        self.kind, self.value = kind, value

    def open(self) -> Reference:
        """Return another reference that holds the value."""
        return self.kind(self.value)


def hold(leaf: Any) -> Any:
    """Return what stands for a leaf: for a reference its value, for any other that itself."""
    return Held(type_of(leaf), leaf.value) if is_reference(leaf) else leaf


pytree.register_pytree_node(
    Held, lambda held: ((held.value,), held.kind), lambda kind, children: Held(kind, *children)
)


class PureFunction:
    """A function with references as a pure one.

    From the values of the references that it closes over, and arguments in which references are `Held`, it makes its
    result, the values of those among the arguments, and of those that it closes over, as they are in the end. `closed`
    grows while these become known. `staged` is this function as a transform calls it.
    """

    def __init__(self, fun: Callable[..., Any], name: str):
        self.fun, self.__name__ = fun, name
        self.staged: Callable[..., Any] = self
        self.closed: list[Reference] = []

    def __call__(self, values: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        given: list[Reference] = []

        def open_leaf(leaf: Any) -> Any:
            if type(leaf) is not Held:
                return leaf
            given.append(leaf.open())
            return given[-1]

        args, kwargs = pytree.map(open_leaf, (args, kwargs), is_leaf=Held.__instancecheck__)
        with inside_body(self.closed, values) as after:
            result = self.fun(*args, **kwargs)
        return result, [ref.end() for ref in given], after

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the function's result by `staged`, and write into the references.

        Raises:
            OuterRefError: it closes over a reference that must not be read where this is called.
        """
        given = references_in((args, kwargs))
        args, kwargs = pytree.map(hold, (args, kwargs))
        while True:
            refs = [*given, *self.closed]
            ensure_distinct(refs, "jit")
            try:
                result, *after = self.staged([ref.value for ref in self.closed], *args, **kwargs)
            except OuterRefError as error:
                if error.ref in self.closed:  # the function of another transform uses it
                    raise
                error.ref.open_box()  # raises where it was made further out
                self.closed.append(error.ref)
            else:
                for ref, value in zip(refs, [*after[0], *after[1]]):
                    ref.assign(value)
                return result
