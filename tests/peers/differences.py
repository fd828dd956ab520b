"""What is not JAX's in the calls of `sweep`, with the reason: patterns of `function: call: letter of the dtype`.

Letters: b bool, s int8, u uint8, i int32, h float16, t bfloat16, f float32, c complex64, l int64, d float64.
"""

import re

# -- meant so --------------------------------------------------------------------------------------------------------
MEANT = {
    r"(jnp.(arctan2|logaddexp2?)|lax.atan2): .*: c": "not of complex numbers here",
    r"special.(boxcox1?p?|expit|logit|owens_t): .*: c": "not of complex numbers here",
    r"(jnp.histogram\w*|jnp.bincount|lax.cumlogsumexp|ops.segment_m..): .*: c": "complex numbers have no order here",
    r"jnp.(nan_to_num: f.x, nan|[hv]?stack: .*dtype|concatenate: .*dtype).*: c": "complex numbers stay so",
    r"jnp.(logspace|fft.fftfreq): .*: [htc]": "a base or a distance in a dtype decides on it",
    r"(jnp.linalg|linalg).(inv|solve|solve_triangular): .*m \* 0.*": "NaN where JAX has infinite entries in part",
    r"jnp.linalg.pinv: .*hermitian.*": "of a matrix that is not Hermitian",
    r"linalg.cholesky: grad.*": "the gradient is that of a function of Hermitian matrices",
    r"(jnp.power|method.arithmetic): .*: [sil]": "integers have no negative powers here",
    r"jnp.digitize: .*": "bins that are not sorted are an error here",
    r"(jnp.polyder|linalg.(companion|hankel)): .*": "polynomials and matrices are of vectors here",
    r"jnp.polymul: f.e, e.: .": "polynomials have coefficients here",
    r"jnp.unique\w*: grad.*": "the entries that are found have derivatives here",
    r"(special|nn).(log_)?softmax: f.e.: .": "of nothing there is no greatest entry",
    r"special.(zeta|beta|hyp1f1|gammainc): .*|special.(kl_div|rel_entr): grad.*": "SciPy's values at poles",
    r"special.polygamma: f.x, h.: i": "the digamma function at its pole",
    r"special.bessel_jn: .*": "JAX's recurrence is NaN for small arguments",
    r"(jnp.std|jnp.var): .*mean=k.: b": "of truth values no mean is subtracted",
    r"jnp.unwrap: .*period=2.: u": "a half of the period is subtracted, which has no unsigned integer",
    r"jnp.quantile: f.0.5 . x, y.*": "quantiles are between 0 and 1",
    r"jnp.trapezoid: f.a.: b": "truth values are numbers: JAX adds them as such",
    r"jnp.(geomspace|interp): .*": "of negative ends, and of points that are not sorted",
    r"(nn.standardize|special.softmax): grad.*": "rounding errors of a zero",
    r"(special.(gammaln|loggamma|betaln)): .*: b": "0, which JAX has but for rounding",
    r"special.(boxcox1?p?|rel_entr|xlog1py): .*: i": "computed in float16 by JAX, in single precision here",
    r"lax.index_take: .*": "absent",
    r"lax.clz: f.k.: i": "a Python number has 64 bits here",
    r"jnp.(imag|real): .*: b": "the parts of True are integers",
    r"method.at: .*(divide|power|apply).*: [bsuil]": "an update does not change the dtype",
    r"jax.(grad|vjp|jacfwd|linearize): .*": "derivatives of numbers are arrays",
    r"jnp.shape: .*": "a shape is a tuple of Python's integers",
    r"jnp.unravel_index: .*": "positions are integers",
    r"nn.dot_product_attention: .*: [bsuic]": "integers are taken as floating-point numbers",
}  # fmt: skip
# -- not mended yet ----------------------------------------------------------------------------------------------------
LEFT = {
    r"jnp.(angle|nan_to_num|rint|power|unravel_index): .*k.*": "weak where JAX is not, or the other way round",
    r"(nn.relu6|lax.conj|lax.mulhi): .*k.*": "weak where JAX is not, or the other way round",
    r"special.(loggamma): .*k.*": "weak where JAX is not, or the other way round",
    r"jnp.angle: f.s.: [ht]": "JAX has single precision for halves without axes alone",
    r"special.owens_t: .*": "JAX computes in single precision at least, and has that for a result",
    r"jnp.fft.(irfft|hfft): .*: h": "JAX has single precision for results of halves",
    r"jnp.linalg.vector_norm: .*ord=1.*": "JAX has integers for integers",
    r"jnp.ldexp: f.k, x.: [suil]": "half precision for small exponents",
    r"jnp.setdiff1d: f.x, h.: [ht]": "the common dtype, where JAX has the first",
    r"jnp.(arange|choose|interp|searchsorted|ravel_multi_index|quantile|linspace|polyfit): .*": "another precision",
    r"linalg.(sqrtm|solve_sylvester|toeplitz): .*": "the dtype of the entries, where JAX has another",
    r"lax.(cumlogsumexp|dot): .*": "integers as floating-point numbers; the common dtype where JAX has the first",
    r"special.(factorial|log_softmax|softmax): .*: [bsuil]": "another precision for small integers",
    r"method.(arithmetic|bitwise|values): .*: [bld]": "of truth values NumPy's bytes; positions of 64 bits",
}  # fmt: skip

# -- what JAX refuses, and this library does not, or with an error of another class ---------------------------------
REFUSED = {
    r"(jnp.(nan)?(argm..|(arg)?partition|median)|jnp.(clip|full|std|var)|jnp.fft.rfftfreq|method.values): .*: c":
        "complex numbers are computed with",
    r"(lax.(argm..|bitcast\w+|convert_\w+)|nn.(sparse_\w+|standardize)|special.(factorial|hyp2f1)): .*: c":
        "complex numbers are computed with",
    r"(jnp.(bincount|kron|polyadd|vander|round|(arg)?partition)|lax.(bitcast\w+|\w*iota|cond|reduce)): .*: b":
        "truth values are numbers",
    r"(method.at|nn.\w+|ops.segment_\w+): .*: b": "truth values are numbers",
    r"(nn.glu|linalg.(hessenberg|schur|expm_frechet)): .*: [bsuil]": "integers are taken as floating-point numbers",
    r"(jnp.(roots|fft.\w+)|jnp.linalg.lstsq|linalg.(expm|expm_frechet|polar)|special.sph_harm_y): .*: [ht]":
        "halves are computed with",
    r"lax.(pow|select|select_n|reduce|dot_general): .*": "operands are broadcast, and promoted in part",
    r"(jnp|lax|linalg|ops)[.\w]*: grad.*": "it has a derivative here, or a dtype is refused before",
    r"jnp.(nan)?(median|argpartition): f.e.*": "NaN of nothing, and no place, as in NumPy",
    r"jnp.(histogram_bin_edges|linalg.lstsq|round|argsort|compress|tril|triu|block|linalg.vector_norm): .*":
        "as in NumPy, which takes more",
    r"(jnp.linalg|linalg).solve: f.m, h.: i": "the operands are promoted to halves",
    r"linalg.(polar|lu|lu_solve): .*": "of matrices that are not square, of stacks, and of other dtypes as well",
    r"jax.jvp: .*: [bsuil]": "the tangent of a number may be one",
    r"lax.fft: .*": "real and complex numbers, in any precision",
    r"lax.approx_max_k: .*|nn.dot_product_attention: .*: l|special.polygamma: .*": "JAX refuses some dtypes",
    r"jnp.(linalg.)?tensordot: .*": "an IndexError, as in NumPy",
    r"(lax.integer_pow|method.arithmetic): .*-1.*: u": "an OverflowError, as in NumPy",
    r"(nn.glu|jnp.linalg.(cholesky|lstsq)): .*": "a ValueError about the shape",
    r"jnp.(i0|is...inf|kaiser|(nan)?(percentile|quantile)|take|block|nonzero|linalg.matrix_rank|roots): .*":
        "a TypeError about the dtype",
    r"special.fresnel: .*": "a TypeError about the dtype",
}  # fmt: skip

DIFFERENCES = {re.compile(pattern): reason for pattern, reason in (MEANT | LEFT).items()}
REFUSALS = {re.compile(pattern): reason for pattern, reason in REFUSED.items()}
