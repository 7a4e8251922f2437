"""What README promises: its commands, its Python, its game, and the table of its demo."""

from __future__ import annotations

import csv
import doctest
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from rich.console import Console
from tests.docs.page_parts import ENVIRONMENT, ROOT, blocks, page, run, section
from tests.go.test_gtp import ENGINE
from tests.tournaments.support import config_text, games_of, player, tournament
from tests.warm_command import run_miai
from tests.web.server import Browser

import miai
from miai.environments import AecEnvironment
from miai_tournaments.report.report import build_report
from miai_tournaments.store.rows import GameRow

README = (ROOT / "README.md").read_text(encoding="utf-8")
# -- the demo --------------------------------------------------------------------------------------

DEMO = f"miai tournament run {ROOT}/configs/quickstart.toml --out run"
RESULTS = Path(__file__).with_name("demo.csv")
"""The results of the demo's games, which are the same on each machine."""


def results_of(folder: Path) -> list[dict[str, str]]:
    """Return the results of a run as they stand in `RESULTS`."""
    return [
        {
            "game": name,
            "first": players[0],
            "second": players[1],
            "winner": players[returns.index(1.0)],
            "plies": str(len(moves)),
        }
        for name, (players, _, _, returns, _, _, moves) in games_of(folder).items()
    ]


def stored_results() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(RESULTS.read_text("utf-8"))))


def without_times(table: str) -> list[str]:
    """Return the lines of a ratings table without the two columns on the right."""
    title, header, rule, *rows = table.strip().splitlines()
    assert header.split()[-3:] == ["ms/move", "cpu", "ms"], header
    assert len(rule) == len(header), rule
    return [title, header, *(" ".join(row.split()[:-2]) for row in rows)]


def shown_table() -> list[str]:
    (shown,) = re.findall(r"```\n(Ratings: .*?)\n```", README, re.DOTALL)
    return without_times(shown)


def test_make_demo_plays_the_quickstart_and_make_test_tests() -> None:
    """README: "plays a 9x9 Go round-robin in under two minutes on two cores"."""
    assert "```sh\nmake demo " in README
    assert "miai tournament run configs/quickstart.toml" in run(
        "make --dry-run --no-print-directory demo", ROOT
    )
    assert '-e ".[web]"' in (ROOT / "Makefile").read_text()
    last = run("make --dry-run --no-print-directory demo", ROOT).splitlines()[-1]
    assert last == 'echo "Play in the browser: .venv/bin/miai web --open"'
    for target in ("test", "test-all", "soak"):
        assert "bin/pytest" in run(f"make --dry-run {target}", ROOT)


def test_the_demo_plays_the_games_of_its_table(tmp_path: Path) -> None:
    """README: "reproducible to the move". The first games of two of the demo's players, which are
    the same without the others; `RESULTS` has the results of all, from which the table is made."""
    head, *players = (ROOT / "configs" / "quickstart.toml").read_text().split("[[players]]")
    (tmp_path / "two.toml").write_text("[[players]]".join([head, *players[:2]]))
    config, out = tmp_path / "two.toml", tmp_path / "run"
    tournament("run", config, "--out", out, "--executor", "serial", "--set", "rounds=1")
    first = [row for row in stored_results() if re.search("random~mcts-25~0001", row["game"])]
    assert len(first) == 2
    assert sorted(results_of(tmp_path / "run"), key=str) == sorted(first, key=str)


def test_the_demo_s_table_is_that_of_its_games() -> None:
    """README: "The demo ends with this table"."""
    rows = [
        GameRow(
            game_id=row["game"],
            pair_id=row["game"][:-1],
            round=int(row["game"][-5:-1]),
            players=(row["first"], row["second"]),
            seed=1,
            status="done",
            returns=(1.0, -1.0) if row["winner"] == row["first"] else (-1.0, 1.0),
            termination="terminal",
            moves=int(row["plies"]),
            player_moves=(1, 1),
            seconds=(0.002, 0.002),
            cpu_seconds=(0.001, 0.001),
        )
        for row in stored_results()
    ]
    assert len(rows) == 240
    Console(file=(printed := io.StringIO()), width=80).print(build_report(rows).render(80))
    assert without_times("Ratings: " + printed.getvalue().split("Ratings: ")[-1]) == shown_table()


@pytest.mark.slow
def test_all_of_the_demo_prints_its_table(tmp_path: Path) -> None:
    """README: "The demo ends with this table"."""
    printed = run(DEMO, tmp_path)
    table = printed[printed.rindex("Ratings: ") :].split("\nReport: ")[0]
    assert without_times(table) == shown_table()
    assert sorted(results_of(tmp_path / "run"), key=str) == sorted(stored_results(), key=str)


# -- Python and the game ---------------------------------------------------------------------------


def test_the_same_from_python() -> None:
    """README: "The same from Python:"."""
    (session,) = re.findall(r"```python\n(>>> .*?)```", README, re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest(session, {}, "README", None, 0)
    assert len(parsed.examples) == 5
    assert doctest.DocTestRunner().run(parsed).failed == 0


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A folder with README's game and its config."""
    (source,) = re.findall(r"```python\n(import miai\n\nclass .*?)```", README, re.DOTALL)
    (config,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "last_stone.py").write_text(source)
    (tmp_path / "last_stone.toml").write_text(config)
    return tmp_path


def test_a_game_that_fits_a_screen_plays_a_tournament_that_ends_in_a_table(game: Path) -> None:
    """README: "`last_stone.py` is a whole game:"; README: "ends in a table with error bars";
    README: "plays 200 games". Its agents, in sandboxes where possible, know it too."""
    assert " 200 games" in run("miai tournament check last_stone.toml", game)
    printed = run("miai tournament run last_stone.toml --set rounds=3 --executor serial", game)
    assert re.search(r"1  search +\S+ .*\n2  chance ", printed[printed.index("Standings") :])
    assert re.search(r"difference +\+\d+ Elo, 95% interval -?\d+ to \+\d+", printed), printed
    other = game / "elsewhere"
    other.mkdir()
    (store,) = (game / "runs").iterdir()
    assert "6 of 6 games done" in run(f"miai tournament resume {store}", other)
    words = ["tournament", "report", str(store), "--replays", "1"]
    refused = run_miai(words, cwd=other, env=ENVIRONMENT)
    assert "MIAI_PLUGIN_FILES" in refused.stderr
    assert "restore the file" not in refused.stderr  # nothing is wrong with the store


def test_the_game_keeps_the_rules_and_is_played(game: Path) -> None:
    """README: "looks for defects, and `miai play` and `miai web` play it"."""
    file = {"MIAI_PLUGIN_FILES": "last_stone.py"}
    assert "breaks" not in run("miai check last_stone", game, **file)
    words = "--first random --second random --seed 1 --quiet"
    assert "wins" in run(f"miai play last_stone {words}", game, **file)
    command = [sys.executable, "-m", "miai", "web", "--port", "0", "--games", "games"]
    with subprocess.Popen(
        command, cwd=game, env={**ENVIRONMENT, **file}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r":(\d+)/\?token=(\S+)", process.stdout.readline())
        assert found
        browser = Browser(int(found[1]))
        browser.ask(f"/?token={found[2]}")
        with browser.watching(browser.new_table("last_stone")) as events:
            assert "20 stones" in str(events.next())
        process.kill()


# -- compared with ---------------------------------------------------------------------------------


def test_a_game_is_exported_to_pettingzoo() -> None:
    """README: "miai exports to it, and copies states, which search needs"."""
    environment = miai.to_pettingzoo(miai.load_game("tic_tac_toe"))
    assert isinstance(environment, AecEnvironment)
    environment.reset(seed=1)
    for action in (0, 3, 1, 4, 2):
        environment.step(action)
    x, o = environment.possible_agents
    assert (environment.rewards[x], environment.rewards[o]) == (1.0, -1.0)


def test_gtp_engines_are_matched(tmp_path: Path) -> None:
    """README: "matched GTP engines, on Python 2. miai does that today"."""
    # The one takes a stone; the other resigns when it comes to move.
    engines = [
        player(name, "gtp", command=shlex.join([*ENGINE, f"--moves={moves}"]))
        for name, moves in (("plays", "c3"), ("resigns", "resign"))
    ]
    go = {"name": "go", "board_size": 5}
    text = config_text(*engines, game=go, tournament={"rounds": 1})
    (tmp_path / "x.toml").write_text(text)
    tournament("run", tmp_path / "x.toml", "--out", tmp_path / "out", "--executor", "serial")
    games = games_of(tmp_path / "out").values()
    assert [(names[loser], returns[loser]) for names, _, _, returns, _, loser, _ in games] == [
        ("resigns", -1.0)
    ] * 2


# -- installing ------------------------------------------------------------------------------------


def test_what_is_installed_is_there() -> None:
    """README: "`pip install -e . -e plugins/classics -e plugins/go -e plugins/miniblind -e
    plugins/rbc`"; README: "`pip install -e '.[web]'`"."""
    named = re.findall(r"-e '?([^\s'`]+)|pip install '(\S+?)'", README)
    targets = [one or other for one, other in named]
    assert {"plugins/rbc", "plugins/openspiel", ".[web]"} <= {*targets}
    for target in targets:
        folder, _, extra = target.rstrip("]").partition("[")
        project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text("utf-8"))["project"]
        assert not extra or extra in project["optional-dependencies"], target


@pytest.mark.slow
def test_the_first_commands_run(tmp_path: Path) -> None:
    """install: "## First commands". In their order, in a folder that has the configs."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    quick = tmp_path / "configs" / "compare-quick.toml"
    quick.write_text(re.sub(r"(?m)^roots = \d+", "roots = 1", quick.read_text(encoding="utf-8")))
    for command in "".join(blocks(section(page("install"), "First commands"), "sh")).splitlines():
        if "tournament run" in command and "match-sprt" not in command:
            command = command.partition("  #")[0] + " --set tournament.rounds=1"
        if command.startswith("miai compare"):
            command += " --no-plots"  # those of the same config are drawn for docs/comparing.md
        if command:
            run(command.partition("  #")[0], tmp_path)


def test_its_links_lead_somewhere_and_it_is_short() -> None:
    """README: "Read on: [tutorial](docs/tutorial.md)"."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target
    assert len(README.splitlines()) <= 120
    assert len(README.split()) <= 900
