"""Kernels of primitives on arrays, and the compiler of Graphs. Depends on arrays and Graphs only."""
