"""What a run has found so far, so that the same command goes on where it was stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

import numpy as np

from miai_go.tsumego.errors import ProblemError
from miai_go.tsumego.generating.walled import Found
from miai_go.tsumego.problems import Problem

SUFFIX: Final = ".part"
_VERSION: Final = 1


class Journal:
    """A file beside the result: one line of JSON for the settings, one for each chunk of draws.

    Used in a ``with`` statement. A last line that is torn is dropped.

    Attributes:
      chunks: what was found, by empty points and the number of the chunk.

    Args:
      out: the result.
      settings: of the run, plain data.

    Raises:
      ProblemError: the file is of other settings, or cannot be read or written.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.path = out.with_name(f"{out.name}{SUFFIX}")
        self.chunks: dict[tuple[int, int], list[Found]] = {}
        self._head = json.dumps({"version": _VERSION, "settings": dict(settings)}, sort_keys=True)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            kept = self._read()
            self._file = self.path.open("r+b" if kept else "wb")
            self._file.truncate(kept)
            self._file.seek(kept)
        except OSError as error:
            raise ProblemError(f"{self.path}: cannot be written: {error.strerror}") from error
        if not kept:
            self._append(self._head)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, empty: int, chunk: int, found: list[Found]) -> None:
        """Keep what a chunk gave. Raises `ProblemError` where it cannot be written."""
        self.chunks[empty, chunk] = found
        self._append(json.dumps([empty, chunk, [_row(each) for each in found]]))

    def remove(self) -> None:
        """Remove the file, once the result is there."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> int:
        """Take in what is there; return how many bytes of it are whole."""
        if not self.path.exists():
            return 0
        whole = 0
        for number, line in enumerate(self.path.read_bytes().splitlines(keepends=True)):
            if not line.endswith(b"\n"):
                break
            if number == 0 and line.strip() != self._head.encode():
                raise ProblemError(
                    f"{self.path}: is of a run with other settings: give these, another --out, or "
                    "remove it"
                )
            if number > 0:
                self._take(line, number + 1)
            whole += len(line)
        return whole

    def _take(self, line: bytes, number: int) -> None:
        try:
            empty, chunk, rows = json.loads(line)
            self.chunks[int(empty), int(chunk)] = [_found(row) for row in rows]
        except (ValueError, TypeError, KeyError) as error:
            raise ProblemError(
                f"{self.path}: line {number} is damaged: {error}; remove the file to begin anew"
            ) from error

    def _append(self, line: str) -> None:
        assert self._file is not None
        try:
            self._file.write(f"{line}\n".encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise ProblemError(f"{self.path}: cannot be written: {error.strerror}") from error


def _row(found: Found) -> dict[str, Any]:
    problem = {**asdict(found.problem), "stones": "".join(map(str, found.problem.stones.tolist()))}
    keys = {"key": found.key.hex(), "shape": found.shape.hex()}
    return {"problem": problem, "nodes": found.nodes, **keys}


def _found(row: Mapping[str, Any]) -> Found:
    problem = dict(row["problem"])
    stones = np.array([int(mark) for mark in problem.pop("stones")], np.int8)
    solutions = tuple(problem.pop("solutions"))
    return Found(
        problem=Problem(stones=stones, solutions=solutions, **problem),
        key=bytes.fromhex(row["key"]),
        shape=bytes.fromhex(row["shape"]),
        nodes=int(row["nodes"]),
    )
