"""Kernels of functions of one lane of a system."""

import functools
from collections.abc import Callable
from typing import Any

from ..kernels import Kernel
from ..kernels.calls.kernel_cache import cached_kernel


def lane_kernel(function: Callable[..., Any]) -> Callable[..., Kernel]:
    """Return the function of (static, ...) to the kernel of `function(lane, static, ...)`.

    A decorator. `static`: a system without its arrays, which are among those of the lane,
    see `partition_arrays`. The last 64 kernels are kept.
    """

    def kernel(static, *others):
        def stage(lane):
            return function(lane, static, *others)

        named = functools.update_wrapper(stage, function)
        return cached_kernel(named, static, *others, in_memory=static.in_memory)

    return functools.update_wrapper(functools.lru_cache(maxsize=64)(kernel), function)
