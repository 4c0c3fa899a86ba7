"""Validation and escaping of untrusted text: names and messages."""

MOST_SHOWN = 200  # characters of one word in a message
_MOST_WRITTEN = 4000  # of a message; the longest list of known keys needs half
_MOST_OF_A_NAME = 100  # bytes; with our prefixes, below the 255 of a file name
_SEPARATORS = ("/", "\\")


def safe_text(text: object) -> str:
    """Return text for a message: printable, and with words of limited length."""
    words = printable(str(text)[: 10 * _MOST_WRITTEN]).split(" ")
    return truncate(" ".join(map(truncate, words)), _MOST_WRITTEN)


def printable(text: str) -> str:
    """Escape characters that a terminal would interpret.

    Non-printable characters (escape sequences, line ends, changes of writing direction,
    lone surrogates) become Python escapes.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def truncate(text: str, most: int = MOST_SHOWN) -> str:
    """Truncate text to `most` characters, ending with dots if it was longer."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def contacts_text(onsets: int, touching: bool) -> str:
    """Return contacts by their number of onsets; without one, those that never open."""
    if touching and not onsets:
        return "always in contact"
    return f"{onsets} contact{'' if onsets == 1 else 's'}"


def size_text(size: float) -> str:
    """Format a number of bytes."""
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.3g} {unit}"
    return f"{size / 1000:.3g} TB"


def duration_text(seconds: float) -> str:
    """Format a duration."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def check_name(name: str, most: int = _MOST_OF_A_NAME) -> None:
    """Raise `ValueError` unless a name is valid as a file name inside a folder."""
    fault = _fault(name, most)
    if fault:
        raise ValueError(
            f"the name {truncate(ascii(name), 30)} {fault}; allowed: 1 to {most} printable "
            "characters, no / or \\, not . or .."
        )


def _fault(name: str, most: int) -> str:
    if not name:
        return "is empty"
    if len(name.encode("utf-8", "replace")) > most:
        return f"has {len(name)} characters"
    if any(separator in name for separator in _SEPARATORS):
        return "leads into a folder"
    if not name.isprintable():
        return "has a control character"
    return "leads into a folder" if name in (".", "..") else ""
