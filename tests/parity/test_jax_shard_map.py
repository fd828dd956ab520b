"""`shard_map` against JAX's, which has four devices in one process: derivatives inside and outside."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np

from tests.distributed.ranks import ROOT, run_on_ranks

N = 4
RNG = np.random.default_rng(5)
W, X = RNG.normal(size=(3,)), RNG.normal(size=(8, 3))


def programs(jx, np, lax, P, shard_map):
    """Functions of (w, x), by name, in terms of a library."""

    def summed(w, x):
        return lax.psum(np.tanh(x @ w).sum(), "data") + (w**2).sum()

    def own(w, x):
        return (np.tanh(x @ w) * w.sum()).sum()

    def nested(w, x):
        y = lax.psum(x.sum(0) * w, "data")
        return lax.pmean((np.sin(y) * x).sum(), "data") + y.sum()

    def gathered(w, x):
        return lax.psum((lax.all_gather(x, "data", tiled=True) @ w * x.sum()).sum(), "data")

    def sent(w, x):
        return lax.psum((lax.ppermute(x, "data", [(i, (i + 1) % N) for i in range(N)]) * x * w).sum(), "data")

    def greatest(w, x):
        return lax.psum((x * w).sum(), "data") * 2.0 + lax.psum(lax.psum(x.sum(), "data") * x.sum(), "data")

    def scattered(w, x):
        part = lax.psum_scatter(np.outer(np.arange(8.0), x[0]), "data", tiled=True)
        return lax.psum((part @ w).sum() ** 2, "data")

    both = (P(), P("data"))
    for f in (summed, nested, gathered, sent, greatest, scattered):
        mapped = shard_map(f, both, P())
        yield f"{f.__name__}", mapped
        yield f"{f.__name__}: grad outside", jx.grad(mapped, (0, 1))
        yield f"{f.__name__}: hessian outside", jx.hessian(mapped)
        yield f"{f.__name__}: grad inside", shard_map(jx.grad(f, (0, 1)), both, both)
        yield (
            f"{f.__name__}: jvp inside",
            shard_map(lambda w, x, f=f: jx.jvp(f, (w, x), (w, x))[1], both, P()),
        )
    yield "own: grad inside", shard_map(jx.grad(own, (0, 1)), both, both)
    yield (
        "own: grad inside, divided",
        shard_map(lambda w, x: jx.grad(own)(lax.pcast(w, "data", to="varying"), x), both, P("data")),
    )
    yield (
        "own: vjp inside",
        shard_map(lambda w, x: jx.vjp(own, w, x)[1](lax.pcast(2.0, "data", to="varying")), both, both),
    )
    yield (
        "summed: second derivative inside",
        shard_map(lambda w, x: jx.grad(lambda v: (jx.grad(summed)(v, x) ** 2).sum())(w), both, P()),
    )


def answers_of_jax(path):
    """Write JAX's answers; to be run in a process of its own, whose devices are made at its start."""
    jax.config.update("jax_enable_x64", True)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))

    def shard_map(f, in_specs, out_specs):
        return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)

    found = {}
    for name, f in programs(jax, jnp, jax.lax, jax.sharding.PartitionSpec, shard_map):
        for i, leaf in enumerate(jax.tree.leaves(jax.jit(f)(W, X))):
            found[f"{name}, {i}"] = np.asarray(leaf)
    np.savez(path, **found)


def on_ranks_the_answers_are_those_of_jax(world):
    import fxgrad as fx
    import fxgrad.numpy as fnp
    from fxgrad.distributed import Mesh, P, gather, shard_map

    mesh = Mesh(world, {"data": N})
    expected = np.load(os.environ["ANSWERS_OF_JAX"])
    seen = set()
    for name, f in programs(fx, fnp, fx.lax, P, lambda f, i, o: shard_map(f, mesh, i, o)):
        for i, leaf in enumerate(fx.tree.leaves(gather(f(W, X)))):
            seen.add(f"{name}, {i}")
            np.testing.assert_allclose(leaf, expected[f"{name}, {i}"], rtol=1e-10, atol=1e-12, err_msg=name)
    assert seen == {*expected}


def test_shard_map_gives_the_answers_of_jax(tmp_path):
    path = tmp_path / "answers.npz"
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={N}", "JAX_PLATFORMS": "cpu"}
    code = f"from tests.parity.test_jax_shard_map import answers_of_jax; answers_of_jax({str(path)!r})"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert result.returncode == 0, result.stderr
    run_on_ranks(__name__, N, ANSWERS_OF_JAX=str(path))
