"""Checked against: the same function traced anew, to the bit."""

import functools
import hashlib
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import time
import types
import unittest.mock
import zlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib
from jaxvib.foundation.cache import write_entry
from jaxvib.kernels.cache.serialization import deserialize
from jaxvib.kernels.calls import kernel_cache
from jaxvib.kernels.calls.kernel_cache import cached_fact, cached_kernel
from jaxvib.kernels.lower.lowering import Signature
from jaxvib.systems import HarmonicLoad
from jaxvib.systems.loads import load as load_module

LANES = np.linspace(-2.0, 3.0, 37)


def pull(x):
    return -3.0 * x


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "jaxvib" / "kernels"


@pytest.fixture
def turns():
    return []


@pytest.fixture
def stage(turns):
    def stage(x):
        turns.append("traced")
        return {"wave": jnp.sin(x), "rate": (x**3, x > 0)}

    return stage


def test_functions_are_traced_once(stage, turns):
    first = cached_kernel(stage, "one", 2).map(LANES)
    again = cached_kernel(stage, "one", 2).map(LANES)
    assert len(turns) == 1
    np.testing.assert_array_equal(again["wave"], first["wave"])
    np.testing.assert_array_equal(again["rate"][0], first["rate"][0])
    np.testing.assert_allclose(again["wave"], np.sin(LANES), rtol=1e-14)


@pytest.mark.parametrize("other", ["two", 3, None])
def test_another_part_is_another_function(stage, turns, other):
    cached_kernel(stage, "one").map(LANES)
    cached_kernel(stage, other).map(LANES)
    assert len(turns) == 2


def test_other_shapes_are_traced_anew(stage, turns):
    known = cached_kernel(stage)
    known.map(LANES)
    known.map(LANES[:, None])
    assert len(turns) == 2


def written(text, **around):
    """Return the function `f` of a source, as a user's file would define it."""
    module = {"__name__": "my_fields", "jnp": jnp, **around}
    exec(text, module)
    return module["f"]


FIELD = "def f(x, scale=2.0):\n    return [bend(x), jnp.sin(x) * scale, g]\n"
FACTORY = "def of(k):\n    return lambda x: k * x\nf = of({})"
LOOP = "def f(n):\n    return f(n - 1) + {} if n else 0"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: pull, lambda: pull),
        (
            lambda: written(FIELD, bend=pull, g=9.81),
            lambda: written("# moved\n\n" + FIELD, bend=pull, g=9.81),
        ),
        (lambda: written(FACTORY.format(2)), lambda: written(FACTORY.format(2))),
        (lambda: written(LOOP.format(1)), lambda: written(LOOP.format(1))),
    ],
    ids=["itself", "moved", "enclosing", "calling itself"],
)
def test_a_user_function_is_identified_by_its_content(stage, turns, one, other):
    for function in (one(), other()):
        cached_kernel(stage, function).map(LANES)
    assert len(turns) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            lambda: written(FIELD, bend=pull, g=9.81),
            lambda: written(FIELD.replace("sin", "cos"), bend=pull, g=9.81),
        ),
        (
            lambda: written(FIELD, bend=pull, g=9.81),
            lambda: written(FIELD.replace("2.0", "2.5"), bend=pull, g=9.81),
        ),
        (
            lambda: written(FIELD, bend=pull, g=9.81),
            lambda: written(FIELD, bend=pull, g=1.62),
        ),
        (
            lambda: written(FIELD, bend=pull, g=9.81),
            lambda: written(FIELD, bend=lambda x: -3.5 * x, g=9.81),
        ),
        (lambda: written(FACTORY.format(2)), lambda: written(FACTORY.format(3))),
        (lambda: written(LOOP.format(1)), lambda: written(LOOP.format(2))),
    ],
    ids=["code", "default", "global", "global function", "enclosed", "calling itself"],
)
def test_different_user_functions_have_different_fingerprints(stage, turns, one, other):
    for function in (one(), other()):
        cached_kernel(stage, function).map(LANES)
    assert len(turns) == 2


@pytest.mark.parametrize("inner", [False, True], ids=["a kernel", "a part of one"])
def test_a_function_that_takes_another_number_is_traced_anew(inner):
    """As a user's does who changes a constant of a file and calls it again."""
    around = {"rates": [2.0, 1.0], "helper": pull}
    function = written("def f(x):\n    return helper(x) * rates[0]", **around)
    module, parts = function.__globals__, (function,)

    def stage(x):
        return function(x)

    def outer(x):
        return part(x) + 1.0

    part = cached_kernel(stage, *parts)
    kernel = cached_kernel(outer, *parts) if inner else part
    more = 1.0 if inner else 0.0

    def check(expected):
        np.testing.assert_allclose(kernel.map(LANES), expected + more, rtol=1e-14)

    check(-6.0 * LANES)
    module["rates"] = [3.0]
    check(-9.0 * LANES)
    module["rates"][0] = 4.0
    check(-12.0 * LANES)
    module["helper"] = jnp.abs
    check(4.0 * np.abs(LANES))


def test_a_part_of_a_kernel_is_traced_anew_for_a_number_that_it_had_before():
    """As where a constant is changed and changed back between calls of two functions."""
    function = written("def f(x):\n    return rate * x", rate=2.0)

    def stage(x):
        return function(x)

    def outer(x):
        return part(x) + 1.0

    part, kernel = cached_kernel(stage, function), cached_kernel(outer, function)
    np.testing.assert_array_equal(part.map(LANES), 2.0 * LANES)
    for rate in (3.0, 2.0, 3.0, 4.0, 2.0):
        function.__globals__["rate"] = rate
        np.testing.assert_allclose(kernel.map(LANES), rate * LANES + 1.0, rtol=1e-14)


class Held:
    rate = 2.0

    def field(self, x):
        return self.rate * x


class Slotted:
    __slots__ = ("rate",)


def holding(kind, **fields):
    one = kind()
    for name, value in fields.items():
        setattr(one, name, value)
    return one


def with_an_object():
    one = Held()
    return written("def f(x):\n    return one.rate * x", one=one), one


def with_a_method():
    one = Held()
    return one.field, one


def with_slots():
    one = holding(Slotted, rate=2.0)
    return written("def f(x):\n    return one.rate * x", one=one), one


def with_a_lock():
    one = holding(Held, rate=2.0, lock=threading.Lock())
    return written("def f(x):\n    return one.rate * x", one=one), one


def with_an_object_beside_a_lock():
    one = holding(Held, lock=threading.Lock())
    one.within = holding(Held, rate=2.0, lock=threading.Lock())
    return written("def f(x):\n    return one.within.rate * x", one=one), one.within


def after_a_lock():
    one = Held()
    around = {"a_lock": threading.Lock(), "one": one}
    return written("def f(x):\n    a_lock\n    return one.rate * x", **around), one


def with_slots_and_a_lock():
    class Both:
        __slots__ = ("lock", "rate")

    one = holding(Both, rate=2.0, lock=threading.Lock())
    return written("def f(x):\n    return one.rate * x", one=one), one


def with_a_class_that_names_itself():
    one = type("One", (), {"rate": 2.0, "lock": threading.Lock()})
    one.itself = one
    return written("def f(x):\n    return one.itself.rate * x", one=one), one


def of_python_s_own():
    one = types.SimpleNamespace(rate=2.0)
    return written("def f(x):\n    return one.rate * x", one=one), one


def with_a_class():
    one = type("One", (), {"rate": 2.0})
    return written("def f(x):\n    return one.rate * x", one=one), one


def in_a_dictionary():
    one = holding(Held, rate=2.0)
    return written("def f(x):\n    return all['a'][0].rate * x", all={"a": [one]}), one


def of_a_module():
    one = holding(lambda: types.ModuleType("rates"), rate=2.0)
    return written("def f(x):\n    return one.rate * x", one=one), one


def of_a_module_s_module():
    one = holding(lambda: types.ModuleType("rates"), rate=2.0)
    outer = holding(lambda: types.ModuleType("outer"), inner=one)
    return written("def f(x):\n    return outer.inner.rate * x", outer=outer), one


def of_a_module_imported_inside():
    one = holding(lambda: types.ModuleType("rates_inside"), rate=2.0)
    sys.modules["rates_inside"] = one
    return written("def f(x):\n    import rates_inside as r\n    return r.rate * x"), one


def by_a_global_s_name():
    function = written("def f(x):\n    return globals()['rate'] * x", rate=2.0)
    return function, function.__globals__


@pytest.mark.parametrize(
    "made",
    [
        with_an_object,
        with_a_method,
        with_slots,
        with_a_lock,
        with_an_object_beside_a_lock,
        after_a_lock,
        with_slots_and_a_lock,
        with_a_class_that_names_itself,
        of_python_s_own,
        with_a_class,
        in_a_dictionary,
        of_a_module,
        of_a_module_s_module,
        of_a_module_imported_inside,
        by_a_global_s_name,
    ],
)
def test_functions_changed_in_place_are_traced_anew(made):
    """The same kernel, as a system's is that lives while its field's numbers change."""
    function, one = made()
    kernel = cached_kernel(lambda x: function(x), function)
    np.testing.assert_array_equal(kernel.map(LANES), 2.0 * LANES)
    if isinstance(one, dict):
        one["rate"] = 5.0
    else:
        one.rate = 5.0
    np.testing.assert_array_equal(kernel.map(LANES), 5.0 * LANES)


LAW = """
class Rubber(Module):
    stiffness: Array = field(converter=jnp.asarray, default=3.0)
    grows = True

    @property
    def twice(self):
        return 2 * self.stiffness

    @staticmethod
    def bent(x):
        return x**3

    def force(self, x):
        return self.twice * self.bent(x)

class Cork(Rubber):
    def force(self, x):
        return 0.5 * super().force(x)

f = Cork()
"""


def law(text=LAW):
    around = {"Module": eqx.Module, "Array": jax.Array, "field": eqx.field}
    return written(text, **around)


@pytest.mark.parametrize("method", [False, True])
def test_a_user_class_is_identified_by_its_content(stage, turns, method):
    for text in (LAW, LAW.replace("    def", "    # why\n    def")):
        cached_kernel(stage, law(text).force if method else law(text)).map(LANES)
    assert len(turns) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.5 *", "0.25 *"),
        ("x**3", "x**2"),
        ("2 * self", "4 * self"),
        ("default=3.0", "default=5.0"),
        ("converter=jnp.asarray", "converter=jnp.abs"),
        ("grows = True", "grows = False"),
        ("Cork(Rubber)", "Cork(Module)"),
    ],
    ids=["method", "below", "property", "default", "converter", "attribute", "base"],
)
def test_different_user_classes_have_different_fingerprints(stage, turns, old, new):
    one, other = (type(law(text)) for text in (LAW, LAW.replace(old, new)))
    assert one.__qualname__ == other.__qualname__
    for each in (one, other):
        cached_kernel(stage, each).map(LANES)
    assert len(turns) == 2


def test_a_pickled_kernel_leaves_out_its_local_state(stage):
    cloudpickle = pytest.importorskip("cloudpickle")  # as Dask sends functions
    field = written("def f(x):\n    return wide * x", wide=threading.Lock())
    kernel = cached_kernel(pull, field)
    np.testing.assert_array_equal(kernel.map(LANES), -3.0 * LANES)
    field.__globals__.clear()
    sent = cloudpickle.loads(cloudpickle.dumps(kernel))
    np.testing.assert_array_equal(sent.map(LANES), -3.0 * LANES)


@pytest.mark.parametrize("called", [time.monotonic, pytest.approx])
def test_kernels_that_call_functions_without_a_digest_are_not_cached(stage, turns, called):
    function = written("def f(x):\n    return called()", called=called)
    for _ in range(2):
        cached_kernel(stage, function).map(LANES)
    assert len(turns) == 2


def test_nothing_is_kept_where_a_source_changed_since_the_process_began(
    stage, turns, monkeypatch
):
    digest = kernel_cache.code_digest.__wrapped__
    monkeypatch.setitem(digest.__globals__, "BEGUN", 0.0)
    monkeypatch.setattr(kernel_cache, "code_digest", digest)
    for _ in range(2):
        cached_kernel(stage).map(LANES)
    assert len(turns) == 2


DIGEST = """
import importlib.metadata, pathlib
read = []
plain = pathlib.Path.read_bytes
pathlib.Path.read_bytes = lambda path: read.append(path) or plain(path)
from jaxvib.kernels.cache.code_digest import code_digest
digest = code_digest()
print(digest.hex(), sum(path.suffix == ".py" for path in read))
"""


def test_sources_are_read_again_only_where_they_may_have_changed(tmp_path, monkeypatch):
    package = tmp_path / "place" / "jaxvib"
    shutil.copytree(pathlib.Path(jaxvib.__file__).parent, package)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    time.sleep(2.5)  # files changed a moment ago are not trusted

    def digest():
        run = subprocess.run(
            [sys.executable, "-c", DIGEST],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        value, read = run.stdout.split()
        return value, int(read)

    first, read = digest()
    assert read > 400
    assert digest() == (first, 0)
    source = package / "linalg" / "small.py"
    text, times = source.read_bytes(), source.stat()
    changed = text.replace(b"MOST_ROWS", b"MOST_R0WS")  # of the same length
    assert changed != text
    source.write_bytes(changed)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    other, read = digest()
    assert other != first
    assert read > 400
    source.write_bytes(text)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest()[0] == first


def test_other_precision_is_another_program(stage, turns):
    lanes = LANES.astype(np.float32)
    for _ in range(2):
        cached_kernel(stage).map(lanes)
        with jax.enable_x64(False):
            cached_kernel(stage).map(lanes)
    assert len(turns) == 2


class Own:
    def __call__(self, *_):
        return 0.0


@pytest.mark.parametrize(
    "replacement",
    [pull, Own(), Own, functools.partial(pull, 1.0), functools.cache(pull),
     staticmethod(pull), unittest.mock.MagicMock()],
    ids=lambda one: type(one).__name__,
)  # fmt: skip
@pytest.mark.parametrize(
    ("owner", "name"),
    [(load_module, "as_load"), (HarmonicLoad, "force"), (kernel_cache, "fingerprint")],
    ids=["a function", "a method", "of kernels"],
)
def test_nothing_is_cached_while_the_library_is_patched(
    stage, turns, monkeypatch, owner, name, replacement
):
    if owner is kernel_cache:  # is called itself
        plain, replacement = kernel_cache.fingerprint, lambda parts: plain(parts)
    cached_kernel(stage).map(LANES)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, replacement)
        for _ in range(2):
            cached_kernel(stage).map(LANES)
    assert len(turns) == 3
    cached_kernel(stage).map(LANES)
    assert len(turns) == 3


def test_facts_are_computed_once_for_each_argument(turns):
    def fact(number, word):
        turns.append(number)
        return {"twice": 2 * number, "word": word}

    for number in (1, 2, 1, 2):
        assert cached_fact(fact, number, "a") == {"twice": 2 * number, "word": "a"}
    assert turns == [1, 2]


def test_code_of_another_function_is_not_run(folder):
    """Copied to its name, as by a sync of folders that went wrong, or on purpose."""

    def entry(factor):
        before = set(folder.glob("*"))
        result = cached_kernel(lambda x: factor * x, factor).map(LANES)
        np.testing.assert_array_equal(result, factor * LANES)
        return sorted(set(folder.glob("*")) - before, key=lambda path: path.suffix)

    for mine, other in zip(entry(2.0), entry(3.0), strict=True):
        assert mine.suffix == other.suffix
        shutil.copy(other, mine)
    result = cached_kernel(lambda x: 2.0 * x, 2.0).map(LANES)
    np.testing.assert_array_equal(result, 2.0 * LANES)


class Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, place):
        self._place = place

    def __reduce__(self):
        return os.mkdir, (str(self._place),)


def header(results, **more):
    told = {
        "results": results,
        "reason": "",
        "width": 2,
        "inputs": [[[], "float64"]],
        "workspace": 0,
        "key": "0",
    }
    return json.dumps(told | more).encode() + b"\n" + zlib.compress(b"text")


ARRAY = ["array", [], "float64", False]
WRONG = {
    "nothing": b"",
    "no text": b"\xff\n",
    "no JSON": b"[\n",
    "nested too deeply": b"[" * 100_000,
    "no fields": b"{}\n",
    "a list": b"[]\n",
    "no results": header(None),
    "no such node": header(["eval", "1"]),
    "no such dtype": header(["array", [], "objekt", False]),
    "a shape of texts": header(["array", ["2"], "float64", False]),
    "a stranger's class": header(["class", "subprocess", "Popen", ["constant", "true"]]),
    "no class of data": header(["class", "jaxvib.kernels.calls.kernel", "Kernel", ARRAY]),
    "a function": header(["class", "jaxvib.foundation.cache", "clear"]),
    "no such class": header(["class", "jaxvib.kernels.lower.lowering", "Tracd"]),
    "a field too few": header(["class", "jaxvib.kernels.lower.lowering", "Program", ARRAY]),
    "a width of text": header(ARRAY, width="2"),
    "inputs of text": header(ARRAY, inputs="float64"),
    "a reason that is none": header(ARRAY, reason=None),
    "a key that is none": header(ARRAY, key=None),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_entry_of_the_user_s_that_is_no_program_is_traced_anew(
    stage, turns, folder, wrong
):
    cached_kernel(stage).map(LANES)
    (kept,) = folder.glob("*.text")
    write_entry(f"kernels/{kept.name}", WRONG[wrong])
    assert deserialize(WRONG[wrong]) is None
    again = cached_kernel(stage).map(LANES)
    assert len(turns) == 2
    np.testing.assert_allclose(again["wave"], np.sin(LANES), rtol=1e-14)


def test_nothing_is_unpickled(stage, turns, folder, tmp_path):
    cached_kernel(stage).map(LANES)
    (kept,) = folder.glob("*.text")
    pickled = pickle.dumps(Runs(tmp_path / "ran"))
    for planted in (pickled, zlib.compress(pickled)):
        write_entry(f"kernels/{kept.name}", planted)
        cached_kernel(stage).map(LANES)
        kept.write_bytes(hashlib.sha256(planted).digest() + planted)
        cached_kernel(stage).map(LANES)
    assert len(turns) == 5
    assert not (tmp_path / "ran").exists()


class Labelled(eqx.Module):
    values: jax.Array
    name: str = eqx.field(static=True, default="w")


def test_results_of_every_structure_are_the_same_when_they_are_kept(turns):
    def stage(x):
        turns.append("traced")
        load = HarmonicLoad(x, 2.0, 0.0)
        return [Signature(x, 2.0), (x > 0, None), {"b": jnp.stack([x, x]), "a": load}]

    first, again = (cached_kernel(stage).map(LANES) for _ in range(2))
    assert len(turns) == 1
    assert jax.tree.structure(first) == jax.tree.structure(again)
    jax.tree.map(np.testing.assert_array_equal, first, again)


def test_results_of_a_class_of_the_user_s_are_not_kept(turns):
    def stage(x):
        turns.append("traced")
        return Labelled(x)

    for _ in range(2):
        assert cached_kernel(stage).map(LANES).name == "w"
    assert len(turns) == 2


def test_a_damaged_file_is_traced_anew(stage, turns, folder):
    first = cached_kernel(stage).map(LANES)
    (kept,) = folder.glob("*.text")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-5] + b"wrong")
    again = cached_kernel(stage).map(LANES)
    assert len(turns) == 2
    np.testing.assert_array_equal(again["wave"], first["wave"])
    assert kept.read_bytes() == whole


def test_a_function_that_cannot_be_lowered_is_traced_once(turns):
    def stage(matrix):
        turns.append("traced")
        return jnp.linalg.eigvalsh(matrix)

    for _ in range(2):
        why = cached_kernel(stage).unsupported_reason(np.eye(3))
        assert why
    assert len(turns) == 1
