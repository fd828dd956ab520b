"""In-place modification of values saved for backward, which are copied before they are overwritten."""

from __future__ import annotations

import weakref
from types import TracebackType
from typing import Any

from ...extend import api_boundary
from .._core.memory import VERSIONS, ensure_unmodified, is_array, memory_root
from .._core.modes import current_modes
from .._core.packing import PackedValue, PackingHooks, ensure_hooks_allowed
from .._core.tape import current_tape, next_serial
from .._core.tensor import Tensor, make_tensor
from ..errors import TensorError
from .grad_mode import switch_modes


class SavedArray:
    """An array that nodes have saved; it lives as long as they need it. `order` is the serial number of the moment when
    it was."""

    __slots__ = ("__weakref__", "memory", "order", "value")

    def __init__(self, value, memory: SavedMemory):
        self.value, self.memory, self.order = value, memory, next_serial()

    def is_of(self, value) -> bool:
        """Whether this is the present state of an array."""
        counter = VERSIONS.find(value)
        return self.value is value and (counter is None or counter.change_after(self.order) is None)


class SavedMemory:
    """The saved arrays of one memory, which keep it alive."""

    __slots__ = ("__weakref__", "arrays")

    def __init__(self) -> None:
        self.arrays: weakref.WeakSet[SavedArray] = weakref.WeakSet()


class SavedArrays:
    """The arrays that were saved under `allow_mutation_on_saved_tensors` and are still needed; `copied` are those that
    were copied because their memory was about to be modified. Programs look at them by torch's names, as mappings."""

    def __init__(self) -> None:
        self.memories: weakref.WeakValueDictionary[int, SavedMemory] = weakref.WeakValueDictionary()
        self.saved: weakref.WeakSet[SavedArray] = weakref.WeakSet()
        self.copied: weakref.WeakSet[SavedArray] = weakref.WeakSet()

    @property
    def tid_to_weakhandle(self) -> dict[int, SavedArray]:
        """What is saved, by the serial number of the moment when it was."""
        return {known.order: known for known in self.saved}

    @property
    def sid_to_tid(self) -> dict[int, set[int]]:
        """The serial numbers of what is saved, by the memory it is in."""
        return {key: {known.order for known in memory.arrays} for key, memory in self.memories.items()}

    @property
    def cloned(self) -> dict[SavedArray, Tensor]:
        """The copies, by what was copied."""
        return {known: make_tensor(current_tape(), known.value) for known in self.copied}

    @property
    def original(self) -> dict[SavedArray, Tensor]:
        """What is saved and was not copied."""
        return {
            known: make_tensor(current_tape(), known.value)
            for known in self.saved
            if known not in self.copied
        }

    def add(self, value) -> SavedArray:
        """Record an array that is saved."""
        key = id(memory_root(value))
        memory = self.memories.get(key)
        if memory is None:
            memory = self.memories[key] = SavedMemory()
        found = next((known for known in memory.arrays if known.is_of(value)), None)
        if found is None:
            found = SavedArray(value, memory)
            memory.arrays.add(found)
            self.saved.add(found)
        return found

    def keep(self, value) -> None:
        """Copy the saved arrays in the memory of an array, which is about to be modified."""
        memory = self.memories.pop(id(memory_root(value)), None) if is_array(value) else None
        for known in () if memory is None else list(memory.arrays):
            known.value = known.value.copy()
            self.copied.add(known)

    def clear(self) -> None:
        """Forget everything."""
        self.memories.clear()
        self.saved.clear()
        self.copied.clear()


class SavedArrayHooks(PackingHooks):
    """The hooks that register arrays in `SavedArrays`. Traced values, which cannot be overwritten, are left."""

    __slots__ = ("arrays",)

    def __init__(self, arrays: SavedArrays):
        super().__init__(self.add, self.read)
        self.arrays = arrays

    def accepts(self, value) -> bool:
        return is_array(value)

    def pack(self, tensor: Tensor) -> PackedValue:
        return PackedValue(self.add(tensor), self.read, tensor._fx_tape)

    def add(self, tensor: Tensor) -> SavedArray:
        """Record a Tensor that is saved."""
        return self.arrays.add(tensor._fx_value)

    def read(self, saved: SavedArray) -> Tensor:
        """Return the saved array.

        Raises:
            AssertionError: the context manager has been left, so that nobody was looking any more.
            RuntimeError: it was modified by something that does not tell, as the accumulation of gradients.
        """
        if current_modes().mutations is not self.arrays:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        ensure_unmodified(saved.value, saved.order)
        return make_tensor(current_tape(), saved.value)


class allow_mutation_on_saved_tensors:
    """A context manager under which Tensors may be modified in place after they were saved for backward, which sees the
    values of before. These are copied when they are about to be overwritten, once, and only if they are still needed.

    Backward belongs inside it as well.

    Returns:
        On entering, an object for debugging: `tid_to_weakhandle` is a mapping of what is saved, `sid_to_tid` one
        from memories to what is saved in them, `cloned` one from what was copied to its copies, and `original` one to
        the Tensors of the others.

    Raises:
        RuntimeError: on entering, inside another one, or where saved-tensor hooks are disabled.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = torch.ones(3, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([2., 2., 2.])
    """

    @api_boundary
    def __enter__(self) -> SavedArrays:
        if current_modes().mutations is not None:
            raise TensorError(
                "allow_mutation_on_saved_tensors contexts cannot be nested",
                hint="one `with torch.autograd.graph.allow_mutation_on_saved_tensors():` around both",
            )
        ensure_hooks_allowed()
        self.arrays = SavedArrays()
        packing = (*current_modes().packing, SavedArrayHooks(self.arrays))
        switch_modes(mutations=self.arrays, packing=packing)
        return self.arrays

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> Any:
        switch_modes(mutations=None, packing=current_modes().packing[:-1])
        self.arrays.clear()


__all__ = ["allow_mutation_on_saved_tensors"]
