"""The tables of docs/tables/, made by running: what is here of torch, JAX and autograd, which rules operations have.

    python -m tests.tables          runs every program, and writes the pages
    python -m tests.tables --ask    asks the peers first, which have to be installed

A name is a row in a file of rows/: the name at the margin, its smallest program below, the answer as the last line.
`here:`, `differs:` and `absent:` say what is otherwise (`row.read`). What the peers answer is kept in answers.json, and
the names of their large namespaces in names.json, so that the pages are checked where the peers are not installed.
"""
