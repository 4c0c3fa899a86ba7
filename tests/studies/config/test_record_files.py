"""Checked against: the numbers from which the files were written."""

import re

import numpy as np
import pytest

from jaxvib.studies.config.document import Document
from jaxvib.studies.config.records import with_records

TIMES = [0.0, 0.02, 0.04, 0.06]
VALUES = [0.0, 0.125, -0.25, 3.5]  # g


def read(folder, content, time=None, value="a", **keys):
    """Return times and values of a base acceleration that is read from a file."""
    folder.joinpath("record.txt").write_bytes(
        content if isinstance(content, bytes) else content.encode()
    )
    document = Document({}, str(folder / "study.toml"), {})
    law = {"data": "record.txt", "value": value, "unit": "g", **keys}
    if time is not None:
        law["time"] = time
    found = with_records(law, "law", document, "m/s^2", True)
    return found["times"], np.array(found["values"]) / 9.80665


def rows(separator, comma=False, pattern="{:.3f}"):
    lines = [separator.join(["t", "a"])]
    for pair in zip(TIMES, VALUES, strict=True):
        texts = [pattern.format(number) for number in pair]
        lines.append(
            separator.join(text.replace(".", ",") if comma else text for text in texts)
        )
    return "\n".join(lines) + "\n"


def quoted(text):
    return re.sub("[^;\n]+", r'"\g<0>"', text)


CSV = {
    "commas": rows(","),
    "semicolons": rows(";"),
    "tabs": rows("\t"),
    "decimal commas": rows(";", comma=True),
    "decimal commas beside tabs": rows("\t", comma=True),
    "decimal commas with exponents": rows(";", comma=True, pattern="{:.4E}"),
    "decimal commas in quotes": quoted(rows(";", comma=True)).replace(";", ","),
    "whole numbers among decimal commas": rows(";", comma=True).replace("0,000", "0"),
    "lone CR": rows(",").replace("\n", "\r"),
    "CR and LF": rows(";", comma=True).replace("\n", "\r\n"),
    "no last end of line": rows(",").rstrip(),
    "a byte order mark": "\ufeff" + rows(","),
    "quotes around all": quoted(rows(";")),
    "an inch in a remark": rows(",").replace("a\n", "a,for\n").replace("5\n", '5,5" arm\n'),
    "remarks and blank lines": rows(",").replace("0.020", '\n# remark, with "\n  \n0.020'),
    "blanks": rows(" ; ", comma=True),
}  # fmt: skip


@pytest.mark.parametrize("text", CSV.values(), ids=CSV)
def test_csv_files_of_all_forms_give_the_same_record(tmp_path, text):
    times, values = read(tmp_path, text)
    np.testing.assert_array_equal(times, TIMES)
    np.testing.assert_allclose(values, VALUES, rtol=1e-15)


def peer(head, numbers, width=5):
    lines = ["  ".join(numbers[i : i + width]) for i in range(0, len(numbers), width)]
    return "PEER NGA STRONG MOTION DATABASE RECORD\nSOMEWHERE, 1/1/2000\n" + "\n".join(
        [*head, *(f"  {line}" for line in lines)]
    )


SERIES = "ACCELERATION TIME SERIES IN UNITS OF G"
E5 = [f"{value:.7E}" for value in VALUES]
PEER = {
    "of NGA-West2": peer([SERIES, "NPTS=      4, DT=   .0200 SEC"], E5),
    "of NGA-West2 with decimals": peer([SERIES, "NPTS=   4, DT=   .0200000 SEC,"], E5, 8),
    "a history": peer(
        ["ACCELERATION TIME HISTORY IN UNITS OF G", "NPTS=4,DT=.02 SEC"], E5, 1
    ),
    "with filters": peer([f"{SERIES}. FILTER POINTS: HP=0.1 Hz", "NPTS= 4, DT= .02"], E5),
    "of 1999": peer([SERIES, "    4   0.0200    NPTS, DT"], E5),
    "with an exponent": peer([SERIES, "NPTS= 4, DT= 2.0E-02 SEC"], E5, 3),
    "in small letters": peer([SERIES.lower(), "npts=  4, dt= .02 sec"], E5),
    "with CR and LF": peer([SERIES, "NPTS= 4, DT= .02 SEC"], E5).replace("\n", "\r\n"),
    "with lone CR": peer([SERIES, "NPTS= 4, DT= .02 SEC"], E5).replace("\n", "\r"),
    "without a leading 0": peer(
        [SERIES, "NPTS= 4, DT= .02 SEC"], [text.replace("0.", ".") for text in E5]
    ),
}


@pytest.mark.parametrize("text", PEER.values(), ids=PEER)
def test_time_series_of_peer_are_read(tmp_path, text):
    times, values = read(tmp_path, text, value="acceleration")
    np.testing.assert_allclose(times, TIMES, rtol=1e-15)
    np.testing.assert_allclose(values, VALUES, rtol=1e-15)


def labview(separator="\t", comma=False, columns="One", remark=True, unit="g", **more):
    """Return a measurement file as the format's description shows it."""
    head = {
        "Writer_Version": "2", "Reader_Version": "2", "Separator": "Tab",
        "Decimal_Separator": "," if comma else ".", "Multi_Headings": "No",
        "X_Columns": columns, "Time_Pref": "Absolute", "Operator": "somebody",
        "Date": "2012/03/01", "Time": "13:38:19.1234567890123456789",
    }  # fmt: skip
    head["Separator"] = "Tab" if separator == "\t" else "Comma"
    segment = {
        "Channels": "2", "Samples": "4\t4", "Date": "2012/03/01\t2012/03/01",
        "Y_Unit_Label": f"{unit}\tm", "X_Dimension": "Time\tTime",
        "X0": "0.0000000000000000E+0\t0.0000000000000000E+0",
        "Delta_X": "0.020000\t0.020000", **more,
    }  # fmt: skip
    lines = ["LabVIEW Measurement\t", *(f"{key}\t{text}" for key, text in head.items())]
    lines += ["***End_of_Header***\t", "\t"]
    lines += [f"{key}\t{text}\t" for key, text in segment.items()]
    lines += ["***End_of_Header***\t\t", "X_Value\ta\tpath\tComment"]
    for k, (time, value) in enumerate(zip(TIMES, VALUES, strict=True)):
        cells = ["" if columns == "No" else f"{time:.6f}", f"{value:.6f}", "1.000000"]
        lines.append("\t".join([*cells, "begun"] if remark and k == 0 else cells))
    text = "\n".join(lines) + "\n"
    if comma:
        text = text.replace("0.0", "0,0").replace(".000000", ",000000")
        for value in VALUES:
            text = text.replace(f"{value:.6f}", f"{value:.6f}".replace(".", ","))
    return text.replace("\t", separator)


LABVIEW = {
    "one column of times": labview(),
    "commas between cells": labview(","),
    "decimal commas": labview(comma=True),
    "no column of times": labview(columns="No"),
    "no column of times and decimal commas": labview(columns="No", comma=True),
    "no remarks": labview(remark=False),
    "CR and LF": labview().replace("\n", "\r\n"),
    "another unit's words": labview(unit="Volts"),
    "no unit": labview(unit=""),
    "a special block": labview().replace(
        "Date", "***Start_Special***\nkey\tvalue\n***End_Special***\nDate", 1
    ),
}


@pytest.mark.parametrize("text", LABVIEW.values(), ids=LABVIEW)
def test_measurement_files_of_labview_are_read(tmp_path, text):
    times, values = read(tmp_path, text)
    np.testing.assert_allclose(times, TIMES, rtol=1e-15)
    np.testing.assert_allclose(values, VALUES, rtol=1e-15)


SEGMENTS = labview() + labview().partition("\n\t\n")[2]
BAD = {
    "a quote that is open": (rows(",").replace("0.125", '"0.125'), "line 3 is not CSV"),
    "an open quote in a remark": (
        rows(",").replace("a\n", "a,r\n").replace("125\n", '125,"x\n'), "line 3 is not CSV",
    ),
    "a quote after a quote": (rows(",").replace("0.125", '"0"25'), "line 3 is not CSV"),
    "a quote of a long file": (
        't,a\n0,"0\n' + "".join(f"{k},0\n" for k in range(20_000)), "line 2 is not CSV",
    ),
    "a long line": ("t,a\n0," + "1" * 140_000, "line 2 is not CSV .field larger"),
    "CR in a number": (rows(",").replace("0.125", "0.1\r25"), 'line 4: a = "" is not'),
    "CR in quotes": (rows(",").replace("0.125", '"0.1\r25"'), "line 3 is not CSV"),
    "CR in a heading": (rows(",").replace("a\n", '"a\r(g)"\n'), "line 1 is not CSV"),
    "commas and points": (
        rows(";", comma=True).replace("0,125", "0.125"), r"decimal commas .0,000. and poin",
    ),
    "thousands": (
        't;a\n0;1,250\n1;2,500\n', "1,250 may be a decimal or thousands; write decimal",
    ),
    "millions": ("t;a\n0,5;1,250,000\n1,5;2,500,000\n", 'a = "1,250,000" is not a number'),
    "thousands with decimals": ("t;a\n0;1.250,5\n1;2.500,0\n", "is not a number"),
    "too few of PEER": (
        peer([SERIES, "NPTS= 5, DT= .02 SEC"], E5), "line 4: NPTS = 5, but 4 values follow",
    ),
    "letters in PEER": (
        peer([SERIES, "NPTS= 4, DT= .02 SEC"], [*E5[:3], "x"]), "line 5: acceler.* = .x.",
    ),
    "a velocity of PEER": (
        peer(["VELOCITY TIME SERIES IN UNITS OF CM/SEC", "NPTS= 4, DT= .02"], E5),
        '"velocity .cm/s." names another unit than unit = "g"',
    ),
    "segments": (SEGMENTS, "LabVIEW measurement file of several segments"),
    "times of each channel": (labview(columns="Multi"), "save one segment with one X col"),
    "steps of each channel": (
        labview(columns="No", Delta_X="0.01\t0.02"), "LabVIEW measurement file",
    ),
    "a head of LabVIEW alone": ("LabVIEW Measurement\t\nSeparator\tTab\n", "LabVIEW meas"),
    "no rows of LabVIEW": (labview().partition("X_Value")[0], 'column "" not found'),
    "a unit of LabVIEW": (labview(unit="N"), r'"a .N." names another unit than unit = "g"'),
    "Excel": (b"PK\3\4" + bytes(100), "it is an Excel workbook; save its columns as CSV"),
    "TDMS": (b"TDSm" + bytes(100), "it is LabVIEW's TDMS; save"),
    "MATLAB": (b"MATLAB 5.0 MAT-file" + bytes(100), "it is a MATLAB file; save"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(100), "it is HDF5; save"),
    "UTF-16": (rows("\t").encode("utf-16"), "it is UTF-16 text; save"),
    "Latin-1": (rows(",").replace("a\n", "a,\u00b5\n").encode("latin-1"), "1: not UTF"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_other_files_are_refused_by_one_sentence(tmp_path, content, message):
    name = re.search("acceleration|velocity", str(content), re.I)
    value = name[0].lower() if name else "a"
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path, content, value=value)
    assert str(caught.value).count("\n") == 0
