"""Research programs of physics: bodies, gases, rays, solids, the climate."""

import numpy as np
import scipy.integrate
import scipy.linalg

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax
from tests.research.reference import differences


def test_contact():
    """A ball bounces on a floor with a stiff penalty, and the throw that lands at a target is found by its gradient."""

    def landing(v):
        def step(state, _):
            q, p = state
            force = fnp.array([0.0, -9.81]) + fnp.array([0.0, 1.0]) * 1e4 * fnp.maximum(-q[1], 0.0)
            p = p + 1e-3 * force
            return (q + 1e-3 * p, p), q

        (q, _), path = lax.scan(step, (fnp.array([0.0, 1.0]), v), None, length=600)
        return (q[0] - 1.5) ** 2 + (q[1] - 0.8) ** 2, path

    v = np.array([2.0, 0.0])
    (loss, path), g = fx.jit(fx.value_and_grad(landing, has_aux=True))(v)
    assert path.shape == (600, 2)
    assert path[:, 1].min() < 0  # it has touched the floor
    np.testing.assert_allclose(g, differences(lambda v: landing(v)[0], v), rtol=1e-5)
    for _ in range(50):
        v = v - 0.5 * fx.grad(landing, has_aux=True)(v)[0] * np.array([1.0, 0.02])
    assert abs(landing(v)[1][-1, 0] - 1.5) < 0.05


def test_climate_boxes():
    """A two-box energy balance model (Gregory 2000, Held et al. 2010) is fitted to its own ocean heat uptake."""
    forcing = np.linspace(0, 4, 60)

    def run(theta):
        heat_capacity, deep, feedback, exchange = fnp.exp(theta)

        def year(T, F):
            surface, ocean = T
            flow = exchange * (surface - ocean)
            T = (surface + (F - feedback * surface - flow) / heat_capacity, ocean + flow / deep)
            return T, fnp.stack(T)

        return lax.scan(year, (0.0, 0.0), forcing)[1]

    true = np.log([8.0, 100.0, 1.2, 0.7])
    data = run(true)
    assert data.shape == (60, 2)
    loss = lambda theta: fnp.sum((run(theta) - data) ** 2)
    start = true + np.array([0.3, -0.2, 0.2, -0.3])
    np.testing.assert_allclose(fx.grad(loss)(start), differences(loss, start), rtol=1e-6)
    fit = scipy.optimize.least_squares(
        lambda t: (run(t) - data).ravel(), start, jac=lambda t: fx.jacfwd(run)(t).reshape(-1, 4), xtol=1e-14
    )
    np.testing.assert_allclose(fit.x, true, atol=1e-6)


def test_bodies():
    """The gradient of the energy error of a leapfrog integration of gravitating bodies, by scan and checkpoint."""
    rng = np.random.default_rng(0)
    mass, q0, p0 = rng.uniform(0.5, 1, 5), rng.normal(size=(5, 3)), rng.normal(size=(5, 3)) * 0.1

    def potential(q):
        d = q[:, None] - q[None, :]
        r = fnp.sqrt(fnp.sum(d**2, axis=-1) + 0.01)
        i, j = np.triu_indices(5, k=1)
        return -fnp.sum((mass[:, None] * mass[None, :] / r)[i, j])

    force = fx.grad(potential)

    @fx.checkpoint
    def step(state, _):
        q, v = state
        v = v - 0.005 * force(q) / mass[:, None]
        q = q + 0.01 * v
        v = v - 0.005 * force(q) / mass[:, None]
        return (q, v), None

    def energy(q, v):
        return potential(q) + 0.5 * fnp.sum(mass[:, None] * v**2)

    def final(q):
        (q, v), _ = lax.scan(step, (q, p0), None, length=30)
        return energy(q, v)

    np.testing.assert_allclose(final(q0), energy(q0, p0), rtol=1e-3)
    np.testing.assert_allclose(fx.jit(fx.grad(final))(q0), differences(final, q0), rtol=1e-5, atol=1e-8)


def test_lattice_boltzmann():
    """The viscosity of a decaying shear wave in a lattice Boltzmann gas (D2Q9, BGK), and its slope."""
    c = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]])
    w = np.array([4 / 9] + 4 * [1 / 9] + 4 * [1 / 36])
    n, steps = 16, 60

    def equilibrium(rho, u):
        cu = fnp.einsum("ia,axy->ixy", c, u)
        return w[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * fnp.sum(u * u, axis=0))

    def moments(f):
        rho = f.sum(0)
        return rho, fnp.einsum("ia,ixy->axy", c, f) / rho

    def amplitude(tau):
        u = fnp.zeros((2, n, n))
        u[0] = 0.01 * np.sin(2 * np.pi * np.arange(n) / n)
        f = equilibrium(fnp.ones((n, n)), u)
        for _ in range(steps):
            f = f + (equilibrium(*moments(f)) - f) / tau
            for i in range(9):
                f[i] = fnp.roll(f[i], c[i], axis=(0, 1))
        return fnp.max(moments(f)[1][0])

    a, slope = fx.value_and_grad(amplitude)(0.8)
    viscosity = (0.8 - 0.5) / 3
    k2 = (2 * np.pi / n) ** 2
    assert abs(np.log(0.01 / a) / (k2 * steps) / viscosity - 1) < 0.05
    np.testing.assert_allclose(slope, (amplitude(0.8 + 1e-5) - amplitude(0.8 - 1e-5)) / 2e-5, rtol=1e-5)


def test_rays():
    """A sphere is rendered by rays; its radius is recovered from the picture by the gradient of the shading."""
    ys, xs = np.meshgrid(np.linspace(-1, 1, 24), np.linspace(-1, 1, 24), indexing="ij")
    directions = np.stack([xs, ys, np.ones_like(xs) * 2], -1)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    light = np.array([0.5, -0.7, -0.5]) / np.linalg.norm([0.5, -0.7, -0.5])

    def shade(d, centre, radius):
        b = fnp.dot(d, centre)
        disc = b**2 - fnp.dot(centre, centre) + radius**2
        hit = disc > 0
        t = b - fnp.sqrt(fnp.where(hit, disc, 1.0))
        normal = (t * d - centre) / radius
        return fnp.where(hit, fnp.clip(normal @ light, 0.05, None), 0.0)

    render = fx.jit(fx.vmap(fx.vmap(shade, (0, None, None)), (0, None, None)))
    centre = np.array([0.1, -0.1, 4.0])
    target = render(directions, centre, 1.2)
    loss = lambda p: fnp.mean((render(directions, p[:3], p[3]) - target) ** 2)
    p = np.append(centre, 1.23)
    np.testing.assert_allclose(fx.grad(loss)(p), differences(loss, p, 1e-7), rtol=1e-4, atol=1e-7)
    radius = 1.23
    for _ in range(40):
        radius -= 5 * fx.grad(lambda r: loss(fnp.concatenate([centre, fnp.reshape(r, 1)])))(radius)
    assert abs(radius - 1.2) < 0.01


def test_hyperelastic():
    """A neo-Hookean bar of linear triangles hangs by its own weight: Newton's method with the Hessian of the energy."""
    nx, ny = 5, 3
    X = np.stack(np.meshgrid(np.arange(nx) * 0.5, np.arange(ny) * 0.25, indexing="ij"), -1).reshape(-1, 2)
    cells = np.array(
        [
            t
            for i in range(nx - 1)
            for j in range(ny - 1)
            for a in [i * ny + j]
            for t in [(a, a + ny, a + 1), (a + ny, a + ny + 1, a + 1)]
        ]
    )
    edges = lambda x: fnp.stack([x[cells[:, 1]] - x[cells[:, 0]], x[cells[:, 2]] - x[cells[:, 0]]], axis=-1)
    D = edges(X)
    area, inverse = np.linalg.det(D) / 2, np.linalg.inv(D)
    free = X[:, 0] > 0

    def energy(u, load):
        x = fnp.at(X)[free].add(u)
        F = edges(x) @ inverse
        J = fnp.linalg.det(F)
        psi = 0.5 * 10 * (fnp.sum(F * F, axis=(1, 2)) - 2 - 2 * fnp.log(J)) + 0.5 * 20 * fnp.log(J) ** 2
        return fnp.sum(area * psi) + load * fnp.sum(x[:, 1]) / len(X)

    def solve(load):
        u = np.zeros((free.sum(), 2))
        for _ in range(12):
            g = fx.grad(energy)(u, load)
            H = fx.hessian(energy)(u, load).reshape(u.size, u.size)
            u = u - np.linalg.solve(H, g.ravel()).reshape(u.shape)
        return u

    u = solve(0.5)
    g = fx.grad(energy)(u, 0.5)
    assert np.abs(g).max() < 1e-10
    np.testing.assert_allclose(g, differences(lambda u: energy(u, 0.5), u), atol=1e-7)
    H = fx.hessian(energy)(u, 0.5).reshape(u.size, u.size)
    mixed = fx.jacfwd(fx.grad(energy), argnums=1)(u, 0.5)
    slope = -np.linalg.solve(H, mixed.ravel()).reshape(u.shape)
    np.testing.assert_allclose(slope, (solve(0.5 + 1e-4) - solve(0.5 - 1e-4)) / 2e-4, rtol=1e-5, atol=1e-9)


def test_molecules():
    """A Lennard-Jones cluster with a neighbour list that is rebuilt by NumPy while the energy is differentiated."""
    rng = np.random.default_rng(1)
    q = (
        np.stack(np.meshgrid(*3 * [np.arange(3) * 1.1], indexing="ij"), -1).reshape(-1, 3)
        + rng.normal(size=(27, 3)) * 0.02
    )

    def neighbours(q, cutoff=1.9, size=200):
        r = fx.lax.stop_gradient(q)
        d = np.linalg.norm(r[:, None] - r[None], axis=-1)
        i, j = np.nonzero(np.triu(d < cutoff, 1))
        pad = size - len(i)
        return np.pad(i, (0, pad)), np.pad(j, (0, pad)), np.arange(size) < len(i)

    def energy(q, pairs):
        i, j, there = pairs
        d2 = fnp.where(there, fnp.sum((q[i] - q[j]) ** 2, axis=1), 1.0)
        s = 1 / d2**3
        shift = 1.9**-12 - 1.9**-6
        return 4 * fnp.sum(fnp.where(there, s**2 - s - shift, 0.0))

    force = fx.jit(lambda q, pairs: -fx.grad(energy)(q, pairs))
    pairs = neighbours(q)
    np.testing.assert_allclose(
        force(q, pairs), -differences(lambda q: energy(q, pairs), q), rtol=1e-5, atol=1e-6
    )
    v, total = np.zeros_like(q), []
    for t in range(40):
        if t % 10 == 0:
            pairs = neighbours(q)
        v = v + 0.002 * force(q, pairs)
        q = q + 0.004 * v
        v = v + 0.002 * force(q, pairs)
        total.append(energy(q, pairs) + 0.5 * np.sum(v**2))
    assert np.ptp(total) < 0.02 * abs(total[0])
    whole = fx.grad(lambda q: energy(q, neighbours(q)))(q)
    np.testing.assert_allclose(whole, -force(q, neighbours(q)), rtol=1e-12)


def test_spectral_burgers():
    """Burgers' equation by the FFT with integrating factors, and the gradient of its energy in the initial state."""
    n, nu, dt = 32, 0.05, 0.01
    k = np.fft.rfftfreq(n, 1 / n)
    factor = np.exp(-nu * k**2 * dt)

    def step(u_hat, _):
        rhs = lambda v: -0.5j * k * fnp.fft.rfft(fnp.fft.irfft(v, n=n) ** 2)
        half = factor * (u_hat + dt * rhs(u_hat))
        return factor * u_hat + 0.5 * dt * (factor * rhs(u_hat) + rhs(half)), None

    def final(u0):
        return fnp.fft.irfft(lax.scan(step, fnp.fft.rfft(u0), length=50)[0], n=n)

    x = 2 * np.pi * np.arange(n) / n
    u0 = np.sin(x)

    def rhs(t, u):
        v = np.fft.rfft(u)
        return -0.5 * np.fft.irfft(1j * k * np.fft.rfft(u * u), n) - nu * np.fft.irfft(k**2 * v, n)

    reference = scipy.integrate.solve_ivp(rhs, (0, 0.5), u0, rtol=1e-9, atol=1e-10).y[:, -1]
    np.testing.assert_allclose(final(u0), reference, atol=1e-4)
    energy = lambda u: 0.5 * fnp.mean(final(u) ** 2)
    np.testing.assert_allclose(fx.jit(fx.grad(energy))(u0), differences(energy, u0), atol=1e-9)
    direction = np.cos(2 * x)
    tangent = fx.jvp(fx.grad(energy), (u0,), (direction,))[1]
    second = (fx.grad(energy)(u0 + 1e-5 * direction) - fx.grad(energy)(u0 - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(tangent, second, atol=1e-8)
