"""The limits of SGF data, which is of untrusted origin, and the error of what cannot be read."""

from __future__ import annotations

from typing import Final

from miai.errors import InvalidStateError

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_NODES: Final = 200_000
MAX_VALUES: Final = 500_000
MAX_DEPTH: Final = 1_000
"""Maximum nesting of variations."""
MAX_VALUE_BYTES: Final = 256 * 1024
"""Maximum length of a property value."""


class SgfError(InvalidStateError):
    """An SGF file that is malformed, too large or unplayable.

    Attributes:
      source: the file's name.
      place: the line or node in it; empty for the whole file.
    """

    def __init__(self, cause: str, *, source: str, place: str = "") -> None:
        super().__init__(": ".join(part for part in (source, place, cause) if part))
        self.source = source
        self.place = place


def shown(raw: bytes) -> str:
    """Return the beginning of a property's bytes for an error message."""
    return raw[:40].decode("ascii", "replace")
