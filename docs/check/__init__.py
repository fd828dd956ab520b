"""Checks of the built site: `python -m docs.check FOLDER`, which `nox -s docs` runs.

`pages` reads the files, and needs nothing but Python. `browser` walks through them in Chromium, where that is there.
"""
