"""Attention: softmax(q kᵀ/√d) v, 4 × 4 heads of 128 places and 32 features, and its gradient in q, k, v."""

from typing import Any

import numpy as np

from ..libraries import functional, tape
from ..line import Contenders, Run, line


def _operands(quick: bool) -> list[np.ndarray]:
    rng, shape = np.random.default_rng(0), (2, 2, 8, 4) if quick else (4, 4, 128, 32)
    return [rng.standard_normal(shape).astype("float32") for _ in range(3)]


def _loss(np: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    attended = (weights / np.sum(weights, axis=-1, keepdims=True)) @ v
    return np.sum(attended * attended)


def _program(lib: Any) -> Any:
    return lib.value_and_grad(lambda q, k, v: _loss(lib.np, q, k, v), (0, 1, 2))


@line(tolerance=1e-4)
def attention(quick: bool) -> Contenders:
    """eager value and gradient of attention, B4 H4 T128 D32"""
    operands = _operands(quick)

    def on_tape(attend: Any) -> Any:
        def program(torch: Any, *operands: Any) -> Run:
            for operand in operands:
                operand.requires_grad_()

            def run() -> Any:
                for operand in operands:
                    operand.grad = None
                attended = attend(torch, *operands)
                loss = torch.sum(attended * attended)
                loss.backward()
                return loss, [operand.grad for operand in operands]

            return run

        return program

    def plain(torch: Any, q: Any, k: Any, v: Any) -> Any:
        return torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v

    def in_one(torch: Any, q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return {
        **tape(on_tape(plain), *operands),
        **tape(on_tape(in_one), *operands, by="fxgrad.compat:sdpa torch:sdpa"),
        **functional(_program, *operands, by="fxgrad jax"),
    }


@line(tolerance=1e-4)
def attention_jit(quick: bool) -> Contenders:
    """jitted value and gradient of attention, B4 H4 T128 D32"""
    return functional(_program, *_operands(quick), by="fxgrad:jit jax:jit")
