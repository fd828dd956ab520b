"""The door: torch's names for modules, under which programs find this surface when `import torch` is answered by it.

    import fxgrad.compat

    with fxgrad.compat.install():
        import program  # which says `import torch`

or `python -m fxgrad.compat program.py`. `layout` is a table of torch's module paths, `modules` makes modules of it from
whatever the namespaces have, `finder` gives them to Python's import system, `program` runs scripts.
"""
