"""The transformer of `transformer` as functions of a dict of arrays, which has the names of the module's parameters."""

import fxgrad as fx
import fxgrad.numpy as fnp

HEADS = 4


def norm(params, name, x):
    """Standardise each row, then scale and shift it."""
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = fnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return centred / scale * params[f"{name}.weight"] + params[f"{name}.bias"]


def linear(params, name, x):
    return x @ params[f"{name}.weight"].T + params[f"{name}.bias"]


def block(params, name, x):
    """Attention and two layers, for one sequence: x is (length, width)."""
    length, width = x.shape
    heads = linear(params, f"{name}.attend", norm(params, f"{name}.norm1", x))
    q, k, v = fnp.moveaxis(heads.reshape(length, 3, HEADS, -1), 1, 0)
    y = fx.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + linear(params, f"{name}.project", y.reshape(length, width))
    hidden = fx.nn.gelu(linear(params, f"{name}.mlp.0", norm(params, f"{name}.norm2", x)), approximate=False)
    return x + linear(params, f"{name}.mlp.2", hidden)


def scores(params, tokens):
    """The scores of the next characters of one sequence."""
    x = params["characters.weight"][tokens] + params["positions.weight"][: len(tokens)]
    for i in range(2):
        x = block(params, f"blocks.{i}", x)
    return linear(params, "head", norm(params, "norm", x))


def loss(params, window):
    """The mean cross entropy of the next characters of one window."""
    logs = fx.nn.log_softmax(scores(params, window[:-1]))
    return -fnp.take_along_axis(logs, window[1:, None], axis=-1).mean()


def mean_loss(params, windows):
    return fnp.mean(fx.vmap(loss, in_axes=(None, 0))(params, windows))


optimizer = fx.optim.adamw(3e-3, weight_decay=1e-2)


@fx.jit
def step(params, state, windows):
    """One step of training: the parameters and the optimizer's state after it, and the loss before it."""
    value, gradient = fx.value_and_grad(mean_loss)(params, windows)
    updates, state = optimizer.update(gradient, state, params)
    return fx.optim.apply_updates(params, updates), state, value
