"""Checked against: the order by hand, within the parts that pytest-xdist gives workers."""

from experiments.house.costs import ordered

# The first letter is the file, and capital for slow tests.
TESTS = ["A1", "a2", "A3", "b1", "B2", "c1", "C2", "C3"]


def names(workers, turn):
    files, slow = [name[0].lower() for name in TESTS], [name.isupper() for name in TESTS]
    return [TESTS[place] for place in ordered(files, slow, workers, turn)]


def test_each_worker_begins_with_its_fast_tests():
    assert names(1, 0) == ["a2", "b1", "c1", "A1", "A3", "B2", "C2", "C3"]
    assert names(2, 0) == ["a2", "b1", "A1", "A3", "c1", "B2", "C2", "C3"]


def test_every_file_is_the_first_of_the_slow_ones_now_and_then():
    found = [names(1, turn) for turn in range(5)]
    assert {one[3] for one in found} == {"A1", "B2", "C2"}
    assert all(sorted(one) == sorted(TESTS) for one in found)
