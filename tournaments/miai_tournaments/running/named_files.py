"""The files that a config names: programs, weights, engines, books. None may change in a run.

At every level of isolation they are read-only for agents. Where a system cannot enforce that, and
between the sittings of a run, their digests tell.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from miai.errors import StoreError
from miai.game import Game
from miai.plain import listed
from miai.process.programs import named_paths
from miai_tournaments.config.load import resolved_rules
from miai_tournaments.config.schema import TournamentConfig
from miai_tournaments.store.rows import PlayerRow

MOST_BYTES: Final = 8 << 30
"""Bytes of a file or folder that are read; of what is beyond them size and time are compared."""

_SHARE: Final = 0.02
"""Maximum share of the time that is spent on looking at the files."""


def named_files(
    config: TournamentConfig, players: Iterable[PlayerRow], game: Game, source: Path, run: Path
) -> dict[str, Path]:
    """Return the files and folders that a config names, by the texts that name them.

    A folder counts if its text contains a slash, unless it is a ``cwd`` or `run`, the folder of the
    run, lies in it. `source` is the config file.
    """
    balance = config.openings.balance
    named = (
        *(row.parameters for row in players),
        resolved_rules(config),
        balance.parameters if balance else {},
        [str((source.parent / file).absolute()) for file in config.plugins],
    )
    # A game may change what else it names: no agent does it.
    played = game.parameters.model_dump(mode="json")
    programs = (each for each in named_paths(played) if each[0] in {"command", "argument"})
    above = {*run.absolute().parents, Path.cwd()}
    return {
        text: path.absolute()
        for key, text, path in (*named_paths(named), *programs)
        if path.is_file() or ("/" in text and key != "cwd" and path.absolute() not in above)
    }


class NamedFiles:
    """Looks whether files, by what names them, are what they were when they were first used.

    Their stamps and digests, `facts`, are recorded in the store. Raises as `check`.
    """

    def __init__(self, paths: Mapping[str, Path], recorded: Mapping[str, Any], run: Path) -> None:
        self.paths, self._run = paths, run
        self.facts: dict[str, Any] = {**recorded}
        self._due = 0.0
        self.check()

    def check(self) -> None:
        """Raise `StoreError` if one has changed or is gone. Called often, it looks now and then."""
        began = time.monotonic()
        if began < self._due:
            return
        changed = [name for name in {**self.facts, **self.paths} if self._is_changed(name)]
        ended = time.monotonic()
        self._due = ended + (ended - began) / _SHARE
        if changed:
            raise StoreError(
                f"{self._run}: {listed(changed, limit=5)} changed since the run began to use it, "
                "and games before and after that do not belong in one table; restore the file and "
                "resume, or begin a new run in another folder, by --out"
            )

    def _is_changed(self, name: str) -> bool:
        before, path = self.facts.get(name), self.paths.get(name)
        try:
            if path is None:
                return True
            stamp = _digest(path, contents=False)
            if isinstance(before, Mapping) and before.get("stamp") == stamp:
                return False
            digest = _digest(path, contents=True)
        except OSError:  # vanished; or a program that may be run and not read
            stamp = digest = "unreadable"
        self.facts[name] = {"stamp": stamp, "digest": digest}
        return isinstance(before, Mapping) and before.get("digest") != digest


def _digest(path: Path, *, contents: bool) -> str:
    """Return a digest of a file or a folder: of contents, or of what changes with them."""
    total, room = hashlib.sha256(), MOST_BYTES
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in (file for file in inside if file.is_file()):
        status = file.stat()
        facts: list[object] = [str(file.relative_to(path)), status.st_size]
        if not contents:
            facts += [status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]
        elif status.st_size > room:
            facts.append(status.st_mtime_ns)
        else:
            room -= status.st_size
            with file.open("rb") as opened:
                facts.append(hashlib.file_digest(opened, "sha256").hexdigest())
        total.update(repr(facts).encode())
    return total.hexdigest()
