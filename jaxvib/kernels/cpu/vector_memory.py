"""Memory for a call of a program on one vector of lanes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..lower.lowering import Signature

_CACHE_LINE = 64  # bytes, at multiples of which each array begins


class _Place(NamedTuple):
    """The shape, the dtype and the offset in bytes of an array of lanes."""

    shape: tuple[int, ...]
    kind: np.dtype
    offset: int


class VectorMemory:
    """The layout of a program's arrays of `width` lanes in one block of memory.

    Arrays of their own, each padded to the width, take longer than a short program.
    """

    def __init__(self, signature: Signature, width: int):
        self._size, places = 0, []
        for shape, name in (*signature.inputs, *signature.outputs):
            place = _Place((*shape, width), np.dtype(name), self._size)
            size = max(int(np.prod(place.shape)), 1) * place.kind.itemsize
            self._size += -(-size // _CACHE_LINE) * _CACHE_LINE
            places.append(place)
        count = len(signature.inputs)
        self._inputs, self._outputs = places[:count], places[count:]
        self._offsets = np.array([place.offset for place in places], np.uint64)

    def filled(self, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return memory with arrays of lanes, the last axis, and pointers to all arrays.

        Missing lanes repeat the last one.
        """
        memory = np.empty(self._size, np.uint8)
        for array, (shape, kind, offset) in zip(arrays, self._inputs, strict=True):
            lanes, there = array.shape[-1], np.ndarray(shape, kind, memory, offset)
            if lanes in (1, shape[-1]):
                there[...] = array
            else:
                there[..., :lanes] = array
                there[..., lanes:] = array[..., -1:]
        return memory, self._offsets + np.uint64(memory.__array_interface__["data"][0])

    def results(self, memory: np.ndarray) -> list[np.ndarray]:
        """Return the program's results in memory."""
        return [np.ndarray(*place[:2], memory, place.offset) for place in self._outputs]
