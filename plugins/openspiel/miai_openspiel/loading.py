"""Games of OpenSpiel by name, each tried in a child process before it is loaded here.

OpenSpiel checks few parameters: with others it loops or takes all memory while it lists actions,
crashes, or prints its reason to standard error. A child process that meets this costs nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import pyspiel

from miai.errors import ParameterError, near_matches
from miai.process.child import CONFINED
from miai.process.workers import Finished, Job, Performer, WorkerPool
from miai_openspiel.catalogue import games

MOST_DEALT: Final = 200  # actions of chance before a player acts; some games may deal for ever
TRIAL_SECONDS: Final = 10.0
_TRIAL_MEMORY: Final = 2 << 30  # bytes
_UNKNOWN: Final = "Unknown game"
"""How OpenSpiel begins to say that it has no game of a name."""
_REFUSALS: Final = (pyspiel.SpielError, RuntimeError, TypeError, ValueError, LookupError)


def load(name: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """Return a ``pyspiel.Game``.

    Args:
      name: OpenSpiel's name, or a text such as ``misere(game=tic_tac_toe())``.
      parameters: those that differ from OpenSpiel's defaults.

    Raises:
      ParameterError: OpenSpiel has no such game, refuses the parameters or does not begin a game
        within `TRIAL_SECONDS`; or nobody can act at the start.
    """
    short = name.partition("(")[0]
    _register(short)
    if short not in (known := pyspiel.registered_names()):
        raise ParameterError(f"OpenSpiel has no game '{short[:80]}'. {near_matches(short, known)}")
    values, refusal = dict(parameters or {}), ""
    # Where an agent is confined, the referee has tried the game; the catalogue was tried, too.
    if (values or name not in games()) and CONFINED not in os.environ:
        refusal = _tried(name, tuple(sorted(values.items())))
    try:
        # A game that is unknown there may have been registered by this process.
        if not refusal:
            return _load(name, values)
        if refusal.startswith(_UNKNOWN):
            with without_its_complaints():
                return _load(name, values)
    except _REFUSALS as error:
        refusal = _said(error)
    raise ParameterError(f"OpenSpiel does not load '{name[:80]}': {refusal}")


def _register(short: str) -> None:
    """Have OpenSpiel register the games written in Python if `short` is not one in C++."""
    if short not in pyspiel.registered_names():
        importlib.import_module("open_spiel.python.games")


def _load(name: str, parameters: Mapping[str, Any]) -> Any:
    return pyspiel.load_game(name, dict(parameters)) if parameters else pyspiel.load_game(name)


def _said(error: Exception) -> str:
    text = str(error).partition(" Available games are:")[0]
    return " ".join(text.split())[:300] or type(error).__name__


@cache
def _tried(name: str, parameters: tuple[tuple[str, Any], ...]) -> str:
    """Return why a game cannot begin, as a child process finds out; empty if it can."""
    job = Job(name, {"name": name, "parameters": dict(parameters)})
    target = f"{__name__}:trials"
    with WorkerPool(target, None, workers=1, job_deadline=TRIAL_SECONDS) as pool:
        pool.submit(job)
        (event,) = pool.wait()
    if isinstance(event, Finished):
        return str(event.result)
    limits = f"{TRIAL_SECONDS:g} s and {_TRIAL_MEMORY >> 30} GiB"
    return f"it does not begin a game within {limits} ({event.reason})"


@contextlib.contextmanager
def trials(setup: Any) -> Iterator[Performer]:
    """Yield what tries games in a worker process: returns why one cannot begin, or nothing."""
    # Some parameters make OpenSpiel allocate until the machine has no memory.
    resource.setrlimit(resource.RLIMIT_DATA, (_TRIAL_MEMORY, _TRIAL_MEMORY))
    yield lambda job: _try(**job)


def _try(name: str, parameters: Mapping[str, Any]) -> str:
    _register(name.partition("(")[0])
    try:
        return _start(_load(name, parameters))
    except _REFUSALS as error:
        return _said(error)


def _start(game: Any) -> str:
    """Begin a game, up to the first action of a player; return why that fails, or nothing."""
    kind = game.get_type()
    players = game.num_players()
    if not kind.min_num_players <= players <= kind.max_num_players:
        maximum = kind.max_num_players
        return f"it is for {kind.min_num_players} to {maximum} players, not for {players}"
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        return ""  # refused with a reason of its own
    state = game.new_initial_state()
    for _ in range(MOST_DEALT):
        if not state.is_chance_node():
            break
        outcomes = state.chance_outcomes()
        if not outcomes:
            return "chance has no outcomes at its start"
        state.apply_action(outcomes[0][0])
    acting = range(players) if state.is_simultaneous_node() else (state.current_player(),)
    if not state.is_terminal() and not any(state.legal_actions(player) for player in acting):
        return "nobody has a legal action at its start"
    return ""


@contextlib.contextmanager
def without_its_complaints() -> Iterator[None]:
    """Discard what OpenSpiel prints to standard error, from C++, before an expected exception."""
    sys.stderr.flush()
    real = os.dup(2)
    try:
        with tempfile.TemporaryFile() as discarded:
            os.dup2(discarded.fileno(), 2)
            yield
    finally:
        os.dup2(real, 2)
        os.close(real)
