"""Training steps of small and medium networks: forward, cross entropy, backward, a step of SGD."""

from itertools import pairwise
from typing import Any

import numpy as np

from ..libraries import functional, tape, tree_map
from ..line import Contenders, Run, line

RATE = 0.01
SMALL, MEDIUM = (32, 64, 64, 10), (256, 784, 512, 512, 10)


@line(tolerance=1e-5, calls=3)
def mlp_small(quick: bool) -> Contenders:
    """eager training step of an MLP 64-64-10, batch 32"""
    return _eager(*SMALL)


@line(tolerance=1e-5, calls=3)
def mlp_medium(quick: bool) -> Contenders:
    """eager training step of an MLP 784-512-512-10, batch 256"""
    return _eager(*(SMALL if quick else MEDIUM))


@line(tolerance=1e-5, calls=3)
def mlp_small_jit(quick: bool) -> Contenders:
    """jitted training step of an MLP 64-64-10, batch 32"""
    return _jitted(*SMALL)


@line(tolerance=1e-5, calls=3)
def mlp_medium_jit(quick: bool) -> Contenders:
    """jitted training step of an MLP 784-512-512-10, batch 256"""
    return _jitted(*(SMALL if quick else MEDIUM))


def network(batch: int, *sizes: int) -> tuple[list, np.ndarray, np.ndarray, np.ndarray]:
    """Layers of (weights, bias), a batch, its labels, and the labels as rows of a unit matrix, in float32."""
    rng = np.random.default_rng(0)
    layers = [
        ((rng.standard_normal((a, b)) / a**0.5).astype("float32"), np.zeros(b, "float32"))
        for a, b in pairwise(sizes)
    ]
    labels = rng.integers(0, sizes[-1], batch)
    return (
        layers,
        rng.standard_normal((batch, sizes[0])).astype("float32"),
        labels,
        np.eye(sizes[-1], dtype="float32")[labels],
    )


def cross_entropy(np: Any, layers: Any, x: Any, targets: Any) -> Any:
    """The mean over rows of −log softmax at the labels, as anybody writes it."""
    *hidden, (w, b) = layers
    for inner, bias in hidden:
        x = np.maximum(x @ inner + bias, 0.0)
    z = x @ w + b
    z = z - np.max(z, axis=-1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=-1)) - np.sum(z * targets, axis=-1))


def step_of(lib: Any) -> Any:
    """(layers, x, targets) → the loss, and the layers after a step."""
    gradient = lib.value_and_grad(lambda layers, x, targets: cross_entropy(lib.np, layers, x, targets))

    def step(layers: Any, x: Any, targets: Any) -> Any:
        loss, change = gradient(layers, x, targets)
        return loss, [(w - RATE * dw, b - RATE * db) for (w, b), (dw, db) in zip(layers, change)]

    return step


def _trained(jitted: bool) -> Any:
    """A program that goes on from its last step."""

    def program(lib: Any) -> Any:
        step, held = (lib.jit(step_of(lib)) if jitted else step_of(lib)), []

        def run(layers: Any, x: Any, targets: Any) -> Any:
            loss, held[:] = step(held or layers, x, targets)
            return loss

        return run

    return program


def _jitted(*sizes: int) -> Contenders:
    layers, x, _, targets = network(*sizes)
    contenders = functional(_trained(jitted=True), layers, x, targets, by="fxgrad jax")
    return {f"{name}:jit": prepare for name, prepare in contenders.items()}


def _eager(*sizes: int) -> Contenders:
    layers, x, labels, targets = network(*sizes)

    def plain(torch: Any, layers: Any, x: Any, targets: Any) -> Run:
        parameters = [
            p.requires_grad_() for layer in tree_map(np.copy, layers) for p in map(torch.from_numpy, layer)
        ]

        def run() -> Any:
            h, pairs = x, [*zip(parameters[::2], parameters[1::2])]
            for w, b in pairs[:-1]:
                h = torch.relu(h @ w + b)
            z = h @ pairs[-1][0] + pairs[-1][1]
            loss = torch.mean(torch.logsumexp(z, -1) - torch.sum(z * targets, -1))
            loss.backward()
            with torch.no_grad():
                for p in parameters:
                    p -= RATE * p.grad
                    p.grad = None
            return loss

        return run

    def by_modules(torch: Any, x: Any, labels: Any) -> Run:
        modules = []
        for w, b in layers:
            linear = torch.nn.Linear(*w.shape)
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(w.T.copy()))
                linear.bias.copy_(torch.from_numpy(b))
            modules += [linear, torch.nn.ReLU()]
        model = torch.nn.Sequential(*modules[:-1])
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

        def run() -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), labels)
            loss.backward()
            optimizer.step()
            return loss

        return run

    return {
        **tape(lambda torch, x, targets: plain(torch, layers, x, targets), x, targets),
        **tape(by_modules, x, labels, by="fxgrad.compat:nn torch:nn"),
        **functional(_trained(jitted=False), layers, x, targets, by="fxgrad jax autograd"),
        "numpy": lambda: _by_hand(layers, x, targets),
    }


def _by_hand(layers: list, x: np.ndarray, targets: np.ndarray) -> Run:
    held = tree_map(np.copy, layers)

    def run() -> np.ndarray:
        inputs = [x]
        for w, b in held:
            z = inputs[-1] @ w
            z += b
            inputs.append(np.maximum(z, 0, out=z) if w is not held[-1][0] else z)
        z = inputs.pop()
        z = z - z.max(-1, keepdims=True)
        e = np.exp(z)
        total = e.sum(-1, keepdims=True)
        loss = np.mean(np.log(total[:, 0]) - (z * targets).sum(-1))
        ct = (e / total - targets) / np.float32(len(x))
        for (w, b), h in zip(reversed(held), reversed(inputs)):
            dw, db = h.T @ ct, ct.sum(0)
            if h is not x:
                ct = (ct @ w.T) * (h > 0)
            w -= np.float32(RATE) * dw
            b -= np.float32(RATE) * db
        return loss

    return run
