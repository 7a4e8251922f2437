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
from typing import Final

import webencodings

from miai_go.sgf.check import SgfError, shown

_LABEL: Final = re.compile(rb"(?<![A-Za-z])CA[ \t\r\n]{0,9}\[([^\[\]]{0,40})\]")
_GAME: Final = re.compile(
    rb"\([ \t\r\n]{0,99};[ \t\r\n]{0,99}(?=(?:GM|FF|SZ|CA|AP|PB|PW|EV|DT|KM|RU)[ \t\r\n]{0,9}\[)"
)
_UNKNOWN: Final = "\N{REPLACEMENT CHARACTER}"
_NO_CHARSETS: Final = frozenset({"replacement", "x-user-defined", "utf-16-le", "utf-16-be"})
_PAGE: Final = re.compile(r"(?:windows|ms|cp|ibm)[-_]?([0-9]{3,5})")
_LETTERS: Final = bytes(range(32, 127))
_MOSTLY: Final = 0.34  # share of characters beyond ASCII that may be wrong, and the label right

_KANJI: Final = "山田井上川本村木中小林高藤野大原石橋武加佐吉秀正郎太一第期戦段手の"
# For each charset a pattern for one of its common characters, some thousands; the characters that
# half of a name or title is of; and how many files without a label are in it, beside the others.
_SCRIPTS: Final[dict[str, tuple[bytes, str, float]]] = {
    "cp1252": (rb"[\x80-\xff]", "ÀÁÂÄÅÆÇÈÉÊËÍÎÓÔÖØÚÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ\u2019", 1.0),
    # Kana, then kanji of level 1; syllables of KS X 1001; hanzi of level 1, twice.
    "cp932": (rb"[\x82\x83][\x40-\xf1]|[\x88-\x97][\x40-\xfc]", _KANJI, 1.0),
    "cp949": (
        rb"[\xb0-\xc8][\xa1-\xfe]",
        "김이박최정강조윤장임한오서신권황안송유전홍고문백영창호현수준석훈원동지민진성",
        1.0,
    ),
    "gb18030": (
        rb"[\xb0-\xd7][\xa1-\xfe]",
        "王李张刘陈杨黄赵周吴徐孙马朱胡林罗谢唐许曹江常古俞聂石小明文华云国第届杯赛段胜",
        16.0,
    ),
    "euc_jp": (rb"[\xa4\xa5][\xa1-\xf6]|[\xb0-\xcf][\xa1-\xfe]", _KANJI, 0.25),
    "big5hkscs": (
        rb"[\xa4-\xc6][\x40-\x7e\xa1-\xfe]",
        "王李張劉陳楊黃趙周吳徐孫馬朱胡林羅謝許曹蕭蘇余江小明文國元銘立誠俊勳第屆盃賽段勝",
        1.0,
    ),
}
_END: Final = r"[ \t\r\n]{0,9}(?:;?[A-Z]{1,2}\[|\(;|\)[ \t\r\n]{0,9}(?:[()]|\Z))"
_CUT: Final = re.compile(rf"[^\0-\x7f](?={_END})")  # a character where a value seems to end
_COMMON: Final = math.log(2 * 3500)
_RARE: Final = -math.log(20 * 65536)  # two bytes of no common character, less likely than chance


def decode(data: bytes, *, source: str) -> tuple[bytes, list[tuple[int, str]]]:
    """Return SGF data as UTF-8, and warnings about charsets, each behind where its part begins.

    Games of a collection may name charsets of their own; data without a name that is not UTF-8 is
    in the charset in which it is likeliest.

    Raises:
      SgfError: a quarter are null bytes, and it is not UTF-16 with a byte order mark.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode(), []
    warnings: list[tuple[int, str]] = []
    if nulls := data.count(b"\0"):
        if nulls > len(data) // 4:
            cause = "a quarter are null bytes, so it is binary or UTF-16; save it as UTF-8"
            raise SgfError(cause, source=source)
        data = data.replace(b"\0", b"")
        warnings.append((0, f"null bytes are left out: {nulls}"))
    if data.startswith(codecs.BOM_UTF8):
        return data.decode("utf-8-sig", "replace").encode(), warnings
    parts: list[bytes] = []
    begin = 0
    for text, said in map(_decode_part, _games(data)):
        warnings += [(begin, warning) for warning in said]
        parts.append(text.encode())
        begin += len(parts[-1])
    return b"".join(parts), warnings


def _games(data: bytes) -> Iterator[bytes]:
    """Yield the parts of a collection that begin like games: each may name its own charset."""
    begin = 0
    for found in _GAME.finditer(data):
        if found.start() > begin:
            yield data[begin : found.start()]
            begin = found.start()
    yield data[begin:]


def _decode_part(data: bytes) -> tuple[str, list[str]]:
    found = _LABEL.search(data)
    label = found[1] if found else None
    named = None if label is None else charset_named(label.decode("ascii", "replace"))
    if b"\x1b$" in data and data.isascii():
        named = "iso2022_jp"
    if named == "iso2022_jp" or data.isascii():
        return data.decode(named or "ascii", "replace"), []
    if (text := _as_unicode(data, named)) is not None:
        return text, [] if named in (None, "utf-8") else [_not(label, "utf-8")]
    charset = named or "utf-8"
    text = _decoded(data, charset)
    wrong, beyond = text.count(_UNKNOWN), sum(not c.isascii() for c in text)
    if wrong == 0 and named is not None:
        return text, []
    if wrong <= max(named is not None, _MOSTLY * beyond):
        s = "s" * (wrong > 1)
        said = f"the charset CA[{shown(label or b'')}]" if named is not None else charset
        return text, [f"{wrong} character{s} cannot be read in {said}"]
    guessed = likeliest_charset(data)
    return _decoded(data, guessed), [_not(label, guessed)]


def _decoded(data: bytes, charset: str) -> str:
    """Return text. Half a character at the end of a value does not take its bracket."""

    def mended(found: re.Match[str]) -> str:
        taken = found[0].encode(charset, "ignore").endswith(b"]")
        return f"{_UNKNOWN}]" if taken else found[0]

    text = data.decode(charset, "replace")
    return _CUT.sub(mended, text) if charset in _SCRIPTS else text


def _as_unicode(data: bytes, named: str | None) -> str | None:
    """Return the text if it is UTF-8, whatever charset is named."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    # A few characters of two bytes may be UTF-8 by chance.
    likely = named not in _SCRIPTS or any(c >= "\u0800" for c in text)
    return text if likely else None


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
            is_ascii = _LETTERS.decode(name, "replace") == _LETTERS.decode("ascii")
        except (LookupError, ValueError):
            return None
        found = webencodings.lookup(name.replace("_", "-"))
        if found is None:
            return name if is_ascii else None  # EBCDIC has brackets elsewhere
    name = found.codec_info.name
    return None if name in _NO_CHARSETS else "gb18030" if name == "gbk" else name


def likeliest_charset(data: bytes) -> str:
    """Return the charset of text that names none and is not UTF-8, by its first 100,000 bytes.

    Each charset is a script: what stands for a character is a letter that it mostly has, another
    that is common, or a rare one.
    """
    best, likeliest, sample = -math.inf, "cp1252", data[:100_000]
    for charset, (common, letters, files) in _SCRIPTS.items():
        try:
            data.decode(charset)
        except UnicodeDecodeError:
            continue
        found = re.findall(rb"(%s)|[\x80-\xff][\x40-\xff]?" % common, sample)
        rare, text = found.count(b""), sample.decode(charset, "replace")
        names = sum(map(text.count, letters))
        score = math.log(files) - names * math.log(2 * len(letters))
        score += rare * _RARE - (len(found) - rare - names) * _COMMON
        if score > best:
            best, likeliest = score, charset
    return likeliest
