"""Writing SGF: nodes and text, game records with their statistics, and bare states."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import takewhile
from typing import Any, Final

from sgfmill import sgf

from miai import __version__
from miai.errors import MiaiError, RecordError
from miai.parameters import build_parameters
from miai.plain import Json, one_line
from miai.playing.replay import (
    add_tree,
    added_notes,
    has_same_end,
    is_same_game,
    record_of_actions,
)
from miai.record import (
    MOST_GAMES,
    ONLY_FIRST,
    GameRecord,
    MoveRecord,
    PlayerRecord,
    Termination,
    refuse_long,
)
from miai.values import Evaluation, ValueUnit
from miai_go.rules.board import BLACK, WHITE
from miai_go.rules.coordinates import vertex
from miai_go.rules.game import GoGame, GoState, Phase, Start
from miai_go.rules.game_parameters import GoParameters, Rules
from miai_go.rules.scoring import result_text
from miai_go.sgf.reading import SgfGame, read_bytes, text_of
from miai_go.sgf.results import StatedResult
from miai_go.sgf.rule_sets import NAMES

APPLICATION: Final = "miai"

_PLACES: Final = "BW"
_LONGEST_NAME = 200  # that is read, in characters
_LONGEST_LABEL = 8  # that is drawn on a point
_COLORS: Final = "bw"


# -- files, nodes and text, for every writer of SGF ---------------------------------------------


def new_sgf(size: int, *, black: Iterable[int], white: Iterable[int]) -> Any:
    """Return an sgfmill `Sgf_game` with set-up stones on these points, in UTF-8."""
    file = sgf.Sgf_game(size=size, encoding="UTF-8")
    stones = [[divmod(point, size) for point in points] for points in (black, white)]
    file.get_root().set_setup_stones(*stones)
    return file


def set_move(node: Any, color: int, action: int) -> None:
    """Write a move to a node of sgfmill: 0 Black, 1 White; `size * size` is the pass."""
    size = node.get_size()
    node.set_move(_COLORS[color], divmod(action, size) if action < size * size else None)


def set_text(node: Any, name: str, text: str) -> None:
    """Write a text property to a node of sgfmill, which escapes it."""
    node.set(name, clean_text(text))


def clean_text(text: str) -> str:
    """Return text without control characters and lone surrogates, which readers do not expect."""
    spaces = "\n\t\u3000\xa0\u200d"  # and what joins parts of a sign
    printable = "".join(c for c in text if c in spaces or c.isprintable())
    return printable.encode("utf-8", "replace").decode("utf-8")


# -- games ---------------------------------------------------------------------------------------


class SgfRecords:
    """The record format ``sgf``: moves, rules, players, result, clock and statistics.

    A game that was read is written as it was, with its variations, comments and all other
    properties, and with the comments and variations that were added to its record; if it was
    changed, what still hangs on its main line. In other games, a move's statistics are in its
    comment. Only the format ``jsonl`` keeps what SGF cannot express, such as seeds.
    """

    suffix = ".sgf"

    def __init__(self, parameters: object = None) -> None:
        pass

    def write(self, record: GameRecord) -> str:
        """Return a record of Go as SGF.

        Raises:
          RecordError: the record is of another game, or its moves are not legal in it.
        """
        if record.game != "go":
            raise RecordError(f"SGF records games of Go, not of {record.game}; write jsonl")
        text = str(record.tags.get(self.suffix, ""))
        earlier = _earlier(text) if text else None
        if earlier is not None and is_same_game(record, earlier[1]):
            if not any(added_notes(record, earlier[1])):
                return text
            _write_notes(record, earlier[2], earlier[1])
            return sgf_text(earlier[0].parsed)
        try:
            parameters = build_parameters(
                GoParameters, record.game_parameters, where="game_parameters"
            )
            state = _game(parameters).new_initial_state()
            node, played = (None, 0) if earlier is None else _common_part(record, *earlier[:2])
            says_end = earlier is None or node is None or not has_same_end(record, earlier[1])
            if node is None:
                node = game_file(state.game).get_root()
                _write_head(node, record, parameters.resolved_rules())
            for move in record.moves[:played]:
                state.apply_action(move.action)
            nodes = {played: node}
            for position, move in enumerate(record.moves[played:], played + 1):
                node = nodes[position] = _write_action(node, state, move)
            _write_notes(record, nodes, None if earlier is None else earlier[1])
        except MiaiError as error:
            if isinstance(error, RecordError):
                raise
            raise RecordError(f"the record cannot be written as SGF: {error}") from error
        if record.termination != Termination.TERMINAL and record.detail and says_end:
            node.add_comment_text(clean_text(f"{record.termination}: {record.detail}"))
        return sgf_text(node.owner)

    def read(self, data: bytes, *, source: str) -> list[GameRecord]:
        """Return the games of a file, with the variations and comments of their main lines.

        A game that sets up stones in the middle, or in which a player moves twice, begins after
        that. Who won is what the file states; where two passes end the game, and stones are counted
        as they lie, a count that differs is a warning. The tag `warnings` of a record lists what
        was wrong in the file.

        Raises:
          RecordError: the file exceeds a limit, or has no game that can be read.
        """
        records: list[tuple[SgfGame, GameRecord]] = []
        refused: list[Exception] = []
        try:
            games = read_bytes(data, source=source)
            opened = games[:MOST_GAMES]
            refuse_long(source, moves=sum(game.length - 1 for game in opened))
            for game in opened:
                try:
                    records.append((game, _record(game)))
                except (MiaiError, ValueError) as error:
                    refused.append(error)
            if not records:
                raise refused[0]
            refused += [RecordError(ONLY_FIRST)] * (len(games) > MOST_GAMES)
        except (MiaiError, ValueError) as error:
            if isinstance(error, RecordError):
                raise
            text = str(error)
            text = text if text.startswith(source) else f"{source}: {text}"
            raise RecordError(text) from error
        for each in refused:
            records[0][0].warn(one_line(str(each)).removeprefix(f"{source}: "))
        for game, record in records:
            warnings: list[Json] = [clean_text(warning) for warning in game.warnings]
            record.tags = {self.suffix: sgf_text(game.parsed)} | (
                {"warnings": warnings} if warnings else {}
            )
        return [record for _, record in records]


_LOSSES: Final = {
    "resignation": Termination.RESIGNATION,
    "time": Termination.TIME,
    "forfeit": Termination.PROTOCOL,
}


def _record(file: SgfGame, nodes: dict[int, Any] | None = None) -> GameRecord:
    """Return the main line of a game; see `add_tree` for `nodes`. Raises `MiaiError`."""
    line = file.main_line()
    game = file.playable(line, dead_stones="none")
    stated = file.stated_result()
    state = file.replay(game, line)
    over, counted = state.passes > 1, state.score_with_dead(()).margin
    if (over or state.is_terminal()) and not (over and _is_end(counted, stated)):
        if over and stated is not None and stated.by not in _LOSSES:
            differs = f"differs from {result_text(counted)}, the count of the stones as they lie"
            file.warn(f"RE[{clean_text(file.result)[:60]}] {differs}")
        # The rules do not say who won: they would need another pass.
        open_end = {"passes": max(2, state.passes + 1), "repetition": "allowed"}
        game = file.playable(line, dead_stones="none", **open_end)
    names = [file.black or "Black", file.white or "White"]
    loser, reason, returns = None, Termination.RESIGNATION, None
    if stated is not None and stated.by in _LOSSES and stated.winner is not None:
        loser, reason = 1 - stated.winner, _LOSSES[stated.by]
    elif stated is not None:
        returns = (stated.sign, -stated.sign)
    said = [f"the file gives {clean_text(file.result)[:60]}"] if file.result else []
    record = record_of_actions(
        game,
        line.actions,
        players=[clean_text(name)[:_LONGEST_NAME] for name in names],
        loser=loser,
        reason=reason,
        returns=returns,
        detail=", ".join(said),
    )
    numbered = enumerate(line.nodes, 1)
    main = ((node, plies if number >= line.begin else None) for number, (node, plies) in numbered)
    if warning := add_tree(
        record,
        game,
        main,
        children=list,
        actions=file.move_of,
        comment=lambda node: clean_text(text_of(node, "C")),
        marks=_marks_of,
        nodes={} if nodes is None else nodes,
    ):
        file.warn(warning)
    return record


def _write_notes(record: GameRecord, nodes: dict[int, Any], read: GameRecord | None) -> None:
    """Write the comments and variations that a record has beyond those of its file.

    Args:
      nodes: by the number of the position; those of the variations are added.
    """
    comments, variations = added_notes(record, read)
    parameters = build_parameters(GoParameters, record.game_parameters, where="parameters")
    colors = {0: _game(parameters).start.to_move}
    colors |= {position: move.actor for position, move in enumerate(record.moves)}
    steps = enumerate(() if read is None else read.variations, len(record.moves) + 1)
    for number, (position, _) in steps:
        colors[number] = 1 - colors[position] if position in colors else 0
    for number, (position, action) in variations:
        if position in nodes and position in colors and action <= nodes[position].get_size() ** 2:
            nodes[number] = nodes[position].new_child()
            set_move(nodes[number], colors[position], action)
            colors[number] = 1 - colors[position]
    for position, said in comments:
        if position in nodes:
            nodes[position].add_comment_text(clean_text(said))


_MARKS: Final[Mapping[str, str]] = {
    "TR": "triangle",
    "SQ": "square",
    "SL": "square",
    "CR": "circle",
    "MA": "cross",
    "TB": "dark",
    "TW": "light",
}
_LINES: Final[Mapping[str, str]] = {"AR": ">", "LN": "-"}


def _marks_of(node: Any) -> Iterator[tuple[str, str]]:
    """Yield the marked points of a node with their signs; malformed properties are left out."""
    size = node.get_size()
    for name in ("LB", *_LINES, *_MARKS):
        with contextlib.suppress(ValueError, TypeError):  # sgfmill's of a label without its text
            for entry in sorted(node.get(name)) if node.has_property(name) else ():
                (row, column), more = (entry, "") if name in _MARKS else entry
                if name in _LINES:
                    sign = _LINES[name] + vertex(more[0] * size + more[1], size)
                else:
                    sign = _MARKS.get(name) or f"={one_line(clean_text(more))[:_LONGEST_LABEL]}"
                yield vertex(row * size + column, size), sign


def _earlier(text: str) -> tuple[SgfGame, GameRecord, dict[int, Any]] | None:
    """Return the game of a text from which a record was read, with the nodes of its positions.

    None if the text has none.
    """
    nodes: dict[int, Any] = {}
    try:
        (file,) = read_bytes(text.encode("utf-8", "replace"))
        return file, _record(file, nodes), nodes
    except (MiaiError, ValueError):
        return None


def _common_part(record: GameRecord, file: SgfGame, read: GameRecord) -> tuple[Any, int]:
    """Cut a file where a changed record leaves its main line, and take over the record's head.

    Returns the node there, behind which the record's own moves begin, and their number before; no
    node if the games are not of the same parameters.
    """
    pairs = zip(record.moves, read.moves, strict=False)
    played = len(list(takewhile(lambda pair: pair[0].action == pair[1].action, pairs)))
    line = file.main_line()
    nodes = [node for node, plies in line.nodes[line.begin - 1 :] if plies <= played]
    if not nodes or record.game_parameters != read.game_parameters:
        return None, 0
    if len(record.moves) == played:
        for child in nodes[-1][:]:
            child.delete()
    root = file.root
    for place, player, other in zip(_PLACES, record.players, read.players, strict=True):
        if player.name != other.name:
            set_text(root, f"P{place}", player.name or player.agent)
    if not has_same_end(record, read):
        set_text(root, "RE", _result(record))
    return nodes[-1], played


def _is_end(counted: float, stated: StatedResult | None) -> bool:
    """Return whether Black's margin at the end of a game is the result that its file states."""
    if stated is None or stated.by in _LOSSES:
        return False
    return stated.sign * counted > 0 if math.isnan(stated.margin) else stated.margin == counted


def state_to_sgf(state: GoState, *, black: str = "", white: str = "") -> str:
    """Return a state's game so far as SGF, with the players' names `black` and `white`."""
    start = state.game.new_state(state.start)
    file = game_file(state.game, start.start)
    root = file.get_root()
    for name, text in (("PB", black), ("PW", white), ("RE", state.result_to_string())):
        if text:
            set_text(root, name, text)
    for action in state.history():
        move = MoveRecord(ply=0, actor=start.current_player(), action=action, text="")
        root = _write_action(root, start, move)
    return sgf_text(file)


def _game(parameters: GoParameters) -> GoGame:
    # Replaying moves needs no judge, so an engine that judged the game need not be installed.
    if parameters.resolved_rules().dead_stones != "agreement":
        parameters = parameters.model_copy(update={"dead_stones": "none"})
    return GoGame(parameters)


def game_file(game: GoGame, start: Start | None = None) -> Any:
    """Return an sgfmill `Sgf_game` of a game without moves: rules, komi and starting position."""
    position = game.start if start is None else start
    file = new_sgf(game.size, black=position.black, white=position.white)
    root = file.get_root()
    root.set("AP", (APPLICATION, __version__))
    root.set("KM", game.rules.komi)
    root.set("RU", NAMES[game.parameters.rules])
    handicap = game.parameters.handicap_stones if position == game.start else 0
    if handicap > 1:
        root.set("HA", handicap)
    if position.to_move != (WHITE if handicap > 1 else BLACK) or position.white:
        root.set("PL", _COLORS[position.to_move])
    return file


def _write_head(root: Any, record: GameRecord, rules: Rules) -> None:
    for place, player in zip(_PLACES, record.players, strict=False):
        set_text(root, f"P{place}", player.name or player.agent)
    set_text(root, "RE", _result(record))
    if record.started:
        set_text(root, "DT", record.started[:10])
    _write_clock(root, record.time_control)
    event = record.tags.get("tournament")
    if isinstance(event, str) and event:
        set_text(root, "EV", event)
    lines = [f"{p}: {_player(player)}" for p, player in zip(_PLACES, record.players, strict=False)]
    lines.append(", ".join(f"{name} {value}" for name, value in asdict(rules).items()))
    lines.append(f"go version {record.game_version}, seed {record.seed}")
    set_text(root, "C", "\n".join(lines))


def _player(player: PlayerRecord) -> str:
    settings = " ".join(f"{name}={value}" for name, value in player.parameters.items())
    cpu = "" if player.cpu_seconds is None else f", {player.cpu_seconds:.2f} s CPU"
    version = f" ({player.version})" if player.version else ""
    return f"{player.agent}{version} {settings}; {player.seconds:.2f} s{cpu}"


def _write_clock(root: Any, control: Mapping[str, Any]) -> None:
    kind = control.get("kind", "none")
    seconds = control.get("seconds", 0.0)
    if kind == "none":
        return
    if kind != "per-move":
        root.set("TM", float(seconds))
    overtime = {
        "per-move": f"{seconds:g} s per move",
        "fischer": f"{control.get('increment', 0.0):g} s increment",
        "byo-yomi": f"{control.get('periods', 0)}x{control.get('period_seconds', 0.0):g} byo-yomi",
    }
    if kind in overtime:
        root.set("OT", overtime[kind])


def _write_action(node: Any, state: GoState, move: MoveRecord) -> Any:
    """Apply an action to `state` and write it: as a move, or in the agreement as a comment.

    Returns the node of the move; it is the first behind `node`, so that it is of the main line.
    """
    game = state.game
    if state.phase != Phase.PLAY:
        name = state.action_to_string(move.action)
        player = game.info.player_names[move.actor]
        verb = "marks dead: " if move.action < game.pass_action else ""
        node.add_comment_text(f"{player} {verb}{name}")
    else:
        node = node.new_child(0)
        set_move(node, move.actor, move.action)
        comment = _comment(move, game)
        if comment:
            set_text(node, "C", comment)
    state.apply_action(move.action)
    return node


def _comment(move: MoveRecord, game: GoGame) -> str:
    """Return the agent's statistics of a move; values are for the player who moved."""
    lines = ["opening"] if move.opening else []
    if move.seconds is not None:
        lines.append(f"seconds {move.seconds:.3f}")
    evaluation, unit = Evaluation.from_statistics(move.statistics), ValueUnit.of(move.statistics)
    if evaluation is not None:
        lines.append(evaluation.text(game.info))
    for name, value in move.statistics.items():
        worded = evaluation is not None and name in ("value", "value_unit")
        if not worded and name != "visits":  # their first five are in `top`
            lines.append(f"{name} {_statistic(name, value, unit, game)}")
    return "\n".join(lines)


def _statistic(name: str, value: Any, unit: ValueUnit, game: GoGame) -> str:
    if name == "pv" and isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(_action(action, game) for action in value)
    if name == "top" and isinstance(value, Sequence) and not isinstance(value, str):
        rows = [row for row in value if isinstance(row, Sequence) and len(row) == len("avq")]
        return "; ".join(
            f"{_action(a, game)} visits {n} {_value(q, unit, game)}" for a, n, q in rows
        )
    return str(value)


def _value(value: Any, unit: ValueUnit, game: GoGame) -> str:
    evaluation = Evaluation.from_statistics({"value": value})
    if evaluation is None:
        return f"value {value}"
    return replace(evaluation, unit=unit).text(game.info)


def _action(action: Any, game: GoGame) -> str:
    if type(action) is int and 0 <= action <= game.pass_action:
        return vertex(action, game.size)
    return str(action)


def _result(record: GameRecord) -> str:
    """Return RE: ``B+3.5``, ``B+R`` resignation, ``B+T`` time, ``B+F`` any other forfeit."""
    if record.loser is not None:
        winner = _PLACES[1 - record.loser]
        letters = {Termination.RESIGNATION: "R", Termination.TIME: "T"}
        return f"{winner}+{letters.get(record.termination, 'F')}"
    if record.termination == Termination.TERMINAL:
        return record.detail
    if record.termination == Termination.UNFINISHED:
        return "?"
    if len(set(record.returns)) == 1:
        return "0"
    return f"{_PLACES[max(range(2), key=record.returns.__getitem__)]}+"


def sgf_text(file: Any) -> str:
    """Return the text of an sgfmill `Sgf_game`."""
    text: str = file.serialise().decode("utf-8")
    return text
