"""A radiance field (Mildenhall et al., 2020): rays, stratified and importance samples, compositing, its normals."""

import torch
import torch.nn.functional as F
from torch import nn

FLOAT = torch.float64


def get_rays(size, focal, pose):
    i, j = torch.meshgrid(*2 * [torch.linspace(0, size - 1, size, dtype=FLOAT)], indexing="xy")
    directions = torch.stack([(i - size / 2) / focal, -(j - size / 2) / focal, -torch.ones_like(i)], -1)
    turned = torch.sum(directions[..., None, :] * pose[:3, :3], -1)
    return pose[:3, -1].expand(turned.shape), turned


class Field(nn.Module):
    def __init__(self, width=12, octaves=3):
        super().__init__()
        self.register_buffer("frequencies", 2.0 ** torch.linspace(0.0, octaves - 1, steps=octaves))
        inputs = 3 + 6 * octaves
        self.layers = nn.ModuleList([nn.Linear(inputs, width), nn.Linear(width + inputs, width)])
        self.density, self.color = nn.Linear(width, 1), nn.Linear(width + 3, 3)
        self.plane = nn.Parameter(0.1 * torch.randn(1, width, 5, 5))

    def forward(self, x, direction):
        y = (x[..., None] * self.frequencies).flatten(-2)
        encoded = torch.cat([x, torch.sin(y), torch.cos(y)], -1)
        h = F.softplus(self.layers[0](encoded))
        h = F.softplus(self.layers[1](torch.cat([encoded, h], -1)))
        grid = x.reshape(1, 1, -1, 3)[..., :2]
        looked_up = F.grid_sample(self.plane, grid, align_corners=True, padding_mode="border")
        h = h + looked_up.view(h.shape[-1], -1).t().view(h.shape)
        return torch.cat([self.color(torch.cat([h, direction], -1)), self.density(h)], -1)


def composite(raw, z, direction):
    far = torch.full_like(z[..., :1], 1e10)
    lengths = torch.diff(z, dim=-1, append=far) * torch.norm(direction[..., None, :], dim=-1)
    alpha = 1.0 - torch.exp(-F.softplus(raw[..., 3] - 1) * lengths)
    left = torch.cumprod(torch.cat([torch.ones_like(far), 1.0 - alpha + 1e-10], -1), -1)[:, :-1]
    weights = alpha * left
    return torch.sum(weights[..., None] * torch.sigmoid(raw[..., :3]), -2), weights


def sample_again(bins, weights, count):
    """Places where there is much to see, by the inverse of the distribution function."""
    density = (weights + 1e-5) / torch.sum(weights + 1e-5, -1, keepdim=True)
    cdf = torch.cumsum(density, -1)
    cdf = torch.cat([torch.zeros_like(cdf[..., :1]), cdf], -1)
    u = torch.rand([*cdf.shape[:-1], count], dtype=FLOAT)
    found = torch.searchsorted(cdf, u, right=True)
    below, above = torch.clamp(found - 1, min=0), torch.clamp(found, max=cdf.shape[-1] - 1)
    low, high = torch.gather(cdf, -1, below), torch.gather(cdf, -1, above)
    span = torch.where(high - low < 1e-5, torch.ones_like(low), high - low)
    start = torch.gather(bins, -1, below)
    return start + (u - low) / span * (torch.gather(bins, -1, above) - start)


def render(field, origin, direction, count=8, more=6):
    z = (1.0 / torch.linspace(1.0, 0.25, steps=count, dtype=FLOAT)).expand([len(origin), count])
    middles = 0.5 * (z[..., 1:] + z[..., :-1])
    upper, lower = torch.cat([middles, z[..., -1:]], -1), torch.cat([z[..., :1], middles], -1)
    z = lower + (upper - lower) * torch.rand(z.shape, dtype=FLOAT)
    view = direction / torch.norm(direction, dim=-1, keepdim=True)

    def query(z):
        points = origin[..., None, :] + direction[..., None, :] * z[..., :, None]
        views = view[:, None].expand(points.shape)
        return torch.cat([field(p, v) for p, v in zip(points.split(16), views.split(16))], 0)

    coarse, weights = composite(query(z), z, direction)
    middles = 0.5 * (z[..., 1:] + z[..., :-1])
    again = sample_again(middles, weights[..., 1:-1], more).detach()
    z, _ = torch.sort(torch.cat([z, again], -1), -1)
    return coarse, *composite(query(z), z, direction)


def main():
    torch.manual_seed(4)
    pose = torch.eye(4, dtype=FLOAT)
    pose[2, 3] = 3.0
    origin, direction = (x.reshape(-1, 3) for x in get_rays(8, 8.0, pose))
    target = torch.stack(
        [(direction[:, 0] > 0).double(), direction[:, 1].abs(), direction.sum(-1).sigmoid()], -1
    )
    field = Field().double()
    optimizer = torch.optim.Adam(field.parameters(), 5e-3, weight_decay=1e-6)
    losses = []
    for step in range(3):
        chosen = torch.randperm(len(origin))[:32]
        coarse, fine, _ = render(field, origin[chosen], direction[chosen])
        loss = sum(F.mse_loss(found, target[chosen]) for found in (coarse, fine))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for group in optimizer.param_groups:
            group["lr"] = 5e-3 * 0.1 ** (step / 50)
        losses.append(loss.item())
    with torch.no_grad():
        _, image, weights = render(field, origin, direction)
    pixels = (255 * image.view(8, 8, 3).clamp(0, 1)).round().to(torch.uint8)
    x = torch.randn(4, 3, dtype=FLOAT, requires_grad=True)
    (normals,) = torch.autograd.grad(field(x, x)[..., 3].sum(), x, create_graph=True)
    (normals.norm(dim=-1) - 1).pow(2).mean().backward()
    return {
        "losses": losses,
        "image": image.numpy(),
        "pixels": pixels.tolist(),
        "quantile": weights.sum(-1).quantile(0.9).item(),
        "of normals": field.layers[0].weight.grad.numpy(),
    }
