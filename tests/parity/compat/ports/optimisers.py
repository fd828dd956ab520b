"""Every optimiser on Rosenbrock and a regression, schedulers, accumulation, a custom optimiser."""

import copy

import numpy as np
import torch
from torch.optim import lr_scheduler as S


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                m = state["exp_avg"]
                b1, b2 = group["betas"]
                update = m.clone().mul_(b1).add_(p.grad, alpha=1 - b1).sign_()
                p.add_(update, alpha=-group["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)
        return loss


def rosenbrock(p):
    return ((1 - p[:-1]) ** 2 + 100 * (p[1:] - p[:-1] ** 2) ** 2).sum()


def closure_of(opt, p):
    def closure():
        opt.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        return loss

    return closure


def main():
    makers = {
        "sgd": lambda p: torch.optim.SGD(p, lr=1e-4, momentum=0.9, dampening=0.1),
        "adam": lambda p: torch.optim.Adam(p, lr=0.05, weight_decay=0.01),
        "adamw": lambda p: torch.optim.AdamW(p, lr=0.05, maximize=False),
        "rms": lambda p: torch.optim.RMSprop(p, lr=0.01),
        "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.01),
        "lion": lambda p: Lion(p, lr=0.01, weight_decay=0.1),
    }
    scheds = {
        "sgd": lambda o: S.ExponentialLR(o, gamma=0.95),
        "adam": lambda o: S.CosineAnnealingLR(o, T_max=10, eta_min=1e-3),
        "adamw": lambda o: S.SequentialLR(
            o, [S.LinearLR(o, 0.1, total_iters=3), S.CosineAnnealingLR(o, 10)], milestones=[3]
        ),
        "rms": lambda o: S.MultiStepLR(o, [4, 8], gamma=0.3),
        "adagrad": lambda o: S.ConstantLR(o, factor=0.5, total_iters=4),
        "lion": lambda o: S.LambdaLR(o, [lambda e: 0.9**e]),
    }
    out = {}
    for name, make in makers.items():
        p = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64, requires_grad=True)
        opt = make([p])
        sched = scheds[name](opt)
        path, lrs = [], []
        for _ in range(12):
            opt.zero_grad()
            loss = rosenbrock(p)
            loss.backward()
            opt.step()
            sched.step()
            lrs.append(opt.param_groups[0]["lr"])
            path.append(p.detach().clone())
        out[name] = {
            "path": torch.stack(path).numpy(),
            "lrs": lrs,
            "repr": repr(opt),
            "keys": sorted(opt.state_dict()["state"][0]),
            "groups": sorted(opt.state_dict()["param_groups"][0]),
        }
        # resume from the state
        q = p.detach().clone().requires_grad_()
        opt2 = make([q])
        opt2.load_state_dict(copy.deepcopy(opt.state_dict()))
        for o, v in ((opt, p), (opt2, q)):
            o.zero_grad()
            rosenbrock(v).backward()
            o.step()
        out[name]["resume"] = torch.equal(p, q)
    # closures
    p = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.Adam([p], lr=0.1)

    out["closure"] = [opt.step(closure_of(opt, p)).item() for _ in range(5)]
    for search in (None, "strong_wolfe"):
        p = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64, requires_grad=True)
        opt = torch.optim.LBFGS([p], lr=0.8, max_iter=6, history_size=4, line_search_fn=search)
        out[f"lbfgs {search}"] = [opt.step(closure_of(opt, p)).item() for _ in range(3)], p.detach().numpy()
        state = opt.state_dict()["state"][0]
        out[f"evaluations {search}"] = state["func_evals"], state["n_iter"], len(state["old_dirs"])
    # accumulation equals the full batch
    rng = np.random.default_rng(12)
    X, Y = torch.from_numpy(rng.standard_normal((32, 3))), torch.from_numpy(rng.standard_normal((32, 1)))
    lin = torch.nn.Linear(3, 1).double()
    for p in lin.parameters():
        torch.nn.init.constant_(p, 0.1)
    full = copy.deepcopy(lin)
    torch.nn.functional.mse_loss(full(X), Y).backward()
    for xb, yb in zip(X.chunk(4), Y.chunk(4)):
        (torch.nn.functional.mse_loss(lin(xb), yb) / 4).backward()
    out["acc"] = torch.allclose(full.weight.grad, lin.weight.grad)
    opt = torch.optim.SGD(
        [{"params": [lin.weight]}, {"params": [lin.bias], "lr": 1.0, "momentum": 0.5}], lr=0.1
    )
    opt.add_param_group({"params": [torch.zeros(1, requires_grad=True)], "name": "extra"})
    opt.step()
    out["groups"] = [(g["lr"], g["momentum"], len(g["params"])) for g in opt.param_groups]
    out["w"] = lin.weight.tolist()
    out["bias"] = f"{lin.bias.item():.10f}"
    try:
        Lion([p], lr=-1.0)
    except ValueError as e:
        out["e"] = str(e)
    try:
        torch.optim.SGD([X * 1.0 @ lin.weight.t()], lr=0.1)
    except ValueError as e:
        out["e2"] = str(e).splitlines()[0]
    return out
