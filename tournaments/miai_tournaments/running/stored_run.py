"""What a store records of the config of its run, and how a resumed run reads it back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from miai.errors import MiaiError, StoreError
from miai.game import Game
from miai.parameters import explain
from miai_tournaments.config.entrants import build_format
from miai_tournaments.config.extension import resolve, resolved_format
from miai_tournaments.config.load import Tournament
from miai_tournaments.config.opening_source import Openings, check_balance, plain_lines
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats.format import Format
from miai_tournaments.store.database import damaged
from miai_tournaments.store.folder import FILE_NAME
from miai_tournaments.store.row_checks import is_int, is_list, is_number
from miai_tournaments.store.rows import PAYOFFS, PlayerRow, RunInfo, ScheduledGame
from miai_tournaments.store.store import Store

JUDGED: Final = "openings"
"""The key of `RunInfo.resolved` for the balanced lines of a file of openings."""


def run_info(tournament: Tournament) -> RunInfo:
    """Return what a store records of the run of a tournament."""
    config, section = tournament.config, tournament.config.tournament
    judgement = tournament.openings.judgement()
    bound = tournament.game.info.payoff_bound
    format_ = resolved_format(config)
    own = format_.get("rounds") or format_.get("pairs")
    return RunInfo(
        name=section.name,
        seed=section.seed,
        rounds=own if isinstance(own, int) else section.rounds,
        game=tournament.game.info.name,
        game_version=tournament.game.info.version,
        game_parameters=tournament.game_parameters(),
        time_control=asdict(config.time.control()),
        move_limit=section.move_limit,
        resolved={
            "config": {
                **config.model_dump(mode="json"),
                # A resumed run finds them from any folder.
                "plugins": [str((tournament.folder / file).absolute()) for file in config.plugins],
            },
            "results": resolve(tournament),
            **({JUDGED: judgement} if judgement else {}),
            **({} if bound is None else {PAYOFFS: {"bound": bound}}),
        },
        config_text=tournament.text,
        config_path=tournament.source,
        format=format_,
    )


def extend(store: Store, tournament: Tournament, games: Sequence[ScheduledGame]) -> None:
    """Add games to a store, and record the config that extends its run."""
    before, info = store.info(), run_info(tournament)
    if games or before.resolved.get("results") != info.resolved["results"]:
        info = replace(info, created=before.created, facts=before.facts)
        store.extend(info, tournament.players, games)


def stored_config(info: RunInfo, folder: Path) -> TournamentConfig:
    """Return the config of a run. Raises `StoreError` when it is invalid."""
    try:
        return TournamentConfig.model_validate(info.resolved.get("config"))
    except ValidationError as error:
        wrong = explain(error.errors()[0], TournamentConfig, "config")
        raise _not_understood(folder, wrong) from error


def stored_format(
    info: RunInfo, config: TournamentConfig, players: Sequence[PlayerRow], seats: int, folder: Path
) -> Format:
    """Return the format of a run. Raises `StoreError` when it cannot be built."""
    section = config.format
    try:
        return build_format(
            section.name,
            section.parameters,
            players,
            rounds=config.tournament.rounds,
            seed=config.tournament.seed,
            payoff_bound=info.payoff_bound(),
            seats=seats,
        )
    except MiaiError as error:
        raise _not_understood(folder, " ".join(str(error).split())) from error


def expect_games(store: Store) -> None:
    """Tell a store that does not say how many games it has, if the config of its run does."""
    info = store.info()
    if info.scheduled is not None or info.facts.get("open") is True:
        return
    with suppress(MiaiError):
        seats = len(next(iter(store.scores().values()), ())) or 2
        config = stored_config(info, Path())
        format_ = stored_format(info, config, store.players(), seats, Path())
        store.expected = format_.most_games() if format_.exact else 0


def stored_openings(info: RunInfo, config: TournamentConfig, game: Game, folder: Path) -> Openings:
    """Return the openings of a run.

    Raises:
      StoreError: the store records none, or invalid ones.
      MiaiError: the component that balances them is unavailable.
    """
    values = info.openings()
    lines = plain_lines(values)
    if lines is None or not is_int(values.get("random_plies")):
        raise _damaged(folder, "value has no openings")
    openings = Openings(game, values["random_plies"], lines)
    if config.openings.balance is not None:
        openings = replace(openings, balance=check_balance(config.openings.balance, game))
    return with_judgement(openings, info, folder)


def with_judgement(openings: Openings, info: RunInfo, folder: Path) -> Openings:
    """Return openings with the balanced lines that a store records.

    Raises:
      StoreError: it records other lines, or none.
    """
    if openings.balance is None or not openings.lines:
        return openings
    judgement = info.resolved.get(JUDGED, {})
    kept, values = judgement.get("kept"), judgement.get("values")
    if not is_list(kept, is_int) or not is_list(values, is_number) or len(kept) != len(values):
        raise _damaged(folder, "value does not say which openings are balanced")
    if not kept or max(kept) >= len(openings.lines):
        raise _damaged(folder, "value is about other openings")
    return replace(openings, kept=tuple(kept), values=tuple(values))


def _damaged(folder: Path, what: str) -> StoreError:
    return damaged(folder / FILE_NAME, f"table run, row 'resolved': {what}")


def _not_understood(folder: Path, wrong: str) -> StoreError:
    return StoreError(
        f"{folder / FILE_NAME}: this version of miai does not understand its config; use the "
        f"version that began the run ({wrong})"
    )
