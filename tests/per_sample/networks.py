"""Losses of one example, with parameters and a batch: networks made of what networks are made of."""

import numpy as np

import fxgrad as fx
import fxgrad.numpy as fnp
from fxgrad import lax


def cross_entropy(logits, label):
    return fx.nn.logsumexp(logits) - logits[label]


def normalize(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered / fnp.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)


def parameters(rng, **shapes):
    return {name: rng.normal(size=shape) / np.sqrt(shape[-1]) for name, shape in shapes.items()}


def mlp(rng, n):
    def loss(p, x, y):
        return cross_entropy(p["v"] @ fnp.tanh(x @ p["w"] + p["b"]) + p["c"], y)

    return (
        loss,
        parameters(rng, w=(5, 6), b=(6,), v=(4, 6), c=(4,)),
        rng.normal(size=(n, 5)),
        rng.integers(4, size=n),
    )


def cnn(rng, n):
    def loss(p, x, y):
        h = fx.nn.relu(lax.conv_general_dilated(x[None], p["k"], (1, 1), "SAME") + p["b"][:, None, None])
        h = fx.nn.relu(lax.conv_general_dilated(h, p["m"], (2, 1), [(1, 0), (0, 1)], feature_group_count=2))
        return cross_entropy(h.reshape(-1) @ p["w"], y)

    p = parameters(rng, k=(4, 2, 3, 3), b=(4,), m=(8, 2, 3, 2), w=(8 * 2 * 4, 3))
    return loss, p, rng.normal(size=(n, 2, 4, 4)), rng.integers(3, size=n)


def transformer(rng, n):
    def loss(p, tokens, y):
        h = p["embedding"][tokens] + p["places"][: len(tokens)]
        x = normalize(h) * p["scale"]
        q, k = (fnp.einsum("td,dhe->hte", x, p[name]) for name in ("q", "k"))
        v = (x @ p["v"].T).reshape(len(tokens), 2, 3).transpose(1, 0, 2)
        a = fx.nn.softmax(fnp.einsum("hte,hse->hts", q, k))
        h = h + fnp.einsum("hts,hse,hed->td", a, v, p["o"])
        h = h + fx.nn.gelu(h @ p["up"]) @ p["down"]
        logits = h @ p["embedding"].T  # tied
        return fnp.mean(fx.nn.logsumexp(logits, -1)) - fnp.mean(logits[:, y])

    p = parameters(
        rng, embedding=(9, 6), places=(5, 6), scale=(6,), q=(6, 2, 3), k=(6, 2, 3), v=(6, 6), o=(2, 3, 6), up=(6, 12),
        down=(12, 6),
    )  # fmt: skip
    return loss, p, rng.integers(-9, 9, size=(n, 3)), rng.integers(9, size=n)


def recurrent(rng, n):
    """Weights in the bodies of loops: of two gates, transposed on the way back, and a table."""

    def loss(p, xs, y):
        def step(h, x):
            gate = 1 / (1 + fnp.exp(-(h @ p["gate"])))
            h = gate * h + (1 - gate) * fnp.tanh(h @ p["r"] + x @ p["w"] + p["b"])
            return h, h

        def step_back(h, row):
            h = fnp.tanh(row @ p["r"].T + h @ p["r"] + p["table"][fnp.argmax(row)])
            return h, None

        h, hs = lax.scan(step, fnp.zeros(6), xs)
        back, _ = lax.scan(step_back, h, hs, reverse=True)
        return cross_entropy((h + back) @ p["v"], y)

    p = parameters(rng, gate=(6, 6), r=(6, 6), w=(2, 6), b=(6,), v=(6, 3), table=(6, 6))
    return loss, p, rng.normal(size=(n, 4, 2)), rng.integers(3, size=n)


def shared(rng, n):
    """Weights used twice, transposed, scaled, normalised, penalised, in slices."""

    def loss(p, x, y):
        h = fnp.tanh(fnp.tanh(x @ p["w"]) @ p["w"] @ p["w"].T)
        direction = p["v"] / fnp.sqrt(fnp.sum(p["v"] ** 2, 0))
        h = fnp.tanh(h @ direction) * p["g"] + x @ p["pieces"][:5] + h @ p["pieces"][5:]
        return cross_entropy(h, y) + 0.1 * fnp.sum(p["v"] ** 2) + 0.0 * p["scalar"]

    p = parameters(rng, w=(5, 5), v=(5, 5), g=(5,), pieces=(10, 5)) | {"scalar": 2.0}
    return loss, p, rng.normal(size=(n, 5)), rng.integers(5, size=n)


def layers(rng, n):
    """Layers in a loop, with rows of stacked parameters, the last of them in a checkpoint."""

    def loss(p, x, y):
        def layer(h, row):
            h = h + fnp.tanh(h @ row["w"] + row["b"]) @ row["v"].T + p["places"]
            return h, None

        h, _ = lax.scan(layer, x, {name: p[name] for name in "wbv"})
        h = fx.checkpoint(lambda w, h: fnp.sin(h @ w) @ w.T)(p["u"], h)
        return cross_entropy(h.sum(0), y)

    p = parameters(rng, w=(3, 5, 7), b=(3, 7), v=(3, 5, 7), u=(5, 6), places=(2, 5))
    return loss, p, rng.normal(size=(n, 2, 5)), rng.integers(5, size=n)


NETWORKS = {f.__name__: f for f in (mlp, cnn, transformer, recurrent, shared, layers)}
