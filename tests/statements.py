"""The statements of random programs: values of shape (3,) from values of shape (3,), as source.

They are bounded, far from kinks and ties where choices are made, and well-conditioned, so that any program of them has
the same numbers in every library.
"""

import numpy

CONSTANTS = {
    "A": numpy.array([[0.9, -0.4, 0.3], [0.2, 0.8, -0.5], [-0.6, 0.1, 0.7]]),
    "C": numpy.array([0.31, -0.73, 1.17]),
    "I": numpy.array([2, 0, 2]),
    "SPD": numpy.array([[2.5, 0.3, -0.4], [0.3, 2.0, 0.2], [-0.4, 0.2, 3.0]]),
}

# Functions that statements name, made of an array namespace and a `lax`.
FUNCTIONS = {
    # diagonally dominant; positive definite; symmetric, eigenvalues near 1, 3, 6; 2×3, singular values near 2, 1
    "dominant": lambda np, lax: lambda a: CONSTANTS["A"] * np.tanh(a) + 3.0 * numpy.eye(3),
    "positive": lambda np, lax: lambda a: np.outer(np.tanh(a), np.tanh(a)) + CONSTANTS["SPD"],
    "separated": lambda np, lax: (
        lambda a: 0.3 * np.outer(np.tanh(a), np.tanh(a)) + numpy.diag([1.0, 3.0, 6.0])
    ),
    "wide": lambda np, lax: (
        lambda a, b: np.stack([0.2 * np.tanh(a), 0.2 * np.sin(b)]) + numpy.eye(2, 3) * [2.0, 1.0, 0.0]
    ),
    # those of control flow
    "steps": lambda np, lax: (
        lambda a, b: lax.scan(lambda c, x: (np.sin(c) + x * b, c * x), a, np.stack([a, b]))[0]
    ),
    "outputs": lambda np, lax: (
        lambda a, b: lax.scan(
            lambda c, x: ((np.tanh(c[0] + x), c[1]), c[0] * c[1]), (0.5, a[0]), b, reverse=True
        )[1]
    ),
    "branch": lambda np, lax: (
        lambda a, b: lax.cond(a[0] > 0.1, lambda u, v: np.sin(u) * v, lambda u, v: u - 0.5 * v, a, b)
    ),
    "choice": lambda np, lax: (
        lambda a, b: lax.switch(
            np.where(a[1] > 0.3, 2, np.where(a[2] < -0.2, 0, 1)),
            [np.sin, lambda u: u * b, lambda u: u + b[::-1]],
            a,
        )
    ),
    "loop": lambda np, lax: lambda a, b: lax.fori_loop(0, 3, lambda i, c: np.cos(c) * b + 0.1 * i, a),
    "power": lambda np, lax: lambda a, b: lax.associative_scan(lambda u, v: u * v, 1.0 + 0.1 * np.sin(a)) * b,
    "mapped": lambda np, lax: lambda a, b: lax.map(lambda u: np.sum(np.sin(u * b)), a),
}

STATEMENTS = {
    "core": [
        "np.sin({a})",
        "np.tanh({a}) + {b}",
        "{a} * {b}",
        "{a} - 0.5 * {b}",
        "{a} / (1.5 + {b} ** 2)",
        "np.exp(-({a} ** 2))",
        "np.sqrt(1.0 + {a} ** 2)",
        "np.log(2.0 + np.cos({a}))",
        "np.arctan2({a}, 2.0 + {b} ** 2)",
        "np.where({a} > 0.1, np.sin({b}), {a})",
        "np.maximum({a}, C * {b} + 0.05)",
        "np.minimum(np.sin({a} + C), 0.7)",
        "np.clip({a} + C, -0.61, 0.83)",
        "np.abs({a} + C) * 0.5",
        "A @ {a}",
        "{a} @ (A * {b})",
        "np.einsum('i,ij,j->j', {a}, A, {b})",
        "(np.outer({a}, {b}) * A).sum(axis=0)",
        "np.tensordot(np.stack([{a}, {b}]), A, axes=1)[1]",
        "{a}.sum() * C",
        "{a} - np.mean({b})",
        "np.max({a} + 5.0 * C) * {b}",
        "np.prod(1.0 + 0.1 * {a}) + {b}",
        "np.cumsum({a})",
        "{a}[::-1]",
        "{a}[I]",
        "{a}[1] * {b}",
        "np.concatenate([{a}[1:], {b}[:1]])",
        "np.stack([{a}, {b}], axis=1).reshape(2, 3)[1]",
        "np.roll({a}, 1) * {b}",
        "np.broadcast_to({a}, (2, 3)).T.sum(axis=1)",
        "np.take({a}, I) + {b}",
        "({a}[:, None] * {b}[None, :]).transpose()[0]",
        "{a} * fx.stop_gradient({b})",
        "fx.jit(lambda v: np.sin(v) * {b})({a})",
        "fx.checkpoint(lambda v: np.sin(v) * np.cos(v + {b}))({a})",
        "fx.vmap(lambda v: v * np.sin({b}.sum() + v))({a})",
        "fx.vmap(lambda r, s: r @ {b} + s, in_axes=(1, 0))(A, {a})",
        "fx.grad(lambda v: np.sum(np.sin(v) * {b} ** 2))({a})",
        "fx.jvp(lambda v: np.sin(v) * {b}, ({a},), ({b},))[1]",
        "softplus({a}) + {b}",
        "scaled({a}, {b})",
        "twice(lambda v: np.sin(v) + C, {a}) * {b}",
        "np.where(A > 0.0, A * {a}, {b}[:, None]).sum(axis=0)",
    ],
    "linear algebra": [
        "np.linalg.solve(dominant({a}), {b})",
        "np.linalg.inv(dominant({a})) @ {b}",
        "np.linalg.det(dominant({a})) * 0.05 * {b}",
        "np.linalg.slogdet(dominant({a}))[1] * {b}",
        "np.linalg.cholesky(positive({a})) @ {b}",
        "np.linalg.eigvalsh(separated({a})) * 0.3 + {b}",
        "(lambda w, v: (v * np.sin(w)) @ v.T)(*np.linalg.eigh(separated({a}))) @ {b}",
        "np.linalg.svd(wide({a}, {b}), compute_uv=False)[I % 2]",
        "(lambda u, s, v: u @ np.diag(np.log(s)) @ v)(*np.linalg.svd(wide({a}, {b}), full_matrices=False))[1]",
        "np.linalg.pinv(wide({a}, {b}))[:, 1]",
        "np.abs(np.linalg.qr(dominant({a}))[1][0]) * {b}",
        "np.linalg.norm(wide({a}, {b}), ord=2) * {a}",
        "np.linalg.norm(wide({a}, {b}), ord='nuc') * {b}",
        "np.linalg.lstsq(wide({a}, {b}).T, {a})[0][I % 2]",
        "np.linalg.matrix_power(0.3 * dominant({a}), 3) @ {b}",
        "np.linalg.norm(1.0 + np.outer({a}, {b}) ** 2, axis=0) * 0.2",
    ],
    "sorting": [
        "np.sort({a} + C)",
        "{b}[np.argsort({a} + C)]",
        "np.median({a} + C) * {b}",
        "np.quantile({a} + C, 0.37) * {b}",
        "np.partition({a} + C, 1)[1] * {b}",
        "{b}[np.searchsorted(np.sort(C), {a}) % 3]",
        "np.interp({a}, np.sort(C), {b})",
        "lax.top_k({a} + C, 2)[0][I % 2] * {b}",
    ],
    "fourier": [
        "np.fft.fft({a}).real",
        "np.fft.fft({a}).imag + {b}",
        "np.fft.irfft(np.fft.rfft({a}) * np.fft.rfft({b}), 3)",
        "np.abs(np.fft.fft({a} + 3.0 * C)) * 0.3",
        "np.fft.fftn(np.outer({a}, {b}), norm='ortho')[1].real",
        "np.fft.ifft({a} + 1j * {b}).real",
        "np.fft.fftshift(np.fft.hfft({a}, 3)) * 0.3",
    ],
    "control flow": [
        "steps({a}, {b})",
        "outputs({a}, {b})",
        "branch({a}, {b})",
        "choice({a}, {b})",
        "loop({a}, {b})",
        "power({a}, {b})",
        "mapped({a}, {b})",
        "lax.dynamic_slice(np.concatenate([{a}, {b}]), (np.argmax({a}),), (3,))",
        "lax.dynamic_update_slice({a}, {b}[:2], (np.argmin({b}),))",
        "lax.cumsum({a}, reverse=True) * 0.5",
    ],
    "signals": [
        "np.convolve({a}, C, 'same') + {b}",
        "np.correlate({a}, {b}, 'same')",
        "np.gradient({a}) * {b}",
        "np.polyval(C, np.tanh({a}))",
        "np.cov(np.stack([{a}, {b}]))[0, 1] * {a}",
        "np.kron({a}, {b})[::4]",
        "np.cross({a}, {b})",
        "np.trapezoid({a}, C) * {b}",
        "np.diff({a}, prepend=0.5)",
        "np.pad({a}, 2, mode='reflect')[1:4]",
        "np.pad({a}, 1, mode='edge')[:3] + {b}",
        "np.vander(np.sin({a}), 3) @ {b}",
        "np.i0(np.sin({a})) * {b}",
        "np.sinc({a})",
        "np.nan_to_num({a} / (1.0 + {b} ** 2))",
        "np.logaddexp({a}, {b})",
        "np.hypot({a}, 1.0 + {b} ** 2)",
        "np.ediff1d(np.concatenate([{a}, {b}[:1]]))",
        "np.tril(np.outer({a}, {b})).sum(axis=0)",
        "np.linspace({a}[0], {b}[1], 3)",
        "np.apply_along_axis(lambda r: r * np.sum(r), 0, {a})",
        "np.var(np.stack([{a}, {b}, C]), axis=0)",
        "np.einsum('ij,jk,k->i', A, np.outer({a}, {b}), C)",
        "np.where({a} > 0.2, np.expm1(np.sin({b})), np.log1p({a} ** 2))",
    ],
}
