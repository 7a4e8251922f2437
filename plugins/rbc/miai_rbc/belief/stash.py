"""Boards that a belief has no room to expand, stored for later."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from miai_rbc.rules.board_set import BYTES_PER_BOARD, BoardSet

Order = Literal["earliest", "latest"]


@dataclass(slots=True)
class _Entry:
    turn: int
    boards: BoardSet | None
    file: Path | None = None
    count: int = 0


class Stash:
    """Sets of unexpanded boards, each with its turn.

    Up to `memory_bytes` are in memory, up to `disk_bytes` more in files of a temporary folder, the
    oldest first. A failed write counts as a full disk. Beyond both limits boards are dropped, the
    oldest first; of a single set, at least as many are stored as fill half of the room.

    Attributes:
      dropped: boards dropped so far.
    """

    def __init__(self, *, memory_bytes: int, disk_bytes: int, folder: Path | None = None) -> None:
        if memory_bytes < 0 or disk_bytes < 0:
            raise ValueError("a stash's bytes are not negative")
        self.dropped = 0
        self._memory, self._disk = memory_bytes, disk_bytes
        self._folder = folder
        self._spilled: tempfile.TemporaryDirectory[str] | None = None
        self._entries: list[_Entry] = []  # in the order of their turns
        self._files = self._in_memory = self._on_disk = 0  # files made; boards

    def add(self, turn: int, boards: BoardSet) -> None:
        """Store the unexpanded boards of a turn."""
        boards = self._fitting(boards)
        if len(boards) == 0:
            return
        entry = _Entry(turn, boards, count=len(boards))
        later = (i for i, other in enumerate(self._entries) if other.turn > turn)
        self._entries.insert(next(later, len(self._entries)), entry)
        self._in_memory += entry.count
        self._spill()

    def take(self, order: Order) -> tuple[int, BoardSet] | None:
        """Remove and return the earliest or latest set with its turn; None if empty.

        Raises:
          OSError: a spilled set cannot be read.
        """
        if not self._entries:
            return None
        entry = self._entries.pop(0 if order == "earliest" else -1)
        boards = entry.boards
        if boards is not None:
            self._in_memory -= entry.count
            return entry.turn, boards
        assert entry.file is not None
        boards = BoardSet(np.load(entry.file, allow_pickle=False))
        self._forget(entry.file, entry.count)
        return entry.turn, boards

    def __len__(self) -> int:
        return self._in_memory + self._on_disk

    def memory_used(self) -> int:
        """Return the bytes in memory."""
        return BYTES_PER_BOARD * self._in_memory

    def disk_used(self) -> int:
        """Return the bytes in files."""
        return BYTES_PER_BOARD * self._on_disk

    def close(self) -> None:
        """Remove all sets and files."""
        self._entries.clear()
        self._in_memory = self._on_disk = 0
        if self._spilled is not None:
            self._spilled.cleanup()
            self._spilled = None

    def _fitting(self, boards: BoardSet) -> BoardSet:
        """Return the boards, or some of them if they would leave no room for others.

        The boards are in random order, so that the first ones are a uniform sample.
        """
        room = (self._memory + self._disk) // BYTES_PER_BOARD
        fitting = max(room - len(self), room // 2)
        if len(boards) <= fitting:
            return boards
        self.dropped += len(boards) - fitting
        return BoardSet(boards.rows[:fitting].copy())

    def _spill(self) -> None:
        while self.memory_used() > self._memory:
            entry = next(e for e in self._entries if e.boards is not None)
            if self.disk_used() + BYTES_PER_BOARD * entry.count > self._disk:
                self._drop(self._entries.pop(0))
                continue
            assert entry.boards is not None
            try:
                entry.file = self._path()
                with entry.file.open("wb") as file:
                    np.save(file, entry.boards.rows, allow_pickle=False)
            except OSError:  # a full disk, or no folder to write to
                entry.file, self._disk = None, self.disk_used()
                continue
            entry.boards = None
            self._in_memory -= entry.count
            self._on_disk += entry.count

    def _drop(self, entry: _Entry) -> None:
        self.dropped += entry.count
        if entry.file is None:
            self._in_memory -= entry.count
        else:
            self._forget(entry.file, entry.count)

    def _forget(self, file: Path, count: int) -> None:
        self._on_disk -= count
        file.unlink()

    def _path(self) -> Path:
        if self._spilled is None:
            self._spilled = tempfile.TemporaryDirectory(prefix="miai-rbc-", dir=self._folder)
        self._files += 1
        return Path(self._spilled.name) / f"{self._files}.npy"
