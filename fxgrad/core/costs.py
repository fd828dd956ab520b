"""Sizes that decide between two ways to compute the same, and the times by which they are decided.

`python -m benchmarks.costs` measures on this machine what each number loses against smaller and larger ones, and what
the times are. They come from machines with two cores and AVX-512, in 2026; `benchmarks/results/costs.md` has the last
tables, with their dates.
"""

from __future__ import annotations

# -- machine code in place of NumPy --------------------------------------
FUSED_ENTRIES = 1 << 14  # entries from which on a group of elementwise operations is worth compiling
FUSED_OPERATIONS = 5  # operations from which on it is, whatever the number of entries
GROUP_OPERATIONS = 400  # operations of a group at most: the time of compilation grows faster
DEFERRED_ENTRIES = (
    100_000  # entries of an argument from which on elementwise work under `grad` waits to be fused
)
DEFERRED_OPERATIONS = 6  # operations from which on what has waited is compiled
SEGMENT_OPERATIONS = 64  # operations that wait at most: what is kept shrinks with their number
LIBRARY_ENTRIES = 1 << 13  # entries of a special function that SciPy computes
OUTER_ENTRIES = 1 << 16  # entries of an outer product
OUTER_ROW = 32  # entries of its rows: more than a vector
STREAMED_BYTES = 1 << 26  # bytes of its result that no cache keeps until somebody reads it
CUMULATED_ENTRIES = 1 << 9  # entries of a running result
ACCUMULATED_ENTRIES = 1 << 12  # entries of one that NumPy computes in a single loop
CUMULATED_ROW = 256  # entries of a row up to which NumPy, which combines whole rows, is slower
POOLED_ENTRIES = 64  # results of pooling
RECURRENT_STATE = 512  # size of a recurrent state up to which BLAS multiplies more slowly
SOLVED_ORDER = 128  # order of a system up to which LAPACK is slower
RANKED_ENTRIES = 64  # greatest entries of a row up to which they are kept in order while it is read
SORTED_ROW = 64  # entries of a row up to which insertion sorts faster
STEP_ENTRIES = 1 << 13  # entries of a value in a step of a loop, beyond which a call of NumPy does not count
STEP_PRODUCTS = 1 << 18  # the same of a product of matrices
STEP_INSTRUCTIONS = 6000  # instructions of a step at most: the time of compilation grows faster
FEWEST_DRAWS = 64  # calls that draw random numbers before machine code is loaded for it
FEWEST_WORDS = 1 << 19  # random words of torch's before NumPy's generator is loaded for them
CALLED_ENTRIES = 1 << 13  # entries up to which a call of NumPy takes longer than its arithmetic
LOCKED_ENTRIES = 1 << 13  # entries below which Python's lock is not released
SHARED_STACK = 8  # matrices of a stack from which on threads share them, not each of them
SHARED_ENTRIES = 1 << 19  # entries of an array that threads copy or compute together
SHARED_LINE = 1 << 16  # entries of a single line that threads sort together
THREAD_WORK = 1 << 18  # entries times operations for which another thread pays, which takes 50 µs to wake up

# -- nanoseconds that NumPy takes about: it computes as long as a compilation would take ----------------------
COMPILATION = 2e7  # the compilation of a group
KERNEL_COMPILATION = 4e6  # that of a kernel which is written by hand
ROUND_TIME = 4e6  # steps of a loop between two questions whether to compile it
OPERATION_TIME = 600  # an operation on a few numbers
SLOW_OPERATION_TIME = 8e3  # one that has ten times as much to prepare, such as `solve`
ENTRY_TIME = 0.5  # an entry of a sum or product
RUN_PASSES = 40  # entries whose sums take as long as it takes to begin a run of a reduction
HALF_TIME = 1.5  # an entry that is converted to or from half precision
FUNCTION_TIME = 3.0  # an entry of exp and its kin
SPECIAL_TIME = 6e4  # a call of a special function of a few numbers
SPECIAL_PASSES = 50  # sums that a special function takes as long as
OUTER_TIME = 0.7  # an entry of an outer product
CUMULATION_TIME = 2.0  # an entry of a running sum
RANKING_TIME = 4.0  # an entry of rows of which the greatest are found
SWAP_TIME = 70.0  # a swap of a permutation
SAMPLE_TIME = 100.0  # an entry of an image that is read for a place of a grid
COMPOSED_TIME = 3e4  # a call that takes NumPy several operations on a few numbers, such as `gather`
SCATTER_TIME = 5.0  # an entry that is added at an index
CONVOLUTION_TIME = 8e4  # a call of a convolution
PRODUCT_TIME = 0.05  # a product of it
POOL_TIME = 2e4  # a call of pooling
TAP_TIME = 3.0  # an entry of a window
RECURRENT_STEP_TIME = 2e4  # a step of an LSTM
STATE_TIME = 15.0  # an entry of a state in it
DRAW_TIME = 2e5  # a call that draws random numbers for many keys
KEY_TIME = 9e3  # a key of a few
WORD_TIME = 20.0  # a word of 64 bits
TWISTED_TIME = 4.0  # a word of torch's
NUMBER_TIME = 60.0  # a normal number made of it
REJECTION_TIME = 150.0  # a sample by rejection

# -- one way of NumPy's in place of another -------------------------------
INDEXED_ENTRIES = 4096  # entries of indexed sums and choices from which on preparations pay
WHERE_ENTRIES = 1024  # entries from which on `where` is slower than a multiplication by the mask
STACKED_ENTRIES = 1 << 16  # entries of a matrix for which it pays to stack what it is multiplied with
ROW_ENTRIES = (
    4096  # entries of softmax and its kin from which on they are computed in blocks, or by machine code
)
SCANNED_ENTRIES = 4096  # entries from which on a pass over them costs more than a call
SEEN_ENTRIES = (
    1 << 16
)  # entries of a captured array up to which it is looked at whether they are all one number
SEEN_ORDER = 4096  # order of a captured matrix up to which it is looked at whether it is the identity
SUMMED_BY_ONES = 1024  # rows up to which a product with a row of ones sums them faster
SCALED_ROW = 64  # entries of a row from which on it does not matter that others are longer
REPEATED_STEPS = 3  # steps that are repeated rather than kept
REPEATED_ENTRIES = 64  # entries of what is reduced from which on they are
REORDERED_GAIN = 2  # how many times fewer products another order of matrices takes, from which on it pays
COEFFICIENT_RATIO = 8  # how many times smaller a coefficient is than what it multiplies
LOOKING_PASSES = 2  # passes over what it multiplies that take as long as to look at its factors
PRUNED_EQUATIONS = 4  # equations of a pullback from which on it pays to look for some that are not needed
MULTIPLIED_EXPONENT = 64  # exponent beyond which products are not faster than `pow`
DOUBLED_ORDER = 8  # order of a matrix up to which fewer steps on one of twice the order are faster
STEIN_ORDER = 10  # order from which on a discrete Lyapunov equation is not solved as a system of its square
FOURIER_PRODUCTS = 20_000  # products of a convolution that take as long as a call of Fourier transforms
LAPACK_ORDER = 24  # order of a matrix below which a call of LAPACK takes longer than what NumPy does
STACKED_LAPACK_ORDER = 100  # the same in a stack of matrices
ONE_THREAD_ENTRIES = 1 << 10  # entries for which OpenBLAS wakes no threads
ONE_THREAD_PRODUCTS = 1 << 18  # products from which on it may
ONE_THREAD_ROWS = 1 << 13  # the same of a matrix and a vector

# -- blocks, whose intermediate results stay in the cache -----------------------------------------------------
CACHE_ENTRIES = 1 << 15  # entries of a block, or of a row that is read several times
NEAR_CACHE_ENTRIES = 1 << 14  # the same where only the nearest caches are fast enough
FAR_CACHE_ENTRIES = 1 << 16  # the same where there are few intermediate results
NODE_ENTRIES = 1 << 12  # the same where each entry has the nodes of a quadrature
WINDOW_BYTES = 1 << 20  # bytes of the windows of a convolution that are laid out at once
PLANE_ENTRIES = 2048  # entries of an image over which a convolution sums at a time
PANEL_ENTRIES = 1 << 16  # entries of images that a convolution copies at a time
TOGETHER_ENTRIES = 1 << 17  # entries of images with channels last that it copies at a time
SHARED_UNITS = 8  # pieces in which a convolution is shared
LEAST_PRODUCTS = 128  # products of an entry in a piece of it, for which images are copied once more
LEAST_PLACES = 1 << 10  # places that are summed in such a piece
TRANSPOSED_BLOCK = 128  # rows and columns of a block of a matrix that is copied in the other order
BLOCK_LENGTH = 512  # rows or columns of a block of a product of matrices, which threads share
BLOCK_PRODUCTS = 1 << 21  # products of such a block, at least
FEWEST_TILES = 4  # blocks below which whole arrays are computed at once
TRIANGLE_ORDER = 32  # order of a block of a triangular matrix
CHOLESKY_ORDER = 64  # order of a block of a pullback of Cholesky's
HOISTED_ENTRIES = 1 << 17  # entries of a batch of steps that a loop computes ahead
HOISTED_ROWS = 16  # steps of a loop, and of such a batch, from which on batches pay
DRAWN_ENTRIES = 1 << 15  # random numbers of torch's, a multiple of 16
READ_BLOCKS = 8  # blocks of torch's random words that are read at once
PAIRED_ENTRIES = 1 << 10  # normal numbers of torch's from which on a table of all pairs is slower
WRITTEN_GRADIENTS = 1 << 22  # entries of gradients that are written out at a time
FOLLOWED_TURNS = (
    64  # times that a followed function, or a way, is taken before several ways are compiled as one
)
COMPARED_BYTES = 1 << 17  # bytes of an array beyond which a loss that closes over it is rather staged anew

# -- devices and processes -------------------------------------------------------
KEPT_BYTES = 1 << 12  # bytes of a constant whose copy on a device is kept
ONE_STEP_BYTES = 1 << 15  # bytes on all ranks up to which a reduction sends everything to everybody
