"""What the agents of Reconnaissance Blind Chess can be told. Imports nothing heavy."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import model_validator

from miai import Parameters, parameter

ScanName = Literal["partition", "expected_size", "entropy", "max_size", "weighted"]
EngineName = Literal["kernel", "stockfish"]

DEEPEST: Final = 30
"""Plies of the deepest search that can be asked for."""

_USUAL_DEPTH = 3
_OF_UCI = ("command", "processes", "movetime", "engine_threads", "longest")


class BeliefParameters(Parameters):
    """The belief that an agent keeps."""

    limit: int = parameter(
        5_000_000, ge=512, help="boards before the sense, past which a sample lives on"
    )
    stash_mb: int = parameter(512, ge=0, help="MB of boards kept unexpanded in memory")
    spill_mb: int = parameter(4096, ge=0, help="MB of them kept in files beyond")
    order: Literal["earliest", "latest"] = parameter(
        "earliest", help="which stashed boards are simulated forward first"
    )
    threads: int = parameter(1, ge=1, le=64, help="of the expansion of a large belief")


class EngineParameters(Parameters):
    """The engine that values positions."""

    engine: EngineName = parameter("kernel", help="embedded, or any UCI engine")
    depth: int | None = parameter(
        None,
        ge=1,
        le=DEEPEST,
        help=f"plies of its search; none: {_USUAL_DEPTH}, or as nodes or movetime allow",
    )
    nodes: int | None = parameter(None, ge=1, help="nodes of one search")
    hash_mb: int = parameter(16, ge=1, le=4096, help="MB of its hash table, of each process")
    command: str = parameter("stockfish", help="program of the UCI engine")
    processes: int = parameter(1, ge=1, le=64, help="processes of the UCI engine")
    movetime: float | None = parameter(
        None,
        gt=0,
        le=3600,
        unit="seconds",
        help="of one search of the UCI engine; not reproducible",
    )
    engine_threads: int = parameter(
        1, ge=1, le=256, help="threads of each process of the UCI engine"
    )
    longest: float = parameter(
        60.0,
        ge=0.1,
        le=3600,
        unit="seconds",
        help="after which a search of the UCI engine without movetime counts as hanging",
    )

    @property
    def search_depth(self) -> int | None:
        """Plies of a search; None when nodes or movetime alone limit it."""
        limited = self.nodes is not None or self.movetime is not None
        return self.depth if self.depth is not None or limited else _USUAL_DEPTH

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        fields = type(self).model_fields
        idle = [name for name in _OF_UCI if getattr(self, name) != fields[name].default]
        if self.engine == "kernel" and idle:
            raise ValueError(
                f"{', '.join(idle)}: of a UCI engine alone; give engine = 'stockfish', or leave "
                "it out"
            )
        return self


class MoveParameters(BeliefParameters, EngineParameters):
    """How a move is chosen on sampled boards."""

    samples: int = parameter(50, ge=1, le=10_000, help="boards that moves are scored on")
    top: int = parameter(3, ge=1, le=20, help="engine moves of each board that are candidates")
    widest: int = parameter(30, ge=1, le=500, help="most candidates")
    mean: float = parameter(0.0, ge=0, le=1, help="share of the mean score")
    low: float = parameter(1.0, ge=0, le=1, help="share of the worst score")
    quantile: float = parameter(0.0, ge=0, lt=1, help="of boards below the low end; 0: worst")
    considered: int = parameter(
        1000, ge=1, le=100_000, help="boards valued to weigh them, of which the sample is"
    )
    temperature: float = parameter(
        150.0, gt=0, le=100_000, help="centipawns by which a board is e times as probable"
    )
    blind: float = parameter(0.4, ge=0, le=1, help="share of the weight that all boards have alike")
    check: float = parameter(
        0.0, ge=0, le=10_000, help="centipawns that an attack on our king counts to the opponent"
    )


class SeedParameters(MoveParameters):
    """The first miai RBC bot: 5th of the first competition in 2019.

    Boards are weighed for the scan ``weighted`` alone.
    """

    scan: ScanName = parameter("partition", help="which window to sense")


class StrongParameters(MoveParameters):
    """The strongest: senses for the move that follows, boards weighted by the opponent's sense."""

    check: float = parameter(
        300.0, ge=0, le=10_000, help="centipawns that an attack on our king counts to the opponent"
    )
    samples: int = parameter(200, ge=1, le=10_000, help="boards that moves are scored on")
    mean: float = parameter(0.7, ge=0, le=1, help="share of the mean score")
    low: float = parameter(0.3, ge=0, le=1, help="share of the low end")
    quantile: float = parameter(0.05, ge=0, lt=1, help="of boards below the low end; 0: worst")
