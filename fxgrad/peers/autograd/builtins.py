"""`autograd.builtins`: Python's own, since containers are pytrees here."""

from __future__ import annotations

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

dict, isinstance, list, tuple, type = dict, isinstance, list, tuple, type
