"""The engine's side of the Go Text Protocol, version 2: any agent or search of Go by its name.

`serve` answers one controller over two pipes; `Session` is the conversation, without pipes.
docs/gtp-engine.md is the page for users. The specification is Gunnar Farnebäck's, GTP version 2,
draft 2 (2002); ``lz-`` commands are Leela Zero's, ``kata-`` commands KataGo's, ``kgs-`` commands
kgsGtp's, ``gomill-`` commands gomill's.

Commands about the engine itself, its board and its rules.

Analysis: until the next line of input, or until a move is chosen.

The end of a game: who won, and what lives.

Handicap stones (GTP version 2 draft 2, section 4.1).

Moves: played, asked for, and taken back.

Time settings and what is left.

What GUIs and tournament programs ask beside the game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from miai import __version__
from miai.errors import MiaiError
from miai.files import write_text
from miai.search.protocol import SearchResult
from miai_go.gtp.analysis import AnalysisTicker, Dialect, Request, info_line, parse_request
from miai_go.gtp.clocks import (
    KGS_KINDS,
    KINDS,
    EngineClock,
    TimeSettings,
    named_settings,
    plain_settings,
    seconds_of,
    stones_of,
)
from miai_go.gtp.command_kinds import Handler, Streamer, action, color, expect, number, whole
from miai_go.gtp.files import load_sgf, table_as_sgf
from miai_go.gtp.players import EnginePlayer, SearchPlayer, Stopwatch
from miai_go.gtp.rule_names import KGS_NAMES, SETTLED, changed_rule, parse_rules, rules_as_json
from miai_go.gtp.session import Session
from miai_go.gtp.table import FreeState, handicap_places, stones_in_chains
from miai_go.gtp.wire import Command, GtpError, one_line
from miai_go.rules.chains import fills_eye
from miai_go.rules.coordinates import MAX_SIZE, vertex
from miai_go.rules.dead_stones import PlayoutJudge, settled_margin
from miai_go.rules.parameters import (
    MIN_HANDICAP,
    PlayoutJudgeParameters,
    fixed_handicap,
    max_fixed_handicap,
)
from miai_go.rules.scoring import result_text, without_dead
from miai_go.rules.state import Phase


def _protocol_version(session: Session, words: tuple[str, ...]) -> str:
    return "2"


def _name(session: Session, words: tuple[str, ...]) -> str:
    return f"miai {session.agent}".strip()


def _version(session: Session, words: tuple[str, ...]) -> str:
    told = session.player.agent.version
    return f"{__version__} ({told})" if told else __version__


def _known_command(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    return "true" if words[0] in _all() else "false"


def _list_commands(session: Session, words: tuple[str, ...]) -> str:
    return "\n".join(_all())


def _all() -> list[str]:

    return sorted({*COMMANDS, *STREAMING})


def _quit(session: Session, words: tuple[str, ...]) -> str:
    session.ended = True
    return ""


def _boardsize(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1, 2)
    size = whole(words[0], "a size")
    if words[1:] not in ((), words[:1]) or not 1 <= size <= MAX_SIZE:
        raise GtpError("unacceptable size")
    try:
        session.set_up(lambda: session.table.clear(board_size=size))
    except MiaiError as error:
        raise GtpError(f"unacceptable size: {error}") from error
    return ""


def _clear_board(session: Session, words: tuple[str, ...]) -> str:
    session.set_up(session.table.clear, begin=True)
    return ""


def _komi(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    komi = number(words[0], "komi")
    session.set_up(lambda: session.table.set_komi(komi))
    return ""


def _get_komi(session: Session, words: tuple[str, ...]) -> str:
    return f"{session.table.game.rules.komi:g}"


def _get_rules(session: Session, words: tuple[str, ...]) -> str:
    return rules_as_json(session.table.game.rules)


def _set_rules(session: Session, words: tuple[str, ...]) -> str:
    if not words:
        raise GtpError("syntax error: name a rule set, or give a dictionary")
    _change_rules(session, parse_rules(" ".join(words)))
    return ""


def _set_rule(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 2)
    _change_rules(session, changed_rule(session.table.game.rules, words[0], words[1]))
    return ""


def _kgs_rules(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    if words[0].lower() not in KGS_NAMES:
        raise GtpError(f"kgs-rules takes {', '.join(KGS_NAMES)}")
    _change_rules(session, parse_rules(KGS_NAMES[words[0].lower()]))
    return ""


def _change_rules(session: Session, values: Mapping[str, Any]) -> None:
    """Change what rules settle; komi and position stay."""
    unsaid = dict.fromkeys(SETTLED)
    session.set_up(lambda: session.table.change(**{**unsaid, **values}))


_CORE_COMMANDS: Mapping[str, Handler] = {
    "protocol_version": _protocol_version,
    "name": _name,
    "version": _version,
    "known_command": _known_command,
    "list_commands": _list_commands,
    "quit": _quit,
    "boardsize": _boardsize,
    "clear_board": _clear_board,
    "komi": _komi,
    "get_komi": _get_komi,
    "kata-get-rules": _get_rules,
    "kata-set-rules": _set_rules,
    "kata-set-rule": _set_rule,
    "kgs-rules": _kgs_rules,
}


def _play(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 2)
    session.play(color(words[0]), action(session, words[1]))
    return ""


def _undo(session: Session, words: tuple[str, ...]) -> str:
    session.table.undo()
    session.forget()
    return ""


def _genmove(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    watch, player = Stopwatch(), color(words[0])
    result = choose(session, player)
    return played(session, player, result, watch)


def _reg_genmove(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    result = choose(session, color(words[0]))
    return vertex(result.action, session.table.game.size)


def _genmove_cleanup(session: Session, words: tuple[str, ...]) -> str:
    """Answer as ``genmove``, but do not pass before the opponent's dead stones are captured."""
    expect(words, 1)
    watch, player = Stopwatch(), color(words[0])
    result = choose(session, player)
    if result.action == session.table.game.pass_action and not result.resign:
        state = session.table.at_turn_of(player)
        left = _moves_that_clean_up(state)
        if left:
            result = choose(session, player, only=left)
    return played(session, player, result, watch)


def choose(session: Session, player: int, *, only: list[int] | None = None) -> SearchResult:
    """Return what to play for a player, and keep it to be explained.

    Args:
      only: the actions to choose from; None for all.
    """
    state = session.table.at_turn_of(player)
    regular = only is None and state.key() == session.table.state.key()
    if not regular:
        session.forget()  # the tree of another position, or with fewer moves, would mislead
    root = state if only is None else state.restricted(only)
    try:
        result = session.player.choose(root, seconds=session.budget(player))
    finally:
        if not regular:
            session.forget()
    if only is not None and result.action not in only:  # an agent that does not look
        result = replace(result, action=max(only, key=lambda a: result.visits.get(a, 0)), pv=())
    session.last = state, result
    return result


def played(session: Session, player: int, result: SearchResult, watch: Stopwatch) -> str:
    """Play what was chosen, unless it is to resign; return it in words."""
    if not result.resign:
        session.play(player, result.action)
    session.charge(player, watch)
    return "resign" if result.resign else vertex(result.action, session.table.game.size)


def _moves_that_clean_up(state: FreeState) -> list[int]:
    """Return moves that fill no eye, where stones of the opponent are dead; else none."""
    stones = state.board.stones().reshape(-1).tolist()
    own = state.to_move + 1
    judge = PlayoutJudge(state.game, PlayoutJudgeParameters())
    if not any(stones[point] == 3 - own for point in judge.dead_points(state)):
        return []
    points = [a for a in state.legal_actions() if a != state.game.pass_action]
    return [point for point in points if not fills_eye(stones, point, own)]


_MOVES_COMMANDS: Mapping[str, Handler] = {
    "play": _play,
    "genmove": _genmove,
    "reg_genmove": _reg_genmove,
    "undo": _undo,
    "kgs-genmove_cleanup": _genmove_cleanup,
}

_SLICE = 0.1  # seconds of search between looks at the input, at most
"""An analysis ends so long after the next line, or after one evaluation where that is longer."""
_IDLE = 0.5  # share of a slice; a search that used less of it has used up its own budget


def _analyze(session: Session, command: Command, *, dialect: Dialect) -> None:
    request, state = _asked(session, command)
    with _Root(session, request, state) as root:
        first = session.player.analyse(root, seconds=min(_SLICE, request.interval))
        say = session.stream(command)
        _report_until_input(session, root, request, partial(_say, say, request, dialect), first)


def _report_until_input(
    session: Session,
    root: FreeState,
    request: Request,
    say: Callable[[FreeState, SearchResult], None],
    result: SearchResult,
) -> None:
    """Search in slices and tell what is found, until the controller says something."""
    say(root, result)
    ticker = AnalysisTicker(request.interval)
    while not session.pending(0.0):
        wanted = min(_SLICE, max(ticker.left(), 0.005))
        watch = Stopwatch()
        before, result = result, session.player.analyse(root, seconds=wanted)
        left = wanted - watch.seconds()
        if _visits(result) <= _visits(before) and session.pending(left):
            break  # nothing is left to find, and the controller has gone on
        if ticker.left() == 0:
            say(root, result)
            ticker.restart()


def _genmove_analyze(session: Session, command: Command, *, dialect: Dialect) -> None:
    watch = Stopwatch()
    request, state = _asked(session, command)
    player = state.to_move
    clock = session.budget(player)
    budget = None if clock is None else min(clock, _own(session.player, "seconds"))
    most = _own(session.player, "simulations")
    with _Root(session, request, state) as root:
        ticker = AnalysisTicker(request.interval)
        wanted = None if budget is None else min(budget, request.interval)
        result = _next(session, root, wanted)
        made = _simulations(result)
        say = session.stream(command)
        tell = partial(_say, say, request, dialect)
        while budget is not None and watch.seconds() < budget and made < most:
            if ticker.left() == 0:
                tell(root, result)
                ticker.restart()
            wanted = min(budget - watch.seconds(), max(ticker.left(), 0.005))
            before = watch.seconds()
            result = _next(session, root, wanted)
            made += _simulations(result)
            if watch.seconds() - before < _IDLE * wanted:
                break  # its own budget is used up
        if isinstance(session.player, SearchPlayer):
            tell(root, result)
    session.last = state, result
    say(f"play {played(session, player, result, watch)}")


def _next(session: Session, root: FreeState, seconds: float | None) -> SearchResult:
    if seconds is None or not isinstance(session.player, SearchPlayer):
        return session.player.choose(root, seconds=seconds)
    return session.player.analyse(root, seconds=seconds)


def _own(player: EnginePlayer, name: str) -> float:
    """Return a limit of one move among the parameters of a player's search; infinite for none."""
    parameters = getattr(getattr(player, "search", None), "parameters", None)
    limit = getattr(parameters, name, None)
    return float(limit) if limit else inf


def _simulations(result: SearchResult) -> int:
    """Return how many a slice made, where the search counts them."""
    made = result.statistics.get("simulations")
    return made if isinstance(made, int) else 0


def _visits(result: SearchResult) -> int:
    return sum(result.visits.values())


def _say(
    say: Callable[[str], None],
    request: Request,
    dialect: Dialect,
    root: FreeState,
    result: SearchResult,
) -> None:
    say(info_line(result, root, request, dialect))


def _asked(session: Session, command: Command) -> tuple[Request, FreeState]:
    """Return what is asked for, and the position with the right player to move."""
    table = session.table
    request = parse_request(command.arguments, table.game.size, to_move=table.to_move)
    state = table.at_turn_of(table.to_move if request.player is None else request.player)
    request.choices(state)
    return request, state


class _Root:
    """The position to search; afterwards a tree of no use to the game is forgotten."""

    def __init__(self, session: Session, request: Request, state: FreeState) -> None:
        self._session = session
        same = session.table.state.key() == state.key()
        self._foreign = request.restricts() or not same
        restricted = request.restricts()
        self._state = state.restricted(request.choices(state)) if restricted else state

    def __enter__(self) -> FreeState:
        if self._foreign:
            self._session.forget()
        return self._state

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._foreign:
            self._session.forget()


def _raw_nn(session: Session, words: tuple[str, ...]) -> str:
    oracle = session.player.oracle()
    if oracle is None:
        raise GtpError("this agent has no network")
    from miai_go.gtp.analysis import parse_symmetries, raw_answers

    state = session.table.at_turn_of(session.table.to_move)
    symmetries = parse_symmetries(words)
    return "\n".join(raw_answers(oracle, state, symmetry) for symmetry in symmetries)


def _stop(session: Session, words: tuple[str, ...]) -> str:
    return ""  # its line alone has ended what was going on


_ANALYSES: Mapping[str, Streamer] = {
    "lz-analyze": partial(_analyze, dialect="lz"),
    "kata-analyze": partial(_analyze, dialect="kata"),
    "lz-genmove_analyze": partial(_genmove_analyze, dialect="lz"),
    "kata-genmove_analyze": partial(_genmove_analyze, dialect="kata"),
}

_ANALYSING_COMMANDS: Mapping[str, Handler] = {
    "kata-raw-nn": _raw_nn,
    "stop": _stop,
}

_STATUSES = ("alive", "dead", "seki", "black_territory", "white_territory", "dame")


def final_margin(session: Session) -> float:
    """Return Black's margin if play ended here, by the rules of the game; points."""
    return settled_margin(session.table.state)


def _final_score(session: Session, words: tuple[str, ...]) -> str:
    return result_text(final_margin(session))


def _final_status_list(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    status = words[0].lower()
    if status not in _STATUSES:
        raise GtpError(f"a status is one of {', '.join(_STATUSES)}")
    dead = _dead(session)
    if status in ("alive", "dead"):
        wanted = status == "dead"
        chains = [c for _, c in stones_in_chains(session.table) if (c[0] in dead) == wanted]
        return _names(session, chains)
    if status == "seki":
        return ""  # such stones are listed as alive
    cleared = without_dead(session.table.state.board, tuple(sorted(dead)))
    owner = {"black_territory": 1, "white_territory": -1, "dame": 0}[status]
    empty = (cleared.owners() == owner) & (cleared.stones() == 0)
    return _names(session, [[point] for point in np.flatnonzero(empty).tolist()])


def _dead(session: Session) -> set[int]:
    game = session.table.game
    if game.rules.dead_stones == "none":
        return set()
    return set(game.judge.dead_points(session.table.state))


def _names(session: Session, groups: list[list[int]]) -> str:
    size = session.table.game.size
    return "\n".join(" ".join(vertex(point, size) for point in group) for group in groups)


_ENDING_COMMANDS: Mapping[str, Handler] = {
    "final_score": _final_score,
    "final_status_list": _final_status_list,
}


def _fixed(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    session.table.require_empty()
    try:
        points = fixed_handicap(whole(words[0], "a handicap"), session.table.game.size)
    except ValueError as error:
        raise GtpError(f"invalid number of stones: {error}") from error
    return _placed(session, list(points))


def _free(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1)
    session.table.require_empty()
    wanted, size = whole(words[0], "a handicap"), session.table.game.size
    if not MIN_HANDICAP <= wanted < size * size:
        raise GtpError(f"invalid number of stones: {MIN_HANDICAP} to {size * size - 1} fit")
    fixed = min(wanted, max_fixed_handicap(size))
    points = list(fixed_handicap(fixed, size)) if fixed else []
    return _placed(session, handicap_places(session.table, points, wanted))


def _set_free(session: Session, words: tuple[str, ...]) -> str:
    session.table.require_empty()
    points = [action(session, word) for word in words]
    last = session.table.game.pass_action
    if len(points) < MIN_HANDICAP or len(set(points)) < len(points) or last in points:
        raise GtpError("bad vertex list")
    _placed(session, points)
    return ""


def _placed(session: Session, points: list[int]) -> str:
    session.set_up(lambda: session.table.place_handicap(points))
    return " ".join(vertex(point, session.table.game.size) for point in points)


_HANDICAPS_COMMANDS: Mapping[str, Handler] = {
    "fixed_handicap": _fixed,
    "place_free_handicap": _free,
    "set_free_handicap": _set_free,
}


def _time_settings(session: Session, words: tuple[str, ...]) -> str:
    return _set(session, plain_settings(words))


def _kgs_time_settings(session: Session, words: tuple[str, ...]) -> str:
    return _set(session, named_settings(words, KGS_KINDS))


def _kata_time_settings(session: Session, words: tuple[str, ...]) -> str:
    return _set(session, named_settings(words))


def _list_time_settings(session: Session, words: tuple[str, ...]) -> str:
    return " ".join(KINDS)


def _time_left(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 3)
    player = color(words[0])
    # A controller whose clock went past its end may say so by a negative number.
    seconds = 0.0 if words[1].startswith("-") else seconds_of(words[1])
    session.clocks[player].tell(seconds, stones_of(words[2]))
    return ""


def _set(session: Session, settings: TimeSettings) -> str:
    session.clocks = [EngineClock(settings), EngineClock(settings)]
    return ""


_TIMES_COMMANDS: Mapping[str, Handler] = {
    "time_settings": _time_settings,
    "time_left": _time_left,
    "kgs-time_settings": _kgs_time_settings,
    "kata-time_settings": _kata_time_settings,
    "kata-list_time_settings": _list_time_settings,
}

_TOLD = 5


def _showboard(session: Session, words: tuple[str, ...]) -> str:
    return f"\n{session.table.state}"


def _loadsgf(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 1, 2)
    before = whole(words[1], "a move number") if len(words) > 1 else None
    session.set_up(lambda: load_sgf(session.table, Path(words[0]), before=before))
    return ""


def _printsgf(session: Session, words: tuple[str, ...]) -> str:
    expect(words, 0, 1)
    over = session.table.state.phase == Phase.OVER
    text = table_as_sgf(session.table, result=result_text(final_margin(session)) if over else "")
    if not words:
        return f"\n{text}"
    path = Path(words[0])
    try:
        write_text(path, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise GtpError(f"cannot write {path}: {reason}") from error
    return ""


def _cputime(session: Session, words: tuple[str, ...]) -> str:
    return f"{session.player.agent.cpu_seconds():.3f}"


def _describe(session: Session, words: tuple[str, ...]) -> str:
    agent = session.player.agent
    given = " ".join(f"{name}={value}" for name, value in agent.given.items())
    return one_line(f"miai {session.agent} {given}")


def _explain(session: Session, words: tuple[str, ...]) -> str:
    if session.last is None:
        return "nothing was searched yet"
    state, result = session.last
    size = state.game.size
    name = "resign" if result.resign else vertex(result.action, size)
    lines = [f"{name}: winning chance {(result.value + 1) / 2:.3f}"]
    if result.pv:
        lines.append(f"expected: {' '.join(vertex(a, size) for a in result.pv if a <= size**2)}")
    lines += _top(result, size)
    kept = {k: v for k, v in result.statistics.items() if isinstance(v, int | float | str)}
    if kept:
        lines.append(", ".join(f"{key} {value}" for key, value in kept.items()))
    return "\n".join(one_line(line) for line in lines)


def _top(result: SearchResult, size: int) -> list[str]:
    best = sorted(result.visits.items(), key=lambda item: (-item[1], item[0]))[:_TOLD]
    return [
        f"{vertex(action, size)}: {visits} visits, winning chance "
        f"{(result.values.get(action, 0.0) + 1) / 2:.3f}"
        for action, visits in best
    ]


_TOOLS_COMMANDS: Mapping[str, Handler] = {
    "showboard": _showboard,
    "loadsgf": _loadsgf,
    "printsgf": _printsgf,
    "cputime": _cputime,
    "gomill-cpu_time": _cputime,
    "gomill-describe_engine": _describe,
    "gomill-explain_last_move": _explain,
}

__all__ = ["COMMANDS", "STREAMING"]

COMMANDS: Mapping[str, Handler] = {
    **_CORE_COMMANDS,
    **_MOVES_COMMANDS,
    **_TIMES_COMMANDS,
    **_HANDICAPS_COMMANDS,
    **_ENDING_COMMANDS,
    **_TOOLS_COMMANDS,
    **_ANALYSING_COMMANDS,
}
"""Commands that answer at once, or when they are done."""

STREAMING: Mapping[str, Streamer] = _ANALYSES
"""Commands that answer line by line."""
