"""Colour-blind safe colours of all pictures: classes, continuous scales and lines.

The class colours have pairwise distances of at least 9 (OKLab, times 100; 2 is just
visible) for normal vision and for simulated protan, deutan and tritan deficiency.
"""

# The hue encodes the period; lightness decreases with the contacts per orbit.
_PERIODIC = {
    1: ("#bed5ea", "#80b8ff", "#458ff6", "#186acc", "#13324d"),  # 0, 1, 2, 3, more
    2: ("#faba70", "#f28932", "#94650f", "#5c2605"),  # up to 1, 2, 3, more
    3: ("#9afdca", "#345c47"),  # up to 3, more
    4: ("#9f84b2", "#5c1890"),  # up to 4, more
}
LONGER = "#bd7668"
UNRESOLVED = "#180020"  # a period longer than any tested
_FIRST_SHADE = {1: 0, 2: 1, 3: 3, 4: 4}

QUASI_PERIODIC = "#f4e838"
CHAOTIC = "#000000"
UNDECIDED = "#aeaeae"
FAILED = "#c71889"
SAME = "#d8dee4"
OTHER = "#7a4fb0"
NO_CONTACT = "#e9edf2"
STABLE = "#1a8f7a"
UNSTABLE = "#d55e00"

_WITHOUT_PERIOD = {
    "EQUILIBRIUM": NO_CONTACT,
    "QUASI_PERIODIC": QUASI_PERIODIC,
    "CHAOTIC": CHAOTIC,
    "LONGER_PERIOD": UNRESOLVED,
}

# Periods and motions without one are also told by hatches; contacts by lightness.
_PERIOD_HATCHES = {1: "", 2: "-", 3: "|"}  # longer: "+"
HATCHES = {
    "EQUILIBRIUM": "/",
    "QUASI_PERIODIC": "\\",
    "CHAOTIC": "/",
    "LONGER_PERIOD": "\\",
}

# Line colours for light and dark pages, in order of use.
LINES = {
    "light": ("#1a6fc4", "#c65a00", "#00795c", "#8a3fa8", "#7a5c00", "#b0305c", "#111417",
              "#0091ad"),
    "dark": ("#6db3ff", "#ff9d4d", "#3fc9a0", "#cf95ec", "#d9b84a", "#ff86ac", "#f2f4f6",
             "#8d93ff"),
}  # fmt: skip

# Continuous scales with eleven stops: matplotlib's viridis without its yellow (the
# colour of quasi-periodic motions), cividis, and reversed RdBu.
SCALES = {
    "sea": (
        "#440154", "#481d6f", "#453781", "#3c4f8a", "#32648e", "#2a788e",
        "#228b8d", "#1f9f88", "#2cb17e", "#4ec36b", "#7ad151",
    ),
    "cividis": (
        "#00224e", "#083370", "#35456c", "#4f576c", "#666970", "#7d7c78",
        "#948e77", "#aea371", "#c8b866", "#e5cf52", "#fee838",
    ),
    "balance": (
        "#053061", "#2065ab", "#4393c3", "#90c4dd", "#d1e5f0", "#f7f6f6",
        "#fddbc7", "#f3a481", "#d6604d", "#b1182b", "#67001f",
    ),
}  # fmt: skip


def regime_class(periods: int, contacts: int) -> tuple[str, str]:
    """Return the colour of a regime and the name of the class of this colour."""
    if periods not in _PERIODIC:
        return LONGER, f"period {max(_PERIODIC) + 1} or more"
    shades, first = _PERIODIC[periods], _FIRST_SHADE[periods]
    shade = min(max(contacts - first, 0), len(shades) - 1)
    most = first + shade
    if shade == len(shades) - 1:
        return shades[shade], f"period {periods} with {most} or more contacts"
    return shades[shade], f"period {periods} with up to {most} contacts"


def period_hatch(periods: int) -> str:
    """Return the hatch of period-n motions with any number of contacts."""
    return _PERIOD_HATCHES.get(periods, "+")


def period_colour(periods: int) -> str:
    """Return the colour of period-n motions with any number of contacts."""
    shades = _PERIODIC.get(periods, (LONGER,))
    return shades[len(shades) // 2]


def motion_colour(name: str) -> str:
    """Return the colour of a motion without a period, given its status name."""
    return _WITHOUT_PERIOD.get(name, UNDECIDED)
