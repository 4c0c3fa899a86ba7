"""Assigns cores or a GPU to each worker of this machine."""

import dataclasses
import os
from collections.abc import Mapping

import jax

from ...foundation.machine import usable_cores


@dataclasses.dataclass(frozen=True)
class Share:
    """The cores of a worker (all if empty), and its environment."""

    cores: tuple[int, ...]
    environment: Mapping[str, str]


def worker_shares(count: int, device: str) -> list[Share]:
    """Return the shares of a number of workers on a device.

    Cores are divided evenly, without overlap if possible; GPUs are assigned in turn.
    """
    cores = _cores()
    if device == "cpu":
        return [Share(_core_share(cores, count, i), {}) for i in range(count)]
    gpus = _gpus()
    # Two workers on one GPU would each claim most of its memory.
    several = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"} if count > len(gpus) else {}
    return [
        Share(
            _core_share(cores, count, i),
            {"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)], **several},
        )
        for i in range(count)
    ]


def _core_share(cores: list[int], count: int, place: int) -> tuple[int, ...]:
    if count >= len(cores):
        return tuple(cores[place % len(cores) :][:1])
    return tuple(cores[place * len(cores) // count : (place + 1) * len(cores) // count])


def _cores() -> list[int]:
    affinity = getattr(os, "sched_getaffinity", None)  # not on all systems
    return sorted(affinity(0)) if affinity else list(range(usable_cores()))


def _gpus() -> list[str]:
    given = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return given or [str(each.local_hardware_id) for each in jax.local_devices()]
