"""Engines, events and metrics of a training loop.

packages: pytorch-ignite
tolerance: 1e-4
"""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, ProgressBar  # noqa: F401
from ignite.metrics import Accuracy, ConfusionMatrix, Fbeta, Loss

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x.sum(-1) > 0).long()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16)
model, criterion = torch.nn.Linear(5, 2), torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters(), lr=0.05), criterion)
evaluator = create_supervised_evaluator(
    model, {"accuracy": Accuracy(), "loss": Loss(criterion), "f": Fbeta(1), "matrix": ConfusionMatrix(2)}
)


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    metrics = evaluator.run(loader).metrics
    print(engine.state.epoch, metrics["accuracy"], metrics["loss"], metrics["f"], metrics["matrix"].tolist())


stopping = EarlyStopping(
    patience=1, score_function=lambda engine: engine.state.metrics["accuracy"], trainer=trainer
)
evaluator.add_event_handler(Events.COMPLETED, stopping)
trainer.run(loader, max_epochs=4)
