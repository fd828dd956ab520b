"""torch.utils.weak: dicts whose keys are Tensors by identity, as long as these live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any
from weakref import ReferenceType, ref

WeakRef = ReferenceType


class WeakIdRef(ref[Any]):
    """A weak reference. Two are equal if they refer to the same object and it is alive.

    >>> from fxgrad.compat.utils.weak import WeakIdRef
    >>> x = torch.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(torch.ones(2)), WeakIdRef(x)() is x
    (True, False, True)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None):
        self._id = id(key)  # the reference itself is made by `__new__`

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        theirs = other() if isinstance(other, ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class WeakIdKeyDictionary(MutableMapping):
    """A dict of objects that are compared by identity, with which their entries end.

    Args:
        dict: what it begins with.
        ref_type: the class of the references.

    >>> from fxgrad.compat.utils.weak import WeakIdKeyDictionary
    >>> x = torch.ones(2)
    >>> names = WeakIdKeyDictionary({x: "x"})
    >>> names[x], torch.ones(2) in names
    ('x', False)
    >>> del x
    >>> len(names)
    0
    """

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef):
        self.data: Any = {}
        self.ref_type = ref_type
        data = self.data
        self._remove = lambda reference: data.pop(reference, None)
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # of what no weak reference can be made
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """List the references.

        >>> from fxgrad.compat.utils.weak import WeakIdKeyDictionary
        >>> x = torch.ones(2)
        >>> WeakIdKeyDictionary({x: 1}).keyrefs()[0]() is x
        True
        """
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Copy the dict, with the same objects.

        >>> from fxgrad.compat.utils.weak import WeakIdKeyDictionary
        >>> x = torch.ones(2)
        >>> WeakIdKeyDictionary({x: 1}).copy()[x]
        1
        """
        return type(self)(dict(self.items()), self.ref_type)

    __copy__ = copy


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a Tensor.

    >>> from fxgrad.compat.utils.weak import TensorWeakRef
    >>> x = torch.ones(2)
    >>> TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor: Any):
        self.ref = ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


__all__ = [
    "TensorWeakRef",
    "WeakIdKeyDictionary",
    "WeakIdRef",
    "WeakRef",
    "WeakTensorKeyDictionary",
]
