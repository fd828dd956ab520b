"""The import hook that lets `import torch` import `fxgrad.compat`, under all of torch's module paths.

    import fxgrad.compat

    with fxgrad.compat.install():
        import program  # which says `import torch`

or `python -m fxgrad.compat program.py`. `layout` is a table of torch's module paths, `modules` creates modules from it
and from the names of the namespaces, `finder` gives them to Python's import system, and
`fxgrad.doors.program` runs scripts.
"""
