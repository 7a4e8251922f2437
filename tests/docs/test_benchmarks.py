"""Every benchmark runs and prints one JSON object with the keys that its page names."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGE = (BENCHMARKS.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8")

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
        *("--parts", "zones", "exhaustion", "ordering", "--sizes", "5", "--zones", "2"),
        *("--tiny-zones", "3", "--ordering-sizes", "6"),
    ),
    "tsumego_play.py": ("--problems", "1", "--simulations", "20", "--asked", "none"),
    "tournament_overhead.py": (
        *("--games", "20", "--rounds", "2"),
        *("--simulations", "50", "--repeats", "1"),
    ),
    "tournament_scale.py": (
        *("--parts", "overhead", "ratings", "report", "ray", "store", "--repeats", "1"),
        *("--huge-games", "200", "--short-games", "20"),
        *("--agents", "10", "--rated-games", "2000", "--reported-games", "200"),
        *("--ray-games", "2", "--ray-simulations", "20"),
    ),
    "cold_start.py": ("--help",),  # compiles for half a minute
    "rbc_belief.py": ("--sizes", "1000", "--repeats", "1"),
    "belief_search.py": ("--roots", "1", "--repeats", "1", "--games", "krk4"),
    "sketches.py": (
        *("--sizes", "1000", "--repeats", "1"),
        *("--count", "200", "--trials", "10"),
    ),
    "rbc_minimax.py": (
        "--roots",
        "1",
        "--depth",
        "1",
        "--min-boards",
        "20",
        "--max-boards",
        "60",
        "--shared",
    ),
    "rbc_engine.py": ("--help",),  # asks Stockfish for minutes
    "rbc_matches.py": ("--help",),  # plays for minutes
    "opponents.py": ("--help",),  # wants a folder and plays for an hour
    "web.py": (
        *("--parts", "start", "click", "games", "runner", "spectators", "--repeats", "1"),
        *("--clicks", "2", "--games", "2", "--seconds", "1", "--pairs", "1", "--spectators", "3"),
    ),
    "uci_client.py": ("--positions", "5", "--rounds", "1"),
    "programs.py": ("--moves", "50", "--simulations", "20"),
    "adaptive.py": ("--players", "8", "--spreads", "400", "--fields", "1"),
    "figures.py": ("--help",),  # measures for many minutes; tests/docs/test_figures.py
}
LONG = {
    *("go_encoding.py", "go_search.py", "go_training.py", "tsumego.py", "rbc_minimax.py"),
    *("go_targets.py", "go_settings.py", "tournament_overhead.py", "tournament_scale.py", "web.py"),
}
"""Take ten seconds and more however little they are given to do."""
UNPLAYED = {name for name, words in SMALL.items() if words == ("--help",)}
PLAYED = [name for name in SMALL if name not in UNPLAYED]
KEYS = {
    "tsumego.py": {"zones", "exhaustion", "ordering", "date"},
    "tsumego_play.py": {"rows", "simulations", "date"},
    "belief_search.py": {"rows", "search", "date"},
    "sketches.py": {"bottom", "probes", "errors"},
    "rbc_minimax.py": {"rows", "senses", "moves", "date"},
    "web.py": {
        *("start_seconds", "click_answered_ms", "click_drawn_ms", "answer_ms_p95"),
        *("runner_share_percent", "server_share_percent", "slower_percent"),
        *("click_answered_ms_p95", "dearer_percent"),
    },
    "uci_client.py": {"rows", "positions", "date"},
    "programs.py": {
        *("moves", "median_ms", "p99_ms", "game_median_ms", "game_p99_ms"),
        *("game_simulations_per_second", "own_simulations_per_second", "date"),
    },
    "adaptive.py": {"rows", "date"},
    "go_playouts.py": {"playouts_per_second_9", "playouts_per_second_19"},
    "go_mcts.py": {"simulations_per_second", "openspiel_simulations_per_second", "ratio"},
    "go_encoding.py": {
        *("positions_per_second_zero", "positions_per_second_alphago"),
        "positions_per_second_patterns",
    },
    "go_settings.py": {"points", "points_95", "verdict", "simulations_per_second"},
    "go_targets.py": {"rows", "date"},
    "go_search.py": {"search", "selfplay", "games_per_hour", "ratio"},
    "go_training.py": {
        *("imported_games_per_second", "batches_per_second"),
        *("learnt_positions_per_second", "runs"),
    },
    "tournament_overhead.py": {"overhead_seconds_per_game", "two_worker_speedup"},
    "tournament_scale.py": {
        *("rating_seconds", "report_seconds", "ray_over_processes", "date"),
        *(
            "resume_cold_seconds",
            "resumed_cold_seconds",
            "huge_report_cold_seconds",
            "status_seconds",
        ),
        *("overhead_seconds_per_game", "overhead_seconds_one_worker"),
    },
    "rbc_belief.py": {
        "boards",
        "successors_per_second",
        "ratio",
        "scan_boards_per_second",
        "real_game",
    },
}


def test_every_benchmark_is_run_here() -> None:
    assert {path.name for path in BENCHMARKS.glob("*.py")} == set(SMALL)


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
    assert begun == set(SMALL) - needy - {"figures.py"}


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
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak) if n in LONG else n for n in PLAYED]
)
def test_a_benchmark_prints_one_json_object(name: str) -> None:
    command = [sys.executable, str(BENCHMARKS / name), "--json", *SMALL[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert KEYS[name] <= set(json.loads(done.stdout))


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_is_on_the_page(name: str) -> None:
    assert f"benchmarks/{name}" in PAGE


def test_a_pass_that_gnugo_claims_enough_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    parts = runpy.run_path(str(BENCHMARKS / "tsumego.py"))
    side = parts["DEFENDER"]
    _problem, zone = parts["draw"](parts["np"].random.default_rng(1), 6)
    prover = parts["Prover"](zone)
    assert prover.ask(prover.begin(side)).verdict == parts["ProofVerdict"].REACHED
    output = parts["_refutation"](zone, side, (1, "PASS"), prover)
    assert output.startswith("code 1, defence at PASS fails against ")
