"""Analyses of finished games: made in the background, paused, and kept with their records."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

from miai.analysis.analysis import Analysis, analyze
from miai.api import analyst_of, recorded_game
from miai.errors import MiaiError
from miai.plain import Json, one_line
from miai.process.compilations import compilation_text
from miai.process.kernel_caches import prepare_kernels
from miai.process.processors import available_processors
from miai.progress import Progress
from miai.record import GameRecord

TASK_SECONDS: Final = 120.0
"""Maximum time for a task of the analyst: one position, or a few of a game that hides something."""
_STOP_SECONDS = 10.0
_logger = logging.getLogger("miai.web")


class _Work(Progress):
    """An analysis in a thread: how far it is, whether it should stop, and why it failed."""

    thread: threading.Thread
    stopping, failure = False, ""

    def note(self, line: str) -> None:
        """Print nothing: pages ask."""


class GameAnalyses:
    """The analyses of a server: one at a time, on the processors that it may use; others wait.

    Args:
      folder: where what was judged is kept, beside the records.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._works: dict[str, _Work] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def start(self, name: str, record: GameRecord) -> None:
        """Begin the analysis of a record, or let it go on."""
        with self._lock:
            if not self._running(name):
                work, run = _Work(), self._run
                work.thread = threading.Thread(target=run, args=(name, record, work), daemon=True)
                work.thread.start()
                self._works[name] = work

    def pause(self, *names: str, wait: float = 0.0) -> None:
        """Let analyses stop within a second, for which this waits; what is judged is kept."""
        works = [self._works[name] for name in names if name in self._works]
        for work in works:
            work.stopping = True
        for work in works:
            work.thread.join(wait)

    def remove(self, name: str) -> None:
        """Stop an analysis and forget what was judged."""
        self.pause(name, wait=_STOP_SECONDS)
        self._works.pop(name, None)
        self._path(name).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop all analyses."""
        self.pause(*self._works, wait=_STOP_SECONDS)

    def of(self, name: str, record: GameRecord) -> Analysis | None:
        """Return what is judged of a record; None for nothing, and while more is judged."""
        with self._lock:  # reading repairs a journal, which nothing may write meanwhile
            if self._running(name) or not self._path(name).exists():
                return None
            try:
                kept = analyze(record, journal=self._path(name), stopped=lambda: True)
            except MiaiError as error:  # an analyst that is not installed any more
                _logger.warning("%s", error)
                return None
            return kept if kept.judged else None

    def news(self, name: str, record: GameRecord) -> dict[str, Json]:
        """Return where the analysis of a record stands.

        `text` says it; `kind` is what can be asked for, ``start``, ``pause`` or nothing, and
        `button` the words for that; `judged` is a number of positions, and `running` says whether
        it grows.
        """
        work = self._works.get(name)
        if work is not None and self._running(name):
            count = f"{work.done} of {work.total} positions are judged" if work.total else ""
            said = "; ".join(filter(None, (count, compilation_text()))) or "waiting"
            text = "Pausing …" if work.stopping else f"Analysing: {said}."
            kind = "" if work.stopping else "pause"
            return {"text": text, "kind": kind, "button": kind, "judged": 0, "running": True}
        kept, failure = self.of(name, record), "" if work is None else work.failure
        judged, total = (0, 1) if kept is None else (kept.judged, kept.total)
        count = f"{judged} of {total} positions are judged" if 0 < judged < total else ""
        return {
            "text": "; ".join(filter(None, (failure, count))),
            "kind": "start" if judged < total else "",
            "button": "go on" if judged else "analyse this game",
            "judged": judged,
            "running": False,
        }

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.analysis"

    def _running(self, name: str) -> bool:
        return name in self._works and self._works[name].thread.is_alive()

    def _run(self, name: str, record: GameRecord, work: _Work) -> None:
        while not self._turn.acquire(timeout=0.5):
            if work.stopping:
                return
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            analyst = analyst_of(recorded_game(record.game, record.game_parameters))
            prepare_kernels(record.game, analyst.agent, analyst.parameters)
            analysis = analyze(
                record,
                analyst=analyst,
                journal=self._path(name),
                workers=available_processors(),
                progress=work,
                deadline=TASK_SECONDS,
                stopped=lambda: work.stopping,
            )
            work.failure = analysis.failure
        except Exception as error:  # also of the game's plugin
            _logger.error("analysis of %s", name, exc_info=error)
            work.failure = one_line(str(error)) or type(error).__name__
        finally:
            self._turn.release()
