"""Reading SGF: games, set-up positions and their variations.

Files are checked against stated limits before sgfmill parses them; see `miai_go.sgf_check`. What
cannot be read or played is refused with `SgfError`, which names the file, the place and the cause.

>>> game = read_bytes(b"(;GM[1]SZ[9]KM[7];B[ee];W[ce](;B[eg])(;B[gc]))")[0]
>>> [line.actions for line in game.lines()]
[(40, 38, 22), (40, 38, 60)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sgfmill import sgf, sgf_grammar

from miai.errors import GameError
from miai_go.board import BLACK, WHITE
from miai_go.coordinates import vertex
from miai_go.game import GoGame
from miai_go.parameters import MAX_KOMI, MAX_SIZE
from miai_go.phases import Start
from miai_go.rules import Preset
from miai_go.sgf_check import SgfError, charset_of, check, read_bytes_of
from miai_go.sgf_lines import Follower, SgfLine
from miai_go.state import GoState

__all__ = ["SgfError", "SgfGame", "SgfLine", "read_bytes", "read_each", "read_file"]

MAX_LINES: Final = 10_000
"""Most variations of one game that are followed to their end."""

_PRESET_NAMES: Final[Mapping[str, Preset]] = {
    "trompt": "tromp-taylor",
    "cgos": "tromp-taylor",
    "chinese": "chinese",
    "japanese": "japanese",
    "jp": "japanese",
    "aga": "aga",
}


def read_file(path: Path) -> list[SgfGame]:
    """Return the games of an SGF file, at least one.

    Raises:
      SgfError: the file cannot be read, exceeds a limit of `miai_go.sgf_check` or is malformed.
    """
    return read_bytes(read_bytes_of(path), source=str(path))


def read_bytes(data: bytes, *, source: str = "SGF") -> list[SgfGame]:
    """Return the games of SGF data, at least one. `source` names it in errors.

    Raises:
      SgfError: the data exceeds a limit of `miai_go.sgf_check` or is malformed.
    """
    games = []
    for game in read_each(data, source=source):
        if isinstance(game, SgfError):
            raise game
        games.append(game)
    return games


def read_each(data: bytes, *, source: str = "SGF") -> Iterator[SgfGame | SgfError]:
    """Yield the games of SGF data, or instead of a game why it cannot be read.

    Raises:
      SgfError: the data as a whole exceeds a limit of `miai_go.sgf_check` or is malformed.
    """
    check(data, source=source)
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        raise SgfError(f"is no SGF: {error}", source=source) from error
    many = len(trees) > 1
    charsets: dict[bytes | None, str] = {}
    for number, tree in enumerate(trees, 1):
        named = tree.sequence[0].get("CA", [None])[0]
        try:
            if named not in charsets:
                charsets[named] = charset_of(data, named, source=source)
            yield _game(tree, charsets[named], source, f"game {number}" if many else "")
        except SgfError as error:
            yield error


def _game(tree: Any, charset: str, source: str, place: str) -> SgfGame:
    root = tree.sequence[0]
    kind = root.get("GM", [b"1"])[0].strip()
    if kind != b"1":
        raise SgfError(f"GM[{_shown(kind)}] is not Go, which is GM[1]", source=source, place=place)
    size = root.get("SZ", [b"19"])[0].strip()
    if not (size.isdigit() and len(size) <= len("19") and 1 <= int(size) <= MAX_SIZE):
        raise SgfError(
            f"SZ[{_shown(size)}] is no board size of 1 to {MAX_SIZE}", source=source, place=place
        )
    try:
        parsed = sgf.Sgf_game.from_coarse_game_tree(tree, override_encoding=charset)
    except (ValueError, LookupError) as error:
        raise SgfError(f"is no SGF of Go: {error}", source=source, place=place) from error
    return SgfGame(parsed, source=source, place=place)


class SgfGame:
    """One game of an SGF file, with its variations.

    Attributes:
      source, place: the file, and which game of it.
      size: points on a side.
      komi: KM, points; None where it is missing.
      handicap: HA, stones; 0 where it is missing.
      rules: RU as written; empty where it is missing.
      black, white: PB and PW, the players' names.
      result: RE as written.

    Raises:
      SgfError: a property of the root is malformed.
    """

    def __init__(self, parsed: Any, *, source: str = "SGF", place: str = "") -> None:
        self._parsed = parsed
        self.source = source
        self.place = place
        self.size: int = parsed.get_size()
        self.komi = self._real("KM")
        self.handicap = self._handicap()
        self.rules = self._text("RU")
        self.black = self._text("PB")
        self.white = self._text("PW")
        self.result = self._text("RE")

    @property
    def root(self) -> Any:
        """The first node, sgfmill's `Tree_node`: its properties and its children."""
        return self._parsed.get_root()

    def main_line(self) -> SgfLine:
        """Return the first variation throughout, as far as it goes.

        Raises:
          SgfError: a set-up or a move that no board allows.
        """
        return next(self._follow(first_only=True))

    def lines(self) -> Iterator[SgfLine]:
        """Yield every variation, from the root to its end, in the file's order.

        Raises:
          SgfError: a set-up or a move that no board allows, or more than `MAX_LINES` variations.
        """
        for number, line in enumerate(self._follow(first_only=False)):
            if number == MAX_LINES:
                raise SgfError(
                    f"more than {MAX_LINES} variations", source=self.source, place=self.place
                )
            yield line

    def preset(self) -> Preset | None:
        """Return the preset that RU names, or None for no name that is known here."""
        word = "".join(c for c in self.rules.lower() if c.isalnum())
        found = (preset for name, preset in _PRESET_NAMES.items() if word.startswith(name))
        return next(found, None)

    def parameters(self, line: SgfLine | None = None, **overrides: Any) -> dict[str, Any]:
        """Return the parameters of the game that `line` was played in, for ``load_game("go")``.

        Set-up is written out as stones; the handicap is kept where Black's stones are just it.

        Args:
          line: by default the main line.
          overrides: parameters that win over those of the file.

        Raises:
          SgfError: the komi is out of range or no multiple of 0.5.
        """
        line = line or self.main_line()
        values: dict[str, Any] = {"board_size": self.size, **_start_values(line.start, self)}
        if preset := self.preset():
            values["rules"] = preset
        if self.komi is not None and "komi" not in overrides:
            if abs(self.komi) > MAX_KOMI or self.komi % 0.5:
                raise SgfError(
                    f"komi {self.komi:g} is no multiple of 0.5 within {MAX_KOMI:g}; give komi",
                    source=self.source,
                    place=self.place,
                )
            values["komi"] = self.komi
        return {**values, **overrides}

    def replay(self, game: GoGame, line: SgfLine, *, plies: int | None = None) -> GoState:
        """Return the state after a line, played by the rules of `game`.

        Args:
          plies: how many of its actions are played; None for all.

        Raises:
          SgfError: the sizes or starting positions differ, or a move is illegal by the rules.
        """
        if game.size != self.size:
            raise SgfError(
                f"a {self.size}x{self.size} game, but board_size is {game.size}",
                source=self.source,
                place=self.place,
            )
        if line.start != game.start:
            raise SgfError(
                "starts from another position than the game: set black_stones, white_stones, "
                "handicap and first_player of the game to the file's",
                source=self.source,
                place=line.place,
            )
        state = game.new_initial_state()
        for ply, action in enumerate(line.actions[:plies], 1):
            try:
                state.apply_action(action)
            except GameError as error:
                reason = str(error).partition("\n")[0]
                raise SgfError(
                    f"move {ply}, {vertex(action, self.size)}: {reason}",
                    source=self.source,
                    place=line.place,
                ) from error
        return state

    def _follow(self, *, first_only: bool) -> Iterator[SgfLine]:
        """Yield the lines depth first; a position is copied only where the game branches."""
        follower = Follower(self.size, self.source, self.place, handicap=self.handicap)
        pending = [(self._parsed.get_root(), follower)]
        number = 0
        while pending:
            node, follower = pending.pop()
            number += 1
            follower.take(node, number)
            children = node[:1] if first_only else node[:]
            if not children:
                yield follower.line()
            for child in reversed(children[1:]):
                pending.append((child, follower.copy()))
            if children:
                pending.append((children[0], follower))

    def _text(self, name: str) -> str:
        text = self._value(name)
        return text if isinstance(text, str) else ""

    def _real(self, name: str) -> float | None:
        value = self._value(name)
        return float(value) if isinstance(value, float) else None

    def _handicap(self) -> int:
        value = self._value("HA")
        if value is None:
            return 0
        if not isinstance(value, int) or not 0 <= value < self.size * self.size:
            raise SgfError(
                f"HA[{value}] is no handicap of a {self.size}x{self.size} board",
                source=self.source,
                place=self.place,
            )
        return value

    def _value(self, name: str) -> Any:
        root = self._parsed.get_root()
        if not root.has_property(name):
            return None
        try:
            return root.get(name)
        except ValueError as error:
            shown = _shown(root.get_raw(name))
            raise SgfError(
                f"{name}[{shown}] is malformed", source=self.source, place=self.place
            ) from error


def _start_values(start: Start, game: SgfGame) -> dict[str, Any]:
    values: dict[str, Any] = {}
    black = [vertex(point, game.size) for point in start.black]
    if game.handicap and len(black) == game.handicap and not start.white:
        values["handicap_points"] = black
    elif black:
        values["black_stones"] = black
    if start.white:
        values["white_stones"] = [vertex(point, game.size) for point in start.white]
    expected = WHITE if "handicap_points" in values else BLACK
    if start.to_move != expected:
        values["first_player"] = "white" if start.to_move == WHITE else "black"
    return values


def _shown(raw: bytes) -> str:
    return raw[:40].decode("ascii", "replace")
