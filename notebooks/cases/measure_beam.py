"""Case 9: the gradient of a beam's compliance by hand, by fxgrad, by JAX and by torch; and of the package `fdtd`.

Needs jax, torch and fdtd: pip install jax torch==2.13.0 fdtd
"""

from .measuring import digits, in_process, milliseconds, peak_of, store  # isort: skip  (it sets the number of threads)

import json
import sys
import time

import numpy as np
import scipy.linalg

import fxgrad as fx
import fxgrad.numpy as fnp

from . import beam

WAYS = ("by hand", "fxgrad", "fxgrad, jitted", "JAX, jitted", "torch")


def gradient_of(way, nelx, nely):
    """A function of densities to the compliance and its gradient."""
    model = beam.HalfBeam(nelx, nely)
    if way == "by hand":
        return model.sensitivities
    if way.startswith("fxgrad"):
        gradient = fx.value_and_grad(model.compliance)
        return traced(fx.jit(gradient) if "jitted" in way else gradient)
    free = np.setdiff1d(np.arange(model.mesh.size), model.fixed)
    i, j = np.repeat(model.mesh.dofs, 8, axis=1), np.tile(model.mesh.dofs, 8)
    stiffness, n, load = beam.KE.ravel(), model.mesh.size, model.load[free]
    if way == "torch":
        import torch

        i, j, free, stiffness, load = (torch.tensor(v) for v in (i, j, free, stiffness, load))

        def gradient(density):
            density = torch.tensor(density, requires_grad=True)
            entries = beam.interpolate(density)[:, None] * stiffness
            whole = torch.zeros(n, n, dtype=torch.float64).index_put((i, j), entries, accumulate=True)
            factor = torch.linalg.cholesky(whole[free][:, free])
            value = load @ torch.cholesky_solve(load[:, None], factor)[:, 0]
            value.backward()
            return value.item(), density.grad.numpy()

        return gradient
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def compliance(density):
        entries = beam.interpolate(density)[:, None] * stiffness
        whole = jnp.zeros((n, n)).at[i, j].add(entries)[free][:, free]
        return load @ jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(whole), load)

    compiled = jax.jit(jax.value_and_grad(compliance))
    return lambda density: jax.block_until_ready(compiled(density))


def traced(gradient):
    """The same, with NumPy's names in the solver taken from this library during a call."""

    def call(density):
        beam.np, beam.solveh_banded = fnp, fx.scipy.linalg.solveh_banded
        try:
            return gradient(density)
        finally:
            beam.np, beam.solveh_banded = np, scipy.linalg.solveh_banded

    return call


def densities(nelx, nely):
    return np.random.default_rng(0).uniform(0.2, 1, nelx * nely)


def compare_gradients():
    """The table of the beam."""
    rows = [["gradient", "ms, 60 × 20", "MB, 60 × 20", "largest difference"]]
    x = densities(60, 20)
    gradients = {way: gradient_of(way, 60, 20) for way in WAYS}
    times = milliseconds({way: lambda f=f: f(x) for way, f in gradients.items()}, rounds=3)
    _, expected = gradients["by hand"](x)
    for way, f in gradients.items():
        found = np.abs(np.asarray(f(x)[1]) - expected).max() / np.abs(expected).max()
        memory = in_process(__spec__.name, "memory", way)
        rows.append([way, digits(times[way]), digits(memory), f"{found:.0e}"])
    return rows


# -- a package as it is ----------------------------------------
NAMES = (
    "exp sin cos sum max stack transpose reshape squeeze broadcast_arrays broadcast_to array ones zeros zeros_like "
    "linspace arange pad divide asarray"
)
CHANGING = "E H time_steps_passed phi_E phi_H psi_Ex psi_Ey psi_Ez psi_Hx psi_Hy psi_Hz"
STEPS, GLASS = 80, (slice(16, 30), slice(14, 46))


def make_grid(permittivity):
    """A plane wave from the left, a block of glass, absorbing borders, in the words of fdtd."""
    import fdtd

    grid = fdtd.Grid(shape=(60, 60, 1), grid_spacing=50e-9)
    for name, where in {"left": np.s_[0:8, :], "right": np.s_[-8:, :]}.items():
        grid[(*where, slice(None))] = fdtd.PML(name=name)
    for name, where in {"below": np.s_[:, 0:8], "above": np.s_[:, -8:]}.items():
        grid[(*where, slice(None))] = fdtd.PML(name=name)
    grid[11, 10:50, 0] = fdtd.LineSource(period=20, name="source")
    grid[(*GLASS, slice(0, 1))] = fdtd.Object(permittivity=permittivity, name="glass")
    return grid


def intensity(permittivity, loop=False):
    """The field's energy at one point over the last period, after steps in a Python loop, or in `fori_loop`."""
    grid = make_grid(permittivity)
    parts = [grid, *grid.boundaries]
    grid.seen = 0.0

    def read():
        return grid.seen, [{k: v for k, v in vars(part).items() if k in CHANGING.split()} for part in parts]

    def step(i, state):
        grid.seen = state[0]
        for part, values in zip(parts, state[1], strict=True):
            vars(part).update(values)
        grid.step()
        field = 1 * grid.E[45, 30, 0, 2]  # a copy: torch keeps what is squared, and the field is written into
        grid.seen = grid.seen + (i >= STEPS - 20) * field**2
        return read()

    if loop:
        return fx.lax.fori_loop(0, STEPS, step, read())[0]
    state = read()
    for i in range(STEPS):
        state = step(i, state)
    return state[0]


def run_package():
    """The table of fdtd, the gradient by each cell of the glass, and the energy of the field."""
    import fdtd
    import torch
    from fdtd.backend import NumpyBackend

    torch.set_grad_enabled(True)  # fdtd switches gradients off when it is imported
    names = {name: staticmethod(getattr(fnp, name)) for name in NAMES.split()}
    ours = type("Traced", (NumpyBackend,), names)
    glass = np.full((14, 32, 1, 1), 2.0)
    fdtd.sources.sin = fnp.sin  # the source takes the sine of the number of the step from `math`

    def choose(backend):
        fdtd.set_backend("torch" if backend == "torch" else "numpy")
        if backend == "fxgrad":
            fdtd.backend.__class__ = ours

    def use(backend, function):
        def call(permittivity):
            choose(backend)
            return function(permittivity)

        return call

    def gradient_by_torch(permittivity):
        permittivity = torch.tensor(permittivity, requires_grad=True)
        value = intensity(permittivity)
        value.backward()
        return value.item(), permittivity.grad.numpy()

    looped = fx.jit(fx.value_and_grad(lambda permittivity: intensity(permittivity, loop=True)))
    ways = {
        "the value alone, NumPy": use("NumPy", lambda x: (intensity(x), None)),
        "fxgrad, as it is": use("fxgrad", fx.value_and_grad(intensity)),
        "fxgrad, steps in a jitted fori_loop": use("fxgrad", looped),
        "fdtd's own torch backend": use("torch", gradient_by_torch),
    }
    times, results = {}, {}
    for way, f in ways.items():
        if "jitted" in way:
            f(glass)
        start = time.process_time()
        results[way] = f(glass)
        times[way] = 1e3 * (time.process_time() - start)
    _, expected = results["fdtd's own torch backend"]
    rows = [["value and gradient", "ms", "largest difference"]]
    for way, (_, found) in results.items():
        off = "" if found is None else f"{np.abs(found - expected).max() / np.abs(expected).max():.0e}"
        rows.append([way, digits(times[way]), off])
    choose("NumPy")
    grid, energy = make_grid(glass), np.zeros((60, 60))
    for i in range(STEPS):
        grid.step()
        energy += (i >= STEPS - 20) * grid.E[:, :, 0, 2] ** 2
    slope = results["fxgrad, as it is"][1][..., 0, 0]
    return rows, {
        "slope": (slope / np.abs(slope).max()).round(4).tolist(),
        "energy": energy.round(5).tolist(),
    }


def memory_of(way):
    """How much memory three gradients of the mesh take beyond that of a small one."""

    def call(nelx, nely):
        gradient = gradient_of(way, nelx, nely)
        for _ in range(3):
            gradient(densities(nelx, nely))

    return peak_of(lambda: call(6, 2), lambda: call(60, 20))


def main():
    if sys.argv[1:2] == ["memory"]:
        print(json.dumps(memory_of(sys.argv[2])))
        return
    table = compare_gradients()
    package, pictures = run_package()
    store("beam", "jax torch fdtd", {"beam": table, "fdtd": package}, **pictures)


if __name__ == "__main__":
    main()
