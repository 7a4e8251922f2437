"""``miai tournament check``: whether every player starts and plays."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from miai.errors import AgentUnavailableError, ConfigError, MiaiError
from miai.plain import one_line
from miai.playing.match import play_game
from miai.process.agent_process import AgentProcess
from miai.record import Termination
from miai_tournaments.config.load import Tournament, resolved_rules
from miai_tournaments.formats.format import how_many
from miai_tournaments.running.start import distinct, make_setup
from miai_tournaments.workers.seats import SeatPool

HARD_TO_GUESS = 2**80
"""Seeds below this can be found by trial."""

MOVES = 2
"""Moves on each side of the game that a player plays against itself."""

_GOOD = (Termination.TERMINAL, Termination.MOVE_LIMIT, Termination.RESIGNATION)


def check_players(tournament: Tournament, *, show: Callable[[str], None]) -> None:
    """Let every player, or one of those alike, play two moves on each side, against itself.

    Raises:
      ConfigError: something is wrong; one line for each player.
    """
    problems = []
    run = tournament.config, tournament.game, tournament.players, tournament.folder
    pool = SeatPool(make_setup(*run, hidden=(), fixed=()))
    for name, alike in distinct(tournament.players).items():
        began = time.monotonic()
        with TemporaryDirectory() as logs:
            problem = _problem(tournament, name, pool, Path(logs))
            printed = [log.read_text("utf-8", "replace") for log in Path(logs).iterdir()]
        for warning in dict.fromkeys(re.findall(r"PluginWarning: (.*)", "".join(printed))):
            show(f"{name}: {one_line(warning)}")
        if problem is None:
            show(f"{name}{alike}: plays ({time.monotonic() - began:.1f} s)")
        else:
            said = problem.removeprefix(f"agent '{name}': ")
            problems.append(f"{tournament.source}: {tournament.place(name)}{alike}: {said}")
    pool.close(politely=False)
    if problems:
        raise ConfigError("\n".join(problems))
    _check_openings(tournament, show)
    if (line := _rules_line(tournament)) is not None:
        show(line)
    if (line := _seed_line(tournament)) is not None:
        show(line)
    games = how_many(tournament.format)
    show(f"{tournament.source}: {len(tournament.players)} players, {games}, all is well")


def _check_openings(tournament: Tournament, show: Callable[[str], None]) -> None:
    """Value the openings of a file; of random ones, draw one."""
    openings, seed = tournament.openings, tournament.config.tournament.seed
    if openings.balance is None:
        return
    if openings.lines:
        judged = openings.judged(seed)
        count = f"{len(judged.values)} of {len(openings.lines)} openings are"
        show(f"{count} {openings.balance.title()}")
    else:
        _, value = openings.drawn(seed)
        show(f"openings are {openings.balance.title()}: one of {value:+.3f} was drawn")
    openings.balance.close()


def _seed_line(tournament: Tournament) -> str | None:
    """Return a warning if agents can guess what chance will do; None if they cannot."""
    seed, chance = tournament.config.tournament.seed, tournament.game.info.max_chance_outcomes
    if not chance or tournament.draws_seed or seed >= HARD_TO_GUESS:
        return None
    return (
        f"tournament.seed: {seed} is small; an agent can find it by trial, and with it what chance "
        "will do; leave it out where agents are not trusted, and one is drawn"
    )


def _rules_line(tournament: Tournament) -> str | None:
    """Return the rules that may end games, with their parameters; None where there are none."""
    resolved = resolved_rules(tournament.config)
    rules = [
        f"{name} ({', '.join(f'{key} {value}' for key, value in given.items())})"
        for name, given in resolved["rules"].items()
    ]
    if not rules:
        return None
    share = resolved["hold_out"]
    held = f"; {share:.1%} of the games are played to their end" if share else ""
    return f"adjudication: {', '.join(rules)}{held}"


def _problem(tournament: Tournament, name: str, pool: SeatPool, logs: Path) -> str | None:
    """Return what is wrong with a player; None when nothing is."""
    names = [name] * tournament.game.num_players()
    try:
        seats = pool.seats(names, tournament.game, tournament.game_given())
        for seat in seats:
            if isinstance(seat, AgentProcess):
                seat.start()
        record = play_game(
            tournament.game,
            seats,
            seed=tournament.config.tournament.seed,
            time_control=tournament.config.time.control(),
            move_limit=MOVES * len(names),
            log_dir=logs,
        )
    except AgentUnavailableError as error:
        return str(error)
    except MiaiError as error:
        return f"the game failed: {error}"
    if record.termination in _GOOD:
        return None
    if record.losers:  # all are the same player: what one of them did is enough
        return one_line(record.detail.partition("; ")[0])
    return f"{record.termination}: {one_line(record.detail)}"
