"""`jax.interpreters`: the tables of rules of programs' primitives (see `primitives`), and functions that fill them.

ad             derivatives and transposes
batching       maps over a leading axis
mlir, xla      evaluation: what is registered for JAX's compilers is a function of arrays here
partial_eval   names of Graphs
"""
