"""Surfaces for programs written for JAX and HIPS autograd: what those have elsewhere, or mean differently.

`jax` and `autograd` hold what differs from this library's own namespaces; `door` has the tables of both libraries'
module paths, and `install`. Programs see them under the libraries' own names only.
"""
