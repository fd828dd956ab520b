"""Research programs of imaging: tomography, phases, ptychography, deconvolution, waves through the earth."""

import numpy as np
import scipy.ndimage
import scipy.signal

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax, optim
from tests.research.reference import differences


def phantom(n):
    y, x = np.mgrid[-1 : 1 : n * 1j, -1 : 1 : n * 1j]
    return 1.0 * (x**2 + y**2 < 0.6) + 0.5 * ((x - 0.2) ** 2 + y**2 < 0.1)


def test_tomography():
    """A picture is reconstructed from its projections along rotated axes, with a total-variation prior."""
    n, angles = 16, np.linspace(0, np.pi, 12, endpoint=False)
    y, x = np.mgrid[:n, :n] - (n - 1) / 2

    def project(image, angle):
        c, s = fnp.cos(angle), fnp.sin(angle)
        where = fnp.stack([c * y - s * x, s * y + c * x]) + (n - 1) / 2
        return fx.scipy.ndimage.map_coordinates(image, where, order=1, mode="constant").sum(axis=0)

    radon = fx.jit(fx.vmap(project, in_axes=(None, 0)))
    truth = phantom(n)
    sinogram = radon(truth, angles)
    reference = [
        scipy.ndimage.map_coordinates(
            truth,
            np.stack([np.cos(a) * y - np.sin(a) * x, np.sin(a) * y + np.cos(a) * x]) + (n - 1) / 2,
            order=1,
        ).sum(0)
        for a in angles
    ]
    np.testing.assert_allclose(sinogram, reference, atol=1e-12)

    def loss(image):
        tv = fnp.sum(
            fnp.sqrt(fnp.diff(image, axis=0)[:, :-1] ** 2 + fnp.diff(image, axis=1)[:-1] ** 2 + 1e-4)
        )
        return fnp.sum((radon(image, angles) - sinogram) ** 2) + 0.01 * tv

    image = np.zeros((n, n))
    np.testing.assert_allclose(fx.grad(loss)(truth), differences(loss, truth), rtol=1e-4, atol=1e-4)
    opt = optim.adam(0.05)
    state = opt.init(image)

    @fx.jit
    def step(image, state):
        g = fx.grad(loss)(image)
        updates, state = opt.update(g, state, image)
        return optim.apply_updates(image, updates), state

    for _ in range(150):
        image, state = step(image, state)
    assert np.linalg.norm(image - truth) < 0.2 * np.linalg.norm(truth)
    # the pullback of the linear projection is its adjoint: <A x, y> = <x, A' y>
    _, pull = fx.vjp(lambda im: radon(im, angles), image)
    ct = np.random.default_rng(0).normal(size=sinogram.shape)
    np.testing.assert_allclose(np.vdot(radon(truth, angles), ct), np.vdot(truth, pull(ct)[0]))


def test_phase_retrieval():
    """A signal is found from the moduli of its random complex measurements by Wirtinger flow (Candès et al. 2015)."""
    rng = np.random.default_rng(0)
    n, m = 8, 80
    A = rng.normal(size=(m, n)) + 1j * rng.normal(size=(m, n))
    truth = rng.normal(size=n) + 1j * rng.normal(size=n)
    b = np.abs(A @ truth) ** 2

    def loss(z):
        return fnp.mean((fnp.abs(A @ z) ** 2 - b) ** 2) / 4

    z = rng.normal(size=n) + 1j * rng.normal(size=n)
    g = fx.grad(loss)(z)
    wirtinger = A.conj().T @ ((np.abs(A @ z) ** 2 - b) * (A @ z)) / m
    np.testing.assert_allclose(
        np.conj(g), wirtinger, rtol=1e-10
    )  # JAX's convention: the conjugate of the direction of ascent
    step = 0.1 / np.mean(b)

    def descend(z):
        return lax.fori_loop(0, 1500, lambda i, z: z - step * fnp.conj(fx.grad(loss)(z)), z)

    Y = (A.conj().T * b) @ A / m
    z = np.linalg.eigh(Y)[1][:, -1] * np.linalg.norm(truth)
    z = fx.jit(descend)(z)
    phase = np.vdot(z, truth) / abs(np.vdot(z, truth))
    np.testing.assert_allclose(z * phase, truth, atol=1e-6)


def test_ptychography():
    """Object and probe are refined from overlapping diffraction patterns, each patch by dynamic_slice and vmap."""
    rng = np.random.default_rng(1)
    obj = np.exp(1j * rng.uniform(0, 0.5, (12, 12)))
    yy, xx = np.mgrid[-1:1:6j, -1:1:6j]
    probe = np.exp(-2 * (xx**2 + yy**2)).astype(complex)
    positions = np.array([(i, j) for i in (0, 2, 4, 6) for j in (0, 2, 4, 6)])

    def pattern(params, position):
        patch = lax.dynamic_slice(params["object"], (position[0], position[1]), (6, 6))
        return fnp.abs(fnp.fft.fft2(patch * params["probe"], norm="ortho")) ** 2

    patterns = fx.vmap(pattern, in_axes=(None, 0))
    truth = {"object": obj, "probe": probe}
    data = patterns(truth, positions)
    by_numpy = [
        np.abs(np.fft.fft2(obj[i : i + 6, j : j + 6] * probe, norm="ortho")) ** 2 for i, j in positions
    ]
    np.testing.assert_allclose(data, by_numpy, atol=1e-13)

    def loss(params):
        return fnp.sum((fnp.sqrt(patterns(params, positions) + 1e-9) - np.sqrt(data + 1e-9)) ** 2)

    start = {"object": np.ones((12, 12), complex), "probe": probe * (1 + 0.05j)}
    grads = fx.jit(fx.grad(loss))(start)
    eps = 1e-6
    for name, part in (("object", 1), ("object", 1j), ("probe", 1), ("probe", 1j)):
        shifted = lambda h: {
            **start,
            name: start[name] + h * part * (np.arange(start[name].size) == 27).reshape(start[name].shape),
        }
        slope = (loss(shifted(eps)) - loss(shifted(-eps))) / (2 * eps)
        np.testing.assert_allclose(np.real(grads[name].ravel()[27] * part), slope, rtol=1e-4)
    params = start
    for _ in range(200):
        params = fx.tree.map(lambda p, g: p - 0.1 * np.conj(g), params, fx.jit(fx.grad(loss))(params))
    assert loss(params) < 0.1 * loss(start)


def test_deconvolution():
    """A blurred trace is deconvolved by FISTA with a soft threshold; its weight is tuned through the iterations."""
    rng = np.random.default_rng(2)
    spikes = np.zeros(60)
    spikes[[8, 21, 24, 45]] = [1.0, -0.7, 0.9, 0.5]
    kernel = scipy.signal.windows.gaussian(9, 1.3)
    trace = np.convolve(spikes, kernel, mode="same") + 0.02 * rng.normal(size=60)

    def blur(x):
        return fnp.convolve(x, kernel, mode="same")

    def fista(log_weight):
        weight, step = fnp.exp(log_weight), 0.08

        def iterate(carry, _):
            x, y, t = carry
            z = y - step * fx.grad(lambda u: 0.5 * fnp.sum((blur(u) - trace) ** 2))(y)
            new = fnp.sign(z) * fnp.maximum(fnp.abs(z) - step * weight, 0)
            t_new = (1 + fnp.sqrt(1 + 4 * t**2)) / 2
            return (new, new + (t - 1) / t_new * (new - x), t_new), None

        zero = fnp.zeros(60)
        return lax.scan(iterate, (zero, zero, 1.0), None, length=100)[0][0]

    risk = lambda w: fnp.sum((fista(w) - spikes) ** 2)
    np.testing.assert_allclose(fx.jit(fx.grad(risk))(-2.0), differences(risk, np.array(-2.0)), rtol=1e-4)
    x = fista(-2.0)
    residual = np.convolve(trace - np.convolve(x, kernel, mode="same"), kernel[::-1], mode="same")
    assert np.all(np.abs(residual) < np.exp(-2.0) * 1.05)  # the optimality condition of the lasso
    assert set(np.argsort(-np.abs(x))[:3]) <= {8, 21, 24, 7, 9, 20, 22, 23, 25}


def test_full_waveform():
    """Full-waveform inversion in one dimension, by a leapfrog solver that writes in place."""
    n, steps, dt, h = 60, 120, 0.004, 0.02

    def seismogram(velocity, source):
        u, old = np.zeros_like(velocity), np.zeros_like(velocity)
        trace = np.zeros_like(velocity, shape=steps)
        c2 = (velocity * dt / h) ** 2
        for t in range(steps):
            new = 2 * u - old
            new[1:-1] += c2[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
            new[10] += dt**2 * source[t]
            old, u = u, new
            trace[t] = u[5]
        return trace

    t = np.arange(steps) * dt
    ricker = 1e3 * (1 - 2 * (np.pi * 8 * (t - 0.12)) ** 2) * np.exp(-((np.pi * 8 * (t - 0.12)) ** 2))
    true = np.full(n, 2.0)
    true[30:40] = 2.6
    data = seismogram(true, ricker)
    loss = lambda c: np.sum((seismogram(c, ricker) - data) ** 2)
    start = np.full(n, 2.0)
    g = fx.grad(loss)(start)
    np.testing.assert_allclose(g, differences(loss, start), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(fx.jit(fx.grad(loss))(start), g, rtol=1e-9, atol=1e-15)
    result = fx.scipy.optimize.minimize(loss, start, method="L-BFGS-B", options={"maxiter": 10})
    assert result.fun < 0.1 * loss(start)
