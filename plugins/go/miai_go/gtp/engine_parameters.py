"""The parameters of an external engine."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, Self

from pydantic import field_validator, model_validator

from miai.parameters import CommandParameters, Parameters, parameter

PLACEHOLDERS: Final = ("{seed}", "{board_size}", "{komi}")
_MAX_SEED: Final = (1 << 31) - 1
_DAY: Final = 86_400.0


class EngineTimeouts(Parameters):
    """How long an engine may take."""

    startup: float = parameter(
        30.0,
        gt=0,
        le=_DAY,
        unit="seconds",
        help="Time limit for the engine's start, including its first answers",
    )
    command: float = parameter(
        30.0, gt=0, le=_DAY, unit="seconds", help="Time limit for every command except a move"
    )
    move: float = parameter(
        600.0, gt=0, le=_DAY, unit="seconds", help="Time limit for a move in games without a clock"
    )


class GtpEngineParameters(CommandParameters):
    """How an engine is started and how long it may take."""

    command: tuple[str, ...] = parameter(
        help="Program and arguments, as a list or one line, without a shell; {seed}, {board_size} "
        "and {komi} are replaced",
        min_length=1,
        opens="program",
    )
    startup: tuple[str, ...] = parameter(
        (), help="GTP commands sent after the start; placeholders as in command"
    )
    name: str = parameter(
        "", max_length=80, help="Name of the engine in messages (default: its program)"
    )
    timeouts: EngineTimeouts = parameter(EngineTimeouts(), help="How long the engine may take")

    @field_validator("startup")
    @classmethod
    def _single_lines(cls, commands: tuple[str, ...]) -> tuple[str, ...]:
        for text in commands:
            if not text.strip() or not text.isprintable() or "#" in text:
                raise ValueError(
                    f"a GTP command must be one line of printable text without comments: {text!r}"
                )
            if text.split()[0].isdigit():
                raise ValueError(f"a GTP command here has no identity number: {text!r}")
        return commands

    @property
    def called(self) -> str:
        """The engine in messages."""
        return f"engine '{self.name or Path(self.command[0]).name}'"


class GtpParameters(GtpEngineParameters):
    """How an engine plays."""

    restart: Literal["game", "never"] = parameter(
        "game", help="When to start a new process: for each game, or never (one for all games)"
    )
    rules: Literal["told", "own"] = parameter(
        "told", help="Send the game's rules if the engine knows kata-set-rules, or keep its own"
    )
    probe: bool = parameter(
        True, help="Check before the first game that the engine accepts suicide, if allowed"
    )
    handicap: Literal["moves", "announced"] = parameter(
        "moves",
        help="Send handicap stones as moves, with White's compensation in the komi, or announce "
        "them by set_free_handicap and let the engine compensate White by its own rules",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.restart == "never":
            used = [p for p in PLACEHOLDERS if any(p in word for word in self.command)]
            if used:
                raise ValueError(
                    f"{used[0]} in the command needs restart = 'game'; or move it to startup"
                )
        return self


def engine_seed(seed: int) -> int:
    """Return a seed that any engine accepts, from 1 to 2147483647 (0 often means the time)."""
    return seed % _MAX_SEED + 1
