"""The commands of miai as an engine.

The specification is Gunnar Farnebäck's, GTP version 2, draft 2 (2002); ``lz-`` commands are Leela
Zero's, ``kata-`` commands KataGo's, ``kgs-`` commands kgsGtp's, ``gomill-`` commands gomill's.
docs/gtp.md is the page for users.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeAlias

import numpy as np

from miai import __version__
from miai.errors import MiaiError
from miai.files import write_text
from miai.search.protocol import SearchResult
from miai.values import Evaluation
from miai_go.gtp.analysis_protocol import (
    AnalysisDialect,
    AnalysisRequest,
    info_line,
    parse_request,
    parse_symmetries,
    raw_answers,
)
from miai_go.gtp.clocks import (
    KGS_KINDS,
    KINDS,
    SessionClock,
    TimeSettings,
    named_settings,
    plain_settings,
    time_left,
)
from miai_go.gtp.engine_session import Session
from miai_go.gtp.kata_rules import KGS_NAMES, RULE_PARAMETERS, changed_rule, parse_rules, rules_json
from miai_go.gtp.players import SearchPlayer
from miai_go.gtp.session_table import FreeState, free_handicap, load_sgf, table_as_sgf
from miai_go.gtp.wire import (
    MAX_LINE_BYTES,
    Command,
    GtpError,
    TooLong,
    color,
    number,
    one_line,
    parse,
    point,
    response,
    whole,
)
from miai_go.rules.chains import fills_eye
from miai_go.rules.coordinates import MAX_SIZE, vertex
from miai_go.rules.game import Phase
from miai_go.rules.game_parameters import MIN_HANDICAP, fixed_handicap, max_fixed_handicap
from miai_go.rules.scoring import result_text, without_dead

Arguments: TypeAlias = tuple[str, ...]
Handler: TypeAlias = Callable[[Session, Arguments], str]
"""Returns the response to a command with these arguments. Raises `MiaiError` to refuse it."""

Streamer: TypeAlias = Callable[[Session, Command], None]
"""Writes the response itself. Raises `MiaiError` before the first line to refuse the command."""

COMMANDS: Final[dict[str, Handler]] = {}
"""Commands that answer when they are done."""

STREAMING: Final[dict[str, Streamer]] = {}
"""Commands that answer line by line."""


def _command(
    *names: str, at_least: int = 0, at_most: int | None = None
) -> Callable[[Handler], Handler]:
    """Register a handler under its names, with the number of arguments that it needs.

    `at_most` is `at_least` by default. A command that takes no arguments ignores them.
    """
    limit = at_least if at_most is None else at_most

    def register(handler: Handler) -> Handler:
        def checked(session: Session, words: Arguments) -> str:
            if limit and not at_least <= len(words) <= limit:
                raise GtpError("syntax error: wrong number of arguments")
            return handler(session, words)

        COMMANDS.update(dict.fromkeys(names, checked))
        return handler

    return register


# Commands that only report. They ignore arguments.

_REPORTS: Final[dict[str, Callable[[Session], str]]] = {
    "protocol_version": lambda _: "2",
    "name": lambda session: f"miai {session.agent}".strip(),
    "list_commands": lambda _: "\n".join(sorted({*COMMANDS, *STREAMING})),
    "cputime": lambda session: f"{session.player.agent.cpu_seconds():.3f}",
    "gomill-cpu_time": lambda session: f"{session.player.agent.cpu_seconds():.3f}",
    "get_komi": lambda session: f"{session.table.game.rules.komi:g}",
    "kata-get-rules": lambda session: rules_json(session.table.game.rules),
    "kata-list_time_settings": lambda _: " ".join(KINDS),
    "showboard": lambda session: f"\n{session.table.state}",
    "final_score": lambda session: result_text(_margin(session)),
    "stop": lambda _: "",  # its line alone ended the analysis
}


def _reporter(report: Callable[[Session], str]) -> Handler:
    return lambda session, _: report(session)


COMMANDS.update({name: _reporter(report) for name, report in _REPORTS.items()})


# The engine itself.


@_command("version")
def _version(session: Session, words: Arguments) -> str:
    version = session.player.agent.version
    return f"{__version__} ({version})" if version else __version__


@_command("known_command", at_least=1)
def _known_command(session: Session, words: Arguments) -> str:
    return "true" if words[0] in COMMANDS or words[0] in STREAMING else "false"


@_command("quit")
def _quit(session: Session, words: Arguments) -> str:
    session.ended = True
    return ""


@_command("gomill-describe_engine")
def _describe(session: Session, words: Arguments) -> str:
    agent = session.player.agent
    parameters = " ".join(f"{name}={value}" for name, value in agent.settings.items())
    return one_line(f"miai {session.agent} {parameters}")


# The board and the rules.


@_command("boardsize", at_least=1, at_most=2)
def _boardsize(session: Session, words: Arguments) -> str:
    size = whole(words[0], "size")
    if words[1:] not in ((), words[:1]) or not 1 <= size <= MAX_SIZE:
        raise GtpError("unacceptable size")
    try:
        session.set_up(lambda: session.table.clear(board_size=size))
    except MiaiError as error:
        raise GtpError(f"unacceptable size: {error}") from error
    return ""


@_command("clear_board")
def _clear_board(session: Session, words: Arguments) -> str:
    session.set_up(session.table.clear, begin=True)
    return ""


@_command("komi", at_least=1)
def _komi(session: Session, words: Arguments) -> str:
    komi = number(words[0], "komi")
    session.set_up(lambda: session.table.set_komi(komi))
    return ""


@_command("kata-set-rules")
def _set_rules(session: Session, words: Arguments) -> str:
    if not words:
        raise GtpError("syntax error: name a rule set, or give a dictionary")
    return _change_rules(session, parse_rules(" ".join(words)))


@_command("kata-set-rule", at_least=2)
def _set_rule(session: Session, words: Arguments) -> str:
    return _change_rules(session, changed_rule(session.table.game.rules, words[0], words[1]))


@_command("kgs-rules", at_least=1)
def _kgs_rules(session: Session, words: Arguments) -> str:
    if words[0].lower() not in KGS_NAMES:
        raise GtpError(f"kgs-rules takes {', '.join(KGS_NAMES)}")
    return _change_rules(session, parse_rules(KGS_NAMES[words[0].lower()]))


def _change_rules(session: Session, values: Mapping[str, Any]) -> str:
    """Change the rules; komi and position stay."""
    unset = dict.fromkeys(RULE_PARAMETERS)
    session.set_up(lambda: session.table.change(**{**unset, **values}))
    return ""


@_command("loadsgf", at_least=1, at_most=2)
def _loadsgf(session: Session, words: Arguments) -> str:
    before = whole(words[1], "move number") if len(words) > 1 else None
    session.set_up(lambda: load_sgf(session.table, Path(words[0]), before=before))
    return ""


@_command("printsgf", at_most=1)
def _printsgf(session: Session, words: Arguments) -> str:
    over = session.table.state.phase == Phase.OVER
    text = table_as_sgf(session.table, result=_REPORTS["final_score"](session) if over else "")
    if not words:
        return f"\n{text}"
    path = Path(words[0])
    try:
        write_text(path, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise GtpError(f"cannot write {path}: {reason}") from error
    return ""


# Handicap stones (GTP version 2 draft 2, section 4.1).


@_command("fixed_handicap", at_least=1)
def _fixed_handicap(session: Session, words: Arguments) -> str:
    session.table.require_empty()
    try:
        points = fixed_handicap(whole(words[0], "handicap"), session.table.game.size)
    except ValueError as error:
        raise GtpError(f"invalid number of stones: {error}") from error
    return _place(session, list(points))


@_command("place_free_handicap", at_least=1)
def _place_free_handicap(session: Session, words: Arguments) -> str:
    session.table.require_empty()
    stones, size = whole(words[0], "handicap"), session.table.game.size
    if not MIN_HANDICAP <= stones < size * size:
        raise GtpError(f"invalid number of stones: {MIN_HANDICAP} to {size * size - 1} fit")
    count = min(stones, max_fixed_handicap(size))
    points = list(fixed_handicap(count, size)) if count else []
    return _place(session, free_handicap(points, stones, size))


@_command("set_free_handicap")
def _set_free_handicap(session: Session, words: Arguments) -> str:
    session.table.require_empty()
    points = [point(word, session.table.game.size) for word in words]
    last = session.table.game.pass_action
    if len(points) < MIN_HANDICAP or len(set(points)) < len(points) or last in points:
        raise GtpError("bad vertex list")
    _place(session, points)
    return ""


def _place(session: Session, points: list[int]) -> str:
    session.set_up(lambda: session.table.place_handicap(points))
    return " ".join(vertex(point, session.table.game.size) for point in points)


# Time.


def _time_command(name: str, read: Callable[[Arguments], TimeSettings]) -> None:
    @_command(name)
    def set_clocks(session: Session, words: Arguments) -> str:
        settings = read(words)
        session.clocks = [SessionClock(settings), SessionClock(settings)]
        return ""


_time_command("time_settings", plain_settings)
_time_command("kgs-time_settings", partial(named_settings, kinds=KGS_KINDS))
_time_command("kata-time_settings", named_settings)


@_command("time_left", at_least=3)
def _time_left(session: Session, words: Arguments) -> str:
    session.clocks[color(words[0])].set_left(*time_left(words[1:]))
    return ""


# Moves.


@_command("play", at_least=2)
def _play(session: Session, words: Arguments) -> str:
    session.play(color(words[0]), point(words[1], session.table.game.size))
    return ""


@_command("undo")
def _undo(session: Session, words: Arguments) -> str:
    session.table.undo()
    session.player.forget()
    return ""


@_command("genmove", at_least=1)
def _genmove(session: Session, words: Arguments) -> str:
    began, player = monotonic(), color(words[0])
    return _play_choice(session, player, _choose(session, player), began)


@_command("reg_genmove", at_least=1)
def _reg_genmove(session: Session, words: Arguments) -> str:
    return vertex(_choose(session, color(words[0])).action, session.table.game.size)


@_command("kgs-genmove_cleanup", at_least=1)
def _genmove_cleanup(session: Session, words: Arguments) -> str:
    """Answer as ``genmove``; while stones of the opponent are dead, by moves that fill no eye."""
    began, player = monotonic(), color(words[0])
    moves = _moves_that_clean_up(session, session.table.at_turn_of(player))
    result = _choose(session, player, only=moves or None)
    return _play_choice(session, player, result, began)


def _choose(session: Session, player: int, *, only: list[int] | None = None) -> SearchResult:
    """Return the player's choice, among `only` or all moves, and keep it as the last one."""
    state = session.table.at_turn_of(player)
    regular = only is None and state.key() == session.table.state.key()
    root = state if only is None else state.restricted(only)
    # The tree of another position, or with fewer moves, would mislead.
    with _forgetting(session, foreign=not regular):
        result = session.player.choose(root, time=session.move_time(player))
    if only is not None and result.action not in only:  # an agent that ignores the legal actions
        result = replace(result, action=max(only, key=lambda a: result.visits.get(a, 0)), pv=())
    session.last = state, result
    return result


def _play_choice(session: Session, player: int, result: SearchResult, began: float) -> str:
    """Play the chosen move, unless it is to resign. Returns the answer to ``genmove``."""
    if not result.resign:
        session.play(player, result.action)
    session.charge(player, began)
    return "resign" if result.resign else vertex(result.action, session.table.game.size)


def _moves_that_clean_up(session: Session, state: FreeState) -> list[int]:
    """Return the moves that fill no eye if stones of the opponent are dead; otherwise none."""
    stones = state.board.stones().ravel().tolist()
    own = state.to_move + 1
    if not any(stones[point] == 3 - own for point in session.likely_dead(state)):
        return []
    points = [a for a in state.legal_actions() if a != state.game.pass_action]
    return [point for point in points if not fills_eye(stones, point, own)]


_TOP: Final = 5


@_command("gomill-explain_last_move")
def _explain(session: Session, words: Arguments) -> str:
    if session.last is None:
        return "nothing was searched yet"
    state, result = session.last
    size = state.game.size
    name = "resign" if result.resign else vertex(result.action, size)
    info, unit = state.game.info, result.unit
    lines = [f"{name}: {Evaluation(result.value, unit).text(info)}"]
    if result.pv:
        lines.append(f"expected: {' '.join(vertex(a, size) for a in result.pv if a <= size**2)}")
    best = sorted(result.visits.items(), key=lambda item: (-item[1], item[0]))[:_TOP]
    lines += [
        f"{vertex(action, size)}: {visits} visits, "
        f"{Evaluation(result.values.get(action, 0.0), unit).text(info)}"
        for action, visits in best
    ]
    plain = [
        f"{key} {value}"
        for key, value in result.statistics.items()
        if isinstance(value, int | float | str) and key not in ("value", "value_unit")
    ]
    if plain:
        lines.append(", ".join(plain))
    return "\n".join(one_line(line) for line in lines)


# Analysis: until the next line of input, or until a move is chosen.

_SLICE: Final = 0.1
"""Maximum seconds of search between looks at the input. An analysis ends at most this long after
the next line, or after two batches of evaluations if these take longer."""


def _analyze(session: Session, command: Command, *, dialect: AnalysisDialect) -> None:
    request, root, foreign = _parse_analysis(session, command)
    with _forgetting(session, foreign=foreign):
        result = session.player.analyse(root, seconds=min(_SLICE, request.interval))
        write = session.stream(command)
        write(info_line(result, root, request, dialect))
        due = monotonic() + request.interval
        while not session.pending(0.0):
            # Short slices, so that the next line of input ends the analysis almost at once.
            seconds = min(_SLICE, max(due - monotonic(), 0.005))
            until = monotonic() + seconds
            visits = sum(result.visits.values())
            result = session.player.analyse(root, seconds=seconds)
            if sum(result.visits.values()) <= visits:  # the search is complete
                session.pending(until - monotonic())
            if monotonic() >= due:
                write(info_line(result, root, request, dialect))
                due = monotonic() + request.interval


def _genmove_analyze(session: Session, command: Command, *, dialect: AnalysisDialect) -> None:
    began = monotonic()
    request, root, foreign = _parse_analysis(session, command)
    player, stream = root.to_move, cache(session.stream)  # which opens the answer

    def show(result: SearchResult) -> None:
        stream(command)(info_line(result, root, request, dialect))

    with (
        _forgetting(session, foreign=foreign),
        session.player.watching(show, every=request.interval),
    ):
        result = session.player.choose(root, time=session.move_time(player))
    if isinstance(session.player, SearchPlayer):
        show(result)
    session.last = root, result
    stream(command)(f"play {_play_choice(session, player, result, began)}")


for _dialect in ("lz", "kata"):
    STREAMING[f"{_dialect}-analyze"] = partial(_analyze, dialect=_dialect)
    STREAMING[f"{_dialect}-genmove_analyze"] = partial(_genmove_analyze, dialect=_dialect)


def _parse_analysis(session: Session, command: Command) -> tuple[AnalysisRequest, FreeState, bool]:
    """Return the request, the position to search and whether the game's tree does not fit it."""
    table = session.table
    request = parse_request(command.arguments, table.game.size, to_move=table.state.to_move)
    state = table.at_turn_of(table.state.to_move if request.player is None else request.player)
    choices = request.choices(state)
    if request.allowed is not None or request.avoided:
        return request, state.restricted(choices), True
    return request, state, table.state.key() != state.key()


@contextmanager
def _forgetting(session: Session, *, foreign: bool) -> Iterator[None]:
    """Forget the tree before and after the search of a position that is not the game's."""
    if foreign:
        session.player.forget()
    try:
        yield
    finally:
        if foreign:
            session.player.forget()


@_command("kata-raw-nn")
def _raw_nn(session: Session, words: Arguments) -> str:
    oracle = session.player.oracle()
    if oracle is None:
        raise GtpError("this agent has no network")
    state = session.table.at_turn_of(session.table.state.to_move)
    symmetries = parse_symmetries(words)
    return "\n".join(raw_answers(oracle, state, symmetry) for symmetry in symmetries)


# The end of a game: who won, and which stones live.


def _margin(session: Session) -> float:
    """Return Black's margin in points if play ended here."""
    state = session.table.state
    return state.score_with_dead(session.dead_points(state)).margin


_STATUSES: Final = ("alive", "dead", "seki", "black_territory", "white_territory", "dame")


@_command("final_status_list", at_least=1)
def _final_status_list(session: Session, words: Arguments) -> str:
    status = words[0].lower()
    if status not in _STATUSES:
        raise GtpError(f"a status is one of {', '.join(_STATUSES)}")
    game, state = session.table.game, session.table.state
    dead = set(session.dead_points(state))
    if status in ("alive", "dead"):
        groups = [c for c in state.board.chains() if (c[0] in dead) == (status == "dead")]
    elif status == "seki":
        groups = []  # such stones are listed as alive
    else:
        cleared = without_dead(state.board, tuple(sorted(dead)))
        owner = {"black_territory": 1, "white_territory": -1, "dame": 0}[status]
        empty = (cleared.owners() == owner) & (cleared.stones() == 0)
        groups = [[point] for point in np.flatnonzero(empty).tolist()]
    return "\n".join(" ".join(vertex(p, game.size) for p in group) for group in groups)


# Answering a line.

_MAX_ERROR: Final = 1000


def answer(session: Session, line: bytes | TooLong) -> None:
    """Answer one line of the controller."""
    if isinstance(line, TooLong):
        session.write(response(None, f"a line of more than {MAX_LINE_BYTES} bytes", ok=False))
        return
    command = parse(line)
    if command is None:
        return
    session.running = command.name
    try:
        text = _result(session, command)
    except MiaiError as error:
        _fail(session, command, str(error))
    except BrokenPipeError:
        raise
    except Exception as error:
        # A defect, usually of the agent: the controller gets an error and may continue.
        traceback.print_exc()
        _fail(session, command, f"the engine failed: {type(error).__name__}: {error}")
    else:
        session.write("\n" if text is None else response(command.id, text))
    finally:
        session.running, session.streaming = "", False


def _result(session: Session, command: Command) -> str | None:
    """Return the response to a command, or None if it was written line by line."""
    if command.name in STREAMING:
        STREAMING[command.name](session, command)
        return None
    if command.name not in COMMANDS:
        raise GtpError("unknown command")
    return COMMANDS[command.name](session, command.arguments)


def _fail(session: Session, command: Command, reason: str) -> None:
    """Answer with an error, or end a response that has begun."""
    message = one_line(reason)[:_MAX_ERROR]
    if session.streaming:
        session.write("\n")
        print(f"miai: {command.name}: {message}", file=sys.stderr)
    else:
        session.write(response(command.id, message, ok=False))
