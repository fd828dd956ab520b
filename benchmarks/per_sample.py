"""Per-sample gradients: of the demo's network by vmap(grad), and the sum of clipped ones by fx.per_sample.

The first table decides whether batching rules keep the work in few large NumPy calls. The aim: many times faster than
the loop, and level with the peers that are not compiled. The others compare, for five networks, the sum of gradients
clipped to norm 1 without writing them out against all that write them out, and for the first against torch with norms
made of activations and cotangents and a second way back ("ghost clipping"). The aim: less time than jitted vmap(grad),
and memory that grows with activations, not with parameters. Memory is how much higher the peak of a process is, after
the same on two examples.
"""

import measure  # isort: skip  (it sets the number of threads)

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad.demo import training

SAMPLES = 256


def torch_gradients(torch, params, images, labels) -> Callable[[], list]:
    """The same by torch.func."""

    def loss(params, image, label):
        for layer in params[:-1]:
            image = torch.tanh(image @ layer["weights"] + layer["bias"])
        logits = image @ params[-1]["weights"] + params[-1]["bias"]
        return torch.nn.functional.cross_entropy(logits, label)

    params = [{name: torch.tensor(value) for name, value in layer.items()} for layer in params]
    images, labels = torch.tensor(images), torch.tensor(labels)
    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: gradients(params, images, labels)


def jax_gradients(jax, params, images, labels, compiled: bool) -> Callable[[], list]:
    """The same by JAX."""
    jnp = jax.numpy

    def loss(params, image, label):
        for layer in params[:-1]:
            image = jnp.tanh(image @ layer["weights"] + layer["bias"])
        logits = image @ params[-1]["weights"] + params[-1]["bias"]
        return jax.nn.logsumexp(logits) - logits[label]

    arguments = jax.tree.map(jnp.asarray, (params, images, labels))
    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))
    gradients = jax.jit(gradients) if compiled else gradients
    return lambda: jax.block_until_ready(gradients(*arguments))


# -- five networks, written once for all libraries
class Library(NamedTuple):
    """What the networks need of a library."""

    np: Any
    tanh: Callable
    relu: Callable
    gelu: Callable
    softmax: Callable
    logsumexp: Callable
    convolve: Callable  # 3 × 3, steps of 2


def library_of(module: Any) -> Library:
    """Return the functions of torch, of JAX or of this library."""
    if hasattr(module, "Tensor"):
        F = module.nn.functional
        return Library(
            module,
            module.tanh,
            module.relu,
            lambda x: F.gelu(x, approximate="tanh"),
            lambda x: module.softmax(x, -1),
            lambda x: module.logsumexp(x, -1),
            lambda x, k: F.conv2d(x[None], k, stride=2, padding=1)[0],
        )
    nn, lax = module.nn, module.lax
    return Library(
        module.numpy,
        module.numpy.tanh,
        nn.relu,
        nn.gelu,
        nn.softmax,
        nn.logsumexp,
        lambda x, k: lax.conv_general_dilated(x[None], k, (2, 2), [(1, 1), (1, 1)])[0],
    )


def cross_entropy(lib: Library, logits, target):
    return lib.logsumexp(logits) - (logits * target).sum()


def mlp(lib: Library):
    def loss(p, x, target):
        h = lib.tanh(x @ p["w0"] + p["b0"])
        h = lib.tanh(h @ p["w1"] + p["b1"])
        return cross_entropy(lib, h @ p["w2"] + p["b2"], target)

    return loss


def cnn(lib: Library):
    def loss(p, x, target):
        for k in "012":
            x = lib.relu(lib.convolve(x, p["k" + k]) + p["b" + k][:, None, None])
        return cross_entropy(lib, x.reshape(-1) @ p["w"], target)

    return loss


def transformer(lib: Library):
    def loss(p, tokens, target):
        x = p["embedding"][tokens]
        for i in "01":
            q, k, v = (x @ p[name + i] for name in "qkv")
            x = x + lib.softmax(q @ k.T / 8) @ v @ p["o" + i]
            centered = x - x.mean(-1)[:, None]
            z = centered / lib.np.sqrt((centered**2).mean(-1) + 1e-5)[:, None]
            x = x + lib.gelu(z @ p["u" + i] + p["b" + i]) @ p["d" + i]
        return cross_entropy(lib, x.mean(0) @ p["w"], target)

    return loss


def embedding(lib: Library):
    def loss(p, tokens, target):
        return cross_entropy(lib, p["embedding"][tokens].mean(0) @ p["w"] + p["b"], target)

    return loss


def tied(lib: Library):
    def loss(p, tokens, targets):
        h = lib.tanh(p["embedding"][tokens] @ p["w"])
        z = h @ p["embedding"].T
        return (lib.logsumexp(z) - z[lib.np.arange(16), targets]).mean()

    return loss


def batch_of(network: str, quick: bool = False) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return parameters, inputs and targets; few of them for `quick`."""
    rng = np.random.default_rng(0)

    def normal(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
        return {k: (rng.normal(size=s) / np.sqrt(s[0])).astype(np.float32) for k, s in shapes.items()}

    if network == "mlp":
        shapes = {
            "w0": (784, 256),
            "b0": (256,),
            "w1": (256, 256),
            "b1": (256,),
            "w2": (256, 10),
            "b2": (10,),
        }
        count, x = 256, lambda n: rng.normal(size=(n, 784)).astype(np.float32)
    elif network == "cnn":
        shapes = {"k0": (32, 3, 3, 3), "k1": (64, 32, 3, 3), "k2": (128, 64, 3, 3), "w": (128 * 16, 10)}
        shapes |= {"b0": (32,), "b1": (64,), "b2": (128,)}
        count, x = 64, lambda n: rng.normal(size=(n, 3, 32, 32)).astype(np.float32)
    elif network in ("embedding", "tied"):
        shapes = {"embedding": (10000, 128), "w": (128, 10), "b": (10,)}
        count, x = 64, lambda n: rng.integers(10000, size=(n, 64))
        if network == "tied":
            shapes = {"embedding": (2000, 128), "w": (128, 128)}
            x = lambda n: rng.integers(2000, size=(n, 16))  # noqa: E731
    else:
        d = 128
        shapes = {"embedding": (2000, d), "w": (d, 10)}
        for i in "01":
            shapes |= {name + i: (d, d) for name in "qkvo"}
            shapes |= {"u" + i: (d, 4 * d), "b" + i: (4 * d,), "d" + i: (4 * d, d)}
        count, x = 64, lambda n: rng.integers(2000, size=(n, 16))
    count = 2 if quick else count
    if network == "tied":
        return normal(**shapes), x(count), x(count)
    return normal(**shapes), x(count), np.eye(10, dtype=np.float32)[rng.integers(10, size=count)]


NETWORKS = {"mlp": mlp, "cnn": cnn, "transformer": transformer, "embedding": embedding, "tied": tied}


# -- the sum of clipped gradients
def written_out(np_: Any, gradients: Callable, tree: Any) -> Callable:
    """Return the function that clips and adds up what `gradients` writes out."""

    def clipped_sum(params, x, targets):
        found = gradients(params, x, targets)
        squares = sum((g.reshape(len(x), -1) ** 2).sum(1) for g in found.values())
        factors = 1 / np_.sqrt(squares).clip(1, None)
        return {name: np_.tensordot(factors, g, 1) for name, g in found.items()}

    return clipped_sum


def ghost(torch: Any) -> Callable:
    """Return ghost clipping of the first network in torch: norms by one way back, the weighted sum by a second."""

    def clipped_sum(params, x, targets):
        p = {name: value.detach().requires_grad_() for name, value in params.items()}
        kept, h = [], x
        for i in "012":
            z = h @ p["w" + i] + p["b" + i]
            kept.append((h.detach(), z))
            h = torch.tanh(z)
        losses = torch.logsumexp(z, -1) - (z * targets).sum(-1)
        cts = torch.autograd.grad(losses.sum(), [z for _, z in kept], retain_graph=True)
        squares = sum(((h**2).sum(1) + 1) * (ct**2).sum(1) for (h, _), ct in zip(kept, cts))
        weights = 1 / squares.sqrt().clip(1, None)
        found = torch.autograd.grad((weights * losses).sum(), list(p.values()))
        return dict(zip(p, found))

    return clipped_sum


def contender(name: str, network: str, quick: bool = False) -> Callable[[], Any]:
    """Return the run of one contender, by its name."""
    params, x, targets = batch_of(network, quick)
    library, *how = name.split()
    make = NETWORKS[network]
    if library == "fxgrad":
        loss = make(library_of(fx))
        ours = "per_sample" in how
        gradients = fx.vmap(fx.grad(loss), (None, 0, 0))
        run = fx.per_sample.clipped_sum(loss, 1.0) if ours else written_out(fnp, gradients, fx.tree)
        run = fx.jit(run) if "jit" in how else run
        return lambda: run(params, x, targets)
    if library == "torch":
        import torch

        arguments = {k: torch.tensor(v) for k, v in params.items()}, torch.tensor(x), torch.tensor(targets)
        gradients = torch.func.vmap(torch.func.grad(make(library_of(torch))), (None, 0, 0))
        run = ghost(torch) if "ghost" in how else written_out(torch, gradients, None)
        return lambda: run(*arguments)
    import jax

    arguments = jax.tree.map(jax.numpy.asarray, (params, x, targets))
    gradients = jax.vmap(jax.grad(make(library_of(jax))), (None, 0, 0))
    run = jax.jit(written_out(jax.numpy, gradients, jax.tree))
    return lambda: jax.block_until_ready(run(*arguments))


def peak() -> int:
    """Return the peak of this process's memory, in kB (Linux)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def peak_of(name: str, network: str) -> int:
    """Return by how much a run raises the peak of a process that has made a small one before."""
    contender(name, network, quick=True)()
    before = peak()
    contender(name, network)()
    return peak() - before


def compare_clipped_sums(network: str) -> None:
    """Print time and memory of all contenders for one network."""
    names = ["fxgrad per_sample", "fxgrad per_sample jit", "fxgrad vmap(grad)", "fxgrad vmap(grad) jit"]
    peers = measure.installed("torch", "jax")
    names += ["torch vmap(grad)"] * ("torch" in peers) + ["torch ghost"] * (
        "torch" in peers and network == "mlp"
    )
    names += ["jax vmap(grad) jit"] * ("jax" in peers)
    runs = {name: contender(name, network) for name in names}
    expected = runs["fxgrad vmap(grad)"]()
    for name, run in runs.items():
        for key, value in run().items():
            np.testing.assert_allclose(np.asarray(value), expected[key], rtol=1e-3, atol=1e-4, err_msg=name)
    print(f"sum of clipped gradients, {network}, {len(batch_of(network)[1])} examples:")
    # In turns of their own: what gives half a gigabyte back to the system leaves the others to fetch their memory anew.
    light = {name: run for name, run in runs.items() if "vmap(grad)" not in name}
    heavy = {name: run for name, run in runs.items() if name not in light}
    seconds = measure.medians(light, rounds=15) | measure.medians(heavy, rounds=5)
    measure.report(seconds, "fxgrad per_sample jit")
    for name in names:
        command = [sys.executable, __file__, "--peak", name, network]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        print(f"  {name:22} {json.loads(done.stdout) / 1e3:11.1f} MB")


def compare_gradients() -> None:
    """Print the times of all contenders for the gradients of the demo's network."""
    data = training.split_digits(seed=0)
    batch = training.init(np.random.default_rng(0)), data.images[:SAMPLES], data.labels[:SAMPLES]
    runs = {
        "fxgrad vmap(grad)": lambda: training.per_sample_gradients(*batch),
        "fxgrad loop": lambda: training.gradients_by_loop(*batch),
    }
    peers = measure.peers("torch", "jax")
    if "torch" in peers:
        runs["torch vmap(grad)"] = torch_gradients(peers["torch"], *batch)
    if "jax" in peers:
        runs["jax vmap(grad)"] = jax_gradients(peers["jax"], *batch, compiled=False)
        runs["jax jit(vmap(grad))"] = jax_gradients(peers["jax"], *batch, compiled=True)

    expected = runs["fxgrad vmap(grad)"]()
    for run in runs.values():
        for layer, right in zip(run(), expected):
            for name, value in right.items():
                np.testing.assert_allclose(np.asarray(layer[name]), value, rtol=1e-9, atol=1e-12)
    print(f"per-sample gradients of {SAMPLES} digits:")
    measure.report(measure.medians(runs, rounds=15, calls=10), "fxgrad vmap(grad)")


def main() -> None:
    if sys.argv[1:2] == ["--peak"]:
        print(json.dumps(peak_of(*sys.argv[2:4])))
        return
    compare_gradients()
    for network in NETWORKS:
        compare_clipped_sums(network)


if __name__ == "__main__":
    main()
