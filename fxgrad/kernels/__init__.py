"""How primitives run on real arrays, and the compiler of Graphs. Knows arrays and Graphs, nothing above."""

from . import native as native  # which announces its kernels to those over NumPy
