"""The keys of paths into pytrees, with the names of `jax.tree_util`."""

from __future__ import annotations

from typing import Any


class KeyEntry:
    """One step of a path. A subclass names its one slot, which is also how the key is made and shown.

    Two are equal if they are of one kind and lead to the same.

    >>> fx.tree.DictKey("w") == fx.tree.DictKey("w"), fx.tree.DictKey(0) == fx.tree.SequenceKey(0)
    (True, False)
    """

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and place_of(other) == place_of(self)

    def __hash__(self) -> int:
        return hash((type(self), place_of(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__slots__[0]}={place_of(self)!r})"

    def __str__(self) -> str:
        return f"[{place_of(self)!r}]"


def place_of(key: KeyEntry) -> Any:
    """Return where a step leads: the key, the position or the name."""
    return getattr(key, key.__slots__[0])


class DictKey(KeyEntry):
    """The step to the entry `key` of a dict.

    >>> [(path, leaf)] = fx.tree.leaves_with_path({"w": 1})
    >>> path
    (DictKey(key='w'),)
    >>> print(path[0])
    ['w']
    """

    __slots__ = __match_args__ = ("key",)

    key: Any

    def __init__(self, key: Any):
        self.key = key


class SequenceKey(KeyEntry):
    """The step to the item `idx` of a tuple, list or deque.

    >>> [(path, leaf)] = fx.tree.leaves_with_path([1])
    >>> path
    (SequenceKey(idx=0),)
    >>> print(path[0])
    [0]
    """

    __slots__ = __match_args__ = ("idx",)

    idx: Any

    def __init__(self, idx: Any):
        self.idx = idx


class GetAttrKey(KeyEntry):
    """The step to the attribute `name` of an object, or to the field `name` of a namedtuple.

    >>> print(fx.tree.GetAttrKey("w"))
    .w
    """

    __slots__ = __match_args__ = ("name",)

    name: Any

    def __init__(self, name: Any):
        self.name = name

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(KeyEntry):
    """The step to the child number `key` of an object whose class was registered without keys.

    >>> print(fx.tree.FlattenedIndexKey(0))
    [<flat index 0>]
    """

    __slots__ = __match_args__ = ("key",)

    key: Any

    def __init__(self, key: Any):
        self.key = key

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyPath = tuple[Any, ...]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as text: as the Python expression that follows it, or with `simple=True` as bare names.

    Args:
        keys: the path, as `leaves_with_path` gives it.
        simple: leave out brackets, quotes and dots.
        separator: what stands between the steps.

    >>> path = (fx.tree.DictKey("layers"), fx.tree.SequenceKey(0), fx.tree.GetAttrKey("w"))
    >>> fx.tree.keystr(path)
    "['layers'][0].w"
    >>> fx.tree.keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    return separator.join(str(place_of(key) if simple and isinstance(key, KeyEntry) else key) for key in keys)
