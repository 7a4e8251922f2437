"""Tests whether players of fixed budgets are as strong as in the last release.

    python tests/strength.py               the matches of configs/strength, each until decided
    python tests/strength.py go-mcts       one of them
    python tests/strength.py --release     measures the figures of a release again

A release plays each match to its end with seed 1. A test plays it with seed 2 and the sequential
test of the format `match`: is the first player at least as strong as the low end of the release's
95 % interval (H1), or weaker than that by 50 Elo, or by 0.05 chips a game (H0)? Both errors are at
most 5 %. Results are written to tests/strength.json; the same command goes on with unfinished
matches.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs" / "strength"
RUNS = ROOT / ".strength"
FIGURES = ROOT / "tests" / "strength.json"
MARGIN_ELO, MARGIN_CHIPS = 50.0, 0.05
MOST_PAIRS = {"elo": 400, "chips": 20_000}


def miai(*words: str) -> str:
    """Run a command of miai; return its output. Ends the script if it fails."""
    command = [sys.executable, "-m", "miai", "tournament", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def played(name: str, seed: int, *settings: str) -> dict[str, Any]:
    """Play a match, or the rest of it; return its report."""
    folder = RUNS / f"{name}-{seed}"
    if folder.exists():
        miai("resume", str(folder))
    else:
        options = [word for setting in settings for word in ("--set", setting)]
        seeded = ("--set", f"tournament.seed={seed}")
        miai("run", str(CONFIGS / f"{name}.toml"), "--out", str(folder), *seeded, *options)
    report: dict[str, Any] = json.loads(miai("report", str(folder), "--json"))
    return report


def figure_of(report: dict[str, Any], first: str) -> dict[str, Any]:
    """Return the first player's score or mean payoff with its 95 % interval."""
    row = next(row for row in report["players"] if row["name"] == first)
    games = row["games"]
    if "elo" not in row:
        return {"unit": "chips", "games": games, "value": row["mean_return"]} | {
            end: row[end] for end in ("low", "high")
        }
    mean = row["score"]
    squares = (row["wins"] + row["draws"] / 4) / games
    reach = 1.96 * math.sqrt((squares - mean * mean) / games)
    return {"unit": "elo", "games": games, "value": mean, "low": mean - reach, "high": mean + reach}


def test_of(figure: dict[str, Any]) -> str:
    """Return the setting of the sequential test against a released figure."""
    low = figure["low"]
    if figure["unit"] == "chips":
        return f"format.payoff_test={{mean0={low - MARGIN_CHIPS:.4f}, mean1={low:.4f}}}"
    elo = -400 * math.log10(1 / low - 1)
    return f'format.sprt={{elo0={elo - MARGIN_ELO:.1f}, elo1={elo:.1f}, model="logistic"}}'


def first_player(name: str) -> str:
    """Return the name of the player under test."""
    import tomllib

    config = tomllib.loads((CONFIGS / f"{name}.toml").read_text("utf-8"))
    return str(config["players"][0]["name"])


def stamp() -> dict[str, str]:
    """Return the date and the commit, marked if files were changed."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=ROOT, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", ".", ":!tests/strength.json")
    commit = git("rev-parse", "--short=7", "HEAD") + ("-changed" if changed else "")
    return {"date": datetime.now(tz=UTC).date().isoformat(), "commit": commit}


def release(name: str) -> dict[str, Any]:
    """Play a match to its end; return its figure."""
    return {**figure_of(played(name, 1), first_player(name)), **stamp()}


def check(name: str, figure: dict[str, Any]) -> dict[str, Any]:
    """Play a match until the test decides; return the verdict."""
    pairs = f"format.pairs={MOST_PAIRS[figure['unit']]}"
    report = played(name, 2, pairs, test_of(figure))
    verdict = {"H1": "held", "H0": "fell"}.get(report["format"]["verdict"], "open")
    return {"verdict": verdict, "games": 2 * report["format"]["pairs"], **stamp()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the matches; return 1 if a player is weaker."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = sorted(path.stem for path in CONFIGS.glob("*.toml"))
    parser.add_argument("matches", nargs="*", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--release", action="store_true", help="measure the figures anew")
    options = parser.parse_args(arguments)
    if unknown := set(options.matches) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    results = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    fell = False
    for name in options.matches or names:
        print(f"{name} ...", flush=True)
        if options.release:
            results[name] = {"released": release(name)}
            print(f"  {results[name]['released']['value']:.3f}", flush=True)
        elif name not in results:
            print("  has no released figure; measure it with --release", flush=True)
            continue
        else:
            results[name]["test"] = check(name, results[name]["released"])
            fell = fell or results[name]["test"]["verdict"] == "fell"
            print(f"  {results[name]['test']['verdict']}", flush=True)
        FIGURES.write_text(json.dumps(results, indent=2, sort_keys=True) + "\n", "utf-8")
        shutil.rmtree(RUNS / f"{name}-{1 if options.release else 2}", ignore_errors=True)
    return int(fell)


if __name__ == "__main__":
    sys.exit(main())
