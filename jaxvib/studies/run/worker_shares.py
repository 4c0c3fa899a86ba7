"""What each worker of this machine has of it: cores, or a GPU."""

import dataclasses
import os
from collections.abc import Mapping

import jax

from ..._machine import usable_cores


@dataclasses.dataclass(frozen=True)
class Share:
    """The cores that a worker may run on, all if there are none, and its environment."""

    cores: tuple[int, ...]
    environment: Mapping[str, str]


def worker_shares(count: int, device: str) -> list[Share]:
    """Return the shares of so many workers that compute on a device, by its name.

    As many cores for each as there are, without one that two have if that can be; on GPUs
    each worker has one, in turn.
    """
    cores = _cores()
    if device == "cpu":
        return [Share(_dealt(cores, count, i), {}) for i in range(count)]
    gpus = _gpus()
    # Two on one GPU would each want most of its memory.
    several = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if count > len(gpus) else {}
    return [
        Share(
            _dealt(cores, count, i),
            {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)], **several},
        )
        for i in range(count)
    ]


def _dealt(cores: list[int], count: int, place: int) -> tuple[int, ...]:
    if count >= len(cores):
        return tuple(cores[place % len(cores) :][:1])
    return tuple(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def _cores() -> list[int]:
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return sorted(affinity(0)) if affinity else list(range(usable_cores()))


def _gpus() -> list[str]:
    given = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return given or [str(each.local_hardware_id) for each in jax.local_devices()]
