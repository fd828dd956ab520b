"""Notebooks that show the library, stored with what they print and draw: `python -m notebooks` makes that anew."""
