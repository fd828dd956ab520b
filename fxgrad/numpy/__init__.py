"""NumPy's namespace (2.x, which is also the Array API's) for arrays, numbers, sequences and traced values alike.

    import fxgrad.numpy as fnp

On plain arrays a function here is NumPy's, with its values, dtypes and errors; on traced values it is made of
primitives, so that it can be differentiated, mapped and staged. Nothing is done in place and there is no `out=`.
"""
