"""What torch has and this surface has not: names that can be imported, and say so when they are used."""

from __future__ import annotations

from typing import Any, NoReturn

from .errors import NotSupportedError


class AbsentClass(type):
    """The type of what `make_absent` returns. These are classes, so that programs may annotate with them, ask
    `isinstance` and derive from them; parts of them (`ReduceOp.SUM`) are absent as well.
    """

    absent: tuple[str, str]

    def __call__(cls, *args: object, **options: object) -> NoReturn:
        name, reason = cls.absent
        raise NotSupportedError(f"{name} is not there: {reason}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        whole, reason = cls.absent
        return make_absent(f"{whole}.{name}", reason)

    def __repr__(cls) -> str:
        return f"<{cls.absent[0]}, which is not there>"


def make_absent(name: str, reason: str) -> type:
    """Make a class that stands for a name of torch's and raises NotSupportedError, a NotImplementedError, when called.

    >>> from fxgrad.compat._core.absence import make_absent
    >>> tracer = make_absent("torch.fx.Tracer", "programs are not rewritten here")
    >>> isinstance(3, tracer)
    False
    >>> tracer()
    Traceback (most recent call last):
        ...
    fxgrad.compat._core.errors.NotSupportedError: torch.fx.Tracer is not there: programs are not rewritten here
    ...
    """
    return AbsentClass(
        name.rpartition(".")[2], (), {"absent": (name, reason), "__doc__": f"{name}: {reason}."}
    )
