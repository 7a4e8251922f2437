"""What the agents of Reconnaissance Blind Chess can be told. Imports nothing heavy."""

from __future__ import annotations

from typing import Literal

from miai import Parameters, parameter

ScanName = Literal["partition", "expected_size", "entropy", "max_size", "weighted"]
EngineName = Literal["kernel", "stockfish"]


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
    depth: int = parameter(3, ge=1, le=30, help="plies of its search")
    command: str = parameter("stockfish", help="program of the UCI engine")
    processes: int = parameter(1, ge=1, le=64, help="processes of the UCI engine")


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


class SeedParameters(MoveParameters):
    """The first miai RBC bot: 5th of the first competition in 2019.

    Boards are weighed for the scan ``weighted`` alone.
    """

    scan: ScanName = parameter("partition", help="which window to sense")


class StrongParameters(MoveParameters):
    """The strongest: senses for the move that follows, boards weighted by the opponent's sense."""

    samples: int = parameter(200, ge=1, le=10_000, help="boards that moves are scored on")
    mean: float = parameter(0.7, ge=0, le=1, help="share of the mean score")
    low: float = parameter(0.3, ge=0, le=1, help="share of the low end")
    quantile: float = parameter(0.05, ge=0, lt=1, help="of boards below the low end; 0: worst")
