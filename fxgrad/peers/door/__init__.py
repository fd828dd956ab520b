"""The import hooks that let `import jax` and `import autograd` mean this library.

    import fxgrad as fx

    with fx.install("jax", "autograd"):
        import program  # which says `import jax`

or `python -m fxgrad program.py`. `jax_layout` and `autograd_layout` are tables of the libraries' module paths,
`modules` makes doors of them, and `finder` opens these.
"""
