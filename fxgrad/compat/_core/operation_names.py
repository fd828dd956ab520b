"""User-defined operations by name, such as `torch.ops.mine.scale`, as torch.library registers them."""

from __future__ import annotations

from typing import Any

# Operations of users by namespace and name, as long as they are defined.
OPERATIONS: dict[str, dict[str, Any]] = {}


class OpNamespace:
    """The operations of one namespace, `torch.ops.mine`: its attributes."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = OPERATIONS.get(self._name, {}).get(name)
        if found is None:
            raise AttributeError(
                f"'_OpNamespace' '{self._name}' object has no attribute '{name}'\n  hint: operations are defined by "
                "torch.library.custom_op; those of libraries of C++ are not here",
                name=name,
                obj=self,
            )
        return found

    def __dir__(self) -> list[str]:
        return sorted(OPERATIONS.get(self._name, {}))

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"


def find_operation(name: str) -> Any:
    """Find an operation by its name, `mine::scale` or `mine::scale.default`: None if it is not defined."""
    namespace, _, rest = name.partition("::")
    return OPERATIONS.get(namespace, {}).get(rest.removesuffix(".default"))
