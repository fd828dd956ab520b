"""Programs in PyTorch's style, which import torch. test_ports.py runs them as they stand, and with those lines changed
to import fxgrad.compat. Their `main` returns the numbers that are to agree."""
