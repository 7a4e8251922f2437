"""The trees of SGF text: every game that can be made out, with warnings about what could not.

Faults cost the smallest part that they can: a value without a name, a bracket too few or too many,
a file that is cut short in a comment. What is faultless has the trees that sgfmill gives.

>>> [(tree, said, _)] = parse(b"(GM[1]SZ[9];B[ee]C[a [x] b];W[ce]", source="x.sgf")
>>> [sorted(node) for node in tree.sequence], len(said)
([['GM', 'SZ'], ['B', 'C'], ['W']], 3)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

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
