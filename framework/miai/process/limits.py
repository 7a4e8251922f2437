"""Limits of an agent's process."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from miai.errors import ConfigError
from miai.process.sandbox import Isolation


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Limits of an agent's process; an agent that exceeds one loses the game.

    Attributes:
      output_bytes: maximum bytes written to standard output and error in one game, also by engines
        that the agent runs.
      frame_bytes: maximum bytes of one answer.
      answer_bytes: maximum bytes of all answers of one game.
      new_game_seconds: maximum wall time to prepare for a game, once started.
      end_seconds: maximum wall time to handle the end of a game; exceeding it costs no game, but
        the process is killed and restarted.
      close_seconds: maximum wall time to exit when asked to, before it is killed.
      memory: maximum mebibytes of private memory of each process, the agent's own and those that
        it starts (``RLIMIT_DATA``), and of all of them together where control groups can be made;
        None for three quarters of the machine's.
      processes: maximum number of processes and threads, in a sandbox.
      disk: maximum mebibytes of a file, and in a sandbox of each private folder.
      processors: how many of the referee's processors the agent may run on; None for all.
      hidden: folders and files that the agent's processes can neither read nor change; if there
        are any, the temporary files of other agents are hidden too. See `miai.process.sandbox`.
      isolation: level of isolation; None for the strongest that the machine offers.

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
    processes: int = 1024
    disk: int = 1024
    hidden: tuple[str, ...] = ()
    isolation: Isolation | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name in {"hidden", "isolation"}:
                continue
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"process limit {field.name} is {value}; give more than 0")
