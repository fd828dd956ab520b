"""A search over the hyperparameters of a network, with pruning of trials that do badly.

packages: optuna
tolerance: 1e-4
"""

import optuna
import torch

optuna.logging.set_verbosity(optuna.logging.ERROR)
torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.square().sum(-1, keepdim=True)


def objective(trial):
    torch.manual_seed(1)
    width, lr = trial.suggest_int("width", 4, 16), trial.suggest_float("lr", 1e-3, 1e-1, log=True)
    model = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for step in range(6):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        trial.report(loss.item(), step)
        if trial.should_prune():
            raise optuna.TrialPruned()
    return loss.item()


study = optuna.create_study(
    sampler=optuna.samplers.TPESampler(seed=0), pruner=optuna.pruners.MedianPruner(n_startup_trials=2)
)
study.optimize(objective, n_trials=6)
print(study.best_value, study.best_params, [str(t.state.name) for t in study.trials])
