"""Geometrically spaced numbers, correctly rounded. Free of heavy imports."""

import decimal

import numpy as np

_CONTEXT = decimal.Context(prec=40)


def geometric_values(first: float, last: float, count: int) -> np.ndarray:
    """Return `count` positive numbers in geometric progression from `first` to `last`.

    Each is the double nearest to the exact value; the last digit of `numpy.geomspace`
    may depend on the processor.

    >>> geometric_values(1.0, 1000.0, 4).tolist()
    [1.0, 10.0, 100.0, 1000.0]
    """
    if count == 1:
        return np.array([first], float)
    begin, end = decimal.Decimal(float(first)), decimal.Decimal(float(last))
    rate = _CONTEXT.divide(_CONTEXT.ln(_CONTEXT.divide(end, begin)), count - 1)
    between = [
        float(_CONTEXT.multiply(begin, _CONTEXT.exp(_CONTEXT.multiply(rate, k))))
        for k in range(1, count - 1)
    ]
    return np.array([first, *between, last], float)
