"""Forward gradients with forward_ad in a training loop; jvp of functional; forward over reverse."""

import numpy as np
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn as nn


def main():
    rng = np.random.default_rng(15)
    model = nn.Sequential(nn.Linear(3, 8), nn.Sigmoid(), nn.Linear(8, 1)).double()
    for p in model.parameters():
        p.data.copy_(torch.from_numpy(rng.standard_normal(p.shape) * 0.5))
    X = torch.from_numpy(rng.standard_normal((20, 3)))
    Y = X.norm(dim=1, keepdim=True)
    params = {n: p for n, p in model.named_parameters()}
    losses, dds = [], []
    for _ in range(10):
        tangents = {n: torch.from_numpy(rng.standard_normal(p.shape)) for n, p in params.items()}
        with torch.no_grad(), fwAD.dual_level():
            dual = {n: fwAD.make_dual(p, tangents[n]) for n, p in params.items()}
            pred = torch.func.functional_call(model, dual, (X,))
            loss = nn.functional.smooth_l1_loss(pred, Y)
            value, dd = fwAD.unpack_dual(loss)
            for n, p in params.items():
                p.sub_(tangents[n] * dd, alpha=0.01)
        losses.append(value.item())
        dds.append(dd.item())
    # forward over reverse: Hessian-vector product
    x = torch.from_numpy(rng.standard_normal(4)).requires_grad_()
    v = torch.from_numpy(rng.standard_normal(4))
    with fwAD.dual_level():
        d = fwAD.make_dual(x, v)
        y = (d.exp() * d.flip(0)).sum() + d.prod()
        (g,) = torch.autograd.grad(y, d, create_graph=True)
        hv = fwAD.unpack_dual(g).tangent
    # in-place and views under dual numbers
    with fwAD.dual_level():
        a = fwAD.make_dual(torch.ones(3, 3, dtype=torch.double), torch.eye(3, dtype=torch.double))
        b = a * 2
        b[0].mul_(3.0)
        b[:, 1] += b[:, 2] ** 2
        c = b.t().contiguous().view(-1)[::2]
        p, t = fwAD.unpack_dual(c)
        det = fwAD.unpack_dual(torch.linalg.det(a + torch.diag(torch.arange(3.0, dtype=torch.double))))
        sm = fwAD.unpack_dual(torch.softmax(a, -1)).tangent
        outside = fwAD.unpack_dual(torch.ones(2))
    j = torch.autograd.functional.jvp(lambda x: torch.cumsum(x**2, 0), x.detach(), v)
    jf = torch.func.jacfwd(lambda x: torch.outer(x, x.sin()))(x.detach())
    try:
        fwAD.make_dual(x, v)
    except RuntimeError as e:
        msg = str(e).splitlines()[0]
    return {
        "losses": losses,
        "dds": dds,
        "hv": hv.detach().numpy(),
        "p": p.numpy(),
        "t": t.numpy(),
        "det": [det[0].item(), det.tangent.item()],
        "sm": sm.numpy(),
        "none": outside.tangent is None,
        "j": [z.numpy() for z in j],
        "jf": jf.numpy(),
        "msg": msg,
    }
