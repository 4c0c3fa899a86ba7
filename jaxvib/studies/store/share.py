"""A share of a study: chunks that one job of several computes, in a folder of its own."""

import dataclasses
import re
from pathlib import Path

_SHARE = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclasses.dataclass(frozen=True)
class Share:
    """Share `number` of `of`, the first being 1: every `of`-th chunk of a study.

    Neighbours along a swept path take about the same time, so that shares of chunks that
    lie far apart do too.

    **Raises:** `ValueError` for a number that is greater than `of`.
    """

    number: int
    of: int

    def __post_init__(self):
        if self.number > self.of:
            raise ValueError(f"share = {self}; allowed: I/N with I at most N")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Return the share that is written as `I/N`. **Raises:** `ValueError`."""
        found = _SHARE.fullmatch(text)
        if found is None:
            raise ValueError(
                f"share = {text[:40]!a}; allowed: I/N, such as 3/16 for the third of 16"
            )
        return cls(int(found[1]), int(found[2]))

    def chunks(self, count: int) -> range:
        """Return the numbers of its chunks, where a study has so many."""
        return range(self.number - 1, count, self.of)

    def folder(self, study: Path) -> Path:
        """Return the folder of this share, beside that of the study."""
        return Path(f"{study}-{self.number}-of-{self.of}")
