"""Core-seconds from matrix files of a large plate to its modes with a stop.

    python -m experiments.benchmarks.sparse_modes [NODES]

A square steel membrane of NODES x NODES nodes (default 224: 10^5 degrees of freedom)
without mass on every tenth row of nodes, free and held on one edge, is written to `.npz`
files, read, brought into 20 modes with their residual flexibility at two points, and
given a stop.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse

import jaxvib as jv

YOUNG, POISSON, THICKNESS, DENSITY = 2.1e11, 0.3, 0.01, 7800.0


def membrane(nodes: int, held: bool):
    """Return sparse mass and stiffness of bilinear elements on the unit square."""
    h = 1 / (nodes - 1)
    shear = (1 - POISSON) / 2
    law = np.array([[1, POISSON, 0], [POISSON, 1, 0], [0, 0, shear]])
    element = np.zeros((8, 8))
    for x in (-(1 / 3**0.5), 1 / 3**0.5):
        for y in (-(1 / 3**0.5), 1 / 3**0.5):
            slopes = np.array(
                [[y - 1, 1 - y, 1 + y, -1 - y], [x - 1, -1 - x, 1 + x, 1 - x]]
            )
            slopes = slopes / (2 * h)
            strain = np.zeros((3, 8))
            strain[0, 0::2], strain[1, 1::2] = slopes
            strain[2, 0::2], strain[2, 1::2] = slopes[::-1]
            element += strain.T @ law @ strain * h**2 / 4
    element *= YOUNG * THICKNESS / (1 - POISSON**2)
    number = np.arange(nodes**2).reshape(nodes, nodes)
    corners = (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1])
    corner = np.stack(corners, -1).reshape(-1, 4)
    places = np.stack([2 * corner, 2 * corner + 1], -1).reshape(-1, 8)
    rows, columns = np.repeat(places, 8, 1).ravel(), np.tile(places, (1, 8)).ravel()
    entries = np.tile(element.ravel(), len(places))
    size = 2 * nodes**2
    stiffness = scipy.sparse.coo_array((entries, (rows, columns)), (size, size)).tocsc()
    lumped = np.repeat(np.full(nodes**2, DENSITY * THICKNESS * h**2), 2)
    lumped[
        np.repeat(number[9:-1:10].ravel(), 2) * 2 + np.tile([0, 1], number[9:-1:10].size)
    ] = 0
    mass = scipy.sparse.diags_array(lumped).tocsc()
    kept = np.arange(2 * held * nodes, size)
    return mass[kept][:, kept], stiffness[kept][:, kept]


def main() -> None:
    """Run what the command line asks for."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 224
    with tempfile.TemporaryDirectory() as folder:
        for held in (False, True):
            files = []
            for name, matrix in zip("mk", membrane(nodes, held), strict=True):
                files.append(Path(folder) / f"{name}.npz")
                scipy.sparse.save_npz(files[-1], matrix)
            start = time.process_time()
            read = jv.read_matrices(*files)
            known = time.process_time()
            corner, middle = str(len(read.names) - 1), str(len(read.names) // 2)
            structure = jv.elastic_structure(read, 20, [corner, middle], damping_ratio=0.01)
            stop = structure.stop(corner, gap=1e-4)
            end = time.process_time()
            print(read)
            print(f"read {known - start:.1f} s, 20 modes {end - known:.1f} s, "
                  f"stop in series {float(stop.law.stiffness):.4g} N/m")  # fmt: skip


if __name__ == "__main__":
    main()
