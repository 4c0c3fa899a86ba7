"""Checked against: zarr itself, which writes and reads the same bytes."""

import json
import warnings

import numpy as np
import pytest
import zarr
from numcodecs import zstd
from zarr.codecs import ZstdCodec

from jaxvib.studies.store.arrays import Layout, group_metadata, read_layout

TYPES = ["bool", "i1", "i4", "i8", "u2", "f4", "f8", "c8", "c16"]


def layout_of(dtype, shape=(6, 2), chunks=(4, 2), axes=("sample", "state")):
    words = {"units": "m", "description": "é"}
    return Layout(shape, chunks, np.dtype(dtype), axes, words)


def written_by_zarr(folder, layout, values):
    with zarr.config.set({"array.write_empty_chunks": True}):
        array = zarr.create_array(
            folder, shape=layout.shape, chunks=layout.chunks, dtype=layout.dtype,
            compressors=ZstdCodec(level=3, checksum=True), dimension_names=layout.axes,
            attributes=dict(layout.attributes), zarr_format=3,
        )  # fmt: skip
        array[...] = values


@pytest.mark.parametrize("dtype", TYPES)
def test_metadata_and_chunks_are_those_of_zarr(tmp_path, dtype):
    layout = layout_of(dtype)
    values = (np.random.default_rng(0).normal(size=(6, 2)) * 50).astype(dtype)
    written_by_zarr(tmp_path / "a", layout, values)
    assert (tmp_path / "a" / "zarr.json").read_bytes() == layout.metadata()
    for chunk, rows in ((0, slice(0, 4)), (1, slice(4, 6))):
        content = (tmp_path / "a" / "c" / str(chunk) / "0").read_bytes()
        assert content == layout.packed(values[rows])
        found = layout.unpacked(content, "a")
        assert found.dtype == layout.dtype
        np.testing.assert_array_equal(found[: len(values[rows])], values[rows])


def test_a_single_number_is_as_in_zarr(tmp_path):
    layout = layout_of("f8", (), (), ())
    written_by_zarr(tmp_path / "a", layout, 3.0)
    assert (tmp_path / "a" / "zarr.json").read_bytes() == layout.metadata()
    assert (tmp_path / "a" / "c").read_bytes() == layout.packed(np.array(3.0))


def test_groups_are_those_of_zarr(tmp_path):
    layouts = {"a": layout_of("f8"), "inside/b": layout_of("i4")}
    for name, layout in layouts.items():
        written_by_zarr(tmp_path / name, layout, np.ones((6, 2), layout.dtype))
    for group in ("inside", ""):
        zarr.create_group(tmp_path / group, attributes={"title": "x"})
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Consolidated metadata")
            zarr.consolidate_metadata(tmp_path / group)
    inner = {"b": layouts["inside/b"].document()}
    expected = group_metadata({"title": "x"}, inner)
    assert (tmp_path / "inside" / "zarr.json").read_bytes() == expected
    members = {name: layout.document() for name, layout in layouts.items()}
    members["inside"] = json.loads(expected)
    found = json.loads((tmp_path / "zarr.json").read_text())
    ours = json.loads(group_metadata({"title": "x"}, members))
    found_inside = found["consolidated_metadata"]["metadata"]
    ours_inside = ours["consolidated_metadata"]["metadata"]
    assert found_inside.keys() == ours_inside.keys()
    for name in layouts:
        assert found_inside[name] == ours_inside[name]


def changed(**changes):
    return json.dumps({**layout_of("f8").document(), **changes}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"shape": [6, 2], "shape": [6, 2]}',
        changed(zarr_format=2), changed(data_type="object"), changed(data_type="string"),
        changed(data_type={"name": "numpy.datetime64"}), changed(shape=[-6, 2]),
        changed(shape=[6.0, 2]), changed(shape="62"),
        changed(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 2]}}),
        changed(codecs=[{"name": "bytes"}, {"name": "numcodecs.pickle"}]),
        changed(codecs=[{"name": "vlen-utf8"}]), changed(attributes={"units": 1}),
        changed(dimension_names=["../x", 1]), changed(storage_transformers=[{"name": "x"}]),
        changed(filters=[{"id": "pickle"}]), changed(node_type="group"),
        changed(fill_value=1.0),
    ],
)  # fmt: skip
def test_metadata_that_say_anything_else_are_not_read(content):
    with pytest.raises(
        OSError, match=r"^zarr.json (is damaged|does not describe an array)"
    ):
        read_layout(content, "zarr.json")


def test_a_chunk_is_unpacked_into_the_bytes_it_must_have_and_no_more():
    layout = layout_of("f8")
    for other in (0, 63, 65, 1 << 30):
        content = bytes(zstd.compress(bytes(other), 3, True))
        with pytest.raises(OSError, match="a is damaged"):
            layout.unpacked(content, "a")


def test_a_chunk_without_a_checksum_of_its_own_is_not_read():
    content = bytes(zstd.compress(np.ones(8).tobytes(), 3, False))
    with pytest.raises(OSError, match="a is damaged"):
        layout_of("f8").unpacked(content, "a")


def test_each_flipped_bit_and_each_shorter_chunk_is_noticed():
    layout = layout_of("f8")
    content = layout.packed(np.random.default_rng(0).normal(size=(4, 2)))
    whole = layout.unpacked(content, "a")
    for bit in range(8 * len(content)):
        bad = bytearray(content)
        bad[bit // 8] ^= 1 << bit % 8
        try:
            found = layout.unpacked(bytes(bad), "a")
        except OSError:
            continue
        # The one bit that zstd leaves unused changes nothing.
        np.testing.assert_array_equal(found, whole)
    for length in range(len(content)):
        with pytest.raises(OSError, match="a is damaged"):
            layout.unpacked(content[:length], "a")


def test_values_that_are_no_numbers_are_not_stored():
    with pytest.raises(ValueError, match="cannot be stored; allowed: bool, int8"):
        layout_of("O")
