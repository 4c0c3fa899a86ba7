"""Write `docs/trust.md`, the page on accuracy and validation, from the result files.

    python -m experiments.trust

`experiments/trust.md` is the template. `{{FILE > KEY > ...}}`, with an optional format
after ` :: `, is replaced by the value in a result file of this folder: `len` counts,
`max KEY` is the largest one of a list, `KEY=VALUE` selects entries. `{{NAME}}` is
replaced by the result of the function of that name. jaxvib is not run; values that only
tests check are in the text, with the tolerance of the test.
"""

import json
import re
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
BY_EVENTS = "from event to event"
TEMPLATE, PAGE = HERE / "trust.md", HERE.parent / "docs" / "trust.md"
_CLOSES = "frequency where the linear response closes the gap"
_PLACE = re.compile(r"\{\{(.+?)\}\}")


def stored(file: str):
    """Return a result file."""
    return json.loads((HERE / file).read_text(encoding="utf-8"))


def entry(value, key: str):
    """Return what a result holds under a key, as `{{...}}` names it."""
    if key == "len":
        return len(value)
    if isinstance(value, dict):
        return value[key]
    if key.startswith("max "):
        return max(one[key.removeprefix("max ")] for one in value)
    name, equal, wanted = key.partition("=")
    if equal:
        return [one for one in value if str(one[name]) == wanted]
    return value[int(key)]


def small(value: float) -> str:
    """Return a difference to two digits."""
    return re.sub(r"e([+-])0", r"e\1", f"{value:.1e}") if value else "0"


def kind(row: dict) -> str:
    """Return the words for a bifurcation's kind."""
    return row["kind"].replace("neimark_sacker", "Neimark-Sacker").replace("_", " ")


def table(rows) -> str:
    """Return the lines of a table, each row a sequence of cells."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def bifurcations() -> str:
    """Return rows of bifurcations beside reference values."""
    return table(
        (
            row["system"],
            f"{kind(row)}, {row['parameter'].rpartition('.')[2]}",
            f"{row['published']:.13g}",
            row["source"],
            f"{row['ours']:.13g}",
            small(row["difference"]),
        )
        for row in stored("bifurcations/results.json")["rows"]
    )


def two_bodies() -> str:
    """Return rows of the two bodies' bifurcations, each with what is left of its test."""
    rows = []
    for row in stored("bifurcations/two_body.json")["bifurcations"]:
        ours, exact = f"{row['frequency']:.13g}", row.get(_CLOSES)
        if exact:
            cells = f"{exact:.13g}", "linear response", ours, small(row["ours - that"])
        else:
            off = next(value for key, value in row.items() if key.endswith("there"))
            cells = "–", "`tests/independent.py`", ours, f"multiplier {small(off)}"
        seen = "yes" if row["verified"] else "**no**"
        rows.append((kind(row), *cells, seen))
    return table(rows)


def unlisted() -> str:
    """Return what branches met that has no reference value."""
    rows = stored("bifurcations/results.json")["rows"]
    met = [f"{row['system']}: {one}" for row in rows for one in row.get("others found", [])]
    return ("; ".join(met) or "nothing").replace("_", " ")


def error_bars() -> str:
    """Return how many orbits have their true errors within their error bars."""
    return within_bars(stored("benchmarks/orbit_accuracy.json")["orbits"])


def event_error_bars() -> str:
    """Return the same of the orbits from event to event."""
    return within_bars(stored("benchmarks/orbit_accuracy.json")[BY_EVENTS]["orbits"])


def within_bars(each) -> str:
    """Return how many states and multipliers have errors below their error bars."""
    counts = [
        sum(one[name] <= one[f"error bar of the {name}"] for one in each)
        for name in ("state", "multipliers")
    ]
    return " and ".join(f"{count} of {len(each)}" for count in counts)


def random_error_bars() -> str:
    """Return rows of random orbits held against 18 digits."""
    rows = []
    for engine, row in stored("error_bars.json")["engines"].items():
        for name in ("state", "multipliers"):
            one = row[name]
            rows.append((
                engine, str(row["orbits"]), name, str(one["inside"]),
                f"{one['largest error in bars']:.2f}", f"{one['median bar / error']:.0f}",
                str(row["undecided"]), str(row["wrong verdicts"]),
            ))  # fmt: skip
    return table(rows)


def printed_beam() -> str:
    """Return rows of the beam paper's eigenvalues, printed and compared with."""
    found = stored("beam_with_bodies/results.json")
    values = found["three bodies of 0.1 kg, |lambda| < 5000 1/s"]["values"]
    rows = []
    for source, key in {
        "Mizhidon": "printed",
        "comparison in Mizhidon": "printed, what the paper compares with",
    }.items():
        for printed, near in zip(map(complex, found[key]), values[3:5], strict=True):
            ours = complex(near["jaxvib"])
            shown = [
                f"{z.real:.{n}f} + {z.imag:.{n}f}i" for z, n in ((printed, 3), (ours, 10))
            ]
            rows.append((
                "paper's cantilever, three bodies", "eigenvalue, 1/s", shown[0], source,
                shown[1], small(abs(ours - printed)),
                "`python -m experiments.beam_with_bodies.run`",
            ))  # fmt: skip
    return table(rows)


def chains() -> str:
    """Return rows of the energy's split in 4096 chains beside the infinite chain."""
    rows = []
    for row in stored("beam_chain/results.json")["by number of chains"]["4096"]:
        for share in ("translational", "rotational"):
            one = row[share]
            off = one["share"] - one["infinite chain"]
            rows.append((
                f"γ = {row['gamma']:g}, t = {row['t']:g}", share,
                f"{one['infinite chain']:.6f}", f"{one['share']:.6f}", small(off),
                small(one["its error bar"]),
                f"{one['distance over all times, rms in error bars']:.2f}, "
                f"{one['largest distance in error bars']:.1f}",
            ))  # fmt: skip
    return table(rows)


def campaign() -> str:
    """Return rows of random systems with contacts, by kind, and of swings that graze."""
    rows = []
    for row in stored("benchmarks/event_campaign-cpu-2.json")["rows"]:
        if "reasons" not in row:  # the swings
            wrong = [f"{key} {row[key]}" for key in row if key.endswith(": misjudged")]
            cells = "–", "–", "closed form", "–", ", ".join(wrong)
            rows.append((row["kind"], str(row["systems"]), *cells))
            continue
        ends = ", ".join(f"{count} {code}" for code, count in row["reasons"].items())
        rows.append((
            row["kind"], str(row["systems"]), ends, small(row["energy defect, largest"]),
            f"{row['compared with']} ({row['compared lanes']})",
            f"{small(row['difference, 90 %'])}, {small(row['difference, largest'])}",
            str(row["lanes with another number of contacts"]),
        ))  # fmt: skip
    return table(rows)


def apart() -> str:
    """Return how many motions that close no gap are called what they are."""
    row = stored("regimes.json")["never touching"]
    return f"{row['of period 1, without contact']} of {row['samples']}"


def regime_classes() -> str:
    """Return rows of how classes agree with a ten times longer integration."""
    row = stored("regimes.json")["touching"]
    names = (
        "agree", "agree on our attractor, transients lead to another", "disagree",
        "undecided by jaxvib", "undecided by the longer integration alone",
    )  # fmt: skip
    rows = [(name, row[name]) for name in names]
    lasting = sum(ours == "chaotic" for _, ours, *_ in row["which disagree"])
    rows.insert(3, ("of those, chaotic during the whole integration", lasting))
    return table((name, f"{count} of {row['samples']}") for name, count in rows)


def regime_map() -> str:
    """Return rows of the main study's classes, before there was evidence and now."""
    row = stored("regimes.json")["map"]
    before, now = row["classes before"], row["classes"]
    names = [name for name in (now | before) if not name.startswith("period ")]
    counts = ((str(each.get(name, 0)) for each in (before, now)) for name in names)
    return table((name, *pair) for name, pair in zip(names, counts, strict=True))


def faults() -> str:
    """Return rows of what went wrong on purpose, and how it ended."""
    rows = []
    refused = ("refused", "refused with one line")
    taken = ("taken", "read as what it says")
    for part, row in stored("faults.json")["parts"].items():
        ends = dict(row["outcomes"])
        columns = [
            sum(ends.pop(end, 0) for end in named)
            for named in (("same bytes",), refused, taken)
        ]
        how = row.get("skipped") or row["how"]
        others = ", ".join(f"{count} {end}" for end, count in ends.items()) or "0"
        rows.append((part, how, str(row["cases"]), *map(str, columns), others))
    return table(rows)


def units() -> str:
    """Return rows of verbs, each with how far its results differ among units."""
    each = stored("units.json")["largest differences, per size"]
    return table(
        (verb, name, small(difference))
        for verb, results in each.items()
        for name, difference in results.items()
    )


_NAMED = {
    function.__name__: function
    for function in (
        bifurcations, two_bodies, unlisted, error_bars, event_error_bars, printed_beam,
        chains, campaign, apart, regime_classes, regime_map, faults, random_error_bars,
        units,
    )
}  # fmt: skip


def filled(place: re.Match) -> str:
    """Return what belongs into one place of the page."""
    path, _, form = place[1].partition(" :: ")
    file, *keys = path.split(" > ")
    if file in _NAMED:
        return _NAMED[file]()
    value = stored(file)
    for key in keys:
        value = entry(value, key)
    if form:
        return format(value, form)
    return small(value) if isinstance(value, float) else str(value)


def wrapped(text: str) -> str:
    """Return a page with its paragraphs and items filled anew, tables as they are."""
    text = re.sub("`.+?`", lambda code: code[0].replace(" ", "\0"), text)
    lines = re.sub(r"(?<!\n)\n(?!- |\||\n) *(?=\S)", " ", text).split("\n")
    for place, line in enumerate(lines):
        if not line.startswith("|"):
            indent = "  " if line.startswith("- ") else ""
            lines[place] = textwrap.fill(
                line, 92, subsequent_indent=indent, break_long_words=False,
                break_on_hyphens=False,
            )  # fmt: skip
    return "\n".join(lines).replace("\0", " ")


def page() -> str:
    """Return the page's text."""
    return wrapped(_PLACE.sub(filled, TEMPLATE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
