"""The demo: `python -m fxgrad.demo` trains a network on hand-written digits with differential privacy."""
