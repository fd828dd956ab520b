"""Tensors as text, as values of Python and of other libraries, in other dtypes; and settings."""
