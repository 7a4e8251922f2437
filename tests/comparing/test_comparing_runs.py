"""Comparisons from start to end: what is measured, judged, written, extended and refused."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest
from tests.comparing.comparisons import (
    ARMS,
    KRK4,
    command,
    compare,
    config_text,
    environment,
    measured,
    refused,
    untimed,
)
from tests.seeds import seed_of_test
from tests.tournaments.support import config_text as tournament_text
from tests.tournaments.support import player, tournament
from tests.whole_texts import assert_expected

from miai.beliefs import BeliefSearch, named_bounds
from miai_miniblind.mini_rbc import MiniRbcProblem
from miai_miniblind.roots import hard_roots
from miai_tournaments.compare.comparison_run import _allowed
from miai_tournaments.compare.config import load_comparison
from miai_tournaments.compare.output import blocks, write_files
from miai_tournaments.compare.results import FILE_NAME, ComparisonInfo, Measurement, SearchKey
from miai_tournaments.compare.summary import summarize
from miai_tournaments.config.extension import ABSENT
from miai_tournaments.report.printing import to_text

SKETCH = 'bounds = "minhash"\nbounds_parameters = { k = 4, verified = false }'


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def figures_of(*words: object, **more: Any) -> dict[str, Any]:
    """Return the rows that a comparison prints as JSON, by arm."""
    return {row["arm"]: row for row in json.loads(compare(*words, "--json", **more).stdout)["rows"]}


def test_stored_targets_equal_the_search_results(tmp_path: Path) -> None:
    config = write(tmp_path / "x.toml", config_text())
    compare(config, "--out", tmp_path / "out")
    found = measured(tmp_path / "out")
    assert len(found) == 4 * len(ARMS)
    problem = MiniRbcProblem(4, 2)
    for number, root in enumerate(hard_roots(problem, 4, depth=2, seed=1)):
        for arm in ARMS:
            result = BeliefSearch(problem, named_bounds(arm)).search(root, 2)
            (row,) = [m for k, m in found.items() if (k.root, k.arm) == (number, arm)]
            assert (row.value, row.action) == (result.value, result.action)
            assert row.nodes == result.statistics["nodes"]
            assert row.leaves == result.statistics["leaves"]
            assert row.bytes == result.statistics["bounds_bytes"]
            assert row.size == len(root.hidden)
            assert row.complete
            assert (row.truth, row.wrong_value, row.wrong_move) == (result.value, False, False)
            assert row.seconds > 0


def test_the_files_have_the_figures_of_the_searches(tmp_path: Path) -> None:
    arms = {"base": ARMS["table"], "quick": SKETCH, "idle": ARMS["exact"]}
    cells = KRK4.replace("= 4\n", "= 3\n") + "warm = true\n"
    more = 'truth = "quick"'
    config = write(tmp_path / "x.toml", config_text(arms, cells, baseline="base", more=more))
    comparison = load_comparison(config)
    (block,) = comparison.blocks
    figures: dict[str, list[dict[str, Any]]] = {
        "base": [
            {"nodes": 60, "leaves": 7, "seconds": 2.0, "value": 1.0, "truth": 1.0, "bytes": 3000},
            {"nodes": 80, "leaves": 9, "seconds": 4.0, "value": 0.0, "truth": 0.0, "entries": 9},
            {"nodes": 4000, "leaves": 10, "seconds": 6.0, "value": 1.0, "truth": 1.0},
        ],
        "quick": [
            {"nodes": 30, "leaves": 2, "seconds": 0.25, "value": 0.0, "truth": 1.0},
            {"nodes": 40, "leaves": 3, "seconds": 0.5, "value": 1.0, "truth": 0.0, "setup": 1.5},
            {"nodes": 9, "leaves": 1, "seconds": 9.0, "value": 1.0, "complete": False},
        ],
    }
    always = {"size": 5, "action": 0, "complete": True, "guaranteed": 0.0}
    searches = {
        SearchKey(*block.cell, 1, root, arm): Measurement(**{**always, **values})
        for arm, each in figures.items()
        for root, values in enumerate(each)
    }
    info = ComparisonInfo(
        name="test",
        created="2025-11-21T02:23:45+00:00",
        versions={"miai": "0.1.0"},
        machine="a machine",
        resolved={},
        config_text="",
        config_path="",
    )
    rows = summarize(comparison.blocks, comparison.arms, searches, baseline="base")
    write_files(tmp_path / "out", comparison, info, rows, searches)
    for path in (tmp_path / "out").iterdir():
        assert_expected(f"comparison/{path.name}", path.read_text(encoding="utf-8"))
    tables = blocks(comparison, rows)
    widths = (200, 110, 100, 90, 80, 70, 60, 50)
    assert_expected("comparison/widths.txt", "\n".join(to_text(tables, w) for w in widths))


def test_unsound_bounds_are_detected(tmp_path: Path) -> None:
    arms = {**ARMS, "liar": 'bounds = "lying"'}
    config = write(tmp_path / "x.toml", config_text(arms))
    rows = figures_of(config, "--out", tmp_path / "out", env=environment(tmp_path))
    true = [m.value for k, m in measured(tmp_path / "out").items() if k.arm == "table"]
    lost = true.count(0.0)
    assert lost > 0
    assert rows["liar"]["wrong_values"] == rows["liar"]["too_high"] == lost
    assert rows["liar"]["too_low"] == 0
    won = len(true) - lost
    assert rows["liar"]["wrong_moves"] <= won
    assert all(rows[arm]["wrong_values"] == rows[arm]["wrong_moves"] == 0 for arm in ARMS)


@pytest.mark.slow
def test_a_move_is_wrong_that_guarantees_less_than_the_true_value(tmp_path: Path) -> None:
    arms = {**ARMS, "liar": 'bounds = "lying"'}
    cells = KRK4.replace('"hard"', '"won"')
    config = write(tmp_path / "x.toml", config_text(arms, cells))
    compare(config, "--out", tmp_path / "out", env=environment(tmp_path))
    problem = MiniRbcProblem(4, 2)
    for key, row in measured(tmp_path / "out").items():
        root = problem.roots("won", 4, depth=2, seed=1)[key.root]
        search = BeliefSearch(problem, named_bounds("none"))
        assert row.guaranteed == search.guarantees(root, row.action, 2)
        assert row.wrong_move == (row.guaranteed < 1.0)
        assert not row.wrong_value  # the liar says "won" of what is won


@pytest.mark.parametrize(
    ("path", "before", "after", "allowed"),
    [
        ("arms x", ABSENT, {}, True),
        ("arms x", {}, ABSENT, False),
        ("cells x", ABSENT, {}, True),
        ("comparison x", ABSENT, 1, False),
        ("arms x roots", 1, 2, False),
        ("cells x roots", 4, 5, True),
        ("cells x roots", 4, 4.0, False),
        ("cells x roots", 5, 4, False),
        ("cells x seeds", [1], [1, 2], True),
        ("cells x arms", ("a",), ["b", "a"], True),
        ("cells x seeds", [1, 3], [1, 2, 4], False),
        ("cells x seeds", [1], [1], False),
        ("cells x depth", 1, 2, False),
        ("arms x arms", [1], [1, 2], False),
    ],
)
def test_only_arms_cells_roots_and_seeds_may_be_added(
    path: str, before: object, after: object, allowed: bool
) -> None:
    assert _allowed(tuple(path.split()), before, after) is allowed


@pytest.mark.slow
def test_arms_roots_and_cells_can_be_added(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    small = {"table": ARMS["table"]}
    compare(write(tmp_path / "x.toml", config_text(small)), "--out", folder)
    before = measured(folder)
    more = KRK4.replace("= 4\n", "= 5\n") + KRK4.replace("[2]", "[1]")
    compare(write(tmp_path / "x.toml", config_text(cells=more)), "--out", folder)
    after = measured(folder)
    assert {key: after[key] for key in before} == before  # not searched again, times and all
    compare(tmp_path / "x.toml", "--out", tmp_path / "whole")
    assert untimed(folder) == untimed(tmp_path / "whole")
    assert len(after) == (5 + 4) * 3


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config and what was measured by it."""
    folder = tmp_path_factory.mktemp("finished")
    compare(write(folder / "x.toml", config_text()), "--out", folder / "out")
    return folder


@pytest.mark.parametrize(
    ("change", "output"),
    [
        (('"exact"\n[[', '"none"\n[['), "arms.exact.parameters.bounds: 'exact' -> 'none'"),
        (("roots = 4", "roots = 3"), "cells.krk4, depth 2, hard roots.roots: 4 -> 3"),
        (("w = 2", "w = 3"), "parameters.w: 2 -> 3"),
        (('name = "cores"', 'name = "kernels"'), "arms.cores: was removed"),
        (("\n[[arms]]", "\nrepeats = 2\n[[arms]]"), "comparison.repeats: 1 -> 2"),
        (("\n[[arms]]", '\ntruth = "cores"\n[[arms]]'), "comparison.truth: 'table' -> 'cores'"),
    ],
)
def test_nothing_else_may_change(
    finished: Path, tmp_path: Path, change: tuple[str, str], output: str
) -> None:
    folder, text = finished / "out", config_text()
    before = measured(folder)
    assert change[0] in text
    error = refused(write(tmp_path / "x.toml", text.replace(*change, 1)), "--out", folder)
    assert output in error
    assert "begin a new comparison with --out" in error
    assert measured(folder) == before


@pytest.mark.slow
def test_another_baseline_reads_the_same_searches(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    compare(write(tmp_path / "x.toml", config_text(more='truth = "table"')), "--out", folder)
    text = config_text(more='truth = "table"', baseline="cores")
    rows = figures_of(write(tmp_path / "x.toml", text), "--out", folder)
    assert rows["cores"]["speedup_nodes"]["value"] == 1.0 != rows["table"]["speedup_nodes"]["value"]


@pytest.mark.slow
def test_folders_of_other_kinds_of_run_are_refused_both_ways(tmp_path: Path) -> None:
    league, config = tmp_path / "league.toml", write(tmp_path / "x.toml", config_text())
    league.write_text(tournament_text(player("ann"), player("bob"), tournament={"rounds": 1}))
    tournament("run", league, "--out", tmp_path / "games", "--executor", "serial")
    assert "contains other files" in refused(config, "--out", tmp_path / "games")
    compare(config, "--out", tmp_path / "searches")
    error = tournament("run", league, "--out", tmp_path / "searches", status=2).stderr
    assert "and no tournament" in error
    renamed = tmp_path / "renamed"
    renamed.mkdir()
    (tmp_path / "games" / "tournament.sqlite").rename(renamed / "comparison.sqlite")
    assert "database of another program" in refused(config, "--out", renamed)


def test_searches_beyond_the_node_limit_count_as_no_speed_up(tmp_path: Path) -> None:
    cells = KRK4 + "max_nodes = 300\n"
    config = write(tmp_path / "x.toml", config_text(cells=cells))
    rows = figures_of(config, "--out", tmp_path / "out")
    found = measured(tmp_path / "out")
    short = {(k.root, k.arm) for k, m in found.items() if not m.complete}
    assert short
    assert len(short) < len(found)
    for arm, row in rows.items():
        own = {root for root in range(4) if (root, arm) not in short}
        both = {root for root in own if (root, "table") not in short}
        assert (row["roots"], row["incomplete"]) == (len(own), 4 - len(own))
        assert (row["compared"], row["judged"]) == (len(both), len(both))
    assert "incomplete" in (tmp_path / "out" / "comparison.txt").read_text()
    for key, m in found.items():
        assert (m.wrong_value is None) == (not m.complete or (key.root, "table") in short)


@pytest.mark.slow
def test_warm_searchers_know_earlier_roots(tmp_path: Path) -> None:
    cold = write(tmp_path / "cold.toml", config_text())
    warm = write(tmp_path / "warm.toml", config_text(more="warm = true"))
    compare(cold, "--out", tmp_path / "cold")
    compare(warm, "--out", tmp_path / "warm")
    one, other = measured(tmp_path / "cold"), measured(tmp_path / "warm")
    nodes = {(k.root, k.arm): m.nodes for k, m in one.items()}
    warmer = {(k.root, k.arm): m.nodes for k, m in other.items()}
    problem = MiniRbcProblem(4, 2)
    for arm in ARMS:
        search = BeliefSearch(problem, named_bounds(arm))
        for number, root in enumerate(hard_roots(problem, 4, depth=2, seed=1)):
            assert warmer[number, arm] == search.search(root, 2).statistics["nodes"]
        assert warmer[0, arm] == nodes[0, arm]
    assert warmer != nodes


def test_a_failing_search_is_reported_with_its_place(tmp_path: Path) -> None:
    arms = {**ARMS, "bad": 'search = "failing"'}
    env = environment(tmp_path)
    config = write(tmp_path / "x.toml", config_text(arms))
    error = refused(config, "--out", tmp_path / "out", env=env)
    assert "arm 'bad': krk4, depth 2, hard roots: RuntimeError: out of / luck" in error
    assert len(measured(tmp_path / "out")) == 3  # what was measured before is kept


@pytest.mark.parametrize(("search", "repeats"), [("fickle", 2), ("enumerating", 1)])
def test_searches_that_do_not_repeat_are_refused(tmp_path: Path, search: str, repeats: int) -> None:
    """A search that enumerated is made again, too."""
    arms = {**ARMS, "odd": f'search = "{search}"'}
    config = write(tmp_path / "x.toml", config_text(arms, more=f"repeats = {repeats}"))
    error = refused(config, "--out", tmp_path / "out", env=environment(tmp_path))
    assert "arm 'odd'" in error
    assert "searched the same root 2 times with different" in error


def test_progress_goes_aside_for_json_and_the_table_fits_a_terminal(tmp_path: Path) -> None:
    config = write(tmp_path / "x.toml", config_text())
    done = compare(config, "--out", tmp_path / "out", "--json")
    assert re.search(r"\[12/12\] krk4, depth 2, hard roots: done", done.stderr)
    narrow = compare(config, "--out", tmp_path / "out", env={**environment(), "COLUMNS": "80"})
    assert max(map(len, narrow.stdout.splitlines())) <= 80 + len(str(tmp_path))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            "searches SET nodes = 'many' WHERE root = 2",
            "table searches, row 'krk4': nodes is 'many', but should be a valid integer",
        ),
        (  # as good as the number measured: the checksum of the row tells them apart
            "searches SET nodes = nodes + 1 WHERE root = 2 AND arm = 'table'",
            "table searches, row 'krk4, root 2, arm table': was damaged or changed",
        ),
        *(
            (f"run SET value = '{{\"miai\": \"{version}\"}}' WHERE key = 'versions'", message)
            for version in ("0.0.1", "9.0.1")
            for message in [f"was measured by miai {version}, installed is"]
        ),
    ],
)
def test_changed_stores_are_refused(finished: Path, tmp_path: Path, change: str, why: str) -> None:
    folder = shutil.copytree(finished / "out", tmp_path / "out")
    with sqlite3.connect(folder / "comparison.sqlite") as connection:
        connection.execute(f"UPDATE {change}")
    assert why in refused(finished / "x.toml", "--out", folder)


# -- stopped or killed at any moment, a comparison ends as if nothing had happened ----------------


SLOW = {"table": 'search = "slow"\nbounds = "table"', "cores": 'search = "slow"\nbounds = "cores"'}
ROOTS = 8
CELLS = KRK4.replace("= 4\n", f"= {ROOTS}\n")
SEARCHES = 2 * ROOTS


def count(folder: Path) -> int:
    return len(measured(folder)) if (folder / FILE_NAME).exists() else 0


@pytest.fixture
def slow(tmp_path: Path) -> tuple[Path, ...]:
    """The config of a comparison that takes its time, and the folder of its run."""
    return write(tmp_path / "x.toml", config_text(SLOW, CELLS)), tmp_path / "out"


def run_until(least: int, config: Path, folder: Path) -> subprocess.Popen[str]:
    """Start the command and return it when so many searches are stored."""
    words, pipe = command(config, "--out", folder, "--no-plots"), subprocess.PIPE
    env = environment(config.parent)
    process = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=env)
    deadline = time.monotonic() + 60
    while count(folder) < least and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.slow
def test_a_signal_ends_it_after_the_search_at_hand(slow: tuple[Path, ...], tmp_path: Path) -> None:
    config, folder = slow
    process = run_until(3, config, folder)
    process.send_signal(signal.SIGTERM)
    shown, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    done = count(folder)
    assert 3 <= done < SEARCHES
    said = f"stopped by SIGTERM; {done} of {SEARCHES} searches are done. Continue with:"
    assert said in errors
    assert "against 'table'" in shown  # the table so far
    again = shlex.split(errors.splitlines()[-1])
    assert again[:2] == ["miai", "compare"]
    compare(*again[2:], env=environment(tmp_path))
    compare(config, "--out", tmp_path / "whole", env=environment(tmp_path))
    assert untimed(folder) == untimed(tmp_path / "whole")


@pytest.mark.slow
def test_killed_it_loses_at_most_the_search_at_hand(tmp_path: Path) -> None:
    seed = seed_of_test()
    rng = random.Random(seed)
    config, folder = tmp_path / "x.toml", tmp_path / "out"
    config.write_text(config_text(SLOW, CELLS, more="warm = true"))
    kills = 0
    while kills < 3 and count(folder) < SEARCHES - 4:
        before = count(folder)
        process = run_until(before + rng.randint(1, 4), config, folder)
        seen = count(folder)
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert count(folder) >= seen > before
        kills += 1
    assert kills == 3
    compare(config, "--out", folder, env=environment(tmp_path))
    compare(config, "--out", tmp_path / "whole", env=environment(tmp_path))
    assert untimed(folder) == untimed(tmp_path / "whole")
    assert len(measured(folder)) == SEARCHES


@pytest.mark.slow
def test_a_terminal_shows_where_it_is_and_hears_ctrl_c(slow: tuple[Path, ...]) -> None:
    config, folder = slow
    program, *words = command(config, "--out", folder, "--no-plots")
    env = {**environment(config.parent), "TERM": "xterm-256color"}
    more: dict[str, Any] = {"dimensions": (30, 100), "timeout": 60, "encoding": "utf-8"}
    child = pexpect.spawn(program, words, env=env, **more)
    child.expect(f"test: 1 cell, 2 arms, {SEARCHES} searches")
    child.expect(rf"krk4, depth 2, hard roots: root \d+ of {ROOTS}, (table|cores)")
    child.sendintr()
    child.expect("ending after the current search")
    child.expect("against 'table'")
    child.expect(f"stopped by SIGINT; .* of {SEARCHES} searches are done")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130


@pytest.mark.slow
def test_two_cannot_run_in_one_folder(slow: tuple[Path, ...], tmp_path: Path) -> None:
    config, folder = slow
    process = run_until(1, config, folder)
    process.send_signal(signal.SIGSTOP)  # on a slow machine it would be over before we look
    try:
        error = compare(config, "--out", folder, env=environment(tmp_path), status=2).stderr
        assert f"process {process.pid} on " in error
        assert "tournament" not in error
    finally:
        process.kill()
        process.communicate(timeout=60)
