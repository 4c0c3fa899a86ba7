"""Load series in time, composed with the time series of a contact's smooth variable."""

from collections.abc import Sequence


class LoadSeries:
    r"""Powers of the elapsed time, order by order as the time series becomes known.

    With $t = t_0 + \sum_{k>0} t_k \tau^k$ a force $\sum_m c_m (t - t_0)^m$ has the
    coefficients $\sum_{m \le k} c_m [(t - t_0)^m]_k$: each order needs the time's
    coefficients up to the same order.
    """

    def __init__(self, pushed: Sequence):
        self.pushed, self.powers = pushed, []

    def terms(self, time: list, order: int) -> list:
        """Return each load's coefficient of an order, given `time` up to that order."""
        pushed = self.pushed
        if not order:
            return [row[0] for row in pushed]
        passed = [0.0, *time[1:]]
        most = max((len(row) for row in pushed), default=1)
        if order < most:
            self.powers.append([0.0] * order)
        found = [passed[order]] if self.powers else []
        for m, below in enumerate(self.powers[:-1], start=1):
            # of two series that start at orders m and 1
            pairs = (below[i] * passed[order - i] for i in range(m, order))
            found.append(sum(pairs, 0.0))
        for power, term in zip(self.powers, found, strict=True):
            power.append(term)
        return [
            sum((c * x for c, x in zip(row[1:], found, strict=False)), 0.0)
            for row in pushed
        ]
