"""Files of chess: the opening readers ``pgn``, ``epd`` and ``fen``, and the record format ``pgn``.

A half-move of chess becomes two actions: a sense of nothing, and the request. So players observe of
the opening what they would in a game in which nobody sensed: their own moves, and where something
was captured. A null move (``--``) is a pass.

A position is a game's parameter `fen`. Both players know it, as they know the usual start.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import chess
import chess.pgn

from miai.errors import ConfigError, InvalidStateError, MiaiError, RecordError
from miai.files import reading
from miai.parameters import build_parameters
from miai.plain import Json
from miai.playing.openings import Opening, check_file, read_text
from miai.playing.replay import add_tree, added_notes, is_same_game, record_of_actions
from miai.record import MOST_GAMES, MOST_MOVES, ONLY_FIRST, GameRecord
from miai.values import Evaluation, ValueUnit
from miai_rbc.kernels.bitboards import WIN
from miai_rbc.rbc_parameters import PgnParameters, RbcParameters
from miai_rbc.rules.actions import SENSE_NOTHING, action_of, move_of_action
from miai_rbc.rules.game import RbcGame, RbcState
from miai_rbc.rules.rows import board_of_fen, chess_move, kernel_move

MAX_NAME = 80
"""Maximum length of an opening's name."""

_MAX_LINES = 100_000
_MAX_LINE = 4096  # characters
_FIELDS = 4  # of a FEN without clocks


# -- openings --------------------------------------------------------------------------------------


class EpdOpenings:
    """Reads openings from EPD, or from FEN with both clocks, one position a line.

    The operation ``id`` names the opening; ``hmvc`` and ``fmvn`` are its clocks, by default 0 and
    1; others are checked and ignored. ``#`` begins a line of comment. A position has one king a
    side, which may be in check.
    """

    def __init__(self, game: RbcGame, parameters: object = None) -> None:
        self.game = game

    def read(self, path: Path) -> list[Opening]:
        """Return the openings of a file, each position once, in the file's order.

        Raises:
          ConfigError: the file is unreadable, or a line is not a position; names file and line.
        """
        openings: dict[str, Opening] = {}
        for number, line in enumerate(read_text(path).removeprefix("\ufeff").splitlines(), 1):
            where = f"{path}:{number}"
            if number > _MAX_LINES or len(line) > _MAX_LINE:
                limit = f"{_MAX_LINES} lines of {_MAX_LINE} characters"
                raise ConfigError(f"{where}: is too long; at most {limit} are read, split the file")
            if line.strip() and not line.lstrip().startswith("#"):
                try:
                    opening = self._opening(line.strip())
                except (InvalidStateError, ValueError) as error:
                    raise ConfigError(f"{where}: {error}") from None
                openings.setdefault(str(opening.settings["fen"]), opening)
        if not openings:
            raise ConfigError(f"{path}: holds no position; write one line of EPD or FEN for each")
        return list(openings.values())

    def _opening(self, line: str) -> Opening:
        fields = line.split(None, _FIELDS)
        if len(fields) < _FIELDS:
            raise InvalidStateError(
                f"{line[:60]!r} is not a position: it needs pieces, side to move, castling and en "
                "passant"
            )
        board = board_of_fen(" ".join(fields[:_FIELDS]) + " 0 1")
        clocks = fields[_FIELDS].split() if len(fields) > _FIELDS else []
        if len(clocks) == 2 and all(clock.isascii() and clock.isdigit() for clock in clocks):
            return position_opening(self.game, line, name="")
        operations = board.set_epd(line)  # moves in it are read on a board with both kings
        name = operations.get("id")
        name = "".join(c for c in name if c.isprintable()) if isinstance(name, str) else ""
        return position_opening(self.game, board.fen(en_passant="fen"), name=name[:MAX_NAME])


def position_opening(game: RbcGame, fen: str, *, name: str) -> Opening:
    """Return a position as an opening; its FEN is written in full.

    Raises:
      InvalidStateError: not a position of the game, or the game would be over.
    """
    full = board_of_fen(fen).fen(en_passant="fen")
    settings = game.parameters.model_dump()
    state = RbcGame(RbcParameters(**{**settings, "fen": full})).new_initial_state()
    if state.is_terminal():
        raise InvalidStateError(f"{full!r}: the game is over: {state.result_to_string()}")
    return Opening(settings={"fen": full}, name=name)


_HIDING = re.compile(
    r"^(?P<tag>\[[^\n]*)|^(?P<line>[%;])[^\n]*|;(?P<rest>[^\n]*)|\{(?P<said>[^}]*)\}|(?P<open>\{)",
    re.MULTILINE,
)
_TAG = re.compile(r'\[\s*[A-Za-z0-9][A-Za-z0-9_+#=:-]*\s+"[^\n]*"\s*\]\s*')
_NUMBER = re.compile(r"^\d+\.+|^\d+$")
_WORD = re.compile(
    r"(?:[NBKRQ]?[a-h]?[1-8]?[-x]?[a-h][1-8](?:=?[NBRQnbrq])?|O-O(?:-O)?|0-0(?:-0)?|--|Z0)"
    r"[+#]*[?!]*|\$\d{1,3}|\*|1-0|0-1|1/2(?:-1/2)?|e\.p\.|[^\w{}()\[\]]*"
)
_SHOWN = 40


def check_words(text: str, *, source: str) -> None:
    """Check that a text has the tokens of PGN, because python-chess skips what it does not know.

    The format is section 8 of the PGN standard (Edwards 1994): tag pairs, then move numbers, moves
    in SAN, comments, numeric glyphs, variations and a result. Legality is not checked.

    Args:
      source: the file, for messages.

    Raises:
      ConfigError: an unknown token; an unclosed tag, comment or variation; or a tag among moves.
    """
    nesting, moves = 0, False  # open variations; whether moves have begun
    for number, line in enumerate([*_without_comments(text, source).splitlines(), ""], 1):
        where = f"{source}:{number}"
        if not line.strip():
            if nesting:
                raise ConfigError(f"{where}: the game ends within a variation; close it with )")
            moves = False
        elif line == "%":
            continue
        elif line.startswith("["):
            _check_tag(line, where, among_moves=moves)
        else:
            moves = True
            for word in re.findall(r"[()]|[^\s()]+", line):
                nesting += (word == "(") - (word == ")")
                if nesting < 0:
                    raise ConfigError(f"{where}: a variation that did not begin ends with )")
                if word not in "()" and not _WORD.fullmatch(_NUMBER.sub("", word)):
                    wrong = f"{word[:_SHOWN]!r} is not a move or another token of PGN"
                    raise ConfigError(f"{where}: {wrong}")


def _without_comments(text: str, source: str, *, keep: bool = False) -> str:
    """Return the text with a dot for each comment and ``%`` for a line of comment.

    Line numbers stay the same. With `keep`, comments are on lines of their own instead, because
    python-chess copies the rest of a line at each.
    """

    def shortened(match: re.Match[str]) -> str:
        if match["open"]:
            number = text.count("\n", 0, match.start()) + 1
            raise ConfigError(f"{source}:{number}: the comment that begins here never ends")
        if match["tag"] or match["line"]:
            return match["tag"] or "%"
        said = match["said"] or (match["rest"] or "").replace("}", ")")
        return f".\n{{{said}}}\n." if keep else "." + "\n." * said.count("\n")

    return _HIDING.sub(shortened, text)


def _check_tag(line: str, where: str, *, among_moves: bool) -> None:
    if among_moves:
        raise ConfigError(f"{where}: a tag stands among moves; begin a game after an empty line")
    if not _TAG.fullmatch(line):
        raise ConfigError(f'{where}: {line[:_SHOWN]!r} is not a tag; a tag is [Name "value"]')


MAX_MOVES = 300_000
"""Maximum number of moves of one file."""

_MAX_DEPTH = 100  # variations within variations
_COPIED = 40  # plies before a variation that python-chess copies in the time of a move
_STANDARD = ("standard", "chess", "normal", "from position")


class PgnOpenings:
    """Reads openings from PGN: one for each game of the file, or one for each variation.

    Games must start from the game's parameter `fen`. The tags ECO, Opening and Variation name an
    opening.
    """

    def __init__(self, game: RbcGame, parameters: PgnParameters | None = None) -> None:
        self.game = game
        self.parameters = parameters or PgnParameters()

    def read(self, path: Path) -> list[Opening]:
        """Return the openings of a file, each once, in the file's order.

        Raises:
          ConfigError: not PGN, or an illegal move; names file, game and ply.
        """
        text = pgn_text(path)
        openings: dict[tuple[tuple[int, ...], str], Opening] = {}
        for where, game in games_of(text, self.parameters, source=str(path)):
            self._check_start(game, where)
            for leaf in _leaves(game):
                opening = self._opening(leaf, where)
                openings.setdefault((opening.actions, str(opening.settings)), opening)
        if not openings:
            raise ConfigError(f"{path}: holds no game")
        return list(openings.values())

    def _check_start(self, game: chess.pgn.Game, where: str) -> None:
        if game.board().fen().split()[:4] != self.game.start.fen().split()[:4]:
            raise ConfigError(
                f"{where}: starts from {game.board().fen()}, the game from {self.game.start.fen()};"
                " set game.fen, or read positions from an EPD file"
            )

    def _opening(self, leaf: chess.pgn.GameNode, where: str) -> Opening:
        """Return the opening that ends at a node, checked on a board of this game."""
        moves = leaf.board().move_stack
        if not moves:
            raise ConfigError(f"{where}: holds no moves, so it is not an opening; remove it")
        state = self.game.new_initial_state()
        for ply, move in enumerate(moves, 1):
            for action in (SENSE_NOTHING, action_of(kernel_move(move or None))):
                if not state.is_legal(action):
                    why = state.result_to_string() or "cannot be requested"
                    raise ConfigError(f"{where}: ply {ply} '{move.uci()}': {why}\n{state}")
                state.apply_action(action)
        if state.is_terminal():
            raise ConfigError(f"{where}: the opening ends the game; leave something to play")
        name = _name(leaf.game().headers)
        if self.parameters.tell == "position":
            return position_opening(self.game, state.board().fen(en_passant="fen"), name=name)
        return Opening(tuple(state.history()), name=name)


def games_of(
    text: str, parameters: PgnParameters, *, source: str, refused: list[ConfigError] | None = None
) -> Iterator[tuple[str, chess.pgn.Game]]:
    """Yield the games of a text of PGN, of at most `MAX_MOVES` moves, with their places.

    Args:
      refused: None raises all mistakes. With a list, as for records, a game that cannot be read is
        left out, and what is wrong with it joins the list; what follows an illegal move in its line
        is left out, and joins the game's `errors`. Comments and glyphs are kept, and at most half
        of `miai.record.MOST_MOVES` are read, of which a move in a variation is a third.

    Raises:
      ConfigError: not PGN, an illegal move, or too many moves; names source, game and ply.
    """
    parts, room = iter([text]), _Room(MAX_MOVES)
    if refused is not None:
        parts, room = _apart(text), _Room(3 * MOST_MOVES // 2)
    number = 0
    for part in parts:
        begin = number + 1
        try:
            check_words(part, source=source)
            file = io.StringIO(_without_comments(part, source, keep=refused is not None))
            while True:
                where = f"{source}: game {number + 1}"
                builder = _Builder(parameters, where=where, room=room, records=refused is not None)
                if (game := _read_game(file, builder)) is None:
                    break
                number += 1
                if refused is not None and number > MOST_GAMES:
                    break
                variant = game.headers.get("Variant", "Standard")
                if variant.casefold() not in _STANDARD:
                    what = f"is of the variant {variant[:MAX_NAME]!r}, not of chess"
                    raise ConfigError(f"{where}: {what}")
                yield where, game
        except ConfigError as error:
            if refused is None or room.moves < 0:
                raise
            refused.append(error)
            number = max(number, begin)
        if refused is not None and number > MOST_GAMES:
            refused.append(ConfigError(ONLY_FIRST))
            return


def _apart(text: str) -> Iterator[str]:
    """Yield the games of a text, each behind empty lines, so that its lines keep their numbers.

    A game begins where a tag follows moves.
    """
    shown = _HIDING.sub(lambda found: found["tag"] or "." + "\n" * found[0].count("\n"), text)
    begins, moves = [0], False
    for number, line in enumerate(shown.split("\n")):
        if line.strip(" .") and not line.startswith("["):
            moves = True
        elif moves and line.startswith("["):
            begins.append(number)
            moves = False
    lines = text.split("\n")
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        yield "\n" * begin + "\n".join(lines[begin:end])


@dataclass
class _Room:
    """How many moves may still be added to the games of a file."""

    moves: int


class _Builder(chess.pgn.GameBuilder[chess.pgn.Game]):
    """Builds the needed part of a game, and stops at the first mistake."""

    def __init__(
        self, parameters: PgnParameters, *, where: str, room: _Room, records: bool
    ) -> None:
        super().__init__()
        self._records = records
        self._room = room
        self._plies = parameters.plies
        self._variations = parameters.variations
        self._where = where
        self._ply = 0
        self._cut = [False]  # for each open variation, whether a move was left out
        self._skips = False  # within a skipped variation

    def begin_variation(self) -> Any:
        """Skip a variation that is not wanted, or that replaces a move left out."""
        self._skips = not self._variations or self._cut[-1]
        if self._skips:
            return chess.pgn.SKIP
        if len(self._cut) > _MAX_DEPTH:
            raise ConfigError(f"{self._where}: variations are nested more than {_MAX_DEPTH} deep")
        self._take_room(self._ply // _COPIED)
        self._cut.append(False)
        return super().begin_variation()

    def end_variation(self) -> None:
        """End a variation."""
        if not self._skips:
            self._cut.pop()
            super().end_variation()
        self._skips = False

    def begin_parse_san(self, board: chess.Board, san: str) -> Any:
        """Leave out moves after the last ply, and in a record what follows an illegal one."""
        self._ply = len(board.move_stack) + 1
        if self._plies is not None and self._ply > self._plies:
            self._cut[-1] = True
        if self._records and not self._cut[-1]:
            try:
                board.parse_san(san)
            except ValueError as error:
                place = ", in a variation" * (len(self._cut) > 1)
                self.game.errors.append(ValueError(f"ply {self._ply}{place}: {error}"))
                self._cut[-1] = True
                self._take_room()
        return chess.pgn.SKIP if self._cut[-1] else None

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        """Add a move."""
        self._take_room(3 if self._records and len(self._cut) == 1 else 1)
        super().visit_move(board, move)

    def visit_comment(self, comment: str) -> None:
        """Add a comment to a move that was not left out; one more counts as a move."""
        if self.variation_stack[-1].comment or self.starting_comment:
            self._take_room()
        if not self._cut[-1]:
            super().visit_comment(comment)

    def visit_nag(self, nag: int) -> None:
        """Add a glyph to a move that was not left out."""
        if not self._cut[-1]:
            super().visit_nag(nag)

    def _take_room(self, moves: int = 1) -> None:
        self._room.moves -= moves
        if self._room.moves < 0:
            raise ConfigError(
                f"{self._where}: the file holds too many moves; split it, or set plies"
            )

    def handle_error(self, error: Exception) -> None:
        """Refuse the game."""
        place = f": ply {self._ply}" if self._ply else ""
        raise ConfigError(f"{self._where}{place}: {error}") from None


def _read_game(file: io.StringIO, builder: _Builder) -> chess.pgn.Game | None:
    return chess.pgn.read_game(file, Visitor=lambda: builder)


def pgn_text(path: Path) -> str:
    """Return the text of a PGN file: UTF-8, or else ISO 8859-1, the standard's encoding.

    Raises:
      ConfigError: unreadable, or not a text.
    """
    check_file(path)
    with reading(path, ConfigError):
        return decoded(path.read_bytes(), source=str(path))


_INDENTED_TAG: Final = re.compile(r"^[ \t]+\[(?=[A-Za-z]\w* +\")", re.MULTILINE)
_EMPTY_LINES: Final = re.compile(r"(\"[ \t]*\][ \t]*\n)(?:[ \t]*\n){2,}(?=[ \t]*[^\s\[])")


def decoded(content: bytes, *, source: str) -> str:
    """Return the text of the content of a PGN file, as `pgn_text`."""
    if b"\0" in content:
        raise ConfigError(f"{source}: is not a text, so it is not PGN")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # python-chess reads a second game where tags are indented, or more than a line is empty.
    return _EMPTY_LINES.sub(r"\1\n", _INDENTED_TAG.sub("[", text))


def _leaves(game: chess.pgn.Game) -> Iterator[chess.pgn.GameNode]:
    """Yield the last node of each line, the main line first."""
    stack: list[chess.pgn.GameNode] = [game]
    while stack:
        node = stack.pop()
        if node.is_end():
            yield node
        stack += reversed(node.variations)


def _name(headers: chess.pgn.Headers) -> str:
    parts = (headers.get(tag, "") for tag in ("ECO", "Opening", "Variation"))
    name = " ".join(part.strip() for part in parts if part.strip("? "))
    return "".join(c for c in name if c.isprintable())[:MAX_NAME]


# -- records ---------------------------------------------------------------------------------------

_LOSERS: Final = {"1-0": 1, "0-1": 0}
_RESULTS: Final[Mapping[tuple[float, ...], str]] = {
    (1.0, -1.0): "1-0",
    (-1.0, 1.0): "0-1",
    (0.0, 0.0): "1/2-1/2",
}
_LONGEST_NAME = 200
_MOST_WARNINGS = 10
_WHOLE: Final = PgnParameters(variations=True)
_GLYPHS: Final = ("", "!", "?", "!!", "??", "!?", "?!")  # by number; others are written as $7


class PgnRecords:
    """The record format ``pgn``.

    A half-move of chess is a sense of nothing and a request; a null move (``--``) is a pass. Senses
    are not written, and refused requests are passes. From the first move that chess forbids on,
    such as the capture of a king, moves are a comment. A game that was read is written with its
    variations, comments, glyphs and tags, and with the comments, variations and values
    (``[%eval 0.34]``) that were added to its record; if it was changed, what still hangs on its
    main line.
    """

    suffix = ".pgn"

    def __init__(self, parameters: object = None) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return a record of rbc as PGN, without senses.

        Raises:
          RecordError: the record is of another game, or its moves are not legal in it.
        """
        if record.game != "rbc":
            raise RecordError(f"PGN holds games of chess, not of {record.game}; write jsonl")
        parameters = build_parameters(
            RbcParameters, record.game_parameters, where="game_parameters"
        )
        found = _earlier(str(record.tags.get(self.suffix, "")))
        file, earlier, nodes = found or (None, record, {})
        if file is not None and is_same_game(record, earlier):
            _write_notes(record, nodes, earlier)
            return f"{file}\n"
        if file is None or record.game_parameters != earlier.game_parameters:
            file = chess.pgn.Game()
            start = RbcGame(parameters).new_initial_state().board()
            if start.fen() != chess.STARTING_FEN:
                file.setup(start)
        for side, player in zip(("White", "Black"), record.players, strict=True):
            file.headers[side] = _line(player.name or player.agent or "?")
        if record.started:
            file.headers["Date"] = record.started[:10].replace("-", ".")
        file.headers["Result"] = _RESULTS.get(record.returns, "*") if record.terminated else "*"
        node, rest = _written(file, _moves_taken(record, RbcGame(parameters)))
        nodes = {2 * half: each for half, each in enumerate([file, *file.mainline()])}
        _write_notes(record, nodes, None if earlier is record else earlier)
        if rest:
            moves = " ".join("--" if move == chess.Move.null() else move.uci() for move in rest)
            node.comment = f"The game goes on with a move that chess forbids: {moves}"
        return f"{file}\n"

    def read(self, data: bytes, *, source: str) -> list[GameRecord]:
        """Return the games of a file, with the variations and comments of their main lines.

        Raises:
          RecordError: not PGN, or no game of chess; names file and game.
        """
        records, refused = list[GameRecord](), list[ConfigError]()
        try:
            text = decoded(data, source=source)
            for where, game in games_of(text, _WHOLE, source=source, refused=refused):
                try:
                    records.append(_record(game, where))
                except RecordError as error:
                    refused.append(ConfigError(str(error)))
        except ConfigError as error:
            raise RecordError(str(error)) from error
        if not records:
            raise RecordError(str(refused[0]) if refused else f"{source}: holds no game of chess")
        if refused:
            places = (str(error).removeprefix(f"{source}:") for error in refused[:_MOST_WARNINGS])
            said = (f"line {place}" if place[0].isdigit() else place.strip() for place in places)
            before: Any = records[0].tags.get("warnings", [])
            records[0].tags = {**records[0].tags, "warnings": [*before, *said]}
        return records


def _moves_taken(record: GameRecord, game: RbcGame) -> list[chess.Move]:
    """Return the moves that were made, null moves for passes and for those that were refused."""
    state: RbcState = game.new_initial_state()
    moves = []
    for move in record.moves:
        player = state.current_player()
        try:
            state.apply_action(move.action)
        except MiaiError as error:
            raise RecordError(f"the record cannot be written as PGN: {error}") from error
        if move.action > SENSE_NOTHING:
            observation = state.observation(player)
            assert observation is not None, "the mover observes what was made of its request"
            data: Any = observation.data
            taken: str | None = data["taken"]
            moves.append(chess.Move.null() if taken is None else chess.Move.from_uci(taken))
    return moves


def _written(
    file: chess.pgn.Game, moves: Sequence[chess.Move]
) -> tuple[chess.pgn.GameNode, Sequence[chess.Move]]:
    """Make moves the main line, up to the first that chess forbids.

    Returns the last node, behind which nothing stays, and the moves left.
    """
    node: chess.pgn.GameNode = file
    board, rest = file.board(), moves[len(moves) :]
    for number, move in enumerate(moves):
        if move and not board.is_legal(move):
            rest = moves[number:]
            break
        following = node.next()
        if following is None or following.move != move:
            following = node.add_main_variation(move)
        node = following
        board.push(move)
    node.variations.clear()
    return node, rest


def _write_notes(
    record: GameRecord, nodes: dict[int, chess.pgn.GameNode], read: GameRecord | None
) -> None:
    """Write the comments, variations and values that a record has beyond those of its file.

    Args:
      nodes: by the number of the position after a request; those of the variations are added. What
        is said after a sense has no place in chess.
    """
    comments, variations = added_notes(record, read)
    places = dict(nodes)  # after a sense, the node in which it was made
    steps = [(ply, move.action) for ply, move in enumerate(record.moves)]
    for number, (position, action) in enumerate(steps + (read.variations if read else []), 1):
        if action <= SENSE_NOTHING and position in places:
            places.setdefault(number, places[position])
    for number, (position, action) in variations:
        node = places.get(position)
        if node is not None and action <= SENSE_NOTHING:
            places[number] = node
        elif node is not None:
            board = node.board()
            move = chess_move(move_of_action(action, pawns=board.pawns))
            if move is not None and board.is_legal(move):
                nodes[number] = places[number] = node.add_variation(move)
    for position, said in comments:
        if (node := nodes.get(position)) is not None:
            node.comment = " ".join(filter(None, [node.comment, _eval(record, position), said]))


def _eval(record: GameRecord, position: int) -> str:
    """Return the value of a true position as lichess writes it, in pawns for White."""
    move = record.moves[position] if position < len(record.moves) else None
    truth = None if move is None else move.statistics.get("truth")
    value = Evaluation.from_statistics(truth) if isinstance(truth, Mapping) else None
    if move is None or value is None or value.unit is not ValueUnit.CENTIPAWNS:
        return ""
    white = (-1) ** move.actor * value.value
    if abs(white) > WIN - 100:  # a king is captured within so many half-moves
        return f"[%eval #{'-' * (white < 0)}{max(1, int(WIN - abs(white)) // 2)}]"
    return f"[%eval {white / 100:.2f}]"


def _earlier(
    text: str,
) -> tuple[chess.pgn.Game, GameRecord, dict[int, chess.pgn.GameNode]] | None:
    """Return the game of a text from which a record was read, with the nodes of its positions.

    None if the text has none.
    """
    nodes: dict[int, chess.pgn.GameNode] = {}
    try:
        ((where, file),) = games_of(text, _WHOLE, source=".pgn", refused=[])
        return file, _record(file, where, nodes), nodes
    except (MiaiError, ValueError):
        return None


def _said(node: chess.pgn.GameNode) -> str:
    nags = sorted(node.nags)
    glyphs = " ".join(_GLYPHS[nag] if 0 < nag < len(_GLYPHS) else f"${nag}" for nag in nags)
    said = chess.pgn.ARROWS_REGEX.sub(" ", node.comment).strip()  # which are drawn
    return "\n\n".join(filter(None, (node.starting_comment, glyphs, said)))


def _marks(node: chess.pgn.GameNode) -> Iterator[tuple[str, str]]:
    """Yield the squares and arrows that lichess colours (``[%csl Gd4][%cal Gb5c6]``)."""
    for arrow in node.arrows():
        head = chess.square_name(arrow.head)
        sign = "circle" if arrow.tail == arrow.head else f">{head}"
        yield chess.square_name(arrow.tail), sign


def _record(
    game: chess.pgn.Game, where: str, nodes: dict[int, chess.pgn.GameNode] | None = None
) -> GameRecord:
    start = game.board().fen(en_passant="fen")
    try:
        rules = RbcGame(build_parameters(RbcParameters, {"fen": start}, where="FEN"))
        actions = [action for node in game.mainline() for action in _actions(node)]
        result = game.headers.get("Result", "*")
        record = record_of_actions(
            rules,
            actions,
            players=[_line(game.headers.get(side, side)) for side in ("White", "Black")],
            loser=_LOSERS.get(result),
            returns=(0.0, 0.0) if result == "1/2-1/2" else None,
            detail=f"the file gives {_line(result)}" if result != "*" else "",
        )
        main = ((node, 2 * number) for number, node in enumerate([game, *game.mainline()]))
        said = add_tree(
            record,
            rules,
            main,
            children=lambda node: node.variations,
            actions=lambda node, _: _actions(node),
            comment=_said,
            marks=_marks,
            nodes={} if nodes is None else nodes,
        )
        warnings: list[Json] = [*map(str, game.errors[:_MOST_WARNINGS]), *filter(None, [said])]
        record.tags = {PgnRecords.suffix: f"{game}\n"} | (
            {"warnings": warnings} if warnings else {}
        )
        return record
    except (MiaiError, ValueError) as error:
        raise RecordError(f"{where}: {str(error).splitlines()[0]}") from error


def _actions(node: chess.pgn.GameNode) -> tuple[int, int]:
    return SENSE_NOTHING, action_of(kernel_move(node.move or None))


def _line(text: str) -> str:
    return "".join(c for c in text if c.isprintable())[:_LONGEST_NAME] or "?"
