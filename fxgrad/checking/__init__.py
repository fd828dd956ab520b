"""Derivatives checked against finite differences: `check=True` of transforms, and `fxgrad.testing`."""
