"""Templates for docstrings that declarations complete."""

from __future__ import annotations


def insert_before_example(text: str, added: str) -> str:
    """Put lines into a docstring, as a paragraph before its example, or at its end where it has none.

    Args:
        text: the docstring.
        added: the lines, without margin: they get that of the docstring. From Python 3.13 on it has none, since the
            compiler takes it away.
    """
    below = text.partition("\n")[2].lstrip("\n")
    margin = below[: len(below) - len(below.lstrip(" "))]
    end = text.find(f"\n\n{margin}>>> ")
    before, example = (text.rstrip(), f"\n{margin}") if end < 0 else (text[:end], text[end:])
    lines = [f"{margin}{line}" if line else "" for line in added.split("\n")]
    return "\n".join([before, "", *lines]) + example
