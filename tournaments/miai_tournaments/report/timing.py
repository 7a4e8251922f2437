"""What players' moves took: the spread over games of the mean time of a move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from miai.record import Termination
from miai_tournaments.report.standings import Mean
from miai_tournaments.store.rows import GameRow

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeUse:
    """One player's use of time, in seconds.

    Attributes:
      player: its name.
      games: games in which its time was measured.
      per_move, cpu_per_move: means over all its moves, wall and CPU time; None where unknown.
      quantiles: of the games' mean times of a move, at `QUANTILES`; empty without games.
      longest_game: the most it took for one game.
      total: what it took for all.
      lost_on_time: games that it forfeited by its clock or by a hang.
    """

    player: str
    games: int
    per_move: float | None
    cpu_per_move: float | None
    quantiles: tuple[float, ...]
    longest_game: float
    total: float
    lost_on_time: int

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "quantiles": list(self.quantiles)}


class _Sums:
    def __init__(self) -> None:
        self.seconds, self.cpu = Mean(), Mean()
        self.games: list[float] = []
        self.longest, self.lost = 0.0, 0

    def add(self, row: GameRow, seat: int) -> None:
        if row.loser == seat and row.termination == Termination.TIME:
            self.lost += 1
        if seat >= len(row.seconds) or seat >= len(row.player_moves):
            return
        seconds, moves = row.seconds[seat], row.player_moves[seat]
        self.longest = max(self.longest, seconds)
        if not moves:
            return
        self.seconds.add(seconds, moves)
        self.games.append(seconds / moves)
        cpu = row.cpu_seconds[seat] if seat < len(row.cpu_seconds) else None
        if cpu is not None:
            self.cpu.add(cpu, moves)


def time_uses(rows: Iterable[GameRow], players: Sequence[str]) -> list[TimeUse]:
    """Return the players' use of time in games that are done, in the order given."""
    sums = {name: _Sums() for name in players}
    for row in rows:
        if row.status == "done":
            for seat, name in enumerate(row.players):
                sums[name].add(row, seat)
    return [_use(name, sums[name]) for name in players]


def _use(name: str, sums: _Sums) -> TimeUse:
    found = np.quantile(sums.games, QUANTILES).tolist() if sums.games else []
    return TimeUse(
        player=name,
        games=len(sums.games),
        per_move=sums.seconds.value,
        cpu_per_move=sums.cpu.value,
        quantiles=tuple(found),
        longest_game=sums.longest,
        total=sums.seconds.total,
        lost_on_time=sums.lost,
    )
