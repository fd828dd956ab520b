"""A decoder with rotary positions: layers by scan with a checkpoint policy, and a cache while it writes."""

import dataclasses
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.ad_checkpoint import checkpoint_name
from jax.tree_util import register_dataclass, register_pytree_node_class
from jax.typing import ArrayLike

Params = dict[str, Array]


@partial(register_dataclass, data_fields=["k", "v", "n"], meta_fields=["size"])
@dataclass
class Cache:
    k: Array
    v: Array
    n: Array
    size: int = 8


@register_pytree_node_class
class Dense:
    def __init__(self, w, b, name="dense"):
        self.w, self.b, self.name = w, b, name

    def __call__(self, x):
        return jnp.einsum("...i,ij->...j", x, self.w) + self.b

    def tree_flatten(self):
        return (self.w, self.b), self.name

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, name=aux)


def rope(x: ArrayLike, pos: Array) -> Array:
    d = x.shape[-1]
    freq = 1.0 / (10000 ** (jnp.arange(0, d, 2) / d))
    ang = pos[:, None] * freq
    x1, x2 = x[..., ::2], x[..., 1::2]
    return jnp.stack(
        [x1 * jnp.cos(ang) - x2 * jnp.sin(ang), x1 * jnp.sin(ang) + x2 * jnp.cos(ang)], -1
    ).reshape(x.shape)


def attention(q, k, v, mask=None):
    logits = jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        logits = jnp.where(mask, logits, jnp.finfo(logits.dtype).min)
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(logits, axis=-1), v)


def rms(x, g):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * g


def block(p, x, heads=2, cache: Cache | None = None):
    T, D = x.shape
    h = rms(x, p["g1"])
    q, k, v = jnp.split(p["qkv"](h), 3, axis=-1)
    q, k, v = (t.reshape(T, heads, -1).swapaxes(0, 1) for t in (q, k, v))
    if cache is None:
        pos = jnp.arange(T)
        o = attention(rope(q, pos), rope(k, pos), v, jnp.tril(jnp.ones((T, T), dtype=bool)))
    else:
        pos = cache.n + jnp.arange(T)
        ck = jax.lax.dynamic_update_slice(cache.k, rope(k, pos), (0, cache.n, 0))
        cv = jax.lax.dynamic_update_slice_in_dim(cache.v, v, cache.n, axis=1)
        o = attention(rope(q, pos), ck, cv, jnp.arange(cache.size)[None, None] <= pos[None, :, None])
        cache = dataclasses.replace(cache, k=ck, v=cv, n=cache.n + T)
    o = checkpoint_name(o.transpose(1, 0, 2).reshape(T, D), "attn")
    x = x + p["out"](o)
    return x + jax.nn.gelu(rms(x, p["g2"]) @ p["up"]) @ p["down"], cache


rng = np.random.default_rng(0)
D, T, V = 8, 6, 11


def normal(*shape):
    return jnp.asarray(rng.normal(size=shape) * 0.2)


def make_layer():
    dense = {"qkv": Dense(normal(D, 3 * D), jnp.zeros(3 * D)), "out": Dense(normal(D, D), jnp.zeros(D))}
    return dense | {"g1": jnp.ones(D), "g2": jnp.ones(D), "up": normal(D, 4 * D), "down": normal(4 * D, D)}


def forward(params, tokens):
    policy = jax.checkpoint_policies.save_only_these_names("attn")
    layer = jax.checkpoint(lambda x, p: block(p, x)[0], policy=policy)
    x, _ = jax.lax.scan(lambda x, p: (layer(x, p), None), params["embed"][tokens], params["layers"])
    return x @ params["embed"].T


def loss(params, tokens):
    logits = jax.vmap(forward, (None, 0))(params, tokens[:, :-1])
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1).mean()


@jax.jit
def train(params, tokens):
    value, gradient = jax.value_and_grad(loss)(params, tokens)
    return value, jax.tree.map(lambda p, g: p - 0.5 * g, params, gradient)


@jax.jit
def decode(params, caches, token):
    x, new = params["embed"][token][None], []
    for i, cache in enumerate(caches):
        x, cache = block(jax.tree.map(lambda a, i=i: a[i], params["layers"]), x, cache=cache)
        new.append(cache)
    return (x @ params["embed"].T)[0], new


def main():
    layers = jax.tree.map(lambda *xs: jnp.stack(xs), *[make_layer() for _ in range(2)])
    params = {"embed": normal(V, D), "layers": layers}
    tokens = jnp.asarray(rng.integers(0, V, (4, T + 1)))
    losses = []
    for _ in range(3):
        value, params = train(params, tokens)
        losses.append(value)
    caches = [Cache(jnp.zeros((2, 8, 4)), jnp.zeros((2, 8, 4)), jnp.array(0)) for _ in range(2)]
    written = []
    for token in tokens[0, :T]:
        logits, caches = decode(params, caches, token)
        written.append(logits)
    shape = jax.eval_shape(forward, params, tokens[0]).shape
    return {
        "losses": losses,
        "written": written,
        "shape": shape,
    }
