"""Tournaments and comparisons from Python, without the command line."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miai.errors import MiaiError
from miai.progress import Progress

if TYPE_CHECKING:
    from miai_tournaments.compare.summary import ArmRow
    from miai_tournaments.report.report import TournamentReport
    from miai_tournaments.store.run_tables import RunTables


class TournamentStoppedError(MiaiError):
    """A tournament ended before its last game; its folder continues it."""


def run_tournament(
    config: str | Path | Mapping[str, Any],
    folder: str | Path,
    *,
    overrides: Iterable[str] = (),
    executor: str | None = None,
    workers: int | None = None,
    show: Callable[[str], None] | None = None,
) -> TournamentReport:
    """Play a tournament in a folder and return its report.

    Where the folder holds the same tournament already, it is extended and continued, as by
    ``miai tournament run``. Ctrl-C lets running games finish.

    Args:
      config: path of a config file, or its tables as a mapping.
      folder: where the run is kept.
      overrides: ``path=value`` texts that change the config, as ``--set`` does.
      executor, workers: instead of those of the config's table ``[run]``.
      show: called with every line of progress; default: no progress is shown.

    Raises:
      ConfigError: the config is wrong; the message lists every mistake.
      TournamentStoppedError: the run was stopped, or too many games were void.
      MiaiError: the folder is in use or holds something else, or a player cannot be started.
    """
    from miai_tournaments.config.load import apply_overrides, check_tournament, load_tournament
    from miai_tournaments.report.live import Reporter
    from miai_tournaments.report.report import build_report
    from miai_tournaments.running.tournament_run import RunOptions, play_tournament
    from miai_tournaments.store.store import Store

    say = show or (lambda _: None)
    if isinstance(config, Mapping):
        raw = copy.deepcopy(dict(config))
        settings = apply_overrides(raw, overrides)
        text = json.dumps(raw, indent=2)
        tournament = check_tournament(
            raw, source="config", folder=Path.cwd(), text=text, settings=settings
        )
    else:
        tournament = load_tournament(Path(config), overrides)
    options = RunOptions(
        make_reporter=lambda _: Reporter(_Lines(say)), say=say, executor=executor, workers=workers
    )
    ending = play_tournament(tournament, Path(folder), options)
    if ending.kind != "complete":
        raise TournamentStoppedError(
            f"{folder}: {ending.reason or ending.kind}; call run_tournament again to continue"
        )
    with Store.read(Path(folder)) as store:
        return build_report(store)


def run_comparison(
    config: str | Path, folder: str | Path, *, show: Callable[[str], None] | None = None
) -> list[ArmRow]:
    """Compare searches over beliefs in a folder and return the rows of the table.

    Where the folder holds the same comparison already, it is extended and continued, as by
    ``miai compare``.

    Args:
      config: path of a config file.
      folder: where the measurements are kept.
      show: called with every line of progress; default: no progress is shown.

    Raises:
      ConfigError: the config is wrong; the message lists every mistake.
      TournamentStoppedError: the comparison was stopped before its end.
      MiaiError: the folder is in use or holds something else, or a search failed.
    """
    from miai_tournaments.compare.comparison_run import run_searches
    from miai_tournaments.compare.config import load_comparison
    from miai_tournaments.compare.results import ComparisonStore
    from miai_tournaments.compare.summary import summarize

    comparison = load_comparison(Path(config))
    stopped = run_searches(comparison, Path(folder), lambda _: _Lines(show or (lambda _: None)))
    if stopped is not None:
        raise TournamentStoppedError(f"{folder}: {stopped}; call run_comparison again to continue")
    with ComparisonStore.open(Path(folder), alone=False) as store:
        searches = store.searches()
    return summarize(comparison.blocks, comparison.arms, searches, baseline=comparison.baseline)


def open_run(path: str | Path) -> RunTables:
    """Return the games, moves and players of a run's folder as tables, also while it goes on.

    ``open_run("runs/demo").moves.to_pandas()`` is a data frame. Raises `StoreError` if there is no
    store, or it cannot be read.
    """
    from miai_tournaments.store.run_tables import RunTables

    return RunTables(Path(path))


class _Lines(Progress):
    """Progress whose lines go to a function."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def note(self, line: str) -> None:
        """Hand on a line."""
        self._show(line)
