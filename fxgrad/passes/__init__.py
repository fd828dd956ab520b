"""Passes from Graphs to Graphs. A Graph is compiled after every pass of `table.PASSES` has run, in order.

A pass is a pure function of one Graph. It returns a Graph with the same inputs and with outputs of the same avals, or
the same Graph object if it has nothing to do, and `Graph.check` must hold for its result. It may rely only on these
properties of a Graph:

* values are those of the equations' NumPy kernels: to rounding, or bit for bit, with −0.0, NaN and infinities, if the
  pass says so (except for the sign of NaN); variables that are kept keep their avals (dtype, weakness);
* equations that are `effectful` or `bound_to_axis`, and those whose primitive has `identity_params`, are neither
  merged, nor dropped, nor moved past one another;
* equations that would warn are not evaluated at compile time; a merged equation warns if one of its parts would;
* a merged equation has the site of the equation whose value it computes;
* sub-graphs (bodies of loops, branches) are Graphs like others: the table is applied to them as well.

Every pass removes equations that it has made unneeded. The optimized Graph only computes values: derivatives, batches
and other transforms of a jitted function use the Graph as staged, so that passes may drop equations without effect on
values (`stop_gradient`).

The last pass of the table is `fuse`: it merges groups of elementwise equations (with reductions) into single
equations of the primitive `fused`.
"""
