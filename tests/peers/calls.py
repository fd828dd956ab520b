# ruff: noqa: E501
"""Functions of JAX's with the calls that `sweep` makes of each, for arrays of every dtype.

In a call `f` is the function; of the dtype that is asked about are the vectors `x` and `y`, the matrices `a` (2, 3) and
`m` (3, 3), the stack `M` (2, 3, 3), `s` without axes, `e` without entries, and the Python number `k`. `h` is a vector
of another dtype, `i` are positions. `total(f)` is the sum of a function's results, of which `grad` is asked.
"""

# What is called in one way, by what it is called with.
SHAPES = {
    "entry": "f(x)|f(s)|f(k)|f(e)|jit(f)(x)|jit(f)(k)|vmap(f)(a)|grad(total(f))(x)",
    "pair": "f(x, y)|f(x, h)|f(h, x)|f(x, k)|f(k, x)|f(k, k)|f(x, 2.5)|f(s, y)|f(e, e)|jit(f)(x, k)|jit(f)(k, k)|vmap(f, (0, None))(a, y)|grad(total(f))(x, y)",
    "same": "f(x, y)|f(x, h)|f(x, k)|f(k, k)|f(s, s)|f(e, e)|jit(f)(x, y)|vmap(f)(a, a)|grad(total(f))(x, y)",
    "axes": "f(a)|f(a, axis=0)|f(a, axis=-1, keepdims=True)|f(s)|f(k)|f(e)|jit(f)(a)|jit(f)(k)|vmap(f)(a)|grad(total(f))(a)",
    "axis": "f(x)|f(a)|f(a, axis=0)|f(s)|f(e)|jit(f)(a)|vmap(f)(a)|grad(total(f))(a)",
    "along": "f(x, 0)|f(a, 1)|f(e, 0)|jit(lambda a: f(a, 0))(a)|vmap(lambda a: f(a, 0))(a)|grad(total(lambda a: f(a, 0)))(a)",
    "over": "f(x, (0,))|f(a, (0, 1))|f(a, (1,))|f(e, (0,))|jit(lambda a: f(a, (0,)))(a)|vmap(lambda a: f(a, (0,)))(a)|grad(total(lambda a: f(a, (0,))))(a)",
    "matrix": "f(m)|f(M)|f(a)|jit(f)(m)|vmap(f)(M)|grad(total(f))(m)",
    "system": "f(m, x)|f(m, m)|f(M, M)|f(m, h)|jit(f)(m, x)|vmap(f)(M, a)|grad(total(f))(m, x)",
    "product": "f(x, y)|f(m, x)|f(x, m)|f(m, h)|f(h, m)|f(a, m)|f(e, e)|jit(f)(m, x)|vmap(f)(a, a)|grad(total(f))(x, y)",
    "vectors": "f(x, y)|f(x, h)|f(h, x)|f(e, e)|jit(f)(x, y)|vmap(f)(a, a)|grad(total(f))(x, y)",
    "list": "f([x, y])|f([x, h])|f([h, x])|f([x, e])|f((a, a))|jit(lambda x, y: f([x, y]))(x, y)|grad(total(lambda x: f([x, x])))(x)",
    "set": "f(x, y)|f(x, h)|f(e, x)",
    "transform": "f(x)|f(a)|f(x, 4)|f(a, axis=0)|f(x, norm='ortho')|jit(f)(x)|vmap(f)(a)|grad(total(f))(x)",
    "plane": "f(a)|f(M)|f(a, norm='forward')|jit(f)(a)|vmap(f)(M)|grad(total(f))(a)",
    "moved": "f(a)|f(x)|jit(f)(a)|vmap(f)(M)|grad(total(f))(a)",
    "segment": "f(x, i, 3)|f(a, i, num_segments=4)|f(x, i)|jit(lambda x: f(x, i, 3))(x)|grad(total(lambda x: f(x, i, 3)))(x)",
}  # fmt: skip

CALLED_ALIKE = {
    "jnp": {
        "entry": """
            abs acos acosh angle asin asinh atan atanh bitwise_count bitwise_not cbrt ceil conj copy cos cosh deg2rad degrees exp
            exp2 expm1 fabs floor frexp i0 imag invert iscomplex isfinite isinf isnan isneginf isposinf isreal log
            log10 log1p log2 logical_not modf nan_to_num negative positive rad2deg radians real reciprocal rint round sign
            signbit sin sinc sinh spacing sqrt square tan tanh trunc array asarray atleast_1d atleast_2d atleast_3d ravel
            argwhere flatnonzero nonzero ones_like zeros_like empty_like
        """,
        "pair": """
            add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide divmod equal float_power floor_divide fmax fmin fmod gcd
            greater greater_equal heaviside hypot isclose lcm ldexp left_shift less less_equal logaddexp
            logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal power
            remainder right_shift subtract true_divide allclose array_equal array_equiv append outer kron
            bitwise_left_shift bitwise_right_shift
        """,
        "axes": """
            all amax amin any argmax argmin average count_nonzero max mean median min nanargmax nanargmin nanmax
            nanmean nanmedian nanmin nanprod nanstd nansum nanvar prod ptp std sum var
        """,
        "axis": "argsort cumprod cumsum nancumprod nancumsum sort sort_complex flip",
        "product": "dot matmul inner vdot tensordot vecdot matvec vecmat",
        "vectors": "convolve correlate cross polyadd polysub polymul polydiv",
        "list": "column_stack concat concatenate dstack hstack stack vstack block broadcast_arrays meshgrid",
        "set": "intersect1d isin setdiff1d setxor1d union1d searchsorted digitize",
        "moved": """
            fliplr flipud transpose diag diagflat diagonal tril triu trace squeeze rot90 diff ediff1d gradient trapezoid
            unique unique_values unique_counts unique_inverse unique_all unstack trim_zeros cov corrcoef vander poly roots
            matrix_transpose polyder polyint unwrap histogram_bin_edges histogram packbits cumulative_sum cumulative_prod
            diag_indices_from tril_indices_from
        """,
    },
    "jnp.linalg": {
        "matrix": """
            cholesky cond det eig eigh eigvals eigvalsh inv matrix_norm matrix_rank matrix_transpose norm pinv qr slogdet svd svdvals
            trace diagonal vector_norm tensorinv
        """,
        "system": "solve lstsq",
        "product": "matmul vecdot outer tensordot",
        "list": "multi_dot",
        "vectors": "cross",
    },
    "jnp.fft": {
        "transform": "fft ifft rfft irfft hfft ihfft fftshift ifftshift",
        "plane": "fft2 fftn ifft2 ifftn rfft2 rfftn irfft2 irfftn",
    },
    "nn": {
        "entry": """
            celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp log_sigmoid mish relu relu6 selu
            sigmoid silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh
        """,
        "axis": "glu log_softmax logmeanexp logsumexp softmax standardize",
    },
    "special": {
        "entry": """
            dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit factorial fresnel gamma gammaln gammasgn i0 i0e i1 i1e
            log_ndtr loggamma logit ndtr ndtri sici spence wofz
        """,
        "pair": """
            beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch polygamma rel_entr xlog1py xlogy zeta
        """,
        "axis": "log_softmax logsumexp softmax",
    },
    "lax": {
        "entry": """
            abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos cosh digamma erf erf_inv
            erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg population_count real reciprocal
            round rsqrt sign sin sinh sqrt square stop_gradient tan tanh optimization_barrier
        """,
        "same": """
            add atan2 bitwise_and bitwise_or bitwise_xor complex div eq ge gt igamma igammac le lt max min mul mulhi ne nextafter
            pow rem shift_left shift_right_arithmetic shift_right_logical sub zeta polygamma
        """,
        "axis": "cumlogsumexp cummax cummin cumprod cumsum sort",
        "over": "reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor expand_dims rev",
        "along": "unstack",
        "product": "dot",
    },
    "linalg": {
        "matrix": """
            cho_factor cholesky det eigh expm hessenberg inv lu lu_factor polar qr schur sqrtm svd
        """,
        "system": "solve solve_triangular",
        "moved": "circulant fiedler companion toeplitz hankel block_diag",
    },
    "ops": {"segment": "segment_max segment_min segment_prod segment_sum"},
}  # fmt: skip

# Others by their calls.
CALLED = """
jnp.apply_along_axis: f(jnp.sum, 0, a)
jnp.arange: f(k)|f(k, 4)|f(0, 4, k)|f(s)|f(3, dtype=x.dtype)
jnp.argpartition: f(x, 1)|f(a, 1, axis=0)|f(e, 0)
jnp.array_split: f(x, 2)|f(a, 2, axis=1)
jnp.astype: f(x, 'float16')|f(x, 'int32')|f(x, bool)|f(s, 'complex64')
jnp.average: f(x, weights=y)|f(x, weights=h)|f(a, 1, weights=x)|f(a, weights=a, returned=True)
jnp.bincount: f(x)|f(i, x)|f(i, weights=x, length=2)|f(i, minlength=7)
jnp.broadcast_to: f(x, (2, 3))|f(k, (2,))|f(s, (2,))
jnp.choose: f(i, [x, x, x], mode='clip')|f(i, [y, h, x], mode='wrap')
jnp.clip: f(x, 0, 1)|f(x, k, k)|f(x, max=0.5)|f(x, y, h)|f(x, min=y)|f(x)|f(k, 0, 1)|jit(f)(x, k, k)|grad(total(f))(x, k, k)
jnp.compress: f([True, False, True], x)|f([True, False], a, axis=0)|f([True, False, True], x, size=2)|f([False, True], a, axis=1, size=3, fill_value=k)|f([True, True, True], x, size=5)
jnp.count_nonzero: f(x)|f(a, axis=(0, 1))
jnp.cov: f(x, y)|f(a, ddof=0)|f(a, rowvar=False)|f(a, bias=True)|f(x, fweights=i)|f(x, h)
jnp.corrcoef: f(x, y)|f(x, h)|f(a, rowvar=False)
jnp.cumsum: f(x, dtype='float32')|f(a, axis=1, dtype='int8')
jnp.cumulative_sum: f(x, include_initial=True)
jnp.delete: f(x, 1)|f(a, 0, axis=1)|f(x, i)
jnp.diff: f(x, n=2)|f(x, prepend=k)|f(x, append=y)|f(x, prepend=h)
jnp.dsplit: f(M, 3)
jnp.einsum: f('i,i', x, y)|f('ij,j', a, y)|f('ij->j', a)|f('i,i', x, h)|f('i,j->ij', x, y)|f('i,i', x, y, preferred_element_type=float)
jnp.expand_dims: f(x, 0)|f(k, 0)
jnp.extract: f(x, y)|f(x > 0, y)|f(x, y, size=2)
jnp.eye: f(3, dtype=x.dtype)
jnp.fill_diagonal: f(m, k, inplace=False)|f(m, 2.5, inplace=False)|f(m, x, inplace=False)
jnp.full: f((2,), k)|f((2,), s)|f((3,), x)|f(2, k, dtype='float32')|f(2, x[0])
jnp.full_like: f(x, k)|f(x, 2.5)|f(x, h)|f(x, 1, dtype=int)|f(k, 1)
jnp.geomspace: f(1, k + 1, 3)|f(s + 1, 3, 3)|f(x, y, 3)|f(1, 8, 4, dtype=x.dtype)
jnp.gradient: f(x, 2)|f(x, k)|f(a, axis=0)|f(x, y)
jnp.histogram: f(x, 3)|f(x, bins=4, range=(0, 1))|f(x, weights=y, bins=2)|f(x, density=True, bins=2)|f(x, jnp.sort(y))
jnp.histogram2d: f(x, y, 2)|f(x, h, 2)
jnp.histogramdd: f(a, 2)
jnp.histogram_bin_edges: f(x, 3)|f(x, 'auto')
jnp.hsplit: f(x, 3)|f(a, [1])
jnp.insert: f(x, 1, k)|f(x, 1, 2.5)|f(x, i, y)|f(a, 0, x, axis=0)
jnp.interp: f(0.5, x, y)|f(x, x, y)|f(k, h, x)|f(x, jnp.arange(3.), jnp.arange(3))|f(s, x, h)|f(x, x, y, left=0)|f(x, x, y, period=3)
jnp.kaiser: f(3, k)
jnp.lexsort: f((x, y))|f(a)
jnp.linspace: f(0, k, 3)|f(s, 3, 4)|f(x, y, 3)|f(x, h, 3)|f(0, 1, 3, dtype=x.dtype)|f(0, s, 3, endpoint=False)|f(0, k, 3, retstep=True)|f(x, y, 3, axis=1)|f(s, s, 1)|jit(lambda s: f(0, s, 3))(s)
jnp.logspace: f(0, k, 3)|f(s, 1, 3)|f(x, y, 2)|f(0, 1, 3, dtype=x.dtype)|f(0, 1, 3, base=s)
jnp.linalg.matrix_power: f(m, 2)|f(m, 0)|f(m, -1)|f(M, 3)
jnp.linalg.lstsq: f(m, x, numpy_resid=True)|f(m[:, :2], x)|f(m[:, :2], x, numpy_resid=True)|f(m, m)
jnp.linalg.norm: f(x)|f(x, 1)|f(x, 0)|f(x, jnp.inf)|f(a, axis=1)|f(m, 'nuc')|f(m, 2)|f(x, 3, keepdims=True)|f(e)
jnp.linalg.vector_norm: f(x)|f(x, ord=1)|f(x, ord=0)|f(a, axis=0, keepdims=True)
jnp.linalg.matrix_norm: f(m, ord=1)|f(m, ord='nuc')|f(m, ord=2, keepdims=True)
jnp.linalg.pinv: f(a, rtol=0.1)|f(m, hermitian=True)
jnp.linalg.qr: f(m, 'r')|f(a, 'complete')
jnp.linalg.svd: f(a, full_matrices=False)|f(a, compute_uv=False)
jnp.linalg.tensorsolve: f(m, x)
jnp.linalg.cholesky: f(-m)|jit(f)(-m)|f(m, upper=True)|vmap(f)(jnp.stack([m, -m]))|grad(total(f))(-m)|f(jnp.stack([m, -m]))
jnp.linalg.inv: f(m * 0)|f(jnp.stack([m, m * 0]))|jit(f)(m * 0)|jit(f)(jnp.stack([m * 0, m]))|vmap(f)(jnp.stack([m, m * 0]))
jnp.linalg.solve: f(m * 0, x)|f(jnp.stack([m, m * 0]), M)|jit(f)(m * 0, x)|vmap(f)(jnp.stack([m, m * 0]), a)
linalg.cholesky: f(-m)|f(m, lower=True)|f(jnp.stack([m, -m]))|jit(f)(-m)
linalg.inv: f(m * 0)
linalg.solve: f(m * 0, x)|f(m, x, assume_a='pos')|f(-m, x, assume_a='pos')|jit(lambda m, x: f(m, x, assume_a='pos'))(-m, x)
linalg.solve_triangular: f(m * 0, x)|f(m, x, lower=True)|f(m, x, trans=1)|f(m, x, unit_diagonal=True)
linalg.cho_factor: f(-m)
linalg.cho_solve: f((m, True), x)|f((m, False), m)
linalg.lu_solve: f((m, i), x)
linalg.eigh: f(m, eigvals_only=True)|f(a @ a.T)
linalg.dft: f(3)
linalg.hilbert: f(3)
linalg.hadamard: f(4, dtype=x.dtype)
linalg.svd: f(a, full_matrices=False)|f(a, compute_uv=False)
linalg.toeplitz: f(x, y)|f(x, h)
linalg.hankel: f(x, y)
linalg.block_diag: f(x, m)|f(x, h)
linalg.convolution_matrix: f(x, 3)|f(x, 4, mode='same')
linalg.leslie: f(x, y[:2])
linalg.solve_sylvester: f(m, m, m)
linalg.expm_frechet: f(m, m)
jnp.mask_indices: f(3, jnp.triu)
jnp.max: f(x, initial=k)|f(x, where=x > 0, initial=0)|f(a, axis=(0, 1))
jnp.sum: f(x, initial=k)|f(x, dtype='float32')|f(x, where=x > 0)|f(x, promote_integers=False)|f(a, axis=(0, 1))|f(x, dtype=int)
jnp.prod: f(x, initial=k)|f(x, dtype='float32')|f(x, promote_integers=False)
jnp.mean: f(x, dtype='float32')|f(x, where=x > 0)|f(x, dtype=int)
jnp.std: f(x, ddof=1)|f(x, dtype='float32')|f(x, mean=k)|f(x, where=x > 0)|f(x, correction=1)
jnp.var: f(x, ddof=1)|f(x, dtype='float32')|f(x, mean=k)|f(x, where=x > 0)
jnp.moveaxis: f(a, 0, 1)
jnp.nan_to_num: f(x, nan=k)|f(x * jnp.nan)|f(1 / (x * 0))
jnp.nanquantile: f(x, 0.5)|f(a, 0.5, axis=0)
jnp.nanpercentile: f(x, 50)
jnp.quantile: f(x, 0.5)|f(a, 0.5, axis=0)|f(x, 0.5, method='nearest')|f(x, jnp.array([0.1, 0.9]))|f(0.5 + x, y)|f(s, 0.5)|f(x, 1, keepdims=True)
jnp.percentile: f(x, 50)|f(x, 50, method='lower')|f(x, s)|f(a, 30, axis=1, keepdims=True)
jnp.ones: f((2,), x.dtype)
jnp.pad: f(x, 1)|f(x, 1, constant_values=k)|f(x, 1, constant_values=2.5)|f(x, 1, mode='edge')|f(x, 2, mode='mean')|f(x, 2, mode='linear_ramp')|f(x, 1, mode='maximum')|f(a, 1, mode='reflect')
jnp.partition: f(x, 1)|f(a, 1, axis=0)
jnp.permute_dims: f(a, (1, 0))
jnp.piecewise: f(x, [x > 0, x < 1], [k, 2])|f(x, [x > 0], [lambda x: x * 2.5, lambda x: x])
jnp.place: f(x, x > 0, y, inplace=False)|f(x, x > 0, h, inplace=False)
jnp.poly: f(x)
jnp.polyder: f(x, 2)
jnp.polyint: f(x, 2)|f(x, k=k)
jnp.polyfit: f(x, y, 1)|f(x, h, 1)|f(x, y, 1, full=True)|f(x, y, 0, cov=True)
jnp.polyval: f(x, y)|f(x, k)|f(x, h)|f(x, a)|f([k, 1], x)|f(e, x)
jnp.polymul: f(x, y, trim_leading_zeros=True)|f(x, a[0, :2])
jnp.polydiv: f(x, y[:2])|f(x, h[:2])
jnp.polyadd: f(x, y[:2])
jnp.put: f(x, i, y, inplace=False)|f(x, i, 2.5, inplace=False)|f(x, 9, k, mode='clip', inplace=False)
jnp.put_along_axis: f(a, i[None], k, 1, inplace=False)|f(a, i[None], h, 1, inplace=False)
jnp.ravel_multi_index: f((i, i), (3, 3))|f((x, x), (3, 3), mode='clip')
jnp.repeat: f(x, 2)|f(x, i)|f(a, 2, axis=0)|f(x, x)|f(k, 3)|f(x, i, total_repeat_length=4)
jnp.reshape: f(a, -1)|f(x, (3, 1))|f(k, 1)
jnp.resize: f(x, 5)|f(e, 2)
jnp.roll: f(x, 1)|f(a, 1, axis=1)|f(a, (1, 2), axis=(0, 1))
jnp.rollaxis: f(a, 1)
jnp.round: f(x, 1)|f(x, -1)|f(k, 1)
jnp.searchsorted: f(x, k)|f(jnp.sort(x), y, side='right')|f(jnp.sort(x), h)
jnp.select: f([x > 0, x < 1], [x, y])|f([x > 0], [x], 2.5)|f([x > 0], [x], k)|f([x > 0, y > 0], [x, h])|f([x > 0], [2])
jnp.shape: f(a)
jnp.size: f(a)|f(a, 1)
jnp.ndim: f(a)
jnp.sort: f(x, descending=True)|f(a, axis=None)
jnp.argsort: f(x, descending=True)|f(a, axis=None)
jnp.argmax: f(a, 0)|f(a, axis=0, keepdims=True)
jnp.split: f(x, 3)|f(a, [1], axis=1)
jnp.stack: f([x, y], axis=1)|f([x, y], dtype='float32')|f([k, k])|f([x[0], k])
jnp.dstack: f([x, y], dtype='float16')
jnp.hstack: f([x, y], dtype='float16')|f([k, s])
jnp.vstack: f([x, y], dtype='float16')
jnp.concatenate: f([x, y], dtype='float16')|f([a, a], axis=None)|f([a, a], 1)
jnp.swapaxes: f(a, 0, 1)
jnp.take: f(x, i)|f(x, 1)|f(a, i, axis=1)|f(x, jnp.array([1, 9]))|f(x, 9, mode='clip')|f(x, 9, fill_value=k)|f(x, x)|jit(f)(x, i)|grad(total(f))(x, i)
jnp.take_along_axis: f(a, i[None], 1)|f(x, i)|f(x, jnp.array([7]))|f(x, i, mode='clip')
jnp.tensordot: f(m, m, 1)|f(a, m, ((1,), (0,)))
jnp.tile: f(x, 2)|f(a, (2, 1))|f(k, 2)
jnp.trace: f(m, 1)|f(m, dtype='float32')
jnp.trapezoid: f(x, y)|f(x, dx=k)|f(a, axis=0)|f(x, h)
jnp.tri: f(3, dtype=x.dtype)
jnp.tril: f(m, -1)
jnp.unique: f(x, return_index=True)|f(x, return_counts=True, return_inverse=True)|f(x, size=5)|f(x, size=5, fill_value=k)|f(a, axis=0)
jnp.unravel_index: f(x, (2, 2))|f(k, (2, 2))|f(i, 5)
jnp.vander: f(x, 2)|f(x, 4, increasing=True)
jnp.vectorize: f(jnp.sum, signature='(n)->()')(a)|f(jnp.sin)(a)
jnp.vsplit: f(a, 2)
jnp.where: f(x > 0, x, y)|f(x > 0, x, h)|f(x > 0, x, k)|f(x > 0, k, 1)|f(x > 0, x, 2.5)|f(x)|f(x, x, 0)|f(True, k, k)|jit(f)(x > 0, x, k)|jit(f)(x > 0, k, 2.5)|f(x, size=4)
jnp.zeros: f((2,), x.dtype)
jnp.hanning: f(3)
jnp.packbits: f(x, bitorder='little')
jnp.unpackbits: f(x)
jnp.nonzero: f(x, size=4)|f(x, size=4, fill_value=7)
jnp.argwhere: f(a, size=3)
jnp.union1d: f(x, y, size=5)
jnp.isin: f(x, 1)|f(k, x)
jnp.unwrap: f(x, period=2)|f(x, 1)
jnp.fft.fftfreq: f(4)|f(4, s)|f(4, dtype=x.dtype)
jnp.fft.rfftfreq: f(4, k)
nn.celu: f(x, k)|f(x, 0.5)
nn.elu: f(x, 0.5)|f(x, k)
nn.gelu: f(x, approximate=False)|f(k, False)
nn.leaky_relu: f(x, 0.5)|f(x, k)
nn.squareplus: f(x, k)
nn.one_hot: f(i, 3)|f(x, 3)|f(i, 3, dtype=x.dtype)|f(k, 3)|f(x, 3, axis=0)
nn.softmax: f(x, where=x > 0)|f(a, axis=(0, 1))
nn.log_softmax: f(x, where=x > 0)
nn.standardize: f(a, axis=None)|f(x, mean=k, variance=k)|f(x, epsilon=k)
nn.logsumexp: f(x, b=y)|f(x, return_sign=True)|f(x, b=h)|f(x, b=k)|f(x, where=x > 0)
nn.glu: f(m[:2].reshape(-1))
nn.dot_product_attention: f(M[None], M[None], M[None])|f(M[None], M[None], M[None], is_causal=True)|f(M[None], M[None], M[None], scale=0.5)
special.bessel_jn: f(x, v=2)
special.betainc: f(x, y, x)|f(x, 1.5, k)
special.expn: f(2, x)|f(i, x)
special.hyp1f1: f(x, y, x)
special.hyp2f1: f(0.5, 1.5, 2.5, x)
special.multigammaln: f(x + 3, 2)
special.polygamma: f(1, x)|f(i, x)
special.sph_harm_y: f(i, jnp.array([0, 1, 1]), x, y)
special.zeta: f(x + 2)|f(x + 2, 1.5)
special.logsumexp: f(x, b=y)|f(x, return_sign=True)
lax.add: f(k, x)|f(x, 2.5)|f(s, x)
lax.mul: f(k, x)|f(x, 2.5)
lax.approx_max_k: f(x, 2)
lax.argmax: f(a, 1, jnp.int32)|f(x, 0, 'uint8')
lax.argmin: f(a, 0, int)
lax.associative_scan: f(jnp.add, x)|f(jnp.add, a, axis=1)|f(jnp.maximum, x, reverse=True)
lax.batch_matmul: f(M, M)
lax.betainc: f(x, y, x)
lax.bitcast_convert_type: f(x, x.dtype)|f(x, 'uint8')|f(x, 'float32')
lax.broadcast: f(x, (2,))|f(k, (2,))
lax.broadcast_in_dim: f(x, (3, 2), (0,))
lax.broadcast_like: f(x, a)
lax.broadcasted_iota: f(x.dtype, (2, 3), 1)
lax.clamp: f(k, x, k)|f(0, x, 1)|f(y, x, y)|f(s, x, s)|f(0., x, 1.)
lax.collapse: f(a, 0)
lax.concatenate: f([x, y], 0)|f([x, h], 0)
lax.cond: f(True, lambda x: x, lambda x: x * 2, k)|f(True, lambda: x, lambda: y)|f(s > 0, lambda s: s + 1, lambda s: s, s)|f(True, lambda: k, lambda: k)|jit(lambda s: f(s > 0, lambda s: s + 1, lambda s: s - 1, s))(k)|jit(lambda p: f(p, lambda: 1., lambda: 2.))(True)
lax.conv: f(M[None, :, None, 0], M[:, :, None, 1], (1, 1), 'SAME')|f(M[None], M[None], (1, 1), 'SAME')
lax.conv_general_dilated: f(M, M[:, :, :1], (1,), 'VALID')|f(M, M[:, :, :2], (1,), 'SAME', rhs_dilation=(2,))
lax.conv_transpose: f(M, M, (1,), 'SAME')
lax.convert_element_type: f(x, 'float32')|f(x, int)|f(k, 'int8')|f(k, float)
lax.cumsum: f(x, reverse=True)
lax.dot_general: f(a, m, (((1,), (0,)), ((), ())))|f(x, y, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32)
lax.dynamic_index_in_dim: f(x, 1)|f(a, 1, 1, keepdims=False)|f(x, 9)
lax.dynamic_slice: f(x, (1,), (2,))|f(x, (x[0],), (2,))
lax.dynamic_slice_in_dim: f(x, 1, 2)|f(x, 9, 2)
lax.dynamic_update_index_in_dim: f(x, k, 1, 0)|f(a, x, 1, 0)
lax.dynamic_update_slice: f(x, y[:2], (1,))|f(x, h[:2], (1,))
lax.dynamic_update_slice_in_dim: f(x, y[:2], 1, 0)
lax.fft: f(x, 'fft', 3)|f(x, 'rfft', 3)
lax.fori_loop: f(0, 3, lambda i, c: c + c, x)|f(0, 3, lambda i, c: c, k)|f(0, 3, lambda i, c: c * 2, k)
lax.full: f((2,), k)|f((2,), k, x.dtype)|f((2,), s)
lax.full_like: f(x, k)|f(x, 2.5)|f(k, 1)|f(x, 1, 'float32')|f(x, 0, shape=(2,))
lax.index_in_dim: f(x, 1)|f(a, 1, 1, False)
lax.index_take: f(a, (i,), (1,))
lax.integer_pow: f(x, 3)|f(x, -1)|f(k, 2)|f(x, 0)
lax.iota: f(x.dtype, 4)
lax.map: f(lambda x: x + x, x)|f(jnp.sin, x)|f(lambda x: k, x)
lax.pad: f(x, k, [(1, 1, 0)])|f(x, s, [(0, 1, 1)])|f(x, 0., [(1, 0, 0)])|f(x, x[0], [(1, -1, 0)])
lax.ragged_dot: f(a, M, jnp.array([1, 1]))|f(a, M, jnp.array([2, 0]))|f(a, M, jnp.array([0, 1]))|jit(f)(a, M, jnp.array([1, 1]))|grad(total(f))(a, M, jnp.array([1, 1]))
lax.reduce: f(x, s, jnp.add, (0,))|f(a, k, lambda p, q: p + q, (1,))|f(a, s * 0, lax.max, (0,))
lax.reduce_precision: f(x, 5, 10)
lax.reduce_window: f(x, s * 0, lax.add, (2,), (1,), 'SAME')|f(x, -jnp.inf, lax.max, (2,), (1,), 'VALID')
lax.reshape: f(a, (3, 2))|f(a, (6,), (1, 0))|f(k, (1,))
lax.round: f(x, lax.RoundingMethod.TO_NEAREST_EVEN)
lax.scan: f(lambda c, x: (c + x, c * x), s, x)|f(lambda c, x: (c, c), k, None, length=2)|f(lambda c, x: (c + 1, x), 0, x)|f(lambda c, x: (c * k, x), s, h)|f(lambda c, x: (c, k), 0., x)
lax.select: f(x > 0, x, y)|f(x > 0, x, h)|f(True, k, k)|f(x > 0, x, k)
lax.select_n: f(x > 0, x, y)|f(i, x, y, x)|f(x, y, y)
lax.slice: f(a, (0, 1), (2, 3))|f(x, (0,), (3,), (2,))
lax.slice_in_dim: f(x, 1, 3)|f(a, 0, 1, axis=1)
lax.sort: f((x, y))|f((x, y), num_keys=2)|f(a, dimension=0)
lax.sort_key_val: f(x, y)
lax.split: f(x, (1, 2))
lax.squeeze: f(a[None], (0,))
lax.switch: f(1, [lambda x: x, lambda x: x + x], x)|f(1, [lambda: k, lambda: k])|jit(lambda i: f(i, [lambda: 1, lambda: 2]))(1)
lax.tile: f(x, (2,))
lax.top_k: f(x, 2)|f(a, 1, axis=0)|f(s, 1)|jit(lambda x: f(x, 1))(x)|grad(total(lambda x: f(x, 2)[0]))(x)
lax.transpose: f(a, (1, 0))
lax.while_loop: f(lambda c: (c < 5).all(), lambda c: c + 2, s)|f(lambda c: c < 5, lambda c: c + c + 1, k)
lax.dot: f(x, y, preferred_element_type=jnp.float32)
lax.zeta: f(x + 2, 1.5)
lax.polygamma: f(x * 0 + 1, y)
ops.segment_sum: f(h, i, 3)
jax.jvp: f(jnp.sin, (k,), (k,))|f(lambda x: x * 2, (s,), (s,))|f(lambda x: x * x, (k,), (k,))|f(jnp.sin, (x,), (x,))|f(lambda x: x, (k,), (k,))|jit(lambda v: f(jnp.sin, (v,), (v,)))(k)
jax.grad: f(lambda x: x * x)(k)|f(lambda x: x)(s)|f(jnp.sin)(k)|f(lambda x, y: (x * y).real.sum())(x, y)|jit(f(jnp.sin))(k)
jax.value_and_grad: f(lambda x: x * x)(k)
jax.vjp: f(jnp.sin, k)[1](k)|f(jnp.sin, k)[0]|f(lambda x: x * 2, s)[1](s)
jax.jacfwd: f(jnp.sin)(x)|f(jnp.sin)(k)
jax.jacrev: f(jnp.sin)(x)|f(lambda x: x * k)(x)
jax.hessian: f(lambda x: (x ** 3).sum())(x)
jax.linearize: f(jnp.sin, k)[1](k)|f(jnp.sin, x)[1](x)
jax.jit: f(lambda x: x)(k)|f(lambda x: x + 1)(x)|f(lambda: k)()|f(lambda x: (x, k))(x)|f(lambda x: x.sum())(x)
jax.vmap: f(lambda x: k)(x)|f(lambda x, y: x + y, (0, None))(x, k)|f(lambda x: x * 2.5)(x)|f(lambda x: x)(e)
jax.checkpoint: f(jnp.sin)(k)
jax.device_put: f(x)|f(k)
jax.lax.stop_gradient: f(k)
method.arithmetic: x + k|k - x|x * 2.5|x / y|x // y|x % k|x ** 2|x ** k|2 ** x|s + h|-x|abs(x)|+x|x @ y|k + s|x ** -1
method.comparison: x < y|x == k|x >= h|x != 2.5
method.bitwise: ~x|x & y|x.__or__(k)|x ^ y|x << 1|x >> k
method.reductions: x.sum()|x.mean()|a.max(0)|x.min()|x.prod()|x.std()|x.var()|x.any()|a.all(1)|x.argmax()|x.ptp()|x.cumsum()|x.cumprod()|m.trace()
method.shapes: a.T|a.mT|a.reshape(-1)|a.ravel()|a.flatten()|x.repeat(2)|a.swapaxes(0, 1)|a.squeeze()|a.transpose(1, 0)|a.diagonal()|x.take(i)|x.compress(x > 0)
method.values: x.round()|x.clip(0, 1)|x.conj()|x.real|x.imag|x.sort()|x.argsort()|x.nonzero()|x.dot(y)|x.searchsorted(y)|x.astype('int8')|x.astype('float16')|x.astype(bool)|x.view('uint8')
method.at: x.at[0].set(k)|x.at[0].set(2.5)|x.at[i].add(y)|x.at[i].multiply(h)|x.at[0].max(k)|x.at[0].min(s)|x.at[1].get()|x.at[9].get(mode='fill')|x.at[0].power(2)|x.at[0].divide(2)|x.at[0].apply(lambda v: v * 2)
method.index: x[0]|a[:, 1]|x[i]|x[x > 0]|x[9]|a[0, i]|x[None]|a[..., 0]
"""

# Functions whose results have signs or an order of their own: of these dtypes and shapes are compared.
NO_VALUES = frozenset([
    "jnp.empty_like", "jnp.linalg.eig", "jnp.linalg.eigh", "jnp.linalg.eigvals", "jnp.linalg.qr", "jnp.linalg.svd",
    "jnp.roots", "linalg.eigh", "linalg.hessenberg", "linalg.qr", "linalg.schur", "linalg.svd", "jnp.argpartition",
    "jnp.partition",
])  # fmt: skip


def find_calls() -> dict[str, list[str]]:
    """The calls of every function."""
    calls = {
        f"{module}.{name}": SHAPES[shape].split("|")
        for module, rows in CALLED_ALIKE.items()
        for shape, names in rows.items()
        for name in names.split()
    }
    for line in CALLED.strip().splitlines():
        name, _, own = line.partition(": ")
        calls[name] = list(dict.fromkeys([*calls.get(name, []), *own.split("|")]))
    return calls


CALLS = find_calls()
