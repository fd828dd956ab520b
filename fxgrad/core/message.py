"""The form of error messages, and the base class of all errors that fxgrad raises on purpose.

A message has up to five parts. The raiser writes the first and the hint:

    ShapeError: matmul: the inner sizes 3 and 4 differ: float64[2,3] @ float64[4,3]     what, and the values
      in:  level 2: vmap at a.py:10 → level 1: grad at a.py:12                          the open transforms
      at:  a.py:7 in loss:  y = x @ w                                                   the user's own line
      try: w.T, or fnp.pad the shorter one                                              what to write instead
      see: errors/ShapeError, or help(fx.ShapeError)                                    the class's page

The page is the docstring of the class, which `help(fx.ShapeError)` shows as well. Messages about arguments that many
functions share are in `common_errors`; hints that follow from shapes or from NumPy's messages are in `advice`.
"""

from __future__ import annotations

from collections.abc import Callable

from . import source_info
from .typing import type_of

# The address of the published documentation, with a slash at its end; "" until it is published.
SITE = ""
# The open transforms in words, or "" outside all of them. `core.interpreter` puts the real one here.
describe_chain: Callable[[], str] = str


class FxgradError(Exception):
    """The base class of all errors that fxgrad raises on purpose. Bugs in fxgrad raise other errors.

    Every class is also the built-in exception that a NumPy, JAX or torch user would catch in its place. The first line
    of a message says what is wrong, with shapes and dtypes; the lines below name the open transforms (`in:`), the line
    of your program (`at:`), what to write instead (`try:`), and the page about the class (`see:`).

    Args:
        message: what is wrong, with the values.
        hint: what to write instead.
        chain: the open transforms; by default those that are open now.
        site: the line of the user's program; by default the one that is executing. A Graph that is evaluated gives the
            line at which the failing equation was traced.

    >>> def slope(x):
    ...     return fx.grad(fnp.sin)(x)
    >>> slope(np.zeros(3))
    Traceback (most recent call last):
        ...
    fxgrad.core.errors.NonScalarError: grad is of scalar functions; the result has shape (3,)
      at:  ... in slope: ...
      try: sum it (fnp.sum), or use fx.jacrev, fx.vjp or fx.vmap(fx.grad(f))
      see: errors/NonScalarError, or help(fx.NonScalarError)

    The parts are attributes of an error that is caught:

    >>> try:
    ...     slope(np.zeros(3))
    ... except fx.FxgradError as error:
    ...     print(error.hint)
    sum it (fnp.sum), or use fx.jacrev, fx.vjp or fx.vmap(fx.grad(f))
    """

    hint: str | None
    chain: str
    site: source_info.Site

    # Whether plain values are needed where there are traced ones, as in SciPy's code.
    _plain_values_needed = False

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        chain: str | None = None,
        site: source_info.Site | None = None,
    ):
        super().__init__(message)
        self.hint = hint
        self.chain = describe_chain() if chain is None else chain
        self.site = source_info.user_frame() if site is None else site

    def __str__(self) -> str:
        parts = {"in:": self.chain, "at:": self.site.describe(), "try:": self.hint, "see:": self.page()}
        lines = [f"  {label:<4} {text}" for label, text in parts.items() if text]
        return "\n".join([super().__str__(), *lines])

    @classmethod
    def page(cls) -> str:
        """Return where the documentation has the page about this class: that of the base, for a class of the user's. It
        is an address where the documentation is published, and else a file and what shows it."""
        ours = next(kind for kind in cls.__mro__ if kind.__module__.startswith("fxgrad."))
        room, home = ("compat/", "fxgrad.compat.errors") if ".compat." in ours.__module__ else ("", "fx")
        page = f"errors/{room}{ours.__name__}"
        return f"{SITE}{page}.html" if SITE else f"{page}, or help({home}.{ours.__name__})"


def describe(value: object) -> str:
    """A value in a message: `float64[3,4]` for whatever has a shape and a dtype, `int (weak)`, or its type.

    >>> describe(np.ones((3, 4))), describe(2), describe("text")
    ('float64[3,4]', 'int (weak)', 'str')
    """
    if type(value) in (bool, int, float, complex):
        return f"{type(value).__name__} (weak)"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None or not issubclass(type_of(shape), tuple):
        return type(value).__name__
    # str(dtype) shows a foreign byte order, which dtype.name hides; float0 is a structure of one field.
    name = "+".join(getattr(dtype, "names", None) or [str(dtype).rpartition(".")[2]])
    return f"{name}[{','.join(map(str, shape))}]" + (" (weak)" if getattr(value, "weak", False) else "")
