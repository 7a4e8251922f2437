"""Checks of SGF bytes before they are parsed: limits, charset, brackets."""

from __future__ import annotations

import codecs
import math
import re
from typing import Final

from miai.errors import InvalidStateError

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
MAX_NODES: Final = 200_000
MAX_VALUES: Final = 500_000
MAX_DEPTH: Final = 1_000
"""Maximum nesting of variations."""
MAX_VALUE_BYTES: Final = 256 * 1024
"""Maximum length of a property value."""

CHARSETS: Final = frozenset(
    {
        "ascii",
        "utf-8",
        *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
        *(f"cp125{part}" for part in range(9)),
        "cp932",
        "cp936",
        "cp949",
        "cp950",
        "gbk",
        "gb2312",
        "gb18030",
        "big5",
        "big5hkscs",
        "shift_jis",
        "euc_jp",
        "euc_kr",
        "iso2022_jp",
        "koi8-r",
        "koi8-u",
    }
)
"""Charsets that CA may name, by the names of Python's codecs."""

_COUNTED: Final = {
    b"(": (MAX_NODES, "variations"),
    b")": (math.inf, ""),
    b";": (MAX_NODES, "nodes"),
    b"[": (MAX_VALUES, "property values"),
}
_STEPS: Final = {b"(": 1, b")": -1, b";": 0, b"[": 0}
# Possessive quantifiers: no text makes the search of a bracket's end backtrack.
_TOKEN = re.compile(rb"\[(?P<value>(?:[^\\\]]++|\\.)*+)(?P<end>\]?)|[();]", re.DOTALL)


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


def check(data: bytes, *, source: str) -> None:
    """Check SGF bytes against the limits of this module.

    Raises:
      SgfError: a limit is exceeded, a bracket is not closed, or there is a null byte.
    """
    if len(data) > MAX_FILE_BYTES:
        raise SgfError(f"larger than {MAX_FILE_BYTES} bytes; split the file", source=source)
    null = data.find(b"\0")
    if null >= 0:
        cause = "contains a null byte, so it is binary or UTF-16; save it as UTF-8"
        raise _error_at(null, cause, data, source)
    depth = 0
    counts = dict.fromkeys(_COUNTED, 0)
    for token in _TOKEN.finditer(data):
        head = token[0][:1]
        counts[head] += 1
        # Text before the first tree may hold a closing bracket.
        depth = max(depth + _STEPS[head], 0)
        limit, what = _COUNTED[head]
        cause = _value_error(token) if head == b"[" else ""
        if counts[head] > limit:
            cause = f"more than {limit} {what}; split the file"
        elif depth > MAX_DEPTH:
            cause = f"more than {MAX_DEPTH} variations inside each other; split the file"
        if cause:
            raise _error_at(token.start(), cause, data, source)
    if depth:
        cause = f"{depth} of its '(' are not closed; the file may be cut short"
        raise _error_at(len(data), cause, data, source)


def _value_error(token: re.Match[bytes]) -> str:
    if not token["end"]:
        return "a property value's '[' is not closed"
    if len(token["value"]) > MAX_VALUE_BYTES:
        return f"a property value longer than {MAX_VALUE_BYTES} bytes"
    return ""


def charset_of(data: bytes, named: bytes | None, *, source: str) -> str:
    """Return the charset of SGF bytes, by the name of Python's codec.

    Args:
      named: the root's CA property; None if it has none. The charset is then UTF-8 if the bytes
        are valid UTF-8, otherwise ISO-8859-1, the standard's default.

    Raises:
      SgfError: the charset is unknown, or the bytes are not valid in it.
    """
    if named is None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return "iso8859-1"
        return "utf-8"
    name = named.strip()[:40].decode("ascii", "replace")
    try:
        charset = codecs.lookup(name).name
    except (LookupError, ValueError):
        charset = ""
    if charset not in CHARSETS:
        raise SgfError(
            f"the charset CA[{name}] is not supported; save the file as UTF-8",
            source=source,
        )
    try:
        data.decode(charset)
    except UnicodeDecodeError as error:
        cause = f"is not valid text in the charset CA[{name}]: {error.reason}"
        raise _error_at(error.start, cause, data, source) from error
    return charset


def shown(raw: bytes) -> str:
    """Return the beginning of a property's bytes for an error message."""
    return raw[:40].decode("ascii", "replace")


def _error_at(position: int, cause: str, data: bytes, source: str) -> SgfError:
    line = data.count(b"\n", 0, position) + 1
    return SgfError(cause, source=source, place=f"line {line}")
