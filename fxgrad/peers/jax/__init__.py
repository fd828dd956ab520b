"""What programs written for JAX have elsewhere, or mean differently: files for `fxgrad.peers.door.jax_layout`.

dtypes     32 bits by default, and promotion
arrays     arrays as objects with JAX's methods and indices, and functions of this library on them
programs   transforms and loops of this library for functions of such arrays
threefry   random bits as JAX draws them; `random` has the distributions
The other files have the names of JAX's module of that name that are not this library's.
"""
