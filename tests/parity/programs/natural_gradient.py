"""Kronecker-factored natural gradient (Martens & Grosse, 2015): an optimizer that looks at layers by their hooks."""

from collections import OrderedDict, defaultdict

import torch
import torch.nn.functional as F
from given import initialize, integers, norms, numbers
from torch import nn
from torch.optim.optimizer import Optimizer

KNOWN = {"Linear", "Conv2d"}


def rows_of_input(module, x):
    """The inputs of a layer as rows, with a one for the bias."""
    if isinstance(module, nn.Conv2d):
        x = F.unfold(x, module.kernel_size, module.dilation, module.padding, module.stride)
        x = x.transpose(1, 2).contiguous().view(-1, x.size(1))
    if module.bias is not None:
        x = torch.cat([x, x.new_ones(x.size(0), 1)], 1)
    return x


def rows_of_output(module, g):
    if type(module) is nn.modules.conv.Conv2d:
        g = g.permute(0, 2, 3, 1).reshape(-1, g.size(1))
    return g


class KFAC(Optimizer):
    def __init__(self, net, lr=0.1, momentum=0.9, damping=1e-2, decay=0.95, clip=1e-2, update_every=2):
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(net.parameters(), dict(lr=lr, momentum=momentum, damping=damping))
        self.decay, self.clip, self.update_every, self.steps = decay, clip, update_every, 0
        self.layers, self.handles = [], []
        self.inputs, self.factors, self.inverses = {}, defaultdict(dict), {}
        for module in net.modules():
            if module.__class__.__name__ in KNOWN:
                self.layers.append(module)
                self.handles += [
                    module.register_forward_pre_hook(self.save_input),
                    module.register_full_backward_hook(self.save_gradient),
                ]

    def save_input(self, module, args):
        if torch.is_grad_enabled() and self.steps % self.update_every == 0:
            rows = rows_of_input(module, args[0].detach())
            self.update(module, "A", rows.t() @ rows / rows.size(0))

    def save_gradient(self, module, grad_input, grad_output):
        if self.steps % self.update_every == 0:
            rows = rows_of_output(module, grad_output[0].detach() * grad_output[0].size(0))
            self.update(module, "G", rows.t().mm(rows) / rows.size(0))

    def update(self, module, key, value):
        factors = self.factors[module]
        if key not in factors:
            factors[key] = torch.eye(value.size(0), dtype=value.dtype, device=value.device)
        factors[key].mul_(self.decay).add_(value, alpha=1 - self.decay)

    def invert(self, module, damping):
        A, G = self.factors[module]["A"], self.factors[module]["G"]
        pi = ((A.trace() / A.size(0)) / (G.trace() / G.size(0))).sqrt()
        root = damping**0.5
        self.inverses[module] = [
            torch.cholesky_inverse(
                torch.linalg.cholesky(A + torch.diag(A.new_full((A.size(0),), root) * pi))
            ),
            torch.linalg.inv(G + torch.eye(G.size(0)).type_as(G).mul(root / pi)),
        ]

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        group = self.param_groups[0]
        updates, weight = {}, 0.0
        for module in self.layers:
            if self.steps % self.update_every == 0:
                self.invert(module, group["damping"])
            grad = module.weight.grad.view(module.weight.size(0), -1)
            if module.bias is not None:
                grad = torch.cat([grad, module.bias.grad.unsqueeze(1)], dim=1)
            A, G = self.inverses[module]
            updates[module] = natural = G @ grad @ A
            weight += (natural * grad).sum().item() * group["lr"] ** 2
        scale = min(1.0, (self.clip / abs(weight)) ** 0.5)
        for module, natural in updates.items():
            columns = [natural] if module.bias is None else natural.split([natural.size(1) - 1, 1], 1)
            for p, value in zip((module.weight, module.bias), columns):
                buffer = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                buffer.mul_(group["momentum"]).add_(value.reshape_as(p), alpha=scale)
                p.add_(buffer, alpha=-group["lr"])
        self.steps += 1
        return loss

    def remove_hooks(self):
        while self.handles:
            self.handles.pop().remove()


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.features = nn.Sequential(
            OrderedDict(
                conv=nn.Conv2d(1, 4, 3, stride=2, padding=1, bias=False),
                relu=nn.ReLU(),
                pool=nn.AvgPool2d(2),
            )
        )
        self.classifier = nn.Linear(16, classes)

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def run(folder):
    net = initialize(Net(), seed=1)
    x, y = numbers(0, 12, 1, 8, 8), integers(1, 3, 12)
    optimizer = KFAC(net)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    losses, rates = [], []
    for _ in range(8):

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y, label_smoothing=0.05)
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
        scheduler.step()
        rates.extend(scheduler.get_last_lr())
    state = optimizer.state_dict()
    optimizer.remove_hooks()
    return {
        "losses": losses,
        "rates": rates,
        "parameters": norms(net.parameters()),
        "buffers": norms(s["momentum_buffer"] for s in state["state"].values()),
        "groups": sorted(state["param_groups"][0]),
        "hooks left": [len(m._forward_pre_hooks) + len(m._backward_hooks) for m in net.modules()],
        "text": repr(net) + repr(optimizer),
        "factors": [f[k].diagonal().sum().item() for f in optimizer.factors.values() for k in "AG"],
    }
