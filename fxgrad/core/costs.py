"""Sizes that decide between two ways to compute the same.

`python -m benchmarks.costs` measures on this machine what each number loses against smaller and larger ones. They
come from machines with two cores and AVX-512, in 2026; `benchmarks/results/costs.md` has the last table.
"""

from __future__ import annotations

# -- machine code in place of NumPy --------------------------------------
FUSED_ENTRIES = 1 << 14  # entries from which on a group of elementwise operations is worth compiling
FUSED_OPERATIONS = 5  # operations from which on it is, whatever the number of entries
DEFERRED_ENTRIES = (
    100_000  # entries of an argument from which on elementwise work under `grad` waits to be fused
)
DEFERRED_OPERATIONS = 6  # operations from which on what has waited is compiled
SPECIAL_ENTRIES = 1 << 10  # entries of a special function that NumPy computes in many passes
LIBRARY_ENTRIES = 1 << 13  # entries of a special function that SciPy computes
OUTER_ENTRIES = 1 << 16  # entries of an outer product
OUTER_ROW = 32  # entries of its rows: more than a vector
CUMULATED_ENTRIES = 1 << 9  # entries of a running result
CUMULATED_ROW = 256  # entries of a row up to which NumPy, which combines whole rows, is slower
POOLED_ENTRIES = 64  # results of pooling
CONVOLVED_PRODUCTS = 1 << 19  # products of a convolution
RECURRENT_STATE = 128  # size of a recurrent state up to which BLAS multiplies more slowly
SOLVED_ORDER = 32  # order of a system up to which LAPACK is slower
COMPILATION = 2e7  # nanoseconds that the compilation of a group takes: NumPy computes as long before
CALLED_ENTRIES = 1 << 11  # entries up to which a call of NumPy takes longer than its arithmetic
LOCKED_ENTRIES = 1 << 13  # entries below which Python's lock is not released
THREAD_WORK = 1 << 22  # entries times operations for which another thread pays: about a millisecond

# -- one way of NumPy's in place of another -------------------------------
INDEXED_ENTRIES = 4096  # entries of indexed sums and choices from which on preparations pay
WHERE_ENTRIES = 1024  # entries from which on `where` is slower than a multiplication by the mask
STACKED_ENTRIES = 1 << 16  # entries of a matrix for which it pays to stack what it is multiplied with
ROW_ENTRIES = (
    4096  # entries of softmax and its kin from which on they are computed in blocks, or by machine code
)
SCANNED_ENTRIES = 4096  # entries from which on a pass over them costs more than a call
CACHE_ENTRIES = 1 << 15  # entries of a block, whose intermediate results stay in the cache
FEWEST_TILES = 4  # blocks below which whole arrays are computed at once
HOISTED_ENTRIES = 1 << 17  # entries of a batch of steps that a loop computes ahead, still in the cache
HOISTED_ROWS = 16  # steps of a loop, and of such a batch, from which on batches pay
DOUBLED_ORDER = 8  # order of a matrix up to which fewer steps on one of twice the order are faster

# -- many processes -------------------------------------------------------
ONE_STEP_BYTES = 1 << 15  # bytes on all ranks up to which a reduction sends everything to everybody
