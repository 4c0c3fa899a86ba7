"""Checked against: what Python says of its own collector."""

import gc
import threading
import weakref

import pytest

from jaxvib.foundation.gc_pause import _PAUSES, gc_paused


def test_garbage_collection_is_paused_and_resumed():
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(RuntimeError), gc_paused():
        raise RuntimeError
    assert gc.isenabled()


def test_a_disabled_collector_stays_disabled():
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_several_threads_resumes_collection():
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with gc_paused():
            inside.set()
            leave.wait(60)

    with gc_paused():
        thread = threading.Thread(target=hold)
        thread.start()
        assert inside.wait(60)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.fixture
def nothing_frozen(monkeypatch):
    gc.unfreeze()  # what `conftest.py` has frozen
    monkeypatch.setattr(_PAUSES, "others_froze", False)
    yield
    gc.freeze()


class Node:
    """An object that refers to itself, so that only the collector frees it."""

    def __init__(self):
        self.me = self


def test_objects_made_during_a_pause_are_old_and_still_collected(nothing_frozen):
    with gc_paused():
        node = Node()
    assert any(each is node for each in gc.get_objects(generation=2))
    freed = weakref.ref(node)
    del node
    gc.collect()
    assert freed() is None


def test_objects_frozen_by_others_stay_frozen(nothing_frozen):
    node = Node()
    gc.freeze()
    with gc_paused():
        pass
    assert not any(each is node for each in gc.get_objects())


def test_frozen_objects_are_counted_once(nothing_frozen, monkeypatch):
    gc.freeze()
    counts, count = [], gc.get_freeze_count

    def counted():
        counts.append(count())
        return counts[-1]

    monkeypatch.setattr(gc, "get_freeze_count", counted)
    for _ in range(3):
        with gc_paused():
            pass
    assert len(counts) == 1
    assert counts[0] > 0
