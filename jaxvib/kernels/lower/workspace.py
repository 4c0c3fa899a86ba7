"""Allocation of a program's arrays in one block of memory."""

# Vectors of eight doubles are aligned to their size.
ALIGNMENT = 64


class Workspace:
    """Parts of a block of memory, which are used again once they are released."""

    def __init__(self):
        self.size = 0
        self._free: list[tuple[int, int]] = []  # starts and ends, in order

    def take(self, size: int) -> int:
        """Return the start of a free part, the first that is long enough."""
        size = _rounded(size)
        for number, (start, end) in enumerate(self._free):
            last = end == self.size
            if end - start >= size or last:
                self.size = max(self.size, start + size)
                rest = [(start + size, end)] if end > start + size else []
                self._free[number : number + 1] = rest
                return start
        self.size += size
        return self.size - size

    def release(self, start: int, size: int) -> None:
        """Release a part."""
        parts = sorted([*self._free, (start, start + _rounded(size))])
        merged = parts[:1]
        for begin, end in parts[1:]:
            if begin == merged[-1][1]:
                merged[-1] = merged[-1][0], end
            else:
                merged.append((begin, end))
        self._free = merged


def _rounded(size: int) -> int:
    return max(-(-size // ALIGNMENT), 1) * ALIGNMENT
