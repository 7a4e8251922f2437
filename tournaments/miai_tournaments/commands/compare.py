"""The command ``miai compare``."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from miai.cli.options import ConfigPath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miai_tournaments.compare.config import Comparison
    from miai_tournaments.compare.results import ComparisonInfo
    from miai_tournaments.compare.summary import ArmRow, Searches


INTERRUPTED = 130
"""Exit status of a comparison that was stopped."""


def compare(
    config: ConfigPath,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Run folder (default: runs/NAME).")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; progress goes to standard error.")
    ] = False,
    plots: Annotated[bool, typer.Option(help="Draw plots at the end (SVG).")] = True,
) -> None:
    """Compare searches over beliefs; an existing DIR is extended and resumed."""
    from miai.progress import make_progress
    from miai_tournaments.compare.comparison_run import run_searches
    from miai_tournaments.compare.config import load_comparison
    from miai_tournaments.compare.results import FILE_NAME, ComparisonStore
    from miai_tournaments.compare.summary import summarize

    comparison = load_comparison(config)
    folder = out or Path("runs") / comparison.name
    hint = "Ctrl-C stops after this search; the comparison can be resumed"
    progress = partial(make_progress, unit="searches", hint=hint, aside=as_json)
    stopped = run_searches(comparison, folder, progress)
    if not (folder / FILE_NAME).exists():
        print(f"{stopped} before the first search; nothing was written", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    with ComparisonStore.open(folder, alone=False) as store:
        info, searches = store.info(), store.searches()
    rows = summarize(comparison.blocks, comparison.arms, searches, baseline=comparison.baseline)
    _show(comparison, folder, info, rows, searches, as_json=as_json)
    total = sum(block.count for block in comparison.blocks)
    done = sum(key in searches for block in comparison.blocks for key in block.searches())
    if done < total:
        print(f"{stopped}; {done} of {total} searches are done. Continue with:", file=sys.stderr)
        again = f"miai compare {shlex.quote(str(config))}"
        print(f"  {again} --out {shlex.quote(str(folder))}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
    if plots:
        from miai_tournaments.compare.plots import draw_all

        drawn = draw_all(folder / "plots", comparison, rows)
        print(f"Plots in {folder / 'plots'}: {', '.join(drawn)}", file=sys.stderr)


def _show(
    comparison: Comparison,
    folder: Path,
    info: ComparisonInfo,
    rows: Sequence[ArmRow],
    searches: Searches,
    *,
    as_json: bool,
) -> None:
    """Print the tables, or the JSON, and write the files."""
    import json

    from miai_tournaments.compare.output import blocks, to_json, write_files
    from miai_tournaments.report.printing import print_at_width, renderable

    write_files(folder, comparison, info, rows, searches)
    if as_json:
        print(json.dumps(to_json(comparison, info, rows)))
        return
    print_at_width(partial(renderable, blocks(comparison, rows)))
    names = "comparison.txt, comparison.json, rows.csv, searches.csv"
    print(f"Written to {folder}: {names}")
