"""Open questions about beliefs of boards, a tournament each: ``configs/rbc-*.toml``.

Which boards are worth most (`rbc-weights`), how many (`rbc-boards`), which of those that wait come
first (`rbc-stash`), and which window to sense (`rbc-scans`). A run resumes what is in the
folder, and ends with the tables.

    python benchmarks/rbc_questions.py FOLDER --record
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from common.evidence import ROOT, record

QUESTIONS = ("rbc-weights", "rbc-boards", "rbc-stash", "rbc-scans")


def table(name: str, folder: Path, workers: int) -> list[dict[str, str]]:
    """Return a row for each player: Elo with its 95 % interval, about the mean of the players."""
    miai = [sys.executable, "-m", "miai", "tournament"]
    config = str(ROOT / "configs" / f"{name}.toml")
    command = ["run", config, "--out", str(folder), "--set", f"run.workers={workers}"]
    subprocess.run([*miai, *command], check=True, stdout=sys.stderr)
    command = [*miai, "report", str(folder), "--json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return [
        {
            "player": player["name"],
            "Elo": f"{player['elo']:+.0f} ({player['low']:+.0f} to {player['high']:+.0f})",
            "score": f"{100 * player['score']:.1f} % of {player['games']}",
        }
        for player in report["players"]
    ]


def main() -> None:
    """Play what remains of each tournament, and print or record its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="folder of the tournaments")
    parser.add_argument("--only", choices=QUESTIONS, action="append", help="one of them")
    parser.add_argument("--workers", type=int, default=1, help="games at once (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")
    parser.add_argument("--record", action="store_true", help="write the rows of the page")
    options = parser.parse_args()
    tables = {}
    for name in options.only or QUESTIONS:
        tables[name] = rows = table(name, options.folder / name, options.workers)
        figure = "; ".join(f"`{row['player']}` {row['Elo']}" for row in rows)
        if not options.json:
            print(f"{name}: {figure}")
        if options.record:
            command = "python benchmarks/rbc_questions.py FOLDER"
            record(name, figure, table=rows, command=command)
    if options.json:
        print(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
