"""Tables that training configs share."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from miai.parameters import StrictModel, parameter
from miai_go.errors import DataError
from miai_go.learning.data.dataset import EncoderChoice, GoDataset
from miai_go.learning.data.importing import GameFilters
from miai_go.learning.data.stored_games import Split
from miai_go.rules.sizes import BoardSizes, board_names, sizes_of


class EncoderSection(StrictModel):
    """Encoder of the network's input."""

    name: str = parameter("zero", help="Name of the encoder")
    parameters: dict[str, Any] = Field(
        default={}, description="Its parameters (default: those of network.start, if given)"
    )


class NetworkSection(StrictModel):
    """Network to train."""

    name: str = parameter("tower", help="Name of the network")
    parameters: dict[str, Any] = Field(
        default={},
        description="Its parameters; one that is not given is that of start, if there is a start",
    )
    start: str = parameter("", help="Weights to start from; empty for random ones")
    norms: Literal["batch", "fixed"] = parameter(
        "batch",
        help="Statistics that norms use in training: batch, those of each batch; fixed, those of "
        "start, for boards of several sizes",
    )

    @model_validator(mode="after")
    def _check_norms(self) -> Self:
        if self.norms == "fixed" and not self.start:
            raise ValueError("norms = 'fixed' needs start: without it there are no statistics yet")
        return self


class OptimiserSection(StrictModel):
    """Optimiser and learning rate."""

    method: Literal["sgd", "adamw"] = parameter(
        "sgd", help="Optimiser: adamw, or sgd with Nesterov momentum"
    )
    rate: float = parameter(0.02, gt=0, le=10, help="Maximum learning rate")
    last_rate: float = parameter(
        0.01, ge=0, le=1, help="Final learning rate as a share of the maximum (cosine schedule)"
    )
    warm_steps: int = parameter(200, ge=0, unit="steps", help="Steps of warm-up")
    momentum: float = parameter(0.9, ge=0, lt=1, help="Momentum; for adamw the first beta")
    decay: float = parameter(1e-4, ge=0, le=1, help="Weight decay")
    clip: float = parameter(5.0, ge=0, help="Maximum norm of the gradient; 0 for no limit")
    batch: int = parameter(256, ge=1, le=65536, unit="positions", help="Positions in a step")


class LossSection(StrictModel):
    """Weights of the losses."""

    policy: float = parameter(1.0, ge=0, help="Weight of the policy's cross-entropy")
    value: float = parameter(1.0, ge=0, help="Weight of the value's mean square error")
    ownership: float = parameter(0.15, ge=0, help="Weight of the ownership's mean square error")
    score: float = parameter(0.02, ge=0, help="Weight of the score's Huber loss, in tens of points")


class TrainingRunSection(StrictModel):
    """Length, device and output of a run."""

    steps: int = parameter(1000, ge=1, unit="steps", help="Optimiser steps")
    minutes: float = parameter(
        0.0,
        ge=0,
        unit="minutes",
        help="Wall-clock limit of learning, within which the learning rate falls to its end; 0: no "
        "limit",
    )
    seed: int = parameter(0, ge=0, help="Seed of weights and of the order of data")
    device: str = parameter("cpu", help="Device: cpu, cuda, cuda:1")
    threads: int = parameter(
        0, ge=0, le=256, unit="threads", help="Threads of torch; 0 for its own choice"
    )
    precision: Literal["fp32", "bf16"] = parameter(
        "fp32", help="Precision of multiplications; weights are always fp32"
    )
    average: float = parameter(
        0.0, ge=0, lt=1, help="Decay of the moving average of weights to save; 0 for none"
    )
    checkpoint_every: int = parameter(500, ge=1, unit="steps", help="Steps between checkpoints")
    measure_every: int = parameter(500, ge=1, unit="steps", help="Steps between measurements")
    log_every: int = parameter(50, ge=1, unit="steps", help="Steps between log lines")
    licence: str = parameter("", help="SPDX licence expression of the weights")


class LearningTables(StrictModel):
    """What a `miai_go.learning.training.learner.Learner` needs of a config."""

    optimiser: OptimiserSection = Field(default=OptimiserSection())
    loss: LossSection = Field(default=LossSection())
    run: TrainingRunSection = Field(default=TrainingRunSection())


class NetworkTraining(LearningTables):
    """The tables of every training of a network of `go.network`."""

    encoder: EncoderSection = Field(default=EncoderSection())
    network: NetworkSection = Field(default=NetworkSection())


class PlayedGames(StrictModel):
    """What the games that a training plays have in common."""

    size: int = parameter(9, ge=2, le=25, unit="points", help="Board size")
    komi: float = parameter(7.0, multiple_of=0.5, unit="points", help="Komi")
    max_moves: int = parameter(160, ge=2, unit="moves", help="Move limit, then area is scored")


class DataSection(StrictModel):
    """Games to train on."""

    sources: tuple[str, ...] = Field(
        min_length=1, description="Shard sets, or folders, archives and files of SGF"
    )
    games: int | None = parameter(
        None, ge=1, unit="games", help="Maximum number of games, a random sample"
    )
    size: BoardSizes = parameter(
        9, unit="points", help="Points on a side; several for a network that plays all of them"
    )
    min_moves: int = parameter(10, ge=0, unit="moves", help="Minimum length of imported SGF games")
    validation: float = parameter(0.05, ge=0, lt=1, help="Share of games for validation")
    test: float = parameter(0.05, ge=0, lt=1, help="Share of games for the final measurement")
    symmetries: bool = parameter(True, help="Turn each position by a random symmetry")

    def open(
        self, encoder: EncoderChoice, *, held_out: Split = "validation"
    ) -> tuple[GoDataset, GoDataset]:
        """Return the games to train on, and those of a split that is held out.

        Raises:
          DataError: the games cannot be read, a split of them is empty, or a size has no games to
            train on.
        """
        fractions = (1 - self.validation - self.test, self.validation, self.test)
        train = GoDataset(
            self.sources,
            encoder=encoder,
            games=self.games,
            split="train",
            fractions=fractions,
            filters=GameFilters(size=self.size, min_moves=self.min_moves),
        )
        if missing := set(sizes_of(self.size)) - set(train.sizes):
            raise DataError(
                f"data.size: the sources have no game of {board_names(missing)} to train on; leave "
                "it out, or add a source"
            )
        return train, GoDataset.of_shards(
            train.shards, encoder=encoder, split=held_out, fractions=fractions
        )


class LessonSection(DataSection):
    """Games to train networks on."""

    root_share: float = parameter(
        0.0,
        ge=0,
        le=1,
        help="Weight of a search's value, sharpened, beside the result in the value target, in "
        "games that have such values; see miai go data annotate",
    )
    targets_only: bool = parameter(
        False,
        help="Learn only from positions with a target for the policy: in games that a search "
        "played, those of its full searches",
    )
    resident: bool = parameter(
        False,
        help="Encode all positions once and keep them on the device, about 1 KB each on 9x9; for a "
        "GPU",
    )
