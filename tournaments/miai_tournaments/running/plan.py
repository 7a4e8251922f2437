"""What is to be played: a config's format with all it needs, or that of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from miai.errors import MiaiError, StoreError
from miai.plugins.parameters import explain
from miai_tournaments.config.compare import resolve, resolved_format
from miai_tournaments.config.load import Tournament
from miai_tournaments.config.openings import Openings
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.formats.build import build_format
from miai_tournaments.formats.format import Format
from miai_tournaments.running.director import Director
from miai_tournaments.running.schedule import Draw
from miai_tournaments.running.stored_openings import JUDGED
from miai_tournaments.store.store import FILE_NAME, PlayerRow, RunInfo, ScheduledGame, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A format, and what its pairings are made into games with."""

    format: Format
    players: Sequence[PlayerRow]
    seed: int
    openings: Openings

    def director(
        self,
        scores: Mapping[str, Sequence[float]] | None = None,
        *,
        drawn: Mapping[str, tuple[int, ...]] | None = None,
    ) -> Director:
        """Return what leads the tournament; see `Director`, and `Draw` for `drawn`."""
        draw = Draw(self.players, seed=self.seed, openings=self.openings, drawn=drawn)
        return Director(self.format, draw, scores=scores)

    def continued(
        self, store: Store, *, extended: bool
    ) -> tuple[Director | None, list[ScheduledGame]]:
        """Return the director of a run that was begun, and the games that its store lacks.

        There is no director where all games are in the store and known from the start.

        Args:
          extended: whether there may be more games than when it was begun.

        Raises:
          StoreError: the store has a game that the format does not know.
        """
        if self.format.static and not extended:
            return None, []
        known = store.identities()
        if self.format.static and len(known) == self.format.most_games():
            return None, []
        dear = self.openings.random_plies and self.openings.balance is not None
        director = self.director(
            {} if self.format.static else store.scores(), drawn=store.openings() if dear else None
        )
        games = director.advance(room=len(known))
        unknown = [game_id for game_id in known if not director.knows(game_id)]
        if unknown:
            raise StoreError(
                f"{store.path}: holds games that its format ({self.format.title()}) does not lead "
                f"to, '{min(unknown)}' say; continue with the version of miai that began the run, "
                "or start anew in another folder"
            )
        return director, [game for game in games if game.game_id not in known]


def run_info(tournament: Tournament) -> RunInfo:
    """Return what a store tells of the run of a tournament."""
    config, section = tournament.config, tournament.config.tournament
    judgement = tournament.openings.judgement()
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
            "config": config.model_dump(mode="json"),
            "results": resolve(tournament),
            **({JUDGED: judgement} if judgement else {}),
        },
        config_text=tournament.text,
        config_path=tournament.source,
        format=format_,
    )


def extend(store: Store, tournament: Tournament, games: Sequence[ScheduledGame]) -> None:
    """Add games to a store, and write what a longer config says that continues its run."""
    before, info = store.info(), run_info(tournament)
    if games or before.resolved.get("results") != info.resolved["results"]:
        info = replace(info, created=before.created, facts=before.facts)
        store.extend(info, tournament.players, games)


def stored_config(info: RunInfo, folder: Path) -> TournamentConfig:
    """Return the config that a run was begun with. Raises `StoreError` when it is none."""
    try:
        return TournamentConfig.model_validate(info.resolved.get("config"))
    except ValidationError as error:
        wrong = explain(error.errors()[0], TournamentConfig, "config")
        raise _not_understood(folder, wrong) from error


def stored_format(config: TournamentConfig, players: Sequence[PlayerRow], folder: Path) -> Format:
    """Return the format of a run. Raises `StoreError` when it is not what was begun."""
    section = config.format
    try:
        return build_format(
            section.name,
            section.parameters,
            players,
            rounds=config.tournament.rounds,
            seed=config.tournament.seed,
        )
    except MiaiError as error:
        raise _not_understood(folder, " ".join(str(error).split())) from error


def _not_understood(folder: Path, wrong: str) -> StoreError:
    return StoreError(
        f"{folder / FILE_NAME}: its config is not understood by this version of miai; use the "
        f"version that began the run ({wrong})"
    )
