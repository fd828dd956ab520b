"""Policy gradients with distributions: REINFORCE, an actor with a critic, clipped ratios (Schulman et al., 2017)."""

from collections import deque, namedtuple
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from given import initialize, norms, numbers
from torch.distributions import Categorical, Independent, MixtureSameFamily, MultivariateNormal, Normal
from torch.distributions.kl import kl_divergence

Transition = namedtuple("Transition", "state action logp value reward")
eps = np.finfo(np.float32).eps.item()


class Pole:
    """A pole that falls, in NumPy."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.angle, self.speed, self.t = self.rng.uniform(-0.1, 0.1), 0.0, 0
        return np.array([self.angle, self.speed])

    def step(self, force):
        self.speed += 0.1 * (9.8 * np.sin(self.angle) - 4.0 * float(force))
        self.angle += 0.1 * self.speed
        self.t += 1
        done = abs(self.angle) > 0.6 or self.t >= 25
        return np.array([self.angle, self.speed]), 1.0 - self.angle**2, done, {}


class ActorCritic(nn.Module):
    def __init__(self, actions=2, continuous=False):
        super().__init__()
        self.affine, self.continuous = nn.Linear(2, 16), continuous
        self.action_head, self.value_head = nn.Linear(16, 1 if continuous else actions), nn.Linear(16, 1)
        if continuous:
            self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        x = F.relu6(self.affine(x))
        if self.continuous:
            mean = self.action_head(x)
            policy = Independent(Normal(mean, self.log_std.exp().expand_as(mean)), 1)
        else:
            policy = Categorical(logits=self.action_head(x))
        return policy, self.value_head(x).squeeze(-1)


def select(policy, rng):
    """Draw an action with NumPy's numbers, so that it is the same with every library."""
    if isinstance(policy, Categorical):
        total = policy.probs.detach().cumsum(-1)
        return (
            torch.searchsorted(total, torch.tensor([rng.random()], dtype=total.dtype))
            .clamp(max=1)
            .squeeze(-1)
        )
    return policy.mean.detach() + policy.stddev.detach() * torch.from_numpy(
        rng.standard_normal(policy.mean.shape)
    )


def episode(model, env, rng):
    state, history = env.reset(), []
    for _ in count():
        state = torch.from_numpy(state)
        policy, value = model(state)
        action = select(policy, rng)
        after, reward, done, _ = env.step(2 * action.item() - 1 if not model.continuous else action.item())
        history.append(Transition(state, action, policy.log_prob(action), value, reward))
        if done:
            return history
        state = after


def returns_of(history, gamma=0.95):
    found = deque()
    for step in reversed(history):
        found.appendleft(step.reward + gamma * (found[0] if found else 0.0))
    returns = torch.tensor(found, dtype=torch.float64)
    return (returns - returns.mean()) / (returns.std() + eps)


def reinforce(model, optimizer, history):
    returns = returns_of(history)
    policy_loss = [-s.logp * R for s, R in zip(history, returns)]
    optimizer.zero_grad()
    loss = torch.stack(policy_loss).sum()
    loss.backward()
    optimizer.step()
    return loss.item()


def actor_critic(model, optimizer, history):
    returns = returns_of(history)
    losses = []
    for step, R in zip(history, returns):
        advantage = R - step.value.item()
        losses.append((-step.logp * advantage, F.smooth_l1_loss(step.value, R)))
    loss = torch.stack([a for a, _ in losses]).sum() + torch.stack([v for _, v in losses]).sum()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0, norm_type="inf")
    optimizer.step()
    return loss.item()


def clipped(model, optimizer, history, clip=0.2, epochs=3):
    states, actions = torch.stack([s.state for s in history]), torch.stack([s.action for s in history])
    old = torch.stack([s.logp for s in history]).detach()
    returns = returns_of(history)
    with torch.no_grad():
        before, value = model(states)
        advantage = returns - value
    for _ in range(epochs):
        policy, value = model(states)
        ratio = (policy.log_prob(actions) - old).exp()
        surrogate = torch.min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)
        loss = -surrogate.mean() + 0.5 * F.mse_loss(value, returns) - 0.01 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return loss.item(), kl_divergence(before, model(states)[0]).mean().item()


def families():
    """Densities of other families that policies have."""
    loc, tril = numbers(1, 3).requires_grad_(), numbers(2, 3, 3).tril(-1) + 2 * torch.eye(3).double()
    joint = MultivariateNormal(loc, scale_tril=tril)
    mixture = MixtureSameFamily(Categorical(logits=loc), Normal(numbers(3, 3), torch.ones(3).double()))
    density = joint.log_prob(numbers(4, 5, 3)).sum() + mixture.log_prob(numbers(5, 4)).sum()
    (found,) = torch.autograd.grad(density, loc)
    return [
        density.item(),
        found.tolist(),
        joint.entropy().item(),
        mixture.mean.item(),
        mixture.variance.item(),
    ]


def run(folder):
    torch.manual_seed(543)
    results = {}
    for name, learn, continuous in [
        ("reinforce", reinforce, False),
        ("actor and critic", actor_critic, False),
        ("clipped", clipped, True),
    ]:
        model = initialize(ActorCritic(continuous=continuous), seed=11)
        optimizer = optim.Adam(model.parameters(), lr=3e-2, eps=1e-5)
        env, rng, losses, lengths = Pole(0), np.random.default_rng(1), [], []
        for _ in range(5):
            history = episode(model, env, rng)
            lengths.append(len(history))
            losses.append(learn(model, optimizer, history))
        results[name] = {"losses": losses, "lengths": lengths, "parameters": norms(model.parameters())}
    policy, _ = model(torch.zeros(4, 2, dtype=torch.float64))
    torch.manual_seed(0)
    drawn = policy.rsample((3,))
    results["shapes"] = [list(drawn.shape), drawn.requires_grad, list(policy.batch_shape), policy.has_rsample]
    results["families"] = families()
    results["text"] = [repr(policy), repr(Categorical(logits=torch.zeros(3)))]
    return results
