"""Every benchmark runs, prints one JSON object and has a row among the results."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from common import evidence

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

SMALL = {
    "go_playouts.py": ("--seconds", "0.05", "--repetitions", "1"),
    "go_mcts.py": ("--simulations", "200", "--repetitions", "1"),
    "go_encoding.py": ("--seconds", "0.1", "--repetitions", "1"),
    "go_search.py": (
        *("--height", "1", "--width", "8", "--simulations", "16", "--repetitions", "1"),
        *("--selfplay-seconds", "0.5", "--encoders", "zero", "--precisions", "fp32"),
    ),
    "go_training.py": (
        *("--games", "60", "--steps", "2", "--seconds", "0.02", "--repetitions", "1"),
        *("--height", "1", "--width", "8", "--batch", "64", "--precisions", "fp32"),
    ),
    "go_targets.py": (
        *("--positions", "3", "--most-moves", "4", "--simulations", "8", "--c-scales", "1"),
        *("--reference", "20", "--precision", "fp32"),
    ),
    "go_matches.py": ("--help",),  # plays for minutes
    "go_settings.py": ("c_puct=2", "--simulations", "2", "--at-once", "1", "--rounds", "1"),
    "go_judges.py": ("--help",),  # wants games
    "go_values.py": ("--help",),  # wants games
    "go_networks.py": ("--help",),  # wants games and trains for minutes
    "go_zero.py": ("--help",),  # trains for minutes
    "go_five.py": ("--help",),  # wants weights for 5x5
    "tsumego.py": (
        *("--parts", "zones", "exhaustion", "ordering", "families", "--sizes", "5", "--zones", "2"),
        *("--tiny-zones", "3", "--ordering-sizes", "6"),
    ),
    "tsumego_play.py": ("--problems", "1", "--simulations", "20", "--asked", "none"),
    "tournament_overhead.py": (
        *("--games", "20", "--rounds", "2"),
        *("--simulations", "50", "--repeats", "1"),
    ),
    "many_players.py": ("--players", "3", "--repeats", "1"),
    "many_ratings.py": ("--players", "20", "--games", "300"),
    "tournament_scale.py": (
        *("--parts", "overhead", "ratings", "report", "ray", "store", "--repeats", "1"),
        *("--huge-games", "200", "--short-games", "20"),
        *("--agents", "10", "--rated-games", "2000", "--reported-games", "200"),
        *("--ray-games", "2", "--ray-simulations", "20"),
    ),
    "cold_start.py": ("--help",),  # compiles for half a minute
    "rbc_belief.py": ("--sizes", "1000", "--repeats", "1"),
    "dark_chess.py": ("--sizes", "100", "--games", "1", "--repeats", "1"),
    "belief_search.py": ("--roots", "1", "--repeats", "1", "--games", "phantom-hard", "phantom"),
    "sketches.py": (
        *("--sizes", "1000", "--repeats", "1"),
        *("--count", "200", "--trials", "10"),
    ),
    "rbc_minimax.py": (
        *("--roots", "1", "--depth", "1", "--min-boards", "20", "--max-boards", "60", "--shared"),
    ),
    "rbc_engine.py": ("--help",),  # asks Stockfish for minutes
    "rbc_endings.py": ("--endings", "4", "--evaluations", "100", "--against", "passer"),
    "rbc_matches.py": ("--help",),  # plays for minutes
    "rbc_questions.py": ("--help",),  # plays for hours
    "opponents.py": ("--help",),  # wants a folder and plays for an hour
    "web.py": (
        *("--parts", "start", "click", "games", "runner", "spectators", "--repeats", "1"),
        *("--clicks", "2", "--games", "2", "--seconds", "1", "--pairs", "1", "--spectators", "3"),
    ),
    "uci_client.py": ("--positions", "5", "--rounds", "1"),
    "programs.py": ("--moves", "50", "--simulations", "20"),
    "soundness.py": ("--games", "kuhn_poker", "--seeds", "1", "--seconds", "0.01"),
    "equilibria.py": ("--games", "kuhn_poker", "--repeats", "1", "--seconds", "0.01"),
    "adaptive.py": ("--players", "8", "--spreads", "400", "--fields", "1"),
}
OTHERS = {"figures.py", "pages.py"}
"""These run the benchmarks, and make the pages of their rows."""
LONG = {
    *("go_encoding.py", "go_search.py", "go_training.py", "tsumego.py", "rbc_minimax.py"),
    *("go_targets.py", "go_settings.py", "tournament_overhead.py", "tournament_scale.py", "web.py"),
}
"""Take ten seconds and more however little they are given to do."""
UNPLAYED = {name for name, words in SMALL.items() if words == ("--help",)}
PLAYED = [name for name in SMALL if name not in UNPLAYED]
RECORDING = [n for n in PLAYED if "--record" in (BENCHMARKS / n).read_text("utf-8")]


def soaked(names: Iterable[str]) -> list[object]:
    """Return parameters; a long benchmark is run by `make soak`."""
    return [pytest.param(n, marks=pytest.mark.soak) if n in LONG else n for n in names]


def test_every_benchmark_is_run_here() -> None:
    assert {path.name for path in BENCHMARKS.glob("*.py")} == set(SMALL) | OTHERS


def test_make_bench_runs_each_that_needs_no_argument() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "bench"], cwd=BENCHMARKS.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    begun = set(re.findall(r"benchmarks/(\w+\.py)", done.stdout))
    needy = {
        path.name
        for path in BENCHMARKS.glob("*.py")
        if re.search(r"""add_argument\(\s*["'](?!-)""", path.read_text("utf-8"))
    }
    assert "go_matches.py" in needy
    assert begun == set(SMALL) - needy


@pytest.mark.parametrize("name", sorted(LONG | UNPLAYED))
def test_a_long_benchmark_can_be_begun(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    assert not ended.value.code
    assert "--json" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", soaked(n for n in PLAYED if n not in RECORDING))
def test_a_benchmark_prints_one_json_object(name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / name), "--json", *SMALL[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.slow
@pytest.mark.parametrize("name", soaked(RECORDING))
def test_a_benchmark_records_its_rows(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {}
    monkeypatch.setattr(evidence, "record", lambda row, figure, **_: figures.update({row: figure}))
    monkeypatch.setattr(sys, "argv", [name, "--json", "--record", *SMALL[name]])
    runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    assert figures
    assert set(figures) <= set(evidence.rows())
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_every_benchmark_has_a_row() -> None:
    commands = " ".join(row.command for row in evidence.rows().values())
    assert not {name for name in SMALL if f"benchmarks/{name}" not in commands}


def test_a_pass_that_gnugo_claims_enough_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    parts = runpy.run_path(str(BENCHMARKS / "tsumego.py"))
    side = parts["DEFENDER"]
    _problem, zone = parts["draw"](parts["np"].random.default_rng(1), 6)
    prover = parts["Prover"](zone)
    assert prover.ask(prover.begin(side)).verdict == parts["ProofVerdict"].REACHED
    output = parts["_refutation"](zone, side, (1, "PASS"), prover)
    assert output.startswith("code 1, defence at PASS fails against ")
