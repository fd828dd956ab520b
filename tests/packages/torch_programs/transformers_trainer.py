"""The Trainer of transformers over a list of samples, with a schedule, evaluation and a checkpoint.

packages: transformers, accelerate
tolerance: 1e-3
"""

import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

torch.manual_seed(0)
config = BertConfig(
    vocab_size=40,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=32,
    num_labels=2,
)
data = [{"input_ids": torch.randint(40, (8,)), "labels": torch.tensor(k % 2)} for k in range(16)]
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder, num_train_epochs=2, per_device_train_batch_size=4, logging_strategy="no",
        save_strategy="no", report_to=[], disable_tqdm=True, seed=3, learning_rate=1e-3, use_cpu=True,
    )  # fmt: skip
    trainer = Trainer(
        model=BertForSequenceClassification(config), args=arguments, train_dataset=data, eval_dataset=data[:8]
    )
    trainer.remove_callback(PrinterCallback)
    result = trainer.train()
    print("trained", result.global_step, result.training_loss)
    print("evaluated", trainer.evaluate()["eval_loss"])
    trainer.save_model(folder)
    again = BertForSequenceClassification.from_pretrained(folder).eval()
    print(again(input_ids=data[0]["input_ids"][None]).logits.tolist())
