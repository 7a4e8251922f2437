"""Training the policy of rollouts, a table of patterns, on recorded games."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import Field

from miai.plugins.parameters import StrictModel, parameter
from miai_go.data.dataset import GoDataset
from miai_go.data.filters import GameFilters
from miai_go.data.split import Split
from miai_go.networks.header import TrainingRecord
from miai_go.patterns.policy import PatternPolicy
from miai_go.patterns.training import PatternReport, measure, train
from miai_go.training.journal import Journal
from miai_go.training.run_folder import Plan
from miai_go.training.sections import DataSection

WEIGHTS: Final = "weights.safetensors"


class PatternSection(StrictModel):
    """How the table is learnt."""

    epochs: int = parameter(3, ge=1, le=1000, help="Times that all games are gone through")
    rate: float = parameter(0.1, gt=0, le=10, help="Of learning (Adagrad)")
    seed: int = parameter(0, ge=0, help="Of the order of games")
    licence: str = parameter("", help="Licence of the weights, an SPDX expression")


class RolloutConfig(StrictModel):
    """The config of ``miai go train rollout``."""

    data: DataSection
    patterns: PatternSection = Field(default=PatternSection())


@dataclass(frozen=True, slots=True)
class LearntPatterns:
    """How it ended.

    Attributes:
      weights: the file.
      test: how well moves of games that were not learnt from are foretold.
    """

    weights: Path
    test: PatternReport


def train_rollout(plan: Plan[RolloutConfig], *, journal: Journal | None = None) -> LearntPatterns:
    """Train from the beginning; this takes a minute for some thousands of games.

    Raises:
      MiaiError: the games cannot be read, or the weights cannot be written.
    """
    config = plan.config
    fractions = (1 - config.data.validation - config.data.test, config.data.validation)
    parts = (*fractions, config.data.test)
    games = GoDataset(
        config.data.sources,
        games=config.data.games,
        split="train",
        fractions=parts,
        filters=GameFilters(size=config.data.size, min_moves=config.data.min_moves),
    )
    held_out: Split = "test" if config.data.test else "validation"
    others = GoDataset.of_shards(games.shards, split=held_out, fractions=parts)
    policy = PatternPolicy.untrained(config.data.size)
    policy.header = policy.header.model_copy(update={"licence": config.patterns.licence})
    record = TrainingRecord(
        command=plan.command,
        config=plan.digest,
        data=f"{len(games)} games, {games.digest()}",
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
    )
    with journal or Journal(plan.folder) as told:
        if left_out := games.left_out():
            told.say(left_out)
        train(
            policy,
            _moves(games),
            size=games.size,
            epochs=config.patterns.epochs,
            rate=config.patterns.rate,
            seed=config.patterns.seed,
            record=record,
            progress=lambda epoch, report: _note(told, epoch + 1, report),
        )
        policy.save(plan.folder / WEIGHTS)
        found = measure(policy, _moves(others), size=games.size)
        figures = {"test_top1": found.top_1, "test_cross_entropy": found.cross_entropy}
        told.note(config.patterns.epochs, figures, line=f"{held_out}: {_told(found)}")
    return LearntPatterns(plan.folder / WEIGHTS, found)


def _moves(games: GoDataset) -> list[list[int]]:
    """Return the moves of the games that begin on the empty board with Black."""
    stored = (games.game(index) for index in range(len(games)))
    return [g.moves.tolist() for g in stored if g.stones is None and g.first == 1]


def _note(journal: Journal, epoch: int, report: PatternReport) -> None:
    figures = {"top1": report.top_1, "cross_entropy": report.cross_entropy}
    journal.note(epoch, figures, line=f"epoch {epoch}: {_told(report)}")


def _told(report: PatternReport) -> str:
    return (
        f"{report.positions} positions, top-1 {report.top_1:.1%}, "
        f"cross-entropy {report.cross_entropy:.4f}"
    )
