"""The ladder of Elo: each rung a match of weights against those of the rung before."""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from miai_go.errors import TrainingError
from miai_go.selfplay.matches import MatchResult

FILE: Final = "ladder.csv"
PICTURE: Final = "ladder.svg"


@dataclass(frozen=True, slots=True)
class Rung:
    """One match of the ladder.

    Attributes:
      round: rounds made.
      steps: optimiser steps made.
      against: rounds that the opponent had made.
      wins, draws, losses: of the newer weights.
      elo: rating, the first rung's opponent being 0.
      margin: half the width of the 95 % interval of this match's difference.
      games: games of self-play so far.
      seconds: of all sittings so far, self-play, learning and matches.
    """

    round: int
    steps: int
    against: int
    wins: int
    draws: int
    losses: int
    elo: float
    margin: float
    games: int
    seconds: float


def next_rung(
    before: Rung | None,
    result: MatchResult,
    *,
    round: int,
    steps: int,
    games: int,
    seconds: float,
) -> Rung:
    """Return the rung that a match against the weights of the one before makes."""
    lead, margin = result.elo()
    return Rung(
        round=round,
        steps=steps,
        against=before.round if before else 0,
        wins=result.wins,
        draws=result.draws,
        losses=result.losses,
        elo=_tenths(before.elo if before else 0.0, lead),
        margin=_tenths(margin),
        games=games,
        seconds=_tenths(seconds),
    )


def _tenths(*parts: float) -> float:
    """Return a sum to one decimal."""
    return float(f"{sum(parts):.1f}")


def read_ladder(folder: Path) -> list[Rung]:
    """Return the rungs of a run. Raises `TrainingError` where the file is damaged."""
    path = folder / FILE
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [_rung(row) for row in csv.DictReader(file)]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise TrainingError(f"{path}: is no ladder: {error!r}; delete it to begin anew") from error


def write_ladder(folder: Path, rungs: list[Rung]) -> None:
    """Write the rungs of a run, and their picture where matplotlib is installed."""
    path = folder / FILE
    draft = path.with_suffix(".new")
    with draft.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([field.name for field in fields(Rung)])
        rows.writerows(astuple(rung) for rung in rungs)
    draft.replace(path)
    _draw(folder / PICTURE, rungs)


def _rung(row: dict[str, str]) -> Rung:
    kinds = {field.name: float if field.name in _REAL else int for field in fields(Rung)}
    return Rung(**{name: kind(row[name]) for name, kind in kinds.items()})  # type: ignore[arg-type]


_REAL: Final = frozenset({"elo", "margin", "seconds"})


def _draw(path: Path, rungs: list[Rung]) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    rounds = [0, *(rung.round for rung in rungs)]
    elo = [0.0, *(rung.elo for rung in rungs)]
    margins = [0.0, *(rung.margin for rung in rungs)]
    axes.errorbar(rounds, elo, yerr=margins, fmt="o-", capsize=3, markersize=4, linewidth=1.2)
    axes.set_xlabel("rounds of self-play")
    axes.set_ylabel("Elo, each rung against the one before")
    axes.grid(visible=True, alpha=0.3)
    figure.savefig(path)
