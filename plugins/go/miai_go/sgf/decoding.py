"""The text of SGF data: in the charset that it names, or in one that is guessed, with a warning.

Text is decoded before it is parsed: in Shift-JIS, Big5 and GBK the second byte of a character may
be that of a bracket or a backslash. Labels of charsets mean what they mean on the web
(https://encoding.spec.whatwg.org): files that say gb2312 or Shift_JIS hold characters of gbk and
cp932.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import webencodings

from miai_go.sgf.check import SgfError, shown

_LABEL: Final = re.compile(rb"(?<![A-Za-z])CA[ \t\r\n]*\[([^\]]*)\]")
_NOT_ASCII: Final = re.compile(rb"[\x80-\xff]")
_UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
_NO_CHARSETS: Final = frozenset({"replacement", "x-user-defined", "utf-16-le", "utf-16-be"})
_PAGE: Final = re.compile(r"(?:windows|ms|cp|ibm)[-_]?([0-9]{3,5})")
_MOSTLY: Final = 0.2
"""Share of characters beyond ASCII that may be wrong before the label is taken to be wrong."""


@dataclass(frozen=True, slots=True)
class _Script:
    """The characters of a charset that text is mostly made of.

    Attributes:
      common: what matches a run of them.
      count: how many there are.
    """

    common: re.Pattern[bytes]
    count: int


_SCRIPTS: Final = {
    # Kana, then kanji of level 1; syllables of KS X 1001; hanzi of level 1, twice.
    "cp932": _Script(re.compile(rb"(?:[\x82\x83][\x40-\xf1]|[\x88-\x97][\x40-\xfc])+"), 3130),
    "cp949": _Script(re.compile(rb"(?:[\xb0-\xc8][\xa1-\xfe])+"), 2350),
    "gb18030": _Script(re.compile(rb"(?:[\xb0-\xd7][\xa1-\xfe])+"), 3755),
    "big5hkscs": _Script(re.compile(rb"(?:[\xa4-\xc6][\x40-\x7e\xa1-\xfe])+"), 5401),
}
_RARE: Final = math.log(1 / 65536) - math.log(20)
"""The logarithm of the probability of two bytes that are no common character."""


def decode(data: bytes, *, source: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of SGF data, and warnings about its charset.

    Games of a collection may name charsets of their own; data without a name that is not UTF-8 is
    in the charset in which it is likeliest.

    Raises:
      SgfError: the data has a null byte, and is not UTF-16 with a byte order mark.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), ()
    if (null := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, null) + 1
        cause = "contains a null byte, so it is binary or UTF-16; save it as UTF-8"
        raise SgfError(cause, source=source, place=f"line {line}")
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    parts = [_decode_part(part, label) for part, label in _parts(data)]
    warnings = dict.fromkeys(warning for _, said in parts for warning in said)
    return "".join(text for text, _ in parts), tuple(warnings)


def _parts(data: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield the data with its label, in parts where games of a collection name several."""
    begin, label = 0, None
    for found in _LABEL.finditer(data):
        if label is None:
            label = found[1]
        elif found[1] != label:
            # A round bracket is never the second byte of a character; here the game begins.
            cut = data.rfind(b"(", begin, found.start())
            if cut > begin:
                yield data[begin:cut], label
                begin, label = cut, found[1]
    yield data[begin:], label


def _decode_part(data: bytes, label: bytes | None) -> tuple[str, list[str]]:
    named = None if label is None else charset_named(label.decode("ascii", "replace"))
    if named == "iso2022_jp" or data.isascii():
        return data.decode(named or "ascii", "replace"), []
    for charset in dict.fromkeys((named or "utf-8", "utf-8")):
        try:
            return data.decode(charset), [] if charset == (named or "utf-8") else [
                _not(label, charset)
            ]
        except UnicodeDecodeError:
            pass
    if named is not None:
        text = data.decode(named, "replace")
        wrong, beyond = text.count(_UNKNOWN), sum(not c.isascii() for c in text)
        if wrong <= max(1, _MOSTLY * beyond):
            s = "s" * (wrong > 1)
            name = shown(label or b"")
            return text, [f"{wrong} character{s} cannot be read in the charset CA[{name}]"]
    guessed = likeliest_charset(data)
    return data.decode(guessed, "replace"), [_not(label, guessed)]


def _not(label: bytes | None, guessed: str) -> str:
    if label is None:
        return f"no charset is named with CA; it is probably {guessed}"
    return f"the charset CA[{shown(label)}] is unknown or wrong; it is probably {guessed}"


def charset_named(label: str) -> str | None:
    """Return Python's codec for a label of a charset, or None if it is unknown.

    >>> charset_named("GB2312"), charset_named("Windows-932"), charset_named("zip")
    ('gb18030', 'cp932', None)
    """
    label = label.strip().lower().removeprefix("x-")
    found = webencodings.lookup(label) or webencodings.lookup(f"x-{label}")
    if found is None:
        number = _PAGE.fullmatch(label)
        try:
            name = codecs.lookup(f"cp{number[1]}" if number else label).name
        except (LookupError, ValueError):
            return None
        found = webencodings.lookup(name.replace("_", "-"))
        if found is None:  # code pages are text; what else Python knows may be zlib
            return name if number else None
    name = found.codec_info.name
    return None if name in _NO_CHARSETS else "gb18030" if name == "gbk" else name


def likeliest_charset(data: bytes) -> str:
    """Return the charset of text that names none and is not UTF-8.

    Each charset of East Asia is a script: two bytes are one of its common characters, all alike, or
    are rare. Where none of them explains most of the bytes, it is the alphabet of Western Europe.
    """
    best, likeliest = -math.inf, "cp1252"
    for charset, script in _SCRIPTS.items():
        try:
            data.decode(charset)
        except UnicodeDecodeError:
            continue
        common = sum(len(run) for run in script.common.findall(data)) / 2
        beyond = len(_NOT_ASCII.findall(script.common.sub(b"", data))) / 2
        score = -common * math.log(script.count) + beyond * _RARE
        if common > beyond and score > best:
            best, likeliest = score, charset
    return likeliest
