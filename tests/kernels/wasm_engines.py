"""Engines of WebAssembly that run a module: Node's V8, and wasmtime."""

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from jaxvib.kernels import WebAssembly

SCRIPT = Path(__file__).with_name("run_wasm.mjs")
NODE = pytest.param(
    "node", marks=pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
)
WASMTIME = pytest.param(
    "wasmtime",
    marks=pytest.mark.skipif(
        not importlib.util.find_spec("wasmtime"), reason="needs pip install wasmtime"
    ),
)


def computed(
    module: WebAssembly, arrays: Sequence, engine: str, count: int | None = None
) -> list[np.ndarray]:
    """Return the results of lanes on the first axis, as `Kernel.map` does."""
    layout, lanes = module.layout, len(arrays[0])
    first = layout["inputs"][0]["offset"]
    content = bytearray(layout["outputs"][0]["offset"] - first)
    for entry, array in zip(layout["inputs"], arrays, strict=True):
        _view(entry, content, layout["lanes"], first)[:, :lanes] = np.reshape(
            array, (lanes, -1)
        ).T
    count = lanes if count is None else count
    memory = bytearray(_ENGINES[engine](module.code, bytes(content), first, count))
    return [
        _view(entry, memory, layout["lanes"])[:, :lanes].T.reshape(lanes, *entry["shape"])
        for entry in layout["outputs"]
    ]


def _view(entry, memory, lanes: int, first: int = 0) -> np.ndarray:
    """Return the numbers of an array, one per row, with the lanes as columns."""
    numbers = int(np.prod(entry["shape"]))
    size, offset = numbers * lanes, entry["offset"] - first
    return np.frombuffer(memory, entry["dtype"], size, offset).reshape(numbers, lanes)


def _by_node(code: bytes, content: bytes, first: int, count: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "module.wasm").write_bytes(code)
        (place / "arguments").write_bytes(content)
        command = ["node", str(SCRIPT), folder, str(first), str(count)]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return (place / "memory").read_bytes()


def _by_wasmtime(code: bytes, content: bytes, first: int, count: int) -> bytes:
    import wasmtime

    store = wasmtime.Store()
    found = wasmtime.Instance(store, wasmtime.Module(store.engine, code), [])
    exports = found.exports(store)
    exports["memory"].write(store, content, first)
    exports["run"](store, count)
    return bytes(exports["memory"].read(store))


_ENGINES = {"node": _by_node, "wasmtime": _by_wasmtime}
