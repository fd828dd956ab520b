"""Registration of user classes as pytrees: by functions, by methods, or by the fields of a dataclass.

`fxgrad.tree` exports these names; `pytree` defines nodes and leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter, methodcaller
from typing import Any, TypeVar

from .errors import StructureError
from .pytree import register_pytree_node
from .pytree_keys import GetAttrKey

T = TypeVar("T")


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Like `register_pytree_node`, for a class `nodetype` whose children have names of their own in paths.

    `flatten_with_keys(x)` returns `((key, child) pairs, auxiliary)`. Give `flatten_func` as well where making
    the keys takes time: it is then used wherever no path is asked for. `unflatten_func` is as there.

    >>> class Box:
    ...     def __init__(self, content):
    ...         self.content = content
    >>> key = fx.tree.GetAttrKey("content")
    >>> fx.tree.register_pytree_with_keys(Box, lambda b: (((key, b.content),), None), lambda _, c: Box(*c))
    >>> [(fx.tree.keystr(path), leaf) for path, leaf in fx.tree.leaves_with_path([Box(1)])]
    [('[0].content', 1)]
    """

    def flatten_without_keys(node: Any) -> tuple[Iterable[Any], Hashable]:
        pairs, auxiliary = flatten_with_keys(node)
        return [child for _, child in pairs], auxiliary

    register_pytree_node(nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: type[T]) -> type[T]:
    """Register a class by its methods `tree_flatten(self)` and `tree_unflatten(cls, auxiliary, children)`.

    A class decorator: returns the class. See `register_pytree_node` for what the methods do and for errors.

    >>> @fx.tree.register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, auxiliary, children):
    ...         return cls(*children)
    >>> fx.tree.leaves(Pair(1, [2, 3]))
    [1, 2, 3]
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), attrgetter("tree_unflatten")(cls))
    return cls


def register_pytree_with_keys_class(cls: type[T]) -> type[T]:
    """Register a class by its methods `tree_flatten_with_keys(self)` and `tree_unflatten`.

    A class decorator: returns the class. A method `tree_flatten` is used too if there is one. See
    `register_pytree_with_keys` for what the methods do.

    >>> @fx.tree.register_pytree_with_keys_class
    ... class Named:
    ...     def __init__(self, value):
    ...         self.value = value
    ...     def tree_flatten_with_keys(self):
    ...         return [(fx.tree.GetAttrKey("value"), self.value)], None
    ...     @classmethod
    ...     def tree_unflatten(cls, auxiliary, children):
    ...         return cls(*children)
    >>> fx.tree.keystr(fx.tree.leaves_with_path(Named(1))[0][0])
    '.value'
    """
    flatten_func = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    flatten_with_keys = methodcaller("tree_flatten_with_keys")
    register_pytree_with_keys(cls, flatten_with_keys, attrgetter("tree_unflatten")(cls), flatten_func)
    return cls


def register_static(cls: type[T]) -> type[T]:
    """Register a class whose instances have no leaves: each is part of the structure as it is.

    A class decorator: returns the class, which must have `==` and a hash.

    >>> @fx.tree.register_static
    ... class Mode(str):
    ...     pass
    >>> fx.tree.map(lambda x: x + 1, [1.0, Mode("train")])
    [2.0, 'train']
    """
    register_pytree_node(cls, lambda node: ((), node), lambda node, _: node)
    return cls


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """Register a dataclass, or any class `nodetype` whose constructor takes its fields as keywords.

    `data_fields` are the children, `meta_fields` are part of the structure; a field in `drop_fields` is left
    to its default when an instance is rebuilt. Without the first two, a dataclass's fields made by `static`
    are meta and its other fields data. Returns the class, so that it can be used as a decorator. Instances
    are rebuilt by calling the class (`attrs_class` does not do so).

    Raises:
        TypeError: one of `data_fields` and `meta_fields` is given without the other, or none for a class that is no
            dataclass.
        ValueError: they do not name each field with `init=True` once, or the class is registered already.

    >>> from dataclasses import dataclass
    >>> @fx.tree.register_dataclass
    ... @dataclass
    ... class Layer:
    ...     w: float
    ...     activation: str = fx.tree.static(default="relu")
    >>> fx.tree.map(lambda w: 2 * w, Layer(1.5))
    Layer(w=3.0, activation='relu')
    """
    if (data_fields is None) != (meta_fields is None):
        raise StructureError(
            "register_dataclass: one of data_fields and meta_fields is given without the other",
            hint="register_dataclass(cls, data_fields=[…], meta_fields=[…])",
        )
    known = dataclass_fields(nodetype)
    if known is not None:
        fields = [f for f in known if f.init and f.name not in drop_fields]
        if data_fields is None or meta_fields is None:
            data_fields, meta_fields = _split_fields(fields)
        wrong = {f.name for f in fields} ^ {*data_fields, *meta_fields}
        if twice := {*data_fields} & {*meta_fields}:
            raise StructureError(
                f"register_dataclass: {sorted(twice)} are data_fields and meta_fields",
                hint="a field whose changes stage anew among meta_fields, arrays among data_fields",
            )
        if wrong:
            raise StructureError(
                f"register_dataclass: data_fields and meta_fields of {nodetype.__qualname__} disagree "
                f"with its fields about {sorted(wrong)}",
                hint="each field that has init=True in one of them, or in drop_fields",
            )
    elif data_fields is None or meta_fields is None:
        raise StructureError(
            f"register_dataclass: {nodetype.__qualname__} is no dataclass, so its fields are not known",
            hint="give data_fields and meta_fields, or put @dataclass above it",
        )

    _register_fields(nodetype, data_fields, meta_fields, lambda values: nodetype(**values))
    return nodetype


def static(**keywords: Any) -> Any:
    """A dataclass field that is part of the structure, not a child: `dataclasses.field` with a mark.

    Takes the arguments of `dataclasses.field`. See `register_dataclass` and `attrs_class`.

    >>> from dataclasses import dataclass
    >>> @fx.tree.attrs_class
    ... @dataclass
    ... class Scaled:
    ...     x: float
    ...     unit: str = fx.tree.static(default="m")
    >>> fx.tree.leaves(Scaled(2.0))
    [2.0]
    """
    import dataclasses

    return dataclasses.field(**_mark_static(keywords))


def static_field(**keywords: Any) -> Any:
    """An attrs field that is part of the structure, not a child: `attrs.field`, whose arguments it takes, with a mark.

    >>> import attrs
    >>> @fx.tree.attrs_class
    ... @attrs.frozen
    ... class Layer:
    ...     weight: float
    ...     name: str = fx.tree.static_field(default="dense")
    >>> fx.tree.leaves(Layer(1.0))
    [1.0]
    """
    import attrs

    return attrs.field(**_mark_static(keywords))


def _mark_static(keywords: dict[str, Any]) -> dict[str, Any]:
    return {**keywords, "metadata": {**(keywords.get("metadata") or {}), "static": True}}


def attrs_class(cls: type[T]) -> type[T]:
    """Make an attrs class, or a dataclass, a pytree: its fields are the children, static fields structure.

    A class decorator, put above `@attrs.define`, `@attrs.frozen` or `@dataclass`; returns the class. A field
    is static if its metadata has `"static": True`: `static_field` (for attrs) and `static` (for dataclasses)
    see to that. Instances are rebuilt field by field, without `__init__`: converters, validators and
    `__post_init__` do not run, for transforms put tracers and other objects in the place of arrays.

    Raises:
        TypeError: a class that is neither one of attrs nor a dataclass.
        ValueError: the class is registered already.

    >>> import attrs
    >>> @fx.tree.attrs_class
    ... @attrs.frozen
    ... class Affine:
    ...     scale: float
    ...     shift: float
    ...     name: str = fx.tree.static_field(default="affine")
    >>> fx.tree.map(lambda x: 10 * x, Affine(1.0, 2.0))
    Affine(scale=10.0, shift=20.0, name='affine')
    """
    fields = getattr(cls, "__attrs_attrs__", None)
    if fields is None:
        fields = dataclass_fields(cls)
    if fields is None:
        raise StructureError(
            f"attrs_class: {cls!r} is neither an attrs class nor a dataclass",
            hint="put @fx.tree.attrs_class above @attrs.define or @dataclass",
        )

    def rebuild(values: dict[str, Any]) -> Any:
        instance = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(instance, name, value)
        return instance

    _register_fields(cls, *_split_fields(fields), rebuild)
    return cls


def dataclass_fields(cls: type) -> Sequence[Any] | None:
    """The fields of a dataclass; None for another class."""
    import dataclasses

    return dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else None


def _split_fields(fields: Iterable[Any]) -> tuple[list[str], list[str]]:
    """The names of the fields that are children, and of those that are static."""
    names: tuple[list[str], list[str]] = [], []
    for field in fields:
        names[bool(field.metadata.get("static"))].append(field.name)
    return names


def _register_fields(
    cls: type, data: Sequence[str], meta: Sequence[str], rebuild: Callable[[dict[str, Any]], Any]
) -> None:
    """Register a class by its attributes: `data` are children, `meta` auxiliary data."""
    data, meta = tuple(data), tuple(meta)
    keys = [GetAttrKey(name) for name in data]

    def flatten_fields(node: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(node, name) for name in data], tuple([getattr(node, name) for name in meta])

    def flatten_fields_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        children, auxiliary = flatten_fields(node)
        return list(zip(keys, children)), auxiliary

    def unflatten_fields(auxiliary: tuple[Any, ...], children: Iterable[Any]) -> Any:
        return rebuild({**dict(zip(data, children)), **dict(zip(meta, auxiliary))})

    register_pytree_node(cls, flatten_fields, unflatten_fields, flatten_fields_with_keys)
