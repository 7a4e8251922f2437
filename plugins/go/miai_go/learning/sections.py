"""The tables that training configs have in common."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from miai.parameters import StrictModel, parameter


class EncoderSection(StrictModel):
    """What the network is fed."""

    name: str = parameter("zero", help="Encoder, by name")
    parameters: dict[str, Any] = Field(default={})


class NetworkSection(StrictModel):
    """The network that is trained."""

    name: str = parameter("tower", help="Network, by name")
    parameters: dict[str, Any] = Field(default={})
    start: str = parameter("", help="Weights to begin with; empty draws them by the run's seed")


class OptimiserSection(StrictModel):
    """How weights are changed."""

    method: Literal["sgd", "adamw"] = parameter("sgd", help="sgd: with Nesterov's momentum")
    rate: float = parameter(0.02, gt=0, le=10, help="Learning rate at its highest")
    last_rate: float = parameter(
        0.01, ge=0, le=1, help="The learning rate at the end, as a share of the highest (cosine)"
    )
    warm_steps: int = parameter(200, ge=0, unit="steps", help="Steps in which the rate rises")
    momentum: float = parameter(0.9, ge=0, lt=1, help="Momentum; of adamw its first beta")
    decay: float = parameter(1e-4, ge=0, le=1, help="Weight decay")
    clip: float = parameter(5.0, ge=0, help="Longest gradient; 0 for no limit")
    batch: int = parameter(256, ge=1, le=65536, unit="positions", help="Positions of a step")


class LossSection(StrictModel):
    """What the network is to answer, and how much each answer counts."""

    policy: float = parameter(1.0, ge=0, help="Of the policy, cross-entropy")
    value: float = parameter(1.0, ge=0, help="Of the value, mean square")
    ownership: float = parameter(0.15, ge=0, help="Of the ownership, mean square")
    score: float = parameter(0.02, ge=0, help="Of the score, Huber, points over ten")


class TrainingRunSection(StrictModel):
    """How long, on what, and what is kept."""

    steps: int = parameter(1000, ge=1, unit="steps", help="Optimiser steps")
    seed: int = parameter(0, ge=0, help="Of weights and of the order of data")
    device: str = parameter("cpu", help="Where torch trains: cpu, cuda, cuda:1")
    threads: int = parameter(0, ge=0, le=256, unit="threads", help="torch's; 0 for its own choice")
    precision: Literal["fp32", "bf16"] = parameter(
        "fp32", help="Of the multiplications; weights are always kept in fp32"
    )
    average: float = parameter(
        0.0, ge=0, lt=1, help="Decay of the running average of weights that is kept; 0 for none"
    )
    checkpoint_every: int = parameter(500, ge=1, unit="steps", help="Steps between checkpoints")
    measure_every: int = parameter(500, ge=1, unit="steps", help="Steps between measurements")
    log_every: int = parameter(50, ge=1, unit="steps", help="Steps between lines of the log")
    licence: str = parameter("", help="Licence of the weights, an SPDX expression")


class DataSection(StrictModel):
    """Games to learn from."""

    sources: tuple[str, ...] = Field(
        min_length=1, description="Shard sets, or folders, archives and files of SGF"
    )
    games: int | None = parameter(None, ge=1, unit="games", help="At most so many, drawn by seed")
    size: int = parameter(9, ge=1, le=25, unit="points", help="Points on a side")
    min_moves: int = parameter(10, ge=0, unit="moves", help="Shorter games of SGF are left out")
    validation: float = parameter(0.05, ge=0, lt=1, help="Share of games that measure progress")
    test: float = parameter(0.05, ge=0, lt=1, help="Share of games kept for the last measurement")
    symmetries: bool = parameter(True, help="Turn every position by one of the eight symmetries")
