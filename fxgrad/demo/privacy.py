"""The privacy that DP-SGD spends: the Rényi accountant of the subsampled Gaussian mechanism.

A step of DP-SGD picks each sample with probability q, independently (Poisson sampling), adds up the chosen
gradients, each of norm C at most, and adds Gaussian noise of standard deviation σC. Removing one person from
the data changes the distribution of what comes out; how far, in Rényi divergence of order α, is bounded by

    ρ(α) = 1/(α-1) · log Σₖ C(α,k) (1-q)^(α-k) q^k exp(k(k-1) / 2σ²)         k = 0…α, α a whole number ≥ 2

(Mironov, Talwar, Zhang, "Rényi differential privacy of the sampled Gaussian mechanism", 2019). The ρ of
successive steps add up, and at the end a (α, ρ)-bound is also a guarantee in the usual words, (ε, δ), with

    ε = ρ + log((α-1)/α) - log(δα) / (α-1)

(Balle et al., "Hypothesis testing interpretations and Rényi differential privacy", 2020; Canonne, Kamath,
Steinke, "The discrete Gaussian for differential privacy", 2020). Every order gives a true bound: the least is
reported. Whole orders alone make it slightly larger than the best one known, never smaller.

The bound is about the trained parameters alone, not about losses or norms printed on the way. The noise of
the demo comes from a NumPy Generator: whoever has real secrets to keep needs a cryptographic source of
randomness, and noise safe in floating point (Mironov, "On significance of the least significant bits", 2012).
"""

import math

__all__ = ["epsilon", "noise_for", "renyi_divergence"]

ORDERS = range(2, 257)


def renyi_divergence(order: int, noise: float, rate: float) -> float:
    """Return ρ(α) of one step: noise multiplier σ, each sample chosen with probability `rate`."""
    if rate == 0:
        return 0.0
    if noise == 0:
        return math.inf
    if rate == 1:
        return order / (2 * noise**2)
    logs = [
        _log_binomial(order, k)
        + (order - k) * math.log1p(-rate)
        + k * math.log(rate)
        + k * (k - 1) / (2 * noise**2)
        for k in range(order + 1)
    ]
    top = max(logs)  # the terms span hundreds of decades: they are added relative to the greatest
    return max(0.0, top + math.log(math.fsum(math.exp(term - top) for term in logs))) / (order - 1)


def epsilon(noise: float, rate: float, steps: int, delta: float) -> float:
    """Return the least ε such that `steps` steps are (ε, δ)-differentially private by the bound above.

    >>> round(epsilon(noise=1.0, rate=0.01, steps=1000, delta=1e-5), 2)
    2.11
    >>> epsilon(noise=0.0, rate=0.01, steps=1000, delta=1e-5)
    inf
    """
    if not (noise >= 0 and 0 <= rate <= 1 and steps >= 0 and 0 < delta < 1):
        raise ValueError(
            f"epsilon: noise={noise}, rate={rate}, steps={steps}, delta={delta}; noise and steps are not below "
            f"zero, the rate is a probability, and delta is between 0 and 1"
        )
    bounds = (
        steps * renyi_divergence(order, noise, rate)
        + math.log1p(-1 / order)
        - math.log(delta * order) / (order - 1)
        for order in ORDERS
    )
    return max(0.0, min(bounds))


def noise_for(target: float, rate: float, steps: int, delta: float) -> float:
    """Return a noise multiplier σ with which `steps` steps spend no more than ε = `target`, to a thousandth the least.

    >>> noise = noise_for(2.0, rate=0.01, steps=1000, delta=1e-5)
    >>> round(noise, 2), epsilon(noise, rate=0.01, steps=1000, delta=1e-5) <= 2.0
    (1.02, True)
    """
    if not epsilon(math.inf, rate, steps, delta) < target:
        raise ValueError(f"noise_for: no noise gives ε = {target}, by the bound of orders up to {ORDERS[-1]}")
    low, high = 0.0, 1.0
    while epsilon(high, rate, steps, delta) > target:
        low, high = high, 2 * high
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon(middle, rate, steps, delta) > target else (low, middle)
    return high


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
