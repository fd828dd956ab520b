"""A second-order optimiser: each step solves (H + λI) d = g by conjugate gradients, with Hessian-vector products from
`create_graph=True`, and adapts λ by the ratio of real to predicted decrease (Levenberg–Marquardt)."""

import numpy as np
import torch


class HessianFree(torch.optim.Optimizer):
    # Few steps, well damped: the residuals of further ones would be made of rounding errors, which differ.
    def __init__(self, params, damping: float = 1.0, least: float = 0.1, iterations: int = 5):
        super().__init__(params, {"damping": damping, "least": least, "iterations": iterations})

    def step(self, closure):
        (group,) = self.param_groups
        parameters = [p for p in group["params"] if p.requires_grad]
        loss = closure()
        grads = torch.autograd.grad(loss, parameters, create_graph=True)
        g = torch.cat([v.reshape(-1) for v in grads])

        def product(v):
            found = torch.autograd.grad(g, parameters, grad_outputs=v, retain_graph=True)
            return torch.cat([h.reshape(-1) for h in found]) + group["damping"] * v

        step, right = torch.zeros_like(g), -g.detach()
        residual, direction = right.clone(), right.clone()
        norm = residual.dot(residual)
        for _ in range(group["iterations"]):
            if norm < 1e-20:
                break
            hd = product(direction)
            curvature = direction.dot(hd)
            if curvature <= 0:
                break
            alpha = norm / curvature
            step.add_(direction, alpha=alpha.item())
            residual.sub_(alpha * hd)
            renewed = residual.dot(residual)
            direction = residual + (renewed / norm) * direction
            norm = renewed
        predicted = -(g.detach().dot(step) + 0.5 * step.dot(product(step)))
        with torch.no_grad():
            for p, part in zip(parameters, step.split([p.numel() for p in parameters])):
                p.add_(part.view_as(p))
            ratio = (loss.detach() - closure()) / predicted
            if not ratio > 0:
                for p, part in zip(parameters, step.split([p.numel() for p in parameters])):
                    p.sub_(part.view_as(p))
        factor = 0.5 if ratio > 0.75 else 4.0 if ratio < 0.25 else 1.0
        group["damping"] = max(group["least"], factor * group["damping"])
        return loss.item(), ratio.item()


def main() -> dict:
    rng = np.random.default_rng(3)
    x = torch.from_numpy(np.linspace(-2, 2, 40)[:, None].copy())
    y = torch.sin(2 * x) + 0.3 * x**2
    w1 = torch.from_numpy(rng.standard_normal((1, 12))).requires_grad_()
    b1 = torch.from_numpy(rng.standard_normal(12)).requires_grad_()
    w2 = torch.from_numpy(0.3 * rng.standard_normal((12, 1))).requires_grad_()

    def closure():
        return ((torch.tanh(x @ w1 + b1) @ w2 - y) ** 2).mean()

    optimizer = HessianFree([w1, b1, w2])
    history = [optimizer.step(closure) for _ in range(15)]
    third = torch.autograd.grad(closure(), w2, create_graph=True)[0]
    third = torch.autograd.grad(third.pow(2).sum(), b1, create_graph=True)[0]
    (third,) = torch.autograd.grad(third.exp().sum(), w1)
    return {
        "losses": [loss for loss, _ in history],
        "ratios": [ratio for _, ratio in history],
        "damping": optimizer.param_groups[0]["damping"],
        "third order": third.numpy(),
        "w1": w1.detach().numpy(),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(name, value)
