"""What an agent's process is allowed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from miai.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Bounds of an agent's process; passing one of them costs the agent the game.

    Attributes:
      output_bytes: most bytes written to standard output and error in one game, engines that the
        agent runs included.
      frame_bytes: most bytes of one answer.
      answer_bytes: most bytes of all answers of one game.
      new_game_seconds: most wall time to prepare for a game, once started.
      end_seconds: most wall time to take note of the end of a game; exceeding it costs no game,
        the process is killed and started anew.
      close_seconds: most wall time to exit when asked to, before it is killed.
      memory: most mebibytes of private memory of each process, the agent's own and those that it
        starts (``RLIMIT_DATA``); None for what the system gives.
      processors: of those that the referee may run on, how many the agent's processes may; None
        for all.
      hidden: folders whose files the agent's processes cannot read, nor the temporary files of
        other agents; none of it is hidden when there are none. See `miai.process.sandbox`.

    Raises:
      ConfigError: a limit is not a positive number.
    """

    output_bytes: int = 1 << 20
    frame_bytes: int = 1 << 18
    answer_bytes: int = 1 << 24
    new_game_seconds: float = 60.0
    end_seconds: float = 10.0
    close_seconds: float = 2.0
    memory: int | None = None
    processors: int | None = None
    hidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name == "hidden":
                continue
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"process limit {field.name} is {value}; give more than 0")
