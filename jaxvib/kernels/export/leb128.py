"""Numbers and names of WebAssembly's binary format."""

WORD_BYTES = 5  # of a padded number of 32 bits


class Reader:
    """Reads bytes from the first one on."""

    def __init__(self, content: bytes):
        self._content, self._place = content, 0

    def more(self) -> bool:
        """Return whether there are more bytes."""
        return self._place < len(self._content)

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        self._place += count
        return self._content[self._place - count : self._place]

    def rest(self) -> bytes:
        """Return all remaining bytes."""
        return self.take(len(self._content) - self._place)

    def byte(self) -> int:
        """Return the next byte."""
        return self.take(1)[0]

    def unsigned(self) -> int:
        """Return an unsigned number in LEB128."""
        return self._number()[0]

    def signed(self) -> int:
        """Return a signed number in LEB128."""
        number, bits = self._number()
        return number - (1 << bits) if number >> (bits - 1) else number

    def name(self) -> str:
        """Return a name."""
        return self.take(self.unsigned()).decode()

    def _number(self) -> tuple[int, int]:
        number, bits, more = 0, 0, True
        while more:
            byte = self.byte()
            number |= (byte & 127) << bits
            bits, more = bits + 7, byte >= 128
        return number, bits


def unsigned(number: int) -> bytes:
    """Return an unsigned number in LEB128."""
    written = bytearray()
    while number >= 128:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def signed(number: int) -> bytes:
    """Return a signed number in LEB128."""
    written = bytearray()
    while not -64 <= number < 64:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number & 127])


def padded_unsigned(number: int) -> bytes:
    """Return a number of 32 bits in LEB128 of 5 bytes."""
    parts = [number >> (7 * n) & 127 for n in range(WORD_BYTES)]
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])


# The sign's bits fill the last byte, to which Python's shift extends them.
padded_signed = padded_unsigned


def named(name: str) -> bytes:
    """Return a name: its length and its bytes."""
    return unsigned(len(name.encode())) + name.encode()
