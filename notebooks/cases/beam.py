"""Topology optimisation of a beam in NumPy and SciPy: a finite-element solver that writes into its arrays.

The model, the filters and the update are those of E. Andreassen et al., "Efficient topology optimization in MATLAB
using 88 lines of code", Structural and Multidisciplinary Optimization 43 (2011). The stiffness matrix is banded here.
"""

import numpy as np
import scipy.sparse
from scipy.linalg import solveh_banded


def stiffness_of_element(nu=0.3):
    """The 8 × 8 stiffness matrix of a square bilinear element in plane stress, with Young's modulus 1."""
    points = np.array([-1.0, 1.0]) / np.sqrt(3)
    law = np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]]) / (1 - nu**2)
    ke = np.zeros((8, 8))
    for a in points:
        for b in points:
            dx = np.array([-(1 - b), 1 - b, 1 + b, -(1 + b)]) / 2
            dy = np.array([-(1 - a), -(1 + a), 1 + a, 1 - a]) / 2
            strain = np.zeros((3, 8))
            strain[0, 0::2] = dx
            strain[1, 1::2] = dy
            strain[2, 0::2], strain[2, 1::2] = dy, dx
            ke += strain.T @ law @ strain / 4
    return ke


KE = stiffness_of_element()


class Mesh:
    """A grid of square elements, numbered column by column from the top left, with two displacements at each node."""

    def __init__(self, nelx, nely):
        self.nelx, self.nely = nelx, nely
        first = (np.arange(nelx)[:, None] * (nely + 1) + np.arange(nely)).ravel()  # the node at the top left
        nodes = np.stack([first + 1, first + nely + 2, first + nely + 1, first], axis=1)
        self.dofs = np.stack([2 * nodes, 2 * nodes + 1], axis=2).reshape(-1, 8)
        self.size = 2 * (nelx + 1) * (nely + 1)
        self.width = 2 * (nely + 2) + 1

    def node(self, x, y):
        """The number of the node in column x and row y."""
        return x * (self.nely + 1) + y


def solve(mesh, moduli, load, fixed, springs=()):
    """The displacements under a load, where each element has a modulus and some displacements are held at zero.

    `springs` are pairs of a degree of freedom and a stiffness. `load` may have columns.
    """
    band = np.zeros((mesh.width + 1, mesh.size))
    rows, columns = np.repeat(mesh.dofs, 8, axis=1), np.tile(mesh.dofs, 8)
    upper = rows <= columns
    stiffness = moduli[:, None] * KE.ravel()
    np.add.at(band, (mesh.width + (rows - columns)[upper], columns[upper]), stiffness[upper])
    for dof, strength in springs:
        band[-1, dof] += strength
    band[: mesh.width, fixed] = 0
    offsets = np.arange(1, mesh.width + 1)
    rows, columns = np.meshgrid(mesh.width - offsets, fixed, indexing="ij")
    inside = columns + offsets[:, None] < mesh.size
    band[rows[inside], (columns + offsets[:, None])[inside]] = 0
    band[-1, fixed] = 1
    return solveh_banded(band, load)


def interpolate(density, penalty=3.0, void=1e-9):
    """Young's moduli for densities between 0 and 1."""
    return void + density**penalty * (1 - void)


class HalfBeam:
    """The right half of the MBB beam: a load at the top left, symmetry at the left, a support at the bottom right."""

    def __init__(self, nelx, nely):
        self.mesh = mesh = Mesh(nelx, nely)
        self.load = np.zeros(mesh.size)
        self.load[1] = -1.0
        self.fixed = [2 * mesh.node(0, y) for y in range(nely + 1)] + [2 * mesh.node(nelx, nely) + 1]

    def compliance(self, density):
        """The work of the load on the beam."""
        return self.load @ solve(self.mesh, interpolate(density), self.load, self.fixed)

    def sensitivities(self, density, penalty=3.0, void=1e-9):
        """The compliance and its derivatives by the densities, derived by hand: the problem is self-adjoint."""
        u = solve(self.mesh, interpolate(density), self.load, self.fixed)
        energies = np.einsum("ei,ij,ej->e", u[self.mesh.dofs], KE, u[self.mesh.dofs])
        return self.load @ u, -penalty * (1 - void) * density ** (penalty - 1) * energies


def cone_filter(nelx, nely, radius):
    """A sparse matrix of weights that fall linearly to zero at a radius, with rows that sum to 1."""
    x, y = (a.ravel() for a in np.meshgrid(np.arange(nelx), np.arange(nely), indexing="ij"))
    weights = np.maximum(0, radius - np.hypot(x[:, None] - x, y[:, None] - y))
    return scipy.sparse.csr_array(weights / weights.sum(axis=1, keepdims=True))


def update(x, slope, slope_of_volume, physical, volume, move=0.2):
    """One step of the optimality criteria: the new x, which keeps the volume of the physical densities."""
    low, high = 0.0, 1e9
    while (high - low) / (high + low) > 1e-3:
        middle = (low + high) / 2
        ratio = np.sqrt(np.maximum(0, -slope / slope_of_volume / middle))
        new = np.clip(x * ratio, np.maximum(0, x - move), np.minimum(1, x + move))
        if physical(new).sum() > volume * x.size:
            low = middle
        else:
            high = middle
    return new
