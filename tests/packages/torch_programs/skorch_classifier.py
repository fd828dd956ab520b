"""A network as an estimator of scikit-learn: fitted, scored and cross-validated.

packages: skorch
tolerance: 1e-4
"""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetClassifier

x, y = make_classification(80, 6, n_informative=4, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)


class Net(torch.nn.Module):
    def __init__(self, units=8):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, units), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(units, 2), torch.nn.Softmax(-1)
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
net = NeuralNetClassifier(
    Net, max_epochs=4, lr=0.1, verbose=0, optimizer=torch.optim.SGD, optimizer__momentum=0.9
)
net.fit(x, y)
print(net.history[:, "train_loss"], net.history[:, "valid_loss"], net.score(x, y))
print(net.predict_proba(x[:2]).tolist())
search = GridSearchCV(net, {"lr": [0.05, 0.2], "module__units": [4]}, cv=2, scoring="accuracy", refit=False)
print(search.fit(x, y).cv_results_["mean_test_score"].tolist())
