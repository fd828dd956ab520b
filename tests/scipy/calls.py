"""Calls of SciPy's public functions with a traced argument, as a program writes it that knows only SciPy.

The names of the operands are those of `operands`: `x` and what is made of it are traced, capitals are constants.
Ufuncs of `special` and distributions of `stats` are not listed: `every_call` makes their calls.
"""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterator
from importlib import import_module
from inspect import unwrap
from itertools import product
from typing import Any

import numpy as np

RNG = np.random.default_rng(3)
X = RNG.uniform(0.5, 2.0, (3, 4))
WAVE = np.sin(0.3 * np.arange(64) + 0.1).reshape(4, 16)
SORTED = np.array([0.0, 1.0, 2.5, 4.0])
CONSTANTS = {
    "np": np,
    "X": X,
    "Y": RNG.uniform(0.5, 2.0, (3, 4)),
    "V": RNG.uniform(0.5, 2.0, 4),
    "S": X[0, 0],
    "W": RNG.uniform(0.5, 2.0, 64),
    "A": RNG.uniform(0.5, 2.0, (3, 3)) + 3 * np.eye(3),
    "I": np.array([2, 0, 1]),
    "K": np.array([0, 1, 2, 1]),
    "L": np.array([[1, 1, 2, 2], [1, 1, 2, 2], [0, 0, 2, 2]]),
    "T": SORTED,
    "TT": np.linspace(0.0, 4.0, 8),
    "G": RNG.uniform(0.5, 2.0, (8, 2)),
    "B": np.array([0.2, 0.3]),
    "C": np.array([1.0, -0.4]),
    "SOS": np.array([[0.2, 0.3, 0.1, 1.0, -0.4, 0.1]]),
}


def operands(x: Any) -> dict[str, Any]:
    """The names that calls mention, for this value of `x`."""
    q = x[:, :3]
    return {
        "x": x,
        "v": x[0],
        "s": x[0, 0],
        "q": q,
        "p": q @ q.T + np.eye(3),
        "z": x + 1j * x[::-1],
        "w": (x[0][:, None] * WAVE).reshape(64),
        "u": x[0] / 4,
        "o": (x[0] - x[0][::-1] * 0.3).cumsum() + SORTED,
        "g": x[:, :2],
        "n": (x * 3).astype(int),
        **CONSTANTS,
    }


CALLS = {
    "cluster.hierarchy": """
        average(x) centroid(x) complete(x) single(x) median(x) ward(x) weighted(x) linkage(x) fclusterdata(x, 1.)
        cophenet(sp.cluster.hierarchy.linkage(X)*s) fcluster(sp.cluster.hierarchy.linkage(X)*s, 1.)
        inconsistent(sp.cluster.hierarchy.linkage(X)*s) leaves_list(sp.cluster.hierarchy.linkage(X)*s)
        maxdists(sp.cluster.hierarchy.linkage(X)*s) optimal_leaf_ordering(sp.cluster.hierarchy.linkage(X), x)
    """,
    "cluster.vq": """
        whiten(x) vq(x, Y)[1] kmeans(x, Y)[1] kmeans2(x, Y[:2], minit='matrix')[0]
    """,
    "differentiate": """
        derivative(np.exp, s).df jacobian(lambda t: t**2, v).df hessian(lambda t: (t**2).sum(0), v).ddf
    """,
    "fft": """
        fft(v) ifft(v) fft2(x) ifft2(x) fftn(x) ifftn(x) rfft(v) irfft(v) rfft2(x) irfft2(x) rfftn(x) irfftn(x) hfft(v)
        ihfft(v) hfft2(x) ihfft2(x) hfftn(x) ihfftn(x) fftshift(x) ifftshift(x) dct(v) idct(v) dst(v) idst(v) dctn(x)
        idctn(x) dstn(x) idstn(x) fht(v, .1, .5) ifht(v, .1, .5) fftfreq(4, s) rfftfreq(4, s) fhtoffset(s, .5)
    """,
    "integrate": """
        cumulative_simpson(x) cumulative_trapezoid(x) simpson(x) trapezoid(x) romb(np.append(v, s))
        quad(lambda t: s*t, 0, 1)[0] quad(np.exp, 0, s)[0] dblquad(lambda a, b: s*a*b, 0, 1, 0, 1)[0]
        tplquad(lambda a, b, c: s*a*b*c, 0, 1, 0, 1, 0, 1)[0] nquad(lambda a: a*s, [(0, 1)])[0]
        fixed_quad(lambda t: t*s, 0, 1)[0] quad_vec(lambda t: t*v, 0, 1)[0] cubature(lambda t: t*s, [0.], [1.]).estimate
        tanhsinh(lambda t: t*t, 0., s).integral nsum(lambda t: 1/t**2, s, np.inf).sum
        qmc_quad(lambda t: t[0]*s, 0, 1, n_points=8, n_estimates=2).integral odeint(lambda y, t: -y, v, T)[-1]
        solve_ivp(lambda t, y: -y, (0, 1), v).y solve_ivp(lambda t, y: -s*y, (0, 1), V).y
        solve_bvp(lambda t, y: np.stack([y[1], -s*y[0]]), lambda a, b: np.stack([a[0], b[0]]), T/4, np.ones((2, 4))).y
        RK45(lambda t, y: -y, 0, v, 1).step() ode(lambda t, y: -y).set_initial_value(v).integrate(1.)
    """,
    "interpolate": """
        Akima1DInterpolator(T, v)(1.5) CubicHermiteSpline(T, v, V)(1.5) CubicSpline(T, v)(1.5) CubicSpline(T, V)(v)
        PchipInterpolator(T, v)(1.5) PPoly(q, T)(1.5) BPoly(q, T)(1.5) BSpline(np.arange(8.), v, 3)(3.5)
        make_interp_spline(T, v)(1.5) make_lsq_spline(T, v, [0.]*4 + [4.]*4)(1.5) make_smoothing_spline(TT, w[:8])(1.5)
        make_splrep(TT, w[:8])(1.5) make_splprep([TT, w[:8]])[0](.5) splev(v, (np.arange(8.), V, 3))
        splev(1.5, (np.arange(8.), v, 3)) splrep(T, v)[1] splprep([T, v])[0][1] splint(0, s, (np.arange(8.), V, 3))
        splder((np.arange(8.), w[:8], 3))[1] splantider((np.arange(8.), w[:8], 3))[1] sproot((np.arange(8.), v, 3))
        spalde(s + 3, (np.arange(8.), V, 3)) insert(s + 3, (np.arange(8.), V, 3))[1]
        bisplrep(W[:25], W[25:50], w[:25])[2] bisplev(s, 1., (np.arange(8.), np.arange(8.), W[:16], 3, 3))
        interp1d(T, v)(1.5) interp1d(T, V)(v) interpn((T,), v, [[1.5]]) interpn((T,), V, v[:, None])
        RegularGridInterpolator((T,), v)([[1.5]]) RegularGridInterpolator((T,), V)(v[:, None])
        RBFInterpolator(G, w[:8])(G[:2] + .1) RBFInterpolator(G, W[:8])(g) Rbf(T, v)(1.5) KroghInterpolator(T, v)(1.5)
        BarycentricInterpolator(T, v)(1.5) FloaterHormannInterpolator(T, v, d=1)(1.5) AAA(T, v)(1.5)
        barycentric_interpolate(T, v, 1.5) krogh_interpolate(T, v, 1.5) pchip_interpolate(T, v, 1.5) lagrange(T, v)(1.5)
        approximate_taylor_polynomial(lambda t: t*s, 0., 2, 1.)(1.5) pade(v, 1)[0](.5) griddata(G, w[:8], (1., 1.))
        LinearNDInterpolator(G, w[:8])(1., 1.) NearestNDInterpolator(G, w[:8])(1., 1.)
        CloughTocher2DInterpolator(G, w[:8])(1., 1.) UnivariateSpline(T, v)(1.5) InterpolatedUnivariateSpline(T, v)(1.5)
        LSQUnivariateSpline(TT, w[:8], [2.])(1.5) RectBivariateSpline(T, T, w[:16].reshape(4, 4))(1., 1.)
        SmoothBivariateSpline(W[:25], W[25:50], w[:25])(1., 1.) NdBSpline((np.arange(8.),), v, 3)([[3.5]])
        NdPPoly(x[:, :3], (T,))([[1.5]]) list(generate_knots(TT, w[:8]))
    """,
    "linalg": """
        bandwidth(x) block_diag(x, Y) cdf2rdf(v[:3] + 0j, A*s + 0j)[0] cho_factor(p)[0]
        cho_solve((np.eye(3), True), v[:3]) cho_solve_banded((X[:2], False), v) cholesky(p)
        cholesky_banded(np.stack([v*0, v])) circulant(v) companion(v) convolution_matrix(v, 5) coshm(q) cosm(q)
        cossin(A*s, 1, 1) det(q) diagsvd(v, 4, 4) eig(p)[0].real eig_banded(x[:2])[0] eigh(p)[0]
        eigh_tridiagonal(v, V[1:])[0] eigvals(p).real eigvals_banded(x[:2]) eigvalsh(p) eigvalsh_tridiagonal(v, V[1:])
        expm(q) expm_cond(q) expm_frechet(q, A)[1] fiedler(v) fiedler_companion(v) fractional_matrix_power(p, .5)
        funm(p, np.exp) hankel(v) hessenberg(q) inv(p) ishermitian(q) issymmetric(q) khatri_rao(x, Y) ldl(p)[0]
        leslie(v, v[1:]) logm(p) lstsq(x[:, :2], V[:3])[0] lu(p)[2] lu_factor(p)[0]
        lu_solve((np.eye(3), np.arange(3)), v[:3]) matmul_toeplitz(v, V) matrix_balance(q) norm(x) null_space(x)
        ordqz(q, A)[0] orth(q) orthogonal_procrustes(q, A)[0] pinv(q) pinvh(p) polar(p)[1] qr(p)[1]
        qr_delete(np.eye(3), q, 0)[1] qr_insert(np.eye(3), A, v[:3], 0)[1] qr_multiply(p, V[:3])[0]
        qr_update(np.eye(3), A, v[:3], V[:3])[1] qz(q, A)[0] rq(p)[0] rsf2csf(A*s, A)[0].real schur(p)[0] signm(p)
        sinhm(q) sinm(q) solve(p, v[:3]) solve(A, v[:3]) solve_banded((1, 0), x[:2] + 2, V) solve_circulant(v, V)
        solve_continuous_are(A, A, p, p) solve_continuous_lyapunov(p, A) solve_discrete_are(A, A, p, p)
        solve_discrete_lyapunov(p/9, A) solve_sylvester(p, A, A) solve_toeplitz(v + [3, 0, 0, 0], V)
        solve_triangular(p, V[:3]) solveh_banded(x[:2] + [[0]*4, [3]*4], V) sqrtm(p) subspace_angles(g, Y[:, :2])
        svd(x)[1] svdvals(x) tanhm(q) tanm(q/9) toeplitz(v) clarkson_woodruff_transform(x, 2, 1)
    """,
    "ndimage": """
        affine_transform(x, np.eye(2)*1.1) map_coordinates(x, [[1.2], [1.3]]) map_coordinates(X, x[:2]) rotate(x, 20.)
        shift(x, .5) zoom(x, 1.5) spline_filter(x) spline_filter1d(x) convolve(x, A) convolve1d(x, V[:3])
        correlate(x, A) correlate1d(x, V[:3]) gaussian_filter(x, 1.) gaussian_filter1d(x, 1.)
        gaussian_gradient_magnitude(x, 1.) gaussian_laplace(x, 1.) laplace(x) prewitt(x) sobel(x) uniform_filter(x, 2)
        uniform_filter1d(x, 2) black_tophat(x, 2) white_tophat(x, 2) grey_closing(x, 2) grey_opening(x, 2)
        grey_dilation(x, 2) grey_erosion(x, 2) morphological_gradient(x, 2) morphological_laplace(x, 2)
        maximum_filter(x, 2) maximum_filter1d(x, 2) minimum_filter(x, 2) minimum_filter1d(x, 2) median_filter(x, 2)
        percentile_filter(x, 30, 2) rank_filter(x, 1, 2) generic_filter(x, np.sum, 2)
        generic_filter1d(x, lambda a, b: None, 2) generic_gradient_magnitude(x, sp.ndimage.sobel)
        generic_laplace(x, lambda a, *o: a) geometric_transform(x, lambda i: i) vectorized_filter(x, np.sum, size=2)
        fourier_ellipsoid(z, 1.) fourier_gaussian(z, 1.) fourier_shift(z, 1.) fourier_uniform(z, 1.) center_of_mass(x)
        mean(x, L, [1, 2]) sum(x, L, [1, 2]) sum_labels(x, L, [1, 2]) variance(x, L, [1, 2])
        standard_deviation(x, L, [1, 2]) maximum(x, L, [1, 2]) minimum(x, L, [1, 2]) median(x, L, [1, 2])
        extrema(x, L, [1, 2])[0] maximum_position(x) minimum_position(x)
        labeled_comprehension(x, L, [1, 2], np.sum, float, 0.) histogram(x, 0, 3, 3) label(x > 1) binary_closing(x > 1)
        binary_dilation(x > 1) binary_erosion(x > 1) binary_fill_holes(x > 1) binary_hit_or_miss(x > 1)
        binary_opening(x > 1) binary_propagation(x > 1) distance_transform_bf(x > 1) distance_transform_cdt(x > 1)
        distance_transform_edt(x > 1) distance_transform_edt(X > 1, s) find_objects(n)[0][0].stop value_indices(n)[2]
        watershed_ift(n.astype(np.uint8), L)
    """,
    "optimize": """
        minimize(lambda t: ((t - v)**2).sum(), V).x minimize(lambda t: (t**2).sum(), v).x
        minimize_scalar(lambda t: (t - s)**2).x root(lambda t: t**2 - v, V).x
        root_scalar(lambda t: t**2 - s, bracket=(0, 9)).root bisect(lambda t: t**2 - s, 0, 9)
        brentq(lambda t: t**2 - s, 0, 9) brenth(lambda t: t**2 - s, 0, 9) ridder(lambda t: t**2 - s, 0, 9)
        toms748(lambda t: t**2 - s, 0, 9) newton(lambda t: t**2 - s, 1.) newton(lambda t: t**2 - v, V)
        fixed_point(lambda t: np.cos(t*s), 1.) fsolve(lambda t: t**2 - v, V) anderson(lambda t: t**2 - v, V)
        broyden1(lambda t: t**2 - v, V) broyden2(lambda t: t**2 - v, V) diagbroyden(lambda t: t**2 - v, V)
        excitingmixing(lambda t: v - t, V) linearmixing(lambda t: v - t, V) newton_krylov(lambda t: t**2 - v, V)
        approx_fprime(v, lambda t: (t**2).sum()) check_grad(lambda t: (t**2).sum(), lambda t: 2*t, v)
        basinhopping(lambda t: ((t - v)**2).sum(), V, 1).x brute(lambda t: (t[0] - s)**2, ((0, 2),), Ns=3, finish=None)
        brent(lambda t: (t - s)**2) bracket(lambda t: (t - s)**2)[0] golden(lambda t: (t - s)**2)
        fminbound(lambda t: (t - s)**2, 0, 9) curve_fit(lambda t, a: a*t, T, v)[0] least_squares(lambda t: t - v, V).x
        leastsq(lambda t: t - v, V)[0] differential_evolution(lambda t: (t[0] - s)**2, [(0, 3)], maxiter=2).x
        direct(lambda t: (t[0] - s)**2, [(0, 3)], maxiter=2).x
        dual_annealing(lambda t: (t[0] - s)**2, [(0, 3)], maxiter=2).x shgo(lambda t: (t[0] - s)**2, [(0, 3)]).x
        fmin(lambda t: ((t - v)**2).sum(), V, disp=0) fmin_bfgs(lambda t: ((t - v)**2).sum(), V, disp=0)
        fmin_cg(lambda t: ((t - v)**2).sum(), V, disp=0) fmin_cobyla(lambda t: ((t - v)**2).sum(), V, [])
        fmin_l_bfgs_b(lambda t: ((t - v)**2).sum(), V, approx_grad=True)[0]
        fmin_ncg(lambda t: ((t - v)**2).sum(), V, lambda t: t - v, disp=0)
        fmin_powell(lambda t: ((t - v)**2).sum(), V, disp=0) fmin_slsqp(lambda t: ((t - v)**2).sum(), V, disp=0)
        fmin_tnc(lambda t: ((t - v)**2).sum(), V, approx_grad=True, disp=0)[0] isotonic_regression(v).x
        linear_sum_assignment(x)[0] line_search(lambda t: (t**2).sum(), lambda t: 2*t, v, -v)[0]
        linprog(v, A_ub=Y, b_ub=V[:3]).x linprog(V, A_eq=x, b_eq=Y.sum(1)).x lsq_linear(x[:, :2], V[:3]).x milp(v).x
        nnls(x[:, :2], V[:3])[0] quadratic_assignment(p, A).col_ind rosen(v) rosen_der(v) rosen_hess(v)
        rosen_hess_prod(v, V) Bounds(v, V + 9).lb LinearConstraint(x).A
    """,
    "optimize.elementwise": """
        find_root(lambda t: t**2 - s, (0., 9.)).x find_root(lambda t, a: t**2 - a, (0., 9.), args=(s,)).x
        find_minimum(lambda t: (t - s)**2, (0., 1., 9.)).x bracket_root(lambda t: t**2 - s, 0., 9.).bracket
        bracket_minimum(lambda t: (t - s)**2, 0., xl0=-1., xr0=9.).bracket
    """,
    "signal": """
        abcd_normalize(A*s, A, A, A)[0] argrelextrema(w, np.greater) argrelmax(w) argrelmin(w) bilinear(v[:2], C)
        bilinear_zpk(v, V, 1., 2.)[0] bode((B*s, C))[1] butter(2, u[0]) buttord(u[0], .9, 3, 40)[1] cheby1(2, s, .3)
        cheby2(2, s + 30, .3) cheb1ord(u[0], .9, 3, 40)[1] cheb2ord(u[0], .9, 3, 40)[1] ellip(2, s, 40, .3)
        ellipord(u[0], .9, 3, 40)[1] bessel(2, u[0]) cheb1ap(2, s)[2] cheb2ap(2, s)[2] ellipap(2, s, 40)[2]
        check_COLA(w[:16], 16, 8) check_NOLA(w[:16], 16, 8) chirp(v, 1., 2., 3.) closest_STFT_dual_window(w[:16], 8)[0]
        coherence(w, W, nperseg=16)[1] cont2discrete((A*s, A, A, A), .1)[0] convolve(v, V) convolve2d(x, A)
        correlate(v, V) correlate2d(x, A) csd(w, W, nperseg=16)[1] cspline1d(w) cspline1d_eval(w, [1.5])
        cspline2d(np.tile(w.reshape(8, 8), (4, 4)), 1.) czt(v) dbode((B*s, C, .1))[1] decimate(w, 2)
        deconvolve(w[:8], B)[0] detrend(x) dfreqresp((B*s, C, .1))[1] dimpulse((B*s, C, .1), n=4)[1]
        dlsim((B, C, .1), w[:8])[1] dstep((B*s, C, .1), n=4)[1] envelope(w) fftconvolve(v, V) filtfilt(B, C, w)
        find_peaks(w)[0] find_peaks_cwt(w, [2, 3]) findfreqs(v, V, 4) firls(5, [0, .3, .5, 1], v) firwin(5, u[0])
        firwin2(5, [0, .3, .5, 1], v) firwin_2d((3, 3), ('hamming', 'hamming'), fc=u[0], fs=2) freqresp((B*s, C))[1]
        freqs(v, V)[1] freqs_zpk(v, V, 1.)[1] freqz(v)[1] freqz_sos(SOS*np.stack([s, s, s, 1, 1, 1]))[1]
        freqz_zpk(u, V, 1.)[1] sosfreqz(SOS*np.stack([s, s, s, 1, 1, 1]))[1] gammatone(s, 'iir', fs=9.)[0]
        gauss_spline(v, 3) gausspulse(v, 1.) group_delay((v, [1.]))[1] hilbert(w) hilbert2(x)
        iircomb(u[0], 3., fs=u[0]*8)[0] iirdesign(u[0], .9, 3, 40)[0] iirfilter(2, u[0], btype='low')[0]
        iirnotch(u[0], 3.)[0] iirpeak(u[0], 3.)[0] impulse((B*s, C))[1] invres(v[:2], V[:2], [])[0]
        invresz(v[:2], V[:2], [])[0] istft(z)[1] kaiser_atten(5, u[0]) kaiser_beta(s + 30) kaiserord(s + 30, .3)[1]
        lfilter(B, C, w) lfilter(v, [1.], W) lfilter_zi(v, V) lfiltic(B, C, v) lombscargle(TT, w[:8], V) lp2bp(v, V)[0]
        lp2bp_zpk(v, V, 1.)[0] lp2bs(v, V)[0] lp2bs_zpk(v, V, 1.)[0] lp2hp(v, V)[0] lp2hp_zpk(v, V, 1.)[0]
        lp2lp(v, V)[0] lp2lp_zpk(v, V, 1.)[0] lsim((B, C), w[:8], TT)[1] medfilt(w) medfilt2d(x) minimum_phase(w)
        normalize(v, V)[0] oaconvolve(v, V) order_filter(x, np.ones((3, 3)), 1) peak_prominences(w, [5])[0]
        peak_widths(w, [5])[0] periodogram(w)[1] place_poles(A*s, A, [-1., -2, -3]).gain_matrix qspline1d(w)
        qspline1d_eval(w, [1.5]) remez(5, [0, .1, .3, .5], v[:2]) resample(w, 32) resample_poly(w, 1, 2)
        residue(v[:2], V)[0] residuez(v[:2], V)[0] savgol_coeffs(5, 2, delta=s) savgol_filter(w, 5, 2) sawtooth(v)
        sepfir2d(x, V[:3], V[:3]) sos2tf(SOS*s)[0] sos2zpk(SOS*s)[2] sosfilt(SOS, w)
        sosfilt_zi(SOS*[1, 1, 1, 0, 0, 0]*s + SOS*[0, 0, 0, 1, 1, 1]) sosfiltfilt(SOS, w) spectrogram(w, nperseg=16)[2]
        spline_filter(np.tile(w.reshape(8, 8), (4, 4)), 1.) square(v) ss2tf(A*s, A, A, A)[0]
        ss2zpk(A*s, A[:, :1], A[:1], [[1.]])[0] step((B*s, C))[1] stft(w, nperseg=16)[2] sweep_poly(v, V)
        symiirorder1(w, .3, .4) symiirorder2(w, .3, .4) tf2sos(v[:2], C) tf2ss(v[:2], C)[2] tf2zpk(v[:3], C)[2]
        unique_roots(v)[0] upfirdn(V, w) vectorstrength(v, 1.)[0] welch(w, nperseg=16)[1] wiener(w) zoom_fft(w, .3)
        zpk2sos(v[:2], V[:2], s) zpk2ss(v[:1], V[:2], s)[2] zpk2tf(v, V, s)[0] get_window(('kaiser', s), 8) CZT(4)(v)
        ShortTimeFFT(W[:16], 8, 1.).stft(w) TransferFunction(v[:2], C).num StateSpace(A*s, A, A, A).A
        ZerosPolesGain(v[:1], V[:2], s).gain
    """,
    "signal.windows": """
        kaiser(8, s) kaiser_bessel_derived(8, s) gaussian(8, s) general_gaussian(8, 1., s) general_cosine(8, v)
        general_hamming(8, s) chebwin(8, s + 60) exponential(8, None, s) tukey(8, u[0]) dpss(8, s)
        get_window(('gaussian', s), 8) taylor(8, 4, s + 30)
    """,
    "sparse": """
        coo_array(x).toarray() csr_array(x).toarray() csc_array(x).toarray() bsr_array(x).toarray()
        dia_array(x).toarray() dok_array(x).toarray() lil_array(x).toarray() coo_matrix(x).toarray()
        csr_matrix(x).toarray() csc_matrix(x).toarray() csr_array((v[:3], (I, I))).toarray()
        block_diag([x, x]).toarray() diags([v], [0]).toarray() diags_array([v], offsets=[0]).toarray()
        kron(x, Y).toarray() kronsum(q, A).toarray() spdiags(v, 0, 4, 4).toarray() tril(x).toarray() triu(x).toarray()
        find(x)[2] csr_array(Y)@v csr_array(Y)*s
    """,
    "sparse.linalg": """
        bicg(A, v[:3])[0] bicgstab(A, v[:3])[0] cg(A + A.T, v[:3])[0] cgs(A, v[:3])[0] gcrotmk(A, v[:3])[0]
        gmres(A, v[:3])[0] lgmres(A, v[:3])[0] minres(A + A.T, v[:3])[0] qmr(A, v[:3])[0] tfqmr(A, v[:3])[0]
        lsmr(A, v[:3])[0] lsqr(A, v[:3])[0] spsolve(sp.sparse.csc_array(A), v[:3]) spsolve(p, V[:3])
        spsolve_triangular(sp.sparse.csr_array(np.tril(A)), v[:3]) factorized(sp.sparse.csc_array(A))(v[:3])
        splu(p).solve(V[:3]) splu(sp.sparse.csc_array(A)).solve(v[:3]) spilu(p).solve(V[:3]) expm(p)
        expm_multiply(A, v[:3]) expm_multiply(p, V[:3]) onenormest(p) eigs(p, 1)[0] eigsh(p, 1)[0] svds(p, 1)[1]
        lobpcg(A + A.T, x[:, :1])[0] matrix_power(p, 2) aslinearoperator(p).matvec(V[:3])
        funm_multiply_krylov(np.exp, A, v[:3]) LinearOperator((3, 3), lambda t: p@t).matvec(V[:3])
    """,
    "sparse.csgraph": """
        connected_components(q) laplacian(q) shortest_path(q) floyd_warshall(q) dijkstra(q) bellman_ford(q) johnson(q)
        breadth_first_order(q, 0)[0] depth_first_order(q, 0)[0] breadth_first_tree(q, 0) depth_first_tree(q, 0)
        minimum_spanning_tree(q) csgraph_from_dense(q) csgraph_masked_from_dense(q)
    """,
    "spatial": """
        distance_matrix(x, Y) geometric_slerp(v/np.sqrt((v*v).sum()), V/np.sqrt((V*V).sum()), [.5])
        minkowski_distance(x, Y) minkowski_distance_p(x, Y) procrustes(x, Y)[2] KDTree(x).query(V)[0]
        KDTree(X).query(v)[0] cKDTree(X).query(v)[0] ConvexHull(w.reshape(32, 2)).volume Delaunay(g).simplices
        Voronoi(x[:, :2].T.reshape(3, 2)).vertices SphericalVoronoi(np.concatenate([np.eye(3), -np.eye(3)])*s, s).points
        Rectangle(v, V).volume()
        HalfspaceIntersection(np.stack([[-1., 0, 0], [0, -1, 0], [1, 1, -s - 2]]), np.array([.1, .1])).intersections
    """,
    "spatial.distance": """
        braycurtis(v, V) canberra(v, V) cdist(x, Y) chebyshev(v, V) cityblock(v, V) correlation(v, V) cosine(v, V)
        directed_hausdorff(x, Y)[0] euclidean(v, V) hamming(v, V) is_valid_dm(q) is_valid_y(v[:3]) jaccard(v > 1, V > 1)
        jensenshannon(v, V) mahalanobis(v[:3], V[:3], A) minkowski(v, V) pdist(x) seuclidean(v, V, V) sqeuclidean(v, V)
        squareform(v[:3]) dice(v > 1, V > 1) rogerstanimoto(v > 1, V > 1) russellrao(v > 1, V > 1)
        sokalsneath(v > 1, V > 1) yule(v > 1, V > 1)
    """,
    "spatial.transform": """
        Rotation.from_rotvec(v[:3]).as_matrix() Rotation.from_quat(v).as_matrix()
        Rotation.from_euler('xyz', v[:3]).as_matrix() Rotation.from_matrix(A).apply(v[:3])
        Rotation.from_rotvec(V[:3]).apply(v[:3]) RigidTransform.from_translation(v[:3]).as_matrix()
        RotationSpline([0, 1], sp.spatial.transform.Rotation.from_rotvec(Y[:2, :3]))(s/2).as_rotvec()
    """,
    "special": """
        assoc_laguerre(v, 2) bernoulli(3)*s berp_zeros(2)*s comb(v + 3, 2) factorial(v) factorial2(n) factorialk(n, 3)
        diric(v, 3) log_softmax(v) logsumexp(v) softmax(v) multigammaln(v + 3, 2) perm(v + 3, 2) polygamma(1, v) sinc(v)
        zeta(v + 1) ellip_harm(8, 5, 1, 1, s) ellip_harm_2(5, 8, 2, 1, s + 9) h1vp(1, v) h2vp(1, v) ivp(1, v) jvp(1, v)
        kvp(1, v) yvp(1, v) spherical_in(1, v) spherical_jn(1, v) spherical_kn(1, v) spherical_yn(1, v)
        mathieu_even_coef(1, s) mathieu_odd_coef(1, s) lambertw(v) legendre_p(2, u) legendre_p_all(2, u)
        assoc_legendre_p(2, 1, u) assoc_legendre_p_all(2, 1, u) sph_harm_y(2, 1, v, V) sph_harm_y_all(2, 1, s, 1.)
        sph_legendre_p(2, 1, v) sph_legendre_p_all(2, 1, v) obl_cv_seq(1, 2, s) pro_cv_seq(1, 2, s) pbdn_seq(2, s)
        pbdv_seq(2, s) pbvv_seq(2, s) riccati_jn(2, s) riccati_yn(2, s) lmbda(1, s)[0] chebyu(2)(v) gegenbauer(2, s)(.5)
        genlaguerre(2, s)(.5) roots_jacobi(2, s, 1.)[0] roots_gegenbauer(2, s)[0] roots_genlaguerre(2, s)[0]
        ellip_normal(5, 8, 1, 1)*s jacobi(2, 1., 1.)(v) legendre(2)(v) hermite(2)(v) chebyt(2)(v) laguerre(2)(v)
        softplus(v) lqmn(1, 2, u[0]) lqn(2, u[0]) expn(2, v) kn(2, v) yn(2, v) bdtr(1, 3, u) bdtrc(1, 3, u)
        btdtria(u, 2., .4) stdtridf(.2, -u - .7) lpmv(1, 2, u)
    """,
    "stats": """
        alexandergovern(v, V).statistic anderson(v) anderson_ksamp([v, V]) ansari(v, V)
        barnard_exact(n[:2, :2]).statistic bartlett(v, V) bayes_mvs(v) binned_statistic(V, v)[0]
        binned_statistic_2d(V, V, v)[0] binned_statistic_dd(Y, v[:3])[0]
        bootstrap((v,), np.mean, n_resamples=9, rng=1).standard_error boschloo_exact(n[:2, :2]).statistic boxcox(v, .5)
        boxcox(v)[0] boxcox_llf(.5, v) boxcox_normmax(v) boxcox_normplot(v, 0, 1)[1] brunnermunzel(v, V)
        bws_test(v, V).statistic chatterjeexi(v, V) chi2_contingency(x)[0] chisquare(x)[0] circmean(v) circstd(v)
        circvar(v) combine_pvalues(u)[0] cramervonmises(v, 'norm').statistic cramervonmises_2samp(v, V).statistic
        cumfreq(v)[0] describe(v).mean differential_entropy(v) directional_stats(x).mean_direction
        dunnett(v, control=V).statistic ecdf(v).cdf.quantiles energy_distance(v, V) entropy(v) entropy(v, V)
        epps_singleton_2samp(w, W) expectile(v) f_oneway(v, V)[0] false_discovery_control(u) fisher_exact(n[:2, :2])
        fligner(v, V)[0] friedmanchisquare(*x)[0] gmean(v)
        goodness_of_fit(sp.stats.norm, v, n_mc_samples=9, rng=1).statistic gstd(v) gzscore(v) hmean(v) iqr(v)
        jarque_bera(v)[0] kendalltau(v, V)[0] kruskal(v, V)[0] ks_1samp(v, sp.stats.norm.cdf)[0] ks_2samp(v, V)[0]
        kstest(v, 'norm')[0] kstat(v) kstatvar(v) kurtosis(v) kurtosistest(w)[0] levene(v, V)[0] linregress(V, v).slope
        lmoment(v) logrank(v, V).statistic mannwhitneyu(v, V)[0] median_abs_deviation(v) median_test(v, V)[0] mode(v)[0]
        moment(v, 2) monte_carlo_test(v, sp.stats.norm.rvs, np.mean, n_resamples=9).statistic mood(v, V)[0]
        multiscale_graphcorr(w[:16].reshape(8, 2), W[:16].reshape(8, 2), reps=1, random_state=1)[0] mvsdist(v)[0].mean()
        normaltest(w)[0] obrientransform(v, V)[0] page_trend_test(x).statistic pearsonr(v, V)[0]
        percentileofscore(v, 1.) percentileofscore(V, v)
        permutation_test((v, V), lambda a, b: a.mean() - b.mean(), n_resamples=9, rng=1).statistic pmean(v, 2)
        pointbiserialr(V > 1, v)[0] poisson_means_test(1, s, 2, s).statistic power_divergence(x)[0] ppcc_max(v)
        ppcc_plot(v, 0, 1)[1] probplot(v)[0] quantile(v, .3) quantile_test(v).statistic rankdata(v) ranksums(v, V)[0]
        relfreq(v)[0] scoreatpercentile(v, 30) sem(v) shapiro(v)[0] siegelslopes(v, V)[0] sigmaclip(v)[0] skew(v)
        skewtest(w)[0] somersd(v, V).statistic spearmanr(v, V)[0] spearmanrho(v, V).statistic theilslopes(v, V)[0]
        tiecorrect(v) tmax(v) tmean(v) tmin(v) trim1(v, .2) trim_mean(v, .2) trimboth(v, .2) tsem(v) tstd(v)
        ttest_1samp(v, 1.)[0] ttest_ind(v, V)[0] ttest_ind_from_stats(s, 1., 5, 1., 1., 5)[0] ttest_rel(v, V)[0]
        tukey_hsd(v, V).statistic tvar(v) variation(v) wasserstein_distance(v, V) wasserstein_distance_nd(x, Y)
        weightedtau(v, V)[0] wilcoxon(v - 1)[0] yeojohnson(v, .5) yeojohnson(v)[0] yeojohnson_llf(.5, v)
        yeojohnson_normmax(v) yeojohnson_normplot(v, 0, 1)[1] zmap(v, V) zscore(v) fit(sp.stats.norm, v).params
        sobol_indices(func=lambda t: np.stack([t[0]*s, t[0]**2]), n=4, dists=[sp.stats.uniform()]).first_order
        gaussian_kde(w).pdf(1.) gaussian_kde(W)(v) Normal(mu=s).logpdf(1.) Normal().logpdf(v)
        Uniform(a=0., b=s).logpdf(.2) Logistic().pdf(v) Binomial(n=3, p=u[0]).pmf(1)
        make_distribution(sp.stats.gamma)(a=s).pdf(1.) Covariance.from_cholesky(q).covariance
        rv_histogram((v, np.arange(5.))).pdf(1.5) multivariate_normal.logpdf(v[:3], V[:3], A@A.T)
        multivariate_normal(v[:3]).logpdf(V[:3]) multivariate_normal.cdf(v[:3]) multivariate_t.logpdf(v[:3])
        dirichlet.logpdf(V/V.sum(), v) dirichlet_multinomial.logpmf(K, v, 4)
        multinomial.logpmf([1, 2], 3, [u[0], 1 - u[0]]) matrix_normal.logpdf(x, X)
        matrix_t.logpdf(x, X, np.eye(3), np.eye(4), 5) wishart.logpdf(p, 4, A@A.T) invwishart.logpdf(p, 4, A@A.T)
        multivariate_hypergeom.logpmf([1, 1], [2, 2], 2)*s random_table.logpmf(L, L.sum(1), L.sum(0))*s
        uniform_direction(3).rvs(1, random_state=1)*s
        vonmises_fisher.logpdf(v/np.sqrt((v*v).sum()), V/np.sqrt((V*V).sum()), 2.)
        normal_inverse_gamma.logpdf(s, 1., 1., 1., 2., 2.) norm.rvs(loc=v, random_state=1) norm.pdf(v) norm.logcdf(v)
        norm.sf(v) norm.logsf(v) norm.ppf(u) norm.isf(u) norm(s).logpdf(1.) norm.fit(v)[0] norm.entropy(s) norm.mean(s)
        norm.expect(lambda t: t*s) norm.nnlf((s, 1.), V) norm.moment(2, s) norm.interval(.5, s)[0]
    """,
    "stats.contingency": """
        margins(x)[0] expected_freq(x) association(n) relative_risk(n[0, 0] + 1, 9, 2, 5).relative_risk
        odds_ratio(n[:2, :2]).statistic crosstab(n, n)
    """,
    "stats.mstats": """
        describe(v).mean kurtosis(v) skew(v) moment(v) mode(v) mquantiles(v) pearsonr(v, V)[0] spearmanr(v, V)[0]
        rankdata(v) sem(v) tmean(v) tvar(np.ma.array(V))*s tsem(v) trim(v) trimmed_mean(v) trimmed_std(v) trimmed_var(v)
        variation(v) winsorize(v) linregress(V, v)[0] ttest_1samp(v, 1.)[0] ttest_ind(v, V)[0] ttest_rel(v, V)[0]
        f_oneway(v, V)[0] hdmedian(v) hdquantiles(v) theilslopes(v, V)[0] kruskal(v, V)[0] kendalltau(v, V)[0] tmax(v)
        tmin(v) trimboth(v) trimtail(v) normaltest(w)[0] skewtest(w)[0] kurtosistest(w)[0] mannwhitneyu(v, V)[0]
        ks_twosamp(v, V)[0] meppf(v) rsh(v) mjci(v) idealfourths(v) siegelslopes(v, V)[0] scoreatpercentile(v, 30)
        hdquantiles_sd(v) median_cihs(w) trimmed_mean_ci(v) trimmed_stde(v) friedmanchisquare(*x)[0]
        compare_medians_ms(w, W) pointbiserialr(V > 1, v)[0] brunnermunzel(v, V)[0] msign(v)
    """,
    "stats.qmc": """
        scale(u[:, None], 0., 2.) discrepancy(u[:, None]) geometric_discrepancy(u[:, None])
        update_discrepancy([s/4], V[:, None]/4, 1.)
    """,
    "constants": """
        convert_temperature(v, 'C', 'K') lambda2nu(v) nu2lambda(v)
    """,
}  # fmt: skip

# What has no operand that could be traced: settings, data, sizes, plots, files, and what takes the results of others.
WITHOUT_ARRAYS = set("""
    cluster.hierarchy: ClusterNode DisjointSet correspond cut_tree dendrogram from_mlab_linkage is_isomorphic
        is_monotonic is_valid_im is_valid_linkage leaders maxRstat maxinconsts num_obs_linkage set_link_color_palette
        to_mlab_linkage to_tree
    fft: next_fast_len prev_fast_len set_backend skip_backend set_global_backend register_backend get_workers
        set_workers
    integrate: lebedev_rule newton_cotes BDF DOP853 DenseOutput LSODA OdeSolution OdeSolver RK23 Radau complex_ode
    interpolate: BivariateSpline LSQBivariateSpline LSQSphereBivariateSpline RectSphereBivariateSpline
        SmoothSphereBivariateSpline interp2d
    linalg: dft find_best_blas_type get_blas_funcs get_lapack_funcs hadamard helmert hilbert invhilbert invpascal
        pascal
    another name: solve_lyapunov ks_2samp plotting_positions chi2_contingency
    ndimage: generate_binary_structure iterate_structure
    optimize: linprog_verbose_callback show_options BFGS BroydenFirst HessianUpdateStrategy InverseJacobian
        KrylovJacobian LbfgsInvHessProduct NonlinearConstraint OptimizeResult RootResults SR1
    signal: lti dlti band_stop_obj besselap buttap choose_conv_method correlation_lags czt_points max_len_seq
        qspline2d unit_impulse ZoomFFT
    signal.windows: boxcar triang parzen bohman blackman nuttall blackmanharris flattop bartlett barthann hamming
        cosine hann lanczos
    sparse: block_array bmat hstack vstack dia_matrix bsr_matrix dok_matrix lil_matrix expand_dims eye eye_array
        get_index_dtype identity issparse isspmatrix isspmatrix_bsr isspmatrix_coo isspmatrix_csc isspmatrix_csr
        isspmatrix_dia isspmatrix_dok isspmatrix_lil load_npz permute_dims rand random random_array
        safely_cast_index_arrays save_npz swapaxes sparray spmatrix
    sparse.linalg: inv norm is_sptriangular spbandwidth use_solver LaplacianNd SuperLU
    sparse.csgraph: maximum_bipartite_matching min_weight_full_bipartite_matching structural_rank yen
        reverse_cuthill_mckee maximum_flow construct_dist_matrix reconstruct_path csgraph_from_masked csgraph_to_dense
        csgraph_to_masked
    spatial: convex_hull_plot_2d delaunay_plot_2d tsearch voronoi_plot_2d
    spatial.transform: Slerp
    spatial.distance: num_obs_dm num_obs_y
    special: geterr seterr errstate euler stirling2 chebyc chebys hermitenorm sh_legendre sh_chebyt sh_chebyu
        sh_jacobi
    constants: find precision unit value
    stats.qmc: QMCEngine Sobol Halton LatinHypercube PoissonDisk MultinomialQMC MultivariateNormalQMC
    stats.mstats: argstoarray count_tied_groups find_repeats kendalltau_seasonal kruskalwallis ks_1samp kstest
        obrientransform sen_seasonal_slopes trima trimr ttest_onesamp mquantiles_cimj gmean hmean zmap zscore
        chisquare
    stats: order_statistic Mixture exp log abs truncate BootstrapMethod CensoredData FitError MonteCarloMethod
        PermutationMethod binomtest ortho_group random_correlation special_ortho_group unitary_group power
        rv_continuous rv_discrete
""".replace(":", " ").split())  # fmt: skip


def public_names(namespace: str) -> list[str]:
    """The public functions and classes of a namespace of SciPy's that are no warnings, errors, or tables of zeros."""
    module = import_module(f"scipy.{namespace}")
    found = {name: getattr(module, name, None) for name in module.__all__}
    return [
        name
        for name, value in found.items()
        if callable(value)
        and not re.search("_zeros$|roots(_|$)(?!jacobi|gegenbauer|genlag)", name)
        and not (isinstance(value, type) and issubclass(value, Exception))
    ]


def split_calls(text: str) -> Iterator[str]:
    """The expressions of a text, which white space outside of brackets separates."""
    depth, call = 0, ""
    for sign in text + " ":
        depth += (sign in "([{") - (sign in ")]}")
        if depth or not sign.isspace():
            call += sign
        elif call:
            yield " ".join(call.split())
            call = ""


def ufunc_calls() -> Iterator[tuple[str, str]]:
    """Calls of the ufuncs of scipy.special with a traced argument each, at arguments where they are finite."""
    special = import_module("scipy.special")
    plain = operands(X)
    for name in public_names("special"):
        ufunc = unwrap(getattr(special, name))  # it is wrapped with SCIPY_ARRAY_API=1
        if (
            not isinstance(ufunc, np.ufunc) or f" {name}(" in CALLS["special"]
        ):  # with SCIPY_ARRAY_API=1 they are wrapped
            continue
        choices = ("0.4", "1.5", "3", "1", "0.05", "-0.7")
        ways = [
            (*before, traced, *after)
            for traced in ("v", "u", "-v", "v + 1")
            for at in range(ufunc.nin)[::-1]
            for before in product(choices, repeat=at)
            for after in product(choices, repeat=ufunc.nin - 1 - at)
        ]
        for way in ways[:4000]:
            call = f"{name}({', '.join(way)})"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = evaluate("special", call, plain)
                except TypeError:
                    continue
            if np.isfinite(found[0] if isinstance(found, tuple) else found).all():
                yield call, name
                break
        else:
            raise AssertionError(f"no arguments of scipy.special.{name} are known at which it is finite")


def distribution_calls() -> Iterator[tuple[str, str]]:
    """Calls of the distributions of scipy.stats: the density at a traced point, or of a traced parameter."""
    stats = import_module("scipy.stats")
    for name in public_names("stats"):
        law = getattr(stats, name)
        if isinstance(law, stats.rv_continuous | stats.rv_discrete):
            continuous = isinstance(law, stats.rv_continuous)
            method = "logpdf" if continuous else "logpmf"
            first, *others = [*shapes_of(law, method), "v*0.01"]
            operands = ["v", first, *others] if continuous else ["1", f"{first} + (s - S)", *others[:-1]]
            yield f"{name}.{method}({', '.join(operands)})", name


def shapes_of(law: Any, method: str) -> list[str]:
    """Shape parameters of a distribution at which it has a density."""
    if law.name == "poisson_binom":
        return ["u"]
    for shapes in product(("1.5", "0.4", "3.0", "5.0", "2", "7"), repeat=law.numargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = [float(shape) for shape in shapes]
            point = X[0] if method == "logpdf" else 1
            if np.isfinite(getattr(law, method)(point, *values)).all():
                return [*shapes]
    return ["0.5"] * law.numargs


def evaluate(namespace: str, call: str, given: dict[str, Any]) -> Any:
    """The value of a call, where names are those of a namespace of SciPy's and the operands."""
    module = import_module(f"scipy.{namespace}")
    linecache.cache[call] = (len(call), None, [call], call)  # the line that an error shows
    return eval(
        compile(call, call, "eval"),
        {**vars(module), **given, "sp": import_module("scipy"), "__name__": __name__},
    )


def every_call() -> Iterator[tuple[str, str]]:
    """Every call, after its namespace."""
    for namespace, text in CALLS.items():
        for call in split_calls(text):
            yield namespace, call
    for call, _ in ufunc_calls():
        yield "special", call
    for call, _ in distribution_calls():
        yield "stats", call
