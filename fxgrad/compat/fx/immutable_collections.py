"""torch.fx.immutable_collections: lists and dicts that refuse to be modified, as the arguments of Nodes are."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import ArgumentError
from ..utils._pytree import register_pytree_node


def refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raise the error for a modification of the arguments of a Node.

    Raises:
        TypeError: always.
    """
    raise ArgumentError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or "
        "args of a torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args\n",
        hint="node.update_arg(0, value) and node.update_kwarg(name, value) do both",
    )


class immutable_list(list[Any]):
    """A list that cannot be modified, and has a hash.

    >>> from fxgrad.compat.fx.immutable_collections import immutable_list
    >>> hash(immutable_list([1, 2])) == hash((1, 2))
    True
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = refuse
    append = clear = extend = insert = pop = remove = reverse = sort = refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that cannot be modified, and has a hash.

    >>> from fxgrad.compat.fx.immutable_collections import immutable_dict
    >>> immutable_dict(dim=1)
    {'dim': 1}
    """

    __delitem__ = __ior__ = __setitem__ = refuse
    clear = pop = popitem = setdefault = update = refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return type(self), (tuple(self.items()),)


register_pytree_node(immutable_list, lambda x: (list(x), None), lambda parts, _: immutable_list(parts))
register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x)),
    lambda parts, keys: immutable_dict(zip(keys, parts)),
)

__all__ = ["immutable_dict", "immutable_list"]
