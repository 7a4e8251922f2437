"""Stopped or killed at any moment, a comparison ends as if nothing had happened."""

from __future__ import annotations

import random
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pexpect
import pytest
from tests.comparing.comparisons import (
    KRK4,
    command,
    compare,
    config_text,
    environment,
    measured,
    untimed,
)
from tests.seeds import seed_of_test

from miai_tournaments.compare.results import FILE_NAME

ARMS = {"table": 'search = "slow"\nbounds = "table"', "cores": 'search = "slow"\nbounds = "cores"'}
ROOTS = 8
CELLS = KRK4.replace("= 4\n", f"= {ROOTS}\n")
SEARCHES = 2 * ROOTS


def count(folder: Path) -> int:
    return len(measured(folder)) if (folder / FILE_NAME).exists() else 0


def run_until(
    folder: Path, least: int, words: Sequence[object], site: Path
) -> subprocess.Popen[str]:
    """Start the command and return it when so many searches are stored."""
    process = subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(site),
    )
    deadline = time.monotonic() + 60
    while count(folder) < least and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.slow
def test_a_signal_ends_it_after_the_search_at_hand(tmp_path: Path) -> None:
    config, folder = tmp_path / "x.toml", tmp_path / "out"
    config.write_text(config_text(ARMS, CELLS))
    words = (config, "--out", folder, "--no-plots")
    process = run_until(folder, 3, words, tmp_path)
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
    config.write_text(config_text(ARMS, CELLS, more="warm = true"))
    words = (config, "--out", folder, "--no-plots")
    kills = 0
    while kills < 3 and count(folder) < SEARCHES - 4:
        before = count(folder)
        process = run_until(folder, before + rng.randint(1, 4), words, tmp_path)
        seen = count(folder)
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert count(folder) >= seen > before
        kills += 1
    assert kills == 3
    compare(*words, env=environment(tmp_path))
    compare(config, "--out", tmp_path / "whole", env=environment(tmp_path))
    assert untimed(folder) == untimed(tmp_path / "whole")
    assert len(measured(folder)) == SEARCHES


@pytest.mark.slow
def test_a_terminal_shows_where_it_is_and_hears_ctrl_c(tmp_path: Path) -> None:
    config, folder = tmp_path / "x.toml", tmp_path / "out"
    config.write_text(config_text(ARMS, CELLS))
    program, *words = command(config, "--out", folder, "--no-plots")
    env = {**environment(tmp_path), "TERM": "xterm-256color"}
    child = pexpect.spawn(
        program, words, env=env, dimensions=(30, 100), timeout=60, encoding="utf-8"
    )
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
def test_two_cannot_run_in_one_folder(tmp_path: Path) -> None:
    config, folder = tmp_path / "x.toml", tmp_path / "out"
    config.write_text(config_text(ARMS, CELLS))
    process = run_until(folder, 1, (config, "--out", folder, "--no-plots"), tmp_path)
    process.send_signal(signal.SIGSTOP)  # on a slow machine it would be over before we look
    try:
        error = compare(config, "--out", folder, env=environment(tmp_path), status=2).stderr
        assert f"process {process.pid} on " in error
        assert "tournament" not in error
    finally:
        process.kill()
        process.communicate(timeout=60)
