"""The paper's example of a beam with bodies, and its determinant of Green functions.

Mizhidon's equations (11) to (23), in as many digits as mpmath is set to; nothing of jaxvib.
"""

import mpmath

LENGTH, MASS_PER_LENGTH, BENDING = 1.0, 0.675, 7e10 * 5.20833e-10
POSITIONS, LINK = (0.1, 0.5, 0.9), 0.1


def green_function(value, load):
    """Return G(x) of a cantilever: value^2 k G + b G'''' = delta(x - load)."""
    wave = (-(value**2) * MASS_PER_LENGTH / BENDING) ** mpmath.mpf("0.25")

    def krylov(x, order):
        # the derivatives of (sinh - sin) / (2 wave^3)
        z, odd = wave * x, order % 2
        growing = (mpmath.sinh, mpmath.cosh)[odd](z)
        turning = (mpmath.sin, mpmath.cos)[odd](z) * (-1) ** (order // 2)
        return (growing - turning) * wave ** (order - 3) / 2

    def beyond(x, order):
        return krylov(x - load, order) if x > load else mpmath.mpf(0)

    # bending moment and shear force vanish at the free end
    rows = mpmath.matrix(
        [[krylov(LENGTH, order + 1), krylov(LENGTH, order)] for order in (2, 3)]
    )
    right = mpmath.matrix([-beyond(LENGTH, order) for order in (2, 3)])
    first, second = mpmath.lu_solve(rows, right)
    return lambda x: (first * krylov(x, 1) + second * krylov(x, 0) + beyond(x, 0)) / BENDING


def paper_determinant(value, mass=0.1):
    """Return det [[l^2 A + C2 D + l B2 D, -(C2 + l B2)], [N, -M]], M = I + G W, N = G W."""
    links = range(3)
    link = LINK + value * LINK
    greens = [green_function(value, load) for load in POSITIONS]
    whole = mpmath.zeros(6)
    for i in links:
        whole[i, i] = value**2 * mass + link
        whole[i, 3 + i] = -link
        for j in links:
            coupling = greens[j](POSITIONS[i]) * link
            whole[3 + i, j] = coupling
            whole[3 + i, 3 + j] = -coupling - (i == j)
    return mpmath.det(whole)
