"""Doors: import hooks by which a library's module paths import modules of this package instead.

absence      stands for names that a library has and that are not here
inventory    reads the list of a library's modules and names, a data file
modules      makes modules under the library's paths, from tables and from the modules here
finder       gives them to Python's import system
program      runs a program while doors are open

Nothing here knows a library: a `Door` is given its tables (`fxgrad.compat.door` has those of torch).
"""
