"""A LightningModule trained and tested, with logged metrics and a checkpoint.

packages: lightning
tolerance: 1e-4
"""

import logging
import tempfile
import warnings

import lightning as L
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(L.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss, on_epoch=True)
        return loss

    def test_step(self, batch, index):
        self.log("test", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


L.seed_everything(1)
x = torch.randn(32, 4)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(-1, keepdim=True)), batch_size=8)
with tempfile.TemporaryDirectory() as folder:
    trainer = L.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=folder, enable_checkpointing=False, gradient_clip_val=1.0,
    )  # fmt: skip
    model = Model()
    trainer.fit(model, loader)
    print(
        trainer.callback_metrics["loss_epoch"].item(), trainer.test(model, loader, verbose=False)[0]["test"]
    )
    trainer.save_checkpoint(f"{folder}/last.ckpt")
    again = Model.load_from_checkpoint(f"{folder}/last.ckpt", weights_only=False)
    print(again.net(x[:2]).flatten().tolist(), again.hparams.width)
