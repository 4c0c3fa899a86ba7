"""A share of a study: the chunks computed by one of several jobs, in its own folder."""

import dataclasses
import re
from pathlib import Path

_SHARE = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclasses.dataclass(frozen=True)
class Share:
    """Share `number` of `of`, counted from 1: every `of`-th chunk of a study.

    Neighbours along a swept path have similar run times; interleaved chunks balance
    the shares.

    **Raises:** `ValueError` if the number exceeds `of`.
    """

    number: int
    of: int

    def __post_init__(self) -> None:
        if self.number > self.of:
            raise ValueError(f"share = {self}; allowed: I/N with I at most N")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> "Share":
        """Parse a share written as `I/N`. **Raises:** `ValueError`."""
        found = _SHARE.fullmatch(text)
        if found is None:
            raise ValueError(f"share = {text[:40]!a}; allowed: I/N, e.g. 3/16")
        return cls(int(found[1]), int(found[2]))

    def chunks(self, count: int) -> range:
        """Return the numbers of its chunks, given their total number."""
        return range(self.number - 1, count, self.of)

    def folder(self, study: Path) -> Path:
        """Return the folder of this share, next to that of the study."""
        return Path(f"{study}-{self.number}-of-{self.of}")
