"""NumPy and SciPy as the modules of a program see them: theirs for plain values, this library's under transforms.

shadows    modules and functions that decide at each call
imports    gives them to `import numpy` in the program's own modules, and to no others
"""
