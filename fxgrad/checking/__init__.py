"""Checks of derivatives against finite differences, for `check=True` of transforms and for `fxgrad.testing`."""
