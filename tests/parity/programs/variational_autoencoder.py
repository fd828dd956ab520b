"""An autoencoder with Gaussian codes (Kingma & Welling, 2014), written with distributions, and its importance bound."""

import abc
import math

import torch
from given import initialize, norms, numbers, uniform
from torch import Tensor, nn
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence, register_kl
from torch.distributions.transformed_distribution import TransformedDistribution
from torch.distributions.transforms import AffineTransform, ExpTransform, TanhTransform
from torch.nn import functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset


class BaseVAE(nn.Module, metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def encode(self, x: Tensor) -> Normal: ...

    @abc.abstractmethod
    def decode(self, z: Tensor) -> Independent: ...


class ConvVAE(BaseVAE):
    def __init__(self, codes: int = 2, hidden: tuple[int, ...] = (4, 8)):
        super().__init__()
        blocks, channels = [], 1
        for h in hidden:
            blocks.append(
                nn.Sequential(nn.Conv2d(channels, h, 3, 2, 1), nn.BatchNorm2d(h), nn.LeakyReLU(0.1))
            )
            channels = h
        self.encoder = nn.Sequential(*blocks)
        self.mu, self.log_var = nn.Linear(channels * 4, codes), nn.Linear(channels * 4, codes)
        self.start = nn.Linear(codes, channels * 4)
        self.decoder = nn.Sequential(
            nn.Unflatten(1, (channels, 2, 2)),
            nn.ConvTranspose2d(channels, hidden[0], 3, stride=2, padding=1, output_padding=1),
            nn.ELU(),
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.ReflectionPad2d(1),
            nn.Conv2d(hidden[0], 1, 3),
        )
        self.register_buffer("prior_loc", torch.zeros(codes))
        self.register_buffer("prior_scale", torch.ones(codes))

    @property
    def prior(self):
        return Independent(Normal(self.prior_loc, self.prior_scale), 1)

    def encode(self, x):
        h = self.encoder(x).flatten(1)
        return Independent(Normal(self.mu(h), self.log_var(h).mul(0.5).exp()), 1)

    def decode(self, z):
        return Independent(Bernoulli(logits=self.decoder(self.start(z))), 3)

    def forward(self, x, noise):
        posterior = self.encode(x)
        base = posterior.base_dist
        z = torch.addcmul(base.loc, base.scale, noise)  # rsample with given noise
        return posterior, z, self.decode(z)

    def loss(self, x, noise, beta=1.0):
        posterior, _, seen = self(x, noise)
        divergence = kl_divergence(posterior, self.prior)
        return (beta * divergence - seen.log_prob(x)).mean(), divergence.mean()

    def importance_bound(self, x, noise):
        """log 1/K Σ p(x, z) / q(z|x), which grows with K (Burda et al., 2016)."""
        posterior = self.encode(x)
        z = posterior.base_dist.loc + posterior.base_dist.scale * noise
        ratio = torch.stack(
            [self.decode(v).log_prob(x) + self.prior.log_prob(v) - posterior.log_prob(v) for v in z.unbind()]
        )
        return torch.logsumexp(ratio, 0) - math.log(len(noise))


class Shifted(Normal):
    """A family of our own, with its own divergence."""


@register_kl(Shifted, Normal)
def kl_shifted(p, q):
    return kl_divergence(Normal(p.loc + 1, p.scale), q)


def densities():
    loc = numbers(3, 4).requires_grad_()
    flow = TransformedDistribution(
        Normal(loc, torch.ones_like(loc)), [TanhTransform(), AffineTransform(2.0, 0.5), ExpTransform()]
    )
    value = (2.0 + 0.5 * torch.tanh(numbers(4, 4))).exp()
    density = flow.log_prob(value)
    density.sum().backward()
    return [density.tolist(), loc.grad.tolist(), kl_divergence(Shifted(loc, 1.0), Normal(loc, 2.0)).tolist()]


def run(folder):
    x = (uniform(0, 24, 1, 8, 8) > 0.5).double()
    noise = numbers(1, 24, 2)
    model = initialize(ConvVAE(), seed=7, scale=0.2)
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, nn.modules.batchnorm._BatchNorm):
                m.weight.fill_(1.0)
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.02)
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=0, threshold=0.05)
    data = TensorDataset(x, noise)
    loader = DataLoader(data, batch_sampler=BatchSampler(SequentialSampler(data), 8, drop_last=False))
    losses = []
    for epoch in range(4):
        total = 0.0
        for batch, eps in loader:
            loss, divergence = model.loss(batch, eps, beta=min(1.0, 0.25 * (epoch + 1)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        scheduler.step(total / len(data))
        losses.append([total / len(data), divergence.item(), optimizer.param_groups[0]["lr"]])
    model.eval()
    with torch.no_grad():
        bounds = [model.importance_bound(x[:4], numbers(8, k, 4, 2)).tolist() for k in (1, 8)]
        mean = model.decode(noise[:2]).mean
    torch.manual_seed(0)
    drawn = model.prior.expand([5]).sample([3])
    try:
        Normal(torch.zeros(2), -torch.ones(2), validate_args=True)
        error = ""
    except ValueError as e:
        error = str(e).splitlines()[0][:40]
    return {
        "losses": losses,
        "bounds": bounds,
        "mean": mean.flatten().tolist(),
        "reconstruction": F.binary_cross_entropy(mean, x[:2]).item(),
        "shapes": [list(drawn.shape), list(model.prior.event_shape), list(model.prior.batch_shape)],
        "running": norms(b for n, b in model.named_buffers() if "running" in n),
        "batches": model.encoder[0][1].num_batches_tracked.item(),
        "densities": densities(),
        "error": error,
        "text": [repr(model), repr(model.prior), repr(scheduler.state_dict()["num_bad_epochs"])],
    }
