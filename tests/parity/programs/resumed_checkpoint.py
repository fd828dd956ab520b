"""A run that is interrupted, and resumed from a file: model, optimizers, schedule, averages, numbers of the run.

`prepare` trains for a while and writes the file; `run` resumes from it. They need not run under the same library.
"""

import argparse
import os
import tempfile
from collections import OrderedDict
from pathlib import Path

import torch
import torch.nn as nn
from given import initialize, norms, numbers
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts, MultiStepLR

FILE = "checkpoint.pt"


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val, self.sum, self.count = val, self.sum + val * n, self.count + n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


class Residual(nn.Module):
    expansion: int = 1

    def __init__(self, planes, downsample=None):
        super().__init__()
        self.conv = nn.Conv1d(planes, planes, 3, padding="same", bias=False)
        self.bn = nn.BatchNorm1d(planes, momentum=0.2)
        self.act = nn.PReLU()
        self.downsample = downsample

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        out = self.bn(self.conv(x))
        out += identity
        return self.act(out)


class Net(nn.Module):
    _version = 2

    def __init__(self, planes=4):
        super().__init__()
        self.stem = nn.Conv1d(2, planes, 1)
        self.blocks = nn.Sequential(Residual(planes), Residual(planes, nn.Conv1d(planes, planes, 1)))
        self.pool, self.fc = nn.AdaptiveAvgPool1d(2), nn.Linear(2 * planes, 2)
        self.fc2 = nn.Linear(2 * planes, 2)
        self.fc2.weight = self.fc.weight  # shared
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))
        self._register_load_state_dict_pre_hook(self.rename)

    def rename(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("version", 1) < 2:  # as it was called once
            for key in [k for k in state_dict if k.startswith(prefix + "head.")]:
                state_dict[key.replace("head.", "fc2.")] = state_dict.pop(key)

    def forward(self, x):
        self.seen += len(x)
        h = self.pool(self.blocks(self.stem(x))).flatten(1)
        return self.fc(h) + self.fc2(h.relu())


def build():
    net = initialize(Net(), seed=12)
    decay, rest = [], []
    for name, p in net.named_parameters():
        (rest if p.ndim == 1 or name.endswith(".bias") else decay).append(p)
    sgd = torch.optim.SGD([{"params": decay, "weight_decay": 1e-2}, {"params": rest}], lr=0.1, momentum=0.9)
    adam = torch.optim.Adamax(rest, lr=1e-2)
    schedules = MultiStepLR(sgd, milestones=[2, 5], gamma=0.3), CosineAnnealingWarmRestarts(adam, T_0=3)
    return net, (sgd, adam), schedules


def train(net, optimizers, schedules, start, stop, meter):
    losses = []
    net.train()
    for epoch in range(start, stop):
        x, y = numbers(epoch, 6, 2, 8), numbers(50 + epoch, 6, 2)
        loss = nn.functional.huber_loss(net(x), y, delta=0.7)
        for o in optimizers:
            o.zero_grad()
        loss.backward()
        for o, s in zip(optimizers, schedules):
            o.step()
            s.step()
        meter.update(loss.item(), len(x))
        losses.append(loss.item())
    return losses


def save_checkpoint(state, path, is_best=False):
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        torch.save(state, file)
    os.replace(file.name, path)


def prepare(folder):
    net, optimizers, schedules = build()
    meter = AverageMeter("Loss", ":.4e")
    losses = train(net, optimizers, schedules, 0, 4, meter)
    save_checkpoint(
        {
            "epoch": 4,
            "arch": "net",
            "state_dict": net.state_dict(),
            "optimizers": [o.state_dict() for o in optimizers],
            "schedules": [s.state_dict() for s in schedules],
            "best": torch.tensor(min(losses)),
            "args": vars(argparse.Namespace(lr=0.1, tags=("a", "b"), path=None)),
            "half": net.fc.weight.detach().bfloat16(),
            "views": {"row": net.fc.weight.detach()[0], "all": net.fc.weight.detach()},
            "counts": OrderedDict(
                numbers=torch.arange(4, dtype=torch.int16), flags=torch.tensor([True, False])
            ),
            "meter": [meter.sum, meter.count],
        },
        Path(folder) / FILE,
    )


def run(folder):
    path = os.path.join(folder, FILE)
    checkpoint = torch.load(path, map_location=lambda storage, location: storage, weights_only=True)
    net, optimizers, schedules = build()
    meter = AverageMeter("Loss", ":.4e")
    meter.sum, meter.count = checkpoint["meter"]
    keys = net.load_state_dict(checkpoint["state_dict"])
    for things, states in ((optimizers, checkpoint["optimizers"]), (schedules, checkpoint["schedules"])):
        for thing, state in zip(things, states):
            thing.load_state_dict(state)
    resumed = train(net, optimizers, schedules, checkpoint["epoch"], 7, meter)

    twin, *rest = build()  # without an interruption
    straight = train(twin, *rest, 0, 7, AverageMeter("Loss"))
    views = checkpoint["views"]
    views["all"].mul_(2)

    old = OrderedDict((k.replace("fc2.", "head."), v) for k, v in checkpoint["state_dict"].items())
    old.pop("stem.bias")
    old["stem.weight"] = old["stem.weight"][:, :1]
    try:
        net.load_state_dict(old)
        mismatch = ""
    except RuntimeError as error:
        mismatch = str(error)
    old["stem.weight"] = net.stem.weight.detach()
    loose = build()[0].load_state_dict(old, strict=False)
    net.eval()
    with torch.no_grad():
        predicted = net(numbers(99, 2, 2, 8))
    return {
        "keys": str(keys),
        "losses": resumed,
        "as without": [abs(a - b) < 1e-12 for a, b in zip(resumed, straight[4:])],
        "meter": str(meter),
        "best": checkpoint["best"].item(),
        "args": [checkpoint["args"]["lr"], list(checkpoint["args"]["tags"]), checkpoint["args"]["path"]],
        "dtypes": [str(checkpoint["half"].dtype), *(str(t.dtype) for t in checkpoint["counts"].values())],
        "half": checkpoint["half"].double().flatten().tolist(),
        "shared": [
            views["row"].data_ptr() == views["all"].data_ptr(),
            views["row"].tolist(),
            net.fc2.weight is net.fc.weight,
        ],
        "metadata": checkpoint["state_dict"]._metadata[""]["version"],
        "mismatch": mismatch.splitlines()[0],
        "loose": [loose.missing_keys, loose.unexpected_keys],
        "predicted": predicted.tolist(),
        "rates": [s.get_last_lr() for s in schedules],
        "seen": net.seen.item(),
        "parameters": norms(net.parameters()),
        "groups": [sorted(k for k in g if k != "params") for o in optimizers for g in o.param_groups],
        "text": [repr(net), *map(repr, optimizers)],
    }
