"""The config of ``miai go train zero``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from miai.parameters import StrictModel, parameter
from miai_go.learning.selfplay.tree_games import TreeGames
from miai_go.learning.training.config_sections import DataSection, NetworkTraining, PlayedGames
from miai_go.search.forest import TreeSettings


class ZeroGameSection(PlayedGames):
    """The game."""

    komi_spread: float = parameter(
        0.0,
        ge=0,
        le=50,
        multiple_of=0.5,
        unit="points",
        help="Komi of each game is drawn evenly from komi plus or minus this; for encoders that "
        "show it",
    )
    max_moves: int = parameter(120, ge=2, unit="moves", help="Move limit, then area is scored")


class ZeroSearchSection(StrictModel):
    """The search of self-play."""

    method: Literal["gumbel", "puct"] = parameter("gumbel", help="Search method")
    simulations: int = parameter(32, ge=2, unit="simulations", help="Simulations of a full search")
    fast_simulations: int = parameter(
        8, ge=1, unit="simulations", help="Simulations of a fast search"
    )
    full_share: float = parameter(
        1.0, gt=0, le=1, help="Share of moves searched fully; only these are trained on"
    )
    considered: int = parameter(16, ge=2, unit="moves", help="Gumbel: moves considered at the root")
    c_scale: float = parameter(1.0, gt=0, help="Gumbel: weight of values beside priors")
    c_puct: float = parameter(1.5, ge=0, help="PUCT: weight of the priors")
    fpu: float = parameter(0.2, ge=-2, le=2, help="PUCT: value reduction of untried moves")
    noise_share: float = parameter(0.25, ge=0, le=1, help="PUCT: share of Dirichlet noise")
    noise_total: float = parameter(10.0, gt=0, help="PUCT: total concentration of the noise")
    warm_moves: int = parameter(
        10, ge=0, unit="moves", help="PUCT: opening moves sampled by visits"
    )


class ResignSection(StrictModel):
    """Resigning in self-play."""

    below: float | None = parameter(
        None, ge=-1, le=1, help="Value below which a player resigns (default: never)"
    )
    hold_out: float = parameter(0.1, ge=0, le=1, help="Share of games without resignation")


class SelfPlaySection(StrictModel):
    """The games of self-play."""

    rounds: int = parameter(100, ge=1, unit="rounds", help="Rounds of self-play and training")
    games: int = parameter(256, ge=1, unit="games", help="Games per round, over all groups")
    groups: int = parameter(
        2, ge=1, le=64, unit="groups", help="Groups of games, each with its own random numbers"
    )
    at_once: int = parameter(64, ge=1, unit="games", help="Games of a group played in step")
    workers: int = parameter(
        0, ge=0, le=64, unit="workers", help="Threads that play groups; 0 for one per processor"
    )
    precision: Literal["run", "int8"] = parameter(
        "run", help="Precision of the playing networks: the run's, or int8 by ONNX Runtime"
    )


class ReplaySection(StrictModel):
    """The self-play games to train on."""

    rounds: int = parameter(20, ge=1, unit="rounds", help="Number of newest rounds to train on")
    root_share: float = parameter(
        0.0, ge=0, le=1, help="Weight of the search's value, as it is, in the value target"
    )


class RecordedSection(StrictModel):
    """Recorded games to train on beside those of self-play.

    Self-play makes few games, and the positions of a game share one result. Training on them alone
    makes a value head that was trained on many games forget.
    """

    sources: tuple[str, ...] = Field(
        default=(), description="Shard sets, or folders, archives and files of SGF (default: none)"
    )
    share: float = parameter(
        0.5, gt=0, lt=1, help="Share of the steps that train on recorded games"
    )
    min_moves: int = parameter(10, ge=0, unit="moves", help="Minimum length of SGF games")
    validation: float = parameter(0.05, ge=0, lt=1, help="Share of validation games, as in sl")
    test: float = parameter(0.05, ge=0, lt=1, help="Share of test games, as in sl")

    def data(self, size: int) -> DataSection | None:
        """Return the games as a data section; None without sources."""
        if not self.sources:
            return None
        return DataSection(
            sources=self.sources,
            size=size,
            min_moves=self.min_moves,
            validation=self.validation,
            test=self.test,
        )


class GateSection(StrictModel):
    """The match that new weights must win before they play."""

    games: int = parameter(
        0, ge=0, multiple_of=2, unit="games", help="Games of the gate; 0 for no gate"
    )
    score: float = parameter(0.55, ge=0, le=1, help="Minimum score of new weights")


class LadderSection(StrictModel):
    """Matches against earlier weights, for the Elo graph."""

    every: int = parameter(10, ge=0, unit="rounds", help="Rounds between matches; 0 for none")
    games: int = parameter(100, ge=2, multiple_of=2, unit="games", help="Games per match")
    simulations: int = parameter(32, ge=0, unit="simulations", help="Simulations per move")
    opening: int = parameter(4, ge=0, unit="moves", help="Opening moves sampled from the priors")


class ZeroConfig(NetworkTraining):
    """The config of ``miai go train zero``; ``run.steps`` are spread evenly over the rounds."""

    game: ZeroGameSection = Field(default=ZeroGameSection())
    search: ZeroSearchSection = Field(default=ZeroSearchSection())
    resign: ResignSection = Field(default=ResignSection())
    selfplay: SelfPlaySection = Field(default=SelfPlaySection())
    replay: ReplaySection = Field(default=ReplaySection())
    recorded: RecordedSection = Field(default=RecordedSection())
    gate: GateSection = Field(default=GateSection())
    ladder: LadderSection = Field(default=LadderSection())

    def tree(self) -> TreeSettings:
        """Return the tree settings of self-play."""
        search = self.search
        return TreeSettings(
            gumbel=search.considered if search.method == "gumbel" else 0,
            c_scale=search.c_scale,
            c_puct=search.c_puct,
            fpu=search.fpu,
            root_fpu=0.0 if search.noise_share else search.fpu,
        )

    def games(self) -> TreeGames:
        """Return the game settings of self-play."""
        search = self.search
        return TreeGames(
            size=self.game.size,
            half_komi=round(2 * self.game.komi),
            komi_spread=round(2 * self.game.komi_spread),
            max_moves=self.game.max_moves,
            tree=self.tree(),
            simulations=search.simulations,
            fast_simulations=search.fast_simulations,
            full_share=search.full_share,
            noise_share=search.noise_share,
            noise_total=search.noise_total,
            warm_moves=search.warm_moves,
            resign_below=self.resign.below,
            hold_out=self.resign.hold_out,
        )
