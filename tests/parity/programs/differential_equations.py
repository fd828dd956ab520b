"""A small library for ordinary differential equations: Dormand–Prince with adaptive steps, events, and the adjoint."""

import abc
import math
from itertools import pairwise

import torch
from given import initialize, norms, numbers
from torch import nn


class Tableau:
    """The coefficients of a Runge–Kutta method of order 5 with an embedded one of order 4 (Dormand & Prince, 1980)."""

    a = (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    )
    c = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
    error = (71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


def rms(x):
    return x.abs().pow(2).mean().sqrt()


class Solver(metaclass=abc.ABCMeta):
    def __init__(self, func, rtol=1e-6, atol=1e-8, max_steps=10_000, **unused):
        if unused:
            raise TypeError(f"unexpected options {sorted(unused)}")
        self.func, self.rtol, self.atol, self.max_steps = func, rtol, atol, max_steps
        self.calls = 0

    def derivative(self, t, y):
        self.calls += 1
        return self.func(t, y)

    @abc.abstractmethod
    def integrate(self, y, times): ...


class Fixed(Solver):
    """The classical method of order 4 with given steps."""

    def integrate(self, y, times):
        found = torch.empty(len(times), *y.shape, dtype=y.dtype, device=y.device)
        found[0] = y
        for i, (t, end) in enumerate(pairwise(times)):
            h = end - t
            k1 = self.derivative(t, y)
            k2 = self.derivative(t + h / 2, torch.add(y, k1, alpha=0.5 * h.item()))
            k3 = self.derivative(t + h / 2, y + h * k2 / 2)
            k4 = self.derivative(end, y + h * k3)
            y = y + h * (k1 + 2 * (k2 + k3) + k4) / 6
            found[i + 1] = y
        return found


class DormandPrince(Solver):
    def first_step(self, t, y):
        f = self.derivative(t, y)
        scale = self.atol + self.rtol * y.abs()
        d0, d1 = rms(y / scale), rms(f / scale)
        h0 = torch.tensor(1e-6, dtype=y.dtype) if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        return h0.detach(), f

    def step(self, t, y, f, h):
        k = [f]
        for weights, c in zip(Tableau.a[1:], Tableau.c[1:]):
            total = torch.einsum("i,i...->...", y.new_tensor(weights), torch.stack(k))
            last = y + h * total
            k.append(self.derivative(t + c * h, last))
        stages = torch.stack(k, dim=-1)
        error = h * (stages @ y.new_tensor(Tableau.error))
        tolerance = self.atol + self.rtol * torch.maximum(y.abs(), last.abs())
        return last, k[-1], rms(error / tolerance)

    def advance(self, t, y, f, h, end):
        """Go to `end` exactly."""
        for _ in range(self.max_steps):
            if t >= end:
                return y, f, h
            h = torch.minimum(h, end - t)
            new, slope, ratio = self.step(t, y, f, h)
            accepted = bool(ratio <= 1)
            if accepted:
                t, y, f = t + h, new, slope
            factor = torch.clamp(
                0.9 * ratio.detach().clamp_min(1e-10) ** -0.2, 0.2 if not accepted else 1.0, 10.0
            )
            h = h * factor
        raise RuntimeError("max_steps exceeded")

    def integrate(self, y, times):
        assert (times[1:] > times[:-1]).all(), "times must be strictly increasing"
        h, f = self.first_step(times[0], y)
        found = [y]
        for t, end in pairwise(times):
            y, f, h = self.advance(t, y, f, h, end)
            found.append(y)
        return torch.stack(found)

    def integrate_until_event(self, y, t, event, tolerance=1e-9):
        h, f = self.first_step(t, y)
        sign = torch.sign(event(t, y))
        for _ in range(self.max_steps):
            new, slope, ratio = self.step(t, y, f, h)
            if ratio <= 1:
                if torch.sign(event(t + h, new)).ne(sign):
                    break
                t, y, f = t + h, new, slope
            h = h * float(0.9 * ratio.detach().clamp(1e-4, 1e4).pow(-0.2))
        low, high = torch.zeros_like(h), h
        for _ in range(math.ceil(math.log2(float(h) / tolerance))):  # bisection
            middle = (low + high) / 2
            inside, _, _ = self.step(t, y, f, middle)
            low, high = (middle, high) if torch.sign(event(t + middle, inside)) == sign else (low, middle)
        return t + high, self.step(t, y, f, high)[0]


SOLVERS = {"rk4": Fixed, "dopri5": DormandPrince}


def odeint(func, y0, t, *, method="dopri5", **options):
    if not torch.is_tensor(y0) or not torch.is_floating_point(y0):
        raise TypeError("`y0` must be a floating point Tensor")
    return SOLVERS[method](func, **options).integrate(y0, t)


class Adjoint(torch.autograd.Function):
    """Gradients by an equation that is solved backwards in time (Pontryagin; Chen et al., 2018)."""

    @staticmethod
    def forward(ctx, func, y0, t, options, *params):
        ctx.func, ctx.options = func, options
        with torch.no_grad():
            found = odeint(func, y0, t, **options)
        ctx.save_for_backward(t, found, *params)
        return found

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        t, found, *params = ctx.saved_tensors
        sizes = [found[0].numel()] * 2 + [p.numel() for p in params]

        def dynamics(s, state):  # s = -t
            y, a = (v.view_as(found[0]) for v in state.split(sizes)[:2])
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                value = ctx.func(-s, y)
                pulled = torch.autograd.grad(value, (y, *params), a, allow_unused=True)
            pulled = [torch.zeros_like(p) if g is None else g for g, p in zip(pulled, (y, *params))]
            return torch.cat([-value.detach().reshape(-1), *(g.reshape(-1) for g in pulled)])

        rest = torch.zeros(sum(sizes[2:]), dtype=found.dtype)
        a = grad[-1].clone()
        for i in range(len(t) - 1, 0, -1):
            state = torch.cat([found[i].reshape(-1), a.reshape(-1), rest])
            state = odeint(dynamics, state, -t[[i, i - 1]], **ctx.options)[-1]
            _, a, *rest = state.split(sizes)
            a, rest = a.view_as(found[0]) + grad[i - 1], torch.cat(rest)
        parameters = [g.view_as(p) for g, p in zip(rest.split(sizes[2:]), params)]
        return (None, a, None, None, *parameters)


def odeint_adjoint(func, y0, t, **options):
    if not isinstance(func, nn.Module):
        raise ValueError("func must be an instance of nn.Module to use the adjoint method.")
    params = tuple(p for p in func.parameters() if p.requires_grad)
    return Adjoint.apply(func, y0, t, options, *params)


class Field(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))
        self.register_buffer("frequency", torch.tensor(2.0))
        self.evaluations = 0

    def forward(self, t, y):
        self.evaluations += 1
        return self.net(y) - 0.1 * y + torch.sin(self.frequency * t)


def run(folder):
    field = initialize(Field(), seed=3)
    times = torch.linspace(0.0, 1.0, 4, dtype=torch.float64)
    results = {}
    for method in SOLVERS:
        y0 = numbers(0, 5, 2).requires_grad_()
        found = odeint(field, y0, times, method=method)
        field.zero_grad()
        found.pow(2).sum().backward()
        results[method] = found[-1].tolist(), norms([y0.grad, *(p.grad for p in field.parameters())])
    y0 = numbers(0, 5, 2).requires_grad_()
    adjoint = odeint_adjoint(field, y0, times, method="dopri5", rtol=1e-8, atol=1e-10)
    field.zero_grad(set_to_none=True)
    adjoint.pow(2).sum().backward()
    results["adjoint"] = norms([y0.grad, *(p.grad for p in field.parameters())])
    results["agreement"] = [round(a - b, 4) for a, b in zip(results["adjoint"], results["dopri5"][1])]
    optimizer = torch.optim.Adam(field.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = odeint(field, numbers(1, 3, 2), times, rtol=1e-4, atol=1e-5)[-1].square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    results["training"] = losses

    gravity = torch.tensor(9.8, dtype=torch.float64, requires_grad=True)
    fall = DormandPrince(lambda t, y: torch.stack([y[1], -gravity]))
    start = torch.tensor([10.0, 0.0], dtype=torch.float64)
    t, state = fall.integrate_until_event(start, torch.zeros((), dtype=torch.float64), lambda t, y: y[0])
    state[1].backward()
    results["event"] = [t.item(), state[1].item(), gravity.grad.item()]
    try:
        odeint_adjoint(lambda t, y: y, start, times)
    except ValueError as error:
        results["error"] = str(error)
    return results
