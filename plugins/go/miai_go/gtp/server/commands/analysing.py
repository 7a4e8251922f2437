"""Analysis: until the next line of input, or until a move is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import inf

from miai.search.protocol import SearchResult
from miai_go.gtp.server.analysis import Request, Ticker, parse_request
from miai_go.gtp.server.commands.kinds import Handler, Streamer
from miai_go.gtp.server.commands.moves import played
from miai_go.gtp.server.free_state import FreeState
from miai_go.gtp.server.info import Dialect, info_line
from miai_go.gtp.server.players import Player, SearchPlayer, Stopwatch
from miai_go.gtp.server.session import Session
from miai_go.gtp.server.wire import Command, GtpError

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
    ticker = Ticker(request.interval)
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
        ticker = Ticker(request.interval)
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


def _own(player: Player, name: str) -> float:
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
    from miai_go.gtp.server.network import parse_symmetries, raw_answers

    state = session.table.at_turn_of(session.table.to_move)
    symmetries = parse_symmetries(words)
    return "\n".join(raw_answers(oracle, state, symmetry) for symmetry in symmetries)


def _stop(session: Session, words: tuple[str, ...]) -> str:
    return ""  # its line alone has ended what was going on


STREAMING: Mapping[str, Streamer] = {
    "lz-analyze": partial(_analyze, dialect="lz"),
    "kata-analyze": partial(_analyze, dialect="kata"),
    "lz-genmove_analyze": partial(_genmove_analyze, dialect="lz"),
    "kata-genmove_analyze": partial(_genmove_analyze, dialect="kata"),
}

COMMANDS: Mapping[str, Handler] = {
    "kata-raw-nn": _raw_nn,
    "stop": _stop,
}
