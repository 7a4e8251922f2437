"""The trees of SGF text: every game that can be made out, with warnings about what could not.

Faults cost the smallest part that they can: a value without a name, a bracket too few or too many,
a file that is cut short in a comment. What is faultless has the trees that sgfmill gives.

>>> [(tree, said, _)] = parse(b"(GM[1]SZ[9];B[ee]C[a [x] b];W[ce]", source="x.sgf")
>>> [sorted(node) for node in tree.sequence], len(said)
([['GM', 'SZ'], ['B', 'C'], ['W']], 3)

Text is decoded before it is parsed, in the charset that it names or in one that is guessed: in
Shift-JIS, Big5 and GBK the second byte of a character may be that of a bracket or a backslash.
Labels of charsets mean what they mean on the web (https://encoding.spec.whatwg.org): files that say
gb2312 or Shift_JIS hold characters of gbk and cp932.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from typing import Any, Final

import webencodings
from sgfmill.sgf_grammar import Coarse_game_tree

from miai_go.sgf.check import MAX_DEPTH, MAX_NODES, MAX_VALUE_BYTES, MAX_VALUES, SgfError, shown

# Possessive quantifiers: no text makes the search of a bracket's end backtrack.
_TOKEN: Final = re.compile(
    rb"\[(?P<value>(?:[^\\\]]++|\\.)*+)(?P<end>\]?)|(?P<name>[A-Za-z][A-Za-z0-9]*+)|[();\]]",
    re.DOTALL,
)
_SPACE: Final = rb"[ \t\r\n]*"
# As sgfmill has it; or without the first semicolon, or at the start without the bracket, too.
_PROPERTY: Final = rb"[A-Z]{1,2}" + _SPACE + rb"\["
_START: Final = re.compile(
    rb"\(" + _SPACE + rb"(?=;|" + _PROPERTY + rb")|\A" + _SPACE + rb"(?=;|" + _PROPERTY + rb")"
)
_NEXT_GAME: Final = re.compile(
    rb"\(" + _SPACE + rb";" + _SPACE + rb"(?:GM|FF|CA|SZ|AP)" + _SPACE + rb"\["
)
_MAX_WARNINGS: Final = 20  # of one game
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


def parse(data: bytes, *, source: str) -> Iterator[tuple[Any, tuple[str, ...], int]]:
    """Yield the trees of SGF data in UTF-8: sgfmill's `Coarse_game_tree`, warnings, where it ends.

    Raises:
      SgfError: a limit of `miai_go.sgf.check` is exceeded, or there is no game.
    """
    lines = _Lines(data)
    counts: dict[str, int] = {}
    found = _START.search(data)
    if found is None:
        raise SgfError("is not SGF: no SGF data found", source=source)
    while found:
        game = _Game(data, source, counts, lines)
        position = game.parse(found.end())
        found = _START.search(data, position)
        between = data[position : found.start() if found else None]
        if b";" in between and b"[" in between:
            game.warn("what follows its last ')' is left out", position)
        yield game.tree, tuple(game.warnings), position


class _Lines:
    """Counts the lines of data up to positions, most of which ascend."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position, self._line = 0, 1

    def at(self, position: int) -> int:
        if position < self._position:
            self._position, self._line = 0, 1
        self._line += self._data.count(b"\n", self._position, position)
        self._position = position
        return self._line


class _Game:
    """Parses one game. The data's nodes and values are counted in `counts`."""

    def __init__(self, data: bytes, source: str, counts: dict[str, int], lines: _Lines) -> None:
        self.tree: Any = Coarse_game_tree()
        self.warnings: dict[str, None] = {}
        self._data = data
        self._source = source
        self._counts = counts
        self._lines = lines
        self._stack = [self.tree]
        self._node: dict[str, list[bytes]] | None = None
        self._name = ""
        self._warned = 0

    def parse(self, position: int) -> int:
        """Parse from behind the game's first bracket; return where the game ends."""
        for token in _TOKEN.finditer(self._data, position):
            position = token.end()
            if token["name"]:
                self._begin_property(token)
                continue
            if token["value"] is not None:
                self._add_value(token)
                continue
            self._end_property(token)
            if token[0] == b"(" and _NEXT_GAME.match(self._data, token.start()):
                position = token.start()
                break
            self._take_mark(token)
            if not self._stack:
                return position
        if self._stack:
            self.warn(
                f"{len(self._stack)} of its '(' are not closed; it may be cut short", position
            )
        while self._stack:
            self._end_variation()
        return position

    def _take_mark(self, token: re.Match[bytes]) -> None:
        if token[0] == b";":
            self._begin_node(token)
        elif token[0] == b"(":
            self._begin_variation(token)
        elif token[0] == b")":
            self._end_variation()
        else:
            self.warn("a ']' without its '['", token.start())

    def _begin_node(self, token: re.Match[bytes]) -> None:
        self._count("nodes", MAX_NODES, token)
        tree = self._stack[-1]
        if tree.children:
            self.warn("a node behind variations is read as one more", token.start())
            tree.children.append(Coarse_game_tree())
            tree = self._stack[-1] = tree.children[-1]
        self._node = {}
        tree.sequence.append(self._node)

    def _begin_variation(self, token: re.Match[bytes]) -> None:
        self._count("variations", MAX_NODES, token)
        if len(self._stack) >= MAX_DEPTH:
            raise self._error(
                f"more than {MAX_DEPTH} variations inside each other; split the file", token.start()
            )
        tree = self._stack[-1]
        if not tree.sequence:
            tree.sequence.append({})
        tree.children.append(Coarse_game_tree())
        self._stack.append(tree.children[-1])
        self._node = None

    def _end_variation(self) -> None:
        tree = self._stack.pop()
        if not self._stack and not tree.sequence:
            tree.sequence.append({})
        elif not tree.sequence:
            self._stack[-1].children.pop()
        self._node = None

    def _begin_property(self, token: re.Match[bytes]) -> None:
        self._end_property(token)
        text = token["name"].decode("ascii")
        # Old files write Black for B; names with digits are private, and letters remain of text.
        self._name = "" if not text.isalpha() else "".join(c for c in text if c.isupper())

    def _end_property(self, token: re.Match[bytes]) -> None:
        if self._name and (self._node is None or self._name not in self._node):
            self.warn(f"{self._name} without a value", token.start())
        self._name = ""

    def _add_value(self, token: re.Match[bytes]) -> None:
        self._count("property values", MAX_VALUES, token)
        value = token["value"]
        if len(value) > MAX_VALUE_BYTES:
            cause = f"a property value longer than {MAX_VALUE_BYTES} bytes"
            raise self._error(cause, token.start())
        if not token["end"]:
            self.warn("a property value's '[' is not closed; it may be cut short", token.start())
        elif not self._name:
            self.warn(f"the value [{shown(value)}] has no name", token.start())
        else:
            if self._name != "C" and (b";B[" in value or b";W[" in value):
                self.warn(f"{self._name} holds moves: its ']' may be missing", token.start())
            if self._node is None:
                self.warn("a node without its ';'", token.start())
                self._begin_node(token)
                assert self._node is not None
            self._node.setdefault(self._name, []).append(value)

    def _count(self, what: str, limit: int, token: re.Match[bytes]) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1
        if self._counts[what] > limit:
            raise self._error(f"more than {limit} {what}; split the file", token.start())

    def warn(self, cause: str, position: int) -> None:
        self._warned += 1
        if self._warned <= _MAX_WARNINGS:
            self.warnings[f"line {self._lines.at(position)}: {cause}"] = None

    def _error(self, cause: str, position: int) -> SgfError:
        return SgfError(cause, source=self._source, place=f"line {self._lines.at(position)}")


# -- characters -----------------------------------------------------------------------------------


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
