"""Conversion of Tensors: to text, to values of Python and of other libraries, to other dtypes; and settings."""
