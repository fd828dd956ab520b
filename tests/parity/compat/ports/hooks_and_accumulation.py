"""A training loop on two moons: an MLP with batch norm, micro-batches whose gradients accumulate, a hook on every
parameter (one clips, one counts, one sees the accumulated gradient), gradient clipping, AdamW with a schedule."""

import math

import numpy as np
import torch

nn, F = torch.nn, torch.nn.functional


class Classifier(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(2, width), nn.BatchNorm1d(width), nn.GELU(), nn.Linear(width, width), nn.Tanh()
        )
        self.head = nn.Linear(width, 2)
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        self.steps += 1
        h = self.body(x)
        return self.head(h + 0.1 * h.detach().abs())


def moons(count: int):
    rng = np.random.default_rng(11)
    angle = rng.uniform(0, math.pi, count)
    label = np.arange(count) % 2
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle))
    points = np.stack([x, y], 1) + 0.1 * rng.standard_normal((count, 2))
    return torch.from_numpy(points), torch.from_numpy(label)


def fill(module, seed: int) -> None:
    """Weights that do not depend on the library's generator."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.from_numpy(rng.standard_normal(tuple(p.shape)) / math.sqrt(p.shape[-1])))


def main() -> dict:
    torch.set_default_dtype(torch.float64)
    try:
        return train()
    finally:
        torch.set_default_dtype(torch.float32)


def train() -> dict:
    model = Classifier(16)
    fill(model, 5)
    points, labels = moons(96)
    calls = {"clipped": 0, "seen": []}

    def clip(gradient):
        calls["clipped"] += int((gradient.abs() > 0.05).any())
        return gradient.clamp(-0.05, 0.05)

    def seen(parameter):
        calls["seen"].append(tuple(parameter.shape))

    handles = [p.register_hook(clip) for p in model.parameters()]
    counting = model.head.weight.register_post_accumulate_grad_hook(seen)
    biases = [p for n, p in model.named_parameters() if n.endswith("bias")]
    weights = [p for n, p in model.named_parameters() if not n.endswith("bias")]
    optimizer = torch.optim.AdamW(
        [{"params": weights, "weight_decay": 0.05}, {"params": biases, "weight_decay": 0.0}], lr=0.02
    )
    losses, norms = [], []
    for epoch in range(8):
        for group in optimizer.param_groups:
            group["lr"] = 0.02 * 0.5 * (1 + math.cos(math.pi * epoch / 8))
        optimizer.zero_grad()
        total = 0.0
        for x, y in zip(points.split(24), labels.split(24)):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1) / 4
            loss.backward()
            total += loss.item()
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        optimizer.step()
        losses.append(total)
        if epoch == 5:
            handles[0].remove()
            counting.remove()
    model.eval()
    with torch.no_grad():
        scores = model(points).softmax(dim=-1)
        accuracy = (scores.argmax(1) == labels).to(torch.float64).mean()
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    return {
        "losses": losses,
        "norms": norms,
        "clipped": calls["clipped"],
        "seen": calls["seen"],
        "accuracy": accuracy.item(),
        "scores": scores.numpy(),
        **state,
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(name, value)
