"""HVPs, Hutchinson trace, Lanczos, Gauss-Newton with jvp+vjp, influence functions."""

import numpy as np
import torch
from torch.autograd.functional import hessian, hvp, jacobian, vhp
from torch.autograd.functional import jvp as fjvp
from torch.autograd.functional import vjp as fvjp
from torch.func import hessian as fhessian
from torch.func import jvp, linearize, vjp


def lanczos(matvec, v, steps):
    alphas, betas, basis = [], [], [v / v.norm()]
    w = matvec(basis[-1])
    for _ in range(steps):
        a = torch.dot(w, basis[-1])
        alphas.append(a)
        w = w - a * basis[-1] - (betas[-1] * basis[-2] if betas else 0)
        for q in basis:
            w -= torch.dot(w, q) * q
        b = torch.linalg.vector_norm(w)
        betas.append(b)
        basis.append(w / b)
        w = matvec(basis[-1])
    T = (
        torch.diag(torch.stack(alphas))
        + torch.diag(torch.stack(betas[:-1]), 1)
        + torch.diag(torch.stack(betas[:-1]), -1)
    )
    return torch.linalg.eigvalsh(T)


def main():
    rng = np.random.default_rng(6)

    def t(*s):
        return torch.from_numpy(rng.standard_normal(s))

    x, y = t(20, 4), torch.from_numpy(rng.integers(0, 3, 20))
    w1, w2 = (0.5 * t(6, 4)).requires_grad_(), (0.5 * t(3, 6)).requires_grad_()
    params = [w1, w2]

    def logits(w1, w2):
        return torch.tanh(x @ w1.T) @ w2.mT

    def loss_of(w1, w2):
        return torch.nn.functional.cross_entropy(logits(w1, w2), y) + 0.05 * (
            w1.square().sum() + w2.square().sum()
        )

    loss = loss_of(*params)
    grads = torch.autograd.grad(loss, params, create_graph=True)
    flat = torch.cat([g.contiguous().view(-1) for g in grads])

    def matvec(v):
        hv = torch.autograd.grad(flat @ v, params, retain_graph=True)
        return torch.cat([h.reshape(-1) for h in hv])

    n = flat.numel()
    probes = torch.from_numpy(rng.choice([-1.0, 1.0], (5, n)))
    trace = torch.stack([p @ matvec(p) for p in probes]).mean()
    ritz = lanczos(matvec, torch.ones(n, dtype=torch.float64), 8)
    H = torch.stack(
        [
            torch.cat([r.flatten() for r in torch.autograd.grad(flat[i], params, retain_graph=True)])
            for i in range(n)
        ]
    )
    blocks = hessian(loss_of, (w1, w2))
    H2 = torch.cat(
        [torch.cat([blocks[i][j].reshape(params[i].numel(), -1) for j in range(2)], 1) for i in range(2)]
    )
    (batched,) = torch.autograd.grad(
        flat, w1, torch.eye(n, dtype=torch.float64), is_grads_batched=True, retain_graph=True
    )
    v = (t(6, 4), t(3, 6))
    _, hv = hvp(loss_of, (w1, w2), v)
    _, vh = vhp(loss_of, (w1, w2), v)

    # Gauss-Newton vector product
    def ggn(v):
        z, jv = jvp(logits, (w1.detach(), w2.detach()), v)
        p = z.softmax(1)
        hjv = (p * jv - p * (p * jv).sum(1, keepdim=True)) / len(x)
        _, pull = vjp(logits, w1.detach(), w2.detach())
        return pull(hjv)

    gn = ggn(v)
    _, lin = linearize(logits, w1.detach(), w2.detach())
    # influence functions: H^-1 grad at each sample
    each = torch.nn.functional.cross_entropy(logits(w1, w2), y, reduction="none")
    per = torch.stack(
        [
            torch.cat([g.reshape(-1) for g in torch.autograd.grad(each[i], params, retain_graph=True)])
            for i in range(4)
        ]
    )
    infl = -per @ torch.linalg.solve(H.detach(), flat.detach())
    chol = torch.linalg.cholesky(H.detach() + 2 * torch.eye(n, dtype=torch.float64))
    infl2 = torch.cholesky_solve(per.T, chol)
    J = jacobian(logits, (w1, w2), vectorize=True)
    J2 = jacobian(logits, (w1, w2), strategy="forward-mode", vectorize=True)
    return {
        "trace": trace.item(),
        "true": H.trace().item(),
        "ritz": ritz.detach().numpy(),
        "H": H.numpy(),
        "H2": H2.numpy(),
        "batched": batched.numpy(),
        "hv": [h.numpy() for h in hv],
        "vh": [h.numpy() for h in vh],
        "gn": [g.numpy() for g in gn],
        "lin": lin(*v).numpy(),
        "infl": infl.numpy(),
        "chol": chol.numpy(),
        "J": [j.numpy() for j in J],
        "J2": [j.detach().numpy() for j in J2],
        "fj": fjvp(logits, (w1, w2), v)[1].numpy(),
        "fv": [g.numpy() for g in fvjp(logits, (w1, w2), t(20, 3))[1]],
        "fh": fhessian(lambda a: (a**3).sum())(t(3)).numpy(),
        "sym": bool(torch.allclose(H, H.T, atol=1e-10)),
        "str": str(trace),
        "infl2": infl2.numpy(),
    }
