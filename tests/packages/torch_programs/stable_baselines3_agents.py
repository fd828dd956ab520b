"""Agents by PPO, A2C and DQN in small environments, a few updates each.

packages: stable-baselines3
tolerance: 1e-3
"""

import gymnasium as gym
import torch
from stable_baselines3 import A2C, DQN, PPO

torch.set_num_threads(1)
for kind, options in (
    (PPO, dict(n_steps=64, batch_size=32, n_epochs=2)),
    (A2C, dict(n_steps=16)),
    (DQN, dict(learning_starts=40, train_freq=8, buffer_size=500)),
):
    model = kind("MlpPolicy", gym.make("CartPole-v1"), seed=0, device="cpu", **options).learn(128)
    norm = torch.stack([p.detach().norm() for p in model.policy.parameters()]).norm()
    action, _ = model.predict([0.1, 0.0, -0.1, 0.2], deterministic=True)
    print(kind.__name__, norm.item(), int(action))
