"""Boards that a belief had no room to expand, kept until they are needed."""

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
    """Sets of unexpanded boards, each with the turn at which it was left.

    Up to `memory_bytes` are held in memory, up to `disk_bytes` more in files of a temporary
    folder, the oldest first; a disk that takes no more is one that is full. What exceeds both is
    dropped, the oldest first, but of a single set never more than leaves half of the room.

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
        """Keep boards that were left at a turn."""
        boards = self._fitting(boards)
        if len(boards) == 0:
            return
        entry = _Entry(turn, boards, count=len(boards))
        later = (i for i, other in enumerate(self._entries) if other.turn > turn)
        self._entries.insert(next(later, len(self._entries)), entry)
        self._in_memory += entry.count
        self._spill()

    def take(self, order: Order) -> tuple[int, BoardSet] | None:
        """Return the earliest or the latest set with its turn, and forget it; None when empty.

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

    def turns(self) -> set[int]:
        """Return the turns at which boards were left."""
        return {entry.turn for entry in self._entries}

    def __len__(self) -> int:
        return self._in_memory + self._on_disk

    def memory_used(self) -> int:
        """Return the bytes held in memory."""
        return BYTES_PER_BOARD * self._in_memory

    def disk_used(self) -> int:
        """Return the bytes held in files."""
        return BYTES_PER_BOARD * self._on_disk

    def close(self) -> None:
        """Forget everything and remove the files."""
        self._entries.clear()
        self._in_memory = self._on_disk = 0
        if self._spilled is not None:
            self._spilled.cleanup()
            self._spilled = None

    def _fitting(self, boards: BoardSet) -> BoardSet:
        """Return boards, a part of them where they would leave no room to any others.

        The boards are in a random order, so that the first of them are a uniform sample.
        """
        most = (self._memory + self._disk) // BYTES_PER_BOARD
        fitting = max(most - len(self), most // 2)
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
                entry.boards.save(entry.file)
            except OSError:  # a full disk, or no folder to write to: there is no more room
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
