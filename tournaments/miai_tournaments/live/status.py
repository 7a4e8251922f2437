"""How far a tournament is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from miai_tournaments.live.progress import one_line
from miai_tournaments.store.folder import runner_of
from miai_tournaments.store.store import Status, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The state of a tournament.

    Attributes:
      folder, name, game: which one.
      counts: games by status.
      runner: who runs it now, in words; None when nobody does.
      open: whether the format may add games when these are played.
      voids: (game, attempts that were void, reason of the last).
    """

    folder: str
    name: str
    game: str
    counts: Mapping[Status, int]
    runner: str | None
    voids: tuple[tuple[str, int, str], ...]
    open: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "total": self.total}

    @property
    def total(self) -> int:
        """Number of scheduled games."""
        return sum(self.counts.values())

    def to_text(self) -> str:
        """Return it in a few lines."""
        counts = self.counts
        so_far = " scheduled so far" if self.open else ""
        done = f"{counts['done']} of {self.total} games{so_far} are done"
        others = [f"{counts[s]} {s}" for s in ("running", "void", "pending") if counts[s]]
        lines = [f"{self.name} ({self.game}) in {self.folder}", ", ".join([done, *others])]
        lines += [f"void {n}x: {game}: {one_line(reason)}" for game, n, reason in self.voids]
        if self.runner:
            lines.append(f"running: {self.runner}")
        elif counts["done"] < self.total or self.open:
            lines.append(f"not running; continue with: miai tournament resume {self.folder}")
        return "\n".join(lines)


def read_status(folder: Path) -> RunStatus:
    """Return the state of the tournament in a folder. Raises `StoreError` when there is none."""
    runner = runner_of(folder)
    with Store.read(folder) as store:
        info, counts = store.info(), store.counts()
        voids = [(row.game_id, row.void_count, row.void_reason) for row in store.voided()]
    if runner is None:  # what a runner that died left marked as running is not
        counts["pending"] += counts["running"]
        counts["running"] = 0
    return RunStatus(
        folder=str(folder),
        name=info.name,
        game=info.game,
        counts=counts,
        runner=runner,
        voids=tuple(voids),
        open=info.facts.get("open") is True,
    )
